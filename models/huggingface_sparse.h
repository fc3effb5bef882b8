/*
 * huggingface_sparse.h - sparse and compressed attention of a Hugging Face config.
 */
#ifndef ORR_HUGGINGFACE_SPARSE_H
#define ORR_HUGGINGFACE_SPARSE_H

#include "models/huggingface_config.h"

G_BEGIN_DECLS

/* Sets `sparse-attention` and `compressed-attention` of the document @model where @config has
 * their keys; @layers of them. */
void orr_huggingface_sparse_map(const OrrHuggingfaceConfig *config, gint64 layers, OrrNode *model);

/* The mixer of layer @layer, whose plain word is @plain ("attention", "window" ...): sparse or
 * shared with an indexer, window, csa or hca by `compress_ratios`, else @plain. */
const char *orr_huggingface_sparse_mixer(const OrrHuggingfaceConfig *config, gint64 layer,
                                         const char *plain);

G_END_DECLS

#endif

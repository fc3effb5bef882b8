/*
 * huggingface_config.h - reads a Hugging Face config.json by keys, some of which have had several
 * names, and remembers the keys read, so that unread ones can be reported.
 *
 * A config comes from outside. Each key is read as the kind of value that it must have: a whole
 * number, a flag, a text, a list or a map. A value of another kind, or a number out of range, is an
 * error at its place that names the key; the reader then continues with the fallback, so that all
 * errors of a config are reported at once. Null counts as an absent key, as in Python.
 *
 * The tree keeps the kind of a scalar as JSON wrote it: texts are `quoted`; true, false, null and
 * numbers are not.
 */
#pragma once

#include "sim/base/diag.h"
#include "sim/base/node.h"

typedef struct {
  const OrrNode *map; /* the config, or its section for the decoder or a tower */
  GHashTable *used;   /* interned keys that were read */
  OrrDiags *diags;
} OrrHuggingfaceConfig;

/* Dimensions fit in 32 bits in every framework; the product of two of them then fits in 64. */
#define ORR_HUGGINGFACE_MOST G_MAXINT32

/* The value of the first of @keys (separated by '|') that is present and not null, of any kind;
 * NULL: none is. */
const OrrNode *orr_huggingface_config_find(const OrrHuggingfaceConfig *config, const char *keys);

/* The same, read as one kind; a value of another kind is an error and gives the fallback (NULL).
 * Numbers are whole, from 0 to ORR_HUGGINGFACE_MOST. */
gint64 orr_huggingface_config_number(const OrrHuggingfaceConfig *config, const char *keys,
                                     gint64 fallback);
gboolean orr_huggingface_config_flag(const OrrHuggingfaceConfig *config, const char *keys,
                                     gboolean fallback);
const char *orr_huggingface_config_text(const OrrHuggingfaceConfig *config, const char *keys);
/* of scalars */
const OrrNode *orr_huggingface_config_list(const OrrHuggingfaceConfig *config, const char *keys);
const OrrNode *orr_huggingface_config_map(const OrrHuggingfaceConfig *config, const char *keys);

/* A number of a document's section, and the keys that configs use for it. */
typedef struct {
  const char *key, *from;
} OrrHuggingfacePair;

/* A map of those @pairs whose number in the config is above 0. */
OrrNode *orr_huggingface_config_section(const OrrHuggingfaceConfig *config,
                                        const OrrHuggingfacePair *pairs, guint n_pairs);

/* Sets a scalar of a document's map. */
void orr_huggingface_config_set_text(OrrNode *map, const char *key, const char *text);
void orr_huggingface_config_set_number(OrrNode *map, const char *key, gint64 value);
void orr_huggingface_config_set_flag(OrrNode *map, const char *key, gboolean value);

/* huggingface_sparse.c: sparse and compressed attention of a Hugging Face config. */

/* Adds the widths of latent attention that @config leaves out to @mla, where the class of @type has
 * others than the document's defaults, which are DeepSeek's: MiniCPM3 divides its width among its
 * heads (modeling_minicpm.py). Of other classes a missing width is an error. */
void orr_huggingface_sparse_fill(const OrrHuggingfaceConfig *config, const char *type,
                                 OrrNode *mla);
/* Sets `sparse-attention` and `compressed-attention` of the document @model where @config has
 * their keys; @layers of them. */
void orr_huggingface_sparse_map(const OrrHuggingfaceConfig *config, gint64 layers, OrrNode *model);

/* The mixer of layer @layer, whose plain word is @plain ("attention", "window" ...): sparse or
 * shared with an indexer, window, csa or hca by `compress_ratios`, else @plain. */
const char *orr_huggingface_sparse_mixer(const OrrHuggingfaceConfig *config, gint64 layer,
                                         const char *plain);

/* huggingface_states.c: layers with a state. */

/* Sets `mamba` or `linear-attention` of the document @model where @config has their keys. */
void orr_huggingface_states_map(const OrrHuggingfaceConfig *config, OrrNode *model);
/* Whether the layers are RWKV-7's. */
gboolean orr_huggingface_states_is_rwkv(const OrrHuggingfaceConfig *config);

/* huggingface_blocks.c: layers that an architecture search made. */

/* Whether @config says each of its layers by itself. */
gboolean orr_huggingface_blocks_are_given(const OrrHuggingfaceConfig *config);
/* Writes the kinds of @layers layers to @ret_kinds, interned, and sets `kv-heads` and `ffn` of the
 * document @model. Errors go to the config's diags; kinds are then incomplete. */
void orr_huggingface_blocks_kinds(const OrrHuggingfaceConfig *config, gint64 layers,
                                  const char **ret_kinds, OrrNode *model);

/*
 * import_huggingface.h - a Hugging Face config.json as a model document.
 *
 * What is known of a model type (models/huggingface_types.c) and the keys of its config make a
 * `model/1` document. Keys that are neither used nor known to change nothing about cost are named,
 * so that nothing falls away in silence.
 */
#ifndef ORR_IMPORT_HUGGINGFACE_H
#define ORR_IMPORT_HUGGINGFACE_H

#include "models/huggingface_config.h"
#include "models/model.h"

G_BEGIN_DECLS

/* What a model type is, where its config does not say. */
enum {
  ORR_HF_GATED = 1 << 0,
  ORR_HF_RMS_NORM = 1 << 1,
  ORR_HF_TIED = 1 << 2, /* where tie_word_embeddings is absent */
  ORR_HF_BIAS = 1 << 3,
  ORR_HF_QKV_BIAS = 1 << 4,
  ORR_HF_QK_NORM = 1 << 5,
  ORR_HF_POST_NORMS = 1 << 6,
  ORR_HF_PARALLEL = 1 << 7,
  ORR_HF_SHARED_GATE = 1 << 8,
  ORR_HF_ALTERNATES = 1 << 9 /* every other layer has a window, where layer_types is absent */
};

typedef struct {
  const char *model_type;
  guint flags;
  int position; /* OrrPosition */
  /* A map of the configuration class's defaults, or NULL: a config inside another one
   * (text_config) is saved without the keys that have them. */
  const char *defaults;
} OrrHuggingfaceType;

/* NULL where it is unknown. */
const OrrHuggingfaceType *orr_huggingface_type(const char *model_type);
char *orr_huggingface_type_names(void); /* "bloom, cohere, ..."; newly allocated */
const char *orr_huggingface_types_nearest(const char *model_type); /* or NULL */
/* changes nothing that costs time or memory */
gboolean orr_huggingface_types_is_harmless(const char *key);

/* Kinds of the layers that @config tells, as items of `layout`; NULL where all are alike, or
 * where a list is wrong (an error in its diags). Free with g_strfreev. */
char **orr_huggingface_layers_layout(const OrrHuggingfaceConfig *config,
                                     const OrrHuggingfaceType *type, gint64 layers);

/* The `encoder` that @config, a vision_config, is; @whole: the model_type around it. NULL: a
 * tower that is not mapped. */
OrrNode *orr_huggingface_tower(const OrrHuggingfaceConfig *config, const char *whole);

/* The text of a model document; @name: what to call the model, NULL: as the config's
 * _name_or_path, else its type. What could not be mapped is in comments at its head, and in
 * @ret_left_out, one key a line ("" where all was). NULL and ORR_FAULT_RESOURCE (the file),
 * ORR_FAULT_DOCUMENT (what is in it). */
char *orr_import_huggingface(const char *path, const char *name, char **ret_left_out,
                             GError **error);

G_END_DECLS

#endif

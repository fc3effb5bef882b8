/*
 * import_huggingface.h - converts a Hugging Face config.json to a model document.
 *
 * A `model/1` document is made from the facts about a model type (models/huggingface_types.c) and
 * the keys of its config. Keys that are neither used nor known to be harmless are reported, so that
 * nothing is dropped silently. The format of the checkpoint's weights comes from the key
 * quantization_config or, where there is none, from an hf_quant_config.json in the config's folder.
 */
#pragma once

#include "models/huggingface_config.h"
#include "models/model.h"

/* Properties of a model type that its config does not state. */
enum {
  ORR_HF_GATED = 1 << 0,
  ORR_HF_RMS_NORM = 1 << 1,
  ORR_HF_TIED = 1 << 2, /* if tie_word_embeddings is absent */
  ORR_HF_BIAS = 1 << 3,
  ORR_HF_QKV_BIAS = 1 << 4,
  ORR_HF_QK_NORM = 1 << 5,
  ORR_HF_POST_NORMS = 1 << 6,
  ORR_HF_PARALLEL = 1 << 7,
  ORR_HF_SHARED_GATE = 1 << 8,
  ORR_HF_ALTERNATES = 1 << 9,   /* every other layer has a window, if layer_types is absent */
  ORR_HF_OUTPUT_GATE = 1 << 10, /* its attention has an output gate, if no key says otherwise */
  ORR_HF_SHORTCUT = 1 << 11     /* each of num_layers is two layers and experts (LongCat-Flash) */
};

typedef struct {
  const char *model_type;
  guint flags;
  int position; /* OrrPosition */
  /* A map of the defaults of the configuration class, or NULL: a config inside another one
   * (text_config) is saved without the keys that have their default. */
  const char *defaults;
} OrrHuggingfaceType;

/* Spellings of one key, for orr_huggingface_config_find. */
#define ORR_HF_EXPERTS                                                                             \
  "num_experts|num_local_experts|n_routed_experts|moe_num_experts|num_moe_experts"

#define ORR_HF_TOPK                                                                                \
  "num_experts_per_tok|num_experts_per_token|moe_topk|experts_per_token|moe_top_k|moe_k|"          \
  "top_k_experts"

/* NULL: unknown. */
const OrrHuggingfaceType *orr_huggingface_type(const char *model_type);
/* A decoder as most are: gated MLPs, RMSNorm, RoPE, no biases. For types that are not known. */
const OrrHuggingfaceType *orr_huggingface_types_generic(void);
/* What @config has that no document can say, so that it must be refused; NULL: nothing known. */
const char *orr_huggingface_types_foreign(const OrrNode *config);
char *orr_huggingface_type_names(void); /* "bloom, cohere, ..."; newly allocated */
const char *orr_huggingface_types_nearest(const char *model_type); /* or NULL */
/* Whether @key affects neither time nor memory. */
gboolean orr_huggingface_types_is_harmless(const char *key);
/* Whether the class @name ("MistralModel") has no output layer over the vocabulary. */
gboolean orr_huggingface_types_lacks_head(const char *name);
/* What a reader must know where @key is not mapped: a clause, which answers are wrong by it and in
 * which direction. Keys of one cause share it. NULL: not known. */
const char *orr_huggingface_types_effect(const char *key);

/* The file at @path as a tree; NULL with the reason: ORR_FAULT_RESOURCE, ORR_FAULT_DOCUMENT. */
OrrNode *orr_huggingface_json_read(const char *path, OrrDiags *diags, GError **error);

/* The kinds of layers by @config, as items of `layout`; NULL where all are equal, or where a
 * list is wrong (an error in its diags). Where each layer says its own widths, those that are alike
 * in all are set in the document @model. Free with g_strfreev. */
char **orr_huggingface_layers_layout(const OrrHuggingfaceConfig *config,
                                     const OrrHuggingfaceType *type, gint64 layers, OrrNode *model);

/* The `encoder` that @config, a vision_config, describes; @whole: the model_type around it.
 * NULL: an unknown tower. */
OrrNode *orr_huggingface_tower(const OrrHuggingfaceConfig *config, const char *whole);

/* Adds to @document the `checkpoint` that @config says: a quantization_config, or the whole of
 * ModelOpt's hf_quant_config.json. @model is what @document describes. What has no counterpart is
 * added to @notes, a line each. */
void orr_huggingface_quantization(const OrrNode *config, const OrrModel *model, OrrNode *document,
                                  GString *notes);

/* The text of a model document. @name: the model's name; NULL: the config's _name_or_path, else
 * its type. Comments at its head list the keys that could not be converted. @ret_warnings has those
 * that are known to change answers, with what they change, and @ret_left_out the others, one per
 * line ("" where there are none). NULL with ORR_FAULT_RESOURCE (the file) or ORR_FAULT_DOCUMENT
 * (its content). */
char *orr_import_huggingface(const char *path, const char *name, char **ret_left_out,
                             char **ret_warnings, GError **error);

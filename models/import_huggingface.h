/*
 * import_huggingface.h - converts a Hugging Face config.json to a model document.
 *
 * A `model/1` document is made from the facts about a model type (huggingface_types.csv) and
 * the keys of its config. Keys that are neither used nor known to be harmless are reported, so that
 * nothing is dropped silently. The format of the checkpoint's weights comes from the key
 * quantization_config or, where there is none, from an hf_quant_config.json in the config's folder.
 */
#pragma once

#include "models/model.h"
#include "sim/base/diag.h"
#include "sim/base/node.h"

/* huggingface_config.c: reads a Hugging Face config.json by keys, some of which have had several
 * names, and remembers the keys read, so that unread ones can be reported.
 *
 * A config comes from outside. Each key is read as the kind of value that it must have: a whole
 * number, a flag, a text, a list or a map. A value of another kind, or a number out of range, is an
 * error at its place that names the key; the reader then continues with the fallback, so that all
 * errors of a config are reported at once. Null counts as an absent key, as in Python.
 *
 * The tree keeps the kind of a scalar as JSON wrote it: texts are `quoted`; true, false, null and
 * numbers are not. */

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

/* Adds the widths of latent attention that @config leaves out to @mla, as the type's @flags say.
 * Without such a flag a missing width is an error. */
void orr_huggingface_sparse_fill(const OrrHuggingfaceConfig *config, guint flags, OrrNode *mla);

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

/* --- import_huggingface.c --- */

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
  ORR_HF_SHORTCUT = 1 << 11,    /* each of num_layers is two layers and experts (LongCat-Flash) */
  ORR_HF_EVEN_VALUES = 1 << 12, /* heads of latent attention share its width, without v_head_dim */
  ORR_HF_MLA_WIDTHS = 1 << 13,  /* widths that its configs leave out are the document's defaults */
  ORR_HF_VISION_EXPERTS = 1 << 14 /* of lists of two, the first is text's and the second images' */
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

/* A table huggingface_*.csv as it was compiled in (results/embed.sh). */
typedef struct {
  const char *name, *sentence, *text;
} OrrHuggingfaceTable;

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

/* Where the type's experts for text and for images are stated as pairs, leaves the text's in
 * @decoder, which is @config's map. Returns what an answer must say about the others; NULL: there
 * are none. */
const char *orr_huggingface_pairs_take(const OrrHuggingfaceConfig *config,
                                       const OrrHuggingfaceType *type, OrrNode *decoder);

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

/*
 * model.h - the document of a transformer, or of another stack of the same parts; its size and its
 * FLOPs.
 *
 * Documents: models/zoo/NAME.yaml (`schema: model/1`). A model is a stack of layers over a residual
 * stream. A layer is a mixer of tokens (attention of one form, a state-space or linear-attention
 * layer, or none) and a feed-forward (dense, experts, or none), each with a norm before it.
 * `layout` states the kind of each layer; without it all are equal:
 *
 *   layout: [3 attention+dense, 58 attention+moe]     DeepSeek-V3: the list repeats to the last
 *                                                     layer
 *   layout: [5 window+dense, attention+dense]         Gemma 3: five local layers, one global, and
 *                                                     again
 *   layout: [mamba, dense, mamba, attention, dense]   Nemotron-H: blocks of one part
 *   layout: [attention+dense, 2 dense:14336]          Nemotron Super: a width of its own
 *
 * An encoder tower of its own width can precede the layers, and multi-token-prediction layers can
 * follow them.
 */
#pragma once

#include "models/model_parts.h"
#include "models/quantization.h"
#include "sim/base/field.h"

typedef enum {
  ORR_ACTIVATION_GELU,
  ORR_ACTIVATION_SWIGLU,
  ORR_ACTIVATION_GEGLU,
  ORR_ACTIVATION_RELU,
  ORR_ACTIVATION_SQUARED_RELU
} OrrActivation;
typedef enum { ORR_NORM_LAYERNORM, ORR_NORM_RMSNORM } OrrNorm;
typedef enum {
  ORR_POSITION_LEARNED,
  ORR_POSITION_ROPE,
  ORR_POSITION_ALIBI,
  ORR_POSITION_NONE
} OrrPosition;

/* A ViT before the decoder. Each image has (`image` / `patch`) squared patches, one encoder
 * token per patch, and one decoder token per `merge` squared of them, through a projector of two
 * layers. Or an encoder of sounds: `tokens` positions, of `values` numbers each. Where layers
 * `cross` read it, none of its tokens are in the decoder, and there is no projector. */
typedef struct {
  gint64 layers; /* 0: no encoder */
  gint64 tokens; /* of an input; 0: by image and patch */
  gint64 values; /* numbers that an input's token is made of; 0: a patch's pixels */
  gint64 hidden;
  gint64 heads;
  gint64 ffn;
  gint64 patch;
  gint64 image;
  gint64 frames; /* frames that a patch spans */
  gint64 images; /* per sequence */
  gint64 merge;
  gint64 extra_tokens; /* class token */
  gint64 projector;    /* inner width of the projector; 0: the decoder's */
  int activation;      /* OrrActivation */
  int norm;
  gboolean learned_positions;
} OrrEncoder;

typedef enum {
  ORR_MIXER_NONE,
  ORR_MIXER_ATTENTION, /* over all previous tokens; latent where the model has `mla` */
  ORR_MIXER_WINDOW,
  ORR_MIXER_MAMBA,
  ORR_MIXER_LINEAR,
  ORR_MIXER_SPARSE,  /* over the best entries, by its own indexer */
  ORR_MIXER_SHARED,  /* over the entries that an earlier layer's indexer chose (GLM-5.2) */
  ORR_MIXER_CSA,     /* compressed, sparse */
  ORR_MIXER_HCA,     /* heavily compressed */
  ORR_MIXER_CROSS,   /* over an encoder's result */
  ORR_MIXER_ENCODER, /* bidirectional attention of the encoder */
  ORR_N_MIXERS
} OrrMixer;

typedef enum { ORR_FEED_NONE, ORR_FEED_DENSE, ORR_FEED_MOE, ORR_N_FEEDS } OrrFeed;

/* Layers of one kind are equal in time and memory. */
typedef struct {
  guint8 mixer; /* OrrMixer */
  guint8 feed;  /* OrrFeed */
  gint32 ffn;   /* inner width of a dense feed-forward; 0: the model's */
} OrrLayerKind;

enum { ORR_MAX_LAYER_KINDS = 32, ORR_MAX_LAYOUT = 512 };

/* `layout`, settled: layer i of the decoder has kind at[i % length]. length 0: all have kind 0. */
typedef struct {
  guint n_kinds;
  guint length;
  OrrLayerKind kinds[ORR_MAX_LAYER_KINDS];
  guint8 at[ORR_MAX_LAYOUT];
} OrrModelLayout;

typedef struct {
  char *name;
  char *source;
  OrrReleased checkpoint;
  char **aliases; /* ids by which others know it, each with its checkpoint's format after a blank */
  gint64 layers;
  gint64 hidden;
  gint64 heads;
  gint64 kv_heads; /* 0: as heads (MHA) */
  gint64 head_dim; /* 0: hidden / heads */
  gint64 ffn;      /* inner size of the MLP; 0: 4 * hidden */
  gint64 vocab;
  /* Longest sequence: rows of a learned position embedding; also the default sequence length. */
  gint64 context;
  int activation; /* OrrActivation */
  int norm;       /* OrrNorm */
  int position;   /* OrrPosition */
  gboolean yarn;  /* rotary embeddings are stretched and scaled as in YaRN (arXiv 2309.00071) */
  gboolean tied_embeddings;
  gboolean bias;        /* of linear layers and layer norms (GPT: yes; Llama: no) */
  gboolean qkv_bias;    /* QKV has a bias even without `bias` (Qwen2) */
  gboolean qk_norm;     /* a norm on each head's query and key (Qwen3, Gemma 3) */
  gboolean output_gate; /* a gate as wide as the attention's result (Qwen3-Next, Kimi-K3) */
  gboolean post_norms;  /* a norm after each block too (Gemma 2, Gemma 3) */
  gboolean parallel;    /* attention and MLP run in parallel after one norm (GPT-J, PaLM) */
  OrrMla mla;
  OrrMoe moe;
  OrrWindow window;
  OrrMamba mamba;
  OrrLinear linear;
  OrrSparse sparse;
  OrrCompressed compressed;
  OrrCross cross;
  OrrEncoder encoder;
  gint64 mtp_layers; /* of multi-token prediction: in addition to `layers`, and not in
                      * `parameters` */
  char **layout;
  char **not_modelled; /* what it has and this document does not say; NULL: nothing */
  /* The published count, checked against orr_model_parameters; 0: not given. */
  double parameters;
  double active_parameters; /* the published count of active ones; 0: not given */
  OrrModelLayout settled;   /* not a field: set by orr_model_settle */
} OrrModel;

extern const OrrFieldTable orr_model_table;
extern const char *const orr_activation_words[], *const orr_position_words[];

/* Fills the members that default to others (kv_heads, head_dim, ffn, layout) and checks
 * divisibility; findings at @place. An unsettled model has one kind of layer. */
void orr_model_settle(OrrModel *model, OrrPlace place, OrrDiags *diags);

static inline gboolean orr_activation_is_gated(int activation) {
  return activation == ORR_ACTIVATION_SWIGLU || activation == ORR_ACTIVATION_GEGLU;
}

/* --- kinds of layers (model_layout.c) --- */

/* The part of orr_model_settle that reads `layout`. */
void orr_model_settle_layout(OrrModel *model, OrrPlace place, OrrDiags *diags);

/* Whether a decoder layer's mixer has keys and values of tokens in a cache. */
static inline gboolean orr_mixer_attends(int mixer) {
  return mixer == ORR_MIXER_ATTENTION || mixer == ORR_MIXER_WINDOW ||
         (mixer >= ORR_MIXER_SPARSE && mixer <= ORR_MIXER_HCA);
}
/* Whether it has an indexer of its own. */
static inline gboolean orr_mixer_indexes(int mixer) {
  return mixer == ORR_MIXER_SPARSE || mixer == ORR_MIXER_CSA;
}
/* Whether a query sees a choice of keys. */
static inline gboolean orr_mixer_is_sparse(int mixer) {
  return mixer == ORR_MIXER_SPARSE || mixer == ORR_MIXER_SHARED;
}

/* Kinds are numbered from 0 in the order of their first layer; a dense transformer has one. The
 * encoder's kind is the last; its layers are not among 0 .. layers - 1. */
guint orr_model_n_layer_kinds(const OrrModel *model);
guint orr_model_layer_kind(const OrrModel *model, gint64 layer); /* of 0 .. layers - 1 */
OrrLayerKind orr_model_kind(const OrrModel *model, guint kind);
/* The number of layers of that kind. */
gint64 orr_model_kind_layers(const OrrModel *model, guint kind);
gint64 orr_model_encoder_kind(const OrrModel *model);         /* -1 where there is none */
char *orr_model_kind_name(const OrrModel *model, guint kind); /* "attention+moe"; newly allocated */

/* --- size (model_size.c) --- */

double orr_model_layer_parameters(const OrrModel *model, guint kind); /* of one layer of that
                                                                       * kind */
/* Token embedding (once when tied), position embeddings, the output layer when untied, the final
 * norm; and the ends of the encoder. */
double orr_model_embedding_parameters(const OrrModel *model);
/* One norm: hidden, or twice that with a bias. */
double orr_model_norm_parameters(const OrrModel *model);
/* The exact count, without multi-token prediction. */
double orr_model_parameters(const OrrModel *model);
double orr_model_active_parameters(const OrrModel *model); /* the active ones */
/* Of the multi-token-prediction layers, without shared ones. */
double orr_model_mtp_parameters(const OrrModel *model);

/* Bytes per token that a layer of @kind keeps for later tokens: keys and values, or MLA's latent
 * form; 0 for layers with a state. @element_bytes: of the cache's format. */
double orr_model_kv_bytes(const OrrModel *model, guint kind, double element_bytes);
/* Tokens that an entry of that cache stands for; and of these bytes the indexer's, per entry. */
double orr_model_entry_tokens(const OrrModel *model, guint kind);
double orr_model_index_bytes(const OrrModel *model, guint kind);
/* Bytes per sequence that a layer keeps at any length: a state in fp32, as its kernels have it,
 * with the convolution in @element_bytes; the keys and values of cross-attention, in
 * @element_bytes; 0 for other attention. */
double orr_model_state_bytes(const OrrModel *model, guint kind, double element_bytes);
/* Summed over all layers. */
double orr_model_kv_bytes_per_token(const OrrModel *model, double element_bytes);

/* Model FLOPs of one forward and backward pass over @batch sequences of @sequence tokens,
 * without recomputation: Megatron's formula, generalised to GQA, gated MLPs, experts (topk of
 * them), latent attention, windows and state spaces. For GPT: 72 B s l h^2 (1 + s/(6h) + V/(12 l
 * h)) (Narayanan et al., SC21, eq. 3 without recomputation; attention without the factor of a
 * half for the causal mask, as in Megatron). Includes multi-token prediction. */
double orr_model_flops(const OrrModel *model, double batch, double sequence);

/* One third of everything but attention's core: the products by weight, which frozen weights
 * skip. */
double orr_model_matrix_flops(const OrrModel *model, double batch, double sequence);

/* FLOPs of a forward pass: of a layer, and of its attention core alone. */
double orr_model_layer_flops(const OrrModel *model, guint kind, double batch, double sequence);
double orr_model_core_flops(const OrrModel *model, guint kind, double batch, double sequence);
/* The same: a layer's routed experts, and all of the model's. */
double orr_model_layer_routed_flops(const OrrModel *model, guint kind, double batch,
                                    double sequence);
double orr_model_routed_flops(const OrrModel *model, double batch, double sequence);

/* What the backward computes again. */
typedef enum {
  ORR_RECOMPUTE_NONE,
  ORR_RECOMPUTE_SELECTIVE,
  ORR_RECOMPUTE_FULL,
  ORR_RECOMPUTE_OPERATORS
} OrrRecompute;
extern const char *const orr_recompute_words[]; /* "none", "selective", "full", "operators", NULL */

/* --- the encoder (0 where there is none) --- */

double orr_encoder_patches(const OrrModel *model);        /* per image */
double orr_encoder_tokens(const OrrModel *model);         /* per image, in the encoder */
double orr_encoder_decoder_tokens(const OrrModel *model); /* per image, in the decoder */
/* Values per patch: 3 channels, frames, patch squared. */
double orr_encoder_patch_width(const OrrModel *model);
double orr_encoder_projector_width(const OrrModel *model);

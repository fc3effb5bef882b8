/*
 * transformer_private.h - what the transformer_*.c files share. Nobody else includes it.
 */
#ifndef ORR_TRANSFORMER_PRIVATE_H
#define ORR_TRANSFORMER_PRIVATE_H

#include "models/transformer.h"

G_BEGIN_DECLS

/* A layer of one kind as one rank holds it: widths after sharding. */
typedef struct {
  const OrrModel *model;
  const OrrShard *shard;
  OrrLayerKind kind;
  double element_bytes;
  gint64 hidden;
  gint64 sequences; /* of the micro-batch; images in an encoder */
  gint64 sequence;  /* tokens of each that this rank has: s / cp */
  gint64 tokens;    /* of the micro-batch */
  /* on which norms, dropouts and residuals work: 1 / tp of them under sequence parallelism */
  double own_tokens;
  gint64 heads, kv_heads, head_dim;
  gint64 q,
      /* widths of this rank's queries and keys; MLA: both with position, each head its own key */
      kv;
  gint64 value;   /* and of values (kv, but for MLA) */
  gint64 context; /* and of the attention's result: heads times a value's width */
  gint64 ffn;
  gint64 fc1_width; /* ffn, twice that where gated */
  gint64 vocab;
  gint64 tp, cp;
  int activation, norm;
  gboolean bias, causal;
  gboolean sequence_parallel; /* and tp > 1 */
} OrrTransformerView;

OrrTransformerView orr_transformer_view(const OrrModel *model, guint kind, const OrrShard *shard);

/* Kernels of 2021-22: see transformer.h at OrrAttention. */
static inline gboolean orr_transformer_is_eager(const OrrTransformerView *view) {
  return view->shard->kernels == ORR_KERNELS_EAGER;
}

static inline gboolean orr_transformer_is_unfused(const OrrTransformerView *view) {
  return view->shard->attention == ORR_ATTENTION_UNFUSED;
}

static inline OrrFlash orr_transformer_flash(const OrrTransformerView *view) {
  if (view->shard->attention == ORR_ATTENTION_FLASH_TRITON) return ORR_FLASH_TRITON;
  return view->shard->attention == ORR_ATTENTION_FLASH_2 ? ORR_FLASH_2 : ORR_FLASH_AS_MEASURED;
}

static inline gboolean orr_transformer_is_latent(const OrrTransformerView *view) {
  return view->model->mla.kv_rank > 0 && view->kind.mixer != ORR_MIXER_ENCODER;
}

static inline double orr_transformer_own_elements(const OrrTransformerView *view) {
  return view->own_tokens * view->hidden;
}

/* NF4 with double quantisation: 4 bits, 8 bits a block of 64, 32 bits a 256 of those (QLoRA,
 * section 3). */
#define ORR_NF4_BYTES (0.5 + 1.0 / 64 + 4.0 / (64 * 256))

/* Whether weights are frozen, and adapters trained instead. */
static inline gboolean orr_transformer_is_frozen(const OrrTransformerView *view) {
  return view->shard->lora.rank > 0;
}

/* --- operators (transformer.c) --- */

/* A kernel bound by memory: reads and writes of @elements add up to @moves, those of a 1-byte
 * mask to @masks. */
void orr_transformer_put_memory(const OrrTransformerView *view, GArray *operators, const char *name,
                                OrrPass pass, double elements, double moves, double masks);

/* A collective of the tensor-parallel group over @width elements of all tokens, where tp > 1. A
 * gather of a linear layer's input or gradient carries the recipe's narrow format. */
void orr_transformer_put_comm(const OrrTransformerView *view, GArray *operators, const char *name,
                              OrrPass pass, OrrOperatorComm comm, double width);

/* One of another group, of so many bytes as nccl-tests counts them, where the group has two
 * members or more. */
void orr_transformer_put_group_comm(GArray *operators, const char *name, OrrPass pass,
                                    OrrOperatorGroup group, gint64 members, OrrOperatorComm comm,
                                    double bytes);

/* How a linear layer's weights are split over the tensor-parallel group: n, k, or not (then it
 * works on own tokens). */
typedef enum { ORR_SPLIT_COLUMN, ORR_SPLIT_ROW, ORR_SPLIT_NONE } OrrSplit;

/* y[tokens,n] = x[tokens,k] w[n,k]^T, forward: casts, the product, adapters. @n and @k are of
 * this rank. */
void orr_transformer_put_linear(const OrrTransformerView *view, GArray *operators, const char *name,
                                gint64 n, gint64 k, OrrSplit split);

/* Its backward; a column-parallel one has its input re-gathered and its input's gradient
 * reduced. */
void orr_transformer_put_linear_backward(const OrrTransformerView *view, GArray *operators,
                                         const char *name, gint64 n, gint64 k, OrrSplit split);

/* A product in the storage format on @rows tokens, without casts or adapters (router, output
 * layer). */
void orr_transformer_put_plain(const OrrTransformerView *view, GArray *operators, const char *name,
                               gint64 rows, gint64 n, gint64 k);
void orr_transformer_put_plain_backward(const OrrTransformerView *view, GArray *operators,
                                        const char *name, gint64 rows, gint64 n, gint64 k);

/* Adds a gradient of @parameters to the buffer that gathers those of all micro-batches. */
/* Of a linear layer's input or its result's gradient, where the recipe is narrow. */
void orr_transformer_put_cast(const OrrTransformerView *view, GArray *operators, OrrPass pass,
                              double elements);
/* of a product by weight */
void orr_transformer_settle_wgrad(const OrrTransformerView *view, OrrOperator *op);
void orr_transformer_put_main_grad(const OrrTransformerView *view, GArray *operators,
                                   double parameters);

void orr_transformer_put_norm(const OrrTransformerView *view, GArray *operators);
void orr_transformer_put_norm_backward(const OrrTransformerView *view, GArray *operators);
/* A norm of @elements in all, by another name. */
void orr_transformer_put_norm_of(const OrrTransformerView *view, GArray *operators,
                                 const char *name, double elements);
void orr_transformer_put_norm_of_backward(const OrrTransformerView *view, GArray *operators,
                                          const char *name, double elements);

/* A bias' gradient sums that of its layer's output over all tokens. */
void orr_transformer_put_bias_grad(const OrrTransformerView *view, GArray *operators,
                                   double elements);

/* An MLP's activation on @elements of its inner width. */
void orr_transformer_put_activation(const OrrTransformerView *view, GArray *operators, OrrPass pass,
                                    double elements);

/* Whether the backward of a column-parallel layer gathers its input again. */
static inline gboolean orr_transformer_regathers(const OrrTransformerView *view) {
  return view->sequence_parallel && !view->shard->keeps_gathered;
}

/* What of a layer's forward ORR_MODULE_OPERATORS replays (transformer_keep.c). */
void orr_transformer_put_again(const OrrTransformerView *view, const GArray *forward,
                               GArray *operators);

/* --- blocks: from the norm's output to what goes to the residual stream, without either --- */

typedef void (*OrrTransformerPart)(const OrrTransformerView *view, GArray *operators);

/* transformer_attention.c */
void orr_transformer_put_core(const OrrTransformerView *view, GArray *operators);
void orr_transformer_put_core_backward(const OrrTransformerView *view, GArray *operators);
void orr_transformer_put_attention(const OrrTransformerView *view, GArray *operators);
void orr_transformer_put_attention_backward(const OrrTransformerView *view, GArray *operators);

/* transformer_ends.c: what of an encoder is not its layers */
void orr_transformer_encoder_ends(const OrrModel *model, const OrrShard *shard, GArray *operators);

/* transformer_context.c: the core over ranks that share the sequence */
void orr_transformer_put_context(const OrrTransformerView *view, GArray *operators);
void orr_transformer_put_context_backward(const OrrTransformerView *view, GArray *operators);

/* transformer_latent.c */
void orr_transformer_put_latent(const OrrTransformerView *view, GArray *operators);
void orr_transformer_put_latent_backward(const OrrTransformerView *view, GArray *operators);
/* norms and up-projections */
void orr_transformer_put_latent_up(const OrrTransformerView *view, GArray *operators);

/* transformer_state.c */

/* What the scan of a mixer with a state needs to know, on this rank. */
typedef struct {
  gint64 heads, groups; /* groups share their scores */
  gint64 key, value;    /* of a head's state: N and P, or K and V */
  gint64 chunk;
  gint64 in, conv, out; /* widths of the first projection, of what is convolved, of what goes out */
  gboolean delta;
} OrrTransformerScan;
OrrTransformerScan orr_transformer_scan(const OrrTransformerView *view);
void orr_transformer_put_mamba(const OrrTransformerView *view, GArray *operators);
void orr_transformer_put_mamba_backward(const OrrTransformerView *view, GArray *operators);
void orr_transformer_put_linear_attention(const OrrTransformerView *view, GArray *operators);
void orr_transformer_put_linear_attention_backward(const OrrTransformerView *view,
                                                   GArray *operators);
void orr_transformer_put_scan(const OrrTransformerView *view, GArray *operators, OrrPass pass);

/* transformer_moe.c */
void orr_transformer_put_moe(const OrrTransformerView *view, GArray *operators);
void orr_transformer_put_moe_backward(const OrrTransformerView *view, GArray *operators);
void orr_transformer_put_shared_experts(const OrrTransformerView *view, GArray *operators);
void orr_transformer_put_moe_activation(const OrrTransformerView *view, GArray *operators);

/* transformer_memory.c: adds to what @operator keeps; @kept is of OrrKeptBytes. */
void orr_transformer_keep(GArray *kept, const char *operator, double bytes);

/* transformer_keep.c: the results that ORR_MODULE_OPERATORS keeps of one layer for one
 * micro-batch. */
void orr_transformer_keep_results(const OrrModel *model, guint kind, const OrrShard *shard,
                                  GArray *kept);

/* How tokens and experts meet on one rank. */
typedef struct {
  double tokens;    /* that this rank routes */
  double pairs;     /* of a token and an expert, before dispatch, capacity counted in */
  double exchanged; /* of them, what the fullest rank's link carries each way */
  double local;     /* pairs that this rank's experts work on */
  double group;     /* tokens of the whole expert-parallel group */
  gint64 ep, etp;
  gint64 width;  /* that experts work in: hidden, or the latent width */
  gint64 ffn;    /* of a whole expert */
  gint64 shared; /* this rank's width of the shared experts */
  /* all tp ranks have all tokens (no sequence parallelism): nothing is dispatched, a sum follows */
  gboolean replicated;
} OrrTransformerRouting;
OrrTransformerRouting orr_transformer_routing(const OrrTransformerView *view);

G_END_DECLS

#endif

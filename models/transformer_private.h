/*
 * transformer_private.h - a layer's widths on one rank, and the helpers that append operators, for
 * the transformer_*.c files. Only they include it.
 */
#pragma once

#include "models/layer.h"
#include "models/transformer.h"

/* A layer of one kind on one rank, and the tokens of a micro-batch there. */
typedef struct {
  const OrrModel *model;
  const OrrShard *shard;
  OrrLayer layer;
  double element_bytes;
  gint64 sequences; /* of the micro-batch; images in an encoder */
  gint64 sequence;  /* tokens of each on this rank: s / cp */
  gint64 tokens;    /* of the micro-batch */
  /* Tokens on which norms, dropouts and residuals work: 1 / tp of them under sequence
   * parallelism. */
  double own_tokens;
  gint64 vocab;
  gint64 tp, cp;
  gboolean sequence_parallel; /* and tp > 1 */
} OrrTransformerView;

OrrTransformerView orr_transformer_view(const OrrModel *model, guint kind, const OrrShard *shard);

/* Kernels of 2021-22: see OrrAttention in transformer.h. */
static inline gboolean orr_transformer_is_eager(const OrrTransformerView *view) {
  return view->shard->kernels == ORR_KERNELS_EAGER;
}

static inline gboolean orr_transformer_is_unfused(const OrrTransformerView *view) {
  return view->shard->attention == ORR_ATTENTION_UNFUSED;
}

static inline OrrFlash orr_transformer_flash(const OrrTransformerView *view) {
  static const OrrFlash kernels[] = {[ORR_ATTENTION_UNFUSED] = ORR_FLASH_AS_MEASURED,
                                     [ORR_ATTENTION_FUSED] = ORR_FLASH_AS_MEASURED,
                                     [ORR_ATTENTION_FLASH_2] = ORR_FLASH_2,
                                     [ORR_ATTENTION_FLASH_TRITON] = ORR_FLASH_TRITON,
                                     [ORR_ATTENTION_FLASH_1] = ORR_FLASH_1};
  return kernels[view->shard->attention];
}

static inline double orr_transformer_own_elements(const OrrTransformerView *view) {
  return view->own_tokens * view->layer.hidden;
}

/* NF4 with double quantisation: 4 bits per weight, 8 bits per block of 64, 32 bits per 256
 * blocks (QLoRA, section 3). */
#define ORR_NF4_BYTES (0.5 + 1.0 / 64 + 4.0 / (64 * 256))

/* Whether weights are frozen and adapters trained. */
static inline gboolean orr_transformer_is_frozen(const OrrTransformerView *view) {
  return view->shard->lora.rank > 0;
}

/* Whether the layer is one of a frozen encoder: nothing before it is trained either. */
static inline gboolean orr_transformer_is_frozen_encoder(const OrrTransformerView *view) {
  return view->shard->frozen_encoder && view->layer.kind.mixer == ORR_MIXER_ENCODER;
}

/* --- operators (transformer.c) --- */

/* A kernel bound by memory: @moves reads and writes per element of @elements, and @masks of a
 * 1-byte mask. */
void orr_transformer_put_memory(const OrrTransformerView *view, GArray *operators, const char *name,
                                OrrPass pass, double elements, double moves, double masks);

/* A collective of the tensor-parallel group over @width elements per token, where tp > 1. A
 * gather of a linear layer's input or gradient has the recipe's narrow format. */
void orr_transformer_put_comm(const OrrTransformerView *view, GArray *operators, const char *name,
                              OrrPass pass, OrrOperatorComm comm, double width);

/* A collective of another group, with bytes as nccl-tests counts them, where the group has at
 * least two members. */
void orr_transformer_put_group_comm(GArray *operators, const char *name, OrrPass pass,
                                    OrrOperatorGroup group, gint64 members, OrrOperatorComm comm,
                                    double bytes);

/* The linear layer of @matrix: forward, or its whole backward for any other @pass. Forward
 * y[tokens, out] = x[tokens, in] w^T: casts, the product, adapters. Backward: a column-parallel
 * layer gathers its input again and reduces its input's gradient. */
void orr_transformer_put_matrix(const OrrTransformerView *view, GArray *operators,
                                const OrrMatrix *matrix, OrrPass pass);
/* The layer's matrices of the name @name; it can have none. */
void orr_transformer_put_linear(const OrrTransformerView *view, GArray *operators, const char *name,
                                OrrPass pass);

/* Forward, under sequence parallelism: gathers @width elements of each token, which ranks have of
 * their own tokens. Backward: sums a gradient of @width elements of each token over the ranks. */
void orr_transformer_put_gather(const OrrTransformerView *view, GArray *operators, double width);
void orr_transformer_put_reduce(const OrrTransformerView *view, GArray *operators, double width);

/* A product in the storage format on @rows tokens, without casts or adapters (router, output
 * layer): forward, or its whole backward. */
void orr_transformer_put_plain(const OrrTransformerView *view, GArray *operators, const char *name,
                               OrrPass pass, OrrGemmShape forward);

/* The cast of a linear layer's input or of its result's gradient, where the recipe is narrow. */
void orr_transformer_put_cast(const OrrTransformerView *view, GArray *operators, OrrPass pass,
                              double elements);
/* Sets how a product by weight, GEMM or MOE, is cast and summed. */
void orr_transformer_settle_wgrad(const OrrTransformerView *view, OrrOperator *op);
/* Adds a gradient of @parameters to the buffer that sums all micro-batches' gradients. */
void orr_transformer_put_main_grad(const OrrTransformerView *view, GArray *operators,
                                   double parameters);

/* The layer's norm, forward or backward; and a norm of @elements in total, with another name. */
void orr_transformer_put_norm(const OrrTransformerView *view, GArray *operators, OrrPass pass);
void orr_transformer_put_norm_of(const OrrTransformerView *view, GArray *operators,
                                 const char *name, OrrPass pass, double elements);

/* A bias' gradient: the sum over all tokens of the gradient of its layer's output, of @elements. */
void orr_transformer_put_bias_grad(const OrrTransformerView *view, GArray *operators, gboolean bias,
                                   double elements);

/* An MLP's activation on @elements of its inner width. */
void orr_transformer_put_activation(const OrrTransformerView *view, GArray *operators, OrrPass pass,
                                    double elements);

/* The operators of @forward that ORR_MODULE_OPERATORS replays (transformer_keep.c). */
void orr_transformer_put_again(const OrrTransformerView *view, const GArray *forward,
                               GArray *operators);

/* Tokens of one chunk of Liger's loss: as many chunks as the vocabulary is wider than the model,
 * and a power of two of tokens (liger_kernel/ops/fused_linear_cross_entropy.py). */
gint64 orr_transformer_loss_chunk(const OrrTransformerView *view);

/* --- plain PyTorch (transformer_torch.c) --- */

/* Drops what a layer's forward runs last and its backward does not read: the last product, of
 * experts too, and what follows it. PyTorch's checkpoints stop before them, and the compiler
 * removes them. */
void orr_transformer_drop_end(GArray *operators);

/* The adapters of @matrix in training, as orr_matrix_adapters; 0 where all weights are trained. */
guint orr_transformer_adapters(const OrrTransformerView *view, const OrrMatrix *matrix,
                               gint64 ret_widths[3]);

/* The products of the linear layer @matrix that the framework runs; returns how many. */
guint orr_transformer_products(const OrrTransformerView *view, const OrrMatrix *matrix,
                               OrrProduct products[3]);

/* Whether gathers and scatters of the tensor-parallel group need copies. */
gboolean orr_transformer_copies(const OrrTransformerView *view);
void orr_transformer_put_copy(const OrrTransformerView *view, GArray *operators, OrrPass pass,
                              OrrOperatorComm comm, double bytes);

/* Sums the gradients of one input of @elements that @products products give. */
void orr_transformer_put_grad_sum(const OrrTransformerView *view, GArray *operators, guint products,
                                  double elements);

/* Elementwise work that PyTorch without its compiler runs as several kernels. */
typedef enum { ORR_EAGER_NORM, ORR_EAGER_GATE } OrrEagerWork;
/* Appends these kernels over @elements; FALSE, with none appended: the layers are others. */
gboolean orr_transformer_put_torch_eager(const OrrTransformerView *view, GArray *operators,
                                         OrrEagerWork work, const char *name, OrrPass pass,
                                         double elements);

/* What PEFT does around an adapter with @in elements of input and @out of result. */
void orr_transformer_put_torch_adapter(const OrrTransformerView *view, GArray *operators,
                                       OrrPass pass, double in, double out);
void orr_transformer_put_torch_casts(const OrrTransformerView *view, GArray *operators,
                                     const OrrMatrix *matrix, double rows, OrrPass pass);

/* @view with keys and values repeated for all query heads, where the layers are PyTorch's. */
OrrTransformerView orr_transformer_repeated(const OrrTransformerView *view);

/* --- blocks: from the norm's output to the input of the residual add, without either --- */

/* A part of a block: forward, or its whole backward for any other pass. */
typedef void (*OrrTransformerPart)(const OrrTransformerView *view, GArray *operators, OrrPass pass);

/* One step of a block: a part, or the layer's matrices of that name; it can have none. */
typedef struct {
  OrrTransformerPart put;
  const char *matrix;
  guint modules; /* the bits of ORR_MODULE_ that replay it */
} OrrTransformerStep;

/* A block's steps in the order of its forward; the backward is the reverse. */
typedef struct {
  const OrrTransformerStep *steps;
  guint n_steps;
  gboolean gathers; /* begins with a column-parallel layer: its input is gathered */
  gboolean reduces; /* ends with a row-parallel one: its result is summed */
} OrrTransformerBlock;

extern const OrrTransformerBlock orr_transformer_attention;  /* transformer_attention.c */
extern const OrrTransformerBlock orr_transformer_factorized; /* the same, with compressed queries */
/* One kernel over the view's sequences and heads, within the layer's window where it has one. */
void orr_transformer_put_fused(const OrrTransformerView *view, GArray *operators, OrrPass pass);
extern const OrrTransformerBlock orr_transformer_latent;     /* transformer_latent.c */
extern const OrrTransformerBlock orr_transformer_compressed; /* transformer_sparse.c */
/* Pairs of query and entry of one sequence in a compressed layer. */
double orr_transformer_compressed_pairs(const OrrTransformerView *view);
/* The product of the core's result with its gate, where it has one. */
void orr_transformer_put_output_gate(const OrrTransformerView *view, GArray *operators,
                                     OrrPass pass);
/* Reads and writes of RWKV's token shift, for each number of the stream. */
#define ORR_SHIFT_MOVES 9
extern const OrrTransformerBlock orr_transformer_state; /* transformer_state.c */

/* transformer_attention.c */
/* The indexer of sparse attention (transformer_sparse.c); nothing for layers without one. */
void orr_transformer_put_index_products(const OrrTransformerView *view, GArray *operators,
                                        OrrPass pass);
void orr_transformer_put_index_scores(const OrrTransformerView *view, GArray *operators,
                                      OrrPass pass);
void orr_transformer_put_core(const OrrTransformerView *view, GArray *operators, OrrPass pass);

/* transformer_ends.c: an encoder without its layers */
void orr_transformer_encoder_ends(const OrrModel *model, const OrrShard *shard, GArray *operators);

/* transformer_context.c: the core over ranks that share the sequence */
void orr_transformer_put_context(const OrrTransformerView *view, GArray *operators, OrrPass pass);

/* transformer_state.c */
void orr_transformer_put_scan(const OrrTransformerView *view, GArray *operators, OrrPass pass);

/* transformer_moe.c */
void orr_transformer_put_moe(const OrrTransformerView *view, GArray *operators, OrrPass pass);
void orr_transformer_put_shared_experts(const OrrTransformerView *view, GArray *operators,
                                        OrrPass pass);
void orr_transformer_put_moe_activation(const OrrTransformerView *view, GArray *operators);

/* transformer_memory.c: adds @bytes to the entry of @operator in @kept, of OrrKeptBytes. */
void orr_transformer_keep(GArray *kept, const char *operator, double bytes);

/* transformer_keep.c: what ORR_MODULE_OPERATORS keeps of one layer for one micro-batch. */
void orr_transformer_keep_results(const OrrModel *model, guint kind, const OrrShard *shard,
                                  GArray *kept);

/* Tokens and experts of one rank. */
typedef struct {
  double tokens;    /* that this rank routes */
  double pairs;     /* of a token and an expert, before dispatch, including capacity */
  double exchanged; /* of them, those that cross the fullest rank's link in each direction */
  double local;     /* pairs computed by this rank's experts */
  double group;     /* tokens of the whole expert-parallel group */
  gint64 ep, etp;
  gint64 width;        /* in which experts compute: hidden, or the latent width */
  gint64 ffn;          /* of a whole expert */
  gint64 shared;       /* this rank's width of the shared experts */
  gboolean replicated; /* all tp ranks have all tokens: nothing is dispatched, a sum follows */
} OrrTransformerRouting;
OrrTransformerRouting orr_transformer_routing(const OrrTransformerView *view);

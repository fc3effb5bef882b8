/*
 * transformer.h - a model's blocks broken into operators of one GPU.
 *
 * Megatron's sharding: QKV and the MLP's first GEMM column-parallel, the attention output and the
 * MLP's second GEMM row-parallel; forward ends each of the two blocks in an all-reduce, backward
 * begins them with one. With sequence parallelism the all-reduce becomes reduce-scatter +
 * all-gather and norms, dropouts and residuals work on s/tp tokens (Korthikanti et al. 2022).
 * Backward of a column-parallel layer re-gathers its input under sequence parallelism.
 */
#ifndef ORR_TRANSFORMER_H
#define ORR_TRANSFORMER_H

#include "models/lora.h"
#include "models/model.h"
#include "models/operator.h"
#include "models/precision.h"

G_BEGIN_DECLS

/* Also stands for the age of the kernels around it. Unfused, Megatron in 2021-22: the bias of
 * QKV, the gradient's addition to main-grad and the gradients of a norm's weights are kernels of
 * their own. Fused: parts of others. */
typedef enum {
  ORR_ATTENTION_UNFUSED,
  ORR_ATTENTION_FUSED,
  ORR_ATTENTION_FLASH_2,
  ORR_ATTENTION_FLASH_TRITON
} OrrAttention;
/* "unfused", "fused", "flash-2", "flash-triton", NULL */
extern const char *const orr_attention_words[];

/* How ranks share a sequence (context parallelism): keys and values go round a ring, step by
 * step beside the attention of those that have come, each rank holding an early and a late piece
 * so that all have equal work (Megatron's p2p; Liu et al. 2023, arXiv 2310.01889; zig-zag); all
 * are gathered (Llama 3); or heads are shared instead of the sequence while attention runs
 * (DeepSpeed Ulysses, arXiv 2309.14509). Hierarchical: heads are shared by the `cp_inner` ranks
 * next to each other, and rings go across (Megatron's a2a+p2p; USP, arXiv 2405.07719). */
typedef enum {
  ORR_CONTEXT_P2P,
  ORR_CONTEXT_ALL_GATHER,
  ORR_CONTEXT_ALL_TO_ALL,
  ORR_CONTEXT_HIERARCHICAL
} OrrContext;
/* "p2p", "all-gather", "all-to-all", "hierarchical", NULL */
extern const char *const orr_context_words[];

/* How the loss is computed from the logits: by Megatron's vocabulary-parallel cross entropy,
 * which works in place on one fp32 copy of them; by PyTorch's on logits in fp32, out of place;
 * or by one kernel that reads the logits as they are and keeps no other copy (compiled, Liger,
 * Transformer Engine). */
typedef enum { ORR_LOSS_MEGATRON, ORR_LOSS_TORCH, ORR_LOSS_FUSED } OrrLoss;
extern const char *const orr_loss_words[]; /* "megatron", "torch", "fused", NULL */

/* How one rank sees the model. */
typedef struct {
  gint64 micro_batch; /* sequences */
  gint64 sequence;    /* tokens a sequence, over all context-parallel ranks */
  gint64 tp;
  gint64 cp;       /* ranks that share each sequence; 0 as 1 */
  gint64 cp_inner; /* of hierarchical context parallelism, ranks that share heads; 0 as 1 */
  gint64 ep;       /* ranks that share the experts; 0 as 1 */
  gint64 etp;      /* ranks that share each expert; 0 as 1 */
  gboolean sequence_parallel;
  /* of sequence parallelism: gathered inputs are kept for the backward (DTensor), not gathered
   * again (Megatron) */
  gboolean keeps_gathered;
  OrrLoss loss;
  OrrContext context;
  /* unfused: batched GEMMs, scale-mask-softmax, dropout, as in 2021-22; fused: Flash */
  OrrAttention attention;
  /* inputs of activation functions are kept in fp8 for the backward */
  gboolean fp8_activation_input;
  /* Megatron 2021-22: 0.1 on attention probabilities and residuals; Llama-era recipes: none */
  gboolean dropout;
  /* eager: also a separate QKV bias, norm-weight gradients and main-grad additions */
  OrrKernels kernels;
  OrrDtype dtype; /* of activations between kernels, and of the weights as stored */
  /* of a gradient that products by weight add to (gradient-accumulation-fusion); 0: they write */
  double main_grad_bytes;
  const OrrPrecisionRecipe *recipe; /* what linear layers' products run in; NULL: dtype */
  /* tokens of an expert, of its balanced share, padded up to that; 0: as many as come */
  double capacity;
  double imbalance; /* see OrrOperator */
  /* pairs that the rank whose experts have most takes, in balanced shares; 0 as 1 */
  double fullest;
  /* shared experts run beside the dispatch (Megatron's moe-shared-expert-overlap) */
  gboolean shared_expert_overlap;
  OrrLora lora;
} OrrShard;

/* Parameters that one rank holds: those that it shares with the ranks of its data- and
 * context-parallel group, those of routed experts, which are replicated over fewer ranks, and
 * those that are not trained. */
typedef struct {
  double dense, experts, frozen;
  double linear; /* of all these, what is in the matrices of linear layers, adapters left out */
} OrrWeights;
static inline double orr_weights_sum(OrrWeights weights) {
  return weights.dense + weights.experts + weights.frozen;
}

/* Whether @model can be split so: heads, key-value heads and MLP by tp, tokens by cp and under
 * sequence parallelism, experts by ep and etp, learned positions enough; and whether the kernels
 * asked for can do it. @model is settled; findings at @place. */
void orr_transformer_check(const OrrModel *model, const OrrShard *shard, OrrPlace place,
                           OrrDiags *diags);

/* What of a layer's forward is not kept but replayed before its backward, as bits: Megatron's
 * recompute-modules. */
enum {
  ORR_MODULE_CORE_ATTN = 1 << 0, /* the attention core; of other mixers their scan */
  ORR_MODULE_LAYERNORM = 1 << 1, /* the norms before attention and feed-forward */
  ORR_MODULE_MLA_UP_PROJ =
      1 << 2, /* latent attention: queries, keys and values from their compressed forms */
  ORR_MODULE_MLP = 1 << 3,            /* a dense feed-forward */
  ORR_MODULE_MOE = 1 << 4,            /* the whole of a feed-forward of experts */
  ORR_MODULE_MOE_ACT = 1 << 5,        /* the routed experts' activation */
  ORR_MODULE_SHARED_EXPERTS = 1 << 6, /* shared experts */
  ORR_MODULE_OPERATORS = 1 << 29,     /* all but some operators' results (transformer_keep.c) */
  ORR_MODULE_LAYER = 1 << 30          /* all of it: full recomputation */
};
/* The words of the bits from 0 on: "core-attn", "layernorm", "mla-up-proj", "mlp", "moe",
 * "moe-act", "shared-experts". */
extern const char *const orr_module_words[];
/* none: 0; selective: the attention core; full: the layer */
guint orr_transformer_recompute_modules(OrrRecompute recompute);

/* Each appends OrrOperator to @operators in execution order, COMM operators (of groups of two
 * and more) in their places. @kind is one of orr_model_layer_kind. Backward appends DGRAD and
 * WGRAD of each GEMM. A COMM's pass is that of the result it serves: one of DGRAD may run beside
 * the WGRAD operators that follow it, one of WGRAD (the re-gathered input) beside the DGRAD that
 * follow, where the framework overlaps them (Megatron's async-tensor-model-parallel-allreduce,
 * from 2022); else each blocks. */
void orr_transformer_layer_forward(const OrrModel *model, guint kind, const OrrShard *shard,
                                   GArray *operators);
void orr_transformer_layer_backward(const OrrModel *model, guint kind, const OrrShard *shard,
                                    GArray *operators);

/* What recomputation of @modules replays before a layer's backward. */
void orr_transformer_layer_recompute(const OrrModel *model, guint kind, const OrrShard *shard,
                                     guint modules, GArray *operators);

/* First stage: token (vocabulary-parallel) and position embedding, dropout; of an encoder, what
 * is not its layers: patch embedding and projector. */
void orr_transformer_embedding_forward(const OrrModel *model, const OrrShard *shard,
                                       GArray *operators);
void orr_transformer_embedding_backward(const OrrModel *model, const OrrShard *shard,
                                        GArray *operators);

/* Last stage: final norm, vocabulary-parallel logits, cross entropy. */
void orr_transformer_head_forward(const OrrModel *model, const OrrShard *shard, GArray *operators);
void orr_transformer_head_backward(const OrrModel *model, const OrrShard *shard, GArray *operators);

/* One multi-token-prediction layer (DeepSeek-V3, arXiv 2412.19437, section 2.2): the next
 * token's embedding and the state, normed and projected together, a layer as the model's last,
 * and the output layer with its loss once more. */
void orr_transformer_mtp_forward(const OrrModel *model, const OrrShard *shard, GArray *operators);
void orr_transformer_mtp_backward(const OrrModel *model, const OrrShard *shard, GArray *operators);

/* Whether linear layers' weights are frozen and held in their products' format alone: nothing
 * casts those again. */
gboolean orr_shard_is_frozen_narrow(const OrrShard *shard);

/* Weights cast once a step for narrow products: the linear layers among @weights. Nothing where
 * the recipe casts none. */
void orr_transformer_weight_cast(const OrrShard *shard, OrrWeights weights, GArray *operators);

/* Adam on @parameters of one GPU, mixed precision with fp32 master weights as Megatron runs it:
 * gradient copy to fp32, unscale and inf check (fp16 only), gradient norm and clip, Adam, copy
 * back. */
void orr_transformer_optimizer(double parameters, OrrDtype dtype, double moment_bytes,
                               GArray *operators);

OrrWeights orr_transformer_layer_weights(const OrrModel *model, guint kind, const OrrShard *shard);
/* of the first stage */
OrrWeights orr_transformer_embedding_weights(const OrrModel *model, const OrrShard *shard);

/* of one, with its layer */
OrrWeights orr_transformer_mtp_weights(const OrrModel *model, const OrrShard *shard);

/* Bytes that @weights take in a GPU: in the storage format, with narrow copies, or, frozen, as
 * narrow copies alone or in four bits. */
double orr_transformer_weight_bytes(const OrrShard *shard, OrrWeights weights);

/* Of the last stage: no logits' weights when it shares the first stage's memory (pp = 1, tied). */
OrrWeights orr_transformer_head_weights(const OrrModel *model, const OrrShard *shard,
                                        gboolean shares_embedding);

/* What the backward of one kind of operator reads, and so is kept. Operators are named as they
 * are where they run, but for layer-input, of layers that are recomputed, and NAME-result, of
 * those that ORR_MODULE_OPERATORS keeps. */
typedef struct {
  const char *operator;
  double bytes; /* of one micro-batch, on one rank */
} OrrKeptBytes;

/* Each appends OrrKeptBytes to @kept, or adds to those of that operator: of a layer (@modules
 * are recomputed), of the embedding, of the head, of a multi-token-prediction layer with its
 * head. The sums are the functions' below. */
void orr_transformer_layer_kept(const OrrModel *model, guint kind, const OrrShard *shard,
                                guint modules, GArray *kept);
void orr_transformer_embedding_kept(const OrrModel *model, const OrrShard *shard, GArray *kept);
void orr_transformer_head_kept(const OrrModel *model, const OrrShard *shard, GArray *kept);
void orr_transformer_mtp_kept(const OrrModel *model, const OrrShard *shard, guint modules,
                              GArray *kept);
double orr_transformer_kept_sum(const GArray *kept);

/* Bytes of activations that one layer keeps from forward to backward for one micro-batch
 * (Korthikanti et al. 2022, eq. 2-6: sbh (10 + 24/t + 5 a s / (h t)) and its variants;
 * generalised to GQA, gated MLPs, fused attention). */
double orr_transformer_layer_activation_bytes(const OrrModel *model, guint kind,
                                              const OrrShard *shard, guint modules);

/* The same beyond the layers: embedding dropout mask on the first stage; norm input, logits and
 * loss on the last (Korthikanti et al., section 4.3). */
double orr_transformer_embedding_activation_bytes(const OrrModel *model, const OrrShard *shard);
double orr_transformer_head_activation_bytes(const OrrModel *model, const OrrShard *shard);
double orr_transformer_mtp_activation_bytes(const OrrModel *model, const OrrShard *shard,
                                            guint modules);

/* Bytes of gradients of activations that are alive at once in one layer's backward: the residual
 * stream's, and the most that one of its products reads and writes. */
double orr_transformer_layer_gradient_bytes(const OrrModel *model, guint kind,
                                            const OrrShard *shard);

/* Beyond what the head keeps, while the loss' gradient becomes that of the logits. */
double orr_transformer_head_gradient_bytes(const OrrModel *model, const OrrShard *shard);

/* The output layer's result of one micro-batch, on one rank: its share of the vocabulary, in the
 * storage format. */
double orr_transformer_logits_bytes(const OrrModel *model, const OrrShard *shard);

/* Bytes of one micro-batch that one rank holds at a pipeline boundary: s b h * dtype; under
 * sequence parallelism 1/tp of it. (Without it, scatter-gather sends 1/tp and gathers on the
 * other side: the pipeline's business.) */
double orr_transformer_boundary_bytes(const OrrModel *model, const OrrShard *shard);

G_END_DECLS

#endif

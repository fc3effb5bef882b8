/*
 * transformer.h - decomposes a model's blocks into operators of one GPU, for training.
 *
 * The sharding is Megatron's: QKV and the MLP's first GEMM are column-parallel, the attention
 * output and the MLP's second GEMM row-parallel. Each of the two blocks ends in an all-reduce in
 * the forward pass and begins with one in the backward pass. With sequence parallelism, the
 * all-reduce becomes a reduce-scatter and an all-gather, and norms, dropouts and residuals work on
 * s/tp tokens (Korthikanti et al. 2022); the backward of a column-parallel layer then gathers its
 * input again.
 */
#pragma once

#include "models/model.h"
#include "models/transformer_shard.h"

/* Checks that @model can be split this way: heads, key-value heads and MLP by tp, tokens by cp
 * and under sequence parallelism, experts by ep and etp, enough learned positions; and that the
 * chosen kernels support it. @model is settled; findings at @place. */
void orr_transformer_check(const OrrModel *model, const OrrShard *shard, OrrPlace place,
                           OrrDiags *diags);

/* The parts of a layer's forward that are not kept but replayed before its backward, as bits:
 * Megatron's recompute-modules. */
enum {
  ORR_MODULE_CORE_ATTN = 1 << 0, /* the attention core, or another mixer's scan */
  ORR_MODULE_LAYERNORM = 1 << 1, /* the norms before attention and feed-forward */
  ORR_MODULE_MLA_UP_PROJ =
      1 << 2, /* latent attention: queries, keys and values from their compressed forms */
  ORR_MODULE_MLP = 1 << 3,            /* a dense feed-forward */
  ORR_MODULE_MOE = 1 << 4,            /* a whole feed-forward of experts */
  ORR_MODULE_MOE_ACT = 1 << 5,        /* the routed experts' activation */
  ORR_MODULE_SHARED_EXPERTS = 1 << 6, /* shared experts */
  ORR_MODULE_FC1 = 1 << 7,            /* a dense feed-forward without its second product */
  ORR_MODULE_PROJECTION = 1 << 8,     /* attention's last product */
  ORR_MODULE_OPERATORS = 1 << 29,     /* everything but some operators' results
                                       * (transformer_keep.c) */
  ORR_MODULE_LAYER = 1 << 30          /* the whole layer: full recomputation */
};
/* The words of the bits, from bit 0: "core-attn", "layernorm", "mla-up-proj", "mlp", "moe",
 * "moe-act", "shared-experts", "fc1", "projection". */
extern const char *const orr_module_words[];
/* None: 0; selective: the attention core; full: the layer. */
guint orr_transformer_recompute_modules(OrrRecompute recompute);

/* Each function appends OrrOperators to @operators in the order of execution, including COMM
 * operators of groups of at least two. @kind is one of orr_model_layer_kind. Backward appends
 * DGRAD and WGRAD of each GEMM. A COMM has the pass of the result that needs it. One of DGRAD
 * can run concurrently with the WGRAD operators after it, and one of WGRAD (the input gathered
 * again) with the DGRAD operators after it, where the framework overlaps them (Megatron's
 * async-tensor-model-parallel-allreduce, from 2022); else each blocks. */
void orr_transformer_layer_forward(const OrrModel *model, guint kind, const OrrShard *shard,
                                   GArray *operators);
void orr_transformer_layer_backward(const OrrModel *model, guint kind, const OrrShard *shard,
                                    GArray *operators);

/* The operators that recomputation of @modules replays before a layer's backward. */
void orr_transformer_layer_recompute(const OrrModel *model, guint kind, const OrrShard *shard,
                                     guint modules, GArray *operators);

/* First stage: token (vocabulary-parallel) and position embedding, dropout; for an encoder,
 * everything but its layers: patch embedding and projector. */
void orr_transformer_embedding_forward(const OrrModel *model, const OrrShard *shard,
                                       GArray *operators);
void orr_transformer_embedding_backward(const OrrModel *model, const OrrShard *shard,
                                        GArray *operators);

/* Last stage: final norm, vocabulary-parallel logits, cross entropy. */
void orr_transformer_head_forward(const OrrModel *model, const OrrShard *shard, GArray *operators);
void orr_transformer_head_backward(const OrrModel *model, const OrrShard *shard, GArray *operators);

/* One multi-token-prediction layer (DeepSeek-V3, arXiv 2412.19437, section 2.2): norms and joint
 * projection of the next token's embedding and the state, a layer of the kind of the model's
 * last, and the output layer with its loss again. Its body is all but the output layer, which can
 * be on a later stage. */
void orr_transformer_mtp_forward(const OrrModel *model, const OrrShard *shard, GArray *operators);
void orr_transformer_mtp_backward(const OrrModel *model, const OrrShard *shard, GArray *operators);
void orr_transformer_mtp_body_forward(const OrrModel *model, const OrrShard *shard,
                                      GArray *operators);
void orr_transformer_mtp_body_backward(const OrrModel *model, const OrrShard *shard,
                                       GArray *operators);

/* The cast of weights for narrow products, once per step: the linear layers among @weights.
 * Nothing where the recipe casts none. */
void orr_transformer_weight_cast(const OrrShard *shard, OrrWeights weights, GArray *operators);

/* Bytes of what Adam updates, per parameter. */
typedef struct {
  double master, moment; /* of a master weight beside the weight (0: none), of one moment */
} OrrAdamBytes;

/* Adam on @parameters of one GPU, as Megatron runs it in mixed precision: gradient copy to fp32,
 * unscale and inf check (fp16 only), gradient norm and clip, Adam, copy of the masters to the
 * weights. */
void orr_transformer_optimizer(double parameters, OrrDtype dtype, OrrAdamBytes adam,
                               GArray *operators);

OrrWeights orr_transformer_layer_weights(const OrrModel *model, guint kind, const OrrShard *shard);
/* Of the first stage. */
OrrWeights orr_transformer_embedding_weights(const OrrModel *model, const OrrShard *shard);

/* Of one multi-token-prediction layer. */
OrrWeights orr_transformer_mtp_weights(const OrrModel *model, const OrrShard *shard);

/* Bytes of @weights on a GPU: in the storage format, with narrow copies, or, frozen, only as
 * narrow copies or in four bits. */
double orr_transformer_weight_bytes(const OrrShard *shard, OrrWeights weights);

/* Of the last stage: without the weights of the logits where it shares the first stage's memory
 * (pp = 1, tied). */
OrrWeights orr_transformer_head_weights(const OrrModel *model, const OrrShard *shard,
                                        gboolean shares_embedding);

/* Bytes that are kept because the backward of one kind of operator reads them. Operators have
 * the names with which they run, except layer-input, of recomputed layers, and NAME-result, of the
 * operators that ORR_MODULE_OPERATORS keeps. */
typedef struct {
  const char *operator;
  double bytes; /* of one micro-batch, on one rank */
} OrrKeptBytes;

/* Each function appends OrrKeptBytes to @kept, or adds to the operator's entry: of a layer
 * (@modules are recomputed), of the embedding, of the head, of a multi-token-prediction layer
 * with its head, or its body alone. The functions below return the sums. */
void orr_transformer_layer_kept(const OrrModel *model, guint kind, const OrrShard *shard,
                                guint modules, GArray *kept);
void orr_transformer_embedding_kept(const OrrModel *model, const OrrShard *shard, GArray *kept);
void orr_transformer_head_kept(const OrrModel *model, const OrrShard *shard, GArray *kept);
void orr_transformer_mtp_kept(const OrrModel *model, const OrrShard *shard, guint modules,
                              GArray *kept);
void orr_transformer_mtp_body_kept(const OrrModel *model, const OrrShard *shard, guint modules,
                                   GArray *kept);

/* Bytes of activations that one layer keeps from forward to backward per micro-batch
 * (Korthikanti et al. 2022, eq. 2-6: sbh (10 + 24/t + 5 a s / (h t)) and its variants;
 * generalised to GQA, gated MLPs, fused attention). */
double orr_transformer_layer_activation_bytes(const OrrModel *model, guint kind,
                                              const OrrShard *shard, guint modules);

/* The same outside the layers: the embedding's dropout mask on the first stage; norm input,
 * logits and loss on the last (Korthikanti et al., section 4.3). */
double orr_transformer_embedding_activation_bytes(const OrrModel *model, const OrrShard *shard);
double orr_transformer_head_activation_bytes(const OrrModel *model, const OrrShard *shard);
double orr_transformer_mtp_activation_bytes(const OrrModel *model, const OrrShard *shard,
                                            guint modules);
double orr_transformer_mtp_body_activation_bytes(const OrrModel *model, const OrrShard *shard,
                                                 guint modules);

/* Most bytes of activation gradients that are alive at once in one layer's backward: the
 * residual stream's, and the most that one of its products reads and writes. */
double orr_transformer_layer_gradient_bytes(const OrrModel *model, guint kind,
                                            const OrrShard *shard);

/* In addition to what the head keeps, while the loss' gradient becomes the logits'. */
double orr_transformer_head_gradient_bytes(const OrrModel *model, const OrrShard *shard);

/* Bytes of the logits of one micro-batch on one rank: its part of the vocabulary, in the storage
 * format; 0: the loss includes the output layer. */
double orr_transformer_logits_bytes(const OrrModel *model, const OrrShard *shard);

/* Bytes of one micro-batch on one rank at a pipeline boundary: s b h * dtype; under sequence
 * parallelism 1/tp of that. (Without it, scatter-gather sends 1/tp and gathers on the other
 * side: the pipeline handles that.) */
double orr_transformer_boundary_bytes(const OrrModel *model, const OrrShard *shard);

/*
 * transformer_shard.h - how a model is split, and what one rank runs; the choices that this names.
 */
#pragma once

#include "models/lora.h"
#include "models/operator.h"
#include "sim/base/dtype.h"

/* precision.c: training precision recipes: the format of each product, the casts, and what is
 * kept.
 *
 * A recipe has a storage format (of the framework's weights, activations between kernels, norms,
 * attention) and formats for the inputs of the products in linear layers. Where these are narrower,
 * Transformer Engine casts: the input and the output gradient of each linear layer once per
 * micro-batch, both plain and transposed (products by weight need the transpose), the weights once
 * per step. `cast_bytes` is what such a kernel moves per element.
 *
 * Router, embedding, output layer, norms and attention stay in the storage format, as in every
 * recipe below. */

typedef enum {
  ORR_PRECISION_FP16,
  ORR_PRECISION_BF16,
  ORR_PRECISION_FP32,
  ORR_PRECISION_TF32,
  ORR_PRECISION_FP8, /* serving's word for fp8-current */
  ORR_PRECISION_FP8_DELAYED,
  ORR_PRECISION_FP8_CURRENT,
  ORR_PRECISION_FP8_BLOCKWISE,
  ORR_PRECISION_MXFP8,
  ORR_PRECISION_NVFP4,
  ORR_PRECISION_FP8_ROWWISE,
  ORR_N_PRECISIONS
} OrrPrecision;

typedef struct {
  const char *sentence; /* what it is and its source */
  OrrDtype storage;
  OrrDtype forward, dgrad, wgrad; /* formats of the products of linear layers */
  /* The tensor cores apply a scale to each block: Blackwell's, which also multiply fp4. */
  gboolean block_scaled;
  /* A scale per row or column: weights are cast again for each product. */
  gboolean row_scaled;
  /* Moved per element of a linear layer's input or gradient: the reads and both writes; 0: no
   * cast. */
  double cast_bytes;
  double weight_cast_bytes; /* moved per weight, once per step */
  double saved_bytes;       /* per element of a linear layer's input, kept for the product by
                             * weight */
  double weight_copy_bytes; /* per weight, of narrow copies in addition to the storage format */
  /* Frozen weights are stored only as narrow copies, cast when they are loaded. */
  gboolean frozen_narrow;
  /* Per element of a tensor-parallel all-gather of a linear layer's input or gradient. */
  double gather_bytes;
  /* Per element of an expert-parallel dispatch, forward; the combine has the storage format. */
  double dispatch_bytes;
} OrrPrecisionRecipe;

extern const char *const orr_precision_words[]; /* "fp16", "bf16", ..., NULL, by OrrPrecision */
const OrrPrecisionRecipe *orr_precision_recipe(OrrPrecision precision);
/* The recipe whose products have the storage format, too. */
const OrrPrecisionRecipe *orr_precision_plain(OrrDtype storage);

/* Whether products of linear layers run in another format than the storage format. */
gboolean orr_precision_casts(const OrrPrecisionRecipe *recipe); /* NULL: no */

/* --- transformer_shard.c --- */

/* Also sets the generation of the kernels around it. Unfused is Megatron in 2021-22: QKV's bias,
 * the addition of gradients to main-grad and the gradients of a norm's weights are kernels of
 * their own. Fused: they are parts of other kernels. */
typedef enum {
  ORR_ATTENTION_UNFUSED,
  ORR_ATTENTION_FUSED,
  ORR_ATTENTION_FLASH_2,
  ORR_ATTENTION_FLASH_TRITON,
  ORR_ATTENTION_FLASH_1
} OrrAttention;
/* "unfused", "fused", "flash-2", "flash-triton", "flash-1", NULL */
extern const char *const orr_attention_words[];

/* How ranks share a sequence (context parallelism). p2p: keys and values move round a ring,
 * concurrently with the attention over the arrived ones; each rank has an early and a late
 * chunk, so that all have equal work (Megatron's p2p; Liu et al. 2023, arXiv 2310.01889;
 * zig-zag). all-gather: every rank gathers all of them (Llama 3). all-to-all: ranks split heads
 * instead of the sequence while attention runs (DeepSpeed Ulysses, arXiv 2309.14509).
 * hierarchical: `cp_inner` neighbouring ranks split heads, and rings connect ranks of equal
 * heads (Megatron's a2a+p2p; USP, arXiv 2405.07719). gathered-ring: the steps of p2p, after
 * one all-gather of all keys and values (PyTorch, compiled). */
typedef enum {
  ORR_CONTEXT_P2P,
  ORR_CONTEXT_ALL_GATHER,
  ORR_CONTEXT_ALL_TO_ALL,
  ORR_CONTEXT_HIERARCHICAL,
  ORR_CONTEXT_GATHERED_RING
} OrrContext;
/* "p2p", "all-gather", "all-to-all", "hierarchical", "gathered-ring", NULL */
extern const char *const orr_context_words[];

/* How the loss is computed from the logits: by Megatron's vocabulary-parallel cross entropy, in
 * place on one fp32 copy; by PyTorch's, out of place, on fp32 logits or (narrow) on the logits in
 * their own format; by one kernel that reads the logits in their format and keeps no copy
 * (compiled, flash-attn, Transformer Engine); or together with the output layer, so that all
 * logits never exist at once: in chunks of tokens whose gradients are computed at once (Liger's
 * fused linear cross entropy, Hsu et al. 2024, arXiv 2410.10989), or by tiles that the backward
 * computes again (cut cross entropy, Wijmans et al. 2024, arXiv 2411.09009). */
typedef enum {
  ORR_LOSS_MEGATRON,
  ORR_LOSS_TORCH,
  ORR_LOSS_FUSED,
  ORR_LOSS_CHUNKED,
  ORR_LOSS_CUT,
  ORR_LOSS_TORCH_NARROW
} OrrLoss;
/* "megatron", "torch", "fused", "chunked", "cut", "torch-narrow", NULL */
extern const char *const orr_loss_words[];

/* Whether the loss includes the output layer. */
static inline gboolean orr_loss_is_linear(OrrLoss loss) {
  return loss == ORR_LOSS_CHUNKED || loss == ORR_LOSS_CUT;
}

/* Whose modules the layers are (transformer_torch.c). MEGATRON: one product for queries, keys and
 * values, one for gate and up; sequences first. TORCH: a product for each, batches first, as
 * torchtitan writes a Llama. */
typedef enum { ORR_LAYERS_MEGATRON, ORR_LAYERS_TORCH } OrrLayers;
extern const char *const orr_layers_words[]; /* "megatron", "torch", NULL */

/* How a model is split, and what one rank runs. */
typedef struct {
  gint64 micro_batch; /* sequences */
  gint64 sequence;    /* tokens per sequence, over all context-parallel ranks */
  gint64 tp;
  gint64 cp;       /* ranks that share each sequence; 0 as 1 */
  gint64 cp_inner; /* ranks that split heads in hierarchical context parallelism; 0 as 1 */
  gint64 ep;       /* ranks that share the experts; 0 as 1 */
  gint64 etp;      /* ranks that share each expert; 0 as 1 */
  gboolean sequence_parallel;
  /* With sequence parallelism: gathered inputs are kept for the backward (DTensor), not gathered
   * again (Megatron). */
  gboolean keeps_gathered;
  OrrLoss loss;
  gboolean forward_only; /* an evaluation: no backward follows */
  OrrLayers layers;
  gboolean uncompiled; /* elementwise kernels are PyTorch's own, one an operator */
  OrrContext context;
  /* Unfused: batched GEMMs, scale-mask-softmax, dropout, as in 2021-22; fused: Flash. */
  OrrAttention attention;
  /* Inputs of activation functions are kept in fp8 for the backward. */
  gboolean fp8_activation_input;
  /* Megatron 2021-22: 0.1 on attention probabilities and residuals; Llama-era recipes: none */
  gboolean dropout;
  /* Eager: also a separate QKV bias, norm-weight gradients and main-grad additions. */
  OrrKernels kernels;
  OrrDtype dtype; /* storage format of activations and weights */
  /* Per element of the gradient to which products by weight add (gradient-accumulation-fusion);
   * 0: they write. */
  double main_grad_bytes;
  const OrrPrecisionRecipe *recipe; /* formats of products of linear layers; NULL: dtype */
  /* Each expert's tokens are padded up to this multiple of its balanced number; 0: not padded. */
  double capacity;
  double imbalance; /* see OrrMoeShape */
  /* Pairs of the fullest rank, as a multiple of the balanced number; 0 as 1. */
  double fullest;
  /* Shared experts run concurrently with the dispatch (Megatron's moe-shared-expert-overlap). */
  gboolean shared_expert_overlap;
  /* Kernels of their own for the bias of experts' second products, and for the clamp before their
   * activation. */
  gboolean bias_apart, clamp_apart;
  gboolean router_fp32;   /* the router's backward casts its input and its input's gradient */
  gboolean map_gathered;  /* every rank learns where all tokens go before a dispatch */
  gboolean sends_tokens;  /* a dispatch sends tokens, which their experts' ranks sort by expert */
  gboolean padding_apart; /* copies that pad experts' rows for narrow products, and back */
  gboolean rope_apart;    /* rotary embedding by a dozen kernels instead of one */
  OrrLora lora;
  /* The encoder's layers are not trained: they have no backward and keep nothing for one. */
  gboolean frozen_encoder;
} OrrShard;

/* The parameters of one rank: replicated over its data- and context-parallel group, routed
 * experts', which fewer ranks replicate, and frozen ones. */
typedef struct {
  double dense, experts, frozen;
  double linear; /* of all these, those in matrices of linear layers, without adapters */
  double copied; /* of the dense, adapters' halves that all tensor-parallel ranks hold alike */
} OrrWeights;
static inline double orr_weights_sum(OrrWeights weights) {
  return weights.dense + weights.experts + weights.frozen;
}

/* Whether weights of linear layers are frozen and stored only in the format of their products,
 * so that nothing casts them again. */
gboolean orr_shard_is_frozen_narrow(const OrrShard *shard);

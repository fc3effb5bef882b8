/*
 * operator.h - one kernel's worth of work, with the shape that its cost depends on.
 *
 * An operator is a tagged union: `kind` says which shape it has. Shapes are one GPU's, after
 * sharding. FLOPs count a multiply-add as two; bytes are what must cross HBM once.
 *
 *   gemm       `batch` products y[m,n] = x[m,k] w[n,k]^T; flops 2 batch m n k
 *   attention  one fused kernel (Flash): `batch` sequences, q_length queries over kv_length keys,
 *              heads, kv_heads, head_dim. Causal: query i of q sees the first kv - q + i + 1 keys;
 *              FLOPs count q (kv - q / 2) pairs
 *   memory     bound by HBM bandwidth: layer norm, softmax, GELU, dropout, residual add, embedding,
 *              optimizer
 *   comm       a collective inside a layer, among one of the groups that share the layer (`group`).
 *              `bytes` is the size that NCCL counts. A send-recv is one step of a ring: each rank
 *              sends `bytes` to the next and receives as many from the previous one. An all-to-all
 *              between experts has a shape too
 *   moe        the routed experts of one rank: each token goes to `topk` of `experts`; the experts
 *              are split over ep ranks and each expert over tp. 3 projections: gate, up, down
 *              (SwiGLU); 2: up, down (squared ReLU)
 */
#pragma once

#include "sim/base/dtype.h"

typedef enum {
  ORR_OPERATOR_GEMM,
  ORR_OPERATOR_ATTENTION,
  ORR_OPERATOR_MEMORY,
  ORR_OPERATOR_COMM,
  ORR_OPERATOR_MOE
} OrrOperatorKind;

typedef enum {
  ORR_PASS_FORWARD,
  ORR_PASS_DGRAD, /* backward by data */
  ORR_PASS_WGRAD, /* backward by weight */
  ORR_PASS_OPTIMIZER
} OrrPass;

/* The generation of software that the kernels come from: "eager" is PyTorch eager and TorchScript
 * kernels, apex and cuBLAS 11 of 2021-22; "modern" is what followed (Triton, Transformer Engine,
 * compiled graphs, cuBLAS 12). The cost model has constants for both. */
typedef enum { ORR_KERNELS_MODERN, ORR_KERNELS_EAGER } OrrKernels;
extern const char *const orr_kernels_words[]; /* "modern", "eager", NULL */

/* The library of an engine's kernels, where engines ship different ones for the same operator.
 * "any": whichever the profile has rows of. */
typedef enum {
  ORR_KERNEL_LIBRARY_ANY,
  ORR_KERNEL_LIBRARY_AITER,
  ORR_KERNEL_LIBRARY_SGLANG,
  ORR_KERNEL_LIBRARY_TRTLLM,
  ORR_KERNEL_LIBRARY_VLLM
} OrrKernelLibrary;
extern const char *const orr_kernel_library_words[]; /* "any", "aiter" ... NULL */

/* The kernel of fused attention: the fastest kernel measured, or one modelled as a fixed fraction
 * of its rate. */
typedef enum { ORR_FLASH_AS_MEASURED, ORR_FLASH_2, ORR_FLASH_TRITON, ORR_FLASH_1 } OrrFlash;

typedef enum {
  ORR_COMM_ALL_REDUCE,
  ORR_COMM_ALL_GATHER,
  ORR_COMM_REDUCE_SCATTER,
  ORR_COMM_ALL_TO_ALL,
  ORR_COMM_SEND_RECV
} OrrOperatorComm;

/* The ranks that take part in a COMM: those that share the layer's tensors (tp), the sequence (cp),
 * the experts (ep) or one expert's tensors (etp). Hierarchical context parallelism has two groups:
 * ranks that exchange heads (cp-inner), and ranks of equal heads, which form a ring (cp-outer). */
typedef enum {
  ORR_GROUP_TP,
  ORR_GROUP_CP,
  ORR_GROUP_EP,
  ORR_GROUP_ETP,
  ORR_GROUP_CP_INNER,
  ORR_GROUP_CP_OUTER,
  ORR_N_GROUPS
} OrrOperatorGroup;
/* "tp", "cp", "ep", "etp", "cp-inner", "cp-outer", NULL */
extern const char *const orr_group_words[];

/* How the operands of a product are stored, and what its time leaves out. */
typedef struct {
  /* Per weight, where it is stored narrower than it is multiplied; 0: as dtype. */
  double weight_bytes;
  /* Moved per element of a result that is added to a stored sum (gradients); 0: written. */
  double sum_bytes;
  gboolean cast_apart; /* of a narrow dtype: kernels of their own cast the operands */
  gboolean blocks;     /* of fp8: a scale for each block of weights, not for the whole tensor */
  gboolean exact_sums; /* of fp8: partial sums are often promoted to fp32 (no fast accumulation) */
} OrrOperandStorage;

typedef struct {
  gint64 batch, m, n, k;
  /* m of the product that this one is a chunk of. The next chunk runs on another stream and fills
   * the SMs that the last tiles of this one leave idle, so this one costs m / whole_m of the whole.
   * 0: not a chunk. */
  gint64 whole_m;
  OrrOperandStorage stored;
} OrrGemmShape;

typedef struct {
  gint64 batch, q_length, kv_length, heads, kv_heads, head_dim;
  gboolean causal;
  gint64 value_dim; /* size of a value and of the result; 0: head_dim */
  gboolean latent;  /* values are the first elements of the keys, stored once (absorbed MLA) */
  guint8 flash;     /* OrrFlash */
} OrrAttentionShape;

typedef struct {
  gint64 rows, width; /* tokens, and elements per token; 0: unknown */
} OrrMemoryShape;

typedef struct {
  guint8 op;        /* OrrOperatorComm */
  guint8 group;     /* OrrOperatorGroup */
  guint8 n_overlap; /* operators after this one that may run during it; 0: it blocks */
  gint64 tokens, hidden, topk, experts; /* of an all-to-all between experts; tokens of a rank */
} OrrCommShape;

typedef struct {
  gint64 tokens, hidden, inter; /* tokens of the whole expert-parallel group; a whole expert */
  gint64 topk, experts, tp, ep;
  gint64 projections;    /* 0: as many as a measured layer of these sizes has, else 3 */
  gboolean without_last; /* the last of them is not run: a recomputed layer's */
  double imbalance;      /* exponent of the power law of tokens over experts; 0: equal numbers */
  /* Without imbalance: each token draws its experts, so that few tokens leave some experts idle.
   * FALSE: tokens are dealt out evenly, as in benchmarks. */
  gboolean drawn;
  double fullest;   /* pairs of the fullest rank over the mean, without imbalance; 0 as 1 */
  gint64 redundant; /* copies of experts beyond one of each, over all ranks */
  OrrOperandStorage stored;
} OrrMoeShape;

typedef struct {
  const char *name; /* static: "qkv", "attention-scores", "layer-norm" ... */
  guint8 kind;      /* OrrOperatorKind: which member of the union holds */
  guint8 pass;      /* OrrPass */
  guint8 dtype;     /* OrrDtype */
  guint8 kernels;   /* OrrKernels; the constructors leave it modern */
  guint8 library;   /* OrrKernelLibrary; the constructors leave it any */
  /* The call that launched the operator before this one launches this one too, in C++: the
   * framework dispatches none for it. */
  gboolean launched;
  /* A kernel of a training framework, not of a serving engine. */
  gboolean of_trainer;
  /* Of a product: the release of its library ("cublas-11.4"; interned, NULL: any), and its rate as
   * a multiple of the rows' where no row is of that release; 0 as 1. */
  const char *release;
  double rate;
  gint64 fleet;  /* GPUs that wait for the slowest of them, under power limits; 0, 1: one board */
  double wait_s; /* the GPU idles for so long before it: flags and events between slices */
  double flops;
  double bytes;
  union {
    OrrGemmShape gemm;
    OrrAttentionShape attention;
    OrrMemoryShape memory;
    OrrCommShape comm;
    OrrMoeShape moe;
  };
} OrrOperator;

OrrOperator orr_operator_gemm(const char *name, OrrPass pass, OrrDtype dtype, OrrGemmShape shape);

/* Forward: two products, 4 batch heads q kv d FLOPs. Any other pass: the whole backward, five
 * products (2.5 times the FLOPs). */
OrrOperator orr_operator_attention(const char *name, OrrPass pass, OrrDtype dtype,
                                   OrrAttentionShape shape);

/* The mean rank's work: topk / ep experts per token, each with `projections` products (0: counted
 * as 3) of hidden x inter / tp. Reads the tokens and the weights of the experts that receive any,
 * writes the inner activations and the result. A backward pass by data or by weight has the
 * forward's FLOPs. */
OrrOperator orr_operator_moe(const char *name, OrrPass pass, OrrDtype dtype, OrrMoeShape shape);

/* The products that run: projections, but for the last where it is left out. */
static inline double orr_moe_products(const OrrMoeShape *shape) {
  return (double)((shape->projections ? shape->projections : 3) - (shape->without_last ? 1 : 0));
}

/* Expected number of the @local experts that receive a token, when each of @tokens tokens draws
 * @topk of @experts uniformly. An expert receives none with probability (1 - k/E)^T, so the
 * expectation is local (1 - (1 - k/E)^T). */
double orr_operator_moe_awake(double local, double tokens, double topk, double experts);

OrrOperator orr_operator_memory(const char *name, OrrPass pass, OrrDtype dtype, double bytes,
                                double flops);
OrrOperator orr_operator_comm(const char *name, OrrPass pass, OrrOperatorGroup group,
                              OrrOperatorComm comm, double bytes);

/*
 * operator.h - one kernel's worth of work, with the shape that its cost depends on.
 *
 * Shapes are of one GPU, after sharding. FLOPs count a multiply-add as two; bytes are what must
 * cross HBM once.
 *
 *   GEMM       `batch` times y[m,n] = x[m,k] w[n,k]^T; flops 2 batch m n k
 *   ATTENTION  one fused kernel (Flash): `batch` sequences, q_length queries over kv_length keys, heads, kv_heads,
 *              head_dim; causal: query i of q sees the first kv - q + i + 1 keys, of which FLOPs count q (kv - q / 2)
 *   MEMORY     bound by HBM bandwidth: layer norm, softmax, GELU, dropout, residual add, embedding, optimizer
 *   COMM       a collective of one of the groups that share a layer (`group`), in its middle; `bytes` is NCCL's size;
 *              send-recv is one step of a ring: each rank sends `bytes` to the next and has them from the one before;
 *              an all-to-all between experts says its shape too: m tokens of a rank, hidden size k, topk, experts
 *   MOE        the routed experts of one rank: m tokens of the whole expert-parallel group, hidden size k, inner size n
 *              of a whole expert, each token to `topk` of `experts`; experts are split over expert_ep ranks and each of
 *              them over expert_tp. 3 projections: gate, up, down (SwiGLU); 2: up, down (squared ReLU)
 */
#ifndef ORR_OPERATOR_H
#define ORR_OPERATOR_H

#include "sim/base/dtype.h"

G_BEGIN_DECLS

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

/* The generation of software that the kernels are from: PyTorch eager and TorchScript kernels,
 * apex and cuBLAS 11 of 2021-22, or what came after (Triton, Transformer Engine, compiled
 * graphs, cuBLAS 12). The cost model knows both. */
typedef enum { ORR_KERNELS_MODERN, ORR_KERNELS_EAGER } OrrKernels;
extern const char *const orr_kernels_words[]; /* "modern", "eager", NULL */

/* The kernel of fused attention: the fastest that was measured, or one that is told by its rate
 * in that of it. */
typedef enum { ORR_FLASH_AS_MEASURED, ORR_FLASH_2, ORR_FLASH_TRITON } OrrFlash;

typedef enum {
  ORR_COMM_ALL_REDUCE,
  ORR_COMM_ALL_GATHER,
  ORR_COMM_REDUCE_SCATTER,
  ORR_COMM_ALL_TO_ALL,
  ORR_COMM_SEND_RECV
} OrrOperatorComm;

/* Who meets in a COMM: the ranks that share the layer's tensors, the sequence, the experts, or
 * one expert's tensors; of hierarchical context parallelism those that exchange heads, and their
 * equals that form a ring. */
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

typedef struct {
  const char *name; /* static: "qkv", "attention-scores", "layer-norm" ... */
  guint8 kind;      /* OrrOperatorKind */
  guint8 pass;      /* OrrPass */
  guint8 dtype;     /* OrrDtype */
  guint8 comm;      /* OrrOperatorComm, for COMM */
  guint8 group;     /* OrrOperatorGroup, for COMM */
  /* COMM: so many of the operators that follow may run while it does; 0: it blocks */
  guint8 beside;
  guint8 kernels;        /* OrrKernels; the constructors leave it modern */
  gboolean causal;       /* ATTENTION */
  guint8 flash;          /* OrrFlash of ATTENTION; the constructors leave it as measured */
  gint64 batch, m, n, k; /* GEMM */
  /* GEMM: rows of the product that this is a piece of, whose next piece fills the SMs that its
   * last                        tiles leave (it runs on another stream): costs its rows' share
   * of the whole; 0: alone */
  gint64 whole_m;
  gint64 q_length, kv_length, heads, kv_heads, head_dim; /* ATTENTION, with batch */
  gint64 value_dim; /* ATTENTION: of a value and the result; 0: head_dim */
  /* ATTENTION: values are the first part of the keys, stored once (MLA's absorbed form) */
  gboolean latent;
  gint64 experts, topk, expert_tp, expert_ep; /* MOE, with m, n, k */
  gint64 projections; /* MOE; 0: as a measured layer of these sizes has, else 3 */
  /* GEMM, MOE: of a weight as stored, where narrower than it is multiplied; 0: as dtype */
  double weight_bytes;
  /* GEMM, MOE: moved an element of a result that is added to what is there (gradients); 0:
   * written */
  double sum_bytes;
  /* GEMM, MOE of a narrow dtype: the operands were cast by kernels of their own */
  gboolean cast_apart;
  /* GPUs that all wait for the slowest of them, under power limits; 0, 1: a board as measured */
  gint64 fleet;
  /* MOE: exponent of the power law that tokens follow over experts; 0: each expert gets as many */
  double imbalance;
  /* MOE without imbalance: each token draws its experts, so that few tokens meet on some; else
   * they                      are dealt out, as in benchmarks. The constructor leaves it FALSE */
  gboolean drawn;
  /* by the call that launched the operator before it, in C++: the framework dispatches none for
   * it */
  gboolean launched;
  double flops;
  double bytes;
} OrrOperator;

OrrOperator orr_operator_gemm(const char *name, OrrPass pass, OrrDtype dtype, gint64 batch,
                              gint64 m, gint64 n, gint64 k);

/* Forward: two products, 4 batch heads q kv d FLOPs. Any other pass: the whole backward, five
 * (2.5 times as many). */
OrrOperator orr_operator_attention(const char *name, OrrPass pass, OrrDtype dtype, gint64 batch,
                                   gint64 q_length, gint64 kv_length, gint64 heads, gint64 kv_heads,
                                   gint64 head_dim, gboolean causal);

/* Values, and so the result, are @value_dim wide: FLOPs and bytes of @op, an ATTENTION, follow. */
void orr_operator_set_value_dim(OrrOperator *op, gint64 value_dim);

/* The mean rank's share: topk / expert_ep experts a token, each with @projections products (0:
 * counted as 3) of hidden x inter / expert_tp. Reads the weights of the experts that balanced
 * routing wakes and the tokens, writes the inner activations and the result. A backward pass by
 * data or by weight has the forward's FLOPs. */
OrrOperator orr_operator_moe(const char *name, OrrPass pass, OrrDtype dtype, gint64 tokens,
                             gint64 hidden, gint64 inter, gint64 topk, gint64 experts,
                             gint64 expert_tp, gint64 expert_ep, gint64 projections,
                             double imbalance);

/* Experts of @local that @tokens tokens wake, each drawing @topk of @experts without preference:
 * an expert sleeps with probability (1 - k/E)^T, so that local (1 - (1 - k/E)^T) are read. */
double orr_operator_moe_awake(double local, double tokens, double topk, double experts);
/* @op, a MOE without imbalance, is drawn: its bytes follow. */
void orr_operator_set_drawn(OrrOperator *op);

OrrOperator orr_operator_memory(const char *name, OrrPass pass, OrrDtype dtype, double bytes,
                                double flops);
OrrOperator orr_operator_comm(const char *name, OrrPass pass, OrrOperatorGroup group,
                              OrrOperatorComm comm, double bytes);

G_END_DECLS

#endif

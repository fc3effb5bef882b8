/*
 * kernel_family.h - what a kernel is, by its name: a table of patterns (kernel_family.c).
 *
 * Sources of the names: NCCL (src/device: ncclDevKernel_OP_ALGORITHM_PROTOCOL, before 2.19
 * ncclKernel_...), cuBLAS and CUTLASS ("gemm", "xmma", "nvjet"), rocBLAS (Tensile: "Cijk_"),
 * FlashAttention, FlashInfer, cuDNN, DeepEP, PyTorch (ATen's templates, multi_tensor_apply,
 * Inductor's triton_poi, _red and _per), Transformer Engine, and CUPTI's words for copies.
 */
#ifndef ORR_KERNEL_FAMILY_H
#define ORR_KERNEL_FAMILY_H

#include <glib.h>

G_BEGIN_DECLS

/* What the time of a GPU is spent on, in the order of reports. */
typedef enum {
  ORR_EXPLAIN_GEMM,
  ORR_EXPLAIN_ATTENTION,
  ORR_EXPLAIN_MEMORY, /* kernels bound by HBM bandwidth */
  ORR_EXPLAIN_OPTIMIZER,
  ORR_EXPLAIN_UNKNOWN, /* kernels that no pattern knows */
  ORR_EXPLAIN_COMM,
  ORR_EXPLAIN_COPIES, /* the copy engines, and fills */
  ORR_EXPLAIN_IDLE,   /* nothing runs: the GPU waits for its host or for other GPUs */
  ORR_N_EXPLAIN
} OrrExplainKind;
extern const char *const orr_explain_words[]; /* "gemm", "attention", "memory-bound", ..., NULL */

/* Kernels of one use; static. */
typedef struct {
  const char *name; /* "all-gather"; "unknown" */
  OrrExplainKind kind;
} OrrKernelFamily;

/* Never NULL. A name "orrery::FAMILY" (what kineto_write.h writes) is of that family. */
const OrrKernelFamily *orr_kernel_family_of(const char *kernel);
/* The family of that name; where there is none, the one for the rest of its kind. */
const OrrKernelFamily *orr_kernel_family_named(const char *name, OrrExplainKind kind);

G_END_DECLS

#endif

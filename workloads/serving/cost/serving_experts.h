/*
 * serving_experts.h - the routed experts of a step, computed by one of two kinds of kernel.
 *
 *   fused     the profile's rows for the format: the sort by expert, both products and the sum in
 *             one call
 *   grouped   one product over all experts of a rank at a matrix product's rate
 *             (grouped_experts.h): DeepGEMM in vLLM and SGLang, CUTLASS in TensorRT-LLM. Rows of
 *             pairs are laid out by expert before it and summed after it, by kernels of their own
 *             (vLLM, deep_gemm_utils.py: permute, unpermute_and_reduce; TensorRT-LLM,
 *             moe_kernels.cu: expandInputRows, finalizeMoeRouting): with P pairs of T tokens here,
 *             t = min(T, P),
 *
 *                 permute     reads t h of 16 bits, writes P h in the experts' format
 *                 unpermute   reads P h of 16 bits, writes t h
 *
 *   tuned     moe-overhead + sqrt(compute^2 + memory^2): kernels whose tiles were chosen for the
 *             layer's shape read the weights of few rows at the memory's rate, and compute many
 *             rows at the rate that the others have at 16,384 tokens. The fused rows are of
 *             Triton's kernel with its default tiles, which takes twice that on narrow experts.
 *
 *   default-tiles  Triton's fused kernel for a shape that no table of tuned tiles holds (vLLM and
 *             SGLang, fused_moe.py: get_default_config). A program multiplies a tile of an expert's
 *             rows by a tile of its weights, step by step along k; the tiles are so small that
 *             steps, not bytes or FLOPs, take the time, which grows little with the tokens once all
 *             experts have some. With width w = f / tp, and M x N x K = 16 x 32 x 64 for up to as
 *             many tokens as experts, else 64 x 64 x 32:
 *
 *                 blocks = active max(1, pairs / active / M + 1/2)
 *                 steps  = blocks (2 w / N * h / K + h / N * w / K)      2: p - 1
 *                 t      = moe-overhead + (h / K + w / K) step-alone + steps / SMs * step
 *
 *   merged    grouped products that gather their rows, cast and activate on the way (TensorRT-LLM's
 *             generated kernels: moe_config.backend TRTLLM). Apart from the products there are one
 *             cast of each token, which reads t h of 16 bits and writes t h in the experts' format,
 *             and unpermute. Only 4-bit experts, and only where the engine says so.
 *
 * Formats of 8 and 4 bits have both, and an engine takes the faster. For a format without fused
 * rows (nvfp4) only grouped products are known, at the rate of the products measured in it. 16-bit
 * experts are fused, as they were measured.
 *
 * A profile's rows are one library's kernels. An engine's own differ in three ways, by release and
 * format, which its stack states:
 *
 *   efficiency   their rate as a fraction of the rows': a layer takes 1 / efficiency as long
 *   small        kernels around the products (routing, sort, casts, permutation, sum) that the rows
 *                do not hold: each takes the profile's kernel-overhead, whatever the tokens
 *   launches     what the host does for the layer where a step is launched eagerly, counted in
 *                launches of host.launch: the kernels, and the Python between them
 */
#pragma once

#include "calibration/cost/cost.h"
#include "sim/base/field.h"

typedef enum {
  ORR_EXPERTS_MEASURED,
  ORR_EXPERTS_TUNED,
  ORR_EXPERTS_DEFAULT_TILES
} OrrServingExpertKernels;
extern const char *const orr_serving_experts_words[]; /* of OrrServingExpertKernels */

/* The kernels of an engine for the routed experts of a layer. */
typedef struct {
  int rows;                     /* OrrServingExpertKernels */
  double efficiency;            /* above 0 */
  gint64 small, launches;       /* per layer */
  gboolean merged;              /* 4-bit experts */
  double step_s, step_alone_s;  /* of a program with default tiles */
  gint64 pad_hidden, pad_inner; /* multiples, in memory; 0: as the model has them */
} OrrExpertKernels;
extern const OrrFieldTable orr_expert_kernels_table;

/* The cost of @op, a MOE of a forward pass, on @sms multiprocessors; @activations is the format
 * between kernels. */
OrrCost orr_serving_experts(const OrrCostModel *model, const OrrOperator *op, OrrDtype activations,
                            const OrrExpertKernels *kernels, gint64 sms);

/* Whether neither kind has rows in the format, so that rows of another format are used. */
gboolean orr_serving_experts_are_missing(const OrrCostModel *model, const OrrOperator *op);

/*
 * grouped_experts.h - routed experts as one grouped product for all experts of a rank.
 *
 * A profile's expert rows are serving kernels, written for few tokens per expert (fused Triton
 * kernels; in fp8 on Hopper at 220 TFLOP/s at any size). Megatron-Core's GroupedMLP (CUTLASS),
 * Transformer Engine's GroupedLinear (cuBLAS) and DeepGEMM, which vLLM and SGLang also use for fp8,
 * reach the rate of a matrix product: DeepGEMM's grouped products of 4 experts of 8,192 tokens
 * reach 1,297 TFLOP/s (n 4096, k 7168) and 1,099 (n 7168, k 2048) on H800 (README of
 * deepseek-ai/DeepGEMM, 2025). With the fullest rank's load, P pairs over A active experts, inner
 * width f / etp and g matrices before the activation,
 *
 *   forward   A products  P/A x g f over h  and  P/A x h over f   and the activation, (g + 1) P f
 *   dgrad     A products  P/A x h over g f  and  P/A x f over h   and its backward, (2 g + 1) P f
 *   wgrad     A products  g f x h over P/A  and  f x h over P/A
 *
 * each as one batched product. A framework uses the faster of the two kinds of kernel.
 */
#pragma once

#include "calibration/cost/cost.h"

/* The function that gives the cost of each product: orr_cost_operator or orr_cost_sustained. */
typedef OrrCost (*OrrGroupedCost)(const OrrCostModel *model, const OrrOperator *op);

/* The cost of @op, of kind MOE; its activation is stored in @storage. */
OrrCost orr_grouped_experts(const OrrCostModel *model, const OrrOperator *op, OrrDtype storage,
                            OrrGroupedCost cost_of);

/* The same, one expert after the other: A times the products and the activation of P/A pairs. With
 * @apart the matrices before the activation are products of their own. */
OrrCost orr_grouped_experts_sequential(const OrrCostModel *model, const OrrOperator *op,
                                       OrrDtype storage, gboolean apart, OrrGroupedCost cost_of);

/*
 * accumulation.h - how the sums of a measured matrix product are kept.
 *
 * fp8 products add up in the tensor cores' own accumulators, of fewer bits than fp32. "Fast
 * accumulation" (cuBLASLt's CUBLASLT_MATMUL_DESC_FAST_ACCUM, off by default; it has an effect on
 * Ada and Hopper) leaves it at that; without it partial sums are promoted to fp32 registers as they
 * come, which takes time. Transformer Engine uses it in forward products and not in dgrad and wgrad
 * (its recipes' fp8_gemm_fprop, _dgrad, _wgrad: use_split_accumulator False, True, True), so that
 * is what is measured, and each row says which it was. PyTorch's torch._scaled_mm leaves the choice
 * to its caller (use_fast_accum, False by default).
 */
#ifndef ORR_ACCUMULATION_H
#define ORR_ACCUMULATION_H

#include "calibration/measure/shape.h"

G_BEGIN_DECLS

/* Whether a product of 8-bit floats is asked to accumulate fast. */
gboolean orr_accumulation_is_fast(gboolean is_forward);

/* The word of the row's setting: "fast-accumulation" or "full-accumulation" for products of fp8
 * and mxfp8 (experts' are forward ones), NULL where there is no choice. */
const char *orr_accumulation_word(const OrrShape *shape);

G_END_DECLS

#endif

/*
 * accumulation.h - how a measured matrix product accumulates its sums.
 *
 * fp8 products accumulate in the tensor cores' own accumulators, which have fewer bits than fp32.
 * With "fast accumulation" (cuBLASLt's CUBLASLT_MATMUL_DESC_FAST_ACCUM, off by default; it has an
 * effect on Ada and Hopper) the sums stay there. Without it, partial sums are promoted to fp32
 * registers along the way, which takes time. Transformer Engine uses it in forward products but not
 * in dgrad and wgrad (its recipes' fp8_gemm_fprop, _dgrad, _wgrad: use_split_accumulator False,
 * True, True), so this is what is measured, and each row states its mode. PyTorch's
 * torch._scaled_mm leaves the choice to its caller (use_fast_accum, False by default).
 */
#pragma once

#include "calibration/measure/shape.h"

/* Whether a product of 8-bit floats uses fast accumulation. */
gboolean orr_accumulation_is_fast(gboolean is_forward);

/* The word for the row's setting: "fast-accumulation" or "full-accumulation" for products of fp8
 * and mxfp8 (products of experts are forward ones), NULL if there is no choice. */
const char *orr_accumulation_word(const OrrShape *shape);

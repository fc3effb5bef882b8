/*
 * precision.c - the table of recipes.
 *
 * A cast moves these bytes per element: it reads 2 (bf16) and writes the narrow format twice, plain
 * and transposed; scales of s bytes per block of b elements add 2 s / b.
 *
 *   fp8-delayed    2 + 1 + 1          the scale is of the steps before (Micikevicius et al. 2022,
 *                                     arXiv 2209.05433; Transformer Engine, DelayedScaling)
 *   fp8-current    2 + 2 + 1 + 1      the tensor is read for its largest value first
 *                                     (Float8CurrentScaling); "fp8" means this one, as NVIDIA's
 *                                     performance tables do (Megatron-Bridge,
 *                                     docs/performance-summary)
 *   fp8-blockwise  2 + 1 + 1 + 2 4/128
 *                                     a scale in fp32 for 1 x 128 of activations, 128 x 128 of
 *                                     weights (DeepSeek-V3, arXiv 2412.19437, section 3.3.2;
 *                                     Float8BlockScaling)
 *   mxfp8          2 + 1 + 1 + 2 1/32
 *                                     a scale of 8 bits for 32 (OCP Microscaling 1.0;
 *                                     MXFP8BlockScaling)
 *   fp8-rowwise    2 + 1, and 2 + 2 + 1 turned
 *                                     a scale for each row; for the product by weight one for each
 *                                     column, which takes a kernel of its own that reads the 16-bit
 *                                     tensor twice (torchao's recipe "rowwise"). Weights are cast
 *                                     for each product of each micro-batch; gathers carry 16 bits,
 *                                     and inputs are kept in 16 bits
 *   nvfp4          2 + 2 + 1/2 + 1/2 + 2 1/16
 *                                     a scale of 8 bits for 16 and one for the tensor, which is
 *                                     read for it first; the transposed copy through a Hadamard
 *                                     transform of 16 (NVIDIA 2025, arXiv 2509.25149)
 *
 * Casts are kernels of their own here. (Transformer Engine fuses some with the norm or the
 * activation before them, which saves the write of 2 bytes.) A frozen layer has no product by
 * weight, and so no transposed copies. Weights are cast once per step, in the same way; the narrow
 * copies of trained weights are kept in addition to the 16-bit ones (Megatron's fp8-param-gather,
 * which keeps no 16-bit ones, is not modelled for them). Frozen weights never change: they are cast
 * when they are loaded, and only their narrow copies are stored, in both directions, for the
 * recipes with which Megatron-Bridge and NeMo set fp8-param (delayed, current, mxfp8:
 * src/megatron/bridge/training/mixed_precision.py @ 05097809; modelscope/ms-swift issue 9371
 * measured that they then take as much memory as in 16 bits). fp8-blockwise and nvfp4 have no such
 * weights there: Transformer Engine casts 16-bit ones in each step's first micro-batch. Gathers
 * under sequence parallelism carry the narrow format (Transformer Engine quantises before it
 * gathers). fp8-blockwise dispatches tokens to experts in fp8, as DeepEP does; the others in 16
 * bits (Megatron's all-to-all dispatcher).
 */
#include "models/transformer_shard.h"

const char *const orr_precision_words[] = {
    [ORR_PRECISION_FP16] = "fp16",
    [ORR_PRECISION_BF16] = "bf16",
    [ORR_PRECISION_FP32] = "fp32",
    [ORR_PRECISION_TF32] = "tf32",
    [ORR_PRECISION_FP8] = "fp8",
    [ORR_PRECISION_FP8_DELAYED] = "fp8-delayed",
    [ORR_PRECISION_FP8_CURRENT] = "fp8-current",
    [ORR_PRECISION_FP8_BLOCKWISE] = "fp8-blockwise",
    [ORR_PRECISION_MXFP8] = "mxfp8",
    [ORR_PRECISION_NVFP4] = "nvfp4",
    [ORR_PRECISION_FP8_ROWWISE] = "fp8-rowwise",
    [ORR_N_PRECISIONS] = NULL,
};

#define PLAIN(precision_, sentence_, dtype_, bytes_)                                               \
  [precision_] = {.sentence = sentence_,                                                           \
                  .storage = dtype_,                                                               \
                  .forward = dtype_,                                                               \
                  .dgrad = dtype_,                                                                 \
                  .wgrad = dtype_,                                                                 \
                  .saved_bytes = bytes_,                                                           \
                  .gather_bytes = bytes_,                                                          \
                  .dispatch_bytes = bytes_}
#define NARROW(precision_, sentence_, dtype_, block_scaled_, element_, scale_, first_read_,        \
               frozen_, dispatch_)                                                                 \
  [precision_] = {.sentence = sentence_,                                                           \
                  .storage = ORR_BF16,                                                             \
                  .block_scaled = block_scaled_,                                                   \
                  .forward = dtype_,                                                               \
                  .dgrad = dtype_,                                                                 \
                  .wgrad = dtype_,                                                                 \
                  .cast_bytes = (first_read_) + 2 + 2 * ((element_) + (scale_)),                   \
                  .weight_cast_bytes = (first_read_) + 2 + 2 * ((element_) + (scale_)),            \
                  .saved_bytes = (element_) + (scale_),                                            \
                  .weight_copy_bytes = 2 * ((element_) + (scale_)),                                \
                  .frozen_narrow = frozen_,                                                        \
                  .gather_bytes = (element_) + (scale_),                                           \
                  .dispatch_bytes = dispatch_}

static const OrrPrecisionRecipe recipes[ORR_N_PRECISIONS] = {
    PLAIN(ORR_PRECISION_FP16, "16-bit floats with a loss scale.", ORR_FP16, 2),
    PLAIN(ORR_PRECISION_BF16, "bfloat16.", ORR_BF16, 2),
    PLAIN(ORR_PRECISION_FP32, "32-bit floats.", ORR_FP32, 4),
    PLAIN(ORR_PRECISION_TF32, "32-bit floats, multiplied as TF32.", ORR_TF32, 4),
    NARROW(ORR_PRECISION_FP8_DELAYED, "fp8, one scale per tensor, from previous steps.", ORR_FP8,
           FALSE, 1, 0, 0, TRUE, 2),
    NARROW(ORR_PRECISION_FP8_CURRENT, "fp8, one scale per tensor, from its own largest value.",
           ORR_FP8, FALSE, 1, 0, 2, TRUE, 2),
    NARROW(ORR_PRECISION_FP8_BLOCKWISE, "fp8, scales of 1 x 128 and 128 x 128 (DeepSeek-V3).",
           ORR_FP8, FALSE, 1, 4.0 / 128, 0, FALSE, 1 + 4.0 / 128),
    NARROW(ORR_PRECISION_MXFP8, "fp8, a scale per 32 elements (OCP Microscaling).", ORR_FP8, TRUE,
           1, 1.0 / 32, 0, TRUE, 2),
    NARROW(ORR_PRECISION_NVFP4, "4-bit floats, a scale per 16 elements and one per tensor.",
           ORR_FP4, TRUE, 0.5, 1.0 / 16, 2, FALSE, 2),
    [ORR_PRECISION_FP8_ROWWISE] = {.sentence = "fp8, a scale per row and per column (torchao).",
                                   .storage = ORR_BF16,
                                   .row_scaled = TRUE,
                                   .forward = ORR_FP8,
                                   .dgrad = ORR_FP8,
                                   .wgrad = ORR_FP8,
                                   .cast_bytes = 2 + 1 + 2 + 2 + 1,
                                   .weight_cast_bytes = 0,
                                   .saved_bytes = 2,
                                   .weight_copy_bytes = 0,
                                   .gather_bytes = 2,
                                   .dispatch_bytes = 2},
};

const OrrPrecisionRecipe *orr_precision_recipe(OrrPrecision precision) {
  g_return_val_if_fail((guint)precision < ORR_N_PRECISIONS, NULL);
  return &recipes[precision == ORR_PRECISION_FP8 ? ORR_PRECISION_FP8_CURRENT : precision];
}

const OrrPrecisionRecipe *orr_precision_plain(OrrDtype storage) {
  return orr_precision_recipe(storage == ORR_FP16   ? ORR_PRECISION_FP16
                              : storage == ORR_FP32 ? ORR_PRECISION_FP32
                                                    : ORR_PRECISION_BF16);
}

gboolean orr_precision_casts(const OrrPrecisionRecipe *recipe) {
  return recipe && recipe->cast_bytes > 0;
}

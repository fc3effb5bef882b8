/*
 * dtype.c - names and sizes of number formats.
 */
#include "sim/base/dtype.h"

const char *const orr_dtype_names[] = {
    [ORR_FP32] = "fp32", [ORR_TF32] = "tf32", [ORR_FP16] = "fp16", [ORR_BF16] = "bf16",
    [ORR_FP8] = "fp8",   [ORR_FP4] = "fp4",   [ORR_INT8] = "int8", [ORR_N_DTYPES] = NULL,
};

double orr_dtype_bytes(OrrDtype dtype) {
  /* TF32 is a format for multiplication; in memory its elements take 32 bits. */
  static const double bytes[ORR_N_DTYPES] = {
      [ORR_FP32] = 4, [ORR_TF32] = 4,  [ORR_FP16] = 2, [ORR_BF16] = 2,
      [ORR_FP8] = 1,  [ORR_FP4] = 0.5, [ORR_INT8] = 1,
  };
  g_return_val_if_fail((guint)dtype < ORR_N_DTYPES, 0);
  return bytes[dtype];
}

/*
 * dtype.h - number formats of tensors, as frameworks name them.
 */
#pragma once

#include "sim/base/ground.h"

typedef enum {
  ORR_FP32,
  ORR_TF32,
  ORR_FP16,
  ORR_BF16,
  ORR_FP8,
  ORR_FP4,
  ORR_INT8,
  ORR_N_DTYPES
} OrrDtype;

extern const char *const orr_dtype_names
    []; /* "fp32", "tf32", "fp16", "bf16", "fp8", "fp4", "int8", NULL: for WORD fields */
double orr_dtype_bytes(OrrDtype dtype); /* an element's size: 4, 4, 2, 2, 1, 0.5, 1 */

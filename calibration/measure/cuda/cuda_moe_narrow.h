/*
 * cuda_moe_narrow.h - a grouped product in the 8 and 4-bit formats that cuBLAS's grouped call
 * lacks: one cuBLASLt product per expert, over four streams that fork off the caller's stream and
 * join it again (so that a CUDA graph captures them as branches), as Transformer Engine's
 * GroupedLinear launches them.
 */
#pragma once

#include "calibration/measure/cuda/cuda_private.h"

typedef struct OrrMoeNarrow OrrMoeNarrow;

/* One expert with rows: the first row and their number. */
typedef struct {
  gsize expert, first, n;
} OrrMoeSpan;

/* @spans: OrrMoeSpan; weights [experts, n, k], rows [., k], results [., n] in bf16, times @factor.
 * @format: ORR_GEMM_*.
 */
OrrMoeNarrow *orr_moe_narrow_new(OrrKernel *kernel, int format, const GArray *spans, gint64 n,
                                 gint64 k, double factor, GError **error);
gboolean orr_moe_narrow_run(OrrMoeNarrow *narrow, const char *rows, const char *weights,
                            char *results, cudaStream_t stream, GError **error);
void orr_moe_narrow_free(OrrMoeNarrow *narrow);

/* An expert is padded to a multiple of this number of rows. */
gsize orr_moe_narrow_padding(int format);

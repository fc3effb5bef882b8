/*
 * cuda_moe_narrow.h - a grouped product in the 8 and 4-bit formats that cuBLAS's grouped call
 * lacks: a cuBLASLt product an expert, over four streams that leave the caller's and come back to
 * it (so that a CUDA graph captures them as branches). As Transformer Engine's GroupedLinear
 * launches its own.
 */
#ifndef ORR_CUDA_MOE_NARROW_H
#define ORR_CUDA_MOE_NARROW_H

#include "calibration/measure/cuda/cuda_private.h"

G_BEGIN_DECLS

typedef struct OrrMoeNarrow OrrMoeNarrow;

/* One expert that has rows: where they begin, and how many there are. */
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

/* Rows of an expert are padded to a multiple of this. */
gsize orr_moe_narrow_padding(int format);

G_END_DECLS

#endif

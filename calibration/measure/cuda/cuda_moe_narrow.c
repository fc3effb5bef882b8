/*
 * cuda_moe_narrow.c - runs a grouped product as one cuBLASLt product per expert over several
 * streams.
 */
#include "calibration/measure/cuda/cuda_moe_narrow.h"

enum { STREAMS = 4 };

struct OrrMoeNarrow {
  GArray *spans;                               /* OrrMoeSpan */
  GPtrArray *products;                         /* OrrProduct*, of each */
  gsize row_bytes, weight_bytes, result_bytes; /* of one row, one expert, one row */
  char *workspace;                             /* of each stream */
  cudaStream_t streams[STREAMS];
  cudaEvent_t begun, ended[STREAMS];
};

gsize orr_moe_narrow_padding(int format) {
  return format == ORR_GEMM_NVFP4 ? 32 : format <= ORR_GEMM_BF16 ? 1 : 16;
}

void orr_moe_narrow_free(OrrMoeNarrow *narrow) {
  if (!narrow) return;
  for (int i = 0; i < STREAMS; i++) {
    if (narrow->streams[i]) cudaStreamDestroy(narrow->streams[i]);
    if (narrow->ended[i]) cudaEventDestroy(narrow->ended[i]);
  }
  if (narrow->begun) cudaEventDestroy(narrow->begun);
  g_ptr_array_unref(narrow->products);
  g_array_unref(narrow->spans);
  g_free(narrow);
}

static gboolean make_streams(OrrMoeNarrow *narrow, GError **error) {
  if (!orr_cuda_ok(cudaEventCreateWithFlags(&narrow->begun, cudaEventDisableTiming),
                   "cudaEventCreate", error))
    return FALSE;
  for (int i = 0; i < STREAMS; i++)
    if (!orr_cuda_ok(cudaStreamCreateWithFlags(&narrow->streams[i], cudaStreamNonBlocking),
                     "cudaStreamCreate", error) ||
        !orr_cuda_ok(cudaEventCreateWithFlags(&narrow->ended[i], cudaEventDisableTiming),
                     "cudaEventCreate", error))
      return FALSE;
  return TRUE;
}

static gboolean make_products(OrrMoeNarrow *narrow, OrrKernel *kernel, int format, gint64 n,
                              gint64 k, double factor, GError **error) {
  ORR_EACH(const OrrMoeSpan, span, narrow->spans) {
    OrrProduct *product =
        orr_cuda_product_new(kernel, format, (gint64)span->n, n, k, factor, error);
    if (!product) return FALSE;
    g_ptr_array_add(narrow->products, product);
  }
  return TRUE;
}

static void product_free(gpointer product) { orr_cuda_product_free(product); }

OrrMoeNarrow *orr_moe_narrow_new(OrrKernel *kernel, int format, const GArray *spans, gint64 n,
                                 gint64 k, double factor, GError **error) {
  const OrrFormat operand = format == ORR_GEMM_NVFP4  ? ORR_FORMAT_E2M1
                            : format <= ORR_GEMM_BF16 ? ORR_FORMAT_BF16
                                                      : ORR_FORMAT_E4M3;
  OrrMoeNarrow *narrow = g_new0(OrrMoeNarrow, 1);
  narrow->products = g_ptr_array_new_with_free_func(product_free);
  narrow->spans = g_array_new(FALSE, FALSE, sizeof(OrrMoeSpan));
  g_array_append_vals(narrow->spans, spans->data, spans->len);
  narrow->row_bytes = orr_format_bytes(operand, (gsize)k);
  narrow->weight_bytes = orr_format_bytes(operand, (gsize)(n * k));
  narrow->result_bytes = 2 * (gsize)n;
  if ((narrow->workspace = orr_cuda_alloc(kernel, (gsize)STREAMS * ORR_PRODUCT_WORKSPACE, error)) &&
      make_streams(narrow, error) && make_products(narrow, kernel, format, n, k, factor, error))
    return narrow;
  orr_moe_narrow_free(narrow);
  return NULL;
}

static gboolean run_span(const OrrMoeNarrow *narrow, guint i, const char *rows, const char *weights,
                         char *results, GError **error) {
  const OrrMoeSpan *span = &g_array_index(narrow->spans, OrrMoeSpan, i);
  return orr_cuda_product_run(narrow->products->pdata[i], rows + span->first * narrow->row_bytes,
                              weights + span->expert * narrow->weight_bytes,
                              results + span->first * narrow->result_bytes,
                              narrow->workspace + (gsize)(i % STREAMS) * ORR_PRODUCT_WORKSPACE,
                              narrow->streams[i % STREAMS], error);
}

gboolean orr_moe_narrow_run(OrrMoeNarrow *narrow, const char *rows, const char *weights,
                            char *results, cudaStream_t stream, GError **error) {
  const guint n_streams = MIN(narrow->spans->len, STREAMS);
  if (!orr_cuda_ok(cudaEventRecord(narrow->begun, stream), "cudaEventRecord", error)) return FALSE;
  for (guint i = 0; i < n_streams; i++)
    if (!orr_cuda_ok(cudaStreamWaitEvent(narrow->streams[i], narrow->begun, 0),
                     "cudaStreamWaitEvent", error))
      return FALSE;
  for (guint i = 0; i < narrow->spans->len; i++)
    if (!run_span(narrow, i, rows, weights, results, error)) return FALSE;
  for (guint i = 0; i < n_streams; i++)
    if (!orr_cuda_ok(cudaEventRecord(narrow->ended[i], narrow->streams[i]), "cudaEventRecord",
                     error) ||
        !orr_cuda_ok(cudaStreamWaitEvent(stream, narrow->ended[i], 0), "cudaStreamWaitEvent",
                     error))
      return FALSE;
  return TRUE;
}

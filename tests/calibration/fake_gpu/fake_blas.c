/*
 * fake_blas.c - libcublasLt and libcublas on the fake machine: products in the layouts that
 * cuda_gemm.c asks for, and grouped products. An element is computed when it is read.
 */
#include <cublasLt.h>
#ifndef ORR_HIP
#include <cublas_v2.h>
#endif
#include <string.h>

#include "calibration/measure/reference.h"
#include "tests/calibration/fake_gpu/fake_gpu.h"

enum { WORKSPACE_LEAST = 1 << 20 };

#ifdef ORR_HIP
cublasStatus_t hipblasLtGetVersion(cublasLtHandle_t handle, int *version) {
  *version = handle ? 1000 : 0; /* 0.10.0 */
  return handle ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_INVALID_VALUE;
}
#else
size_t cublasLtGetVersion(void) { return CUBLAS_VERSION; }

const char *cublasLtGetStatusString(cublasStatus_t status) {
  return status == CUBLAS_STATUS_NOT_SUPPORTED ? "CUBLAS_STATUS_NOT_SUPPORTED"
                                               : "CUBLAS_STATUS_EXECUTION_FAILED";
}

#endif

cublasStatus_t cublasLtCreate(cublasLtHandle_t *handle) {
  *handle = (cublasLtHandle_t)g_malloc0(8);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) {
  g_free(handle);
  return CUBLAS_STATUS_SUCCESS;
}

/* --- Descriptors --- */

typedef struct {
  cublasComputeType_t compute;
  cublasOperation_t a, b;
  int8_t fast;
} Desc;

typedef struct {
  cudaDataType_t type;
  gint64 rows, columns, stride;
  int32_t batch;
} Layout;

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t *desc, cublasComputeType_t compute,
                                        cudaDataType_t scale) {
  (void)scale;
  *desc = g_malloc0(MAX(sizeof **desc, sizeof(Desc)));
  ((Desc *)*desc)->compute = compute;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t desc) {
  g_free(desc);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t handle,
                                              cublasLtMatmulDescAttributes_t what,
                                              const void *value, size_t bytes) {
  Desc *desc = (Desc *)handle;
  if (what == CUBLASLT_MATMUL_DESC_TRANSA) memcpy(&desc->a, value, bytes);
  if (what == CUBLASLT_MATMUL_DESC_TRANSB) memcpy(&desc->b, value, bytes);
#ifndef ORR_HIP
  if (what == CUBLASLT_MATMUL_DESC_FAST_ACCUM) memcpy(&desc->fast, value, bytes);
#endif
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t *layout, cudaDataType type,
                                          uint64_t rows, uint64_t columns, int64_t leading) {
  *layout = g_malloc0(MAX(sizeof **layout, sizeof(Layout)));
  g_assert(leading == (int64_t)rows);
  *(Layout *)*layout = (Layout){type, (gint64)rows, (gint64)columns, 0, 1};
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout) {
  g_free(layout);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t handle,
                                                cublasLtMatrixLayoutAttribute_t what,
                                                const void *value, size_t bytes) {
  Layout *layout = (Layout *)handle;
  memcpy(what == CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT ? (void *)&layout->batch
                                                    : (void *)&layout->stride,
         value, bytes);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t *preference) {
  *preference = g_malloc0(sizeof **preference);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference) {
  g_free(preference);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t preference,
                                                    cublasLtMatmulPreferenceAttributes_t what,
                                                    const void *value, size_t bytes) {
  (void)preference, (void)what, (void)bytes;
  return *(const size_t *)value >= WORKSPACE_LEAST ? CUBLAS_STATUS_SUCCESS
                                                   : CUBLAS_STATUS_INVALID_VALUE;
}

/* Sizes must fit, and 8-bit operands need k in multiples of 16, as in cuBLAS. */
cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc,
                                              cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                              cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                              cublasLtMatmulPreference_t preference, int n,
                                              cublasLtMatmulHeuristicResult_t *found,
                                              int *n_found) {
  const Desc *what = (const Desc *)desc;
  const Layout *x = (const Layout *)a, *y = (const Layout *)b, *z = (const Layout *)c;
  const gint64 k = what->a == CUBLAS_OP_T ? x->rows : x->columns;
  (void)handle, (void)d, (void)preference, (void)n;
  g_assert((what->a == CUBLAS_OP_T ? x->columns : x->rows) == z->rows);
  g_assert((what->b == CUBLAS_OP_T ? y->rows : y->columns) == z->columns);
  g_assert((what->b == CUBLAS_OP_T ? y->columns : y->rows) == k);
  memset(found, 0, sizeof *found);
  *n_found = x->type == CUDA_R_8F_E4M3 && k % 16 != 0 ? 0 : 1;
  return CUBLAS_STATUS_SUCCESS;
}

/* --- Products --- */

typedef struct {
  const char *a, *b;
  int a_format, b_format, format;
  gboolean a_k_inner, b_k_inner;
  gint64 m, n, k; /* m: rows of the column-major result, which are inner */
  double factor;
} Product;

static int format_of(cudaDataType_t type) {
  return type == CUDA_R_32F       ? ORR_FORMAT_FP32
         : type == CUDA_R_16F     ? ORR_FORMAT_FP16
         : type == CUDA_R_16BF    ? ORR_FORMAT_BF16
         : type == CUDA_R_8F_E4M3 ? ORR_FORMAT_E4M3
         : type == CUDA_R_8F_E5M2 ? ORR_FORMAT_E5M2
                                  : ORR_FORMAT_E2M1;
}

/* Line @line of an operand along k. */
static void read_line(const char *data, int format, gboolean k_inner, gint64 base, gint64 line,
                      gint64 lines, gint64 k, float *values) {
  if (k_inner) {
    fake_decode_line(format, data, (gsize)(base + line * k), (gsize)k, values);
    return;
  }
  for (gint64 i = 0; i < k; i++)
    values[i] = (float)fake_decode(format, data, (gsize)(base + i * lines + line));
}

static void element(gconstpointer context, gsize index, void *out) {
  const Product *p = context;
  const gint64 batch = (gint64)index / (p->m * p->n), place = (gint64)index % (p->m * p->n);
  g_autofree float *a = g_new(float, p->k), *b = g_new(float, p->k);
  double sum = 0;
  read_line(p->a, p->a_format, p->a_k_inner, batch * p->m * p->k, place % p->m, p->m, p->k, a);
  read_line(p->b, p->b_format, p->b_k_inner, batch * p->n * p->k, place / p->m, p->n, p->k, b);
  for (gint64 i = 0; i < p->k; i++) sum += (double)a[i] * (double)b[i];
  fake_encode(p->format, sum * p->factor * (fake_faults()->wrong ? 1.1 : 1), out, 0);
}

static OrrDtype dtype_of(cudaDataType_t type, cublasComputeType_t compute) {
  if (compute == CUBLAS_COMPUTE_32F_FAST_TF32) return ORR_TF32;
  return type == CUDA_R_32F       ? ORR_FP32
         : type == CUDA_R_16F     ? ORR_FP16
         : type == CUDA_R_16BF    ? ORR_BF16
         : type == CUDA_R_4F_E2M1 ? ORR_FP4
                                  : ORR_FP8;
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc, const void *alpha,
                              const void *a, cublasLtMatrixLayout_t a_layout, const void *b,
                              cublasLtMatrixLayout_t b_layout, const void *beta, const void *c,
                              cublasLtMatrixLayout_t c_layout, void *d,
                              cublasLtMatrixLayout_t d_layout, const cublasLtMatmulAlgo_t *algo,
                              void *workspace, size_t workspace_bytes, cudaStream_t handle_stream) {
  const Desc *what = (const Desc *)desc;
  const Layout *x = (const Layout *)a_layout, *y = (const Layout *)b_layout,
               *z = (const Layout *)c_layout;
  FakeStream *stream = (FakeStream *)(void *)handle_stream;
  (void)handle, (void)beta, (void)c, (void)d_layout, (void)algo, (void)workspace;
  (void)workspace_bytes;
  const Product product = {.a = a,
                           .b = b,
                           .a_format = format_of(x->type),
                           .b_format = format_of(y->type),
                           .format = format_of(z->type),
                           .a_k_inner = what->a == CUBLAS_OP_T,
                           .b_k_inner = what->b == CUBLAS_OP_N,
                           .m = z->rows,
                           .n = z->columns,
                           .k = what->a == CUBLAS_OP_T ? x->rows : x->columns,
                           .factor = *(const float *)alpha};
  const gsize n = (gsize)(product.m * product.n) * (gsize)z->batch,
              size = fake_bytes(product.format, 1);
  const double k = (double)product.k * z->batch;
  const double bytes = (double)fake_bytes(product.a_format, (gsize)((double)product.m * k)) +
                       (double)fake_bytes(product.b_format, (gsize)((double)product.n * k)) +
                       (double)(n * size);
  const FakeWork work = fake_work(FAKE_COMPUTE, 2 * (double)n * (double)product.k,
                                  dtype_of(x->type, what->compute), bytes);
  fake_spend_us(FAKE_LAUNCH_US);
  if (!fake_stream_is_capturing(stream))
    fake_write(d, n * size, size, element, &product, sizeof product, FALSE);
  return fake_post(stream, &work) ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_EXECUTION_FAILED;
}

/* --- libcublas: grouped products --- */
#ifndef ORR_HIP

typedef struct {
  cudaStream_t stream;
} Handle;

cublasStatus_t cublasCreate_v2(cublasHandle_t *handle) {
  *handle = (cublasHandle_t)(void *)g_new0(Handle, 1);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasDestroy_v2(cublasHandle_t handle) {
  g_free(handle);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetStream_v2(cublasHandle_t handle, cudaStream_t stream) {
  ((Handle *)(void *)handle)->stream = stream;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetWorkspace_v2(cublasHandle_t handle, void *workspace, size_t bytes) {
  (void)handle, (void)workspace, (void)bytes;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasGemmGroupedBatchedEx(
    cublasHandle_t handle, const cublasOperation_t trans_a[], const cublasOperation_t trans_b[],
    const int m[], const int n[], const int k[], const void *alpha, const void *const a[],
    cudaDataType_t a_type, const int lda[], const void *const b[], cudaDataType_t b_type,
    const int ldb[], const void *beta, void *const c[], cudaDataType_t c_type, const int ldc[],
    int n_groups, const int sizes[], cublasComputeType_t compute) {
  FakeStream *stream = (FakeStream *)(void *)((Handle *)(void *)handle)->stream;
  double flops = 0, bytes = 0;
  (void)lda, (void)ldb, (void)ldc, (void)beta, (void)sizes;
  fake_touch(a, (gsize)n_groups * sizeof *a);
  fake_touch(b, (gsize)n_groups * sizeof *b);
  fake_touch(c, (gsize)n_groups * sizeof *c);
  for (int g = 0; g < n_groups; g++) {
    const Product product = {a[g],
                             b[g],
                             format_of(a_type),
                             format_of(b_type),
                             format_of(c_type),
                             trans_a[g] == CUBLAS_OP_T,
                             trans_b[g] == CUBLAS_OP_N,
                             m[g],
                             n[g],
                             k[g],
                             ((const float *)alpha)[g]};
    const gsize elements = (gsize)m[g] * (gsize)n[g], size = fake_bytes(product.format, 1);
    if (!fake_stream_is_capturing(stream))
      fake_write(c[g], elements * size, size, element, &product, sizeof product, FALSE);
    flops += 2 * (double)elements * k[g];
    bytes += (double)size * ((double)m[g] * k[g] + (double)n[g] * k[g] + (double)elements);
  }
  const FakeWork work = fake_work(FAKE_COMPUTE, flops, dtype_of(a_type, compute), bytes);
  fake_spend_us(FAKE_LAUNCH_US + 0.2 * n_groups);
  return fake_post(stream, &work) ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_EXECUTION_FAILED;
}
#endif

/*
 * cuda_gemm.c - matrix products through cuBLASLt, opened at run time. See family_gemm.c for the
 * layouts.
 *
 * cuBLASLt is column-major, so a row-major out[m,n] is its transpose out'[n,m] there and the
 * operands swap: its A is our w (n x k), its B our x (k x m). The layout decides which of them is
 * transposed:
 *
 *   forward   w[n,k] is k x n column-major: A transposed;   x[m,k] is k x m: B unchanged    (TN)
 *   dgrad     w[k,n] is n x k: A unchanged;                 x[m,k] is k x m: B unchanged    (NN)
 *   wgrad     w[k,n] is n x k: A unchanged;                 x[k,m] is m x k: B transposed   (NT)
 *
 * 8 and 4-bit operands have k innermost in every layout (TN), as their transposed copies do, except
 * fp8 and mxfp8 on sm_100 to sm_119 ("Blackwell supports any GEMM layout for FP8": Transformer
 * Engine, cublaslt_gemm.cu).
 *
 * How fp8 products accumulate: accumulation.h. Checks allow for the tensor cores' shorter
 * accumulators.
 *
 * The algorithm is the heuristic's first choice, as in PyTorch and Transformer Engine, with 32 MiB
 * of workspace. Scales of mxfp8 (ue8m0, 32 elements) and nvfp4 (ue4m3, 16) are all 1, so their
 * swizzled layout does not affect a check.
 */
#include <cublasLt.h>

#include "calibration/measure/accumulation.h"
#include "calibration/measure/cuda/cuda_private.h"
#include "calibration/measure/cuda/kernel.h"
#include "calibration/measure/cuda/vendor.h"
#include "sim/base/random.h"

enum { SAMPLES = 24 };

struct OrrCublas {
  __typeof__(&cublasLtCreate) create;
  __typeof__(&cublasLtDestroy) destroy;
#ifdef ORR_HIP
  __typeof__(&hipblasLtGetVersion) version;
#else
  __typeof__(&cublasLtGetVersion) version;
  __typeof__(&cublasLtGetStatusString) status_text;
#endif
  __typeof__(&cublasLtMatmulDescCreate) desc_create;
  __typeof__(&cublasLtMatmulDescDestroy) desc_destroy;
  __typeof__(&cublasLtMatmulDescSetAttribute) desc_set;
  __typeof__(&cublasLtMatrixLayoutCreate) layout_create;
  __typeof__(&cublasLtMatrixLayoutDestroy) layout_destroy;
  __typeof__(&cublasLtMatrixLayoutSetAttribute) layout_set;
  __typeof__(&cublasLtMatmulPreferenceCreate) preference_create;
  __typeof__(&cublasLtMatmulPreferenceDestroy) preference_destroy;
  __typeof__(&cublasLtMatmulPreferenceSetAttribute) preference_set;
  __typeof__(&cublasLtMatmulAlgoGetHeuristic) heuristic;
  __typeof__(&cublasLtMatmul) matmul;
  cublasLtHandle_t handle;
};

#define SYMBOL(name_, member_)                                                                     \
  { G_STRINGIFY(name_), offsetof(OrrCublas, member_) }
static const OrrCudaSymbol symbols[] = {
    SYMBOL(cublasLtCreate, create),
    SYMBOL(cublasLtDestroy, destroy),
#ifdef ORR_HIP
    SYMBOL(hipblasLtGetVersion, version),
#else
    SYMBOL(cublasLtGetVersion, version),
    SYMBOL(cublasLtGetStatusString, status_text),
#endif
    SYMBOL(cublasLtMatmulDescCreate, desc_create),
    SYMBOL(cublasLtMatmulDescDestroy, desc_destroy),
    SYMBOL(cublasLtMatmulDescSetAttribute, desc_set),
    SYMBOL(cublasLtMatrixLayoutCreate, layout_create),
    SYMBOL(cublasLtMatrixLayoutDestroy, layout_destroy),
    SYMBOL(cublasLtMatrixLayoutSetAttribute, layout_set),
    SYMBOL(cublasLtMatmulPreferenceCreate, preference_create),
    SYMBOL(cublasLtMatmulPreferenceDestroy, preference_destroy),
    SYMBOL(cublasLtMatmulPreferenceSetAttribute, preference_set),
    SYMBOL(cublasLtMatmulAlgoGetHeuristic, heuristic),
    SYMBOL(cublasLtMatmul, matmul),
};

static const char *const files[] = {ORR_VENDOR_BLAS_FILES};

/* 10^4 major + 10^2 minor + patch; hipBLASLt: 10^5 major, and it wants a handle. */
static size_t version_of(const OrrCublas *table) {
#ifdef ORR_HIP
  cublasLtHandle_t handle = NULL;
  int version = 0;
  if (table->create(&handle) != CUBLAS_STATUS_SUCCESS) return 0;
  table->version(handle, &version);
  table->destroy(handle);
  return (size_t)(version / 100000 * 10000 + version % 100000);
#else
  return table->version();
#endif
}

static const char *text_of(const OrrCublas *cublas, cublasStatus_t status) {
#ifdef ORR_HIP
  static char text[32];
  g_snprintf(text, sizeof text, "status %d", (int)status);
  return text;
#else
  return cublas->status_text(status);
#endif
}

char *orr_cublas_version(void) {
  OrrCublas table;
  if (!orr_cuda_library_open(files, symbols, G_N_ELEMENTS(symbols), &table, NULL))
    return g_strdup("");
  const size_t version = version_of(&table);
  return g_strdup_printf("%zu.%zu.%zu", version / 10000, version / 100 % 100, version % 100);
}

static gboolean ok(const OrrCublas *cublas, cublasStatus_t status, const char *what,
                   GError **error) {
  if (status == CUBLAS_STATUS_SUCCESS) return TRUE;
  const gboolean passes =
      status == CUBLAS_STATUS_NOT_SUPPORTED || status == CUBLAS_STATUS_ARCH_MISMATCH ||
      status == CUBLAS_STATUS_ALLOC_FAILED || status == CUBLAS_STATUS_INVALID_VALUE;
  return orr_fault_set(error, passes ? ORR_FAULT_USAGE : ORR_FAULT_RESOURCE, "%s: %s", what,
                       text_of(cublas, status));
}

static OrrCublas *cublas_of(OrrBench *bench, GError **error) {
  if (bench->cublas) return bench->cublas;
  OrrCublas *cublas = g_new0(OrrCublas, 1);
  if (orr_cuda_library_open(files, symbols, G_N_ELEMENTS(symbols), cublas, error) &&
      ok(cublas, cublas->create(&cublas->handle), G_STRINGIFY(cublasLtCreate), error))
    return bench->cublas = cublas;
  g_free(cublas);
  return NULL;
}

void orr_cublas_free(OrrCublas *cublas) {
  if (cublas && cublas->handle) cublas->destroy(cublas->handle);
  g_free(cublas);
}

/* --- A product --- */

typedef struct {
  cudaDataType_t operand, gradient, result; /* gradient: of x in dgrad and wgrad */
  cublasComputeType_t compute;
  OrrFormat format, gradient_format, result_format; /* as verified and filled */
  gint64 block;                                     /* elements per scale; 0: none */
} Kind;

/* By ORR_GEMM_*. */
static const Kind kinds[] = {
    {CUDA_R_32F, CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F, ORR_FORMAT_FP32, ORR_FORMAT_FP32,
     ORR_FORMAT_FP32, 0},
    {CUDA_R_32F, CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F_FAST_TF32, ORR_FORMAT_FP32,
     ORR_FORMAT_FP32, ORR_FORMAT_FP32, 0},
    {CUDA_R_16F, CUDA_R_16F, CUDA_R_16F, CUBLAS_COMPUTE_32F, ORR_FORMAT_FP16, ORR_FORMAT_FP16,
     ORR_FORMAT_FP16, 0},
    {CUDA_R_16BF, CUDA_R_16BF, CUDA_R_16BF, CUBLAS_COMPUTE_32F, ORR_FORMAT_BF16, ORR_FORMAT_BF16,
     ORR_FORMAT_BF16, 0},
    {CUDA_R_8F_E4M3, CUDA_R_8F_E5M2, CUDA_R_16BF, CUBLAS_COMPUTE_32F, ORR_FORMAT_E4M3,
     ORR_FORMAT_E5M2, ORR_FORMAT_BF16, 0},
    {CUDA_R_8F_E4M3, CUDA_R_8F_E4M3, CUDA_R_16BF, CUBLAS_COMPUTE_32F, ORR_FORMAT_E4M3,
     ORR_FORMAT_E4M3, ORR_FORMAT_BF16, 32},
    {CUDA_R_4F_E2M1, CUDA_R_4F_E2M1, CUDA_R_16BF, CUBLAS_COMPUTE_32F, ORR_FORMAT_E2M1,
     ORR_FORMAT_E2M1, ORR_FORMAT_BF16, 16},
};
enum { FORWARD, DGRAD, WGRAD };

struct OrrProduct {
  const OrrCublas *cublas;
  Kind kind;
  gboolean is_tf32;
  /* whether k is innermost: x is then B unchanged, w is A transposed */
  gboolean x_k_inner, w_k_inner;
  OrrFormat x_format;
  gint64 layout, batch, m, n, k;
  char *x, *w, *out;
  gsize x_stride, w_stride, out_stride; /* between sets, in bytes */
  void *x_scale, *w_scale, *workspace;
  cublasLtMatmulDesc_t desc;
  cublasLtMatrixLayout_t a, b, c;
  cublasLtMatmulAlgo_t algorithm;
  float factor;
};

static void product_clear(OrrProduct *product) {
  const OrrCublas *cublas = product->cublas;
  if (product->c) cublas->layout_destroy(product->c);
  if (product->b) cublas->layout_destroy(product->b);
  if (product->a) cublas->layout_destroy(product->a);
  if (product->desc) cublas->desc_destroy(product->desc);
}

void orr_cuda_product_free(OrrProduct *product) {
  if (product) product_clear(product);
  g_free(product);
}

static void product_free(gpointer data) { orr_cuda_product_free(data); }

gboolean orr_cuda_product_run(const OrrProduct *product, const void *x, const void *w, void *out,
                              void *workspace, cudaStream_t stream, GError **error) {
  const float zero = 0;
  return ok(product->cublas,
            product->cublas->matmul(product->cublas->handle, product->desc, &product->factor, w,
                                    product->a, x, product->b, &zero, out, product->c, out,
                                    product->c, &product->algorithm, workspace,
                                    ORR_PRODUCT_WORKSPACE, stream),
            G_STRINGIFY(cublasLtMatmul), error);
}

static gboolean launch(OrrKernel *kernel, guint set, cudaStream_t stream, GError **error) {
  const OrrProduct *product = kernel->state;
  return orr_cuda_product_run(
      product, product->x + set * product->x_stride, product->w + set * product->w_stride,
      product->out + set * product->out_stride, product->workspace, stream, error);
}

/* --- Making it --- */

/* @rows x @columns, column-major and dense, `batch` of them one after the other. */
static gboolean make_layout(const OrrProduct *product, cudaDataType_t type, gint64 rows,
                            gint64 columns, cublasLtMatrixLayout_t *ret_layout, GError **error) {
  const OrrCublas *cublas = product->cublas;
  const int32_t batch = (int32_t)product->batch;
  const int64_t stride = rows * columns;
  if (!ok(cublas, cublas->layout_create(ret_layout, type, (uint64_t)rows, (uint64_t)columns, rows),
          "layout", error))
    return FALSE;
  return batch == 1 ||
         (ok(cublas,
             cublas->layout_set(*ret_layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &batch,
                                sizeof batch),
             "batch", error) &&
          ok(cublas,
             cublas->layout_set(*ret_layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &stride,
                                sizeof stride),
             "stride", error));
}

static gboolean set_desc(const OrrProduct *product, cublasLtMatmulDescAttributes_t what,
                         const void *value, size_t size, GError **error) {
  return ok(product->cublas, product->cublas->desc_set(product->desc, what, value, size),
            "attribute", error);
}

static gboolean set_accumulation(const OrrProduct *product, GError **error) {
#ifdef ORR_HIP
  return TRUE; /* hipBLASLt has no such choice */
#else
  const int8_t is_fast = orr_accumulation_is_fast(product->layout == FORWARD);
  return product->kind.operand != CUDA_R_8F_E4M3 ||
         set_desc(product, CUBLASLT_MATMUL_DESC_FAST_ACCUM, &is_fast, sizeof is_fast, error);
#endif
}

static gboolean make_desc(OrrProduct *product, GError **error) {
  const cublasOperation_t a = product->w_k_inner ? CUBLAS_OP_T : CUBLAS_OP_N;
  const cublasOperation_t b = product->x_k_inner ? CUBLAS_OP_N : CUBLAS_OP_T;
  const gint64 m = product->m, n = product->n, k = product->k;
  const cudaDataType_t type = product->kind.operand;
  const cudaDataType_t x_type = product->layout == FORWARD ? type : product->kind.gradient;
  return ok(product->cublas,
            product->cublas->desc_create(&product->desc, product->kind.compute, CUDA_R_32F), "desc",
            error) &&
         set_desc(product, CUBLASLT_MATMUL_DESC_TRANSA, &a, sizeof a, error) &&
         set_desc(product, CUBLASLT_MATMUL_DESC_TRANSB, &b, sizeof b, error) &&
         set_accumulation(product, error) &&
         (a == CUBLAS_OP_T ? make_layout(product, type, k, n, &product->a, error)
                           : make_layout(product, type, n, k, &product->a, error)) &&
         (b == CUBLAS_OP_T ? make_layout(product, x_type, m, k, &product->b, error)
                           : make_layout(product, x_type, k, m, &product->b, error)) &&
         make_layout(product, product->kind.result, n, m, &product->c, error);
}

#if !defined(ORR_HIP) && CUBLAS_VERSION >= 120800
/* Allocates scales in tiles of 128 rows x 4 blocks, all ones (ue8m0 127: 2^0; ue4m3 0x38: 1). */
static void *make_scale(OrrKernel *kernel, gint64 rows, gint64 k, gint64 block, GError **error) {
  const gsize tiles = (gsize)((rows + 127) / 128) * (gsize)((k / block + 3) / 4);
  void *scale = orr_cuda_alloc(kernel, tiles * 512, error);
  const int one = block == 32 ? 127 : 0x38;
  const cudaStream_t stream = kernel->bench->stream;
  return scale && orr_cuda_ok(cudaMemsetAsync(scale, one, tiles * 512, stream), "cudaMemset", error)
             ? scale
             : NULL;
}

static gboolean make_scales(OrrKernel *kernel, OrrProduct *product, GError **error) {
  const gint64 block = product->kind.block;
  const cublasLtMatmulMatrixScale_t mode = block == 32 ? CUBLASLT_MATMUL_MATRIX_SCALE_VEC32_UE8M0
                                                       : CUBLASLT_MATMUL_MATRIX_SCALE_VEC16_UE4M3;
  if (block == 0) return TRUE;
  return (product->w_scale = make_scale(kernel, product->n, product->k, block, error)) &&
         (product->x_scale = make_scale(kernel, product->m, product->k, block, error)) &&
         set_desc(product, CUBLASLT_MATMUL_DESC_A_SCALE_MODE, &mode, sizeof mode, error) &&
         set_desc(product, CUBLASLT_MATMUL_DESC_B_SCALE_MODE, &mode, sizeof mode, error) &&
         set_desc(product, CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, &product->w_scale,
                  sizeof product->w_scale, error) &&
         set_desc(product, CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, &product->x_scale,
                  sizeof product->x_scale, error);
}
#else
static gboolean make_scales(OrrKernel *kernel, OrrProduct *product, GError **error) {
  if (product->kind.block == 0) return TRUE;
  g_set_error(error, ORR_FAULT, ORR_FAULT_USAGE,
              "mxfp8 and nvfp4 need a build with cuBLAS 12.8 or newer");
  return kernel == NULL;
}
#endif

static gboolean pick_algorithm(OrrProduct *product, GError **error) {
  const OrrCublas *cublas = product->cublas;
  const size_t workspace = ORR_PRODUCT_WORKSPACE;
  cublasLtMatmulPreference_t preference = NULL;
  cublasLtMatmulHeuristicResult_t found;
  int n_found = 0;
  if (!ok(cublas, cublas->preference_create(&preference), "preference", error)) return FALSE;
  gboolean fine = ok(cublas,
                     cublas->preference_set(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                            &workspace, sizeof workspace),
                     "workspace", error) &&
                  ok(cublas,
                     cublas->heuristic(cublas->handle, product->desc, product->a, product->b,
                                       product->c, product->c, preference, 1, &found, &n_found),
                     G_STRINGIFY(cublasLtMatmulAlgoGetHeuristic), error);
  cublas->preference_destroy(preference);
  if (fine && n_found == 0)
    g_set_error(error, ORR_FAULT, ORR_FAULT_USAGE,
                "the library of products has no algorithm for the shape");
  if (!fine || n_found == 0) return FALSE;
  product->algorithm = found.algo;
  return TRUE;
}

/* --- Verifying it --- */

/* Reads row @row of x or of w as the reduction does: contiguous if k is innermost. */
static gboolean read_operand(const OrrProduct *product, const char *data, OrrFormat format,
                             gboolean k_inner, gint64 n_rows, gint64 row, gint64 at_batch,
                             double *values, GError **error) {
  const gsize base = (gsize)(at_batch * n_rows * product->k);
  return k_inner ? orr_cuda_read(data, format, base + (gsize)(row * product->k), 1,
                                 (gsize)product->k, values, error)
                 : orr_cuda_read(data, format, base + (gsize)row, (gsize)n_rows, (gsize)product->k,
                                 values, error);
}

static gboolean verify_element(const OrrProduct *product, guint64 pick, double *x, double *w,
                               OrrVerdict *verdict, GError **error) {
  const gint64 row = (gint64)(pick % (guint64)product->m),
               column = (gint64)(pick / 7919 % (guint64)product->n);
  const gint64 batch = (gint64)(pick >> 32) % product->batch;
  const gsize at = (gsize)((batch * product->m + row) * product->n + column);
  double found, sum = 0, squares = 0;
  if (!read_operand(product, product->x, product->x_format, product->x_k_inner, product->m, row,
                    batch, x, error) ||
      !read_operand(product, product->w, product->kind.format, product->w_k_inner, product->n,
                    column, batch, w, error) ||
      !orr_cuda_read(product->out, product->kind.result_format, at, 1, 1, &found, error))
    return FALSE;
  for (gint64 i = 0; i < product->k; i++) sum += x[i] * w[i], squares += x[i] * x[i] * w[i] * w[i];
  orr_cuda_judge(verdict, found, sum, sqrt(squares) + fabs(sum));
  return TRUE;
}

/* A sample of elements in double precision, relative to the root of the sum of squared terms. */
static gboolean verify(OrrKernel *kernel, OrrVerdict *ret_verdict, GError **error) {
  OrrProduct *product = kernel->state;
  g_autofree double *x = g_new(double, product->k), *w = g_new(double, product->k);
  OrrVerdict verdict = {.limit = product->is_tf32
                                     ? 1e-2
                                     : fmax(orr_format_limit(product->kind.format),
                                            orr_format_limit(product->kind.result_format))};
  if (!orr_cuda_run_once(kernel, error)) return FALSE;
  for (guint64 i = 0; i < SAMPLES; i++)
    if (!verify_element(product, orr_random_hash3(kernel->seed, i, 1), x, w, &verdict, error))
      return FALSE;
  *ret_verdict = verdict;
  return TRUE;
}

/* --- Preparing --- */

static gboolean allocate(OrrKernel *kernel, OrrProduct *product, GError **error) {
  const gsize n_x = (gsize)(product->batch * product->m * product->k),
              n_w = (gsize)(product->batch * product->n * product->k);
  const gsize n_out = (gsize)(product->batch * product->m * product->n);
  const gsize out_bytes = orr_format_bytes(product->kind.result_format, n_out);
  const double bytes = (double)(orr_format_bytes(product->kind.format, n_x + n_w) + out_bytes);
  orr_cuda_rotate(kernel, bytes, bytes);
  return (product->x =
              orr_cuda_random_sets(kernel, product->x_format, n_x, &product->x_stride, error)) &&
         (product->w =
              orr_cuda_random_sets(kernel, product->kind.format, n_w, &product->w_stride, error)) &&
         (product->out = orr_cuda_alloc_sets(kernel, out_bytes, &product->out_stride, error)) &&
         (product->workspace = orr_cuda_alloc(kernel, ORR_PRODUCT_WORKSPACE, error));
}

/* Whether the tensor cores take narrow operands without a transposed copy. */
static gboolean takes_any_layout(const OrrBench *bench, int kind) {
  const gint64 capability = bench->facts.architecture;
  return kind < ORR_GEMM_FP8 || (kind != ORR_GEMM_NVFP4 && capability >= 100 && capability < 120);
}

/* All but the operands. */
static OrrProduct *plan(OrrKernel *kernel, int kind, gint64 layout, gint64 batch, gint64 m,
                        gint64 n, gint64 k, GError **error) {
  const OrrCublas *cublas = cublas_of(kernel->bench, error);
  if (!cublas) return NULL;
  const gboolean any = takes_any_layout(kernel->bench, kind);
  OrrProduct *product = g_new0(OrrProduct, 1);
  *product =
      (OrrProduct){.cublas = cublas,
                   .kind = kinds[kind],
                   .x_k_inner = layout != WGRAD || !any,
                   .w_k_inner = layout == FORWARD || !any,
                   .x_format = layout == FORWARD ? kinds[kind].format : kinds[kind].gradient_format,
                   .is_tf32 = kind == ORR_GEMM_TF32,
                   .layout = layout,
                   .batch = batch,
                   .m = m,
                   .n = n,
                   .k = k,
                   .factor = 1};
  if (make_desc(product, error) && make_scales(kernel, product, error) &&
      pick_algorithm(product, error))
    return product;
  orr_cuda_product_free(product);
  return NULL;
}

OrrProduct *orr_cuda_product_new(OrrKernel *kernel, int format, gint64 m, gint64 n, gint64 k,
                                 double factor, GError **error) {
  OrrProduct *product = plan(kernel, format, FORWARD, 1, m, n, k, error);
  if (product) product->factor = (float)factor;
  return product;
}

static gboolean prepare(OrrKernel *kernel, int kind, gint64 layout, gint64 batch, gint64 m,
                        gint64 n, gint64 k, GError **error) {
  OrrProduct *product = plan(kernel, kind, layout, batch, m, n, k, error);
  if (!product) return FALSE;
  kernel->state = product;
  kernel->clear = product_free;
  kernel->launch = launch;
  kernel->verify = verify;
  return allocate(kernel, product, error);
}

gboolean orr_cuda_prepare_gemm(OrrKernel *kernel, GError **error) {
  const gint64 *at = kernel->shape.at;
  return prepare(kernel, (int)at[0], at[1], at[2], at[3], at[4], at[5], error);
}

gboolean orr_cuda_prepare_product(OrrKernel *kernel, gint64 m, gint64 n, gint64 k, GError **error) {
  return prepare(kernel, ORR_GEMM_BF16, FORWARD, 1, m, n, k, error);
}

/*
 * cuda_moe.c - the layer of family_moe_ffn.c as five kernels: gather, grouped product, SwiGLU,
 * grouped product, weighted sum.
 *
 * Grouped products are cublasGemmGroupedBatchedEx (cuBLAS 12.5 on; opened at run time), one group
 * per expert with tokens; for 8 and 4-bit operands, and with HIP, the products of
 * cuda_moe_narrow.h. Column-major
 * as in cuda_gemm.c: out'[n, tokens] = w'^T x'. Pointers to operands are on the device, shapes on
 * the host. expert_draw.h gives the number of tokens per expert.
 */
#ifdef ORR_HIP
#include <cublasLt.h>
#else
#include <cublas_v2.h>
#endif

#include "calibration/measure/cuda/cuda_moe_narrow.h"
#include "calibration/measure/cuda/kernel.h"
#include "calibration/measure/expert_draw.h"
#include "sim/base/random.h"

enum { SAMPLES = 12 };

#ifndef ORR_HIP
typedef struct {
  __typeof__(&cublasCreate_v2) create;
  __typeof__(&cublasDestroy_v2) destroy;
  __typeof__(&cublasSetStream_v2) set_stream;
  __typeof__(&cublasSetWorkspace_v2) set_workspace;
  __typeof__(&cublasGemmGroupedBatchedEx) grouped;
} Blas;

static const OrrCudaSymbol symbols[] = {
    {"cublasCreate_v2", offsetof(Blas, create)},
    {"cublasDestroy_v2", offsetof(Blas, destroy)},
    {"cublasSetStream_v2", offsetof(Blas, set_stream)},
    {"cublasSetWorkspace_v2", offsetof(Blas, set_workspace)},
    {"cublasGemmGroupedBatchedEx", offsetof(Blas, grouped)},
};
#define FILE_OF(major_) "libcublas.so." G_STRINGIFY(major_)
static const char *const files[] = {FILE_OF(CUBLAS_VER_MAJOR), NULL};
#endif

/* One grouped product: weights [experts, n, k], rows sorted by expert. */
typedef struct {
  int n_groups;
  cublasOperation_t *trans_a, *trans_b;
  int *m, *n, *k, *sizes;
  float *one, *zero;
  void **a, **b, **c; /* on the device; a: of all sets in order */
} Groups;

typedef struct {
#ifndef ORR_HIP
  Blas blas;
  cublasHandle_t handle;
#endif
  OrrFormat format, wide; /* of the operands; of the results of products and layer */
  int gemm;               /* ORR_GEMM_* of the operands */
  gboolean is_narrow;
  gboolean by_expert; /* products one by one (cuda_moe_narrow.h), not grouped */
  double factor
      [2]; /* of the products: narrow operands have no scales to keep their results in range */
  gint64 tokens, hidden, inter, topk, n_experts; /* n_experts: of this rank */
  gsize n_rows;                                  /* rows routed to this rank, with padding */
  GArray *spans;                                 /* OrrMoeSpan: the experts that have rows */
  int32_t *row_token, *row_expert,
      *token_rows;          /* on the host; token_rows: [tokens, topk], -1 elsewhere */
  int32_t *index, *combine; /* on the device */
  float *scale;
  char *x, *gathered, *up, *act, *down, *out, *w1, *w2;
  gsize w1_stride, w2_stride;
  Groups first, second;    /* for 16 bits */
  OrrMoeNarrow *narrow[2]; /* for narrower formats */
  void *workspace;
} Moe;

static gboolean ok(cublasStatus_t status, const char *what, GError **error) {
  if (status == CUBLAS_STATUS_SUCCESS) return TRUE;
  const gboolean passes =
      status == CUBLAS_STATUS_NOT_SUPPORTED || status == CUBLAS_STATUS_ARCH_MISMATCH;
  return orr_fault_set(error, passes ? ORR_FAULT_USAGE : ORR_FAULT_RESOURCE,
                       "cuBLAS: %s: status %d", what, (int)status);
}

/* --- Grouped products; HIP has none --- */

#ifdef ORR_HIP
enum { HAS_GROUPED = FALSE };
static void close_grouped(Moe *moe) {}
static gboolean open_grouped(Moe *moe, GError **error) {
  return ok(CUBLAS_STATUS_NOT_SUPPORTED, "grouped products", error);
}
static gboolean run_groups(const Moe *moe, const Groups *groups, guint set, GError **error) {
  return open_grouped((Moe *)moe, error);
}
static gboolean prepare_handle(const Moe *moe, cudaStream_t stream, GError **error) {
  return moe->by_expert || open_grouped((Moe *)moe, error);
}
#else
enum { HAS_GROUPED = TRUE };
static void close_grouped(Moe *moe) {
  if (moe->handle) moe->blas.destroy(moe->handle);
}

static gboolean open_grouped(Moe *moe, GError **error) {
  return orr_cuda_library_open(files, symbols, G_N_ELEMENTS(symbols), &moe->blas, error) &&
         ok(moe->blas.create(&moe->handle), "cublasCreate", error);
}

static gboolean run_groups(const Moe *moe, const Groups *groups, guint set, GError **error) {
  const cudaDataType_t type = moe->format == ORR_FORMAT_FP16 ? CUDA_R_16F : CUDA_R_16BF;
  return ok(moe->blas.grouped(
                moe->handle, groups->trans_a, groups->trans_b, groups->m, groups->n, groups->k,
                groups->one, (const void *const *)groups->a + set * (guint)groups->n_groups, type,
                groups->k, (const void *const *)groups->b, type, groups->k, groups->zero, groups->c,
                type, groups->m, groups->n_groups, groups->sizes, CUBLAS_COMPUTE_32F),
            "cublasGemmGroupedBatchedEx", error);
}

static gboolean prepare_handle(const Moe *moe, cudaStream_t stream, GError **error) {
  return moe->by_expert ||
         (ok(moe->blas.set_stream(moe->handle, stream), "cublasSetStream", error) &&
          ok(moe->blas.set_workspace(moe->handle, moe->workspace, ORR_PRODUCT_WORKSPACE),
             "cublasSetWorkspace", error));
}
#endif

static void groups_clear(Groups *groups) {
  ORR_FREE(groups->trans_a, groups->trans_b, groups->m, groups->n, groups->k, groups->sizes,
           groups->one, groups->zero);
}

static void moe_free(gpointer data) {
  Moe *moe = data;
  close_grouped(moe);
  groups_clear(&moe->first);
  groups_clear(&moe->second);
  for (guint i = 0; i < 2; i++) orr_moe_narrow_free(moe->narrow[i]);
  if (moe->spans) g_array_unref(moe->spans);
  ORR_FREE(moe->row_token, moe->row_expert, moe->token_rows, moe);
}

/* --- Routing --- */

/* Renumbers the experts of the fullest rank to [0, n_experts); the others follow. */
static void keep_fullest(const Moe *moe, gint64 n_all, int32_t *chosen) {
  const gint64 n = moe->tokens * moe->topk,
               first = orr_expert_draw_fullest(chosen, n, n_all, moe->n_experts);
  for (gint64 i = 0; i < n; i++) chosen[i] = (int32_t)((chosen[i] - first + n_all) % n_all);
}

/* Places the padded rows of the experts [0, n_experts): @begin[e] is the first row of expert e,
 * @begin[n_experts] the total. */
static void place_experts(Moe *moe, const int32_t *chosen, gint64 *begin) {
  const gint64 n = moe->tokens * moe->topk,
               padding = moe->by_expert ? (gint64)orr_moe_narrow_padding(moe->gemm) : 1;
  g_autofree gint64 *counts = g_new0(gint64, moe->n_experts);
  moe->spans = g_array_new(FALSE, FALSE, sizeof(OrrMoeSpan));
  begin[0] = 0;
  for (gint64 i = 0; i < n; i++)
    if (chosen[i] < moe->n_experts) counts[chosen[i]]++;
  for (gint64 e = 0; e < moe->n_experts; e++) {
    const OrrMoeSpan span = {(gsize)e, (gsize)begin[e],
                             (gsize)((counts[e] + padding - 1) / padding * padding)};
    begin[e + 1] = begin[e] + (gint64)span.n;
    if (span.n) g_array_append_val(moe->spans, span);
  }
}

/* Sorts rows by expert (counting sort). A padding row repeats token 0 and is not part of any
 * sum. */
static void route(Moe *moe, const int32_t *chosen) {
  const gint64 n = moe->tokens * moe->topk;
  g_autofree gint64 *next = g_new0(gint64, moe->n_experts + 1);
  place_experts(moe, chosen, next);
  moe->n_rows = (gsize)next[moe->n_experts];
  moe->row_token = g_new0(int32_t, moe->n_rows + 1);
  moe->row_expert = g_new(int32_t, moe->n_rows + 1);
  moe->token_rows = g_new(int32_t, n);
  ORR_EACH(const OrrMoeSpan, span, moe->spans) {
    for (gsize row = span->first; row < span->first + span->n; row++)
      moe->row_expert[row] = (int32_t)span->expert;
  }
  for (gint64 i = 0; i < n; i++) {
    moe->token_rows[i] = -1;
    if (chosen[i] >= moe->n_experts) continue;
    const gint64 row = next[chosen[i]]++;
    moe->row_token[row] = (int32_t)(i / moe->topk);
    moe->token_rows[i] = (int32_t)row;
  }
}

/* --- Launching --- */

/* The first product or the second, on set @set of the weights. */
static gboolean run_product(const Moe *moe, guint which, guint set, cudaStream_t stream,
                            GError **error) {
  if (!moe->by_expert) return run_groups(moe, which ? &moe->second : &moe->first, set, error);
  const char *weights = which ? moe->w2 + set * moe->w2_stride : moe->w1 + set * moe->w1_stride;
  return orr_moe_narrow_run(moe->narrow[which], which ? moe->act : moe->gathered, weights,
                            which ? moe->down : moe->up, stream, error);
}

static int run_swiglu(const Moe *moe, cudaStream_t stream) {
  const gsize inter = (gsize)moe->inter;
  return moe->is_narrow
             ? orr_kernel_swiglu_narrow(moe->up, moe->act, (int)moe->format, moe->n_rows, inter,
                                        stream)
             : orr_kernel_swiglu(moe->up, moe->act, (int)moe->format, moe->n_rows, inter, stream);
}

/* Moves rows as 16-bit words, regardless of their content. */
static gboolean launch(OrrKernel *kernel, guint set, cudaStream_t stream, GError **error) {
  const Moe *moe = kernel->state;
  const gsize hidden = (gsize)moe->hidden, words = orr_format_bytes(moe->format, hidden) / 2;
  return prepare_handle(moe, stream, error) &&
         orr_cuda_launched(orr_kernel_gather(moe->x, moe->index, moe->gathered, ORR_FORMAT_FP16,
                                             moe->n_rows, words, stream),
                           "gather", error) &&
         run_product(moe, 0, set, stream, error) &&
         orr_cuda_launched(run_swiglu(moe, stream), "swiglu", error) &&
         run_product(moe, 1, set, stream, error) &&
         orr_cuda_launched(orr_kernel_combine(moe->down, moe->combine, moe->scale, (int)moe->topk,
                                              moe->out, (int)moe->wide, (gsize)moe->tokens, hidden,
                                              stream),
                           "combine", error);
}

/* --- Checks: one element of each kernel, from the output of the previous kernel in memory --- */

/* e2m1 holds two elements a byte: whole rows are read. */
static gboolean judge_product(const Moe *moe, guint which, gsize row, gsize column,
                              OrrVerdict *verdict, GError **error) {
  const char *x = which ? moe->act : moe->gathered, *w = which ? moe->w2 : moe->w1,
             *out = which ? moe->down : moe->up;
  const gsize hidden = (gsize)moe->hidden, inter = (gsize)moe->inter;
  const gsize n = which ? hidden : 2 * inter, k = which ? inter : hidden;
  g_autofree double *xs = g_new(double, k), *ws = g_new(double, k);
  const gsize expert = (gsize)moe->row_expert[row];
  double found, sum = 0, squares = 0;
  if (!orr_cuda_read(x, moe->format, row * k, 1, k, xs, error) ||
      !orr_cuda_read(w, moe->format, (expert * n + column) * k, 1, k, ws, error) ||
      !orr_cuda_read(out, moe->wide, row * n + column, 1, 1, &found, error))
    return FALSE;
  for (gsize i = 0; i < k; i++) sum += xs[i] * ws[i], squares += xs[i] * xs[i] * ws[i] * ws[i];
  orr_cuda_judge(verdict, found, sum * moe->factor[which],
                 (sqrt(squares) + fabs(sum)) * moe->factor[which] + 1e-30);
  return TRUE;
}

/* The error allowed for rounding to the operands' format, beyond that format's limit: half a
 * step of e4m3 is a sixteenth of the value, of e2m1 a quarter below 1 and up to 1 at 5; both
 * saturate, at 448 and 6. */
static void judge_rounded(const Moe *moe, double found, double wanted, double size,
                          OrrVerdict *verdict) {
  const double most = moe->format == ORR_FORMAT_E2M1 ? 6 : 448;
  if (moe->is_narrow) wanted = CLAMP(wanted, -most, most);
  const double scale = moe->format == ORR_FORMAT_E2M1   ? 5 * fmax(fabs(wanted), 1)
                       : moe->format == ORR_FORMAT_E4M3 ? 1.2 * fabs(wanted) + 0.02
                                                        : size + 1e-3;
  orr_cuda_judge(verdict, found, wanted, scale);
}

static gboolean judge_act(const Moe *moe, gsize row, gsize column, OrrVerdict *verdict,
                          GError **error) {
  const gsize inter = (gsize)moe->inter, even = column / 2 * 2;
  double gate, up, pair[2];
  if (!orr_cuda_read(moe->up, moe->wide, row * 2 * inter + column, 1, 1, &gate, error) ||
      !orr_cuda_read(moe->up, moe->wide, (row * 2 + 1) * inter + column, 1, 1, &up, error) ||
      !orr_cuda_read(moe->act, moe->format, row * inter + even, 1, 2, pair, error))
    return FALSE;
  judge_rounded(moe, pair[column - even], orr_reference_silu(gate) * up, fabs(gate * up), verdict);
  return TRUE;
}

static gboolean judge_sum(const Moe *moe, gsize token, gsize column, OrrVerdict *verdict,
                          GError **error) {
  const gsize hidden = (gsize)moe->hidden;
  double found, part, sum = 0, scale = 1e-3;
  for (gint64 j = 0; j < moe->topk; j++) {
    const int32_t row = moe->token_rows[(gint64)token * moe->topk + j];
    if (row < 0) continue;
    if (!orr_cuda_read(moe->down, moe->wide, (gsize)row * hidden + column, 1, 1, &part, error))
      return FALSE;
    sum += part / (double)moe->topk;
    scale += fabs(part) / (double)moe->topk;
  }
  if (!orr_cuda_read(moe->out, moe->wide, token * hidden + column, 1, 1, &found, error))
    return FALSE;
  orr_cuda_judge(verdict, found, sum, scale);
  return TRUE;
}

static gboolean verify(OrrKernel *kernel, OrrVerdict *ret_verdict, GError **error) {
  const Moe *moe = kernel->state;
  const gsize hidden = (gsize)moe->hidden, inter = (gsize)moe->inter;
  OrrVerdict verdict = {.limit = fmax(orr_format_limit(moe->format), orr_format_limit(moe->wide))};
  if (!orr_cuda_run_once(kernel, error)) return FALSE;
  for (guint64 i = 0; i < SAMPLES; i++) {
    const guint64 pick = orr_random_hash3(kernel->seed, i, 3);
    const gsize row = pick % moe->n_rows, token = (gsize)moe->row_token[row];
    if (!judge_product(moe, 0, row, pick / 7919 % (2 * inter), &verdict, error) ||
        !judge_act(moe, row, pick / 104729 % inter, &verdict, error) ||
        !judge_product(moe, 1, row, pick / 7919 % hidden, &verdict, error) ||
        !judge_sum(moe, token, pick / 104729 % hidden, &verdict, error))
      return FALSE;
  }
  *ret_verdict = verdict;
  return TRUE;
}

/* --- Preparing --- */

/* @weights of each set: [experts, n, k]; the rows of @in and @out are consecutive, sorted by
 * expert. */
static gboolean make_groups(OrrKernel *kernel, const Moe *moe, const char *weights, gsize stride,
                            const char *in, const char *out, gsize n, gsize k, Groups *groups,
                            GError **error) {
  const gsize size = orr_format_bytes(moe->format, 1), most = (gsize)moe->n_experts;
  g_autofree const char **a = g_new(const char *, most * kernel->n_sets),
                        **b = g_new(const char *, most);
  g_autofree const char **c = g_new(const char *, most);
  *groups = (Groups){.trans_a = g_new(cublasOperation_t, most),
                     .trans_b = g_new(cublasOperation_t, most),
                     .m = g_new(int, most),
                     .n = g_new(int, most),
                     .k = g_new(int, most),
                     .sizes = g_new(int, most),
                     .one = g_new(float, most),
                     .zero = g_new(float, most)};
  g_autofree gsize *expert = g_new(gsize, most);
  for (gsize row = 0; row < moe->n_rows;) {
    const int g = groups->n_groups++;
    gsize end = row;
    while (end < moe->n_rows && moe->row_expert[end] == moe->row_expert[row]) end++;
    expert[g] = (gsize)moe->row_expert[row];
    groups->trans_a[g] = CUBLAS_OP_T, groups->trans_b[g] = CUBLAS_OP_N;
    groups->m[g] = (int)n, groups->n[g] = (int)(end - row), groups->k[g] = (int)k,
    groups->sizes[g] = 1;
    groups->one[g] = 1, groups->zero[g] = 0;
    b[g] = in + row * k * size;
    c[g] = out + row * n * size;
    row = end;
  }
  const gsize n_groups = (gsize)groups->n_groups;
  for (guint set = 0; set < kernel->n_sets; set++)
    for (gsize g = 0; g < n_groups; g++)
      a[set * n_groups + g] = weights + set * stride + expert[g] * n * k * size;
  return (groups->a = orr_cuda_upload(kernel, a, n_groups * kernel->n_sets * sizeof *a, error)) &&
         (groups->b = orr_cuda_upload(kernel, b, n_groups * sizeof *b, error)) &&
         (groups->c = orr_cuda_upload(kernel, c, n_groups * sizeof *c, error));
}

static gboolean make_products(OrrKernel *kernel, Moe *moe, GError **error) {
  const gsize hidden = (gsize)moe->hidden, inter = (gsize)moe->inter;
  if (!moe->by_expert)
    return (moe->workspace = orr_cuda_alloc(kernel, ORR_PRODUCT_WORKSPACE, error)) &&
           make_groups(kernel, moe, moe->w1, moe->w1_stride, moe->gathered, moe->up, 2 * inter,
                       hidden, &moe->first, error) &&
           make_groups(kernel, moe, moe->w2, moe->w2_stride, moe->act, moe->down, hidden, inter,
                       &moe->second, error);
  return (moe->narrow[0] = orr_moe_narrow_new(kernel, moe->gemm, moe->spans, 2 * moe->inter,
                                              moe->hidden, moe->factor[0], error)) &&
         (moe->narrow[1] = orr_moe_narrow_new(kernel, moe->gemm, moe->spans, moe->hidden,
                                              moe->inter, moe->factor[1], error));
}

static gboolean make_operands(OrrKernel *kernel, Moe *moe, GError **error) {
  const gsize hidden = (gsize)moe->hidden, inter = (gsize)moe->inter, rows = moe->n_rows,
              tokens = (gsize)moe->tokens;
  const gsize experts = (gsize)moe->n_experts;
  const OrrFormat format = moe->format;
  /* A call reads the weights of the experts that have rows. */
  orr_cuda_rotate(kernel, (double)orr_format_bytes(format, moe->spans->len * 3 * hidden * inter),
                  (double)orr_format_bytes(format, experts * 3 * hidden * inter));
  return (moe->x = orr_cuda_random(kernel, format, tokens * hidden, error)) &&
         (moe->gathered = orr_cuda_alloc(kernel, orr_format_bytes(format, rows * hidden), error)) &&
         (moe->up = orr_cuda_alloc(kernel, rows * inter * 4, error)) &&
         (moe->act = orr_cuda_alloc(kernel, orr_format_bytes(format, rows * inter), error)) &&
         (moe->down = orr_cuda_alloc(kernel, rows * hidden * 2, error)) &&
         (moe->out = orr_cuda_alloc(kernel, tokens * hidden * 2, error)) &&
         (moe->w1 = orr_cuda_random_sets(kernel, format, experts * 2 * inter * hidden,
                                         &moe->w1_stride, error)) &&
         (moe->w2 = orr_cuda_random_sets(kernel, format, experts * inter * hidden, &moe->w2_stride,
                                         error)) &&
         make_products(kernel, moe, error);
}

static gboolean make_indexes(OrrKernel *kernel, Moe *moe, GError **error) {
  const gsize n = (gsize)(moe->tokens * moe->topk);
  g_autofree float *scale = g_new(float, n);
  for (gsize i = 0; i < n; i++) scale[i] = 1.0f / (float)moe->topk;
  return (moe->index =
              orr_cuda_upload(kernel, moe->row_token, moe->n_rows * sizeof(int32_t), error)) &&
         (moe->combine = orr_cuda_upload(kernel, moe->token_rows, n * sizeof(int32_t), error)) &&
         (moe->scale = orr_cuda_upload(kernel, scale, n * sizeof *scale, error));
}

/* @dtype: of family_moe_ffn.c. */
static void set_formats(Moe *moe, int dtype) {
  static const OrrFormat formats[] = {ORR_FORMAT_FP16, ORR_FORMAT_BF16, ORR_FORMAT_E4M3,
                                      ORR_FORMAT_E4M3, ORR_FORMAT_E2M1};
  static const int gemms[] = {ORR_GEMM_FP16, ORR_GEMM_BF16, ORR_GEMM_FP8, ORR_GEMM_MXFP8,
                              ORR_GEMM_NVFP4};
  moe->format = formats[dtype];
  moe->gemm = gemms[dtype];
  moe->is_narrow = dtype > 1;
  moe->by_expert = moe->is_narrow || !HAS_GROUPED;
  moe->wide = moe->is_narrow ? ORR_FORMAT_BF16 : moe->format;
}

gboolean orr_cuda_prepare_moe(OrrKernel *kernel, GError **error) {
  const gint64 *at = kernel->shape.at;
  Moe *moe = g_new0(Moe, 1);
  kernel->state = moe;
  kernel->clear = moe_free;
  kernel->launch = launch;
  kernel->verify = verify;
  set_formats(moe, (int)at[0]);
  moe->hidden = at[2], moe->inter = at[3], moe->topk = at[4], moe->n_experts = at[5] / at[6],
  moe->tokens = at[7];
  /* Products of uniform e4m3 have variance 1/9, of uniform e2m1 codes 73: with these the results
   * have about 1. */
  const double spread = moe->format == ORR_FORMAT_E2M1 ? sqrt(73.3) : 1.0 / 3;
  for (guint i = 0; i < 2; i++)
    moe->factor[i] = moe->is_narrow ? 1 / (spread * sqrt((double)at[2 + i])) : 1;
  g_autofree int32_t *chosen = g_new(int32_t, moe->tokens * moe->topk);
  orr_expert_draw(moe->tokens, moe->topk, at[5], at[1] == 0, kernel->seed, chosen);
  keep_fullest(moe, at[5], chosen);
  route(moe, chosen);
  if (moe->n_rows == 0)
    return orr_fault_set(error, ORR_FAULT_USAGE, "moe-ffn: no tokens are routed to this rank");
  return (moe->by_expert || open_grouped(moe, error)) && make_operands(kernel, moe, error) &&
         make_indexes(kernel, moe, error);
}

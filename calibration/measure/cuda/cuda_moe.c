/*
 * cuda_moe.c - see family_moe_ffn.c. Five kernels: gather, grouped product, SwiGLU, grouped product, weighted sum.
 *
 * Grouped products are cublasGemmGroupedBatchedEx (cuBLAS 12.5 on; opened at run time), a group an expert that has
 * tokens. Column-major as in cuda_gemm.c: out'[n, tokens] = w'^T x'. Operands' pointers lie on the device, shapes on
 * the host.
 */
#include <cublas_v2.h>
#include <math.h>
#include <string.h>

#include "calibration/measure/cuda/cuda_private.h"
#include "calibration/measure/cuda/kernels.h"
#include "sim/base/fault.h"
#include "sim/base/random.h"

enum { WORKSPACE = 32 << 20, SAMPLES = 12 };

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

/* One grouped product: weights [experts, n, k], rows sorted by expert. */
typedef struct {
  int n_groups;
  cublasOperation_t *trans_a, *trans_b;
  int *m, *n, *k, *sizes;
  float *one, *zero;
  void **a, **b, **c; /* on the device; a: of each set one after the other */
} Groups;

typedef struct {
  Blas blas;
  cublasHandle_t handle;
  OrrFormat format;
  gint64 tokens, hidden, inter, topk, n_experts; /* n_experts: of this rank */
  gsize n_rows;                                  /* routed to this rank */
  int32_t *row_token, *row_expert, *token_rows;  /* on the host; token_rows: [tokens, topk], -1 elsewhere */
  int32_t *index, *combine;                      /* on the device */
  float *scale;
  char *x, *gathered, *up, *act, *down, *out, *w1, *w2;
  gsize w1_stride, w2_stride;
  Groups first, second;
  void *workspace;
} Moe;

static void groups_clear(Groups *groups) {
  g_free(groups->trans_a);
  g_free(groups->trans_b);
  g_free(groups->m);
  g_free(groups->n);
  g_free(groups->k);
  g_free(groups->sizes);
  g_free(groups->one);
  g_free(groups->zero);
}

static void moe_free(gpointer data) {
  Moe *moe = data;
  if (moe->handle) moe->blas.destroy(moe->handle);
  groups_clear(&moe->first);
  groups_clear(&moe->second);
  g_free(moe->row_token);
  g_free(moe->row_expert);
  g_free(moe->token_rows);
  g_free(moe);
}

static gboolean ok(cublasStatus_t status, const char *what, GError **error) {
  if (status == CUBLAS_STATUS_SUCCESS) return TRUE;
  const gboolean passes = status == CUBLAS_STATUS_NOT_SUPPORTED || status == CUBLAS_STATUS_ARCH_MISMATCH;
  g_set_error(error, ORR_FAULT, passes ? ORR_FAULT_USAGE : ORR_FAULT_RESOURCE, "cuBLAS: %s: status %d", what,
              (int)status);
  return FALSE;
}

/* --- Routing --- */

/* An expert of all, by the distribution's cumulative weights. */
static gint64 draw(OrrRandom *random, const double *cumulative, gint64 n) {
  const double at = orr_random_unit(random) * cumulative[n - 1];
  gint64 low = 0, high = n - 1;
  while (low < high) {
    const gint64 middle = (low + high) / 2;
    if (cumulative[middle] > at)
      high = middle;
    else
      low = middle + 1;
  }
  return low;
}

/* The experts in a seeded order: which of them are popular. */
static void make_weights(OrrRandom *random, gint64 n, double *cumulative) {
  g_autofree gint64 *place = g_new(gint64, n);
  for (gint64 e = 0; e < n; e++) place[e] = e;
  for (gint64 e = n; e > 1; e--) {
    const gint64 j = (gint64)orr_random_below(random, (guint64)e), swap = place[e - 1];
    place[e - 1] = place[j];
    place[j] = swap;
  }
  for (gint64 e = 0; e < n; e++) cumulative[e] = (e ? cumulative[e - 1] : 0) + pow((double)place[e] + 1, -1.2);
}

static gboolean has(const int32_t *chosen, gint64 n, gint64 expert) {
  for (gint64 j = 0; j < n; j++)
    if (chosen[j] == expert) return TRUE;
  return FALSE;
}

/* @chosen: [tokens, topk] experts of all ranks, distinct for a token. */
static void choose(const Moe *moe, gboolean is_balanced, gint64 n_all, guint64 seed, int32_t *chosen) {
  OrrRandom random = orr_random_stream(seed, "experts");
  g_autofree double *cumulative = g_new(double, n_all);
  make_weights(&random, n_all, cumulative);
  for (gint64 t = 0; t < moe->tokens; t++)
    for (gint64 j = 0; j < moe->topk; j++) {
      gint64 expert = (t * moe->topk + j) % n_all;
      if (!is_balanced) do
          expert = draw(&random, cumulative, n_all);
        while (has(chosen + t * moe->topk, j, expert));
      chosen[t * moe->topk + j] = (int32_t)expert;
    }
}

/* Rows of the experts [0, n_experts), sorted by expert: counting sort. */
static void route(Moe *moe, const int32_t *chosen) {
  const gint64 n = moe->tokens * moe->topk;
  g_autofree gint64 *next = g_new0(gint64, moe->n_experts + 1);
  for (gint64 i = 0; i < n; i++)
    if (chosen[i] < moe->n_experts) next[chosen[i] + 1]++;
  for (gint64 e = 0; e < moe->n_experts; e++) next[e + 1] += next[e];
  moe->n_rows = (gsize)next[moe->n_experts];
  moe->row_token = g_new(int32_t, moe->n_rows + 1);
  moe->row_expert = g_new(int32_t, moe->n_rows + 1);
  moe->token_rows = g_new(int32_t, n);
  for (gint64 i = 0; i < n; i++) {
    moe->token_rows[i] = -1;
    if (chosen[i] >= moe->n_experts) continue;
    const gint64 row = next[chosen[i]]++;
    moe->row_token[row] = (int32_t)(i / moe->topk);
    moe->row_expert[row] = chosen[i];
    moe->token_rows[i] = (int32_t)row;
  }
}

/* --- Launching --- */

static gboolean run_groups(const Moe *moe, const Groups *groups, guint set, GError **error) {
  const cudaDataType_t type = moe->format == ORR_FORMAT_FP16 ? CUDA_R_16F : CUDA_R_16BF;
  return ok(moe->blas.grouped(moe->handle, groups->trans_a, groups->trans_b, groups->m, groups->n, groups->k,
                              groups->one, (const void *const *)groups->a + set * (guint)groups->n_groups, type,
                              groups->k, (const void *const *)groups->b, type, groups->k, groups->zero, groups->c, type,
                              groups->m, groups->n_groups, groups->sizes, CUBLAS_COMPUTE_32F),
            "cublasGemmGroupedBatchedEx", error);
}

static gboolean launch(OrrKernel *kernel, guint set, cudaStream_t stream, GError **error) {
  const Moe *moe = kernel->state;
  const int format = (int)moe->format;
  const gsize hidden = (gsize)moe->hidden, inter = (gsize)moe->inter;
  return ok(moe->blas.set_stream(moe->handle, stream), "cublasSetStream", error) &&
         ok(moe->blas.set_workspace(moe->handle, moe->workspace, WORKSPACE), "cublasSetWorkspace", error) &&
         orr_cuda_launched(orr_kernel_gather(moe->x, moe->index, moe->gathered, format, moe->n_rows, hidden, stream),
                           "gather", error) &&
         run_groups(moe, &moe->first, set, error) &&
         orr_cuda_launched(orr_kernel_swiglu(moe->up, moe->act, format, moe->n_rows, inter, stream), "swiglu", error) &&
         run_groups(moe, &moe->second, set, error) &&
         orr_cuda_launched(orr_kernel_combine(moe->down, moe->combine, moe->scale, (int)moe->topk, moe->out, format,
                                              (gsize)moe->tokens, hidden, stream),
                           "combine", error);
}

/* --- Checks: an element of each kernel from what the one before left in memory --- */

static gboolean judge_product(const Moe *moe, const char *x, const char *w, const char *out, gsize row, gsize column,
                              gsize n, gsize k, OrrVerdict *verdict, GError **error) {
  g_autofree double *xs = g_new(double, k), *ws = g_new(double, k);
  const gsize expert = (gsize)moe->row_expert[row];
  double found, sum = 0, squares = 0;
  if (!orr_cuda_read(x, moe->format, row * k, 1, k, xs, error) ||
      !orr_cuda_read(w, moe->format, (expert * n + column) * k, 1, k, ws, error) ||
      !orr_cuda_read(out, moe->format, row * n + column, 1, 1, &found, error))
    return FALSE;
  for (gsize i = 0; i < k; i++) sum += xs[i] * ws[i], squares += xs[i] * xs[i] * ws[i] * ws[i];
  orr_cuda_judge(verdict, found, sum, sqrt(squares) + fabs(sum) + 1e-30);
  return TRUE;
}

static gboolean judge_act(const Moe *moe, gsize row, gsize column, OrrVerdict *verdict, GError **error) {
  const gsize inter = (gsize)moe->inter;
  double gate, up, found;
  if (!orr_cuda_read(moe->up, moe->format, row * 2 * inter + column, 1, 1, &gate, error) ||
      !orr_cuda_read(moe->up, moe->format, (row * 2 + 1) * inter + column, 1, 1, &up, error) ||
      !orr_cuda_read(moe->act, moe->format, row * inter + column, 1, 1, &found, error))
    return FALSE;
  const double wanted = orr_reference_silu(gate) * up;
  orr_cuda_judge(verdict, found, wanted, fabs(gate * up) + 1e-3);
  return TRUE;
}

static gboolean judge_sum(const Moe *moe, gsize token, gsize column, OrrVerdict *verdict, GError **error) {
  const gsize hidden = (gsize)moe->hidden;
  double found, part, sum = 0, scale = 1e-3;
  for (gint64 j = 0; j < moe->topk; j++) {
    const int32_t row = moe->token_rows[(gint64)token * moe->topk + j];
    if (row < 0) continue;
    if (!orr_cuda_read(moe->down, moe->format, (gsize)row * hidden + column, 1, 1, &part, error)) return FALSE;
    sum += part / (double)moe->topk;
    scale += fabs(part) / (double)moe->topk;
  }
  if (!orr_cuda_read(moe->out, moe->format, token * hidden + column, 1, 1, &found, error)) return FALSE;
  orr_cuda_judge(verdict, found, sum, scale);
  return TRUE;
}

static gboolean verify(OrrKernel *kernel, OrrVerdict *ret_verdict, GError **error) {
  const Moe *moe = kernel->state;
  const gsize hidden = (gsize)moe->hidden, inter = (gsize)moe->inter;
  OrrVerdict verdict = {.limit = orr_format_limit(moe->format)};
  if (!orr_cuda_run_once(kernel, error)) return FALSE;
  for (guint64 i = 0; i < SAMPLES; i++) {
    const guint64 pick = orr_hash3(kernel->seed, i, 3);
    const gsize row = pick % moe->n_rows, token = (gsize)moe->row_token[row];
    if (!judge_product(moe, moe->gathered, moe->w1, moe->up, row, pick / 7919 % (2 * inter), 2 * inter, hidden,
                       &verdict, error) ||
        !judge_act(moe, row, pick / 104729 % inter, &verdict, error) ||
        !judge_product(moe, moe->act, moe->w2, moe->down, row, pick / 7919 % hidden, hidden, inter, &verdict, error) ||
        !judge_sum(moe, token, pick / 104729 % hidden, &verdict, error))
      return FALSE;
  }
  *ret_verdict = verdict;
  return TRUE;
}

/* --- Preparing --- */

/* @weights of each set: [experts, n, k]; @in and @out rows lie one after the other, sorted by expert. */
static gboolean make_groups(OrrKernel *kernel, const Moe *moe, const char *weights, gsize stride, const char *in,
                            const char *out, gsize n, gsize k, Groups *groups, GError **error) {
  const gsize size = orr_format_bytes(moe->format, 1), most = (gsize)moe->n_experts;
  g_autofree const char **a = g_new(const char *, most * kernel->n_sets), **b = g_new(const char *, most);
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
    groups->m[g] = (int)n, groups->n[g] = (int)(end - row), groups->k[g] = (int)k, groups->sizes[g] = 1;
    groups->one[g] = 1, groups->zero[g] = 0;
    b[g] = in + row * k * size;
    c[g] = out + row * n * size;
    row = end;
  }
  const gsize n_groups = (gsize)groups->n_groups;
  for (guint set = 0; set < kernel->n_sets; set++)
    for (gsize g = 0; g < n_groups; g++) a[set * n_groups + g] = weights + set * stride + expert[g] * n * k * size;
  return (groups->a = orr_cuda_upload(kernel, a, n_groups * kernel->n_sets * sizeof *a, error)) &&
         (groups->b = orr_cuda_upload(kernel, b, n_groups * sizeof *b, error)) &&
         (groups->c = orr_cuda_upload(kernel, c, n_groups * sizeof *c, error));
}

static gboolean make_operands(OrrKernel *kernel, Moe *moe, GError **error) {
  const gsize hidden = (gsize)moe->hidden, inter = (gsize)moe->inter, rows = moe->n_rows, tokens = (gsize)moe->tokens;
  const gsize experts = (gsize)moe->n_experts;
  const OrrFormat format = moe->format;
  orr_cuda_rotate(kernel, (double)(experts * 3 * hidden * inter * 2));
  return (moe->x = orr_cuda_random(kernel, format, tokens * hidden, error)) &&
         (moe->gathered = orr_cuda_alloc(kernel, rows * hidden * 2, error)) &&
         (moe->up = orr_cuda_alloc(kernel, rows * inter * 4, error)) &&
         (moe->act = orr_cuda_alloc(kernel, rows * inter * 2, error)) &&
         (moe->down = orr_cuda_alloc(kernel, rows * hidden * 2, error)) &&
         (moe->out = orr_cuda_alloc(kernel, tokens * hidden * 2, error)) &&
         (moe->workspace = orr_cuda_alloc(kernel, WORKSPACE, error)) &&
         (moe->w1 = orr_cuda_random_sets(kernel, format, experts * 2 * inter * hidden, &moe->w1_stride, error)) &&
         (moe->w2 = orr_cuda_random_sets(kernel, format, experts * inter * hidden, &moe->w2_stride, error)) &&
         make_groups(kernel, moe, moe->w1, moe->w1_stride, moe->gathered, moe->up, 2 * inter, hidden, &moe->first,
                     error) &&
         make_groups(kernel, moe, moe->w2, moe->w2_stride, moe->act, moe->down, hidden, inter, &moe->second, error);
}

static gboolean make_indexes(OrrKernel *kernel, Moe *moe, GError **error) {
  const gsize n = (gsize)(moe->tokens * moe->topk);
  g_autofree float *scale = g_new(float, n);
  for (gsize i = 0; i < n; i++) scale[i] = 1.0f / (float)moe->topk;
  return (moe->index = orr_cuda_upload(kernel, moe->row_token, moe->n_rows * sizeof(int32_t), error)) &&
         (moe->combine = orr_cuda_upload(kernel, moe->token_rows, n * sizeof(int32_t), error)) &&
         (moe->scale = orr_cuda_upload(kernel, scale, n * sizeof *scale, error));
}

gboolean orr_cuda_prepare_moe(OrrKernel *kernel, GError **error) {
  const gint64 *at = kernel->shape.at;
  Moe *moe = g_new0(Moe, 1);
  kernel->state = moe;
  kernel->clear = moe_free;
  kernel->launch = launch;
  kernel->verify = verify;
  moe->format = at[0] ? ORR_FORMAT_BF16 : ORR_FORMAT_FP16;
  moe->hidden = at[2], moe->inter = at[3], moe->topk = at[4], moe->n_experts = at[5] / at[6], moe->tokens = at[7];
  g_autofree int32_t *chosen = g_new(int32_t, moe->tokens * moe->topk);
  choose(moe, at[1] == 0, at[5], kernel->seed, chosen);
  route(moe, chosen);
  if (moe->n_rows == 0) {
    g_set_error(error, ORR_FAULT, ORR_FAULT_USAGE, "moe-ffn: no token is routed to this rank");
    return FALSE;
  }
  return orr_cuda_library_open(files, symbols, G_N_ELEMENTS(symbols), &moe->blas, error) &&
         ok(moe->blas.create(&moe->handle), "cublasCreate", error) && make_operands(kernel, moe, error) &&
         make_indexes(kernel, moe, error);
}

/*
 * cuda_attention.c - fused attention through cuDNN: the graph that its flash engines recognise (cuDNN Developer Guide,
 * "Fused Flash Attention fprop/bprop"; the same operations as cudnn-frontend's sdpa nodes).
 *
 *   forward    S = scale q k^T, masked to the lowest float; M = max S, E = exp(S - M), Z = sum E; P = E / Z; out = P v;
 *              stats = M + log Z, which the engines want even where nobody reads it
 *   backward   D = sum(d_out * out); P = exp(S - stats); dv = P^T d_out; dP = d_out v^T; dS = P (dP - D) scale;
 *              dk = dS^T q; dq = dS k                     (Dao et al. 2022, FlashAttention, algorithm 4)
 *
 * Tensors lie as frameworks have them: q [b, s, heads, d], k and v [b, s, kv-heads, d]. The causal mask is aligned to
 * the bottom right: query row i sees keys up to i + prefix. Decode is one row that sees all keys; with mixed lengths
 * the keys of each sequence end where an array on the device says. For grouped queries dk and dv are made for all heads
 * and summed over each group.
 *
 * Checked against double precision on a sample: rows of the output and of dq; the forward's stats of the same rows; and
 * rows of dk and dv, which sum over all queries that see the key, with the stats and the output that the forward left.
 */
#include <float.h>
#include <math.h>
#include <string.h>

#include "calibration/measure/cuda/cudnn_graph.h"
#include "sim/base/fault.h"
#include "sim/base/random.h"

enum { SAMPLES = 4, Q = 0, K, V, OUT, STATS, D_OUT, DQ, DK, DV, DK_ALL, DV_ALL, N_POINTERS };

typedef struct {
  gint64 batch, heads, kv_heads, rows, keys, dim, v_dim; /* rows: queries a sequence; keys: those and the prefix */
  gboolean is_causal, is_mixed;
  cudnnDataType_t type;
  OrrFormat format;
  float scale;
  OrrCudnnGraph *forward, *backward; /* backward: NULL where forward is measured */
  char *at[N_POINTERS];
  gsize stride[N_POINTERS];
  gint32 *lengths;           /* of keys, on the host; NULL: all are `keys` */
  void *row_ends, *key_ends; /* lengths of both on the device */
  void *workspace;
} Attention;

static void attention_free(gpointer data) {
  Attention *attention = data;
  orr_cudnn_graph_free(attention->forward);
  orr_cudnn_graph_free(attention->backward);
  g_free(attention->lengths);
  g_free(attention);
}

/* --- Graphs --- */

/* [b, h, s, d] as [b, s, h, d] in memory; transposed: [b, h, d, s]. */
static OrrTensor *real(OrrCudnnGraph *graph, const Attention *a, gint64 heads, gint64 tokens, gint64 dim,
                       gboolean transposed) {
  const gint64 dims[4] = {a->batch, heads, transposed ? dim : tokens, transposed ? tokens : dim};
  const gint64 strides[4] = {tokens * heads * dim, dim, transposed ? 1 : heads * dim, transposed ? heads * dim : 1};
  return orr_cudnn_real(graph, a->type, dims, strides);
}

static OrrTensor *stats_tensor(OrrCudnnGraph *graph, const Attention *a) {
  const gint64 dims[4] = {a->batch, a->heads, a->rows, 1}, strides[4] = {a->heads * a->rows, a->rows, 1, 1};
  return orr_cudnn_real(graph, CUDNN_DATA_FLOAT, dims, strides);
}

static OrrTensor *scores(OrrCudnnGraph *graph, const Attention *a, cudnnDataType_t type) {
  const gint64 dims[4] = {a->batch, a->heads, a->rows, a->keys};
  return orr_cudnn_virtual(graph, type, dims);
}

static OrrTensor *per_row(OrrCudnnGraph *graph, const Attention *a) {
  const gint64 dims[4] = {a->batch, a->heads, a->rows, 1};
  return orr_cudnn_virtual(graph, CUDNN_DATA_FLOAT, dims);
}

/* op(x, b) as a new tensor of scores. */
static OrrTensor *apply(OrrCudnnGraph *graph, const Attention *a, cudnnPointwiseMode_t op, OrrTensor *x, OrrTensor *b) {
  OrrTensor *y = scores(graph, a, CUDNN_DATA_FLOAT);
  orr_cudnn_pointwise(graph, op, -1, CUDNN_DATA_FLOAT, x, b, NULL, y);
  return y;
}

static OrrTensor *indexes(OrrCudnnGraph *graph, const Attention *a, OrrTensor *x, gint64 axis) {
  OrrTensor *y = scores(graph, a, CUDNN_DATA_INT32);
  orr_cudnn_pointwise(graph, CUDNN_POINTWISE_GEN_INDEX, axis, CUDNN_DATA_INT32, x, NULL, NULL, y);
  return y;
}

static OrrTensor *compare(OrrCudnnGraph *graph, const Attention *a, cudnnPointwiseMode_t op, OrrTensor *x,
                          OrrTensor *b) {
  OrrTensor *y = scores(graph, a, CUDNN_DATA_BOOLEAN);
  orr_cudnn_pointwise(graph, op, -1, CUDNN_DATA_BOOLEAN, x, b, NULL, y);
  return y;
}

static OrrTensor *keep_where(OrrCudnnGraph *graph, const Attention *a, OrrTensor *x, OrrTensor *mask) {
  OrrTensor *y = scores(graph, a, CUDNN_DATA_FLOAT);
  orr_cudnn_pointwise(graph, CUDNN_POINTWISE_BINARY_SELECT, -1, CUDNN_DATA_FLOAT, x, orr_cudnn_scalar(graph, -FLT_MAX),
                      mask, y);
  return y;
}

/* Keys up to the row's own place, the prefix before it. */
static OrrTensor *mask_causal(OrrCudnnGraph *graph, const Attention *a, OrrTensor *x) {
  OrrTensor *row = indexes(graph, a, x, 2), *column = indexes(graph, a, x, 3);
  if (a->keys > a->rows) {
    OrrTensor *moved = scores(graph, a, CUDNN_DATA_INT32);
    orr_cudnn_pointwise(graph, CUDNN_POINTWISE_ADD, -1, CUDNN_DATA_INT32, row,
                        orr_cudnn_integer(graph, (gint32)(a->keys - a->rows)), NULL, moved);
    row = moved;
  }
  return keep_where(graph, a, x, compare(graph, a, CUDNN_POINTWISE_CMP_GE, row, column));
}

/* Rows and keys of a sequence end where @row_ends and @key_ends say. */
static OrrTensor *mask_padding(OrrCudnnGraph *graph, const Attention *a, OrrTensor *x, OrrTensor *row_ends,
                               OrrTensor *key_ends) {
  OrrTensor *rows = compare(graph, a, CUDNN_POINTWISE_CMP_LT, indexes(graph, a, x, 2), row_ends);
  OrrTensor *keys = compare(graph, a, CUDNN_POINTWISE_CMP_LT, indexes(graph, a, x, 3), key_ends);
  return keep_where(graph, a, x, compare(graph, a, CUDNN_POINTWISE_LOGICAL_AND, rows, keys));
}

/* S of the head comment. */
static OrrTensor *masked_scores(OrrCudnnGraph *graph, const Attention *a, OrrTensor *q, OrrTensor *k) {
  OrrTensor *product = scores(graph, a, CUDNN_DATA_FLOAT);
  orr_cudnn_matmul(graph, q, k, product);
  OrrTensor *scaled = apply(graph, a, CUDNN_POINTWISE_MUL, product, orr_cudnn_scalar(graph, a->scale));
  return a->is_causal ? mask_causal(graph, a, scaled) : scaled;
}

static OrrTensor *lengths_tensor(OrrCudnnGraph *graph, const Attention *a) {
  const gint64 dims[4] = {a->batch, 1, 1, 1}, strides[4] = {1, 1, 1, 1};
  return orr_cudnn_real(graph, CUDNN_DATA_INT32, dims, strides);
}

static void build_forward(OrrCudnnGraph *graph, const Attention *a) {
  OrrTensor *q = real(graph, a, a->heads, a->rows, a->dim, FALSE),
            *k = real(graph, a, a->kv_heads, a->keys, a->dim, TRUE);
  OrrTensor *v = real(graph, a, a->kv_heads, a->keys, a->v_dim, FALSE),
            *out = real(graph, a, a->heads, a->rows, a->v_dim, FALSE);
  OrrTensor *stats = stats_tensor(graph, a);
  OrrTensor *row_ends = a->is_mixed ? lengths_tensor(graph, a) : NULL;
  OrrTensor *key_ends = a->is_mixed ? lengths_tensor(graph, a) : NULL;
  OrrTensor *s = masked_scores(graph, a, q, k);
  if (a->is_mixed) s = mask_padding(graph, a, s, row_ends, key_ends);
  OrrTensor *max = per_row(graph, a), *sum = per_row(graph, a), *weights = scores(graph, a, a->type);
  orr_cudnn_reduce(graph, CUDNN_REDUCE_TENSOR_MAX, s, max);
  OrrTensor *e = apply(graph, a, CUDNN_POINTWISE_EXP, apply(graph, a, CUDNN_POINTWISE_SUB, s, max), NULL);
  orr_cudnn_reduce(graph, CUDNN_REDUCE_TENSOR_ADD, e, sum);
  OrrTensor *log_sum = per_row(graph, a);
  orr_cudnn_pointwise(graph, CUDNN_POINTWISE_LOG, -1, CUDNN_DATA_FLOAT, sum, NULL, NULL, log_sum);
  orr_cudnn_pointwise(graph, CUDNN_POINTWISE_ADD, -1, CUDNN_DATA_FLOAT, max, log_sum, NULL, stats);
  orr_cudnn_pointwise(graph, CUDNN_POINTWISE_DIV, -1, CUDNN_DATA_FLOAT, e, sum, NULL, weights);
  orr_cudnn_matmul(graph, weights, v, out);
}

/* x^T of scores, in the operands' format: the same memory read the other way. */
static OrrTensor *transposed(OrrCudnnGraph *graph, const Attention *a, OrrTensor *x) {
  const gint64 dims[4] = {a->batch, a->heads, a->keys, a->rows};
  const gint64 strides[4] = {a->heads * a->rows * a->keys, a->rows * a->keys, 1, a->keys};
  OrrTensor *y = orr_cudnn_view(graph, a->type, dims, strides);
  orr_cudnn_reshape(graph, x, y);
  return y;
}

/* k of k^T, likewise. */
static OrrTensor *untransposed(OrrCudnnGraph *graph, const Attention *a, OrrTensor *k_transposed) {
  const gint64 dims[4] = {a->batch, a->kv_heads, a->keys, a->dim};
  const gint64 strides[4] = {a->keys * a->kv_heads * a->dim, a->dim, a->kv_heads * a->dim, 1};
  OrrTensor *k = orr_cudnn_view(graph, a->type, dims, strides);
  orr_cudnn_reshape(graph, k_transposed, k);
  return k;
}

/* @weights^T @right, summed over the heads of a group where they share a key head. */
static void key_gradient(OrrCudnnGraph *graph, OrrTensor *weights, OrrTensor *right, OrrTensor *all,
                         OrrTensor *gradient) {
  orr_cudnn_matmul(graph, weights, right, all ? all : gradient);
  if (all) orr_cudnn_reduce(graph, CUDNN_REDUCE_TENSOR_ADD, all, gradient);
}

static void build_backward(OrrCudnnGraph *graph, const Attention *a) {
  const gboolean is_grouped = a->heads != a->kv_heads;
  /* Real tensors in the order of Attention.at. */
  OrrTensor *q = real(graph, a, a->heads, a->rows, a->dim, FALSE),
            *k = real(graph, a, a->kv_heads, a->keys, a->dim, TRUE);
  OrrTensor *v = real(graph, a, a->kv_heads, a->keys, a->v_dim, TRUE),
            *out = real(graph, a, a->heads, a->rows, a->v_dim, FALSE);
  OrrTensor *stats = stats_tensor(graph, a), *d_out = real(graph, a, a->heads, a->rows, a->v_dim, FALSE);
  OrrTensor *dq = real(graph, a, a->heads, a->rows, a->dim, FALSE),
            *dk = real(graph, a, a->kv_heads, a->keys, a->dim, FALSE);
  OrrTensor *dv = real(graph, a, a->kv_heads, a->keys, a->v_dim, FALSE);
  OrrTensor *dk_all = is_grouped ? real(graph, a, a->heads, a->keys, a->dim, FALSE) : NULL;
  OrrTensor *dv_all = is_grouped ? real(graph, a, a->heads, a->keys, a->v_dim, FALSE) : NULL;
  const gint64 out_dims[4] = {a->batch, a->heads, a->rows, a->v_dim};
  OrrTensor *products = orr_cudnn_virtual(graph, CUDNN_DATA_FLOAT, out_dims), *d = per_row(graph, a);
  orr_cudnn_pointwise(graph, CUDNN_POINTWISE_MUL, -1, CUDNN_DATA_FLOAT, d_out, out, NULL, products);
  orr_cudnn_reduce(graph, CUDNN_REDUCE_TENSOR_ADD, products, d);
  OrrTensor *s = masked_scores(graph, a, q, k);
  OrrTensor *p = apply(graph, a, CUDNN_POINTWISE_EXP, apply(graph, a, CUDNN_POINTWISE_SUB, s, stats), NULL);
  key_gradient(graph, transposed(graph, a, p), d_out, dv_all, dv);
  OrrTensor *dp = scores(graph, a, CUDNN_DATA_FLOAT), *ds = scores(graph, a, a->type);
  orr_cudnn_matmul(graph, d_out, v, dp);
  OrrTensor *off = apply(graph, a, CUDNN_POINTWISE_MUL, apply(graph, a, CUDNN_POINTWISE_SUB, dp, d), p);
  orr_cudnn_pointwise(graph, CUDNN_POINTWISE_MUL, -1, CUDNN_DATA_FLOAT, off, orr_cudnn_scalar(graph, a->scale), NULL,
                      ds);
  key_gradient(graph, transposed(graph, a, ds), q, dk_all, dk);
  orr_cudnn_matmul(graph, ds, untransposed(graph, a, k), dq);
}

/* --- Launching --- */

static void *place(const Attention *a, int tensor, guint set) { return a->at[tensor] + set * a->stride[tensor]; }

static gboolean run_forward(const Attention *a, guint set, cudaStream_t stream, GError **error) {
  void *const pointers[] = {place(a, Q, set),     place(a, K, set), place(a, V, set), place(a, OUT, set),
                            place(a, STATS, set), a->row_ends,      a->key_ends};
  return orr_cudnn_graph_launch(a->forward, pointers, a->workspace, stream, error);
}

static gboolean run_backward(const Attention *a, guint set, cudaStream_t stream, GError **error) {
  void *pointers[N_POINTERS];
  int n = 0;
  for (int tensor = Q; tensor < N_POINTERS; tensor++)
    if (a->at[tensor]) pointers[n++] = place(a, tensor, set);
  return orr_cudnn_graph_launch(a->backward, pointers, a->workspace, stream, error);
}

static gboolean launch(OrrKernel *kernel, guint set, cudaStream_t stream, GError **error) {
  const Attention *a = kernel->state;
  return a->backward ? run_backward(a, set, stream, error) : run_forward(a, set, stream, error);
}

/* --- Checks --- */

/* @n rows of one head, from row 0, of a tensor [b, s, heads, dim]. */
static gboolean read_head(const Attention *a, int tensor, gint64 heads, gint64 tokens, gint64 dim, gint64 batch,
                          gint64 head, gint64 row, gint64 n, double *values, GError **error) {
  const gsize first = (gsize)(((batch * tokens + row) * heads + head) * dim);
  return orr_cuda_read_rows(a->at[tensor], a->format, first, (gsize)(heads * dim), (gsize)n, (gsize)dim, values, error);
}

typedef struct {
  double *q, *k, *v, *d_out, *found, *wanted;
} Rows;

static void rows_clear(Rows *rows) {
  g_free(rows->q);
  g_free(rows->k);
  g_free(rows->v);
  g_free(rows->d_out);
  g_free(rows->found);
  g_free(rows->wanted);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Rows, rows_clear)

static double largest(const double *values, gint64 n) {
  double most = 1e-6;
  for (gint64 i = 0; i < n; i++) most = fmax(most, fabs(values[i]));
  return most;
}

static void judge_all(const double *found, const double *wanted, gint64 n, OrrVerdict *verdict) {
  const double scale = largest(wanted, n);
  for (gint64 i = 0; i < n; i++) orr_cuda_judge(verdict, found[i], wanted[i], scale);
}

/* The stats of @n rows of a head from @row on: [b, heads, rows]. */
static gboolean read_stats(const Attention *a, gint64 batch, gint64 head, gint64 row, gint64 n, double *values,
                           GError **error) {
  const gsize first = (gsize)((batch * a->heads + head) * a->rows + row);
  return orr_cuda_read(a->at[STATS], ORR_FORMAT_FP32, first, 1, (gsize)n, values, error);
}

static gboolean judge_row(const Attention *a, gint64 batch, gint64 head, gint64 row, OrrVerdict *verdict,
                          GError **error) {
  const gint64 all = a->lengths ? a->lengths[batch] : a->keys, kv_head = head / (a->heads / a->kv_heads);
  const gint64 n_seen = a->is_causal ? a->keys - a->rows + row + 1 : all, most = MAX(a->dim, a->v_dim);
  g_auto(Rows) rows = {g_new(double, most),
                       g_new(double, n_seen * a->dim),
                       g_new(double, n_seen * a->v_dim),
                       g_new(double, most),
                       g_new(double, most),
                       g_new(double, most)};
  const gint64 width = a->backward ? a->dim : a->v_dim;
  double stat;
  if (!read_head(a, Q, a->heads, a->rows, a->dim, batch, head, row, 1, rows.q, error) ||
      !read_head(a, K, a->kv_heads, a->keys, a->dim, batch, kv_head, 0, n_seen, rows.k, error) ||
      !read_head(a, V, a->kv_heads, a->keys, a->v_dim, batch, kv_head, 0, n_seen, rows.v, error) ||
      (a->backward && !read_head(a, D_OUT, a->heads, a->rows, a->v_dim, batch, head, row, 1, rows.d_out, error)) ||
      !read_head(a, a->backward ? DQ : OUT, a->heads, a->rows, width, batch, head, row, 1, rows.found, error) ||
      !read_stats(a, batch, head, row, 1, &stat, error))
    return FALSE;
  const gsize seen = (gsize)n_seen, dim = (gsize)a->dim, v_dim = (gsize)a->v_dim;
  if (a->backward)
    orr_reference_attention_dq(rows.q, rows.k, rows.v, rows.d_out, seen, dim, v_dim, a->scale, rows.wanted);
  else
    orr_reference_attention(rows.q, rows.k, rows.v, seen, dim, v_dim, a->scale, rows.wanted);
  judge_all(rows.found, rows.wanted, width, verdict);
  const double stat_wanted = orr_reference_attention_stat(rows.q, rows.k, seen, dim, a->scale);
  orr_cuda_judge(verdict, stat, stat_wanted, fmax(fabs(stat_wanted), 1));
  return TRUE;
}

/* The rows of one query head that see a key, with all that the backward pass reads of them. */
typedef struct {
  double *q, *d_out, *out, *stats;
} Seers;

static void seers_clear(Seers *seers) {
  g_free(seers->q);
  g_free(seers->d_out);
  g_free(seers->out);
  g_free(seers->stats);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Seers, seers_clear)

static gboolean add_head(const Attention *a, gint64 batch, gint64 head, gint64 first, const double *k, const double *v,
                         double *dk, double *dv, GError **error) {
  const gint64 n = a->rows - first;
  g_auto(Seers)
      seers = {g_new(double, n * a->dim), g_new(double, n * a->v_dim), g_new(double, n * a->v_dim), g_new(double, n)};
  if (!read_head(a, Q, a->heads, a->rows, a->dim, batch, head, first, n, seers.q, error) ||
      !read_head(a, D_OUT, a->heads, a->rows, a->v_dim, batch, head, first, n, seers.d_out, error) ||
      !read_head(a, OUT, a->heads, a->rows, a->v_dim, batch, head, first, n, seers.out, error) ||
      !read_stats(a, batch, head, first, n, seers.stats, error))
    return FALSE;
  orr_reference_attention_dkv(seers.q, seers.d_out, seers.out, seers.stats, (gsize)n, k, v, (gsize)a->dim,
                              (gsize)a->v_dim, a->scale, dk, dv);
  return TRUE;
}

/* dk and dv of one key: what the query heads of its group add up to. Under the mask the rows from the key's place on
 * see it. */
static gboolean judge_key(const Attention *a, gint64 batch, gint64 kv_head, gint64 key, OrrVerdict *verdict,
                          GError **error) {
  const gint64 group = a->heads / a->kv_heads, first = a->is_causal ? MAX(key - (a->keys - a->rows), 0) : 0;
  g_autofree double *k = g_new(double, a->dim), *v = g_new(double, a->v_dim), *dk = g_new0(double, a->dim),
                    *dv = g_new0(double, a->v_dim), *dk_found = g_new(double, a->dim),
                    *dv_found = g_new(double, a->v_dim);
  if (!read_head(a, K, a->kv_heads, a->keys, a->dim, batch, kv_head, key, 1, k, error) ||
      !read_head(a, V, a->kv_heads, a->keys, a->v_dim, batch, kv_head, key, 1, v, error) ||
      !read_head(a, DK, a->kv_heads, a->keys, a->dim, batch, kv_head, key, 1, dk_found, error) ||
      !read_head(a, DV, a->kv_heads, a->keys, a->v_dim, batch, kv_head, key, 1, dv_found, error))
    return FALSE;
  for (gint64 head = kv_head * group; head < (kv_head + 1) * group; head++)
    if (!add_head(a, batch, head, first, k, v, dk, dv, error)) return FALSE;
  judge_all(dk_found, dk, a->dim, verdict);
  judge_all(dv_found, dv, a->v_dim, verdict);
  return TRUE;
}

static gboolean judge_sample(const Attention *a, guint64 pick, OrrVerdict *verdict, GError **error) {
  const gint64 row = (gint64)(pick % (guint64)a->rows), batch = (gint64)(pick >> 20) % a->batch;
  const gint64 head = (gint64)(pick >> 40) % a->heads, key = (gint64)(pick >> 8) % a->keys;
  /* The first rows of a causal backward see a single key: dq is 0 there, and there is no scale. The last keys are seen
   * by few rows: their dk is of the size of its rounding. */
  if (!judge_row(a, batch, head, a->backward ? MAX(row, MIN(a->rows - 1, 8)) : row, verdict, error)) return FALSE;
  return !a->backward ||
         judge_key(a, batch, head / (a->heads / a->kv_heads), MIN(key, MAX(a->keys - 8, 0)), verdict, error);
}

static gboolean verify(OrrKernel *kernel, OrrVerdict *ret_verdict, GError **error) {
  const Attention *a = kernel->state;
  OrrVerdict verdict = {.limit = orr_format_limit(a->format)};
  if (!orr_cuda_run_once(kernel, error)) return FALSE;
  for (guint64 i = 0; i < SAMPLES; i++)
    if (!judge_sample(a, orr_hash3(kernel->seed, i, 4), &verdict, error)) return FALSE;
  *ret_verdict = verdict;
  return TRUE;
}

/* --- Preparing --- */

static gboolean allocate(OrrKernel *kernel, Attention *a, gboolean with_backward, GError **error) {
  const gint64 q = a->batch * a->rows * a->heads, k = a->batch * a->keys * a->kv_heads,
               all = a->batch * a->keys * a->heads;
  const gint64 sizes[N_POINTERS] = {
      [Q] = q * a->dim,  [K] = k * a->dim,  [V] = k * a->v_dim,  [OUT] = q * a->v_dim,    [D_OUT] = q * a->v_dim,
      [DQ] = q * a->dim, [DK] = k * a->dim, [DV] = k * a->v_dim, [DK_ALL] = all * a->dim, [DV_ALL] = all * a->v_dim};
  const int last = !with_backward ? OUT : a->heads == a->kv_heads ? DV : DV_ALL;
  double bytes = 0;
  for (int tensor = Q; tensor <= last; tensor++) bytes += 2.0 * (double)sizes[tensor];
  orr_cuda_rotate(kernel, bytes);
  for (int tensor = Q; tensor <= last; tensor++) {
    if (tensor == STATS) continue;
    if (!(a->at[tensor] = orr_cuda_random_sets(kernel, a->format, (gsize)sizes[tensor], &a->stride[tensor], error)))
      return FALSE;
  }
  return (a->at[STATS] = orr_cuda_alloc_sets(kernel, (gsize)q * 4, &a->stride[STATS], error)) != NULL;
}

/* Sequence i has (i + 1) / batch of the keys. */
static gboolean make_lengths(OrrKernel *kernel, Attention *a, GError **error) {
  g_autofree gint32 *ones = g_new(gint32, a->batch);
  a->lengths = g_new(gint32, a->batch);
  for (gint64 i = 0; i < a->batch; i++) {
    ones[i] = 1;
    a->lengths[i] = (gint32)MAX(a->keys * (i + 1) / a->batch, 1);
  }
  const gsize bytes = (gsize)a->batch * sizeof(gint32);
  return (a->row_ends = orr_cuda_upload(kernel, ones, bytes, error)) &&
         (a->key_ends = orr_cuda_upload(kernel, a->lengths, bytes, error));
}

static gboolean plan(OrrKernel *kernel, Attention *a, gboolean with_backward, GError **error) {
  OrrCudnn *cudnn = orr_cudnn_of(kernel->bench, error);
  if (!cudnn) return FALSE;
  a->forward = orr_cudnn_graph_new(cudnn);
  build_forward(a->forward, a);
  if (!orr_cudnn_graph_plan(a->forward, error)) return FALSE;
  gint64 workspace = orr_cudnn_graph_workspace(a->forward);
  if (with_backward) {
    a->backward = orr_cudnn_graph_new(cudnn);
    build_backward(a->backward, a);
    if (!orr_cudnn_graph_plan(a->backward, error)) return FALSE;
    workspace = MAX(workspace, orr_cudnn_graph_workspace(a->backward));
  }
  return (a->workspace = orr_cuda_alloc(kernel, (gsize)workspace, error)) != NULL;
}

/* A backward reads what a forward left. */
static gboolean run_forwards(OrrKernel *kernel, const Attention *a, GError **error) {
  for (guint set = 0; set < kernel->n_sets; set++)
    if (!run_forward(a, set, kernel->bench->stream, error)) return FALSE;
  return TRUE;
}

static gboolean prepare(OrrKernel *kernel, const Attention *asked, gboolean with_backward, GError **error) {
  Attention *a = g_memdup2(asked, sizeof *asked);
  kernel->state = a;
  kernel->clear = attention_free;
  kernel->launch = launch;
  kernel->verify = verify;
  a->format = kernel->shape.at[0] ? ORR_FORMAT_BF16 : ORR_FORMAT_FP16;
  a->type = kernel->shape.at[0] ? CUDNN_DATA_BFLOAT16 : CUDNN_DATA_HALF;
  a->scale = 1.0f / sqrtf((float)a->dim);
  return plan(kernel, a, with_backward, error) && allocate(kernel, a, with_backward, error) &&
         (!a->is_mixed || make_lengths(kernel, a, error)) && (!with_backward || run_forwards(kernel, a, error));
}

gboolean orr_cuda_prepare_attention_prefill(OrrKernel *kernel, GError **error) {
  const gint64 *at = kernel->shape.at;
  const Attention asked = {.is_causal = at[2] == 0,
                           .dim = at[3],
                           .v_dim = at[4],
                           .keys = at[5] + at[9],
                           .heads = at[6],
                           .kv_heads = at[7],
                           .batch = at[8],
                           .rows = at[9]};
  return prepare(kernel, &asked, at[1] == 1, error);
}

gboolean orr_cuda_prepare_attention_decode(OrrKernel *kernel, GError **error) {
  const gint64 *at = kernel->shape.at;
  const Attention asked = {.is_mixed = at[1] == 1,
                           .dim = at[2],
                           .v_dim = at[3],
                           .heads = at[4],
                           .kv_heads = at[5],
                           .batch = at[6],
                           .rows = 1,
                           .keys = at[7]};
  return prepare(kernel, &asked, FALSE, error);
}

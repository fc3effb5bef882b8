/*
 * cuda_attention.c - fused attention through cuDNN, as a graph that its flash engines recognise
 * (cuDNN Developer Guide, "Fused Flash Attention fprop/bprop"; the same operations as
 * cudnn-frontend's sdpa nodes).
 *
 *   forward    S = scale q k^T, masked to the lowest float; M = max S, E = exp(S - M), Z = sum E; P
 *              = E / Z; out = P v; stats = M + log Z, which the engines want even where nobody
 *              reads it
 *   backward   D = sum(d_out * out); P = exp(S - stats); dv = P^T d_out; dP = d_out v^T;
 *              dS = P (dP - D) scale; dk = dS^T q; dq = dS k
 *              (Dao et al. 2022, FlashAttention, algorithm 4)
 *
 * Tensors have the frameworks' layout: q [b, s, heads, d], k and v [b, s, kv-heads, d]. The causal
 * mask is aligned to the bottom right: query row i sees keys up to i + prefix. Decode is one row
 * that sees all keys; with mixed lengths an array on the device gives the number of keys of each
 * sequence. For grouped queries dk and dv are computed for all heads and summed over each group.
 *
 * A sample is compared with double precision: rows of the output and of dq; the forward's stats of
 * the same rows; and rows of dk and dv, which sum over all queries that see the key, from the stats
 * and the output of the forward.
 */
#include "calibration/measure/cuda/cuda_attention.h"
#include "sim/base/random.h"

enum { SAMPLES = 4 };

static void attention_free(gpointer data) {
  OrrAttention *attention = data;
  orr_cudnn_graph_free(attention->forward);
  orr_cudnn_graph_free(attention->backward);
  ORR_FREE(attention->n_rows, attention->n_keys, attention);
}

/* --- Launching --- */

static void *place(const OrrAttention *a, int tensor, guint set) {
  return a->at[tensor] + set * a->stride[tensor];
}

static gboolean run_forward(const OrrAttention *a, guint set, cudaStream_t stream, GError **error) {
  void *const pointers[] = {place(a, Q, set),   place(a, K, set),     place(a, V, set),
                            place(a, OUT, set), place(a, STATS, set), a->row_ends,
                            a->key_ends};
  return orr_cudnn_graph_launch(a->forward, pointers, a->workspace, stream, error);
}

static gboolean run_backward(const OrrAttention *a, guint set, cudaStream_t stream,
                             GError **error) {
  void *pointers[N_POINTERS];
  int n = 0;
  for (int tensor = Q; tensor < N_POINTERS; tensor++)
    if (a->at[tensor]) pointers[n++] = place(a, tensor, set);
  return orr_cudnn_graph_launch(a->backward, pointers, a->workspace, stream, error);
}

static gboolean launch(OrrKernel *kernel, guint set, cudaStream_t stream, GError **error) {
  const OrrAttention *a = kernel->state;
  return a->backward ? run_backward(a, set, stream, error) : run_forward(a, set, stream, error);
}

/* --- Checks --- */

/* Reads @n rows of one head, from row 0, of a tensor [b, s, heads, dim]. */
static gboolean read_head(const OrrAttention *a, int tensor, gint64 heads, gint64 tokens,
                          gint64 dim, gint64 batch, gint64 head, gint64 row, gint64 n,
                          double *values, GError **error) {
  const gsize first = (gsize)(((batch * tokens + row) * heads + head) * dim);
  return orr_cuda_read_rows(a->at[tensor], a->format, first, (gsize)(heads * dim), (gsize)n,
                            (gsize)dim, values, error);
}

typedef struct {
  double *q, *k, *v, *d_out, *found, *wanted;
} Rows;

static void rows_clear(Rows *rows) {
  ORR_FREE(rows->q, rows->k, rows->v, rows->d_out, rows->found, rows->wanted);
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

/* Reads the stats of @n rows of a head from @row on: [b, heads, rows]. */
static gboolean read_stats(const OrrAttention *a, gint64 batch, gint64 head, gint64 row, gint64 n,
                           double *values, GError **error) {
  const gsize first = (gsize)((batch * a->heads + head) * a->rows + row);
  return orr_cuda_read(a->at[STATS], ORR_FORMAT_FP32, first, 1, (gsize)n, values, error);
}

static gboolean judge_row(const OrrAttention *a, gint64 batch, gint64 head, gint64 row,
                          OrrVerdict *verdict, GError **error) {
  const gint64 all = a->n_keys ? a->n_keys[batch] : a->keys,
               n_rows = a->n_rows ? a->n_rows[batch] : a->rows;
  const gint64 n_seen = a->is_causal ? all - n_rows + row + 1 : all, most = MAX(a->dim, a->v_dim);
  const gint64 kv_head = head / (a->heads / a->kv_heads);
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
      (a->backward &&
       !read_head(a, D_OUT, a->heads, a->rows, a->v_dim, batch, head, row, 1, rows.d_out, error)) ||
      !read_head(a, a->backward ? DQ : OUT, a->heads, a->rows, width, batch, head, row, 1,
                 rows.found, error) ||
      !read_stats(a, batch, head, row, 1, &stat, error))
    return FALSE;
  const gsize seen = (gsize)n_seen, dim = (gsize)a->dim, v_dim = (gsize)a->v_dim;
  if (a->backward)
    orr_reference_attention_dq(rows.q, rows.k, rows.v, rows.d_out, seen, dim, v_dim, a->scale,
                               rows.wanted);
  else
    orr_reference_attention(rows.q, rows.k, rows.v, seen, dim, v_dim, a->scale, rows.wanted);
  judge_all(rows.found, rows.wanted, width, verdict);
  const double stat_wanted = orr_reference_attention_stat(rows.q, rows.k, seen, dim, a->scale);
  orr_cuda_judge(verdict, stat, stat_wanted, fmax(fabs(stat_wanted), 1));
  return TRUE;
}

/* The rows of one query head that see a key, with everything that the backward pass reads of
 * them. */
typedef struct {
  double *q, *d_out, *out, *stats;
} Seers;

static void seers_clear(Seers *seers) {
  ORR_FREE(seers->q, seers->d_out, seers->out, seers->stats);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Seers, seers_clear)

static gboolean add_head(const OrrAttention *a, gint64 batch, gint64 head, gint64 first,
                         const double *k, const double *v, double *dk, double *dv, GError **error) {
  const gint64 n = a->rows - first;
  g_auto(Seers) seers = {g_new(double, n * a->dim), g_new(double, n * a->v_dim),
                         g_new(double, n * a->v_dim), g_new(double, n)};
  if (!read_head(a, Q, a->heads, a->rows, a->dim, batch, head, first, n, seers.q, error) ||
      !read_head(a, D_OUT, a->heads, a->rows, a->v_dim, batch, head, first, n, seers.d_out,
                 error) ||
      !read_head(a, OUT, a->heads, a->rows, a->v_dim, batch, head, first, n, seers.out, error) ||
      !read_stats(a, batch, head, first, n, seers.stats, error))
    return FALSE;
  orr_reference_attention_dkv(seers.q, seers.d_out, seers.out, seers.stats, (gsize)n, k, v,
                              (gsize)a->dim, (gsize)a->v_dim, a->scale, dk, dv);
  return TRUE;
}

/* Checks dk and dv of one key: the sum over the query heads of its group. Under the mask, the
 * rows from the key's position on see it. */
static gboolean judge_key(const OrrAttention *a, gint64 batch, gint64 kv_head, gint64 key,
                          OrrVerdict *verdict, GError **error) {
  const gint64 group = a->heads / a->kv_heads,
               first = a->is_causal ? MAX(key - (a->keys - a->rows), 0) : 0;
  g_autofree double *k = g_new(double, a->dim), *v = g_new(double, a->v_dim),
                    *dk = g_new0(double, a->dim), *dv = g_new0(double, a->v_dim),
                    *dk_found = g_new(double, a->dim), *dv_found = g_new(double, a->v_dim);
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

static gboolean judge_sample(const OrrAttention *a, guint64 pick, OrrVerdict *verdict,
                             GError **error) {
  const gint64 batch = (gint64)(pick >> 20) % a->batch,
               n_rows = a->n_rows ? a->n_rows[batch] : a->rows;
  const gint64 row = (gint64)(pick % (guint64)n_rows), head = (gint64)(pick >> 40) % a->heads;
  const gint64 key = (gint64)(pick >> 8) % a->keys;
  /* The first rows of a causal backward see a single key: dq is 0 there and has no scale. Few
   * rows see the last keys: their dk is of the size of its rounding error. */
  if (!judge_row(a, batch, head, a->backward ? MAX(row, MIN(a->rows - 1, 8)) : row, verdict, error))
    return FALSE;
  return !a->backward || judge_key(a, batch, head / (a->heads / a->kv_heads),
                                   MIN(key, MAX(a->keys - 8, 0)), verdict, error);
}

static gboolean verify(OrrKernel *kernel, OrrVerdict *ret_verdict, GError **error) {
  const OrrAttention *a = kernel->state;
  OrrVerdict verdict = {.limit = orr_format_limit(a->format)};
  if (!orr_cuda_run_once(kernel, error)) return FALSE;
  for (guint64 i = 0; i < SAMPLES; i++)
    if (!judge_sample(a, orr_random_hash3(kernel->seed, i, 4), &verdict, error)) return FALSE;
  *ret_verdict = verdict;
  return TRUE;
}

/* --- Preparing --- */

/* The fraction of the cache that sequences of a mixed batch use: about half, by make_lengths. */
static double touched_share(const OrrAttention *a) {
  return a->is_mixed ? (a->batch + 1.0) / (2.0 * a->batch) : 1;
}

static gboolean allocate(OrrKernel *kernel, OrrAttention *a, gboolean with_backward,
                         GError **error) {
  const gint64 q = a->batch * a->rows * a->heads, k = a->batch * a->keys * a->kv_heads,
               all = a->batch * a->keys * a->heads;
  const gint64 sizes[N_POINTERS] = {
      [Q] = q * a->dim,        [K] = k * a->dim,         [V] = k * a->v_dim, [OUT] = q * a->v_dim,
      [D_OUT] = q * a->v_dim,  [DQ] = q * a->dim,        [DK] = k * a->dim,  [DV] = k * a->v_dim,
      [DK_ALL] = all * a->dim, [DV_ALL] = all * a->v_dim};
  const int last = !with_backward ? OUT : a->heads == a->kv_heads ? DV : DV_ALL;
  double bytes = 0;
  for (int tensor = Q; tensor <= last; tensor++) bytes += 2.0 * (double)sizes[tensor];
  orr_cuda_rotate(kernel, bytes * touched_share(a), bytes);
  for (int tensor = Q; tensor <= last; tensor++) {
    if (tensor == STATS) continue;
    if (!(a->at[tensor] = orr_cuda_random_sets(kernel, a->format, (gsize)sizes[tensor],
                                               &a->stride[tensor], error)))
      return FALSE;
  }
  return (a->at[STATS] = orr_cuda_alloc_sets(kernel, (gsize)q * 4, &a->stride[STATS], error)) !=
         NULL;
}

/* Decode i has a length proportional to i, up to the longest; a prompt's chunk, if there is one,
 * comes first. */
static gboolean make_lengths(OrrKernel *kernel, OrrAttention *a, GError **error) {
  const gint64 first = a->chunk_prefix >= 0 ? 1 : 0, n = a->batch - first;
  a->n_rows = g_new(gint32, a->batch);
  a->n_keys = g_new(gint32, a->batch);
  for (gint64 i = 0; i < n; i++) {
    a->n_rows[first + i] = 1;
    a->n_keys[first + i] = (gint32)MAX(a->decode_keys * (i + 1) / n, 1);
  }
  if (first) {
    a->n_rows[0] = (gint32)a->rows;
    a->n_keys[0] = (gint32)(a->chunk_prefix + a->rows);
  }
  const gsize bytes = (gsize)a->batch * sizeof(gint32);
  return (a->row_ends = orr_cuda_upload(kernel, a->n_rows, bytes, error)) &&
         (a->key_ends = orr_cuda_upload(kernel, a->n_keys, bytes, error));
}

static gboolean plan(OrrKernel *kernel, OrrAttention *a, gboolean with_backward, GError **error) {
  OrrCudnn *cudnn = orr_cudnn_graph_of(kernel->bench, error);
  if (!cudnn) return FALSE;
  a->forward = orr_cudnn_graph_new(cudnn);
  orr_attention_build_forward(a->forward, a);
  if (!orr_cudnn_graph_plan(a->forward, error)) return FALSE;
  gint64 workspace = orr_cudnn_graph_workspace(a->forward);
  if (with_backward) {
    a->backward = orr_cudnn_graph_new(cudnn);
    orr_attention_build_backward(a->backward, a);
    if (!orr_cudnn_graph_plan(a->backward, error)) return FALSE;
    workspace = MAX(workspace, orr_cudnn_graph_workspace(a->backward));
  }
  return (a->workspace = orr_cuda_alloc(kernel, (gsize)workspace, error)) != NULL;
}

/* Runs the forwards whose results the backward reads. */
static gboolean run_forwards(OrrKernel *kernel, const OrrAttention *a, GError **error) {
  for (guint set = 0; set < kernel->n_sets; set++)
    if (!run_forward(a, set, kernel->bench->stream, error)) return FALSE;
  return TRUE;
}

static gboolean prepare(OrrKernel *kernel, const OrrAttention *asked, gboolean with_backward,
                        GError **error) {
  OrrAttention *a = g_memdup2(asked, sizeof *asked);
  kernel->state = a;
  kernel->clear = attention_free;
  kernel->launch = launch;
  kernel->verify = verify;
  a->format = kernel->shape.at[0] ? ORR_FORMAT_BF16 : ORR_FORMAT_FP16;
  a->type = kernel->shape.at[0] ? CUDNN_DATA_BFLOAT16 : CUDNN_DATA_HALF;
  a->scale = 1.0f / sqrtf((float)a->dim);
  return plan(kernel, a, with_backward, error) && allocate(kernel, a, with_backward, error) &&
         (!a->is_mixed || make_lengths(kernel, a, error)) &&
         (!with_backward || run_forwards(kernel, a, error));
}

gboolean orr_cuda_prepare_attention_prefill(OrrKernel *kernel, GError **error) {
  const gint64 *at = kernel->shape.at;
  const OrrAttention asked = {.is_causal = at[2] == 0,
                              .dim = at[3],
                              .v_dim = at[4],
                              .keys = at[5] + at[9],
                              .chunk_prefix = -1,
                              .heads = at[6],
                              .kv_heads = at[7],
                              .batch = at[8],
                              .rows = at[9]};
  return prepare(kernel, &asked, at[1] == 1, error);
}

gboolean orr_cuda_prepare_attention_decode(OrrKernel *kernel, GError **error) {
  const gint64 *at = kernel->shape.at;
  const OrrAttention asked = {.is_mixed = at[1] == 1,
                              .dim = at[2],
                              .v_dim = at[3],
                              .heads = at[4],
                              .kv_heads = at[5],
                              .batch = at[6],
                              .rows = 1,
                              .keys = at[7],
                              .decode_keys = at[7],
                              .chunk_prefix = -1};
  return prepare(kernel, &asked, FALSE, error);
}

/* --- Mixed batches --- */

/* Columns: dtype, way, head-dim, heads, kv-heads, chunk, prefix, decodes, length. */
enum { WAY = 1, HEAD_DIM, HEADS, KV_HEADS, CHUNK, PREFIX, DECODES, LENGTH };

static OrrAttention heads_of(const gint64 *at) {
  return (OrrAttention){.dim = at[HEAD_DIM],
                        .v_dim = at[HEAD_DIM],
                        .heads = at[HEADS],
                        .kv_heads = at[KV_HEADS],
                        .decode_keys = at[LENGTH],
                        .chunk_prefix = -1};
}

/* One kernel for all: a batch of the chunk and the decodes, each with its own rows and keys. */
static gboolean prepare_together(OrrKernel *kernel, GError **error) {
  const gint64 *at = kernel->shape.at;
  OrrAttention asked = heads_of(at);
  asked.is_causal = asked.is_mixed = TRUE;
  asked.chunk_prefix = at[PREFIX];
  asked.batch = 1 + at[DECODES];
  asked.rows = at[CHUNK];
  asked.keys = MAX(at[PREFIX] + at[CHUNK], at[LENGTH]);
  return prepare(kernel, &asked, FALSE, error);
}

/* One kernel for the chunk and one for the decodes, one after the other; this kernel owns their
 * buffers. */
typedef struct {
  OrrKernel parts[2];
} Apart;

static void apart_free(gpointer data) {
  Apart *apart = data;
  for (guint i = 0; i < 2; i++)
    if (apart->parts[i].clear) apart->parts[i].clear(apart->parts[i].state);
  g_free(apart);
}

static gboolean launch_apart(OrrKernel *kernel, guint set, cudaStream_t stream, GError **error) {
  Apart *apart = kernel->state;
  for (guint i = 0; i < 2; i++)
    if (!apart->parts[i].launch(&apart->parts[i], set % apart->parts[i].n_sets, stream, error))
      return FALSE;
  return TRUE;
}

static gboolean verify_apart(OrrKernel *kernel, OrrVerdict *ret_verdict, GError **error) {
  Apart *apart = kernel->state;
  OrrVerdict decodes;
  if (!verify(&apart->parts[0], ret_verdict, error) || !verify(&apart->parts[1], &decodes, error))
    return FALSE;
  ret_verdict->n_samples += decodes.n_samples;
  if (!(decodes.max_error <= ret_verdict->max_error))
    ret_verdict->max_error = decodes.max_error; /* NaN too */
  return TRUE;
}

static gboolean prepare_apart(OrrKernel *kernel, GError **error) {
  const gint64 *at = kernel->shape.at;
  Apart *apart = g_new0(Apart, 1);
  kernel->state = apart;
  kernel->clear = apart_free;
  kernel->launch = launch_apart;
  kernel->verify = verify_apart;
  OrrAttention chunk = heads_of(at), decodes = heads_of(at);
  chunk.is_causal = TRUE;
  chunk.batch = 1, chunk.rows = at[CHUNK], chunk.keys = at[PREFIX] + at[CHUNK];
  decodes.is_mixed = at[DECODES] > 1;
  decodes.batch = at[DECODES], decodes.rows = 1, decodes.keys = at[LENGTH];
  for (guint i = 0; i < 2; i++) {
    apart->parts[i] = (OrrKernel){.bench = kernel->bench,
                                  .shape = kernel->shape,
                                  .buffers = kernel->buffers,
                                  .n_sets = 1,
                                  .seed = kernel->seed + i};
    if (!prepare(&apart->parts[i], i ? &decodes : &chunk, FALSE, error)) return FALSE;
  }
  kernel->n_sets = MAX(apart->parts[0].n_sets, apart->parts[1].n_sets);
  kernel->touched_bytes = apart->parts[0].touched_bytes + apart->parts[1].touched_bytes;
  return TRUE;
}

gboolean orr_cuda_prepare_attention_mixed(OrrKernel *kernel, GError **error) {
  return kernel->shape.at[WAY] == 0 ? prepare_together(kernel, error)
                                    : prepare_apart(kernel, error);
}

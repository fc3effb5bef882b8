/*
 * cuda_memory.c - the kernels of family_memory.c on rotated operands, and their checks: a few rows
 * each, and of backward norms the sums of a few columns.
 *
 * An embedding has one table, and each set has its own list of rows: a call touches the rows that
 * it looks up, not the table, so lists that together touch twice the L2 cache evict each other's
 * rows. (With one table per set, the few rows of all sets would stay in the cache.)
 */
#include "calibration/measure/cuda/cuda_private.h"
#include "calibration/measure/cuda/kernel.h"
#include "sim/base/random.h"

enum {
  COPY,
  BIAS_GELU,
  SWIGLU,
  RMSNORM_FORWARD,
  RMSNORM_BACKWARD,
  LAYERNORM_FORWARD,
  LAYERNORM_BACKWARD,
  CROSS_ENTROPY,
  EMBEDDING,
  ADAM,
  PERMUTE
};
enum { TABLE_ROWS = 65536, SAMPLE_ROWS = 3, TABLE_BYTES_MAX = 1 << 30 };

typedef struct {
  int op;
  OrrFormat format;
  gsize rows, width, n_table;
  char *in, *other, *out,
      *words; /* sets; words: the 4-byte ones beside (master, m, v; losses; sums and stats) */
  gsize in_stride, other_stride, out_stride, words_stride;
  char *weight, *bias;
  int32_t *index, *host_index; /* on the device, on the host; of an embedding a list for each set */
} Pass;

static void pass_free(gpointer data) {
  g_free(((Pass *)data)->host_index);
  g_free(data);
}

static int launch_norm(const Pass *p, guint set, cudaStream_t stream) {
  const char *in = p->in + set * p->in_stride;
  char *out = p->out + set * p->out_stride;
  const gboolean is_layer = p->op == LAYERNORM_FORWARD || p->op == LAYERNORM_BACKWARD;
  if (p->op == RMSNORM_FORWARD || p->op == LAYERNORM_FORWARD)
    return orr_kernel_norm(in, p->weight, is_layer ? p->bias : NULL, out, (int)p->format, p->rows,
                           p->width, stream);
  float *sums = (float *)(p->words + set * p->words_stride);
  return orr_kernel_norm_backward(in, p->weight, p->other + set * p->other_stride, out,
                                  sums + 2 * p->width, sums, is_layer ? sums + p->width : NULL,
                                  (int)p->format, p->rows, p->width, stream);
}

static int launch_adam(const Pass *p, guint set, cudaStream_t stream) {
  float *master = (float *)(p->words + set * p->words_stride);
  const gsize n = p->rows * p->width;
  return orr_kernel_adam(p->in + set * p->in_stride, p->out + set * p->out_stride, master,
                         master + n, master + 2 * n, 1, (int)p->format, p->rows, p->width, stream);
}

static int launch_op(const Pass *p, guint set, cudaStream_t stream) {
  char *in = p->in + set * p->in_stride, *out = p->out + set * p->out_stride;
  const int format = (int)p->format;
  switch (p->op) {
  case COPY:
    return orr_kernel_copy(in, out, format, p->rows, p->width, stream);
  case BIAS_GELU:
    return orr_kernel_bias_gelu(in, p->bias, out, format, p->rows, p->width, stream);
  case SWIGLU:
    return orr_kernel_swiglu(in, out, format, p->rows, p->width, stream);
  case CROSS_ENTROPY:
    return orr_kernel_cross_entropy(in, p->index, (float *)(p->words + set * p->words_stride),
                                    format, p->rows, p->width, stream);
  case EMBEDDING:
    return orr_kernel_gather(p->in, p->index + set * p->rows, out, format, p->rows, p->width,
                             stream);
  case PERMUTE:
    return orr_kernel_gather(in, p->index, out, format, p->rows, p->width, stream);
  case ADAM:
    return launch_adam(p, set, stream);
  default:
    return launch_norm(p, set, stream);
  }
}

static gboolean launch(OrrKernel *kernel, guint set, cudaStream_t stream, GError **error) {
  const Pass *pass = kernel->state;
  return orr_cuda_launched(launch_op(pass, set, stream), "memory kernel", error);
}

/* --- Checks --- */

/* The expected row of the output, from the operands before the launch. */
typedef struct {
  double *in, *other, *weight, *bias, *out;
} Rows;

static void rows_clear(Rows *rows) {
  ORR_FREE(rows->in, rows->other, rows->weight, rows->bias, rows->out);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Rows, rows_clear)

static void refer(const Pass *p, const Rows *rows, gsize row) {
  const gsize n = p->width;
  switch (p->op) {
  case BIAS_GELU:
    for (gsize i = 0; i < n; i++) rows->out[i] = orr_reference_gelu(rows->in[i] + rows->bias[i]);
    break;
  case SWIGLU:
    for (gsize i = 0; i < n; i++) rows->out[i] = orr_reference_silu(rows->in[i]) * rows->in[n + i];
    break;
  case RMSNORM_FORWARD:
    orr_reference_rmsnorm(rows->in, rows->weight, n, rows->out);
    break;
  case RMSNORM_BACKWARD:
    orr_reference_rmsnorm_backward(rows->in, rows->weight, rows->other, n, rows->out);
    break;
  case LAYERNORM_FORWARD:
    orr_reference_layernorm(rows->in, rows->weight, rows->bias, n, rows->out);
    break;
  case LAYERNORM_BACKWARD:
    orr_reference_layernorm_backward(rows->in, rows->weight, rows->other, n, rows->out);
    break;
  case CROSS_ENTROPY:
    orr_reference_cross_entropy(rows->in, n, (gsize)p->host_index[row], rows->out);
    break;
  /* its first step from moments of 0: g / (|g| + eps), and the decay; the master begins as
   * `other` */
  case ADAM:
    for (gsize i = 0; i < n; i++)
      rows->out[i] = rows->other[i] -
                     1e-4 * (rows->in[i] / (fabs(rows->in[i]) + 1e-8) + 0.01 * rows->other[i]);
    break;
  default: /* copy, embedding, permute */
    memcpy(rows->out, rows->in, n * sizeof *rows->out);
  }
}

static gboolean is_gather(const Pass *p) { return p->op == EMBEDDING || p->op == PERMUTE; }

static gboolean read_rows(const Pass *p, gsize row, Rows *rows, GError **error) {
  const gsize width = p->op == SWIGLU ? 2 * p->width : p->width;
  const gsize from = is_gather(p) ? (gsize)p->host_index[row] : row;
  *rows = (Rows){g_new0(double, width), g_new0(double, width), g_new0(double, width),
                 g_new0(double, width), g_new0(double, width)};
  const OrrFormat other_format = p->op == ADAM ? ORR_FORMAT_FP32 : p->format;
  const char *other = p->op == ADAM ? p->words : p->other;
  return orr_cuda_read(p->in, p->format, from * width, 1, width, rows->in, error) &&
         (!other ||
          orr_cuda_read(other, other_format, row * p->width, 1, p->width, rows->other, error)) &&
         (!p->weight || orr_cuda_read(p->weight, p->format, 0, 1, p->width, rows->weight, error)) &&
         (!p->bias || orr_cuda_read(p->bias, p->format, 0, 1, p->width, rows->bias, error));
}

static gboolean judge_row(const Pass *p, gsize row, const Rows *rows, OrrVerdict *verdict,
                          GError **error) {
  g_autofree double *found = g_new(double, p->width);
  double scale = 0;
  const char *out = p->op == CROSS_ENTROPY ? p->in : p->op == ADAM ? p->words : p->out;
  const OrrFormat format = p->op == ADAM ? ORR_FORMAT_FP32 : p->format;
  if (!orr_cuda_read(out, format, row * p->width, 1, p->width, found, error)) return FALSE;
  for (gsize i = 0; p->op == ADAM && i < p->width;
       i++) { /* the step of the master weight, which is 1e-4 of it */
    found[i] = (found[i] - rows->other[i]) * 1e4;
    rows->out[i] = (rows->out[i] - rows->other[i]) * 1e4;
  }
  for (gsize i = 0; i < p->width; i++) scale = fmax(scale, fabs(rows->out[i]));
  for (gsize i = 0; i < p->width; i++)
    orr_cuda_judge(verdict, found[i], rows->out[i], scale + 1e-30);
  return TRUE;
}

/* Checks the stats of a backward norm for the sampled rows and, from all rows' stats, the
 * gradients of a few columns' weights and biases: set 0's sums, to which one launch has added. */
typedef struct {
  double *x, *dy, *mean, *r;
} Columns;

static void columns_clear(Columns *columns) {
  ORR_FREE(columns->x, columns->dy, columns->mean, columns->r);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Columns, columns_clear)

static gboolean judge_column(const Pass *p, gsize column, const Columns *columns,
                             OrrVerdict *verdict, GError **error) {
  double wanted, bias, scale, found, found_bias;
  if (!orr_cuda_read(p->in, p->format, column, p->width, p->rows, columns->x, error) ||
      !orr_cuda_read(p->other, p->format, column, p->width, p->rows, columns->dy, error) ||
      !orr_cuda_read(p->words, ORR_FORMAT_FP32, column, 1, 1, &found, error) ||
      !orr_cuda_read(p->words, ORR_FORMAT_FP32, p->width + column, 1, 1, &found_bias, error))
    return FALSE;
  orr_reference_norm_weight(columns->x, columns->dy, columns->mean, columns->r, p->rows, &wanted,
                            &bias, &scale);
  orr_cuda_judge(verdict, found, wanted, scale + 1e-30);
  if (p->op == LAYERNORM_BACKWARD) orr_cuda_judge(verdict, found_bias, bias, sqrt((double)p->rows));
  return TRUE;
}

static gboolean judge_stats(const Pass *p, gsize row, const double *x, const Columns *columns,
                            OrrVerdict *verdict) {
  double mean, r;
  orr_reference_norm_stats(x, p->width, p->op == LAYERNORM_BACKWARD, &mean, &r);
  orr_cuda_judge(verdict, columns->mean[row], mean, 1 / r);
  orr_cuda_judge(verdict, columns->r[row], r, r);
  return TRUE;
}

static gboolean judge_weights(OrrKernel *kernel, const gsize *rows_at, const Rows *rows,
                              OrrVerdict *verdict, GError **error) {
  const Pass *p = kernel->state;
  g_auto(Columns) columns = {g_new(double, p->rows), g_new(double, p->rows), g_new(double, p->rows),
                             g_new(double, p->rows)};
  if (!orr_cuda_read(p->words, ORR_FORMAT_FP32, 2 * p->width, 2, p->rows, columns.mean, error) ||
      !orr_cuda_read(p->words, ORR_FORMAT_FP32, 2 * p->width + 1, 2, p->rows, columns.r, error))
    return FALSE;
  for (guint i = 0; i < SAMPLE_ROWS; i++) judge_stats(p, rows_at[i], rows[i].in, &columns, verdict);
  for (guint i = 0; i < SAMPLE_ROWS; i++)
    if (!judge_column(p, orr_random_hash3(kernel->seed, i, 5) % p->width, &columns, verdict, error))
      return FALSE;
  return TRUE;
}

static gboolean verify(OrrKernel *kernel, OrrVerdict *ret_verdict, GError **error) {
  const Pass *p = kernel->state;
  OrrVerdict verdict = {.limit = fmax(orr_format_limit(p->format), 1e-3) / 2};
  Rows rows[SAMPLE_ROWS] = {{NULL, NULL, NULL, NULL, NULL}};
  gsize at[SAMPLE_ROWS];
  gboolean fine = TRUE;
  for (guint i = 0; i < SAMPLE_ROWS; i++) {
    at[i] = orr_random_hash3(kernel->seed, i, 2) % p->rows;
    fine = fine && read_rows(p, at[i], &rows[i], error);
    if (fine) refer(p, &rows[i], at[i]);
  }
  fine = fine && orr_cuda_run_once(kernel, error);
  for (guint i = 0; i < SAMPLE_ROWS; i++)
    fine = fine && judge_row(p, at[i], &rows[i], &verdict, error);
  if (fine && (p->op == RMSNORM_BACKWARD || p->op == LAYERNORM_BACKWARD))
    fine = judge_weights(kernel, at, rows, &verdict, error);
  for (guint i = 0; i < SAMPLE_ROWS; i++) rows_clear(&rows[i]);
  if (fine) *ret_verdict = verdict;
  return fine;
}

/* --- Preparing --- */

/* Rows of a table, targets among the columns, or a permutation of the rows (Fisher, Yates). */
static gboolean make_index(OrrKernel *kernel, Pass *p, GError **error) {
  OrrRandom random = orr_random_stream(kernel->seed, "index");
  const gsize n = p->op == EMBEDDING ? p->rows * kernel->n_sets : p->rows;
  p->host_index = g_new(int32_t, n);
  for (gsize i = 0; i < n; i++)
    p->host_index[i] =
        (int32_t)orr_random_below(&random, p->op == CROSS_ENTROPY ? p->width : p->n_table);
  for (gsize i = 0; p->op == PERMUTE && i < p->rows; i++) p->host_index[i] = (int32_t)i;
  for (gsize i = p->rows; p->op == PERMUTE && i > 1; i--) {
    const gsize j = orr_random_below(&random, i);
    const int32_t swap = p->host_index[i - 1];
    p->host_index[i - 1] = p->host_index[j];
    p->host_index[j] = swap;
  }
  return (p->index = orr_cuda_upload(kernel, p->host_index, n * sizeof *p->host_index, error)) !=
         NULL;
}

/* Allocates the 4-byte words of a set: Adam's master (random), m and v (0); losses; a backward
 * norm's two sums and its stats. */
static gboolean make_words(OrrKernel *kernel, Pass *p, GError **error) {
  const gsize n = p->rows * p->width;
  const gsize count = p->op == ADAM            ? 3 * n
                      : p->op == CROSS_ENTROPY ? p->rows
                                               : 2 * p->width + 2 * p->rows;
  if (!(p->words = orr_cuda_alloc_sets(kernel, 4 * count, &p->words_stride, error)) ||
      !orr_cuda_ok(
          cudaMemsetAsync(p->words, 0, p->words_stride * kernel->n_sets, kernel->bench->stream),
          "cudaMemset", error))
    return FALSE;
  for (guint set = 0; p->op == ADAM && set < kernel->n_sets; set++)
    if (!orr_cuda_launched(orr_kernel_fill(p->words + set * p->words_stride, ORR_FORMAT_FP32, n,
                                           kernel->seed + set, kernel->bench->stream),
                           "fill", error))
      return FALSE;
  return TRUE;
}

static gboolean make_operands(OrrKernel *kernel, Pass *p, GError **error) {
  const gsize n = p->rows * p->width;
  const gboolean is_backward = p->op == RMSNORM_BACKWARD || p->op == LAYERNORM_BACKWARD;
  const gsize n_in = p->op == SWIGLU ? 2 * n : is_gather(p) ? p->n_table * p->width : n;
  const OrrFormat format = p->format;
  p->in = p->op == EMBEDDING ? orr_cuda_random(kernel, format, n_in, error)
                             : orr_cuda_random_sets(kernel, format, n_in, &p->in_stride, error);
  return p->in &&
         (!is_backward ||
          (p->other = orr_cuda_random_sets(kernel, format, n, &p->other_stride, error))) &&
         (p->op == CROSS_ENTROPY ||
          (p->out =
               orr_cuda_alloc_sets(kernel, orr_format_bytes(format, n), &p->out_stride, error))) &&
         (p->weight = orr_cuda_random(kernel, format, p->width, error)) &&
         (p->bias = orr_cuda_random(kernel, format, p->width, error));
}

static gsize table_rows(const Pass *p) {
  if (p->op == PERMUTE) return p->rows;
  return MIN((gsize)TABLE_ROWS,
             (gsize)TABLE_BYTES_MAX / (p->width * orr_format_bytes(p->format, 1)));
}

gboolean orr_cuda_prepare_memory(OrrKernel *kernel, GError **error) {
  const OrrShapeWork work = kernel->shape.family->work(&kernel->shape, &kernel->bench->facts);
  Pass *p = g_new0(Pass, 1);
  *p = (Pass){.op = (int)kernel->shape.at[0],
              .format = (OrrFormat)kernel->shape.at[1],
              .rows = (gsize)kernel->shape.at[2],
              .width = (gsize)kernel->shape.at[3]};
  p->n_table = table_rows(p);
  kernel->state = p;
  kernel->clear = pass_free;
  kernel->launch = launch;
  kernel->verify = verify;
  orr_cuda_rotate(kernel, work.bytes, work.bytes);
  if (!make_operands(kernel, p, error)) return FALSE;
  const gboolean has_index = is_gather(p) || p->op == CROSS_ENTROPY;
  const gboolean has_words = p->op == ADAM || p->op == CROSS_ENTROPY || p->op == RMSNORM_BACKWARD ||
                             p->op == LAYERNORM_BACKWARD;
  return (!has_index || make_index(kernel, p, error)) &&
         (!has_words || make_words(kernel, p, error));
}

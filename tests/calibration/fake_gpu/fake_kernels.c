/*
 * fake_kernels.c - the kernels of calibration/measure/cuda/kernel.h on the fake machine: their
 * costs by the bytes that they move, their results by recipes in double precision. It stands in
 * for kernel.cu, which only a GPU can run.
 */
#include "calibration/measure/cuda/kernel.h"

#include <cuda_runtime_api.h>
#include <math.h>
#include <string.h>

#include "calibration/measure/reference.h"
#include "sim/base/random.h"
#include "tests/calibration/fake_gpu/fake_gpu.h"
#include "tests/calibration/fake_gpu/fake_kernels.h"

enum { GRANULE = 32 }; /* elements of a fill that are computed together */

static FakeStream *stream_of(OrrStream stream) { return (FakeStream *)(void *)stream; }

/* Whether a launch also computes: those in a graph repeat one that did. */
static int post(OrrStream stream, double bytes) {
  const FakeWork work = fake_work(FAKE_MEMORY, 0, ORR_FP32, bytes);
  fake_spend_us(FAKE_LAUNCH_US);
  return fake_post(stream_of(stream), &work) ? cudaSuccess : cudaErrorLaunchFailure;
}

static gboolean computes(OrrStream stream) { return !fake_stream_is_capturing(stream_of(stream)); }

/* --- Filling --- */

typedef struct {
  int format;
  gsize n;
  guint64 seed;
  double value;
  int is_random;
} Fill;

/* Random elements take one of LEVELS values, which are encoded once for each format: the highest
 * bits of a linear congruential series (Knuth's MMIX) that each granule begins anew. */
enum { LEVELS = 1024, LEVEL_BITS = 10, FORMATS = 6 };
static const guint64 multiplier = 6364136223846793005u, increment = 1442695040888963407u;

static const char *levels_of(int format) {
  static char *tables[FORMATS];
  if (tables[format]) return tables[format];
  tables[format] = g_malloc0(LEVELS * 4);
  for (guint i = 0; i < LEVELS; i++)
    fake_encode(format, (i + 0.5) / (LEVELS / 2.0) - 1, tables[format], i);
  return tables[format];
}

static void fill(gconstpointer context, gsize index, void *at) {
  const Fill *f = context;
  const gsize first = index * GRANULE, n = MIN(f->n - first, (gsize)GRANULE);
  const gsize size = fake_bytes(f->format, 1);
  const char *levels = levels_of(f->format);
  guint64 bits = orr_random_hash3(f->seed, first, 0);
  for (gsize i = 0; i < n; i++) {
    if (!f->is_random) {
      fake_encode(f->format, f->value, at, i);
      continue;
    }
    bits = bits * multiplier + increment;
    const gsize level = bits >> (64 - LEVEL_BITS);
    if (size == 2)
      ((guint16 *)at)[i] = ((const guint16 *)(const void *)levels)[level];
    else
      memcpy((char *)at + i * size, levels + level * size, size);
  }
}

/* Every nibble is a number of e2m1. */
static void fill_nibbles(gconstpointer context, gsize index, void *at) {
  const Fill *f = context;
  const gsize first = index * GRANULE, n = MIN(f->n - first, (gsize)GRANULE) / 2;
  for (gsize i = 0; i < n; i++) ((guint8 *)at)[i] = (guint8)orr_random_hash3(f->seed, first + i, 1);
}

int orr_kernel_fill(void *out, int format, size_t n, uint64_t seed, OrrStream stream) {
  const Fill f = {format, n, seed, 0, TRUE};
  const gsize bytes = fake_bytes(format, n);
  fake_write(out, bytes, fake_bytes(format, GRANULE),
             format == ORR_FORMAT_E2M1 ? fill_nibbles : fill, &f, sizeof f, FALSE);
  return post(stream, (double)bytes);
}

void fake_kernels_write_constant(void *out, int format, gsize n, double value) {
  const Fill f = {format, n, 0, value, FALSE};
  fake_write(out, fake_bytes(format, n), fake_bytes(format, GRANULE), fill, &f, sizeof f, FALSE);
}

int orr_kernel_fill_constant(void *out, int format, size_t n, float value, OrrStream stream) {
  fake_kernels_write_constant(out, format, n, value);
  return post(stream, (double)fake_bytes(format, n));
}

gboolean fake_kernels_constant(const void *at, double *ret_value) {
  Fill f;
  if (!fake_recipe_at(at, fill, &f, sizeof f) || f.is_random) return FALSE;
  *ret_value = f.value;
  return TRUE;
}

int orr_kernel_nothing(OrrStream stream) {
  const FakeWork work = {.kind = FAKE_MEMORY, .fixed_us = FAKE_NOTHING_US, .watts = 120};
  fake_spend_us(FAKE_LAUNCH_US);
  return fake_post(stream_of(stream), &work) ? cudaSuccess : cudaErrorLaunchFailure;
}

int orr_kernel_hold(uint64_t ns, OrrStream stream) {
  const FakeWork work = {.kind = FAKE_HOLD, .fixed_us = (double)ns / 1e3, .watts = 120};
  fake_spend_us(FAKE_LAUNCH_US);
  return fake_post(stream_of(stream), &work) ? cudaSuccess : cudaErrorLaunchFailure;
}

/* --- Rows: one granule is a row of the output --- */

typedef struct {
  const char *in, *weight, *bias, *other;
  const int32_t *index;
  const float *scale;
  int format, topk, is_layer;
  gsize width, in_width;
} Row;

static double at(const char *data, const Row *row, gsize index) {
  return data ? fake_decode(row->format, data, index) : 0;
}

static double *read_row(const Row *row, const char *data, gsize first, gsize n) {
  double *values = g_new(double, n);
  fake_touch(data + fake_bytes(row->format, first), fake_bytes(row->format, n));
  for (gsize i = 0; i < n; i++)
    values[i] = orr_format_decode((OrrFormat)row->format, data, first + i);
  return values;
}

static void gelu_row(gconstpointer context, gsize index, void *out) {
  const Row *row = context;
  for (gsize i = 0; i < row->width; i++)
    fake_encode(
        row->format,
        orr_reference_gelu(at(row->in, row, index * row->width + i) + at(row->bias, row, i)), out,
        i);
}

static void swiglu_row(gconstpointer context, gsize index, void *out) {
  const Row *row = context;
  g_autofree double *in = read_row(row, row->in, index * 2 * row->width, 2 * row->width);
  for (gsize i = 0; i < row->width; i++)
    fake_encode(row->topk, orr_reference_silu(in[i]) * in[row->width + i], out, i);
}

static void norm_row(gconstpointer context, gsize index, void *out) {
  const Row *row = context;
  const gsize n = row->width;
  double mean, r;
  g_autofree double *x = read_row(row, row->in, index * n, n);
  orr_reference_norm_stats(x, n, row->bias != NULL, &mean, &r);
  for (gsize i = 0; i < n; i++)
    fake_encode(row->format, (x[i] - mean) * r * at(row->weight, row, i) + at(row->bias, row, i),
                out, i);
}

static void norm_backward_row(gconstpointer context, gsize index, void *out) {
  const Row *row = context;
  const gsize n = row->width;
  g_autofree double *x = read_row(row, row->in, index * n, n),
                    *dy = read_row(row, row->other, index * n, n),
                    *w = read_row(row, row->weight, 0, n), *dx = g_new(double, n);
  if (row->is_layer)
    orr_reference_layernorm_backward(x, w, dy, n, dx);
  else
    orr_reference_rmsnorm_backward(x, w, dy, n, dx);
  for (gsize i = 0; i < n; i++) fake_encode(row->format, dx[i], out, i);
}

static void stats_row(gconstpointer context, gsize index, void *out) {
  const Row *row = context;
  double mean, r;
  g_autofree double *x = read_row(row, row->in, index * row->width, row->width);
  orr_reference_norm_stats(x, row->width, row->is_layer, &mean, &r);
  ((float *)out)[0] = (float)mean, ((float *)out)[1] = (float)r;
}

/* One column of the weights' gradient; topk: 1 for the bias. */
static void weight_column(gconstpointer context, gsize index, void *out) {
  const Row *row = context;
  double sum = 0;
  for (gsize r = 0; r < row->in_width; r++) {
    const double dy = at(row->other, row, r * row->width + index);
    const float *stats = row->scale + 2 * r;
    fake_touch(stats, 8);
    sum += row->topk ? dy : dy * (at(row->in, row, r * row->width + index) - stats[0]) * stats[1];
  }
  *(float *)out += (float)sum;
}

static void entropy_row(gconstpointer context, gsize index, void *out) {
  const Row *row = context;
  const gsize n = row->width;
  g_autofree double *x = g_new(double, n), *dx = g_new(double, n);
  for (gsize i = 0; i < n; i++) x[i] = orr_format_decode((OrrFormat)row->format, out, i);
  fake_touch(row->index + index, sizeof *row->index);
  orr_reference_cross_entropy(x, n, (gsize)row->index[index], dx);
  for (gsize i = 0; i < n; i++) fake_encode(row->format, dx[i], out, i);
}

static void gather_row(gconstpointer context, gsize index, void *out) {
  const Row *row = context;
  const gsize bytes = fake_bytes(row->format, row->width);
  fake_touch(row->index + index, sizeof *row->index);
  const char *from = row->in + (gsize)row->index[index] * bytes;
  fake_touch(from, bytes);
  memcpy(out, from, bytes);
}

static void combine_row(gconstpointer context, gsize index, void *out) {
  const Row *row = context;
  g_autofree double *sums = g_new0(double, row->width);
  const gsize first = index * (gsize)row->topk;
  fake_touch(row->index + first, (gsize)row->topk * 4);
  fake_touch(row->scale + first, (gsize)row->topk * 4);
  for (gsize j = first; j < first + (gsize)row->topk; j++) {
    if (row->index[j] < 0) continue;
    g_autofree double *in = read_row(row, row->in, (gsize)row->index[j] * row->width, row->width);
    for (gsize i = 0; i < row->width; i++) sums[i] += row->scale[j] * in[i];
  }
  for (gsize i = 0; i < row->width; i++) fake_encode(row->format, sums[i], out, i);
}

static void write_rows(const Row *row, void *out, int format, gsize rows, FakeRecipe recipe,
                       gboolean in_place, OrrStream stream) {
  const gsize bytes = fake_bytes(format, row->width);
  if (computes(stream)) fake_write(out, rows * bytes, bytes, recipe, row, sizeof *row, in_place);
}

int orr_kernel_copy(const void *in, void *out, int format, size_t rows, size_t width,
                    OrrStream stream) {
  const gsize bytes = fake_bytes(format, rows * width);
  if (computes(stream)) fake_copy(out, in, bytes);
  return post(stream, 2 * (double)bytes);
}

int orr_kernel_bias_gelu(const void *in, const void *bias, void *out, int format, size_t rows,
                         size_t width, OrrStream stream) {
  const Row row = {.in = in, .bias = bias, .format = format, .width = width};
  write_rows(&row, out, format, rows, gelu_row, FALSE, stream);
  return post(stream, 2 * (double)fake_bytes(format, rows * width));
}

int orr_kernel_swiglu(const void *in, void *out, int format, size_t rows, size_t width,
                      OrrStream stream) {
  const Row row = {.in = in, .format = format, .topk = format, .width = width};
  write_rows(&row, out, format, rows, swiglu_row, FALSE, stream);
  return post(stream, 3 * (double)fake_bytes(format, rows * width));
}

int orr_kernel_swiglu_narrow(const void *in, void *out, int format, size_t rows, size_t width,
                             OrrStream stream) {
  const Row row = {.in = in, .format = ORR_FORMAT_BF16, .topk = format, .width = width};
  write_rows(&row, out, format, rows, swiglu_row, FALSE, stream);
  return post(stream, 5 * (double)rows * (double)width);
}

int orr_kernel_norm(const void *in, const void *weight, const void *bias, void *out, int format,
                    size_t rows, size_t width, OrrStream stream) {
  const Row row = {.in = in, .weight = weight, .bias = bias, .format = format, .width = width};
  write_rows(&row, out, format, rows, norm_row, FALSE, stream);
  return post(stream, 2 * (double)fake_bytes(format, rows * width));
}

int orr_kernel_norm_backward(const void *in, const void *weight, const void *d_out, void *d_in,
                             void *stats, float *d_weight, float *d_bias, int format, size_t rows,
                             size_t width, OrrStream stream) {
  const Row row = {.in = in,
                   .weight = weight,
                   .other = d_out,
                   .scale = stats,
                   .format = format,
                   .is_layer = d_bias != NULL,
                   .width = width,
                   .in_width = rows};
  Row bias = row;
  bias.topk = 1;
  write_rows(&row, d_in, format, rows, norm_backward_row, FALSE, stream);
  if (computes(stream)) {
    fake_write(stats, rows * 8, 8, stats_row, &row, sizeof row, FALSE);
    fake_write(d_weight, width * 4, 4, weight_column, &row, sizeof row, TRUE);
    if (d_bias) fake_write(d_bias, width * 4, 4, weight_column, &bias, sizeof bias, TRUE);
  }
  return post(stream, 5 * (double)fake_bytes(format, rows * width));
}

int orr_kernel_cross_entropy(void *logits, const int32_t *targets, float *losses, int format,
                             size_t rows, size_t width, OrrStream stream) {
  const Row row = {.index = targets, .format = format, .width = width};
  (void)losses;
  write_rows(&row, logits, format, rows, entropy_row, TRUE, stream);
  return post(stream, 2 * (double)fake_bytes(format, rows * width));
}

int orr_kernel_gather(const void *table, const int32_t *index, void *out, int format, size_t rows,
                      size_t width, OrrStream stream) {
  const Row row = {.in = table, .index = index, .format = format, .width = width};
  write_rows(&row, out, format, rows, gather_row, FALSE, stream);
  return post(stream, 2 * (double)fake_bytes(format, rows * width));
}

/* The first step from moments of 0, as the only one that anybody reads. */
static void adam_element(gconstpointer context, gsize index, void *out) {
  const Row *row = context;
  const double g = at(row->in, row, index), old = *(float *)out;
  *(float *)out = (float)(old - 1e-4 * (g / (fabs(g) + 1e-8) + 0.01 * old));
}

int orr_kernel_adam(const void *gradient, void *weight, float *master, float *m, float *v, int step,
                    int format, size_t rows, size_t width, OrrStream stream) {
  const Row row = {.in = gradient, .format = format, .width = width};
  const gsize n = rows * width;
  (void)weight, (void)m, (void)v, (void)step;
  if (computes(stream)) fake_write(master, 4 * n, 4, adam_element, &row, sizeof row, TRUE);
  return post(stream, 24.0 * (double)n + 2 * (double)fake_bytes(format, n));
}

int orr_kernel_combine(const void *in, const int32_t *index, const float *scale, int topk,
                       void *out, int format, size_t rows, size_t width, OrrStream stream) {
  const Row row = {
      .in = in, .index = index, .scale = scale, .topk = topk, .format = format, .width = width};
  write_rows(&row, out, format, rows, combine_row, FALSE, stream);
  return post(stream, (topk + 1.0) * (double)fake_bytes(format, rows * width));
}

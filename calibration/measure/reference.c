/*
 * reference.c - computes references in double precision, straight from the equations in
 * reference.h.
 */
#include "calibration/measure/reference.h"

gsize orr_format_bytes(OrrFormat format, gsize n) {
  static const gsize bits[] = {32, 16, 16, 8, 4, 8};
  return (n * bits[format] + 7) / 8;
}

/* Sign, exponent and mantissa as IEEE has them: exponent 0 is subnormal. */
static double decode_bits(guint bits, int n_exponent, int n_mantissa) {
  const int bias = (1 << (n_exponent - 1)) - 1;
  const guint mantissa = bits & ((1u << n_mantissa) - 1),
              exponent = bits >> n_mantissa & ((1u << n_exponent) - 1);
  const double sign = bits >> (n_exponent + n_mantissa) & 1 ? -1 : 1;
  if (exponent == 0) return sign * ldexp(mantissa, 1 - bias - n_mantissa);
  return sign * ldexp(mantissa + (1u << n_mantissa), (int)exponent - bias - n_mantissa);
}

static double decode_half(guint16 bits) {
  const guint exponent = bits >> 10 & 31;
  if (exponent == 31) return bits & 1023 ? NAN : bits >> 15 ? -INFINITY : INFINITY;
  return decode_bits(bits, 5, 10);
}

static double decode_float(guint32 bits) {
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

double orr_format_decode(OrrFormat format, const void *data, gsize index) {
  const guint8 *bytes = data;
  guint32 word;
  guint16 half;
  switch (format) {
  case ORR_FORMAT_FP32:
    memcpy(&word, bytes + 4 * index, sizeof word);
    return decode_float(word);
  case ORR_FORMAT_FP16:
    memcpy(&half, bytes + 2 * index, sizeof half);
    return decode_half(half);
  case ORR_FORMAT_BF16:
    memcpy(&half, bytes + 2 * index, sizeof half);
    return decode_float((guint32)half << 16);
  case ORR_FORMAT_E4M3:
    return (bytes[index] & 0x7f) == 0x7f ? NAN : decode_bits(bytes[index], 4, 3);
  case ORR_FORMAT_E5M2: /* the upper byte of a binary16 */
    return decode_half((guint16)(bytes[index] << 8));
  default:
    return decode_bits(bytes[index / 2] >> (index % 2 ? 4 : 0) & 15, 2, 1);
  }
}

double orr_format_limit(OrrFormat format) {
  static const double limits[] = {1e-4, 1e-2, 4e-2, 6e-2, 6e-2, 6e-2};
  return limits[format];
}

/* --- Norms --- */

static double mean_of(const double *x, gsize n) {
  double sum = 0;
  for (gsize i = 0; i < n; i++) sum += x[i];
  return sum / (double)n;
}

static double mean_product(const double *x, const double *y, gsize n) {
  double sum = 0;
  for (gsize i = 0; i < n; i++) sum += x[i] * y[i];
  return sum / (double)n;
}

void orr_reference_rmsnorm(const double *x, const double *w, gsize n, double *ret_y) {
  const double r = 1 / sqrt(mean_product(x, x, n) + 1e-5);
  for (gsize i = 0; i < n; i++) ret_y[i] = x[i] * w[i] * r;
}

void orr_reference_rmsnorm_backward(const double *x, const double *w, const double *dy, gsize n,
                                    double *ret_dx) {
  const double r = 1 / sqrt(mean_product(x, x, n) + 1e-5);
  double gx = 0;
  for (gsize i = 0; i < n; i++) gx += dy[i] * w[i] * x[i];
  gx /= (double)n;
  for (gsize i = 0; i < n; i++) ret_dx[i] = r * (dy[i] * w[i] - x[i] * r * r * gx);
}

static double deviation(const double *x, gsize n, double mean) {
  double sum = 0;
  for (gsize i = 0; i < n; i++) sum += (x[i] - mean) * (x[i] - mean);
  return sqrt(sum / (double)n + 1e-5);
}

void orr_reference_layernorm(const double *x, const double *w, const double *b, gsize n,
                             double *ret_y) {
  const double mean = mean_of(x, n), sd = deviation(x, n, mean);
  for (gsize i = 0; i < n; i++) ret_y[i] = (x[i] - mean) / sd * w[i] + b[i];
}

void orr_reference_layernorm_backward(const double *x, const double *w, const double *dy, gsize n,
                                      double *ret_dx) {
  const double mean = mean_of(x, n), sd = deviation(x, n, mean);
  double g = 0, gh = 0;
  for (gsize i = 0; i < n; i++) g += dy[i] * w[i], gh += dy[i] * w[i] * (x[i] - mean) / sd;
  g /= (double)n, gh /= (double)n;
  for (gsize i = 0; i < n; i++) ret_dx[i] = (dy[i] * w[i] - g - (x[i] - mean) / sd * gh) / sd;
}

void orr_reference_norm_stats(const double *x, gsize n, gboolean is_layer, double *ret_mean,
                              double *ret_r) {
  *ret_mean = is_layer ? mean_of(x, n) : 0;
  *ret_r = 1 / deviation(x, n, *ret_mean);
}

void orr_reference_norm_weight(const double *x, const double *dy, const double *mean,
                               const double *r, gsize n, double *ret_dw, double *ret_db,
                               double *ret_scale) {
  double dw = 0, db = 0, squares = 0;
  for (gsize i = 0; i < n; i++) {
    const double term = dy[i] * (x[i] - mean[i]) * r[i];
    dw += term, db += dy[i], squares += term * term;
  }
  *ret_dw = dw, *ret_db = db, *ret_scale = sqrt(squares);
}

/* --- Elementwise, softmax --- */

enum { PARTS = 8 };

double orr_reference_part(OrrFormat format, gint64 rank) {
  return format == ORR_FORMAT_E4M3 ? rank < PARTS : (double)(rank % PARTS) - (PARTS - 1) / 2.0;
}

double orr_reference_parts(OrrFormat format, gint64 n_ranks) {
  double sum = 0;
  for (gint64 rank = 0; rank < n_ranks; rank++) sum += orr_reference_part(format, rank);
  return sum;
}

double orr_reference_gelu(double x) { return 0.5 * x * (1 + erf(x / sqrt(2))); }

double orr_reference_silu(double x) { return x / (1 + exp(-x)); }

static double max_of(const double *x, gsize n) {
  double max = -INFINITY;
  for (gsize i = 0; i < n; i++) max = fmax(max, x[i]);
  return max;
}

void orr_reference_cross_entropy(const double *x, gsize n, gsize target, double *ret_dx) {
  const double max = max_of(x, n);
  double sum = 0;
  for (gsize i = 0; i < n; i++) sum += exp(x[i] - max);
  for (gsize i = 0; i < n; i++) ret_dx[i] = exp(x[i] - max) / sum - (i == target);
}

/* softmax(scale q k^T). Newly allocated. */
static double *attention_weights(const double *q, const double *k, gsize n_seen, gsize dim,
                                 double scale) {
  double *weights = g_new(double, n_seen), sum = 0;
  for (gsize j = 0; j < n_seen; j++)
    weights[j] = scale * (double)dim * mean_product(q, k + j * dim, dim);
  const double max = max_of(weights, n_seen);
  for (gsize j = 0; j < n_seen; j++) sum += weights[j] = exp(weights[j] - max);
  for (gsize j = 0; j < n_seen; j++) weights[j] /= sum;
  return weights;
}

void orr_reference_attention(const double *q, const double *k, const double *v, gsize n_seen,
                             gsize dim, gsize v_dim, double scale, double *ret_out) {
  g_autofree double *weights = attention_weights(q, k, n_seen, dim, scale);
  for (gsize d = 0; d < v_dim; d++) ret_out[d] = 0;
  for (gsize j = 0; j < n_seen; j++)
    for (gsize d = 0; d < v_dim; d++) ret_out[d] += weights[j] * v[j * v_dim + d];
}

void orr_reference_attention_dq(const double *q, const double *k, const double *v,
                                const double *d_out, gsize n_seen, gsize dim, gsize v_dim,
                                double scale, double *ret_dq) {
  g_autofree double *weights = attention_weights(q, k, n_seen, dim, scale),
                    *dp = g_new(double, n_seen);
  double mean = 0;
  for (gsize j = 0; j < n_seen; j++) {
    dp[j] = (double)v_dim * mean_product(d_out, v + j * v_dim, v_dim);
    mean += weights[j] * dp[j];
  }
  for (gsize d = 0; d < dim; d++) ret_dq[d] = 0;
  for (gsize j = 0; j < n_seen; j++)
    for (gsize d = 0; d < dim; d++)
      ret_dq[d] += scale * weights[j] * (dp[j] - mean) * k[j * dim + d];
}

static double dot(const double *a, const double *b, gsize n) {
  return (double)n * mean_product(a, b, n);
}

double orr_reference_attention_stat(const double *q, const double *k, gsize n_seen, gsize dim,
                                    double scale) {
  g_autofree double *scores = g_new(double, n_seen);
  double sum = 0;
  for (gsize j = 0; j < n_seen; j++) scores[j] = scale * dot(q, k + j * dim, dim);
  const double max = max_of(scores, n_seen);
  for (gsize j = 0; j < n_seen; j++) sum += exp(scores[j] - max);
  return max + log(sum);
}

void orr_reference_attention_dkv(const double *q, const double *d_out, const double *out,
                                 const double *stats, gsize n_rows, const double *k,
                                 const double *v, gsize dim, gsize v_dim, double scale, double *dk,
                                 double *dv) {
  for (gsize i = 0; i < n_rows; i++) {
    const double *qi = q + i * dim, *di = d_out + i * v_dim;
    const double p = exp(scale * dot(qi, k, dim) - stats[i]);
    const double ds = scale * p * (dot(di, v, v_dim) - dot(di, out + i * v_dim, v_dim));
    for (gsize d = 0; d < v_dim; d++) dv[d] += p * di[d];
    for (gsize d = 0; d < dim; d++) dk[d] += ds * qi[d];
  }
}

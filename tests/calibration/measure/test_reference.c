/*
 * test_reference.c - the references themselves: formats bit by bit, backward passes against
 * differences.
 */
#include <math.h>
#include <string.h>

#include "calibration/measure/reference.h"

static double decode16(OrrFormat format, guint16 bits) {
  return orr_format_decode(format, &bits, 0);
}
static double decode8(OrrFormat format, guint8 bits, gsize index) {
  return orr_format_decode(format, &bits, index);
}

static void test_formats(void) {
  const float values[] = {0.0f, -1.5f, 3.25e-3f};
  g_assert_cmpfloat(orr_format_decode(ORR_FORMAT_FP32, values, 1), ==, -1.5);
  g_assert_cmpfloat(decode16(ORR_FORMAT_FP16, 0x3c00), ==, 1);
  g_assert_cmpfloat(decode16(ORR_FORMAT_FP16, 0xc248), ==, -3.140625);
  g_assert_cmpfloat(decode16(ORR_FORMAT_FP16, 0x0001), ==, ldexp(1, -24)); /* smallest subnormal */
  g_assert_cmpfloat(decode16(ORR_FORMAT_FP16, 0x7bff), ==, 65504);
  g_assert_true(isinf(decode16(ORR_FORMAT_FP16, 0x7c00)) &&
                isnan(decode16(ORR_FORMAT_FP16, 0x7c01)));
  g_assert_cmpfloat(decode16(ORR_FORMAT_BF16, 0x3f80), ==, 1);
  g_assert_cmpfloat(decode16(ORR_FORMAT_BF16, 0xc049), ==, -3.140625);
  /* OCP FP8 1.0, table 1: e4m3's largest 448 = S.1111.110, smallest normal 2^-6, smallest
   * subnormal 2^-9 */
  g_assert_cmpfloat(decode8(ORR_FORMAT_E4M3, 0x7e, 0), ==, 448);
  g_assert_cmpfloat(decode8(ORR_FORMAT_E4M3, 0x08, 0), ==, ldexp(1, -6));
  g_assert_cmpfloat(decode8(ORR_FORMAT_E4M3, 0x81, 0), ==, -ldexp(1, -9));
  g_assert_cmpfloat(decode8(ORR_FORMAT_E4M3, 0x38, 0), ==, 1); /* what cuda_gemm.c sets scales to */
  g_assert_true(isnan(decode8(ORR_FORMAT_E4M3, 0x7f, 0)));
  static const double e2m1[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
  for (guint8 i = 0; i < 8; i++) {
    g_assert_cmpfloat(decode8(ORR_FORMAT_E2M1, i, 0), ==, e2m1[i]);
    g_assert_cmpfloat(decode8(ORR_FORMAT_E2M1, (guint8)((i | 8) << 4), 1), ==,
                      -e2m1[i]); /* the upper nibble */
  }
  g_assert_cmpuint(orr_format_bytes(ORR_FORMAT_E2M1, 33), ==, 17);
}

/* (1, 2, 3) . (4, -5, 6) = 4 - 10 + 18 */
enum { N = 7 };
static const double x[N] = {0.3, -1.1, 0.7, 2.0, -0.4, 0.05, -0.9},
                    w[N] = {1.2, -0.7, 0.4, 0.9, -1.5, 0.2, 0.8};
static const double b[N] = {0.1, 0.2, -0.3, 0.4, -0.5, 0.6, -0.7},
                    dy[N] = {0.5, 0.25, -1.0, 0.7, 0.3, -0.6, 0.9};

/* The loss whose gradient by y is dy. */
static double norm_loss(const double *at, gboolean is_layer) {
  double y[N], loss = 0;
  if (is_layer)
    orr_reference_layernorm(at, w, b, N, y);
  else
    orr_reference_rmsnorm(at, w, N, y);
  for (int i = 0; i < N; i++) loss += y[i] * dy[i];
  return loss;
}

/* Central differences of step 1e-5 are right to its square. */
static void check_norm(gboolean is_layer) {
  double dx[N];
  if (is_layer)
    orr_reference_layernorm_backward(x, w, dy, N, dx);
  else
    orr_reference_rmsnorm_backward(x, w, dy, N, dx);
  for (int i = 0; i < N; i++) {
    double up[N], down[N];
    memcpy(up, x, sizeof x);
    memcpy(down, x, sizeof x);
    up[i] += 1e-5, down[i] -= 1e-5;
    g_assert_cmpfloat_with_epsilon(
        dx[i], (norm_loss(up, is_layer) - norm_loss(down, is_layer)) / 2e-5, 1e-8);
  }
}

static void test_norms(void) {
  check_norm(FALSE);
  check_norm(TRUE);
  /* rms of (3, 4, 0, 0) is 2.5 (the 1e-5 beside 6.25 is 8e-7 of it) */
  double y[4];
  orr_reference_rmsnorm((double[]){3, 4, 0, 0}, (double[]){1, 2, 1, 1}, 4, y);
  g_assert_cmpfloat_with_epsilon(y[0], 1.2, 1e-5);
  g_assert_cmpfloat_with_epsilon(y[1], 3.2, 1e-5);
}

static void test_elementwise(void) {
  g_assert_cmpfloat_with_epsilon(orr_reference_gelu(1), 0.8413447460685429, 1e-12); /* Phi(1) */
  g_assert_cmpfloat_with_epsilon(orr_reference_silu(1), 1 / (1 + exp(-1)), 1e-15);
}

/* Logits (0, log 3): softmax (1/4, 3/4). */
static void test_cross_entropy(void) {
  double dx[2];
  orr_reference_cross_entropy((double[]){0, log(3)}, 2, 1, dx);
  g_assert_cmpfloat_with_epsilon(dx[0], 0.25, 1e-12);
  g_assert_cmpfloat_with_epsilon(dx[1], -0.25, 1e-12);
}

/* q . k = (0, log 3) at scale 1: weights (1/4, 3/4) of v = (4, 0), (0, 8). A third key is behind
 * the mask. */
static void test_attention(void) {
  double out[2];
  const double k[] = {0, 0, log(3), 0, 99, 99}, v[] = {4, 0, 0, 8, 1e9, 1e9};
  orr_reference_attention((double[]){1, 0}, k, v, 2, 2, 2, 1, out);
  g_assert_cmpfloat_with_epsilon(out[0], 1, 1e-12);
  g_assert_cmpfloat_with_epsilon(out[1], 6, 1e-12);
}

/* The gradient by q against central differences of loss = out . d_out. */
static void test_attention_gradient(void) {
  const double k[] = {0.3, -1, 0.7, 0.2, -0.5, 0.9}, v[] = {1, 2, 3, -1, 0.5, -2, 0.1, 0.2, -0.3},
               d_out[] = {0.4, -0.6, 0.8};
  const double q[] = {0.9, -0.2};
  double dq[2];
  orr_reference_attention_dq(q, k, v, d_out, 3, 2, 3, 0.7, dq);
  for (int i = 0; i < 2; i++) {
    double loss[2] = {0, 0}, out[3];
    for (int side = 0; side < 2; side++) {
      double at[2] = {q[0], q[1]};
      at[i] += side ? 1e-5 : -1e-5;
      orr_reference_attention(at, k, v, 3, 2, 3, 0.7, out);
      for (int d = 0; d < 3; d++) loss[side] += out[d] * d_out[d];
    }
    g_assert_cmpfloat_with_epsilon(dq[i], (loss[1] - loss[0]) / 2e-5, 1e-9);
  }
}

/* Four queries of three keys, all seen: the gradients by each key and its value against central
 * differences of the loss, the sum of out . d_out; from the stats and outputs that a forward
 * pass leaves. */
enum { Q_ROWS = 4, KEYS = 3, DIM = 2, V_DIM = 3 };
static const double queries[Q_ROWS * DIM] = {0.9, -0.2, 0.1, 0.8, -0.7, 0.3, 0.5, 0.5};
static const double d_outs[Q_ROWS * V_DIM] = {0.4,  -0.6, 0.8, 1,   0.2,  -0.1,
                                              -0.3, 0.9,  0.5, 0.7, -0.8, 0.6};

static double attention_loss(const double *k, const double *v) {
  double loss = 0, out[V_DIM];
  for (int i = 0; i < Q_ROWS; i++) {
    orr_reference_attention(queries + i * DIM, k, v, KEYS, DIM, V_DIM, 0.7, out);
    for (int d = 0; d < V_DIM; d++) loss += out[d] * d_outs[i * V_DIM + d];
  }
  return loss;
}

static double slope(double *keys, double *values, double *at) {
  const double old = *at;
  *at = old + 1e-5;
  const double up = attention_loss(keys, values);
  *at = old - 1e-5;
  const double down = attention_loss(keys, values);
  *at = old;
  return (up - down) / 2e-5;
}

static void test_attention_key_gradients(void) {
  double k[] = {0.3, -1, 0.7, 0.2, -0.5, 0.9}, v[] = {1, 2, 3, -1, 0.5, -2, 0.1, 0.2, -0.3};
  double out[Q_ROWS * V_DIM], stats[Q_ROWS];
  for (int i = 0; i < Q_ROWS; i++) {
    orr_reference_attention(queries + i * DIM, k, v, KEYS, DIM, V_DIM, 0.7, out + i * V_DIM);
    stats[i] = orr_reference_attention_stat(queries + i * DIM, k, KEYS, DIM, 0.7);
  }
  for (int j = 0; j < KEYS; j++) {
    double dk[DIM] = {0}, dv[V_DIM] = {0};
    orr_reference_attention_dkv(queries, d_outs, out, stats, Q_ROWS, k + j * DIM, v + j * V_DIM,
                                DIM, V_DIM, 0.7, dk, dv);
    for (int d = 0; d < DIM; d++)
      g_assert_cmpfloat_with_epsilon(dk[d], slope(k, v, &k[j * DIM + d]), 1e-8);
    for (int d = 0; d < V_DIM; d++)
      g_assert_cmpfloat_with_epsilon(dv[d], slope(k, v, &v[j * V_DIM + d]), 1e-8);
  }
}

/* Keys with q . k = (0, log 3): the sum of exponentials is 4. */
static void test_attention_stat(void) {
  const double k[] = {0, 0, log(3), 0};
  g_assert_cmpfloat_with_epsilon(orr_reference_attention_stat((double[]){1, 0}, k, 2, 2, 1), log(4),
                                 1e-12);
}

/* A column's gradients against central differences of the loss, sum of y . dy over two rows of
 * three, by the weight and the bias of column 1. */
static void check_norm_weight(gboolean is_layer) {
  const double in[2][3] = {{0.5, -1.5, 2}, {1, 0.25, -0.75}},
               d_out[2][3] = {{1, 0.5, -2}, {0.3, -0.7, 0.9}};
  double mean[2], r[2], columns[2][2] = {{in[0][1], in[1][1]}, {d_out[0][1], d_out[1][1]}}, dw, db,
                        scale, loss[2] = {0, 0};
  for (int row = 0; row < 2; row++)
    orr_reference_norm_stats(in[row], 3, is_layer, &mean[row], &r[row]);
  orr_reference_norm_weight(columns[0], columns[1], mean, r, 2, &dw, &db, &scale);
  for (int side = 0; side < 2; side++)
    for (int row = 0; row < 2; row++) {
      double weight[3] = {0.9, 1.1 + (side ? 1e-5 : -1e-5), 1.2}, bias[3] = {0, 0, 0}, y[3];
      if (is_layer)
        orr_reference_layernorm(in[row], weight, bias, 3, y);
      else
        orr_reference_rmsnorm(in[row], weight, 3, y);
      for (int i = 0; i < 3; i++) loss[side] += y[i] * d_out[row][i];
    }
  g_assert_cmpfloat_with_epsilon(dw, (loss[1] - loss[0]) / 2e-5, 1e-8);
  g_assert_cmpfloat_with_epsilon(db, 0.5 - 0.7, 1e-12);
  g_assert_cmpfloat(scale, >=, fabs(dw) / sqrt(2)); /* Cauchy and Schwarz, two terms */
}

static void test_norm_weights(void) {
  check_norm_weight(FALSE);
  check_norm_weight(TRUE);
}

/* e5m2 is the upper byte of a half: 1 is 0x3c, 0.25 0x34, -3 0xc2, the largest 57344 0x7b,
 * infinity 0x7c, the smallest 2^-16 0x01. */
static void test_e5m2(void) {
  const guint8 bytes[] = {0x3c, 0x34, 0xc2, 0x7b, 0x7c, 0x01, 0x7d};
  const double wanted[] = {1, 0.25, -3, 57344, INFINITY, 0x1p-16};
  for (guint i = 0; i < G_N_ELEMENTS(wanted); i++)
    g_assert_cmpfloat(orr_format_decode(ORR_FORMAT_E5M2, bytes, i), ==, wanted[i]);
  g_assert_true(isnan(orr_format_decode(ORR_FORMAT_E5M2, bytes, 6)));
  g_assert_cmpuint(orr_format_bytes(ORR_FORMAT_E5M2, 7), ==, 7);
}

/* @value rounded to @bits of fraction, as a sum in fp16 (10) or bf16 (7) is. */
static double rounded(double value, int bits) {
  int exponent;
  if (value == 0) return 0;
  (void)frexp(value, &exponent);
  return ldexp(rint(ldexp(value, bits + 1 - exponent)), exponent - bits - 1);
}

/* Rings add one rank after another, from any rank on, and round each time: the check's values add
 * up exactly for any number of ranks. r + 1, for comparison, passes fp16's range from 362 ranks on
 * and is more than 4 % off in bf16 from 256 on. */
static void test_parts(void) {
  static const struct {
    OrrFormat format;
    int bits;
  } cases[] = {{ORR_FORMAT_FP16, 10}, {ORR_FORMAT_BF16, 7}};
  for (guint c = 0; c < G_N_ELEMENTS(cases); c++)
    for (gint64 n = 2; n <= 4096; n += n < 600 ? 1 : 509)
      for (gint64 first = 0; first < 8; first++) {
        double sum = 0;
        for (gint64 i = 0; i < n; i++) {
          const double part = orr_reference_part(cases[c].format, (first + i) % n);
          g_assert_cmpfloat(part, !=, 0);
          sum = rounded(sum + part, cases[c].bits);
        }
        g_assert_cmpfloat(sum, ==, orr_reference_parts(cases[c].format, n));
      }
  g_assert_cmpfloat(orr_reference_parts(ORR_FORMAT_E4M3, 1000), ==, 8);
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/measure/reference/formats", test_formats);
  g_test_add_func("/measure/reference/norms", test_norms);
  g_test_add_func("/measure/reference/elementwise", test_elementwise);
  g_test_add_func("/measure/reference/cross-entropy", test_cross_entropy);
  g_test_add_func("/measure/reference/attention", test_attention);
  g_test_add_func("/measure/reference/attention-gradient", test_attention_gradient);
  g_test_add_func("/measure/reference/attention-key-gradients", test_attention_key_gradients);
  g_test_add_func("/measure/reference/attention-stat", test_attention_stat);
  g_test_add_func("/measure/reference/norm-weights", test_norm_weights);
  g_test_add_func("/measure/reference/e5m2", test_e5m2);
  g_test_add_func("/measure/reference/parts", test_parts);
  return g_test_run();
}

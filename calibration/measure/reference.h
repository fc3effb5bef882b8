/*
 * reference.h - double-precision references that measured kernels are verified against, on host
 * memory.
 *
 * Formats are the device's: IEEE binary32 and binary16, bfloat16, e4m3 (OCP FP8 1.0: bias 7,
 * no infinity, 0x7f is NaN), e5m2 (the same: bias 15, infinities and NaN as IEEE has them), e2m1
 * (OCP MX 1.0: 0, 0.5, 1, 1.5, 2, 3, 4, 6 and their negatives; two elements a byte, the lower
 * nibble first).
 */
#pragma once

#include "sim/base/ground.h"

typedef enum {
  ORR_FORMAT_FP32,
  ORR_FORMAT_FP16,
  ORR_FORMAT_BF16,
  ORR_FORMAT_E4M3,
  ORR_FORMAT_E2M1,
  ORR_FORMAT_E5M2
} OrrFormat;

/* Bytes of @n elements. */
gsize orr_format_bytes(OrrFormat format, gsize n);

/* Element @index of @data. */
double orr_format_decode(OrrFormat format, const void *data, gsize index);

/* Largest error that a result in @format may have, relative to the scale of its sum: a few units
 * in the last place, and for the 8 and 4-bit operands what their tensor cores' shorter
 * accumulators lose. */
double orr_format_limit(OrrFormat format);

/* Of a row: its mean (0 where not @is_layer) and 1 / sqrt(mean((x - mean)^2) + 1e-5), as a
 * backward norm keeps them. */
void orr_reference_norm_stats(const double *x, gsize n, gboolean is_layer, double *ret_mean,
                              double *ret_r);

/* The gradients of one column's weight and bias over @n rows, from that column of x and dy and the
 * rows' stats: dw = sum of dy (x - mean) r,  db = sum of dy. @ret_scale: the root of dw's sum of
 * squared terms, what rounding is relative to. */
void orr_reference_norm_weight(const double *x, const double *dy, const double *mean,
                               const double *r, gsize n, double *ret_dw, double *ret_db,
                               double *ret_scale);

/* y = x w / rms(x), rms = sqrt(mean(x^2) + 1e-5). */
void orr_reference_rmsnorm(const double *x, const double *w, gsize n, double *ret_y);

/* dx of the above: with r = 1 / rms and g = dy w,  dx = r (g - x r^2 mean(g x)). */
void orr_reference_rmsnorm_backward(const double *x, const double *w, const double *dy, gsize n,
                                    double *ret_dx);

/* y = (x - mean) w / sd + b, sd = sqrt(var + 1e-5). */
void orr_reference_layernorm(const double *x, const double *w, const double *b, gsize n,
                             double *ret_y);

/* dx of the above: with h = (x - mean) / sd and g = dy w,  dx = (g - mean(g) - h mean(g h)) /
 * sd. */
void orr_reference_layernorm_backward(const double *x, const double *w, const double *dy, gsize n,
                                      double *ret_dx);

/* What each element of @rank's operand is while a collective is checked. Numbers of 16 bits and
 * more are rank % 8 - 3.5: none is 0, neighbours differ, eight ranks add up to 0, so sums stay
 * small and exact for any number of ranks, and a missing rank is off by 0.5 or more. Sums of e4m3
 * round from 16 on: 1 on the first eight ranks and 0 on the others. */
double orr_reference_part(OrrFormat format, gint64 rank);
/* Their sum over @n_ranks. */
double orr_reference_parts(OrrFormat format, gint64 n_ranks);

double orr_reference_gelu(double x); /* x Phi(x), by the error function */
double orr_reference_silu(double x); /* x / (1 + exp(-x)) */

/* d loss / d logits of cross-entropy: softmax(x) - [i = target]. */
void orr_reference_cross_entropy(const double *x, gsize n, gsize target, double *ret_dx);

/* One query against the @n_seen keys that no mask hides: softmax(scale q k^T) v. */
void orr_reference_attention(const double *q, const double *k, const double *v, gsize n_seen,
                             gsize dim, gsize v_dim, double scale, double *ret_out);

/* Its gradient by q: with p the weights and dp = d_out v^T,  dq = scale sum over j of p_j (dp_j
 * - sum(p dp)) k_j. */
void orr_reference_attention_dq(const double *q, const double *k, const double *v,
                                const double *d_out, gsize n_seen, gsize dim, gsize v_dim,
                                double scale, double *ret_dq);

/* log(sum over the keys of exp(scale q k^T)): what a forward pass leaves for the backward. */
double orr_reference_attention_stat(const double *q, const double *k, gsize n_seen, gsize dim,
                                    double scale);

/* What @n_rows queries of one head add to the gradients of one key and its value: with p_i =
 * exp(scale q_i k - stat_i) and D_i = sum(d_out_i out_i), dv = sum over i of p_i d_out_i and dk =
 * scale sum over i of p_i (d_out_i v - D_i) q_i. Rows that a mask hides the key from are left to
 * the caller: it passes those alone that see it. Adds to @dk and @dv.
 */
void orr_reference_attention_dkv(const double *q, const double *d_out, const double *out,
                                 const double *stats, gsize n_rows, const double *k,
                                 const double *v, gsize dim, gsize v_dim, double scale, double *dk,
                                 double *dv);

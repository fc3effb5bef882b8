/*
 * expert_draw.c - draws loads by the quantiles of the power law and assigns tokens to experts.
 */
#include "calibration/measure/expert_draw.h"

#include "sim/base/random.h"

static const double EXPONENT = 1.2;

/* Integral of Q from 0 to @u but for a constant: see the header. */
static double integral(double slope, double start, double u) {
  const double power = 1 / (1 - EXPONENT);
  return pow(slope * u + start, power + 1) / ((power + 1) * slope);
}

/* The mean of the law over each of @n equal parts of [0, 1], in falling order, scaled to @total. */
static void make_shares(gint64 tokens, gint64 n, double total, double *ret_shares) {
  const gboolean is_many = total > (double)n;
  const double low = is_many ? 1 : 0.01, high = is_many ? fmax(0.8 * (double)tokens, 1.001) : 2;
  const double start = pow(low, 1 - EXPONENT), slope = pow(high, 1 - EXPONENT) - start;
  const double whole = integral(slope, start, 1) - integral(slope, start, 0);
  for (gint64 i = 0; i < n; i++) {
    const double from = (double)(n - 1 - i) / (double)n, to = (double)(n - i) / (double)n;
    ret_shares[i] = (integral(slope, start, to) - integral(slope, start, from)) / whole * total;
  }
}

/* Rounds running sums, so that whole numbers add up; a load above @tokens passes the rest to the
 * next experts. */
void orr_expert_draw_loads(gint64 tokens, gint64 topk, gint64 n, gint64 *ret_loads) {
  const gint64 total = tokens * topk;
  g_autofree double *shares = g_new(double, n);
  make_shares(tokens, n, (double)total, shares);
  double sum = 0;
  gint64 given = 0;
  for (gint64 i = 0; i < n; i++) {
    sum += shares[i];
    const gint64 left = total - given,
                 after = (n - 1 - i) * tokens; /* the most that the experts after it can take */
    const gint64 wanted = i == n - 1 ? left : (gint64)floor(sum + 0.5) - given;
    ret_loads[i] = CLAMP(wanted, MAX(left - after, 0), MIN(left, tokens));
    given += ret_loads[i];
  }
}

static void shuffle(gint64 *loads, gint64 n, guint64 seed) { /* Fisher, Yates */
  OrrRandom random = orr_random_stream(seed, "experts");
  for (gint64 e = n; e > 1; e--) {
    const gint64 j = (gint64)orr_random_below(&random, (guint64)e), swap = loads[e - 1];
    loads[e - 1] = loads[j];
    loads[j] = swap;
  }
}

static void draw_evenly(gint64 tokens, gint64 topk, gint64 n, gint32 *ret_chosen) {
  const gint64 stride = n / topk;
  for (gint64 t = 0; t < tokens; t++)
    for (gint64 j = 0; j < topk; j++)
      ret_chosen[t * topk + j] =
          (gint32)(((tokens < stride ? t * stride / tokens : t) + j * stride) % n);
}

/* Experts fill the columns of [tokens, topk] one after another. An expert with at most `tokens`
 * choices never meets a token twice, because its choices are adjacent modulo `tokens`. */
void orr_expert_draw(gint64 tokens, gint64 topk, gint64 n, gboolean is_balanced, guint64 seed,
                     gint32 *ret_chosen) {
  if (is_balanced) return draw_evenly(tokens, topk, n, ret_chosen);
  g_autofree gint64 *loads = g_new(gint64, n);
  orr_expert_draw_loads(tokens, topk, n, loads);
  shuffle(loads, n, seed);
  gint64 at = 0;
  for (gint64 e = 0; e < n; e++)
    for (gint64 i = 0; i < loads[e]; i++, at++)
      ret_chosen[at % tokens * topk + at / tokens] = (gint32)e;
}

gint64 orr_expert_draw_fullest(const gint32 *chosen, gint64 n_choices, gint64 n, gint64 per_rank) {
  g_autofree gint64 *counts = g_new0(gint64, n / per_rank + 1);
  gint64 best = 0;
  for (gint64 i = 0; i < n_choices; i++) counts[chosen[i] / per_rank]++;
  for (gint64 rank = 1; rank < n / per_rank; rank++)
    if (counts[rank] > counts[best]) best = rank;
  return best * per_rank;
}

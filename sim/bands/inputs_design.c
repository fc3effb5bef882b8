/*
 * inputs_design.c - the design of the replays: a Latin hypercube of probabilities, the least
 * correlated of several.
 *
 * With few replays, two columns dealt at random have correlations of 1 / sqrt(n - 1), 0.3 for 12:
 * an input that moves nothing would seem to. The best of 64 deals has about a tenth of that for two
 * inputs.
 */
#include "sim/bands/inputs.h"
#include "sim/base/random.h"

enum { MOST_DEALS = 64 };

guint orr_inputs_samples(const OrrScenario *scenario) { return 8 + 2 * scenario->uncertain->len; }

/* Both columns hold 0 to n - 1 once: mean (n - 1) / 2, sum of squares n (n^2 - 1) / 12. */
static double correlation(const guint *values, guint n_inputs, guint n, guint a, guint b) {
  const double mean = (n - 1) / 2.0, squares = n * ((double)n * n - 1) / 12;
  double sum = 0;
  for (guint r = 0; r < n; r++)
    sum += (values[(gsize)r * n_inputs + a] - mean) * (values[(gsize)r * n_inputs + b] - mean);
  return sum / squares;
}

static double worst_correlation(const guint *values, guint n_inputs, guint n) {
  double worst = 0;
  for (guint a = 0; a < n_inputs; a++)
    for (guint b = 0; b < a; b++) worst = fmax(worst, fabs(correlation(values, n_inputs, n, a, b)));
  return worst;
}

double *orr_inputs_design(guint64 seed, guint n_inputs, guint n) {
  OrrRandom random = orr_random_stream(seed, "uncertain inputs");
  const gsize size = (gsize)n * n_inputs;
  g_autofree guint *n_values = g_new(guint, n_inputs), *deal = g_new(guint, size);
  g_autofree guint *best = g_new(guint, size);
  double *probabilities = g_new(double, size), least = INFINITY;
  for (guint i = 0; i < n_inputs; i++) n_values[i] = n;
  for (guint d = 0; d < MOST_DEALS; d++) {
    orr_latin_deal(n_values, n_inputs, n, deal, &random);
    const double worst = worst_correlation(deal, n_inputs, n);
    if (worst >= least) continue;
    least = worst;
    memcpy(best, deal, size * sizeof *best);
  }
  for (gsize k = 0; k < size; k++) probabilities[k] = (best[k] + 0.5) / n;
  return probabilities;
}

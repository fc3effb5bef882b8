/*
 * expert_load.c - the fullest rank's load over drawn placements.
 */
#include "workloads/training/expert_loads/expert_load.h"

#include "sim/base/random.h"

/* Number of random placements: it gives the mean of the fullest rank to about 2 % for loads of
 * experts seen in practice. */
#define DRAWS 256

/* Limits fractions, which sum to 1, to @cap. The excess goes to those below the cap, which may
 * then exceed it in turn. */
static void cap_fractions(double *fractions, gint64 n, double cap) {
  for (gint64 round = 0; round < n; round++) {
    double above = 0, below = 0;
    for (gint64 e = 0; e < n; e++) {
      if (fractions[e] > cap * (1 + 1e-12)) above += fractions[e] - cap;
      if (fractions[e] < cap) below += fractions[e];
    }
    if (above <= 0 || below <= 0) return;
    for (gint64 e = 0; e < n; e++)
      fractions[e] = fractions[e] < cap ? fractions[e] * (1 + above / below) : cap;
  }
}

static void shuffle(OrrRandom *random, double *fractions, gint64 n) {
  for (gint64 i = n - 1; i > 0; i--) {
    const gint64 k = (gint64)orr_random_below(random, (guint64)i + 1);
    const double other = fractions[k];
    fractions[k] = fractions[i];
    fractions[i] = other;
  }
}

static double fullest_sum(const double *fractions, gint64 experts, gint64 ep) {
  double most = 0;
  for (gint64 rank = 0; rank < ep; rank++) {
    double sum = 0;
    for (gint64 e = rank * (experts / ep); e < (rank + 1) * (experts / ep); e++)
      sum += fractions[e];
    most = MAX(most, sum);
  }
  return most;
}

/* The fraction of all pairs that each expert receives. */
static double *fractions_of(const OrrExpertLoadKind *kind, const void *params,
                            const OrrExpertSpread *spread) {
  const gint64 n = spread->experts;
  double *fractions = g_new(double, n), sum = 0;
  kind->loads(params, n, fractions);
  for (gint64 e = 0; e < n; e++) sum += fractions[e];
  for (gint64 e = 0; e < n; e++) fractions[e] /= sum;
  cap_fractions(fractions, n, 1.0 / (double)MAX(1, spread->topk));
  for (gint64 e = 0; e < n && spread->capacity > 0; e++)
    fractions[e] = MIN(fractions[e], spread->capacity / (double)n);
  return fractions;
}

double orr_expert_load_fullest(const OrrChoice *choice, const OrrExpertSpread *spread,
                               guint64 seed) {
  const OrrExpertLoadKind *kind = choice ? (const OrrExpertLoadKind *)choice->entry : NULL;
  const gint64 experts = spread->experts, ep = MAX(1, spread->ep);
  if (!kind || experts == 0 || experts % ep != 0 || (ep == 1 && !(spread->capacity > 0))) return 1;
  g_autofree double *fractions = fractions_of(kind, choice->params, spread);
  OrrRandom random = orr_random_stream(seed, "expert-load");
  double fullest = 0;
  for (guint draw = 0; draw < DRAWS; draw++) {
    shuffle(&random, fractions, experts);
    fullest += fullest_sum(fractions, experts, ep) / DRAWS;
  }
  return fullest * (double)ep;
}

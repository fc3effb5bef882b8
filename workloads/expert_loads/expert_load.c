/*
 * expert_load.c - the fullest rank's load over drawn placements.
 */
#include "workloads/expert_loads/expert_load.h"

#include "sim/base/random.h"

/* Number of random placements: it gives the mean of the fullest rank to about 2 % for loads of
 * experts seen in practice. */
#define DRAWS 256

/* Limits fractions, which sum to 1, to @cap. The excess goes to those below the cap, in proportion
 * or, where all of them are 0, evenly; they may then exceed the cap in turn. */
static void cap_fractions(double *fractions, gint64 n, double cap) {
  for (gint64 round = 0; round < n; round++) {
    double above = 0, below = 0;
    gint64 n_below = 0;
    for (gint64 e = 0; e < n; e++) {
      if (fractions[e] > cap * (1 + 1e-12)) above += fractions[e] - cap;
      if (fractions[e] >= cap) continue;
      below += fractions[e];
      n_below++;
    }
    if (above <= 0 || n_below == 0) return;
    for (gint64 e = 0; e < n; e++)
      fractions[e] = fractions[e] >= cap ? cap
                     : below > 0         ? fractions[e] * (1 + above / below)
                                         : above / (double)n_below;
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

/* The tokens of each of @n slots, from the experts' @fractions. Newly allocated. */
static double *replicate(const double *fractions, gint64 experts, gint64 n) {
  double *slots = g_new(double, n);
  g_autofree gint64 *copies = g_new(gint64, experts);
  gint64 filled = 0;
  for (gint64 e = 0; e < experts; e++) copies[e] = 1;
  for (gint64 slot = experts; slot < n; slot++) {
    gint64 most = 0;
    for (gint64 e = 1; e < experts; e++)
      if (fractions[e] / (double)copies[e] > fractions[most] / (double)copies[most]) most = e;
    copies[most]++;
  }
  for (gint64 e = 0; e < experts; e++)
    for (gint64 copy = 0; copy < copies[e]; copy++)
      slots[filled++] = fractions[e] / (double)copies[e];
  return slots;
}

static int by_size(gconstpointer a, gconstpointer b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return x < y ? 1 : x > y ? -1 : 0;
}

/* The largest slot first, each to the emptiest rank that has room. */
static double packed_most(double *slots, gint64 n, gint64 ep) {
  g_autofree double *sums = g_new0(double, ep);
  g_autofree gint64 *held = g_new0(gint64, ep);
  double most = 0;
  qsort(slots, (gsize)n, sizeof *slots, by_size);
  for (gint64 slot = 0; slot < n; slot++) {
    gint64 to = -1;
    for (gint64 rank = 0; rank < ep; rank++)
      if (held[rank] < n / ep && (to < 0 || sums[rank] < sums[to])) to = rank;
    held[to]++;
    sums[to] += slots[slot];
    most = MAX(most, sums[to]);
  }
  return most;
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
  const gint64 experts = spread->experts, ep = MAX(1, spread->ep), n = experts + spread->redundant;
  if (!kind || experts == 0 || n % ep != 0 || (ep == 1 && !(spread->capacity > 0))) return 1;
  g_autofree double *fractions = fractions_of(kind, choice->params, spread);
  g_autofree double *slots = replicate(fractions, experts, n);
  if (spread->packed) return packed_most(slots, n, ep) * (double)ep;
  OrrRandom random = orr_random_stream(seed, "expert-load");
  double fullest = 0;
  for (guint draw = 0; draw < DRAWS; draw++) {
    shuffle(&random, slots, n);
    fullest += fullest_sum(slots, n, ep) / DRAWS;
  }
  return fullest * (double)ep;
}

#include "workloads/training/expert_loads/expert_load.h"

#include "sim/base/random.h"

/* Alphabetical. To add one, see expert_load.h. */
static const OrrEntry *const entries[] = {&orr_expert_load_balanced.entry,
                                          &orr_expert_load_histogram.entry,
                                          &orr_expert_load_zipf.entry, NULL};
const OrrRegistry orr_expert_load_registry = {"expert-load", entries};

/* Number of random placements: it gives the mean of the fullest rank to about 2 % for loads of
 * experts seen in practice. */
#define DRAWS 256

/* Limits fractions, which sum to 1, to @cap. The excess goes to those below the cap, which may
 * then exceed it in turn. */
static void cap_shares(double *shares, gint64 n, double cap) {
  for (gint64 round = 0; round < n; round++) {
    double above = 0, below = 0;
    for (gint64 e = 0; e < n; e++) {
      if (shares[e] > cap * (1 + 1e-12)) above += shares[e] - cap;
      if (shares[e] < cap) below += shares[e];
    }
    if (above <= 0 || below <= 0) return;
    for (gint64 e = 0; e < n; e++)
      shares[e] = shares[e] < cap ? shares[e] * (1 + above / below) : cap;
  }
}

static void shuffle(OrrRandom *random, double *shares, gint64 n) {
  for (gint64 i = n - 1; i > 0; i--) {
    const gint64 k = (gint64)orr_random_below(random, (guint64)i + 1);
    const double other = shares[k];
    shares[k] = shares[i];
    shares[i] = other;
  }
}

static double fullest_sum(const double *shares, gint64 experts, gint64 ep) {
  double most = 0;
  for (gint64 rank = 0; rank < ep; rank++) {
    double sum = 0;
    for (gint64 e = rank * (experts / ep); e < (rank + 1) * (experts / ep); e++) sum += shares[e];
    most = MAX(most, sum);
  }
  return most;
}

/* The fraction of all pairs that each expert receives. */
static double *shares_of(const OrrExpertLoadKind *kind, const void *params,
                         const OrrExpertSpread *spread) {
  const gint64 n = spread->experts;
  double *shares = g_new(double, n), sum = 0;
  kind->loads(params, n, shares);
  for (gint64 e = 0; e < n; e++) sum += shares[e];
  for (gint64 e = 0; e < n; e++) shares[e] /= sum;
  cap_shares(shares, n, 1.0 / (double)MAX(1, spread->topk));
  for (gint64 e = 0; e < n && spread->capacity > 0; e++)
    shares[e] = MIN(shares[e], spread->capacity / (double)n);
  return shares;
}

double orr_expert_load_fullest(const OrrChoice *choice, const OrrExpertSpread *spread,
                               guint64 seed) {
  const OrrExpertLoadKind *kind = choice ? (const OrrExpertLoadKind *)choice->entry : NULL;
  const gint64 experts = spread->experts, ep = MAX(1, spread->ep);
  if (!kind || experts == 0 || experts % ep != 0 || (ep == 1 && !(spread->capacity > 0))) return 1;
  g_autofree double *shares = shares_of(kind, choice->params, spread);
  OrrRandom random = orr_random_stream(seed, "expert-load");
  double fullest = 0;
  for (guint draw = 0; draw < DRAWS; draw++) {
    shuffle(&random, shares, experts);
    fullest += fullest_sum(shares, experts, ep) / DRAWS;
  }
  return fullest * (double)ep;
}

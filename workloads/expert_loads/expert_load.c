/*
 * expert_load.c - the fullest rank's load over drawn placements.
 */
#include "workloads/expert_loads/expert_load.h"

#include "sim/base/random.h"

/* Number of random placements: it gives the mean of the fullest rank to about 2 % for loads of
 * experts seen in practice. */
#define DRAWS 256

enum { AGES = 8 }; /* of a plan, at which it is asked; each in a share of the draws */

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

typedef struct {
  double load; /* as the plan knows it */
  double now;
  gint64 expert;
} Slot;

static void shuffle(OrrRandom *random, Slot *slots, gint64 n) {
  for (gint64 i = n - 1; i > 0; i--) {
    const gint64 k = (gint64)orr_random_below(random, (guint64)i + 1);
    const Slot other = slots[k];
    slots[k] = slots[i];
    slots[i] = other;
  }
}

/* The tokens of each of @n slots, from the experts' @fractions as a plan knows them; @now: the
 * present ones. Newly allocated. */
static Slot *replicate(const double *fractions, const double *now, gint64 experts, gint64 n) {
  Slot *slots = g_new(Slot, n);
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
      slots[filled++] = (Slot){fractions[e] / (double)copies[e], now[e] / (double)copies[e], e};
  return slots;
}

ORR_MOST_FIRST(by_size, Slot, load)

/* The largest slot first, each to the emptiest rank that has room. Returns what the fullest rank
 * has now; @ret_ranks (NULL is fine): of each slot, sorted. */
static double packed_most(Slot *slots, gint64 n, gint64 ep, gint64 *ret_ranks) {
  g_autofree double *sums = g_new0(double, ep), *now = g_new0(double, ep);
  g_autofree gint64 *held = g_new0(gint64, ep);
  double most = 0;
  qsort(slots, (gsize)n, sizeof *slots, by_size);
  for (gint64 slot = 0; slot < n; slot++) {
    gint64 to = -1;
    for (gint64 rank = 0; rank < ep; rank++)
      if (held[rank] < n / ep && (to < 0 || sums[rank] < sums[to])) to = rank;
    held[to]++;
    sums[to] += slots[slot].load;
    now[to] += slots[slot].now;
    most = MAX(most, now[to]);
    if (ret_ranks) ret_ranks[slot] = to;
  }
  return most;
}

static double fullest_sum(const Slot *slots, gint64 experts, gint64 ep) {
  double most = 0;
  for (gint64 rank = 0; rank < ep; rank++) {
    double sum = 0;
    for (gint64 e = rank * (experts / ep); e < (rank + 1) * (experts / ep); e++)
      sum += slots[e].load;
    most = MAX(most, sum);
  }
  return most;
}

/* The fraction of all pairs that each expert receives. */
static double *fractions_of(const OrrExpertLoadKind *kind, const void *params, guint layer,
                            const OrrExpertSpread *spread) {
  const gint64 n = spread->experts;
  double *fractions = g_new(double, n), sum = 0;
  kind->loads(params, n, layer, fractions);
  for (gint64 e = 0; e < n; e++) sum += fractions[e];
  for (gint64 e = 0; e < n; e++) fractions[e] /= sum;
  cap_fractions(fractions, n, 1.0 / (double)MAX(1, spread->topk));
  for (gint64 e = 0; e < n && spread->capacity > 0; e++)
    fractions[e] = MIN(fractions[e], spread->capacity / (double)n);
  return fractions;
}

/* --- Drift --- */

typedef struct {
  double key;
  gint64 expert;
} Rank;

ORR_MOST_FIRST(by_key, Rank, key)

static int by_number(gconstpointer a, gconstpointer b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return x < y ? 1 : x > y ? -1 : 0;
}

/* Gives the expert with the largest of @keys the first of @sorted, and so on. */
static void deal(const double *keys, const double *sorted, gint64 n, double *ret_fractions) {
  g_autofree Rank *ranks = g_new(Rank, n);
  for (gint64 e = 0; e < n; e++) ranks[e] = (Rank){keys[e], e};
  qsort(ranks, (gsize)n, sizeof *ranks, by_key);
  for (gint64 e = 0; e < n; e++) ret_fractions[ranks[e].expert] = sorted[e];
}

/* The experts' fractions when a plan is made, and @correlation later. */
typedef struct {
  double *then, *now;
} Drift;

static Drift drift_of(OrrRandom *random, const double *sorted, gint64 n, double correlation) {
  const Drift drift = {g_new(double, n), g_new(double, n)};
  g_autofree double *x = g_new(double, n), *y = g_new(double, n);
  for (gint64 e = 0; e < n; e++) {
    x[e] = orr_random_normal(random);
    y[e] = correlation * x[e] +
           sqrt(fmax(0, 1 - correlation * correlation)) * orr_random_normal(random);
  }
  deal(x, sorted, n, drift.then);
  deal(y, sorted, n, drift.now);
  return drift;
}

static void drift_clear(Drift *drift) { ORR_FREE(drift->then, drift->now); }

static double aged_most(const double *sorted, const OrrExpertSpread *spread, OrrRandom *random) {
  const gint64 experts = spread->experts, n = experts + spread->redundant;
  double most = 0;
  for (guint draw = 0; draw < DRAWS; draw++) {
    const double age = spread->aging * ((double)(draw % AGES) + 0.5) / AGES;
    Drift drift = drift_of(random, sorted, experts, exp(-age));
    g_autofree Slot *slots = replicate(drift.then, drift.now, experts, n);
    most += packed_most(slots, n, spread->ep, NULL) / DRAWS;
    drift_clear(&drift);
  }
  return most;
}

/* Whether a plan of @n slots gives @rank a copy of @expert. */
static gboolean holds(const Slot *slots, const gint64 *ranks, gint64 n, gint64 rank,
                      gint64 expert) {
  for (gint64 slot = 0; slot < n; slot++)
    if (ranks[slot] == rank && slots[slot].expert == expert) return TRUE;
  return FALSE;
}

/* Slots of the second plan whose rank did not hold their expert in the first: most of a rank. */
static gint64 most_moved(const Slot *first, const gint64 *from, const Slot *second,
                         const gint64 *to, gint64 n, gint64 ep) {
  g_autofree gint64 *moved = g_new0(gint64, ep);
  gint64 most = 0;
  for (gint64 slot = 0; slot < n; slot++) {
    if (holds(first, from, n, to[slot], second[slot].expert)) continue;
    moved[to[slot]]++;
    most = MAX(most, moved[to[slot]]);
  }
  return most;
}

/* --- Answers --- */

static gboolean are_equal(const Slot *slots, gint64 n) {
  for (gint64 i = 1; i < n; i++)
    if (slots[i].load != slots[0].load) return FALSE;
  return TRUE;
}

/* The mean of the fullest rank over placements. Where all slots are equal, so are all placements;
 * but later layers go on with the random numbers (@is_last: there are none). */
static double mean_of_draws(Slot *slots, gint64 n, gint64 ep, gboolean is_last, OrrRandom *random) {
  const gboolean is_even = is_last && are_equal(slots, n);
  double fullest = 0, one = fullest_sum(slots, n, ep);
  for (guint draw = 0; draw < DRAWS; draw++) {
    if (!is_even) {
      shuffle(random, slots, n);
      one = fullest_sum(slots, n, ep);
    }
    fullest += one / DRAWS;
  }
  return fullest;
}

static double fullest_of_layer(const OrrExpertLoadKind *kind, const void *params, guint layer,
                               gboolean is_last, const OrrExpertSpread *spread, OrrRandom *random) {
  const gint64 ep = MAX(1, spread->ep), n = spread->experts + spread->redundant;
  g_autofree double *fractions = fractions_of(kind, params, layer, spread);
  if (spread->packed && spread->aging > 0) {
    qsort(fractions, (gsize)spread->experts, sizeof *fractions, by_number);
    return aged_most(fractions, spread, random) * (double)ep;
  }
  g_autofree Slot *slots = replicate(fractions, fractions, spread->experts, n);
  if (spread->packed) return packed_most(slots, n, ep, NULL) * (double)ep;
  return mean_of_draws(slots, n, ep, is_last, random) * (double)ep;
}

double orr_expert_load_fullest(const OrrChoice *choice, const OrrExpertSpread *spread,
                               guint64 seed) {
  const OrrExpertLoadKind *kind = choice ? (const OrrExpertLoadKind *)choice->entry : NULL;
  const gint64 experts = spread->experts, ep = MAX(1, spread->ep), n = experts + spread->redundant;
  if (!kind || experts == 0 || n % ep != 0 || (ep == 1 && !(spread->capacity > 0))) return 1;
  const guint layers = kind->n_layers ? kind->n_layers(choice->params, experts) : 1;
  OrrRandom random = orr_random_stream(seed, "expert-load");
  double sum = 0;
  for (guint layer = 0; layer < layers; layer++)
    sum += fullest_of_layer(kind, choice->params, layer, layer + 1 == layers, spread, &random);
  return sum / (double)layers;
}

double orr_expert_load_moved(const OrrChoice *choice, const OrrExpertSpread *spread, guint64 seed) {
  const OrrExpertLoadKind *kind = choice ? (const OrrExpertLoadKind *)choice->entry : NULL;
  const gint64 experts = spread->experts, n = experts + spread->redundant;
  if (!kind || experts == 0 || spread->ep <= 1 || n % spread->ep != 0 || !spread->packed ||
      !(spread->aging > 0))
    return 0;
  enum { PLANS = 32 };
  g_autofree double *sorted = fractions_of(kind, choice->params, 0, spread);
  qsort(sorted, (gsize)experts, sizeof *sorted, by_number);
  OrrRandom random = orr_random_stream(seed, "expert-moves");
  g_autofree gint64 *from = g_new(gint64, n), *to = g_new(gint64, n);
  double moved = 0;
  for (guint plan = 0; plan < PLANS; plan++) {
    Drift drift = drift_of(&random, sorted, experts, exp(-spread->aging));
    g_autofree Slot *first = replicate(drift.then, drift.then, experts, n),
                    *second = replicate(drift.now, drift.now, experts, n);
    packed_most(first, n, spread->ep, from);
    packed_most(second, n, spread->ep, to);
    moved += (double)most_moved(first, from, second, to, n, spread->ep) / PLANS;
    drift_clear(&drift);
  }
  return moved;
}

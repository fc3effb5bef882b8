/*
 * fewest_domains.c - a gang close together: in one group of nodes (under one leaf switch, in one
 * NVLink domain) if one has room, else in one pod, else in as few groups as it takes.
 *
 *   nodes   | 0 1 2 3 | 4 5 6 7 | 8 9 10 11 | 12 13 14 15 |
 *   groups  |    0    |    1    |     2     |      3      |    groups: [4]
 *   pods    |         0         |           1             |    pods: [8]
 *
 * Of several domains with room, the one with the fewest free GPUs, then the first. `required` makes
 * a level hard: a gang that no domain of it could take at once waits (Kueue's required topology,
 * Slurm's --switches without a time-out). Without it the levels are soft (preferred).
 *
 * Sizes are in nodes and begin again after the last one: [4] is groups of four, [1, 2, 5] groups of
 * 1, 2, 5, 1, 2, 5, ...
 *
 *   workload: {policy: {placement: {kind: fewest-domains, groups: [4], pods: [16], required: pod}}}
 */
#include "sim/base/field.h"
#include "workloads/cluster_jobs/core/gang_bins.h"

typedef enum { NONE, GROUP, POD } Level;
static const char *const level_words[] = {"none", "group", "pod", NULL};

typedef struct {
  GArray *groups, *pods; /* of double */
  int required;          /* Level */
} Params;

static const OrrFieldTable table = ORR_FIELDS(
    "placement-fewest-domains", "Close together.", Params,
    ORR_FIELD_REALS(Params, "groups", groups, ORR_UNIT_NONE, "[4]",
                    "Nodes of each group, from the first node on; begins again after the last.",
                    .flags = ORR_FIELD_POSITIVE),
    ORR_FIELD_REALS(Params, "pods", pods, ORR_UNIT_NONE, "[]",
                    "Nodes of each pod, the same; none: there are no pods.",
                    .flags = ORR_FIELD_POSITIVE),
    ORR_FIELD_WORD(Params, "required", required, level_words, "none",
                   "One domain of this level must take the whole gang."));

/* Domain @i, which begins at node @first: its nodes. */
static guint n_of(const GArray *sizes, guint i, guint first, guint n_nodes) {
  const double size = g_array_index(sizes, double, i % sizes->len);
  return MIN((guint)MAX(size, 1), n_nodes - first);
}

/* In the fullest domain of @sizes that has room. */
static gboolean place_in_one(const OrrGangBins *bins, const GArray *sizes, gint64 gpus,
                             GArray *shares) {
  guint best = G_MAXUINT, n_best = 0;
  gint64 least = 0;
  for (guint i = 0, first = 0; sizes->len > 0 && first < bins->n; i++) {
    const guint n = n_of(sizes, i, first, bins->n);
    const gint64 n_free = orr_gang_bins_free(bins, first, n);
    if (n_free >= gpus && (best == G_MAXUINT || n_free < least) &&
        orr_gang_bins_place_within(bins, first, n, gpus, orr_gang_bins_pick_best, shares)) {
      best = first;
      n_best = n;
      least = n_free;
    }
    first += n;
  }
  return best != G_MAXUINT &&
         orr_gang_bins_place_within(bins, best, n_best, gpus, orr_gang_bins_pick_best, shares);
}

/* The group that is not in @used and has the most whole free nodes. */
static guint emptiest(const OrrGangBins *bins, const GArray *sizes, const GHashTable *used,
                      guint *ret_first, guint *ret_n) {
  guint most = 0;
  for (guint i = 0, first = 0; first < bins->n; i++) {
    const guint n = n_of(sizes, i, first, bins->n);
    const guint n_empty = orr_gang_bins_empty(bins, first, n);
    if (n_empty > most && !g_hash_table_contains((GHashTable *)used, GUINT_TO_POINTER(first))) {
      most = n_empty;
      *ret_first = first;
      *ret_n = n;
    }
    first += n;
  }
  return most;
}

static void take_empty(const OrrGangBins *bins, guint first, guint n, gint64 *whole,
                       GArray *shares) {
  for (guint i = first; i < first + n; i++) {
    if (*whole == 0) return;
    if (bins->free[i] < bins->size) continue;
    ORR_APPEND(shares, OrrGangShare, {i, (gint32)bins->size});
    (*whole)--;
  }
}

/* Over the emptiest groups, and the rest on the node where it fits best. */
static gboolean spread(const OrrGangBins *bins, const GArray *sizes, gint64 gpus, GArray *shares) {
  g_autoptr(GHashTable) used = g_hash_table_new(NULL, NULL);
  gint64 whole = gpus / bins->size;
  const gint64 rest = gpus % bins->size;
  g_array_set_size(shares, 0);
  for (guint first = 0, n = 0; whole > 0;) {
    if (emptiest(bins, sizes, used, &first, &n) == 0) return FALSE;
    g_hash_table_add(used, GUINT_TO_POINTER(first));
    take_empty(bins, first, n, &whole, shares);
  }
  if (rest == 0) return TRUE;
  const guint one = orr_gang_bins_pick_best(bins, rest, shares);
  if (one == G_MAXUINT) return FALSE;
  ORR_APPEND(shares, OrrGangShare, {one, (gint32)rest});
  return TRUE;
}

static gboolean place(const OrrGangBins *bins, const OrrGangJob *job, const void *data,
                      GArray *shares) {
  const Params *params = data;
  if (place_in_one(bins, params->groups, job->gpus, shares)) return TRUE;
  if (params->required == GROUP) return FALSE;
  if (place_in_one(bins, params->pods, job->gpus, shares)) return TRUE;
  if (params->required == POD || params->groups->len == 0) return FALSE;
  return spread(bins, params->groups, job->gpus, shares);
}

const OrrGangPlacement orr_gang_fewest_domains = {
    .entry = {"fewest-domains",
              "In one group of nodes where one has room, else one pod, else as few groups as it "
              "takes.",
              &table},
    .place = place,
};

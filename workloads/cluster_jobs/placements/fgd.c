/*
 * fgd.c - fragmentation gradient descent (Weng et al., Beware of Fragmentation, USENIX ATC 2023):
 * the node on which the job adds least to what the cluster's usual jobs could not use.
 *
 *   F(free) = sum over sizes s > free of p(s) x free
 *   node    = argmin F(free - gpus) - F(free)
 *
 * p(s): the fraction of the trace's jobs that need s GPUs on one node.
 *
 * A job that spans nodes counts as one that needs a whole node. Ties go to the first in the order
 * of nodes. Gangs of several nodes: as first-fit, the rest by this rule.
 *
 *   workload: {policy: {placement: fgd}}
 */
#include "workloads/cluster_jobs/core/gang_bins.h"

static double wasted(const OrrGangBins *bins, gint64 n_free) {
  double sum = 0;
  for (gint64 size = n_free + 1; size <= bins->size; size++) sum += bins->popular[size];
  return sum * (double)n_free;
}

static guint pick(const OrrGangBins *bins, gint64 gpus, const GArray *taken) {
  if (!bins->popular) return orr_gang_bins_pick_best(bins, gpus, taken);
  guint best = G_MAXUINT;
  double least = 0;
  for (guint i = bins->first; i < bins->n; i++) {
    if (bins->free[i] < gpus || orr_gang_bins_holds(taken, i)) continue;
    const double more = wasted(bins, bins->free[i] - gpus) - wasted(bins, bins->free[i]);
    if (best != G_MAXUINT && more >= least) continue;
    best = i;
    least = more;
  }
  return best;
}

static gboolean place(const OrrGangBins *bins, const OrrGangJob *job, const void *params,
                      GArray *shares) {
  return orr_gang_bins_place(bins, job->gpus, pick, shares);
}

const OrrGangPlacement orr_gang_fgd = {
    .entry = {"fgd", "The node where the job adds least to the GPUs that usual jobs could not use.",
              NULL},
    .by_room = TRUE,
    .whole_first = TRUE,
    .place = place,
};

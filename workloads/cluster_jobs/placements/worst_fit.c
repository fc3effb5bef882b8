/*
 * worst_fit.c - the node with the most free GPUs, which spreads jobs. Ties go to the first in the
 * order of nodes.
 *
 *   workload: {policy: {placement: worst-fit}}
 */
#include "workloads/cluster_jobs/core/gang_bins.h"

static guint pick(const OrrGangBins *bins, gint64 gpus, const GArray *taken) {
  guint best = G_MAXUINT;
  for (guint i = bins->first; i < bins->n; i++)
    if (bins->free[i] >= gpus && (best == G_MAXUINT || bins->free[i] > bins->free[best]) &&
        !orr_gang_bins_holds(taken, i))
      best = i;
  return best;
}

static gboolean place(const OrrGangBins *bins, const OrrGangJob *job, const void *params,
                      GArray *shares) {
  return orr_gang_bins_place(bins, job->gpus, pick, shares);
}

const OrrGangPlacement orr_gang_worst_fit = {
    .entry = {"worst-fit", "The node with the most free GPUs; gangs of several nodes as first-fit.",
              NULL},
    .by_room = TRUE,
    .whole_first = TRUE,
    .place = place,
};

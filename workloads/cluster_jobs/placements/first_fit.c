/*
 * first_fit.c - the first node, in the order of nodes, that has the GPUs free.
 *
 *   workload: {policy: {placement: first-fit}}
 */
#include "workloads/cluster_jobs/core/gang_bins.h"

static guint pick(const OrrGangBins *bins, gint64 gpus, const GArray *taken) {
  for (guint i = bins->first; i < bins->n; i++)
    if (bins->free[i] >= gpus && !orr_gang_bins_holds(taken, i)) return i;
  return G_MAXUINT;
}

static gboolean place(const OrrGangBins *bins, const OrrGangJob *job, const void *params,
                      GArray *shares) {
  return orr_gang_bins_place(bins, job->gpus, pick, shares);
}

const OrrGangPlacement orr_gang_first_fit = {
    .entry = {"first-fit",
              "The first node with enough free GPUs; a gang larger than a node takes whole nodes "
              "and one more for the rest.",
              NULL},
    .by_room = TRUE,
    .whole_first = TRUE,
    .place = place,
};

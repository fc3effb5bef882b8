/*
 * best_fit.c - the node on which the fewest GPUs stay free, so that whole nodes stay whole. Ties go
 * to the first in the order of nodes.
 *
 *   workload: {policy: {placement: best-fit}}
 */
#include "workloads/cluster_jobs/core/gang_bins.h"

static gboolean place(const OrrGangBins *bins, const OrrGangJob *job, const void *params,
                      GArray *shares) {
  return orr_gang_bins_place(bins, job->gpus, orr_gang_bins_pick_best, shares);
}

const OrrGangPlacement orr_gang_best_fit = {
    .entry = {"best-fit",
              "The node that keeps the fewest free GPUs; gangs of several nodes as first-fit.",
              NULL},
    .by_room = TRUE,
    .whole_first = TRUE,
    .place = place,
};

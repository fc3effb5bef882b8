/*
 * count.c - GPUs are counted, and nodes are not seen: what a quota in GPUs alone promises. A gang
 * starts as soon as enough GPUs are free anywhere.
 *
 *   workload: {policy: {placement: count}}
 */
#include "sim/base/arrays.h"
#include "workloads/cluster_jobs/core/gang_bins.h"

static gboolean place(const OrrGangBins *bins, const OrrGangJob *job, const void *params,
                      GArray *shares) {
  g_array_set_size(shares, 0);
  if (job->gpus > bins->n_free) return FALSE;
  ORR_APPEND(shares, OrrGangShare, {0, (gint32)job->gpus});
  return TRUE;
}

const OrrGangPlacement orr_gang_count = {
    .entry = {"count", "Any free GPUs: nodes are not seen, as under a quota in GPUs.", NULL},
    .is_count = TRUE,
    .by_room = TRUE,
    .place = place,
};

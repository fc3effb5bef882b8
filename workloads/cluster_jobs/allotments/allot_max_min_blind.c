/*
 * allot_max_min_blind.c - max-min fairness of time: every job has the same GPU time, whatever the
 * kind. What least attained service is, for a scheduler that does not see kinds.
 *
 *   workload: {policy: {rounds: {length: 6 min, allotment: max-min-blind}}}
 */
#include "workloads/cluster_jobs/gang_allot.h"

static void fill(OrrGangAllot *allot) {
  g_autofree double *scale = g_new(double, allot->n + 1);
  for (guint i = 0; i < allot->n; i++) scale[i] = 1;
  orr_gang_allot_max_min(allot, scale, TRUE);
}

const OrrGangAllotment orr_allot_max_min_blind = {
    .entry = {"max-min-blind", "Every job has the same GPU time, of whatever kind.", NULL},
    .is_blind = TRUE,
    .fill = fill,
};

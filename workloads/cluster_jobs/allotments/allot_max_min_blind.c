/*
 * allot_max_min_blind.c - max-min fairness of time: every job has the same GPU time, whatever the
 * kind. What least attained service is, for a scheduler that does not see kinds.
 *
 *   time(m) = min(1, t / gpus(m))     t: the water level at which all GPUs are used
 *
 * A job needs no more than all the time, so small gangs are content at t = gpus(m), and what they
 * leave raises the level of the others. Each job's time is spread over the kinds in proportion to
 * their GPUs, as free GPUs are found by somebody who does not look at the kind. Gavel's policy is
 * the same linear program without a choice among kinds; its interior-point solver returns the
 * middle of all solutions, which spreads too.
 *
 *   workload: {policy: {rounds: {length: 6 min, allotment: max-min-blind}}}
 */
#include "workloads/cluster_jobs/allotments/gang_allot.h"

static void fill(OrrGangAllot *allot) { orr_gang_allot_blind(allot); }

const OrrGangAllotment orr_allot_max_min_blind = {
    .entry = {"max-min-blind", "Every job has the same GPU time, of whatever kind.", NULL},
    .is_blind = TRUE,
    .fill = fill,
};

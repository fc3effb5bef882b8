/*
 * allot_max_min.c - Gavel's max-min fairness over kinds (Narayanan et al., OSDI 2020, section 4.1):
 * the least of all jobs' throughputs is as large as it can be, each relative to what the job would
 * get if everybody had an equal part of every kind.
 *
 *   maximize min over m of  gpus(m) sum over k of rate(m, k) x(m, k) / equal(m)
 *
 *   workload: {policy: {rounds: {length: 6 min, allotment: max-min}}}
 */
#include "workloads/cluster_jobs/allotments/gang_allot.h"

static void fill(OrrGangAllot *allot) {
  g_autofree double *scale = g_new(double, allot->n + 1);
  for (guint i = 0; i < allot->n; i++) scale[i] = 1 / orr_gang_allot_equal(allot, allot->jobs[i]);
  orr_gang_allot_max_min(allot, scale);
}

const OrrGangAllotment orr_allot_max_min = {
    .entry = {"max-min", "Gavel: the least throughput relative to an equal part is maximized.",
              NULL},
    .fill = fill,
};

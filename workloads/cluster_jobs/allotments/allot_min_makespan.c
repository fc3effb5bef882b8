/*
 * allot_min_makespan.c - Gavel's least makespan: the job that would end last ends as early as it
 * can (Narayanan et al., OSDI 2020, section 4.2).
 *
 *   maximize min over m of  sum over k of rate(m, k) x(m, k) / left(m)
 *
 *   workload: {policy: {rounds: {length: 6 min, allotment: min-makespan}}}
 */
#include "workloads/cluster_jobs/allotments/gang_allot.h"

static void fill(OrrGangAllot *allot) {
  g_autofree double *scale = g_new(double, allot->n + 1);
  double most = 1;
  for (guint i = 0; i < allot->n; i++) most = fmax(most, orr_gang_allot_left_us(allot->jobs[i]));
  for (guint i = 0; i < allot->n; i++)
    scale[i] = most / orr_gang_allot_left_us(allot->jobs[i]) / (double)allot->jobs[i]->gpus;
  orr_gang_allot_max_min(allot, scale);
}

const OrrGangAllotment orr_allot_min_makespan = {
    .entry = {"min-makespan", "Gavel: the job that would end last ends as early as it can.", NULL},
    .fill = fill,
};

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
#include <stdlib.h>

#include "workloads/cluster_jobs/gang_allot.h"

static int compare(gconstpointer a, gconstpointer b) {
  const double p = *(const double *)a, q = *(const double *)b;
  return p < q ? -1 : p > q;
}

/* Content jobs hold gpus(m) GPUs all the time, the others t each: fills the level in the order of
 * gangs, which is that in which jobs are content. */
static double level(const OrrGangAllot *allot) {
  g_autofree double *gpus = g_new(double, allot->n + 1);
  for (guint i = 0; i < allot->n; i++) gpus[i] = (double)allot->jobs[i]->gpus;
  qsort(gpus, allot->n, sizeof *gpus, compare);
  double left = orr_gang_allot_gpus(allot);
  for (guint i = 0; i < allot->n; i++) {
    const double equal = left / (allot->n - i);
    if (equal < gpus[i]) return equal;
    left -= gpus[i];
  }
  return G_MAXDOUBLE;
}

static void fill(OrrGangAllot *allot) {
  g_autofree double *time = g_new(double, allot->n + 1);
  const double t = level(allot);
  for (guint i = 0; i < allot->n; i++) time[i] = fmin(1, t / (double)allot->jobs[i]->gpus);
  orr_gang_allot_spread(allot, time);
}

const OrrGangAllotment orr_allot_max_min_blind = {
    .entry = {"max-min-blind", "Every job has the same GPU time, of whatever kind.", NULL},
    .is_blind = TRUE,
    .fill = fill,
};

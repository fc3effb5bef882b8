/*
 * allot_finish_time_fair_blind.c - Themis' finish-time fairness (Mahajan et al., NSDI 2020) for a
 * scheduler that does not see kinds: as finish-time-fair, with the same speed on all kinds.
 *
 * A job needs the fraction left / (rho (elapsed + left / fair) - elapsed) of its time. All can have
 * it where no fraction is above 1 and their GPUs add up to at most the cluster's; both fall with
 * rho, so the least rho is found by bisection. Each job's time is spread over the kinds.
 *
 *   workload: {policy: {rounds: {length: 6 min, allotment: finish-time-fair-blind}}}
 */
#include "workloads/cluster_jobs/allotments/gang_allot.h"

/* Fills @time; FALSE: there is not enough of it. */
static gboolean is_enough(const OrrGangAllot *allot, const double *fair, double rho, double *time) {
  double gpus = 0;
  for (guint i = 0; i < allot->n; i++) {
    const OrrGangJob *job = allot->jobs[i];
    const double elapsed = (double)(allot->now_us - job->submit_us);
    const double left = orr_gang_allot_left_us(job);
    const double span = rho * (elapsed + left / fair[i]) - elapsed;
    if (!(span > 0) || left > span * (1 + 1e-9)) return FALSE;
    time[i] = fmin(1, left / span);
    gpus += time[i] * (double)job->gpus;
  }
  return gpus <= orr_gang_allot_gpus(allot) * (1 + 1e-9);
}

enum { STEPS = 40 };

static void fill(OrrGangAllot *allot) {
  g_autofree double *fair = g_new(double, allot->n + 1);
  g_autofree double *time = g_new(double, allot->n + 1);
  double low = 0, high = 1;
  orr_gang_allot_blind_times(allot, fair);
  for (guint step = 0; step < STEPS; step++) {
    const double rho = (low + high) / 2;
    if (is_enough(allot, fair, rho, time))
      high = rho;
    else
      low = rho;
  }
  is_enough(allot, fair, high, time);
  orr_gang_allot_spread(allot, time);
}

const OrrGangAllotment orr_allot_finish_time_fair_blind = {
    .entry = {"finish-time-fair-blind", "Themis: finish-time fairness with all kinds alike.", NULL},
    .is_blind = TRUE,
    .fill = fill,
};

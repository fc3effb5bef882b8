/*
 * allot_finish_time_fair.c - Themis' finish-time fairness (Mahajan et al., NSDI 2020) over kinds,
 * as Gavel states it (Narayanan et al., OSDI 2020, section 4.2): the largest rho is as small as it
 * can be, where rho compares a job's completion with that in its fair part of the cluster.
 *
 *   rho(m) = (elapsed + left / throughput) / (elapsed + left / fair throughput)
 *
 * The fair part is max-min-blind's now. For a given rho each job needs the throughput
 *
 *   left / (rho (elapsed + left / fair) - elapsed)
 *
 * and a max-min of throughput over need says whether all can have it; rho is found by bisection.
 *
 *   workload: {policy: {rounds: {length: 6 min, allotment: finish-time-fair}}}
 */
#include "workloads/cluster_jobs/allotments/gang_allot.h"

static double throughput(const OrrGangAllot *allot, guint i) {
  double sum = 0;
  for (guint k = 0; k < allot->n_kinds; k++)
    sum += allot->jobs[i]->rates[k] * allot->x[(gsize)i * allot->n_kinds + k];
  return sum;
}

/* Sets @scale so that a gain of 1 is the need; FALSE: some job would have to be done by now. */
static gboolean scale_by_need(const OrrGangAllot *allot, const double *fair, double rho,
                              double *scale) {
  for (guint i = 0; i < allot->n; i++) {
    const OrrGangJob *job = allot->jobs[i];
    const double elapsed = (double)(allot->now_us - job->submit_us);
    const double left = orr_gang_allot_left_us(job);
    const double time = rho * (elapsed + left / fair[i]) - elapsed;
    if (!(time > 0)) return FALSE;
    scale[i] = time / left / (double)job->gpus;
  }
  return TRUE;
}

static gboolean is_enough(OrrGangAllot *allot, const double *fair, double rho, double *scale) {
  return scale_by_need(allot, fair, rho, scale) && orr_gang_allot_max_min(allot, scale) >= 1;
}

/* A lower bound of rho: a job on its fastest kind all the time. */
static double least_rho(const OrrGangAllot *allot, const double *fair) {
  double least = 0;
  for (guint i = 0; i < allot->n; i++) {
    const OrrGangJob *job = allot->jobs[i];
    const double elapsed = (double)(allot->now_us - job->submit_us);
    const double left = orr_gang_allot_left_us(job);
    double rate = 1e-9;
    for (guint k = 0; k < allot->n_kinds; k++)
      if (orr_gang_allot_runs(allot, job, k)) rate = fmax(rate, job->rates[k]);
    least = fmax(least, (elapsed + left / rate) / (elapsed + left / fair[i]));
  }
  return least;
}

#define PRECISION 2e-3

/* rho is at most what the fair parts give all, 1, and rounding. */
static void fill(OrrGangAllot *allot) {
  g_autofree double *fair = g_new(double, allot->n + 1);
  g_autofree double *scale = g_new(double, allot->n + 1);
  double high = 1 + PRECISION;
  if (allot->n == 0) return;
  orr_gang_allot_blind(allot);
  for (guint i = 0; i < allot->n; i++) fair[i] = fmax(throughput(allot, i), 1e-9);
  double low = least_rho(allot, fair);
  while (!is_enough(allot, fair, high, scale) && high < 1e6) high *= 2;
  while (high - low > PRECISION * high) {
    const double rho = (low + high) / 2;
    if (is_enough(allot, fair, rho, scale))
      high = rho;
    else
      low = rho;
  }
  is_enough(allot, fair, high, scale);
}

const OrrGangAllotment orr_allot_finish_time_fair = {
    .entry = {"finish-time-fair",
              "Themis over kinds: completion over that in a fair part, the worst job's as small as "
              "it can be.",
              NULL},
    .fill = fill,
};

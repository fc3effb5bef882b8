/*
 * gang_repack.c - the pass of orders that preempt: the cluster is emptied, and all live jobs are
 * placed anew in order.
 *
 * Only the keys of running jobs have changed since the last pass, so the queue is still sorted: the
 * running jobs are sorted and merged into it.
 */
#include "workloads/cluster_jobs/gang_sim_private.h"

static int compare(gconstpointer a, gconstpointer b, gpointer sim) {
  return orr_gang_sim_compare(sim, *(OrrGangJob *const *)a, *(OrrGangJob *const *)b);
}

static void merge(OrrGangSim *sim) {
  GPtrArray *waiting = sim->waiting, *running = sim->running;
  g_ptr_array_sort_with_data(running, compare, sim);
  g_ptr_array_set_size(sim->merged, 0);
  for (guint w = 0, r = 0; w < waiting->len || r < running->len;) {
    const gboolean takes_waiting =
        r >= running->len ||
        (w < waiting->len && orr_gang_sim_compare(sim, waiting->pdata[w], running->pdata[r]) < 0);
    g_ptr_array_add(sim->merged, takes_waiting ? waiting->pdata[w++] : running->pdata[r++]);
  }
}

static void stop(OrrGangSim *sim, OrrGangJob *job) {
  job->left_us = orr_gang_job_left_us(job, sim->now_us);
  job->is_running = FALSE;
  orr_gang_bins_add(&sim->bins, job->shares, 1);
}

/* A job that ran and runs on, wherever, was not preempted. */
static void count(OrrGangSim *sim, OrrGangJob *job, gboolean has_run) {
  if (!has_run || job->is_running) return;
  job->preemptions++;
  sim->totals.preemptions++;
}

void orr_gang_repack(OrrGangSim *sim) {
  const gboolean skips = sim->rules->blocked == ORR_BLOCKED_SKIP;
  gboolean is_blocked = FALSE;
  merge(sim);
  const guint n_run = sim->running->len;
  for (guint i = 0; i < n_run; i++) stop(sim, sim->running->pdata[i]);
  g_autofree OrrGangJob **had_run = g_memdup2(sim->running->pdata, sizeof(gpointer) * n_run);
  g_ptr_array_set_size(sim->running, 0);
  g_ptr_array_set_size(sim->waiting, 0);
  for (guint i = 0; i < sim->merged->len; i++) {
    OrrGangJob *job = sim->merged->pdata[i];
    if (!is_blocked && orr_gang_sim_fits(sim, &sim->bins, job)) {
      orr_gang_sim_start(sim, job);
      continue;
    }
    g_ptr_array_add(sim->waiting, job);
    if (!skips) is_blocked = TRUE;
  }
  for (guint i = 0; i < n_run; i++) count(sim, had_run[i], TRUE);
}

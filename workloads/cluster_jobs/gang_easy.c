/*
 * gang_easy.c - EASY backfill (Lifka 1995; Mu'alem and Feitelson 2001): the first waiting job gets
 * a promised start, the earliest at which it fits once running jobs have ended; a later job may
 * start now if it does not delay that start: it ends by then, or the first job fits beside it then.
 *
 *   GPUs |  running  |###########|
 *        |-----------| first job |         shadow: its promised start
 *        | short | . |###########|
 *        |  beside, any length   |         fits in what the first job leaves free
 *        now         shadow
 */
#include "workloads/cluster_jobs/gang_sim_private.h"

/* --- Room: of nodes, and of queues where there are any --- */

static gboolean fits_now(OrrGangSim *sim, const OrrGangJob *job) {
  if (!sim->tree.all) return orr_gang_sim_fits(sim, &sim->bins, job);
  return orr_gang_queue_pass_fits(sim, job);
}

static gboolean fits_later(OrrGangSim *sim, const OrrGangJob *job) {
  const OrrGangRoom later = {&sim->later_tree, &sim->later};
  if (!sim->tree.all) return orr_gang_sim_fits(sim, &sim->later, job);
  return orr_gang_queue_pass_fits_in(sim, &later, job, TRUE);
}

/* @job gives back (@sign 1) or takes (-1) @shares there. */
static void change_later(OrrGangSim *sim, const OrrGangJob *job, const GArray *shares, int sign) {
  orr_gang_bins_add(&sim->later, shares, sign);
  if (sim->tree.all) orr_gang_queues_run(&sim->later_tree, job->queue_index, job, -sign);
}

/* --- The promise --- */

/* Sets the room of later to that at the first job's start, which is returned. */
static gint64 find_shadow(OrrGangSim *sim, const OrrGangJob *head, GPtrArray *by_estimate) {
  orr_gang_bins_copy(&sim->later, &sim->bins);
  if (sim->tree.all) orr_gang_queues_copy(&sim->later_tree, &sim->tree);
  for (guint i = 0; i < by_estimate->len;) {
    const gint64 at_us = orr_gang_job_expected_us(by_estimate->pdata[i]);
    for (; i < by_estimate->len; i++) {
      const OrrGangJob *job = by_estimate->pdata[i];
      if (orr_gang_job_expected_us(job) > at_us) break;
      change_later(sim, job, job->shares, 1);
    }
    if (fits_later(sim, head)) return MAX(at_us, sim->now_us);
  }
  return G_MAXINT64;
}

static int compare_estimates(gconstpointer a, gconstpointer b) {
  const OrrGangJob *x = *(OrrGangJob *const *)a, *y = *(OrrGangJob *const *)b;
  const gint64 end_x = orr_gang_job_expected_us(x), end_y = orr_gang_job_expected_us(y);
  return end_x < end_y ? -1 : end_x > end_y;
}

/* Whether @job, which fits at sim->shares now, may start; if it stays beyond the shadow, it is
 * taken from the room of later. */
static gboolean may_start(OrrGangSim *sim, const OrrGangJob *job, const OrrGangJob *head,
                          gint64 shadow_us) {
  if (shadow_us - sim->now_us >= orr_gang_job_estimate_us(job)) return TRUE;
  g_autoptr(GArray) own = g_array_copy(sim->shares);
  change_later(sim, job, own, -1);
  const gboolean ok = fits_later(sim, head);
  if (!ok) change_later(sim, job, own, 1);
  g_array_set_size(sim->shares, 0);
  g_array_append_vals(sim->shares, own->data, own->len);
  return ok;
}

void orr_gang_easy_pass(OrrGangSim *sim, guint head_index) {
  OrrGangJob *head = sim->waiting->pdata[head_index];
  g_autoptr(GPtrArray) by_estimate = g_ptr_array_copy(sim->running, NULL, NULL);
  g_ptr_array_sort(by_estimate, compare_estimates);
  const gint64 shadow_us = find_shadow(sim, head, by_estimate);
  if (head->promised_us < 0) head->promised_us = shadow_us;
  guint kept = head_index + 1, i = kept;
  for (; i < sim->waiting->len && sim->bins.n_free > 0; i++) {
    OrrGangJob *job = sim->waiting->pdata[i];
    if (fits_now(sim, job) && may_start(sim, job, head, shadow_us))
      orr_gang_sim_start(sim, job);
    else
      sim->waiting->pdata[kept++] = job;
  }
  if (i > kept) g_ptr_array_remove_range(sim->waiting, kept, i - kept);
}

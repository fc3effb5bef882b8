/*
 * gang_easy.c - EASY backfill (Lifka 1995; Mu'alem and Feitelson 2001): the first waiting job gets
 * a promised start, the earliest at which it fits once running jobs have ended; a later job may
 * start now if it does not delay that start: it ends by then, or the first job fits in spite of it
 * then.
 *
 *   GPUs |  running  |###########|
 *        |-----------| first job |         shadow: its promised start
 *        | short | . |###########|
 *        |  beside, any length   |         fits in what the first job leaves free
 *        now         shadow
 *
 * A pass looks at every waiting job, at every event, so it is short: the shadow is found only where
 * a job would fit now, and a job is not tried where another of its size was just refused for the
 * same reason.
 */
#include "workloads/cluster_jobs/passes/gang_pass.h"

static gboolean fits_later(OrrGangSim *sim, const OrrGangJob *job) {
  const OrrGangRoom later = {&sim->later_tree, &sim->later};
  return orr_gang_room_fits(sim, &later, job, TRUE);
}

/* @job gives back (@sign 1) or takes (-1) @shares there. */
static void change_later(OrrGangSim *sim, const OrrGangJob *job, const GArray *shares, int sign) {
  orr_gang_bins_add(&sim->later, shares, sign);
  if (sim->tree.all) orr_gang_queues_run(&sim->later_tree, job->queue_index, job, -sign);
}

/* --- The promise --- */

static int compare_estimates(gconstpointer a, gconstpointer b) {
  const OrrGangJob *x = *(OrrGangJob *const *)a, *y = *(OrrGangJob *const *)b;
  const gint64 end_x = orr_gang_job_expected_us(x), end_y = orr_gang_job_expected_us(y);
  return end_x < end_y ? -1 : end_x > end_y;
}

/* The running jobs by the ends that the scheduler counts on: often that is their order already. */
static GPtrArray *by_estimate(const OrrGangSim *sim) {
  GPtrArray *running = sim->running;
  for (guint i = 1; i < running->len; i++) {
    if (orr_gang_job_expected_us(running->pdata[i - 1]) <=
        orr_gang_job_expected_us(running->pdata[i]))
      continue;
    GPtrArray *sorted = g_ptr_array_copy(running, NULL, NULL);
    g_ptr_array_sort(sorted, compare_estimates);
    return sorted;
  }
  return g_ptr_array_ref(running);
}

/* Sets the room of later to that at the start of @head, which is returned. */
static gint64 find_shadow(OrrGangSim *sim, const OrrGangJob *head) {
  g_autoptr(GPtrArray) running = by_estimate(sim);
  orr_gang_bins_copy(&sim->later, &sim->bins);
  if (sim->tree.all) orr_gang_queues_copy(&sim->later_tree, &sim->tree);
  for (guint i = 0; i < running->len;) {
    const gint64 at_us = orr_gang_job_expected_us(running->pdata[i]);
    for (; i < running->len; i++) {
      const OrrGangJob *job = running->pdata[i];
      if (orr_gang_job_expected_us(job) > at_us) break;
      change_later(sim, job, job->shares, 1);
    }
    if (fits_later(sim, head)) return MAX(at_us, sim->now_us);
  }
  return G_MAXINT64;
}

/* One pass. */
typedef struct {
  OrrGangSim *sim;
  OrrGangJob *head;
  gboolean is_known; /* the shadow, and with it the room of later */
  gint64 shadow_us;
  gboolean by_size; /* a job's place goes by its GPUs alone */
} Fill;

static void find_once(Fill *fill) {
  if (fill->is_known) return;
  fill->shadow_us = find_shadow(fill->sim, fill->head);
  fill->is_known = TRUE;
}

static gboolean ends_before(const Fill *fill, const OrrGangJob *job) {
  return fill->shadow_us - fill->sim->now_us >= orr_gang_job_estimate_us(job);
}

/* Whether a job of the size of @job that stays as long was refused, and none has started since. */
static gboolean is_refused(const Fill *fill, const OrrGangJob *job) {
  return fill->is_known && fill->by_size && fill->sim->refused[job->gpus] == fill->sim->refusals &&
         !ends_before(fill, job);
}

/* Whether @job, which fits at sim->shares now, may start; if it stays beyond the shadow, it is
 * taken from the room of later. */
static gboolean may_start(Fill *fill, const OrrGangJob *job) {
  OrrGangSim *sim = fill->sim;
  if (fill->is_known && ends_before(fill, job)) return TRUE;
  g_autoptr(GArray) own = g_array_copy(sim->shares);
  find_once(fill);
  gboolean ok = ends_before(fill, job);
  if (!ok) {
    change_later(sim, job, own, -1);
    ok = fits_later(sim, fill->head);
    if (!ok) change_later(sim, job, own, 1);
  }
  g_array_set_size(sim->shares, 0);
  g_array_append_vals(sim->shares, own->data, own->len);
  if (!ok && fill->by_size) sim->refused[job->gpus] = sim->refusals;
  return ok;
}

static gboolean try(Fill *fill, OrrGangJob *job) {
  if (is_refused(fill, job) || !orr_gang_room_fits_now(fill->sim, job) || !may_start(fill, job))
    return FALSE;
  orr_gang_sim_start(fill->sim, job);
  fill->sim->refusals++; /* places differ from now on */
  return TRUE;
}

static void run(OrrGangSim *sim) {
  if (sim->waiting->len == 0 || sim->bins.n_free == 0) return;
  Fill fill = {.sim = sim,
               .head = sim->waiting->pdata[0],
               .by_size = sim->rules->placement->by_room && !sim->tree.all};
  if (!sim->refused) sim->refused = g_new0(guint64, sim->n_gpus + 1);
  sim->refusals++;
  if (fill.head->promised_us < 0) {
    find_once(&fill);
    fill.head->promised_us = fill.shadow_us;
  }
  guint kept = 1, i = kept;
  for (; i < sim->waiting->len && sim->bins.n_free > 0; i++) {
    OrrGangJob *job = sim->waiting->pdata[i];
    if (job->gpus > sim->bins.n_free || !try(&fill, job)) sim->waiting->pdata[kept++] = job;
  }
  if (i > kept) g_ptr_array_remove_range(sim->waiting, kept, i - kept);
}

static const OrrGangExclude excludes[] = {
    {ORR_WITH_SKIP, orr_gang_pass_no_skip},
    {ORR_WITH_VICTIMS | ORR_WITH_CONSOLIDATE, orr_gang_pass_no_victims},
    {ORR_WITH_BETWEEN, orr_gang_pass_by_order},
    {ORR_WITH_MANY_KINDS, orr_gang_pass_one_kind},
    {0, NULL}};
const OrrGangPass orr_gang_easy = {.key = "policy.backfill easy",
                                   .applies = ORR_WITH_EASY,
                                   .fills = TRUE,
                                   .excludes = excludes,
                                   .run = run};

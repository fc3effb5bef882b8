/*
 * gang_window.c - backfill as Slurm's sched/backfill does it: every `interval` it makes a plan from
 * nothing. The first `depth` waiting jobs get, in order, the earliest start at which they fit, not
 * later than `window` from now; those that could start now, start. Later jobs are not looked at.
 *
 *   now                                         now + window
 *    | running --|
 *    | job 1 ....|########|                      promised, in this plan only
 *    | job 3 |                                   starts now: it delays neither job 1 nor job 2
 *    | job 2 .............|####################
 *
 * Ends are rounded up to multiples of `resolution` (bf_resolution), so a plan has few steps; a job
 * may then start later than it could. A job whose start lies beyond the window holds back nobody.
 */
#include "workloads/cluster_jobs/passes/gang_pass.h"

static gint64 rounded_us(const OrrGangSim *sim, gint64 at_us) {
  const gint64 step_us = sim->rules->window.resolution_us;
  if (step_us <= 1) return at_us;
  return sim->now_us + (at_us - sim->now_us + step_us - 1) / step_us * step_us;
}

/* Of a running job: what is left of its estimate. */
static gint64 end_of(const OrrGangSim *sim, const OrrGangJob *job) {
  if (job->slow > 0 || job->failures > 0)
    return rounded_us(sim, MAX(orr_gang_job_expected_us(job), sim->now_us + 1));
  const gint64 whole_us = job->run_us + job->saving_us;
  const gint64 done_us = whole_us - orr_gang_job_left_us(job, sim->now_us);
  const gint64 left_us = orr_gang_job_estimate_us(job) - MAX(done_us, 0);
  return rounded_us(sim, sim->now_us + MAX(left_us, 1));
}

static gboolean is_admitted(const OrrGangSim *sim, const OrrGangJob *job) {
  return !sim->tree.all ||
         (orr_gang_room_has_resources(&sim->tree, job) &&
          orr_gang_queues_admit(&sim->tree, job->queue_index, 0, job->gpus, TRUE));
}

/* The time that @job takes in a plan. */
static gint64 length_of(const OrrGangSim *sim, const OrrGangJob *job) {
  return rounded_us(sim, sim->now_us + orr_gang_job_estimate_us(job)) - sim->now_us;
}

/* Plans @job; TRUE where it starts now. */
static gboolean plan_job(OrrGangSim *sim, OrrGangPlan *plan, OrrGangJob *job, gint64 until_us) {
  const gint64 now_us = sim->now_us, length_us = length_of(sim, job);
  const gint64 at_us = orr_gang_plan_find(plan, sim, job, length_us, until_us);
  if (at_us == G_MAXINT64 || (at_us == now_us && !is_admitted(sim, job))) return FALSE;
  if (job->promised_us < 0) job->promised_us = at_us;
  orr_gang_plan_change(plan, sim->shares, at_us, at_us + length_us, -1);
  if (at_us > now_us) return FALSE;
  orr_gang_sim_start(sim, job);
  return TRUE;
}

/* The fewest GPUs that one of the jobs from each place on asks for. */
static gint64 *fewest_from(const OrrGangSim *sim, guint n) {
  gint64 *fewest = g_new(gint64, n + 1);
  fewest[n] = G_MAXINT64;
  for (guint i = n; i-- > 0;)
    fewest[i] = MIN(fewest[i + 1], ((const OrrGangJob *)sim->waiting->pdata[i])->gpus);
  return fewest;
}

static void begin(OrrGangSim *sim) {
  g_autoptr(GArray) freed = g_array_new(FALSE, FALSE, sizeof(OrrGangFreed));
  ORR_EACH_POINTER(const OrrGangJob, job, sim->running)
    ORR_APPEND(freed, OrrGangFreed, {end_of(sim, job), job->shares});
  if (!sim->plan) sim->plan = orr_gang_plan_new(sim);
  orr_gang_plan_begin(sim->plan, sim, freed);
}

/* The place behind the last of @n jobs that no plan has promised a start. */
static guint end_of_new(const OrrGangSim *sim, guint n) {
  while (n > 0) {
    const OrrGangJob *job = sim->waiting->pdata[n - 1];
    if (job->promised_us < 0 && !job->is_suspended) return n;
    n--;
  }
  return 0;
}

/* Whether @job fits what is free, whatever is planned. */
static gboolean has_room(const OrrGangSim *sim, const OrrGangJob *job) {
  if (job->is_suspended || job->gpus > sim->bins.n_free) return FALSE;
  return !sim->rules->placement->by_room || orr_gang_bins_has_room(&sim->bins, job->gpus);
}

/* The first of the jobs @i to @n - 1 that could start now; none of them: @n. A plan only fills, so
 * a job that was passed over need not be looked at again. */
static guint next_to_start(OrrGangSim *sim, guint i, guint n, gboolean has_plan) {
  for (; i < n; i++) {
    const OrrGangJob *job = sim->waiting->pdata[i];
    if (!has_room(sim, job)) continue;
    if (!has_plan || orr_gang_plan_fits_now(sim->plan, sim, job, length_of(sim, job))) break;
  }
  return i;
}

/* Ends where none of the jobs left could start now or has yet to get a promise: the next plan
 * begins anew. */
static void fill(OrrGangSim *sim) {
  const OrrGangWindow *window = &sim->rules->window;
  const guint all = sim->waiting->len;
  guint n = window->depth > 0 ? MIN(window->depth, all) : all, kept = 0, i = 0, next = 0;
  g_autofree gint64 *fewest = fewest_from(sim, n);
  while (n > 0 && fewest[n - 1] > sim->bins.n_free) n--;
  const guint n_new = end_of_new(sim, n);
  if (n_new == 0 && (next = next_to_start(sim, 0, n, FALSE)) == n) return;
  begin(sim);
  for (; i < n && fewest[i] <= sim->bins.n_free; i++) {
    if (i >= n_new && (next = next_to_start(sim, MAX(next, i), n, TRUE)) == n) break;
    OrrGangJob *job = sim->waiting->pdata[i];
    if (job->is_suspended || !plan_job(sim, sim->plan, job, sim->now_us + window->ahead_us))
      sim->waiting->pdata[kept++] = job;
  }
  if (i > kept) g_ptr_array_remove_range(sim->waiting, kept, i - kept);
}

/* At multiples of its interval. */
static void run(OrrGangSim *sim) {
  const gint64 interval_us = sim->rules->window.interval_us;
  sim->fills_due = interval_us > 0 && sim->now_us % interval_us != 0;
  if (!sim->fills_due && sim->waiting->len > 0) fill(sim);
}

static gint64 due_us(const OrrGangSim *sim) {
  return orr_gang_pass_multiple_us(sim->now_us, sim->rules->window.interval_us, sim->fills_due);
}

static const OrrGangExclude excludes[] = {{ORR_WITH_SKIP, orr_gang_pass_no_skip},
                                          {ORR_WITH_RESOURCES, orr_gang_pass_no_resources},
                                          {ORR_WITH_MANY_KINDS, orr_gang_pass_one_kind},
                                          {0, NULL}};
const OrrGangPass orr_gang_window = {.key = "policy.backfill window",
                                     .applies = ORR_WITH_WINDOW,
                                     .fills = TRUE,
                                     .excludes = excludes,
                                     .run = run,
                                     .due_us = due_us};

/*
 * gang_repack.c - the pass of orders that preempt: the cluster is emptied, and all live jobs are
 * placed anew in order.
 *
 * Only the keys of running jobs have changed since the last pass, so the queue is still sorted: the
 * running jobs are sorted and merged into it.
 *
 * With queues each queue first gets what is its own: jobs are placed in order while they stay
 * within quotas. Then those that are left, in order, may borrow what others leave idle.
 *
 * What a preemption costs: gang_preempt.c.
 *
 * With `charge: events` every job that runs pays the restart at every event instead, as simulators
 * do that empty the cluster and start all jobs again (Muri, SIGCOMM 2022).
 */
#include "workloads/cluster_jobs/passes/gang_pass.h"

static int compare(gconstpointer a, gconstpointer b, gpointer sim) {
  return orr_gang_sim_compare(sim, *(OrrGangJob *const *)a, *(OrrGangJob *const *)b);
}

/* Keys seldom change the order. */
static void sort(OrrGangSim *sim, GPtrArray *jobs) {
  for (guint i = 1; i < jobs->len; i++) {
    if (orr_gang_sim_compare(sim, jobs->pdata[i - 1], jobs->pdata[i]) < 0) continue;
    g_ptr_array_sort_with_data(jobs, compare, sim);
    return;
  }
}

static void merge(OrrGangSim *sim) {
  GPtrArray *waiting = sim->waiting, *running = sim->running;
  sort(sim, running);
  g_ptr_array_set_size(sim->merged, 0);
  for (guint w = 0, r = 0; w < waiting->len || r < running->len;) {
    const gboolean takes_waiting =
        r >= running->len ||
        (w < waiting->len && orr_gang_sim_compare(sim, waiting->pdata[w], running->pdata[r]) < 0);
    g_ptr_array_add(sim->merged, takes_waiting ? waiting->pdata[w++] : running->pdata[r++]);
  }
}

static void stop(OrrGangSim *sim, OrrGangJob *job) {
  orr_gang_sim_book(sim, job);
  job->left_us = orr_gang_job_left_us(job, sim->now_us);
  job->is_running = FALSE;
  job->goes_on = TRUE;
  orr_gang_bins_add(&sim->bins, job->shares, 1);
  if (sim->tree.all) orr_gang_queues_run(&sim->tree, job->queue_index, job, -1);
}

/* Every running job pays at every event, moved or not: at most the time since the last event. */
static void charge_running(OrrGangSim *sim) {
  ORR_EACH_POINTER(OrrGangJob, job, sim->running) {
    const gint64 restart_us = orr_gang_preempt_stated(job->restart_us, sim->rules->restart_us);
    const gint64 paid_us = MIN(restart_us, sim->span_us);
    job->end_us += paid_us;
    job->overhead_us += paid_us;
  }
}

/* Jobs that have fallen into another queue join its end. */
static void find_levels(OrrGangSim *sim) {
  const OrrGangRules *rules = sim->rules;
  for (guint i = 0; rules->order->level && i < sim->running->len; i++) {
    OrrGangJob *job = sim->running->pdata[i];
    const guint level = rules->order->level(rules->order_params, job, sim->now_us);
    if (level == job->level) continue;
    job->level = level;
    job->turn = sim->turns++;
  }
}

/* New turns for all: those that run, then those that wait, each in the order they had. */
static void give_turns(OrrGangSim *sim) {
  if (!sim->rules->order->level) return;
  for (int runs = 1; runs >= 0; runs--)
    ORR_EACH_POINTER(OrrGangJob, job, sim->merged)
      if (job->is_running == runs) job->turn = sim->turns++;
}

/* Starts the jobs that find room. A job that does not holds back those after it in its queue
 * (blocked: wait). */
static void place(OrrGangSim *sim, gboolean borrows) {
  const OrrGangRoom now = {&sim->tree, &sim->bins};
  const gboolean skips = sim->rules->blocked == ORR_BLOCKED_SKIP;
  gboolean one = FALSE, *is_blocked = sim->tree.all ? sim->is_blocked : &one;
  memset(is_blocked, 0, sizeof(gboolean) * MAX(sim->tree.n, 1));
  ORR_EACH_POINTER(OrrGangJob, job, sim->merged) {
    const guint queue = sim->tree.all ? job->queue_index : 0;
    if (job->is_running || is_blocked[queue]) continue;
    if (orr_gang_room_fits(sim, &now, job, borrows))
      orr_gang_sim_start(sim, job);
    else if (!skips)
      is_blocked[queue] = TRUE;
  }
}

static void place_all(OrrGangSim *sim) {
  if (sim->tree.n > 1) place(sim, FALSE);
  place(sim, TRUE);
  g_ptr_array_set_size(sim->waiting, 0);
  for (guint i = 0; i < sim->merged->len; i++)
    if (!((const OrrGangJob *)sim->merged->pdata[i])->is_running)
      g_ptr_array_add(sim->waiting, sim->merged->pdata[i]);
}

static void run(OrrGangSim *sim) {
  const gboolean charges_all = sim->rules->charge == ORR_CHARGE_EVENTS;
  if (charges_all) charge_running(sim);
  find_levels(sim);
  merge(sim);
  const guint n_run = sim->running->len;
  for (guint i = 0; i < n_run; i++) stop(sim, sim->running->pdata[i]);
  g_autofree OrrGangJob **had_run = g_memdup2(sim->running->pdata, sizeof(gpointer) * n_run);
  g_ptr_array_set_size(sim->running, 0);
  place_all(sim);
  give_turns(sim);
  for (guint i = 0; i < n_run; i++) {
    OrrGangJob *job = had_run[i];
    job->goes_on = FALSE;
    if (job->is_running) continue; /* it runs on, wherever */
    orr_gang_preempt_count(sim, job);
    if (!charges_all) orr_gang_preempt_lose(sim, job, 0); /* its key may change: sorted again */
  }
  if (!charges_all) sort(sim, sim->waiting);
  orr_gang_sim_count_waiting(sim);
}

static gint64 due_us(const OrrGangSim *sim) {
  const OrrGangRules *rules = sim->rules;
  gint64 next_us = G_MAXINT64;
  for (guint i = 0; rules->order->changes_us && i < sim->running->len; i++)
    next_us = MIN(next_us, rules->order->changes_us(rules->order_params, sim->running->pdata[i],
                                                    sim->now_us));
  return next_us;
}

static const OrrGangExclude excludes[] = {
    {ORR_WITH_FILLS,
     "preempts, so there is no promise that backfill could keep: want backfill none, or an order "
     "that does not preempt (fifo, sjf)"},
    {ORR_WITH_VICTIMS | ORR_WITH_CONSOLIDATE, orr_gang_pass_no_victims},
    {ORR_WITH_BETWEEN, orr_gang_pass_by_order},
    {0, NULL}};
const OrrGangPass orr_gang_repack = {.key = "policy.order",
                                     .names_order = TRUE,
                                     .applies = ORR_WITH_PREEMPTS,
                                     .excludes = excludes,
                                     .run = run,
                                     .due_us = due_us};

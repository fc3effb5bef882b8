/*
 * gang_sim.c - the event loop: ends, submissions, one pass over the queue.
 */
#include "workloads/cluster_jobs/cluster_jobs.h"

#include "workloads/cluster_jobs/passes/gang_pass.h"

/* A run: its state and the passes that apply, in their order. */
typedef struct {
  OrrGangSim sim;
  const OrrGangPass *passes[ORR_GANG_PASSES_AT_ONCE];
} Run;

/* @job joins the queue. */
static void enqueue(Run *run, OrrGangJob *job) {
  orr_gang_sim_queue(&run->sim, job);
  for (guint i = 0; run->passes[i]; i++)
    if (run->passes[i]->queued) run->passes[i]->queued(&run->sim, job);
}

static void schedule(Run *run) {
  OrrGangSim *sim = &run->sim;
  const gint64 period_us = sim->rules->period_us;
  sim->is_due = TRUE;
  if (period_us > 0 && sim->now_us % period_us != 0) return;
  sim->is_due = FALSE;
  orr_gang_sim_sort_waiting(sim);
  for (guint i = 0; run->passes[i]; i++) run->passes[i]->run(sim);
}

/* --- Events --- */

/* Its time at work and at checkpoints, where that is not at the trace's speed: these keep their
 * proportion. */
static void settle_work(const OrrGangSim *sim, OrrGangJob *job) {
  job->saved_us = job->saving_us;
  if (sim->rules->n_kinds > 0 || orr_gang_sim_was_resized(sim, job)) {
    const gint64 both_us = MAX(job->held_us - job->overhead_us - llround(job->paced_us), 0);
    const double part =
        job->saving_us > 0 ? (double)job->saving_us / (double)(job->run_us + job->saving_us) : 0;
    job->saved_us = llround((double)both_us * part);
    job->run_us = both_us - job->saved_us;
  }
  job->overhead_us += job->saved_us;
}

static void end_job(Run *run, OrrGangJob *job) {
  OrrGangSim *sim = &run->sim;
  orr_gang_sim_release(sim, job);
  job->is_running = FALSE;
  job->left_us = 0;
  settle_work(sim, job);
  orr_gang_sim_close(sim, job, "done");
  for (guint i = 0; run->passes[i]; i++)
    if (run->passes[i]->ended) run->passes[i]->ended(sim, job);
  g_clear_pointer(&job->shares, g_array_unref);
  orr_gang_after_ended(sim->dependents, job, sim->requeued);
}

static void end_jobs(Run *run) {
  OrrGangSim *sim = &run->sim;
  guint n = 0;
  for (; n < sim->running->len; n++) {
    OrrGangJob *job = sim->running->pdata[n];
    if (job->end_us > sim->now_us) break;
    end_job(run, job);
  }
  if (n > 0) g_ptr_array_remove_range(sim->running, 0, n);
}

/* The next event; G_MAXINT64: all is done. Jobs may wait with none running while nodes are
 * repaired. */
static gint64 next_event_us(const Run *run, const GArray *jobs, guint submitted) {
  const OrrGangSim *sim = &run->sim;
  gint64 next_us = orr_gang_pass_multiple_us(sim->now_us, sim->rules->period_us, sim->is_due);
  for (guint i = 0; run->passes[i]; i++)
    if (run->passes[i]->due_us) next_us = MIN(next_us, run->passes[i]->due_us(sim));
  if (submitted < jobs->len)
    next_us = MIN(next_us, g_array_index(jobs, OrrGangJob, submitted).submit_us);
  if (sim->running->len > 0)
    next_us = MIN(next_us, ((const OrrGangJob *)sim->running->pdata[0])->end_us);
  if (sim->rules->failures && (next_us < G_MAXINT64 || sim->waiting->len > 0))
    next_us = MIN(next_us, orr_gang_strike_next_us(sim));
  return next_us;
}

/* Fragmentation: what is free beyond the largest gang that would start. */
static void look(OrrGangSim *sim, gint64 to_us) {
  const double span_us = (double)(to_us - sim->now_us);
  if (!sim->rules->history || !(span_us > 0)) return;
  const double free = (double)sim->bins.n_free, largest = (double)orr_gang_kinds_largest(sim);
  const OrrGangMoment rates = {.held = (double)(sim->n_gpus - sim->n_out) - free,
                               .waiting = sim->waiting_gpus,
                               .free = free,
                               .largest = largest,
                               .out = (double)sim->n_out,
                               .jobs_waiting = sim->waiting->len};
  sim->totals.free += free * span_us;
  sim->totals.stranded += (free - largest) * span_us;
  orr_gang_history_pass(sim->rules->history, sim->now_us, to_us, &rates);
}

static void advance(OrrGangSim *sim, gint64 to_us) {
  const double span_us = (double)(to_us - sim->now_us);
  sim->totals.used += (double)(sim->n_gpus - sim->bins.n_free - sim->n_out) * span_us;
  sim->totals.out += (double)sim->n_out * span_us;
  sim->totals.demand += sim->demand * span_us;
  look(sim, to_us);
  if (sim->waiting->len > 0) sim->totals.free_waiting += (double)sim->bins.n_free * span_us;
  sim->span_us = to_us - sim->now_us;
  sim->now_us = to_us;
  sim->totals.events++;
}

/* Jobs that waited for one which has ended. */
static void join(Run *run) {
  for (guint i = 0; i < run->sim.requeued->len; i++) enqueue(run, run->sim.requeued->pdata[i]);
  g_ptr_array_set_size(run->sim.requeued, 0);
}

/* More failures than any campaign of jobs that makes progress has. */
#define MOST_FAILURES 5000000

/* Jobs that fail too often, or beyond the time for which failures are drawn, may never end. */
static void give_up(OrrGangSim *sim) {
  if (!sim->rules->failures) return;
  if (sim->totals.failures > MOST_FAILURES ||
      (double)sim->now_us >= ORR_GANG_END_S * ORR_GANG_US_PER_S)
    sim->totals.has_given_up = TRUE;
}

/* Submits the jobs that are due; returns how many have been. */
static guint submit(Run *run, GArray *jobs, guint submitted) {
  for (; submitted < jobs->len; submitted++) {
    OrrGangJob *job = &g_array_index(jobs, OrrGangJob, submitted);
    if (job->submit_us > run->sim.now_us) break;
    if (orr_gang_after_submitted(job)) enqueue(run, job);
  }
  return submitted;
}

/* No job runs, waits or is still to come: the scheduler's own passes are not events then. */
static gboolean is_over(const OrrGangSim *sim, const GArray *jobs, guint submitted) {
  return submitted >= jobs->len && sim->running->len == 0 && sim->waiting->len == 0;
}

static void loop(Run *run, GArray *jobs) {
  OrrGangSim *sim = &run->sim;
  guint submitted = 0;
  gint64 next_us;
  sim->now_us = sim->totals.begin_us;
  if (sim->rules->history) sim->rules->history->begin_us = sim->now_us;
  sim->dependents = orr_gang_after_open(jobs);
  while (!sim->totals.has_given_up && !is_over(sim, jobs, submitted) &&
         (next_us = next_event_us(run, jobs, submitted)) < G_MAXINT64) {
    advance(sim, next_us);
    end_jobs(run);
    join(run);
    if (sim->rules->failures) orr_gang_strike(sim);
    submitted = submit(run, jobs, submitted);
    schedule(run);
    if (sim->rules->speed) orr_gang_pace(sim);
    give_up(sim);
  }
  if (sim->waiting->len > 0) sim->totals.has_given_up = TRUE; /* for nodes that never return */
  sim->totals.end_us = sim->now_us;
}

/* --- Begin --- */

static void open_accounts(OrrGangSim *sim, GArray *jobs) {
  const OrrGangOrder *order = sim->rules->order;
  if (!order->half_life_s) return;
  orr_gang_accounts_init(&sim->accounts,
                         order->half_life_s(sim->rules->order_params) * ORR_GANG_US_PER_S, jobs);
  orr_gang_accounts_rank(&sim->accounts, 0);
  ORR_EACH(const OrrGangJob, job, jobs)
    sim->most_priority = fmax(sim->most_priority, job->priority);
}

static void reset(const OrrGangRules *rules, GArray *jobs) {
  ORR_EACH_AT(i, OrrGangJob, job, jobs) {
    const gint64 limit_us = orr_gang_job_limit_us(job, rules->limit_us);
    job->run_us = limit_us > 0 ? MIN(job->work_us, limit_us) : job->work_us;
    orr_gang_preempt_plan_checkpoints(rules, job, limit_us);
    job->is_timed_out = job->run_us < job->work_us;
    job->saved_us = 0;
    job->index = i;
    job->left_us = job->run_us + job->saving_us;
    job->first_start_us = job->promised_us = -1;
    job->preemptions = job->failures = job->in_vain = job->n_after = job->level = job->span = 0;
    job->done_us = job->overhead_us = job->held_us = job->slowed_us = job->failed_us = 0;
    job->is_cancelled = job->is_suspended = job->goes_on = FALSE;
    job->rate = 1;
    job->slow = job->energy_j = job->demand = job->paced_us = 0;
    job->held_gpu_us = job->overhead_gpu_us = job->failed_gpu_us = job->paced_gpu_us = 0;
    job->restart_us_due = job->restart_work_us = job->restart_gpus = 0;
    job->restart_fails = FALSE;
    job->demand_begin = -1;
    job->pace = NULL;
    job->fail_us = G_MAXINT64;
    if (job->asked_gpus > 0) job->gpus = job->asked_gpus;
    job->asked_gpus = job->gpus;
  }
}

/* What jobs need on one node, for placements that go by it. */
static void count_sizes(OrrGangSim *sim, const GArray *jobs) {
  const gint64 most = sim->bins.size;
  sim->popular = g_new0(double, most + 1);
  sim->needed = g_new0(gboolean, most + 1);
  ORR_EACH(const OrrGangJob, job, jobs) {
    sim->popular[MIN(job->gpus, most)] += 1.0 / jobs->len;
    sim->needed[job->gpus % most] = sim->needed[MAX(job->min_gpus, 0) % most] = TRUE;
  }
}

/* A job's queue is found once. */
static guint queue_of(const OrrGangSim *sim, const OrrGangJob *job) {
  const int queue = orr_gang_queues_find(&sim->tree, job->queue ? job->queue : "");
  g_assert_cmpint(queue, >=, 0); /* cluster_jobs.c has checked it */
  return (guint)queue;
}

static void find_queues(const OrrGangSim *sim, GArray *jobs) {
  for (guint i = 0; sim->tree.all && i < jobs->len; i++) {
    OrrGangJob *job = &g_array_index(jobs, OrrGangJob, i);
    job->queue_index = queue_of(sim, job);
  }
}

void orr_gang_sim_run(const OrrGangRules *rules, GArray *jobs, OrrGangTotals *ret_totals) {
  Run run = {.passes = {NULL}};
  OrrGangSim *sim = &run.sim;
  orr_gang_pass_select(rules, run.passes);
  if (run.passes[0]->simulate) {
    run.passes[0]->simulate(rules, jobs, ret_totals);
    return;
  }
  orr_gang_sim_init(sim, rules);
  if (jobs->len > 0) sim->totals.begin_us = g_array_index(jobs, OrrGangJob, 0).submit_us;
  reset(rules, jobs);
  open_accounts(sim, jobs);
  find_queues(sim, jobs);
  count_sizes(sim, jobs);
  loop(&run, jobs);
  *ret_totals = sim->totals;
  orr_gang_plan_free(sim->plan);
  orr_gang_sim_clear(sim);
}

/* --- Probe --- */

struct OrrGangProbe {
  OrrGangSim sim;
};

OrrGangProbe *orr_gang_probe_new(const OrrGangRules *rules) {
  OrrGangProbe *probe = g_new0(OrrGangProbe, 1);
  orr_gang_sim_init(&probe->sim, rules);
  return probe;
}

gboolean orr_gang_probe_fits(OrrGangProbe *probe, const OrrGangJob *job) {
  OrrGangJob of_queue = *job;
  if (probe->sim.tree.all) of_queue.queue_index = queue_of(&probe->sim, job);
  return orr_gang_room_fits_now(&probe->sim, &of_queue);
}

void orr_gang_probe_free(OrrGangProbe *probe) {
  orr_gang_sim_clear(&probe->sim);
  g_free(probe);
}

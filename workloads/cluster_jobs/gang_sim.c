/*
 * gang_sim.c - the event loop: ends, submissions, one pass over the queue.
 */
#include <math.h>

#include "workloads/cluster_jobs/gang_sim_private.h"

const char *const orr_backfill_words[] = {"none", "easy", "conservative", "window", NULL};
const char *const orr_blocked_words[] = {"wait", "skip", NULL};
const char *const orr_charge_words[] = {"preempted", "events", NULL};

int orr_gang_sim_compare_fifo(const OrrGangJob *a, const OrrGangJob *b) {
  if (a->submit_us != b->submit_us) return a->submit_us < b->submit_us ? -1 : 1;
  if (a->number != b->number) return a->number < b->number ? -1 : 1;
  return a < b ? -1 : a > b; /* the order of the array */
}

static double key_of(const OrrGangSim *sim, const OrrGangJob *job) {
  const OrrGangQuestion question = {.params = sim->rules->order_params,
                                    .accounts = &sim->accounts,
                                    .now_us = sim->now_us,
                                    .n_gpus = sim->n_gpus,
                                    .most_priority = sim->most_priority};
  return sim->rules->order->key(&question, job);
}

int orr_gang_sim_compare(const OrrGangSim *sim, const OrrGangJob *a, const OrrGangJob *b) {
  const double key_a = key_of(sim, a), key_b = key_of(sim, b);
  if (key_a != key_b) return key_a < key_b ? -1 : 1;
  return orr_gang_sim_compare_fifo(a, b);
}

gboolean orr_gang_sim_place(OrrGangSim *sim, const OrrGangBins *bins, const OrrGangJob *job) {
  const OrrGangPlacement *placement = sim->rules->placement;
  OrrGangBins seen = *bins;
  seen.map = sim->rules->map;
  seen.popular = sim->popular;
  return placement->place(&seen, job, sim->rules->placement_params, sim->shares);
}

gboolean orr_gang_sim_fits(OrrGangSim *sim, const OrrGangBins *bins, const OrrGangJob *job) {
  if (job->gpus > bins->n_free) return FALSE;
  if (sim->n_kinds == 1) {
    if (sim->rules->placement->by_room && !orr_gang_bins_has_room(bins, job->gpus)) return FALSE;
    return orr_gang_sim_place(sim, bins, job);
  }
  guint kinds[ORR_GANG_KINDS];
  const guint n = orr_gang_sim_kinds(sim, job, kinds);
  for (guint i = 0; i < n; i++)
    if (orr_gang_sim_fits_kind(sim, bins, job, kinds[i])) return TRUE;
  return FALSE;
}

/* Inserts by binary search, so that the running jobs stay in the order of their ends. */
void orr_gang_sim_add_running(OrrGangSim *sim, OrrGangJob *job) {
  guint low = 0, high = sim->running->len;
  while (low < high) {
    const guint middle = (low + high) / 2;
    const OrrGangJob *other = sim->running->pdata[middle];
    const gboolean is_before = other->end_us != job->end_us
                                   ? other->end_us < job->end_us
                                   : orr_gang_sim_compare_fifo(other, job) < 0;
    if (is_before)
      low = middle + 1;
    else
      high = middle;
  }
  g_ptr_array_insert(sim->running, (int)low, job);
}

/* An attempt begins; that of a job which a pass has only moved goes on. */
static void begin_attempt(const OrrGangSim *sim, OrrGangJob *job) {
  if (job->goes_on) return;
  job->started_us = sim->now_us;
  if (sim->rules->failures)
    job->fail_us = orr_gang_failures_of_job_us(sim->rules->failures, job, sim->now_us);
}

/* The restart was counted as work at the speed of the gang that was stopped; it takes its time at
 * the speed of the gang that starts. */
static void settle_restart(const OrrGangSim *sim, OrrGangJob *job) {
  const gint64 due_us = job->restart_us_due;
  const gint64 more_us = due_us > 0 && job->rate != 1
                             ? llround((double)due_us * job->rate) - job->restart_work_us
                             : due_us - job->restart_work_us;
  job->restart_us_due = job->restart_work_us = 0;
  if (more_us == 0) return;
  job->left_us += more_us;
  job->end_us = sim->now_us + (gint64)ceil((double)job->left_us / job->rate);
}

void orr_gang_sim_start(OrrGangSim *sim, OrrGangJob *job) {
  if (!job->shares) job->shares = g_array_new(FALSE, FALSE, sizeof(OrrGangShare));
  g_array_set_size(job->shares, 0);
  g_array_append_vals(job->shares, sim->shares->data, sim->shares->len);
  orr_gang_bins_add(&sim->bins, job->shares, -1);
  job->n_nodes = job->shares->len;
  job->is_running = TRUE;
  job->is_suspended = FALSE;
  orr_gang_kinds_begin(sim, job);
  settle_restart(sim, job);
  begin_attempt(sim, job);
  sim->waiting_gpus -= (double)job->asked_gpus;
  if (sim->rules->history) orr_gang_history_start(sim->rules->history, job, sim->now_us);
  if (job->first_start_us < 0) job->first_start_us = sim->now_us;
  if (sim->accounts.all) orr_gang_accounts_run(&sim->accounts, job, sim->now_us, 1);
  if (sim->tree.all) orr_gang_queues_run(&sim->tree, job->queue_index, job, 1);
  orr_gang_sim_add_running(sim, job);
}

void orr_gang_sim_book(const OrrGangSim *sim, OrrGangJob *job) {
  const gint64 span_us = sim->now_us - job->since_us;
  const double paced_us = job->slow > 0 ? (double)span_us * (1 - 1 / job->slow) : 0;
  job->since_us = sim->now_us;
  job->held_us += span_us;
  job->paced_us += paced_us;
  job->held_gpu_us += (double)job->gpus * (double)span_us;
  job->paced_gpu_us += (double)job->gpus * paced_us;
  if (sim->rules->speed && job->pace)
    job->energy_j +=
        orr_gang_speed_watts(sim->rules->speed, job) * (double)span_us / ORR_GANG_US_PER_S;
}

/* Gives back what @job holds, without a word on its work. */
static void release(OrrGangSim *sim, OrrGangJob *job) {
  orr_gang_sim_book(sim, job);
  orr_gang_bins_add(&sim->bins, job->shares, 1);
  if (sim->accounts.all) orr_gang_accounts_run(&sim->accounts, job, sim->now_us, -1);
  if (sim->tree.all) orr_gang_queues_run(&sim->tree, job->queue_index, job, -1);
}

void orr_gang_sim_leave(OrrGangSim *sim, OrrGangJob *job) {
  release(sim, job);
  job->left_us = orr_gang_job_left_us(job, sim->now_us);
  job->is_running = FALSE;
  g_ptr_array_remove(sim->running, job); /* keeps the order */
}

/* --- Queue --- */

/* @job joins the queue for the first time. */
static void enter(OrrGangSim *sim, OrrGangJob *job) {
  sim->demand += (double)job->asked_gpus;
  job->demand_begin = sim->totals.demand;
}

void orr_gang_sim_count_waiting(OrrGangSim *sim) {
  sim->waiting_gpus = 0;
  for (guint i = 0; i < sim->waiting->len; i++)
    sim->waiting_gpus += (double)((const OrrGangJob *)sim->waiting->pdata[i])->asked_gpus;
}

void orr_gang_sim_queue(OrrGangSim *sim, OrrGangJob *job) {
  if (job->demand_begin < 0) enter(sim, job);
  sim->waiting_gpus += (double)job->asked_gpus;
  job->turn = sim->turns++;
  guint low = 0, high = sim->waiting->len;
  while (low < high) {
    const guint middle = (low + high) / 2;
    if (orr_gang_sim_compare(sim, sim->waiting->pdata[middle], job) < 0)
      low = middle + 1;
    else
      high = middle;
  }
  g_ptr_array_insert(sim->waiting, (int)low, job);
  sim->totals.most_waiting = MAX(sim->totals.most_waiting, sim->waiting->len);
  if (sim->plan) orr_gang_plan_add(sim, job);
}

/* Starts what fits, in order. A job that does not fit ends the pass, or is passed over. */
static void pass(OrrGangSim *sim) {
  const gboolean skips = sim->rules->blocked == ORR_BLOCKED_SKIP;
  const guint most = sim->rules->depth > 0 ? sim->rules->depth : G_MAXUINT;
  guint kept = 0, i = 0;
  for (; i < sim->waiting->len && sim->bins.n_free > 0 && i < most; i++) {
    OrrGangJob *job = sim->waiting->pdata[i];
    if (orr_gang_sim_fits(sim, &sim->bins, job))
      orr_gang_sim_start(sim, job);
    else if (skips)
      sim->waiting->pdata[kept++] = job;
    else
      break;
  }
  if (i > kept) g_ptr_array_remove_range(sim->waiting, kept, i - kept);
  if (sim->rules->backfill == ORR_BACKFILL_EASY && sim->waiting->len > 0 && sim->bins.n_free > 0)
    orr_gang_easy_pass(sim, 0);
}

static int compare_keys(gconstpointer a, gconstpointer b) {
  const OrrGangJob *x = *(OrrGangJob *const *)a, *y = *(OrrGangJob *const *)b;
  if (x->key != y->key) return x->key < y->key ? -1 : 1;
  return orr_gang_sim_compare_fifo(x, y);
}

/* Keys of waiting jobs drift, and often keep their order. */
static void sort_waiting(OrrGangSim *sim) {
  gboolean is_sorted = TRUE;
  for (guint i = 0; i < sim->waiting->len; i++) {
    OrrGangJob *job = sim->waiting->pdata[i];
    job->key = key_of(sim, job);
    is_sorted = is_sorted &&
                (i == 0 || compare_keys(&sim->waiting->pdata[i - 1], &sim->waiting->pdata[i]) < 0);
  }
  if (!is_sorted) g_ptr_array_sort(sim->waiting, compare_keys);
}

/* Backfill by window, at multiples of its interval. */
static void fill_window(OrrGangSim *sim) {
  const gint64 interval_us = sim->rules->window.interval_us;
  if (sim->rules->backfill != ORR_BACKFILL_WINDOW) return;
  sim->fills_due = interval_us > 0 && sim->now_us % interval_us != 0;
  if (!sim->fills_due && sim->waiting->len > 0) orr_gang_window_pass(sim);
}

static void schedule(OrrGangSim *sim) {
  const gint64 period_us = sim->rules->period_us;
  sim->is_due = TRUE;
  if (period_us > 0 && sim->now_us % period_us != 0) return;
  sim->is_due = FALSE;
  if (sim->accounts.all && sim->waiting->len > 1) {
    orr_gang_accounts_rank(&sim->accounts, sim->now_us);
    sort_waiting(sim);
  }
  if (sim->rules->elastic != ORR_ELASTIC_NONE)
    orr_gang_elastic_pass(sim);
  else if (sim->rules->order->preempts)
    orr_gang_repack(sim);
  else if (sim->plan)
    orr_gang_plan_pass(sim);
  else if (sim->tree.all)
    orr_gang_queue_pass(sim);
  else
    pass(sim);
  if (sim->tree.all || sim->rules->elastic || sim->rules->order->preempts)
    orr_gang_sim_count_waiting(sim);
  fill_window(sim);
}

/* --- Events --- */

static gboolean was_resized(const OrrGangSim *sim, const OrrGangJob *job) {
  return sim->rules->elastic != ORR_ELASTIC_NONE || job->gpus != job->asked_gpus;
}

/* GPU time of its checkpoints: their part of what is neither lost nor slowed. */
static double saved_by_size(const OrrGangJob *job) {
  const double rest = job->held_gpu_us - job->overhead_gpu_us - job->paced_gpu_us;
  return job->saved_us > 0 ? rest * (double)job->saved_us / (double)(job->saved_us + job->run_us)
                           : 0;
}

static void add_totals(OrrGangSim *sim, const OrrGangJob *job) {
  const double gpus = (double)job->gpus;
  const gboolean by_size = was_resized(sim, job);
  const double saved = by_size ? saved_by_size(job) : gpus * (double)job->saved_us;
  sim->totals.saved += saved;
  sim->totals.overhead += by_size ? job->overhead_gpu_us + saved : gpus * (double)job->overhead_us;
  sim->totals.slowed += by_size ? job->paced_gpu_us : gpus * (double)job->slowed_us;
  sim->totals.failed += by_size ? job->failed_gpu_us : gpus * (double)job->failed_us;
}

void orr_gang_sim_close(OrrGangSim *sim, OrrGangJob *job, const char *why) {
  job->slowed_us = job->held_us - job->run_us - job->overhead_us;
  job->demand = sim->totals.demand - job->demand_begin;
  sim->demand -= (double)job->asked_gpus;
  add_totals(sim, job);
  if (sim->rules->history) orr_gang_history_stop(sim->rules->history, job, sim->now_us, why);
}

/* Its time at work and at checkpoints, where that is not at the trace's speed: these keep their
 * proportion. */
static void settle_work(const OrrGangSim *sim, OrrGangJob *job) {
  job->saved_us = job->saving_us;
  if (sim->rules->n_kinds > 0 || was_resized(sim, job)) {
    const gint64 both_us = MAX(job->held_us - job->overhead_us - llround(job->paced_us), 0);
    const double part =
        job->saving_us > 0 ? (double)job->saving_us / (double)(job->run_us + job->saving_us) : 0;
    job->saved_us = llround((double)both_us * part);
    job->run_us = both_us - job->saved_us;
  }
  job->overhead_us += job->saved_us;
}

static void end_job(OrrGangSim *sim, OrrGangJob *job) {
  release(sim, job);
  job->is_running = FALSE;
  job->left_us = 0;
  settle_work(sim, job);
  orr_gang_sim_close(sim, job, "done");
  if (sim->plan && job->first_start_us + orr_gang_job_estimate_us(job) > sim->now_us)
    orr_gang_plan_ended_early(sim, job);
  g_clear_pointer(&job->shares, g_array_unref);
  orr_gang_after_ended(sim, job);
}

static void end_jobs(OrrGangSim *sim) {
  guint n = 0;
  for (; n < sim->running->len; n++) {
    OrrGangJob *job = sim->running->pdata[n];
    if (job->end_us > sim->now_us) break;
    end_job(sim, job);
  }
  if (n > 0) g_ptr_array_remove_range(sim->running, 0, n);
}

static gint64 next_change_us(const OrrGangSim *sim) {
  const OrrGangRules *rules = sim->rules;
  gint64 next_us = G_MAXINT64;
  for (guint i = 0; rules->order->changes_us && i < sim->running->len; i++)
    next_us = MIN(next_us, rules->order->changes_us(rules->order_params, sim->running->pdata[i],
                                                    sim->now_us));
  return next_us;
}

static gint64 multiple_us(gint64 now_us, gint64 period_us, gboolean is_due) {
  return is_due && period_us > 0 ? (now_us + period_us - 1) / period_us * period_us : G_MAXINT64;
}

/* With passes at multiples of a period: the next one, if something has happened. */
static gint64 next_pass_us(const OrrGangSim *sim) {
  return MIN(multiple_us(sim->now_us, sim->rules->period_us, sim->is_due),
             multiple_us(sim->now_us, sim->rules->window.interval_us, sim->fills_due));
}

static gint64 next_event_us(const OrrGangSim *sim, const GArray *jobs, guint submitted) {
  gint64 next_us = MIN(next_change_us(sim), orr_gang_victims_next_us(sim));
  next_us = MIN(next_us, next_pass_us(sim));
  if (submitted < jobs->len)
    next_us = MIN(next_us, g_array_index(jobs, OrrGangJob, submitted).submit_us);
  if (sim->running->len > 0)
    next_us = MIN(next_us, ((const OrrGangJob *)sim->running->pdata[0])->end_us);
  if (sim->rules->failures) next_us = MIN(next_us, orr_gang_strike_next_us(sim));
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
static void join(OrrGangSim *sim) {
  for (guint i = 0; i < sim->requeued->len; i++) orr_gang_sim_queue(sim, sim->requeued->pdata[i]);
  g_ptr_array_set_size(sim->requeued, 0);
}

/* More failures than any campaign of jobs that makes progress has. */
#define MOST_FAILURES 5000000

/* Whether there is an event to come: jobs may wait with none running while nodes are repaired. */
static gboolean goes_on(const OrrGangSim *sim, const GArray *jobs, guint submitted) {
  return submitted < jobs->len || sim->running->len > 0 || sim->fills_due ||
         (sim->rules->period_us > 0 && sim->is_due) ||
         (sim->rules->failures && sim->waiting->len > 0);
}

/* Submits the jobs that are due; returns how many have been. */
static guint submit(OrrGangSim *sim, GArray *jobs, guint submitted) {
  for (; submitted < jobs->len; submitted++) {
    OrrGangJob *job = &g_array_index(jobs, OrrGangJob, submitted);
    if (job->submit_us > sim->now_us) break;
    if (job->n_after == 0) orr_gang_sim_queue(sim, job);
  }
  return submitted;
}

static void loop(OrrGangSim *sim, GArray *jobs) {
  guint submitted = 0;
  sim->now_us = sim->totals.begin_us;
  if (sim->rules->history) sim->rules->history->begin_us = sim->now_us;
  orr_gang_after_open(sim, jobs);
  while (!sim->totals.has_given_up && goes_on(sim, jobs, submitted)) {
    advance(sim, next_event_us(sim, jobs, submitted));
    end_jobs(sim);
    join(sim);
    if (sim->rules->failures) orr_gang_strike(sim);
    submitted = submit(sim, jobs, submitted);
    schedule(sim);
    if (sim->rules->speed) orr_gang_pace(sim);
    sim->totals.has_given_up = sim->totals.failures > MOST_FAILURES;
  }
  orr_gang_after_close(sim);
  sim->totals.end_us = sim->now_us;
}

static void open_accounts(OrrGangSim *sim, GArray *jobs) {
  const OrrGangOrder *order = sim->rules->order;
  if (!order->half_life_s) return;
  orr_gang_accounts_init(&sim->accounts,
                         order->half_life_s(sim->rules->order_params) * ORR_GANG_US_PER_S, jobs);
  orr_gang_accounts_rank(&sim->accounts, 0);
  for (guint i = 0; i < jobs->len; i++)
    sim->most_priority = fmax(sim->most_priority, g_array_index(jobs, OrrGangJob, i).priority);
}

/* The time at which a job is stopped, its own limit or the policy's; 0: none. */
static gint64 limit_of(const OrrGangRules *rules, const OrrGangJob *job) {
  if (job->limit_us <= 0 || rules->limit_us <= 0) return MAX(job->limit_us, rules->limit_us);
  return MIN(job->limit_us, rules->limit_us);
}

static void reset(const OrrGangRules *rules, GArray *jobs) {
  for (guint i = 0; i < jobs->len; i++) {
    OrrGangJob *job = &g_array_index(jobs, OrrGangJob, i);
    const gint64 limit_us = limit_of(rules, job);
    job->run_us = limit_us > 0 ? MIN(job->work_us, limit_us) : job->work_us;
    orr_gang_preempt_plan_checkpoints(rules, job, limit_us);
    job->saved_us = 0;
    job->index = i;
    job->left_us = job->run_us + job->saving_us;
    job->first_start_us = job->promised_us = -1;
    job->preemptions = job->failures = job->n_after = job->level = job->span = 0;
    job->done_us = job->overhead_us = job->held_us = job->slowed_us = job->failed_us = 0;
    job->is_cancelled = job->is_suspended = job->goes_on = FALSE;
    job->rate = 1;
    job->slow = job->energy_j = job->demand = job->paced_us = 0;
    job->held_gpu_us = job->overhead_gpu_us = job->failed_gpu_us = job->paced_gpu_us = 0;
    job->restart_us_due = job->restart_work_us = 0;
    job->demand_begin = -1;
    job->pace = NULL;
    job->fail_us = G_MAXINT64;
    if (job->asked_gpus > 0) job->gpus = job->asked_gpus;
    job->asked_gpus = job->gpus;
  }
}

/* Queues, where the rules need them. */
static void open_tree(OrrGangSim *sim) {
  const OrrGangRules *rules = sim->rules;
  if ((!rules->queues || rules->queues->len == 0) && rules->take == ORR_TAKE_NEVER &&
      !(rules->cpus > 0) && !(rules->memory_bytes > 0))
    return;
  const char *names[ORR_GANG_KINDS] = {0};
  gint64 gpus[ORR_GANG_KINDS];
  for (guint k = 0; k < sim->n_kinds; k++) {
    names[k] = sim->kinds[k].name;
    gpus[k] = sim->kinds[k].n_nodes * sim->kinds[k].gpus_per_node;
  }
  orr_gang_queues_init(&sim->tree, rules->queues, names, gpus, sim->n_kinds);
  sim->tree.capacity[ORR_GANG_CPUS] = rules->cpus;
  sim->tree.capacity[ORR_GANG_MEMORY] = rules->memory_bytes;
  sim->is_blocked = g_new0(gboolean, sim->tree.n);
}

/* What jobs need on one node, for placements that go by it. */
static void count_sizes(OrrGangSim *sim, const GArray *jobs) {
  const gint64 most = sim->bins.size;
  sim->popular = g_new0(double, most + 1);
  for (guint i = 0; i < jobs->len; i++)
    sim->popular[MIN(g_array_index(jobs, OrrGangJob, i).gpus, most)] += 1.0 / jobs->len;
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

static void sim_init(OrrGangSim *sim, const OrrGangRules *rules) {
  *sim = (OrrGangSim){.rules = rules};
  orr_gang_kinds_open(sim);
  sim->waiting = g_ptr_array_new();
  sim->running = g_ptr_array_new();
  sim->merged = g_ptr_array_new();
  sim->requeued = g_ptr_array_new();
  sim->shares = g_array_new(FALSE, FALSE, sizeof(OrrGangShare));
  sim->victims = g_array_new(FALSE, FALSE, sizeof(OrrGangJob *));
  open_tree(sim);
  if (rules->backfill == ORR_BACKFILL_CONSERVATIVE) sim->plan = orr_gang_plan_new(sim);
}

static void sim_clear(OrrGangSim *sim) {
  orr_gang_accounts_clear(&sim->accounts);
  orr_gang_queues_clear(&sim->tree);
  orr_gang_queues_clear(&sim->later_tree);
  orr_gang_plan_free(sim->plan);
  orr_gang_plan_free(sim->window);
  g_free(sim->is_blocked);
  g_free(sim->popular);
  g_free(sim->refused);
  g_array_unref(sim->victims);
  g_array_unref(sim->shares);
  g_ptr_array_unref(sim->requeued);
  g_ptr_array_unref(sim->merged);
  g_ptr_array_unref(sim->running);
  g_ptr_array_unref(sim->waiting);
  orr_gang_bins_clear(&sim->later);
  orr_gang_bins_clear(&sim->bins);
}

void orr_gang_sim_run(const OrrGangRules *rules, GArray *jobs, OrrGangTotals *ret_totals) {
  OrrGangSim sim;
  sim_init(&sim, rules);
  if (jobs->len > 0) sim.totals.begin_us = g_array_index(jobs, OrrGangJob, 0).submit_us;
  reset(rules, jobs);
  open_accounts(&sim, jobs);
  find_queues(&sim, jobs);
  count_sizes(&sim, jobs);
  loop(&sim, jobs);
  *ret_totals = sim.totals;
  sim_clear(&sim);
}

/* --- Probe --- */

struct OrrGangProbe {
  OrrGangSim sim;
};

OrrGangProbe *orr_gang_probe_new(const OrrGangRules *rules) {
  OrrGangProbe *probe = g_new0(OrrGangProbe, 1);
  sim_init(&probe->sim, rules);
  return probe;
}

gboolean orr_gang_probe_fits(OrrGangProbe *probe, const OrrGangJob *job) {
  if (!probe->sim.tree.all) return orr_gang_sim_fits(&probe->sim, &probe->sim.bins, job);
  OrrGangJob of_queue = *job;
  of_queue.queue_index = queue_of(&probe->sim, job);
  return orr_gang_queue_pass_fits(&probe->sim, &of_queue);
}

void orr_gang_probe_free(OrrGangProbe *probe) {
  sim_clear(&probe->sim);
  g_free(probe);
}

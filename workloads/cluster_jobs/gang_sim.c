/*
 * gang_sim.c - the event loop: ends, submissions, one pass over the queue.
 */
#include <math.h>

#include "workloads/cluster_jobs/gang_sim_private.h"

const char *const orr_backfill_words[] = {"none", "easy", "conservative", NULL};
const char *const orr_blocked_words[] = {"wait", "skip", NULL};
const char *const orr_charge_words[] = {"preempted", "events", NULL};

static int compare_fifo(const OrrGangJob *a, const OrrGangJob *b) {
  if (a->submit_us != b->submit_us) return a->submit_us < b->submit_us ? -1 : 1;
  if (a->number != b->number) return a->number < b->number ? -1 : 1;
  return a < b ? -1 : a > b; /* the order of the array */
}

static double key_of(const OrrGangSim *sim, const OrrGangJob *job) {
  const OrrGangQuestion question = {.params = sim->rules->order_params,
                                    .accounts = &sim->accounts,
                                    .now_us = sim->now_us,
                                    .n_gpus = (gint64)sim->bins.n * sim->bins.size,
                                    .most_priority = sim->most_priority};
  return sim->rules->order->key(&question, job);
}

int orr_gang_sim_compare(const OrrGangSim *sim, const OrrGangJob *a, const OrrGangJob *b) {
  const double key_a = key_of(sim, a), key_b = key_of(sim, b);
  if (key_a != key_b) return key_a < key_b ? -1 : 1;
  return compare_fifo(a, b);
}

gboolean orr_gang_sim_fits(OrrGangSim *sim, const OrrGangBins *bins, const OrrGangJob *job) {
  return job->gpus <= bins->n_free && sim->rules->placement->place(bins, job->gpus, sim->shares);
}

/* Inserts by binary search, so that the running jobs stay in the order of their ends. */
void orr_gang_sim_add_running(OrrGangSim *sim, OrrGangJob *job) {
  guint low = 0, high = sim->running->len;
  while (low < high) {
    const guint middle = (low + high) / 2;
    const OrrGangJob *other = sim->running->pdata[middle];
    const gboolean is_before =
        other->end_us != job->end_us ? other->end_us < job->end_us : compare_fifo(other, job) < 0;
    if (is_before)
      low = middle + 1;
    else
      high = middle;
  }
  g_ptr_array_insert(sim->running, (int)low, job);
}

void orr_gang_sim_start(OrrGangSim *sim, OrrGangJob *job) {
  if (!job->shares) job->shares = g_array_new(FALSE, FALSE, sizeof(OrrGangShare));
  g_array_set_size(job->shares, 0);
  g_array_append_vals(job->shares, sim->shares->data, sim->shares->len);
  orr_gang_bins_add(&sim->bins, job->shares, -1);
  job->n_nodes = job->shares->len;
  job->is_running = TRUE;
  job->end_us = sim->now_us + job->left_us;
  if (job->first_start_us < 0) job->first_start_us = sim->now_us;
  if (sim->accounts.all) orr_gang_accounts_run(&sim->accounts, job, sim->now_us, 1);
  orr_gang_sim_add_running(sim, job);
}

/* --- Queue --- */

static void submit(OrrGangSim *sim, OrrGangJob *job) {
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
  guint kept = 0, i = 0;
  for (; i < sim->waiting->len && sim->bins.n_free > 0; i++) {
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

static int compare_waiting(gconstpointer a, gconstpointer b, gpointer sim) {
  return orr_gang_sim_compare(sim, *(OrrGangJob *const *)a, *(OrrGangJob *const *)b);
}

static void schedule(OrrGangSim *sim) {
  if (sim->accounts.all && sim->waiting->len > 1) {
    orr_gang_accounts_rank(&sim->accounts, sim->now_us);
    g_ptr_array_sort_with_data(sim->waiting, compare_waiting, sim);
  }
  if (sim->rules->order->preempts)
    orr_gang_repack(sim);
  else if (sim->plan)
    orr_gang_plan_pass(sim);
  else
    pass(sim);
}

/* --- Events --- */

static void end_job(OrrGangSim *sim, OrrGangJob *job) {
  orr_gang_bins_add(&sim->bins, job->shares, 1);
  if (sim->accounts.all) orr_gang_accounts_run(&sim->accounts, job, sim->now_us, -1);
  job->is_running = FALSE;
  job->left_us = 0;
  sim->totals.overhead += (double)job->gpus * (double)job->overhead_us;
  if (sim->plan && job->first_start_us + orr_gang_job_estimate_us(job) > sim->now_us)
    orr_gang_plan_ended_early(sim, job);
  g_clear_pointer(&job->shares, g_array_unref);
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

static gint64 next_event_us(const OrrGangSim *sim, const GArray *jobs, guint submitted) {
  gint64 next_us = next_change_us(sim);
  if (submitted < jobs->len)
    next_us = MIN(next_us, g_array_index(jobs, OrrGangJob, submitted).submit_us);
  if (sim->running->len > 0)
    next_us = MIN(next_us, ((const OrrGangJob *)sim->running->pdata[0])->end_us);
  return next_us;
}

static void advance(OrrGangSim *sim, gint64 to_us) {
  const double span_us = (double)(to_us - sim->now_us);
  const double all = (double)sim->bins.n * (double)sim->bins.size;
  sim->totals.used += (all - (double)sim->bins.n_free) * span_us;
  if (sim->waiting->len > 0) sim->totals.free_waiting += (double)sim->bins.n_free * span_us;
  sim->span_us = to_us - sim->now_us;
  sim->now_us = to_us;
  sim->totals.events++;
}

static void loop(OrrGangSim *sim, GArray *jobs) {
  guint submitted = 0;
  sim->now_us = sim->totals.begin_us;
  while (submitted < jobs->len || sim->running->len > 0) {
    advance(sim, next_event_us(sim, jobs, submitted));
    end_jobs(sim);
    for (; submitted < jobs->len; submitted++) {
      OrrGangJob *job = &g_array_index(jobs, OrrGangJob, submitted);
      if (job->submit_us > sim->now_us) break;
      submit(sim, job);
    }
    schedule(sim);
  }
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

static void reset(GArray *jobs) {
  for (guint i = 0; i < jobs->len; i++) {
    OrrGangJob *job = &g_array_index(jobs, OrrGangJob, i);
    const gint64 limit_us = job->limit_us;
    job->run_us = limit_us > 0 ? MIN(job->work_us, limit_us) : job->work_us;
    job->left_us = job->run_us;
    job->first_start_us = job->promised_us = -1;
    job->preemptions = 0;
    job->done_us = job->overhead_us = 0;
  }
}

void orr_gang_sim_run(const OrrGangRules *rules, GArray *jobs, OrrGangTotals *ret_totals) {
  OrrGangSim sim = {.rules = rules};
  const gboolean is_count = rules->placement->is_count;
  const guint n = is_count ? 1 : rules->n_nodes;
  const gint64 size = is_count ? rules->n_nodes * rules->gpus_per_node : rules->gpus_per_node;
  orr_gang_bins_init(&sim.bins, n, size);
  orr_gang_bins_init(&sim.later, n, size);
  sim.waiting = g_ptr_array_new();
  sim.running = g_ptr_array_new();
  sim.merged = g_ptr_array_new();
  sim.shares = g_array_new(FALSE, FALSE, sizeof(OrrGangShare));
  if (rules->backfill == ORR_BACKFILL_CONSERVATIVE) sim.plan = orr_gang_plan_new(&sim);
  if (jobs->len > 0) sim.totals.begin_us = g_array_index(jobs, OrrGangJob, 0).submit_us;
  reset(jobs);
  open_accounts(&sim, jobs);
  loop(&sim, jobs);
  *ret_totals = sim.totals;
  orr_gang_accounts_clear(&sim.accounts);
  orr_gang_plan_free(sim.plan);
  g_array_unref(sim.shares);
  g_ptr_array_unref(sim.merged);
  g_ptr_array_unref(sim.running);
  g_ptr_array_unref(sim.waiting);
  orr_gang_bins_clear(&sim.later);
  orr_gang_bins_clear(&sim.bins);
}

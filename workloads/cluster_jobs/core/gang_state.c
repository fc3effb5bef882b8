/*
 * gang_state.c - jobs start, stop, wait and end; sums over their lives.
 */
#include "workloads/cluster_jobs/core/gang_state.h"

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

static int compare_ends(gconstpointer a, gconstpointer b) {
  const OrrGangJob *x = *(OrrGangJob *const *)a, *y = *(OrrGangJob *const *)b;
  if (x->end_us != y->end_us) return x->end_us < y->end_us ? -1 : 1;
  return orr_gang_sim_compare_fifo(x, y);
}

void orr_gang_sim_sort_running(OrrGangSim *sim) { g_ptr_array_sort(sim->running, compare_ends); }

/* Inserts by binary search, so that the running jobs stay in the order of their ends. */
static void add_running(OrrGangSim *sim, OrrGangJob *job) {
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

/* An attempt begins; a job that a pass has only moved goes on with its own. */
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

/* A restart is overhead of the GPUs that it takes now; the stop counted the ones that it took. */
static void settle_restart_gpus(OrrGangJob *job) {
  const double more = (double)(job->gpus - job->restart_gpus) * (double)job->restart_us_due;
  job->overhead_gpu_us += more;
  if (job->restart_fails) job->failed_gpu_us += more;
}

/* What the placement takes to join the gang's nodes is overhead, in real time like a restart. */
static void add_set_up(const OrrGangSim *sim, OrrGangJob *job) {
  const OrrGangPlacement *placement = sim->rules->placement;
  if (!placement->set_up_s || job->goes_on) return;
  const gint64 set_up_us = llround(1e6 * placement->set_up_s(sim->rules->placement_params,
                                                             job->gpus, sim->rules->gpus_per_node));
  job->restart_us_due += set_up_us;
  job->overhead_us += set_up_us;
  job->overhead_gpu_us += (double)job->gpus * (double)set_up_us;
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
  settle_restart_gpus(job);
  add_set_up(sim, job);
  settle_restart(sim, job);
  begin_attempt(sim, job);
  sim->waiting_gpus -= (double)job->asked_gpus;
  if (sim->rules->history) orr_gang_history_start(sim->rules->history, job, sim->now_us);
  if (job->first_start_us < 0) job->first_start_us = sim->now_us;
  if (sim->accounts.all) orr_gang_accounts_run(&sim->accounts, job, sim->now_us, 1);
  if (sim->tree.all) orr_gang_queues_run(&sim->tree, job->queue_index, job, 1);
  add_running(sim, job);
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

void orr_gang_sim_release(OrrGangSim *sim, OrrGangJob *job) {
  orr_gang_sim_book(sim, job);
  orr_gang_bins_add(&sim->bins, job->shares, 1);
  if (sim->accounts.all) orr_gang_accounts_run(&sim->accounts, job, sim->now_us, -1);
  if (sim->tree.all) orr_gang_queues_run(&sim->tree, job->queue_index, job, -1);
}

void orr_gang_sim_leave(OrrGangSim *sim, OrrGangJob *job) {
  orr_gang_sim_release(sim, job);
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
}

guint orr_gang_sim_requeue(OrrGangSim *sim) {
  const guint n = sim->requeued->len;
  for (guint i = 0; i < n; i++) orr_gang_sim_queue(sim, sim->requeued->pdata[i]);
  g_ptr_array_set_size(sim->requeued, 0);
  return n;
}

static int compare_keys(gconstpointer a, gconstpointer b) {
  const OrrGangJob *x = *(OrrGangJob *const *)a, *y = *(OrrGangJob *const *)b;
  if (x->key != y->key) return x->key < y->key ? -1 : 1;
  return orr_gang_sim_compare_fifo(x, y);
}

/* Keys often keep their order. */
void orr_gang_sim_sort_waiting(OrrGangSim *sim) {
  gboolean is_sorted = TRUE;
  if (!sim->accounts.all || sim->waiting->len <= 1) return;
  orr_gang_accounts_rank(&sim->accounts, sim->now_us);
  ORR_EACH_POINTER_AT(i, OrrGangJob, job, sim->waiting) {
    job->key = key_of(sim, job);
    is_sorted = is_sorted &&
                (i == 0 || compare_keys(&sim->waiting->pdata[i - 1], &sim->waiting->pdata[i]) < 0);
  }
  if (!is_sorted) g_ptr_array_sort(sim->waiting, compare_keys);
}

/* --- The end of a life --- */

gboolean orr_gang_sim_was_resized(const OrrGangSim *sim, const OrrGangJob *job) {
  return sim->rules->elastic != ORR_ELASTIC_NONE || job->gpus != job->asked_gpus;
}

/* GPU time of its checkpoints: their part of what is neither lost nor slowed. */
static double saved_by_size(const OrrGangJob *job) {
  const double rest = job->held_gpu_us - job->overhead_gpu_us - job->paced_gpu_us;
  return job->saved_us > 0 ? rest * (double)job->saved_us / (double)(job->saved_us + job->run_us)
                           : 0;
}

static void add_totals(OrrGangSim *sim, OrrGangJob *job) {
  const double gpus = (double)job->gpus;
  const gboolean by_size = orr_gang_sim_was_resized(sim, job);
  const double saved = by_size ? saved_by_size(job) : gpus * (double)job->saved_us;
  sim->totals.saved += saved;
  sim->totals.overhead += by_size ? job->overhead_gpu_us + saved : gpus * (double)job->overhead_us;
  sim->totals.slowed += by_size ? job->paced_gpu_us : gpus * (double)job->slowed_us;
  sim->totals.failed += by_size ? job->failed_gpu_us : gpus * (double)job->failed_us;
  job->run_gpu_us = by_size ? job->held_gpu_us - job->overhead_gpu_us - job->paced_gpu_us - saved
                            : gpus * (double)job->run_us;
  if (job->is_timed_out) sim->totals.timed_out += job->run_gpu_us;
}

void orr_gang_sim_close(OrrGangSim *sim, OrrGangJob *job, const char *why) {
  job->slowed_us = job->held_us - job->run_us - job->overhead_us;
  job->demand = sim->totals.demand - job->demand_begin;
  sim->demand -= (double)job->asked_gpus;
  add_totals(sim, job);
  if (sim->rules->history) orr_gang_history_stop(sim->rules->history, job, sim->now_us, why);
}

/* --- Begin and end of a run --- */

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

void orr_gang_sim_init(OrrGangSim *sim, const OrrGangRules *rules) {
  *sim = (OrrGangSim){.rules = rules};
  orr_gang_kinds_open(sim);
  sim->waiting = g_ptr_array_new();
  sim->running = g_ptr_array_new();
  sim->merged = g_ptr_array_new();
  sim->requeued = g_ptr_array_new();
  sim->shares = g_array_new(FALSE, FALSE, sizeof(OrrGangShare));
  sim->victims = g_array_new(FALSE, FALSE, sizeof(OrrGangJob *));
  open_tree(sim);
}

void orr_gang_sim_clear(OrrGangSim *sim) {
  orr_gang_accounts_clear(&sim->accounts);
  orr_gang_queues_clear(&sim->tree);
  orr_gang_queues_clear(&sim->later_tree);
  g_clear_pointer(&sim->dependents, g_hash_table_unref);
  ORR_FREE(sim->is_blocked, sim->popular, sim->needed, sim->refused);
  g_array_unref(sim->victims);
  g_array_unref(sim->shares);
  g_ptr_array_unref(sim->requeued);
  g_ptr_array_unref(sim->merged);
  g_ptr_array_unref(sim->running);
  g_ptr_array_unref(sim->waiting);
  orr_gang_bins_clear(&sim->later);
  orr_gang_bins_clear(&sim->bins);
}

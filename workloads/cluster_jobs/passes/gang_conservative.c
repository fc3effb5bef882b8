/*
 * gang_conservative.c - conservative backfill (Feitelson and Weil 1998): every job gets a promised
 * start when it is submitted, the earliest that moves no earlier promise.
 *
 * A job that ends before its estimate makes room; then each waiting job, in the order of its
 * promise, is taken out of the plan and put back at the earliest start, which is never later than
 * before.
 *
 * Where ends move, because places slow jobs or nodes fail, a promise rests on what the scheduler
 * counts on now: the ends that it expects (gang_job.h) and the returns of nodes in repair. At every
 * pass the plan is made from nothing, in the order of the policy, in which promises were made; a
 * failed job comes back to its place there. Such a promise may slip.
 */
#include "workloads/cluster_jobs/passes/gang_pass.h"

static gboolean ends_move(const OrrGangSim *sim) {
  return sim->rules->speed || sim->rules->failures;
}

static gint64 length_of(const OrrGangJob *job) { return orr_gang_job_estimate_us(job); }

static void promise(OrrGangSim *sim, OrrGangJob *job) {
  job->planned_us = orr_gang_plan_find_from_now(sim->plan, sim, job, length_of(job));
  if (job->promised_us < 0) job->promised_us = job->planned_us;
  if (!job->shares) job->shares = g_array_new(FALSE, FALSE, sizeof(OrrGangShare));
  g_array_set_size(job->shares, 0);
  g_array_append_vals(job->shares, sim->shares->data, sim->shares->len);
  orr_gang_plan_change(sim->plan, job->shares, job->planned_us, job->planned_us + length_of(job),
                       -1);
}

static void queued(OrrGangSim *sim, OrrGangJob *job) {
  if (ends_move(sim)) return; /* the pass plans it */
  if (!sim->plan) sim->plan = orr_gang_plan_new(sim);
  orr_gang_plan_forget(sim->plan, sim);
  promise(sim, job);
}

static int compare_promises(gconstpointer a, gconstpointer b) {
  const OrrGangJob *x = *(OrrGangJob *const *)a, *y = *(OrrGangJob *const *)b;
  if (x->planned_us != y->planned_us) return x->planned_us < y->planned_us ? -1 : 1;
  if (x->submit_us != y->submit_us) return x->submit_us < y->submit_us ? -1 : 1;
  return x->number < y->number ? -1 : x->number > y->number;
}

/* A job that has ended before its estimate leaves GPUs free, and promises move earlier. */
static void ended(OrrGangSim *sim, const OrrGangJob *job) {
  const gint64 expected_us = job->first_start_us + length_of(job);
  if (ends_move(sim) || expected_us <= sim->now_us) return;
  orr_gang_plan_change(sim->plan, job->shares, sim->now_us, expected_us, 1);
  g_autoptr(GPtrArray) jobs = g_ptr_array_copy(sim->waiting, NULL, NULL);
  g_ptr_array_sort(jobs, compare_promises);
  ORR_EACH_POINTER(OrrGangJob, one, jobs) {
    orr_gang_plan_change(sim->plan, one->shares, one->planned_us, one->planned_us + length_of(one),
                         1);
    promise(sim, one);
  }
}

static void begin_from_now(OrrGangSim *sim) {
  g_autoptr(GArray) freed = g_array_new(FALSE, FALSE, sizeof(OrrGangFreed));
  g_autoptr(GPtrArray) nodes = g_ptr_array_new_with_free_func((GDestroyNotify)g_array_unref);
  ORR_EACH_POINTER(const OrrGangJob, job, sim->running) {
    const gint64 end_us = MAX(orr_gang_job_expected_us(job), sim->now_us + 1);
    const OrrGangFreed one = {end_us, job->shares};
    g_array_append_val(freed, one);
  }
  for (guint node = 0; sim->rules->failures && node < sim->bins.n; node++) {
    if (!orr_gang_failures_is_out(sim->rules->failures, node)) continue;
    GArray *whole = g_array_new(FALSE, FALSE, sizeof(OrrGangShare));
    const OrrGangShare share = {node, (gint32)sim->bins.size};
    const OrrGangFreed one = {orr_gang_failures_back_us(sim->rules->failures, node), whole};
    g_array_append_val(whole, share);
    g_ptr_array_add(nodes, whole);
    g_array_append_val(freed, one);
  }
  if (!sim->plan) sim->plan = orr_gang_plan_new(sim);
  orr_gang_plan_begin(sim->plan, sim, freed);
}

/* Plans @job; TRUE where it starts now. */
static gboolean plan_again(OrrGangSim *sim, OrrGangJob *job) {
  const gint64 length_us = length_of(job), now_us = sim->now_us;
  job->planned_us = orr_gang_plan_find(sim->plan, sim, job, length_us, G_MAXINT64);
  if (job->promised_us < 0) job->promised_us = job->planned_us;
  orr_gang_plan_change(sim->plan, sim->shares, job->planned_us, job->planned_us + length_us, -1);
  if (job->planned_us > now_us) return FALSE;
  orr_gang_sim_start(sim, job);
  return TRUE;
}

static void plan_all_again(OrrGangSim *sim) {
  guint kept = 0;
  if (sim->waiting->len == 0) return;
  begin_from_now(sim);
  for (guint i = 0; i < sim->waiting->len; i++)
    if (!plan_again(sim, sim->waiting->pdata[i]))
      sim->waiting->pdata[kept++] = sim->waiting->pdata[i];
  g_ptr_array_set_size(sim->waiting, (int)kept);
}

static void run(OrrGangSim *sim) {
  guint kept = 0;
  if (ends_move(sim)) return plan_all_again(sim);
  ORR_EACH_POINTER(OrrGangJob, job, sim->waiting) {
    if (job->planned_us > sim->now_us) {
      sim->waiting->pdata[kept++] = job;
      continue;
    }
    g_array_set_size(sim->shares, 0);
    g_array_append_vals(sim->shares, job->shares->data, job->shares->len);
    orr_gang_sim_start(sim, job);
  }
  g_ptr_array_set_size(sim->waiting, (int)kept);
}

static const OrrGangExclude excludes[] = {
    {ORR_WITH_SKIP, orr_gang_pass_no_skip},
    {ORR_WITH_QUEUES | ORR_WITH_VICTIMS,
     "promises nodes and knows no quotas: want none, easy or window with queues and "
     "preemption.take"},
    {ORR_WITH_RESOURCES, orr_gang_pass_no_resources},
    {ORR_WITH_MANY_KINDS, orr_gang_pass_one_kind},
    {0, NULL}};
const OrrGangPass orr_gang_conservative = {.key = "policy.backfill conservative",
                                           .applies = ORR_WITH_CONSERVATIVE,
                                           .excludes = excludes,
                                           .run = run,
                                           .queued = queued,
                                           .ended = ended};

/*
 * gang_strike.c - failures and repairs in the event loop (gang_failures.h).
 *
 * A job that a failure stops goes back to the queue with the work of its last checkpoint, and takes
 * its restart when it runs again. With `replace-node` it keeps its other nodes and restarts at once
 * where free nodes can replace the failed ones.
 */
#include "workloads/cluster_jobs/gang_sim_private.h"

gint64 orr_gang_strike_next_us(const OrrGangSim *sim) {
  gint64 next_us = orr_gang_failures_next_us(sim->rules->failures);
  for (guint i = 0; i < sim->running->len; i++)
    next_us = MIN(next_us, ((const OrrGangJob *)sim->running->pdata[i])->fail_us);
  return MAX(next_us, sim->now_us);
}

/* Stops @job, which keeps its shares, though their GPUs are given back. */
static void fail(OrrGangSim *sim, OrrGangJob *job) {
  orr_gang_sim_leave(sim, job);
  if (sim->rules->history) orr_gang_history_stop(sim->rules->history, job, sim->now_us, "failed");
  job->failures++;
  job->fail_us = G_MAXINT64;
  sim->totals.failures++;
  job->failed_us += orr_gang_preempt_lose(sim, job);
}

/* A free node that can take @gpus; G_MAXUINT: none. */
static guint find_free(const OrrGangSim *sim, gint64 gpus, const GArray *shares) {
  for (guint node = 0; node < sim->bins.n; node++)
    if (sim->bins.free[node] >= gpus && !orr_gang_failures_is_out(sim->rules->failures, node) &&
        !orr_gang_bins_holds(shares, node))
      return node;
  return G_MAXUINT;
}

/* Puts the nodes of @job that are out onto free ones; FALSE: there are too few. */
static gboolean replace(OrrGangSim *sim, const OrrGangJob *job) {
  g_array_set_size(sim->shares, 0);
  g_array_append_vals(sim->shares, job->shares->data, job->shares->len);
  for (guint i = 0; i < sim->shares->len; i++) {
    OrrGangShare *share = &g_array_index(sim->shares, OrrGangShare, i);
    if (!orr_gang_failures_is_out(sim->rules->failures, share->bin)) continue;
    const guint node = find_free(sim, share->gpus, sim->shares);
    if (node == G_MAXUINT) return FALSE;
    share->bin = node;
  }
  return TRUE;
}

static void go_on(OrrGangSim *sim, OrrGangJob *job) {
  const gboolean replaces =
      orr_gang_failures_rules(sim->rules->failures)->on_failure == ORR_GANG_FAIL_REPLACE;
  orr_gang_sim_queue(sim, job);
  if (!replaces || sim->rules->order->preempts || !replace(sim, job)) return;
  g_ptr_array_remove(sim->waiting, job);
  orr_gang_sim_start(sim, job);
}

/* Takes all GPUs of the nodes out of service, or returns them. */
static void serve(OrrGangSim *sim, const GArray *nodes, int sign) {
  for (guint i = 0; i < nodes->len; i++) {
    const OrrGangShare share = {g_array_index(nodes, guint, i), (gint32)sim->bins.size};
    g_autoptr(GArray) one = g_array_new(FALSE, FALSE, sizeof(OrrGangShare));
    g_array_append_val(one, share);
    orr_gang_bins_add(&sim->bins, one, sign);
    sim->n_out -= sign * sim->bins.size;
  }
}

static gboolean sits_on(const OrrGangJob *job, const OrrGangStrike *strike) {
  for (guint i = 0; i < job->shares->len; i++) {
    const guint bin = g_array_index(job->shares, OrrGangShare, i).bin;
    if (bin >= strike->first && bin < strike->first + strike->n) return TRUE;
  }
  return FALSE;
}

/* The jobs that @strike stops, in the order of their ends. */
static GPtrArray *victims(const OrrGangSim *sim, const OrrGangStrike *strike, gint64 *ret_age_us) {
  GPtrArray *jobs = g_ptr_array_new();
  *ret_age_us = G_MAXINT64;
  for (guint i = 0; i < sim->running->len; i++) {
    OrrGangJob *job = sim->running->pdata[i];
    if (!sits_on(job, strike)) continue;
    g_ptr_array_add(jobs, job);
    *ret_age_us = MIN(*ret_age_us, sim->now_us - job->started_us);
  }
  return jobs;
}

static void strike_nodes(OrrGangSim *sim, const OrrGangStrike *strike) {
  gint64 age_us = 0;
  g_autoptr(GPtrArray) jobs = victims(sim, strike, &age_us);
  if (!orr_gang_failures_counts(sim->rules->failures, strike, age_us)) return;
  sim->totals.strikes++;
  for (guint i = 0; i < jobs->len; i++) fail(sim, jobs->pdata[i]);
  if (strike->back_us >= 0) {
    g_autoptr(GArray) out = g_array_new(FALSE, FALSE, sizeof(guint));
    orr_gang_failures_take(sim->rules->failures, strike, out);
    serve(sim, out, -1);
  }
  for (guint i = 0; i < jobs->len; i++) go_on(sim, jobs->pdata[i]);
}

static void fail_by_themselves(OrrGangSim *sim) {
  g_autoptr(GPtrArray) jobs = g_ptr_array_new();
  for (guint i = 0; i < sim->running->len; i++)
    if (((const OrrGangJob *)sim->running->pdata[i])->fail_us <= sim->now_us)
      g_ptr_array_add(jobs, sim->running->pdata[i]);
  for (guint i = 0; i < jobs->len; i++) {
    fail(sim, jobs->pdata[i]);
    go_on(sim, jobs->pdata[i]);
  }
}

void orr_gang_strike(OrrGangSim *sim) {
  g_autoptr(GArray) back = g_array_new(FALSE, FALSE, sizeof(guint));
  OrrGangStrike strike;
  orr_gang_failures_return(sim->rules->failures, sim->now_us, back);
  serve(sim, back, 1);
  fail_by_themselves(sim);
  while (orr_gang_failures_strike(sim->rules->failures, sim->now_us, &strike))
    strike_nodes(sim, &strike);
}

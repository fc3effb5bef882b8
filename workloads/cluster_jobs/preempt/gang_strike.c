/*
 * gang_strike.c - failures and repairs in the event loop (gang_failures.h).
 *
 * A job that a failure stops goes back to the queue with the work of its last checkpoint, and takes
 * its restart when it runs again, after the time that passed until the failure was noticed.
 *
 *   requeue        it waits like any other job
 *   replace-node   it keeps its other nodes and restarts at once where free nodes can replace the
 *                  failed ones
 *   shrink         it restarts at once on the nodes that it has left, where these are at least its
 *                  min_gpus, and stays that small
 *
 * A suspended gang on a failed node loses what it keeps in memory: it goes on from its last
 * checkpoint, wherever there is room.
 */
#include "workloads/cluster_jobs/preempt/gang_preempt.h"

gint64 orr_gang_strike_next_us(const OrrGangSim *sim) {
  gint64 next_us = orr_gang_failures_next_us(sim->rules->failures);
  for (guint i = 0; i < sim->running->len; i++)
    next_us = MIN(next_us, ((const OrrGangJob *)sim->running->pdata[i])->fail_us);
  return MAX(next_us, sim->now_us);
}

/* A job that has failed as often in a row without keeping any work will not end. */
enum { MOST_IN_VAIN = 100000 };

/* @job, which holds no GPUs, goes on from its last checkpoint. */
static void lose(OrrGangSim *sim, OrrGangJob *job) {
  const gint64 done_us = job->done_us;
  job->failures++;
  job->fail_us = G_MAXINT64;
  sim->totals.failures++;
  const gint64 unseen_us = job->detection_us >= 0
                               ? job->detection_us
                               : orr_gang_failures_rules(sim->rules->failures)->detection_us;
  orr_gang_preempt_lose(sim, job, unseen_us, TRUE);
  job->in_vain = job->done_us > done_us ? 0 : job->in_vain + 1;
  sim->totals.has_given_up |= job->in_vain > MOST_IN_VAIN;
}

/* Stops @job, which keeps its shares, though their GPUs are given back. */
static void fail(OrrGangSim *sim, OrrGangJob *job) {
  orr_gang_sim_leave(sim, job);
  if (sim->rules->history) orr_gang_history_stop(sim->rules->history, job, sim->now_us, "failed");
  lose(sim, job);
}

/* A free node of kind @kind that can take @gpus; G_MAXUINT: none. */
static guint find_free(const OrrGangSim *sim, guint kind, gint64 gpus, const GArray *shares) {
  for (guint node = sim->first_bins[kind]; node < sim->first_bins[kind + 1]; node++)
    if (sim->bins.free[node] >= gpus && !orr_gang_failures_is_out(sim->rules->failures, node) &&
        !orr_gang_bins_holds(shares, node))
      return node;
  return G_MAXUINT;
}

static gboolean is_out(const OrrGangSim *sim, const OrrGangShare *share) {
  return orr_gang_failures_is_out(sim->rules->failures, share->bin);
}

/* Sets sim->shares to the place of @job, with other nodes for those that are out; FALSE: there are
 * too few, or a gang that failed with it has taken its GPUs. */
static gboolean replace(OrrGangSim *sim, const OrrGangJob *job) {
  g_array_set_size(sim->shares, 0);
  g_array_append_vals(sim->shares, job->shares->data, job->shares->len);
  ORR_EACH(OrrGangShare, share, sim->shares) {
    if (is_out(sim, share)) {
      const guint node = find_free(sim, job->kind, share->gpus, sim->shares);
      if (node == G_MAXUINT) return FALSE;
      share->bin = node;
    }
    if (sim->bins.free[share->bin] < share->gpus) return FALSE;
  }
  return TRUE;
}

/* Sets sim->shares to what @job has left, and its size to that; FALSE: it has too few GPUs. */
static gboolean shrink(OrrGangSim *sim, OrrGangJob *job) {
  const gint64 fewest = job->min_gpus > 0 ? MIN(job->min_gpus, job->gpus) : job->gpus;
  gint64 gpus = 0;
  g_array_set_size(sim->shares, 0);
  ORR_EACH(const OrrGangShare, share, job->shares) {
    if (is_out(sim, share) || sim->bins.free[share->bin] < share->gpus) continue;
    g_array_append_val(sim->shares, *share);
    gpus += share->gpus;
  }
  if (gpus < fewest) return FALSE;
  job->gpus = gpus;
  return TRUE;
}

static gboolean restarts(OrrGangSim *sim, OrrGangJob *job) {
  if (sim->rules->order->preempts) return FALSE; /* the pass gives it a place */
  switch (orr_gang_failures_rules(sim->rules->failures)->on_failure) {
  case ORR_GANG_FAIL_REPLACE:
    return replace(sim, job);
  case ORR_GANG_FAIL_SHRINK: /* with policy.elastic the pass gives it a size */
    return sim->rules->elastic == ORR_ELASTIC_NONE && shrink(sim, job);
  case ORR_GANG_FAIL_REQUEUE:
  default:
    return FALSE;
  }
}

static void go_on(OrrGangSim *sim, OrrGangJob *job) {
  orr_gang_sim_queue(sim, job);
  if (!restarts(sim, job)) return;
  g_ptr_array_remove(sim->waiting, job);
  orr_gang_sim_start(sim, job);
}

static gint64 size_of(const OrrGangSim *sim, guint node) {
  guint kind = 0;
  while (node >= sim->first_bins[kind + 1]) kind++;
  return sim->kinds[kind].gpus_per_node;
}

/* Takes all GPUs of the nodes out of service, or returns them. */
static void serve(OrrGangSim *sim, const GArray *nodes, int sign) {
  ORR_EACH_VALUE(const guint, node, nodes) {
    const OrrGangShare share = {node, (gint32)size_of(sim, node)};
    g_autoptr(GArray) one = g_array_new(FALSE, FALSE, sizeof(OrrGangShare));
    g_array_append_val(one, share);
    orr_gang_bins_add(&sim->bins, one, sign);
    sim->n_out -= sign * share.gpus;
  }
}

static gboolean sits_on(const OrrGangJob *job, const OrrGangStrike *strike) {
  ORR_EACH(const OrrGangShare, share, job->shares) {
    const guint bin = share->bin;
    if (bin >= strike->first && bin < strike->first + strike->n) return TRUE;
  }
  return FALSE;
}

/* The jobs that @strike stops, in the order of their ends. */
static GPtrArray *victims(const OrrGangSim *sim, const OrrGangStrike *strike, gint64 *ret_age_us) {
  GPtrArray *jobs = g_ptr_array_new();
  *ret_age_us = G_MAXINT64;
  ORR_EACH_POINTER(OrrGangJob, job, sim->running) {
    if (!sits_on(job, strike)) continue;
    g_ptr_array_add(jobs, job);
    *ret_age_us = MIN(*ret_age_us, sim->now_us - job->started_us);
  }
  return jobs;
}

static void clear_suspended(OrrGangSim *sim, const OrrGangStrike *strike) {
  ORR_EACH_POINTER(OrrGangJob, job, sim->waiting) {
    if (!job->is_suspended || !sits_on(job, strike)) continue;
    job->is_suspended = FALSE;
    lose(sim, job);
  }
}

static void strike_nodes(OrrGangSim *sim, const OrrGangStrike *strike) {
  gint64 age_us = 0;
  g_autoptr(GPtrArray) jobs = victims(sim, strike, &age_us);
  if (!orr_gang_failures_counts(sim->rules->failures, strike, age_us)) return;
  sim->totals.strikes++;
  for (guint i = 0; i < jobs->len; i++) fail(sim, jobs->pdata[i]);
  clear_suspended(sim, strike);
  if (strike->back_us >= 0) {
    g_autoptr(GArray) out = g_array_new(FALSE, FALSE, sizeof(guint));
    sim->totals.has_given_up |= strike->back_us == G_MAXINT64; /* jobs may wait for it for ever */
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

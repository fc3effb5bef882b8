/*
 * gang_victims.c - whose GPUs a waiting job may take, and whose it takes.
 *
 * In its own queue: GPUs of jobs of lower priority, with `preemption.take: lower-priority`. In
 * other queues: as its queue's `reclaim` says, while its own queue stays within its quota (within
 * its fair share, for over-fair-share). No job within `min-run` of its start.
 *
 * As Kueue does it: victims are taken in the order of `preemption.victims` until the job fits; then
 * from the last to the first each is spared without which it fits still.
 *
 * With fair-sharing the next victim is of the queue with the largest share, as things then stand.
 *
 *   candidates   v1 v2 v3 v4 ...    in the order of victims
 *   taken        v1 v2 v3           the job fits
 *   spared          v2              it fits without v2, too
 */
#include "workloads/cluster_jobs/preempt/gang_preempt.h"

const char *const orr_victim_words[] = {"borrowing",   "lowest-priority", "newest", "least-lost",
                                        "fewest-gpus", "most-gpus",       NULL};

static OrrReclaim reclaim_of(const OrrGangRules *rules, const OrrGangQueueParams *queue) {
  const OrrReclaim own = (OrrReclaim)queue->reclaim;
  return own != ORR_RECLAIM_POLICY ? own : rules->reclaim;
}

/* Without queues there is nobody to reclaim from. */
static OrrReclaim reclaim_of_job(const OrrGangSim *sim, const OrrGangJob *job) {
  const OrrGangQueueParams *params = sim->tree.all[job->queue_index].params;
  return params ? reclaim_of(sim->rules, params) : ORR_RECLAIM_NEVER;
}

gboolean orr_gang_victims_any(const OrrGangRules *rules) {
  gboolean any = rules->take != ORR_TAKE_NEVER;
  for (guint i = 0; rules->queues && i < rules->queues->len; i++)
    any |= reclaim_of(rules, rules->queues->pdata[i]) > ORR_RECLAIM_NEVER;
  return any;
}

gint64 orr_gang_victims_safe_until_us(const OrrGangSim *sim, const OrrGangJob *job) {
  const OrrGangQueueParams *params = sim->tree.all[job->queue_index].params;
  const gint64 of_queue_us = params ? llround(params->min_run_s * ORR_GANG_US_PER_S) : 0;
  return job->started_us + MAX(of_queue_us, sim->rules->min_run_us);
}

gint64 orr_gang_victims_next_us(const OrrGangSim *sim) {
  gint64 next_us = G_MAXINT64;
  if (!sim->tree.all || sim->waiting->len == 0 || !orr_gang_victims_any(sim->rules)) return next_us;
  for (guint i = 0; i < sim->running->len; i++) {
    const gint64 at_us = orr_gang_victims_safe_until_us(sim, sim->running->pdata[i]);
    if (at_us > sim->now_us) next_us = MIN(next_us, at_us);
  }
  return next_us;
}

/* --- Candidates --- */

gboolean orr_gang_victims_is_within(const OrrGangSim *sim, const OrrGangJob *job) {
  guint kinds[ORR_GANG_KINDS];
  const guint n = orr_gang_kinds_of(sim, job, kinds);
  for (guint i = 0; i < n; i++)
    if (orr_gang_queues_admit(&sim->tree, job->queue_index, kinds[i], job->gpus, FALSE))
      return TRUE;
  return FALSE;
}

static gboolean is_within_share(const OrrGangSim *sim, const OrrGangJob *job) {
  const OrrGangQueue *queue = &sim->tree.all[job->queue_index];
  return (double)(queue->held + job->gpus) <= queue->share + 1e-9;
}

/* Kueue's strategies of fair sharing, one after the other. A share is what a queue borrows over its
 * weight. */
typedef enum {
  FINAL_SHARE,   /* LessThanOrEqualToFinalShare: ours with the job <= theirs without the victim */
  INITIAL_SHARE, /* LessThanInitialShare: ours with the job < theirs with the victim */
  STRATEGIES
} Strategy;

static gboolean is_fair(const OrrGangSim *sim, const OrrGangJob *job, const OrrGangJob *victim,
                        Strategy strategy) {
  const guint own = job->queue_index, other = victim->queue_index;
  const double ours = orr_gang_queues_excess(&sim->tree, own, other, job->gpus);
  const double initial = orr_gang_queues_excess(&sim->tree, other, own, 0);
  if (strategy == INITIAL_SHARE) return ours < initial;
  return initial > 0 && ours <= orr_gang_queues_excess(&sim->tree, other, own, -victim->gpus);
}

static gboolean may_reclaim(const OrrGangSim *sim, const OrrGangJob *job, const OrrGangJob *victim,
                            Strategy strategy) {
  const guint own = job->queue_index, other = victim->queue_index;
  switch (reclaim_of_job(sim, job)) {
  case ORR_RECLAIM_LOWER_PRIORITY:
    return victim->priority < job->priority && orr_gang_victims_is_within(sim, job) &&
           orr_gang_queues_borrows(&sim->tree, other, own);
  case ORR_RECLAIM_OVER_QUOTA:
    return orr_gang_victims_is_within(sim, job) && orr_gang_queues_borrows(&sim->tree, other, own);
  case ORR_RECLAIM_OVER_FAIR_SHARE:
    return is_within_share(sim, job) && orr_gang_queues_is_over_share(&sim->tree, other, own);
  case ORR_RECLAIM_FAIR_SHARING:
    return is_fair(sim, job, victim, strategy);
  case ORR_RECLAIM_POLICY:
  case ORR_RECLAIM_NEVER:
  default:
    return FALSE;
  }
}

/* As things stand, with the victims before it gone. */
static gboolean may_take(const OrrGangSim *sim, const OrrGangJob *job, const OrrGangJob *victim,
                         Strategy strategy) {
  if (orr_gang_victims_safe_until_us(sim, victim) > sim->now_us) return FALSE;
  if (victim->queue_index == job->queue_index)
    return sim->rules->take == ORR_TAKE_LOWER_PRIORITY && victim->priority < job->priority;
  return may_reclaim(sim, job, victim, strategy);
}

typedef struct {
  const OrrGangSim *sim;
  const OrrGangJob *job; /* that wants the GPUs */
} Wanted;

/* The lower, the better a victim. */
static double rank_of(const Wanted *wanted, const OrrGangJob *victim, OrrVictim by) {
  const OrrGangSim *sim = wanted->sim;
  switch (by) {
  case ORR_VICTIM_BORROWING:
    return !orr_gang_queues_borrows(&sim->tree, victim->queue_index, wanted->job->queue_index);
  case ORR_VICTIM_LOWEST_PRIORITY:
    return victim->priority;
  case ORR_VICTIM_NEWEST:
    return -(double)victim->started_us;
  case ORR_VICTIM_LEAST_LOST:
    return orr_gang_preempt_loss(sim, victim);
  case ORR_VICTIM_FEWEST_GPUS:
    return (double)victim->gpus;
  case ORR_VICTIM_MOST_GPUS:
    return -(double)victim->gpus;
  default:
    return 0;
  }
}

static int compare(gconstpointer a, gconstpointer b, gpointer data) {
  const Wanted *wanted = data;
  const OrrGangJob *x = *(OrrGangJob *const *)a, *y = *(OrrGangJob *const *)b;
  const OrrGangRules *rules = wanted->sim->rules;
  for (guint i = 0; i < rules->n_victims; i++) {
    const double rank_x = rank_of(wanted, x, (OrrVictim)rules->victims[i]),
                 rank_y = rank_of(wanted, y, (OrrVictim)rules->victims[i]);
    if (rank_x != rank_y) return rank_x < rank_y ? -1 : 1;
  }
  return -orr_gang_sim_compare_fifo(x, y); /* the last submitted goes first */
}

/* --- Taking --- */

static OrrGangJob *victim_at(const OrrGangSim *sim, guint i) {
  return g_array_index(sim->victims, OrrGangJob *, i);
}

/* As if @victim did not run (@sign 1), or did after all (-1). */
static void suppose(OrrGangSim *sim, const OrrGangJob *victim, int sign) {
  orr_gang_bins_add(&sim->bins, victim->shares, sign);
  orr_gang_queues_run(&sim->tree, victim->queue_index, victim, -sign);
}

static gboolean take_one(OrrGangSim *sim, const OrrGangJob *job, OrrGangJob *victim) {
  suppose(sim, victim, 1);
  g_array_append_val(sim->victims, victim);
  return orr_gang_room_fits_now(sim, job);
}

static gboolean take_in_order(OrrGangSim *sim, const OrrGangJob *job, const GPtrArray *candidates) {
  for (guint i = 0; i < candidates->len; i++)
    if (may_take(sim, job, candidates->pdata[i], FINAL_SHARE) &&
        take_one(sim, job, candidates->pdata[i]))
      return TRUE;
  return FALSE;
}

/* The first candidate of the queue with the largest share; a job of the own queue before all. */
static guint next_fair(const OrrGangSim *sim, const OrrGangJob *job, const GPtrArray *candidates,
                       Strategy strategy) {
  guint best = G_MAXUINT;
  double most = -1;
  ORR_EACH_POINTER_AT(i, const OrrGangJob, victim, candidates) {
    if (!victim || !may_take(sim, job, victim, strategy)) continue;
    const double share =
        victim->queue_index == job->queue_index
            ? INFINITY
            : orr_gang_queues_excess(&sim->tree, victim->queue_index, job->queue_index, 0);
    if (share <= most) continue;
    best = i;
    most = share;
  }
  return best;
}

static gboolean take_fairly(OrrGangSim *sim, const OrrGangJob *job, GPtrArray *candidates) {
  for (Strategy strategy = FINAL_SHARE; strategy < STRATEGIES; strategy++)
    for (guint i; (i = next_fair(sim, job, candidates, strategy)) != G_MAXUINT;) {
      OrrGangJob *victim = candidates->pdata[i];
      candidates->pdata[i] = NULL;
      if (take_one(sim, job, victim)) return TRUE;
    }
  return FALSE;
}

/* Takes victims away until @job fits; FALSE with all of them back. */
static gboolean take_away(OrrGangSim *sim, OrrGangJob *job, GPtrArray *candidates) {
  const OrrReclaim reclaim = reclaim_of_job(sim, job);
  g_array_set_size(sim->victims, 0);
  if (reclaim == ORR_RECLAIM_FAIR_SHARING ? take_fairly(sim, job, candidates)
                                          : take_in_order(sim, job, candidates))
    return TRUE;
  for (guint i = 0; i < sim->victims->len; i++) suppose(sim, victim_at(sim, i), -1);
  return FALSE;
}

/* The last one was needed; those before it may not be. */
static void spare(OrrGangSim *sim, const OrrGangJob *job) {
  for (guint i = sim->victims->len - 1; i-- > 0;) {
    suppose(sim, victim_at(sim, i), -1);
    if (orr_gang_room_fits_now(sim, job))
      g_array_remove_index(sim->victims, i);
    else
      suppose(sim, victim_at(sim, i), 1);
  }
}

static GPtrArray *find_candidates(OrrGangSim *sim, const OrrGangJob *job) {
  GPtrArray *candidates = g_ptr_array_new();
  for (guint i = 0; i < sim->running->len; i++)
    if (may_take(sim, job, sim->running->pdata[i], FINAL_SHARE) ||
        may_take(sim, job, sim->running->pdata[i], INITIAL_SHARE))
      g_ptr_array_add(candidates, sim->running->pdata[i]);
  Wanted wanted = {sim, job};
  g_ptr_array_sort_with_data(candidates, compare, &wanted);
  return candidates;
}

gboolean orr_gang_victims_take(OrrGangSim *sim, OrrGangJob *job) {
  g_autoptr(GPtrArray) candidates = find_candidates(sim, job);
  if (candidates->len == 0 || !take_away(sim, job, candidates)) return FALSE;
  spare(sim, job);
  g_autoptr(GArray) victims = g_array_copy(sim->victims);
  for (guint i = 0; i < victims->len; i++) {
    OrrGangJob *victim = victim_at(sim, i);
    suppose(sim, victim, -1);
    orr_gang_sim_leave(sim, victim);
  }
  g_assert_true(orr_gang_room_fits_now(sim, job));
  orr_gang_sim_start(sim, job);
  for (guint i = 0; i < victims->len; i++)
    orr_gang_preempt(sim, g_array_index(victims, OrrGangJob *, i));
  return TRUE;
}

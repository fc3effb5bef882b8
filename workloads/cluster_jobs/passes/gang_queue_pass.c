/*
 * gang_queue_pass.c - the pass over the queue where there are queues with quotas, or jobs that take
 * GPUs of others.
 *
 * A job starts if its queue's limits and the nodes leave room; otherwise it may take GPUs from
 * running jobs (gang_victims.c). A job that gets none holds back the jobs of its own queue only
 * (blocked: wait), or nobody (skip). Whose turn it is: `between`.
 *
 *   order            of all jobs of all queues the first in the order
 *   fair-share       at each level of the tree: queues below their quota first, then the higher
 *                    priority, then the least GPUs over fair share
 *   dominant-share   the least dominant share over weight (DRF, Ghodsi et al., NSDI 2011): the
 *                    largest fraction that a queue has of the cluster's GPUs, CPUs or memory
 *
 * Where queues take GPUs back, jobs within their queue's quota come before those that borrow, as in
 * Kueue: what borrows would otherwise start and be taken from in one pass.
 *
 * A preempted job may fit elsewhere, so the pass is repeated after a preemption.
 *
 * With backfill `easy` jobs start in order until one finds no room; that one is promised a start at
 * which both its queue's limits and the nodes have room, and later jobs of all queues may start
 * that do not delay it (gang_easy.c).
 */
#include "workloads/cluster_jobs/passes/gang_pass.h"

const char *const orr_between_words[] = {"order", "fair-share", "dominant-share", NULL};

enum { MOST_PASSES = 10 };

static gboolean try(OrrGangSim *sim, OrrGangJob *job) {
  if (orr_gang_room_fits_now(sim, job)) {
    orr_gang_sim_start(sim, job);
    return TRUE;
  }
  if (sim->rules->consolidate > 0 && orr_gang_consolidate(sim, job)) return TRUE;
  return orr_gang_victims_any(sim->rules) && orr_gang_victims_take(sim, job);
}

/* --- Turns --- */

/* @borrows FALSE: only jobs with which their queue stays within its quota. */
static void pass_in_order(OrrGangSim *sim, gboolean borrows) {
  const gboolean skips = sim->rules->blocked == ORR_BLOCKED_SKIP;
  guint kept = 0, n_tried = 0;
  memset(sim->is_blocked, 0, sizeof(gboolean) * sim->tree.n);
  ORR_EACH_POINTER(OrrGangJob, job, sim->waiting) {
    const gboolean is_tried = !sim->is_blocked[job->queue_index] &&
                              (sim->rules->depth == 0 || n_tried++ < sim->rules->depth);
    if (is_tried && (borrows || orr_gang_victims_is_within(sim, job)) && try(sim, job)) continue;
    if (is_tried && !skips) sim->is_blocked[job->queue_index] = TRUE;
    sim->waiting->pdata[kept++] = job;
  }
  g_ptr_array_set_size(sim->waiting, (int)kept);
}

static void pass_until_blocked(OrrGangSim *sim) {
  guint n = 0;
  while (n < sim->waiting->len && try(sim, sim->waiting->pdata[n])) n++;
  if (n > 0) g_ptr_array_remove_range(sim->waiting, 0, n);
}

/* The waiting jobs queue by queue: queue q's begin at jobs[first[q]], the next one to be
 * tried is jobs[at[q]]. */
typedef struct {
  OrrGangSim *sim;
  OrrGangJob **jobs;
  guint *first, *at;
} Turns;

static void turns_init(Turns *turns, OrrGangSim *sim) {
  const GPtrArray *waiting = sim->waiting;
  *turns = (Turns){.sim = sim,
                   .jobs = g_new0(OrrGangJob *, waiting->len + 1),
                   .first = g_new0(guint, sim->tree.n + 2),
                   .at = g_new0(guint, sim->tree.n + 1)};
  for (guint i = 0; i < waiting->len; i++)
    turns->first[((const OrrGangJob *)waiting->pdata[i])->queue_index + 1]++;
  for (guint q = 0; q < sim->tree.n; q++) turns->first[q + 1] += turns->first[q];
  memcpy(turns->at, turns->first, sizeof(guint) * sim->tree.n);
  ORR_EACH_POINTER(OrrGangJob, job, waiting) turns->jobs[turns->at[job->queue_index]++] = job;
  memcpy(turns->at, turns->first, sizeof(guint) * sim->tree.n);
}

static void turns_clear(Turns *turns) { ORR_FREE(turns->jobs, turns->first, turns->at); }

static gboolean has_turn(const Turns *turns, guint i) {
  const OrrGangQueues *tree = &turns->sim->tree;
  if (tree->all[i].is_leaf) return !turns->sim->is_blocked[i] && turns->at[i] < turns->first[i + 1];
  for (guint c = i + 1; c < tree->n; c++)
    if (tree->all[c].parent == (int)i && has_turn(turns, c)) return TRUE;
  for (guint c = 1; c < i; c++) /* a child may stand before its parent */
    if (tree->all[c].parent == (int)i && has_turn(turns, c)) return TRUE;
  return FALSE;
}

static gboolean is_first(const OrrGangSim *sim, guint a, guint b) {
  const OrrGangQueue *x = &sim->tree.all[a], *y = &sim->tree.all[b];
  if (sim->rules->between == ORR_BETWEEN_DOMINANT_SHARE)
    return x->dominant / x->params->weight < y->dominant / y->params->weight;
  const gboolean over_x = x->held >= x->slots[0].quota, over_y = y->held >= y->slots[0].quota;
  if (over_x != over_y) return over_y;
  if (x->params->priority != y->params->priority) return x->params->priority > y->params->priority;
  return (double)x->held * fmax(y->share, 1e-9) < (double)y->held * fmax(x->share, 1e-9);
}

/* The leaf whose turn it is below queue @i, which has one. */
static guint next_queue(const Turns *turns, guint i) {
  const OrrGangQueues *tree = &turns->sim->tree;
  guint best = 0;
  if (tree->all[i].is_leaf) return i;
  for (guint c = 1; c < tree->n; c++)
    if (tree->all[c].parent == (int)i && has_turn(turns, c) &&
        (best == 0 || is_first(turns->sim, c, best)))
      best = c;
  return next_queue(turns, best);
}

static void pass_by_share(OrrGangSim *sim) {
  Turns turns;
  turns_init(&turns, sim);
  g_autoptr(GHashTable) started = g_hash_table_new(NULL, NULL); /* some may be preempted since */
  for (guint n = 0; has_turn(&turns, 0) && (sim->rules->depth == 0 || n < sim->rules->depth); n++) {
    const guint queue = next_queue(&turns, 0);
    OrrGangJob *job = turns.jobs[turns.at[queue]++];
    if (try(sim, job))
      g_hash_table_add(started, job);
    else if (sim->rules->blocked == ORR_BLOCKED_WAIT)
      sim->is_blocked[queue] = TRUE;
  }
  guint kept = 0;
  for (guint i = 0; i < sim->waiting->len; i++)
    if (!g_hash_table_contains(started, sim->waiting->pdata[i]))
      sim->waiting->pdata[kept++] = sim->waiting->pdata[i];
  g_ptr_array_set_size(sim->waiting, (int)kept);
  turns_clear(&turns);
}

/* --- The pass --- */

static void find_shares(OrrGangSim *sim) {
  for (guint q = 0; q < sim->tree.n; q++) sim->tree.all[q].asked = sim->tree.all[q].held;
  ORR_EACH_POINTER(const OrrGangJob, job, sim->waiting) {
    for (int q = (int)job->queue_index; q >= 0; q = sim->tree.all[q].parent)
      sim->tree.all[q].asked += job->gpus;
  }
  orr_gang_queues_share(&sim->tree);
}

static void run(OrrGangSim *sim) {
  for (guint n = 0; n < MOST_PASSES && sim->waiting->len > 0; n++) {
    memset(sim->is_blocked, 0, sizeof(gboolean) * sim->tree.n);
    if (sim->tree.n > 1) find_shares(sim);
    if (sim->rules->backfill == ORR_BACKFILL_EASY) {
      pass_until_blocked(sim);
    } else if (sim->rules->between == ORR_BETWEEN_ORDER || sim->tree.n == 1) {
      if (sim->tree.n > 1 && orr_gang_victims_any(sim->rules)) pass_in_order(sim, FALSE);
      pass_in_order(sim, TRUE);
    } else {
      pass_by_share(sim);
    }
    if (orr_gang_sim_requeue(sim) == 0) break;
  }
  orr_gang_sim_count_waiting(sim);
}

const OrrGangPass orr_gang_queue_pass = {.key = "policy.queues",
                                         .applies =
                                             ORR_WITH_QUEUES | ORR_WITH_TAKE | ORR_WITH_RESOURCES,
                                         .run = run,
                                         .due_us = orr_gang_victims_next_us};

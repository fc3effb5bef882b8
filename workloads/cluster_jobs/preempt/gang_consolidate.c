/*
 * gang_consolidate.c - consolidation, as KAI has it: free GPUs are enough for a waiting job and lie
 * in pieces, so running jobs move together until it fits. None of them is sent back to the queue.
 *
 *   before   | a a . . |  | b b . . |      a job of 4 waits, 4 GPUs are free
 *   after    | a a b b |  | w w w w |      b has moved and pays its restart
 *
 * Candidates are taken away one after the other, the smallest gangs first and of these the newest,
 * until the job and all of them fit again somewhere; then each is spared without which they fit,
 * too. At most `preemption.consolidate` pods move, one for each node of a gang. No job moves within
 * its min-run, so that nothing moves back and forth.
 *
 * Invariant: where not all fit again, nothing has changed.
 */
#include "workloads/cluster_jobs/preempt/gang_preempt.h"

static int compare(gconstpointer a, gconstpointer b) {
  const OrrGangJob *x = *(OrrGangJob *const *)a, *y = *(OrrGangJob *const *)b;
  if (x->gpus != y->gpus) return x->gpus < y->gpus ? -1 : 1;
  if (x->started_us != y->started_us) return x->started_us > y->started_us ? -1 : 1;
  return -orr_gang_sim_compare_fifo(x, y);
}

static GPtrArray *find_candidates(const OrrGangSim *sim) {
  GPtrArray *candidates = g_ptr_array_new();
  for (guint i = 0; i < sim->running->len; i++)
    if (((const OrrGangJob *)sim->running->pdata[i])->started_us < sim->now_us &&
        orr_gang_victims_safe_until_us(sim, sim->running->pdata[i]) <= sim->now_us)
      g_ptr_array_add(candidates, sim->running->pdata[i]);
  g_ptr_array_sort(candidates, compare);
  return candidates;
}

/* Takes (@sign -1) or returns (1) @shares of @job. */
static void hold(OrrGangSim *sim, const OrrGangJob *job, const GArray *shares, int sign) {
  orr_gang_bins_add(&sim->bins, shares, sign);
  orr_gang_queues_run(&sim->tree, job->queue_index, job, -sign);
}

static GArray *place(OrrGangSim *sim, const OrrGangJob *job) {
  if (!orr_gang_room_fits_now(sim, job)) return NULL;
  GArray *shares = g_array_copy(sim->shares);
  hold(sim, job, shares, -1);
  return shares;
}

/* Whether @job and all of @moved, which are taken away, fit; changes nothing. */
static gboolean all_fit(OrrGangSim *sim, const OrrGangJob *job, const GPtrArray *moved) {
  g_autoptr(GPtrArray) placed = g_ptr_array_new();
  const OrrGangJob *next = job;
  for (guint i = 0; next; i++) {
    GArray *shares = place(sim, next);
    if (!shares) break;
    g_ptr_array_add(placed, shares);
    next = i < moved->len ? moved->pdata[i] : NULL;
  }
  for (guint i = placed->len; i-- > 0;) {
    hold(sim, i == 0 ? job : moved->pdata[i - 1], placed->pdata[i], 1);
    g_array_unref(placed->pdata[i]);
  }
  return next == NULL;
}

/* Fills @moved with jobs that are taken away; FALSE: not all would fit. */
static gboolean take_away(OrrGangSim *sim, const OrrGangJob *job, const GPtrArray *candidates,
                          GPtrArray *moved) {
  guint pods = 0;
  ORR_EACH_POINTER(OrrGangJob, other, candidates) {
    if (pods + other->n_nodes > sim->rules->consolidate) continue;
    pods += other->n_nodes;
    hold(sim, other, other->shares, 1);
    g_ptr_array_add(moved, other);
    if (all_fit(sim, job, moved)) return TRUE;
  }
  return FALSE;
}

/* The last one was needed; those before it may not be. */
static void spare(OrrGangSim *sim, const OrrGangJob *job, GPtrArray *moved) {
  for (guint i = moved->len - 1; i-- > 0;) {
    OrrGangJob *other = g_ptr_array_remove_index(moved, i);
    hold(sim, other, other->shares, -1);
    if (all_fit(sim, job, moved)) continue;
    hold(sim, other, other->shares, 1);
    g_ptr_array_insert(moved, (int)i, other);
  }
}

static void start(OrrGangSim *sim, OrrGangJob *job) {
  g_assert_true(orr_gang_room_fits_now(sim, job));
  orr_gang_sim_start(sim, job);
}

gboolean orr_gang_consolidate(OrrGangSim *sim, OrrGangJob *job) {
  if (sim->bins.n_free < job->gpus) return FALSE;
  g_autoptr(GPtrArray) candidates = find_candidates(sim), moved = g_ptr_array_new();
  const gboolean fits = take_away(sim, job, candidates, moved);
  if (fits) spare(sim, job, moved);
  for (guint i = 0; i < moved->len; i++)
    hold(sim, moved->pdata[i], ((OrrGangJob *)moved->pdata[i])->shares, -1);
  if (!fits) return FALSE;
  for (guint i = 0; i < moved->len; i++) {
    orr_gang_sim_leave(sim, moved->pdata[i]);
    orr_gang_preempt_charge(sim, moved->pdata[i]);
  }
  start(sim, job);
  for (guint i = 0; i < moved->len; i++) {
    sim->waiting_gpus += (double)((const OrrGangJob *)moved->pdata[i])->asked_gpus;
    start(sim, moved->pdata[i]); /* it has waited for no time */
  }
  return TRUE;
}

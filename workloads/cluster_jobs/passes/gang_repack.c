/*
 * gang_repack.c - the pass of orders that preempt.
 *
 *   1. choice   all live jobs are placed in order, on paper, on the empty cluster: those that find
 *               room are to run
 *   2. places   what runs stays on its nodes, and the chosen that wait get what is free. Where they
 *               do not all fit, running jobs give way, one after the other, until they do: first
 *               the jobs that were not chosen, from the last in the order; then chosen ones, on the
 *               emptiest nodes first, which are placed again. Each that turns out to be needless is
 *               spared. Where even that does not help, all go where the choice had them
 *   3. costs    a job that has lost its nodes is preempted, whether it waits now or has moved
 *               (gang_preempt.c)
 *
 *   node 0   | a a a a . . . . |      | a a a a b b b b |     c comes, and wants a whole node: b,
 *   node 1   | b b b b . . . . |      | c c c c c c c c |     which is chosen too, moves and pays
 *
 * So a running job loses its nodes to jobs that the order chooses, and to nothing else.
 *
 * Only the keys of running jobs have changed since the last pass, so the queue is still sorted: the
 * running jobs are sorted and merged into it.
 *
 * With queues each queue first gets what is its own: jobs are chosen in order while they stay
 * within quotas. Then those that are left, in order, may borrow what others leave idle.
 *
 * With `charge: events` every job that runs pays the restart at every event instead, as simulators
 * do that empty the cluster and start all jobs again (Muri, SIGCOMM 2022).
 */
#include "workloads/cluster_jobs/passes/gang_pass.h"

static int compare(gconstpointer a, gconstpointer b, gpointer sim) {
  return orr_gang_sim_compare(sim, *(OrrGangJob *const *)a, *(OrrGangJob *const *)b);
}

/* Keys seldom change the order. */
static void sort(OrrGangSim *sim, GPtrArray *jobs) {
  for (guint i = 1; i < jobs->len; i++) {
    if (orr_gang_sim_compare(sim, jobs->pdata[i - 1], jobs->pdata[i]) < 0) continue;
    g_ptr_array_sort_with_data(jobs, compare, sim);
    return;
  }
}

static void merge(OrrGangSim *sim) {
  const GPtrArray *waiting = sim->waiting;
  g_autoptr(GPtrArray) running = g_ptr_array_copy(sim->running, NULL, NULL);
  sort(sim, running);
  g_ptr_array_set_size(sim->merged, 0);
  for (guint w = 0, r = 0; w < waiting->len || r < running->len;) {
    const gboolean takes_waiting =
        r >= running->len ||
        (w < waiting->len && orr_gang_sim_compare(sim, waiting->pdata[w], running->pdata[r]) < 0);
    g_ptr_array_add(sim->merged, takes_waiting ? waiting->pdata[w++] : running->pdata[r++]);
  }
}

/* Every running job pays at every event, moved or not: at most the time since the last event. */
static void charge_running(OrrGangSim *sim) {
  ORR_EACH_POINTER(OrrGangJob, job, sim->running) {
    const gint64 restart_us = orr_gang_preempt_stated(job->restart_us, sim->rules->restart_us);
    const gint64 paid_us = MIN(restart_us, sim->span_us);
    job->end_us += paid_us;
    job->overhead_us += paid_us;
  }
  orr_gang_sim_sort_running(sim);
}

/* Jobs that have fallen into another queue join its end. */
static void find_levels(OrrGangSim *sim) {
  const OrrGangRules *rules = sim->rules;
  for (guint i = 0; rules->order->level && i < sim->running->len; i++) {
    OrrGangJob *job = sim->running->pdata[i];
    const guint level = rules->order->level(rules->order_params, job, sim->now_us);
    if (level == job->level) continue;
    job->level = level;
    job->turn = sim->turns++;
  }
}

/* New turns for all: those that run, then those that wait, each in the order they had. */
static void give_turns(OrrGangSim *sim) {
  if (!sim->rules->order->level) return;
  for (int runs = 1; runs >= 0; runs--)
    ORR_EACH_POINTER(OrrGangJob, job, sim->merged)
      if (job->is_running == runs) job->turn = sim->turns++;
}

/* --- The choice --- */

/* @job would sit at @n shares of a list, from @first on. */
typedef struct {
  OrrGangJob *job;
  guint first, n;
} Place;

/* Places, on paper. */
typedef struct {
  GArray *places; /* of Place */
  GArray *shares; /* of OrrGangShare */
} Plan;

typedef struct {
  OrrGangSim *sim;
  Plan chosen;       /* on the empty cluster, in turn */
  Plan found;        /* of chosen jobs that have no nodes */
  GPtrArray *comers; /* of OrrGangJob: chosen, and they do not run */
  GPtrArray *loose;  /* of OrrGangJob: they run, and have given up their nodes */
  GArray *shares;    /* scratch */
} Repack;

static void plan_init(Plan *plan) {
  plan->places = g_array_new(FALSE, FALSE, sizeof(Place));
  plan->shares = g_array_new(FALSE, FALSE, sizeof(OrrGangShare));
}

static void plan_clear(Plan *plan) {
  g_array_unref(plan->places);
  g_array_unref(plan->shares);
}

static void repack_init(Repack *repack, OrrGangSim *sim) {
  *repack = (Repack){.sim = sim,
                     .comers = g_ptr_array_new(),
                     .loose = g_ptr_array_new(),
                     .shares = g_array_new(FALSE, FALSE, sizeof(OrrGangShare))};
  plan_init(&repack->chosen);
  plan_init(&repack->found);
}

static void repack_clear(Repack *repack) {
  plan_clear(&repack->chosen);
  plan_clear(&repack->found);
  g_ptr_array_unref(repack->comers);
  g_ptr_array_unref(repack->loose);
  g_array_unref(repack->shares);
}

/* @job takes (@sign 1) @shares, or gives them back (-1), on paper. */
static void hold(OrrGangSim *sim, OrrGangJob *job, const GArray *shares, int sign) {
  orr_gang_bins_add(&sim->bins, shares, -sign);
  if (!sim->tree.all) return;
  job->kind = orr_gang_kinds_at(sim, shares);
  orr_gang_queues_run(&sim->tree, job->queue_index, job, sign);
}

/* The shares of @place, in the scratch array. */
static const GArray *shares_at(const Repack *repack, const Plan *plan, const Place *place) {
  g_array_set_size(repack->shares, 0);
  g_array_append_vals(repack->shares, &g_array_index(plan->shares, OrrGangShare, place->first),
                      place->n);
  return repack->shares;
}

/* Where @job finds room, it holds it. */
static gboolean add_place(Repack *repack, Plan *plan, OrrGangJob *job, gboolean borrows) {
  OrrGangSim *sim = repack->sim;
  const OrrGangRoom now = {&sim->tree, &sim->bins};
  if (!orr_gang_room_fits(sim, &now, job, borrows)) return FALSE;
  ORR_APPEND(plan->places, Place, {job, plan->shares->len, sim->shares->len});
  g_array_append_vals(plan->shares, sim->shares->data, sim->shares->len);
  hold(sim, job, sim->shares, 1);
  return TRUE;
}

/* Gives back all that @plan holds. */
static void give_back(const Repack *repack, const Plan *plan) {
  ORR_EACH(const Place, place, plan->places)
    hold(repack->sim, place->job, shares_at(repack, plan, place), -1);
}

/* Chooses jobs that find room. A job that does not holds back those after it in its queue (blocked:
 * wait). */
static void choose_in_order(Repack *repack, gboolean borrows) {
  OrrGangSim *sim = repack->sim;
  const gboolean skips = sim->rules->blocked == ORR_BLOCKED_SKIP;
  gboolean one = FALSE, *is_blocked = sim->tree.all ? sim->is_blocked : &one;
  memset(is_blocked, 0, sizeof(gboolean) * MAX(sim->tree.n, 1));
  for (guint i = 0; i < sim->merged->len && sim->bins.n_free > 0; i++) {
    OrrGangJob *job = sim->merged->pdata[i];
    const guint queue = sim->tree.all ? job->queue_index : 0;
    if (job->is_chosen || is_blocked[queue]) continue;
    job->is_chosen = add_place(repack, &repack->chosen, job, borrows);
    if (!job->is_chosen && !skips) is_blocked[queue] = TRUE;
  }
}

static void choose(Repack *repack) {
  OrrGangSim *sim = repack->sim;
  ORR_EACH_POINTER(OrrGangJob, job, sim->merged) {
    job->is_chosen = FALSE;
    if (job->is_running) hold(sim, job, job->shares, -1);
  }
  if (sim->tree.n > 1) choose_in_order(repack, FALSE);
  choose_in_order(repack, TRUE);
  give_back(repack, &repack->chosen);
  ORR_EACH_POINTER(OrrGangJob, job, sim->running) hold(sim, job, job->shares, 1);
  ORR_EACH(const Place, place, repack->chosen.places)
    if (!place->job->is_running) g_ptr_array_add(repack->comers, place->job);
}

/* --- Places --- */

/* Finds places for all chosen jobs that have no nodes. FALSE: there are not enough, and none is
 * held. */
static gboolean find_all(Repack *repack) {
  Plan *found = &repack->found;
  gboolean ok = TRUE;
  g_array_set_size(found->places, 0);
  g_array_set_size(found->shares, 0);
  for (guint i = 0; i < repack->comers->len && ok; i++)
    ok = add_place(repack, found, repack->comers->pdata[i], TRUE);
  for (guint i = 0; i < repack->loose->len && ok; i++) {
    OrrGangJob *job = repack->loose->pdata[i];
    if (job->is_chosen) ok = add_place(repack, found, job, TRUE);
  }
  if (!ok) give_back(repack, found);
  return ok;
}

/* Running jobs give up their nodes, one after the other, until all chosen jobs have some. */
static gboolean loosen(Repack *repack, const GPtrArray *candidates) {
  ORR_EACH_POINTER(OrrGangJob, job, candidates) {
    hold(repack->sim, job, job->shares, -1);
    g_ptr_array_add(repack->loose, job);
    if (find_all(repack)) return TRUE;
  }
  return FALSE;
}

/* From the last in the order. */
static gboolean loosen_unchosen(Repack *repack) {
  g_autoptr(GPtrArray) candidates = g_ptr_array_new();
  const GPtrArray *merged = repack->sim->merged;
  for (guint i = merged->len; i-- > 0;) {
    const OrrGangJob *job = merged->pdata[i];
    if (job->is_running && !job->is_chosen) g_ptr_array_add(candidates, merged->pdata[i]);
  }
  return loosen(repack, candidates);
}

/* A running job, and the emptiest of its nodes. */
typedef struct {
  OrrGangJob *job;
  gint64 free;
  guint bin;
} Candidate;

/* Jobs of one node come together; of these the smallest, and the last in the order. */
static int compare_candidates(gconstpointer a, gconstpointer b, gpointer sim) {
  const Candidate *x = a, *y = b;
  if (x->free != y->free) return x->free > y->free ? -1 : 1;
  if (x->bin != y->bin) return x->bin < y->bin ? -1 : 1;
  if (x->job->gpus != y->job->gpus) return x->job->gpus < y->job->gpus ? -1 : 1;
  return -orr_gang_sim_compare(sim, x->job, y->job);
}

static gboolean loosen_chosen(Repack *repack) {
  OrrGangSim *sim = repack->sim;
  g_autoptr(GArray) all = g_array_new(FALSE, FALSE, sizeof(Candidate));
  g_autoptr(GPtrArray) candidates = g_ptr_array_new();
  ORR_EACH_POINTER(OrrGangJob, job, sim->running) {
    Candidate one = {job, -1, 0};
    if (!job->is_chosen) continue;
    ORR_EACH(const OrrGangShare, share, job->shares)
      if (sim->bins.free[share->bin] > one.free) {
        one.free = sim->bins.free[share->bin];
        one.bin = share->bin;
      }
    g_array_append_val(all, one);
  }
  g_array_sort_with_data(all, compare_candidates, sim);
  ORR_EACH(const Candidate, one, all) g_ptr_array_add(candidates, one->job);
  return loosen(repack, candidates);
}

/* The last one was needed; those before it may not be. */
static void spare(Repack *repack) {
  for (guint i = repack->loose->len; i-- > 1;) {
    OrrGangJob *job = g_ptr_array_remove_index(repack->loose, i - 1);
    give_back(repack, &repack->found);
    hold(repack->sim, job, job->shares, 1);
    if (find_all(repack)) continue;
    hold(repack->sim, job, job->shares, -1);
    g_ptr_array_insert(repack->loose, (int)i - 1, job);
    g_assert_true(find_all(repack));
  }
}

/* All go where the choice has them. */
static void follow_choice(Repack *repack) {
  ORR_EACH_POINTER(OrrGangJob, job, repack->loose) hold(repack->sim, job, job->shares, 1);
  g_ptr_array_set_size(repack->loose, 0);
  g_ptr_array_extend(repack->loose, repack->sim->running, NULL, NULL);
  g_array_set_size(repack->found.places, 0);
  g_array_set_size(repack->found.shares, 0);
  g_array_append_vals(repack->found.places, repack->chosen.places->data,
                      repack->chosen.places->len);
  g_array_append_vals(repack->found.shares, repack->chosen.shares->data,
                      repack->chosen.shares->len);
}

/* Sets the places of chosen jobs that have no nodes, and the jobs that give up theirs. The cluster
 * is as it was. */
static void find_places(Repack *repack) {
  if (repack->comers->len == 0) return;
  if (!find_all(repack)) {
    if (!loosen_unchosen(repack) && !loosen_chosen(repack)) return follow_choice(repack);
    spare(repack);
  }
  give_back(repack, &repack->found);
  ORR_EACH_POINTER(OrrGangJob, job, repack->loose) hold(repack->sim, job, job->shares, 1);
}

/* --- Moving --- */

static gboolean is_there(const OrrGangJob *job, const GArray *shares) {
  return job->is_running && job->shares->len == shares->len &&
         memcmp(job->shares->data, shares->data, sizeof(OrrGangShare) * shares->len) == 0;
}

/* Jobs whose nodes are found again stay; the others leave. */
static void leave(Repack *repack, gboolean charges_all) {
  OrrGangSim *sim = repack->sim;
  ORR_EACH(const Place, place, repack->found.places)
    if (is_there(place->job, shares_at(repack, &repack->found, place)))
      g_ptr_array_remove(repack->loose, place->job);
  ORR_EACH_POINTER(OrrGangJob, job, repack->loose) {
    orr_gang_sim_leave(sim, job);
    if (!job->is_chosen) continue;
    if (charges_all)
      job->goes_on = TRUE;
    else
      orr_gang_preempt_charge(sim, job);
  }
}

static void start(Repack *repack) {
  OrrGangSim *sim = repack->sim;
  ORR_EACH(const Place, place, repack->found.places) {
    if (place->job->is_running) continue;
    const GArray *shares = shares_at(repack, &repack->found, place);
    g_array_set_size(sim->shares, 0);
    g_array_append_vals(sim->shares, shares->data, shares->len);
    orr_gang_sim_start(sim, place->job);
    place->job->goes_on = FALSE;
  }
}

static void find_waiting(OrrGangSim *sim) {
  g_ptr_array_set_size(sim->waiting, 0);
  ORR_EACH_POINTER(OrrGangJob, job, sim->merged)
    if (!job->is_running) g_ptr_array_add(sim->waiting, job);
}

static void run(OrrGangSim *sim) {
  const gboolean charges_all = sim->rules->charge == ORR_CHARGE_EVENTS;
  Repack repack;
  if (charges_all) charge_running(sim);
  find_levels(sim);
  merge(sim);
  repack_init(&repack, sim);
  choose(&repack);
  find_places(&repack);
  leave(&repack, charges_all);
  start(&repack);
  find_waiting(sim);
  give_turns(sim);
  ORR_EACH_POINTER(OrrGangJob, job, repack.loose) {
    if (job->is_running) continue;
    orr_gang_preempt_count(sim, job);
    if (!charges_all)
      orr_gang_preempt_lose(sim, job, 0, FALSE); /* its key may change: sorted again */
  }
  if (!charges_all) sort(sim, sim->waiting);
  orr_gang_sim_count_waiting(sim);
  repack_clear(&repack);
}

static gint64 due_us(const OrrGangSim *sim) {
  const OrrGangRules *rules = sim->rules;
  gint64 next_us = G_MAXINT64;
  for (guint i = 0; rules->order->changes_us && i < sim->running->len; i++)
    next_us = MIN(next_us, rules->order->changes_us(rules->order_params, sim->running->pdata[i],
                                                    sim->now_us));
  return next_us;
}

static const OrrGangExclude excludes[] = {
    {ORR_WITH_FILLS,
     "preempts, so there is no promise that backfill could keep: want backfill none, or an order "
     "that does not preempt (fifo, sjf)"},
    {ORR_WITH_VICTIMS | ORR_WITH_CONSOLIDATE, orr_gang_pass_no_victims},
    {ORR_WITH_BETWEEN, orr_gang_pass_by_order},
    {0, NULL}};
const OrrGangPass orr_gang_repack = {.key = "policy.order",
                                     .names_order = TRUE,
                                     .applies = ORR_WITH_PREEMPTS,
                                     .excludes = excludes,
                                     .run = run,
                                     .due_us = due_us};

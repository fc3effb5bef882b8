/*
 * gang_elastic.c - the pass with elastic gangs: at every event all live jobs get a size anew.
 *
 *   1. in order, each job gets its fewest GPUs, while the cluster has them; a job that finds none
 *      waits, and with it those after it (blocked: wait)
 *   2. what is left goes GPU by GPU to jobs below their most:
 *        equal     the job with the fewest GPUs
 *        fastest   the job that gains most, as a fraction of its speed at the size it asked for
 *   3. in order, they are placed. A running job whose size stays keeps its GPUs. If the others do
 *      not all find room then, only the first half of the jobs keep theirs, then a quarter of them,
 *      ..., then none. One that still does not fit as it is gets fewer
 *
 *   node 0   | . . a a |      | b b a a |     c comes and wants a whole node: a keeps its place, b
 *   node 1   | . . b b |      | c c c c |     moves at its size, and pays
 *
 * A gang of g GPUs works at (g / asked)^scaling of its speed, or as the table of throughputs says.
 * A job whose size or place changes pays its restart; it has nothing to load from a checkpoint.
 */
#include "workloads/cluster_jobs/passes/gang_pass.h"

const char *const orr_elastic_words[] = {"none", "equal", "fastest", NULL};

static gint64 fewest(const OrrGangJob *job) {
  return job->min_gpus > 0 ? MIN(job->min_gpus, job->asked_gpus) : job->asked_gpus;
}

static gint64 most(const OrrGangJob *job) {
  return job->max_gpus > 0 ? MAX(job->max_gpus, fewest(job)) : job->asked_gpus;
}

/* A job of the pass: its size before, and from now on (0: it waits). */
typedef struct {
  OrrGangJob *job;
  gint64 before, gpus;
  double gain; /* of one more GPU */
} Sized;

static int compare(gconstpointer a, gconstpointer b, gpointer sim) {
  return orr_gang_sim_compare(sim, ((const Sized *)a)->job, ((const Sized *)b)->job);
}

static GArray *collect(OrrGangSim *sim) {
  GArray *all = g_array_new(FALSE, FALSE, sizeof(Sized));
  for (guint i = 0; i < sim->running->len; i++) {
    const Sized sized = {sim->running->pdata[i], ((OrrGangJob *)sim->running->pdata[i])->gpus, 0,
                         0};
    g_array_append_val(all, sized);
  }
  for (guint i = 0; i < sim->waiting->len; i++)
    ORR_APPEND(all, Sized, {sim->waiting->pdata[i], 0, 0, 0});
  g_array_sort_with_data(all, compare, sim);
  return all;
}

static gint64 give_fewest(const OrrGangSim *sim, GArray *all) {
  gint64 left = sim->n_gpus - sim->n_out;
  ORR_EACH(Sized, sized, all) {
    if (fewest(sized->job) <= left)
      left -= sized->gpus = fewest(sized->job);
    else if (sim->rules->blocked == ORR_BLOCKED_WAIT)
      break;
  }
  return left;
}

static double gain_of(const OrrGangSim *sim, const Sized *sized) {
  if (sim->rules->elastic == ORR_ELASTIC_EQUAL) return -(double)sized->gpus;
  return orr_gang_kinds_speed(sim, sized->job, 0, sized->gpus + 1) -
         orr_gang_kinds_speed(sim, sized->job, 0, sized->gpus);
}

/* Among equal gains the first in the order. */
static void give_rest(const OrrGangSim *sim, GArray *all, gint64 left) {
  ORR_EACH(Sized, sized, all) sized->gain = gain_of(sim, sized);
  for (; left > 0; left--) {
    Sized *best = NULL;
    ORR_EACH(Sized, sized, all)
      if (sized->gpus > 0 && sized->gpus < most(sized->job) && (!best || sized->gain > best->gain))
        best = sized;
    if (!best || (sim->rules->elastic == ORR_ELASTIC_FASTEST && !(best->gain > 0))) return;
    best->gpus++;
    best->gain = gain_of(sim, best);
  }
}

static gboolean stays(const Sized *sized) {
  return sized->gpus > 0 && sized->gpus == sized->before;
}

/* Whether all jobs find room on the empty cluster, on paper, where the first @n keep their places
 * if their size stays. */
static gboolean all_fit(OrrGangSim *sim, const GArray *all, guint n) {
  OrrGangBins *paper = &sim->later;
  orr_gang_bins_copy(paper, &sim->bins);
  for (guint i = 0; i < n; i++) {
    const Sized *sized = &g_array_index(all, Sized, i);
    if (stays(sized)) orr_gang_bins_add(paper, sized->job->shares, -1);
  }
  ORR_EACH_AT(i, const Sized, sized, all) {
    if (sized->gpus == 0 || (i < n && stays(sized))) continue;
    OrrGangJob sought = *sized->job;
    sought.gpus = sized->gpus;
    if (!orr_gang_room_on_nodes(sim, paper, &sought)) return FALSE;
    orr_gang_bins_add(paper, sim->shares, -1);
  }
  return TRUE;
}

/* How many jobs keep their places if their size stays, the first in the order. */
static guint n_kept(OrrGangSim *sim, const GArray *all) {
  guint n = all->len;
  while (n > 0 && !all_fit(sim, all, n)) n /= 2;
  return n;
}

/* Of the first @n jobs those whose size stays go on where they were. */
static void start_kept(OrrGangSim *sim, const GArray *all, guint n) {
  for (guint i = 0; i < n; i++) {
    const Sized *sized = &g_array_index(all, Sized, i);
    if (!stays(sized)) continue;
    g_array_set_size(sim->shares, 0);
    g_array_append_vals(sim->shares, sized->job->shares->data, sized->job->shares->len);
    orr_gang_sim_start(sim, sized->job);
  }
}

static gboolean is_there(const OrrGangSim *sim, const OrrGangJob *job) {
  if (job->shares->len != sim->shares->len) return FALSE;
  for (guint i = 0; i < job->shares->len; i++) {
    const OrrGangShare *had = &g_array_index(job->shares, OrrGangShare, i),
                       *found = &g_array_index(sim->shares, OrrGangShare, i);
    if (had->bin != found->bin || had->gpus != found->gpus) return FALSE;
  }
  return TRUE;
}

/* At its size, or at the next smaller one that fits. */
static gboolean start(OrrGangSim *sim, const Sized *sized) {
  OrrGangJob *job = sized->job;
  for (gint64 gpus = sized->gpus; gpus >= fewest(job); gpus--) {
    job->gpus = gpus;
    if (!orr_gang_room_fits_now(sim, job)) continue;
    if (sized->before > 0 && (gpus != sized->before || !is_there(sim, job))) {
      job->gpus = sized->before;
      orr_gang_preempt_resize(sim, job, gpus);
    }
    orr_gang_sim_start(sim, job);
    return TRUE;
  }
  return FALSE;
}

/* Attempts go on where gangs are moved or resized. */
static void leave_all(OrrGangSim *sim) {
  for (guint i = 0; i < sim->running->len; i++)
    ((OrrGangJob *)sim->running->pdata[i])->goes_on = TRUE;
  while (sim->running->len > 0) orr_gang_sim_leave(sim, sim->running->pdata[0]);
}

static void run(OrrGangSim *sim) {
  g_autoptr(GArray) all = collect(sim);
  give_rest(sim, all, give_fewest(sim, all));
  leave_all(sim);
  g_ptr_array_set_size(sim->waiting, 0);
  start_kept(sim, all, n_kept(sim, all));
  ORR_EACH(const Sized, sized, all) {
    const gboolean starts = sized->job->is_running || (sized->gpus > 0 && start(sim, sized));
    sized->job->goes_on = FALSE;
    if (starts) continue;
    if (sized->before > 0) {
      sized->job->gpus = sized->before;
      orr_gang_preempt_charge(sim, sized->job);
    }
    sized->job->gpus = fewest(sized->job);
    g_ptr_array_add(sim->waiting, sized->job);
  }
  orr_gang_sim_count_waiting(sim);
}

static const OrrGangExclude excludes[] = {
    {ORR_WITH_FILLS | ORR_WITH_QUEUES | ORR_WITH_VICTIMS | ORR_WITH_PREEMPTS | ORR_WITH_ROUNDS,
     "goes with an order that does not preempt by itself, and without backfill, queues, "
     "preemption.take and rounds"},
    {ORR_WITH_MANY_KINDS, "goes with one kind of GPU"},
    {ORR_WITH_RESOURCES, "shares out GPUs and knows neither node-cpus nor node-memory"},
    {0, NULL}};
const OrrGangPass orr_gang_elastic = {
    .key = "policy.elastic", .applies = ORR_WITH_ELASTIC, .excludes = excludes, .run = run};

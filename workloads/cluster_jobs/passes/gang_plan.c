/*
 * gang_plan.c - a plan: a list of steps, the free GPUs by node from its time until the next
 * step's.
 *
 * A step holds all nodes, so the memory is nodes x waiting jobs.
 */
#include "workloads/cluster_jobs/passes/gang_pass.h"

typedef struct {
  gint64 at_us;
  OrrGangBins bins;
} Step;

/* What was found for a size: nothing of at least @length_us starts before @at_us. */
typedef struct {
  gint64 gpus, length_us, at_us;
} Bound;

struct OrrGangPlan {
  GArray *steps; /* of Step, by time; the last lasts for ever */
  OrrGangBins least;
  GArray *bounds; /* of Bound; of a plan from which nothing is given back */
};

static Step *step_at(const OrrGangPlan *plan, guint i) {
  return &g_array_index(plan->steps, Step, i);
}

static void step_clear(gpointer step) { orr_gang_bins_clear(&((Step *)step)->bins); }

OrrGangPlan *orr_gang_plan_new(const OrrGangSim *sim) {
  OrrGangPlan *plan = g_new0(OrrGangPlan, 1);
  plan->steps = g_array_new(FALSE, FALSE, sizeof(Step));
  plan->bounds = g_array_new(FALSE, FALSE, sizeof(Bound));
  g_array_set_clear_func(plan->steps, step_clear);
  Step first = {.at_us = G_MININT64};
  orr_gang_bins_init(&first.bins, sim->bins.n, sim->bins.size);
  g_array_append_val(plan->steps, first);
  orr_gang_bins_init(&plan->least, sim->bins.n, sim->bins.size);
  g_clear_pointer(&plan->least.levels, g_free); /* of minima */
  return plan;
}

void orr_gang_plan_free(OrrGangPlan *plan) {
  if (!plan) return;
  orr_gang_bins_clear(&plan->least);
  g_array_unref(plan->steps);
  g_array_unref(plan->bounds);
  g_free(plan);
}

/* The step that covers @at_us; the first, if that begins later. */
static guint find_step(const OrrGangPlan *plan, gint64 at_us) {
  guint low = 0, high = plan->steps->len;
  while (high - low > 1) {
    const guint middle = (low + high) / 2;
    if (step_at(plan, middle)->at_us <= at_us)
      low = middle;
    else
      high = middle;
  }
  return low;
}

/* The step that begins at @at_us, which is made by cutting the one that covers it. */
static guint cut(OrrGangPlan *plan, gint64 at_us) {
  const guint low = find_step(plan, at_us);
  const Step *covers = step_at(plan, low);
  if (covers->at_us == at_us) return low;
  Step step = {.at_us = at_us};
  orr_gang_bins_init(&step.bins, covers->bins.n, covers->bins.size);
  orr_gang_bins_copy(&step.bins, &covers->bins);
  g_array_insert_val(plan->steps, low + 1, step);
  return low + 1;
}

void orr_gang_plan_change(OrrGangPlan *plan, const GArray *shares, gint64 from_us, gint64 to_us,
                          int sign) {
  if (to_us <= from_us) return;
  const guint first = cut(plan, from_us),
              last = to_us == G_MAXINT64 ? plan->steps->len : cut(plan, to_us);
  for (guint i = first; i < last; i++) orr_gang_bins_add(&step_at(plan, i)->bins, shares, sign);
}

static void take_least(OrrGangBins *least, const OrrGangBins *bins) {
  least->n_free = 0;
  for (guint i = 0; i < bins->n; i++) {
    least->free[i] = MIN(least->free[i], bins->free[i]);
    least->n_free += least->free[i];
  }
}

/* Whether a gang of @gpus may fit in step @i: not, where GPUs or whole nodes are too few. */
static gboolean has_room(const OrrGangSim *sim, const OrrGangPlan *plan, guint i, gint64 gpus) {
  const OrrGangBins *bins = &step_at(plan, i)->bins;
  if (bins->n_free < gpus) return FALSE;
  return !sim->rules->placement->by_room || orr_gang_bins_has_room(bins, gpus);
}

/* Whether @job fits from step @first on for @length_us; then sim->shares says where. Otherwise
 * @ret_next is the next step from which it could: after the last one with too few GPUs. */
static gboolean fits_from(OrrGangSim *sim, OrrGangPlan *plan, const OrrGangJob *job, guint first,
                          gint64 length_us, guint *ret_next) {
  const gint64 end_us = step_at(plan, first)->at_us + length_us;
  guint end = first;
  *ret_next = first + 1;
  for (; end < plan->steps->len && (end == first || step_at(plan, end)->at_us < end_us); end++)
    if (!has_room(sim, plan, end, job->gpus)) *ret_next = end + 1;
  if (*ret_next > first + 1 || !has_room(sim, plan, first, job->gpus)) return FALSE;
  orr_gang_bins_copy(&plan->least, &step_at(plan, first)->bins);
  for (guint i = first; i < end; i++) {
    take_least(&plan->least, &step_at(plan, i)->bins);
    if (plan->least.n_free < job->gpus) return FALSE;
  }
  return orr_gang_room_on_nodes(sim, &plan->least, job);
}

void orr_gang_plan_forget(OrrGangPlan *plan, const OrrGangSim *sim) {
  const guint now = cut(plan, sim->now_us);
  if (now > 0) g_array_remove_range(plan->steps, 0, now);
}

gint64 orr_gang_plan_find_from_now(OrrGangPlan *plan, OrrGangSim *sim, const OrrGangJob *job,
                                   gint64 length_us) {
  guint i = cut(plan, sim->now_us), next;
  while (!fits_from(sim, plan, job, i, length_us, &next)) i = next;
  return step_at(plan, i)->at_us;
}

/* --- For plans that are made anew at every pass --- */

static int compare_freed(gconstpointer a, gconstpointer b) {
  const OrrGangFreed *x = a, *y = b;
  return x->at_us < y->at_us ? -1 : x->at_us > y->at_us;
}

/* Each step is the one before and what is freed at its time. */
void orr_gang_plan_begin(OrrGangPlan *plan, const OrrGangSim *sim, GArray *freed) {
  g_array_set_size(plan->bounds, 0);
  g_array_set_size(plan->steps, 1);
  step_at(plan, 0)->at_us = sim->now_us;
  orr_gang_bins_copy(&step_at(plan, 0)->bins, &sim->bins);
  g_array_sort(freed, compare_freed);
  for (guint i = 0; i < freed->len; i++) {
    const OrrGangFreed *one = &g_array_index(freed, OrrGangFreed, i);
    const guint step = cut(plan, one->at_us);
    orr_gang_bins_add(&step_at(plan, step)->bins, one->shares, 1);
  }
}

/* The earliest that earlier searches leave: a plan only fills, so what did not fit before does not
 * fit now. A start within a step is no better than at its begin: it ends later. */
static gint64 bound_of(const OrrGangPlan *plan, gint64 gpus, gint64 length_us) {
  gint64 at_us = G_MININT64;
  for (guint i = 0; i < plan->bounds->len; i++) {
    const Bound *bound = &g_array_index(plan->bounds, Bound, i);
    if (bound->gpus == gpus && bound->length_us <= length_us) at_us = MAX(at_us, bound->at_us);
  }
  return at_us;
}

/* Replaces the bounds that say less. */
static void add_bound(OrrGangPlan *plan, Bound bound) {
  for (guint i = plan->bounds->len; i-- > 0;) {
    const Bound *other = &g_array_index(plan->bounds, Bound, i);
    if (other->gpus == bound.gpus && other->length_us >= bound.length_us &&
        other->at_us <= bound.at_us)
      g_array_remove_index_fast(plan->bounds, i);
  }
  g_array_append_val(plan->bounds, bound);
}

gint64 orr_gang_plan_find(OrrGangPlan *plan, OrrGangSim *sim, const OrrGangJob *job,
                          gint64 length_us, gint64 until_us) {
  const gboolean by_size = sim->rules->placement->by_room;
  const gint64 from_us = by_size ? bound_of(plan, job->gpus, length_us) : G_MININT64;
  gint64 at_us = G_MAXINT64;
  guint next;
  if (from_us == G_MAXINT64) return at_us;
  for (guint i = find_step(plan, from_us);
       i < plan->steps->len && step_at(plan, i)->at_us <= until_us; i = next)
    if (fits_from(sim, plan, job, i, length_us, &next)) {
      at_us = step_at(plan, i)->at_us;
      break;
    }
  if (by_size) add_bound(plan, (Bound){job->gpus, length_us, at_us});
  return at_us;
}

/*
 * gang_plan.c - a plan: a list of steps, the free GPUs by node from its time until the next
 * step's.
 *
 * A step holds all nodes, so the memory is nodes x waiting jobs. Most of the time of a plan goes
 * into the least that is free over a row of steps, node by node. Where a node's GPUs fit a byte, a
 * step has them as bytes, too, in blocks that the compiler turns into vector instructions.
 */
#include <string.h>

#include "workloads/cluster_jobs/passes/gang_pass.h"

enum { BLOCK = 64 }; /* nodes */

typedef struct {
  gint64 at_us;
  OrrGangBins bins;
  guint8 *bytes; /* bins.free, and 0 up to whole blocks; NULL: a node has too many GPUs */
} Step;

/* What was found for a size: nothing of at least @length_us starts before @at_us. */
typedef struct {
  gint64 gpus, length_us, at_us;
} Bound;

struct OrrGangPlan {
  GArray *steps; /* of Step, by time; the last lasts for ever */
  OrrGangBins least;
  guint8 *least_bytes; /* NULL: the steps are searched */
  GArray *bounds;      /* of Bound; of a plan from which nothing is given back */
};

static Step *step_at(const OrrGangPlan *plan, guint i) {
  return &g_array_index(plan->steps, Step, i);
}

static void step_clear(gpointer data) {
  Step *step = data;
  orr_gang_bins_clear(&step->bins);
  g_free(step->bytes);
}

static guint n_bytes(const OrrGangBins *bins) { return (bins->n + BLOCK - 1) / BLOCK * BLOCK; }

static void step_init(Step *step, guint n, gint64 size) {
  orr_gang_bins_init(&step->bins, n, size);
  step->bytes = size <= G_MAXUINT8 ? g_new0(guint8, n_bytes(&step->bins)) : NULL;
}

static void step_copy(Step *step, const OrrGangBins *from) {
  orr_gang_bins_copy(&step->bins, from);
  for (guint i = 0; step->bytes && i < from->n; i++) step->bytes[i] = (guint8)from->free[i];
}

static void step_add(Step *step, const GArray *shares, int sign) {
  orr_gang_bins_add(&step->bins, shares, sign);
  for (guint i = 0; step->bytes && i < shares->len; i++) {
    const guint bin = g_array_index(shares, OrrGangShare, i).bin;
    step->bytes[bin] = (guint8)step->bins.free[bin];
  }
}

OrrGangPlan *orr_gang_plan_new(const OrrGangSim *sim) {
  OrrGangPlan *plan = g_new0(OrrGangPlan, 1);
  plan->steps = g_array_new(FALSE, FALSE, sizeof(Step));
  plan->bounds = g_array_new(FALSE, FALSE, sizeof(Bound));
  g_array_set_clear_func(plan->steps, step_clear);
  Step first = {.at_us = G_MININT64};
  step_init(&first, sim->bins.n, sim->bins.size);
  g_array_append_val(plan->steps, first);
  orr_gang_bins_init(&plan->least, sim->bins.n, sim->bins.size);
  g_clear_pointer(&plan->least.levels, g_free); /* of minima */
  if (first.bytes) plan->least_bytes = g_new0(guint8, n_bytes(&first.bins));
  return plan;
}

void orr_gang_plan_free(OrrGangPlan *plan) {
  if (!plan) return;
  orr_gang_bins_clear(&plan->least);
  g_free(plan->least_bytes);
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
  step_init(&step, covers->bins.n, covers->bins.size);
  step_copy(&step, &covers->bins);
  g_array_insert_val(plan->steps, low + 1, step);
  return low + 1;
}

void orr_gang_plan_change(OrrGangPlan *plan, const GArray *shares, gint64 from_us, gint64 to_us,
                          int sign) {
  if (to_us <= from_us) return;
  const guint first = cut(plan, from_us),
              last = to_us == G_MAXINT64 ? plan->steps->len : cut(plan, to_us);
  for (guint i = first; i < last; i++) step_add(step_at(plan, i), shares, sign);
}

/* GPUs of the least; on one node at most; and nodes with all of theirs. */
typedef struct {
  gint64 n_free, most, n_empty;
} Left;

static Left lower_bytes(guint8 *restrict least, const guint8 *restrict bytes, guint n,
                        guint8 size) {
  Left left = {0};
  for (guint at = 0; at < n; at += BLOCK) {
    guint n_free = 0, n_empty = 0;
    guint8 most = 0;
    for (guint i = 0; i < BLOCK; i++) {
      const guint8 free = MIN(least[at + i], bytes[at + i]);
      least[at + i] = free;
      n_free += free;
      n_empty += free == size;
      most = MAX(most, free);
    }
    left.n_free += n_free;
    left.n_empty += n_empty;
    left.most = MAX(left.most, most);
  }
  return left;
}

static Left lower_bins(OrrGangBins *least, const OrrGangBins *bins) {
  Left left = {0};
  for (guint i = 0; i < bins->n; i++) {
    const gint64 free = least->free[i] = MIN(least->free[i], bins->free[i]);
    left.n_free += free;
    left.n_empty += free == bins->size;
    left.most = MAX(left.most, free);
  }
  return left;
}

static void begin_least(OrrGangPlan *plan, const Step *step) {
  if (plan->least_bytes)
    memcpy(plan->least_bytes, step->bytes, n_bytes(&step->bins));
  else
    orr_gang_bins_copy(&plan->least, &step->bins);
}

/* Lowers the least to @step. FALSE: then it has no room for @gpus, by their number or, where
 * @by_room, by whole nodes; TRUE decides nothing. */
static gboolean take_least(OrrGangPlan *plan, const Step *step, gint64 gpus, gboolean by_room) {
  const OrrGangBins *bins = &step->bins;
  const Left left = plan->least_bytes ? lower_bytes(plan->least_bytes, step->bytes, n_bytes(bins),
                                                    (guint8)bins->size)
                                      : lower_bins(&plan->least, bins);
  plan->least.n_free = left.n_free;
  if (left.n_free < gpus) return FALSE;
  return !by_room || (gpus > bins->size ? left.n_empty >= gpus / bins->size : left.most >= gpus);
}

static const OrrGangBins *end_least(OrrGangPlan *plan) {
  for (guint i = 0; plan->least_bytes && i < plan->least.n; i++)
    plan->least.free[i] = plan->least_bytes[i];
  return &plan->least;
}

/* Whether a gang of @gpus may fit in step @i: not, where GPUs or whole nodes are too few. */
static gboolean has_room(const OrrGangSim *sim, const OrrGangPlan *plan, guint i, gint64 gpus) {
  const OrrGangBins *bins = &step_at(plan, i)->bins;
  if (bins->n_free < gpus) return FALSE;
  return !sim->rules->placement->by_room || orr_gang_bins_has_room(bins, gpus);
}

/* Whether @job fits from step @first on for @length_us; then sim->shares says where. Otherwise
 * @ret_next is the next step from which it could.
 *
 * The least that is free is taken from the last step backwards: where steps i to the last leave too
 * little, no start up to i can do, since it needs all of these steps, too.
 *
 *   first       i        end
 *     |----|----|####|####|      too little in the two: next is after i
 */
static gboolean fits_from(OrrGangSim *sim, OrrGangPlan *plan, const OrrGangJob *job, guint first,
                          gint64 length_us, guint *ret_next) {
  const gint64 end_us = step_at(plan, first)->at_us + length_us;
  const gboolean by_room = sim->rules->placement->by_room;
  guint end = first;
  *ret_next = first + 1;
  for (; end < plan->steps->len && (end == first || step_at(plan, end)->at_us < end_us); end++)
    if (!has_room(sim, plan, end, job->gpus)) *ret_next = end + 1;
  if (*ret_next > first + 1 || !has_room(sim, plan, first, job->gpus)) return FALSE;
  begin_least(plan, step_at(plan, end - 1));
  for (guint i = end; i-- > first;)
    if (!take_least(plan, step_at(plan, i), job->gpus, by_room)) {
      *ret_next = i + 1;
      return FALSE;
    }
  return orr_gang_room_on_nodes(sim, end_least(plan), job);
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
  step_copy(step_at(plan, 0), &sim->bins);
  g_array_sort(freed, compare_freed);
  for (guint i = 0; i < freed->len; i++) {
    const OrrGangFreed *one = &g_array_index(freed, OrrGangFreed, i);
    const guint step = cut(plan, one->at_us);
    step_add(step_at(plan, step), one->shares, 1);
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

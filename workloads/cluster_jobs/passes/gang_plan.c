/*
 * gang_plan.c - a plan: a list of steps, the free GPUs by node from its time until the next
 * step's.
 *
 * A step holds all nodes, so the memory is nodes x steps. Where a node's GPUs fit a byte, a step
 * has them as bytes. Most of the time of a plan goes into the least that is free over a row of
 * steps, node by node. Where a placement asks no more than that enough nodes have enough GPUs
 * (by_room), a step also has a set of nodes for each number of GPUs that a gang of the trace may
 * need on one node; the least of several steps is the intersection of one set of each, or of two:
 *
 *   free  3 8 0 8 5     at least 3:  1 1 0 1 1     a gang of 19 on nodes of 8 needs two nodes
 *                       at least 8:  0 1 0 1 0     with at least 8, and one more with 3
 */
#include "workloads/cluster_jobs/passes/gang_pass.h"

enum { BLOCK = 64 }; /* nodes: with a fixed number, loops over bytes become vector instructions */

/* The free GPUs of all nodes in one block, which is copied as a whole: their sum, the sets, the
 * number of nodes in each set, and the GPUs by node. */
typedef guint8 Free;

typedef struct {
  gint64 at_us;
  Free *free;
} Step;

/* The result for a size: nothing of at least @length_us starts before @at_us. */
typedef struct {
  gint64 gpus, length_us, at_us;
} Bound;

struct OrrGangPlan {
  GArray *steps;    /* of Step, by time; the last lasts for ever */
  GPtrArray *spare; /* of Free */
  guint n;          /* nodes */
  gint64 size;      /* GPUs of each */
  gboolean is_narrow, has_sets;
  guint n_sets;                       /* in a Free, */
  guint *levels, *slots;              /* the GPUs of each; by GPUs, its place from 1, or 0 */
  gsize n_words;                      /* of a set: a block each */
  gsize at_counts, at_nodes, n_bytes; /* in a Free; sets begin behind the sum */
  OrrGangBins least;                  /* of a row of steps */
  guint8 *least_bytes;                /* the same, where they are narrow */
  guint64 *least_whole, *least_rest;  /* sets */
  guint64 *whole;                     /* scratch: the whole nodes of a Change */
  GArray *bounds;                     /* of Bound; of a plan from which nothing is given back */
};

static Step *step_at(const OrrGangPlan *plan, guint i) {
  return &g_array_index(plan->steps, Step, i);
}

static gint64 *sum_of(Free *free) { return (gint64 *)(void *)free; }

static guint64 *set_at(const OrrGangPlan *plan, Free *free, guint i) {
  return (guint64 *)(void *)(free + sizeof(gint64)) + i * plan->n_words;
}

static guint *count_at(const OrrGangPlan *plan, Free *free, guint i) {
  return (guint *)(void *)(free + plan->at_counts) + i;
}

/* Nodes with at least @gpus, which has a set, */
static guint64 *set_of(const OrrGangPlan *plan, Free *free, gint64 gpus) {
  return set_at(plan, free, plan->slots[gpus] - 1);
}

/* and their number. */
static guint count_of(const OrrGangPlan *plan, Free *free, gint64 gpus) {
  return *count_at(plan, free, plan->slots[gpus] - 1);
}

static guint8 *bytes_of(const OrrGangPlan *plan, Free *free) { return free + plan->at_nodes; }

static gint64 *numbers_of(const OrrGangPlan *plan, Free *free) {
  return (gint64 *)(void *)(free + plan->at_nodes);
}

static gint64 free_on(const OrrGangPlan *plan, Free *free, guint node) {
  return plan->is_narrow ? bytes_of(plan, free)[node] : numbers_of(plan, free)[node];
}

/* Node @node has @gpus more, or fewer. */
static void free_add(const OrrGangPlan *plan, Free *free, guint node, gint64 gpus) {
  const gint64 was = free_on(plan, free, node), is = was + gpus;
  g_assert(is >= 0 && is <= plan->size);
  if (plan->is_narrow)
    bytes_of(plan, free)[node] = (guint8)is;
  else
    numbers_of(plan, free)[node] = is;
  *sum_of(free) += gpus;
  if (!plan->has_sets) return;
  for (guint i = 0; i < plan->n_sets; i++) {
    if (plan->levels[i] <= MIN(was, is) || plan->levels[i] > MAX(was, is)) continue;
    set_at(plan, free, i)[node / 64] ^= (guint64)1 << node % 64;
    *count_at(plan, free, i) += is > was ? 1 : -1;
  }
}

static Free *free_new(OrrGangPlan *plan) {
  const guint n = plan->spare->len;
  return n > 0 ? g_ptr_array_steal_index(plan->spare, n - 1) : g_malloc(plan->n_bytes);
}

static void free_set(const OrrGangPlan *plan, Free *free, const OrrGangBins *bins) {
  memset(free, 0, plan->n_bytes);
  for (guint i = 0; i < bins->n; i++) free_add(plan, free, i, bins->free[i]);
}

/* Shares that several steps take or give back. Whole nodes are the same bits in all sets. */
typedef struct {
  const GArray *shares;
  int sign;
  guint n_whole;
  gsize first, end; /* words of plan->whole that are in use */
} Change;

static gboolean is_whole(const OrrGangPlan *plan, const OrrGangShare *share) {
  return plan->has_sets && share->gpus == plan->size;
}

static Change change_of(OrrGangPlan *plan, const GArray *shares, int sign) {
  Change change = {shares, sign, 0, plan->n_words, 0};
  memset(plan->whole, 0, plan->n_words * sizeof(guint64));
  ORR_EACH(const OrrGangShare, share, shares) {
    if (!is_whole(plan, share)) continue;
    const gsize word = share->bin / 64;
    plan->whole[word] |= (guint64)1 << share->bin % 64;
    change.first = MIN(change.first, word);
    change.end = MAX(change.end, word + 1);
    change.n_whole++;
  }
  return change;
}

static void change_whole(const OrrGangPlan *plan, Free *free, const Change *change) {
  *sum_of(free) += change->sign * (gint64)change->n_whole * plan->size;
  for (guint k = 0; k < plan->n_sets; k++) {
    guint64 *set = set_at(plan, free, k);
    for (gsize i = change->first; i < change->end; i++) set[i] ^= plan->whole[i];
    *count_at(plan, free, k) += (guint)change->sign * change->n_whole;
  }
}

static void free_change(const OrrGangPlan *plan, Free *free, const Change *change) {
  const guint8 was = change->sign < 0 ? (guint8)plan->size : 0;
  if (change->n_whole > 0) change_whole(plan, free, change);
  ORR_EACH(const OrrGangShare, share, change->shares) {
    if (!is_whole(plan, share)) {
      free_add(plan, free, share->bin, change->sign * share->gpus);
      continue;
    }
    guint8 *node = &bytes_of(plan, free)[share->bin];
    g_assert(*node == was);
    *node = (guint8)(plan->size - was);
  }
}

/* Removes the steps @first to @first + @n - 1. */
static void remove_steps(OrrGangPlan *plan, guint first, guint n) {
  for (guint i = first; i < first + n; i++) g_ptr_array_add(plan->spare, step_at(plan, i)->free);
  if (n > 0) g_array_remove_range(plan->steps, first, n);
}

/* Chooses the sets: of whole nodes, and of what gangs need on one node more. */
static void find_levels(OrrGangPlan *plan, const OrrGangSim *sim) {
  plan->levels = g_new0(guint, plan->size + 1);
  plan->slots = g_new0(guint, plan->size + 1);
  for (gint64 gpus = 1; plan->has_sets && gpus <= plan->size; gpus++) {
    if (gpus < plan->size && !sim->needed[gpus]) continue;
    plan->levels[plan->n_sets++] = (guint)gpus;
    plan->slots[gpus] = plan->n_sets;
  }
}

OrrGangPlan *orr_gang_plan_new(const OrrGangSim *sim) {
  OrrGangPlan *plan = g_new0(OrrGangPlan, 1);
  plan->steps = g_array_new(FALSE, FALSE, sizeof(Step));
  plan->spare = g_ptr_array_new_with_free_func(g_free);
  plan->bounds = g_array_new(FALSE, FALSE, sizeof(Bound));
  plan->n = sim->bins.n;
  plan->size = sim->bins.size;
  plan->is_narrow = plan->size <= G_MAXUINT8;
  plan->has_sets = plan->is_narrow && plan->n > 1 && sim->rules->placement->by_room;
  find_levels(plan, sim);
  plan->n_words = (plan->n + BLOCK - 1) / BLOCK;
  plan->at_counts = sizeof(gint64) + plan->n_sets * plan->n_words * sizeof(guint64);
  plan->at_nodes = (plan->at_counts + plan->n_sets * sizeof(guint) + 7) / 8 * 8;
  plan->n_bytes = plan->at_nodes + plan->n_words * BLOCK * (plan->is_narrow ? 1 : sizeof(gint64));
  Step first = {.at_us = G_MININT64, .free = free_new(plan)};
  orr_gang_bins_init(&plan->least, plan->n, plan->size);
  free_set(plan, first.free, &plan->least);
  g_array_append_val(plan->steps, first);
  g_clear_pointer(&plan->least.levels, g_free); /* of minima */
  plan->least_bytes = g_new0(guint8, plan->n_words * BLOCK);
  plan->least_whole = g_new0(guint64, plan->n_words);
  plan->least_rest = g_new0(guint64, plan->n_words);
  plan->whole = g_new0(guint64, plan->n_words);
  return plan;
}

void orr_gang_plan_free(OrrGangPlan *plan) {
  if (!plan) return;
  remove_steps(plan, 0, plan->steps->len);
  orr_gang_bins_clear(&plan->least);
  ORR_FREE(plan->levels, plan->slots, plan->least_bytes, plan->least_whole, plan->least_rest,
           plan->whole);
  g_array_unref(plan->steps);
  g_ptr_array_unref(plan->spare);
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
  Step step = {.at_us = at_us, .free = free_new(plan)};
  memcpy(step.free, covers->free, plan->n_bytes);
  g_array_insert_val(plan->steps, low + 1, step);
  return low + 1;
}

void orr_gang_plan_change(OrrGangPlan *plan, const GArray *shares, gint64 from_us, gint64 to_us,
                          int sign) {
  if (to_us <= from_us) return;
  const guint first = cut(plan, from_us),
              last = to_us == G_MAXINT64 ? plan->steps->len : cut(plan, to_us);
  const Change change = change_of(plan, shares, sign);
  for (guint i = first; i < last; i++) free_change(plan, step_at(plan, i)->free, &change);
}

/* --- Where a gang fits --- */

/* A gang's needs of nodes: @whole of them with all their GPUs, and one more with @rest. */
typedef struct {
  gint64 gpus, whole, rest;
  gboolean by_sets; /* there are sets for it */
} Need;

static Need need_of(const OrrGangPlan *plan, gint64 gpus) {
  const gint64 whole = gpus / plan->size;
  const gint64 rest = gpus - whole * plan->size;
  return (Need){gpus, whole, rest, plan->has_sets && (rest == 0 || plan->slots[rest] > 0)};
}

/* FALSE: it does not fit in step @i. TRUE decides nothing, but where there are sets. */
static gboolean has_room(const OrrGangPlan *plan, guint i, const Need *need) {
  Free *free = step_at(plan, i)->free;
  if (*sum_of(free) < need->gpus) return FALSE;
  if (!need->by_sets) return TRUE;
  return count_of(plan, free, plan->size) >= need->whole &&
         (need->rest == 0 || count_of(plan, free, need->rest) > need->whole);
}

/* The bits of @word, in parallel (Warren, Hacker's Delight, 5-1). */
static gint64 n_bits(guint64 word) {
  word -= word >> 1 & G_GUINT64_CONSTANT(0x5555555555555555);
  word = (word & G_GUINT64_CONSTANT(0x3333333333333333)) +
         (word >> 2 & G_GUINT64_CONSTANT(0x3333333333333333));
  word = (word + (word >> 4)) & G_GUINT64_CONSTANT(0x0f0f0f0f0f0f0f0f);
  return (gint64)(word * G_GUINT64_CONSTANT(0x0101010101010101) >> 56);
}

/* Intersects @least with @set; returns how many nodes are left. */
static gint64 intersect(guint64 *restrict least, const guint64 *restrict set, gsize n_words) {
  gint64 n = 0;
  for (gsize i = 0; i < n_words; i++) n += n_bits(least[i] &= set[i]);
  return n;
}

static gboolean intersect_step(OrrGangPlan *plan, Free *free, const Need *need) {
  if (need->whole > 0 &&
      intersect(plan->least_whole, set_of(plan, free, plan->size), plan->n_words) < need->whole)
    return FALSE;
  return need->rest == 0 ||
         intersect(plan->least_rest, set_of(plan, free, need->rest), plan->n_words) > need->whole;
}

static void lower_bytes(guint8 *restrict least, const guint8 *restrict bytes, gsize n) {
  for (gsize at = 0; at < n; at += BLOCK)
    for (guint i = 0; i < BLOCK; i++) least[at + i] = MIN(least[at + i], bytes[at + i]);
}

/* Lowers the least, by node, to @free. */
static void lower(OrrGangPlan *plan, Free *free) {
  if (plan->is_narrow)
    return lower_bytes(plan->least_bytes, bytes_of(plan, free), plan->n_words * BLOCK);
  for (guint i = 0; i < plan->n; i++)
    plan->least.free[i] = MIN(plan->least.free[i], numbers_of(plan, free)[i]);
}

static gint64 sum_least(const OrrGangPlan *plan) {
  gint64 sum = 0;
  for (guint i = 0; i < plan->n; i++)
    sum += plan->is_narrow ? plan->least_bytes[i] : plan->least.free[i];
  return sum;
}

/* Begins with all nodes free. */
static void begin_least(OrrGangPlan *plan, gboolean by_sets) {
  if (by_sets) {
    memset(plan->least_whole, 0xff, plan->n_words * sizeof(guint64));
    memset(plan->least_rest, 0xff, plan->n_words * sizeof(guint64));
  } else if (plan->is_narrow) {
    memset(plan->least_bytes, 0xff, plan->n);
  } else {
    for (guint i = 0; i < plan->n; i++) plan->least.free[i] = plan->size;
  }
}

/* The least of steps @first to @end - 1. */
static const OrrGangBins *least_of(OrrGangPlan *plan, guint first, guint end) {
  begin_least(plan, FALSE);
  for (guint i = first; i < end; i++) lower(plan, step_at(plan, i)->free);
  for (guint i = 0; plan->is_narrow && i < plan->n; i++) plan->least.free[i] = plan->least_bytes[i];
  plan->least.n_free = sum_least(plan);
  return &plan->least;
}

/* The same of whole nodes alone, others as if none of their GPUs were free: after find_shortage. */
static const OrrGangBins *least_whole(OrrGangPlan *plan) {
  plan->least.n_free = 0;
  memset(plan->least.free, 0, plan->n * sizeof(gint64));
  for (guint i = 0; i < plan->n; i++) {
    const guint64 left = plan->least_whole[i / 64] >> i % 64;
    if (left == 0) i |= 63; /* none in this word */
    if (!(left & 1)) continue;
    plan->least.free[i] = plan->size;
    plan->least.n_free += plan->size;
  }
  return &plan->least;
}

/* The least is taken from the last step backwards: where steps i to the last leave too little, no
 * start up to i can do, since it needs all of these steps, too. Returns i + 1; 0: enough is left.
 *
 *   first       i        end
 *     |----|----|####|####|      too little in the two: next is after i
 */
static guint find_shortage(OrrGangPlan *plan, const Need *need, guint first, guint end) {
  begin_least(plan, need->by_sets);
  for (guint i = end; i-- > first;) {
    Free *free = step_at(plan, i)->free;
    if (!need->by_sets) lower(plan, free);
    if (need->by_sets ? !intersect_step(plan, free, need) : sum_least(plan) < need->gpus)
      return i + 1;
  }
  return 0;
}

/* Whether @job fits from step @first on for @length_us; then sim->shares says where. Otherwise
 * @ret_next is the next step from which it could. */
static gboolean fits_from(OrrGangSim *sim, OrrGangPlan *plan, const OrrGangJob *job, guint first,
                          gint64 length_us, guint *ret_next) {
  const gint64 end_us = step_at(plan, first)->at_us + length_us;
  const Need need = need_of(plan, job->gpus);
  guint end = first;
  *ret_next = first;
  for (; end < plan->steps->len && (end == first || step_at(plan, end)->at_us < end_us); end++)
    if (!has_room(plan, end, &need)) *ret_next = end + 1;
  if (*ret_next == first) *ret_next = find_shortage(plan, &need, first, end);
  if (*ret_next > 0) return FALSE;
  *ret_next = first + 1;
  const gboolean by_set = need.by_sets && need.rest == 0 && sim->rules->placement->whole_first;
  return orr_gang_room_on_nodes(sim, by_set ? least_whole(plan) : least_of(plan, first, end), job);
}

void orr_gang_plan_forget(OrrGangPlan *plan, const OrrGangSim *sim) {
  const guint now = cut(plan, sim->now_us);
  remove_steps(plan, 0, now);
}

gint64 orr_gang_plan_find_from_now(OrrGangPlan *plan, OrrGangSim *sim, const OrrGangJob *job,
                                   gint64 length_us) {
  guint i = cut(plan, sim->now_us), next;
  while (!fits_from(sim, plan, job, i, length_us, &next)) i = next;
  return step_at(plan, i)->at_us;
}

/* --- For plans that are made anew at every pass --- */

ORR_LEAST_FIRST(compare_freed, OrrGangFreed, at_us)

/* Each step is the one before and what is freed at its time. */
void orr_gang_plan_begin(OrrGangPlan *plan, const OrrGangSim *sim, GArray *freed) {
  g_array_set_size(plan->bounds, 0);
  remove_steps(plan, 1, plan->steps->len - 1);
  step_at(plan, 0)->at_us = sim->now_us;
  free_set(plan, step_at(plan, 0)->free, &sim->bins);
  g_array_sort(freed, compare_freed);
  ORR_EACH(const OrrGangFreed, one, freed) {
    const guint step = cut(plan, one->at_us);
    const Change change = change_of(plan, one->shares, 1);
    free_change(plan, step_at(plan, step)->free, &change);
  }
}

/* The earliest that earlier searches leave: a plan only fills, so what did not fit before does not
 * fit now. A start within a step is no better than at its begin: it ends later. */
static gint64 bound_of(const OrrGangPlan *plan, gint64 gpus, gint64 length_us) {
  gint64 at_us = G_MININT64;
  ORR_EACH(const Bound, bound, plan->bounds)
    if (bound->gpus == gpus && bound->length_us <= length_us) at_us = MAX(at_us, bound->at_us);
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

/* Steps are taken from now on until the least of them is too little. */
gboolean orr_gang_plan_fits_now(OrrGangPlan *plan, const OrrGangSim *sim, const OrrGangJob *job,
                                gint64 length_us) {
  const Need need = need_of(plan, job->gpus);
  if (!sim->rules->placement->by_room) return TRUE;
  if (bound_of(plan, job->gpus, length_us) > sim->now_us) return FALSE;
  begin_least(plan, TRUE);
  for (guint i = 0;
       i < plan->steps->len && (i == 0 || step_at(plan, i)->at_us - sim->now_us < length_us); i++) {
    if (has_room(plan, i, &need) &&
        (!need.by_sets || intersect_step(plan, step_at(plan, i)->free, &need)))
      continue;
    const gint64 next_us = plan->steps->len > 1 ? step_at(plan, 1)->at_us : G_MAXINT64;
    const gint64 shortest_us = i == 0 ? 0 : step_at(plan, i)->at_us - sim->now_us + 1;
    add_bound(plan, (Bound){job->gpus, shortest_us, next_us});
    return FALSE;
  }
  return TRUE;
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

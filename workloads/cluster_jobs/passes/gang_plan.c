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

enum { GROUP = 8 };  /* steps */
enum { BLOCK = 64 }; /* nodes: with a fixed number, loops over bytes become vector instructions */

/* Searches read the sets, changes write the nodes as well: two allocations keep the sets of all
 * steps in the cache. */
typedef struct {
  gint64 at_us;
  gint64 sum;    /* of the free GPUs */
  guint64 *sets; /* the nodes with at least as many of them as each level */
  guint8 *nodes; /* the free GPUs by node: bytes, or gint64 */
} Step;

/* The result for a size: nothing of at least @length_us starts before @at_us. */
typedef struct {
  gint64 gpus, length_us, at_us;
} Bound;

struct OrrGangPlan {
  GArray *steps;                       /* of Step, by time; the last lasts for ever */
  GArray *counts;                      /* of guint: of each step, the number of nodes in each set */
  GPtrArray *spare_sets, *spare_nodes; /* of removed steps */
  guint n;                             /* nodes */
  gint64 size;                         /* GPUs of each */
  gboolean is_narrow, has_sets;
  guint n_sets;                      /* of a step, */
  guint *levels, *slots;             /* the GPUs of each; by GPUs, its place from 1, or 0 */
  gsize n_words;                     /* of a set: a block each */
  gsize n_set_bytes, n_node_bytes;   /* of all sets of a step; of its nodes */
  OrrGangBins least;                 /* of a row of steps */
  guint8 *least_bytes;               /* the same, where they are narrow */
  guint64 *least_whole, *least_rest; /* sets */
  guint64 *saved_whole, *saved_rest; /* scratch: the same before some steps */
  guint64 *whole;                    /* scratch: the whole nodes of a Change, */
  GArray *whole_nodes;               /* of guint, the same */
  GArray *bounds;                    /* of Bound; of a plan from which nothing is given back */
};

static Step *step_at(const OrrGangPlan *plan, guint i) {
  return &g_array_index(plan->steps, Step, i);
}

/* The nodes with at least @gpus, which has a set. */
static guint64 *set_of(const OrrGangPlan *plan, const Step *step, gint64 gpus) {
  return step->sets + (plan->slots[gpus] - 1) * plan->n_words;
}

/* The numbers of nodes in the sets of step @i. */
static guint *counts_of(const OrrGangPlan *plan, guint i) {
  return &g_array_index(plan->counts, guint, i * plan->n_sets);
}

static gint64 *numbers_of(const Step *step) { return (gint64 *)(void *)step->nodes; }

/* Node @node has @gpus more, or fewer, in step @i. */
static void free_add(const OrrGangPlan *plan, guint i, guint node, gint64 gpus) {
  Step *step = step_at(plan, i);
  const gint64 was = plan->is_narrow ? step->nodes[node] : numbers_of(step)[node], is = was + gpus;
  g_assert(is >= 0 && is <= plan->size);
  if (plan->is_narrow)
    step->nodes[node] = (guint8)is;
  else
    numbers_of(step)[node] = is;
  step->sum += gpus;
  for (guint k = 0; k < plan->n_sets; k++) {
    if (plan->levels[k] <= MIN(was, is) || plan->levels[k] > MAX(was, is)) continue;
    step->sets[k * plan->n_words + node / 64] ^= (guint64)1 << node % 64;
    counts_of(plan, i)[k] += is > was ? 1 : -1;
  }
}

static gpointer take_spare(GPtrArray *spare, gsize n_bytes) {
  return spare->len > 0 ? g_ptr_array_steal_index(spare, spare->len - 1) : g_malloc(n_bytes);
}

/* A step without its GPUs. */
static Step step_new(OrrGangPlan *plan, gint64 at_us) {
  return (Step){.at_us = at_us,
                .sets = take_spare(plan->spare_sets, plan->n_set_bytes + 1), /* never NULL */
                .nodes = take_spare(plan->spare_nodes, plan->n_node_bytes)};
}

/* Step @i has what is free in @bins. */
static void set_free(const OrrGangPlan *plan, guint i, const OrrGangBins *bins) {
  memset(step_at(plan, i)->sets, 0, plan->n_set_bytes);
  memset(step_at(plan, i)->nodes, 0, plan->n_node_bytes);
  memset(counts_of(plan, i), 0, plan->n_sets * sizeof(guint));
  step_at(plan, i)->sum = 0;
  for (guint node = 0; node < bins->n; node++) free_add(plan, i, node, bins->free[node]);
}

/* Shares that several steps take or give back. Whole nodes are the same bits in all sets. */
typedef struct {
  const GArray *shares;
  int sign;
  gsize first, end; /* words of plan->whole that are in use */
} Change;

static gboolean is_whole(const OrrGangPlan *plan, const OrrGangShare *share) {
  return plan->has_sets && share->gpus == plan->size;
}

static Change change_of(OrrGangPlan *plan, const GArray *shares, int sign) {
  Change change = {shares, sign, plan->n_words, 0};
  memset(plan->whole, 0, plan->n_words * sizeof(guint64));
  g_array_set_size(plan->whole_nodes, 0);
  ORR_EACH(const OrrGangShare, share, shares) {
    if (!is_whole(plan, share)) continue;
    const gsize word = share->bin / 64;
    plan->whole[word] |= (guint64)1 << share->bin % 64;
    change.first = MIN(change.first, word);
    change.end = MAX(change.end, word + 1);
    g_array_append_val(plan->whole_nodes, share->bin);
  }
  return change;
}

/* Stores the bytes without a look at them, which would wait for the memory of each step. */
static void change_whole(const OrrGangPlan *plan, guint i, const Change *change) {
  Step *step = step_at(plan, i);
  const guint n = plan->whole_nodes->len, *nodes = &g_array_index(plan->whole_nodes, guint, 0);
  const guint64 *whole = set_of(plan, step, plan->size);
  const guint8 is = change->sign < 0 ? 0 : (guint8)plan->size;
  for (gsize w = change->first; w < change->end; w++)
    g_assert((whole[w] & plan->whole[w]) == (change->sign < 0 ? plan->whole[w] : 0));
  step->sum += change->sign * (gint64)n * plan->size;
  for (guint k = 0; k < plan->n_sets; k++) {
    guint64 *set = step->sets + k * plan->n_words;
    for (gsize w = change->first; w < change->end; w++) set[w] ^= plan->whole[w];
    counts_of(plan, i)[k] += (guint)change->sign * n;
  }
  for (guint k = 0; k < n; k++) step->nodes[nodes[k]] = is;
}

static void change_step(const OrrGangPlan *plan, guint i, const Change *change) {
  if (plan->whole_nodes->len > 0) change_whole(plan, i, change);
  if (plan->whole_nodes->len == change->shares->len) return;
  ORR_EACH(const OrrGangShare, share, change->shares)
    if (!is_whole(plan, share)) free_add(plan, i, share->bin, change->sign * share->gpus);
}

/* Removes the steps @first to @first + @n - 1. */
static void remove_steps(OrrGangPlan *plan, guint first, guint n) {
  for (guint i = first; i < first + n; i++) {
    g_ptr_array_add(plan->spare_sets, step_at(plan, i)->sets);
    g_ptr_array_add(plan->spare_nodes, step_at(plan, i)->nodes);
  }
  if (n > 0) g_array_remove_range(plan->steps, first, n);
  if (n > 0) g_array_remove_range(plan->counts, first * plan->n_sets, n * plan->n_sets);
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
  plan->counts = g_array_sized_new(FALSE, FALSE, sizeof(guint), BLOCK); /* never NULL */
  plan->whole_nodes = g_array_new(FALSE, FALSE, sizeof(guint));
  plan->spare_sets = g_ptr_array_new_with_free_func(g_free);
  plan->spare_nodes = g_ptr_array_new_with_free_func(g_free);
  plan->bounds = g_array_new(FALSE, FALSE, sizeof(Bound));
  plan->n = sim->bins.n;
  plan->size = sim->bins.size;
  plan->is_narrow = plan->size <= G_MAXUINT8;
  plan->has_sets = plan->is_narrow && plan->n > 1 && sim->rules->placement->by_room;
  find_levels(plan, sim);
  plan->n_words = (plan->n + BLOCK - 1) / BLOCK;
  plan->n_set_bytes = plan->n_sets * plan->n_words * sizeof(guint64);
  plan->n_node_bytes = plan->n_words * BLOCK * (plan->is_narrow ? 1 : sizeof(gint64));
  const Step first = step_new(plan, G_MININT64);
  orr_gang_bins_init(&plan->least, plan->n, plan->size);
  g_array_append_val(plan->steps, first);
  g_array_set_size(plan->counts, plan->n_sets);
  set_free(plan, 0, &plan->least);
  g_clear_pointer(&plan->least.levels, g_free); /* of minima */
  plan->least_bytes = g_new0(guint8, plan->n_words * BLOCK);
  plan->least_whole = g_new0(guint64, plan->n_words);
  plan->least_rest = g_new0(guint64, plan->n_words);
  plan->saved_whole = g_new0(guint64, plan->n_words);
  plan->saved_rest = g_new0(guint64, plan->n_words);
  plan->whole = g_new0(guint64, plan->n_words);
  return plan;
}

void orr_gang_plan_free(OrrGangPlan *plan) {
  if (!plan) return;
  remove_steps(plan, 0, plan->steps->len);
  orr_gang_bins_clear(&plan->least);
  ORR_FREE(plan->levels, plan->slots, plan->least_bytes, plan->least_whole, plan->least_rest,
           plan->saved_whole, plan->saved_rest, plan->whole);
  g_array_unref(plan->steps);
  g_array_unref(plan->counts);
  g_array_unref(plan->whole_nodes);
  g_ptr_array_unref(plan->spare_sets);
  g_ptr_array_unref(plan->spare_nodes);
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
  Step step = step_new(plan, at_us);
  step.sum = covers->sum;
  memcpy(step.sets, covers->sets, plan->n_set_bytes);
  memcpy(step.nodes, covers->nodes, plan->n_node_bytes);
  g_array_insert_val(plan->steps, low + 1, step);
  g_array_set_size(plan->counts, plan->steps->len * plan->n_sets);
  memmove(counts_of(plan, low + 1), counts_of(plan, low),
          (plan->steps->len - low - 1) * plan->n_sets * sizeof(guint));
  return low + 1;
}

void orr_gang_plan_change(OrrGangPlan *plan, const GArray *shares, gint64 from_us, gint64 to_us,
                          int sign) {
  if (to_us <= from_us) return;
  const guint first = cut(plan, from_us),
              last = to_us == G_MAXINT64 ? plan->steps->len : cut(plan, to_us);
  const Change change = change_of(plan, shares, sign);
  for (guint i = first; i < last; i++) change_step(plan, i, &change);
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
  if (!need->by_sets) return step_at(plan, i)->sum >= need->gpus;
  const guint *counts = counts_of(plan, i);
  return counts[plan->n_sets - 1] >= need->whole &&
         (need->rest == 0 || counts[plan->slots[need->rest] - 1] > need->whole);
}

/* The bits of @word, in parallel (Warren, Hacker's Delight, 5-1). */
static gint64 n_bits(guint64 word) {
  word -= word >> 1 & G_GUINT64_CONSTANT(0x5555555555555555);
  word = (word & G_GUINT64_CONSTANT(0x3333333333333333)) +
         (word >> 2 & G_GUINT64_CONSTANT(0x3333333333333333));
  word = (word + (word >> 4)) & G_GUINT64_CONSTANT(0x0f0f0f0f0f0f0f0f);
  return (gint64)(word * G_GUINT64_CONSTANT(0x0101010101010101) >> 56);
}

static gint64 count(const guint64 *set, gsize n_words) {
  gint64 n = 0;
  for (gsize i = 0; i < n_words; i++) n += n_bits(set[i]);
  return n;
}

/* Intersects @least with the set for @gpus of steps @first to @end - 1. */
static void intersect(const OrrGangPlan *plan, guint64 *restrict least, gint64 gpus, guint first,
                      guint end) {
  const gsize n = plan->n_words, at = (plan->slots[gpus] - 1) * n;
  for (guint i = first; i < end; i++) {
    const guint64 *restrict set = step_at(plan, i)->sets + at;
    for (gsize w = 0; w < n; w++) least[w] &= set[w];
  }
}

static void intersect_steps(const OrrGangPlan *plan, const Need *need, guint first, guint end) {
  if (need->whole > 0) intersect(plan, plan->least_whole, plan->size, first, end);
  if (need->rest > 0) intersect(plan, plan->least_rest, need->rest, first, end);
}

static gboolean is_enough(const OrrGangPlan *plan, const Need *need) {
  return (need->whole == 0 || count(plan->least_whole, plan->n_words) >= need->whole) &&
         (need->rest == 0 || count(plan->least_rest, plan->n_words) > need->whole);
}

static void lower_bytes(guint8 *restrict least, const guint8 *restrict bytes, gsize n) {
  for (gsize at = 0; at < n; at += BLOCK)
    for (guint i = 0; i < BLOCK; i++) least[at + i] = MIN(least[at + i], bytes[at + i]);
}

/* Lowers the least, by node, to @step. */
static void lower(OrrGangPlan *plan, const Step *step) {
  if (plan->is_narrow) return lower_bytes(plan->least_bytes, step->nodes, plan->n_words * BLOCK);
  for (guint i = 0; i < plan->n; i++)
    plan->least.free[i] = MIN(plan->least.free[i], numbers_of(step)[i]);
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
  for (guint i = first; i < end; i++) lower(plan, step_at(plan, i));
  for (guint i = 0; plan->is_narrow && i < plan->n; i++) plan->least.free[i] = plan->least_bytes[i];
  plan->least.n_free = sum_least(plan);
  return &plan->least;
}

/* The first whole nodes of the least: after find_shortage. */
static gboolean place_whole(const OrrGangPlan *plan, gint64 n, GArray *shares) {
  g_array_set_size(shares, 0);
  for (guint i = 0; n > 0; i++)
    for (guint64 left = plan->least_whole[i]; left && n > 0; left &= left - 1, n--)
      ORR_APPEND(shares, OrrGangShare, {i * 64 + (guint)__builtin_ctzll(left), (gint32)plan->size});
  return TRUE;
}

/* The least is taken from the last step backwards: where steps i to the last leave too little, no
 * start up to i can do, since it needs all of these steps, too. Returns i + 1; 0: enough is left.
 *
 *   first       i        end
 *     |----|----|####|####|      too little in the two: next is after i
 */
static guint find_shortage(OrrGangPlan *plan, const Need *need, guint first, guint end) {
  begin_least(plan, FALSE);
  for (guint i = end; i-- > first;) {
    lower(plan, step_at(plan, i));
    if (sum_least(plan) < need->gpus) return i + 1;
  }
  return 0;
}

/* The same by sets. Counting takes longer than intersecting: only a group of steps that leaves too
 * little is counted step by step. */
static guint find_shortage_of_sets(OrrGangPlan *plan, const Need *need, guint first, guint end) {
  begin_least(plan, TRUE);
  for (guint low; end > first; end = low) {
    low = end - first > GROUP ? end - GROUP : first;
    memcpy(plan->saved_whole, plan->least_whole, plan->n_words * sizeof(guint64));
    memcpy(plan->saved_rest, plan->least_rest, plan->n_words * sizeof(guint64));
    intersect_steps(plan, need, low, end);
    if (is_enough(plan, need)) continue;
    memcpy(plan->least_whole, plan->saved_whole, plan->n_words * sizeof(guint64));
    memcpy(plan->least_rest, plan->saved_rest, plan->n_words * sizeof(guint64));
    for (guint i = end; i-- > low;) {
      intersect_steps(plan, need, i, i + 1);
      if (!is_enough(plan, need)) return i + 1;
    }
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
  if (*ret_next == first)
    *ret_next = need.by_sets ? find_shortage_of_sets(plan, &need, first, end)
                             : find_shortage(plan, &need, first, end);
  if (*ret_next > 0) return FALSE;
  *ret_next = first + 1;
  if (need.by_sets && need.rest == 0 && sim->rules->placement->whole_first)
    return place_whole(plan, need.whole, sim->shares);
  return orr_gang_room_on_nodes(sim, least_of(plan, first, end), job);
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
  set_free(plan, 0, &sim->bins);
  g_array_sort(freed, compare_freed);
  ORR_EACH(const OrrGangFreed, one, freed) {
    const guint step = cut(plan, one->at_us);
    const Change change = change_of(plan, one->shares, 1);
    change_step(plan, step, &change);
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
    gboolean fits = has_room(plan, i, &need);
    if (fits && need.by_sets) {
      intersect_steps(plan, &need, i, i + 1);
      fits = is_enough(plan, &need);
    }
    if (fits) continue;
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

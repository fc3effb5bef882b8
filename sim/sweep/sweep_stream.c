/*
 * sweep_stream.c - tests combinations one by one against the constraints and the workload's checks.
 *
 * Memory grows with the number of reasons, not of combinations; a sampler that chooses points keeps
 * its choice.
 */
#include "sim/sweep/sweep_private.h"

#include "sim/sweep/sweep_axis.h"
#include "sim/sweep/sweep_combination.h"
#include "sim/sweep/sweep_facts.h"

struct OrrSweepStream {
  const OrrSweepPlan *plan;
  OrrSweepVariants *variants;
  OrrValue *values;
  guint64 next;         /* combination */
  GArray *chosen;       /* of guint64; NULL: all combinations that pass */
  guint at;             /* the next index in chosen */
  GHashTable *excluded; /* kind of reason -> OrrSweepExclusion * */
  int tp, pp, cp;       /* axes; -1: none */
  double n_gpus;        /* 0: varies, or unknown */
};

static int axis_named(const OrrSweepPlan *plan, const char *name) {
  for (guint i = 0; i < plan->n_axes; i++)
    if (strcmp(((const OrrSweepAxis *)plan->axes->pdata[i])->name, name) == 0) return (int)i;
  return -1;
}

/* When all combinations have the same machine, three numbers decide whether tp * pp * cp divides
 * its GPUs, without reading a scenario. */
static void prepare_quick_rule(OrrSweepStream *stream) {
  const OrrSweepPlan *plan = stream->plan;
  OrrValue facts[ORR_N_FACTS];
  stream->tp = axis_named(plan, "tp");
  stream->pp = axis_named(plan, "pp");
  stream->cp = axis_named(plan, "cp");
  orr_sweep_facts_fill(plan, plan->base, facts);
  stream->n_gpus = isnan(facts[ORR_FACT_TP].number) ? 0 : facts[ORR_FACT_N_GPUS].number;
  for (guint i = 0; i < plan->n_axes; i++) {
    const OrrSweepAxis *axis = plan->axes->pdata[i];
    if (g_str_has_prefix(axis->path, "cluster") || g_str_has_prefix(axis->path, "workload.kind"))
      stream->n_gpus = 0;
  }
}

static double axis_number(const OrrSweepStream *stream, guint64 combination, int axis) {
  if (axis < 0) return 1;
  const OrrSweepAxis *it = stream->plan->axes->pdata[axis];
  return g_array_index(it->numbers, double,
                       orr_sweep_combination_index(stream->plan, combination, (guint)axis));
}

static gboolean divides(const OrrSweepStream *stream, guint64 combination) {
  if (stream->n_gpus == 0) return TRUE;
  const double split = axis_number(stream, combination, stream->tp) *
                       axis_number(stream, combination, stream->pp) *
                       axis_number(stream, combination, stream->cp);
  return !(fmod(stream->n_gpus, split) != 0);
}

static void free_excluded(gpointer data) {
  OrrSweepExclusion *excluded = data;
  ORR_FREE(excluded->reason, excluded);
}

/* Reasons of one @kind are counted together. */
static void exclude(OrrSweepStream *stream, const char *kind, const char *reason) {
  OrrSweepExclusion *known = g_hash_table_lookup(stream->excluded, kind);
  if (!known) {
    known = g_new0(OrrSweepExclusion, 1);
    known->reason = g_strdup(reason);
    g_hash_table_insert(stream->excluded, g_strdup(kind), known);
  }
  char *both = orr_sweep_reasons_alike(known->reason, reason);
  if (both) {
    g_free(known->reason);
    known->reason = both;
  }
  known->n++;
}

static const char *failed_where(const OrrSweepStream *stream) {
  ORR_EACH_POINTER(const OrrSweepRule, rule, stream->plan->wheres)
    if (!rule->after && !orr_expression_holds(rule->expression, stream->values)) return rule->text;
  return NULL;
}

static const char indivisible[] = "tp * pp * cp does not divide the GPUs";

/* Tests a combination, and counts the reason if it fails. */
static gboolean passes_all(OrrSweepStream *stream, guint64 combination) {
  if (!divides(stream, combination)) {
    exclude(stream, indivisible, indivisible);
    return FALSE;
  }
  g_autofree char *finding = NULL;
  const char *where = NULL;
  if (orr_sweep_variants_scenario(stream->variants, combination, stream->values, &finding) &&
      !(where = failed_where(stream)))
    finding = orr_sweep_variants_check(stream->variants);
  g_autofree char *kind = finding ? orr_sweep_reasons_kind(finding)
                          : where ? g_strconcat("where ", where, NULL)
                                  : NULL;
  if (kind) exclude(stream, kind, finding ? finding : kind);
  return kind == NULL;
}

static gboolean next_passing(guint64 *ret_combination, void *user) {
  OrrSweepStream *stream = user;
  while (stream->next < stream->plan->n_combinations) {
    const guint64 combination = stream->next++;
    if (!passes_all(stream, combination)) continue;
    *ret_combination = combination;
    return TRUE;
  }
  return FALSE;
}

static gboolean passes(guint64 combination, void *user) { return passes_all(user, combination); }

static void choose(OrrSweepStream *stream) {
  const OrrSweepPlan *plan = stream->plan;
  const OrrSampler *sampler = (const OrrSampler *)plan->section.sampler.entry;
  if (!sampler->choose) return;
  g_autofree guint *n_values = g_new0(guint, plan->n_axes + 1);
  for (guint i = 0; i < plan->n_axes; i++)
    n_values[i] = ((const OrrSweepAxis *)plan->axes->pdata[i])->values->len;
  const OrrSampleSpace space = {plan->n_axes, n_values, passes, next_passing, stream};
  OrrRandom random = orr_random_stream((guint64)plan->section.seed, "sweep");
  stream->chosen = sampler->choose(plan->section.sampler.params, &space, &random);
}

OrrSweepStream *orr_sweep_stream_new(const OrrSweepPlan *plan, OrrSweepVariants *variants) {
  OrrSweepStream *stream = g_new0(OrrSweepStream, 1);
  stream->plan = plan;
  stream->variants = variants;
  stream->values = g_new0(OrrValue, plan->names->len);
  stream->excluded = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, free_excluded);
  prepare_quick_rule(stream);
  choose(stream);
  return stream;
}

void orr_sweep_stream_free(OrrSweepStream *stream) {
  if (!stream) return;
  if (stream->chosen) g_array_unref(stream->chosen);
  g_hash_table_unref(stream->excluded);
  ORR_FREE(stream->values, stream);
}

gboolean orr_sweep_stream_next(OrrSweepStream *stream, guint64 *ret_combination) {
  if (!stream->chosen) return next_passing(ret_combination, stream);
  if (stream->at >= stream->chosen->len) return FALSE;
  *ret_combination = g_array_index(stream->chosen, guint64, stream->at++);
  return TRUE;
}

GArray *orr_sweep_stream_excluded(const OrrSweepStream *stream) {
  GArray *list = orr_sweep_reasons_new();
  GHashTableIter iterator;
  gpointer kind, value;
  g_hash_table_iter_init(&iterator, stream->excluded);
  while (g_hash_table_iter_next(&iterator, &kind, &value)) {
    const OrrSweepExclusion *known = value, one = {g_strdup(known->reason), known->n};
    g_array_append_val(list, one);
  }
  orr_sweep_reasons_sort(list); /* a hash table has no order */
  return list;
}

/*
 * plan_remedy_serving.c - what would make an engine fit that does not: narrower weights, a narrower
 * cache, more GPUs for a replica. Brief replays of the scenario's own load.
 */
#include "sim/plan/plan.h"
#include "workloads/serving/serving.h"

enum { REQUESTS = 100, MOST_FACTOR = 16 };

/* The scenario, and what a change would have to stay within. */
typedef struct {
  const OrrServing *params;
  gint64 gpus; /* in use */
  GPtrArray *tries;
} Asked;

gboolean orr_plan_remedy_is_serving(const char *findings) {
  return strstr(findings, "does not fit: a GPU of tp") ||
         strstr(findings, "is longer than the key-value cache");
}

/* A replica of @split, on as many replicas as the GPUs still hold, or on more GPUs where they hold
 * none; @also: further settings. */
static void add_split(Asked *asked, OrrServingParallel split, const char *also) {
  const OrrServingParallel *own = &asked->params->parallel;
  const gint64 gpus = orr_serving_parallel_gpus(&split);
  const gint64 had = MAX(asked->params->replicas, 1);
  const gint64 replicas = MIN(had, MAX(asked->gpus / gpus, 1));
  GString *text = g_string_new(NULL);
  if (split.tp != own->tp) g_string_append_printf(text, "workload.parallel.tp=%ld ", split.tp);
  if (split.pp != own->pp) g_string_append_printf(text, "workload.parallel.pp=%ld ", split.pp);
  if (split.dp_attention != own->dp_attention)
    g_string_append_printf(text, "workload.parallel.dp-attention=%ld ", split.dp_attention);
  if (split.ep != own->ep) g_string_append_printf(text, "workload.parallel.ep=%ld ", split.ep);
  if (replicas != had) g_string_append_printf(text, "workload.replicas=%ld ", replicas);
  if (gpus > asked->gpus) g_string_append_printf(text, "cluster.nodes=0 cluster.gpus=%ld ", gpus);
  g_string_append(text, also);
  g_ptr_array_add(asked->tries, g_strsplit(g_strchomp(text->str), " ", -1));
  g_string_free(text, TRUE);
}

static void add(Asked *asked, const char *text) {
  g_ptr_array_add(asked->tries, g_strsplit(text, " ", -1));
}

static void add_formats(Asked *asked) {
  const gboolean is_wide = asked->params->formats.quantization == ORR_QUANTIZATION_NONE;
  if (is_wide) add(asked, "workload.quantization=fp8");
  if (asked->params->formats.kv != ORR_FP8) add(asked, "workload.kv-dtype=fp8");
  if (is_wide && asked->params->formats.kv != ORR_FP8)
    add(asked, "workload.quantization=fp8 workload.kv-dtype=fp8");
  if (asked->params->engine.memory_utilization < 0.95)
    add(asked, "workload.engine.gpu-memory-utilization=0.95");
}

/* Twice to sixteen times the GPUs of a replica; and pipelines of whole nodes. */
static void add_sizes(Asked *asked, const OrrScenario *scenario, const char *also) {
  const OrrServingParallel *own = &asked->params->parallel;
  const gint64 node = MAX(scenario->cluster.node.gpus, 1);
  for (gint64 factor = 2; factor <= MOST_FACTOR; factor *= 2) {
    OrrServingParallel wide = *own, deep = *own, groups = *own, nodes = *own;
    wide.tp *= factor;
    deep.pp *= factor;
    groups.dp_attention *= factor;
    if (own->feed.gpus == 0) groups.ep = groups.tp * groups.dp_attention;
    nodes.tp = node;
    nodes.pp = factor;
    add_split(asked, wide, also);
    add_split(asked, deep, also);
    if (scenario->model.moe.experts > 1) add_split(asked, groups, also);
    if (own->tp < node) add_split(asked, nodes, also);
  }
}

static GPtrArray *tries_of(const OrrScenario *scenario) {
  Asked asked = {.params = scenario->workload.params,
                 .gpus = orr_cluster_n_gpus(&scenario->cluster),
                 .tries = g_ptr_array_new_with_free_func((GDestroyNotify)g_strfreev)};
  add_formats(&asked);
  if (asked.params->engine.kv_blocks > 0) add(&asked, "workload.engine.kv-blocks=0");
  add_sizes(&asked, scenario, "");
  if (asked.params->formats.quantization == ORR_QUANTIZATION_NONE)
    add_sizes(&asked, scenario, "workload.quantization=fp8");
  return asked.tries;
}

/* Engines that keep up with their load first; then fewer GPUs, then the shorter time per token. */
static int cheaper(gconstpointer a, gconstpointer b) {
  const OrrPlanRemedy *x = *(OrrPlanRemedy *const *)a, *y = *(OrrPlanRemedy *const *)b;
  if (x->is_slow != y->is_slow) return x->is_slow ? 1 : -1;
  if (x->gpus != y->gpus) return x->gpus < y->gpus ? -1 : 1;
  return (x->tpot_s > y->tpot_s) - (x->tpot_s < y->tpot_s);
}

static OrrPlanRemedy *remedy_of(char *const *settings, const OrrServingResult *result) {
  OrrPlanRemedy *remedy = g_new0(OrrPlanRemedy, 1);
  remedy->settings = g_strdupv((char **)settings);
  remedy->ttft_s = result->ttft.mean;
  remedy->tpot_s = result->tpot.mean;
  remedy->memory_bytes = result->memory_bytes;
  remedy->gpus = result->n_gpus;
  remedy->is_slow = result->saturated;
  return remedy;
}

/* The load, cut to a brief one: a closed loop and a trace have their own number of requests. */
static OrrNode *brief(const OrrNode *tree, const OrrServing *params) {
  OrrNode *copy = orr_node_copy(tree);
  g_autofree char *requests = g_strdup_printf("%d", REQUESTS);
  if (params->requests == 0 || params->requests > REQUESTS)
    orr_field_set(&orr_scenario_table, copy, "workload.requests", requests, NULL);
  return copy;
}

GPtrArray *orr_plan_remedy_serving_list(OrrLibrary *library, const OrrNode *tree,
                                        const OrrScenario *scenario, guint *ret_n_tried) {
  g_autoptr(GPtrArray) tries = tries_of(scenario);
  g_autoptr(OrrNode) short_tree = brief(tree, scenario->workload.params);
  g_autoptr(GPtrArray) settings = g_ptr_array_new_with_free_func((GDestroyNotify)g_strfreev);
  g_autoptr(GPtrArray) points = orr_plan_remedy_points(library, short_tree, tries, settings);
  OrrStudyAnswer *answers = orr_plan_try(library, points, 0);
  GPtrArray *remedies = g_ptr_array_new_with_free_func((GDestroyNotify)orr_plan_remedy_free);
  for (guint i = 0; i < points->len; i++)
    if (!answers[i].error)
      g_ptr_array_add(remedies, remedy_of(settings->pdata[i], &answers[i].result.serving));
  g_ptr_array_sort(remedies, cheaper);
  *ret_n_tried = points->len;
  orr_study_free(answers, points->len);
  return remedies;
}

/*
 * plan_remedy.c - brief replays of what users try when a job does not fit, cheapest changes first.
 */
#include "sim/plan/plan.h"

#include "sim/base/settings.h"
#include "workloads/training/training_params.h"

void orr_plan_remedy_free(OrrPlanRemedy *remedy) {
  g_strfreev(remedy->settings);
  g_free(remedy);
}

/* --- What to try --- */

static void G_GNUC_PRINTF(2, 3) add(GPtrArray *tries, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  g_autofree char *text = g_strdup_vprintf(format, arguments);
  va_end(arguments);
  g_ptr_array_add(tries, g_strsplit(text, " ", -1));
}

/* The sharding that the job's framework has beyond its own; NULL: none. */
static const char *more_sharding(const char *kind) {
  static const char *const steps[][2] = {{"none", "distributed-optimizer"},
                                         {"ddp", "fsdp"},
                                         {"zero-1", "zero-2"},
                                         {"zero-2", "zero-3"}};
  for (guint i = 0; i < G_N_ELEMENTS(steps); i++)
    if (strcmp(kind, steps[i][0]) == 0) return steps[i][1];
  return NULL;
}

static void add_sizes(GPtrArray *tries, const OrrTraining *params, const char *also) {
  const OrrParallel *parallel = &params->parallel;
  const struct {
    const char *name;
    gint64 value;
  } sizes[] = {{"tp", parallel->tp}, {"pp", parallel->pp}, {"cp", parallel->cp}};
  for (guint i = 0; i < G_N_ELEMENTS(sizes); i++)
    for (gint64 factor = 2; factor <= 4; factor *= 2)
      add(tries, "workload.parallel.dp=0 workload.parallel.%s=%ld%s", sizes[i].name,
          MAX(sizes[i].value, 1) * factor, also);
}

/* Fewer chunks per stage hold fewer micro-batches' activations. */
static void add_chunks(GPtrArray *tries, const OrrTraining *params) {
  const OrrPipelineKind *kind = (const OrrPipelineKind *)params->pipeline.entry;
  for (gint64 chunks = kind->chunks(params->pipeline.params) / 2; chunks >= 1; chunks /= 2)
    add(tries, "workload.pipeline.chunks=%ld", chunks);
}

/* Experts on more GPUs, up to one each, and products in fp8. */
static void add_others(GPtrArray *tries, const OrrTraining *params, const OrrScenario *scenario) {
  const gint64 most = MIN(scenario->model.moe.experts, orr_cluster_n_gpus(&scenario->cluster));
  for (gint64 ep = 2 * MAX(params->parallel.ep, 1); ep <= most; ep *= 2)
    add(tries, "workload.parallel.ep=%ld", ep);
  if (params->precision == ORR_PRECISION_BF16) add(tries, "workload.precision=fp8-current");
}

static GPtrArray *tries_of(const OrrScenario *scenario) {
  const OrrTraining *params = scenario->workload.params;
  static const char *const recomputes[] = {"selective", "full"};
  GPtrArray *tries = g_ptr_array_new_with_free_func((GDestroyNotify)g_strfreev);
  const char *sharding = more_sharding(params->optimizer.sharding.entry->name);
  for (int i = params->recompute; i < (int)G_N_ELEMENTS(recomputes); i++) {
    add(tries, "workload.recompute=%s", recomputes[i]);
    if (sharding)
      add(tries, "workload.optimizer.sharding=%s workload.recompute=%s", sharding, recomputes[i]);
  }
  for (gint64 micro = params->batch.micro / 2; micro >= 1; micro /= 2)
    add(tries, "workload.batch.micro=%ld", micro);
  if (sharding) add(tries, "workload.optimizer.sharding=%s", sharding);
  if (params->offload.optimizer < 1) add(tries, "workload.offload.optimizer=1");
  add_chunks(tries, params);
  add_others(tries, params, scenario);
  add_sizes(tries, params, "");
  if (params->recompute < (int)G_N_ELEMENTS(recomputes))
    add_sizes(tries, params, " workload.recompute=full");
  return tries;
}

/* --- Replays --- */

GPtrArray *orr_plan_remedy_points(OrrLibrary *library, const OrrNode *tree, const GPtrArray *tries,
                                  GPtrArray *ret_settings) {
  GPtrArray *points = g_ptr_array_new_with_free_func((GDestroyNotify)orr_node_free);
  for (guint i = 0; i < tries->len; i++) {
    g_autoptr(OrrDiags) diags = orr_diags_new();
    g_autoptr(OrrNode) copy = orr_node_copy(tree);
    if (!orr_settings_apply(&orr_scenario_table, copy, tries->pdata[i], NULL) ||
        !orr_field_set(&orr_scenario_table, copy, "fidelity", "folded", NULL) ||
        !orr_field_set(&orr_scenario_table, copy, "engine", "fair", NULL))
      continue; /* fair: this process may have had its one engine of SimGrid (engine.h, rule 5) */
    g_autoptr(OrrScenario) scenario = orr_scenario_read(library, copy, diags);
    if (!scenario) continue;
    g_ptr_array_add(points, g_steal_pointer(&copy));
    g_ptr_array_add(ret_settings, g_strdupv(tries->pdata[i]));
  }
  return points;
}

/* Those that were not replayed come last. g_ptr_array_sort keeps the order of equal ones. */
static int faster(gconstpointer a, gconstpointer b) {
  const OrrPlanRemedy *x = *(OrrPlanRemedy *const *)a, *y = *(OrrPlanRemedy *const *)b;
  if (!(x->iteration_s > 0) || !(y->iteration_s > 0))
    return !(x->iteration_s > 0) - !(y->iteration_s > 0);
  return (x->iteration_s > y->iteration_s) - (x->iteration_s < y->iteration_s);
}

/* NULL: its memory does not fit. */
static OrrPlanRemedy *weigh(OrrLibrary *library, const OrrRunWorld *world, const OrrNode *point,
                            char **settings) {
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_autoptr(OrrScenario) scenario = orr_scenario_read(library, point, diags);
  double bytes = NAN;
  g_autofree char *refusal = scenario ? orr_run_world_refuse(world, scenario, &bytes) : NULL;
  if (refusal || !(bytes > 0)) return NULL;
  OrrPlanRemedy *remedy = g_new0(OrrPlanRemedy, 1);
  remedy->settings = g_strdupv(settings);
  remedy->memory_bytes = bytes;
  return remedy;
}

/* The steps of @remedies, one for each point, fastest first, without those that fail. */
static void replay(OrrLibrary *library, const OrrRunWorld *world, const GPtrArray *points,
                   const OrrPlanPatience *watch, GPtrArray *remedies) {
  OrrStudyAnswer *answers = orr_plan_try_brief(library, world, points, watch);
  for (guint i = points->len; i-- > 0;) {
    const OrrTrainingResult *result = &answers[i].result.training;
    OrrPlanRemedy *remedy = remedies->pdata[i];
    if (!answers[i].error && !answers[i].kind) continue; /* stopped */
    remedy->iteration_s = result->iteration_time_s;
    remedy->memory_bytes = result->memory_peak_bytes;
    if (answers[i].error || !result->fits) g_ptr_array_remove_index(remedies, i);
  }
  orr_study_free(answers, points->len);
  g_ptr_array_sort(remedies, faster);
}

GPtrArray *orr_plan_remedy_list(OrrLibrary *library, const OrrNode *tree,
                                const OrrScenario *scenario, const OrrPlanPatience *watch,
                                guint *ret_n_tried) {
  g_autoptr(GPtrArray) tries = tries_of(scenario);
  g_autoptr(GPtrArray) settings = g_ptr_array_new_with_free_func((GDestroyNotify)g_strfreev);
  g_autoptr(GPtrArray) points = orr_plan_remedy_points(library, tree, tries, settings);
  g_autoptr(GPtrArray) fitting = g_ptr_array_new();
  g_autoptr(OrrRunWorld) world = orr_run_world_new(library, scenario, NULL);
  GPtrArray *remedies = g_ptr_array_new_with_free_func((GDestroyNotify)orr_plan_remedy_free);
  *ret_n_tried = points->len;
  for (guint i = 0; world && i < points->len; i++) {
    OrrPlanRemedy *remedy = weigh(library, world, points->pdata[i], settings->pdata[i]);
    if (!remedy) continue;
    g_ptr_array_add(remedies, remedy);
    g_ptr_array_add(fitting, points->pdata[i]);
  }
  if (orr_cluster_n_gpus(&scenario->cluster) <= ORR_PLAN_REMEDY_MOST_GPUS)
    replay(library, world, fitting, watch, remedies);
  return remedies;
}

char *orr_plan_remedy_text(const OrrPlanRemedy *remedy) {
  GString *text = g_string_new(NULL);
  for (char **setting = remedy->settings; *setting; setting++) {
    if (g_str_has_suffix(*setting, ".dp=0")) continue;    /* what is left of the GPUs */
    if (g_str_has_prefix(*setting, "cluster.")) continue; /* `gpus` says it */
    if (g_str_has_prefix(*setting, "workload.offload."))
      g_string_append_printf(text, "%soptimizer on the host", text->len ? ", " : "");
    else
      orr_settings_append(text, *setting);
  }
  return g_string_free(text, FALSE);
}

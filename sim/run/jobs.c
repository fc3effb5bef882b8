/*
 * jobs.c - the fields of a job, its placement, and the checks of the list.
 */
#include "sim/run/scenario.h"

#include "workloads/training/training_compile.h"

const OrrFieldTable orr_job_spec_table = ORR_FIELDS(
    "job", "One of several workloads that share a machine.", OrrJobSpec,
    ORR_FIELD_TEXT(OrrJobSpec, "name", name, NULL, "Name of the job in results."),
    ORR_OPTIONAL_SECTION(OrrJobSpec, "model", model, &orr_model_table,
                         "Its model; a workload of collectives needs none.", .document = "model"),
    ORR_FIELD_CHOICE(OrrJobSpec, "workload", workload, &orr_workload_registry, NULL,
                     "Its workload.", .document = "workload"),
    ORR_POSITIVE_INT(OrrJobSpec, "gpus", gpus, NULL, "Number of GPUs that it gets."),
    ORR_FIELD_CHOICE(OrrJobSpec, "placement", placement, &orr_job_placement_registry, "packed",
                     "Which free GPUs it gets; jobs are placed in the order of the list."),
    ORR_UNSIGNED_REAL(OrrJobSpec, "start", start_s, ORR_UNIT_SECONDS, "0 s", "When it starts."));

static OrrJobSpec *spec_at(const OrrScenario *scenario, guint index) {
  return scenario->jobs->pdata[index];
}

OrrScenario orr_jobs_scenario(const OrrScenario *scenario, guint index) {
  const OrrJobSpec *spec = spec_at(scenario, index);
  OrrScenario one = *scenario;
  one.name = spec->name;
  one.model = spec->model;
  one.workload = spec->workload;
  one.cluster.gpus = spec->gpus;
  one.jobs = NULL;
  one.whole = scenario;
  return one;
}

static gboolean place_one(const OrrScenario *scenario, guint index, gboolean *taken, gint64 *gpus,
                          GError **error) {
  const OrrJobSpec *spec = spec_at(scenario, index);
  const OrrPlacementRequest request = {&scenario->cluster, taken,
                                       orr_cluster_n_gpus(&scenario->cluster),
                                       (guint64)scenario->seed, spec->name};
  if (!orr_job_placement_choose(&spec->placement, &request, spec->gpus, gpus, error)) return FALSE;
  for (gint64 i = 0; i < spec->gpus; i++) taken[gpus[i]] = TRUE;
  return TRUE;
}

GPtrArray *orr_jobs_place(const OrrScenario *scenario, GError **error) {
  g_autofree gboolean *taken = g_new0(gboolean, orr_cluster_n_gpus(&scenario->cluster) + 1);
  g_autoptr(GPtrArray) places = g_ptr_array_new_with_free_func(g_free);
  for (guint i = 0; i < scenario->jobs->len; i++) {
    gint64 *gpus = g_new0(gint64, spec_at(scenario, i)->gpus + 1);
    g_ptr_array_add(places, gpus);
    if (!place_one(scenario, i, taken, gpus, error)) return NULL;
  }
  return g_steal_pointer(&places);
}

gboolean orr_jobs_uses_node(const OrrScenario *scenario, guint index, gint64 node) {
  if (node < 0) return TRUE;
  g_autoptr(GPtrArray) places = orr_jobs_place(scenario, NULL);
  const gint64 *gpus = places ? places->pdata[index] : NULL;
  for (gint64 g = 0; gpus && g < spec_at(scenario, index)->gpus; g++)
    if (gpus[g] / scenario->cluster.node.gpus == node) return TRUE;
  return FALSE;
}

/* --- Checks --- */

static OrrPlace place_of(const OrrNode *tree, guint index, const char *key) {
  const OrrNode *jobs = orr_node_get(tree, "jobs");
  const OrrNode *job = jobs && index < orr_node_length(jobs) ? jobs->items->pdata[index] : NULL;
  const OrrNode *member = job ? orr_node_get(job, key) : NULL;
  return orr_node_place(member ? member : job ? job : tree);
}

static void check_name(const OrrScenario *scenario, guint index, OrrPlace place, OrrDiags *diags) {
  for (guint i = 0; i < index; i++)
    if (g_str_equal(spec_at(scenario, i)->name, spec_at(scenario, index)->name))
      orr_diags_error(diags, place,
                      "two jobs are called '%s': results need a different name for each",
                      spec_at(scenario, index)->name);
}

static void check_job(OrrScenario *scenario, guint index, const OrrNode *tree, OrrDiags *diags) {
  OrrJobSpec *spec = spec_at(scenario, index);
  const OrrWorkloadKind *kind = (const OrrWorkloadKind *)spec->workload.entry;
  const guint before = orr_diags_n_errors(diags);
  const gint64 n_gpus = orr_cluster_n_gpus(&scenario->cluster);
  check_name(scenario, index, place_of(tree, index, "name"), diags);
  spec->has_model = spec->model.layers > 0;
  if (spec->has_model)
    orr_model_settle(&spec->model, place_of(tree, index, "model"), diags);
  else if (!kind->without_model)
    orr_diags_error(diags, place_of(tree, index, "workload"),
                    "missing key 'model' in job %s: a workload of kind %s needs a model.",
                    spec->name, kind->entry.name);
  if (kind->is_alone)
    orr_diags_error(diags, place_of(tree, index, "workload"),
                    "job %s: a workload of kind %s has the machine to itself: write it as "
                    "'workload', without 'jobs'.",
                    spec->name, kind->entry.name);
  if (spec->gpus > n_gpus)
    orr_diags_error(diags, place_of(tree, index, "gpus"),
                    "job %s needs %ld GPUs: the cluster has %ld", spec->name, spec->gpus, n_gpus);
  if (orr_diags_n_errors(diags) > before) return;
  const OrrScenario one = orr_jobs_scenario(scenario, index);
  kind->check(spec->workload.params, &spec->model, &one.cluster, place_of(tree, index, "workload"),
              diags);
  orr_training_check_interval(&spec->workload, place_of(tree, index, "workload"), diags);
}

void orr_jobs_check(OrrScenario *scenario, const OrrNode *tree, OrrDiags *diags) {
  const guint before = orr_diags_n_errors(diags);
  g_autoptr(GError) error = NULL;
  if (scenario->fidelity == ORR_FIDELITY_FOLDED)
    orr_diags_error(diags, tree->place,
                    "fidelity: folded with jobs: other jobs' traffic makes a job's ranks differ "
                    "(allowed: auto, full)");
  for (guint i = 0; i < scenario->jobs->len; i++) check_job(scenario, i, tree, diags);
  if (orr_diags_n_errors(diags) > before) return;
  g_autoptr(GPtrArray) places = orr_jobs_place(scenario, &error);
  if (!places) orr_diags_error(diags, place_of(tree, 0, "name"), "%s", error->message);
}

/*
 * shelf.c - see shelf.h.
 */
#include "sim/cli/shelf.h"

#include <string.h>

#include "calibration/measure/family.h"
#include "results/plot.h"
#include "sim/cli/cli.h"
#include "sim/cli/documents.h"
#include "sim/sweep/sampler.h"
#include "sim/sweep/sweep.h"
#include "sim/validate/validate_costs.h"
#include "topologies/fabric.h"
#include "topologies/job_placement.h"
#include "topologies/machine_fault.h"
#include "workloads/serving/arrivals/arrival.h"
#include "workloads/serving/autoscalers/autoscaler.h"
#include "workloads/training/balances/balance.h"
#include "workloads/collectives/collective.h"
#include "workloads/training/expert_loads/expert_load.h"
#include "workloads/training/pipelines/pipeline.h"
#include "workloads/serving/routers/router.h"
#include "workloads/serving/schedulers/scheduler.h"
#include "workloads/training/sharding/sharding.h"
#include "workloads/training/tp_overlaps/tp_overlap.h"
#include "workloads/serving/speculation/speculation.h"

const OrrShelf orr_shelves[] = {
    {"autoscalers", "autoscaler", "how many replicas a fleet wants", NULL,
     &orr_autoscaler_registry},
    {"balances", "balance", "which packed sequences go to which replica", NULL,
     &orr_balance_registry},
    {"clusters", "cluster", "machines: nodes, fabric, routing", "cluster", NULL},
    {"collectives", "collective", "collective algorithms", NULL, &orr_collective_registry},
    {"devices", "device", "accelerators, as their datasheets give them", "device", NULL},
    {"expert-loads", "expert-load", "how tokens spread over experts", NULL,
     &orr_expert_load_registry},
    {"fabrics", "fabric", "kinds of scale-out network", NULL, &orr_fabric_registry},
    {"transports", "transport", "what carries messages over it", NULL, &orr_transport_registry},
    {"faults", "fault", "what goes wrong with a machine", NULL, &orr_machine_fault_registry},
    {"job-placements", "job-placement", "which GPUs a job gets on a machine that it shares", NULL,
     &orr_job_placement_registry},
    {"loads", "load", "loads of serving", NULL, &orr_arrival_registry},
    {"microkernels", "microkernel", "what orrery calibrate can measure", NULL,
     &orr_measure_registry},
    {"models", "model", "transformers", "model", NULL},
    {"pipelines", "pipeline", "pipeline schedules", NULL, &orr_pipeline_registry},
    {"plots", "plot", "pictures of a results database", NULL, NULL},
    {"profiles", "profile", "measured kernels of a device", "profile", NULL},
    {"routers", "router", "which engine a request goes to", NULL, &orr_router_registry},
    {"samplers", "sampler", "what chooses the points of a sweep", NULL, &orr_sampler_registry},
    {"scenarios", "scenario", "questions that are ready to run", "scenario", NULL},
    {"schedulers", "scheduler", "schedulers of serving", NULL, &orr_scheduler_registry},
    {"shardings", "sharding", "ways of data parallelism", NULL, &orr_sharding_registry},
    {"speculators", "speculator", "who guesses tokens ahead", NULL, &orr_speculation_registry},
    {"sweep-names", "sweep-name",
     "what a sweep's expressions may name, beside its axes and results", NULL, NULL},
    {"tp-comm-overlaps", "tp-comm-overlap",
     "tensor-parallel communication in pieces beside its products", NULL, &orr_tp_overlap_registry},
    {"validation-sets", "validation-set", "published measurements to compare with", NULL, NULL},
    {"views", "view", "questions to a results database", NULL, NULL},
    {"workloads", "workload", "what can run on a cluster", "workload", &orr_workload_registry},
    {NULL, NULL, NULL, NULL, NULL},
};

static gboolean is(const OrrShelf *shelf, const char *plural) {
  return strcmp(shelf->plural, plural) == 0;
}

const OrrShelf *orr_shelf_find(const char *word, GError **error) {
  const char *names[G_N_ELEMENTS(orr_shelves)] = {NULL};
  for (guint i = 0; orr_shelves[i].plural; i++) {
    if (is(&orr_shelves[i], word) || strcmp(orr_shelves[i].singular, word) == 0)
      return &orr_shelves[i];
    names[i] = orr_shelves[i].plural;
  }
  orr_cli_unknown("kind", word, names, error);
  return NULL;
}

static char **view_names(void) {
  guint n = 0;
  const OrrView *views = orr_views(&n);
  char **names = g_new0(char *, n + 1);
  for (guint i = 0; i < n; i++) names[i] = g_strdup(views[i].name);
  return names;
}

static char **plot_names(void) {
  guint n = 0;
  const OrrPlot *plots = orr_plot_entries(&n);
  char **names = g_new0(char *, n + 1);
  for (guint i = 0; i < n; i++) names[i] = g_strdup(plots[i].name);
  return names;
}

static char **sweep_names(void) {
  g_autoptr(GStrvBuilder) names = g_strv_builder_new();
  const char *sentence;
  for (guint i = 0; orr_sweep_name(i, &sentence); i++)
    g_strv_builder_add(names, orr_sweep_name(i, &sentence));
  return g_strv_builder_end(names);
}

static char *sweep_name_fact(const char *name) {
  const char *known, *sentence;
  for (guint i = 0; (known = orr_sweep_name(i, &sentence)); i++)
    if (strcmp(known, name) == 0) return g_strdup(sentence);
  return NULL;
}

char **orr_shelf_names(const OrrShelf *shelf, OrrLibrary *library) {
  if (is(shelf, "sweep-names")) return sweep_names();
  if (is(shelf, "plots")) return plot_names();
  if (is(shelf, "views")) return view_names();
  if (is(shelf, "validation-sets")) return orr_validation_sets(library);
  g_autoptr(GStrvBuilder) names = g_strv_builder_new();
  for (guint i = 0; shelf->registry && shelf->registry->entries[i]; i++)
    g_strv_builder_add(names, shelf->registry->entries[i]->name);
  g_auto(GStrv) documents = shelf->document ? orr_library_names(library, shelf->document) : NULL;
  for (char **name = documents; name && *name; name++) g_strv_builder_add(names, *name);
  return g_strv_builder_end(names);
}

static char *document_fact(const char *kind, OrrLibrary *library, const char *name) {
  const OrrDocumentCode *code = orr_documents_find(kind);
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_autoptr(OrrNode) tree = orr_library_load(library, kind, name, (OrrPlace){NULL, 0, 0}, diags);
  gpointer data = tree ? orr_documents_read(code, library, tree, diags) : NULL;
  if (!data) return g_strdup_printf("(cannot be read: orrery describe %s %s says why)", kind, name);
  char *fact = code->fact(data);
  orr_documents_free(code, data);
  return fact;
}

static char *validation_fact(OrrLibrary *library, const char *name) {
  if (orr_validate_costs_is(library, name))
    return g_strdup(
        "Kernels on shapes that a profile has not seen: how far are they told from measurements?");
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_autofree char *path = orr_validation_path(library, name);
  g_autoptr(OrrNode) tree = path ? orr_scenario_tree(library, path, diags) : NULL;
  const char *text = tree ? orr_node_get_text(tree, "question") : NULL;
  if (!text && tree) text = orr_node_get_text(tree, "name");
  return g_strdup(text ? text : "(cannot be read: orrery check says why)");
}

char *orr_shelf_fact(const OrrShelf *shelf, OrrLibrary *library, const char *name) {
  const OrrEntry *entry = shelf->registry ? orr_registry_find(shelf->registry, name) : NULL;
  const OrrView *view = is(shelf, "views") ? orr_view_find(name) : NULL;
  if (entry) return g_strdup(entry->sentence);
  if (view) return g_strdup(view->question);
  if (is(shelf, "plots")) return g_strdup(orr_plot_find(name)->sentence);
  if (is(shelf, "validation-sets")) return validation_fact(library, name);
  if (is(shelf, "sweep-names")) return sweep_name_fact(name);
  return document_fact(shelf->document, library, name);
}

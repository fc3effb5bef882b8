/*
 * catalog.c - the catalogs, and how each finds its names and facts: most come from a registry or
 * from documents of the library; views, plots, validation sets and names for sweeps come from
 * elsewhere. To add one: a line in orr_catalogs, and where it is neither registry nor document a
 * branch in orr_catalog_names and orr_catalog_fact.
 */
#include "sim/cli/documents.h"

#include "calibration/measure/family.h"
#include "results/plot.h"
#include "sim/sweep/sampler.h"
#include "sim/sweep/sweep.h"
#include "sim/validate/validate_costs.h"
#include "topologies/fabric.h"
#include "topologies/job_placement.h"
#include "topologies/machine_fault.h"
#include "topologies/queue_model.h"
#include "workloads/serving/arrivals/arrival.h"
#include "workloads/serving/autoscalers/autoscaler.h"
#include "workloads/training/balances/balance.h"
#include "workloads/cluster_jobs/allotments/gang_allot.h"
#include "workloads/collectives/collective.h"
#include "workloads/expert_loads/expert_load.h"
#include "workloads/training/pipelines/pipeline.h"
#include "workloads/serving/routers/router.h"
#include "workloads/serving/schedulers/scheduler.h"
#include "workloads/training/sharding/sharding.h"
#include "workloads/training/tp_overlaps/tp_overlap.h"
#include "workloads/serving/speculation/speculation.h"
#include "workloads/serving/tasks/task_params.h"

const OrrCatalog orr_catalogs[] = {
    {"allotments", "allotment", "which part of each kind of GPU a job should have, in rounds", NULL,
     &orr_gang_allotment_registry},
    {"autoscalers", "autoscaler", "how a fleet decides its number of replicas", NULL,
     &orr_autoscaler_registry},
    {"balances", "balance", "how packed sequences are assigned to replicas", NULL,
     &orr_balance_registry},
    {"clusters", "cluster", "machines: nodes, fabric, routing", "cluster", NULL},
    {"collectives", "collective", "collective algorithms", NULL, &orr_collective_registry},
    {"devices", "device", "accelerators, with the figures of their datasheets", "device", NULL},
    {"expert-loads", "expert-load", "how tokens are distributed over experts", NULL,
     &orr_expert_load_registry},
    {"fabrics", "fabric", "scale-out networks", NULL, &orr_fabric_registry},
    {"faults", "fault", "faults of machines", NULL, &orr_machine_fault_registry},
    {"gang-placements", "gang-placement", "which nodes a gang gets on a cluster of jobs", NULL,
     &orr_gang_placement_registry},
    {"generators", "generator", "models of pictures, videos and encoders, as blocks", "generator",
     NULL},
    {"job-orders", "job-order", "which waiting job of a cluster is tried first", NULL,
     &orr_gang_order_registry},
    {"job-placements", "job-placement", "which GPUs of a shared machine each job gets", NULL,
     &orr_job_placement_registry},
    {"launch-formats", "launch-format", "launch lines and configs that `import launch` reads", NULL,
     NULL},
    {"loads", "load", "arrival processes of requests", NULL, &orr_arrival_registry},
    {"microkernels", "microkernel", "families of kernels that orrery calibrate can measure", NULL,
     &orr_measure_registry},
    {"models", "model", "transformer models", "model", NULL},
    {"pipelines", "pipeline", "pipeline schedules", NULL, &orr_pipeline_registry},
    {"plots", "plot", "plots of a results database, each with a view of its name", NULL, NULL},
    {"failures", "failures", "published rates of failures, for campaigns", "failures", NULL},
    {"policies", "policy", "schedulers of jobs, with their defaults", "policy", NULL},
    {"prices", "prices", "what GPUs, networks and energy cost: an example", "prices", NULL},
    {"profiles", "profile", "measured kernels of devices", "profile", NULL},
    {"recommenders", "recommender", "recommendation models", "recommender", NULL},
    {"queues", "queue", "what happens in a network where senders meet", NULL, &orr_queue_registry},
    {"routers", "router", "how requests are assigned to engines", NULL, &orr_router_registry},
    {"samplers", "sampler", "how the points of a sweep are chosen", NULL, &orr_sampler_registry},
    {"scenarios", "scenario", "questions, ready to run", "scenario", NULL},
    {"schedulers", "scheduler", "how a serving engine batches requests", NULL,
     &orr_scheduler_registry},
    {"shardings", "sharding", "what data-parallel ranks shard", NULL, &orr_sharding_registry},
    {"speculators", "speculator", "how draft tokens are generated", NULL,
     &orr_speculation_registry},
    {"stacks", "stack", "software: the defaults of an engine or a framework of some release",
     "stack", NULL},
    {"sweep-names", "sweep-name",
     "names for a sweep's expressions, in addition to its axes and results", NULL, NULL},
    {"task-pools", "task-pool", "what steps of tasks queue for outside the engines", NULL,
     &orr_task_pool_registry},
    {"task-steps", "task-step", "what a step of a task does", NULL, &orr_task_step_registry},
    {"tp-comm-overlaps", "tp-comm-overlap",
     "how tensor-parallel communication overlaps matrix products", NULL, &orr_tp_overlap_registry},
    {"transports", "transport", "how messages are sent over a network", NULL,
     &orr_transport_registry},
    {"validation-sets", "validation-set", "published measurements to compare with", NULL, NULL},
    {"views", "view", "queries of a results database; plots have views, too", NULL, NULL},
    {"workloads", "workload", "what runs on a cluster", "workload", &orr_workload_registry},
    {NULL, NULL, NULL, NULL, NULL},
};

static gboolean is(const OrrCatalog *catalog, const char *plural) {
  return strcmp(catalog->plural, plural) == 0;
}

const OrrCatalog *orr_catalog_find(const char *word, GError **error) {
  const char *names[G_N_ELEMENTS(orr_catalogs)] = {NULL};
  for (guint i = 0; orr_catalogs[i].plural; i++) {
    if (is(&orr_catalogs[i], word) || strcmp(orr_catalogs[i].singular, word) == 0)
      return &orr_catalogs[i];
    names[i] = orr_catalogs[i].plural;
  }
  orr_cli_unknown("kind", word, names, error);
  return NULL;
}

static char **plot_names(void) {
  guint n = 0;
  const OrrPlot *plots = orr_plot_entries(&n);
  char **names = g_new0(char *, n + 1);
  for (guint i = 0; i < n; i++) names[i] = g_strdup(plots[i].name);
  return names;
}

/* A view that a plot draws has the plot's name, and is listed as a plot. */
static char **view_names(void) {
  guint n = 0;
  const OrrView *views = orr_views(&n);
  g_auto(GStrv) plots = plot_names();
  g_autoptr(GStrvBuilder) names = g_strv_builder_new();
  for (guint i = 0; i < n; i++)
    if (!g_strv_contains((const char *const *)plots, views[i].name))
      g_strv_builder_add(names, views[i].name);
  return g_strv_builder_end(names);
}

static char **launch_names(void) {
  g_autoptr(GStrvBuilder) names = g_strv_builder_new();
  for (guint i = 0; orr_launch_dialects[i]; i++)
    g_strv_builder_add(names, orr_launch_dialects[i]->name);
  return g_strv_builder_end(names);
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

char **orr_catalog_names(const OrrCatalog *catalog, OrrLibrary *library) {
  if (is(catalog, "sweep-names")) return sweep_names();
  if (is(catalog, "plots")) return plot_names();
  if (is(catalog, "views")) return view_names();
  if (is(catalog, "launch-formats")) return launch_names();
  if (is(catalog, "validation-sets")) return orr_validation_sets(library);
  g_autoptr(GStrvBuilder) names = g_strv_builder_new();
  for (guint i = 0; catalog->registry && catalog->registry->entries[i]; i++)
    g_strv_builder_add(names, catalog->registry->entries[i]->name);
  g_auto(GStrv) documents =
      catalog->document ? orr_library_names(library, catalog->document) : NULL;
  for (char **name = documents; name && *name; name++) g_strv_builder_add(names, *name);
  return g_strv_builder_end(names);
}

/* Whether a profile has rows of exchanges of tokens; `libraries` also holds all-reduces. */
static gboolean has_exchanges(const OrrNode *profile) {
  const OrrNode *rows = orr_node_get(profile, "libraries");
  ORR_EACH_ITEM(item, rows)
    if (orr_node_get(item, "hidden")) return TRUE;
  return FALSE;
}

static void add_word(GString *words, const char *word) {
  g_string_append_printf(words, "%s%s", words->len ? ", " : "", word);
}

/* Which of a device's kernels are measured: "measured: products, experts", "measured on h100-sxm:
 * ..." or that its datasheet is all there is. */
static char *device_kernels(OrrLibrary *library, const OrrDevice *device) {
  static const struct {
    const char *keys[2], *word;
  } tables[] = {{{"gemm", "library-gemm"}, "products"},
                {{"attention", "batch-attention"}, "attention"},
                {{"moe", "moe"}, "experts"},
                {{"collectives", "collectives"}, "collectives"}};
  g_autoptr(OrrDiags) ignored = orr_diags_new(); /* describe device reports them */
  const char *name = device->profile ? device->profile : device->name;
  g_autoptr(OrrNode) profile = orr_library_load(library, "profile", name, (OrrPlace){0}, ignored);
  const char *of = profile ? orr_node_get_text(profile, "device") : NULL;
  g_autoptr(GString) words = g_string_new(NULL);
  for (guint i = 0; profile && i < G_N_ELEMENTS(tables); i++)
    if (orr_node_get(profile, tables[i].keys[0]) || orr_node_get(profile, tables[i].keys[1]))
      add_word(words, tables[i].word);
  if (profile && has_exchanges(profile)) add_word(words, "exchanges of tokens");
  if (words->len == 0) return g_strdup("from its datasheet");
  const gboolean is_own = g_strcmp0(of, device->name) == 0;
  return g_strdup_printf("measured%s%s: %s", is_own ? "" : " on ", is_own ? "" : of, words->str);
}

static char *document_fact(const char *kind, OrrLibrary *library, const char *name) {
  const OrrDocumentCode *code = orr_documents_find(kind);
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_autoptr(OrrNode) tree = orr_library_load(library, kind, name, (OrrPlace){NULL, 0, 0}, diags);
  gpointer data = tree ? orr_documents_read(code, library, tree, diags) : NULL;
  if (!data) return g_strdup_printf("(cannot be read: run orrery describe %s %s)", kind, name);
  char *fact = code->fact(data);
  if (g_str_equal(kind, "device")) {
    g_autofree char *figures = fact, *kernels = device_kernels(library, data);
    fact = g_strdup_printf("%s; %s", figures, kernels);
  }
  orr_documents_free(code, data);
  return fact;
}

static char *validation_fact(OrrLibrary *library, const char *name) {
  if (orr_validate_costs_is(library, name))
    return g_strdup(
        "How far from measurements are the costs of kernels on shapes left out of a profile?");
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_autofree char *path = orr_validation_path(library, name);
  g_autoptr(OrrNode) tree = path ? orr_scenario_tree(library, path, diags) : NULL;
  const char *text = tree ? orr_node_get_text(tree, "question") : NULL;
  if (!text && tree) text = orr_node_get_text(tree, "name");
  return g_strdup(text ? text : "(cannot be read: run orrery check on it)");
}

char *orr_catalog_fact(const OrrCatalog *catalog, OrrLibrary *library, const char *name) {
  const OrrEntry *entry = catalog->registry ? orr_registry_find(catalog->registry, name) : NULL;
  const OrrView *view = is(catalog, "views") ? orr_view_find(name) : NULL;
  if (entry) return g_strdup(entry->sentence);
  if (view) return g_strdup(view->question);
  if (is(catalog, "plots")) return g_strdup(orr_plot_find(name)->sentence);
  if (is(catalog, "validation-sets")) return validation_fact(library, name);
  if (is(catalog, "sweep-names")) return sweep_name_fact(name);
  if (is(catalog, "launch-formats"))
    return g_strdup(orr_launch_dialect_sentence(orr_launch_dialect(name)));
  return document_fact(catalog->document, library, name);
}

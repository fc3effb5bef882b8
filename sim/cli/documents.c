/*
 * documents.c - reads, checks and describes every kind of document. To add a kind: a row in `codes`
 * here, and one in sim/base/library.c.
 */
#include "sim/cli/documents.h"

#include "calibration/profile/profile.h"
#include "models/generator.h"
#include "models/recommender.h"
#include "sim/base/settings.h"
#include "sim/base/yaml.h"
#include "sim/run/scenario_stack.h"
#include "sim/run/scenario.h"
#include "sim/sweep/sweep.h"
#include "sim/validate/validate_costs.h"
#include "topologies/fabric.h"
#include "topologies/prices.h"
#include "workloads/campaign/failures.h"
#include "workloads/cluster_jobs/cluster_jobs.h"
#include "workloads/stack.h"

/* --- Facts --- */

static char *device_fact(const void *data) {
  const OrrDevice *device = data;
  double peak = MAX(device->bf16_flops, device->fp16_flops);
  g_autofree char *memory = orr_quantity_format(device->memory_bytes, ORR_UNIT_BYTES);
  g_autofree char *bandwidth =
      orr_quantity_format(device->memory_bytes_per_s, ORR_UNIT_BYTES_PER_S);
  g_autofree char *flops = orr_quantity_format(peak, ORR_UNIT_FLOP_PER_S);
  g_autofree char *link = orr_quantity_format(device->scale_up_bytes_per_s, ORR_UNIT_BYTES_PER_S);
  return g_strdup_printf("%s, %s at %s, %s %s dense, scale-up %s per direction",
                         device->architecture, memory, bandwidth, flops,
                         device->bf16_flops > 0 ? "bf16" : "fp16", link);
}

static char *cluster_fact(const void *data) {
  const OrrCluster *cluster = data;
  return g_strdup_printf("%ld nodes of %ld %s, %s", cluster->nodes, cluster->node.gpus,
                         cluster->device.name, cluster->fabric.entry->name);
}

static char *cluster_describe(const void *data, GError **error) {
  const OrrCluster *cluster = data;
  g_autoptr(OrrFabric) fabric = orr_fabric_new(cluster, 1, error);
  return fabric ? orr_fabric_describe(fabric, cluster) : NULL;
}

static char *prices_fact(const void *data) {
  const OrrPrices *prices = data;
  return g_strdup_printf("in %s: %s", prices->currency,
                         prices->source ? prices->source : "no source given");
}

static char *model_fact(const void *data) {
  const OrrModel *model = data;
  return g_strdup_printf("%.4g billion parameters: %ld layers, hidden %ld, %ld heads, context %ld",
                         orr_model_parameters(model) / 1e9, model->layers, model->hidden,
                         model->heads, model->context);
}

/* A line on what the counts leave out; nothing where the model has no such layers. */
static char *prediction_line(const OrrModel *model) {
  return model->mtp_layers == 0
             ? g_strdup("")
             : g_strdup_printf("  prediction        %.0f parameters more for %ld %s of multi-token "
                               "prediction, which training has too\n",
                               orr_model_mtp_parameters(model), model->mtp_layers,
                               model->mtp_layers == 1 ? "layer" : "layers");
}

/* "58 layers of 11507286272 (attention+moe), ..."; of one kind alone "N in each layer". */
static char *layers_text(const OrrModel *model) {
  const guint n = orr_model_n_layer_kinds(model);
  if (n == 1) return g_strdup_printf("%.0f in each layer", orr_model_layer_parameters(model, 0));
  g_autoptr(GPtrArray) kinds = g_ptr_array_new_with_free_func(g_free);
  for (guint kind = 0; kind < n; kind++) {
    g_autofree char *name = orr_model_kind_name(model, kind);
    const gint64 layers = orr_model_kind_layers(model, kind);
    g_ptr_array_add(kinds,
                    g_strdup_printf("%ld %s of %.0f (%s)", layers, layers == 1 ? "layer" : "layers",
                                    orr_model_layer_parameters(model, kind), name));
  }
  g_ptr_array_add(kinds, NULL);
  return g_strjoinv(", ", (char **)kinds->pdata);
}

static char *model_describe(const void *data, GError **error) {
  const OrrModel *model = data;
  double n = orr_model_parameters(model), tokens = (double)model->context;
  g_autofree char *fact = model_fact(model);
  g_autofree char *weights = orr_quantity_format(2 * n, ORR_UNIT_BYTES);
  g_autofree char *training = orr_quantity_format(16 * n, ORR_UNIT_BYTES);
  g_autofree char *prediction = prediction_line(model), *layers = layers_text(model);
  return g_strdup_printf(
      "%s\n"
      "  parameters        %.0f in all: %s\n"
      "%s"
      "  training          %.4g GFLOP per token, at its context of %.0f tokens\n"
      "  weights           %s in bf16; %s with gradients and Adam in mixed precision\n",
      fact, n, layers, prediction, orr_model_flops(model, 1, tokens) / tokens / 1e9, tokens,
      weights, training);
}

static char *profile_fact(const void *data) {
  return g_strdup_printf("measured kernels of %s", orr_profile_device((const OrrProfile *)data));
}

static char *profile_describe(const void *data, GError **error) {
  g_autofree char *fact = profile_fact(data), *errors = orr_profile_errors_describe(data);
  return g_strdup_printf("%s\n%s", fact, errors);
}

static char *scenario_fact(const void *data) {
  const OrrScenario *scenario = data;
  return g_strdup(scenario->question ? scenario->question : scenario->name);
}

static char *cost_validation_fact(const void *data) {
  const OrrCostValidation *set = data;
  return g_strdup_printf("%s on shapes left out of a profile", set->family);
}

/* --- A workload document: the same choice as in a scenario --- */

typedef struct {
  OrrChoice workload;
} Workload;

static const OrrFieldTable workload_table =
    ORR_FIELDS("workload", "What runs on a cluster.", Workload,
               ORR_FIELD_CHOICE(Workload, "workload", workload, &orr_workload_registry, NULL,
                                "What runs on the machine."));

static char *workload_fact(const void *data) {
  const Workload *workload = data;
  return g_strdup(workload->workload.entry->sentence);
}

static char *stack_fact(const void *data) { return g_strdup(((const OrrStack *)data)->summary); }

static char *stack_describe(const void *data, GError **error) { return orr_stack_describe(data); }

/* --- Kinds --- */

static void settle_model(void *data, OrrPlace place, OrrDiags *diags) {
  orr_model_settle(data, place, diags);
}

static void settle_generator(void *data, OrrPlace place, OrrDiags *diags) {
  orr_generator_settle(data, place, diags);
}

static char *generator_fact(const void *data) {
  const OrrGenerator *generator = data;
  return g_strdup_printf("%.3g billion parameters in the backbone, %ld x %ld%s, %ld steps",
                         orr_generator_parameters(generator->backbone) / 1e9, generator->height,
                         generator->width, generator->frames > 1 ? ", video" : "",
                         generator->steps);
}

static void settle_recommender(void *data, OrrPlace place, OrrDiags *diags) {
  orr_recommender_check(data, place, diags);
}

static char *recommender_fact(const void *data) {
  const OrrRecommender *model = data;
  return g_strdup_printf("%u tables, %.3g billion parameters in them, %.3g million in dense layers",
                         model->tables->len, orr_recommender_table_parameters(model) / 1e9,
                         orr_recommender_dense_parameters(model) / 1e6);
}

static void settle_cluster(void *data, OrrPlace place, OrrDiags *diags) {
  orr_cluster_check(data, place, diags);
}

static void settle_prices(void *data, OrrPlace place, OrrDiags *diags) {
  orr_prices_check(data, place, diags);
}

static void settle_failures(void *data, OrrPlace place, OrrDiags *diags) {
  orr_failures_check(data, place, diags);
}

static char *failures_fact(const void *data) {
  const OrrFailures *failures = data;
  const guint n = failures->processes->len;
  return g_strdup_printf("%u process%s%s%s", n, n == 1 ? "" : "es", failures->source ? ": " : "",
                         failures->source ? failures->source : "");
}

static void settle_policy(void *data, OrrPlace place, OrrDiags *diags) {
  orr_cluster_policy_check(data, 0, NULL, place, diags);
}

static char *policy_fact(const void *data) {
  const OrrClusterPolicy *policy = data;
  return g_strdup(policy->source ? policy->source : policy->order.entry->sentence);
}

static const OrrDocumentCode codes[] = {
    {"device", &orr_device_table, NULL, device_fact, NULL},
    {"cluster", &orr_cluster_table, settle_cluster, cluster_fact, cluster_describe},
    {"model", &orr_model_table, settle_model, model_fact, model_describe},
    {"generator", &orr_generator_table, settle_generator, generator_fact, NULL},
    {"recommender", &orr_recommender_table, settle_recommender, recommender_fact, NULL},
    {"failures", &orr_failures_table, settle_failures, failures_fact, NULL},
    {"policy", &orr_cluster_policy_table, settle_policy, policy_fact, NULL},
    {"prices", &orr_prices_table, settle_prices, prices_fact, NULL},
    {"profile", &orr_profile_table, NULL, profile_fact, profile_describe},
    {"workload", &workload_table, NULL, workload_fact, NULL},
    {"stack", &orr_stack_table, NULL, stack_fact, stack_describe},
    {"scenario", &orr_scenario_table, NULL, scenario_fact, NULL},
    {"cost-validation", &orr_cost_validation_table, NULL, cost_validation_fact, NULL},
};

const OrrDocumentCode *orr_documents_find(const char *kind) {
  for (guint i = 0; i < G_N_ELEMENTS(codes); i++)
    if (strcmp(codes[i].kind, kind) == 0) return &codes[i];
  return NULL;
}

void orr_documents_free(const OrrDocumentCode *code, gpointer data) {
  if (!data) return;
  if (code->table == &orr_scenario_table) { /* has members besides its fields */
    orr_scenario_free(data);
    return;
  }
  orr_field_clear(code->table, data);
  g_free(data);
}

static gpointer read_fields(const OrrDocumentCode *code, OrrLibrary *library, const OrrNode *tree,
                            OrrDiags *diags) {
  gpointer data = g_malloc0(code->table->size);
  guint n_before = orr_diags_n_errors(diags);
  const OrrDocumentKind *kind = orr_document_kind_find(code->kind);
  const gboolean is_read =
      kind && kind->takes_bounds
          ? orr_field_read_uncertain(code->table, tree, library, diags, data, NULL)
          : orr_field_read(code->table, tree, library, diags, data);
  if (is_read && code->settle) code->settle(data, tree->place, diags);
  if (orr_diags_n_errors(diags) == n_before) return data;
  orr_documents_free(code, data);
  return NULL;
}

static OrrStack *read_stack(OrrLibrary *library, const OrrNode *tree, OrrDiags *diags) {
  const guint before = orr_diags_n_errors(diags);
  g_autoptr(OrrStack) stack = orr_stack_read(library, tree, diags);
  if (stack) orr_scenario_stack_check(stack, diags);
  return orr_diags_n_errors(diags) == before ? g_steal_pointer(&stack) : NULL;
}

gpointer orr_documents_read(const OrrDocumentCode *code, OrrLibrary *library, const OrrNode *tree,
                            OrrDiags *diags) {
  if (code->table == &orr_profile_table) return orr_profile_read(tree, library, diags);
  if (code->table == &orr_scenario_table) return orr_scenario_read(library, tree, diags);
  if (code->table == &orr_stack_table) return read_stack(library, tree, diags);
  if (code->table != &workload_table) return read_fields(code, library, tree, diags);
  g_autoptr(OrrNode) wrapped = orr_node_new_map(tree->place);
  g_autoptr(OrrNode) choice = orr_node_copy(tree);
  orr_node_remove(choice, "schema");
  orr_node_set(wrapped, "workload", g_steal_pointer(&choice));
  return read_fields(code, library, wrapped, diags);
}

/* The code for the kind in the `schema: KIND/1` line of @tree; NULL with the reason in @diags. */
static const OrrDocumentCode *code_of(const OrrNode *tree, OrrDiags *diags) {
  const char *schema = orr_node_get_text(tree, "schema");
  const char *names[G_N_ELEMENTS(codes) + 1] = {NULL};
  for (guint i = 0; i < G_N_ELEMENTS(codes); i++) names[i] = codes[i].kind;
  g_autofree char *known = g_strjoinv("/1, ", (char **)names);
  if (!schema) {
    orr_diags_error(diags, tree->place,
                    "a document is a map that begins with 'schema: KIND/1' (kinds: %s/1)", known);
    return NULL;
  }
  g_auto(GStrv) parts = g_strsplit(schema, "/", 2);
  const OrrDocumentCode *code = parts[0] ? orr_documents_find(parts[0]) : NULL;
  const char *nearest = parts[0] ? orr_diag_nearest_word(parts[0], names) : NULL;
  if (!code)
    orr_diags_error(diags, orr_node_get(tree, "schema")->place,
                    "unknown schema '%s'%s%s%s (known: %s/1)", schema,
                    nearest ? ": did you mean '" : "", nearest ? nearest : "",
                    nearest ? "/1'?" : "", known);
  return code;
}

/* Adds the errors of the sweep: section to @diags. Reading the section reads the scenario again,
 * and would repeat its warnings; so a section without errors adds nothing. */
static void check_sweep(OrrLibrary *library, const char *path, OrrDiags *diags) {
  g_autoptr(OrrDiags) own = orr_diags_new();
  orr_sweep_check_document(library, path, own);
  if (orr_diags_n_errors(own) > 0) orr_sweep_check_document(library, path, diags);
}

void orr_documents_check(OrrLibrary *library, const char *path, char **settings, OrrDiags *diags) {
  const guint n_before = orr_diags_n_errors(diags); /* errors of files checked before */
  g_autoptr(OrrNode) root = orr_yaml_read_file(path, diags);
  const OrrDocumentCode *code = root ? code_of(root, diags) : NULL;
  if (!code || orr_diags_n_errors(diags) > n_before) return;
  g_autoptr(OrrNode) tree = orr_library_read_file(library, code->kind, path, diags);
  g_autoptr(GError) error = NULL;
  if (!tree) return;
  if (!orr_settings_apply(code->table, tree, settings, &error))
    return orr_diags_error(diags, tree->place, "%s", error->message);
  orr_documents_free(code, orr_documents_read(code, library, tree, diags));
  const gboolean is_sweep = code->table == &orr_scenario_table && orr_node_get(tree, "sweep");
  if (is_sweep && orr_diags_n_errors(diags) == n_before) check_sweep(library, path, diags);
}

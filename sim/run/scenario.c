/*
 * scenario.c - the fields of a scenario, and the checks that need more than one of them.
 */
#include "sim/run/scenario.h"

#include "sim/base/idle.h"
#include "sim/base/yaml.h"
#include "sim/run/scenario_stack.h"
#include "workloads/training/training.h"
#include "workloads/training/training_compile.h"

static const char *const engine_words[] = {"auto", "simgrid", "ideal", "fair", NULL};

const OrrFieldTable orr_scenario_table = ORR_FIELDS(
    "scenario", "One run: a machine, a model, a workload.", OrrScenario,
    ORR_FIELD_TEXT(OrrScenario, "name", name, NULL, "Name of the scenario in results."),
    ORR_COLUMN_TEXT(OrrScenario, "question", question, "The question that the scenario answers."),
    ORR_FIELD_SECTION(OrrScenario, "cluster", cluster, &orr_cluster_table, NULL, "The machine.",
                      .document = "cluster"),
    ORR_OPTIONAL_SECTION(OrrScenario, "model", model, &orr_model_table,
                         "The model; a workload of collectives needs none.", .document = "model"),
    ORR_FIELD_CHOICE(OrrScenario, "workload", workload, &orr_workload_registry, NULL,
                     "What runs on the machine.", .document = "workload",
                     .flags = ORR_FIELD_OPTIONAL),
    ORR_OPTIONAL_SECTIONS(
        OrrScenario, "jobs", jobs, &orr_job_spec_table,
        "Several workloads that share the machine, instead of model and workload."),
    ORR_OPTIONAL_SECTIONS(OrrScenario, "faults", faults, &orr_fault_spec_table,
                          "Faults of the machine, at a time or at a rate."),
    ORR_OPTIONAL_SECTION(
        OrrScenario, "campaign", campaign, &orr_campaign_table,
        "Weeks of the workload, which is training: failures, recoveries, checkpoints, goodput."),
    ORR_OPTIONAL_SECTION(OrrScenario, "prices", prices, &orr_prices_table,
                         "Prices of GPUs, networks and energy; absent: no costs are computed.",
                         .document = "prices"),
    ORR_FIELD_WORD(
        OrrScenario, "fidelity", fidelity, orr_fidelity_words, "auto",
        "Replay equivalent ranks once (folded), replay every rank (full), or choose (auto)."),
    ORR_FIELD_WORD(
        OrrScenario, "engine", engine, engine_words, "auto",
        "Engine that shares links among transfers: SimGrid (simgrid), Orrery's own solver of the "
        "same sharing (fair), or none (ideal); auto takes ideal where no two transfers can share a "
        "link, fair where SimGrid would need more than a minute, and simgrid elsewhere."),
    ORR_FIELD_WORD(
        OrrScenario, "on-missing", on_missing, orr_on_missing_words, "fallback",
        "What to do if no profile has a device, operator or number format: use another one or the "
        "datasheet and flag it in the results (fallback), or refuse to run (error)."),
    ORR_UNSIGNED_INT(OrrScenario, "seed", seed, "1",
                     "Seed of all random streams and of ECMP's hash."),
    ORR_FIELD_TREE(OrrScenario, "validation", validation, NULL,
                   "Meaning of the columns of a validation set's table.",
                   .flags = ORR_FIELD_OPTIONAL),
    ORR_FIELD_TREE(OrrScenario, "sweep", sweep, NULL,
                   "Axes, constraints and objectives of `orrery sweep`; `orrery run` ignores them.",
                   .flags = ORR_FIELD_OPTIONAL));

OrrNode *orr_scenario_tree(OrrLibrary *library, const char *path, OrrDiags *diags) {
  const OrrPlace place = {g_intern_string(path), 0, 0};
  if (g_file_test(path, G_FILE_TEST_EXISTS) || strchr(path, '/') || g_str_has_suffix(path, ".yaml"))
    return orr_library_read_file(library, "scenario", path, diags);
  return orr_library_load(library, "scenario", path, place, diags);
}

static OrrPlace place_of(const OrrNode *tree, const char *key) {
  const OrrNode *node = orr_node_get(tree, key);
  return orr_node_place(node ? node : tree);
}

/* A profile that a device names must exist; a profile of the device's own name is optional. */
static void check_profile(OrrLibrary *library, const OrrDevice *device, OrrPlace place,
                          OrrDiags *diags) {
  g_autofree char *path =
      device->profile ? orr_library_path(library, "profile", device->profile) : NULL;
  if (!device->profile || path) return;
  g_auto(GStrv) known = orr_library_names(library, "profile");
  g_autofree char *names = g_strjoinv(", ", known);
  orr_diags_error(diags, place, "device %s: unknown profile '%s' (known: %s)", device->name,
                  device->profile, *names ? names : "none");
}

gboolean orr_scenario_has_jobs(const OrrScenario *scenario) {
  return scenario->jobs && scenario->jobs->len > 0;
}

gboolean orr_scenario_has_faults(const OrrScenario *scenario) {
  return scenario->faults && scenario->faults->len > 0;
}

OrrFaults orr_scenario_faults(const OrrScenario *scenario) {
  return (OrrFaults){scenario->faults, &scenario->cluster, (guint64)scenario->seed};
}

/* One workload, or a list of jobs. */
static void check_work(const OrrScenario *scenario, const OrrNode *tree, OrrDiags *diags) {
  static const char *const instead[] = {"model", "workload"};
  if (!orr_scenario_has_jobs(scenario) && !scenario->workload.entry)
    orr_diags_error(diags, tree->place,
                    "missing key 'workload' in scenario: give a workload, or a list of jobs");
  for (guint i = 0; orr_scenario_has_jobs(scenario) && i < G_N_ELEMENTS(instead); i++)
    if (orr_node_get(tree, instead[i]))
      orr_diags_error(diags, place_of(tree, instead[i]),
                      "key '%s' together with 'jobs': each job has its own %s", instead[i],
                      instead[i]);
}

static void settle_model(OrrScenario *scenario, const OrrNode *tree, OrrDiags *diags) {
  if (orr_scenario_has_jobs(scenario)) return;
  const OrrWorkloadKind *kind = (const OrrWorkloadKind *)scenario->workload.entry;
  const gboolean is_given = orr_node_get(tree, "model") != NULL;
  if (is_given) orr_model_settle(&scenario->model, place_of(tree, "model"), diags);
  if (is_given && kind && kind->without_model)
    orr_diags_warning(diags, place_of(tree, "model"),
                      "model has no effect: a workload of kind %s does not use it",
                      kind->entry.name);
  else if (!is_given && !kind->without_model)
    orr_diags_error(diags, tree->place,
                    "missing key 'model' in scenario: a workload of kind %s needs a model.",
                    kind->entry.name);
}

/* Sets @number to its value and reads the document again: a path into a list of another document
 * can be set, but makes a map of the list. */
static gboolean can_set(OrrLibrary *library, const OrrNode *document, const OrrUncertain *number) {
  g_autoptr(OrrNode) copy = orr_node_copy(document);
  g_autoptr(OrrDiags) ignored = orr_diags_new();
  g_autofree char *text = orr_uncertain_text(number, number->value);
  OrrNode *value = orr_node_new_scalar(number->place, text);
  if (!orr_field_put(&orr_scenario_table, copy, number->path, value, NULL)) return FALSE;
  g_autoptr(OrrNode) tree = orr_scenario_stack_apply(library, copy, ignored);
  OrrScenario again;
  const gboolean is_read =
      orr_field_read_uncertain(&orr_scenario_table, tree, library, ignored, &again, NULL);
  orr_field_clear(&orr_scenario_table, &again);
  return is_read;
}

/* Replays set every number with bounds. */
static void check_uncertain(const OrrScenario *scenario, OrrLibrary *library,
                            const OrrNode *document, OrrDiags *diags) {
  const GPtrArray *uncertain = scenario->uncertain;
  if (uncertain->len > ORR_UNCERTAIN_MOST)
    orr_diags_error(diags, ((const OrrUncertain *)uncertain->pdata[ORR_UNCERTAIN_MOST])->place,
                    "%u numbers have bounds (value, low, high); at most %d can", uncertain->len,
                    ORR_UNCERTAIN_MOST);
  for (guint i = 0; i < MIN(uncertain->len, ORR_UNCERTAIN_MOST); i++) {
    const OrrUncertain *number = uncertain->pdata[i];
    if (orr_scenario_has_jobs(scenario))
      orr_diags_error(diags, number->place,
                      "%s: a scenario of jobs takes no bounds (value, low, high): write a number",
                      number->path);
    else if (!can_set(library, document, number))
      orr_diags_error(diags, number->place,
                      "%s: a number in a list of another document takes no bounds (value, low, "
                      "high): write the list in the scenario",
                      number->path);
  }
}

static char **trace_folders(OrrLibrary *library, const OrrNode *tree) {
  g_autoptr(GPtrArray) folders = g_ptr_array_new();
  g_auto(GStrv) shared = library ? orr_library_folders(library) : g_new0(char *, 1);
  if (tree->place.file && g_file_test(tree->place.file, G_FILE_TEST_EXISTS))
    g_ptr_array_add(folders, g_path_get_dirname(tree->place.file));
  for (char **folder = shared; *folder; folder++) g_ptr_array_add(folders, g_strdup(*folder));
  g_ptr_array_add(folders, NULL);
  return (char **)g_ptr_array_free(g_steal_pointer(&folders), FALSE);
}

/* @library may be NULL. */
static void check_prices(OrrLibrary *library, const OrrScenario *scenario, const OrrNode *tree,
                         OrrDiags *diags) {
  const OrrPlace place = place_of(tree, "prices");
  if (!orr_prices_given(&scenario->prices)) return;
  ORR_EACH_POINTER(const OrrDevicePrice, priced, scenario->prices.devices)
    if (library && g_strcmp0(priced->device, scenario->cluster.device.name) != 0)
      orr_library_borrow(library, "device", priced->device, place, diags);
  orr_prices_check(&scenario->prices, place, diags);
  orr_prices_check_cluster(&scenario->prices, &scenario->cluster, place, diags);
}

/* A campaign has checkpoints of its own: of the job's it reads `sharded`. */
static void check_campaign_job(const OrrNode *tree, OrrDiags *diags) {
  const char *const own = "a campaign writes campaign.checkpoints and loads them";
  const OrrIdleKey keys[] = {{"checkpoint.every", TRUE, own},
                             {"checkpoint.mode", TRUE, own},
                             {"checkpoint.load", TRUE, own}};
  orr_idle_warn(keys, G_N_ELEMENTS(keys), place_of(tree, "workload"), diags);
}

/* A campaign stands above one training job without faults of its own. */
static void check_campaign(const OrrScenario *scenario, const OrrNode *tree, OrrDiags *diags) {
  const OrrPlace place = place_of(tree, "campaign");
  if (!orr_campaign_given(&scenario->campaign))
    return orr_training_check_interval(&scenario->workload, place_of(tree, "workload"), diags);
  if (orr_scenario_has_jobs(scenario) || scenario->workload.entry != &orr_training_kind.entry)
    orr_diags_error(diags, place, "a campaign needs one workload of kind training");
  else if (orr_scenario_has_faults(scenario))
    orr_diags_error(diags, place,
                    "key 'campaign' together with 'faults': a campaign's failures are in "
                    "campaign.failures and campaign.stragglers");
  else {
    orr_campaign_check(&scenario->campaign, &scenario->cluster, orr_node_get(tree, "campaign"),
                       diags);
    check_campaign_job(tree, diags);
  }
}

OrrScenario *orr_scenario_read_fields(OrrLibrary *library, const OrrNode *document,
                                      OrrDiags *diags) {
  g_autoptr(OrrScenario) scenario = g_new0(OrrScenario, 1);
  const guint before = orr_diags_n_errors(diags);
  g_autoptr(OrrNode) tree = orr_scenario_stack_apply(library, document, diags);
  g_autoptr(GPtrArray) uncertain =
      g_ptr_array_new_with_free_func((GDestroyNotify)orr_uncertain_free);
  if (!orr_field_read_uncertain(&orr_scenario_table, tree, library, diags, scenario, uncertain))
    return NULL;
  scenario->uncertain = g_steal_pointer(&uncertain);
  scenario->folders = trace_folders(library, tree);
  check_work(scenario, tree, diags);
  check_uncertain(scenario, library, document, diags);
  if (orr_diags_n_errors(diags) > before) return NULL;
  settle_model(scenario, tree, diags);
  orr_cluster_check(&scenario->cluster, place_of(tree, "cluster"), diags);
  orr_cluster_power_share_cap(&scenario->cluster, place_of(tree, "cluster"), diags);
  check_profile(library, &scenario->cluster.device, place_of(tree, "cluster"), diags);
  check_prices(library, scenario, tree, diags);
  return orr_diags_n_errors(diags) > before ? NULL : g_steal_pointer(&scenario);
}

void orr_scenario_check(const OrrScenario *scenario, OrrPlace place, OrrDiags *diags) {
  if (orr_scenario_has_jobs(scenario)) return; /* orr_jobs_check checks them */
  const OrrWorkloadKind *kind = (const OrrWorkloadKind *)scenario->workload.entry;
  kind->check(scenario->workload.params, &scenario->model, &scenario->cluster, place, diags);
}

static const char *refuse_return(const OrrChoice *workload, const OrrCluster *cluster) {
  const OrrWorkloadKind *kind = (const OrrWorkloadKind *)workload->entry;
  return kind && kind->refuse_return ? kind->refuse_return(workload->params, cluster) : NULL;
}

/* Refuses a node that comes back to a workload that cannot take it up again: now, not when the
 * node comes back in the middle of a run. */
static void check_return(const OrrScenario *scenario, const OrrNodeReturn *back, OrrDiags *diags) {
  const char *lacks = refuse_return(&scenario->workload, &scenario->cluster);
  if (lacks) orr_diags_error(diags, back->place, "%s", lacks);
  for (guint j = 0; orr_scenario_has_jobs(scenario) && j < scenario->jobs->len; j++) {
    const OrrJobSpec *job = scenario->jobs->pdata[j];
    lacks = refuse_return(&job->workload, &scenario->cluster);
    if (lacks && orr_jobs_uses_node(scenario, j, back->node))
      orr_diags_error(diags, back->place, "job %s: %s", job->name, lacks);
  }
}

static void check_faults(const OrrScenario *scenario, const OrrNode *tree, OrrDiags *diags) {
  const OrrFaults faults = orr_scenario_faults(scenario);
  const OrrWorkloadKind *kind = (const OrrWorkloadKind *)scenario->workload.entry;
  if (kind && kind->is_alone && orr_scenario_has_faults(scenario))
    orr_diags_error(diags, place_of(tree, "faults"),
                    "a workload of kind %s takes no faults of the scenario.", kind->entry.name);
  g_autoptr(GArray) returns = orr_faults_check(&faults, tree, diags);
  ORR_EACH(OrrNodeReturn, one, returns) check_return(scenario, one, diags);
}

OrrScenario *orr_scenario_read(OrrLibrary *library, const OrrNode *tree, OrrDiags *diags) {
  g_autoptr(OrrScenario) scenario = orr_scenario_read_fields(library, tree, diags);
  if (!scenario) return NULL;
  const guint before = orr_diags_n_errors(diags);
  if (orr_scenario_has_jobs(scenario)) orr_jobs_check(scenario, tree, diags);
  orr_scenario_check(scenario, place_of(tree, "workload"), diags);
  check_faults(scenario, tree, diags);
  check_campaign(scenario, tree, diags);
  return orr_diags_n_errors(diags) > before ? NULL : g_steal_pointer(&scenario);
}

/* The value at a key of a map, or the item of a list: "1" is the first. */
static const OrrNode *part_of(const OrrNode *node, const char *part) {
  guint64 at;
  if (node->kind == ORR_NODE_MAP) return orr_node_get(node, part);
  return node->kind == ORR_NODE_LIST && node->items->len > 0 &&
                 g_ascii_string_to_unsigned(part, 10, 1, node->items->len, &at, NULL)
             ? node->items->pdata[at - 1]
             : NULL;
}

void orr_scenario_locate(const OrrNode *tree, GError *error) {
  if (!g_error_matches(error, ORR_FAULT, ORR_FAULT_DOCUMENT)) return;
  g_autofree char *path = g_strndup(error->message, strcspn(error->message, ": "));
  g_auto(GStrv) parts = g_strsplit(path, ".", -1);
  const OrrNode *node = tree;
  guint depth = 0;
  for (const OrrNode *next; parts[depth] && (next = part_of(node, parts[depth])); depth++)
    node = next;
  if (depth == 0) return;
  char *message = g_strdup_printf("%s:%d:%d: error: %s", node->place.file, node->place.line,
                                  node->place.column, error->message);
  g_free(error->message);
  error->message = message;
}

void orr_scenario_free(OrrScenario *scenario) {
  if (!scenario) return;
  g_strfreev(scenario->folders);
  g_clear_pointer(&scenario->uncertain, g_ptr_array_unref);
  orr_field_clear(&orr_scenario_table, scenario);
  g_free(scenario);
}

char *orr_scenario_resolved(const OrrScenario *scenario) {
  if (scenario->whole) return orr_scenario_resolved(scenario->whole);
  g_autoptr(OrrNode) tree = orr_field_dump(&orr_scenario_table, scenario);
  g_autofree char *text = orr_yaml_text(tree);
  return g_strconcat("schema: scenario/1\n", text, NULL);
}

char *orr_scenario_hash(const OrrScenario *scenario) {
  g_autofree char *text = orr_scenario_resolved(scenario);
  return g_compute_checksum_for_string(G_CHECKSUM_SHA256, text, -1);
}

/*
 * caveats.c - collects the warnings that follow from scenarios.
 */
#include "sim/bands/caveats.h"

#include "sim/bands/known_errors.h"
#include "sim/base/yaml.h"
#include "sim/run/answer/kinds.h"
#include "sim/run/machine.h"
#include "sim/run/scenario_stack.h"

struct OrrCaveats {
  OrrLibrary *library;
  GPtrArray *texts;
  GHashTable *devices; /* the documents of devices that were asked about */
};

OrrCaveats *orr_caveats_new(OrrLibrary *library) {
  OrrCaveats *caveats = g_new0(OrrCaveats, 1);
  caveats->library = library;
  caveats->texts = g_ptr_array_new_with_free_func(g_free);
  caveats->devices = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
  return caveats;
}

void orr_caveats_free(OrrCaveats *caveats) {
  if (!caveats) return;
  g_ptr_array_unref(caveats->texts);
  g_hash_table_unref(caveats->devices);
  g_free(caveats);
}

void orr_caveats_add_text(OrrCaveats *caveats, const char *text) {
  if (!g_ptr_array_find_with_equal_func(caveats->texts, text, g_str_equal, NULL))
    g_ptr_array_add(caveats->texts, g_strdup(text));
}

const GPtrArray *orr_caveats_texts(const OrrCaveats *caveats) { return caveats->texts; }

/* --- Devices --- */

/* A section without a name stands for the cluster's device, which has its own. */
static void add_device(const void *section, void *user) {
  OrrCaveats *caveats = user;
  const OrrDevice *device = section;
  if (!device->name) return;
  g_autoptr(OrrNode) tree = orr_field_dump(&orr_device_table, device);
  if (!g_hash_table_add(caveats->devices, orr_yaml_text(tree))) return;
  g_autoptr(OrrDiags) diags = orr_diags_new(); /* a profile with errors stops the simulation */
  g_autoptr(GPtrArray) found = g_ptr_array_new_with_free_func(g_free);
  g_auto(OrrMachine) machine = {NULL};
  if (orr_machine_of(caveats->library, device, &machine, diags)) orr_machine_warn(&machine, found);
  for (guint i = 0; i < found->len; i++) orr_caveats_add_text(caveats, found->pdata[i]);
}

/* --- Models --- */

static void add_model(const void *section, void *user) {
  const OrrModel *model = section;
  for (char **one = model->not_modelled; one && *one; one++) {
    g_autofree char *text = g_strdup_printf("model %s: %s", model->name, *one);
    orr_caveats_add_text(user, text);
  }
}

/* --- Software --- */

/* The workload's stack is for other devices than the one it is given. */
static void add_software(OrrCaveats *caveats, const OrrChoice *workload, const OrrDevice *device) {
  const char *name = orr_scenario_stack_name(workload);
  if (!workload->entry || !name || !device->name || strcmp(name, ORR_STACK_NONE) == 0) return;
  g_autofree char *key = g_strconcat(name, " on ", device->name, NULL);
  if (!g_hash_table_add(caveats->devices, g_strdup(key))) return;
  g_autoptr(OrrDiags) ignored = orr_diags_new(); /* reading reported them */
  g_autoptr(OrrNode) section = orr_node_new_scalar((OrrPlace){0}, name);
  g_autoptr(OrrStack) stack = orr_stack_load(caveats->library, section, ignored);
  if (!stack || orr_stack_runs_on(stack, device->platform)) return;
  g_auto(GStrv) others = orr_stack_on(caveats->library, stack->kind, device->platform);
  g_autofree char *known = g_strjoinv(", ", others);
  g_autofree char *text =
      g_strdup_printf("stack %s does not run on %s, which needs software for %s%s%s: its settings "
                      "are used all the same",
                      name, device->name, device->platform, *known ? ", such as " : "", known);
  orr_caveats_add_text(caveats, text);
}

/* --- Results --- */

static void add_errors(OrrCaveats *caveats, const char *table, char *const *parts) {
  g_auto(GStrv) words =
      orr_known_errors_words(caveats->library, table, NULL, (const char *const *)parts);
  for (char **one = words; *one; one++) orr_caveats_add_text(caveats, *one);
}

static void add_kind(OrrCaveats *caveats, const OrrChoice *workload) {
  if (workload->entry)
    add_errors(caveats, orr_kinds_find((const OrrWorkloadKind *)workload->entry)->result->name,
               NULL);
}

static void add_results(OrrCaveats *caveats, const OrrScenario *scenario) {
  const GPtrArray *jobs = scenario->jobs;
  if (orr_campaign_given(&scenario->campaign)) {
    g_auto(GStrv) tiers = orr_known_errors_tiers(scenario);
    add_errors(caveats, "campaign_result", tiers);
    return;
  }
  add_kind(caveats, &scenario->workload);
  for (guint i = 0; jobs && i < jobs->len; i++)
    add_kind(caveats, &((const OrrJobSpec *)jobs->pdata[i])->workload);
}

/* --- All --- */

void orr_caveats_add_others(OrrCaveats *caveats, const OrrScenario *scenario) {
  orr_field_each(&orr_scenario_table, scenario, &orr_model_table, add_model, caveats);
  const GPtrArray *jobs = scenario->jobs;
  add_software(caveats, &scenario->workload, &scenario->cluster.device);
  for (guint i = 0; jobs && i < jobs->len; i++)
    add_software(caveats, &((const OrrJobSpec *)jobs->pdata[i])->workload,
                 &scenario->cluster.device);
  add_results(caveats, scenario);
}

void orr_caveats_add_values(OrrCaveats *caveats, const OrrScenario *scenario) {
  const guint n = scenario->uncertain->len;
  if (n == 0) return;
  g_autofree char *text = g_strdup_printf(
      "uncertain inputs, at their values: %u; 'orrery run' propagates their bounds", n);
  orr_caveats_add_text(caveats, text);
}

void orr_caveats_add(OrrCaveats *caveats, const OrrScenario *scenario) {
  orr_field_each(&orr_scenario_table, scenario, &orr_device_table, add_device, caveats);
  orr_caveats_add_others(caveats, scenario);
}

/*
 * scenario_stack_borrowed.c - settings of a stack that are known for other devices, or
 * for other models, than the scenario's.
 */
#include "sim/run/run_private.h"
#include "workloads/serving/serving.h"

/* Whether the scenario's number at the setting's path is the setting's, or its choice of the same
 * kind. */
static gboolean has_value(const OrrScenario *scenario, OrrStack *stack,
                          const OrrStackSetting *setting) {
  g_autoptr(OrrDiags) ignored = orr_diags_new(); /* reading the scenario reported them */
  const OrrStackLaying laying = {
      .stack = stack, .kind = scenario->workload.entry->name, .diags = ignored};
  g_autofree char *path = g_strconcat("workload.", setting->path, NULL);
  void *data = NULL;
  const OrrField *field =
      orr_field_assign_member(&orr_scenario_table, (void *)scenario, path, &data);
  double own = 0, its = 0;
  if (field && field->kind == ORR_FIELD_CHOICE) {
    const OrrEntry *entry =
        ((const OrrChoice *)(const void *)((char *)data + field->offset))->entry;
    return entry && g_strcmp0(orr_node_get_text(setting->to, "kind"), entry->name) == 0;
  }
  g_autoptr(OrrNode) value = orr_stack_setting_value(&laying, setting, scenario);
  return field && orr_field_number(field, data, &own) && value->text &&
         orr_quantity_parse(value->text, field->unit, &its, NULL) && own == its;
}

/* The stack of the scenario's workload; NULL: it has none. The caller frees it. */
static OrrStack *stack_of(OrrLibrary *library, const OrrScenario *scenario) {
  const char *name = orr_scenario_stack_name(&scenario->workload);
  if (!name || strcmp(name, ORR_STACK_NONE) == 0) return NULL;
  g_autoptr(OrrDiags) ignored = orr_diags_new(); /* reading the scenario reported them */
  g_autoptr(OrrNode) section = orr_node_new_scalar((OrrPlace){0}, name);
  return orr_stack_load(library, section, ignored);
}

/* Whether the cluster, or a group of replicas, has another device than @device. */
static gboolean has_other_device(const OrrScenario *scenario, const char *device) {
  const gboolean serves = strcmp(scenario->workload.entry->name, "serving") == 0;
  const OrrServing *serving = serves ? scenario->workload.params : NULL;
  if (g_strcmp0(device, scenario->cluster.device.name) != 0) return TRUE;
  for (guint i = 0; serving && serving->groups && i < serving->groups->len; i++) {
    const char *name = ((const OrrReplicaGroup *)serving->groups->pdata[i])->device.name;
    if (name && *name && strcmp(name, device) != 0) return TRUE;
  }
  return FALSE;
}

char *orr_scenario_stack_borrowed(OrrLibrary *library, const OrrScenario *scenario,
                                  const char *path) {
  g_autoptr(OrrStack) stack = stack_of(library, scenario);
  for (guint i = 0; stack && i < stack->settings->len; i++) {
    const OrrStackSetting *setting = stack->settings->pdata[i];
    if (strcmp(setting->path, path) == 0 && setting->device &&
        has_other_device(scenario, setting->device) && has_value(scenario, stack, setting))
      return g_strdup(setting->device);
  }
  return NULL;
}

char *orr_scenario_stack_fitted(OrrLibrary *library, const OrrScenario *scenario) {
  g_autoptr(OrrStack) stack = stack_of(library, scenario);
  GString *text = g_string_new(NULL);
  for (guint i = 0; stack && i < stack->settings->len; i++) {
    const OrrStackSetting *setting = stack->settings->pdata[i];
    if (!*setting->fitted_to || !has_value(scenario, stack, setting)) continue;
    g_autofree char *models = g_strjoinv("/", setting->fitted_to);
    g_string_append_printf(text, "%s%s of %s", text->len ? "+" : "", setting->path, models);
  }
  return g_string_free(text, FALSE);
}

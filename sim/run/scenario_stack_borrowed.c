/*
 * scenario_stack_borrowed.c - what a stack's settings know of another device than the scenario's.
 */
#include "sim/base/quantity.h"
#include "sim/run/scenario_stack.h"
#include "workloads/serving/serving.h"

/* Whether the scenario's number at @path is the one of @setting. */
static gboolean has_value(const OrrScenario *scenario, const char *path,
                          const OrrStackSetting *setting) {
  void *data = NULL;
  const OrrField *field =
      orr_field_assign_member(&orr_scenario_table, (void *)scenario, path, &data);
  double own = 0, its = 0;
  return field && orr_field_number(field, data, &own) && setting->to->text &&
         orr_quantity_parse(setting->to->text, field->unit, &its, NULL) && own == its;
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
  const char *name = orr_scenario_stack_name(&scenario->workload);
  if (!name || strcmp(name, ORR_STACK_NONE) == 0) return NULL;
  g_autoptr(OrrDiags) ignored = orr_diags_new();
  g_autoptr(OrrNode) section = orr_node_new_scalar((OrrPlace){0}, name);
  g_autoptr(OrrStack) stack = orr_stack_load(library, section, ignored);
  g_autofree char *whole = g_strconcat("workload.", path, NULL);
  for (guint i = 0; stack && i < stack->settings->len; i++) {
    const OrrStackSetting *setting = stack->settings->pdata[i];
    if (strcmp(setting->path, path) == 0 && setting->device &&
        has_other_device(scenario, setting->device) && has_value(scenario, whole, setting))
      return g_strdup(setting->device);
  }
  return NULL;
}

#include "sim/run/world.h"

#include "sim/base/fault.h"

/* The scenario's device with its profile. on-missing: error refuses one that was not measured itself. */
static gboolean find_machine(OrrLibrary *library, const OrrScenario *scenario, OrrMachine *machine, GPtrArray *warnings,
                             GError **error) {
  g_autoptr(OrrDiags) diags = orr_diags_new();
  if (!orr_machine_of(library, &scenario->cluster.device, machine, diags)) {
    orr_diags_check(diags, error);
    return FALSE;
  }
  orr_machine_warn(machine, warnings);
  if (scenario->on_missing != ORR_ON_MISSING_ERROR || warnings->len == 0) return TRUE;
  g_set_error(error, ORR_FAULT, ORR_FAULT_DOCUMENT, "%s (on-missing: error)", (const char *)warnings->pdata[0]);
  return FALSE;
}

OrrRunWorld *orr_run_world_new(OrrLibrary *library, const OrrScenario *scenario, GError **error) {
  g_autoptr(OrrRunWorld) world = g_new0(OrrRunWorld, 1);
  world->folder = g_strdup(orr_library_shipped(library));
  world->warnings = g_ptr_array_new_with_free_func(g_free);
  if (!find_machine(library, scenario, &world->machine, world->warnings, error)) return NULL;
  world->cost = orr_machine_costs(&world->machine, error);
  if (world->cost && scenario->on_missing == ORR_ON_MISSING_ERROR) orr_cost_refuse_gaps(world->cost);
  world->fabric = world->cost ? orr_fabric_new(&scenario->cluster, scenario->seed, error) : NULL;
  return world->fabric ? g_steal_pointer(&world) : NULL;
}

void orr_run_world_free(OrrRunWorld *world) {
  if (!world) return;
  if (world->fabric) orr_fabric_free(world->fabric);
  if (world->cost) orr_cost_model_free(world->cost);
  orr_machine_clear(&world->machine);
  g_free(world->folder);
  if (world->warnings) g_ptr_array_unref(world->warnings);
  g_free(world);
}

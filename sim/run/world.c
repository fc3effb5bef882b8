/*
 * world.c - makes the costs and the fabric of a machine. Costs of further devices (groups of
 * replicas may have their own) are made when a workload queries them, and live as long as the
 * world.
 */
#include "sim/run/world.h"

/* Loads the profile of @device into @machine and makes its cost model. With on-missing: error, a
 * device whose costs are not its own measurements is refused. */
static OrrCostModel *find_costs(OrrRunWorld *world, const OrrDevice *device, OrrMachine *machine,
                                GError **error) {
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_autoptr(GPtrArray) found = g_ptr_array_new_with_free_func(g_free);
  if (!orr_machine_of(world->library, device, machine, diags)) {
    orr_diags_check(diags, error);
    return NULL;
  }
  orr_machine_warn(machine, found);
  if (world->refuses && found->len > 0)
    return orr_fault_null(error, ORR_FAULT_DOCUMENT, "%s (on-missing: error)",
                          (const char *)found->pdata[0]);
  for (guint i = 0; i < found->len; i++) /* each run in this world asks for its devices anew */
    if (!g_ptr_array_find_with_equal_func(world->warnings, found->pdata[i], g_str_equal, NULL))
      g_ptr_array_add(world->warnings, g_strdup(found->pdata[i]));
  OrrCostModel *cost = orr_machine_costs(machine, error);
  if (cost && world->refuses) orr_cost_refuse_gaps(cost);
  return cost;
}

typedef struct {
  OrrMachine machine;
  OrrCostModel *cost;
} Other;

static void free_other(gpointer data) {
  Other *other = data;
  if (other->cost) orr_cost_model_free(other->cost);
  orr_machine_clear(&other->machine);
  g_free(other);
}

const OrrCostModel *orr_run_world_cost_of(void *data, const OrrDevice *device, GError **error) {
  OrrRunWorld *world = data;
  Other *other = g_new0(Other, 1);
  g_ptr_array_add(world->others, other);
  return other->cost = find_costs(world, device, &other->machine, error);
}

OrrRunWorld *orr_run_world_new(OrrLibrary *library, const OrrScenario *scenario, GError **error) {
  g_autoptr(OrrRunWorld) world = g_new0(OrrRunWorld, 1);
  world->warnings = g_ptr_array_new_with_free_func(g_free);
  world->others = g_ptr_array_new_with_free_func(free_other);
  world->library = library;
  world->refuses = scenario->on_missing == ORR_ON_MISSING_ERROR;
  world->cost = find_costs(world, &scenario->cluster.device, &world->machine, error);
  const GPtrArray *shadows = orr_library_shadows(library);
  for (guint i = 0; i < shadows->len; i++)
    g_ptr_array_add(world->warnings, g_strdup(shadows->pdata[i]));
  world->fabric = world->cost ? orr_fabric_new(&scenario->cluster, scenario->seed, error) : NULL;
  if (!world->fabric) return NULL;
  world->plans = orr_collective_cache_new(world->fabric, world->cost);
  return g_steal_pointer(&world);
}

void orr_run_world_free(OrrRunWorld *world) {
  if (!world) return;
  orr_collective_cache_free(world->plans);
  if (world->fabric) orr_fabric_free(world->fabric);
  if (world->cost) orr_cost_model_free(world->cost);
  orr_machine_clear(&world->machine);
  if (world->others) g_ptr_array_unref(world->others);
  if (world->warnings) g_ptr_array_unref(world->warnings);
  g_free(world);
}

OrrWorld orr_run_world_of(const OrrRunWorld *machine, const OrrScenario *scenario) {
  return (OrrWorld){.model = &scenario->model,
                    .cluster = &scenario->cluster,
                    .fabric = machine->fabric,
                    .cost = machine->cost,
                    .cost_of = orr_run_world_cost_of,
                    .machines = (OrrRunWorld *)machine, /* which keeps what cost_of makes */
                    .fidelity = scenario->fidelity,
                    .on_missing = (OrrOnMissing)scenario->on_missing,
                    .seed = scenario->seed,
                    .folders = scenario->folders,
                    .plans = machine->plans};
}

char *orr_run_world_refuse(const OrrRunWorld *machine, const OrrScenario *scenario,
                           double *ret_gpu_bytes) {
  const OrrWorkloadKind *kind = (const OrrWorkloadKind *)scenario->workload.entry;
  const OrrWorld world = orr_run_world_of(machine, scenario);
  OrrFootprint footprint;
  if (!kind->footprint || !kind->footprint(scenario->workload.params, &world, &footprint))
    return NULL;
  *ret_gpu_bytes = footprint.gpu_bytes;
  return orr_footprint_refuse(&footprint, &scenario->cluster);
}

void orr_run_world_warm(OrrLibrary *library, const OrrScenario *scenario) {
  g_autoptr(OrrRunWorld) world = scenario ? orr_run_world_new(library, scenario, NULL) : NULL;
  if (world) orr_cost_build_all(world->cost);
}

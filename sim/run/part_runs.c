/*
 * part_runs.c - makes the scenario and the world of each part, and replays the parts in children.
 */
#include "sim/run/run_private.h"

#include "sim/base/children.h"
#include "workloads/collectives/collective_bench.h"

struct OrrPartRuns {
  OrrParts parts;
  const OrrRunWorld *machine;
  const OrrScenario *scenario;
  GPtrArray *warnings; /* borrowed */
  GPtrArray *worlds;   /* of Own * */
};

/* The world of one cluster. */
typedef struct {
  const OrrCluster *cluster;
  OrrScenario scenario; /* borrows */
  OrrRunWorld *machine;
  OrrWorld world;
} Own;

static void own_free(gpointer data) {
  Own *own = data;
  orr_run_world_free(own->machine);
  g_free(own);
}

static OrrScenario scenario_on(const OrrScenario *scenario, const OrrCluster *cluster) {
  OrrScenario part = *scenario;
  part.cluster = *cluster;
  part.sweep = part.validation = NULL;
  part.uncertain = NULL;
  return part;
}

static void add_warnings(OrrPartRuns *runs, const GPtrArray *warnings) {
  for (guint i = 0; i < warnings->len; i++)
    if (!g_ptr_array_find_with_equal_func(runs->warnings, warnings->pdata[i], g_str_equal, NULL))
      g_ptr_array_add(runs->warnings, g_strdup(warnings->pdata[i]));
}

static Own *own_of(OrrPartRuns *runs, const OrrCluster *cluster, GError **error) {
  ORR_EACH_POINTER(Own, own, runs->worlds)
    if (own->cluster == cluster) return own;
  Own *own = g_new0(Own, 1);
  own->cluster = cluster;
  own->scenario = scenario_on(runs->scenario, cluster);
  g_ptr_array_add(runs->worlds, own);
  OrrRunWorld *machine = own->machine =
      orr_run_world_new(runs->machine->library, &own->scenario, error);
  if (!machine) {
    g_ptr_array_remove(runs->worlds, own);
    return NULL;
  }
  own->world = orr_run_world_of(machine, &own->scenario);
  add_warnings(runs, machine->warnings);
  return own;
}

static const OrrWorld *world_of(void *user, const OrrCluster *cluster, GError **error) {
  const Own *own = own_of(user, cluster, error);
  return own ? &own->world : NULL;
}

/* --- Replays --- */

typedef struct {
  OrrPartRuns *runs;
  const OrrPart *parts;
} Task;

/* The bytes that the fullest stage's GPU holds all the time. */
static void add_memory(const OrrOutcome *outcome, OrrPartTimes *times) {
  double most = 0;
  ORR_EACH(const OrrMemoryRow, row, outcome->memory) {
    if (row->total_bytes <= most) continue;
    most = row->total_bytes;
    times->state_bytes = row->weights_bytes + row->gradients_bytes + row->optimizer_bytes;
    times->process_bytes = row->workspace_bytes + row->communicators_bytes + row->context_bytes;
  }
}

/* Of a step; the result has them of the whole replay. */
static OrrJoules joules_of(const OrrTrainingResult *r) {
  const OrrJoules all = {r->gpu_energy_compute_j, r->gpu_energy_memory_j, r->gpu_energy_network_j};
  OrrJoules step = {0};
  orr_joules_add(&step, all, r->energy_j_per_step / (orr_joules_sum(all) + r->gpu_energy_idle_j));
  return step;
}

static OrrPartTimes take(const OrrPart *part, const OrrOutcome *outcome) {
  if (strcmp(part->kind->entry.name, "collectives") == 0)
    return (OrrPartTimes){.seconds = g_array_index(outcome->nccl_tests, OrrNcclTestRow, 0).time_s,
                          .gpu_energy_j = NAN,
                          .gpu_joules = {NAN, NAN, NAN},
                          .events = outcome->result.collectives.events};
  const OrrTrainingResult *r = &outcome->result.training;
  double switch_use = 0;
  ORR_EACH(const OrrLinkRow, row, outcome->links)
    if (strcmp(row->kind, "fabric") == 0) switch_use = fmax(switch_use, row->utilization);
  OrrPartTimes times = {.seconds = r->iteration_time_s,
                        .gpu_bytes = r->memory_peak_bytes,
                        .gpu_energy_j = r->gpu_power_mean_w * r->iteration_time_s,
                        .gpu_joules = joules_of(r),
                        .switch_use = switch_use,
                        .events = r->events};
  add_memory(outcome, &times);
  return times;
}

/* The part as one job and the other traffic as another, which is placed first. */
static gboolean replay_beside(const Task *task, const OrrPart *part, const OrrScenario *own,
                              OrrPartTimes *ret_times, GError **error) {
  OrrJobSpec traffic = {
      .name = "traffic",
      .workload = {.entry = &orr_collectives_kind.entry, .params = (void *)part->beside->params},
      .gpus = part->beside->gpus,
      .placement = *part->beside->placement};
  OrrJobSpec job = {
      .name = (char *)part->name,
      .model = *part->model,
      .has_model = TRUE,
      .workload = {.entry = &part->kind->entry, .params = (void *)part->params},
      .gpus = part->beside_gpus,
      .placement = {.entry = orr_registry_find(&orr_job_placement_registry, "packed")}};
  g_autoptr(GPtrArray) jobs = g_ptr_array_new();
  g_ptr_array_add(jobs, &traffic);
  g_ptr_array_add(jobs, &job);
  OrrScenario scenario = *own;
  scenario.workload = (OrrChoice){0};
  scenario.jobs = jobs;
  scenario.fidelity = ORR_FIDELITY_AUTO;
  g_autoptr(GPtrArray) answers =
      orr_simulate_jobs(task->runs->machine->library, &scenario, FALSE, error);
  if (answers) *ret_times = take(part, ((const OrrJobOutcome *)answers->pdata[1])->outcome);
  return answers != NULL;
}

/* The part's own GPUs and bandwidth; NULL: the whole machine, unchanged. */
static OrrFabric *view_of(const OrrRunWorld *machine, const OrrPart *part) {
  const gboolean shares = part->switch_share > 0 && part->switch_share < 1;
  if (!part->gpus && !shares) return NULL;
  g_autoptr(OrrFabric) sharing =
      orr_fabric_sharing(machine->fabric, shares ? part->switch_share : 1);
  return part->gpus ? orr_fabric_slice(sharing, part->gpus, part->n_gpus)
                    : g_steal_pointer(&sharing);
}

static gboolean replay_one(const Task *task, const OrrPart *part, OrrPartTimes *ret_times,
                           GError **error) {
  const OrrSimulation whole = {.is_shared = part->gpus != NULL};
  const Own *own = own_of(task->runs, part->cluster, error);
  if (!own) return FALSE;
  if (part->beside) return replay_beside(task, part, &own->scenario, ret_times, error);
  OrrScenario scenario = own->scenario;
  scenario.model = *part->model;
  scenario.workload = (OrrChoice){.entry = &part->kind->entry, .params = (void *)part->params};
  OrrRunWorld machine = *own->machine; /* borrows */
  g_autoptr(OrrFabric) view = view_of(own->machine, part);
  if (view) {
    machine.fabric = view;
    machine.plans = NULL; /* they are for the whole machine */
    if (part->gpus) {
      scenario.cluster.gpus = part->n_gpus;
      scenario.fidelity = ORR_FIDELITY_FULL; /* as jobs that share a machine: nodes may differ */
    }
  }
  g_autoptr(OrrOutcome) outcome = orr_simulate_in(&machine, &scenario, &whole, error);
  if (outcome) *ret_times = take(part, outcome);
  return outcome != NULL;
}

static GBytes *work(guint index, void *user, GError **error) {
  const Task *task = user;
  OrrPartTimes times = {0};
  return replay_one(task, &task->parts[index], &times, error) ? g_bytes_new(&times, sizeof times)
                                                              : NULL;
}

/* Worlds are made here, so that children share them and their warnings are heard. From three parts
 * on all tables of costs are built here, too, rather than in each child those that it asks for. */
static gboolean replay(void *user, const OrrPart *parts, guint n, OrrPartTimes *ret_times,
                       GError **error) {
  Task task = {user, parts};
  const OrrChildren children = {.n = n, .work = work, .user = &task};
  if (!orr_engine_prepare(ORR_ENGINE_SIMGRID, error)) return FALSE;
  for (guint i = 0; i < n; i++) {
    const Own *own = own_of(user, parts[i].cluster, error);
    if (!own) return FALSE;
    if (n > 2) orr_cost_build_all(own->machine->cost);
  }
  guint failed = 0;
  if (orr_children_collect(&children, sizeof *ret_times, ret_times, &failed, error)) return TRUE;
  g_prefix_error(error, "%s: ", parts[failed].name);
  return FALSE;
}

OrrPartRuns *orr_part_runs_new(const OrrRunWorld *machine, const OrrScenario *scenario,
                               GPtrArray *warnings) {
  OrrPartRuns *runs = g_new0(OrrPartRuns, 1);
  runs->parts = (OrrParts){runs, world_of, replay};
  runs->machine = machine;
  runs->scenario = scenario;
  runs->warnings = warnings;
  runs->worlds = g_ptr_array_new_with_free_func(own_free);
  return runs;
}

const OrrParts *orr_part_runs_parts(const OrrPartRuns *runs) { return &runs->parts; }

void orr_part_runs_free(OrrPartRuns *runs) {
  if (!runs) return;
  g_ptr_array_unref(runs->worlds);
  g_free(runs);
}

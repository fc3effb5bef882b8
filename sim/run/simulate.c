/*
 * simulate.c - makes the world that a workload is compiled in, compiles it, and runs it: alone on
 * the machine, or with the faults of its scenario (simulate_faults.c). Several jobs are the
 * business of simulate_jobs.c.
 */
#include "sim/run/simulate.h"

#include "sim/run/run_private.h"

static OrrWorld world_of(const OrrRunWorld *machine, const OrrScenario *scenario,
                         const OrrSimulation *simulation) {
  const gboolean can_shorten = simulation->brief && !orr_scenario_has_faults(scenario);
  OrrWorld world = orr_run_world_of(machine, scenario);
  world.shorten = can_shorten ? simulation->shorten : 0;
  world.is_shared = simulation->is_shared;
  world.keeps_spans = simulation->keep_spans;
  world.repeats_steps = !simulation->whole_steps && !orr_scenario_has_faults(scenario);
  return world;
}

static gboolean run(const OrrRunWorld *machine, const OrrWorld *own, const OrrScenario *scenario,
                    const OrrSimulation *simulation, OrrOutcome *outcome, GError **error) {
  const OrrWorkloadKind *kind = (const OrrWorkloadKind *)scenario->workload.entry;
  g_autoptr(OrrPartRuns) parts = orr_part_runs_new(machine, scenario, outcome->warnings);
  OrrWorld with_parts = *own;
  with_parts.parts = orr_part_runs_parts(parts);
  const OrrWorld *world = &with_parts;
  g_autoptr(OrrWork) work = kind->compile(scenario->workload.params, world, error);
  if (!work) return FALSE;
  const OrrRunWork one = {scenario, world->fabric, work, simulation};
  if (!orr_run_work(&one, outcome, NULL, error)) return FALSE;
  outcome->fidelity = orr_fidelity_words[work->fidelity];
  return TRUE;
}

/* Devices of groups of replicas are met while the workload runs. */
static void add_warnings(const GPtrArray *warnings, OrrOutcome *outcome) {
  for (guint i = 0; i < warnings->len; i++)
    if (!g_ptr_array_find_with_equal_func(outcome->warnings, warnings->pdata[i], g_str_equal, NULL))
      g_ptr_array_add(outcome->warnings, g_strdup(warnings->pdata[i]));
}

OrrOutcome *orr_simulate_in(const OrrRunWorld *machine, const OrrScenario *scenario,
                            const OrrSimulation *simulation, GError **error) {
  const gint64 begin = g_get_monotonic_time();
  const OrrWorld world = world_of(machine, scenario, simulation);
  g_autoptr(OrrOutcome) outcome = orr_outcome_new();
  outcome->carried_from = orr_cost_carried_from(machine->cost);
  if (!simulation->brief)
    outcome->reserve_of =
        orr_scenario_stack_borrowed(machine->library, scenario, "engine.reserved");
  add_warnings(machine->warnings, outcome);
  const gboolean has_run =
      orr_campaign_given(&scenario->campaign)
          ? orr_simulate_campaign_run(machine, scenario, outcome, error)
      : orr_scenario_has_faults(scenario)
          ? orr_simulate_faults_run(&world, scenario, simulation, outcome, error)
          : run(machine, &world, scenario, simulation, outcome, error);
  if (!has_run) return NULL;
  add_warnings(machine->warnings, outcome);
  orr_outcome_set_wall_time(outcome, begin);
  return g_steal_pointer(&outcome);
}

OrrOutcome *orr_simulate(OrrLibrary *library, const OrrScenario *scenario, gboolean keep_spans,
                         GError **error) {
  const gint64 begin = g_get_monotonic_time();
  g_autoptr(OrrRunWorld) world = orr_run_world_new(library, scenario, error);
  if (!world) return NULL;
  const OrrSimulation simulation = {.keep_spans = keep_spans};
  OrrOutcome *outcome = orr_simulate_in(world, scenario, &simulation, error);
  if (outcome) orr_outcome_set_wall_time(outcome, begin);
  return outcome;
}

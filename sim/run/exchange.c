/*
 * exchange.c - a scenario's ranks as Chakra traces: compiled with every communication as an
 * operation, replayed by our own sharing of links, since a process has one SimGrid engine.
 */
#include "sim/run/exchange.h"

#include "sim/base/fault.h"
#include "sim/base/file_write.h"
#include "sim/engine/executor.h"
#include "sim/run/world.h"
#include "workloads/trace/et.h"
#include "workloads/trace/goal.h"
#include "workloads/trace/work_graph.h"
#include "workloads/training/training.h"

gboolean orr_exchange_is_asked(const char *path) {
  return g_str_has_suffix(path, ".et") || g_str_has_suffix(path, ".goal");
}

static void keep_span(const OrrSpan *span, void *spans) {
  g_array_append_vals((GArray *)spans, span, 1);
}

static OrrWork *compile(const OrrScenario *scenario, const OrrRunWorld *machine, GError **error) {
  const OrrWorkloadKind *kind = (const OrrWorkloadKind *)scenario->workload.entry;
  OrrWorld world = orr_run_world_of(machine, scenario);
  world.fidelity = ORR_FIDELITY_FULL;
  world.repeats_steps = FALSE;
  world.keeps_calls = TRUE;
  if (kind != &orr_training_kind || orr_scenario_has_faults(scenario) ||
      orr_campaign_given(&scenario->campaign))
    return orr_fault_null(error, ORR_FAULT_USAGE,
                          "--trace NAME.et and NAME.goal write the ranks of a training step, "
                          "without faults and campaigns");
  return kind->compile(scenario->workload.params, &world, error);
}

static OrrWorkGraph *graph_of(const OrrWork *work, GError **error) {
  g_autoptr(GArray) spans = g_array_new(FALSE, FALSE, sizeof(OrrSpan));
  g_autoptr(OrrEngine) engine = orr_engine_new(ORR_ENGINE_FAIR, error);
  OrrReplay replay;
  if (!engine || !orr_executor_run(work->program, engine, keep_span, spans, NULL, &replay, error))
    return NULL;
  return orr_work_graph_of(work, spans, error);
}

static gboolean write_et(const OrrWorkGraph *graph, const char *path, GError **error) {
  const int stem = (int)(strlen(path) - strlen(".et"));
  for (guint r = 0; r < graph->ranks->len; r++) {
    g_autofree char *own = g_strdup_printf("%.*s.%u.et", stem, path, r);
    g_autoptr(GByteArray) bytes = orr_et_write(graph, r);
    if (!orr_file_write(own, (const char *)bytes->data, (gssize)bytes->len, error)) return FALSE;
  }
  g_autofree char *groups = g_strdup_printf("%.*s.groups.json", stem, path);
  g_autofree char *text = orr_et_write_groups(graph);
  return orr_file_write(groups, text, -1, error);
}

static gboolean write_goal(OrrWorkGraph *graph, const OrrWork *work, const OrrRunWorld *machine,
                           const OrrScenario *scenario, const char *path, GError **error) {
  const OrrTraining *params = scenario->workload.params;
  const OrrCollectiveContext context = {
      .fabric = machine->fabric,
      .cost = machine->cost,
      .nccl = &params->nccl,
      .gpus_per_switch = orr_nccl_gpus_per_switch(&params->nccl, &scenario->cluster)};
  g_autoptr(GArray) gpus = g_array_new(FALSE, FALSE, sizeof(gint64));
  for (gint64 gpu = 0; gpu < work->lane_of_gpu->len; gpu++)
    if (g_array_index(work->lane_of_gpu, guint32, gpu) != ORR_NO_LANE)
      g_array_append_val(gpus, gpu);
  if (!orr_work_graph_match(graph, error)) return FALSE;
  g_autofree char *text =
      orr_goal_write(graph, &context, (const gint64 *)(const void *)gpus->data, error);
  return text && orr_file_write(path, text, -1, error);
}

gboolean orr_exchange_write(OrrLibrary *library, const OrrScenario *scenario, const char *path,
                            GError **error) {
  g_autoptr(OrrRunWorld) machine = orr_run_world_new(library, scenario, error);
  g_autoptr(OrrWork) work = machine ? compile(scenario, machine, error) : NULL;
  g_autoptr(OrrWorkGraph) graph = work ? graph_of(work, error) : NULL;
  if (!graph) return FALSE;
  return g_str_has_suffix(path, ".goal") ? write_goal(graph, work, machine, scenario, path, error)
                                         : write_et(graph, path, error);
}

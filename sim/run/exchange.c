/*
 * exchange.c - a scenario's ranks as files of other tools: compiled with every communication as an
 * operation, replayed by our own sharing of links, since a process has one SimGrid engine.
 */
#include "sim/run/simulate.h"

#include "sim/base/file.h"
#include "sim/engine/executor.h"
#include "workloads/trace/et.h"
#include "workloads/trace/flow_list.h"
#include "workloads/trace/goal.h"
#include "workloads/trace/text_workload.h"
#include "workloads/trace/work_graph.h"
#include "workloads/training/training.h"

gboolean orr_exchange_is_asked(const char *path) {
  static const char *const ends[] = {".cm", ".et", ".goal", ".txt", NULL};
  for (guint i = 0; ends[i]; i++)
    if (g_str_has_suffix(path, ends[i])) return TRUE;
  return FALSE;
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
                          "--trace NAME.et, NAME.goal, NAME.cm and NAME.txt write the ranks of a "
                          "training step, without faults and campaigns");
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

/* The GPUs of the ranks, in their order. */
static GArray *gpus_of(const OrrWork *work) {
  GArray *gpus = g_array_new(FALSE, FALSE, sizeof(gint64));
  for (gint64 gpu = 0; gpu < work->lane_of_gpu->len; gpu++)
    if (g_array_index(work->lane_of_gpu, guint32, gpu) != ORR_NO_LANE)
      g_array_append_val(gpus, gpu);
  return gpus;
}

/* NAME.cm, and NAME.flows.csv next to it. */
static gboolean write_flows(const OrrWorkGraph *graph, const OrrCollectiveContext *context,
                            const gint64 *gpus, const char *path, GError **error) {
  g_autoptr(GArray) flows = orr_flow_list_of(graph, context, gpus, error);
  if (!flows) return FALSE;
  g_autofree char *matrix = orr_flow_list_matrix(flows, graph->ranks->len);
  g_autofree char *table = orr_flow_list_table(flows);
  g_autofree char *beside =
      g_strdup_printf("%.*s.flows.csv", (int)(strlen(path) - strlen(".cm")), path);
  return orr_file_write(path, matrix, -1, error) && orr_file_write(beside, table, -1, error);
}

/* What is sent as flows, or by steps, or in layers: formats of matched graphs. */
static gboolean write_matched(OrrWorkGraph *graph, const OrrWork *work, const OrrRunWorld *machine,
                              const OrrScenario *scenario, const char *path, GError **error) {
  const OrrTraining *params = scenario->workload.params;
  const OrrCollectiveContext context = {
      .fabric = machine->fabric,
      .cost = machine->cost,
      .nccl = &params->nccl,
      .gpus_per_switch = orr_nccl_gpus_per_switch(&params->nccl, &scenario->cluster)};
  g_autoptr(GArray) gpus = gpus_of(work);
  const gint64 *of_ranks = (const gint64 *)(const void *)gpus->data;
  if (!orr_work_graph_match(graph, error)) return FALSE;
  if (g_str_has_suffix(path, ".cm")) return write_flows(graph, &context, of_ranks, path, error);
  g_autofree char *text = g_str_has_suffix(path, ".goal")
                              ? orr_goal_write(graph, &context, of_ranks, error)
                              : orr_text_workload_write(graph, error);
  return text && orr_file_write(path, text, -1, error);
}

gboolean orr_exchange_write(OrrLibrary *library, const OrrScenario *scenario, const char *path,
                            GError **error) {
  g_autoptr(OrrRunWorld) machine = orr_run_world_new(library, scenario, error);
  g_autoptr(OrrWork) work = machine ? compile(scenario, machine, error) : NULL;
  g_autoptr(OrrWorkGraph) graph = work ? graph_of(work, error) : NULL;
  if (!graph) return FALSE;
  return g_str_has_suffix(path, ".et") ? write_et(graph, path, error)
                                       : write_matched(graph, work, machine, scenario, path, error);
}

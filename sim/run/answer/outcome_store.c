#include "sim/run/kinds.h"

#ifndef ORR_VERSION
#define ORR_VERSION "unknown"
#endif

static void visit_param(const char *path, const char *text, void *user) {
  g_ptr_array_add(user, g_strdup(path));
  g_ptr_array_add(user, g_strdup(text));
}

static gboolean add_params(const OrrScenario *scenario, OrrStore *store, GError **error) {
  g_autoptr(GPtrArray) params = g_ptr_array_new_with_free_func(g_free);
  orr_field_flatten(&orr_scenario_table, scenario, visit_param, params);
  for (guint i = 0; i + 1 < params->len; i += 2)
    if (!orr_store_add_param(store, g_ptr_array_index(params, i), g_ptr_array_index(params, i + 1),
                             error))
      return FALSE;
  return TRUE;
}

static gboolean add_all(OrrStore *store, const OrrFieldTable *table, const GArray *rows,
                        GError **error) {
  for (guint i = 0; i < rows->len; i++)
    if (!orr_store_add_row(store, table, rows->data + (gsize)i * table->size, error)) return FALSE;
  return TRUE;
}

static gboolean add_rows(const OrrOutcome *outcome, OrrStore *store, GError **error) {
  const struct {
    const OrrFieldTable *table;
    const GArray *rows;
  } sets[] = {
      {&orr_nccl_test_table, outcome->nccl_tests},
      {&orr_serving_request_table, outcome->serving_requests},
      {&orr_serving_step_table, outcome->serving_steps},
      {&orr_serving_replica_table, outcome->serving_replicas},
      {&orr_serving_class_table, outcome->serving_classes},
      {&orr_serving_turn_table, outcome->serving_turns},
      {&orr_step_table, outcome->steps},
      {&orr_lane_table, outcome->lanes},
      {&orr_span_table, outcome->spans},
      {&orr_time_kind_table, outcome->times},
      {&orr_operator_cost_table, outcome->operators},
      {&orr_collective_table, outcome->collectives},
      {&orr_link_use_table, outcome->links},
      {&orr_link_time_table, outcome->link_times},
      {&orr_memory_time_table, outcome->memory_times},
      {&orr_memory_table, outcome->memory},
      {&orr_activation_table, outcome->activations},
      {&orr_fault_row_table, outcome->faults},
      {&orr_storage_row_table, outcome->storage},
  };
  if (!orr_store_add_row(store, outcome->kind->result, &outcome->result, error)) return FALSE;
  for (guint i = 0; i < G_N_ELEMENTS(sets); i++)
    if (!add_all(store, sets[i].table, sets[i].rows, error)) return FALSE;
  for (int how = 0; how <= ORR_HOW_OUTSIDE; how++) {
    const OrrCostTrustRow row = {(char *)orr_cost_how_text(outcome->carried_from, (OrrHow)how),
                                 outcome->trust[how]};
    if (row.seconds > 0 && !orr_store_add_row(store, &orr_cost_trust_table, &row, error))
      return FALSE;
  }
  if (outcome->job && !orr_store_add_row(store, &orr_job_row_table, outcome->job, error))
    return FALSE;
  for (guint i = 0; i < outcome->warnings->len; i++)
    if (!orr_store_add_row(store, &orr_warning_table, &(OrrWarningRow){outcome->warnings->pdata[i]},
                           error))
      return FALSE;
  return TRUE;
}

gboolean orr_outcome_store(const OrrOutcome *outcome, const OrrScenario *scenario, const char *file,
                           OrrStore *store, gint64 *ret_run_id, GError **error) {
  g_autofree char *resolved = orr_scenario_resolved(scenario);
  g_autofree char *hash = orr_scenario_hash(scenario);
  const OrrRunFacts facts = {
      .scenario = scenario->name,
      .kind = scenario->workload.entry->name,
      .file = file,
      .hash = hash,
      .resolved = resolved,
      .tool_version = ORR_VERSION,
      .engine = outcome->engine,
      .fidelity = outcome->fidelity,
      .wall_time_s = outcome->wall_time_s,
  };
  gint64 run_id = 0;
  if (!orr_store_begin_run(store, &facts, &run_id, error)) return FALSE;
  if (!add_params(scenario, store, error) || !add_rows(outcome, store, error)) {
    orr_store_abandon_run(store);
    return FALSE;
  }
  if (!orr_store_end_run(store, outcome->wall_time_s, error)) return FALSE;
  *ret_run_id = run_id;
  return TRUE;
}

/*
 * outcome_store.c - stores a run: first the facts that identify it, then the resolved scenario as
 * parameters, then the rows of its answer. A run that cannot be stored whole is abandoned.
 */
#include "sim/run/simulate.h"

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

static gboolean add_trust(const OrrOutcome *outcome, OrrStore *store, GError **error) {
  for (int how = 0; how <= ORR_HOW_OUTSIDE; how++) {
    const OrrCostTrustRow row = {(char *)orr_cost_how_text(outcome->carried_from, (OrrHow)how),
                                 outcome->trust[how]};
    if (row.seconds > 0 && !orr_store_add_row(store, &orr_cost_trust_table, &row, error))
      return FALSE;
  }
  return TRUE;
}

/* The rows behind the result. */
static gboolean add_rows(const OrrOutcome *outcome, OrrStore *store, GError **error) {
  for (const OrrFieldTable *const *table = orr_row_tables; *table; table++) {
    const GArray *rows = orr_outcome_rows(outcome, *table);
    if (rows && !orr_store_add_rows(store, *table, rows->data, rows->len, error)) return FALSE;
  }
  if (!orr_cluster_spans_store(outcome->job_spans, store, error)) return FALSE;
  if (!add_trust(outcome, store, error)) return FALSE;
  if (outcome->job && !orr_store_add_row(store, &orr_job_table, outcome->job, error)) return FALSE;
  for (guint i = 0; i < outcome->warnings->len; i++) {
    const OrrWarningRow row = {outcome->warnings->pdata[i]};
    if (!orr_store_add_row(store, &orr_warning_table, &row, error)) return FALSE;
  }
  return TRUE;
}

gboolean orr_outcome_store(const OrrOutcome *outcome, const OrrScenario *scenario, const char *file,
                           OrrStore *store, gint64 *ret_run_id, GError **error) {
  g_autofree char *resolved = orr_scenario_resolved(scenario);
  g_autofree char *hash = orr_scenario_hash(scenario);
  const OrrRunFacts facts = {
      .scenario = scenario->name,
      .kind = orr_campaign_given(&scenario->campaign) ? "campaign" : scenario->workload.entry->name,
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
  if (!add_params(scenario, store, error) ||
      !orr_store_add_row(store, outcome->kind->result, &outcome->result, error) ||
      !add_rows(outcome, store, error)) {
    orr_store_abandon_run(store);
    return FALSE;
  }
  if (!orr_store_end_run(store, outcome->wall_time_s, error)) return FALSE;
  *ret_run_id = run_id;
  return TRUE;
}

/*
 * sweep_plan.c - reads a sweep: section in this order: the section's fields, the base scenario, the
 * facts, the axes (whose values can use facts), the names of facts, axes and results, and the rules
 * (which use the names). Reports all errors of the document, not only the first.
 */
#include "sim/sweep/sweep_plan.h"

#include "sim/base/settings.h"
#include "sim/base/yaml.h"
#include "sim/sweep/sweep_axis.h"
#include "sim/sweep/sweep_combination.h"
#include "sim/run/answer/campaign_rows.h"
#include "sim/sweep/sweep_facts.h"
#include "sim/sweep/sweep_private.h"
#include "sim/sweep/sweep_prune.h"

/* --- Life --- */

void orr_sweep_plan_free(OrrSweepPlan *plan) {
  if (!plan) return;
  orr_node_free(plan->tree);
  orr_scenario_free(plan->base);
  orr_field_clear(&orr_sweep_section_table, &plan->section);
  g_ptr_array_unref(plan->axes);
  g_array_unref(plan->names);
  g_ptr_array_unref(plan->wheres);
  g_ptr_array_unref(plan->objectives);
  ORR_FREE(plan->hash, plan->resolved, plan->file, plan);
}

static OrrSweepPlan *plan_new(OrrLibrary *library, const char *file) {
  OrrSweepPlan *plan = g_new0(OrrSweepPlan, 1);
  plan->file = g_strdup(file);
  plan->library = library;
  plan->axes = g_ptr_array_new_with_free_func((GDestroyNotify)orr_sweep_axis_free);
  plan->names = g_array_new(FALSE, TRUE, sizeof(OrrExpressionName));
  plan->wheres = g_ptr_array_new_with_free_func((GDestroyNotify)orr_sweep_plan_rules_free);
  plan->objectives = g_ptr_array_new_with_free_func((GDestroyNotify)orr_sweep_plan_rules_free);
  plan->schedule_axis = plan->chunks_axis = -1;
  return plan;
}

/* --- Names --- */

static const OrrSweepAxis *axis_at(const OrrSweepPlan *plan, guint i) {
  return plan->axes->pdata[i];
}

static void add_name(OrrSweepPlan *plan, const char *name, OrrValueType type) {
  ORR_APPEND(plan->names, OrrExpressionName, {name, type});
}

static void add_names(OrrSweepPlan *plan) {
  plan->first_axis = plan->names->len;
  for (int by_path = 0; by_path < 2; by_path++)
    for (guint i = 0; i < plan->n_axes; i++)
      add_name(plan, by_path ? axis_at(plan, i)->path : axis_at(plan, i)->name,
               axis_at(plan, i)->is_number ? ORR_VALUE_NUMBER : ORR_VALUE_TEXT);
  plan->first_result = plan->names->len;
  const OrrFieldTable *result = plan->kind->result;
  for (size_t i = 0; i < result->n_fields; i++) {
    const OrrField *field = &result->fields[i];
    if (field->kind == ORR_FIELD_INT || field->kind == ORR_FIELD_REAL ||
        field->kind == ORR_FIELD_BOOL)
      add_name(plan, field->name,
               field->kind == ORR_FIELD_BOOL ? ORR_VALUE_TRUTH : ORR_VALUE_NUMBER);
  }
  plan->first_derived = plan->names->len;
  for (guint i = 0; i < ORR_N_DERIVED; i++)
    add_name(plan, orr_sweep_derived[i].name, orr_sweep_derived[i].type);
}

/* --- Checks and the hash --- */

static void count_combinations(OrrSweepPlan *plan, const OrrNode *sweep, OrrDiags *diags) {
  plan->n_combinations = 1;
  for (guint i = 0; i < plan->n_axes; i++)
    if (!g_uint64_checked_mul(&plan->n_combinations, plan->n_combinations,
                              axis_at(plan, i)->values->len) ||
        plan->n_combinations > (G_GUINT64_CONSTANT(1) << 40)) {
      orr_diags_error(diags, sweep->place, "the axes have more than 2^40 combinations");
      plan->n_combinations = 1;
      return;
    }
}

static void hash_plan(OrrSweepPlan *plan, const OrrNode *sweep) {
  g_autofree char *base = orr_scenario_resolved(plan->base), *own = orr_yaml_text(sweep);
  g_auto(GStrv) lines = g_strsplit(own, "\n", -1);
  g_autofree char *indented = g_strjoinv("\n  ", lines);
  plan->resolved = g_strconcat(base, "sweep:\n  ", indented, NULL);
  g_strchomp(plan->resolved);
  plan->hash = g_compute_checksum_for_string(G_CHECKSUM_SHA256, plan->resolved, -1);
}

/* --- Reading --- */

static gboolean read_plan(OrrSweepPlan *plan, const OrrNode *sweep, OrrDiags *diags,
                          GError **error) {
  const gboolean is_read =
      orr_field_read(&orr_sweep_section_table, sweep, plan->library, diags, &plan->section);
  plan->base = orr_scenario_read_fields(plan->library, plan->tree, diags);
  if (!is_read || !plan->base) return FALSE;
  if (orr_scenario_has_jobs(plan->base)) {
    orr_diags_error(diags, sweep->place,
                    "a sweep needs a scenario with one workload, and this one has several jobs");
    return FALSE;
  }
  if (!orr_sweep_plan_axes_open_dp(plan, sweep, diags, error)) return FALSE;
  plan->kind = orr_campaign_given(&plan->base->campaign)
                   ? &orr_campaign_rows_kind
                   : orr_kinds_find((const OrrWorkloadKind *)plan->base->workload.entry);
  for (guint i = 0; i < ORR_N_FACTS; i++)
    add_name(plan, orr_sweep_facts[i].name, orr_sweep_facts[i].type);
  orr_sweep_plan_axes_add(plan, diags);
  if (orr_diags_n_errors(diags) == 0 && plan->n_axes == 0)
    orr_diags_error(diags, sweep->place, "a sweep needs axes or a space");
  add_names(plan);
  orr_sweep_plan_rules_add(plan, sweep, diags);
  orr_sweep_prune_check(plan, sweep, diags);
  count_combinations(plan, sweep, diags);
  hash_plan(plan, sweep);
  return orr_diags_n_errors(diags) == 0;
}

OrrSweepPlan *orr_sweep_plan_new(OrrLibrary *library, const char *file, char **settings,
                                 OrrDiags *diags, GError **error) {
  g_autoptr(OrrSweepPlan) plan = plan_new(library, file);
  GError *failure = NULL;
  plan->tree = orr_scenario_tree(library, file, diags);
  if (!plan->tree || !orr_settings_apply(&orr_scenario_table, plan->tree, settings, error) ||
      !orr_sweep_check_settings(plan->tree, settings, error))
    return NULL;
  const OrrNode *found = orr_node_get(plan->tree, "sweep");
  if (!found || found->kind != ORR_NODE_MAP) {
    orr_diags_error(diags, found ? found->place : plan->tree->place,
                    "the scenario has no sweep: section with axes");
    return NULL;
  }
  g_autoptr(OrrNode) sweep = orr_node_copy(found);
  orr_node_remove(plan->tree, "sweep");
  const gboolean is_read = read_plan(plan, sweep, diags, &failure);
  if (failure) g_propagate_error(error, failure);
  return is_read && !failure ? g_steal_pointer(&plan) : NULL;
}

void orr_sweep_check_document(OrrLibrary *library, const char *file, OrrDiags *diags) {
  g_autoptr(GError) error = NULL;
  g_autoptr(OrrSweepPlan) plan = orr_sweep_plan_new(library, file, NULL, diags, &error);
  if (!plan && error)
    orr_diags_error(diags, (OrrPlace){g_intern_string(file), 0, 0, NULL}, "sweep: %s",
                    error->message);
}

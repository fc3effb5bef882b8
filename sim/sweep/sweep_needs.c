/*
 * sweep_needs.c - results that mean nothing until the document sets a number that is 0 by default.
 *
 * Without a price, the cost is 0 at every point: minimizing it would pick an arbitrary point, and a
 * limit on it would always hold. So an objective or a constraint that uses such a result is an
 * error, whose message names the path to set. An axis over that path, or over a section that
 * contains it, sets the number too.
 */
#include "sim/sweep/sweep_needs.h"

#include <string.h>

#include "sim/sweep/sweep_axis.h"

static const struct {
  const char *result; /* as expressions name it */
  const char *path;   /* of the scenario, or of its sweep: section */
  const char *what;   /* the number there */
} needs[] = {
    {"gpu-hour-price", "sweep.gpu-hour-price", "a price per GPU-hour"},
    {"cost_per_token", "sweep.gpu-hour-price", "a price per GPU-hour"},
    {"cost-per-million-output-tokens", "workload.metrics.price-per-gpu-hour",
     "a price per GPU-hour"},
    {"energy_per_token_j", "cluster.device.tdp", "the device's design power"},
    {"energy-j-per-output-token", "cluster.device.tdp", "the device's design power"},
};

static gboolean axis_gives(const OrrSweepPlan *plan, const char *path) {
  for (guint i = 0; i < plan->axes->len; i++) {
    const char *axis = ((const OrrSweepAxis *)plan->axes->pdata[i])->path;
    const gsize n = strlen(axis);
    if (strncmp(axis, path, n) == 0 && (path[n] == '\0' || path[n] == '.')) return TRUE;
  }
  return FALSE;
}

static gboolean is_given(const OrrSweepPlan *plan, const char *path) {
  if (g_str_equal(path, "sweep.gpu-hour-price")) return plan->section.gpu_hour_price > 0;
  double value = 0;
  void *data = NULL;
  const OrrField *field = orr_field_assign_member(&orr_scenario_table, plan->base, path, &data);
  return (field && orr_field_number(field, data, &value) && value > 0) || axis_gives(plan, path);
}

void orr_sweep_needs_check(const OrrSweepPlan *plan, const OrrExpression *expression,
                           OrrPlace place, OrrDiags *diags) {
  for (guint slot = 0; slot < plan->names->len; slot++) {
    if (!orr_expression_uses(expression, slot)) continue;
    const char *name = g_array_index(plan->names, OrrExpressionName, slot).name;
    for (guint i = 0; i < G_N_ELEMENTS(needs); i++)
      if (g_str_equal(needs[i].result, name) && !is_given(plan, needs[i].path))
        orr_diags_error(diags, place, "%s is 0 at every point without %s: set %s", name,
                        needs[i].what, needs[i].path);
  }
}

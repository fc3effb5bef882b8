/*
 * serving_cost_gaps.c - the kernels of a step that have no rows in the profile.
 */
#include "workloads/serving/cost/serving_cost_private.h"

static void note_missing(const OrrServingCost *cost, const OrrOperator *op, GPtrArray *missing) {
  const OrrCostModel *model = cost->params.world->cost;
  const gboolean is_known =
      op->kind == ORR_OPERATOR_MOE && !orr_serving_experts_are_missing(model, op);
  char *what = is_known ? NULL : orr_cost_missing(model, op);
  if (what && !g_ptr_array_find_with_equal_func(missing, what, g_str_equal, NULL))
    g_ptr_array_add(missing, what);
  else
    g_free(what);
}

static void note_core(const OrrServingCost *cost, const Kind *kind, GPtrArray *missing) {
  if (!kind->has_core || kind->batch || kind->module) return;
  OrrOperator decode = orr_serving_cost_core(cost, &kind->decode_heads, 1, 1, 1024);
  const OrrOperator prompt = orr_serving_cost_core(cost, &kind->heads, 1, 1024, 1024);
  decode.dtype = (guint8)cost->params.shard.kv; /* tables are by the format of stored keys */
  note_missing(cost, &decode, missing);
  note_missing(cost, &prompt, missing);
}

char *orr_serving_cost_missing(OrrServingCost *cost) {
  const OrrModel *model = cost->params.world->model;
  g_autoptr(GPtrArray) missing = g_ptr_array_new_with_free_func(g_free);
  g_autoptr(GArray) operators = g_array_new(FALSE, TRUE, sizeof(OrrOperator));
  for (guint k = 0; k < cost->n_kinds; k++) {
    if (cost->kinds[k].n == 0) continue;
    orr_inference_layer(model, cost->kinds[k].kind, &cost->kinds[k].shard, 1, operators);
    orr_inference_experts(model, cost->kinds[k].kind, &cost->kinds[k].shard, 1, operators);
    note_core(cost, &cost->kinds[k], missing);
  }
  for (guint i = 0; i < operators->len; i++)
    note_missing(cost, &g_array_index(operators, OrrOperator, i), missing);
  if (missing->len == 0) return NULL;
  g_ptr_array_add(missing, NULL);
  return g_strjoinv(", ", (char **)missing->pdata);
}

gboolean orr_serving_cost_check_missing(OrrServingCost *cost, GError **error) {
  g_autofree char *missing =
      orr_cost_refuses_gaps(cost->params.world->cost) ? orr_serving_cost_missing(cost) : NULL;
  if (!missing) return TRUE;
  return orr_fault_set(error, ORR_FAULT_DOCUMENT,
                       "the device's profile holds no %s (on-missing: error)", missing);
}

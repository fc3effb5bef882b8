/*
 * serving_states.c - layers with a state by the tables of linear attention: convolution and scan of
 * prompts, convolution and update of decodes. Only for layers whose widths were measured in all
 * four (gated delta nets); of Mamba-2 the tables have the convolution alone.
 *
 *   time = table(convolution) + table(scan or update)
 *
 * The operators keep their bytes and FLOPs, from which the energy follows, over the table's time.
 * Prompts count as sequences of their mean length, at the nearest of 64 steps in each doubling.
 */
#include "workloads/serving/cost/serving_cost_private.h"

#include "calibration/cost/cost_module.h"
#include "models/layer.h"

enum { STEPS = 64 }; /* in a doubling of tokens */

static gboolean is_conv(const OrrOperator *op) {
  return g_str_equal(op->name, "state-conv") || g_str_equal(op->name, "conv-update");
}

/* The table of the operators that are convolutions, or of the others. */
static const char *table_of(gboolean convolves, gboolean decodes) {
  if (convolves) return decodes ? "conv-update" : "conv";
  return decodes ? "state-update" : "scan";
}

static OrrCost ask(const OrrServingCostParams *params, const OrrServingStates *states,
                   gboolean convolves) {
  const OrrKernelLibrary library = params->kernels;
  const OrrModel *model = params->world->model;
  const OrrProfileModuleLayer layer =
      orr_cost_module_layer(params->world->cost, model, states->kind);
  const OrrModuleCall call = {
      .op = table_of(convolves, states->decodes),
      .engine = library == ORR_KERNEL_LIBRARY_ANY ? NULL : orr_kernel_library_words[library],
      .weights = "bfloat16",
      .cache = "bfloat16",
      .mode = "",
      .layer = &layer,
      .heads = (double)orr_layer(model, states->kind, states->tp, 1, 1).scan.heads,
      .batch = states->sequences,
      .queries = states->queries,
      .keys = states->queries};
  return orr_cost_module(params->world->cost, &call);
}

gboolean orr_serving_states_are_known(const OrrServingCostParams *params, guint kind) {
  const OrrCostModel *cost = params->world->cost;
  if (orr_layer(params->world->model, kind, 1, 1, 1).scan.heads == 0) return FALSE;
  const OrrProfileModuleLayer layer = orr_cost_module_layer(cost, params->world->model, kind);
  gboolean all = layer.state > 0;
  for (int i = 0; i < 4 && all; i++)
    all = orr_cost_module_has(cost, table_of(i & 1, (i & 2) > 0), &layer);
  return all;
}

gint64 orr_serving_states_key(guint sequences, double queries) {
  return ((gint64)sequences << 32) + (gint64)round(STEPS * log2(fmax(queries, 1)));
}

double orr_serving_states_queries(gint64 key) { return exp2((double)(key & 0xffffffff) / STEPS); }

void orr_serving_states_settle(const OrrServingCostParams *params, const OrrServingStates *states,
                               const GArray *operators, GArray *costs) {
  for (int convolves = 0; convolves <= 1; convolves++) {
    const OrrCost known = ask(params, states, convolves);
    double sum_s = 0;
    for (guint i = 0; i < operators->len; i++)
      if (is_conv(&g_array_index(operators, OrrOperator, i)) == convolves)
        sum_s += g_array_index(costs, OrrCost, i).time_s;
    for (guint i = 0; i < operators->len && sum_s > 0; i++) {
      OrrCost *cost = &g_array_index(costs, OrrCost, i);
      if (is_conv(&g_array_index(operators, OrrOperator, i)) == convolves)
        *cost = (OrrCost){cost->time_s * known.time_s / sum_s, known.how};
    }
  }
}

/*
 * serving_graph.c - a step's size in the engine's unit, the captured size that holds it, and what
 * launches take without one.
 */
#include "workloads/serving/cost/serving_cost_private.h"

const char *const orr_graph_unit_words[] = {"tokens", "sequences", NULL};
const char *const orr_graph_sizes_words[] = {"even", "powers-of-two", NULL};

/* 0: such a step has no graph. Sizes in sequences count decodes alone. */
static gint64 size_of(const OrrServingCostParams *params, const OrrStepShape *shape) {
  if (shape->chunk > 0 && !params->graph_prompts) return 0;
  return shape->chunk <= 0 && params->graph_unit == ORR_GRAPH_SEQUENCES ? (gint64)shape->decodes
                                                                        : (gint64)shape->tokens;
}

gboolean orr_serving_graph_holds(const OrrServingCostParams *params, const OrrStepShape *shape) {
  const gint64 size = size_of(params, shape);
  return size > 0 && size <= params->graph_largest;
}

static gint64 next_multiple(gint64 size, gint64 step) { return (size + step - 1) / step * step; }

static gint64 next_power(gint64 size) {
  gint64 power = 1;
  while (power < size) power *= 2;
  return power;
}

static gint64 captured(const OrrServingCostParams *params, gint64 size) {
  const gboolean powers = params->graph_sizes == ORR_GRAPHS_POWERS;
  gint64 whole = size;
  if (size > 2) whole = size <= 4 ? 4 : next_multiple(size, 8);
  if (whole > (powers ? 128 : 256)) whole = powers ? next_power(size) : next_multiple(size, 16);
  return MIN(whole, params->graph_largest);
}

gint64 orr_serving_graph_tokens(const OrrServingCostParams *params, const OrrStepShape *shape) {
  const gint64 tokens = (gint64)shape->tokens, size = size_of(params, shape);
  if (!params->pads || !orr_serving_graph_holds(params, shape)) return tokens;
  const gint64 whole = captured(params, size);
  return size == tokens ? whole : (gint64)ceil(shape->tokens / (double)size * (double)whole);
}

double orr_serving_graph_launches_s(const OrrServingCost *cost, guint kernels) {
  const OrrModel *model = cost->params.world->model;
  const double launch_s =
      cost->params.launch_s > 0
          ? cost->params.launch_s
          : orr_cost_host_launch_s(cost->params.world->cost, ORR_KERNELS_MODERN);
  gint64 mixtures = 0;
  for (guint k = 0; k < cost->n_kinds; k++)
    if (orr_model_kind(model, cost->kinds[k].kind).feed == ORR_FEED_MOE)
      mixtures += cost->kinds[k].n;
  return (kernels + (double)(mixtures * cost->params.experts.launches)) * launch_s /
         orr_host_launch_speed(&cost->params.world->cluster->node.host);
}

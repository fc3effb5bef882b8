/*
 * cost_module.h - predicts how long sparse and linear attention take: whole modules
 * (projections, indexer, attention, output) and parts of them, on one rank.
 *
 *   dsa-prefill, -decode    module: indexer over all keys, attention over top-k (DeepSeek-V3.2)
 *   dsa-prefill-shared,     module: the same with another layer's choice of keys (GLM-5.2)
 *   dsa-decode-shared
 *   csa-prefill, -decode    module: cache of 4 tokens an entry, indexer, window (DeepSeek-V4)
 *   hca-prefill, -decode    module: cache of 128 tokens an entry, all of it, window
 *   index-scores, topk      part: the indexer's scores; the choice of its best keys
 *   sparse-core             part: attention over the chosen entries
 *   conv, conv-update       part: causal convolution of a layer with a state: prompt, decode
 *   scan, state-update      part: its state: prompt in chunks, decode
 */
#pragma once

#include "calibration/cost/cost.h"
#include "calibration/profile/profile_module.h"
#include "models/model.h"

typedef struct {
  const char *op;
  const char *device; /* among the section's devices; NULL: the cost model's */
  /* as the rows name them; NULL: any */
  const char *engine, *kernel, *weights, *cache, *mode;
  const OrrProfileModuleLayer *layer;
  double heads;                /* of the rank */
  double batch, queries, keys; /* sequences; queries and keys of each, own ones included */
} OrrModuleCall;

/* Whether @op is one of the words above. */
gboolean orr_cost_module_is_op(const char *op);
/* How the nearest rows' times compare with their rooflines, at this call's roofline; without such
 * rows the roofline itself (cost_module.c). */
OrrCost orr_cost_module(const OrrCostModel *model, const OrrModuleCall *call);
/* Whether the tables have rows of @op in layers of @layer's widths. */
gboolean orr_cost_module_has(const OrrCostModel *model, const char *op,
                             const OrrProfileModuleLayer *layer);
/* The roofline of its indexer and its attention alone, seconds. */
double orr_cost_module_core_s(const OrrCostModel *model, const OrrModuleCall *call);

/* A layer of @kind as the tables describe layers, one with a state by the widths of a head. Its
 * name is the rows' of equal widths, NULL where there are none. Borrows from @model's profile. */
OrrProfileModuleLayer orr_cost_module_layer(const OrrCostModel *cost, const OrrModel *model,
                                            guint kind);

/*
 * serving_pools.h - a step whose attention and feed-forwards are on GPUs of their own: the batch of
 * each step is cut into m micro-batches that go from one pool to the other and back in each layer
 * (MegaScale-Infer, arXiv 2504.02263; Step-3, arXiv 2507.19427).
 *
 *   attention    | a1 | a2 | a3 | a1 | a2 | a3 |        a: a layer on attention's GPUs
 *   out               o1   o2   o3   o1                 o: its tokens to their experts
 *   feed-forward      |  f1 |  f2 |  f3 |  f1 |         f: on the feed-forwards' GPUs
 *   back                     b1    b2    b3             b: the results
 *
 * Each of the four takes one micro-batch at a time, in order:
 *
 *   end of x(l, i) = max(end of the stage before for (l, i), end of x for the micro-batch before)
 *                    + time of x in layer l
 *
 * Where all layers take a, o, f, b and m micro-batches hide the way, m max(a, f) >= a + o + f + b,
 * that is the closed form of MegaScale-Infer (equation 5 there, with o = b):
 *
 *   step = a + o + f + b + max(a, f) (m L - 1)
 *
 * With one micro-batch a step takes L (a + o + f + b). Sends of one direction share links
 * (many_to_many.h); the two directions have links of their own. Micro-batches are alike, a
 * share 1 / m each of the batch. Engines capture graphs for feed-forwards, unpadded.
 */
#pragma once

#include "workloads/serving/cost/serving_cost.h"

/* Sums over steps: their time, and how long each pool computes in it. */
typedef struct {
  double step_s, attention_s, feed_s, sends_s;
} OrrServingPoolTimes;

typedef struct {
  OrrInferenceShard shard; /* of the feed-forwards' GPUs, which follow attention's */
  const OrrWorld *world;   /* with their device and costs */
  gint64 gpus, micro_batches;
} OrrServingPoolParams;

typedef struct OrrServingPools OrrServingPools;

/* @attention, whose shard is ORR_PART_MIXER and which @params made, is borrowed. NULL with
 * ORR_FAULT_DOCUMENT, as orr_serving_cost_new. */
OrrServingPools *orr_serving_pools_new(const OrrServingCostParams *params,
                                       OrrServingCost *attention, const OrrServingPoolParams *pools,
                                       GError **error);
void orr_serving_pools_free(OrrServingPools *pools);

/* One core's step: attention of its own tokens, feed-forwards of all cores' tokens. */
OrrStepTime orr_serving_pools_step(OrrServingPools *pools, const OrrStepShape *shape);

OrrServingCost *orr_serving_pools_feed(OrrServingPools *pools); /* the costs of the feed-forwards */
const OrrServingPoolTimes *orr_serving_pools_times(const OrrServingPools *pools);

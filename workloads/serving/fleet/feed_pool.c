/*
 * feed_pool.c - checks a pool of feed-forwards: its layout, its memory, and what it excludes.
 *
 *   weights + activations + reserved <= memory * gpu-memory-utilization
 *
 * Activations: one micro-batch of max-num-batched-tokens per core, spread over ep.
 */
#include "workloads/serving/fleet/fleet_private.h"

#include "sim/base/idle.h"

double orr_feed_pool_bytes(const OrrServing *params, const OrrModel *model) {
  if (params->parallel.feed.gpus == 0) return 0;
  const OrrInferenceShard shard = orr_serving_feed_shard(params);
  return orr_inference_weight_bytes(model, &shard, 0, model->layers, FALSE, FALSE);
}

static void check_excluded(const OrrServing *params, OrrPlace place, OrrDiags *diags) {
  const OrrServingParallel *parallel = &params->parallel;
  const struct {
    gboolean is_on;
    const char *key, *because;
  } excluded[] = {
      {parallel->two_batches.decodes + parallel->two_batches.prompts > 0, "parallel.two-batches",
       "feed-forward.micro-batches overlap there"},
      {parallel->pp > 1, "parallel.pp above 1",
       "micro-batches are the pipeline between the two pools"},
      {orr_speculation_of(&params->engine.speculation).tokens > 0, "engine.speculation",
       "on which pool a drafter runs is not modelled"},
      {params->engine.lora.adapters > 0, "engine.lora",
       "adapters of feed-forwards on GPUs of their own are not modelled"},
      {orr_serving_is_eventful(params) && params->start.weights, "start.weights",
       "the two pools read different weights, and a start reads alike ones: set start.weights: "
       "false"},
  };
  for (guint i = 0; i < G_N_ELEMENTS(excluded); i++)
    if (excluded[i].is_on)
      orr_diags_error(diags, place, "parallel.feed-forward and %s exclude each other: %s",
                      excluded[i].key, excluded[i].because);
}

/* Tokens go to experts by the sends between the pools (cost/serving_pools.c). */
static void check_idle(const OrrServing *params, OrrPlace place, OrrDiags *diags) {
  const OrrIdleKey keys[] = {
      {"parallel.all-to-all", params->parallel.feed.gpus > 0,
       "with feed-forward.gpus each attention GPU sends its tokens to the experts' GPUs"}};
  orr_idle_warn(keys, G_N_ELEMENTS(keys), place, diags);
}

void orr_feed_pool_check(const OrrServing *params, const OrrModel *model, OrrPlace place,
                         OrrDiags *diags) {
  const OrrServingParallel *parallel = &params->parallel;
  if (parallel->feed.gpus == 0) {
    if (parallel->feed.device.name)
      orr_diags_error(diags, place, "parallel.feed-forward.device needs feed-forward.gpus");
    if (parallel->feed.micro_batches > 1)
      orr_diags_error(diags, place,
                      "parallel.feed-forward.micro-batches (%ld) go between two pools: give "
                      "feed-forward.gpus, or 1",
                      parallel->feed.micro_batches);
    return;
  }
  check_excluded(params, place, diags);
  check_idle(params, place, diags);
  if (parallel->feed.gpus % parallel->ep)
    return orr_diags_error(diags, place,
                           "parallel.feed-forward.gpus (%ld) cannot be divided by ep (%ld)",
                           parallel->feed.gpus, parallel->ep);
  const OrrInferenceShard shard = orr_serving_feed_shard(params);
  orr_inference_check(model, &shard, place, diags);
}

void orr_feed_pool_check_memory(const OrrServing *params, const OrrModel *model,
                                const OrrCluster *cluster, OrrPlace place, OrrDiags *diags) {
  const OrrServingParallel *parallel = &params->parallel;
  const OrrDevice *device = orr_serving_feed_device(params, cluster);
  const double gib = 1 << 30;
  if (parallel->feed.gpus == 0) return;
  const OrrInferenceShard shard = orr_serving_feed_shard(params);
  const double tokens = (double)(params->engine.max_num_batched_tokens * parallel->dp_attention) /
                        (double)(parallel->ep * parallel->feed.micro_batches);
  const double weights = orr_feed_pool_bytes(params, model),
               activations = orr_inference_activation_bytes(model, &shard, (gint64)ceil(tokens)),
               budget = device->memory_bytes * params->engine.memory_utilization;
  if (weights + activations + params->engine.reserved_bytes > budget)
    orr_diags_error(diags, place,
                    "the feed-forwards of model %s do not fit: each of %ld GPUs holds %.1f GiB of "
                    "weights, %.1f of activations and %.1f reserved, of "
                    "%.1f GiB that %s gives the engine: raise parallel.feed-forward.gpus, or lower "
                    "the precision",
                    model->name, parallel->feed.gpus, weights / gib, activations / gib,
                    params->engine.reserved_bytes / gib, budget / gib, device->name);
}

void orr_feed_pool_cap(OrrServing *own, const OrrCluster *cluster) {
  const double rack_w = orr_cluster_power_board_cap_w(cluster);
  OrrDevice *device = &own->parallel.feed.device;
  if (device->name && rack_w > 0)
    device->power.cap_w = orr_device_power_limit_w(&device->power, rack_w);
}

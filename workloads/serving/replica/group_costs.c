/*
 * group_costs.c - what steps of each group of replicas take, and how that is known.
 */
#include "workloads/serving/replica/serving_run.h"

static gboolean open_feed(OrrServingRun *run, guint g, GError **error) {
  const OrrServedGroup *group = &g_array_index(run->work->groups, OrrServedGroup, g);
  const OrrDevice *device = orr_serving_feed_device(&group->params, &group->cluster);
  OrrFeedMachine *feed = &run->feeds[g];
  *feed = (OrrFeedMachine){group->cluster, run->worlds[g]};
  feed->cluster.device = *device;
  feed->world.cluster = &feed->cluster;
  if (device == &group->cluster.device) return TRUE;
  feed->world.cost =
      feed->world.cost_of ? feed->world.cost_of(feed->world.machines, device, error) : NULL;
  return feed->world.cost != NULL;
}

/* Sends go between the GPUs of the group's first replica. */
static gboolean open_pools(OrrServingRun *run, guint g, OrrServingCostParams cost, GError **error) {
  const OrrServedGroup *group = &g_array_index(run->work->groups, OrrServedGroup, g);
  const OrrFeedForwardPool *feed = &group->params.parallel.feed;
  OrrServingPoolParams pools = {orr_serving_feed_shard(&group->params), &run->feeds[g].world,
                                feed->gpus, feed->micro_batches};
  if (!open_feed(run, g, error)) return FALSE;
  pools.shard.fullest = cost.shard.fullest;
  cost.first_gpu = group->first_gpu;
  return (run->costs[g] = orr_serving_cost_new(&cost, error)) != NULL &&
         (run->pools[g] = orr_serving_pools_new(&cost, run->costs[g], &pools, error)) != NULL;
}

/* Of the GPUs of the machine's first replica. */
static OrrServingCostParams cost_params(const OrrServingRun *run, guint g) {
  const OrrServing *params = &g_array_index(run->work->groups, OrrServedGroup, g).params;
  return (OrrServingCostParams){.world = &run->worlds[g],
                                .shard = orr_serving_loaded_shard(params, run->worlds[g].model),
                                .two_batches = params->parallel.two_batches,
                                .pp = params->parallel.pp,
                                .kernels = (OrrKernelLibrary)params->engine.kernels,
                                .nccl = params->engine.nccl,
                                .all_reduce = params->engine.all_reduce,
                                .all_to_all = params->parallel.all_to_all,
                                .lora = orr_serving_lora(params),
                                .graph_largest = params->engine.graph_largest,
                                .graph_unit = (OrrGraphUnit)params->engine.graph_unit,
                                .graph_sizes = (OrrGraphSizes)params->engine.graph_sizes,
                                .graph_prompts = params->engine.graph_prompts,
                                .is_eager = params->engine.eager,
                                .launch_s = params->engine.host.launch_s,
                                .cross_bytes_per_s = params->engine.cross_bytes_per_s,
                                .chunked_bytes_per_s = params->engine.chunked_bytes_per_s,
                                .stage_tensors = params->engine.stage_tensors,
                                .stage_slices = params->engine.stage_slices,
                                .experts = params->engine.experts,
                                .pads = params->engine.graph_padding};
}

static gboolean open_costs(OrrServingRun *run, guint g, GError **error) {
  const OrrServedGroup *group = &g_array_index(run->work->groups, OrrServedGroup, g);
  const OrrServing *params = &group->params;
  OrrWorld *world = memcpy(&run->worlds[g], run->work->world, sizeof(OrrWorld));
  world->cluster = &group->cluster;
  world->model = &group->model;
  if (group->cluster.device.name != run->work->world->cluster->device.name)
    world->cost =
        world->cost_of ? world->cost_of(world->machines, &group->cluster.device, error) : NULL;
  if (!world->cost) return FALSE;
  const OrrServingCostParams cost = cost_params(run, g);
  if (params->parallel.feed.gpus > 0) return open_pools(run, g, cost, error);
  if (!(run->costs[g] = orr_serving_cost_new(&cost, error))) return FALSE;
  if (orr_speculation_of(&params->engine.speculation).tokens == 0) return TRUE;
  return (run->drafters[g] = orr_drafter_new(&params->engine.speculation, &cost, error)) != NULL;
}

gboolean orr_group_costs_open(OrrServingRun *run, GError **error) {
  const guint n = run->work->groups->len;
  run->worlds = g_new0(OrrWorld, n);
  run->own_worlds = g_new0(OrrWorld, run->work->params.replicas);
  run->costs = g_new0(OrrServingCost *, n);
  run->pools = g_new0(OrrServingPools *, n);
  run->feeds = g_new0(OrrFeedMachine, n);
  run->drafters = g_new0(OrrDrafter *, n);
  for (guint g = 0; g < n; g++)
    if (!open_costs(run, g, error)) return FALSE;
  return TRUE;
}

OrrServingCost *orr_group_costs_at(const OrrServingRun *run, guint replica, const OrrFabric *fabric,
                                   OrrWorld *world, GError **error) {
  const guint g = run->work->replicas[replica].group;
  const OrrServedGroup *group = &g_array_index(run->work->groups, OrrServedGroup, g);
  OrrServingCostParams cost = cost_params(run, g);
  *world = run->worlds[g];
  world->fabric = fabric;
  cost.world = world;
  cost.first_gpu = group->first_gpu + ((gint64)replica - group->first) * group->gpus;
  return orr_serving_cost_new(&cost, error);
}

static void close_cost(OrrServingWork *work, OrrServingCost *cost) {
  const OrrServingParts parts = orr_serving_cost_parts(cost);
  if (!work->missing) work->missing = orr_serving_cost_missing(cost);
  for (int how = 0; how <= ORR_HOW_OUTSIDE; how++)
    work->trust_s[how] += orr_serving_cost_trust(cost)[how];
  work->parts.gpu_s += parts.gpu_s;
  work->parts.attention_s += parts.attention_s;
  work->parts.experts_s += parts.experts_s;
}

static void close_pools(OrrServingWork *work, OrrServingPools *pools) {
  const OrrServingPoolTimes *times = orr_serving_pools_times(pools);
  close_cost(work, orr_serving_pools_feed(pools));
  work->pools.step_s += times->step_s;
  work->pools.attention_s += times->attention_s;
  work->pools.feed_s += times->feed_s;
  work->pools.sends_s += times->sends_s;
}

void orr_group_costs_close(const OrrServingRun *run) {
  OrrServingWork *work = run->work;
  for (guint g = 0; g < work->groups->len; g++) {
    const double *drafted = orr_drafter_trust(run->drafters[g]);
    close_cost(work, run->costs[g]);
    for (int how = 0; drafted && how <= ORR_HOW_OUTSIDE; how++) work->trust_s[how] += drafted[how];
    if (run->pools[g]) close_pools(work, run->pools[g]);
  }
}

void orr_group_costs_free(OrrServingRun *run) {
  for (guint g = 0; run->costs && g < run->work->groups->len; g++) {
    orr_drafter_free(run->drafters[g]);
    orr_serving_pools_free(run->pools[g]);
    orr_serving_cost_free(run->costs[g]);
  }
  ORR_FREE(run->drafters, run->pools, run->feeds, run->costs, run->worlds, run->own_worlds);
}

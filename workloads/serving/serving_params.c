/*
 * serving_params.c - values derived from the document of a serving workload alone.
 */
#include "workloads/serving/serving.h"

#include "workloads/expert_loads/expert_load.h"

OrrInferenceShard orr_serving_shard(const OrrServing *params) {
  OrrInferenceShard shard = {.tp = params->parallel.tp,
                             .dp = params->parallel.dp_attention,
                             .ep = params->parallel.ep,
                             .gathered = g_strcmp0(params->parallel.all_to_all, "gather") == 0,
                             .imbalance = params->parallel.imbalance,
                             .redundant = params->parallel.redundant,
                             .experts_at_once = params->engine.experts_at_once,
                             .pad_hidden = params->engine.experts.pad_hidden,
                             .pad_inner = params->engine.experts.pad_inner,
                             .weights = (OrrDtype)params->formats.precision,
                             .activations = (OrrDtype)params->formats.activations,
                             .kv = (OrrDtype)params->formats.kv};
  if (params->parallel.feed.gpus > 0) {
    shard.part = ORR_PART_MIXER;
    shard.ep = 1;
    shard.redundant = 0;
  }
  orr_inference_quantize(&shard, (OrrQuantization)params->formats.quantization,
                         &params->formats.weights);
  return shard;
}

const OrrDevice *orr_serving_feed_device(const OrrServing *params, const OrrCluster *cluster) {
  const OrrFeedForwardPool *feed = &params->parallel.feed;
  return feed->gpus > 0 && feed->device.name ? &feed->device : &cluster->device;
}

OrrInferenceShard orr_serving_feed_shard(const OrrServing *params) {
  const OrrServingParallel *parallel = &params->parallel;
  OrrInferenceShard shard = orr_serving_shard(params);
  shard.part = ORR_PART_FEED;
  shard.tp = parallel->feed.gpus / parallel->ep;
  shard.dp = shard.ep = parallel->ep;
  shard.redundant = parallel->redundant;
  return shard;
}

static const guint64 expert_seed = 1; /* of where experts are; runs differ in requests alone */

static OrrExpertSpread spread_of(const OrrServing *params, const OrrModel *model) {
  const OrrRebalance *rebalance = &params->parallel.rebalance;
  return (OrrExpertSpread){
      .experts = model->moe.experts,
      .topk = model->moe.topk,
      .ep = params->parallel.ep,
      .redundant = params->parallel.redundant,
      .packed = params->parallel.placement == ORR_EXPERTS_PACKED,
      .aging = rebalance->interval_s > 0 ? rebalance->interval_s / rebalance->drift_s : 0};
}

/* The load of the fullest rank of @model's experts, for OrrInferenceShard.fullest. */
static double fullest_of(const OrrServing *params, const OrrModel *model) {
  const OrrExpertSpread spread = spread_of(params, model);
  return orr_expert_load_fullest(&params->parallel.load, &spread, expert_seed);
}

/* One expert more on each rank, in all layers. */
static double slot_bytes(const OrrServing *params, const OrrModel *model) {
  OrrInferenceShard shard =
      params->parallel.feed.gpus > 0 ? orr_serving_feed_shard(params) : orr_serving_shard(params);
  const double before = orr_inference_weight_bytes(model, &shard, 0, model->layers, FALSE, FALSE);
  shard.redundant += params->parallel.ep;
  return orr_inference_weight_bytes(model, &shard, 0, model->layers, FALSE, FALSE) - before;
}

double orr_serving_rebalance_s(const OrrServing *params, const OrrModel *model,
                               const OrrCluster *cluster) {
  const OrrExpertSpread spread = spread_of(params, model);
  const OrrNodeShape *node = &cluster->node;
  const double inside = cluster->device.scale_up_bytes_per_s * cluster->device.scale_up_efficiency;
  const double across = node->nics_per_gpu * node->nic_bytes_per_s * node->nic_efficiency;
  const gboolean is_inside =
      orr_serving_parallel_gpus(&params->parallel) <= node->scale_up_domain && inside > 0;
  const double link = is_inside ? inside : across;
  const double moved = orr_expert_load_moved(&params->parallel.load, &spread, expert_seed);
  return link > 0 ? moved * slot_bytes(params, model) / link : 0;
}

OrrInferenceShard orr_serving_loaded_shard(const OrrServing *params, const OrrModel *model) {
  OrrInferenceShard shard = orr_serving_shard(params);
  shard.fullest = fullest_of(params, model);
  return shard;
}

guint orr_serving_n_groups(const OrrServing *params) {
  return 1 + (params->groups ? params->groups->len : 0);
}

gint64 orr_serving_layers(const OrrServing *params, const OrrModel *model) {
  return (model->layers + params->parallel.pp - 1) / params->parallel.pp;
}

OrrLora orr_serving_lora(const OrrServing *params) {
  const OrrServingLora *lora = &params->engine.lora;
  return lora->adapters > 0 ? orr_lora_settle(&lora->shape) : (OrrLora){0};
}

gint64 orr_serving_image_tokens(const OrrServing *params, const OrrModel *model) {
  return model->encoder.layers > 0 ? params->images * (gint64)orr_encoder_decoder_tokens(model) : 0;
}

gboolean orr_serving_scales(const OrrServing *params) {
  const OrrAutoscaler *scaler = (const OrrAutoscaler *)params->autoscaling.by.entry;
  return scaler && scaler->wanted != NULL;
}

gboolean orr_serving_is_eventful(const OrrServing *params) {
  return orr_serving_scales(params) || !params->start.warm || orr_serving_shares(params);
}

gboolean orr_serving_shares(const OrrServing *params) {
  ORR_EACH_POINTER(const OrrReplicaGroup, group, params->groups)
    if (group->shares) return TRUE;
  return FALSE;
}

/* Linux lets a thread run for a base slice before others of its core: 0.75 ms times 1 + log2(8)
 * with 8 CPUs or more (kernel/sched/fair.c: base_slice_ns, min_granularity_ns before 6.6). */
#define SLICE_S 3e-3

double orr_serving_neighbours_s(const OrrServingHost *host, const OrrCluster *cluster) {
  const gint64 cores = host->cores > 0 ? host->cores : cluster->node.host.cores;
  const double per_core = host->threads > 0
                              ? (double)(host->neighbours * host->threads) / (double)MAX(cores, 1)
                              : (double)host->neighbours;
  return SLICE_S * fmax(ceil(per_core) - 1, 0);
}

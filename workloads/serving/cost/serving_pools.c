/*
 * serving_pools.c - the pipeline of micro-batches between the pools, its sends, time and energy.
 */
#include "workloads/serving/cost/serving_pools.h"

#include "workloads/collectives/many_to_many.h"

struct OrrServingPools {
  OrrServingCost *attention, *feed;
  const OrrCostModel *machines[2]; /* of attention's GPUs, of the others */
  const OrrModel *model;
  OrrServingPoolParams params;
  double attention_gpus, tp;
  OrrManyToManyTime out, back;
  double out_bytes, back_bytes; /* of a token */
  GArray *stages;               /* of OrrPoolStage: the layers, and the ends of the model */
  /* of a micro-batch and a GPU, out and back: what it sends, and for how long */
  double sent_bytes[2], sent_s[2];
  OrrServingPoolTimes times;
};

OrrServingPools *orr_serving_pools_new(const OrrServingCostParams *params,
                                       OrrServingCost *attention, const OrrServingPoolParams *own,
                                       GError **error) {
  OrrServingPools *pools = g_new0(OrrServingPools, 1);
  const gint64 hidden = params->world->model->hidden, tp = params->shard.tp;
  const gint64 n_attention = tp * MAX(params->shard.dp, 1);
  OrrServingCostParams feed = *params;
  *pools = (OrrServingPools){.attention = attention,
                             .machines = {params->world->cost, own->world->cost},
                             .model = params->world->model,
                             .params = *own,
                             .attention_gpus = (double)n_attention,
                             .tp = (double)tp,
                             .stages = g_array_new(FALSE, FALSE, sizeof(OrrPoolStage))};
  feed.shard = own->shard;
  feed.world = own->world;
  feed.first_gpu = params->first_gpu + n_attention;
  feed.lora = (OrrLora){0};
  feed.is_eager = feed.pads = FALSE;
  const OrrManyToMany out = {params->first_gpu, n_attention, feed.first_gpu, own->gpus},
                      back = {out.to, out.n_to, out.from, out.n_from};
  const OrrCollectiveContext context = {
      .fabric = params->world->fabric, .cost = params->world->cost, .nccl = &params->nccl};
  pools->out = orr_many_to_many(&context, &out);
  pools->back = orr_many_to_many(&context, &back);
  pools->out_bytes = (double)hidden * orr_dtype_bytes(orr_inference_sent(&own->shard));
  pools->back_bytes = (double)hidden * orr_dtype_bytes(own->shard.activations);
  if ((pools->feed = orr_serving_cost_new(&feed, error))) return pools;
  orr_serving_pools_free(pools);
  return NULL;
}

void orr_serving_pools_free(OrrServingPools *pools) {
  if (!pools) return;
  orr_serving_cost_free(pools->feed);
  g_array_unref(pools->stages);
  g_free(pools);
}

OrrServingCost *orr_serving_pools_feed(OrrServingPools *pools) { return pools->feed; }

const OrrServingPoolTimes *orr_serving_pools_times(const OrrServingPools *pools) {
  return &pools->times;
}

/* Bytes from one of attention's GPUs to one of the feed-forwards', of @tokens of a core: a rank of
 * tensor parallelism sends its share of the core's tokens to each group that they meet, a share to
 * each of the group's ranks. */
static double pair_bytes(const OrrServingPools *pools, gint64 layer, double tokens,
                         double token_bytes) {
  const OrrInferenceShard *shard = &pools->params.shard;
  const double met =
      orr_inference_met(pools->model, orr_model_layer_kind(pools->model, layer), shard->dp);
  return tokens / pools->tp * met * token_bytes / (double)shard->tp;
}

/* Fills the stages; power limits and launches stretch all layers of a pool alike. @tokens: of a
 * core, mean. */
static void fill_stages(OrrServingPools *pools, const double stretch[2], double ends_s,
                        double tokens) {
  const gint64 n = pools->model->layers;
  const double gpus = (double)pools->params.gpus;
  memset(pools->sent_bytes, 0, sizeof pools->sent_bytes);
  memset(pools->sent_s, 0, sizeof pools->sent_s);
  g_array_set_size(pools->stages, (guint)n + 1);
  for (gint64 l = 0; l < n; l++) {
    OrrPoolStage *stage = &g_array_index(pools->stages, OrrPoolStage, l);
    *stage =
        (OrrPoolStage){.attention_s = stretch[0] * orr_serving_cost_layer_s(pools->attention, l),
                       .feed_s = stretch[1] * orr_serving_cost_layer_s(pools->feed, l)};
    if (stage->feed_s <= 0) continue;
    const double out = pair_bytes(pools, l, tokens, pools->out_bytes),
                 back = pair_bytes(pools, l, tokens, pools->back_bytes);
    stage->out_s = pools->out.latency_s + pools->out.per_byte_s * out;
    stage->back_s = pools->back.latency_s + pools->back.per_byte_s * back;
    pools->sent_bytes[0] += out * gpus;
    pools->sent_bytes[1] += back * pools->attention_gpus;
    pools->sent_s[0] += stage->out_s;
    pools->sent_s[1] += stage->back_s;
  }
  g_array_index(pools->stages, OrrPoolStage, n) = (OrrPoolStage){.attention_s = ends_s};
}

static double layers_s(const OrrServingPools *pools, const OrrServingCost *cost) {
  double sum_s = 0;
  for (gint64 l = 0; l < pools->model->layers; l++) sum_s += orr_serving_cost_layer_s(cost, l);
  return sum_s;
}

/* Of @n micro-batches on a GPU of pool @side: its kernels, and its sends to the other pool. */
static OrrJoules joules_of(const OrrServingPools *pools, int side, OrrJoules kernels, double n) {
  OrrJoules sum = {0};
  orr_joules_add(&sum, kernels, n);
  orr_joules_add(
      &sum,
      orr_cost_energy_link(pools->machines[side], pools->sent_bytes[side], pools->sent_s[side]), n);
  return sum;
}

OrrStepTime orr_serving_pools_step(OrrServingPools *pools, const OrrStepShape *shape) {
  const OrrInferenceShard *shard = &pools->params.shard;
  const guint m = MIN((guint)pools->params.micro_batches, MAX(shape->decodes + shape->n_chunks, 1));
  const OrrStepShape share = orr_serving_batches_share(shape, m);
  const double own = (double)orr_serving_cost_padded(pools->attention, &share);
  const double all = fmax(ceil(shape->group_tokens > 0 ? shape->group_tokens / m : own), 1);
  const double each = ceil(all / (double)MAX(shard->dp, 1));
  const OrrStepShape fed = {
      .tokens = each, .decodes = (guint)each, .sequences = (guint)each, .group_tokens = all};
  const OrrStepTime attention = orr_serving_cost_step(pools->attention, &share);
  const OrrStepTime feed = orr_serving_cost_step(pools->feed, &fed);
  const double kernels_s = orr_serving_cost_kernels_s(pools->attention),
               fed_s = orr_serving_cost_kernels_s(pools->feed);
  const double stretch[2] = {kernels_s > 0 ? attention.gpu_s / kernels_s : 1,
                             fed_s > 0 ? feed.gpu_s / fed_s : 1};
  const double ends_s = stretch[0] * fmax(kernels_s - layers_s(pools, pools->attention), 0);
  const double cores = pools->attention_gpus / pools->tp;
  fill_stages(pools, stretch, ends_s, all / cores);
  const double step_s = orr_serving_batches_stages_s(
      (const OrrPoolStage *)(gconstpointer)pools->stages->data, pools->stages->len, m, FALSE);
  const double busy_s =
      (pools->attention_gpus * attention.gpu_s + (double)pools->params.gpus * feed.gpu_s) * m /
      (pools->attention_gpus + (double)pools->params.gpus);
  pools->times.step_s += step_s;
  pools->times.attention_s += m * attention.gpu_s;
  pools->times.feed_s += m * feed.gpu_s;
  pools->times.sends_s += m * pools->sent_s[0];
  return (OrrStepTime){.gpu_s = step_s,
                       .stage_s = step_s,
                       .idle_s = step_s - busy_s,
                       .comm_s = m * attention.comm_s,
                       .attention_s = m * attention.attention_s,
                       .joules = joules_of(pools, 0, attention.joules, m),
                       .feed_joules = joules_of(pools, 1, feed.joules, m)};
}

/*
 * serving_params.c - values derived from the document of a serving workload alone.
 */
#include "workloads/serving/serving.h"

OrrInferenceShard orr_serving_shard(const OrrServing *params) {
  OrrInferenceShard shard = {.tp = params->parallel.tp,
                             .dp = params->parallel.dp_attention,
                             .ep = params->parallel.ep,
                             .imbalance = params->parallel.imbalance,
                             .weights = (OrrDtype)params->precision,
                             .activations = (OrrDtype)params->activations,
                             .kv = (OrrDtype)params->kv_dtype};
  orr_inference_quantize(&shard, (OrrQuantization)params->quantization, &params->weights);
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
  return lora->adapters > 0 ? orr_lora_settle(&lora->shape, (OrrPlace){0}, NULL) : (OrrLora){0};
}

gint64 orr_serving_image_tokens(const OrrServing *params, const OrrModel *model) {
  return model->encoder.layers > 0 ? params->images * (gint64)orr_encoder_decoder_tokens(model) : 0;
}

gboolean orr_serving_scales(const OrrServing *params) {
  const OrrAutoscaler *scaler = (const OrrAutoscaler *)params->autoscaling.by.entry;
  return scaler && scaler->wanted != NULL;
}

gboolean orr_serving_is_eventful(const OrrServing *params) {
  return orr_serving_scales(params) || !params->start.warm;
}

/* --- What a client sees --- */

static const OrrSlo *slo_of(const OrrServing *params, guint group) {
  const OrrRequestClass *one =
      params->classes && group < params->classes->len ? params->classes->pdata[group] : NULL;
  const gboolean has_own =
      one && (one->slo.ttft_s > 0 || one->slo.tpot_s > 0 || one->slo.e2e_s > 0);
  return has_own ? &one->slo : &params->slo;
}

OrrServingSeen orr_serving_see(const OrrServing *params, const OrrServedRequest *request) {
  const double token_s = params->engine.host.token_s;
  OrrServingSeen seen = {.queue_s = request->scheduled_s - request->arrival_s,
                         .ttft_s = request->first_token_s - request->arrival_s + token_s,
                         .e2e_s = request->end_s - request->arrival_s + token_s};
  if (request->output > 1) seen.tpot_s = (seen.e2e_s - seen.ttft_s) / (request->output - 1);
  const OrrSlo *slo = slo_of(params, request->group);
  /* A request of one output token has no time per token after the first. vLLM counts it as 0,
   * AIPerf as an objective that is not met. */
  const gboolean has_gap = request->output > 1 || params->metrics.definition != ORR_METRICS_AIPERF;
  seen.first_is_good = slo->ttft_s <= 0 || seen.ttft_s <= slo->ttft_s;
  seen.gap_is_good = slo->tpot_s <= 0 || (has_gap && seen.tpot_s <= slo->tpot_s);
  seen.end_is_good = slo->e2e_s <= 0 || seen.e2e_s <= slo->e2e_s;
  seen.good = seen.first_is_good && seen.gap_is_good && seen.end_is_good;
  return seen;
}

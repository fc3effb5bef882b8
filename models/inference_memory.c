/*
 * inference_memory.c - bytes of weights, cache and state on one GPU of an engine.
 *
 * The cache has 2 kv d / t elements per token and layer; for latent attention Rk + r, a whole copy
 * on each rank. Weights are split over the tensor-parallel group, except latent attention's
 * down-projections, which each rank has, and routed experts, which are split over all tp dp ranks.
 */
#include <math.h>

#include "models/inference.h"

static double layer_kv_bytes(const OrrModel *model, guint kind, const OrrInferenceShard *shard) {
  const double element = orr_dtype_bytes(shard->kv);
  if (!orr_inference_attends(model, kind)) return 0;
  const OrrInferenceHeads heads = orr_inference_decode_heads(model, kind, shard);
  return element * (double)(heads.latent ? heads.head_dim : 2 * heads.kv_heads * heads.head_dim);
}

double orr_inference_kv_bytes(const OrrModel *model, const OrrInferenceShard *shard, gint64 first,
                              gint64 n_layers) {
  double sum = 0;
  for (gint64 layer = first; layer < first + n_layers; layer++)
    sum += layer_kv_bytes(model, orr_model_layer_kind(model, layer), shard);
  return sum;
}

double orr_inference_window_bytes(const OrrModel *model, const OrrInferenceShard *shard,
                                  gint64 first, gint64 n_layers) {
  double sum = 0;
  for (gint64 layer = first; layer < first + n_layers; layer++) {
    const guint kind = orr_model_layer_kind(model, layer);
    if (orr_model_kind(model, kind).mixer == ORR_MIXER_WINDOW)
      sum += layer_kv_bytes(model, kind, shard);
  }
  return sum;
}

double orr_inference_state_bytes(const OrrModel *model, const OrrInferenceShard *shard,
                                 gint64 first, gint64 n_layers) {
  double sum = 0;
  for (gint64 layer = first; layer < first + n_layers; layer++)
    sum += orr_model_state_bytes(model, orr_model_layer_kind(model, layer),
                                 orr_dtype_bytes(shard->activations));
  return sum / (double)shard->tp;
}

/* fp4 has a scale of one byte per 16 weights (NVFP4); fp8's scales are negligible. */
static double weight_size(const OrrInferenceShard *shard, OrrQuantizedPart part) {
  const OrrQuantized *quantized = shard->quantized;
  if (!quantized)
    return orr_dtype_bytes(shard->weights) + (shard->weights == ORR_FP4 ? 1.0 / 16 : 0);
  return part < quantized->from ? orr_dtype_bytes(shard->activations) : quantized->weight_bytes;
}

static double routed_experts(const OrrModel *model, guint kind) {
  const OrrMoe *moe = &model->moe;
  const double products = orr_activation_is_gated(model->activation) ? 3 : 2;
  if (orr_model_kind(model, kind).feed != ORR_FEED_MOE) return 0;
  return products * (double)moe->experts * (double)model->hidden *
         (double)(moe->ffn > 0 ? moe->ffn : model->ffn);
}

static double latent_projections(const OrrModel *model, guint kind) {
  const OrrMla *mla = &model->mla;
  if (mla->kv_rank == 0 || !orr_inference_attends(model, kind)) return 0;
  return (double)model->hidden * (double)(mla->q_rank + mla->kv_rank + mla->rope_dim);
}

static double layer_weight_bytes(const OrrModel *model, guint kind,
                                 const OrrInferenceShard *shard) {
  const double experts = routed_experts(model, kind), whole = latent_projections(model, kind);
  const double mixer = orr_model_mixer_weights(model, kind) - whole, tp = (double)shard->tp;
  const double feed = orr_model_layer_parameters(model, kind) - experts - whole - mixer;
  return (mixer / tp + whole) * weight_size(shard, ORR_QUANTIZED_MIXER) +
         feed / tp * weight_size(shard, ORR_QUANTIZED_FEED) +
         experts / (tp * (double)MAX(shard->dp, 1)) * weight_size(shard, ORR_QUANTIZED_EXPERTS);
}

double orr_inference_weight_bytes(const OrrModel *model, const OrrInferenceShard *shard,
                                  gint64 first, gint64 n_layers, gboolean has_embedding,
                                  gboolean has_head) {
  const double table = (double)model->vocab * (double)model->hidden,
               plain = orr_dtype_bytes(shard->activations);
  double sum = 0, ends = 0;
  for (gint64 layer = first; layer < first + n_layers; layer++)
    sum += layer_weight_bytes(model, orr_model_layer_kind(model, layer), shard);
  if (has_embedding) ends += table;
  if (has_head && !(has_embedding && model->tied_embeddings)) ends += table;
  if (has_embedding && model->encoder.layers > 0)
    ends += (double)model->encoder.layers *
            orr_model_layer_parameters(model, (guint)orr_model_encoder_kind(model));
  return sum + ends * plain / (double)shard->tp;
}

double orr_inference_activation_bytes(const OrrModel *model, const OrrInferenceShard *shard,
                                      gint64 tokens, gint64 sequences) {
  const double inner = 2 * (double)model->ffn / (double)shard->tp;
  const double qkv =
      (double)((model->heads + 2 * model->kv_heads) * model->head_dim) / (double)shard->tp;
  const double layer = (double)tokens * (2 * (double)model->hidden + fmax(inner, qkv));
  return layer * orr_dtype_bytes(shard->activations) +
         4.0 * (double)sequences * (double)model->vocab;
}

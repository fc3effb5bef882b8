/*
 * weight_sync.c - what the entries share.
 */
#include "workloads/post_training/weight_syncs/weight_sync.h"

static double mixer_tensors(const OrrModel *model, OrrLayerKind kind) {
  const double biases = model->bias ? 4 : model->qkv_bias ? 3 : 0;
  if (kind.mixer == ORR_MIXER_MAMBA) return 8;  /* in, conv and its bias, A, D, dt, norm, out */
  if (kind.mixer == ORR_MIXER_LINEAR) return 8; /* likewise */
  if (kind.mixer == ORR_MIXER_NONE) return 0;
  if (kind.mixer == ORR_MIXER_ATTENTION && model->mla.kv_rank > 0)
    return model->mla.q_rank > 0 ? 7 : 5; /* two products a side and a norm between; the output */
  return 4 + biases + (model->qk_norm ? 2 : 0);
}

static double feed_tensors(const OrrModel *model, OrrLayerKind kind) {
  const double products = orr_activation_is_gated(model->activation) ? 3 : 2;
  if (kind.feed == ORR_FEED_MOE)
    return 1 + products * ((double)model->moe.experts + (model->moe.shared_ffn > 0 ? 1 : 0));
  return kind.feed == ORR_FEED_DENSE ? products * (model->bias ? 2 : 1) : 0;
}

double orr_weight_sync_tensors(const OrrModel *model) {
  double sum = model->tied_embeddings ? 2 : 3; /* embedding, final norm, output */
  for (gint64 i = 0; i < model->layers; i++) {
    const OrrLayerKind kind = orr_model_kind(model, orr_model_layer_kind(model, i));
    const double norms = (model->parallel ? 1 : 2) + (model->post_norms ? 2 : 0);
    sum += norms + mixer_tensors(model, kind) + feed_tensors(model, kind);
  }
  return sum;
}

double orr_weight_sync_messages(const OrrWeightSyncParams *params, const OrrWeightLoad *load) {
  if (params->bucket_bytes <= 0) return load->tensors;
  return ceil(load->bytes / params->bucket_bytes - 1e-9);
}

double orr_weight_sync_tensors_s(const OrrWeightSyncParams *params, const OrrWeightLoad *load) {
  return load->tensors * params->tensor_s / load->launch_speed;
}

double orr_weight_sync_message_bytes(const OrrWeightSyncParams *params, const OrrWeightLoad *load) {
  return load->bytes / orr_weight_sync_messages(params, load);
}

/*
 * transformer_weights.c - the parameters that one rank holds, and their bytes.
 *
 * Invariant: with every size of group 1, all layers, the embedding and the head add up to
 * orr_model_parameters.
 *
 * Column- and row-parallel matrices are split over tp, biases of row-parallel ones and norms whole;
 * compressions of latent attention, router and latent projections of experts whole; routed experts
 * over ep and etp. Frozen, all of it moves to `frozen`, and the adapters' r (n + k) each are what
 * is trained.
 */
#include "models/transformer_private.h"

static double matrices_of(int activation) { return orr_activation_is_gated(activation) ? 3 : 2; }

/* `linear` counts what is in linear layers' matrices, `rest` all else; experts beside. */
typedef struct {
  double linear, rest, expert_linear, expert_rest, adapters;
} Count;

static void add_adapter(const OrrTransformerView *view, Count *count, guint target, double n,
                        double k) {
  if (view->shard->lora.targets & target) count->adapters += view->shard->lora.rank * (n + k);
}

static void count_attention(const OrrTransformerView *view, Count *count) {
  double h = view->hidden, qkv = view->q + 2.0 * view->kv;
  gboolean decoder = view->kind.mixer != ORR_MIXER_ENCODER;
  count->linear += h * qkv + h * view->q;
  if (view->bias || (decoder && view->model->qkv_bias)) count->rest += qkv;
  if (view->bias) count->rest += h; /* a row-parallel layer's is whole */
  if (decoder && view->model->qk_norm) count->rest += 2.0 * view->head_dim;
  add_adapter(view, count, ORR_LORA_QKV, qkv, h);
  add_adapter(view, count, ORR_LORA_PROJECTION, h, view->q);
}

static void count_latent(const OrrTransformerView *view, Count *count) {
  const OrrMla *mla = &view->model->mla;
  double h = view->hidden, up = view->heads * (double)(mla->nope_dim + mla->value_dim),
         q_in = mla->q_rank;
  if (!mla->q_rank) q_in = h;
  count->linear += h * mla->q_rank + q_in * view->q + h * (mla->kv_rank + mla->rope_dim) +
                   mla->kv_rank * up + view->context * h;
  count->rest += (double)mla->q_rank + mla->kv_rank;
  if (mla->q_rank) add_adapter(view, count, ORR_LORA_QKV, mla->q_rank, h);
  add_adapter(view, count, ORR_LORA_QKV, view->q, q_in);
  add_adapter(view, count, ORR_LORA_QKV, mla->kv_rank + mla->rope_dim, h);
  add_adapter(view, count, ORR_LORA_QKV, up, mla->kv_rank);
  add_adapter(view, count, ORR_LORA_PROJECTION, h, view->context);
}

static void count_mamba(const OrrTransformerView *view, Count *count) {
  const OrrMamba *mamba = &view->model->mamba;
  double heads = (double)mamba->heads / view->tp, groups = (double)mamba->groups / view->tp,
         h = view->hidden;
  double d = heads * mamba->head_dim, bc = 2 * groups * mamba->state;
  count->linear += h * (2 * d + bc + heads) + d * h;
  count->rest += (mamba->conv + 1.0) * (d + bc) + 3 * heads + d;
}

static void count_linear(const OrrTransformerView *view, Count *count) {
  const OrrLinear *linear = &view->model->linear;
  double k = (double)linear->key_heads * linear->key_dim / view->tp,
         heads = (double)linear->value_heads / view->tp;
  double v = heads * linear->value_dim, h = view->hidden, conv = linear->conv * (2 * k + v);
  gboolean delta = linear->kind == ORR_LINEAR_GATED_DELTA;
  count->linear += h * (2 * k + 2 * v + (delta ? 2 * heads : 0)) + v * h;
  count->rest += delta ? conv + 2 * heads + linear->value_dim : conv + v;
}

static void count_mixer(const OrrTransformerView *view, Count *count) {
  if (view->kind.mixer == ORR_MIXER_MAMBA)
    count_mamba(view, count);
  else if (view->kind.mixer == ORR_MIXER_LINEAR)
    count_linear(view, count);
  else if (view->kind.mixer != ORR_MIXER_NONE && orr_transformer_is_latent(view))
    count_latent(view, count);
  else if (view->kind.mixer != ORR_MIXER_NONE)
    count_attention(view, count);
}

static void count_mlp(const OrrTransformerView *view, Count *count) {
  double h = view->hidden;
  count->linear += h * view->fc1_width + h * view->ffn;
  if (view->bias) count->rest += view->fc1_width + h;
  add_adapter(view, count, ORR_LORA_FC1, view->fc1_width, h);
  add_adapter(view, count, ORR_LORA_FC2, h, view->ffn);
}

static void count_moe(const OrrTransformerView *view, Count *count) {
  const OrrMoe *moe = &view->model->moe;
  OrrTransformerRouting r = orr_transformer_routing(view);
  double experts = (double)moe->experts / r.ep, ffn = (double)r.ffn / r.etp,
         products = matrices_of(view->activation);
  double h = view->hidden, shared = (double)moe->shared_ffn / view->tp;
  count->expert_linear += experts * products * r.width * ffn;
  if (view->bias) count->expert_rest += experts * ((products - 1) * ffn + h);
  count->linear += products * h * shared;
  count->rest += h * moe->experts + (view->bias ? moe->experts : 0) + (moe->shared_gate ? h : 0) +
                 2 * h * moe->latent;
}

static double norm_parameters(const OrrTransformerView *view) {
  return (view->norm == ORR_NORM_LAYERNORM && view->bias ? 2.0 : 1.0) * view->hidden;
}

static double count_norms(const OrrTransformerView *view) {
  int blocks = (view->kind.mixer != ORR_MIXER_NONE) + (view->kind.feed != ORR_FEED_NONE);
  gboolean decoder = view->kind.mixer != ORR_MIXER_ENCODER;
  double norms = decoder && view->model->parallel ? 1 : blocks;
  return norms * (decoder && view->model->post_norms && !view->model->parallel ? 2 : 1) *
         norm_parameters(view);
}

static OrrWeights settle(const OrrShard *shard, const Count *count) {
  if (shard->lora.rank > 0)
    return (OrrWeights){.dense = count->adapters,
                        .frozen =
                            count->linear + count->rest + count->expert_linear + count->expert_rest,
                        .linear = count->linear + count->expert_linear};
  return (OrrWeights){.dense = count->linear + count->rest,
                      .experts = count->expert_linear + count->expert_rest,
                      .linear = count->linear + count->expert_linear};
}

OrrWeights orr_transformer_layer_weights(const OrrModel *model, guint kind, const OrrShard *shard) {
  OrrTransformerView view = orr_transformer_view(model, kind, shard);
  Count count = {0};
  count_mixer(&view, &count);
  if (view.kind.feed == ORR_FEED_DENSE) count_mlp(&view, &count);
  if (view.kind.feed == ORR_FEED_MOE) count_moe(&view, &count);
  count.rest += count_norms(&view);
  return settle(shard, &count);
}

/* --- ends --- */

static double table_parameters(const OrrModel *model, const OrrShard *shard) {
  return (double)orr_transformer_view(model, 0, shard).vocab * model->hidden;
}

/* The encoder's ends, whole on each rank: what orr_model_embedding_parameters has beyond tables,
 * positions, a norm. */
static double encoder_end_parameters(const OrrModel *model) {
  OrrModel bare = *model;
  bare.encoder.layers = 0;
  return orr_model_embedding_parameters(model) - orr_model_embedding_parameters(&bare);
}

OrrWeights orr_transformer_embedding_weights(const OrrModel *model, const OrrShard *shard) {
  double positions =
      model->position == ORR_POSITION_LEARNED ? (double)model->context * model->hidden : 0;
  Count count = {.rest =
                     table_parameters(model, shard) + positions + encoder_end_parameters(model)};
  return settle(shard, &count);
}

OrrWeights orr_transformer_head_weights(const OrrModel *model, const OrrShard *shard,
                                        gboolean shares_embedding) {
  double logits = shares_embedding ? 0 : table_parameters(model, shard);
  Count count = {.rest = orr_model_norm_parameters(model) + logits};
  return settle(shard, &count);
}

OrrWeights orr_transformer_mtp_weights(const OrrModel *model, const OrrShard *shard) {
  double h = model->hidden, tp = MAX(1, shard->tp);
  OrrWeights layer =
      orr_transformer_layer_weights(model, orr_model_layer_kind(model, model->layers - 1), shard);
  Count count = {.linear = 2 * h * h / tp, .rest = 3 * orr_model_norm_parameters(model)};
  OrrWeights own = settle(shard, &count);
  return (OrrWeights){.dense = layer.dense + own.dense,
                      .experts = layer.experts + own.experts,
                      .frozen = layer.frozen + own.frozen,
                      .linear = layer.linear + own.linear};
}

/* --- bytes --- */

/* Beside adapters all of `linear` is frozen. */
gboolean orr_shard_is_frozen_narrow(const OrrShard *shard) {
  return shard->lora.rank > 0 && !shard->lora.quantised && orr_precision_casts(shard->recipe) &&
         shard->recipe->frozen_narrow;
}

double orr_transformer_weight_bytes(const OrrShard *shard, OrrWeights weights) {
  double all = orr_weights_sum(weights), element_bytes = orr_dtype_bytes(shard->dtype);
  if (shard->lora.rank > 0 && shard->lora.quantised)
    return (all - weights.linear) * element_bytes + weights.linear * ORR_NF4_BYTES;
  if (orr_shard_is_frozen_narrow(shard))
    return (all - weights.linear) * element_bytes +
           weights.linear * shard->recipe->weight_copy_bytes;
  double copies = orr_precision_casts(shard->recipe) ? shard->recipe->weight_copy_bytes : 0;
  return all * element_bytes + weights.linear * copies;
}

void orr_transformer_weight_cast(const OrrShard *shard, OrrWeights weights, GArray *operators) {
  if (!orr_precision_casts(shard->recipe) || weights.linear <= 0) return;
  OrrOperator op = orr_operator_memory("weight-cast", ORR_PASS_OPTIMIZER, shard->dtype,
                                       weights.linear * shard->recipe->weight_cast_bytes, 0);
  g_array_append_val(operators, op);
}

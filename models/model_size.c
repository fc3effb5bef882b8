/*
 * model_size.c - a model's parameters, FLOPs, and cache and state per token, by kind of layer.
 *
 * Invariants:
 *  1. Parameters are counted exactly: matrices, biases, norms, embeddings (Megatron's layout).
 *  2. FLOPs are those of matrix products alone, a multiply-add as two; attention without the causal
 *     half.
 *
 * With q = heads * head_dim, kv = kv_heads * head_dim, f = ffn, the matrices of a layer with plain
 * attention and MLP have
 *
 *   h (q + 2 kv) + q h + (2 or, gated, 3) h f
 *
 * parameters, each of which costs 2 FLOPs per token and pass; attention adds 4 s q (scores and
 * context). For GPT (q = kv = h, f = 4h) that is 12 h^2 and 4 s h, which gives Narayanan et al.,
 * SC21 (arXiv 2104.04473), eq. 2 and 3. Of experts, topk count per token. The rest:
 *
 *   latent attention   h Rq + Rq a (n + r) + h (Rk + r) + Rk a (n + v) + a v h;  core 2 s a (n + r
 *                      + v) (a heads; n, r, v widths without and with position and of values; Rq,
 *                      Rk ranks; arXiv 2405.04434)
 *   window W           core: pairs of the window, doubled as the causal half is elsewhere: 2 q (2 W
 *                      s - W^2) / s
 *   Mamba-2            h (2 d + 2 g N + H) + d h;  scan 7 d N
 *                      (d = H P; Megatron-LM, training.py, mamba_layer_flops)
 *   gated delta        h (2 K + 2 V + 2 Hv) + V h;  2 c (2 K + V) + 8 V v    (the same,
 *                                                                            gdn_layer_flops)
 *   lightning          h (2 K + 2 V) + V h;  4 H k v + 2 C H (k + v)         (arXiv 2501.08313;
 *                                                                            chunks of C)
 */
#include "models/model.h"

/* --- encoder --- */

double orr_encoder_patches(const OrrModel *model) {
  const OrrEncoder *encoder = &model->encoder;
  double side = encoder->patch ? (double)(encoder->image / encoder->patch) : 0;
  return encoder->layers ? side * side : 0;
}

double orr_encoder_tokens(const OrrModel *model) {
  return model->encoder.layers ? orr_encoder_patches(model) + (double)model->encoder.extra_tokens
                               : 0;
}

double orr_encoder_decoder_tokens(const OrrModel *model) {
  double merge = (double)MAX(1, model->encoder.merge);
  return orr_encoder_patches(model) / (merge * merge);
}

double orr_encoder_patch_width(const OrrModel *model) {
  const OrrEncoder *encoder = &model->encoder;
  return encoder->layers ? 3.0 * encoder->patch * encoder->patch * MAX(1, encoder->frames) : 0;
}

double orr_encoder_projector_width(const OrrModel *model) {
  const OrrEncoder *encoder = &model->encoder;
  return encoder->layers ? (double)encoder->hidden * MAX(1, encoder->merge) * MAX(1, encoder->merge)
                         : 0;
}

/* The weights of the projector's two layers. */
static double projector_weights(const OrrModel *model) {
  double inner = model->encoder.projector ? model->encoder.projector : model->hidden;
  return orr_encoder_projector_width(model) * inner + inner * model->hidden;
}

static double encoder_norm_parameters(const OrrModel *model) {
  return (model->encoder.norm == ORR_NORM_LAYERNORM ? 2.0 : 1.0) * model->encoder.hidden;
}

/* Patch embedding, positions, class token, the norms around the tower (two, as CLIP's; one,
 * before the projector, where positions are rotary), the projector. */
static double encoder_end_parameters(const OrrModel *model) {
  const OrrEncoder *encoder = &model->encoder;
  if (!encoder->layers) return 0;
  double h = encoder->hidden, inner = encoder->projector ? encoder->projector : model->hidden;
  double positions = encoder->learned_positions ? orr_encoder_tokens(model) * h : 0;
  double norms = (encoder->learned_positions ? 2 : 1) * encoder_norm_parameters(model);
  return orr_encoder_patch_width(model) * h + positions + encoder->extra_tokens * h + norms +
         projector_weights(model) + inner + model->hidden;
}

/* --- matrices of one layer --- */

static double query_width(const OrrModel *model) { return (double)model->heads * model->head_dim; }
static double key_width(const OrrModel *model) { return (double)model->kv_heads * model->head_dim; }
static gboolean is_latent(const OrrModel *model) { return model->mla.kv_rank > 0; }
static double matrices_of(int activation) { return orr_activation_is_gated(activation) ? 3 : 2; }

static double latent_weights(const OrrModel *model) {
  const OrrMla *mla = &model->mla;
  double h = model->hidden, a = model->heads, q = a * (mla->nope_dim + mla->rope_dim);
  double queries = mla->q_rank ? h * mla->q_rank + mla->q_rank * q : h * q;
  return queries + h * (mla->kv_rank + mla->rope_dim) +
         mla->kv_rank * a * (mla->nope_dim + mla->value_dim) + a * mla->value_dim * h;
}

static double mamba_width(const OrrModel *model) {
  return (double)model->mamba.heads * model->mamba.head_dim;
}

static double mamba_weights(const OrrModel *model) {
  const OrrMamba *mamba = &model->mamba;
  double h = model->hidden, d = mamba_width(model);
  return h * (2 * d + 2.0 * mamba->groups * mamba->state + mamba->heads) + d * h;
}

static double linear_keys(const OrrModel *model) {
  return (double)model->linear.key_heads * model->linear.key_dim;
}
static double linear_values(const OrrModel *model) {
  return (double)model->linear.value_heads * model->linear.value_dim;
}

static double linear_weights(const OrrModel *model) {
  double h = model->hidden, k = linear_keys(model), v = linear_values(model);
  double gates = model->linear.kind == ORR_LINEAR_GATED_DELTA ? 2.0 * model->linear.value_heads : 0;
  return h * (2 * k + 2 * v + gates) + v * h;
}

static double encoder_weights(const OrrModel *model) {
  const OrrEncoder *encoder = &model->encoder;
  double h = encoder->hidden;
  return 4 * h * h + matrices_of(encoder->activation) * h * encoder->ffn;
}

static double mixer_weights(const OrrModel *model, int mixer) {
  double h = model->hidden, q = query_width(model), kv = key_width(model);
  switch (mixer) {
  case ORR_MIXER_ATTENTION:
  case ORR_MIXER_WINDOW:
    return is_latent(model) ? latent_weights(model) : h * (q + 2 * kv) + q * h;
  case ORR_MIXER_MAMBA:
    return mamba_weights(model);
  case ORR_MIXER_LINEAR:
    return linear_weights(model);
  default:
    return 0;
  }
}

/* The weights of @experts routed experts, the shared ones, the router and latent projections. */
static double moe_weights(const OrrModel *model, double experts) {
  const OrrMoe *moe = &model->moe;
  double h = model->hidden, products = matrices_of(model->activation),
         width = moe->latent ? moe->latent : h;
  double ffn = moe->ffn ? moe->ffn : model->ffn;
  return experts * products * width * ffn + h * moe->experts + products * h * moe->shared_ffn +
         (moe->shared_gate ? h : 0) + 2 * h * moe->latent;
}

static double feed_weights(const OrrModel *model, int feed, double experts) {
  if (feed == ORR_FEED_MOE) return moe_weights(model, experts);
  return feed == ORR_FEED_DENSE ? matrices_of(model->activation) * model->hidden * model->ffn : 0;
}

/* Parameters of a layer's matrices, which determine its GEMMs' FLOPs. */
static double layer_weights(const OrrModel *model, guint kind, double experts) {
  OrrLayerKind parts = orr_model_kind(model, kind);
  if (parts.mixer == ORR_MIXER_ENCODER) return encoder_weights(model);
  return mixer_weights(model, parts.mixer) + feed_weights(model, parts.feed, experts);
}

/* --- biases, norms and other vectors --- */

double orr_model_norm_parameters(const OrrModel *model) {
  return (model->norm == ORR_NORM_LAYERNORM && model->bias ? 2.0 : 1.0) * model->hidden;
}

static double attention_vectors(const OrrModel *model) {
  double q = query_width(model), kv = key_width(model),
         vectors = model->qk_norm ? 2.0 * model->head_dim : 0;
  if (is_latent(model)) return (double)model->mla.q_rank + model->mla.kv_rank;
  if (model->bias || model->qkv_bias) vectors += q + 2 * kv;
  return vectors + (model->bias ? model->hidden : 0);
}

/* Mamba: convolution with a bias, A, D and the bias of dt for each head, the gated norm. Gated
 * delta: convolution, A and the bias of dt, a norm of a head's width. Lightning: a norm of all
 * values. */
static double state_vectors(const OrrModel *model, int mixer) {
  const OrrMamba *mamba = &model->mamba;
  const OrrLinear *linear = &model->linear;
  double d = mamba_width(model), v = linear_values(model);
  if (mixer == ORR_MIXER_MAMBA)
    return (mamba->conv + 1.0) * (d + 2.0 * mamba->groups * mamba->state) + 3.0 * mamba->heads + d;
  if (mixer != ORR_MIXER_LINEAR) return 0;
  double conv = linear->conv * (2 * linear_keys(model) + v);
  return linear->kind == ORR_LINEAR_GATED_DELTA
             ? conv + 2.0 * linear->value_heads + linear->value_dim
             : conv + v;
}

static double feed_vectors(const OrrModel *model, int feed, double experts) {
  double gates = orr_activation_is_gated(model->activation) ? 2 : 1;
  if (!model->bias || feed == ORR_FEED_NONE) return 0;
  if (feed == ORR_FEED_DENSE) return gates * model->ffn + model->hidden;
  return experts * (gates * (model->moe.ffn ? model->moe.ffn : model->ffn) + model->hidden) +
         model->moe.experts;
}

static double encoder_vectors(const OrrModel *model) {
  const OrrEncoder *encoder = &model->encoder;
  double gates = orr_activation_is_gated(encoder->activation) ? 2 : 1;
  return 4.0 * encoder->hidden + gates * encoder->ffn + encoder->hidden +
         2 * encoder_norm_parameters(model);
}

static double layer_vectors(const OrrModel *model, guint kind, double experts) {
  OrrLayerKind parts = orr_model_kind(model, kind);
  if (parts.mixer == ORR_MIXER_ENCODER) return encoder_vectors(model);
  double blocks = (parts.mixer != ORR_MIXER_NONE) + (parts.feed != ORR_FEED_NONE);
  double norms = model->parallel ? 1 : blocks * (model->post_norms ? 2 : 1);
  double vectors = parts.mixer == ORR_MIXER_ATTENTION || parts.mixer == ORR_MIXER_WINDOW
                       ? attention_vectors(model)
                       : state_vectors(model, parts.mixer);
  return vectors + feed_vectors(model, parts.feed, experts) +
         norms * orr_model_norm_parameters(model);
}

/* --- parameters --- */

static double layer_parameters(const OrrModel *model, guint kind, double experts) {
  return layer_weights(model, kind, experts) + layer_vectors(model, kind, experts);
}

double orr_model_layer_parameters(const OrrModel *model, guint kind) {
  return layer_parameters(model, kind, model->moe.experts);
}

double orr_model_mixer_weights(const OrrModel *model, guint kind) {
  return mixer_weights(model, orr_model_kind(model, kind).mixer);
}

double orr_model_layer_active_parameters(const OrrModel *model, guint kind) {
  return layer_parameters(model, kind, model->moe.topk);
}

double orr_model_embedding_parameters(const OrrModel *model) {
  double tokens = (double)model->vocab * model->hidden;
  double positions =
      model->position == ORR_POSITION_LEARNED ? (double)model->context * model->hidden : 0;
  return (model->tied_embeddings ? 1 : 2) * tokens + positions + orr_model_norm_parameters(model) +
         encoder_end_parameters(model);
}

static double sum_of_layers(const OrrModel *model,
                            double (*of)(const OrrModel *model, guint kind)) {
  double sum = 0;
  for (guint kind = 0; kind < orr_model_n_layer_kinds(model); kind++)
    sum += orr_model_kind_layers(model, kind) * of(model, kind);
  return sum;
}

double orr_model_parameters(const OrrModel *model) {
  return sum_of_layers(model, orr_model_layer_parameters) + orr_model_embedding_parameters(model);
}

double orr_model_active_parameters(const OrrModel *model) {
  return sum_of_layers(model, orr_model_layer_active_parameters) +
         orr_model_embedding_parameters(model);
}

/* Each has a layer of the kind of the last one, a projection of the token's and the state's
 * norms, and a final norm (DeepSeek-V3, arXiv 2412.19437, section 2.2); it shares the model's
 * embedding and output layer. */
double orr_model_mtp_parameters(const OrrModel *model) {
  double h = model->hidden,
         last = orr_model_layer_parameters(model, orr_model_layer_kind(model, model->layers - 1));
  return model->mtp_layers * (last + 2 * h * h + 3 * orr_model_norm_parameters(model));
}

/* --- cache and state --- */

double orr_model_kv_bytes(const OrrModel *model, guint kind, double element_bytes) {
  int mixer = orr_model_kind(model, kind).mixer;
  if (mixer != ORR_MIXER_ATTENTION && mixer != ORR_MIXER_WINDOW) return 0;
  return element_bytes *
         (is_latent(model) ? model->mla.kv_rank + model->mla.rope_dim : 2 * key_width(model));
}

double orr_model_state_bytes(const OrrModel *model, guint kind, double element_bytes) {
  const OrrMamba *mamba = &model->mamba;
  const OrrLinear *linear = &model->linear;
  int mixer = orr_model_kind(model, kind).mixer;
  double d = mamba_width(model);
  if (mixer == ORR_MIXER_MAMBA)
    return 4 * d * mamba->state +
           element_bytes * (mamba->conv - 1) * (d + 2.0 * mamba->groups * mamba->state);
  if (mixer == ORR_MIXER_LINEAR)
    return 4 * linear_values(model) * linear->key_dim +
           element_bytes * MAX(0, linear->conv - 1) *
               (2 * linear_keys(model) + linear_values(model));
  return 0;
}

double orr_model_kv_bytes_per_token(const OrrModel *model, double element_bytes) {
  double sum = 0;
  for (guint kind = 0; kind < orr_model_n_layer_kinds(model); kind++)
    sum += orr_model_kind_layers(model, kind) * orr_model_kv_bytes(model, kind, element_bytes);
  return sum;
}

/* --- FLOPs of one forward pass; @layers of the kind --- */

/* Mean scores per token, without the factor of a half for the causal mask. */
static double scores_of(const OrrModel *model, int mixer, double sequence) {
  double size = model->window.size;
  if (mixer != ORR_MIXER_WINDOW || size <= 0 || size >= sequence) return sequence;
  return model->window.chunked ? size : 2 * size - size * size / sequence;
}

static double linear_core_flops(const OrrModel *model, double tokens) {
  const OrrLinear *linear = &model->linear;
  double k = linear_keys(model), v = linear_values(model), heads = linear->value_heads;
  if (linear->kind == ORR_LINEAR_GATED_DELTA)
    return 2 * tokens * (linear->conv * (2 * k + v) + 4 * v * linear->value_dim);
  double key = linear->key_dim, value = linear->value_dim;
  return tokens * heads * (4 * key * value + 2.0 * linear->chunk * (key + value));
}

static double core_flops(const OrrModel *model, guint kind, double layers, double batch,
                         double sequence) {
  const OrrMla *mla = &model->mla;
  int mixer = orr_model_kind(model, kind).mixer;
  double seen = scores_of(model, mixer, sequence), image = orr_encoder_tokens(model);
  switch (mixer) {
  case ORR_MIXER_ATTENTION:
  case ORR_MIXER_WINDOW:
    if (is_latent(model))
      return layers * batch * 2 * sequence * seen * model->heads *
             (mla->nope_dim + mla->rope_dim + mla->value_dim);
    return layers * batch * 4 * sequence * seen * query_width(model);
  case ORR_MIXER_MAMBA:
    return layers * batch * 7 * sequence * mamba_width(model) * model->mamba.state;
  case ORR_MIXER_LINEAR:
    return layers * linear_core_flops(model, batch * sequence);
  case ORR_MIXER_ENCODER:
    return layers * batch * model->encoder.images * 4 * image * image * model->encoder.hidden;
  default:
    return 0;
  }
}

static double kind_flops(const OrrModel *model, guint kind, double layers, double batch,
                         double sequence) {
  gboolean encodes = orr_model_kind(model, kind).mixer == ORR_MIXER_ENCODER;
  double tokens = encodes ? model->encoder.images * orr_encoder_tokens(model) : sequence;
  return layers * 2 * batch * tokens * layer_weights(model, kind, model->moe.topk) +
         core_flops(model, kind, layers, batch, sequence);
}

double orr_model_layer_flops(const OrrModel *model, guint kind, double batch, double sequence) {
  return kind_flops(model, kind, 1, batch, sequence);
}

double orr_model_core_flops(const OrrModel *model, guint kind, double batch, double sequence) {
  return core_flops(model, kind, 1, batch, sequence);
}

static double all_core_flops(const OrrModel *model, double batch, double sequence) {
  double sum = 0;
  for (guint kind = 0; kind < orr_model_n_layer_kinds(model); kind++)
    sum += core_flops(model, kind, orr_model_kind_layers(model, kind), batch, sequence);
  return sum;
}

static double all_layers_flops(const OrrModel *model, double batch, double sequence) {
  double sum = 0;
  for (guint kind = 0; kind < orr_model_n_layer_kinds(model); kind++)
    sum += kind_flops(model, kind, orr_model_kind_layers(model, kind), batch, sequence);
  return sum;
}

static double logits_flops(const OrrModel *model, double batch, double sequence) {
  return 2 * batch * sequence * model->hidden * model->vocab;
}

static double encoder_end_flops(const OrrModel *model, double batch) {
  const OrrEncoder *encoder = &model->encoder;
  double patches = orr_encoder_patches(model) * orr_encoder_patch_width(model) * encoder->hidden;
  double images = batch * encoder->images;
  return encoder->layers
             ? 2 * images * (patches + orr_encoder_decoder_tokens(model) * projector_weights(model))
             : 0;
}

static double mtp_flops(const OrrModel *model, double batch, double sequence) {
  double h = model->hidden;
  guint last = orr_model_layer_kind(model, model->layers - 1);
  return model->mtp_layers * (kind_flops(model, last, 1, batch, sequence) +
                              4 * batch * sequence * h * h + logits_flops(model, batch, sequence));
}

double orr_model_flops(const OrrModel *model, double batch, double sequence) {
  return 3 * (all_layers_flops(model, batch, sequence) + logits_flops(model, batch, sequence) +
              encoder_end_flops(model, batch) + mtp_flops(model, batch, sequence));
}

double orr_model_matrix_flops(const OrrModel *model, double batch, double sequence) {
  guint last = orr_model_layer_kind(model, model->layers - 1);
  double cores = all_core_flops(model, batch, sequence) +
                 model->mtp_layers * core_flops(model, last, 1, batch, sequence);
  return orr_model_flops(model, batch, sequence) / 3 - cores;
}

double orr_model_hardware_flops(const OrrModel *model, double batch, double sequence,
                                OrrRecompute recompute) {
  double flops = orr_model_flops(model, batch, sequence);
  if (recompute == ORR_RECOMPUTE_SELECTIVE) flops += all_core_flops(model, batch, sequence);
  if (recompute == ORR_RECOMPUTE_FULL) flops += all_layers_flops(model, batch, sequence);
  return flops;
}

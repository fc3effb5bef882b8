/*
 * model_size.c - a model's parameters, FLOPs, and cache and state per token, by kind of layer.
 *
 * Invariants:
 *  1. Parameters are counted exactly: matrices, biases, norms, embeddings (Megatron's layout).
 *  2. FLOPs count matrix products alone, a multiply-add as two; attention without the causal
 *     half.
 *
 * Each parameter of a layer's matrices (layer.h) costs 2 FLOPs per token and pass; of experts, topk
 * count. Attention adds 4 s q (scores and context). For GPT (q = kv = h, f = 4h) that is 12 h^2 and
 * 4 s h, which gives Narayanan et al., SC21 (arXiv 2104.04473), eq. 2 and 3. The other cores:
 *
 *   latent attention   2 s a (n + r + v)    (a heads; n, r, v widths without and with position and
 *                                           of values; arXiv 2405.04434)
 *   window W           pairs of the window, doubled as the causal half is elsewhere: 2 q (2 W s -
 *                      W^2) / s
 *   sparse, topk t     as a window of t, and the indexer's scores, 2 s i d, where it has one
 *   compressed         entries instead of tokens: s / r, or the best t of them, and the window's
 *   cross-attention    4 S q                (S tokens of the encoder's result)
 *   Mamba-2            7 d N                (d = H P; Megatron-LM, training.py, mamba_layer_flops)
 *   gated delta        2 c (2 K + V) + 8 V v                  (the same, gdn_layer_flops; Kimi's
 *                      and RWKV-7's states are read, written and corrected the same)
 *   lightning          4 H k v + 2 C H (k + v)                (arXiv 2501.08313; chunks of C)
 */
#include "models/layer.h"

/* --- encoder --- */

double orr_encoder_patches(const OrrModel *model) {
  const OrrEncoder *encoder = &model->encoder;
  double side = encoder->patch ? (double)(encoder->image / encoder->patch) : 0;
  if (encoder->layers && encoder->tokens > 0) return (double)encoder->tokens;
  return encoder->layers ? side * side : 0;
}

double orr_encoder_tokens(const OrrModel *model) {
  return model->encoder.layers ? orr_encoder_patches(model) + (double)model->encoder.extra_tokens
                               : 0;
}

double orr_encoder_decoder_tokens(const OrrModel *model) {
  double merge = (double)MAX(1, model->encoder.merge);
  if (model->cross.tokens > 0) return 0;
  return orr_encoder_patches(model) / (merge * merge);
}

double orr_encoder_patch_width(const OrrModel *model) {
  const OrrEncoder *encoder = &model->encoder;
  if (encoder->layers && encoder->values > 0) return (double)encoder->values;
  return encoder->layers ? 3.0 * encoder->patch * encoder->patch * MAX(1, encoder->frames) : 0;
}

double orr_encoder_projector_width(const OrrModel *model) {
  const OrrEncoder *encoder = &model->encoder;
  return encoder->layers ? (double)encoder->hidden * MAX(1, encoder->merge) * MAX(1, encoder->merge)
                         : 0;
}

/* The weights of the projector's two layers. */
static double projector_weights(const OrrModel *model) {
  if (model->cross.tokens > 0) return 0;
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
         projector_weights(model) + (model->cross.tokens > 0 ? 0 : inner + model->hidden);
}

/* --- parameters --- */

static OrrLayer whole(const OrrModel *model, guint kind) { return orr_layer(model, kind, 1, 1, 1); }

double orr_model_norm_parameters(const OrrModel *model) {
  return (model->norm == ORR_NORM_LAYERNORM && model->bias ? 2.0 : 1.0) * model->hidden;
}

/* Of a layer's matrices, with @experts routed ones. */
static double layer_weights(const OrrLayer *layer, double experts) {
  double sum = 0;
  for (guint i = 0; i < layer->n_matrices; i++)
    sum += orr_matrix_weights(&layer->matrices[i], experts);
  return sum;
}

static double layer_parameters(const OrrModel *model, guint kind, double experts) {
  const OrrLayer layer = whole(model, kind);
  double sum = layer_weights(&layer, experts) + layer.vectors;
  for (guint i = 0; i < layer.n_matrices; i++)
    sum += orr_matrix_biases(&layer.matrices[i], experts);
  return sum;
}

double orr_model_layer_parameters(const OrrModel *model, guint kind) {
  return layer_parameters(model, kind, model->moe.experts);
}

/* With topk experts instead of all. */
static double layer_active_parameters(const OrrModel *model, guint kind) {
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
  return sum_of_layers(model, layer_active_parameters) + orr_model_embedding_parameters(model);
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
  const OrrLayer layer = whole(model, kind);
  if (!orr_mixer_attends(layer.kind.mixer)) return 0;
  const double width = layer.compressed ? layer.head_dim
                       : layer.latent   ? model->mla.kv_rank + model->mla.rope_dim
                                        : 2 * layer.kv;
  return (element_bytes * width + orr_model_index_bytes(model, kind)) /
         orr_model_entry_tokens(model, kind);
}

double orr_model_entry_tokens(const OrrModel *model, guint kind) {
  const int mixer = orr_model_kind(model, kind).mixer;
  if (mixer == ORR_MIXER_CSA) return (double)model->compressed.ratio;
  return mixer == ORR_MIXER_HCA ? (double)model->compressed.heavy : 1;
}

/* fp8 with an fp32 scale for each 128 (DeepSeek-V3.2). */
double orr_model_index_bytes(const OrrModel *model, guint kind) {
  const OrrSparse *sparse = &model->sparse;
  if (!orr_mixer_indexes(orr_model_kind(model, kind).mixer) || !sparse->index_heads) return 0;
  return (double)sparse->index_dim + 4 * ceil((double)sparse->index_dim / 128);
}

double orr_model_state_bytes(const OrrModel *model, guint kind, double element_bytes) {
  const OrrLayer layer = whole(model, kind);
  const OrrScan *scan = &layer.scan;
  if (layer.kind.mixer == ORR_MIXER_CROSS)
    return element_bytes * 2 * (double)(layer.kv * model->cross.tokens);
  return 4 * (double)(scan->out * scan->key) +
         element_bytes * (double)(MAX(0, scan->taps - 1) * scan->conv + scan->shift);
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
  const OrrSparse *sparse = &model->sparse;
  double size =
      orr_mixer_is_sparse(mixer) ? (double)(sparse->topk * sparse->block) : model->window.size;
  if (mixer != ORR_MIXER_WINDOW && !orr_mixer_is_sparse(mixer)) return sequence;
  if (size <= 0 || size >= sequence) return sequence;
  return model->window.chunked && mixer == ORR_MIXER_WINDOW ? size
                                                            : 2 * size - size * size / sequence;
}

/* Of compressed attention: the chosen or all entries, and the window's tokens. */
static double entries_of(const OrrModel *model, int mixer, double sequence) {
  const double ratio =
      (double)(mixer == ORR_MIXER_CSA ? model->compressed.ratio : model->compressed.heavy);
  const double entries = sequence / ratio, top = (double)model->sparse.topk;
  const double near = scores_of(model, ORR_MIXER_WINDOW, sequence);
  if (mixer == ORR_MIXER_WINDOW) return near;
  return near + (mixer == ORR_MIXER_CSA && top < entries ? 2 * top - top * top / entries : entries);
}

/* The indexer's scores of all entries. */
static double index_flops(const OrrModel *model, const OrrLayer *layer, double tokens,
                          double sequence) {
  const OrrSparse *sparse = &model->sparse;
  if (!orr_layer_matrix(layer, "index-q")) return 0;
  const double entries =
      sequence / (layer->kind.mixer == ORR_MIXER_CSA ? (double)model->compressed.ratio : 1);
  return 2 * tokens * entries * (double)(sparse->index_heads * sparse->index_dim);
}

static double linear_core_flops(const OrrScan *scan, double tokens) {
  const double taps = (double)(scan->taps * scan->conv), state = (double)(scan->out * scan->value);
  if (orr_scan_is_delta(scan)) return 2 * tokens * (taps + 4 * state);
  double key = scan->key, value = scan->value;
  return tokens * scan->heads * (4 * key * value + 2.0 * scan->chunk * (key + value));
}

static double core_flops(const OrrModel *model, const OrrLayer *layer, double layers, double batch,
                         double sequence) {
  const OrrScan *scan = &layer->scan;
  double seen = scores_of(model, layer->kind.mixer, sequence), image = orr_encoder_tokens(model);
  double widths = (double)(layer->heads * (layer->head_dim + layer->value_dim));
  switch (layer->kind.mixer) {
  case ORR_MIXER_ATTENTION:
  case ORR_MIXER_WINDOW:
  case ORR_MIXER_SPARSE:
  case ORR_MIXER_SHARED:
  case ORR_MIXER_CSA:
  case ORR_MIXER_HCA:
    if (layer->compressed) seen = entries_of(model, layer->kind.mixer, sequence);
    return layers * (batch * 2 * sequence * seen * widths +
                     index_flops(model, layer, batch * sequence, sequence));
  case ORR_MIXER_MAMBA:
    return layers * batch * 7 * sequence * scan->out * scan->key;
  case ORR_MIXER_LINEAR:
    return layers * linear_core_flops(scan, batch * sequence);
  case ORR_MIXER_CROSS:
    return layers * batch * 2 * sequence * (double)model->cross.tokens * widths;
  case ORR_MIXER_ENCODER:
    return layers * batch * model->encoder.images * 2 * image * image * widths;
  default:
    return 0;
  }
}

static double kind_core_flops(const OrrModel *model, guint kind, double layers, double batch,
                              double sequence) {
  const OrrLayer layer = whole(model, kind);
  return core_flops(model, &layer, layers, batch, sequence);
}

static double kind_flops(const OrrModel *model, guint kind, double layers, double batch,
                         double sequence) {
  const OrrLayer layer = whole(model, kind);
  double tokens = layer.causal ? sequence : model->encoder.images * orr_encoder_tokens(model);
  const OrrMatrix *source = orr_layer_matrix(&layer, "cross-kv");
  const double further = /* tokens of the encoder's result, instead of the sequence's */
      source ? ((double)model->cross.tokens - tokens) * orr_matrix_weights(source, 1) : 0;
  return layers * 2 * batch * (tokens * layer_weights(&layer, model->moe.topk) + further) +
         core_flops(model, &layer, layers, batch, sequence);
}

double orr_model_layer_flops(const OrrModel *model, guint kind, double batch, double sequence) {
  return kind_flops(model, kind, 1, batch, sequence);
}

double orr_model_core_flops(const OrrModel *model, guint kind, double batch, double sequence) {
  return kind_core_flops(model, kind, 1, batch, sequence);
}

double orr_model_layer_routed_flops(const OrrModel *model, guint kind, double batch,
                                    double sequence) {
  const OrrLayer layer = whole(model, kind);
  return 2 * batch * sequence * (layer_weights(&layer, model->moe.topk) - layer_weights(&layer, 0));
}

double orr_model_routed_flops(const OrrModel *model, double batch, double sequence) {
  double sum = 0;
  for (gint64 layer = 0; layer < model->layers + model->mtp_layers; layer++)
    sum += orr_model_layer_routed_flops(
        model, orr_model_layer_kind(model, MIN(layer, model->layers - 1)), batch, sequence);
  return sum;
}

static double all_core_flops(const OrrModel *model, double batch, double sequence) {
  double sum = 0;
  for (guint kind = 0; kind < orr_model_n_layer_kinds(model); kind++)
    sum += kind_core_flops(model, kind, orr_model_kind_layers(model, kind), batch, sequence);
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
                 model->mtp_layers * kind_core_flops(model, last, 1, batch, sequence);
  return orr_model_flops(model, batch, sequence) / 3 - cores;
}

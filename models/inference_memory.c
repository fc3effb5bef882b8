/*
 * inference_memory.c - bytes of weights, cache and state on one GPU of an engine.
 *
 * The cache has 2 kv d / t elements per token and layer; for latent attention Rk + r, a whole copy
 * on each rank; with an indexer its keys too, in fp8; of compressed attention d for each entry, and
 * d for each of the last `window.size` tokens, whatever the length.
 * Cross-attention keeps 2 kv S d / t elements per sequence, for S tokens of the encoder.
 * Weights are split over the tensor-parallel group, except latent attention's down-projections,
 * plain matrices (routers, an indexer's weights) and norms, which each rank has, and routed
 * experts, which are split over all tp dp ranks.
 */
#include "models/inference.h"
#include "models/layer.h"

static double layer_kv_bytes(const OrrModel *model, guint kind, const OrrInferenceShard *shard) {
  const double element = orr_dtype_bytes(shard->kv);
  if (!orr_inference_attends(model, kind)) return 0;
  const OrrInferenceHeads heads = orr_inference_decode_heads(model, kind, shard);
  const double width =
      (double)(heads.latent ? heads.head_dim : 2 * heads.kv_heads * heads.head_dim);
  return (element * width + orr_model_index_bytes(model, kind)) /
         orr_model_entry_tokens(model, kind);
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

double orr_inference_ring_bytes(const OrrModel *model, const OrrInferenceShard *shard, gint64 first,
                                gint64 n_layers) {
  double sum = 0;
  for (gint64 layer = first; layer < first + n_layers; layer++) {
    const guint kind = orr_model_layer_kind(model, layer);
    const int mixer = orr_model_kind(model, kind).mixer;
    if (mixer != ORR_MIXER_CSA && mixer != ORR_MIXER_HCA) continue;
    sum += (double)(model->window.size * orr_inference_decode_heads(model, kind, shard).head_dim);
  }
  return sum * orr_dtype_bytes(shard->kv);
}

double orr_inference_state_bytes(const OrrModel *model, const OrrInferenceShard *shard,
                                 gint64 first, gint64 n_layers) {
  double sum = 0, whole = 0; /* RWKV's shift reads a token at full width on each rank */
  for (gint64 layer = first; layer < first + n_layers; layer++) {
    const guint kind = orr_model_layer_kind(model, layer);
    const OrrDtype format = orr_inference_source(model, kind) > 0 ? shard->kv : shard->activations;
    sum += orr_model_state_bytes(model, kind, orr_dtype_bytes(format));
    whole += orr_dtype_bytes(format) * (double)orr_layer(model, kind, 1, 1, 1).scan.shift;
  }
  return (sum - whole) / (double)shard->tp + whole;
}

/* fp4 has a scale of one byte per 16 weights (NVFP4); fp8's scales are negligible. */
static double weight_size(const OrrInferenceShard *shard, OrrQuantizedPart part) {
  const OrrQuantized *quantized = shard->formats[part];
  if (!shard->is_quantized)
    return orr_dtype_bytes(shard->weights) + (shard->weights == ORR_FP4 ? 1.0 / 16 : 0);
  return quantized ? quantized->weight_bytes : orr_dtype_bytes(shard->activations);
}

/* A rank's part of an expert's inner width. */
static double inner_of(const OrrModel *model, const OrrInferenceShard *shard) {
  const double whole = (double)(model->moe.ffn > 0 ? model->moe.ffn : model->ffn);
  return whole * (double)MAX(shard->ep, 1) / (double)(shard->tp * MAX(shard->dp, 1));
}

static double padded(double width, gint64 multiple) {
  return multiple > 0 ? ceil(width / (double)multiple) * (double)multiple / width : 1;
}

/* Of a rank. Plain matrices (routers, an indexer's weights, the projections to entries of a
 * compressed cache) are whole on each rank, in 16 bits (vLLM, ReplicatedLinear), as are norms and
 * the biases of matrices split along their inputs; where ranks outnumber the key-value heads, so is
 * a head's key and value. Norms and routers run where the mixer does. */
static double layer_weight_bytes(const OrrModel *model, guint kind,
                                 const OrrInferenceShard *shard) {
  const OrrLayer layer = orr_layer(model, kind, shard->tp, 1, 1);
  const double plain = orr_dtype_bytes(shard->activations),
               experts = (layer.experts + (layer.experts > 0 ? (double)shard->redundant : 0)) /
                         (double)(shard->tp * MAX(shard->dp, 1));
  const double pads = padded((double)model->hidden, shard->pad_hidden) *
                      padded(inner_of(model, shard), shard->pad_inner);
  double mixer = layer.vectors * plain, feed = 0;
  for (guint i = 0; i < layer.n_matrices; i++) {
    const OrrMatrix *matrix = &layer.matrices[i];
    double *sum = matrix->part == ORR_QUANTIZED_MIXER || matrix->plain ? &mixer : &feed;
    const gboolean is_padded = matrix->part == ORR_QUANTIZED_EXPERTS && !matrix->plain;
    *sum += orr_matrix_weights(matrix, experts) * (is_padded ? pads : 1) *
                (matrix->plain ? plain : weight_size(shard, matrix->part)) +
            orr_matrix_biases(matrix, experts) * plain;
  }
  return (shard->part == ORR_PART_FEED ? 0 : mixer) + (shard->part == ORR_PART_MIXER ? 0 : feed);
}

double orr_inference_weight_bytes(const OrrModel *model, const OrrInferenceShard *shard,
                                  gint64 first, gint64 n_layers, gboolean has_embedding,
                                  gboolean has_head) {
  const double table = (double)model->vocab * (double)model->hidden,
               plain = orr_dtype_bytes(shard->activations);
  const OrrInferenceShard plain_shard = orr_inference_plain(shard);
  double sum = 0, ends = 0;
  for (gint64 layer = first; layer < first + n_layers; layer++)
    sum += layer_weight_bytes(model, orr_model_layer_kind(model, layer),
                              orr_inference_is_plain(model, shard, layer) ? &plain_shard : shard);
  if (has_embedding) ends += table;
  if (has_head && !(has_embedding && model->tied_embeddings)) ends += table;
  if (has_embedding && model->encoder.layers > 0)
    ends += (double)model->encoder.layers *
            orr_model_layer_parameters(model, (guint)orr_model_encoder_kind(model));
  return sum + (shard->part == ORR_PART_FEED ? 0 : ends * plain / (double)shard->tp);
}

/* What a part holds at once beside the layer's input and residual, in bytes per token of a rank;
 * an activation has a bytes:
 *
 *   attention     a (q + k + v)
 *   feed-forward  a times gate, up and what the activation makes of them: 3 f / t
 *   experts       D (k (a max(2 f, h) + copy) + a h): of each of a token's k pairs the wider of
 *                 both products' outputs, and what the products read; and the pairs' sum
 *
 *                   16 bits  copy = a f (vLLM and SGLang, fused_moe.py: cache13, cache2)
 *                   8, 4     copy = w max(f, h), since rows are laid out by expert first; w is the
 *                            format's bytes, or a where scales are by blocks (TensorRT-LLM,
 *                            moe_kernels.cu, getWorkspaceDeviceBufferSizes; vLLM,
 *                            deep_gemm_moe.py)
 *
 *                 With D groups of attention data parallelism a rank's kernels get the tokens of
 *                 all of them, and have room for every pair (TensorRT-LLM, fused_moe_cutlass.py:
 *                 max_num_tokens *= world_size). DeepSeek-V3 in fp8 by blocks with D = 8 and
 *                 8,192 tokens: 8 * 8192 * 8 * 28 KiB = 14.0 GiB (its pull request 18322 reports
 *                 14.02). vLLM's kernels take experts_at_once tokens at a time.
 */
static double mixer_bytes(const OrrModel *model, guint kind, const OrrInferenceShard *shard) {
  if (!orr_inference_attends(model, kind)) return 0;
  const OrrLayer layer = orr_layer(model, kind, shard->tp, 1, 1);
  return (double)(layer.q + layer.kv + layer.value) * orr_dtype_bytes(shard->activations);
}

static double feed_bytes(const OrrModel *model, guint kind, const OrrInferenceShard *shard) {
  const double inner = (double)orr_layer(model, kind, 1, 1, 1).ffn / (double)shard->tp;
  return (orr_activation_is_gated(model->activation) ? 3 : 2) * inner *
         orr_dtype_bytes(shard->activations);
}

/* What the experts' products read of a pair. */
static double pair_copy_bytes(const OrrModel *model, const OrrInferenceShard *shard, double inner) {
  const OrrQuantized *quantized =
      shard->is_quantized ? shard->formats[ORR_QUANTIZED_EXPERTS] : NULL;
  const OrrDtype products = quantized             ? quantized->products
                            : shard->is_quantized ? shard->activations
                                                  : shard->weights;
  const double wide = orr_dtype_bytes(shard->activations);
  if (products == ORR_N_DTYPES || orr_dtype_bytes(products) >= wide) return wide * inner;
  return (quantized && quantized->blocks ? wide : orr_dtype_bytes(products)) *
         fmax(inner, (double)model->hidden);
}

/* Of a step of @tokens of a rank, the tokens that its experts' kernels get at once. */
static double tokens_at_once(const OrrInferenceShard *shard, double tokens) {
  /* a pool of feed-forwards is asked for the tokens that it gets */
  const double all = tokens * (shard->part == ORR_PART_FEED ? 1 : (double)MAX(shard->dp, 1));
  return shard->experts_at_once > 0 ? fmin(all, (double)shard->experts_at_once) : all;
}

double orr_inference_workspace_bytes(const OrrModel *model, const OrrInferenceShard *shard,
                                     gint64 tokens) {
  const OrrMoe *moe = &model->moe;
  const double wide = orr_dtype_bytes(shard->activations), inner = inner_of(model, shard);
  if (moe->experts == 0) return 0;
  const double up = (orr_activation_is_gated(model->activation) ? 2 : 1) * inner;
  const double pair = wide * fmax(up, (double)model->hidden) + pair_copy_bytes(model, shard, inner);
  return tokens_at_once(shard, (double)tokens) * (double)moe->topk * pair;
}

/* The workspaces and the pairs' sum. */
static double expert_bytes(const OrrModel *model, const OrrInferenceShard *shard, gint64 tokens) {
  return orr_inference_workspace_bytes(model, shard, tokens) +
         tokens_at_once(shard, (double)tokens) * orr_dtype_bytes(shard->activations) *
             (double)model->hidden;
}

double orr_inference_activation_bytes(const OrrModel *model, const OrrInferenceShard *shard,
                                      gint64 tokens) {
  double widest = 0;
  for (guint kind = 0; kind < orr_model_n_layer_kinds(model); kind++) {
    const int feed = orr_model_kind(model, kind).feed;
    if ((gint64)kind == orr_model_encoder_kind(model)) continue;
    const double n = (double)tokens;
    if (shard->part != ORR_PART_FEED) widest = fmax(widest, n * mixer_bytes(model, kind, shard));
    if (shard->part == ORR_PART_MIXER) continue;
    if (feed == ORR_FEED_DENSE) widest = fmax(widest, n * feed_bytes(model, kind, shard));
    if (feed == ORR_FEED_MOE) widest = fmax(widest, expert_bytes(model, shard, tokens));
  }
  return 2 * (double)tokens * (double)model->hidden * orr_dtype_bytes(shard->activations) + widest;
}

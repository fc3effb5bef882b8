/*
 * layer.c - fills the table of a layer's matrices, part by part.
 */
#include "models/layer.h"

static gint64 divide_up(gint64 a, gint64 b) { return (a + b - 1) / b; }
static gint64 share(gint64 of, gint64 ranks) { return MAX(of > 0 ? 1 : 0, of / ranks); }
static gint64 gates_of(int activation) { return orr_activation_is_gated(activation) ? 2 : 1; }

static void add(OrrLayer *layer, OrrMatrix matrix) {
  layer->matrices[layer->n_matrices++] = matrix;
}

static double norm_parameters(const OrrLayer *layer) {
  return (layer->norm == ORR_NORM_LAYERNORM && layer->bias ? 2.0 : 1.0) * (double)layer->hidden;
}

/* --- mixers --- */

/* The output gate where it is a matrix of its own. */
static void add_gate(OrrLayer *layer) {
  if (layer->gated)
    add(layer, (OrrMatrix){"gate", "output-gate", layer->hidden, layer->context, ORR_SPLIT_COLUMN,
                           ORR_QUANTIZED_MIXER});
}

/* Beside queries from a compressed form keys and values are whole on each rank (vLLM,
 * step3_text.py: a replicated product makes all three). */
static void add_attention(OrrLayer *layer, const OrrModel *model) {
  const gint64 low = layer->causal ? model->mla.q_rank : 0;
  const gint64 q = low ? low : layer->gated ? 2 * layer->q : layer->q;
  const gint64 kv = low ? model->kv_heads * layer->head_dim : layer->kv;
  add(layer,
      (OrrMatrix){"qkv", "qkv", layer->hidden, q + 2 * kv, low ? ORR_SPLIT_NONE : ORR_SPLIT_COLUMN,
                  ORR_QUANTIZED_MIXER, ORR_LORA_QKV, .bias = layer->bias || model->qkv_bias,
                  .pieces = {{"wq", q}, {"wk", kv}, {"wv", kv}}});
  if (low) {
    add(layer, (OrrMatrix){"q-up", "q-up", low, layer->q, ORR_SPLIT_COLUMN, ORR_QUANTIZED_MIXER});
    add_gate(layer);
  }
  layer->vectors += (double)low;
  add(layer, (OrrMatrix){"projection", "attention-out", layer->q, layer->hidden, ORR_SPLIT_ROW,
                         ORR_QUANTIZED_MIXER, ORR_LORA_PROJECTION, .bias = layer->bias});
  if (model->qk_norm && layer->causal) layer->vectors += 2.0 * (double)layer->head_dim;
}

static void add_latent(OrrLayer *layer, const OrrMla *mla) {
  const gint64 h = layer->hidden, up = layer->heads * (mla->nope_dim + mla->value_dim);
  if (mla->q_rank)
    add(layer, (OrrMatrix){"q-down", "q-down", h, mla->q_rank, ORR_SPLIT_NONE, ORR_QUANTIZED_MIXER,
                           ORR_LORA_QKV});
  add(layer, (OrrMatrix){"kv-down", "kv-down", h, mla->kv_rank + mla->rope_dim, ORR_SPLIT_NONE,
                         ORR_QUANTIZED_MIXER, ORR_LORA_QKV});
  add(layer, (OrrMatrix){"q-up", "q-up", mla->q_rank ? mla->q_rank : h, layer->q, ORR_SPLIT_COLUMN,
                         ORR_QUANTIZED_MIXER, ORR_LORA_QKV});
  add(layer, (OrrMatrix){"kv-up", "kv-up", mla->kv_rank, up, ORR_SPLIT_COLUMN, ORR_QUANTIZED_MIXER,
                         ORR_LORA_QKV});
  add_gate(layer);
  add(layer, (OrrMatrix){"projection", "projection", layer->context, h, ORR_SPLIT_ROW,
                         ORR_QUANTIZED_MIXER, ORR_LORA_PROJECTION});
  layer->vectors += (double)(mla->q_rank + mla->kv_rank);
}

/* Each rank scores all keys, since all its heads attend to the one choice (DeepSeek-V3.2). @keys:
 * widths that a key is made from. Vectors: the norm of a key, with its bias. */
static void add_indexer(OrrLayer *layer, const OrrModel *model, gint64 q_rank, gint64 keys) {
  const OrrSparse *sparse = &model->sparse;
  const gint64 h = layer->hidden, d = sparse->index_dim;
  if (!orr_mixer_indexes(layer->kind.mixer) || !sparse->index_heads) return;
  add(layer, (OrrMatrix){"index-q", "index-q", q_rank ? q_rank : h, sparse->index_heads * d,
                         ORR_SPLIT_NONE, ORR_QUANTIZED_MIXER});
  add(layer, (OrrMatrix){"index-k", "index-k", h, keys * d, ORR_SPLIT_NONE, ORR_QUANTIZED_MIXER});
  add(layer, (OrrMatrix){"index-weights", "index-weights", h, sparse->index_heads, ORR_SPLIT_NONE,
                         ORR_QUANTIZED_MIXER, .plain = TRUE});
  layer->vectors += 2.0 * (double)d;
}

/* A rank has whole groups, so neither out-down's input nor its result is summed over ranks.
 * Of a layer's entries: their keys and their gates; csa's overlap by half and so have both twice
 * (DeepSeek-V4, inference/model.py, Compressor). Vectors: norms of queries and keys, a sink for
 * each head, positions within an entry, the norm of entries. */
static void add_compressed(OrrLayer *layer, const OrrModel *model, gint64 tp) {
  const OrrCompressed *compressed = &model->compressed;
  const gint64 h = layer->hidden, d = layer->head_dim, mixer = layer->kind.mixer;
  const gint64 doubled = mixer == ORR_MIXER_CSA ? 2 : mixer == ORR_MIXER_HCA ? 1 : 0;
  const gint64 ratio = mixer == ORR_MIXER_CSA ? compressed->ratio : compressed->heavy;
  add(layer,
      (OrrMatrix){"q-down", "q-down", h, compressed->q_rank, ORR_SPLIT_NONE, ORR_QUANTIZED_MIXER});
  add(layer, (OrrMatrix){"kv-down", "kv-down", h, d, ORR_SPLIT_NONE, ORR_QUANTIZED_MIXER});
  add(layer, (OrrMatrix){"q-up", "q-up", compressed->q_rank, layer->q, ORR_SPLIT_COLUMN,
                         ORR_QUANTIZED_MIXER});
  add(layer, (OrrMatrix){"out-down", "out-down", layer->q, compressed->rank, ORR_SPLIT_ROW,
                         ORR_QUANTIZED_MIXER});
  add(layer,
      (OrrMatrix){"projection", "projection", share(compressed->groups, tp) * compressed->rank, h,
                  ORR_SPLIT_ROW, ORR_QUANTIZED_MIXER});
  layer->vectors += (double)(compressed->q_rank + d + layer->heads);
  if (doubled == 0) return;
  add(layer, (OrrMatrix){"compress", "compress", h, 2 * doubled * d, ORR_SPLIT_NONE,
                         ORR_QUANTIZED_MIXER, .plain = TRUE});
  layer->vectors += (double)(ratio * doubled * d + d);
  add_indexer(layer, model, compressed->q_rank, 2 * doubled);
}

/* cross-kv reads the encoder's result, once for each sequence. */
static void add_cross(OrrLayer *layer, const OrrModel *model) {
  add(layer, (OrrMatrix){"cross-q", "cross-q", layer->hidden, layer->q, ORR_SPLIT_COLUMN,
                         ORR_QUANTIZED_MIXER, .bias = layer->bias || model->qkv_bias});
  add(layer,
      (OrrMatrix){"cross-kv", "cross-kv", model->cross.width, 2 * layer->kv, ORR_SPLIT_COLUMN,
                  ORR_QUANTIZED_MIXER, .bias = layer->bias || model->qkv_bias});
  add(layer, (OrrMatrix){"projection", "cross-out", layer->q, layer->hidden, ORR_SPLIT_ROW,
                         ORR_QUANTIZED_MIXER, .bias = layer->bias});
}

static OrrScan mamba_scan(const OrrMamba *mamba, gint64 tp) {
  const gint64 heads = share(mamba->heads, tp), groups = share(mamba->groups, tp);
  const gint64 out = heads * mamba->head_dim, conv = out + 2 * groups * mamba->state;
  return (OrrScan){heads,        groups,      mamba->state,       mamba->head_dim,
                   mamba->chunk, mamba->conv, out + conv + heads, conv,
                   out};
}

/* Kimi's heads have one gate, how much they learn; gated delta's a decay too. Low-rank projections
 * make Kimi's decays and, without a whole matrix, output gates; RWKV-7's decays, rates, mix of
 * values and output gates. RWKV's mixer and feed-forward both keep a token. */
static OrrScan linear_scan(const OrrLinear *linear, gint64 hidden, gint64 tp) {
  static const gint64 gates[] = {[ORR_LINEAR_GATED_DELTA] = 2, [ORR_LINEAR_KIMI_DELTA] = 1, 0};
  const gint64 ups[] = {[ORR_LINEAR_KIMI_DELTA] = 1 + !linear->full_gate, [ORR_LINEAR_RWKV_7] = 4};
  const gint64 heads = share(linear->value_heads, tp),
               keys = share(linear->key_heads, tp) * linear->key_dim;
  const gint64 out = heads * linear->value_dim, conv = 2 * keys + out;
  return (OrrScan){heads,
                   heads,
                   linear->key_dim,
                   linear->value_dim,
                   linear->chunk,
                   linear->conv,
                   conv + (linear->full_gate ? out : 0) + gates[linear->kind] * heads,
                   linear->conv ? conv : 0,
                   out,
                   linear->kind,
                   gates[linear->kind] * heads,
                   ups[linear->kind],
                   linear->kind == ORR_LINEAR_RWKV_7 ? 2 * hidden : 0};
}

/* Beside the convolution. Gated delta: A and the bias of dt for each head, a norm of a head's
 * width; Kimi's has the bias for each channel. Lightning: a norm of all values. RWKV-7: six mixes
 * of tokens and one in the feed-forward, three biases of decays and rates, three weights of keys, a
 * norm with its bias. */
static double linear_vectors(const OrrScan *scan) {
  if (scan->kind == ORR_LINEAR_RWKV_7) return (double)(15 * scan->out);
  if (scan->kind == ORR_LINEAR_KIMI_DELTA)
    return (double)(scan->heads + scan->heads * scan->key + scan->value);
  return (double)(scan->kind == ORR_LINEAR_GATED_DELTA ? 2 * scan->heads + scan->value : scan->out);
}

/* The low-rank projections: one product makes their inner forms, and one more each result. */
static void add_low_rank(OrrLayer *layer, gint64 low, const OrrScan *scan) {
  if (scan->ups == 0) return;
  add(layer, (OrrMatrix){"linear-low", "linear-low", layer->hidden, low, ORR_SPLIT_NONE,
                         ORR_QUANTIZED_MIXER});
  for (gint64 i = 0; i < scan->ups; i++)
    add(layer,
        (OrrMatrix){"linear-up", "linear-up", low * (i + 1) / scan->ups - low * i / scan->ups,
                    scan->out, ORR_SPLIT_COLUMN, ORR_QUANTIZED_MIXER});
}

/* Vectors. The convolution; Mamba: with its bias; A, D and the bias of dt for each head; the gated
 * norm. */
static void add_scan(OrrLayer *layer, const OrrModel *model, gint64 tp) {
  const gboolean mamba = layer->kind.mixer == ORR_MIXER_MAMBA;
  const OrrScan scan =
      mamba ? mamba_scan(&model->mamba, tp) : linear_scan(&model->linear, layer->hidden, tp);
  layer->scan = scan;
  add(layer, (OrrMatrix){mamba ? "mamba-in" : "linear-in", "state-in", layer->hidden, scan.in,
                         ORR_SPLIT_COLUMN, ORR_QUANTIZED_MIXER});
  add_low_rank(layer, model->linear.low_rank, &scan);
  add(layer, (OrrMatrix){mamba ? "mamba-out" : "linear-out", "state-out", scan.out, layer->hidden,
                         ORR_SPLIT_ROW, ORR_QUANTIZED_MIXER});
  layer->vectors += (double)((scan.taps + mamba) * scan.conv);
  layer->vectors += mamba ? (double)(3 * scan.heads + scan.out) : linear_vectors(&scan);
}

static void add_mixer(OrrLayer *layer, const OrrModel *model, gint64 tp) {
  switch (layer->kind.mixer) {
  case ORR_MIXER_NONE:
    break;
  case ORR_MIXER_MAMBA:
  case ORR_MIXER_LINEAR:
    add_scan(layer, model, tp);
    break;
  case ORR_MIXER_CROSS:
    add_cross(layer, model);
    break;
  default:
    if (layer->compressed) {
      add_compressed(layer, model, tp);
      break;
    }
    if (layer->latent)
      add_latent(layer, &model->mla);
    else
      add_attention(layer, model);
    add_indexer(layer, model, layer->latent ? model->mla.q_rank : 0, 1);
  }
}

/* --- feed-forwards --- */

static void add_dense(OrrLayer *layer) {
  const gint64 h = layer->hidden, f = layer->ffn;
  OrrMatrix up = {
      "fc1",        "mlp-up",   h, layer->fc1_width, ORR_SPLIT_COLUMN, ORR_QUANTIZED_FEED,
      ORR_LORA_FC1, layer->bias};
  if (layer->fc1_width > f)
    up.pieces[0] = (OrrProduct){"w1", f}, up.pieces[1] = (OrrProduct){"w3", f};
  add(layer, up);
  add(layer, (OrrMatrix){"fc2", "mlp-down", f, h, ORR_SPLIT_ROW, ORR_QUANTIZED_FEED, ORR_LORA_FC2,
                         layer->bias});
}

static void add_experts(OrrLayer *layer, const OrrModel *model, gint64 tp, gint64 etp) {
  const OrrMoe *moe = &model->moe;
  const gint64 h = layer->hidden, gates = gates_of(layer->activation);
  const gint64 w = moe->latent ? moe->latent : h, shared = divide_up(moe->shared_ffn, tp);
  const gint64 f = (moe->ffn ? moe->ffn : model->ffn) / etp;
  add(layer, (OrrMatrix){"router", "router", h, moe->experts + moe->zero_experts, ORR_SPLIT_NONE,
                         ORR_QUANTIZED_FEED, .bias = layer->bias, .plain = TRUE});
  if (moe->latent) {
    add(layer, (OrrMatrix){"latent-down", "latent-down", h, w, ORR_SPLIT_NONE, ORR_QUANTIZED_FEED,
                           .plain = TRUE});
    add(layer, (OrrMatrix){"latent-up", "latent-up", w, h, ORR_SPLIT_NONE, ORR_QUANTIZED_FEED,
                           .plain = TRUE});
  }
  if (moe->shared_gate)
    add(layer, (OrrMatrix){"shared-gate", "shared-gate", h, 1, ORR_SPLIT_NONE, ORR_QUANTIZED_FEED,
                           .plain = TRUE});
  if (shared) {
    add(layer, (OrrMatrix){"shared-fc1", "mlp-up", h, gates * shared, ORR_SPLIT_COLUMN,
                           ORR_QUANTIZED_SHARED});
    add(layer,
        (OrrMatrix){"shared-fc2", "mlp-down", shared, h, ORR_SPLIT_ROW, ORR_QUANTIZED_SHARED});
  }
  add(layer, (OrrMatrix){"experts-fc1", "experts", w, gates * f, ORR_SPLIT_COLUMN,
                         ORR_QUANTIZED_EXPERTS, .bias = layer->bias});
  add(layer, (OrrMatrix){"experts-fc2", "experts", f, w, ORR_SPLIT_ROW, ORR_QUANTIZED_EXPERTS,
                         .bias = layer->bias});
}

/* --- the layer --- */

/* The widths of attention and of a dense feed-forward. */
static void set_widths(OrrLayer *layer, const OrrModel *model, gint64 tp) {
  const OrrEncoder *encoder = &model->encoder;
  const OrrMla *mla = &model->mla;
  const gboolean encodes = !layer->causal;
  layer->heads = divide_up(encodes ? encoder->heads : model->heads, tp);
  layer->kv_heads = encodes || layer->latent ? layer->heads : divide_up(model->kv_heads, tp);
  layer->head_dim = encodes         ? encoder->hidden / MAX(1, encoder->heads)
                    : layer->latent ? mla->nope_dim + mla->rope_dim
                                    : model->head_dim;
  layer->value_dim = layer->latent ? mla->value_dim : layer->head_dim;
  layer->q = layer->heads * layer->head_dim;
  layer->kv = layer->kv_heads * layer->head_dim;
  layer->value = layer->kv_heads * layer->value_dim;
  layer->context = layer->heads * layer->value_dim;
  layer->ffn = divide_up(encodes           ? encoder->ffn
                         : layer->kind.ffn ? layer->kind.ffn
                                           : model->ffn,
                         tp);
  layer->fc1_width = gates_of(layer->activation) * layer->ffn;
}

static double norms_of(const OrrLayer *layer, const OrrModel *model) {
  const int blocks = (layer->kind.mixer != ORR_MIXER_NONE) + (layer->kind.feed != ORR_FEED_NONE);
  if (!layer->causal) return blocks;
  return model->parallel ? 1 : blocks * (model->post_norms ? 2 : 1);
}

OrrLayer orr_layer(const OrrModel *model, guint kind, gint64 tp, gint64 ep, gint64 etp) {
  const OrrEncoder *encoder = &model->encoder;
  OrrLayer layer = {.kind = orr_model_kind(model, kind)};
  const gboolean encodes = layer.kind.mixer == ORR_MIXER_ENCODER;
  layer.causal = !encodes;
  layer.bias = encodes || model->bias;
  layer.latent = !encodes && model->mla.kv_rank > 0;
  layer.gated = !encodes && model->output_gate;
  layer.compressed = !encodes && model->compressed.ratio > 0;
  layer.activation = encodes ? encoder->activation : model->activation;
  layer.norm = encodes ? encoder->norm : model->norm;
  layer.hidden = encodes ? encoder->hidden : model->hidden;
  layer.experts = (double)model->moe.experts / (double)ep;
  set_widths(&layer, model, tp);
  layer.vectors = norms_of(&layer, model) * norm_parameters(&layer);
  add_mixer(&layer, model, tp);
  if (layer.kind.feed == ORR_FEED_DENSE) add_dense(&layer);
  if (layer.kind.feed == ORR_FEED_MOE) add_experts(&layer, model, tp, etp);
  return layer;
}

const OrrMatrix *orr_layer_matrix(const OrrLayer *layer, const char *name) {
  for (guint i = 0; i < layer->n_matrices; i++)
    if (strcmp(layer->matrices[i].name, name) == 0) return &layer->matrices[i];
  return NULL;
}

static double copies_of(const OrrMatrix *matrix, double experts) {
  return matrix->part == ORR_QUANTIZED_EXPERTS ? experts : 1;
}

guint orr_matrix_adapters(const OrrMatrix *matrix, const OrrLora *lora, gboolean is_joined,
                          gint64 ret_widths[3]) {
  static const guint of_qkv[] = {ORR_LORA_Q, ORR_LORA_K, ORR_LORA_V},
                     of_fc1[] = {ORR_LORA_GATE, ORR_LORA_UP, 0};
  const guint *parts = matrix->lora == ORR_LORA_QKV ? of_qkv : of_fc1;
  const gboolean has_parts = matrix->lora == ORR_LORA_QKV || matrix->lora == ORR_LORA_FC1;
  const guint some = has_parts ? parts[0] | parts[1] | parts[2] : 0;
  const gboolean is_whole = lora->targets & matrix->lora;
  guint n = 0;
  if (!is_whole && !(lora->targets & some)) return 0;
  if (!matrix->pieces[0].name || (is_whole && is_joined)) {
    ret_widths[0] = matrix->out;
    return 1;
  }
  for (guint i = 0; i < 3 && matrix->pieces[i].name; i++)
    if (is_whole || (lora->targets & parts[i])) ret_widths[n++] = matrix->pieces[i].n;
  return n;
}

double orr_matrix_weights(const OrrMatrix *matrix, double experts) {
  return (double)matrix->in * (double)matrix->out * copies_of(matrix, experts);
}

double orr_matrix_biases(const OrrMatrix *matrix, double experts) {
  return matrix->bias ? (double)matrix->out * copies_of(matrix, experts) : 0;
}

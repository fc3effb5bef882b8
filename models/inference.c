/*
 * inference.c - appends the operators of a serving step:
 *
 *   layer    norm, qkv [T, (a + 2 kv) d / t], rope, core, out [T, h], all-reduce, norm, gate-up [T,
 *            2 f / t], swiglu, down [T, h], all-reduce or norm, router [T, E], router-topk,
 *            all-reduce; apart: experts of T tokens, shared experts as an MLP
 *            (queries from a compressed form: qkv, latent-norm, q-up; gated results: output-gate)
 *   latent   norm, qkv-down, latent-norm, q-up, rope, projection, all-reduce; prompts:
 *            kv-up [keys, a (n + v) / t], since the latent of all that they see is expanded;
 *            decodes: q-absorb, v-absorb
 *   sparse   the same, and where the layer has an indexer index-q, index-k, index-weights; latent
 *            prompts are absorbed too, since each query has its own keys (FlashMLA, sparse)
 *   compressed  norm, qkv-down, latent-norm, q-up, rope, compress, out-down, projection,
 *            all-reduce; csa: the indexer's products
 *   state    norm, [token-shift], in, [low, up], gated-norm, out, all-reduce; prompts: conv, scan
 *            (transformer_state.c);
 *            decodes: conv-update, state-update, which reads and writes the state
 *   ends     embedding, all-reduce; final norm; logits [S, V / t], gather, sampler
 */
#include "models/inference.h"

#include "models/transformer_private.h"

static void add(GArray *operators, OrrOperator op) { g_array_append_val(operators, op); }

/* A kernel that moves @moves elements per element of tokens * width. */
static void add_memory(GArray *operators, const char *name, OrrDtype dtype, gint64 tokens,
                       gint64 width, double moves) {
  OrrOperator op =
      orr_operator_memory(name, ORR_PASS_FORWARD, dtype,
                          (double)tokens * (double)width * moves * orr_dtype_bytes(dtype), 0);
  op.memory.rows = tokens;
  op.memory.width = width;
  add(operators, op);
}

static void add_gemm(GArray *operators, const char *name, OrrDtype dtype, gint64 m, gint64 n,
                     gint64 k) {
  add(operators, orr_operator_gemm(name, ORR_PASS_FORWARD, dtype, (OrrGemmShape){1, m, n, k}));
}

void orr_inference_quantize(OrrInferenceShard *shard, OrrQuantization quantization,
                            const OrrWeightFormats *formats) {
  for (guint part = 0; part < ORR_N_QUANTIZED_PARTS; part++) {
    shard->formats[part] = orr_quantized_part(quantization, formats, (OrrQuantizedPart)part);
    shard->is_quantized |= shard->formats[part] != NULL;
  }
  shard->plain_first = formats->plain_first;
  shard->plain_last = formats->plain_last;
}

gboolean orr_inference_is_plain(const OrrModel *model, const OrrInferenceShard *shard,
                                gint64 layer) {
  return shard->is_quantized &&
         (layer < shard->plain_first || layer >= model->layers - shard->plain_last);
}

OrrInferenceShard orr_inference_plain(const OrrInferenceShard *shard) {
  OrrInferenceShard plain = *shard;
  memset(plain.formats, 0, sizeof plain.formats);
  return plain;
}

/* The format of products in a part of a layer and, in *@ret_stored, the bytes per weight where
 * weights are stored narrower. */
static OrrDtype products_of(const OrrInferenceShard *shard, OrrQuantizedPart part,
                            double *ret_stored) {
  const OrrQuantized *quantized = shard->formats[part];
  *ret_stored = 0;
  if (!shard->is_quantized) return shard->weights;
  if (!quantized) return shard->activations;
  if (quantized->products != ORR_N_DTYPES) return quantized->products;
  *ret_stored = quantized->weight_bytes;
  return shard->activations;
}

static OrrLayer layer_of(const OrrModel *model, guint kind, const OrrInferenceShard *shard) {
  return orr_layer(model, kind, shard->tp, 1, 1);
}

/* Expands @weights of @part to 16 bits in memory, where its format has no product for them. */
static gboolean add_expansion(const OrrInferenceShard *shard, OrrQuantizedPart part, double weights,
                              GArray *operators) {
  const OrrQuantized *quantized = shard->formats[part];
  if (!quantized || !quantized->expands) return FALSE;
  const double moved = quantized->weight_bytes + orr_dtype_bytes(shard->activations);
  add(operators,
      orr_operator_memory("dequantise", ORR_PASS_FORWARD, shard->activations, weights * moved, 0));
  return TRUE;
}

static void add_product(const OrrInferenceShard *shard, OrrQuantizedPart part, GArray *operators,
                        const char *name, OrrGemmShape shape) {
  OrrDtype dtype = products_of(shard, part, &shape.stored.weight_bytes);
  if (shape.m > 1 && add_expansion(shard, part, (double)shape.n * (double)shape.k, operators))
    shape.stored.weight_bytes = 0;
  add(operators, orr_operator_gemm(name, ORR_PASS_FORWARD, dtype, shape));
}

/* The product of @tokens tokens with one matrix. */
static void add_matrix(const OrrInferenceShard *shard, const OrrMatrix *matrix, gint64 tokens,
                       GArray *operators) {
  const OrrQuantized *format = shard->formats[matrix->part];
  add_product(shard, matrix->part, operators, matrix->served,
              (OrrGemmShape){1, tokens, matrix->out, matrix->in});
  OrrOperator *op = &g_array_index(operators, OrrOperator, operators->len - 1);
  const double stored = op->gemm.stored.weight_bytes;
  if (stored > 0)
    op->bytes -=
        (orr_dtype_bytes((OrrDtype)op->dtype) - stored) * (double)matrix->in * (double)matrix->out;
  op->gemm.stored.blocks = format && format->blocks && op->dtype == (guint8)format->products;
}

/* With the matrix @name of @layer; with each where several have that name. */
static void add_linear(const OrrInferenceShard *shard, const OrrLayer *layer, const char *name,
                       gint64 tokens, GArray *operators) {
  for (guint i = 0; i < layer->n_matrices; i++)
    if (strcmp(layer->matrices[i].name, name) == 0)
      add_matrix(shard, &layer->matrices[i], tokens, operators);
}

static void add_all_reduce(const OrrModel *model, const OrrInferenceShard *shard, gint64 tokens,
                           GArray *operators) {
  if (shard->tp <= 1) return;
  double bytes = (double)tokens * (double)model->hidden * orr_dtype_bytes(shard->activations);
  add(operators, orr_operator_comm("tp-all-reduce", ORR_PASS_FORWARD, ORR_GROUP_TP,
                                   ORR_COMM_ALL_REDUCE, bytes));
}

static void add_norm(const OrrModel *model, const OrrInferenceShard *shard, const char *name,
                     gint64 tokens, GArray *operators) {
  add_memory(operators, name, shard->activations, tokens, model->hidden,
             4); /* x and residual, read and written */
}

static const char *norm_name(const OrrModel *model) {
  return model->norm == ORR_NORM_RMSNORM ? "rms-norm" : "layer-norm";
}

static gboolean has_state(const OrrLayer *layer) { return layer->scan.heads > 0; }

gboolean orr_inference_attends(const OrrModel *model, guint kind) {
  return orr_mixer_attends(orr_model_kind(model, kind).mixer);
}

OrrInferenceHeads orr_inference_heads(const OrrModel *model, guint kind,
                                      const OrrInferenceShard *shard) {
  const OrrLayer layer = layer_of(model, kind, shard);
  const int mixer = layer.kind.mixer;
  const gint64 window = mixer == ORR_MIXER_WINDOW ? model->window.size
                        : orr_mixer_is_sparse(mixer) && !layer.latent
                            ? model->sparse.topk * model->sparse.block
                            : 0; /* the choice of latent keys: orr_inference_module_op */
  if (layer.compressed)
    return (OrrInferenceHeads){.heads = layer.heads,
                               .kv_heads = 1,
                               .head_dim = layer.head_dim,
                               .value_dim = layer.head_dim,
                               .window = window,
                               .latent = TRUE};
  return (OrrInferenceHeads){.heads = layer.heads,
                             .kv_heads = layer.kv_heads,
                             .head_dim = layer.head_dim,
                             .value_dim = layer.latent ? layer.value_dim : 0,
                             .window = window};
}

OrrInferenceHeads orr_inference_decode_heads(const OrrModel *model, guint kind,
                                             const OrrInferenceShard *shard) {
  const OrrMla *mla = &model->mla;
  OrrInferenceHeads heads = orr_inference_heads(model, kind, shard);
  if (mla->kv_rank == 0 || model->compressed.ratio > 0) return heads;
  return (OrrInferenceHeads){heads.heads,  1,   mla->kv_rank + mla->rope_dim, mla->kv_rank,
                             heads.window, TRUE};
}

/* --- mixers --- */

static void add_output_gate(const OrrInferenceShard *shard, const OrrLayer *layer, gint64 tokens,
                            GArray *operators) {
  add_linear(shard, layer, "gate", tokens, operators);
  if (layer->gated)
    add_memory(operators, "output-gate", shard->activations, tokens, layer->context, 3);
}

/* Both down-projections are one product (vLLM and SGLang: fused_qkv_a_proj; TensorRT-LLM:
 * Fuse_A_GEMM). The operators' bytes count weights in the products' format. */
static void add_latent(const OrrModel *model, const OrrInferenceShard *shard, const OrrLayer *layer,
                       gint64 tokens, GArray *operators) {
  const OrrMla *mla = &model->mla;
  const OrrMatrix *up = orr_layer_matrix(layer, "q-up"),
                  *out = orr_layer_matrix(layer, "projection");
  const gint64 ranks = mla->q_rank + mla->kv_rank;
  add_product(shard, ORR_QUANTIZED_MIXER, operators, mla->q_rank ? "qkv-down" : "kv-down",
              (OrrGemmShape){1, tokens, ranks + mla->rope_dim, model->hidden});
  add_memory(operators, "latent-norm", shard->activations, tokens, ranks, 2);
  add_product(shard, up->part, operators, up->served, (OrrGemmShape){1, tokens, up->out, up->in});
  add_memory(operators, "rope", shard->activations, tokens, (layer->heads + 1) * mla->rope_dim, 2);
  add_output_gate(shard, layer, tokens, operators);
  add_product(shard, out->part, operators, out->served,
              (OrrGemmShape){1, tokens, out->out, out->in});
}

static void add_indexer(const OrrInferenceShard *shard, const OrrLayer *layer, gint64 tokens,
                        GArray *operators) {
  static const char *const names[] = {"index-q", "index-k", "index-weights"};
  for (guint i = 0; i < G_N_ELEMENTS(names) && orr_layer_matrix(layer, names[0]); i++)
    add_linear(shard, layer, names[i], tokens, operators);
}

static void add_compressed(const OrrModel *model, const OrrInferenceShard *shard,
                           const OrrLayer *layer, gint64 tokens, GArray *operators) {
  const OrrCompressed *compressed = &model->compressed;
  const gint64 ranks = compressed->q_rank + layer->head_dim;
  add_product(shard, ORR_QUANTIZED_MIXER, operators, "qkv-down",
              (OrrGemmShape){1, tokens, ranks, model->hidden});
  add_memory(operators, "latent-norm", shard->activations, tokens, ranks, 2);
  add_linear(shard, layer, "q-up", tokens, operators);
  add_memory(operators, "rope", shard->activations, tokens,
             (layer->heads + 1) * compressed->rope_dim, 2);
  if (orr_layer_matrix(layer, "compress")) add_linear(shard, layer, "compress", tokens, operators);
  add_indexer(shard, layer, tokens, operators);
  add_linear(shard, layer, "out-down", tokens, operators);
  add_linear(shard, layer, "projection", tokens, operators);
}

static void add_attention(const OrrModel *model, const OrrInferenceShard *shard,
                          const OrrLayer *layer, gint64 tokens, GArray *operators) {
  const gint64 turned = layer->q + layer->kv;
  add_linear(shard, layer, "qkv", tokens, operators);
  if (orr_layer_matrix(layer, "q-up")) {
    add_memory(operators, "latent-norm", shard->activations, tokens, model->mla.q_rank, 2);
    add_linear(shard, layer, "q-up", tokens, operators);
  }
  if (model->qk_norm) add_memory(operators, "qk-norm", shard->activations, tokens, turned, 2);
  if (model->position == ORR_POSITION_ROPE)
    add_memory(operators, "rope", shard->activations, tokens, turned, 2);
  add_output_gate(shard, layer, tokens, operators);
  add_linear(shard, layer, "projection", tokens, operators);
}

static void add_state(const OrrInferenceShard *shard, const OrrLayer *layer, gint64 tokens,
                      GArray *operators) {
  const gboolean mamba = layer->kind.mixer == ORR_MIXER_MAMBA;
  if (layer->scan.shift > 0)
    add_memory(operators, "token-shift", shard->activations, tokens, layer->hidden,
               ORR_SHIFT_MOVES);
  add_linear(shard, layer, mamba ? "mamba-in" : "linear-in", tokens, operators);
  add_linear(shard, layer, "linear-low", tokens, operators);
  add_linear(shard, layer, "linear-up", tokens, operators);
  add_memory(operators, "gated-norm", shard->activations, tokens, layer->scan.out, 3);
  add_linear(shard, layer, mamba ? "mamba-out" : "linear-out", tokens, operators);
}

static void add_cross(const OrrInferenceShard *shard, const OrrLayer *layer, gint64 tokens,
                      GArray *operators) {
  add_linear(shard, layer, "cross-q", tokens, operators);
  add_linear(shard, layer, "projection", tokens, operators);
}

static void add_mixer(const OrrModel *model, const OrrInferenceShard *shard, const OrrLayer *layer,
                      gint64 tokens, GArray *operators) {
  const gboolean scans = has_state(layer);
  add_norm(model, shard, norm_name(model), tokens, operators);
  if (scans) {
    add_state(shard, layer, tokens, operators);
  } else if (layer->compressed) {
    add_compressed(model, shard, layer, tokens, operators);
  } else if (layer->kind.mixer == ORR_MIXER_CROSS) {
    add_cross(shard, layer, tokens, operators);
  } else {
    (layer->latent ? add_latent : add_attention)(model, shard, layer, tokens, operators);
    add_indexer(shard, layer, tokens, operators);
  }
  add_all_reduce(model, shard, tokens, operators);
  if (model->post_norms && !scans && !layer->latent)
    add_norm(model, shard, norm_name(model), tokens, operators);
}

/* Reads and writes the state in fp32; each element takes part in three multiply-adds: decay, the
 * new token's outer product, the product with the query. */
static void add_state_update(const OrrInferenceShard *shard, const OrrScan *scan, gint64 tokens,
                             GArray *operators) {
  const double elements = (double)tokens * (double)(scan->heads * scan->key * scan->value);
  if (scan->conv > 0)
    add_memory(operators, "conv-update", shard->activations, tokens, scan->conv, 2);
  add(operators,
      orr_operator_memory("state-update", ORR_PASS_FORWARD, ORR_FP32, 8 * elements, 6 * elements));
}

/* Keys are k = Wk c, where c is the cached latent of Rk elements; the cache also has r elements
 * with position, common to all heads. As q k = (Wk^T q) c, queries are projected into the latent
 * space instead of keys out of it, and results out of it at the end (DeepSeek-V2, arXiv 2405.04434,
 * section 2.1.2). Attention then has a heads over ONE key head of size Rk + r, whose first Rk
 * elements are also the value; the cache has Rk + r elements per token, a whole copy on each
 * tensor-parallel rank (FlashMLA). One product per head, in 16 bits as in serving engines. */
static void add_absorbed(const OrrMla *mla, const OrrInferenceShard *shard, gint64 heads,
                         gint64 tokens, GArray *operators) {
  add(operators, orr_operator_gemm("q-absorb", ORR_PASS_FORWARD, shard->activations,
                                   (OrrGemmShape){heads, tokens, mla->kv_rank, mla->nope_dim}));
  add(operators, orr_operator_gemm("v-absorb", ORR_PASS_FORWARD, shard->activations,
                                   (OrrGemmShape){heads, tokens, mla->value_dim, mla->kv_rank}));
}

void orr_inference_prompts(const OrrModel *model, guint kind, const OrrInferenceShard *shard,
                           gint64 tokens, gint64 keys, GArray *operators) {
  const OrrLayer layer = layer_of(model, kind, shard);
  if (shard->part == ORR_PART_FEED) return;
  if (has_state(&layer)) {
    const OrrShard scanned = {
        .micro_batch = 1, .sequence = tokens, .tp = shard->tp, .dtype = shard->activations};
    const OrrTransformerView view = orr_transformer_view(model, kind, &scanned);
    if (layer.scan.conv > 0)
      add_memory(operators, "state-conv", shard->activations, tokens, layer.scan.conv, 2);
    orr_transformer_put_scan(&view, operators, ORR_PASS_FORWARD);
  } else if (layer.latent && orr_mixer_is_sparse(layer.kind.mixer)) {
    add_absorbed(&model->mla, shard, layer.heads, tokens, operators);
  } else if (layer.latent && orr_inference_attends(model, kind)) {
    add_linear(shard, &layer, "kv-up", keys, operators);
  }
}

void orr_inference_decodes(const OrrModel *model, guint kind, const OrrInferenceShard *shard,
                           gint64 tokens, GArray *operators) {
  const OrrLayer layer = layer_of(model, kind, shard);
  if (shard->part == ORR_PART_FEED) return;
  if (has_state(&layer))
    add_state_update(shard, &layer.scan, tokens, operators);
  else if (layer.latent && orr_inference_attends(model, kind))
    add_absorbed(&model->mla, shard, layer.heads, tokens, operators);
}

void orr_inference_cross(const OrrModel *model, guint kind, const OrrInferenceShard *shard,
                         gint64 sequences, GArray *operators) {
  const OrrLayer layer = layer_of(model, kind, shard);
  if (shard->part == ORR_PART_FEED || !orr_layer_matrix(&layer, "cross-kv") || sequences <= 0)
    return;
  add_linear(shard, &layer, "cross-kv", sequences * model->cross.tokens, operators);
}

gint64 orr_inference_source(const OrrModel *model, guint kind) {
  return orr_model_kind(model, kind).mixer == ORR_MIXER_CROSS ? model->cross.tokens : 0;
}

void orr_inference_module(const OrrModel *model, guint kind, const OrrInferenceShard *shard,
                          gint64 tokens, GArray *operators) {
  const OrrLayer layer = layer_of(model, kind, shard);
  if (layer.compressed) return add_compressed(model, shard, &layer, tokens, operators);
  (layer.latent ? add_latent : add_attention)(model, shard, &layer, tokens, operators);
  add_indexer(shard, &layer, tokens, operators);
  if (layer.latent) add_absorbed(&model->mla, shard, layer.heads, tokens, operators);
}

const char *orr_inference_module_op(const OrrModel *model, guint kind, gboolean decodes) {
  const OrrLayerKind of = orr_model_kind(model, kind);
  const gboolean is_latent = model->mla.kv_rank > 0;
  switch (of.mixer) {
  case ORR_MIXER_SPARSE:
    return !is_latent ? NULL : decodes ? "dsa-decode" : "dsa-prefill";
  case ORR_MIXER_SHARED:
    return !is_latent ? NULL : decodes ? "dsa-decode-shared" : "dsa-prefill-shared";
  case ORR_MIXER_CSA:
    return decodes ? "csa-decode" : "csa-prefill";
  case ORR_MIXER_HCA:
    return decodes ? "hca-decode" : "hca-prefill";
  default:
    return NULL;
  }
}

/* --- feed-forwards --- */

/* An MLP of the matrices @up and @down, without its norm and residual add. */
static void add_mlp(const OrrInferenceShard *shard, const OrrLayer *layer, const char *up,
                    const char *down, gint64 tokens, GArray *operators) {
  const gboolean gated = orr_activation_is_gated(layer->activation);
  add_linear(shard, layer, up, tokens, operators);
  add_memory(operators, gated ? "swiglu" : "gelu", shard->activations, tokens,
             orr_layer_matrix(layer, down)->in, gated ? 3 : 2);
  add_linear(shard, layer, down, tokens, operators);
}

/* The operators before the experts, over all tokens. */
static void add_router(const OrrModel *model, const OrrInferenceShard *shard, gint64 tokens,
                       GArray *operators) {
  const OrrMoe *moe = &model->moe;
  const gint64 scored = moe->experts + moe->zero_experts;
  add_gemm(operators, "router", shard->activations, tokens, scored, model->hidden);
  add_memory(operators, "router-topk", ORR_FP32, tokens, scored, 3);
  if (moe->latent == 0) return;
  add_gemm(operators, "latent-down", shard->activations, tokens, moe->latent, model->hidden);
  add_gemm(operators, "latent-up", shard->activations, tokens, model->hidden, moe->latent);
}

void orr_inference_shared_experts(const OrrModel *model, guint kind, const OrrInferenceShard *shard,
                                  gint64 tokens, GArray *operators) {
  const OrrLayer layer = layer_of(model, kind, shard);
  if (shard->part != ORR_PART_MIXER && orr_layer_matrix(&layer, "shared-fc1"))
    add_mlp(shard, &layer, "shared-fc1", "shared-fc2", tokens, operators);
}

OrrDtype orr_inference_sent(const OrrInferenceShard *shard) {
  double stored;
  const OrrDtype products = products_of(shard, ORR_QUANTIZED_EXPERTS, &stored);
  if (orr_dtype_bytes(products) >= orr_dtype_bytes(shard->activations)) return shard->activations;
  return shard->gathered ? products : ORR_FP8;
}

double orr_inference_met(const OrrModel *model, guint kind, gint64 groups) {
  const int feed = orr_model_kind(model, kind).feed;
  const gint64 experts = model->moe.experts;
  const double here = (double)experts / (double)groups; /* also of ranks that differ by one */
  double none = 1;
  if (feed == ORR_FEED_NONE) return 0;
  if (feed == ORR_FEED_DENSE) return 1 / (double)groups;
  for (gint64 i = 0; i < model->moe.topk; i++)
    none *= fmax(((double)(experts - i) - here) / (double)(experts - i), 0);
  return 1 - none;
}

/* The part of a feed-forward where attention is: what it sends, and the gathered results. */
static void add_feed_apart(const OrrModel *model, const OrrInferenceShard *shard,
                           const OrrLayer *layer, gint64 tokens, GArray *operators) {
  const double bytes = (double)tokens * (double)model->hidden * orr_dtype_bytes(shard->activations);
  add_norm(model, shard, norm_name(model), tokens, operators);
  if (layer->kind.feed == ORR_FEED_MOE) add_router(model, shard, tokens, operators);
  if (shard->tp > 1)
    add(operators, orr_operator_comm("tp-all-gather", ORR_PASS_FORWARD, ORR_GROUP_TP,
                                     ORR_COMM_ALL_GATHER, bytes));
  if (model->post_norms) add_norm(model, shard, norm_name(model), tokens, operators);
}

static void add_feed(const OrrModel *model, const OrrInferenceShard *shard, const OrrLayer *layer,
                     gint64 tokens, GArray *operators) {
  add_norm(model, shard, norm_name(model), tokens, operators);
  if (layer->kind.feed == ORR_FEED_MOE)
    add_router(model, shard, tokens, operators);
  else
    add_mlp(shard, layer, "fc1", "fc2", tokens, operators);
  add_all_reduce(model, shard, tokens, operators);
  if (model->post_norms) add_norm(model, shard, norm_name(model), tokens, operators);
}

void orr_inference_layer(const OrrModel *model, guint kind, const OrrInferenceShard *shard,
                         gint64 tokens, GArray *operators) {
  const OrrLayer layer = layer_of(model, kind, shard);
  const gboolean feeds = layer.kind.feed != ORR_FEED_NONE;
  if (shard->part == ORR_PART_FEED) {
    if (layer.kind.feed == ORR_FEED_DENSE) {
      add_mlp(shard, &layer, "fc1", "fc2", tokens, operators);
      add_all_reduce(model, shard, tokens, operators);
    }
    return;
  }
  if (layer.kind.mixer != ORR_MIXER_NONE) add_mixer(model, shard, &layer, tokens, operators);
  if (feeds)
    (shard->part == ORR_PART_MIXER ? add_feed_apart : add_feed)(model, shard, &layer, tokens,
                                                                operators);
}

/* Width in which routed experts work. */
static gint64 expert_input(const OrrModel *model) {
  return model->moe.latent > 0 ? model->moe.latent : model->hidden;
}

/* Each rank sends its own tokens to their experts in the experts' format, and receives results
 * in 16 bits. */
static void add_exchange(const OrrModel *model, const OrrInferenceShard *shard, const char *name,
                         OrrDtype dtype, gint64 tokens, GArray *operators) {
  const gint64 ranks = shard->tp * shard->dp, own = (tokens + ranks - 1) / ranks;
  const gint64 width = expert_input(model);
  OrrOperator op =
      orr_operator_comm(name, ORR_PASS_FORWARD, ORR_GROUP_EP, ORR_COMM_ALL_TO_ALL,
                        (double)(own * width * model->moe.topk) * orr_dtype_bytes(dtype));
  op.dtype = (guint8)dtype;
  op.comm.tokens = own;
  op.comm.hidden = width;
  op.comm.topk = model->moe.topk;
  op.comm.experts = model->moe.experts;
  add(operators, op);
}

void orr_inference_experts(const OrrModel *model, guint kind, const OrrInferenceShard *shard,
                           gint64 tokens, GArray *operators) {
  const OrrMoe *moe = &model->moe;
  if (orr_model_kind(model, kind).feed != ORR_FEED_MOE || shard->part == ORR_PART_MIXER) return;
  const gint64 ranks = shard->tp * MAX(shard->dp, 1), ep = MAX(shard->ep, 1);
  const gint64 inter = moe->ffn > 0 ? moe->ffn : model->ffn;
  const int projections = orr_activation_is_gated(model->activation) ? 3 : 2;
  double stored;
  const OrrDtype products = products_of(shard, ORR_QUANTIZED_EXPERTS, &stored);
  OrrOperator op = orr_operator_moe("experts", ORR_PASS_FORWARD, products,
                                    (OrrMoeShape){.tokens = tokens,
                                                  .hidden = expert_input(model),
                                                  .inter = inter,
                                                  .topk = moe->topk,
                                                  .experts = moe->experts,
                                                  .tp = ranks / ep,
                                                  .ep = ep,
                                                  .projections = projections,
                                                  .imbalance = shard->imbalance,
                                                  .fullest = shard->fullest,
                                                  .redundant = shard->redundant,
                                                  .drawn = TRUE,
                                                  .stored.weight_bytes = stored});
  const gboolean exchanges = shard->dp > 1 && shard->part == ORR_PART_WHOLE;
  if (exchanges)
    add_exchange(model, shard, "dispatch", orr_inference_sent(shard), tokens, operators);
  const double weights = (double)(projections * op.moe.hidden * inter * moe->experts);
  if (add_expansion(shard, ORR_QUANTIZED_EXPERTS, weights / (double)ranks, operators))
    op.moe.stored.weight_bytes = 0;
  add(operators, op);
  if (exchanges) add_exchange(model, shard, "combine", shard->activations, tokens, operators);
  if (shard->part == ORR_PART_FEED) /* its ranks gather the tokens, and scatter the sums */
    add_all_reduce(model, shard, (gint64)ceil((double)tokens * orr_inference_met(model, kind, ep)),
                   operators);
}

/* The same operators as in training, forward. */
void orr_inference_encoder(const OrrModel *model, const OrrInferenceShard *shard, gint64 images,
                           GArray *operators) {
  if (model->encoder.layers == 0 || images <= 0) return;
  OrrModel seen = *model;
  seen.encoder.images = images;
  const OrrShard whole = {.micro_batch = 1,
                          .sequence = 1,
                          .tp = shard->tp,
                          .attention = ORR_ATTENTION_FUSED,
                          .dtype = shard->activations};
  const guint kind = (guint)orr_model_encoder_kind(model);
  for (gint64 layer = 0; layer < model->encoder.layers; layer++)
    orr_transformer_layer_forward(&seen, kind, &whole, operators);
  orr_transformer_encoder_ends(&seen, &whole, operators);
}

void orr_inference_embedding(const OrrModel *model, const OrrInferenceShard *shard, gint64 tokens,
                             GArray *operators) {
  add_memory(operators, "embedding", shard->activations, tokens, model->hidden, 2);
  add_all_reduce(model, shard, tokens, operators);
}

void orr_inference_final_norm(const OrrModel *model, const OrrInferenceShard *shard, gint64 tokens,
                              GArray *operators) {
  add_norm(model, shard, "final-norm", tokens, operators);
}

void orr_inference_head(const OrrModel *model, const OrrInferenceShard *shard, gint64 sequences,
                        GArray *operators) {
  const gint64 vocab = (model->vocab + shard->tp - 1) / shard->tp;
  add_gemm(operators, "logits", shard->activations, sequences, vocab, model->hidden);
  if (shard->tp > 1)
    add(operators, orr_operator_comm(
                       "logits-gather", ORR_PASS_FORWARD, ORR_GROUP_TP, ORR_COMM_ALL_GATHER,
                       (double)(sequences * model->vocab) * orr_dtype_bytes(shard->activations)));
  add_memory(operators, "sampler", ORR_FP32, sequences, model->vocab, 2);
}

/* Each rank has all logits here, whatever @shard. */
void orr_inference_candidates(const OrrModel *model, const OrrInferenceShard *shard,
                              gint64 sequences, GArray *operators) {
  add_memory(operators, "log-softmax", ORR_FP32, sequences, model->vocab, 2);
  add_memory(operators, "top-k", ORR_FP32, sequences, model->vocab, 1);
  add_memory(operators, "ranks", ORR_FP32, sequences, model->vocab, 1);
}

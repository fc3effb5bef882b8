/*
 * transformer_inference.c - see transformer_inference.h.
 *
 *   layer    norm, qkv [T, (a + 2 kv) d / t], rope, core, out [T, h], all-reduce,
 *            norm, gate-up [T, 2 f / t], swiglu, down [T, h], all-reduce
 *            or norm, router [T, E], router-topk, experts of T tokens, shared experts as an MLP, all-reduce
 *   ends     embedding, all-reduce; final norm; logits [S, V / t], gather, sampler
 *
 * Bytes a token and layer of the cache: 2 kv d / t elements.
 */
#include "models/transformer_inference.h"

#include <math.h>

#define D "%" G_GINT64_FORMAT

static gint64 local_kv_heads(const OrrModel *model, gint64 tp) { return MAX(model->kv_heads / tp, 1); }

OrrInferenceHeads orr_inference_heads(const OrrModel *model, guint kind, const OrrInferenceShard *shard) {
  const gboolean is_window = orr_model_kind(model, kind).mixer == ORR_MIXER_WINDOW;
  return (OrrInferenceHeads){model->heads / shard->tp, local_kv_heads(model, shard->tp), model->head_dim,
                             is_window ? model->window.size : 0};
}

static gint64 expert_width(const OrrModel *model) { return model->moe.ffn > 0 ? model->moe.ffn : model->ffn; }
static gint64 expert_ranks(const OrrInferenceShard *shard) { return MAX(shard->ep, 1); }
static gint64 expert_tp(const OrrInferenceShard *shard) { return shard->tp / expert_ranks(shard); }

static void check_experts(const OrrModel *model, const OrrInferenceShard *shard, OrrPlace place, OrrDiags *diags) {
  const gint64 ep = expert_ranks(shard);
  if (ep > model->moe.experts)
    orr_diags_error(diags, place, "ep (" D ") is above the " D " experts of model %s", ep, model->moe.experts,
                    model->name);
  else if (shard->tp % ep)
    orr_diags_error(diags, place, "tp (" D ") cannot be divided by ep (" D ")", shard->tp, ep);
  else if (model->moe.experts % ep)
    orr_diags_error(diags, place, "model %s: experts (" D ") cannot be divided by ep (" D ")", model->name,
                    model->moe.experts, ep);
  else if (expert_width(model) % expert_tp(shard))
    orr_diags_error(diags, place, "model %s: experts' ffn (" D ") cannot be divided by tp / ep (" D ")", model->name,
                    expert_width(model), expert_tp(shard));
}

/* What this file does not know is told, never modelled as something else. */
static void check_kinds(const OrrModel *model, const OrrInferenceShard *shard, OrrPlace place, OrrDiags *diags) {
  gboolean has_experts = FALSE, has_dense = FALSE;
  if (model->mla.kv_rank > 0)
    orr_diags_error(diags, place, "model %s has latent attention (mla), which serving does not know yet", model->name);
  if (model->encoder.layers > 0)
    orr_diags_error(diags, place, "model %s has an encoder, which serving does not know yet", model->name);
  for (guint k = 0; k < orr_model_n_layer_kinds(model); k++) {
    const OrrLayerKind kind = orr_model_kind(model, k);
    if (kind.mixer == ORR_MIXER_MAMBA || kind.mixer == ORR_MIXER_LINEAR)
      orr_diags_error(diags, place, "model %s has layers with a state, which serving does not know yet", model->name);
    has_experts |= kind.feed == ORR_FEED_MOE;
    has_dense |= kind.feed == ORR_FEED_DENSE;
  }
  if (has_experts && model->moe.latent > 0)
    orr_diags_error(diags, place, "model %s has experts of a latent width, which serving does not know yet",
                    model->name);
  if (has_dense && model->ffn % shard->tp)
    orr_diags_error(diags, place, "model %s: ffn (" D ") cannot be divided by tp (" D ")", model->name, model->ffn,
                    shard->tp);
  if (has_experts) check_experts(model, shard, place, diags);
}

void orr_inference_check(const OrrModel *model, const OrrInferenceShard *shard, OrrPlace place, OrrDiags *diags) {
  const gint64 tp = shard->tp;
  if (tp > model->heads)
    orr_diags_error(diags, place, "tp (" D ") is above the " D " attention heads of model %s", tp, model->heads,
                    model->name);
  else if (model->heads % tp)
    orr_diags_error(diags, place, "model %s: heads (" D ") cannot be divided by tp (" D ")", model->name, model->heads,
                    tp);
  else if (model->kv_heads % tp && tp % model->kv_heads)
    orr_diags_error(diags, place, "model %s: of kv-heads (" D ") and tp (" D ") one must divide the other", model->name,
                    model->kv_heads, tp);
  check_kinds(model, shard, place, diags);
}

/* --- operators --- */

static void add(GArray *operators, OrrOperator op) { g_array_append_val(operators, op); }

/* A kernel that moves @moves elements for each of tokens * width. */
static void add_memory(GArray *operators, const char *name, OrrDtype dtype, gint64 tokens, gint64 width, double moves) {
  OrrOperator op = orr_operator_memory(name, ORR_PASS_FORWARD, dtype,
                                       (double)tokens * (double)width * moves * orr_dtype_bytes(dtype), 0);
  op.m = tokens;
  op.n = width;
  add(operators, op);
}

static void add_gemm(GArray *operators, const char *name, OrrDtype dtype, gint64 m, gint64 n, gint64 k) {
  add(operators, orr_operator_gemm(name, ORR_PASS_FORWARD, dtype, 1, m, n, k));
}

static void add_all_reduce(const OrrModel *model, const OrrInferenceShard *shard, gint64 tokens, GArray *operators) {
  if (shard->tp <= 1) return;
  double bytes = (double)tokens * (double)model->hidden * orr_dtype_bytes(shard->activations);
  add(operators, orr_operator_comm("tp-all-reduce", ORR_PASS_FORWARD, ORR_GROUP_TP, ORR_COMM_ALL_REDUCE, bytes));
}

static void add_norm(const OrrModel *model, const OrrInferenceShard *shard, const char *name, gint64 tokens,
                     GArray *operators) {
  add_memory(operators, name, shard->activations, tokens, model->hidden, 4); /* x and residual, in and out */
}

static const char *norm_name(const OrrModel *model) {
  return model->norm == ORR_NORM_RMSNORM ? "rms-norm" : "layer-norm";
}

static void add_attention(const OrrModel *model, guint kind, const OrrInferenceShard *shard, gint64 tokens,
                          GArray *operators) {
  const OrrInferenceHeads heads = orr_inference_heads(model, kind, shard);
  const gint64 q = heads.heads * heads.head_dim, kv = heads.kv_heads * heads.head_dim;
  add_norm(model, shard, norm_name(model), tokens, operators);
  add_gemm(operators, "qkv", shard->weights, tokens, q + 2 * kv, model->hidden);
  if (model->qk_norm) add_memory(operators, "qk-norm", shard->activations, tokens, q + kv, 2);
  if (model->position == ORR_POSITION_ROPE) add_memory(operators, "rope", shard->activations, tokens, q + kv, 2);
  add_gemm(operators, "attention-out", shard->weights, tokens, model->hidden, q);
  add_all_reduce(model, shard, tokens, operators);
  if (model->post_norms) add_norm(model, shard, norm_name(model), tokens, operators);
}

/* An MLP of this rank's width, without norm and sum. */
static void add_mlp(const OrrModel *model, const OrrInferenceShard *shard, gint64 tokens, gint64 ffn,
                    GArray *operators) {
  const gboolean gated = orr_activation_is_gated(model->activation);
  add_gemm(operators, "mlp-up", shard->weights, tokens, gated ? 2 * ffn : ffn, model->hidden);
  add_memory(operators, gated ? "swiglu" : "gelu", shard->activations, tokens, ffn, gated ? 3 : 2);
  add_gemm(operators, "mlp-down", shard->weights, tokens, model->hidden, ffn);
}

static void add_experts(const OrrModel *model, const OrrInferenceShard *shard, gint64 tokens, GArray *operators) {
  const OrrMoe *moe = &model->moe;
  add_gemm(operators, "router", shard->activations, tokens, moe->experts, model->hidden);
  add_memory(operators, "router-topk", ORR_FP32, tokens, moe->experts, 3);
  add(operators, orr_operator_moe("experts", ORR_PASS_FORWARD, shard->weights, tokens, model->hidden,
                                  expert_width(model), moe->topk, moe->experts, expert_tp(shard), expert_ranks(shard),
                                  orr_activation_is_gated(model->activation) ? 3 : 2, shard->imbalance));
  if (moe->shared_ffn > 0) add_mlp(model, shard, tokens, MAX(moe->shared_ffn / shard->tp, 1), operators);
}

static void add_feed(const OrrModel *model, OrrFeed feed, const OrrInferenceShard *shard, gint64 tokens,
                     GArray *operators) {
  add_norm(model, shard, norm_name(model), tokens, operators);
  if (feed == ORR_FEED_MOE)
    add_experts(model, shard, tokens, operators);
  else
    add_mlp(model, shard, tokens, model->ffn / shard->tp, operators);
  add_all_reduce(model, shard, tokens, operators);
  if (model->post_norms) add_norm(model, shard, norm_name(model), tokens, operators);
}

void orr_inference_layer(const OrrModel *model, guint kind, const OrrInferenceShard *shard, gint64 tokens,
                         GArray *operators) {
  const OrrLayerKind parts = orr_model_kind(model, kind);
  if (parts.mixer != ORR_MIXER_NONE) add_attention(model, kind, shard, tokens, operators);
  if (parts.feed != ORR_FEED_NONE) add_feed(model, (OrrFeed)parts.feed, shard, tokens, operators);
}

void orr_inference_embedding(const OrrModel *model, const OrrInferenceShard *shard, gint64 tokens, GArray *operators) {
  add_memory(operators, "embedding", shard->activations, tokens, model->hidden, 2);
  add_all_reduce(model, shard, tokens, operators);
}

void orr_inference_final_norm(const OrrModel *model, const OrrInferenceShard *shard, gint64 tokens, GArray *operators) {
  add_norm(model, shard, "final-norm", tokens, operators);
}

void orr_inference_head(const OrrModel *model, const OrrInferenceShard *shard, gint64 sequences, GArray *operators) {
  const gint64 vocab = (model->vocab + shard->tp - 1) / shard->tp;
  add_gemm(operators, "logits", shard->activations, sequences, vocab, model->hidden);
  if (shard->tp > 1)
    add(operators, orr_operator_comm("logits-gather", ORR_PASS_FORWARD, ORR_GROUP_TP, ORR_COMM_ALL_GATHER,
                                     (double)(sequences * model->vocab) * orr_dtype_bytes(shard->activations)));
  add_memory(operators, "sampler", ORR_FP32, sequences, model->vocab, 2);
}

/* --- memory --- */

double orr_inference_kv_bytes(const OrrModel *model, const OrrInferenceShard *shard, gint64 first, gint64 n_layers) {
  double sum = 0;
  for (gint64 layer = first; layer < first + n_layers; layer++) {
    const guint kind = orr_model_layer_kind(model, layer);
    const OrrInferenceHeads heads = orr_inference_heads(model, kind, shard);
    if (orr_model_kind(model, kind).mixer == ORR_MIXER_NONE) continue;
    sum += 2.0 * (double)(heads.kv_heads * heads.head_dim) * orr_dtype_bytes(shard->kv);
  }
  return sum;
}

/* fp4 comes with a scale of one byte for each 16 weights (NVFP4); fp8's scales are not worth counting. */
static double weight_size(OrrDtype dtype) { return orr_dtype_bytes(dtype) + (dtype == ORR_FP4 ? 1.0 / 16 : 0); }

double orr_inference_weight_bytes(const OrrModel *model, const OrrInferenceShard *shard, gint64 first, gint64 n_layers,
                                  gboolean has_embedding, gboolean has_head) {
  double parameters = 0, ends = 0;
  const double table = (double)model->vocab * (double)model->hidden;
  for (gint64 layer = first; layer < first + n_layers; layer++)
    parameters += orr_model_layer_parameters(model, orr_model_layer_kind(model, layer));
  if (has_embedding) ends += table;
  if (has_head && !(has_embedding && model->tied_embeddings)) ends += table;
  return (parameters * weight_size(shard->weights) + ends * orr_dtype_bytes(shard->activations)) / (double)shard->tp;
}

double orr_inference_activation_bytes(const OrrModel *model, const OrrInferenceShard *shard, gint64 tokens,
                                      gint64 sequences) {
  const double inner = 2 * (double)model->ffn / (double)shard->tp;
  const double qkv = (double)((model->heads + 2 * model->kv_heads) * model->head_dim) / (double)shard->tp;
  const double layer = (double)tokens * (2 * (double)model->hidden + fmax(inner, qkv));
  return layer * orr_dtype_bytes(shard->activations) + 4.0 * (double)sequences * (double)model->vocab;
}

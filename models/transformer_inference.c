/*
 * transformer_inference.c - see transformer_inference.h.
 *
 *   layer    norm, qkv [T, (a + 2 kv) d / t], rope, core, out [T, h], all-reduce,
 *            norm, gate-up [T, 2 f / t], swiglu, down [T, h], all-reduce
 *   ends     embedding, all-reduce; final norm; logits [S, V / t], gather, sampler
 *
 * Bytes a token and layer of the cache: 2 kv d / t elements.
 */
#include "models/transformer_inference.h"

#include <math.h>

#define D "%" G_GINT64_FORMAT

static gint64 local_kv_heads(const OrrModel *model, gint64 tp) { return MAX(model->kv_heads / tp, 1); }

OrrInferenceHeads orr_inference_heads(const OrrModel *model, guint kind, const OrrInferenceShard *shard) {
  (void)kind;
  return (OrrInferenceHeads){model->heads / shard->tp, local_kv_heads(model, shard->tp), model->head_dim};
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
  if (model->ffn % tp)
    orr_diags_error(diags, place, "model %s: ffn (" D ") cannot be divided by tp (" D ")", model->name, model->ffn, tp);
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
  if (model->position == ORR_POSITION_ROPE) add_memory(operators, "rope", shard->activations, tokens, q + kv, 2);
  add_gemm(operators, "attention-out", shard->weights, tokens, model->hidden, q);
  add_all_reduce(model, shard, tokens, operators);
}

static void add_mlp(const OrrModel *model, const OrrInferenceShard *shard, gint64 tokens, GArray *operators) {
  const gint64 ffn = model->ffn / shard->tp;
  const gboolean gated = model->activation == ORR_ACTIVATION_SWIGLU;
  add_norm(model, shard, norm_name(model), tokens, operators);
  add_gemm(operators, "mlp-up", shard->weights, tokens, gated ? 2 * ffn : ffn, model->hidden);
  add_memory(operators, gated ? "swiglu" : "gelu", shard->activations, tokens, ffn, gated ? 3 : 2);
  add_gemm(operators, "mlp-down", shard->weights, tokens, model->hidden, ffn);
  add_all_reduce(model, shard, tokens, operators);
}

void orr_inference_layer(const OrrModel *model, guint kind, const OrrInferenceShard *shard, gint64 tokens,
                         GArray *operators) {
  add_attention(model, kind, shard, tokens, operators);
  add_mlp(model, shard, tokens, operators);
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
    const OrrInferenceHeads heads = orr_inference_heads(model, orr_model_layer_kind(model, layer), shard);
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

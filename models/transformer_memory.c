/*
 * transformer_memory.c - activations kept from forward to backward.
 *
 * Korthikanti et al. 2022 (arXiv 2205.05198), eq. 1-6, for 2-byte activations, 1-byte dropout masks, GPT. Bytes of one
 * layer for one micro-batch, by what keeps them, in units of s b h:
 *
 *                     whole on each rank (split by t under sequence parallelism)   split by t
 *   layer norms       2 + 2  inputs
 *   attention         2      input of QKV                                          2 + 2 Q, K; 2 V; 2 context
 *                     1      dropout mask
 *   attention core                                                                 5 a s / h: 2 softmax, 1 mask, 2 out
 *   MLP               2      input of fc1                                          8 GELU's input, 8 fc2's input
 *                     1      dropout mask
 *                     --                                                           --
 *                     10                                                           24 + 5 a s / h
 *
 * selective drops the core's 5 a s / h, full keeps the layer's input alone: 2. The rest is built the same way, from
 * what each operator's backward reads:
 *
 *   norms             their input; normed heads and norms after blocks theirs
 *   linear layers     their input, in the recipe's narrow format where it casts (then beside the operator's own copy);
 *                     none where the layer is frozen without an adapter; an adapter its r-wide middle
 *   latent attention  the compressed forms before and after their norm; queries, keys, values of all heads
 *   experts           router's input and scores (fp32); for each pair of token and expert the input, the first
 *                     product's result, the activation's
 *   Mamba, linear     the first projection's result, the convolution's, the scan's, the gated norm's
 *
 * Modules that are recomputed keep their own input alone. Where gathered inputs of column-parallel layers are kept
 * (DTensor), they are whole on each rank: t times the bytes under sequence parallelism.
 */
#include "models/transformer_private.h"

/* --- parts --- */

/* Of @elements that a linear layer keeps of its input; @target is its adapter. @shared: what made them keeps them too.
 */
static double input_bytes(const OrrTransformerView *view, double elements, guint target, gboolean shared) {
  const OrrShard *shard = view->shard;
  gboolean casts = orr_precision_casts(shard->recipe);
  double own = casts ? shard->recipe->saved_bytes : shared ? 0 : view->element_bytes;
  if (orr_transformer_is_frozen(view) && !(shard->lora.targets & target)) own = 0;
  return elements * (own + (shared ? view->element_bytes : 0));
}

/* Elements of a column-parallel layer's input that are kept. */
static double column_elements(const OrrTransformerView *view) {
  return view->shard->keeps_gathered ? (double)view->tokens * view->hidden : orr_transformer_own_elements(view);
}

/* An adapter's middle. */
static double adapter_bytes(const OrrTransformerView *view, guint target) {
  const OrrLora *lora = &view->shard->lora;
  return lora->targets & target ? (double)view->tokens * lora->rank * view->element_bytes : 0;
}

/* What each block keeps around itself: the norm's input, a dropout mask, the input of a norm after it. */
static double end_bytes(const OrrTransformerView *view) {
  double norms = view->model->post_norms && view->causal ? 2 : 1;
  return orr_transformer_own_elements(view) * (norms * view->element_bytes + (view->shard->dropout ? 1 : 0));
}

/* Without dropout the softmax' output is also what multiplies V: kept once. Fused attention keeps one fp32 log-sum-exp
 * a row instead. */
static double core_bytes(const OrrTransformerView *view) {
  double rows = (double)view->tokens * view->heads;
  if (!orr_transformer_is_unfused(view)) return 4 * rows;
  return rows * view->sequence * (view->shard->dropout ? 2 * view->element_bytes + 1 : view->element_bytes);
}

/* --- mixers --- */

/* Unfused attention keeps keys and values repeated for each query head. */
static double attention_bytes(const OrrTransformerView *view, guint modules) {
  double kv = orr_transformer_is_unfused(view) ? view->q : view->kv, tokens = view->tokens, e = view->element_bytes;
  double bytes = tokens * (view->q + 2 * kv) * e;
  if (!(modules & ORR_MODULE_LAYERNORM)) bytes += input_bytes(view, column_elements(view), ORR_LORA_QKV, FALSE);
  if (view->model->qk_norm && view->causal) bytes += tokens * (view->q + view->kv) * e;
  if (!(modules & ORR_MODULE_CORE_ATTN)) bytes += core_bytes(view);
  return bytes + input_bytes(view, tokens * view->q, ORR_LORA_PROJECTION, TRUE) + adapter_bytes(view, ORR_LORA_QKV) +
         adapter_bytes(view, ORR_LORA_PROJECTION);
}

static double latent_bytes(const OrrTransformerView *view, guint modules) {
  const OrrMla *mla = &view->model->mla;
  double tokens = view->tokens, e = view->element_bytes, ranks = view->own_tokens * (mla->q_rank + mla->kv_rank);
  double bytes = ranks * e + view->own_tokens * mla->rope_dim * e;
  if (!(modules & ORR_MODULE_LAYERNORM))
    bytes += input_bytes(view, orr_transformer_own_elements(view), ORR_LORA_QKV, FALSE);
  if (!(modules & ORR_MODULE_MLA_UP_PROJ))
    bytes += input_bytes(view, ranks, ORR_LORA_QKV, FALSE) + tokens * (view->q + view->kv + view->value) * e;
  if (!(modules & ORR_MODULE_CORE_ATTN)) bytes += core_bytes(view);
  return bytes + input_bytes(view, tokens * view->context, ORR_LORA_PROJECTION, TRUE);
}

/* @in, @conv, @out: widths of the first projection, of what is convolved, of what goes out. */
static double scan_bytes(const OrrTransformerView *view, guint modules, double in, double conv, double out) {
  double tokens = view->tokens, e = view->element_bytes, bytes = tokens * in * e;
  if (!(modules & ORR_MODULE_LAYERNORM)) bytes += input_bytes(view, column_elements(view), 0, FALSE);
  if (!(modules & ORR_MODULE_CORE_ATTN)) bytes += tokens * (conv + out) * e;
  return bytes + input_bytes(view, tokens * out, 0, FALSE);
}

static double mamba_bytes(const OrrTransformerView *view, guint modules) {
  const OrrMamba *mamba = &view->model->mamba;
  double heads = (double)mamba->heads / view->tp, out = heads * mamba->head_dim;
  double conv = out + 2.0 * mamba->groups * mamba->state / view->tp;
  return scan_bytes(view, modules, out + conv + heads, conv, out);
}

static double linear_bytes(const OrrTransformerView *view, guint modules) {
  const OrrLinear *linear = &view->model->linear;
  double k = (double)linear->key_heads * linear->key_dim / view->tp;
  double out = (double)linear->value_heads * linear->value_dim / view->tp, conv = linear->conv ? 2 * k + out : 0;
  return scan_bytes(view, modules, 2 * k + 2 * out, conv, out);
}

static double mixer_bytes(const OrrTransformerView *view, guint modules) {
  switch (view->kind.mixer) {
  case ORR_MIXER_NONE:
    return 0;
  case ORR_MIXER_MAMBA:
    return end_bytes(view) + mamba_bytes(view, modules);
  case ORR_MIXER_LINEAR:
    return end_bytes(view) + linear_bytes(view, modules);
  default:
    return end_bytes(view) +
           (orr_transformer_is_latent(view) ? latent_bytes(view, modules) : attention_bytes(view, modules));
  }
}

/* --- feed-forwards --- */

static double mlp_bytes(const OrrTransformerView *view, guint modules) {
  double tokens = view->tokens, bytes = 0;
  if (!(modules & ORR_MODULE_LAYERNORM) || (modules & ORR_MODULE_MLP))
    bytes += input_bytes(view, column_elements(view), ORR_LORA_FC1, FALSE);
  if (modules & ORR_MODULE_MLP) return bytes;
  return bytes + tokens * view->fc1_width * view->element_bytes +
         input_bytes(view, tokens * view->ffn, ORR_LORA_FC2, FALSE) + adapter_bytes(view, ORR_LORA_FC1) +
         adapter_bytes(view, ORR_LORA_FC2);
}

static double moe_bytes(const OrrTransformerView *view, guint modules) {
  OrrTransformerRouting r = orr_transformer_routing(view);
  double e = view->element_bytes, gates = orr_activation_is_gated(view->activation) ? 2 : 1;
  double width = (double)r.ffn / r.etp, tokens = view->tokens;
  double bytes = modules & ORR_MODULE_LAYERNORM && !(modules & ORR_MODULE_MOE) ? 0 : r.tokens * view->hidden * e;
  if (modules & ORR_MODULE_MOE) return bytes;
  bytes += 4 * r.tokens * view->model->moe.experts + 2 * e * r.tokens * view->model->moe.latent;
  bytes += input_bytes(view, r.local * r.width, 0, FALSE) + r.local * gates * width * e;
  if (!(modules & ORR_MODULE_MOE_ACT)) bytes += input_bytes(view, r.local * width, 0, FALSE);
  if (r.shared && !(modules & ORR_MODULE_SHARED_EXPERTS))
    bytes += tokens * gates * r.shared * e + input_bytes(view, tokens * r.shared, 0, FALSE);
  return bytes;
}

static double feed_bytes(const OrrTransformerView *view, guint modules) {
  if (view->kind.feed == ORR_FEED_NONE) return 0;
  return end_bytes(view) + (view->kind.feed == ORR_FEED_MOE ? moe_bytes(view, modules) : mlp_bytes(view, modules));
}

/* --- the layer and the ends --- */

double orr_transformer_layer_activation_bytes(const OrrModel *model, guint kind, const OrrShard *shard, guint modules) {
  OrrTransformerView view = orr_transformer_view(model, kind, shard);
  double input = view.element_bytes * orr_transformer_own_elements(&view);
  if (modules & ORR_MODULE_LAYER) return input;
  if (modules & ORR_MODULE_OPERATORS) return input + orr_transformer_kept_results(model, kind, shard);
  double bytes = mixer_bytes(&view, modules) + feed_bytes(&view, modules);
  gboolean shares = model->parallel && view.kind.mixer != ORR_MIXER_ENCODER && view.kind.mixer && view.kind.feed;
  return shares ? bytes - end_bytes(&view) : bytes; /* one norm and one residual for both */
}

double orr_transformer_embedding_activation_bytes(const OrrModel *model, const OrrShard *shard) {
  OrrTransformerView view = orr_transformer_view(model, 0, shard);
  return shard->dropout ? orr_transformer_own_elements(&view) : 0;
}

/* Section 4.3: the final norm's input 2 s b h, the output layer's input 2 s b h, the logits in fp32 4 s b v (split by
 * t): with sequence parallelism 4 s b h / t (1 + v / h). Of PyTorch's loss the log-softmax is kept, 4 bytes too; a
 * fused one reads the logits again. */
double orr_transformer_head_activation_bytes(const OrrModel *model, const OrrShard *shard) {
  OrrTransformerView view = orr_transformer_view(model, 0, shard);
  double logit = shard->loss == ORR_LOSS_FUSED ? view.element_bytes : 4;
  return view.element_bytes * (orr_transformer_own_elements(&view) + column_elements(&view)) +
         logit * view.tokens * view.vocab;
}

/* A logit's gradient in the storage format; before it, PyTorch's: that of the log-softmax and of its input, in fp32
 * both. Over tensor-parallel ranks (torch.distributed.tensor.parallel.loss_parallel) the gradient is (targets + exp(x))
 * times the loss': three numbers a logit beside x at once. */
double orr_transformer_head_gradient_bytes(const OrrModel *model, const OrrShard *shard) {
  OrrTransformerView view = orr_transformer_view(model, 0, shard);
  double torch = view.tp > 1 ? 3 * 4 : 2 * 4;
  return (shard->loss == ORR_LOSS_TORCH ? torch : view.element_bytes) * view.tokens * view.vocab;
}

/* Both norms' inputs, the projection's input of twice the width, the layer, the output layer. */
double orr_transformer_mtp_activation_bytes(const OrrModel *model, const OrrShard *shard, guint modules) {
  OrrTransformerView view = orr_transformer_view(model, 0, shard);
  guint last = orr_model_layer_kind(model, model->layers - 1);
  return 4 * view.element_bytes * orr_transformer_own_elements(&view) +
         orr_transformer_layer_activation_bytes(model, last, shard, modules) +
         orr_transformer_head_activation_bytes(model, shard);
}

/* Elements of results that a product by data reads and writes: its gradients; 0 of any other operator. */
static double gradient_elements(const OrrTransformerView *view, const OrrOperator *op) {
  if (op->pass != ORR_PASS_DGRAD) return 0;
  if (op->kind == ORR_OPERATOR_GEMM) return (double)op->batch * op->m * (op->n + op->k);
  if (op->kind != ORR_OPERATOR_MOE) return 0;
  double rows = (double)op->m * op->topk / MAX(1, op->expert_ep);
  double gates = orr_activation_is_gated(view->activation) ? 2 : 1;
  return rows * (op->k + gates * op->n / MAX(1, op->expert_tp));
}

double orr_transformer_layer_gradient_bytes(const OrrModel *model, guint kind, const OrrShard *shard) {
  OrrTransformerView view = orr_transformer_view(model, kind, shard);
  g_autoptr(GArray) operators = g_array_new(FALSE, FALSE, sizeof(OrrOperator));
  orr_transformer_layer_backward(model, kind, shard, operators);
  double most = 0;
  for (guint i = 0; i < operators->len; i++)
    most = MAX(most, gradient_elements(&view, &g_array_index(operators, OrrOperator, i)));
  return view.element_bytes * (most + orr_transformer_own_elements(&view));
}

double orr_transformer_logits_bytes(const OrrModel *model, const OrrShard *shard) {
  OrrTransformerView view = orr_transformer_view(model, 0, shard);
  return view.element_bytes * view.tokens * view.vocab;
}

double orr_transformer_boundary_bytes(const OrrModel *model, const OrrShard *shard) {
  OrrTransformerView view = orr_transformer_view(model, 0, shard);
  return view.element_bytes * orr_transformer_own_elements(&view);
}

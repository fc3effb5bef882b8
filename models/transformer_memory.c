/*
 * transformer_memory.c - activations kept from forward to backward.
 *
 * Korthikanti et al. 2022 (arXiv 2205.05198), eq. 1-6, for 2-byte activations, 1-byte dropout
 * masks, GPT. Bytes of one layer for one micro-batch, by what keeps them, in units of s b h:
 *
 *                     whole on each rank (split by t under sequence parallelism)   split by t
 *   layer norms       2 + 2  inputs
 *   attention         2      input of QKV                              2 + 2 Q, K; 2 V; 2 context
 *                     1      dropout mask
 *   attention core                               5 a s / h: 2 softmax, 1 mask, 2 out
 *   MLP               2      input of fc1                           8 GELU's input, 8 fc2's input
 *                     1      dropout mask
 *                     --                                                           --
 *                     10                                                           24 + 5 a s / h
 *
 * selective drops the core's 5 a s / h, full keeps the layer's input alone: 2. The rest is built
 * the same way, from what each operator's backward reads:
 *
 *   norms             their input; normed heads and norms after blocks theirs
 *   linear layers     their input, in the recipe's narrow format where it casts (then beside the
 *                     operator's own copy); none where the layer is frozen without an adapter; an
 *                     adapter its r-wide middle
 *   latent attention  the compressed forms before and after their norm; queries, keys, values of
 *                     all heads
 *   experts           router's input and scores (fp32); for each pair of token and expert the
 *                     input, the first product's result, the activation's
 *   Mamba, linear     the first projection's result, the convolution's, the scan's, the gated
 *                     norm's
 *
 * The bytes are attributed to operators (OrrKeptBytes): an operator counts what its backward reads.
 */
#include "models/transformer_private.h"

/* --- parts --- */

/* Of @elements that the linear layer @name keeps of its input. @shared: what made them keeps them
 * too. */
static double input_bytes(const OrrTransformerView *view, const char *name, double elements,
                          gboolean shared) {
  const OrrShard *shard = view->shard;
  const OrrMatrix *matrix = orr_layer_matrix(&view->layer, name);
  gboolean casts = orr_precision_casts(shard->recipe);
  double own = casts ? shard->recipe->saved_bytes : shared ? 0 : view->element_bytes;
  gint64 widths[3];
  if (orr_transformer_is_frozen(view) && !orr_transformer_adapters(view, matrix, widths)) own = 0;
  return elements * (own + (shared ? view->element_bytes : 0));
}

/* Tokens of a column-parallel layer's input that are kept, and elements of the stream. */
static double column_tokens(const OrrTransformerView *view) {
  return view->shard->keeps_gathered ? (double)view->tokens : view->own_tokens;
}

static double column_elements(const OrrTransformerView *view) {
  return column_tokens(view) * (double)view->layer.hidden;
}

/* The middles of its adapters. */
static double adapter_bytes(const OrrTransformerView *view, const char *name) {
  const OrrLora *lora = &view->shard->lora;
  const OrrMatrix *matrix = orr_layer_matrix(&view->layer, name);
  gint64 widths[3];
  return (double)view->tokens * orr_transformer_adapters(view, matrix, widths) * lora->rank *
         view->element_bytes;
}

void orr_transformer_keep(GArray *kept, const char *operator, double bytes) {
  ORR_EACH(OrrKeptBytes, known, kept) {
    if (!g_str_equal(known->operator, operator)) continue;
    known->bytes += bytes;
    return;
  }
  const OrrKeptBytes first = {operator, bytes };
  if (bytes > 0) g_array_append_val(kept, first);
}

/* What each block keeps around itself: the norm's input, a dropout mask, the input of a norm
 * after it. */
static void keep_ends(const OrrTransformerView *view, GArray *kept) {
  const double norms = view->model->post_norms && view->layer.causal ? 2 : 1,
               own = orr_transformer_own_elements(view);
  orr_transformer_keep(kept, "norm", own * norms * view->element_bytes);
  orr_transformer_keep(kept, "dropout", view->shard->dropout ? own : 0);
}

/* Without dropout the softmax' output is also what multiplies V: kept once. Fused attention
 * keeps one fp32 log-sum-exp a row instead. */
static double core_bytes(const OrrTransformerView *view) {
  double rows = (double)view->tokens * view->layer.heads;
  if (!orr_transformer_is_unfused(view)) return 4 * rows;
  return rows * view->sequence *
         (view->shard->dropout ? 2 * view->element_bytes + 1 : view->element_bytes);
}

/* --- mixers --- */

/* The compressed form of queries before its norm, and after it as the next product's input. */
static void keep_low(const OrrTransformerView *view, GArray *kept) {
  const double rank = (double)view->model->mla.q_rank;
  if (!orr_layer_matrix(&view->layer, "q-up")) return;
  orr_transformer_keep(kept, "latent-norm", view->own_tokens * rank * view->element_bytes);
  orr_transformer_keep(kept, "q-up", input_bytes(view, "q-up", column_tokens(view) * rank, FALSE));
}

/* Unfused attention keeps keys and values repeated for each query head. */
static void keep_attention(const OrrTransformerView *view, guint modules, GArray *kept) {
  const double kv = orr_transformer_is_unfused(view) ? view->layer.q : view->layer.kv,
               tokens = view->tokens;
  const double e = view->element_bytes;
  const gboolean is_whole = orr_layer_matrix(&view->layer, "qkv")->split == ORR_SPLIT_NONE;
  if (!(modules & ORR_MODULE_LAYERNORM))
    orr_transformer_keep(
        kept, "qkv",
        input_bytes(view, "qkv",
                    is_whole ? orr_transformer_own_elements(view) : column_elements(view), FALSE));
  keep_low(view, kept);
  orr_transformer_keep(kept, "qkv", adapter_bytes(view, "qkv"));
  if (view->model->qk_norm && view->layer.causal)
    orr_transformer_keep(kept, "qk-norm", tokens * (view->layer.q + view->layer.kv) * e);
  orr_transformer_keep(kept, "attention", tokens * (view->layer.q + 2 * kv) * e);
  if (!(modules & ORR_MODULE_CORE_ATTN)) orr_transformer_keep(kept, "attention", core_bytes(view));
  orr_transformer_keep(kept, "projection",
                       input_bytes(view, "projection", tokens * view->layer.q, TRUE) +
                           adapter_bytes(view, "projection"));
}

/* The gate and what it makes of the attention's result, which is kept too. A gate with a matrix of
 * its own reads the stream that the down-projections keep, or keeps it gathered. */
static void keep_output_gate(const OrrTransformerView *view, GArray *kept) {
  const double own = orr_transformer_own_elements(view);
  if (!view->layer.gated) return;
  orr_transformer_keep(kept, "output-gate",
                       2 * (double)view->tokens * (double)view->layer.context *
                           view->element_bytes);
  if (orr_layer_matrix(&view->layer, "gate") && column_elements(view) > own)
    orr_transformer_keep(kept, "output-gate",
                         input_bytes(view, "gate", column_elements(view), FALSE));
}

/* The compressed forms before and after their norm; keys and gates of entries, and entries;
 * queries; the attention's result and what out-down makes of it. */
static void keep_compressed(const OrrTransformerView *view, guint modules, GArray *kept) {
  const double tokens = (double)view->tokens, e = view->element_bytes, own = view->own_tokens;
  const double ranks = own * (double)(view->model->compressed.q_rank + view->layer.head_dim);
  const OrrMatrix *compress = orr_layer_matrix(&view->layer, "compress");
  if (!(modules & ORR_MODULE_LAYERNORM))
    orr_transformer_keep(kept, "latent-down",
                         input_bytes(view, "kv-down", orr_transformer_own_elements(view), FALSE));
  orr_transformer_keep(kept, "latent-norm", ranks * e);
  if (compress) orr_transformer_keep(kept, "entries", own * (double)compress->out * e);
  if (!(modules & ORR_MODULE_MLA_UP_PROJ)) {
    orr_transformer_keep(kept, "latent-up", input_bytes(view, "q-up", ranks, FALSE));
    orr_transformer_keep(kept, "attention", tokens * (double)(view->layer.q + view->layer.kv) * e);
  }
  if (!(modules & ORR_MODULE_CORE_ATTN)) orr_transformer_keep(kept, "attention", core_bytes(view));
  orr_transformer_keep(kept, "out-down",
                       input_bytes(view, "out-down", tokens * (double)view->layer.q, TRUE));
  const OrrMatrix *projection = orr_layer_matrix(&view->layer, "projection");
  orr_transformer_keep(kept, "projection",
                       input_bytes(view, "projection", tokens * (double)projection->in, FALSE));
}

/* Queries and keys of the indexer, and the chosen positions. */
static void keep_indexer(const OrrTransformerView *view, guint modules, GArray *kept) {
  const OrrSparse *sparse = &view->model->sparse;
  const double widths = (double)((sparse->index_heads + 1) * sparse->index_dim);
  if (!orr_layer_matrix(&view->layer, "index-q")) return;
  orr_transformer_keep(kept, "indexer", view->own_tokens * widths * view->element_bytes);
  if (!(modules & ORR_MODULE_CORE_ATTN))
    orr_transformer_keep(kept, "indexer", 4.0 * (double)view->tokens * (double)sparse->topk);
}

static void keep_latent(const OrrTransformerView *view, guint modules, GArray *kept) {
  const OrrMla *mla = &view->model->mla;
  const double tokens = view->tokens, e = view->element_bytes,
               ranks = view->own_tokens * (mla->q_rank + mla->kv_rank);
  if (!(modules & ORR_MODULE_LAYERNORM))
    orr_transformer_keep(kept, "latent-down",
                         input_bytes(view, "kv-down", orr_transformer_own_elements(view), FALSE));
  orr_transformer_keep(kept, "latent-norm", ranks * e + view->own_tokens * mla->rope_dim * e);
  if (!(modules & ORR_MODULE_MLA_UP_PROJ)) {
    orr_transformer_keep(kept, "latent-up", input_bytes(view, "kv-up", ranks, FALSE));
    orr_transformer_keep(kept, "attention",
                         tokens * (view->layer.q + view->layer.kv + view->layer.value) * e);
  }
  if (!(modules & ORR_MODULE_CORE_ATTN)) orr_transformer_keep(kept, "attention", core_bytes(view));
  orr_transformer_keep(kept, "projection",
                       input_bytes(view, "projection", tokens * view->layer.context, TRUE));
}

/* Gates of a head are not counted. RWKV's mixer reads six mixes of the norm's result. */
static void keep_scan(const OrrTransformerView *view, guint modules, GArray *kept) {
  const OrrScan *scan = &view->layer.scan;
  const gboolean mamba = view->layer.kind.mixer == ORR_MIXER_MAMBA;
  const double tokens = view->tokens, e = view->element_bytes;
  if (!(modules & ORR_MODULE_LAYERNORM))
    orr_transformer_keep(kept, "scan-in",
                         input_bytes(view, mamba ? "mamba-in" : "linear-in",
                                     column_elements(view) * (scan->shift > 0 ? 6 : 1), FALSE));
  orr_transformer_keep(kept, "scan",
                       tokens * (double)(scan->in - scan->gates + scan->ups * scan->out) * e);
  if (scan->ups > 0)
    orr_transformer_keep(kept, "scan-in",
                         input_bytes(view, "linear-up",
                                     column_tokens(view) * (double)view->model->linear.low_rank,
                                     FALSE));
  if (!(modules & ORR_MODULE_CORE_ATTN))
    orr_transformer_keep(kept, "scan", tokens * (scan->conv + scan->out) * e);
  orr_transformer_keep(
      kept, "scan-out",
      input_bytes(view, mamba ? "mamba-out" : "linear-out", tokens * scan->out, FALSE));
}

static void keep_mixer(const OrrTransformerView *view, guint modules, GArray *kept) {
  switch (view->layer.kind.mixer) {
  case ORR_MIXER_NONE:
    break;
  case ORR_MIXER_MAMBA:
  case ORR_MIXER_LINEAR:
    keep_scan(view, modules, kept);
    break;
  default:
    (view->layer.compressed ? keep_compressed
     : view->layer.latent   ? keep_latent
                            : keep_attention)(view, modules, kept);
    keep_output_gate(view, kept);
    keep_indexer(view, modules, kept);
  }
}

/* --- feed-forwards --- */

/* Of an element of an activation function's input. fp8 is kept with an fp32 scale for each 128
 * elements (DeepSeek-V3, arXiv 2412.19437, section 3.3.3: tiles of 1 x 128). */
static double activation_input_bytes(const OrrTransformerView *view) {
  return view->shard->fp8_activation_input ? 1 + 4.0 / 128 : view->element_bytes;
}

static void keep_mlp(const OrrTransformerView *view, guint modules, GArray *kept) {
  const double tokens = view->tokens;
  const gboolean again = modules & (ORR_MODULE_MLP | ORR_MODULE_FC1);
  if (!(modules & ORR_MODULE_LAYERNORM) || again)
    orr_transformer_keep(kept, "fc1", input_bytes(view, "fc1", column_elements(view), FALSE));
  if (again) return;
  orr_transformer_keep(kept, "fc1", adapter_bytes(view, "fc1"));
  orr_transformer_keep(kept, "activation",
                       tokens * view->layer.fc1_width * activation_input_bytes(view));
  orr_transformer_keep(kept, "fc2",
                       input_bytes(view, "fc2", tokens * view->layer.ffn, FALSE) +
                           adapter_bytes(view, "fc2"));
}

static void keep_moe(const OrrTransformerView *view, guint modules, GArray *kept) {
  const OrrTransformerRouting r = orr_transformer_routing(view);
  const double e = view->element_bytes,
               gates = orr_activation_is_gated(view->layer.activation) ? 2 : 1;
  const double width = (double)r.ffn / r.etp, tokens = view->tokens;
  if (!(modules & ORR_MODULE_LAYERNORM) || (modules & ORR_MODULE_MOE))
    orr_transformer_keep(kept, "router", r.tokens * view->layer.hidden * e);
  if (modules & ORR_MODULE_MOE) return;
  orr_transformer_keep(kept, "router",
                       4 * r.tokens * (view->model->moe.experts + view->model->moe.zero_experts));
  orr_transformer_keep(kept, "latent", 2 * e * r.tokens * view->model->moe.latent);
  orr_transformer_keep(kept, "experts-fc1",
                       input_bytes(view, "experts-fc1", r.local * r.width, FALSE));
  orr_transformer_keep(kept, "experts-activation",
                       r.local * gates * width * activation_input_bytes(view));
  if (!(modules & ORR_MODULE_MOE_ACT))
    orr_transformer_keep(kept, "experts-fc2",
                         input_bytes(view, "experts-fc2", r.local * width, FALSE));
  if (r.shared && !(modules & ORR_MODULE_SHARED_EXPERTS))
    orr_transformer_keep(kept, "shared-experts",
                         tokens * gates * r.shared * activation_input_bytes(view) +
                             input_bytes(view, "shared-fc2", tokens * r.shared, FALSE));
}

static void keep_feed(const OrrTransformerView *view, guint modules, GArray *kept) {
  if (view->layer.kind.feed != ORR_FEED_NONE)
    (view->layer.kind.feed == ORR_FEED_MOE ? keep_moe : keep_mlp)(view, modules, kept);
}

/* --- the layer and the ends --- */

void orr_transformer_layer_kept(const OrrModel *model, guint kind, const OrrShard *shard,
                                guint modules, GArray *kept) {
  OrrTransformerView view = orr_transformer_view(model, kind, shard);
  if (orr_transformer_is_frozen_encoder(&view)) return;
  if (modules & (ORR_MODULE_LAYER | ORR_MODULE_OPERATORS))
    orr_transformer_keep(kept, "layer-input",
                         view.element_bytes * orr_transformer_own_elements(&view));
  if (modules & ORR_MODULE_LAYER) return;
  if (modules & ORR_MODULE_OPERATORS) return orr_transformer_keep_results(model, kind, shard, kept);
  /* A parallel layer has one norm and one residual for both. */
  const gboolean mixes = view.layer.kind.mixer != ORR_MIXER_NONE,
                 feeds = view.layer.kind.feed != ORR_FEED_NONE;
  const gboolean shares =
      model->parallel && view.layer.kind.mixer != ORR_MIXER_ENCODER && mixes && feeds;
  if (mixes) keep_ends(&view, kept);
  keep_mixer(&view, modules, kept);
  if (feeds && !shares) keep_ends(&view, kept);
  keep_feed(&view, modules, kept);
}

void orr_transformer_embedding_kept(const OrrModel *model, const OrrShard *shard, GArray *kept) {
  OrrTransformerView view = orr_transformer_view(model, 0, shard);
  orr_transformer_keep(kept, "embedding-dropout",
                       shard->dropout ? orr_transformer_own_elements(&view) : 0);
}

/* Section 4.3: the final norm's input 2 s b h, the output layer's input 2 s b h, the logits in
 * fp32 4 s b v (split by t): with sequence parallelism 4 s b h / t (1 + v / h). Of PyTorch's
 * loss the log-softmax is kept, 4 bytes too (narrow: in the logits' format); a fused one reads the
 * logits again. With the output layer in the loss no logits are kept: its input's gradient
 * (chunked), or the input and a log-sum-exp per token (cut). */
void orr_transformer_head_kept(const OrrModel *model, const OrrShard *shard, GArray *kept) {
  OrrTransformerView view = orr_transformer_view(model, 0, shard);
  const gboolean own = shard->loss == ORR_LOSS_FUSED || shard->loss == ORR_LOSS_TORCH_NARROW;
  const double logit = orr_loss_is_linear(shard->loss) ? 0 : own ? view.element_bytes : 4;
  orr_transformer_keep(kept, "final-norm",
                       view.element_bytes * orr_transformer_own_elements(&view));
  orr_transformer_keep(kept, "logits", view.element_bytes * column_elements(&view));
  orr_transformer_keep(kept, "cross-entropy", logit * view.tokens * view.vocab);
  if (shard->loss == ORR_LOSS_CUT) orr_transformer_keep(kept, "cross-entropy", 4.0 * view.tokens);
}

/* Both norms' inputs, the projection's input of twice the width, the layer. */
void orr_transformer_mtp_body_kept(const OrrModel *model, const OrrShard *shard, guint modules,
                                   GArray *kept) {
  OrrTransformerView view = orr_transformer_view(model, 0, shard);
  orr_transformer_keep(kept, "mtp-norm",
                       2 * view.element_bytes * orr_transformer_own_elements(&view));
  orr_transformer_keep(kept, "mtp-projection",
                       2 * view.element_bytes * orr_transformer_own_elements(&view));
  orr_transformer_layer_kept(model, orr_model_layer_kind(model, model->layers - 1), shard, modules,
                             kept);
}

void orr_transformer_mtp_kept(const OrrModel *model, const OrrShard *shard, guint modules,
                              GArray *kept) {
  orr_transformer_mtp_body_kept(model, shard, modules, kept);
  orr_transformer_head_kept(model, shard, kept);
}

static double sum_of(const GArray *kept) {
  double sum = 0;
  ORR_EACH(const OrrKeptBytes, one, kept) sum += one->bytes;
  return sum;
}

double orr_transformer_layer_activation_bytes(const OrrModel *model, guint kind,
                                              const OrrShard *shard, guint modules) {
  g_autoptr(GArray) kept = g_array_new(FALSE, FALSE, sizeof(OrrKeptBytes));
  orr_transformer_layer_kept(model, kind, shard, modules, kept);
  return sum_of(kept);
}

double orr_transformer_embedding_activation_bytes(const OrrModel *model, const OrrShard *shard) {
  g_autoptr(GArray) kept = g_array_new(FALSE, FALSE, sizeof(OrrKeptBytes));
  orr_transformer_embedding_kept(model, shard, kept);
  return sum_of(kept);
}

double orr_transformer_head_activation_bytes(const OrrModel *model, const OrrShard *shard) {
  g_autoptr(GArray) kept = g_array_new(FALSE, FALSE, sizeof(OrrKeptBytes));
  orr_transformer_head_kept(model, shard, kept);
  return sum_of(kept);
}

double orr_transformer_mtp_body_activation_bytes(const OrrModel *model, const OrrShard *shard,
                                                 guint modules) {
  g_autoptr(GArray) kept = g_array_new(FALSE, FALSE, sizeof(OrrKeptBytes));
  orr_transformer_mtp_body_kept(model, shard, modules, kept);
  return sum_of(kept);
}

double orr_transformer_mtp_activation_bytes(const OrrModel *model, const OrrShard *shard,
                                            guint modules) {
  g_autoptr(GArray) kept = g_array_new(FALSE, FALSE, sizeof(OrrKeptBytes));
  orr_transformer_mtp_kept(model, shard, modules, kept);
  return sum_of(kept);
}

/* A logit's gradient in the storage format; before it, PyTorch's: the log-softmax's and its
 * input's, in fp32 both (narrow: in the logits' format). Over tensor-parallel ranks
 * (torch.distributed.tensor.parallel.loss_parallel) the gradient is (targets + exp(x)) times the
 * loss': three numbers a logit beside x at once. Of chunks, one chunk's logits; of a cut loss, the
 * gradient of its input. */
double orr_transformer_head_gradient_bytes(const OrrModel *model, const OrrShard *shard) {
  OrrTransformerView view = orr_transformer_view(model, 0, shard);
  const gboolean torch = shard->loss == ORR_LOSS_TORCH || shard->loss == ORR_LOSS_TORCH_NARROW;
  const double number = shard->loss == ORR_LOSS_TORCH ? 4 : view.element_bytes;
  if (shard->loss == ORR_LOSS_CUT) return view.element_bytes * view.tokens * view.layer.hidden;
  if (shard->loss == ORR_LOSS_CHUNKED)
    return view.element_bytes * (double)orr_transformer_loss_chunk(&view) * view.vocab;
  return number * (!torch ? 1 : view.tp > 1 ? 3 : 2) * view.tokens * view.vocab;
}

/* Elements of results that a product by data reads and writes: its gradients; 0 of any other
 * operator. */
static double gradient_elements(const OrrTransformerView *view, const OrrOperator *op) {
  if (op->pass != ORR_PASS_DGRAD) return 0;
  if (op->kind == ORR_OPERATOR_GEMM)
    return (double)op->gemm.batch * op->gemm.m * (op->gemm.n + op->gemm.k);
  if (op->kind != ORR_OPERATOR_MOE) return 0;
  double rows = (double)op->moe.tokens * op->moe.topk / MAX(1, op->moe.ep);
  double gates = orr_activation_is_gated(view->layer.activation) ? 2 : 1;
  return rows * (op->moe.hidden + gates * op->moe.inter / MAX(1, op->moe.tp));
}

double orr_transformer_layer_gradient_bytes(const OrrModel *model, guint kind,
                                            const OrrShard *shard) {
  OrrTransformerView view = orr_transformer_view(model, kind, shard);
  g_autoptr(GArray) operators = g_array_new(FALSE, FALSE, sizeof(OrrOperator));
  orr_transformer_layer_backward(model, kind, shard, operators);
  double most = 0;
  ORR_EACH(OrrOperator, operator, operators) most = MAX(most, gradient_elements(&view, operator));
  return view.element_bytes * (most + orr_transformer_own_elements(&view));
}

double orr_transformer_logits_bytes(const OrrModel *model, const OrrShard *shard) {
  OrrTransformerView view = orr_transformer_view(model, 0, shard);
  return orr_loss_is_linear(shard->loss) ? 0 : view.element_bytes * view.tokens * view.vocab;
}

double orr_transformer_boundary_bytes(const OrrModel *model, const OrrShard *shard) {
  OrrTransformerView view = orr_transformer_view(model, 0, shard);
  return view.element_bytes * orr_transformer_own_elements(&view);
}

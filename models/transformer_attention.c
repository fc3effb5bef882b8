/*
 * transformer_attention.c - attention with key and value heads: QKV, the core, the projection.
 *
 * With a window of W tokens over s, each token sees itself and the W - 1 tokens before it. The
 * pairs of query and key are W s - W^2 / 2, exactly as many as 2 s / W - 1 causal sequences of W
 * have, so it is costed as that number of sequences (rounded up); chunked, as s / W. Bytes are the
 * real tensors'. Unfused attention does not support windows (orr_transformer_check). Compressed
 * attention (transformer_sparse.c) with P pairs in all is costed as n sequences of sqrt(2 P / n).
 *
 * Queries from a compressed form (Step-3, arXiv 2507.19427): a rank makes it, and all keys and
 * values, of its own tokens, and with sequence parallelism these are gathered, T (Rq + 2 kv), not
 * the stream (T h more where a gate reads it). Backward: all ranks' heads have a part in the
 * gradients of keys and values, T 2 kv, which are summed.
 */
#include "models/transformer_private.h"

/* Elements of the attention scores of one rank. */
static double score_elements(const OrrTransformerView *view) {
  return (double)view->sequences * view->layer.heads * view->sequence * view->sequence;
}

/* One product per head and sequence. */
static void put_heads_gemm(const OrrTransformerView *view, GArray *operators, const char *name,
                           OrrPass pass, OrrGemmShape shape) {
  ORR_APPEND(operators, OrrOperator, orr_operator_gemm(name, pass, view->shard->dtype, shape));
}

/* Unfused attention repeats keys and values for the query heads of a group: it reads kv and
 * writes q elements of each. The backward sums them: the same traffic reversed. */
static void put_kv_repeat(const OrrTransformerView *view, GArray *operators, OrrPass pass) {
  if (view->layer.kv_heads < view->layer.heads)
    orr_transformer_put_memory(view, operators, "kv-repeat", pass,
                               view->tokens * 2.0 * (view->layer.q + view->layer.kv), 1, 0);
}

/* --- fused --- */

static OrrOperator fused(const OrrTransformerView *view, OrrPass pass, double batch, gint64 length,
                         gint64 value_dim) {
  const OrrAttentionShape shape = {.batch = (gint64)ceil(batch),
                                   .q_length = length,
                                   .kv_length = length,
                                   .heads = view->layer.heads,
                                   .kv_heads = view->layer.kv_heads,
                                   .head_dim = view->layer.head_dim,
                                   .causal = view->layer.causal,
                                   .value_dim = value_dim,
                                   .flash = orr_transformer_flash(view)};
  return orr_operator_attention("attention", pass, view->shard->dtype, shape);
}

/* n causal sequences that have all pairs together; n is the number of windows that would have them.
 * Short sequences have more pairs than without compression: an entry beside its tokens. */
static OrrOperator fused_compressed(const OrrTransformerView *view, OrrPass pass) {
  const double s = (double)view->sequence, pairs = orr_transformer_compressed_pairs(view);
  const double window = s - sqrt(fmax(s * s - 2 * pairs, 0));
  const double all = 2 * pairs * (double)view->sequences;
  const double n = fmax(1, round(all / (window * window)));
  OrrOperator op = fused(view, pass, n, (gint64)fmax(1, round(sqrt(all / n))), 0);
  op.bytes = fused(view, pass, (double)view->sequences, view->sequence, 0).bytes;
  return op;
}

static OrrOperator fused_attention(const OrrTransformerView *view, OrrPass pass) {
  const OrrSparse *sparse = &view->model->sparse;
  const int mixer = view->layer.kind.mixer;
  const gboolean is_sparse = orr_mixer_is_sparse(mixer);
  const gint64 size = is_sparse ? sparse->topk * sparse->block : view->model->window.size;
  const gint64 s = view->sequence, value = view->layer.latent ? view->model->mla.value_dim : 0;
  const double sequences = (double)view->sequences;
  if (mixer == ORR_MIXER_CSA || mixer == ORR_MIXER_HCA) return fused_compressed(view, pass);
  if ((is_sparse || mixer == ORR_MIXER_WINDOW) && size > 0 && size < s) {
    const gboolean is_chunked = view->model->window.chunked && mixer == ORR_MIXER_WINDOW;
    double windows = is_chunked ? (double)s / size : 2.0 * s / size - 1;
    OrrOperator op = fused(view, pass, sequences * windows, size, is_sparse ? value : 0);
    op.bytes = fused(view, pass, sequences, s, is_sparse ? value : 0).bytes;
    return op;
  }
  /* A value can be narrower than a key: 2 of the backward's 5 products are of scores and 3 of
   * values. */
  return fused(view, pass, sequences, s, value);
}

void orr_transformer_put_fused(const OrrTransformerView *view, GArray *operators, OrrPass pass) {
  ORR_APPEND(operators, OrrOperator, fused_attention(view, pass));
}

/* --- the core --- */

static void put_unfused(const OrrTransformerView *view, GArray *operators) {
  const gint64 s = view->sequence, d = view->layer.head_dim,
               heads = view->sequences * view->layer.heads;
  put_kv_repeat(view, operators, ORR_PASS_FORWARD);
  put_heads_gemm(view, operators, "attention-scores", ORR_PASS_FORWARD,
                 (OrrGemmShape){heads, s, s, d});
  orr_transformer_put_memory(view, operators, "attention-softmax", ORR_PASS_FORWARD,
                             score_elements(view), view->layer.causal ? 1.5 : 2, 0);
  if (view->shard->dropout)
    orr_transformer_put_memory(view, operators, "attention-dropout", ORR_PASS_FORWARD,
                               score_elements(view), 2, 1);
  put_heads_gemm(view, operators, "attention-context", ORR_PASS_FORWARD,
                 (OrrGemmShape){heads, s, d, s});
  orr_transformer_put_memory(view, operators, "context-permute", ORR_PASS_FORWARD,
                             (double)view->tokens * view->layer.q, 2, 0);
}

/* Each product has two gradients, both by data. Softmax reads the lower triangles of gradient
 * and output, and writes the whole. The scores' factor 1 / sqrt(d) is baddbmm's alpha, by which
 * autograd multiplies the gradients of Q and K afterwards. */
static void put_unfused_backward(const OrrTransformerView *view, GArray *operators) {
  const gint64 s = view->sequence, d = view->layer.head_dim,
               heads = view->sequences * view->layer.heads;
  /* of the probabilities, of V */
  put_heads_gemm(view, operators, "attention-context", ORR_PASS_DGRAD,
                 (OrrGemmShape){heads, s, s, d});
  put_heads_gemm(view, operators, "attention-context", ORR_PASS_DGRAD,
                 (OrrGemmShape){heads, s, d, s});
  if (view->shard->dropout)
    orr_transformer_put_memory(view, operators, "attention-dropout", ORR_PASS_DGRAD,
                               score_elements(view), 2, 1);
  orr_transformer_put_memory(view, operators, "attention-softmax", ORR_PASS_DGRAD,
                             score_elements(view), view->layer.causal ? 2 : 3, 0);
  for (int i = 0; i < 2; i++) /* of Q, of K */
    put_heads_gemm(view, operators, "attention-scores", ORR_PASS_DGRAD,
                   (OrrGemmShape){heads, s, d, s});
  for (int i = 0; i < 2; i++)
    orr_transformer_put_memory(view, operators, "attention-grad-scale", ORR_PASS_DGRAD,
                               (double)view->tokens * view->layer.q, 2, 0);
  put_kv_repeat(view, operators, ORR_PASS_DGRAD);
}

static gboolean repeats(const OrrTransformerView *view) {
  return view->shard->layers == ORR_LAYERS_TORCH && !orr_transformer_is_unfused(view);
}

void orr_transformer_put_core(const OrrTransformerView *view, GArray *operators, OrrPass pass) {
  const OrrTransformerView repeated = orr_transformer_repeated(view);
  const gboolean forward = pass == ORR_PASS_FORWARD;
  if (forward && repeats(view)) put_kv_repeat(view, operators, pass);
  if (orr_transformer_is_unfused(view))
    (forward ? put_unfused : put_unfused_backward)(view, operators);
  else if (view->cp > 1)
    orr_transformer_put_context(&repeated, operators, pass);
  else
    orr_transformer_put_fused(&repeated, operators, pass);
  if (!forward && repeats(view)) put_kv_repeat(view, operators, pass);
}

/* --- the block --- */

/* Elements moved per element: modern, one kernel. Eager (GPT-NeoX, megatron/model/
 * positional_embeddings.py): the halves are turned by a concatenation, 2, and a scripted kernel
 * reads both and writes the sum, 3. Torch: complex, see transformer_torch.c. Apart (Megatron-Core,
 * rope_utils.py, _apply_rotary_pos_emb_bshd): a half is negated, 1, and put before the other, 2;
 * two products, 4, a sum, 3, and a concatenation with what is not turned, 2; backward 13. */
static double rope_moves(const OrrTransformerView *view, OrrPass pass) {
  if (view->shard->layers == ORR_LAYERS_TORCH) return (2 + 4 + 4 + 4 + 4 + 2) / view->element_bytes;
  if (view->shard->rope_apart) return pass == ORR_PASS_FORWARD ? 12 : 13;
  return orr_transformer_is_eager(view) ? 5 : 2;
}

static void put_rope(const OrrTransformerView *view, GArray *operators, OrrPass pass) {
  if (view->model->position == ORR_POSITION_ROPE && view->layer.causal)
    orr_transformer_put_memory(view, operators, "rope", pass,
                               (double)view->tokens * (view->layer.q + view->layer.kv),
                               rope_moves(view, pass), 0);
}

static void put_qk_norm(const OrrTransformerView *view, GArray *operators, OrrPass pass) {
  if (view->model->qk_norm && view->layer.causal)
    orr_transformer_put_norm_of(view, operators, "qk-norm", pass,
                                (double)view->tokens * (view->layer.q + view->layer.kv));
}

/* Eager: the bias is a kernel of its own, and so is the concatenation of the three gradients. */
static void put_qkv_bias(const OrrTransformerView *view, GArray *operators, OrrPass pass) {
  const OrrMatrix *qkv = orr_layer_matrix(&view->layer, "qkv");
  const double rows = qkv->split == ORR_SPLIT_NONE ? view->own_tokens : (double)view->tokens;
  const double elements = rows * (double)qkv->out;
  const gboolean forward = pass == ORR_PASS_FORWARD;
  if (orr_transformer_is_eager(view) && (qkv->bias || !forward))
    orr_transformer_put_memory(view, operators, forward ? "qkv-bias" : "qkv-grad-concat", pass,
                               elements, 2, 0);
  if (!forward) orr_transformer_put_bias_grad(view, operators, qkv->bias, elements);
}

void orr_transformer_put_output_gate(const OrrTransformerView *view, GArray *operators,
                                     OrrPass pass) {
  if (view->layer.gated)
    orr_transformer_put_memory(view, operators, "output-gate", pass,
                               (double)view->tokens * (double)view->layer.context,
                               pass == ORR_PASS_FORWARD ? 3 : 5, 0);
}

static void put_low_norm(const OrrTransformerView *view, GArray *operators, OrrPass pass) {
  if (orr_layer_matrix(&view->layer, "q-up"))
    orr_transformer_put_norm_of(view, operators, "latent-norm", pass,
                                view->own_tokens * (double)view->model->mla.q_rank);
}

static void put_low_gather(const OrrTransformerView *view, GArray *operators, OrrPass pass) {
  const double q_rank = (double)view->model->mla.q_rank;
  const double keys = 2 * (double)(view->model->kv_heads * view->layer.head_dim);
  if (!orr_layer_matrix(&view->layer, "q-up")) return;
  if (pass == ORR_PASS_FORWARD)
    orr_transformer_put_gather(
        view, operators, q_rank + keys + (view->layer.gated ? (double)view->layer.hidden : 0));
  else
    orr_transformer_put_reduce(view, operators, keys);
}

static const OrrTransformerStep steps[] = {
    {.matrix = "qkv"},
    {put_qkv_bias},
    {put_low_norm},
    {put_low_gather},
    {.matrix = "q-up"},
    {put_qk_norm},
    {put_rope},
    {orr_transformer_put_index_products},
    {orr_transformer_put_index_scores, .modules = ORR_MODULE_CORE_ATTN},
    {orr_transformer_put_core, .modules = ORR_MODULE_CORE_ATTN},
    {.matrix = "gate"},
    {orr_transformer_put_output_gate},
    {.matrix = "projection", .modules = ORR_MODULE_PROJECTION},
};
const OrrTransformerBlock orr_transformer_attention = {steps, G_N_ELEMENTS(steps), TRUE, TRUE};
const OrrTransformerBlock orr_transformer_factorized = {steps, G_N_ELEMENTS(steps), FALSE, TRUE};

/*
 * transformer_layer.c - one transformer layer as the kernels that Megatron launches.
 *
 * Forward, with the elements that each memory-bound kernel moves (per rank; t = tp, T = tokens, "own" = T h, under
 * sequence parallelism T h / t):
 *
 *   layer-norm            2 own              read, write
 *   [tp-all-gather]                          sequence parallelism only
 *   qkv                   GEMM               n = q + 2 kv
 *   qkv-bias              2 T (q + 2 kv)     torch.nn.functional.linear on 3-D input added it in a kernel of its own
 *   rope                  2 T (q + kv)       Llama only
 *   -- attention core, unfused: recomputed by `selective` --
 *   attention-scores      GEMM, batched      s x s over head_dim (baddbmm into an empty buffer, beta = 0)
 *   attention-softmax     1.5 b a s^2        scaled_upper_triang_masked_softmax reads the lower triangle, writes all
 *   attention-dropout     2 b a s^2 + mask   torch's fused dropout: knows no triangle
 *   attention-context     GEMM, batched      s x head_dim over s
 *   context-permute       2 T q              [b, a, s, d] -> [s, b, a d], contiguous
 *   -- end of the core --
 *   projection            GEMM
 *   tp-all-reduce                            or tp-reduce-scatter
 *   bias-dropout-add      3 own + mask       fused by the JIT: reads x and residual
 *   layer-norm, [tp-all-gather], fc1
 *   gelu                  2 T f / t          bias-GELU, fused; swiglu: 3
 *   fc2, tp-all-reduce, bias-dropout-add
 *
 * The split of QKV is a view (strided batched GEMMs take it), so it costs nothing forward; backward it is a
 * concatenation of three gradients (torch.split's), 2 T (q + 2 kv). Where two branches meet backward (residual and
 * block), autograd adds their gradients: 3 own.
 *
 * Sources: NVIDIA/Megatron-LM v2.x: megatron/model/transformer.py, megatron/fused_kernels/scaled_upper_triang_masked_
 * softmax.h, megatron/model/fused_bias_gelu.py; Korthikanti et al. 2022 (arXiv 2205.05198) for sequence parallelism.
 * Valid where that softmax kernel is: sequences to 2,048 tokens in 2021, 16,384 later.
 */
#include "models/transformer_private.h"

/* Elements of the attention scores of one rank. */
static double score_elements(const OrrTransformerView *view) {
  return (double)view->shard->micro_batch * view->heads * view->shard->sequence * view->shard->sequence;
}

/* A product of every head of every sequence. */
static void put_heads_gemm(const OrrTransformerView *view, GArray *operators, const char *name, OrrPass pass, gint64 m,
                           gint64 n, gint64 k) {
  OrrOperator op =
      orr_operator_gemm(name, pass, view->shard->dtype, view->shard->micro_batch * view->heads, m, n, k);
  g_array_append_val(operators, op);
}

/* Unfused attention repeats keys and values for the query heads of a group: reads kv, writes q, of each. Backward sums
 * them: the same traffic the other way. */
static void put_kv_repeat(const OrrTransformerView *view, GArray *operators, OrrPass pass) {
  if (view->kv_heads < view->heads)
    orr_transformer_put_memory(view, operators, "kv-repeat", pass, view->tokens * 2.0 * (view->q + view->kv), 1, 0);
}

static void put_fused_attention(const OrrTransformerView *view, GArray *operators, OrrPass pass) {
  const OrrShard *shard = view->shard;
  OrrOperator op = orr_operator_attention("attention", pass, shard->dtype, shard->micro_batch, shard->sequence,
                                          shard->sequence, view->heads, view->kv_heads, view->model->head_dim, TRUE);
  g_array_append_val(operators, op);
}

static void put_core(const OrrTransformerView *view, GArray *operators) {
  gint64 s = view->shard->sequence, d = view->model->head_dim;
  if (!orr_transformer_is_unfused(view)) {
    put_fused_attention(view, operators, ORR_PASS_FORWARD);
    return;
  }
  put_kv_repeat(view, operators, ORR_PASS_FORWARD);
  put_heads_gemm(view, operators, "attention-scores", ORR_PASS_FORWARD, s, s, d);
  orr_transformer_put_memory(view, operators, "attention-softmax", ORR_PASS_FORWARD, score_elements(view), 1.5, 0);
  if (view->shard->dropout)
    orr_transformer_put_memory(view, operators, "attention-dropout", ORR_PASS_FORWARD, score_elements(view), 2, 1);
  put_heads_gemm(view, operators, "attention-context", ORR_PASS_FORWARD, s, d, s);
  orr_transformer_put_memory(view, operators, "context-permute", ORR_PASS_FORWARD, (double)view->tokens * view->q, 2,
                             0);
}

/* Each product has two gradients, both by data. Softmax: reads the lower triangles of grad and output, writes all. The
 * scores' factor 1 / sqrt(d) is baddbmm's alpha, by which autograd multiplies the gradients of Q and K afterwards. */
static void put_core_backward(const OrrTransformerView *view, GArray *operators) {
  gint64 s = view->shard->sequence, d = view->model->head_dim;
  if (!orr_transformer_is_unfused(view)) {
    put_fused_attention(view, operators, ORR_PASS_DGRAD);
    return;
  }
  put_heads_gemm(view, operators, "attention-context", ORR_PASS_DGRAD, s, s, d); /* of the probabilities */
  put_heads_gemm(view, operators, "attention-context", ORR_PASS_DGRAD, s, d, s); /* of V */
  if (view->shard->dropout)
    orr_transformer_put_memory(view, operators, "attention-dropout", ORR_PASS_DGRAD, score_elements(view), 2, 1);
  orr_transformer_put_memory(view, operators, "attention-softmax", ORR_PASS_DGRAD, score_elements(view), 2, 0);
  put_heads_gemm(view, operators, "attention-scores", ORR_PASS_DGRAD, s, d, s); /* of Q */
  put_heads_gemm(view, operators, "attention-scores", ORR_PASS_DGRAD, s, d, s); /* of K */
  for (int i = 0; i < 2; i++)
    orr_transformer_put_memory(view, operators, "attention-grad-scale", ORR_PASS_DGRAD, (double)view->tokens * view->q,
                               2, 0);
  put_kv_repeat(view, operators, ORR_PASS_DGRAD);
}

/* --- the ends of both blocks --- */

/* A block begins with a norm of its own tokens, gathered where they are split. */
static void put_block_begin(const OrrTransformerView *view, GArray *operators) {
  orr_transformer_put_norm(view, operators);
  if (view->sequence_parallel)
    orr_transformer_put_comm(view, operators, "tp-all-gather", ORR_PASS_FORWARD, ORR_COMM_ALL_GATHER);
}

static const char *residual_name(const OrrTransformerView *view) {
  if (view->shard->dropout)
    return view->model->bias ? "bias-dropout-add" : "dropout-add";
  return view->model->bias ? "bias-add" : "residual-add";
}

/* It ends with the sum over the ranks and the way back to the residual stream. */
static void put_block_end(const OrrTransformerView *view, GArray *operators) {
  if (view->sequence_parallel)
    orr_transformer_put_comm(view, operators, "tp-reduce-scatter", ORR_PASS_FORWARD, ORR_COMM_REDUCE_SCATTER);
  else
    orr_transformer_put_comm(view, operators, "tp-all-reduce", ORR_PASS_FORWARD, ORR_COMM_ALL_REDUCE);
  orr_transformer_put_memory(view, operators, residual_name(view), ORR_PASS_FORWARD, orr_transformer_own_elements(view),
                             3, view->shard->dropout ? 1 : 0);
}

/* A bias' gradient sums that of its layer's output over all tokens. */
static void put_bias_grad(const OrrTransformerView *view, GArray *operators, double elements) {
  if (view->model->bias)
    orr_transformer_put_memory(view, operators, "bias-grad", ORR_PASS_WGRAD, elements, 1, 0);
}

static void put_block_end_backward(const OrrTransformerView *view, GArray *operators) {
  double elements = orr_transformer_own_elements(view);
  if (view->shard->dropout)
    orr_transformer_put_memory(view, operators, residual_name(view), ORR_PASS_DGRAD, elements, 2, 1);
  put_bias_grad(view, operators, elements);
  if (view->sequence_parallel)
    orr_transformer_put_comm(view, operators, "tp-all-gather", ORR_PASS_DGRAD, ORR_COMM_ALL_GATHER);
}

static void put_block_begin_backward(const OrrTransformerView *view, GArray *operators) {
  orr_transformer_put_norm_backward(view, operators);
  orr_transformer_put_memory(view, operators, "residual-grad-add", ORR_PASS_DGRAD, orr_transformer_own_elements(view),
                             3, 0);
}

/* --- attention block --- */

static void put_rope(const OrrTransformerView *view, GArray *operators, OrrPass pass) {
  if (view->model->position == ORR_POSITION_ROPE)
    orr_transformer_put_memory(view, operators, "rope", pass, (double)view->tokens * (view->q + view->kv), 2, 0);
}

static void put_attention(const OrrTransformerView *view, GArray *operators) {
  gint64 qkv = view->q + 2 * view->kv, h = view->model->hidden;
  put_block_begin(view, operators);
  orr_transformer_put_linear(view, operators, "qkv", qkv, h);
  if (view->model->bias && orr_transformer_is_eager(view))
    orr_transformer_put_memory(view, operators, "qkv-bias", ORR_PASS_FORWARD, (double)view->tokens * qkv, 2, 0);
  put_rope(view, operators, ORR_PASS_FORWARD);
  put_core(view, operators);
  orr_transformer_put_linear(view, operators, "projection", h, view->q);
  put_block_end(view, operators);
}

static void put_attention_backward(const OrrTransformerView *view, GArray *operators) {
  gint64 qkv = view->q + 2 * view->kv, h = view->model->hidden;
  put_block_end_backward(view, operators);
  orr_transformer_put_linear_backward(view, operators, "projection", h, view->q, FALSE);
  put_core_backward(view, operators);
  put_rope(view, operators, ORR_PASS_DGRAD);
  if (orr_transformer_is_eager(view))
    orr_transformer_put_memory(view, operators, "qkv-grad-concat", ORR_PASS_DGRAD, (double)view->tokens * qkv, 2, 0);
  put_bias_grad(view, operators, (double)view->tokens * qkv);
  orr_transformer_put_linear_backward(view, operators, "qkv", qkv, h, TRUE);
  put_block_begin_backward(view, operators);
}

/* --- MLP block --- */

/* GELU reads x, writes y; backward reads x and dy, writes dx. SwiGLU reads gate and up, writes y; backward reads gate,
 * up and dy, writes the gradients of gate and up. */
static void put_activation(const OrrTransformerView *view, GArray *operators, OrrPass pass) {
  gboolean gated = view->model->activation == ORR_ACTIVATION_SWIGLU, forward = pass == ORR_PASS_FORWARD;
  double moves = forward ? (gated ? 3 : 2) : (gated ? 5 : 3);
  orr_transformer_put_memory(view, operators, gated ? "swiglu" : "gelu", pass, (double)view->tokens * view->ffn, moves,
                             0);
}

static void put_mlp(const OrrTransformerView *view, GArray *operators) {
  put_block_begin(view, operators);
  orr_transformer_put_linear(view, operators, "fc1", view->fc1_width, view->model->hidden);
  put_activation(view, operators, ORR_PASS_FORWARD);
  orr_transformer_put_linear(view, operators, "fc2", view->model->hidden, view->ffn);
  put_block_end(view, operators);
}

static void put_mlp_backward(const OrrTransformerView *view, GArray *operators) {
  put_block_end_backward(view, operators);
  orr_transformer_put_linear_backward(view, operators, "fc2", view->model->hidden, view->ffn, FALSE);
  put_activation(view, operators, ORR_PASS_DGRAD);
  put_bias_grad(view, operators, (double)view->tokens * view->fc1_width);
  orr_transformer_put_linear_backward(view, operators, "fc1", view->fc1_width, view->model->hidden, TRUE);
  put_block_begin_backward(view, operators);
}

/* --- the layer --- */

void orr_transformer_layer_forward(const OrrModel *model, guint kind, const OrrShard *shard, GArray *operators) {
  (void)kind;
  OrrTransformerView view = orr_transformer_view(model, shard);
  put_attention(&view, operators);
  put_mlp(&view, operators);
}

void orr_transformer_layer_backward(const OrrModel *model, guint kind, const OrrShard *shard, GArray *operators) {
  (void)kind;
  OrrTransformerView view = orr_transformer_view(model, shard);
  put_mlp_backward(&view, operators);
  put_attention_backward(&view, operators);
}

guint orr_recompute_modules(OrrRecompute recompute) {
  static const guint modules[] = {[ORR_RECOMPUTE_NONE] = 0, [ORR_RECOMPUTE_SELECTIVE] = ORR_MODULE_CORE_ATTN,
                                  [ORR_RECOMPUTE_FULL] = ORR_MODULE_LAYER};
  return modules[recompute];
}

void orr_transformer_layer_recompute(const OrrModel *model, guint kind, const OrrShard *shard, guint modules,
                                     GArray *operators) {
  OrrTransformerView view = orr_transformer_view(model, shard);
  if (modules & ORR_MODULE_LAYER)
    orr_transformer_layer_forward(model, kind, shard, operators);
  else if (modules & ORR_MODULE_CORE_ATTN)
    put_core(&view, operators);
}

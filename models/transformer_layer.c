/*
 * transformer_layer.c - one layer as the kernels that Megatron launches: the blocks, the
 * collectives around them, and their recomputation.
 *
 * A layer is one block or two, mixer and feed-forward. Forward, with the elements that each
 * memory-bound kernel of plain attention and MLP moves (per rank; t = tp, T = tokens, "own" = T h,
 * under sequence parallelism T h / t):
 *
 *   layer-norm            2 own              read, write
 *   [tp-all-gather]                          sequence parallelism only
 *   qkv                   GEMM               n = q + 2 kv
 *   qkv-bias              2 T (q + 2 kv)     torch.nn.functional.linear on 3-D input added it in a
 *                                            kernel of its own
 *   qk-norm, rope         2 T (q + kv)       where the model has them
 *   -- attention core, unfused: recomputed by `selective` --
 *   attention-scores      GEMM, batched      s x s over head_dim (baddbmm into an empty buffer,
 *                                            beta = 0)
 *   attention-softmax     1.5 b a s^2        scaled_upper_triang_masked_softmax reads the lower
 *                                            triangle, writes all
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
 * The split of QKV is a view (strided batched GEMMs accept it), so it costs nothing forward;
 * backward it is a concatenation of three gradients (torch.split's), 2 T (q + 2 kv). Where two
 * branches meet in the backward (residual and block), autograd adds their gradients: 3 own. A norm
 * after the block (Gemma 2) precedes the residual's sum. In parallel blocks (PaLM) both parts read
 * one norm, and their results are summed before the collective, 3 T h.
 *
 * Sources: NVIDIA/Megatron-LM v2.x: megatron/model/transformer.py,
 * megatron/fused_kernels/scaled_upper_triang_masked_ softmax.h, megatron/model/fused_bias_gelu.py;
 * Korthikanti et al. 2022 (arXiv 2205.05198) for sequence parallelism. Valid where that softmax
 * kernel is: sequences to 2,048 tokens in 2021, 16,384 later.
 */
#include "models/transformer_private.h"

/* --- blocks --- */

static void put_mlp_activation(const OrrTransformerView *view, GArray *operators, OrrPass pass) {
  orr_transformer_put_activation(view, operators, pass, (double)view->tokens * view->layer.ffn);
  if (pass != ORR_PASS_FORWARD)
    orr_transformer_put_bias_grad(view, operators, view->layer.bias,
                                  (double)view->tokens * view->layer.fc1_width);
}

static const OrrTransformerStep mlp_steps[] = {
    {.matrix = "fc1", .modules = ORR_MODULE_FC1 | ORR_MODULE_MLP},
    {put_mlp_activation, .modules = ORR_MODULE_FC1 | ORR_MODULE_MLP},
    {.matrix = "fc2", .modules = ORR_MODULE_MLP},
};
static const OrrTransformerBlock mlp_block = {mlp_steps, G_N_ELEMENTS(mlp_steps), TRUE, TRUE};

static const OrrTransformerStep moe_steps[] = {
    {orr_transformer_put_moe, .modules = ORR_MODULE_MOE}};
static const OrrTransformerBlock moe_block = {moe_steps, G_N_ELEMENTS(moe_steps), FALSE, FALSE};

static const OrrTransformerBlock *mixer_of(const OrrTransformerView *view) {
  switch (view->layer.kind.mixer) {
  case ORR_MIXER_NONE:
    return NULL;
  case ORR_MIXER_MAMBA:
  case ORR_MIXER_LINEAR:
    return &orr_transformer_state;
  default:
    if (view->layer.compressed) return &orr_transformer_compressed;
    if (view->layer.latent) return &orr_transformer_latent;
    return orr_layer_matrix(&view->layer, "q-up") ? &orr_transformer_factorized
                                                  : &orr_transformer_attention;
  }
}

static const OrrTransformerBlock *feed_of(const OrrTransformerView *view) {
  if (view->layer.kind.feed == ORR_FEED_NONE) return NULL;
  return view->layer.kind.feed == ORR_FEED_MOE ? &moe_block : &mlp_block;
}

static void put_step(const OrrTransformerView *view, GArray *operators,
                     const OrrTransformerStep *step, OrrPass pass) {
  if (step->matrix)
    orr_transformer_put_linear(view, operators, step->matrix, pass);
  else
    step->put(view, operators, pass);
}

static void put_forward(const OrrTransformerView *view, GArray *operators,
                        const OrrTransformerBlock *block) {
  for (guint i = 0; i < block->n_steps; i++)
    put_step(view, operators, &block->steps[i], ORR_PASS_FORWARD);
}

static void put_backward(const OrrTransformerView *view, GArray *operators,
                         const OrrTransformerBlock *block) {
  for (guint i = block->n_steps; i-- > 0;)
    put_step(view, operators, &block->steps[i], ORR_PASS_DGRAD);
}

static void put_again(const OrrTransformerView *view, GArray *operators,
                      const OrrTransformerBlock *block, guint modules) {
  for (guint i = 0; block && i < block->n_steps; i++)
    if (block->steps[i].modules & modules)
      put_step(view, operators, &block->steps[i], ORR_PASS_FORWARD);
}

static const char *residual_name(const OrrTransformerView *view) {
  if (view->shard->dropout) return view->layer.bias ? "bias-dropout-add" : "dropout-add";
  return view->layer.bias ? "bias-add" : "residual-add";
}

static void put_begin(const OrrTransformerView *view, GArray *operators,
                      const OrrTransformerBlock *block) {
  orr_transformer_put_norm(view, operators, ORR_PASS_FORWARD);
  if (block->gathers && view->sequence_parallel)
    orr_transformer_put_comm(view, operators, "tp-all-gather", ORR_PASS_FORWARD,
                             ORR_COMM_ALL_GATHER, view->layer.hidden);
}

/* The sum over the ranks and the residual add. */
static void put_end(const OrrTransformerView *view, GArray *operators,
                    const OrrTransformerBlock *block) {
  if (block->reduces && view->sequence_parallel)
    orr_transformer_put_comm(view, operators, "tp-reduce-scatter", ORR_PASS_FORWARD,
                             ORR_COMM_REDUCE_SCATTER, view->layer.hidden);
  else if (block->reduces)
    orr_transformer_put_comm(view, operators, "tp-all-reduce", ORR_PASS_FORWARD,
                             ORR_COMM_ALL_REDUCE, view->layer.hidden);
  if (view->model->post_norms) orr_transformer_put_norm(view, operators, ORR_PASS_FORWARD);
  orr_transformer_put_memory(view, operators, residual_name(view), ORR_PASS_FORWARD,
                             orr_transformer_own_elements(view), 3, view->shard->dropout ? 1 : 0);
}

static void put_end_backward(const OrrTransformerView *view, GArray *operators,
                             const OrrTransformerBlock *block) {
  double elements = orr_transformer_own_elements(view);
  if (view->shard->dropout)
    orr_transformer_put_memory(view, operators, residual_name(view), ORR_PASS_DGRAD, elements, 2,
                               1);
  if (view->model->post_norms) orr_transformer_put_norm(view, operators, ORR_PASS_DGRAD);
  if (block->reduces) orr_transformer_put_bias_grad(view, operators, view->layer.bias, elements);
  if (block->reduces && view->sequence_parallel)
    orr_transformer_put_comm(view, operators, "tp-all-gather", ORR_PASS_DGRAD, ORR_COMM_ALL_GATHER,
                             view->layer.hidden);
}

static void put_begin_backward(const OrrTransformerView *view, GArray *operators) {
  orr_transformer_put_norm(view, operators, ORR_PASS_DGRAD);
  orr_transformer_put_memory(view, operators, "residual-grad-add", ORR_PASS_DGRAD,
                             orr_transformer_own_elements(view), 3, 0);
}

static void put_block(const OrrTransformerView *view, GArray *operators,
                      const OrrTransformerBlock *block) {
  if (!block) return;
  put_begin(view, operators, block);
  put_forward(view, operators, block);
  put_end(view, operators, block);
}

static void put_block_backward(const OrrTransformerView *view, GArray *operators,
                               const OrrTransformerBlock *block) {
  if (!block) return;
  put_end_backward(view, operators, block);
  put_backward(view, operators, block);
  put_begin_backward(view, operators);
}

/* Both parts after one norm; @first's collectives stand for both. */
static void put_parallel(const OrrTransformerView *view, GArray *operators,
                         const OrrTransformerBlock *first, const OrrTransformerBlock *second) {
  put_begin(view, operators, first);
  put_forward(view, operators, first);
  put_forward(view, operators, second);
  orr_transformer_put_memory(view, operators, "parallel-add", ORR_PASS_FORWARD,
                             (double)view->tokens * view->layer.hidden, 3, 0);
  put_end(view, operators, first);
}

static void put_parallel_backward(const OrrTransformerView *view, GArray *operators,
                                  const OrrTransformerBlock *first,
                                  const OrrTransformerBlock *second) {
  put_end_backward(view, operators, first);
  put_backward(view, operators, second);
  put_backward(view, operators, first);
  orr_transformer_put_memory(view, operators, "parallel-grad-add", ORR_PASS_DGRAD,
                             (double)view->tokens * view->layer.hidden, 3, 0);
  put_begin_backward(view, operators);
}

/* --- the layer --- */

static gboolean is_parallel(const OrrTransformerView *view) {
  return view->model->parallel && view->layer.kind.mixer != ORR_MIXER_ENCODER && mixer_of(view) &&
         feed_of(view);
}

void orr_transformer_layer_forward(const OrrModel *model, guint kind, const OrrShard *shard,
                                   GArray *operators) {
  OrrTransformerView view = orr_transformer_view(model, kind, shard);
  if (is_parallel(&view)) return put_parallel(&view, operators, mixer_of(&view), feed_of(&view));
  put_block(&view, operators, mixer_of(&view));
  put_block(&view, operators, feed_of(&view));
}

void orr_transformer_layer_backward(const OrrModel *model, guint kind, const OrrShard *shard,
                                    GArray *operators) {
  OrrTransformerView view = orr_transformer_view(model, kind, shard);
  if (orr_transformer_is_frozen_encoder(&view)) return;
  if (is_parallel(&view))
    return put_parallel_backward(&view, operators, mixer_of(&view), feed_of(&view));
  put_block_backward(&view, operators, feed_of(&view));
  put_block_backward(&view, operators, mixer_of(&view));
}

/* --- recomputation --- */

guint orr_transformer_recompute_modules(OrrRecompute recompute) {
  static const guint modules[] = {[ORR_RECOMPUTE_NONE] = 0,
                                  [ORR_RECOMPUTE_SELECTIVE] = ORR_MODULE_CORE_ATTN,
                                  [ORR_RECOMPUTE_FULL] = ORR_MODULE_LAYER,
                                  [ORR_RECOMPUTE_OPERATORS] = ORR_MODULE_OPERATORS};
  return modules[recompute];
}

/* Parts of a feed-forward of experts, where it is not replayed as a whole. */
static void recompute_experts(const OrrTransformerView *view, guint modules, GArray *operators) {
  if (view->layer.kind.feed != ORR_FEED_MOE || (modules & ORR_MODULE_MOE)) return;
  if (modules & ORR_MODULE_MOE_ACT) orr_transformer_put_moe_activation(view, operators);
  if (modules & ORR_MODULE_SHARED_EXPERTS)
    orr_transformer_put_shared_experts(view, operators, ORR_PASS_FORWARD);
}

void orr_transformer_layer_recompute(const OrrModel *model, guint kind, const OrrShard *shard,
                                     guint modules, GArray *operators) {
  OrrTransformerView view = orr_transformer_view(model, kind, shard);
  if (orr_transformer_is_frozen_encoder(&view)) return;
  if (modules & ORR_MODULE_LAYER) {
    orr_transformer_layer_forward(model, kind, shard, operators);
    if (shard->layers == ORR_LAYERS_TORCH) orr_transformer_drop_end(operators);
    return;
  }
  if (modules & ORR_MODULE_OPERATORS) {
    g_autoptr(GArray) forward = g_array_new(FALSE, FALSE, sizeof(OrrOperator));
    orr_transformer_layer_forward(model, kind, shard, forward);
    orr_transformer_put_again(&view, forward, operators);
    return;
  }
  for (int i = 0; i < (mixer_of(&view) != NULL) + (feed_of(&view) != NULL); i++)
    if (modules & ORR_MODULE_LAYERNORM)
      orr_transformer_put_norm(&view, operators, ORR_PASS_FORWARD);
  put_again(&view, operators, mixer_of(&view), modules);
  put_again(&view, operators, feed_of(&view), modules);
  recompute_experts(&view, modules, operators);
}

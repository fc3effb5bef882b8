/*
 * transformer.c - the widths of a sharded transformer on one rank, its linear layers and its norms.
 *
 * Invariants:
 *  1. Only GEMM, ATTENTION and MOE operators have FLOPs, so that a sum over operators is the
 *     model's FLOPs (or tp times less). Elementwise work is bound by its bytes.
 *  2. Backward of a linear layer keeps Megatron's order of issue: [gather x], dgrad, [reduce dx],
 *     wgrad (LinearWith- GradAccumulationAndAsyncCommunication,
 *     megatron/core/tensor_parallel/layers.py). A COMM has the pass of the result it serves, and it
 *     may overlap the operators of the other pass that follow it.
 *
 * Backward of y[m,n] = x[m,k] w[n,k]^T, as GEMMs of the same form:
 *
 *     dgrad  dx[m,k] = dy[m,n] (w^T)[k,n]^T      m x k over n
 *     wgrad  dw[n,k] = (dy^T)[n,m] (x^T)[k,m]^T  n x k over m
 *
 * Narrow recipes (precision.c) cast x before the forward product and dy before the backward's, once
 * each. A frozen layer has no wgrad. An adapter of rank r adds B (A x): forward r over k and n over
 * r, backward the same by data and by weight; the two sums with the frozen product are elementwise
 * (3 moves). In a column-parallel layer each rank has a whole A and a part of B; in a row-parallel
 * one a part of A and a whole B, and the sum over ranks is part of the layer's own.
 */
#include "models/transformer_private.h"

const char *const orr_attention_words[] = {"unfused",      "fused",   "flash-2",
                                           "flash-triton", "flash-1", NULL};
const char *const orr_loss_words[] = {"megatron", "torch",        "fused", "chunked",
                                      "cut",      "torch-narrow", NULL};
const char *const orr_context_words[] = {"p2p",          "all-gather",    "all-to-all",
                                         "hierarchical", "gathered-ring", NULL};
const char *const orr_layers_words[] = {"megatron", "torch", NULL};
const char *const orr_module_words[] = {"core-attn",  "layernorm", "mla-up-proj",    "mlp",
                                        "moe",        "moe-act",   "shared-experts", "fc1",
                                        "projection", NULL};

/* --- view --- */

OrrTransformerView orr_transformer_view(const OrrModel *model, guint kind, const OrrShard *shard) {
  const gint64 tp = MAX(1, shard->tp), cp = MAX(1, shard->cp);
  OrrTransformerView view = {.model = model,
                             .shard = shard,
                             .layer =
                                 orr_layer(model, kind, tp, MAX(1, shard->ep), MAX(1, shard->etp)),
                             .element_bytes = orr_dtype_bytes(shard->dtype),
                             .sequences = shard->micro_batch,
                             .sequence = shard->sequence / cp,
                             .vocab = (model->vocab + tp - 1) / tp,
                             .tp = tp,
                             .cp = cp,
                             .sequence_parallel = shard->sequence_parallel && tp > 1};
  if (view.layer.kind.mixer == ORR_MIXER_ENCODER) {
    view.sequences *= model->encoder.images;
    view.sequence = (gint64)orr_encoder_tokens(model);
    view.cp = 1;
  }
  view.tokens = view.sequences * view.sequence;
  view.own_tokens = (double)view.tokens / (view.sequence_parallel ? tp : 1);
  return view;
}

/* --- operators --- */

void orr_transformer_put_memory(const OrrTransformerView *view, GArray *operators, const char *name,
                                OrrPass pass, double elements, double moves, double masks) {
  double bytes = elements * (moves * view->element_bytes + masks);
  ORR_APPEND(operators, OrrOperator, orr_operator_memory(name, pass, view->shard->dtype, bytes, 0));
}

void orr_transformer_put_group_comm(GArray *operators, const char *name, OrrPass pass,
                                    OrrOperatorGroup group, gint64 members, OrrOperatorComm comm,
                                    double bytes) {
  OrrOperator op = orr_operator_comm(name, pass, group, comm, bytes);
  if (members > 1) g_array_append_val(operators, op);
}

void orr_transformer_put_comm(const OrrTransformerView *view, GArray *operators, const char *name,
                              OrrPass pass, OrrOperatorComm comm, double width) {
  gboolean narrow = comm == ORR_COMM_ALL_GATHER && orr_precision_casts(view->shard->recipe);
  double element_bytes = narrow ? view->shard->recipe->gather_bytes : view->element_bytes;
  const double bytes = element_bytes * view->tokens * width;
  const gboolean copies = orr_transformer_copies(view);
  if (copies && comm == ORR_COMM_REDUCE_SCATTER)
    orr_transformer_put_copy(view, operators, pass, comm, bytes);
  orr_transformer_put_group_comm(operators, name, pass, ORR_GROUP_TP, view->shard->tp, comm, bytes);
  if (copies && comm == ORR_COMM_ALL_GATHER)
    orr_transformer_put_copy(view, operators, pass, comm, bytes);
}

/* In 2021 autograd left the gradient in the weights' format; local DDP's hook
 * (`param.main_grad.add_(param.grad)`, megatron/model/distributed.py) or autograd's own
 * accumulation added it: reads both, writes one. Megatron sums bf16 gradients in fp32, fp16 ones
 * in fp16 (megatron/arguments.py sets accumulate-allreduce-grads-in-fp32 for bf16 alone). */
void orr_transformer_put_main_grad(const OrrTransformerView *view, GArray *operators,
                                   double parameters) {
  double buffer_bytes = view->shard->dtype == ORR_FP16 ? 2 : 4;
  double bytes = parameters * (view->element_bytes + 2 * buffer_bytes);
  OrrOperator op =
      orr_operator_memory("main-grad-add", ORR_PASS_WGRAD, view->shard->dtype, bytes, 0);
  g_array_append_val(operators, op);
}

static OrrDtype product_dtype(const OrrTransformerView *view, OrrPass pass) {
  const OrrPrecisionRecipe *recipe = view->shard->recipe;
  if (!orr_precision_casts(recipe)) return view->shard->dtype;
  return pass == ORR_PASS_FORWARD ? recipe->forward
         : pass == ORR_PASS_DGRAD ? recipe->dgrad
                                  : recipe->wgrad;
}

/* Gradients in fp8 are summed without fast accumulation: Transformer Engine's
 * use_split_accumulator, torchao's use_fast_accum, XLA's HIGHEST precision. The exception is
 * torchao's recipe of scales per row, whose kernel is fast only with it. */
static gboolean sums_exactly(const OrrTransformerView *view, const OrrOperator *op) {
  return op->dtype == ORR_FP8 && op->pass != ORR_PASS_FORWARD && view->shard->recipe &&
         !view->shard->recipe->row_scaled;
}

/* Later Megatron (gradient-accumulation-fusion) adds to main-grad in the GEMM, which reads and
 * writes it. */
void orr_transformer_settle_wgrad(const OrrTransformerView *view, OrrOperator *op) {
  OrrOperandStorage *stored = op->kind == ORR_OPERATOR_MOE ? &op->moe.stored : &op->gemm.stored;
  stored->cast_apart = orr_dtype_bytes((OrrDtype)op->dtype) < 2;
  stored->exact_sums = sums_exactly(view, op);
  if (!orr_transformer_is_eager(view)) stored->sum_bytes = 2 * view->shard->main_grad_bytes;
}

static void put_wgrad(const OrrTransformerView *view, GArray *operators, const char *name,
                      OrrDtype dtype, OrrGemmShape forward) {
  const gint64 rows = forward.m, n = forward.n, k = forward.k;
  OrrOperator op = orr_operator_gemm(name, ORR_PASS_WGRAD, dtype, (OrrGemmShape){1, n, k, rows});
  orr_transformer_settle_wgrad(view, &op);
  g_array_append_val(operators, op);
  if (orr_transformer_is_eager(view)) orr_transformer_put_main_grad(view, operators, (double)n * k);
}

static void put_gemm(GArray *operators, const char *name, OrrPass pass, OrrDtype dtype,
                     OrrGemmShape shape) {
  OrrOperator op = orr_operator_gemm(name, pass, dtype, shape);
  op.gemm.stored.cast_apart = orr_dtype_bytes(dtype) < 2;
  g_array_append_val(operators, op);
}

void orr_transformer_put_plain(const OrrTransformerView *view, GArray *operators, const char *name,
                               OrrPass pass, OrrGemmShape forward) {
  const OrrDtype dtype = view->shard->dtype;
  if (pass == ORR_PASS_FORWARD) return put_gemm(operators, name, pass, dtype, forward);
  put_gemm(operators, name, ORR_PASS_DGRAD, dtype,
           (OrrGemmShape){1, forward.m, forward.k, forward.n});
  if (!orr_transformer_is_frozen(view)) put_wgrad(view, operators, name, dtype, forward);
}

/* --- linear layers --- */

void orr_transformer_put_cast(const OrrTransformerView *view, GArray *operators, OrrPass pass,
                              double elements) {
  const OrrPrecisionRecipe *recipe = view->shard->recipe;
  if (!orr_precision_casts(recipe)) return;
  double turned =
      orr_transformer_is_frozen(view) ? recipe->saved_bytes : 0; /* written for products by
                                                                  * weight only */
  ORR_APPEND(operators, OrrOperator,
             orr_operator_memory("cast", pass, view->shard->dtype,
                                 elements * (recipe->cast_bytes - turned), 0));
}

static void put_dequantise(const OrrTransformerView *view, GArray *operators, OrrPass pass,
                           double weights) {
  double bytes = weights * (ORR_NF4_BYTES + view->element_bytes);
  OrrOperator op = orr_operator_memory("dequantise", pass, view->shard->dtype, bytes, 0);
  if (orr_transformer_is_frozen(view) && view->shard->lora.quantised)
    g_array_append_val(operators, op);
}

guint orr_transformer_adapters(const OrrTransformerView *view, const OrrMatrix *matrix,
                               gint64 ret_widths[3]) {
  if (!orr_transformer_is_frozen(view)) return 0;
  return orr_matrix_adapters(matrix, &view->shard->lora, view->shard->layers != ORR_LAYERS_TORCH,
                             ret_widths);
}

static gint64 rows_of(const OrrTransformerView *view, OrrSplit split) {
  return split == ORR_SPLIT_NONE ? (gint64)(view->own_tokens + 0.5) : view->tokens;
}

/* Of its input forward, of its result's gradient backward. */
static void put_casts(const OrrTransformerView *view, GArray *operators, const OrrMatrix *matrix,
                      OrrPass pass) {
  const double rows = (double)rows_of(view, matrix->split);
  if (view->shard->layers == ORR_LAYERS_TORCH)
    orr_transformer_put_torch_casts(view, operators, matrix, rows, pass);
  else
    orr_transformer_put_cast(view, operators, pass,
                             rows * (double)(pass == ORR_PASS_FORWARD ? matrix->in : matrix->out));
}

static void put_forward(const OrrTransformerView *view, GArray *operators,
                        const OrrMatrix *matrix) {
  const gint64 rows = rows_of(view, matrix->split), rank = view->shard->lora.rank;
  const gint64 n = matrix->out, k = matrix->in;
  OrrProduct products[3];
  const guint n_products = orr_transformer_products(view, matrix, products);
  put_casts(view, operators, matrix, ORR_PASS_FORWARD);
  put_dequantise(view, operators, ORR_PASS_FORWARD, (double)n * k);
  for (guint i = 0; i < n_products; i++)
    put_gemm(operators, products[i].name, ORR_PASS_FORWARD, product_dtype(view, ORR_PASS_FORWARD),
             (OrrGemmShape){1, rows, products[i].n, k});
  gint64 widths[3];
  const guint n_adapters = orr_transformer_adapters(view, matrix, widths);
  for (guint i = 0; i < n_adapters; i++) {
    orr_transformer_put_torch_adapter(view, operators, ORR_PASS_FORWARD, (double)rows * k,
                                      (double)rows * widths[i]);
    orr_transformer_put_plain(view, operators, "lora-a", ORR_PASS_FORWARD,
                              (OrrGemmShape){1, rows, rank, k});
    orr_transformer_put_plain(view, operators, "lora-b", ORR_PASS_FORWARD,
                              (OrrGemmShape){1, rows, widths[i], rank});
    orr_transformer_put_memory(view, operators, "lora-add", ORR_PASS_FORWARD,
                               (double)rows * widths[i], 3, 0);
  }
}

void orr_transformer_put_reduce(const OrrTransformerView *view, GArray *operators, double width) {
  if (view->sequence_parallel)
    orr_transformer_put_comm(view, operators, "tp-reduce-scatter", ORR_PASS_DGRAD,
                             ORR_COMM_REDUCE_SCATTER, width);
  else
    orr_transformer_put_comm(view, operators, "tp-all-reduce", ORR_PASS_DGRAD, ORR_COMM_ALL_REDUCE,
                             width);
}

void orr_transformer_put_gather(const OrrTransformerView *view, GArray *operators, double width) {
  if (view->sequence_parallel)
    orr_transformer_put_comm(view, operators, "tp-all-gather", ORR_PASS_FORWARD,
                             ORR_COMM_ALL_GATHER, width);
}

/* The adapter's part of dx and the gradients of B; the gradients of A follow the reduction of
 * dx. */
static void put_adapter_backward(const OrrTransformerView *view, GArray *operators, gint64 rows,
                                 gint64 n, gint64 k) {
  gint64 rank = view->shard->lora.rank;
  OrrDtype dtype = view->shard->dtype;
  put_gemm(operators, "lora-b", ORR_PASS_DGRAD, dtype, (OrrGemmShape){1, rows, rank, n});
  put_wgrad(view, operators, "lora-b", dtype, (OrrGemmShape){1, rows, n, rank});
  put_gemm(operators, "lora-a", ORR_PASS_DGRAD, dtype, (OrrGemmShape){1, rows, k, rank});
  orr_transformer_put_torch_adapter(view, operators, ORR_PASS_DGRAD, (double)rows * k,
                                    (double)rows * n);
  orr_transformer_put_memory(view, operators, "lora-add", ORR_PASS_DGRAD, (double)rows * k, 3, 0);
}

static void put_dgrad(const OrrTransformerView *view, GArray *operators, const char *name,
                      gint64 rows, gint64 n, gint64 k) {
  put_gemm(operators, name, ORR_PASS_DGRAD, product_dtype(view, ORR_PASS_DGRAD),
           (OrrGemmShape){1, rows, k, n});
  OrrOperator *op = &g_array_index(operators, OrrOperator, operators->len - 1);
  op->gemm.stored.exact_sums = sums_exactly(view, op);
}

/* Whether the backward of a column-parallel layer gathers its input again. */
static gboolean regathers(const OrrTransformerView *view) {
  return view->sequence_parallel && !view->shard->keeps_gathered;
}

static void put_backward(const OrrTransformerView *view, GArray *operators,
                         const OrrMatrix *matrix) {
  const gint64 rows = rows_of(view, matrix->split), n = matrix->out, k = matrix->in;
  const gboolean column = matrix->split == ORR_SPLIT_COLUMN,
                 frozen = orr_transformer_is_frozen(view);
  gint64 widths[3];
  const guint n_adapters = orr_transformer_adapters(view, matrix, widths);
  const gboolean wants_input = !frozen || n_adapters > 0;
  OrrProduct products[3];
  const guint n_products = orr_transformer_products(view, matrix, products);
  put_casts(view, operators, matrix, ORR_PASS_DGRAD);
  if (column && regathers(view) && wants_input)
    orr_transformer_put_comm(view, operators, "tp-all-gather", ORR_PASS_WGRAD, ORR_COMM_ALL_GATHER,
                             k);
  put_dequantise(view, operators, ORR_PASS_DGRAD, (double)n * k);
  for (guint i = 0; i < n_products; i++)
    put_dgrad(view, operators, products[i].name, rows, products[i].n, k);
  orr_transformer_put_grad_sum(view, operators, n_products, (double)rows * k);
  for (guint i = 0; i < n_adapters; i++) put_adapter_backward(view, operators, rows, widths[i], k);
  if (column) orr_transformer_put_reduce(view, operators, (double)k);
  for (guint i = 0; !frozen && i < n_products; i++)
    put_wgrad(view, operators, products[i].name, product_dtype(view, ORR_PASS_WGRAD),
              (OrrGemmShape){1, rows, products[i].n, k});
  for (guint i = 0; i < n_adapters; i++)
    put_wgrad(view, operators, "lora-a", view->shard->dtype,
              (OrrGemmShape){1, rows, view->shard->lora.rank, k});
}

void orr_transformer_put_matrix(const OrrTransformerView *view, GArray *operators,
                                const OrrMatrix *matrix, OrrPass pass) {
  (pass == ORR_PASS_FORWARD ? put_forward : put_backward)(view, operators, matrix);
}

void orr_transformer_put_linear(const OrrTransformerView *view, GArray *operators, const char *name,
                                OrrPass pass) {
  const OrrMatrix *matrices = view->layer.matrices;
  for (guint i = 0; i < view->layer.n_matrices; i++)
    if (strcmp(matrices[i].name, name) == 0)
      orr_transformer_put_matrix(view, operators, &matrices[i], pass);
}

/* --- norms, biases, activation --- */

static const char *norm_name(const OrrTransformerView *view) {
  return view->layer.norm == ORR_NORM_RMSNORM ? "rms-norm" : "layer-norm";
}

/* Apex' fused layer norm runs two kernels in the backward: the gradients of gamma and beta
 * (reads x and dy), then the gradient of x (reads x and dy, writes dx). The later persistent
 * kernels (2022) do both in one; PyTorch's own layer_norm still runs two (layer_norm_kernel.cu,
 * LayerNormBackwardKernelImplInternal). */
void orr_transformer_put_norm_of(const OrrTransformerView *view, GArray *operators,
                                 const char *name, OrrPass pass, double elements) {
  const gboolean forward = pass == ORR_PASS_FORWARD;
  const gboolean of_torch = view->shard->uncompiled && view->layer.norm != ORR_NORM_RMSNORM;
  if (!forward && (orr_transformer_is_eager(view) || of_torch) && !orr_transformer_is_frozen(view))
    orr_transformer_put_memory(view, operators, "norm-weight-grad", ORR_PASS_WGRAD, elements, 2, 0);
  if (view->layer.norm == ORR_NORM_RMSNORM && /* PyTorch's layer_norm is one kernel forward */
      orr_transformer_put_torch_eager(view, operators, ORR_EAGER_NORM, name, pass, elements))
    return;
  orr_transformer_put_memory(view, operators, name, pass, elements, forward ? 2 : 3, 0);
}

void orr_transformer_put_norm(const OrrTransformerView *view, GArray *operators, OrrPass pass) {
  orr_transformer_put_norm_of(view, operators, norm_name(view), pass,
                              orr_transformer_own_elements(view));
}

void orr_transformer_put_bias_grad(const OrrTransformerView *view, GArray *operators, gboolean bias,
                                   double elements) {
  if (bias && !orr_transformer_is_frozen(view))
    orr_transformer_put_memory(view, operators, "bias-grad", ORR_PASS_WGRAD, elements, 1, 0);
}

/* GELU and ReLU read x and write y; their backward reads x and dy and writes dx. Gated ones read
 * gate and up and write y; their backward reads gate, up and dy and writes the gradients of gate
 * and up. */
void orr_transformer_put_activation(const OrrTransformerView *view, GArray *operators, OrrPass pass,
                                    double elements) {
  gboolean gated = orr_activation_is_gated(view->layer.activation),
           forward = pass == ORR_PASS_FORWARD;
  double moves = forward ? (gated ? 3 : 2) : (gated ? 5 : 3);
  const char *name = orr_activation_words[view->layer.activation];
  if (gated &&
      orr_transformer_put_torch_eager(view, operators, ORR_EAGER_GATE, name, pass, elements))
    return;
  orr_transformer_put_memory(view, operators, name, pass, elements, moves, 0);
}

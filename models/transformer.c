/*
 * transformer.c - what all parts of a sharded transformer share: its widths on one rank, linear layers and norms, and
 * its parameters.
 *
 * Invariants:
 *  1. Only GEMM and ATTENTION operators have FLOPs, so that a sum over operators is the model's FLOPs (or tp times
 *     less). Elementwise work is bound by its bytes.
 *  2. Backward of a linear layer keeps Megatron's order of issue: [gather x], dgrad, [reduce dx], wgrad (LinearWith-
 *     GradAccumulationAndAsyncCommunication, megatron/core/tensor_parallel/layers.py). A COMM's pass is that of the
 *     result it serves, and it may run beside the operators of the other pass that follow it.
 *
 * Backward of y[m,n] = x[m,k] w[n,k]^T, in the same convention of a GEMM:
 *
 *     dgrad  dx[m,k] = dy[m,n] (w^T)[k,n]^T      m x k over n
 *     wgrad  dw[n,k] = (dy^T)[n,m] (x^T)[k,m]^T  n x k over m
 */
#include "models/transformer_private.h"

const char *const orr_attention_words[] = {"unfused", "fused", NULL};

static gint64 divide_up(gint64 a, gint64 b) {
  return (a + b - 1) / b;
}

OrrTransformerView orr_transformer_view(const OrrModel *model, const OrrShard *shard) {
  gint64 tp = MAX(1, shard->tp), tokens = shard->micro_batch * shard->sequence;
  gint64 heads = divide_up(model->heads, tp), kv_heads = divide_up(model->kv_heads, tp);
  gint64 ffn = divide_up(model->ffn, tp);
  gboolean sequence_parallel = shard->sequence_parallel && tp > 1;
  return (OrrTransformerView){
      .model = model,
      .shard = shard,
      .element_bytes = orr_dtype_bytes(shard->dtype),
      .tokens = tokens,
      .own_tokens = (double)tokens / (sequence_parallel ? tp : 1),
      .heads = heads,
      .kv_heads = kv_heads,
      .q = heads * model->head_dim,
      .kv = kv_heads * model->head_dim,
      .ffn = ffn,
      .fc1_width = (model->activation == ORR_ACTIVATION_SWIGLU ? 2 : 1) * ffn,
      .vocab = divide_up(model->vocab, tp),
      .sequence_parallel = sequence_parallel,
  };
}

/* --- check --- */

static void check_divides(gint64 value, const char *what, gint64 tp, OrrPlace place, OrrDiags *diags) {
  if (value % tp)
    orr_diags_error(diags, place,
                    "%" G_GINT64_FORMAT " %s cannot be split over tp = %" G_GINT64_FORMAT
                    ": tp must divide them",
                    value, what, tp);
}

void orr_transformer_check(const OrrModel *model, const OrrShard *shard, OrrPlace place, OrrDiags *diags) {
  gint64 tp = shard->tp;
  if (tp < 1 || shard->micro_batch < 1 || shard->sequence < 1) {
    orr_diags_error(diags, place,
                    "tp %" G_GINT64_FORMAT ", micro-batch %" G_GINT64_FORMAT ", sequence %" G_GINT64_FORMAT
                    ": each must be 1 or more",
                    tp, shard->micro_batch, shard->sequence);
    return;
  }
  check_divides(model->heads, "attention heads", tp, place, diags);
  check_divides(model->ffn, "columns of the MLP", tp, place, diags);
  if (tp <= model->kv_heads || tp % model->kv_heads) /* else each is held tp / kv-heads times */
    check_divides(model->kv_heads, "key-value heads", tp, place, diags);
  if (shard->sequence_parallel)
    check_divides(shard->sequence, "tokens of a sequence (sequence parallelism)", tp, place, diags);
  if (model->position == ORR_POSITION_LEARNED && shard->sequence > model->context)
    orr_diags_error(diags, place,
                    "sequence %" G_GINT64_FORMAT " is longer than the model's %" G_GINT64_FORMAT " learned positions",
                    shard->sequence, model->context);
}

/* --- operators --- */

void orr_transformer_put_memory(const OrrTransformerView *view, GArray *operators, const char *name, OrrPass pass,
                                double elements, double moves, double masks) {
  double bytes = elements * (moves * view->element_bytes + masks);
  OrrOperator op = orr_operator_memory(name, pass, view->shard->dtype, bytes, 0);
  g_array_append_val(operators, op);
}

void orr_transformer_put_comm(const OrrTransformerView *view, GArray *operators, const char *name, OrrPass pass,
                              OrrOperatorComm comm) {
  if (view->shard->tp < 2)
    return;
  double bytes = view->element_bytes * view->tokens * view->model->hidden;
  OrrOperator op = orr_operator_comm(name, pass, ORR_GROUP_TP, comm, bytes);
  g_array_append_val(operators, op);
}

void orr_transformer_put_linear(const OrrTransformerView *view, GArray *operators, const char *name, gint64 n,
                                gint64 k) {
  OrrOperator op = orr_operator_gemm(name, ORR_PASS_FORWARD, view->shard->dtype, 1, view->tokens, n, k);
  g_array_append_val(operators, op);
}

/* In 2021 autograd left the gradient in the weights' format, and local DDP's hook (`param.main_grad.add_(param.grad)`,
 * megatron/model/distributed.py) or autograd's own accumulation added it: read both, write one. Megatron gathers bf16
 * in fp32, fp16 in fp16 (megatron/arguments.py sets accumulate-allreduce-grads-in-fp32 for bf16 alone). */
void orr_transformer_put_main_grad(const OrrTransformerView *view, GArray *operators, double parameters) {
  double buffer_bytes = view->shard->dtype == ORR_FP16 ? 2 : 4;
  double bytes = parameters * (view->element_bytes + 2 * buffer_bytes);
  OrrOperator op = orr_operator_memory("main-grad-add", ORR_PASS_WGRAD, view->shard->dtype, bytes, 0);
  g_array_append_val(operators, op);
}

static void put_wgrad(const OrrTransformerView *view, GArray *operators, const char *name, gint64 n, gint64 k) {
  OrrOperator op = orr_operator_gemm(name, ORR_PASS_WGRAD, view->shard->dtype, 1, n, k, view->tokens);
  /* Later Megatron (gradient-accumulation-fusion) accumulates in the GEMM, in fp32. */
  if (!orr_transformer_is_eager(view))
    op.bytes += (8 - view->element_bytes) * n * k;
  g_array_append_val(operators, op);
  if (orr_transformer_is_eager(view))
    orr_transformer_put_main_grad(view, operators, (double)n * k);
}

void orr_transformer_put_linear_backward(const OrrTransformerView *view, GArray *operators, const char *name, gint64 n,
                                         gint64 k, gboolean column_parallel) {
  OrrOperator dgrad = orr_operator_gemm(name, ORR_PASS_DGRAD, view->shard->dtype, 1, view->tokens, k, n);
  if (column_parallel && view->sequence_parallel)
    orr_transformer_put_comm(view, operators, "tp-all-gather", ORR_PASS_WGRAD, ORR_COMM_ALL_GATHER);
  g_array_append_val(operators, dgrad);
  if (column_parallel && view->sequence_parallel)
    orr_transformer_put_comm(view, operators, "tp-reduce-scatter", ORR_PASS_DGRAD, ORR_COMM_REDUCE_SCATTER);
  else if (column_parallel)
    orr_transformer_put_comm(view, operators, "tp-all-reduce", ORR_PASS_DGRAD, ORR_COMM_ALL_REDUCE);
  put_wgrad(view, operators, name, n, k);
}

static const char *norm_name(const OrrTransformerView *view) {
  return view->model->norm == ORR_NORM_RMSNORM ? "rms-norm" : "layer-norm";
}

void orr_transformer_put_norm(const OrrTransformerView *view, GArray *operators) {
  orr_transformer_put_memory(view, operators, norm_name(view), ORR_PASS_FORWARD, orr_transformer_own_elements(view), 2,
                             0);
}

/* Apex' fused layer norm runs two kernels in backward: the gradients of gamma and beta (reads x and dy), then that of x
 * (reads x and dy, writes dx). The persistent kernels that followed (2022) do both in one pass. */
void orr_transformer_put_norm_backward(const OrrTransformerView *view, GArray *operators) {
  double elements = orr_transformer_own_elements(view);
  if (orr_transformer_is_eager(view))
    orr_transformer_put_memory(view, operators, "norm-weight-grad", ORR_PASS_WGRAD, elements, 2, 0);
  orr_transformer_put_memory(view, operators, norm_name(view), ORR_PASS_DGRAD, elements, 3, 0);
}

/* --- parameters of one rank --- */

OrrWeights orr_transformer_layer_weights(const OrrModel *model, guint kind, const OrrShard *shard) {
  (void)kind;
  OrrTransformerView view = orr_transformer_view(model, shard);
  double h = model->hidden, qkv = view.q + 2.0 * view.kv;
  double weights = h * qkv + h * view.q + h * view.fc1_width + h * view.ffn;
  double biases = model->bias ? qkv + h + view.fc1_width + h : 0; /* those of row-parallel layers are whole */
  return (OrrWeights){.dense = weights + biases + 2 * orr_model_norm_parameters(model)};
}

static double token_embedding_parameters(const OrrModel *model, gint64 tp) {
  return (double)divide_up(model->vocab, MAX(1, tp)) * model->hidden;
}

OrrWeights orr_transformer_embedding_weights(const OrrModel *model, const OrrShard *shard) {
  double positions = model->position == ORR_POSITION_LEARNED ? (double)model->context * model->hidden : 0;
  return (OrrWeights){.dense = token_embedding_parameters(model, shard->tp) + positions};
}

OrrWeights orr_transformer_head_weights(const OrrModel *model, const OrrShard *shard, gboolean shares_embedding) {
  double logits = shares_embedding ? 0 : token_embedding_parameters(model, shard->tp);
  return (OrrWeights){.dense = orr_model_norm_parameters(model) + logits};
}

double orr_transformer_boundary_bytes(const OrrModel *model, const OrrShard *shard) {
  OrrTransformerView view = orr_transformer_view(model, shard);
  return view.element_bytes * orr_transformer_own_elements(&view);
}

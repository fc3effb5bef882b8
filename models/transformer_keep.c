/*
 * transformer_keep.c - recomputation operator by operator: PyTorch's selective activation
 * checkpointing with the policy of torchtitan (torchtitan/models/parallelize: _save_list, "every
 * second mm").
 *
 * A layer keeps its input and the results of
 *
 *   every second product, the first one included   wq [wk] wv [wo] w1 [w3] w2, those in brackets
 *                                                  again
 *   fused attention                                with its log-sum-exp
 *   reduce-scatters                                under sequence parallelism
 *
 * and replays the others before its backward: half of the products, norms, activations, gathers.
 * Batched products (aten.bmm, unfused attention) and grouped ones (experts) are not in the list:
 * they run again. What only a kept scatter reads does not. A compiled layer (OrrLayers torch) keeps
 * neither that nor the last product's result: no backward reads them. Queries, keys and values are
 * three products there, gate and up two, whatever is one here.
 *
 * Llama without tensor parallelism, in elements per token: input h, q, kv, context q, f, h.
 */
#include "models/transformer_private.h"

static gboolean is_product(const OrrOperator *op) {
  return op->kind == ORR_OPERATOR_GEMM && op->gemm.batch == 1;
}

static gboolean is_scatter(const OrrOperator *op) {
  return op->kind == ORR_OPERATOR_COMM && op->comm.op == ORR_COMM_REDUCE_SCATTER &&
         op->comm.group == ORR_GROUP_TP;
}

/* Only a scatter, whose result is kept, reads the product's result. */
static gboolean is_scattered(const GArray *forward, guint product) {
  guint i = product + 1;
  while (i < forward->len &&
         strcmp(g_array_index(forward, OrrOperator, i).name, "scatter-copy") == 0)
    i++;
  return i < forward->len && is_scatter(&g_array_index(forward, OrrOperator, i));
}

/* Over ranks that split a sequence, the policy sees attention with its exchange as one call. */
static gboolean is_of_attention(const OrrOperator *op) {
  return op->kind == ORR_OPERATOR_ATTENTION ||
         (op->kind == ORR_OPERATOR_COMM && op->comm.group == ORR_GROUP_CP) ||
         strcmp(op->name, "attention-merge") == 0;
}

/* Width of the results of a product that run again: one operator stands for each torch.mm of its
 * matrix' pieces. @count counts the layer's products. */
static gint64 width_again(const OrrTransformerView *view, const OrrOperator *op, guint *count) {
  const OrrMatrix *matrix = orr_layer_matrix(&view->layer, op->name);
  gint64 again = 0;
  if (!matrix || !matrix->pieces[0].name) return ++*count % 2 == 0 ? op->gemm.n : 0;
  for (guint i = 0; i < G_N_ELEMENTS(matrix->pieces) && matrix->pieces[i].name; i++)
    if (++*count % 2 == 0) again += matrix->pieces[i].n;
  return again;
}

void orr_transformer_put_again(const OrrTransformerView *view, const GArray *forward,
                               GArray *operators) {
  guint count = 0;
  ORR_EACH_AT(i, const OrrOperator, op, forward) {
    if (is_scatter(op) || is_of_attention(op) || strcmp(op->name, "scatter-copy") == 0) continue;
    OrrOperator again = *op;
    if (is_product(op)) {
      const gint64 n = width_again(view, op, &count);
      if (n == 0 || is_scattered(forward, i)) continue;
      again = orr_operator_gemm(op->name, op->pass, op->dtype,
                                (OrrGemmShape){op->gemm.batch, op->gemm.m, n, op->gemm.k});
    }
    g_array_append_val(operators, again);
  }
}

static double result_bytes(const OrrTransformerView *view, const OrrOperator *op, guint *count) {
  if (is_product(op))
    return view->element_bytes * op->gemm.m * (op->gemm.n - width_again(view, op, count));
  return is_scatter(op) ? op->bytes / view->tp : 0;
}

/* Whether a compiled layer's backward reads nothing of a product's result. */
static gboolean is_unread(const OrrTransformerView *view, const GArray *forward, guint at) {
  if (view->shard->layers != ORR_LAYERS_TORCH) return FALSE;
  if (!is_product(&g_array_index(forward, OrrOperator, at))) return FALSE;
  guint next = at + 1;
  while (next < forward->len && !is_product(&g_array_index(forward, OrrOperator, next))) next++;
  return next == forward->len || is_scattered(forward, at);
}

void orr_transformer_keep_results(const OrrModel *model, guint kind, const OrrShard *shard,
                                  GArray *kept) {
  OrrTransformerView view = orr_transformer_view(model, kind, shard);
  g_autoptr(GArray) forward = g_array_new(FALSE, FALSE, sizeof(OrrOperator));
  orr_transformer_layer_forward(model, kind, shard, forward);
  gboolean attends = FALSE;
  guint count = 0;
  ORR_EACH_AT(i, const OrrOperator, op, forward) {
    g_autofree char *name = g_strconcat(op->name, "-result", NULL);
    attends = attends || op->kind == ORR_OPERATOR_ATTENTION;
    const double bytes = result_bytes(&view, op, &count);
    if (!is_unread(&view, forward, i)) orr_transformer_keep(kept, g_intern_string(name), bytes);
  }
  if (attends)
    orr_transformer_keep(kept, "attention-result",
                         view.tokens *
                             (view.layer.context * view.element_bytes + 4.0 * view.layer.heads));
}

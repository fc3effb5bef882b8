/*
 * training_overlap - finds a layer's products and tensor-parallel collectives that can be split
 * into slices together, and lets parallel.tp-comm-overlap split them.
 *
 *   all-gather, [cast], product    of one pass: the gathered rows are multiplied
 *                                  -> [cast], sliced gather
 *   product, reduce-scatter        of the forward; of inputs' gradients where the entry scatters
 *                                  those (workloads/training/tp_overlaps)
 *                                  -> sliced scatter
 *
 * A gather for a product by weight stays whole: that product sums over the gathered rows.
 */
#include "workloads/training/cost/training_costs.h"

static const OrrTpOverlapKind *kind_of(const OrrTraining *params) {
  return (const OrrTpOverlapKind *)params->parallel.tp_comm_overlap.entry;
}

static gboolean is_comm(const OrrOperator *op, OrrOperatorComm comm) {
  return op->kind == ORR_OPERATOR_COMM && op->comm.group == ORR_GROUP_TP && op->comm.op == comm;
}

static gboolean is_between(const OrrOperator *op) {
  static const char *const names[] = {"cast",        "scaled-cast", "turned-cast",
                                      "gather-copy", "dequantise",  NULL};
  return g_strv_contains(names, op->name);
}

/* The product that waits for the gather at @i; 0: none. Only its casts may come in between. */
static guint gathered_product(const GArray *operators, guint i) {
  const OrrOperator *comm = &g_array_index(operators, OrrOperator, i);
  if (!is_comm(comm, ORR_COMM_ALL_GATHER) || comm->pass == ORR_PASS_WGRAD) return 0;
  for (guint k = i + 1; k < operators->len; k++) {
    const OrrOperator *op = &g_array_index(operators, OrrOperator, k);
    if (op->pass != comm->pass) return 0;
    if (op->kind == ORR_OPERATOR_GEMM) return k;
    if (!is_between(op)) return 0;
  }
  return 0;
}

/* Products of the same gathered rows as @product, right after it: each slice runs all of them. */
static guint n_siblings(const GArray *operators, guint product) {
  const OrrOperator *first = &g_array_index(operators, OrrOperator, product);
  guint n = 0;
  for (guint i = product + 1; i < operators->len; i++, n++) {
    const OrrOperator *op = &g_array_index(operators, OrrOperator, i);
    if (op->kind != ORR_OPERATOR_GEMM || op->pass != ORR_PASS_FORWARD ||
        first->pass != ORR_PASS_FORWARD || op->gemm.m != first->gemm.m ||
        op->gemm.k != first->gemm.k)
      break;
  }
  return n;
}

/* One product as wide as @product and the @n after it. */
static OrrOperator joined(const GArray *operators, guint product, guint n) {
  OrrOperator whole = g_array_index(operators, OrrOperator, product);
  for (guint i = 1; i <= n; i++) {
    const OrrOperator *op = &g_array_index(operators, OrrOperator, product + i);
    whole.gemm.n += op->gemm.n;
    whole.flops += op->flops;
    whole.bytes += op->bytes;
  }
  return whole;
}

/* Slices arrive in place. The copy of the gathered whole remains where a product by weight reads
 * it, in another order than it arrives. */
static void append_between(const GArray *operators, guint from, guint to, gboolean copies,
                           GArray *out) {
  for (guint i = from; i < to; i++)
    if (copies || !g_str_equal(g_array_index(operators, OrrOperator, i).name, "gather-copy"))
      g_array_append_val(out, g_array_index(operators, OrrOperator, i));
}

static gboolean is_copy(const GArray *operators, guint i) {
  return i < operators->len &&
         g_str_equal(g_array_index(operators, OrrOperator, i).name, "scatter-copy");
}

static gboolean is_scattered_product(const OrrTpOverlapKind *kind, const GArray *operators,
                                     guint i) {
  const OrrOperator *op = &g_array_index(operators, OrrOperator, i);
  const guint next = i + 1 + is_copy(operators, i + 1);
  if (op->kind != ORR_OPERATOR_GEMM || next >= operators->len) return FALSE;
  const OrrOperator *comm = &g_array_index(operators, OrrOperator, next);
  if (!is_comm(comm, ORR_COMM_REDUCE_SCATTER) || comm->pass != op->pass) return FALSE;
  return op->pass == ORR_PASS_FORWARD || (op->pass == ORR_PASS_DGRAD && kind->scatters_gradients);
}

/* Marks all slices after @first that the operator at @first launches itself. */
static void mark_launched(const OrrTpOverlapKind *kind, GArray *out, guint first) {
  for (guint i = first + 1; kind->one_dispatch && i < out->len; i++)
    g_array_index(out, OrrOperator, i).launched = TRUE;
}

/* Appends to @out the operators from @i on that belong together, split where the entry accepts
 * them. Returns how many operators of the input that were. */
static guint append_next(const OrrJob *job, const GArray *operators, guint i, gboolean copies,
                         GArray *out) {
  const OrrTpOverlapKind *kind = kind_of(job->params);
  const void *params = job->params->parallel.tp_comm_overlap.params;
  const OrrOperator *at = &g_array_index(operators, OrrOperator, i);
  const guint product = kind->gather ? gathered_product(operators, i) : 0;
  OrrTpOverlapCall call = {.ranks = job->tp};
  if (product > 0) {
    const guint before = out->len, siblings = n_siblings(operators, product);
    append_between(operators, i + 1, product, copies, out);
    const guint first = out->len;
    call.product = joined(operators, product, siblings);
    call.comm = *at;
    if (kind->gather(params, &call, out)) {
      mark_launched(kind, out, first);
      return product - i + 1 + siblings;
    }
    g_array_set_size(out, before);
  }
  if (kind->scatter && is_scattered_product(kind, operators, i)) {
    const guint skipped = is_copy(operators, i + 1), before = out->len;
    call.product = *at;
    call.comm = *(at + 1 + skipped);
    if (kind->scatter(params, &call, out)) {
      mark_launched(kind, out, before);
      return 2 + skipped;
    }
  }
  g_array_append_vals(out, at, 1);
  return 1;
}

void orr_training_overlap(const OrrJob *job, gboolean is_replayed, GArray *operators) {
  const OrrTpOverlapKind *kind = kind_of(job->params);
  if (job->tp == 1 || (!kind->gather && !kind->scatter)) return;
  g_autoptr(GArray) out = g_array_new(FALSE, TRUE, sizeof(OrrOperator));
  for (guint i = 0; i < operators->len;) i += append_next(job, operators, i, !is_replayed, out);
  g_array_set_size(operators, 0);
  if (out->len > 0) g_array_append_vals(operators, out->data, out->len);
}

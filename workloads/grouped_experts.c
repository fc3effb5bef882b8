/*
 * grouped_experts.c - adds up the cost of the grouped products and the activation of one rank's
 * experts.
 */
#include "workloads/grouped_experts.h"

typedef struct {
  const OrrCostModel *model;
  const OrrOperator *op;
  OrrGroupedCost cost_of;
  OrrCost sum;
} Grouped;

static void add(Grouped *grouped, OrrOperator op) {
  op.kernels = grouped->op->kernels;
  op.of_trainer = grouped->op->of_trainer;
  const OrrCost cost = grouped->cost_of(grouped->model, &op);
  grouped->sum.time_s += cost.time_s;
  grouped->sum.how = MAX(grouped->sum.how, cost.how);
}

static void add_product(Grouped *grouped, double batch, double m, double n, double k) {
  const OrrOperator *op = grouped->op;
  OrrOperator product =
      orr_operator_gemm("experts", op->pass, op->dtype,
                        (OrrGemmShape){(gint64)(batch + 0.5), MAX(1, (gint64)(m + 0.5)), (gint64)n,
                                       MAX(1, (gint64)(k + 0.5))});
  product.gemm.stored.sum_bytes = op->moe.stored.sum_bytes;
  product.gemm.stored.cast_apart = op->moe.stored.cast_apart;
  product.fleet = op->fleet;
  product.release = op->release;
  product.rate = op->rate;
  add(grouped, product);
}

OrrCost orr_grouped_experts(const OrrCostModel *model, const OrrOperator *op, OrrDtype storage,
                            OrrGroupedCost cost_of) {
  Grouped grouped = {model, op, cost_of, {0, ORR_HOW_MEASURED}};
  double pairs = 0, active = 0;
  orr_cost_moe_load(&op->moe, &pairs, &active);
  const double rows = pairs / active, h = (double)op->moe.hidden,
               f = (double)op->moe.inter / (double)op->moe.tp;
  const double gates = op->moe.projections == 2 ? 1 : 2, e = orr_dtype_bytes(storage);
  if (op->pass == ORR_PASS_WGRAD) {
    add_product(&grouped, active, gates * f, h, rows);
    add_product(&grouped, active, f, h, rows);
    return grouped.sum;
  }
  const gboolean forward = op->pass == ORR_PASS_FORWARD;
  add_product(&grouped, active, rows, forward ? gates * f : h, forward ? h : gates * f);
  if (!op->moe.without_last) add_product(&grouped, active, rows, forward ? h : f, forward ? f : h);
  const double touched = (forward ? gates + 1 : 2 * gates + 1) * pairs * f;
  add(&grouped, orr_operator_memory("activation", op->pass, storage, touched * e, 0));
  return grouped.sum;
}

/*
 * grouped_experts.c - adds up the cost of the grouped products and the activation of one rank's
 * experts.
 */
#include "workloads/grouped_experts.h"

typedef struct {
  const OrrCostModel *model;
  const OrrOperator *op;
  OrrGroupedCost cost_of;
  OrrDtype storage;
  double pairs;   /* of all experts together */
  double at_once; /* experts in a product */
  double turns;   /* how often that many run */
  double gates;   /* matrices before the activation */
  double in_turn; /* products that these matrices are */
  OrrCost sum;
} Experts;

static void add(Experts *experts, OrrOperator op, double times) {
  op.kernels = experts->op->kernels;
  op.of_trainer = experts->op->of_trainer;
  const OrrCost cost = experts->cost_of(experts->model, &op);
  experts->sum.time_s += times * cost.time_s;
  experts->sum.how = MAX(experts->sum.how, cost.how);
}

static void add_product(Experts *experts, double times, double m, double n, double k) {
  const OrrOperator *op = experts->op;
  OrrOperator product =
      orr_operator_gemm("experts", op->pass, op->dtype,
                        (OrrGemmShape){(gint64)(experts->at_once + 0.5), MAX(1, (gint64)(m + 0.5)),
                                       (gint64)n, MAX(1, (gint64)(k + 0.5))});
  product.gemm.stored.sum_bytes = op->moe.stored.sum_bytes;
  product.gemm.stored.cast_apart = op->moe.stored.cast_apart;
  product.fleet = op->fleet;
  product.release = op->release;
  product.rate = op->rate;
  add(experts, product, times * experts->turns);
}

static OrrCost cost_of(Experts *experts) {
  const OrrOperator *op = experts->op;
  const double active = experts->at_once * experts->turns, rows = experts->pairs / active,
               h = (double)op->moe.hidden, f = (double)op->moe.inter / (double)op->moe.tp,
               first = experts->gates / experts->in_turn * f;
  if (op->pass == ORR_PASS_WGRAD) {
    add_product(experts, experts->in_turn, first, h, rows);
    add_product(experts, 1, f, h, rows);
    return experts->sum;
  }
  const gboolean forward = op->pass == ORR_PASS_FORWARD;
  add_product(experts, experts->in_turn, rows, forward ? first : h, forward ? h : first);
  if (!op->moe.without_last) add_product(experts, 1, rows, forward ? h : f, forward ? f : h);
  const double touched = (forward ? experts->gates + 1 : 2 * experts->gates + 1) * rows *
                         experts->at_once * f,
               bytes = touched * orr_dtype_bytes(experts->storage);
  add(experts, orr_operator_memory("activation", op->pass, experts->storage, bytes, 0),
      experts->turns);
  return experts->sum;
}

static Experts experts_of(const OrrCostModel *model, const OrrOperator *op, OrrDtype storage,
                          OrrGroupedCost cost) {
  Experts experts = {model, op, cost, storage, .turns = 1, .in_turn = 1};
  orr_cost_moe_load(&op->moe, &experts.pairs, &experts.at_once);
  experts.gates = op->moe.projections == 2 ? 1 : 2;
  experts.sum.how = ORR_HOW_MEASURED;
  return experts;
}

OrrCost orr_grouped_experts(const OrrCostModel *model, const OrrOperator *op, OrrDtype storage,
                            OrrGroupedCost cost) {
  Experts experts = experts_of(model, op, storage, cost);
  return cost_of(&experts);
}

OrrCost orr_grouped_experts_sequential(const OrrCostModel *model, const OrrOperator *op,
                                       OrrDtype storage, gboolean apart, OrrGroupedCost cost) {
  Experts experts = experts_of(model, op, storage, cost);
  experts.turns = experts.at_once;
  experts.at_once = 1;
  if (apart) experts.in_turn = experts.gates;
  return cost_of(&experts);
}

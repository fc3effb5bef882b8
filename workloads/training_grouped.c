/*
 * training_grouped - routed experts as a training framework runs them: one grouped product for all experts of a rank.
 *
 * A profile's expert rows are serving kernels, written for few tokens an expert (fused Triton kernels; in fp8 on Hopper
 * at 220 TFLOP/s whatever the size). Megatron-Core's GroupedMLP (CUTLASS), Transformer Engine's GroupedLinear (cuBLAS)
 * and DeepGEMM multiply at a matrix product's rate: DeepGEMM's grouped products of 4 experts of 8,192 tokens reach
 * 1,297 TFLOP/s (n 4096, k 7168) and 1,099 (n 7168, k 2048) on H800 (README of deepseek-ai/DeepGEMM, 2025). With the
 * fullest rank's load, P pairs over A active experts, inner width f / etp and g matrices before the activation,
 *
 *     forward   A products  P/A x g f over h     and  P/A x h over f       and the activation, (g + 1) P f
 *     dgrad     A products  P/A x h over g f     and  P/A x f over h       and its backward, (2 g + 1) P f
 *     wgrad     A products  g f x h over P/A     and  f x h over P/A
 *
 * each as one batched product. A framework takes the faster of the two kinds of kernel.
 */
#include "workloads/training_private.h"

typedef struct {
  const OrrJob *job;
  const OrrOperator *op;
  OrrCost sum;
} Grouped;

static void add(Grouped *grouped, OrrOperator op) {
  op.kernels = grouped->job->shard.kernels;
  const OrrCost cost = orr_cost_sustained(grouped->job->world->cost, &op);
  grouped->sum.time_s += cost.time_s;
  grouped->sum.how = MAX(grouped->sum.how, cost.how);
}

static void add_product(Grouped *grouped, double batch, double m, double n, double k) {
  const OrrOperator *op = grouped->op;
  add(grouped, orr_operator_gemm("experts", op->pass, op->dtype, (gint64)(batch + 0.5), MAX(1, (gint64)(m + 0.5)),
                                 (gint64)n, MAX(1, (gint64)(k + 0.5))));
}

static OrrCost grouped_cost(const OrrJob *job, const OrrOperator *op) {
  Grouped grouped = {job, op, {0, ORR_HOW_MEASURED}};
  double pairs = 0, active = 0;
  orr_cost_moe_load(op, &pairs, &active);
  const double rows = pairs / active, h = (double)op->k, f = (double)op->n / (double)op->expert_tp;
  const double gates = op->projections == 2 ? 1 : 2, e = orr_dtype_bytes(job->shard.dtype);
  if (op->pass == ORR_PASS_WGRAD) {
    add_product(&grouped, active, gates * f, h, rows);
    add_product(&grouped, active, f, h, rows);
    return grouped.sum;
  }
  const gboolean forward = op->pass == ORR_PASS_FORWARD;
  add_product(&grouped, active, rows, forward ? gates * f : h, forward ? h : gates * f);
  add_product(&grouped, active, rows, forward ? h : f, forward ? f : h);
  const double touched = (forward ? gates + 1 : 2 * gates + 1) * pairs * f;
  add(&grouped, orr_operator_memory("activation", op->pass, job->shard.dtype, touched * e, 0));
  return grouped.sum;
}

OrrCost orr_training_operator_cost(const OrrJob *job, const OrrOperator *op) {
  const OrrCost cost = orr_cost_sustained(job->world->cost, op);
  if (op->kind != ORR_OPERATOR_MOE || job->shard.kernels != ORR_KERNELS_MODERN) return cost;
  const OrrCost grouped = grouped_cost(job, op);
  return grouped.time_s < cost.time_s ? grouped : cost;
}

double orr_training_fullest(const OrrJob *job, const OrrOperator *comm) {
  const gint64 group = job->ep * job->etp;
  if (comm->group != ORR_GROUP_EP || !(job->shard.imbalance > 0) || comm->topk <= 0) return 1;
  double pairs = 0, active = 0;
  const OrrOperator op = {.m = comm->m * group,
                          .k = comm->k,
                          .n = 1,
                          .topk = comm->topk,
                          .experts = comm->experts,
                          .expert_tp = 1,
                          .expert_ep = job->ep,
                          .imbalance = job->shard.imbalance};
  orr_cost_moe_load(&op, &pairs, &active);
  return MAX(1, pairs * (double)job->ep / ((double)op.m * (double)op.topk));
}

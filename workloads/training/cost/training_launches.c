/*
 * training_launches - how many operators a framework's host dispatches per kernel of ours, and how
 * long that takes.
 *
 * Mostly it is one: a product, a norm, a collective. Routed experts (Megatron-Core with Transformer
 * Engine's GroupedLinear) need more:
 *
 *   router-topk   31: scores, choice, counts, auxiliary loss and the preparation of the exchange,
 *                 with moe-router-fusion; 72 without it; 17 where the exchange prepares itself
 *                 (deepep, HybridEP). Megatron-LM, docs/discussions/deepseek-v3-gb200-optimization
 *                 (2025), sections 2.1.4 and 2.2.1. That source does not count the backward; we
 *                 assume as many
 *   experts       one product per expert and matrix, on several cuBLAS streams (ibid., sections 1
 *                 and 2.1.2): 2 A in the forward, 2 A by data, 2 A by weight, where A is the number
 *                 of the rank's experts that have tokens. In narrow formats A casts precede each of
 *                 the first two (TransformerEngine issue 1499 counts their allocations)
 *
 *   sequential    experts one after the other (experts.mlp): 3 per expert in the forward, 3 by
 *                 data, 2 by weight (Megatron's SequentialMLP); with layers of plain PyTorch 10, 17
 *                 and 3: nonzero, two gathers, three products, silu, two multiplications and an
 *                 index_add; by data gathers and multiplications again, and for each gather zeros,
 *                 an index_put and a sum (Hugging Face's modeling_qwen3_moe.py, 4.56)
 *   rope          16 where it is apart: 8 each of queries and keys (rope_utils.py)
 *   experts-bias  3 per expert in the forward, 5 in the backward: product, sum, their gradients
 *
 * Graphs of all but the experts (`graphs-but-experts`: Megatron's cuda-graph-modules attn,
 * moe_router, moe_preprocess) launch everything between two groups of experts as one.
 */
#include "workloads/training/cost/training_costs.h"

enum { ROUTER_OPERATORS = 31, ROUTER_OPERATORS_WITH_DEEPEP = 17, ROPE_OPERATORS = 16 };

static guint expert_operators(const OrrJob *job, const OrrOperator *op) {
  static const guint sequential[2][3] = {{3, 3, 2}, {10, 17, 3}};
  double pairs = 0, active = 0;
  orr_cost_moe_load(&op->moe, &pairs, &active);
  if (job->params->experts.mlp == ORR_EXPERTS_SEQUENTIAL) {
    const guint *each = sequential[job->params->layers == ORR_LAYERS_TORCH];
    const guint pass = op->pass == ORR_PASS_FORWARD ? 0 : op->pass == ORR_PASS_DGRAD ? 1 : 2;
    return (guint)(each[pass] * active + 0.5);
  }
  const double casts = op->moe.stored.cast_apart && op->pass != ORR_PASS_WGRAD ? 2 : 0;
  return (guint)((2 + casts) * active + 0.5);
}

guint orr_launch_counts_of(const OrrJob *job, const OrrOperator *op) {
  if (op->kind == ORR_OPERATOR_COMM || job->shard.kernels != ORR_KERNELS_MODERN) return 1;
  if (op->kind == ORR_OPERATOR_MOE) return expert_operators(job, op);
  if (job->shard.rope_apart && g_str_equal(op->name, "rope")) return ROPE_OPERATORS;
  if (g_str_equal(op->name, "experts-bias"))
    return (guint)((op->pass == ORR_PASS_FORWARD ? 3 : 5) * job->world->model->moe.experts /
                   MAX(1, job->ep));
  if (g_str_equal(op->name, "router-topk"))
    return job->params->experts.dispatch == ORR_DISPATCH_DEEPEP ? ROUTER_OPERATORS_WITH_DEEPEP
                                                                : ROUTER_OPERATORS;
  return 1;
}

/* Products whose weights a host fetches one by one (zero-3). Those by weight need none. */
static double fetched(const OrrJob *job, const OrrOperator *op) {
  if (job->sharding.fetch_s == 0 || op->pass == ORR_PASS_WGRAD) return 0;
  if (op->kind == ORR_OPERATOR_GEMM) return op->gemm.batch == 1;
  if (op->kind != ORR_OPERATOR_MOE) return 0;
  double pairs = 0, active = 1;
  if (job->params->experts.mlp == ORR_EXPERTS_SEQUENTIAL)
    orr_cost_moe_load(&op->moe, &pairs, &active);
  return active * (double)op->moe.projections;
}

void orr_launch_counts_add(OrrLaunchCounts *counts, const OrrJob *job, const OrrOperator *op) {
  const guint n = op->launched ? 0 : orr_launch_counts_of(job, op);
  counts->launched += op->launched;
  counts->fetched += fetched(job, op);
  counts->kernels += n;
  if (op->kind == ORR_OPERATOR_MOE) counts->expert_kernels += n;
}

/* The host launches a graph as fast as it launches a kernel with nothing else to do. A kernel that
 * an operator launches itself takes as long as a small operator: an upper bound for a launch in
 * C++. */
double orr_launch_counts_host_s(const OrrLaunchCounts *counts, const OrrJob *job) {
  const OrrLaunches launches = (OrrLaunches)job->params->launches;
  const gboolean has_graphs =
      launches == ORR_LAUNCHES_GRAPHS || launches == ORR_LAUNCHES_GRAPHS_BUT_EXPERTS;
  const OrrCostModel *cost = job->world->cost;
  const double launch_s = orr_cost_host_launch_s(cost, ORR_KERNELS_MODERN);
  const guint others = counts->kernels - counts->expert_kernels;
  const guint single = launches == ORR_LAUNCHES_GRAPHS ? 0
                       : has_graphs                    ? counts->expert_kernels
                                                       : counts->kernels;
  double host_s = counts->fetched * job->sharding.fetch_s;
  host_s +=
      single * job->params->host_operators * orr_cost_operator_dispatch_s(cost, job->shard.kernels);
  if (!has_graphs) host_s += counts->launched * launch_s;
  if (has_graphs)
    host_s += MIN(launches == ORR_LAUNCHES_GRAPHS ? counts->kernels : others, 1) * launch_s;
  return host_s;
}

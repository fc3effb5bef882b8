/*
 * training_launches - how many operators a framework's host dispatches for a kernel of ours, and
 * what they take it.
 *
 * Most are one: a product, a norm, a collective. Of experts (Megatron-Core with Transformer
 * Engine's GroupedLinear):
 *
 *   router-topk   31: scores, choice, counts, auxiliary loss and what prepares the exchange, with moe-router-fusion; 72
 *                 without it; 17 where the exchange prepares itself (deepep, HybridEP). Megatron-LM,
 *                 docs/discussions/deepseek-v3-gb200-optimization (2025), sections 2.1.4 and 2.2.1; the backward, which
 *                 it does not count, is taken to have as many
 *   experts       a product an expert and matrix, of several streams of cuBLAS (sections 1 and 2.1.2 there): 2 A forward,
 *                 2 A by data, 2 A by weight, A the experts of the rank that have tokens; in narrow formats A casts
 *                 before each of the first two (TransformerEngine issue 1499 counts their allocations)
 *
 * Graphs of all but the experts (`graphs-but-experts`: Megatron's cuda-graph-modules attn,
 * moe_router, moe_preprocess) launch each stretch between experts as one.
 */
#include "workloads/training/training_private.h"

enum { ROUTER_OPERATORS = 31, ROUTER_OPERATORS_BESIDE_DEEPEP = 17 };

static guint of_experts(const OrrOperator *op) {
  double pairs = 0, active = 0;
  orr_cost_moe_load(&op->moe, &pairs, &active);
  const double casts = op->moe.stored.cast_apart && op->pass != ORR_PASS_WGRAD ? 2 : 0;
  return (guint)((2 + casts) * active + 0.5);
}

guint orr_training_operators(const OrrJob *job, const OrrOperator *op) {
  if (job->shard.kernels != ORR_KERNELS_MODERN) return 1;
  if (op->kind == ORR_OPERATOR_MOE) return of_experts(op);
  if (g_str_equal(op->name, "router-topk"))
    return job->params->experts.dispatch == ORR_DISPATCH_DEEPEP ? ROUTER_OPERATORS_BESIDE_DEEPEP
                                                                : ROUTER_OPERATORS;
  return 1;
}

/* A graph is launched as a kernel is, by a host that does nothing else. */
void orr_training_add_host(const OrrJob *job, OrrRun *run) {
  const OrrLaunches launches = (OrrLaunches)job->params->launches;
  const gboolean has_graphs =
      launches == ORR_LAUNCHES_GRAPHS || launches == ORR_LAUNCHES_GRAPHS_BUT_EXPERTS;
  const OrrCostModel *cost = job->world->cost;
  const double launch_s = orr_cost_host_launch_s(cost, ORR_KERNELS_MODERN); /* of a graph */
  const guint others = run->kernels - run->expert_kernels;
  const guint apart = launches == ORR_LAUNCHES_GRAPHS ? 0
                      : has_graphs                    ? run->expert_kernels
                                                      : run->kernels;
  run->host_s = apart * orr_cost_operator_dispatch_s(cost, job->shard.kernels);
  if (!has_graphs)
    run->host_s +=
        run->launched * launch_s; /* as a small operator: an upper bound for a launch in C++ */
  if (has_graphs)
    run->host_s += MIN(launches == ORR_LAUNCHES_GRAPHS ? run->kernels : others, 1) * launch_s;
  run->serial = launches == ORR_LAUNCHES_BLOCKING;
}

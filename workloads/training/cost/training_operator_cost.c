/*
 * training_operator_cost - one operator at the clock that the job's power draw permits.
 *
 * A framework runs routed experts by the faster of two kinds of kernel: the profile's, or one
 * grouped product for all experts of a rank (workloads/grouped_experts.h).
 *
 * Experts that run one after the other (experts.mlp) have products, an activation and further
 * kernels each. With layers of plain PyTorch the gradient of each expert's input is a tensor of all
 * t tokens of h elements: zeros, and a sum with the last expert's (t h elements written, two read
 * and one written).
 *
 * Where a library's grouped products are slower in the backward (experts.backward-rate), they run
 * there, at that fraction of the rate.
 *
 * What it runs as n kernels bound by memory (routing: 17, 31 or more) moves the bytes of one and
 * takes the overhead of n.
 */
#include "workloads/training/cost/training_costs.h"

#include "workloads/grouped_experts.h"

/* What a product costs in @parts along n, one after the other. */
static OrrCost parts_cost(const OrrJob *job, const OrrOperator *op, gint64 parts) {
  OrrGemmShape shape = op->gemm;
  shape.n /= parts;
  OrrOperator part = orr_operator_gemm(op->name, (OrrPass)op->pass, (OrrDtype)op->dtype, shape);
  part.fleet = op->fleet;
  part.release = op->release;
  part.rate = op->rate;
  const OrrCost each = orr_cost_sustained(job->world->cost, &part);
  return (OrrCost){(double)parts * each.time_s, each.how};
}

/* Narrower parts would be too good: what their rows contain of a cast is only estimated. */
enum { LEAST_WIDTH = 4096 };

/* Rows of narrow products are of a serving engine's kernels: one is chosen for a shape and stays
 * at half the rate of another beyond some width (B200: 2,700 TFLOP/s at n = 26,624, 3,500 at
 * 4,608). A training library's heuristics never take longer than halves, or quarters, of the
 * product one after the other. */
static OrrCost product_cost(const OrrJob *job, const OrrOperator *op) {
  OrrCost best = orr_cost_sustained(job->world->cost, op);
  if (op->kind != ORR_OPERATOR_GEMM || op->dtype != ORR_FP8 || !op->gemm.stored.cast_apart)
    return best;
  for (gint64 parts = 2; op->gemm.n % parts == 0 && op->gemm.n / parts >= LEAST_WIDTH; parts *= 2) {
    const OrrCost cost = parts_cost(job, op, parts);
    if (cost.time_s < best.time_s) best = cost;
  }
  return best;
}

/* The overhead of all kernels of @op but one. */
static double further_s(const OrrJob *job, const OrrOperator *op) {
  const guint kernels = op->kind == ORR_OPERATOR_MEMORY ? orr_launch_counts_of(job, op) : 1;
  if (kernels < 2) return 0;
  const OrrOperator empty =
      orr_operator_memory(op->name, (OrrPass)op->pass, job->shard.dtype, 1, 0);
  return (kernels - 1) * orr_cost_sustained(job->world->cost, &empty).time_s;
}

static OrrCost sequential_cost(const OrrJob *job, const OrrOperator *op) {
  const gboolean torch = job->params->layers == ORR_LAYERS_TORCH;
  OrrCost cost = orr_grouped_experts_sequential(job->world->cost, op, job->shard.dtype, torch,
                                                orr_cost_sustained);
  const OrrOperator empty =
      orr_operator_memory(op->name, (OrrPass)op->pass, job->shard.dtype, 1, 0);
  double pairs = 0, active = 0;
  orr_cost_moe_load(&op->moe, &pairs, &active);
  const double own = op->pass == ORR_PASS_WGRAD ? 0 : 1,
               products = torch ? (double)op->moe.projections : 2,
               others = orr_launch_counts_of(job, op) - (products + own) * active;
  cost.time_s += op->wait_s;
  cost.time_s += MAX(others, 0) * orr_cost_sustained(job->world->cost, &empty).time_s;
  if (!torch || op->pass != ORR_PASS_DGRAD) return cost;
  const double elements = 4.0 * (double)op->moe.tokens * (double)op->moe.hidden;
  const OrrOperator sums = orr_operator_memory(op->name, (OrrPass)op->pass, job->shard.dtype,
                                               elements * orr_dtype_bytes(job->shard.dtype), 0);
  cost.time_s += active * orr_cost_sustained(job->world->cost, &sums).time_s;
  return cost;
}

OrrCost orr_training_operator_cost(const OrrJob *job, const OrrOperator *like) {
  const OrrProducts *products = &job->params->products;
  OrrOperator op = *like;
  op.release = products->release;
  const gboolean is_backward = op.kind == ORR_OPERATOR_MOE && op.pass != ORR_PASS_FORWARD;
  const double slower = is_backward ? job->params->experts.backward_rate : 1;
  const double rate = products->rate * slower;
  op.rate = rate == 1 ? 0 : rate;
  op.fleet = job->tp * job->cp * job->pp * job->dp;
  op.of_trainer = TRUE;
  if (op.kind == ORR_OPERATOR_MOE && job->params->experts.mlp == ORR_EXPERTS_SEQUENTIAL)
    return sequential_cost(job, &op);
  OrrCost cost = product_cost(job, &op);
  cost.time_s += op.wait_s + further_s(job, &op);
  if (op.kind != ORR_OPERATOR_MOE || job->shard.kernels != ORR_KERNELS_MODERN) return cost;
  const OrrCost grouped =
      orr_grouped_experts(job->world->cost, &op, job->shard.dtype, orr_cost_sustained);
  return grouped.time_s < cost.time_s || slower != 1 ? grouped : cost;
}

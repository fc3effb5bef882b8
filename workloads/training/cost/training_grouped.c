/*
 * training_grouped - routed experts as a training framework runs them: the faster of the profile's
 * kernels and of one grouped product for all experts of a rank.
 */
#include "workloads/grouped_experts.h"
#include "workloads/training/training_private.h"

OrrCost orr_training_operator_cost(const OrrJob *job, const OrrOperator *asked) {
  OrrOperator op = *asked;
  op.fleet = job->tp * job->cp * job->pp * job->dp;
  const OrrCost cost = orr_cost_sustained(job->world->cost, &op);
  if (op.kind != ORR_OPERATOR_MOE || job->shard.kernels != ORR_KERNELS_MODERN) return cost;
  const OrrCost grouped =
      orr_grouped_experts(job->world->cost, &op, job->shard.dtype, orr_cost_sustained);
  return grouped.time_s < cost.time_s ? grouped : cost;
}

double orr_training_fullest(const OrrJob *job, const OrrOperator *comm) {
  const gint64 group = job->ep * job->etp;
  if (comm->comm.group != ORR_GROUP_EP || !(job->shard.imbalance > 0) || comm->comm.topk <= 0)
    return 1;
  double pairs = 0, active = 0;
  const OrrMoeShape shape = {.tokens = comm->comm.tokens * group,
                             .hidden = comm->comm.hidden,
                             .inter = 1,
                             .topk = comm->comm.topk,
                             .experts = comm->comm.experts,
                             .tp = 1,
                             .ep = job->ep,
                             .imbalance = job->shard.imbalance};
  orr_cost_moe_load(&shape, &pairs, &active);
  return MAX(1, pairs * (double)job->ep / ((double)shape.tokens * (double)shape.topk));
}

/*
 * training_operator_cost - one operator at the clock that the job's power draw permits.
 *
 * A framework runs routed experts by the faster of two kinds of kernel: the profile's, or one
 * grouped product for all experts of a rank (workloads/grouped_experts.h).
 */
#include "workloads/training/cost/training_operator_cost.h"

#include "workloads/grouped_experts.h"

OrrCost orr_training_operator_cost(const OrrJob *job, const OrrOperator *like) {
  OrrOperator op = *like;
  op.fleet = job->tp * job->cp * job->pp * job->dp;
  const OrrCost cost = orr_cost_sustained(job->world->cost, &op);
  if (op.kind != ORR_OPERATOR_MOE || job->shard.kernels != ORR_KERNELS_MODERN) return cost;
  const OrrCost grouped =
      orr_grouped_experts(job->world->cost, &op, job->shard.dtype, orr_cost_sustained);
  return grouped.time_s < cost.time_s ? grouped : cost;
}

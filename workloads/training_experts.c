/*
 * training_experts - gradients and parameters of routed experts between the GPUs that hold the same ones.
 *
 * Experts are replicated over tp cp dp / (etp ep) GPUs of a stage (Megatron's expert-data-parallel group), fewer than
 * dense parameters are, so they have reductions of their own: one a stage, after the last backward and the dense
 * buckets. (Megatron reduces them in buckets too; that overlap is not modelled.)
 */
#include "workloads/training_private.h"

/* Of one GPU; of one block where two stages hold it. */
static double expert_parameters(const OrrJob *job, gint64 owner) {
  const gint64 chunks = orr_pipeline_n_chains(job->schedule) > 1 ? 1 : job->shape.chunks;
  double sum = 0;
  for (gint64 chunk = 0; chunk < chunks; chunk++) {
    const GArray *units = orr_job_units(job, owner, chunk);
    for (guint i = 0; i < units->len; i++)
      sum += orr_job_part_weights(job, owner, g_array_index(units, guint, i)).experts;
  }
  return sum;
}

static gboolean plan_one(OrrTrainingPlan *plan, const OrrJob *job, const char *name, OrrCollectiveOp op, gint64 owner,
                         double bytes, OrrWire *ret_wire, GError **error) {
  OrrCalls calls;
  gint64 stages[2] = {owner, owner};
  const guint n_stages = orr_pipeline_n_chains(job->schedule) > 1 ? orr_job_holders(job, owner, stages) : 1;
  orr_calls_over(&calls, job, op, bytes, orr_experts_comb(job), stages, n_stages);
  const gboolean planned = orr_wires_join(&plan->wires, name, 1, &calls, ret_wire, error);
  orr_calls_clear(&calls);
  return planned;
}

gboolean orr_training_plan_experts(OrrTrainingPlan *plan, const OrrJob *job, GError **error) {
  const gboolean sharded = job->sharding.optimizer;
  plan->experts = g_new0(OrrWire, 2 * job->pp);
  if (orr_experts_replicas(job) == 1) return TRUE;
  for (gint64 owner = 0; owner < job->pp; owner++) {
    const double parameters = expert_parameters(job, owner);
    OrrWire *wires = plan->experts + 2 * owner;
    if (parameters == 0) continue;
    if (!plan_one(plan, job, "expert-gradients", sharded ? ORR_REDUCE_SCATTER : ORR_ALL_REDUCE, owner,
                  parameters * job->gradient_bytes_each, &wires[0], error))
      return FALSE;
    if (sharded && !plan_one(plan, job, "expert-parameters", ORR_ALL_GATHER, owner,
                             parameters * orr_dtype_bytes(job->shard.dtype), &wires[1], error))
      return FALSE;
  }
  return TRUE;
}

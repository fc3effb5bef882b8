/*
 * training_groups - who meets in which collective.
 *
 * Ranks of a stage are numbered r = t + tp (c + cp d). Every group is a comb: ranks a stride apart.
 *
 *                     stride      size
 *   tensor            1           tp
 *   context           tp          cp
 *     inner, outer    tp, tp ci   ci, cp / ci                  ci: context-inner
 *   one expert        1           etp
 *   experts           etp         ep
 *   dense gradients   tp          cp dp
 *   expert gradients  etp ep      tp cp dp / (etp ep)
 *
 *     where order names ep after dp, these are etp times the replicas of an expert apart, and those of one expert etp
 *
 * The last three lines of the table are Megatron's parallel folding
 * (megatron/core/parallel_state.py, the expert rank generator): the same ranks are cut anew for
 * experts, tensor-parallel ranks first. Where etp ep is more than a replica's tp cp ranks, an
 * expert group reaches over replicas, which then move in lock-step from all-to-all to all-to-all.
 */
#include "workloads/training/training_private.h"

static gint64 expert_replicas(const OrrJob *job) {
  return job->tp * job->cp * job->dp / (job->etp * job->ep);
}

OrrComb orr_group_comb(const OrrJob *job, OrrOperatorGroup group) {
  switch (group) {
  case ORR_GROUP_TP:
    return (OrrComb){1, job->tp};
  case ORR_GROUP_CP:
    return (OrrComb){job->tp, job->cp};
  case ORR_GROUP_EP:
    return (OrrComb){job->etp * (job->placement.ep_after_dp ? expert_replicas(job) : 1), job->ep};
  case ORR_GROUP_ETP:
    return (OrrComb){1, job->etp};
  case ORR_GROUP_CP_INNER:
    return (OrrComb){job->tp, job->shard.cp_inner};
  case ORR_GROUP_CP_OUTER:
    return (OrrComb){job->tp * job->shard.cp_inner,
                     job->shard.cp_inner > 1 ? job->cp / job->shard.cp_inner : 1};
  case ORR_N_GROUPS:
    break;
  }
  g_return_val_if_reached(((OrrComb){1, 1}));
}

OrrComb orr_share_comb(const OrrJob *job, OrrShare share) {
  if (share == ORR_SHARE_DENSE) return (OrrComb){job->tp, job->cp * job->dp};
  return (OrrComb){job->placement.ep_after_dp ? job->etp : job->etp * job->ep,
                   expert_replicas(job)};
}

/* One copy of all parameters lies on sharding.ranks ranks a tensor-parallel one, in a row. */
gint64 orr_share_ranks(const OrrJob *job, OrrShare share) {
  if (job->sharding.ranks == 1 || share == ORR_SHARE_DENSE) return job->sharding.ranks;
  return job->sharding.ranks * job->tp / (job->etp * job->ep);
}

OrrComb orr_shard_comb(const OrrJob *job, OrrShare share) {
  return (OrrComb){orr_share_comb(job, share).stride,
                   orr_share_ranks(job, share) / orr_pipeline_n_chains(job->schedule)};
}

OrrComb orr_copies_comb(const OrrJob *job, OrrShare share) {
  const OrrComb all = orr_share_comb(job, share), shard = orr_shard_comb(job, share);
  return (OrrComb){shard.stride * shard.size, all.size / shard.size};
}

gint64 orr_share_replicas(const OrrJob *job, OrrShare share) {
  return orr_share_comb(job, share).size * orr_pipeline_n_chains(job->schedule);
}

gint64 orr_group_span(const OrrJob *job, OrrOperatorGroup group) {
  const OrrComb comb = orr_group_comb(job, group);
  return MAX(1, comb.stride * comb.size / orr_job_replica_ranks(job));
}

void orr_calls_init(OrrCalls *calls, OrrCollectiveOp op, double bytes, guint n_calls, guint n) {
  calls->gpus = g_new0(gint64, (gsize)n_calls * n);
  calls->calls = g_new0(OrrCollectiveCall, n_calls);
  calls->n_calls = n_calls;
  for (guint g = 0; g < n_calls; g++)
    calls->calls[g] = (OrrCollectiveCall){op, bytes, calls->gpus + (gsize)g * n, n};
}

void orr_calls_clear(OrrCalls *calls) {
  g_free(calls->gpus);
  g_free(calls->calls);
}

/* Rank @k of the @group-th group from @first on. */
static gint64 comb_rank(OrrComb comb, gint64 first, gint64 group, gint64 k) {
  return first + group / comb.stride * comb.stride * comb.size + group % comb.stride +
         k * comb.stride;
}

void orr_calls_of(OrrCalls *calls, const OrrJob *job, OrrCollectiveOp op, double bytes,
                  OrrComb comb, gint64 stage, const gint64 *firsts, guint n_ranges, gint64 n) {
  const gint64 groups = n / comb.size;
  const gboolean ring = op == ORR_SEND_RECV;
  orr_calls_init(calls, op, bytes, n_ranges * groups * (ring ? comb.size : 1),
                 ring ? 2 : comb.size);
  gint64 *gpu = calls->gpus;
  for (guint range = 0; range < n_ranges; range++)
    for (gint64 group = 0; group < groups; group++)
      for (gint64 k = 0; k < comb.size; k++) {
        *gpu++ = orr_job_gpu(job, stage, comb_rank(comb, firsts[range], group, k));
        if (ring)
          *gpu++ =
              orr_job_gpu(job, stage, comb_rank(comb, firsts[range], group, (k + 1) % comb.size));
      }
}

guint orr_job_holders(const OrrJob *job, gint64 block, gint64 ret_stages[2]) {
  const gint64 chains = orr_pipeline_n_chains(job->schedule);
  for (gint64 chain = 0; chain < chains; chain++)
    ret_stages[chain] =
        orr_pipeline_stage(job->schedule, &job->shape, (OrrPipelinePlace){chain, block});
  return chains;
}

void orr_calls_over(OrrCalls *calls, const OrrJob *job, OrrCollectiveOp op, double bytes,
                    OrrComb comb, const gint64 *stages, guint n_stages) {
  const gint64 first = 0, n = orr_job_replica_ranks(job) * job->dp;
  g_autofree OrrCalls *parts = g_new0(OrrCalls, n_stages);
  for (guint s = 0; s < n_stages; s++)
    orr_calls_of(&parts[s], job, op, bytes, comb, stages[s], &first, 1, n);
  orr_calls_init(calls, op, bytes, parts[0].n_calls, comb.size * n_stages);
  for (guint g = 0; g < calls->n_calls; g++)
    for (guint s = 0; s < n_stages; s++)
      for (gint64 k = 0; k < comb.size; k++)
        calls->gpus[(g * n_stages + s) * comb.size + k] = parts[s].gpus[g * comb.size + k];
  for (guint s = 0; s < n_stages; s++) orr_calls_clear(&parts[s]);
}

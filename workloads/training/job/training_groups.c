/*
 * training_groups - the groups of every collective of a job.
 *
 * A stage numbers its ranks r = t + tp (c + cp d).
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
 *     where parallel.order has ep after dp, `experts` has a stride of etp times the replicas of an
 *     expert, and `expert gradients` a stride of etp
 *
 * The rows for experts are Megatron's parallel folding (megatron/core/parallel_state.py, the expert
 * rank generator): the same ranks are divided anew for experts, tensor-parallel ranks first. Where
 * etp ep exceeds a replica's tp cp ranks, an expert group spans several replicas, which then move
 * in lock-step from all-to-all to all-to-all.
 */
#include "workloads/training/job/training_groups.h"

static gint64 expert_replicas(const OrrJob *job) {
  return job->tp * job->cp * job->dp / (job->etp * job->ep);
}

OrrGrouping orr_grouping_of(const OrrJob *job, OrrOperatorGroup group) {
  switch (group) {
  case ORR_GROUP_TP:
    return (OrrGrouping){1, job->tp};
  case ORR_GROUP_CP:
    return (OrrGrouping){job->tp, job->cp};
  case ORR_GROUP_EP:
    return (OrrGrouping){job->etp * (job->placement.ep_after_dp ? expert_replicas(job) : 1),
                         job->ep};
  case ORR_GROUP_ETP:
    return (OrrGrouping){1, job->etp};
  case ORR_GROUP_CP_INNER:
    return (OrrGrouping){job->tp, job->shard.cp_inner};
  case ORR_GROUP_CP_OUTER:
    return (OrrGrouping){job->tp * job->shard.cp_inner,
                         job->shard.cp_inner > 1 ? job->cp / job->shard.cp_inner : 1};
  case ORR_N_GROUPS:
    break;
  }
  g_return_val_if_reached(((OrrGrouping){1, 1}));
}

gint64 orr_grouping_span(const OrrJob *job, OrrOperatorGroup group) {
  const OrrGrouping grouping = orr_grouping_of(job, group);
  return MAX(1, grouping.stride * grouping.size / orr_job_replica_ranks(job));
}

OrrGrouping orr_grouping_replicas(const OrrJob *job, OrrWeightSet set) {
  if (set == ORR_WEIGHTS_DENSE) return (OrrGrouping){job->tp, job->cp * job->dp};
  return (OrrGrouping){job->placement.ep_after_dp ? job->etp : job->etp * job->ep,
                       expert_replicas(job)};
}

OrrGrouping orr_grouping_shards(const OrrJob *job, OrrWeightSet set) {
  return (OrrGrouping){orr_grouping_replicas(job, set).stride,
                       orr_job_shard_ranks(job, set) / orr_pipeline_n_directions(job->schedule)};
}

OrrGrouping orr_grouping_copies(const OrrJob *job, OrrWeightSet set) {
  const OrrGrouping all = orr_grouping_replicas(job, set), shards = orr_grouping_shards(job, set);
  return (OrrGrouping){shards.stride * shards.size, all.size / shards.size};
}

gint64 orr_grouping_n_holders(const OrrJob *job, OrrWeightSet set) {
  return orr_grouping_replicas(job, set).size * orr_pipeline_n_directions(job->schedule);
}

void orr_calls_init(OrrCalls *calls, OrrCollectiveOp op, double bytes, guint n_calls, guint n) {
  calls->gpus = g_new0(gint64, (gsize)n_calls * n);
  calls->calls = g_new0(OrrCollectiveCall, n_calls);
  calls->n_calls = n_calls;
  for (guint g = 0; g < n_calls; g++)
    calls->calls[g] = (OrrCollectiveCall){op, bytes, calls->gpus + (gsize)g * n, n};
}

void orr_calls_clear(OrrCalls *calls) { ORR_FREE(calls->gpus, calls->calls); }

/* Rank @k of the @group-th group from rank @first on. */
static gint64 rank_of(OrrGrouping grouping, gint64 first, gint64 group, gint64 k) {
  return first + group / grouping.stride * grouping.stride * grouping.size +
         group % grouping.stride + k * grouping.stride;
}

void orr_calls_within(OrrCalls *calls, const OrrJob *job, const OrrCallSpec *spec,
                      const OrrRankRanges *ranges) {
  const OrrGrouping grouping = spec->grouping;
  const gint64 size = grouping.size, groups = ranges->n / size, stage = ranges->stage;
  const gboolean ring = spec->op == ORR_SEND_RECV;
  orr_calls_init(calls, spec->op, spec->bytes, ranges->n_firsts * groups * (ring ? size : 1),
                 ring ? 2 : size);
  gint64 *gpu = calls->gpus;
  for (guint range = 0; range < ranges->n_firsts; range++)
    for (gint64 group = 0; group < groups; group++)
      for (gint64 k = 0; k < size; k++) {
        const gint64 first = ranges->firsts[range];
        *gpu++ = orr_job_gpu(job, stage, rank_of(grouping, first, group, k));
        if (ring) *gpu++ = orr_job_gpu(job, stage, rank_of(grouping, first, group, (k + 1) % size));
      }
}

void orr_calls_across(OrrCalls *calls, const OrrJob *job, const OrrCallSpec *spec,
                      const gint64 *stages, guint n_stages) {
  const gint64 first = 0, size = spec->grouping.size;
  g_autofree OrrCalls *one = g_new0(OrrCalls, n_stages); /* by stage */
  for (guint s = 0; s < n_stages; s++) {
    const OrrRankRanges all = {stages[s], &first, 1, orr_job_replica_ranks(job) * job->dp};
    orr_calls_within(&one[s], job, spec, &all);
  }
  orr_calls_init(calls, spec->op, spec->bytes, one[0].n_calls, size * n_stages);
  for (guint g = 0; g < calls->n_calls; g++)
    for (guint s = 0; s < n_stages; s++)
      for (gint64 k = 0; k < size; k++)
        calls->gpus[(g * n_stages + s) * size + k] = one[s].gpus[g * size + k];
  for (guint s = 0; s < n_stages; s++) orr_calls_clear(&one[s]);
}

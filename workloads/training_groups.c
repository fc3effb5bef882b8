/*
 * training_groups - who meets in which collective.
 *
 * Ranks of a stage are numbered r = t + tp (c + cp d). Every group is a comb: ranks a stride apart.
 *
 *                     stride      size
 *   tensor            1           tp
 *   context           tp          cp
 *   one expert        1           etp
 *   experts           etp         ep
 *   dense gradients   tp          cp dp
 *   expert gradients  etp ep      tp cp dp / (etp ep)
 *
 * The last three lines are Megatron's parallel folding (megatron/core/parallel_state.py, the expert rank generator):
 * the same ranks are cut anew for experts, tensor-parallel ranks first. Where etp ep is more than a replica's tp cp
 * ranks, an expert group reaches over replicas, which then move in lock-step from all-to-all to all-to-all.
 */
#include "workloads/training_private.h"

OrrComb orr_group_comb(const OrrJob *job, OrrOperatorGroup group) {
  switch (group) {
  case ORR_GROUP_TP:
    return (OrrComb){1, job->tp};
  case ORR_GROUP_CP:
    return (OrrComb){job->tp, job->cp};
  case ORR_GROUP_EP:
    return (OrrComb){job->etp, job->ep};
  case ORR_GROUP_ETP:
    return (OrrComb){1, job->etp};
  case ORR_N_GROUPS:
    break;
  }
  g_return_val_if_reached(((OrrComb){1, 1}));
}

OrrComb orr_dense_comb(const OrrJob *job) { return (OrrComb){job->tp, job->cp * job->dp}; }

OrrComb orr_experts_comb(const OrrJob *job) {
  const gint64 stride = job->etp * job->ep;
  return (OrrComb){stride, job->tp * job->cp * job->dp / stride};
}

gint64 orr_group_span(const OrrJob *job, OrrOperatorGroup group) {
  const OrrComb comb = orr_group_comb(job, group);
  return MAX(1, comb.stride * comb.size / orr_job_replica_ranks(job));
}

void orr_calls_init(OrrCalls *calls, OrrCollectiveOp op, double bytes, guint n_calls, guint n) {
  calls->gpus = g_new0(gint64, (gsize)n_calls * n);
  calls->calls = g_new0(OrrCollectiveCall, n_calls);
  calls->n_calls = n_calls;
  for (guint g = 0; g < n_calls; g++) calls->calls[g] = (OrrCollectiveCall){op, bytes, calls->gpus + (gsize)g * n, n};
}

void orr_calls_clear(OrrCalls *calls) {
  g_free(calls->gpus);
  g_free(calls->calls);
}

/* Rank @k of the @group-th group from @first on. */
static gint64 comb_rank(OrrComb comb, gint64 first, gint64 group, gint64 k) {
  return first + group / comb.stride * comb.stride * comb.size + group % comb.stride + k * comb.stride;
}

void orr_calls_of(OrrCalls *calls, const OrrJob *job, OrrCollectiveOp op, double bytes, OrrComb comb, gint64 stage,
                  const gint64 *firsts, guint n_ranges, gint64 n) {
  const gint64 groups = n / comb.size;
  const gboolean ring = op == ORR_SEND_RECV;
  orr_calls_init(calls, op, bytes, n_ranges * groups * (ring ? comb.size : 1), ring ? 2 : comb.size);
  gint64 *gpu = calls->gpus;
  for (guint range = 0; range < n_ranges; range++)
    for (gint64 group = 0; group < groups; group++)
      for (gint64 k = 0; k < comb.size; k++) {
        *gpu++ = orr_job_gpu(job, stage, comb_rank(comb, firsts[range], group, k));
        if (ring) *gpu++ = orr_job_gpu(job, stage, comb_rank(comb, firsts[range], group, (k + 1) % comb.size));
      }
}

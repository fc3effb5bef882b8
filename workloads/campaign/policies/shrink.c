/*
 * shrink.c - shrink: without a spare, the job goes on with fewer data-parallel replicas, and grows
 * again when a node is back.
 *
 *   policy: {kind: shrink, most-lost: 2}
 *   policy: {kind: shrink, most-lost: 2, keep-batch: true}
 *
 * The step with fewer replicas is replayed with the same sequences per replica, so the batch
 * shrinks (elastic data parallelism, e.g. TorchElastic). With keep-batch the replicas that are left
 * share the whole batch, so the optimizer sees what it would have seen: a replica trains as many
 * micro-batches as the one that gets most of them, and the step takes longer. Growing costs a
 * restart without recompute.
 */
#include "workloads/campaign/policy.h"

typedef struct {
  gint64 most_lost;
  gboolean keeps_batch;
} Params;

static const OrrFieldTable table = ORR_FIELDS(
    "shrink", "Parameters of the policy shrink.", Params, ORR_RECOVERY_POLICY_MOST_LOST(Params),
    ORR_FIELD_BOOL(Params, "keep-batch", keeps_batch, "false",
                   "The replicas that are left train the whole global batch."));

static void plan(const void *params, const OrrRecoveryCase *what, OrrRecoveryPlan *ret_plan) {
  ret_plan->shrinks = TRUE;
  ret_plan->reschedule_s = what->times->restart_s;
  ret_plan->initialise_s = what->times->initialise_s;
}

static gint64 most_lost(const void *params) { return ((const Params *)params)->most_lost; }

static gboolean keeps_batch(const void *params) { return ((const Params *)params)->keeps_batch; }

const OrrRecoveryPolicy orr_policy_shrink = {
    .entry = {"shrink", "Goes on with fewer replicas where no spare is left.", &table},
    .plan = plan,
    .most_lost = most_lost,
    .keeps_batch = keeps_batch,
};

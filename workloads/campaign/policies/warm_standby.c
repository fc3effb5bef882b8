/*
 * warm_standby.c - warm-standby: spares wait with their environment started, and are woken.
 *
 *   policy: {kind: warm-standby, wake-up: 30 s}
 *
 * A lost node costs wake-up instead of a requeue, as long as the campaign's spares last; without
 * one the job is requeued once a node is back. ByteRobust (arXiv 2509.16293, section 6.2) sizes the
 * pool by the P99 of simultaneous losses.
 */
#include "workloads/campaign/policy.h"

typedef struct {
  double wake_s;
} Params;

static const OrrFieldTable table =
    ORR_FIELDS("warm-standby", "Parameters of the policy warm-standby.", Params,
               ORR_FIELD_REAL(Params, "wake-up", wake_s, ORR_UNIT_SECONDS, "30 s",
                              "Time until a waiting spare has joined.", .min = 0, .max = 1e6));

static void plan(const void *params, const OrrRecoveryCase *what, OrrRecoveryPlan *ret_plan) {
  const OrrRecoveryTimes *times = what->times;
  const gboolean is_covered = what->nodes_out <= what->nodes_free;
  ret_plan->reschedule_s = what->nodes_out == 0 ? times->restart_s
                           : is_covered         ? ((const Params *)params)->wake_s
                                                : times->requeue_s;
  ret_plan->initialise_s = times->initialise_s;
}

const OrrRecoveryPolicy orr_policy_warm_standby = {
    .entry = {"warm-standby", "Spares wait with their environment started, and are woken.", &table},
    .plan = plan,
};

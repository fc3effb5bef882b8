/*
 * reroute.c - reroute: the peers of a lost stage in the other replicas take over its micro-batches
 * until a node is back.
 *
 *   policy: {kind: reroute, most-lost: 2}
 *
 * ReCycle (SOSP 2024) and Oobleck (SOSP 2023). The step with fewer replicas is replayed with the
 * same sequences per replica, and its time counted per token. ReCycle's use of bubbles is not
 * modelled, so this bounds its step from above. A failure of the whole job costs what restart
 * costs.
 */
#include "workloads/campaign/policy.h"

typedef struct {
  gint64 most_lost;
} Params;

static const OrrFieldTable table = ORR_FIELDS("reroute", "Parameters of the policy reroute.",
                                              Params, ORR_RECOVERY_POLICY_MOST_LOST(Params));

static void plan(const void *params, const OrrRecoveryCase *what, OrrRecoveryPlan *ret_plan) {
  ret_plan->shrinks = TRUE;
  ret_plan->keeps_progress = !what->all_lost;
  ret_plan->reschedule_s = what->times->restart_s;
  ret_plan->initialise_s = what->times->initialise_s + (what->all_lost ? 0 : what->step_s / 2);
}

static gint64 most_lost(const void *params) { return ((const Params *)params)->most_lost; }

const OrrRecoveryPolicy orr_policy_reroute = {
    .entry = {"reroute", "Other replicas take over the lost stage's micro-batches.", &table},
    .plan = plan,
    .most_lost = most_lost,
};

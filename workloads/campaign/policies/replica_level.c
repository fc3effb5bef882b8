/*
 * replica_level.c - replica-level: healthy replicas go on while the failed one recovers; it copies
 * the state of a healthy one and rejoins.
 *
 *   policy: {kind: replica-level, rejoin: 5 min}
 *
 * Costs: the interrupted step, then the step with fewer replicas until the replica rejoins, and
 * after that where no spare is left until a node is back. Nothing is loaded or computed anew
 * (torchft's per-step fault tolerance). A failure of the whole job leaves no replica to copy from:
 * it costs what restart costs.
 */
#include "workloads/campaign/policy.h"

typedef struct {
  gint64 most_lost;
  double rejoin_s;
} Params;

static const OrrFieldTable table =
    ORR_FIELDS("replica-level", "Parameters of the policy replica-level.", Params,
               ORR_RECOVERY_POLICY_MOST_LOST(Params),
               ORR_FIELD_REAL(Params, "rejoin", rejoin_s, ORR_UNIT_SECONDS, "5 min",
                              "Time until the failed replica has started and copied the state.",
                              .min = 0, .max = 1e7));

static void plan(const void *params, const OrrRecoveryCase *what, OrrRecoveryPlan *ret_plan) {
  ret_plan->shrinks = TRUE;
  ret_plan->keeps_progress = !what->all_lost;
  if (what->all_lost) {
    ret_plan->reschedule_s = what->times->restart_s;
    ret_plan->initialise_s = what->times->initialise_s;
  } else {
    ret_plan->initialise_s = what->step_s / 2; /* the interrupted step, on average */
    ret_plan->apart_s = ((const Params *)params)->rejoin_s;
  }
}

static gint64 most_lost(const void *params) { return ((const Params *)params)->most_lost; }

const OrrRecoveryPolicy orr_policy_replica_level = {
    .entry = {"replica-level", "Healthy replicas go on; the failed one rejoins later.", &table},
    .plan = plan,
    .most_lost = most_lost,
};

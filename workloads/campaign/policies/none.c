/*
 * none.c - none: the first failure ends the campaign.
 *
 *   policy: none
 *
 * Its mean end is the job's mean time to failure, 1 / sum of rates where all lives are exponential.
 * Steps trained since the last checkpoint that outlives the job are lost.
 */
#include "workloads/campaign/policy.h"

static void plan(const void *params, const OrrRecoveryCase *what, OrrRecoveryPlan *ret_plan) {
  ret_plan->stops = !what->is_planned;
  ret_plan->reschedule_s = what->times->requeue_s;
  ret_plan->initialise_s = what->times->initialise_s;
}

const OrrRecoveryPolicy orr_policy_none = {
    .entry = {"none", "The first failure ends the campaign.", NULL},
    .plan = plan,
};

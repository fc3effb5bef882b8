/*
 * restart.c - restart: processes start again on the nodes that the job holds; a node that is out of
 * service is replaced by a spare.
 *
 *   policy: restart
 *
 * Costs: restart, or requeue where nodes are replaced; initialise; load from the newest checkpoint
 * that survived, host memory included; recompute. ByteDance's and NVIDIA's agents do this
 * (MegaScale, arXiv 2402.15627, section 4; nvidia-resiliency-ext's in-job restart).
 */
#include "workloads/campaign/policy.h"

static void plan(const void *params, const OrrRecoveryCase *what, OrrRecoveryPlan *ret_plan) {
  ret_plan->reschedule_s = what->nodes_out > 0 ? what->times->requeue_s : what->times->restart_s;
  ret_plan->initialise_s = what->times->initialise_s;
}

const OrrRecoveryPolicy orr_policy_restart = {
    .entry = {"restart", "Processes restart on their nodes; spares replace lost ones.", NULL},
    .plan = plan,
};

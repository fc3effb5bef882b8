/*
 * hot_update.c - hot-update: planned changes of code or data restart processes in place; a node
 * that is lost still takes a new job.
 *
 *   policy: hot-update
 *
 * ByteRobust (arXiv 2509.16293, section 6.1) compares it with a requeue for planned changes; after
 * failures it is the same as restart.
 */
#include "workloads/campaign/policy.h"

static void plan(const void *params, const OrrRecoveryCase *what, OrrRecoveryPlan *ret_plan) {
  const gboolean in_place = what->is_planned || what->nodes_out == 0;
  ret_plan->loses_host = !in_place;
  ret_plan->reschedule_s = in_place ? what->times->restart_s : what->times->requeue_s;
  ret_plan->initialise_s = what->times->initialise_s;
}

const OrrRecoveryPolicy orr_policy_hot_update = {
    .entry = {"hot-update", "Restarts in place unless a node is lost; then a requeue.", NULL},
    .plan = plan,
};

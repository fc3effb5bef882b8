/*
 * requeue.c - requeue: the job ends, and the scheduler starts it again on healthy nodes.
 *
 *   policy: requeue
 *
 * Costs: requeue, initialise, load from a tier that outlives the job (SSD only where the nodes
 * stay, else the file system), recompute. Kokolis et al., Revisiting reliability in large-scale
 * machine learning research clusters (arXiv 2410.21680), describe it for RSC-1 and RSC-2.
 */
#include "workloads/campaign/policy.h"

static void plan(const void *params, const OrrRecoveryCase *what, OrrRecoveryPlan *ret_plan) {
  ret_plan->loses_host = TRUE;
  ret_plan->reschedule_s = what->times->requeue_s;
  ret_plan->initialise_s = what->times->initialise_s;
}

const OrrRecoveryPolicy orr_policy_requeue = {
    .entry = {"requeue", "The job ends and is scheduled anew on healthy nodes.", NULL},
    .plan = plan,
};

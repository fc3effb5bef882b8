/*
 * policy.c - the array of recovery policies.
 */
#include "workloads/campaign/policy.h"

extern const OrrRecoveryPolicy orr_policy_hot_update, orr_policy_none, orr_policy_replica_level,
    orr_policy_requeue, orr_policy_reroute, orr_policy_restart, orr_policy_shrink,
    orr_policy_warm_standby;

/* Alphabetical. To add one, see policy.h. */
static const OrrEntry *const entries[] = {
    &orr_policy_hot_update.entry, &orr_policy_none.entry,         &orr_policy_replica_level.entry,
    &orr_policy_requeue.entry,    &orr_policy_reroute.entry,      &orr_policy_restart.entry,
    &orr_policy_shrink.entry,     &orr_policy_warm_standby.entry, NULL};
const OrrRegistry orr_recovery_policy_registry = {.family = "recovery policy", .entries = entries};

gint64 orr_recovery_policy_most_lost(const OrrChoice *choice) {
  const OrrRecoveryPolicy *policy = (const OrrRecoveryPolicy *)choice->entry;
  return policy && policy->most_lost ? policy->most_lost(choice->params) : 0;
}

gboolean orr_recovery_policy_keeps_batch(const OrrChoice *choice) {
  const OrrRecoveryPolicy *policy = (const OrrRecoveryPolicy *)choice->entry;
  return policy && policy->keeps_batch && policy->keeps_batch(choice->params);
}

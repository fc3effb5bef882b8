/*
 * policy.c - what a campaign asks of its recovery policy.
 */
#include "workloads/campaign/policy.h"

gint64 orr_recovery_policy_most_lost(const OrrChoice *choice) {
  const OrrRecoveryPolicy *policy = (const OrrRecoveryPolicy *)choice->entry;
  return policy && policy->most_lost ? policy->most_lost(choice->params) : 0;
}

gboolean orr_recovery_policy_keeps_batch(const OrrChoice *choice) {
  const OrrRecoveryPolicy *policy = (const OrrRecoveryPolicy *)choice->entry;
  return policy && policy->keeps_batch && policy->keeps_batch(choice->params);
}

/*
 * cluster_refuse.c - sections of a cluster of jobs that do not go together.
 *
 *   speed, failures       need nodes that are seen, of one kind, and promises that may be late
 *   speed                 is a gang's at the size that the trace has, so gangs keep theirs
 *   failures              stop gangs that run: none that stands by in memory, none that shrinks
 *   placement nearest     goes by the nodes of the cluster's fabric
 */
#include "workloads/cluster_jobs/cluster_jobs.h"

gboolean orr_cluster_refuse_has_failures(const OrrClusterJobs *jobs) {
  return jobs->failures.set.processes && jobs->failures.set.processes->len > 0;
}

static gboolean has_speed(const OrrClusterJobs *jobs) {
  return !((const OrrGangSpeedKind *)(gconstpointer)jobs->speed.entry)->is_given;
}

/* What the policy may not be where speed or failures, @what, move the ends of jobs. */
static void refuse_policy(const OrrClusterJobs *jobs, const char *what, OrrPlace place,
                          OrrDiags *diags) {
  const OrrClusterPolicy *policy = &jobs->policy;
  if (((const OrrGangPlacement *)(gconstpointer)policy->placement.entry)->is_count)
    orr_diags_error(diags, place,
                    "policy.placement count sees no nodes, so a place has no speed and a node no "
                    "failures: want another placement");
  if (policy->backfill == ORR_BACKFILL_CONSERVATIVE)
    orr_diags_error(diags, place,
                    "policy.backfill conservative promises starts that slower runs and failures "
                    "would break: want none, easy or window");
  if (policy->rounds.length_s > 0)
    orr_diags_error(diags, place, "policy.rounds counts GPUs and sees no nodes: it goes without %s",
                    what);
  if (policy->elastic != ORR_ELASTIC_NONE || policy->preemption.mode == ORR_PREEMPT_SHRINK)
    orr_diags_error(diags, place,
                    "policy.elastic and preemption.mode shrink change the size of gangs: they go "
                    "without %s",
                    what);
  if (jobs->kinds->len > 0)
    orr_diags_error(diags, place,
                    "kinds have nodes of their own, which the cluster's fabric does not know: they "
                    "go without %s",
                    what);
}

static void refuse_preemption(const OrrClusterJobs *jobs, OrrPlace place, OrrDiags *diags) {
  if (has_speed(jobs) && jobs->policy.preemption.charge == ORR_CHARGE_EVENTS)
    orr_diags_error(diags, place,
                    "policy.preemption.charge events restarts all jobs at every event, wherever "
                    "they are: want preempted where speed goes by the place");
  if (orr_cluster_refuse_has_failures(jobs) && jobs->policy.preemption.mode == ORR_PREEMPT_SUSPEND)
    orr_diags_error(diags, place,
                    "policy.preemption.mode suspend keeps gangs in memory, which failures would "
                    "clear: want requeue or cancel with failures");
}

void orr_cluster_refuse(const OrrClusterJobs *jobs, OrrPlace place, OrrDiags *diags) {
  const gboolean has_failures = orr_cluster_refuse_has_failures(jobs);
  if (has_speed(jobs) || has_failures)
    refuse_policy(jobs, has_speed(jobs) ? "speed by place" : "failures", place, diags);
  refuse_preemption(jobs, place, diags);
  const char *placement = jobs->policy.placement.entry->name;
  if (jobs->kinds->len > 0 && g_str_equal(placement, "nearest"))
    orr_diags_error(diags, place,
                    "policy.placement nearest goes by the cluster's fabric, which does not know "
                    "the nodes of kinds: want fewest-domains, with groups of nodes");
}

/*
 * cluster_refuse.c - sections of a cluster of jobs that do not go together.
 *
 *   speed, failures       need nodes that are seen: neither placement count nor rounds
 *   speed                 is that of a place on the cluster's fabric: kinds have its nodes
 *   charge events         is an artefact of simulators that know no places
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
  if (policy->rounds.length_s > 0)
    orr_diags_error(diags, place, "policy.rounds counts GPUs and sees no nodes: it goes without %s",
                    what);
}

/* Kinds whose nodes are the cluster's have places on its fabric. */
static gboolean has_own_nodes(const OrrClusterJobs *jobs, const OrrCluster *cluster) {
  gboolean found = FALSE;
  for (guint k = 0; k < jobs->kinds->len; k++) {
    const gint64 gpus = ((const OrrClusterKind *)jobs->kinds->pdata[k])->gpus;
    found |= gpus > 0 && gpus != cluster->node.gpus;
  }
  return found;
}

static void refuse_preemption(const OrrClusterJobs *jobs, OrrPlace place, OrrDiags *diags) {
  if (has_speed(jobs) && jobs->policy.preemption.charge == ORR_CHARGE_EVENTS)
    orr_diags_error(diags, place,
                    "policy.preemption.charge events restarts all jobs at every event, wherever "
                    "they are: want preempted where speed goes by the place");
}

static void refuse_kinds(const OrrClusterJobs *jobs, const OrrCluster *cluster, OrrPlace place,
                         OrrDiags *diags) {
  if (has_speed(jobs) && has_own_nodes(jobs, cluster))
    orr_diags_error(diags, place,
                    "kinds have nodes of their own, which the cluster's fabric does not know: "
                    "speed by place wants kinds with %" G_GINT64_FORMAT " GPUs per node",
                    cluster->node.gpus);
  if (jobs->kinds->len > 0 && g_str_equal(jobs->policy.placement.entry->name, "nearest"))
    orr_diags_error(diags, place,
                    "policy.placement nearest goes by the cluster's fabric, which does not know "
                    "the nodes of kinds: want fewest-domains, with groups of nodes");
}

void orr_cluster_refuse(const OrrClusterJobs *jobs, const OrrCluster *cluster, OrrPlace place,
                        OrrDiags *diags) {
  if (has_speed(jobs) || orr_cluster_refuse_has_failures(jobs))
    refuse_policy(jobs, has_speed(jobs) ? "speed by place" : "failures", place, diags);
  refuse_preemption(jobs, place, diags);
  refuse_kinds(jobs, cluster, place, diags);
}

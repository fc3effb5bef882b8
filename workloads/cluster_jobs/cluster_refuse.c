/*
 * cluster_refuse.c - what does not go together in a cluster of jobs: what the passes that apply
 * exclude (passes/gang_pass.h), and what other parts of the document do.
 */
#include "workloads/cluster_jobs/cluster_jobs.h"
#include "workloads/cluster_jobs/passes/gang_pass.h"

/* Parts of a document besides passes. */
static const struct {
  guint feature;
  const char *key;
  OrrGangExclude excludes;
} others[] = {
    {ORR_WITH_COUNT,
     "policy.placement count",
     {ORR_WITH_SPEED | ORR_WITH_FAILS,
      "sees no nodes, so a place has no speed and a node no failures: want another placement"}},
    {ORR_WITH_NEAREST,
     "policy.placement nearest",
     {ORR_WITH_KINDS, "goes by the cluster's fabric, which does not know the nodes of kinds: want "
                      "fewest-domains, with groups of nodes"}},
    {ORR_WITH_REPLACED,
     "failures.on-failure replace-node",
     {ORR_WITH_ANY, "takes any free node, and policy.placement has shapes (cubes, blocks): want "
                    "requeue"}},
    {ORR_WITH_SHRUNK,
     "failures.on-failure shrink",
     {ORR_WITH_ANY, "leaves a slice that is not one of whole cubes: want requeue"}},
    {ORR_WITH_CHARGE_EVENTS,
     "policy.preemption.charge events",
     {ORR_WITH_SPEED,
      "restarts all jobs at every event, wherever they are: want preempted where speed goes by "
      "the place"}},
    {ORR_WITH_CONSOLIDATE,
     "policy.preemption.consolidate",
     {ORR_WITH_MANY_KINDS, "goes with one kind of GPU"}},
    {ORR_WITH_OWN_NODES,
     "kinds",
     {ORR_WITH_SPEED,
      "have nodes of their own, which the cluster's fabric does not know: speed by place wants "
      "nodes with as many GPUs as the cluster's"}},
};

gboolean orr_cluster_refuse_has_failures(const OrrClusterJobs *jobs) {
  return jobs->failures.set.processes && jobs->failures.set.processes->len > 0;
}

static gboolean has_speed(const OrrClusterJobs *jobs) {
  return !((const OrrGangSpeedKind *)(gconstpointer)jobs->speed.entry)->is_given;
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

/* What becomes of a gang that loses a node, where its placement does not allow it. */
static guint after_failure(const OrrClusterJobs *jobs) {
  const OrrGangPlacement *placement =
      (const OrrGangPlacement *)(gconstpointer)jobs->policy.placement.entry;
  if (!placement || !orr_cluster_refuse_has_failures(jobs)) return 0;
  return (jobs->failures.on_failure == ORR_GANG_FAIL_REPLACE && placement->no_replacement
              ? ORR_WITH_REPLACED
              : 0u) |
         (jobs->failures.on_failure == ORR_GANG_FAIL_SHRINK && placement->no_shrinking
              ? ORR_WITH_SHRUNK
              : 0u);
}

guint orr_cluster_refuse_features(const OrrClusterJobs *jobs, const OrrCluster *cluster) {
  return (has_speed(jobs) ? ORR_WITH_SPEED : 0u) |
         (orr_cluster_refuse_has_failures(jobs) ? ORR_WITH_FAILS : 0u) | after_failure(jobs) |
         (jobs->kinds->len > 0 ? ORR_WITH_KINDS : 0u) |
         (jobs->kinds->len > 1 ? ORR_WITH_MANY_KINDS : 0u) |
         (has_own_nodes(jobs, cluster) ? ORR_WITH_OWN_NODES : 0u) |
         (jobs->node_cpus > 0 || jobs->node_memory_bytes > 0 ? ORR_WITH_RESOURCES : 0u);
}

static void refuse_pass(const OrrGangPass *pass, const OrrClusterPolicy *policy, guint features,
                        OrrPlace place, OrrDiags *diags) {
  if (!(pass->applies & features) || !pass->excludes) return;
  for (const OrrGangExclude *exclude = pass->excludes; exclude->why; exclude++)
    if (exclude->with & features)
      orr_diags_error(diags, place, "%s%s%s %s", pass->key, pass->names_order ? " " : "",
                      pass->names_order ? policy->order.entry->name : "", exclude->why);
}

void orr_cluster_refuse(const OrrClusterPolicy *policy, guint more, OrrPlace place,
                        OrrDiags *diags) {
  const OrrGangRules rules = orr_cluster_policy_rules(policy);
  const guint features = orr_gang_pass_features(&rules) | more;
  for (guint i = 0; orr_gang_passes[i]; i++)
    refuse_pass(orr_gang_passes[i], policy, features, place, diags);
  for (guint i = 0; i < G_N_ELEMENTS(others); i++)
    if ((others[i].feature & features) && (others[i].excludes.with & features))
      orr_diags_error(diags, place, "%s %s", others[i].key, others[i].excludes.why);
}

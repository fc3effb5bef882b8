/*
 * summary_cluster.h - the summary of a cluster of jobs.
 */
#ifndef ORR_SUMMARY_CLUSTER_H
#define ORR_SUMMARY_CLUSTER_H

#include "sim/run/simulate.h"

G_BEGIN_DECLS

/* Appends the machine, the policy, completion times, waits, waits by size of gang, and where the
 * GPUs' time went. */
void orr_summary_cluster(GString *out, const OrrScenario *scenario, const OrrOutcome *outcome);

G_END_DECLS

#endif

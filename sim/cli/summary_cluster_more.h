/*
 * summary_cluster_more.h - the lines of a cluster of jobs that depend on what it was asked: places,
 * failures, watts and money, fairness, a job that was asked about.
 */
#ifndef ORR_SUMMARY_CLUSTER_MORE_H
#define ORR_SUMMARY_CLUSTER_MORE_H

#include "sim/run/answer/outcome.h"
#include "sim/run/scenario.h"

G_BEGIN_DECLS

void orr_summary_cluster_more(GString *out, const OrrScenario *scenario, const OrrClusterResult *r);

G_END_DECLS

#endif

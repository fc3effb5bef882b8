/*
 * group_costs.h - the cost models of a fleet's groups of replicas: each with its device and layout.
 */
#ifndef ORR_GROUP_COSTS_H
#define ORR_GROUP_COSTS_H

#include "workloads/serving/cost/drafter.h"
#include "workloads/serving/replica/serving_run.h"

G_BEGIN_DECLS

/* Makes @run's worlds, costs and drafters. FALSE with @error; free them all the same. */
gboolean orr_group_costs_open(OrrServingRun *run, GError **error);
/* Writes how costs are known, and their parts, to the run's work. */
void orr_group_costs_close(const OrrServingRun *run);
void orr_group_costs_free(OrrServingRun *run);

G_END_DECLS

#endif

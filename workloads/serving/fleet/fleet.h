/*
 * fleet.h - the load meets the replicas: a run of a serving workload from its beginning to its end.
 */
#pragma once

#include "workloads/serving/serving_work.h"

/* OrrWorkloadKind's. */
gboolean orr_fleet_begin(OrrWork *work, const OrrLivePlace *place, GError **error);
gboolean orr_fleet_finish(OrrWork *work, GError **error);
void orr_fleet_times(const OrrWork *work, double *ret_end_s, double *ret_answer_s);
void orr_fleet_free(OrrFleet *fleet); /* NULL is fine */

/* serving_check.c: checks of a serving scenario that span fields, and serving_compile.c: its
 * compilation. */

/* OrrWorkloadKind's. */
void orr_serving_check(const void *params, const OrrModel *model, const OrrCluster *cluster,
                       OrrPlace place, OrrDiags *diags);
const char *orr_serving_check_return(const void *params, const OrrCluster *cluster);
OrrWork *orr_serving_compile(const void *params, const OrrWorld *world, GError **error);
void orr_serving_compile_free(OrrWork *work);

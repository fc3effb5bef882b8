/*
 * task_check.h - checks a document of tasks: names, loops, and options of serving that tasks
 * exclude.
 */
#ifndef ORR_TASK_CHECK_H
#define ORR_TASK_CHECK_H

#include "workloads/serving/serving.h"

G_BEGIN_DECLS

/* @place: of the workload. Findings of a step are at the step. */
void orr_task_check(const OrrServing *params, const OrrCluster *cluster, OrrPlace place,
                    OrrDiags *diags);

G_END_DECLS

#endif

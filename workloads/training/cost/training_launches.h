/*
 * training_launches.h - what the host does for a run of kernels: how many operators it dispatches,
 * and how long that takes.
 */
#ifndef ORR_TRAINING_LAUNCHES_H
#define ORR_TRAINING_LAUNCHES_H

#include "workloads/training/job/training_job.h"

G_BEGIN_DECLS

typedef struct {
  guint kernels;        /* operators that the framework dispatches, collectives included */
  guint expert_kernels; /* the part of @kernels for routed experts */
  guint launched;       /* further kernels, which a dispatched operator launches itself */
} OrrLaunchCounts;

void orr_launch_counts_add(OrrLaunchCounts *counts, const OrrJob *job, const OrrOperator *op);
/* Host time for all of them, as workload.launches has it. */
double orr_launch_counts_host_s(const OrrLaunchCounts *counts, const OrrJob *job);

G_END_DECLS

#endif

/*
 * training_memory.h - bytes that a GPU of each stage holds: at its peak, and moment by moment.
 */
#ifndef ORR_TRAINING_MEMORY_H
#define ORR_TRAINING_MEMORY_H

#include "workloads/training/job/training_job.h"
#include "workloads/training/training_work.h"

G_BEGIN_DECLS

/* Where the rows of all stages are appended. */
typedef struct {
  GArray *stages;      /* of OrrStageMemory */
  GArray *moments;     /* of OrrMemoryMoment, or NULL */
  GArray *activations; /* of OrrActivationRow, or NULL */
} OrrMemoryRows;

void orr_training_memory(const OrrJob *job, const OrrMemoryRows *rows);

/* The most that the job holds in the memory of one node; @stages: OrrStageMemory of each stage. */
double orr_training_memory_host_peak(const OrrJob *job, const GArray *stages);

/* OrrWorkloadKind.footprint; FALSE: compilation reports why. */
gboolean orr_training_memory_footprint(const void *params, const OrrWorld *world,
                                       OrrFootprint *ret_footprint);

G_END_DECLS

#endif

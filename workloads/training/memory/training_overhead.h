/*
 * training_overhead.h - memory that holds no part of the model: what libraries take for themselves.
 */
#ifndef ORR_TRAINING_OVERHEAD_H
#define ORR_TRAINING_OVERHEAD_H

#include "workloads/training/job/training_job.h"
#include "workloads/training/training_work.h"

G_BEGIN_DECLS

extern const OrrFieldTable orr_training_overhead_table;

/* Fills in context, workspace, communicators and flat copies. @optimized: parameters that this GPU
 * updates; @gradients: bytes of gradients that it holds. */
void orr_training_overhead_fill(const OrrJob *job, double optimized, double gradients,
                                OrrStageMemory *memory);
/* Bytes of gaps between tensors of @bytes. */
double orr_training_overhead_gaps(const OrrTraining *params, double bytes);

G_END_DECLS

#endif

/*
 * training_overlap.h - tensor-parallel collectives and products split into slices together
 * (parallel.tp-comm-overlap).
 */
#ifndef ORR_TRAINING_OVERLAP_H
#define ORR_TRAINING_OVERLAP_H

#include "workloads/training/job/training_job.h"

G_BEGIN_DECLS

/* Replaces those @operators (OrrOperator) of a layer that the job's overlap splits by their
 * slices. */
void orr_training_overlap(const OrrJob *job, gboolean is_replayed, GArray *operators);

G_END_DECLS

#endif

/*
 * training_activations.h - a stage's activations by operator, at its peak.
 */
#ifndef ORR_TRAINING_ACTIVATIONS_H
#define ORR_TRAINING_ACTIVATIONS_H

#include "workloads/training/job/training_job.h"
#include "workloads/training/training_work.h"

G_BEGIN_DECLS

/* Appends the rows (OrrActivationRow) of @stage, which holds most during its @peak-th pass. */
void orr_training_activations(const OrrJob *job, gint64 stage, guint peak, GArray *rows);

G_END_DECLS

#endif

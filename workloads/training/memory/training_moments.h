/*
 * training_moments.h - a stage's activations and passing gradients, pass by pass of its schedule.
 */
#ifndef ORR_TRAINING_MOMENTS_H
#define ORR_TRAINING_MOMENTS_H

#include "workloads/training/job/training_job.h"
#include "workloads/training/training_work.h"

G_BEGIN_DECLS

/* Appends the stage's moments (OrrMemoryMoment) in the schedule's order, the update last. */
void orr_training_moments_append(const OrrJob *job, gint64 stage, GArray *moments);

/* The most that the stage's passes keep in the hosts' memory at once. */
double orr_training_moments_host_bytes(const OrrJob *job, gint64 stage);

/* Whether whole gradients of a chunk exist only from its first backward to its last (FSDP). */
gboolean orr_training_moments_have_gradients(const OrrJob *job);

G_END_DECLS

#endif

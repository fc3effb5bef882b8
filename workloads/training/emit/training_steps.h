/*
 * training_steps.h - which steps of a job are replayed.
 */
#ifndef ORR_TRAINING_STEPS_H
#define ORR_TRAINING_STEPS_H

#include "workloads/training/job/training_job.h"

G_BEGIN_DECLS

/* How many of the job's steps repeat the second one, and need no operations of their own. 0: all
 * are emitted. */
gint64 orr_training_steps_left_out(const OrrJob *job);

G_END_DECLS

#endif

/*
 * training_state.h - the weights, gradients and optimizer state that a rank holds all the time.
 */
#ifndef ORR_TRAINING_STATE_H
#define ORR_TRAINING_STATE_H

#include "workloads/training/job/training_job.h"

G_BEGIN_DECLS

/* Bytes of the rank's own part of @weights. */
double orr_training_state_weights(const OrrJob *job, OrrWeights weights);
/* Bytes of weights, and of gradients of a layer, that are whole for a while on a rank of @stage. */
double orr_training_state_gathered(const OrrJob *job, gint64 stage);
/* Parameters of @weights whose gradients the rank holds; @in_host: parameters that its host
 * updates. */
double orr_training_state_reduced(const OrrJob *job, OrrWeights weights, double in_host);
/* Bytes of master weights and moments. */
double orr_training_state_optimizer(const OrrJob *job, double parameters);

G_END_DECLS

#endif

/*
 * training_host.h - how long CPU cores work for a rank of a training job.
 */
#ifndef ORR_TRAINING_HOST_H
#define ORR_TRAINING_HOST_H

#include "workloads/training/cost/training_costs.h"

G_BEGIN_DECLS

/* Seconds of one core per step, mean over ranks: launching its kernels, preparing its data. */
double orr_training_host_s(const OrrTrainingCosts *costs, const OrrJob *job);

G_END_DECLS

#endif

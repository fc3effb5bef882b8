/*
 * training_power.h - what a GPU of a training job draws in each kind of time.
 */
#ifndef ORR_TRAINING_POWER_H
#define ORR_TRAINING_POWER_H

#include "workloads/training/cost/training_costs.h"

G_BEGIN_DECLS

/* From the job's operators (OrrTrainingCosts.operators), by how often a step runs them. */
OrrWorkPower orr_training_power(const OrrTrainingCosts *costs, const OrrJob *job);

G_END_DECLS

#endif

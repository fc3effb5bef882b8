/*
 * training_size.h - how much there will be to replay, before anything is emitted.
 */
#ifndef ORR_TRAINING_SIZE_H
#define ORR_TRAINING_SIZE_H

#include "workloads/training/comm/training_plan.h"
#include "workloads/training/cost/training_costs.h"

G_BEGIN_DECLS

/* Estimates; rather too much. */
typedef struct {
  double ops;    /* operations of all streams; a call of a routine is one */
  double called; /* operations of routines, which are stored once */
  double comms, events;
  double spans; /* operations that take time, routines' counted at each call */
  double bytes; /* memory that the whole process takes at its peak */
} OrrTrainingSize;

/* @job has the micro-batches and steps that are emitted. */
OrrTrainingSize orr_training_size(const OrrJob *job, const OrrTrainingCosts *costs,
                                  const OrrTrainingPlan *plan);

G_END_DECLS

#endif

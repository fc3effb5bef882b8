/*
 * training_operator_cost.h - what one operator costs in training.
 */
#ifndef ORR_TRAINING_OPERATOR_COST_H
#define ORR_TRAINING_OPERATOR_COST_H

#include "workloads/training/job/training_job.h"

G_BEGIN_DECLS

/* At the clock that the job's power draw permits; routed experts by the faster kind of kernel. */
OrrCost orr_training_operator_cost(const OrrJob *job, const OrrOperator *op);

G_END_DECLS

#endif

/*
 * training_limit.h - how much of a job is replayed, and whether that is too much.
 */
#ifndef ORR_TRAINING_LIMIT_H
#define ORR_TRAINING_LIMIT_H

#include "workloads/training/comm/training_plan.h"
#include "workloads/training/cost/training_costs.h"

G_BEGIN_DECLS

/* How many micro-batches of a step are replayed: all, or fewer where the step's middle repeats. */
gint64 orr_training_limit_micro_batches(const OrrJob *job);
/* FALSE where the job is too large to replay, with settings that would make it small enough. */
gboolean orr_training_limit_check(const OrrJob *job, const OrrTrainingCosts *costs,
                                  const OrrTrainingPlan *plan, GError **error);

G_END_DECLS

#endif

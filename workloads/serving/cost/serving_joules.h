/*
 * serving_joules.h - the energy of what an engine's step runs, on top of static power.
 */
#pragma once

#include "workloads/serving/cost/serving_cost.h"
#include "workloads/serving/serving.h"

/* Of one rank, for @op, which takes @time_s. */
OrrJoules orr_serving_joules_operator(const OrrServingCostParams *params, const OrrOperator *op,
                                      double time_s);

/* The attention core of one layer. */
typedef struct {
  double pairs;  /* of a query and a key that it sees */
  double keys;   /* read, with their values: each chunk and each decode reads its own once */
  double tokens; /* of queries */
} OrrServingCoreWork;

/* Of one rank, for a core over @heads that takes @time_s. */
OrrJoules orr_serving_joules_core(const OrrServingCostParams *params,
                                  const OrrInferenceHeads *heads, OrrServingCoreWork work,
                                  double time_s);

/* Adds @sampling_s of sorting logits to a step, longer where the power limit lowers the clock. */
void orr_serving_joules_sample(const OrrCostModel *model, double sampling_s, OrrStepTime *time);

/* Lengthens a step under a cap that lower clocks do not reach. */
void orr_serving_joules_stretch(const OrrServingCostParams *params, OrrStepTime *time);

/*
 * serving_joules.h - the energy of what an engine's step runs, on top of static power.
 */
#ifndef ORR_SERVING_JOULES_H
#define ORR_SERVING_JOULES_H

#include "workloads/serving/cost/serving_cost.h"
#include "workloads/serving/serving.h"

G_BEGIN_DECLS

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

/* What the GPUs take to sample @n tokens, where the stack says that they do it (host.sampling):
 * joules of one rank, and seconds beyond those that the host's time has, which are at full
 * clock. */
OrrJoules orr_serving_joules_sampling(const OrrServingHost *host, const OrrCostModel *model,
                                      guint n);
double orr_serving_joules_sampling_more_s(const OrrServingHost *host, const OrrCostModel *model,
                                          guint n);

/* Lengthens a step under a cap that lower clocks do not reach. */
void orr_serving_joules_stretch(const OrrServingCostParams *params, OrrStepTime *time);

G_END_DECLS

#endif

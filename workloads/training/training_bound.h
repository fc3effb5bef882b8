/*
 * training_bound.h - a lower bound of a step's time, before anything is compiled.
 *
 * A sweep that looks for its best points needs no simulation of a point whose bound is already
 * worse than what it has found (sim/sweep/sweep_prune.h). So the bound must hold for every replay
 * of the job: it counts only what no schedule, route or overlap can avoid.
 */
#ifndef ORR_TRAINING_BOUND_H
#define ORR_TRAINING_BOUND_H

#include "workloads/training/cost/training_costs.h"

G_BEGIN_DECLS

/* Seconds that a step of @job takes at least; 0: no bound is known. Adds the optimizer's operators
 * to @costs, as compilation does. */
double orr_training_bound_s(const OrrJob *job, OrrTrainingCosts *costs);

G_END_DECLS

#endif

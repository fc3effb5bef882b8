/*
 * serving_energy.h - the energy of a finished serving run's GPUs.
 */
#ifndef ORR_SERVING_ENERGY_H
#define ORR_SERVING_ENERGY_H

#include "sim/run/answer/outcome.h"
#include "workloads/serving/serving.h"

G_BEGIN_DECLS

/* Fills the columns of energy and power, and the rows of `power`; after the rates. NAN, and no
 * rows, where a group's device has no power model. */
void orr_serving_energy(const OrrServingWork *work, OrrOutcome *outcome);

G_END_DECLS

#endif

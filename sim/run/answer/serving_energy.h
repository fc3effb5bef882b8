/*
 * serving_energy.h - the energy of a finished serving run's GPUs.
 */
#ifndef ORR_SERVING_ENERGY_H
#define ORR_SERVING_ENERGY_H

#include "sim/run/answer/rows.h"
#include "workloads/serving/serving.h"

G_BEGIN_DECLS

/* Fills the columns of energy and power; after the rates. NAN where a group's device has no power
 * model. */
void orr_serving_energy(const OrrServingWork *work, OrrServingResult *result);

G_END_DECLS

#endif

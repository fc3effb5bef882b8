/*
 * training_energy.h - the energy of a replayed job's GPUs, and their power over time.
 */
#ifndef ORR_TRAINING_ENERGY_H
#define ORR_TRAINING_ENERGY_H

#include "sim/run/answer/replayed.h"

G_BEGIN_DECLS

enum { ORR_POWER_BINS = 1000 };

/* Adds rows of `power` to @outcome. Adds nothing without spans or without a power model. */
void orr_training_energy_add_power(const OrrReplayed *replayed, OrrOutcome *outcome);

/* Fills the columns of energy and power; after the rates and the rows of `power`. */
void orr_training_energy(const OrrReplayed *replayed, OrrOutcome *outcome);

G_END_DECLS

#endif

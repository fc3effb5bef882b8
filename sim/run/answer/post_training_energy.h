/*
 * post_training_energy.h - joules of post-training by pool, phase and role, power over time, and
 * what a step costs.
 */
#ifndef ORR_POST_TRAINING_ENERGY_H
#define ORR_POST_TRAINING_ENERGY_H

#include "sim/run/answer/replayed.h"

G_BEGIN_DECLS

/* Fills the energies and costs of @outcome's result, whose speeds are complete. @responses_per_s:
 * tokens of responses that were trained on. */
void orr_post_training_energy(const OrrReplayed *replayed, double responses_per_s,
                              OrrOutcome *outcome);

G_END_DECLS

#endif

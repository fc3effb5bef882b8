/*
 * training_noise.h - stragglers: how much later than expected the slowest GPU of a lane is.
 */
#pragma once

#include "workloads/training/comm/training_fold.h"

extern const OrrFieldTable orr_training_noise_table;
gboolean orr_training_noise_is_on(const OrrNoise *noise);

/* Random draws for every GPU of every lane. NULL is fine in all calls: no noise. */
typedef struct OrrNoiseDraws OrrNoiseDraws;
OrrNoiseDraws *orr_noise_draws_new(const OrrJob *job, const OrrFold *fold); /* NULL: no noise */
void orr_noise_draws_free(OrrNoiseDraws *draws);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(OrrNoiseDraws, orr_noise_draws_free)

/* Each GPU of the lane runs kernels of @work_s in total, whose squares sum to @squares. */
void orr_noise_draws_work(OrrNoiseDraws *draws, guint lane, double work_s, double squares);
/* The lane's GPUs meet: returns how much later than expected the last one arrives, since they met
 * before. */
double orr_noise_draws_meet(OrrNoiseDraws *draws, guint lane);

/*
 * random.h - named streams of random numbers.
 *
 * The run's seed and the stream's name determine a stream, so a new consumer of randomness does not
 * disturb the others, and the same scenario gives the same rows. xoshiro256** (Blackman, Vigna
 * 2018) seeded by SplitMix64 over an FNV-1a hash of the name.
 */
#pragma once

#include "sim/base/ground.h"

typedef struct {
  guint64 state[4];
} OrrRandom;

OrrRandom orr_random_stream(guint64 seed, const char *name);
guint64 orr_random_u64(OrrRandom *random);
guint64 orr_random_below(OrrRandom *random, guint64 n); /* uniform in [0, n), n > 0, without bias */
double orr_random_unit(OrrRandom *random);              /* uniform in [0, 1) */
double orr_random_normal(OrrRandom *random);            /* mean 0, standard deviation 1 */

/* A hash of three numbers, uniform in 64 bits: the ECMP choice of a flow without a stream. */
guint64 orr_random_hash3(guint64 a, guint64 b, guint64 c);

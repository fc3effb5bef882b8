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

/* latin.c: Latin hypercube designs (McKay, Beckman, Conover 1979): points that spread over every
 * axis, whatever the other axes do. */

/* Deals @n points: values[r * n_axes + a], from 0 to n_values[a] - 1, is the value of axis a at
 * point r. Each value of an axis occurs n / n_values[a] times, give or take one; so where an axis
 * has @n values, each occurs once. */
void orr_latin_deal(const guint *n_values, guint n_axes, guint n, guint *values, OrrRandom *random);

/* mersenne.c: the random numbers of Python's module `random`, for simulators whose published
 * results were drawn from them: the same seed gives the same numbers.
 *
 * MT19937 (Matsumoto, Nishimura, "Mersenne Twister", ACM TOMACS 1998), seeded by its array of
 * 32-bit words. Everything else in Orrery draws from named streams (random.h). */

enum { ORR_MERSENNE_WORDS = 624 };

typedef struct {
  guint32 words[ORR_MERSENNE_WORDS];
  guint at; /* of the next word; ORR_MERSENNE_WORDS: all have been drawn */
} OrrMersenne;

void orr_mersenne_init(OrrMersenne *random, guint64 seed); /* random.seed(seed) */
guint32 orr_mersenne_u32(OrrMersenne *random);
double orr_mersenne_unit(OrrMersenne *random);              /* random.random(), in [0, 1) */
guint32 orr_mersenne_below(OrrMersenne *random, guint32 n); /* random.randrange(n), n > 0 */

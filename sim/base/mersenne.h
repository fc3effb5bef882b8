/*
 * mersenne.h - the random numbers of Python's module `random`, for simulators whose published
 * results were drawn from them: the same seed gives the same numbers.
 *
 * MT19937 (Matsumoto, Nishimura, "Mersenne Twister", ACM TOMACS 1998), seeded by its array of
 * 32-bit words. Everything else in Orrery draws from named streams (random.h).
 */
#pragma once

#include "sim/base/ground.h"

enum { ORR_MERSENNE_WORDS = 624 };

typedef struct {
  guint32 words[ORR_MERSENNE_WORDS];
  guint at; /* of the next word; ORR_MERSENNE_WORDS: all have been drawn */
} OrrMersenne;

void orr_mersenne_init(OrrMersenne *random, guint64 seed); /* random.seed(seed) */
guint32 orr_mersenne_u32(OrrMersenne *random);
double orr_mersenne_unit(OrrMersenne *random);              /* random.random(), in [0, 1) */
guint32 orr_mersenne_below(OrrMersenne *random, guint32 n); /* random.randrange(n), n > 0 */

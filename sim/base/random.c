/*
 * random.c - xoshiro256** (D. Blackman, S. Vigna, "Scrambled linear pseudorandom number
 * generators", ACM TOMS 2021), seeded by SplitMix64 (Steele, Lea, Flood, OOPSLA 2014; constants of
 * Vigna's public-domain form) from the seed and the 64-bit FNV-1a hash of the stream's name
 * (Fowler, Noll, Vo).
 *
 * Invariants
 *  1. A stream depends on (seed, name) alone; drawing from one never moves another.
 *  2. The number of 64-bit words that a call consumes depends on this stream alone; no other state
 *     exists.
 */
#include "sim/base/random.h"

static guint64 rotate_left(guint64 x, int k) { return (x << k) | (x >> (64 - k)); }

/* SplitMix64's output function: a bijection in which every input bit moves half of the output's. */
static guint64 mix(guint64 z) {
  z = (z ^ (z >> 30)) * G_GUINT64_CONSTANT(0xBF58476D1CE4E5B9);
  z = (z ^ (z >> 27)) * G_GUINT64_CONSTANT(0x94D049BB133111EB);
  return z ^ (z >> 31);
}

static guint64 splitmix64(guint64 *state) {
  return mix(*state += G_GUINT64_CONSTANT(0x9E3779B97F4A7C15));
}

static guint64 fnv1a(const char *text) {
  guint64 hash = G_GUINT64_CONSTANT(0xCBF29CE484222325);
  for (const guchar *at = (const guchar *)text; *at; at++)
    hash = (hash ^ *at) * G_GUINT64_CONSTANT(0x100000001B3);
  return hash;
}

OrrRandom orr_random_stream(guint64 seed, const char *name) {
  /* The seed is mixed first, so that neighbouring seeds and similar names do not cancel in the
   * xor. */
  guint64 state = splitmix64(&seed) ^ fnv1a(name);
  OrrRandom random;
  for (int i = 0; i < 4; i++)
    random.state[i] = splitmix64(&state); /* four different values of a bijection: never all zero */
  return random;
}

guint64 orr_random_u64(OrrRandom *random) {
  guint64 *s = random->state;
  guint64 result = rotate_left(s[1] * 5, 7) * 9;
  guint64 shifted = s[1] << 17;
  s[2] ^= s[0];
  s[3] ^= s[1];
  s[1] ^= s[2];
  s[0] ^= s[3];
  s[2] ^= shifted;
  s[3] = rotate_left(s[3], 45);
  return result;
}

guint64 orr_random_below(OrrRandom *random, guint64 n) {
  g_return_val_if_fail(n > 0, 0);
  /* The lowest 2^64 mod n values would make some remainders likelier, so they are drawn again. */
  guint64 n_refused = (0 - n) % n;
  guint64 drawn = orr_random_u64(random);
  while (drawn < n_refused) drawn = orr_random_u64(random);
  return drawn % n;
}

double orr_random_unit(OrrRandom *random) {
  return (double)(orr_random_u64(random) >> 11) * 0x1p-53;
}

/* Box and Muller 1958. The second number of the pair is dropped: storing it would add state to the
 * stream. */
double orr_random_normal(OrrRandom *random) {
  double radius = sqrt(-2 * log1p(-orr_random_unit(random)));
  return radius * cos(2 * G_PI * orr_random_unit(random));
}

guint64 orr_random_hash3(guint64 a, guint64 b, guint64 c) {
  const guint64 step =
      G_GUINT64_CONSTANT(0x9E3779B97F4A7C15); /* so that (0, 0, 0) is not mapped to 0 */
  return mix(mix(mix(a + step) + b + step) + c + step);
}

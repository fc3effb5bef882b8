/*
 * mersenne.c - MT19937: 624 words, each new one made of two neighbours and the one 397 places on.
 *
 *   y      = top bit of w[i], low 31 bits of w[i + 1]
 *   w[i]   = w[i + 397] xor (y >> 1) xor (y odd ? 0x9908b0df : 0)
 *   output = w[i], tempered by four shifts
 */
#include "sim/base/random.h"

enum { MIDDLE = 397 };

/* The generator's own seeding by one number. */
static void init_by_number(OrrMersenne *random, guint32 seed) {
  random->words[0] = seed;
  for (guint i = 1; i < ORR_MERSENNE_WORDS; i++) {
    const guint32 last = random->words[i - 1];
    random->words[i] = 1812433253U * (last ^ (last >> 30)) + i;
  }
  random->at = ORR_MERSENNE_WORDS;
}

/* After the last word comes the second; the first takes a copy of the last. */
static guint step(OrrMersenne *random, guint i) {
  if (++i < ORR_MERSENNE_WORDS) return i;
  random->words[0] = random->words[ORR_MERSENNE_WORDS - 1];
  return 1;
}

/* Python passes the seed as an array of its 32-bit words, the lowest first; 0 is one word. */
void orr_mersenne_init(OrrMersenne *random, guint64 seed) {
  const guint32 key[] = {(guint32)seed, (guint32)(seed >> 32)};
  const guint n_key = key[1] != 0 ? 2 : 1;
  guint i = 1;
  init_by_number(random, 19650218U);
  for (guint n = 0, j = 0; n < ORR_MERSENNE_WORDS; n++, j = (j + 1) % n_key) {
    const guint32 last = random->words[i - 1];
    random->words[i] = (random->words[i] ^ ((last ^ (last >> 30)) * 1664525U)) + key[j] + j;
    i = step(random, i);
  }
  for (guint n = 1; n < ORR_MERSENNE_WORDS; n++) {
    const guint32 last = random->words[i - 1];
    random->words[i] = (random->words[i] ^ ((last ^ (last >> 30)) * 1566083941U)) - i;
    i = step(random, i);
  }
  random->words[0] = 0x80000000U;
}

static void renew(OrrMersenne *random) {
  guint32 *w = random->words;
  for (guint i = 0; i < ORR_MERSENNE_WORDS; i++) {
    const guint32 next = w[(i + 1) % ORR_MERSENNE_WORDS];
    const guint32 y = (w[i] & 0x80000000U) | (next & 0x7fffffffU);
    w[i] = w[(i + MIDDLE) % ORR_MERSENNE_WORDS] ^ (y >> 1) ^ ((y & 1U) != 0 ? 0x9908b0dfU : 0);
  }
  random->at = 0;
}

guint32 orr_mersenne_u32(OrrMersenne *random) {
  if (random->at == ORR_MERSENNE_WORDS) renew(random);
  guint32 y = random->words[random->at++];
  y ^= y >> 11;
  y ^= (y << 7) & 0x9d2c5680U;
  y ^= (y << 15) & 0xefc60000U;
  return y ^ (y >> 18);
}

/* 53 bits of two words. */
double orr_mersenne_unit(OrrMersenne *random) {
  const guint32 high = orr_mersenne_u32(random) >> 5, low = orr_mersenne_u32(random) >> 6;
  return ((double)high * 67108864.0 + (double)low) / 9007199254740992.0;
}

/* As many bits as @n has, drawn again until they are below it. */
guint32 orr_mersenne_below(OrrMersenne *random, guint32 n) {
  g_return_val_if_fail(n > 0, 0);
  const guint bits = g_bit_storage(n);
  guint32 drawn;
  do {
    drawn = orr_mersenne_u32(random) >> (32 - bits);
  } while (drawn >= n);
  return drawn;
}

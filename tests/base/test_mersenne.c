/* test_mersenne.c - the generator's known answers, and Python's module random's. */
#include "sim/base/random.h"

/* ISO C++ (26.6.6, predefined generators): the 10,000th number of a default mt19937, which is
 * seeded by the number 5489, is 4123659995. Its seeding is the first loop of orr_mersenne_init. */
static void test_standard(void) {
  OrrMersenne random = {.words = {5489}, .at = ORR_MERSENNE_WORDS};
  for (guint i = 1; i < ORR_MERSENNE_WORDS; i++) {
    const guint32 last = random.words[i - 1];
    random.words[i] = 1812433253U * (last ^ (last >> 30)) + i;
  }
  g_assert_cmpuint(orr_mersenne_u32(&random), ==, 3499211612U);
  for (guint i = 0; i < 9998; i++) orr_mersenne_u32(&random);
  g_assert_cmpuint(orr_mersenne_u32(&random), ==, 4123659995U);
}

/* What Python 3 prints for random.seed(S), random.random() twice, then randrange(3) eight times. */
static void test_python(void) {
  static const struct {
    guint64 seed;
    double units[2];
    guint32 below[8];
  } cases[] = {
      {0, {0.8444218515250481, 0.7579544029403025}, {1, 0, 1, 2, 1, 1, 1, 1}},
      {2, {0.9560342718892494, 0.9478274870593494}, {0, 0, 0, 1, 0, 2, 2, 1}},
      {G_GUINT64_CONSTANT(1099511627776),
       {0.1036394562812375, 0.6705558677439764},
       {1, 0, 1, 1, 2, 2, 0, 2}},
  };
  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    OrrMersenne random;
    orr_mersenne_init(&random, cases[i].seed);
    for (guint j = 0; j < 2; j++)
      g_assert_cmpfloat(orr_mersenne_unit(&random), ==, cases[i].units[j]);
    for (guint j = 0; j < 8; j++)
      g_assert_cmpuint(orr_mersenne_below(&random, 3), ==, cases[i].below[j]);
  }
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/mersenne/standard", test_standard);
  g_test_add_func("/mersenne/python", test_python);
  return g_test_run();
}

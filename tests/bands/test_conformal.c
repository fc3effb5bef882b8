/*
 * test_conformal.c - bounds of weighted conformal prediction, against numbers derived by hand.
 */
#include <math.h>

#include "sim/bands/conformal.h"
#include "sim/base/random.h"

/* The values 1 to n in a shuffled order: i -> (7 i mod p), p prime above n. */
static void fill(OrrConformalRow *rows, guint n, double weight) {
  const guint prime = 101;
  guint at = 0;
  g_assert_cmpuint(n, <, prime);
  for (guint i = 1; i < prime; i++) {
    const guint value = 7 * i % prime;
    if (value <= n) rows[at++] = (OrrConformalRow){value, weight};
  }
}

static void assert_bounds(OrrConformalRow *rows, guint n, double level, double low, double high) {
  double got_low, got_high;
  orr_conformal_bounds(rows, n, level, &got_low, &got_high);
  g_assert_cmpfloat(got_low, ==, low);
  g_assert_cmpfloat(got_high, ==, high);
}

/* Weights of 1: the bounds are the classical ranks, ceil((n + 1) (1 + level) / 2) from below and
 * from above. */
static void test_uniform(void) {
  OrrConformalRow rows[100];
  static const struct {
    guint n;
    double level;
    guint rank;
  } cases[] = {{9, 0.8, 9},   {10, 0.8, 10}, {18, 0.8, 18}, {19, 0.8, 18},
               {29, 0.8, 27}, {99, 0.8, 90}, {3, 0.5, 3},   {7, 0.5, 6},
               {8, 0.5, 7},   {99, 0.5, 75}, {39, 0.95, 39}};
  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    fill(rows, cases[i].n, 1);
    assert_bounds(rows, cases[i].n, cases[i].level, cases[i].n + 1 - cases[i].rank, cases[i].rank);
  }
}

/* The rank lies beyond the rows: at 0.8 eight rows of weight 1 (0.9 * 9 = 8.1) or of less weight,
 * and no rows at all. */
static void test_too_few(void) {
  OrrConformalRow rows[100];
  fill(rows, 8, 1);
  assert_bounds(rows, 8, 0.8, -INFINITY, INFINITY);
  assert_bounds(rows, 0, 0.5, -INFINITY, INFINITY);
  fill(rows, 80, 0.1); /* 0.9 * (8 + 1) = 8.1 */
  assert_bounds(rows, 80, 0.8, -INFINITY, INFINITY);
}

/* Values 1, 2, 3, 4 of weights 1, 1/2, 1/4, 1: the sum with the new value is 3.75. At level 0.2 0.6
 * of it, 2.25, is reached from below at 4 (1, 1.5, 1.75, 2.75), from above at 1 (1, 1.25, 1.75,
 * 2.75). Values 1 to 5 of weights 1/2, 1, 1, 1, 1/2: the sum is 5; at level 0.3 0.65 of it, 3.25,
 * is reached from below at 4 (0.5, 1.5, 2.5, 3.5), from above at 2. */
static void test_weighted(void) {
  OrrConformalRow rows[] = {{3, 0.25}, {1, 1}, {4, 1}, {2, 0.5}};
  OrrConformalRow symmetric[] = {{5, 0.5}, {1, 0.5}, {4, 1}, {2, 1}, {3, 1}};
  assert_bounds(rows, 4, 0.2, 1, 4);
  assert_bounds(symmetric, 5, 0.3, 2, 4);
}

/* Two rows of one value count as one of both weights: nine of weight 1/2 at -1, nine at 1 and one
 * at 5 are 10.5 with the new value. 0.9 of it is 9.45: from below only the last reaches it (9,
 * 9.5), from above -1. 0.85 of it is 8.925: from below 1 reaches it. */
static void test_equal_values(void) {
  OrrConformalRow heavy[20];
  for (guint i = 0; i < 18; i++) heavy[i] = (OrrConformalRow){i < 9 ? -1 : 1, 0.5};
  heavy[18] = (OrrConformalRow){5, 0.5};
  assert_bounds(heavy, 19, 0.8, -1, 5);
  assert_bounds(heavy, 19, 0.7, -1, 1);
}

/* Adding a constant to all values moves the bounds by it; scaling scales; negation swaps them. */
static void test_laws(void) {
  OrrRandom random = orr_random_stream(1, "laws");
  OrrConformalRow rows[60], changed[60];
  double low, high, other_low, other_high;
  for (guint i = 0; i < 60; i++) {
    rows[i] = (OrrConformalRow){orr_random_normal(&random), 0.2 + 0.8 * orr_random_unit(&random)};
    changed[i] = (OrrConformalRow){-2 * rows[i].value + 3, rows[i].weight};
  }
  orr_conformal_bounds(rows, 60, 0.8, &low, &high);
  orr_conformal_bounds(changed, 60, 0.8, &other_low, &other_high);
  g_assert_cmpfloat_with_epsilon(other_low, -2 * high + 3, 1e-12);
  g_assert_cmpfloat_with_epsilon(other_high, -2 * low + 3, 1e-12);
  orr_conformal_bounds(rows, 60, 0.5, &other_low, &other_high);
  g_assert_true(other_low >= low && other_high <= high);
}

/* Of 20 exchangeable values any one is equally likely to have any rank, so the 20th lies between
 * the 2nd and the 18th of the others with probability 16/20 whatever the distribution; here a
 * skewed one. 4,000 trials: three standard deviations are 0.019. */
static void test_coverage(void) {
  OrrRandom random = orr_random_stream(1, "coverage");
  const guint n_trials = 4000;
  guint n_inside = 0;
  for (guint t = 0; t < n_trials; t++) {
    OrrConformalRow rows[19];
    double low, high;
    for (guint i = 0; i < 19; i++)
      rows[i] = (OrrConformalRow){exp(2 * orr_random_normal(&random)), 1};
    const double next = exp(2 * orr_random_normal(&random));
    orr_conformal_bounds(rows, 19, 0.8, &low, &high);
    n_inside += next >= low && next <= high;
  }
  g_assert_cmpfloat_with_epsilon((double)n_inside / n_trials, 0.8, 0.02);
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/conformal/uniform", test_uniform);
  g_test_add_func("/conformal/too-few", test_too_few);
  g_test_add_func("/conformal/weighted", test_weighted);
  g_test_add_func("/conformal/equal-values", test_equal_values);
  g_test_add_func("/conformal/laws", test_laws);
  g_test_add_func("/conformal/coverage", test_coverage);
  return g_test_run();
}

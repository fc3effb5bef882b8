/*
 * test_answer_real.c - numbers are written as printf writes them, to the byte, whatever they are:
 * random doubles of every size, decimals, their neighbours, powers of two and of ten, ties.
 */
#include <math.h>
#include <string.h>

#include "results/store_private.h"
#include "sim/base/random.h"

/* The definition: the first of three precisions that reads back. */
static char *expected(double value) {
  for (int digits = 15; digits <= 17; digits++) {
    g_autofree char *text = g_strdup_printf("%.*g", digits, value);
    if (digits < 17 && strtod(text, NULL) != value) continue;
    return g_strconcat(text, strpbrk(text, ".e") ? NULL : ".0", NULL);
  }
  return NULL;
}

static void check(double value, guint64 seed) {
  char text[ORR_ANSWER_REAL_SIZE], brief[ORR_ANSWER_REAL_SIZE];
  g_autofree char *wanted = expected(value), *wanted_brief = g_strdup_printf("%.6g", value);
  const gsize n = orr_answer_real(value, text), n_brief = orr_answer_real_short(text, brief);
  if (strcmp(text, wanted) != 0 || strcmp(brief, wanted_brief) != 0)
    g_error("seed %" G_GUINT64_FORMAT ": %a is %s and %s, not %s and %s", seed, value, text, brief,
            wanted, wanted_brief);
  g_assert_cmpuint(n, ==, strlen(text));
  g_assert_cmpuint(n_brief, ==, strlen(brief));
}

/* A number, its opposite, and its neighbours. */
static void check_around(double value, guint64 seed) {
  if (!isfinite(value)) return;
  check(value, seed);
  check(-value, seed);
  if (isfinite(nextafter(value, INFINITY))) check(nextafter(value, INFINITY), seed);
  check(nextafter(value, 0), seed);
}

static void test_edges(void) {
  static const double edges[] = {
      0,    1,      10,   100,   1e5,  999999.5, 9999995, 1e15,  1e16,   1e17,
      1e20, 1e-4,   1e-5, 0.1,   0.3,  5e-324,   1.7e308, 1e22,  123456, 1234565,
      0.5,  0.0625, 2.5,  1e-11, 4.35, 5e-5,     9.5e-5,  0.125, 1e-7,   4503599627370496.5};
  for (guint i = 0; i < G_N_ELEMENTS(edges); i++) check_around(edges[i], 0);
  for (int e = -1074; e < 1024; e++) check_around(ldexp(1, e), 0);
  for (int e = -30; e <= 30; e++) check_around(pow(10, e), 0);
}

/* Ties of six, 15, 16 and 17 digits: halves, quarters... of whole numbers are exact. */
static void test_ties(void) {
  for (guint64 seed = 1; seed <= 4000; seed++) {
    OrrRandom random = orr_random_stream(seed, "ties");
    const double whole = (double)orr_random_below(&random, G_GUINT64_CONSTANT(1) << (seed % 53));
    for (int shift = 1; shift < 20; shift++) check_around(ldexp(whole, -shift), seed);
  }
}

static void test_random(void) {
  for (guint64 seed = 1; seed <= 20000; seed++) {
    OrrRandom random = orr_random_stream(seed, "numbers");
    const guint64 bits = orr_random_u64(&random);
    double any;
    memcpy(&any, &bits, sizeof any);
    check_around(any, seed);
    check_around(orr_random_unit(&random), seed);
    check_around(pow(10, 60 * orr_random_unit(&random) - 30), seed);
    /* a decimal of few digits, as people write it */
    check_around((double)orr_random_below(&random, 100000000) / pow(10, (double)(seed % 12)), seed);
  }
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/answer-real/edges", test_edges);
  g_test_add_func("/answer-real/ties", test_ties);
  g_test_add_func("/answer-real/random", test_random);
  return g_test_run();
}

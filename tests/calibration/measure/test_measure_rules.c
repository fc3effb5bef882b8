/*
 * test_measure_rules.c - the rules of a measurement that need no GPU: sets of operands, calls of a
 * repeat, holding the stream, the window in which power is read.
 */
#include <math.h>

#include "calibration/measure/accumulation.h"
#include "calibration/measure/family.h"
#include "calibration/measure/power_window.h"
#include "calibration/measure/rotation.h"
#include "calibration/measure/timing.h"

/* An H100's cache and memory. */
static const OrrBenchFacts h100 = {.l2_bytes = 50e6, .memory_bytes = 80e9};

static void near(double a, double b, double within) { g_assert_cmpfloat(fabs(a - b), <=, within); }

/* --- Sets --- */

/* 100 MB must lie between two uses of a set. Operands of 30 MB: ceil(100 / 30) + 1 = 5 sets. */
static void test_sets(void) {
  g_assert_cmpuint(orr_rotation_sets(30e6, 30e6, &h100), ==, 5);
  g_assert_cmpuint(orr_rotation_sets(1e9, 1e9, &h100), ==, 2);
  g_assert_cmpuint(orr_rotation_sets(20e9, 20e9, &h100), ==, 1); /* 0.4 * 80 GB hold one */
  g_assert_cmpuint(orr_rotation_sets(0, 0, &h100), ==, ORR_ROTATION_MOST);
}

/* Qwen3-30B-A3B at ep 8: a rank holds 16 experts of 3 * 768 * 2048 * 2 bytes = 9.4 MB, 151 MB in
 * all. One token is routed to one of them. Counting all: ceil(100 / 151) + 1 = 2 sets, 19 MB
 * touched, in the cache for good. Counting the one: ceil(100 / 9.44) + 1 = 12 sets. */
static void test_touched_sets(void) {
  const double expert = 3.0 * 768 * 2048 * 2;
  const guint n = orr_rotation_sets(expert, 16 * expert, &h100);
  g_assert_cmpuint(n, ==, 12);
  g_assert_false(orr_rotation_is_warm(n, expert, &h100));
  g_assert_true(orr_rotation_is_warm(2, expert, &h100));
  /* 600 experts held, one of them touched: 0.4 * 80e9 / (600 * 9.44e6) = 5.65, so 5 sets:
   * they say that they are warm. */
  g_assert_cmpuint(orr_rotation_sets(expert, 600 * expert, &h100), ==, 5);
  g_assert_true(orr_rotation_is_warm(5, expert, &h100));
}

/* A product of m=1 n=256 k=256 in bf16 touches 132 kB: 1024 sets are 135 MB, beyond twice the
 * cache. One of 64 kB is not: 67 MB. */
static void test_small_sets(void) {
  const double bytes = 2.0 * (256 + 256 * 256 + 256);
  const guint n = orr_rotation_sets(bytes, bytes, &h100);
  g_assert_cmpuint(n, ==, 759); /* ceil(1e8 / 132096) + 1 */
  g_assert_false(orr_rotation_is_warm(n, bytes, &h100));
  g_assert_true(orr_rotation_is_warm(orr_rotation_sets(65536, 65536, &h100), 65536, &h100));
}

static void test_calls(void) {
  g_assert_cmpuint(orr_rotation_calls(10, 1), ==, 200);    /* 2 ms */
  g_assert_cmpuint(orr_rotation_calls(10, 760), ==, 760);  /* each set once */
  g_assert_cmpuint(orr_rotation_calls(0.01, 1), ==, 1024); /* a clock that shows nothing */
  g_assert_cmpuint(orr_rotation_calls(5000, 1), ==, 1);
  g_assert_cmpuint(orr_rotation_calls(5000, 12), ==, 2);
}

/* --- Holding --- */

/* 100, 400, 1600, 6400, 25600 us, then 50 ms; then no more, and every repeat counts. */
static void test_hold_grows(void) {
  OrrHold hold = orr_hold_new();
  const double wanted[] = {400, 1600, 6400, 25600, 50000, 0};
  g_assert_true(orr_hold_take(&hold, TRUE));
  g_assert_cmpfloat(hold.us, ==, 100);
  g_assert_cmpstr(orr_hold_method(&hold, TRUE), ==, "graph");
  g_assert_cmpstr(orr_hold_method(&hold, FALSE), ==, "stream");
  for (guint i = 0; i < G_N_ELEMENTS(wanted); i++) {
    g_assert_false(orr_hold_take(&hold, FALSE));
    g_assert_cmpfloat(hold.us, ==, wanted[i]);
  }
  g_assert_true(orr_hold_take(&hold, FALSE));
  g_assert_cmpstr(orr_hold_method(&hold, TRUE), ==, "unheld");
}

static void test_hold_for(void) {
  g_assert_cmpfloat(orr_hold_for(10), ==, 100);
  g_assert_cmpfloat(orr_hold_for(700), ==, 2100);
  g_assert_cmpfloat(orr_hold_for(1e6), ==, 50000);
}

static void test_summary(void) {
  OrrTiming timing = orr_timing_of("graph", 3);
  double odd[] = {5, 1, 3}, even[] = {4, 1, 2, 3};
  orr_timing_summarize(odd, 3, &timing);
  g_assert_cmpfloat(timing.median_us, ==, 3);
  g_assert_cmpfloat(timing.best_us, ==, 1);
  orr_timing_summarize(even, 4, &timing);
  g_assert_cmpfloat(timing.median_us, ==, 2.5);
  g_assert_true(isnan(timing.watts));
  g_assert_cmpstr(timing.setting, ==, "");
  orr_timing_set(&timing, "fast-accumulation");
  orr_timing_set(&timing, "warm-l2");
  g_assert_cmpstr(timing.setting, ==, "fast-accumulation warm-l2");
}

/* --- fp8 --- */

/* Fast forward, full backward, and no choice for other formats: the default of both would be
 * full (cublasLt.h). */
static void test_accumulation(void) {
  static const char *const cases[][3] = {
      {"gemm", "dtype=fp8 layout=forward batch=1 m=1 n=1 k=1", "fast-accumulation"},
      {"gemm", "dtype=fp8 layout=dgrad batch=1 m=1 n=1 k=1", "full-accumulation"},
      {"gemm", "dtype=mxfp8 layout=wgrad batch=1 m=1 n=1 k=1", "full-accumulation"},
      {"gemm", "dtype=nvfp4 layout=forward batch=1 m=1 n=1 k=1", NULL},
      {"gemm", "dtype=bf16 layout=forward batch=1 m=1 n=1 k=1", NULL},
      {"launch", "way=wait kernels=1", NULL},
      {"moe-ffn",
       "dtype=fp8 distribution=balanced hidden-size=1 inter-size=1 topk=1 num-experts=1 ep=1 "
       "num-tokens=1",
       "fast-accumulation"},
  };
  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    OrrShape shape;
    g_assert_true(orr_shape_parse(orr_family_find(cases[i][0]), cases[i][1], &shape, NULL));
    g_assert_cmpstr(orr_accumulation_word(&shape), ==, cases[i][2]);
  }
  g_assert_true(orr_accumulation_is_fast(TRUE) && !orr_accumulation_is_fast(FALSE));
}

/* --- Power --- */

/* A board that draws 100 W until 0.2 s and 700 W from then on; its counter moves every 100 ms,
 * its clock falls from 1980 MHz to 1400 MHz at 0.25 s. Read every 10 ms. */
static OrrPowerReading board_at(double at_s, gboolean has_counter) {
  const double step_s = floor(at_s * 10 + 1e-9) / 10;
  const double energy_j = 1000 + (step_s < 0.2 ? 100 * step_s : 20 + 700 * (step_s - 0.2));
  return (OrrPowerReading){.at_s = at_s,
                           .energy_j = has_counter ? energy_j : NAN,
                           .watts = has_counter  ? NAN
                                    : at_s < 0.2 ? 100
                                                 : 700,
                           .sm_clock_hz = at_s < 0.25 ? 1.98e9 : 1.4e9,
                           .memory_clock_hz = 2.6e9};
}

static double watch(gboolean has_counter, double *ret_watts, double *ret_sm_hz) {
  OrrPowerWindow window = orr_power_window_new(0.3, 0.5);
  double memory_hz;
  for (int i = 0; i < 1000; i++) {
    const OrrPowerReading reading = board_at(0.01 * i, has_counter);
    if (orr_power_window_add(&window, &reading)) continue;
    orr_power_window_result(&window, ret_watts, ret_sm_hz, &memory_hz);
    g_assert_cmpfloat(memory_hz, ==, 2.6e9);
    return reading.at_s;
  }
  g_assert_not_reached();
}

/* What is read at 0.1 s is the idle board's 100 W; the window's mean is the load's. */
static void test_power_settles(void) {
  double watts, sm_hz;
  near(watch(TRUE, &watts, &sm_hz), 0.8, 0.011); /* 0.8 s is a change of the counter */
  near(watts, 700, 1);
  near(sm_hz, 1.4e9, 1);
  near(watch(FALSE, &watts, &sm_hz), 0.8, 0.011);
  near(watts, 700, 1e-9);
}

/* Readings between two changes do not count: first at 0.35 s, with changes at 0.4 and 0.7 s.
 * Energy over times of readings would be (300 J + ...) / 0.5 s; over times of changes it is
 * exact. */
static void test_power_goes_by_changes(void) {
  OrrPowerWindow window = orr_power_window_new(0, 0.5);
  double watts, sm_hz, memory_hz;
  const double at_s[] = {0.05, 0.15, 0.35, 0.55}, joules[] = {0, 10, 30, 50};
  for (guint i = 0; i < 4; i++) {
    const OrrPowerReading reading = {.at_s = at_s[i], .energy_j = joules[i], .watts = NAN};
    g_assert_true(orr_power_window_add(&window, &reading) == (i < 3));
  }
  orr_power_window_result(&window, &watts, &sm_hz, &memory_hz);
  near(watts, 100, 1e-9); /* (50 - 10) J / (0.55 - 0.15) s */
}

/* A counter that stands still does not mean a power of 0 W, and the window ends. */
static void test_power_unknown(void) {
  OrrPowerWindow window = orr_power_window_new(0.1, 0.2);
  double watts, sm_hz, memory_hz;
  OrrPowerReading reading = {
      .energy_j = 5, .watts = NAN, .sm_clock_hz = 1e9, .memory_clock_hz = NAN};
  guint n = 0;
  do reading.at_s = 0.05 * n;
  while (orr_power_window_add(&window, &reading) && ++n < 100);
  near(reading.at_s, 0.5, 0.051); /* 0.2 s beyond 0.3 s */
  orr_power_window_result(&window, &watts, &sm_hz, &memory_hz);
  g_assert_true(isnan(watts) && isnan(memory_hz));
  near(sm_hz, 1e9, 1);
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/measure/rules/sets", test_sets);
  g_test_add_func("/measure/rules/touched-sets", test_touched_sets);
  g_test_add_func("/measure/rules/small-sets", test_small_sets);
  g_test_add_func("/measure/rules/calls", test_calls);
  g_test_add_func("/measure/rules/hold-grows", test_hold_grows);
  g_test_add_func("/measure/rules/hold-for", test_hold_for);
  g_test_add_func("/measure/rules/summary", test_summary);
  g_test_add_func("/measure/rules/accumulation", test_accumulation);
  g_test_add_func("/measure/rules/power-settles", test_power_settles);
  g_test_add_func("/measure/rules/power-goes-by-changes", test_power_goes_by_changes);
  g_test_add_func("/measure/rules/power-unknown", test_power_unknown);
  return g_test_run();
}

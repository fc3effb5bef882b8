/* Bands as a summary writes them: digits, units, words, and the same as JSON. */
#include <math.h>
#include <string.h>

#include "sim/cli/summary.h"
#include "sim/run/answer/kinds.h"

/* A training outcome whose iteration takes @value, with bounds. */
static OrrOutcome *outcome_with(double value, double low, double high, const char *quality,
                                const char *reason) {
  OrrOutcome *outcome = orr_outcome_new();
  const OrrBandRow row = {.metric = (char *)"iteration_time_s",
                          .value = value,
                          .low = low,
                          .high = high,
                          .expected = NAN,
                          .level = 0.8,
                          .rows = 61,
                          .bias = -0.03,
                          .sided = 0.6,
                          .quality = (char *)quality,
                          .reason = (char *)reason,
                          .rests_on = (char *)""};
  outcome->kind = orr_kinds_named("training");
  g_array_append_val(outcome->bands, row);
  return outcome;
}

static void expect(const OrrOutcome *outcome, double value, const char *text, const char *band) {
  g_autofree char *shown =
      orr_summary_band_value(outcome, "iteration_time_s", value, ORR_UNIT_SECONDS);
  g_autofree char *words =
      orr_summary_band_text(outcome, "iteration_time_s", ORR_UNIT_SECONDS, FALSE);
  g_assert_cmpstr(shown, ==, text);
  g_assert_cmpstr(words, ==, band);
}

/* Half the width is 2.6 s, so tenths of a second are its second digit. */
static void test_good(void) {
  g_autoptr(OrrOutcome) outcome = outcome_with(29.1627, 28.04, 33.24, "good", "");
  expect(outcome, 29.1627, "29.2 s",
         "28.0 to 33.2, 80 % band from 61 measured steps like this one");
}

/* Bounds have the unit of the answer. Half the width is 0.6 s: hundredths. */
static void test_weak(void) {
  g_autoptr(OrrOutcome) outcome =
      outcome_with(0.9234, 0.7, 1.9, "weak", "no measured run on this device");
  expect(outcome, 0.9234, "920 ms", "700 to 1,900; weak: no measured run on this device");
}

/* Without a band nothing limits the digits but the four that every summary has. */
static void test_none(void) {
  g_autoptr(OrrOutcome) outcome =
      outcome_with(17.64127, NAN, NAN, "none", "nothing like it was measured");
  expect(outcome, 17.64127, "17.64 s", "no band: nothing like it was measured");
}

/* Half the width is 2.5 GiB: tenths of a GiB, though tenths of 1e9 bytes are others. */
static void test_bytes(void) {
  const double gib = 0x1p30;
  g_autoptr(OrrOutcome) outcome = outcome_with(35.53 * gib, 31.77 * gib, 36.77 * gib, "good", "");
  g_autofree char *shown =
      orr_summary_band_value(outcome, "iteration_time_s", 35.53 * gib, ORR_UNIT_BYTES);
  g_autofree char *words = orr_summary_band_text(outcome, "iteration_time_s", ORR_UNIT_BYTES, TRUE);
  g_assert_cmpstr(shown, ==, "35.5 GiB");
  g_assert_cmpstr(words, ==, "31.8 to 36.8 GiB, 80 % band from 61 measured steps like this one");
}

/* 1,718.8 s are 28.65 min, and 180,432 s 50.12 h: bounds are in the same minutes and hours. */
static void test_minutes(void) {
  g_autoptr(OrrOutcome) minutes = outcome_with(1718.8, 1562.1, 2049.4, "good", "");
  expect(minutes, 1718.8, "28.6 min",
         "26.0 to 34.2, 80 % band from 61 measured steps like this one");
  g_autoptr(OrrOutcome) hours = outcome_with(180432, 162000, 216000, "good", "");
  expect(hours, 180432, "50.1 h", "45.0 to 60.0, 80 % band from 61 measured steps like this one");
}

/* 7.20 s is below its own band: measured steps took 7.63 s, 6 % more. Inside nothing is said. */
static void test_outside(void) {
  g_autoptr(OrrOutcome) outcome = outcome_with(7.2, 7.26, 8.09, "good", "");
  OrrBandRow *row = &g_array_index(outcome->bands, OrrBandRow, 0);
  row->expected = 7.632;
  g_autofree char *out = orr_summary_band_text(outcome, "iteration_time_s", ORR_UNIT_SECONDS, TRUE);
  g_assert_cmpstr(out, ==,
                  "7.26 to 8.09 s, measured runs show 6 % more, 80 % band from 61 measured steps "
                  "like this one");
  row->value = 7.3;
  g_autofree char *in = orr_summary_band_text(outcome, "iteration_time_s", ORR_UNIT_SECONDS, TRUE);
  g_assert_null(strstr(in, "measured runs"));
}

/* Inside its good band the answer keeps a note where three in four rows lie on one side of it: of
 * 8.00 s where most measured steps took 8.32 s, or 7.68 s. */
static void test_bias(void) {
  static const struct {
    double sided, expected;
    OrrUnit unit;
    const char *quality, *note;
  } rows[] = {{0.8, 8.32, ORR_UNIT_SECONDS, "good", ", measured runs take 4 % longer"},
              {0.8, 7.68, ORR_UNIT_SECONDS, "good", ", measured runs take 4 % less time"},
              {0.8, 7.68, ORR_UNIT_WATTS, "good", ", measured runs draw 4 % less"},
              {0.8, 8.32, ORR_UNIT_BYTES, "good", ", measured runs need 4 % more"},
              {0.8, 8.32, ORR_UNIT_NONE, "good", ", measured runs show 4 % more"},
              {0.74, 8.32, ORR_UNIT_SECONDS, "good", NULL},
              {1, 8.32, ORR_UNIT_SECONDS, "weak", NULL},
              {1, 8.03, ORR_UNIT_SECONDS, "good", NULL}};
  for (guint i = 0; i < G_N_ELEMENTS(rows); i++) {
    g_autoptr(OrrOutcome) outcome = outcome_with(8, 7, 9, rows[i].quality, "why");
    OrrBandRow *row = &g_array_index(outcome->bands, OrrBandRow, 0);
    row->expected = rows[i].expected;
    row->sided = rows[i].sided;
    g_autofree char *text = orr_summary_band_text(outcome, "iteration_time_s", rows[i].unit, FALSE);
    if (rows[i].note)
      g_assert_nonnull(strstr(text, rows[i].note));
    else
      g_assert_null(strstr(text, "measured runs"));
  }
}

/* A result without a row of its own is shown unchanged. */
static void test_unknown(void) {
  g_autoptr(OrrOutcome) outcome = outcome_with(29.1627, 28.04, 33.24, "good", "");
  g_assert_null(orr_summary_band_text(outcome, "tokens_per_s", ORR_UNIT_NONE, FALSE));
  g_assert_cmpfloat(orr_summary_band_rounded(outcome, "tokens_per_s", 107868.1), ==, 107868.1);
  g_assert_cmpfloat(orr_summary_band_rounded(outcome, "iteration_time_s", 29.1627), ==,
                    29.200000000000003); /* 292 times 0.1 */
}

static void test_json(void) {
  g_autoptr(OrrOutcome) outcome = outcome_with(29.5, 28, NAN, "none", "why");
  g_autoptr(GString) out = g_string_new(NULL);
  orr_summary_band_json(out, outcome);
  g_assert_cmpstr(
      out->str, ==,
      "\"iteration_time_s_low\": 28, \"iteration_time_s_high\": null, "
      "\"iteration_time_s_expected\": null, \"band_level\": 0.8, \"band_rows\": 61, "
      "\"band_quality\": "
      "\"none\", \"bands\": [\n"
      "  {\"metric\": \"iteration_time_s\", \"value\": 29.5, \"low\": 28, \"high\": "
      "null, \"expected\": null, \"level\": 0.8, \"rows\": 61, \"bias\": "
      "-0.03, \"sided\": 0.6, \"quality\": \"none\", \"reason\": \"why\", \"rests_on\": \"\"}]");
}

static void expect_digits(double value, double low, double high, int decimals, const char *text) {
  g_autofree char *shown = orr_summary_band_digits(value, low, high, decimals);
  g_assert_cmpstr(shown, ==, text);
}

/* Half the widths: 150, so tens; 1.5, so tenths; 0.015, thousandths, and two are allowed. */
static void test_digits(void) {
  expect_digits(1741.4, 1600, 1900, 1, "1740");
  expect_digits(106.04, 104.5, 107.5, 1, "106.0");
  expect_digits(0.41234, 0.4, 0.43, 2, "0.41");
  expect_digits(416.3, 380, 430, 1, "416");
  expect_digits(1741.4, NAN, NAN, 1, "1741.4");
  expect_digits(1741.4, 1741.4, 1741.4, 1, "1741.4");
}

/* Of all results without a band for one reason, the reason once; else a line for each. */
static void test_serving_lines(void) {
  g_autoptr(OrrOutcome) outcome = orr_outcome_new();
  OrrBandRow row = {.metric = (char *)"ttft_mean_s",
                    .value = 0.25,
                    .low = NAN,
                    .high = NAN,
                    .quality = (char *)"none",
                    .reason = (char *)"why"};
  OrrPage *one = orr_page_new(), *two = orr_page_new();
  outcome->kind = orr_kinds_named("serving");
  g_array_append_val(outcome->bands, row);
  row.metric = (char *)"tpot_mean_s";
  g_array_append_val(outcome->bands, row);
  orr_summary_band_serving(one, outcome);
  g_autofree char *once = orr_page_end(one);
  g_assert_cmpstr(once, ==, "  bands         none: why\n");
  g_array_index(outcome->bands, OrrBandRow, 1).reason = (char *)"else";
  orr_summary_band_serving(two, outcome);
  g_autofree char *each = orr_page_end(two);
  g_assert_cmpstr(each, ==,
                  "  bands         ttft mean  no band: why\n"
                  "                tpot mean  no band: else\n");
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/summary_band/good", test_good);
  g_test_add_func("/summary_band/weak", test_weak);
  g_test_add_func("/summary_band/none", test_none);
  g_test_add_func("/summary_band/bytes", test_bytes);
  g_test_add_func("/summary_band/minutes", test_minutes);
  g_test_add_func("/summary_band/bias", test_bias);
  g_test_add_func("/summary_band/outside", test_outside);
  g_test_add_func("/summary_band/unknown", test_unknown);
  g_test_add_func("/summary_band/json", test_json);
  g_test_add_func("/summary_band/digits", test_digits);
  g_test_add_func("/summary_band/serving-lines", test_serving_lines);
  return g_test_run();
}

/*
 * test_band_derived.c - bands that follow from other bands, each derived by hand.
 */
#include <math.h>

#include "sim/bands/band_private.h"
#include "sim/run/answer/campaign_rows.h"
#include "sim/run/answer/kinds.h"

static OrrLibrary *library;

/* Adds the band of @metric = @value, whose bounds are @low and @high times it. */
static void add(OrrOutcome *outcome, const char *metric, double value, double low, double high) {
  const OrrBandRow row = {.metric = (char *)metric,
                          .value = value,
                          .low = value * low,
                          .high = value * high,
                          .expected = value,
                          .level = 0.8,
                          .rows = 40,
                          .quality = (char *)"good",
                          .reason = (char *)"",
                          .rests_on = (char *)""};
  g_array_append_val(outcome->bands, row);
}

static OrrOutcome *outcome_of(const OrrRunKind *kind) {
  OrrOutcome *outcome = orr_outcome_new();
  outcome->kind = kind;
  return outcome;
}

static void assert_band(const OrrOutcome *outcome, const char *metric, double low, double high,
                        const char *quality, const char *rests_on) {
  const OrrBandRow *row = orr_bands_row(outcome, metric);
  g_assert_nonnull(row);
  g_assert_cmpfloat_with_epsilon(row->low, low, 1e-9 * low);
  g_assert_cmpfloat_with_epsilon(row->high, high, 1e-9 * high);
  g_assert_cmpstr(row->quality, ==, quality);
  g_assert_cmpstr(row->rests_on, ==, rests_on);
}

/* A rented machine: a step of 2 s, 10 % less to 25 % more, costs 3: 2.7 to 3.75. 50 days are 45 to
 * 62.5. What the scenario does not ask for (a NAN) has no row. */
static void test_rent(void) {
  g_autoptr(OrrOutcome) outcome = outcome_of(orr_kinds_named("training"));
  OrrTrainingResult *r = &outcome->result.training;
  r->cost_per_step = 3;
  r->run_days = 50;
  r->cost_per_run = r->money.per_million_tokens = r->money.energy_per_gpu_hour = NAN;
  r->money.per_gpu_hour = 2;
  add(outcome, "iteration_time_s", 2, 0.9, 1.25);
  orr_band_derived_add(library, outcome);
  assert_band(outcome, "cost_per_step", 2.7, 3.75, "good", "iteration_time_s");
  assert_band(outcome, "run_days", 45, 62.5, "good", "iteration_time_s");
  g_assert_null(orr_bands_row(outcome, "cost_per_run"));
}

/* A quarter of the cost pays for energy, and training's power has no band: the bounds are the
 * time's, and the band is weak. */
static void test_power_without_band(void) {
  g_autoptr(OrrOutcome) outcome = outcome_of(orr_kinds_named("training"));
  OrrTrainingResult *r = &outcome->result.training;
  r->cost_per_step = 3;
  r->run_days = r->cost_per_run = r->money.per_million_tokens = NAN;
  r->money.per_gpu_hour = 2;
  r->money.energy_per_gpu_hour = 0.5;
  add(outcome, "iteration_time_s", 2, 0.9, 1.25);
  orr_band_derived_add(library, outcome);
  assert_band(outcome, "cost_per_step", 2.7, 3.75, "weak", "iteration_time_s");
}

/* Output of 0.8 to 1.25 of the answer: hardware per token costs 0.8 to 1.25. Energy is a quarter of
 * the cost, and 0.5 to 2 of its answer: 0.75 x 0.8 + 0.25 x 0.5 = 0.725, 0.75 x 1.25 + 0.25 x 2 =
 * 1.4375. */
static void test_energy(void) {
  g_autoptr(OrrOutcome) outcome = outcome_of(orr_kinds_named("serving"));
  OrrServingResult *r = &outcome->result.serving;
  r->cost_per_million_output_tokens = 10;
  r->cost_per_million_input_tokens = r->money.per_million_tokens = NAN;
  r->money.per_gpu_hour = 2;
  r->money.energy_per_gpu_hour = 0.5;
  add(outcome, "output_tokens_per_s", 100, 0.8, 1.25);
  add(outcome, "energy_j_per_output_token", 5, 0.5, 2);
  orr_band_derived_add(library, outcome);
  assert_band(outcome, "cost_per_million_output_tokens", 7.25, 14.375, "good",
              "output_tokens_per_s, energy_j_per_output_token");
}

/* Where the base has no band, what follows from it has none, for the same reason. */
static void test_none(void) {
  g_autoptr(OrrOutcome) outcome = outcome_of(orr_kinds_named("serving"));
  OrrServingResult *r = &outcome->result.serving;
  r->cost_per_million_output_tokens = 10;
  r->money.energy_per_gpu_hour = NAN;
  add(outcome, "output_tokens_per_s", 100, NAN, NAN);
  OrrBandRow *base = &g_array_index(outcome->bands, OrrBandRow, 0);
  base->quality = (char *)"none";
  base->reason = (char *)"throughput follows the offered load";
  orr_band_derived_add(library, outcome);
  const OrrBandRow *row = orr_bands_row(outcome, "cost_per_million_output_tokens");
  g_assert_nonnull(row);
  g_assert_true(isnan(row->low) && isnan(row->high));
  g_assert_cmpstr(row->quality, ==, "none");
  g_assert_cmpstr(row->reason, ==, "throughput follows the offered load");
}

/* A campaign's tokens: its step is 0.9 to 1.25 of the answer, so tokens are 0.8 to 1 / 0.9. Goodput
 * was off by m = 12.8 % on average (errors.csv): at 80 % its bound is m log 5 = 0.206, which adds
 * in quadrature to log 1.25 = 0.223 below, and to log 1 / 0.9 = 0.105 above. */
static void test_campaign(void) {
  g_autoptr(OrrOutcome) outcome = outcome_of(&orr_campaign_rows_kind);
  OrrCampaignResult *r = &outcome->result.campaign;
  r->tokens = 1e12;
  r->tokens_per_s = r->tokens_per_day = r->money.per_million_tokens = NAN;
  add(outcome, "step_s", 2, 0.9, 1.25);
  orr_band_derived_add(library, outcome);
  const OrrBandRow *row = orr_bands_row(outcome, "tokens");
  const double bound = 0.128 * log(5);
  g_assert_cmpfloat_with_epsilon(log(1e12 / row->low), hypot(log(1.25), bound), 1e-3);
  g_assert_cmpfloat_with_epsilon(log(row->high / 1e12), hypot(log(1 / 0.9), bound), 1e-3);
  g_assert_cmpstr(row->quality, ==, "weak");
  g_assert_true(orr_band_is_derived(outcome, "tokens_per_s"));
  g_assert_false(orr_band_is_derived(outcome, "step_s"));
}

/* A step of 2 s, 0.9 to 1.25 of the answer, at watts of 0.8 to 1.1 of theirs: both errors have
 * causes of their own, so the half widths of the logarithms add in quadrature on each side. Half of
 * the cost pays for energy: 0.5 x 0.9 + 0.5 x the joules' lower bound. */
static void test_joules(void) {
  g_autoptr(OrrOutcome) outcome = outcome_of(orr_kinds_named("training"));
  OrrTrainingResult *r = &outcome->result.training;
  const double low = exp(-hypot(log(0.9), log(0.8))), high = exp(hypot(log(1.25), log(1.1)));
  r->energy_j_per_step = 1000;
  r->cost_per_step = 4;
  r->energy_j_per_token = r->run_days = r->cost_per_run = r->money.per_million_tokens = NAN;
  r->money.per_gpu_hour = 2;
  r->money.energy_per_gpu_hour = 1;
  add(outcome, "iteration_time_s", 2, 0.9, 1.25);
  add(outcome, "gpu_power_mean_w", 500, 0.8, 1.1);
  orr_band_derived_add(library, outcome);
  assert_band(outcome, "energy_j_per_step", 1000 * low, 1000 * high, "good",
              "iteration_time_s, gpu_power_mean_w");
  assert_band(outcome, "cost_per_step", 4 * (0.45 + low / 2), 4 * (0.625 + high / 2), "good",
              "iteration_time_s, energy_j_per_step");
}

/* Watts without a band leave joules without one. */
static void test_joules_without_watts(void) {
  g_autoptr(OrrOutcome) outcome = outcome_of(orr_kinds_named("training"));
  OrrTrainingResult *r = &outcome->result.training;
  r->energy_j_per_step = 1000;
  r->energy_j_per_token = r->run_days = r->cost_per_run = r->money.per_million_tokens = NAN;
  r->cost_per_step = NAN;
  add(outcome, "iteration_time_s", 2, 0.9, 1.25);
  orr_band_derived_add(library, outcome);
  const OrrBandRow *row = orr_bands_row(outcome, "energy_j_per_step");
  g_assert_nonnull(row);
  g_assert_true(isnan(row->low) && isnan(row->high));
  g_assert_cmpstr(row->quality, ==, "none");
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  library = orr_library_new(NULL);
  g_test_add_func("/band-derived/rent", test_rent);
  g_test_add_func("/band-derived/power-without-band", test_power_without_band);
  g_test_add_func("/band-derived/energy", test_energy);
  g_test_add_func("/band-derived/joules", test_joules);
  g_test_add_func("/band-derived/joules-without-watts", test_joules_without_watts);
  g_test_add_func("/band-derived/none", test_none);
  g_test_add_func("/band-derived/campaign", test_campaign);
  const int status = g_test_run();
  orr_library_free(library);
  return status;
}

/*
 * inputs_seeds.c - answers that one draw of arrivals decides: near its limit a server's mean wait
 * differs several times from seed to seed, however exact the costs of its steps are.
 */
#include "sim/bands/band_private.h"
#include "workloads/serving/serving.h"

/* Of a standard error, over its mean: from here on other draws are replayed. */
static const double error_that_counts = 0.1;

static gboolean is_off(double error_s, double mean_s) {
  return error_s > error_that_counts * mean_s; /* or NAN */
}

gboolean orr_inputs_is_chance(const OrrScenario *scenario, const OrrOutcome *outcome) {
  const OrrServingResult *result = &outcome->result.serving;
  if (!g_str_equal(outcome->kind->kind->entry.name, "serving") || result->saturated) return FALSE;
  const OrrServing *params = scenario->workload.params;
  const OrrArrival *load = (const OrrArrival *)params->load.entry;
  return !load->is_trace && !load->is_bounded &&
         (is_off(result->ttft_stderr_s, result->ttft.mean) ||
          is_off(result->e2e_stderr_s, result->e2e.mean));
}

gboolean orr_inputs_are_seeds(const OrrOutcome *outcome) {
  return outcome->uncertain_inputs->len == 1 &&
         g_str_equal(g_array_index(outcome->uncertain_inputs, OrrUncertainInputRow, 0).path,
                     ORR_INPUT_SEED);
}

/* The model's error and the draw's are independent factors, so their logarithms add as squares. */
static void widen(OrrBandRow *band, const OrrInputSpreadRow *spread) {
  const double middle = spread->p50 * band->expected / band->value;
  const double below = hypot(log(band->expected / band->low), log(spread->p50 / spread->p10));
  const double above = hypot(log(band->high / band->expected), log(spread->p90 / spread->p50));
  if (!isfinite(middle) || !isfinite(below) || !isfinite(above)) return;
  band->low = middle * exp(-below);
  band->high = middle * exp(above);
  band->expected = middle;
}

void orr_inputs_widen(OrrOutcome *outcome) {
  if (!orr_inputs_are_seeds(outcome)) return;
  ORR_EACH(OrrBandRow, band, outcome->bands) {
    const OrrInputSpreadRow *spread = orr_inputs_spread(outcome, band->metric);
    if (spread) widen(band, spread);
  }
}

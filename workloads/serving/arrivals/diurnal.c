/*
 * diurnal.c - a Poisson process whose rate swings over a day.
 *
 *   rate(t) = rate (1 + swing sin(2 pi (t / period - 1/4)))          from the trough at t = 0
 *
 * Drawn by thinning (Lewis, Shedler 1979): candidates at the highest rate, kept with probability
 * rate(t) / highest.
 *
 *   workload: {load: {kind: diurnal, rate: 4, swing: 0.8, period: 24 h}}
 */
#include "workloads/serving/arrivals/arrival.h"

typedef struct {
  double rate, swing, period_s;
} Params;

static const OrrFieldTable table = ORR_FIELDS(
    "load-diurnal", "A rate that swings.", Params,
    ORR_FIELD_REAL(Params, "rate", rate, ORR_UNIT_NONE, NULL,
                   "Requests per second, mean over a period.", .flags = ORR_FIELD_POSITIVE),
    ORR_FIELD_REAL(Params, "swing", swing, ORR_UNIT_FRACTION, "0.5",
                   "Amplitude of the rate, as a fraction of its mean.", .min = 0, .max = 1),
    ORR_FIELD_REAL(Params, "period", period_s, ORR_UNIT_SECONDS, "24 h",
                   "Time from one trough to the next.", .flags = ORR_FIELD_POSITIVE));

static gboolean next(gpointer data, OrrRequest *ret_request) {
  OrrRateState *state = data;
  const Params *params = state->params;
  if (state->left-- <= 0) return FALSE;
  const double highest = 1 + params->swing;
  double share;
  do {
    state->now_s += -log1p(-orr_random_unit(&state->random)) / (params->rate * highest);
    share = 1 + params->swing * sin(2 * G_PI * (state->now_s / params->period_s - 0.25));
  } while (orr_random_unit(&state->random) * highest > share);
  ret_request->arrival_s = state->now_s;
  return TRUE;
}

static double oracle(const void *params) { return ((const Params *)params)->rate; }

const OrrArrival orr_arrival_diurnal = {
    .entry = {"diurnal", "Open loop: a Poisson process whose rate swings over a day.", &table},
    .open = orr_arrival_open_rate,
    .next = next,
    .close = g_free,
    .oracle = oracle,
};

/*
 * diurnal.c - a Poisson process whose rate swings over a day.
 *
 *   rate(t) = rate (1 + swing sin(2 pi (t / period - 1/4)))          from the trough at t = 0
 *
 * Drawn by thinning (Lewis, Shedler 1979): candidates at the highest rate, kept with probability
 * rate(t) / highest.
 *
 * Of clients in several regions each has its part of the rate, with its own day:
 *
 *   rate(t) = sum of part_r rate(t - later_r)        a request is region r's in that proportion
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

static double level(const Params *params, double at_s) {
  return 1 + params->swing * sin(2 * G_PI * (at_s / params->period_s - 0.25));
}

/* Of all regions, over the mean; writes which part of that is each region's to @parts. */
static double level_of_all(const OrrRateState *state, double *parts) {
  const OrrClientRegions *clients = &state->clients;
  double sum = 0;
  for (guint i = 0; i < clients->n; i++)
    sum += parts[i] =
        clients->weights[i] * level(state->params, state->now_s - clients->later_s[i]);
  return clients->n > 0 ? sum : level(state->params, state->now_s);
}

static gboolean next(gpointer data, OrrRequest *ret_request) {
  OrrRateState *state = data;
  const Params *params = state->params;
  if (state->left-- <= 0) return FALSE;
  const double highest = 1 + params->swing;
  g_autofree double *parts = state->clients.n > 0 ? g_new(double, state->clients.n) : NULL;
  double share;
  do {
    state->now_s += -log1p(-orr_random_unit(&state->random)) / (params->rate * highest);
    share = level_of_all(state, parts);
  } while (orr_random_unit(&state->random) * highest > share);
  ret_request->arrival_s = state->now_s;
  if (parts)
    ret_request->region =
        orr_client_regions_draw(&state->clients, parts, orr_random_unit(&state->random) * share);
  return TRUE;
}

static double oracle(const void *params) { return ((const Params *)params)->rate; }

const OrrArrival orr_arrival_diurnal = {
    .entry = {"diurnal", "Open loop: a Poisson process whose rate swings over a day.", &table},
    .has_days = TRUE,
    .open = orr_arrival_open_rate,
    .next = next,
    .close = g_free,
    .oracle = oracle,
};

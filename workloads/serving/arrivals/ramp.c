/*
 * ramp.c - a Poisson process whose rate changes linearly from one value to another and then stays
 * there.
 *
 *   rate(t) = from + (to - from) min(t / duration, 1)
 *
 * As `vllm bench serve --ramp-up-strategy linear`. An arrival's time is where the integral of the
 * rate reaches the sum of exponential steps.
 *
 *   workload: {load: {kind: ramp, from: 1, to: 20, duration: 10 min}}
 */
#include "workloads/serving/arrivals/arrival.h"

typedef struct {
  double from, to, duration_s;
} Params;

static const OrrFieldTable table =
    ORR_FIELDS("load-ramp", "A rate that grows.", Params,
               ORR_FIELD_REAL(Params, "from", from, ORR_UNIT_NONE, NULL,
                              "Requests per second at the start.", .flags = ORR_FIELD_POSITIVE),
               ORR_FIELD_REAL(Params, "to", to, ORR_UNIT_NONE, NULL,
                              "Requests per second at the end of the ramp, and afterwards.",
                              .flags = ORR_FIELD_POSITIVE),
               ORR_FIELD_REAL(Params, "duration", duration_s, ORR_UNIT_SECONDS, NULL,
                              "Length of the ramp.", .flags = ORR_FIELD_POSITIVE));

/* The time at which the integral of the rate from @now_s reaches @wanted. */
static double reach(const Params *params, double now_s, double wanted) {
  const double slope = (params->to - params->from) / params->duration_s;
  if (now_s < params->duration_s) {
    const double rate = params->from + slope * now_s, left_s = params->duration_s - now_s;
    const double on_ramp = rate * left_s + slope * left_s * left_s / 2;
    if (wanted <= on_ramp) /* slope x^2 / 2 + rate x = wanted */
      return now_s + 2 * wanted / (rate + sqrt(fmax(0, rate * rate + 2 * slope * wanted)));
    wanted -= on_ramp;
    now_s = params->duration_s;
  }
  return now_s + wanted / params->to;
}

static gboolean next(gpointer data, OrrRequest *ret_request) {
  OrrRateState *state = data;
  if (state->left-- <= 0) return FALSE;
  state->now_s = reach(state->params, state->now_s, -log1p(-orr_random_unit(&state->random)));
  ret_request->arrival_s = state->now_s;
  return TRUE;
}

static double oracle(const void *params) { return ((const Params *)params)->to; }

const OrrArrival orr_arrival_ramp = {
    .entry = {"ramp", "Open loop: a Poisson process whose rate grows linearly.", &table},
    .open = orr_arrival_open_rate,
    .next = next,
    .close = g_free,
    .oracle = oracle,
};

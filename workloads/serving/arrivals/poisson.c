/*
 * poisson.c - independent requests: intervals are exponential with mean 1 / rate.
 *
 *   workload: {load: {kind: poisson, rate: 4}}
 */
#include "workloads/serving/arrivals/arrival.h"

typedef struct {
  double rate;
} Params;

static const OrrFieldTable table =
    ORR_FIELDS("load-poisson", "A Poisson process.", Params,
               ORR_FIELD_REAL(Params, "rate", rate, ORR_UNIT_NONE, NULL,
                              "Mean requests per second.", .flags = ORR_FIELD_POSITIVE));

static gboolean next(gpointer data, OrrRequest *ret_request) {
  OrrRateState *state = data;
  if (state->left-- <= 0) return FALSE;
  state->now_s += -log1p(-orr_random_unit(&state->random)) / ((const Params *)state->params)->rate;
  ret_request->arrival_s = state->now_s;
  return TRUE;
}

static double oracle(const void *params) { return ((const Params *)params)->rate; }

const OrrArrival orr_arrival_poisson = {
    .entry = {"poisson", "Open loop: a Poisson process.", &table},
    .is_endless = TRUE,
    .open = orr_arrival_open_rate,
    .next = next,
    .close = g_free,
    .oracle = oracle,
};

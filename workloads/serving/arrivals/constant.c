/*
 * constant.c - requests at equal intervals of 1 / rate seconds.
 *
 *   workload: {load: {kind: constant, rate: 4}}
 */
#include "workloads/serving/arrivals/arrival.h"

typedef struct {
  double rate;
} Params;

static const OrrFieldTable table =
    ORR_FIELDS("load-constant", "Requests at equal intervals.", Params,
               ORR_FIELD_REAL(Params, "rate", rate, ORR_UNIT_NONE, NULL, "Requests per second.",
                              .flags = ORR_FIELD_POSITIVE));

static gboolean next(gpointer data, OrrRequest *ret_request) {
  OrrRateState *state = data;
  if (state->left-- <= 0) return FALSE;
  ret_request->arrival_s = state->now_s;
  state->now_s += 1 / ((const Params *)state->params)->rate;
  return TRUE;
}

static double oracle(const void *params) { return ((const Params *)params)->rate; }

const OrrArrival orr_arrival_constant = {
    .entry = {"constant", "Open loop: requests at equal intervals.", &table},
    .is_endless = TRUE,
    .open = orr_arrival_open_rate,
    .next = next,
    .close = g_free,
    .oracle = oracle,
};

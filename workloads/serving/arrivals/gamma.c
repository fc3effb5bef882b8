/*
 * gamma.c - bursts: intervals follow a gamma distribution of shape `burstiness` and mean 1 / rate,
 * as `vllm bench serve --burstiness` draws them.
 *
 * 1 is a Poisson process. Below 1 requests arrive in bursts (the coefficient of variation of the
 * intervals is 1 / sqrt(shape)), above 1 more evenly. Drawn by the method of Marsaglia and Tsang
 * (2000), with their boost for shapes below 1.
 *
 *   workload: {load: {kind: gamma, rate: 4, burstiness: 0.25}}
 */
#include "workloads/serving/arrivals/arrival.h"

typedef struct {
  double rate, shape;
} Params;

static const OrrFieldTable table =
    ORR_FIELDS("load-gamma", "Gamma-distributed distances.", Params,
               ORR_FIELD_REAL(Params, "rate", rate, ORR_UNIT_NONE, NULL,
                              "Mean requests per second.", .flags = ORR_FIELD_POSITIVE),
               ORR_FIELD_REAL(Params, "burstiness", shape, ORR_UNIT_NONE, "0.5",
                              "Shape of the gamma distribution: 1 is Poisson, below 1 bursts.",
                              .min = 1e-3, .max = 1e6));

static double draw_gamma(OrrRandom *random, double shape) {
  if (shape < 1) return draw_gamma(random, shape + 1) * pow(1 - orr_random_unit(random), 1 / shape);
  const double d = shape - 1.0 / 3, c = 1 / sqrt(9 * d);
  while (TRUE) {
    const double x = orr_random_normal(random), v = pow(1 + c * x, 3);
    if (v <= 0) continue;
    if (log(1 - orr_random_unit(random)) < 0.5 * x * x + d - d * v + d * log(v)) return d * v;
  }
}

static gboolean next(gpointer data, OrrRequest *ret_request) {
  OrrRateState *state = data;
  const Params *params = state->params;
  if (state->left-- <= 0) return FALSE;
  state->now_s += draw_gamma(&state->random, params->shape) / (params->shape * params->rate);
  ret_request->arrival_s = state->now_s;
  return TRUE;
}

/* Bursts: over long intervals a renewal process's counts have as many times a Poisson process's
 * variance as its gaps have (Cox and Lewis 1966). */
static OrrChain chain(gconstpointer data) {
  const double shape = ((const Params *)((const OrrRateState *)data)->params)->shape;
  return (OrrChain){1, 0, shape < 1 ? 1 / shape : 0};
}

static double oracle(const void *params) { return ((const Params *)params)->rate; }

const OrrArrival orr_arrival_gamma = {
    .entry = {"gamma", "Open loop: gamma-distributed intervals, bursts below burstiness 1.",
              &table},
    .is_endless = TRUE,
    .open = orr_arrival_open_rate,
    .next = next,
    .chain = chain,
    .close = g_free,
    .oracle = oracle,
};

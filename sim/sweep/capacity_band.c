/*
 * capacity_band.c - scales the latencies of a run's requests by the upper bounds of their bands,
 * and counts those that still meet their objectives.
 */
#include "sim/sweep/capacity.h"

#include "workloads/serving/serving.h"

const char *const orr_capacity_limits[] = {"ttft", "tpot", "e2e", NULL};

static double limit_of(const OrrSlo *slo, int limit) {
  const double limits[] = {slo->ttft_s, slo->tpot_s, slo->e2e_s};
  return limits[limit];
}

static gboolean has_limits(const OrrSlo *slo) {
  return slo->ttft_s > 0 || slo->tpot_s > 0 || slo->e2e_s > 0;
}

/* The objectives of requests of class @name: the workload's, unless the class has its own. */
static const OrrSlo *slo_of(const OrrServing *params, const char *name) {
  ORR_EACH_POINTER(const OrrRequestClass, one, params->classes)
    if (strcmp(one->name, name) == 0 && has_limits(&one->slo)) return &one->slo;
  return &params->slo;
}

static gboolean is_limited(const OrrServing *params, int limit) {
  gboolean is = limit_of(&params->slo, limit) > 0;
  for (guint i = 0; params->classes && i < params->classes->len; i++)
    is |= limit_of(&((const OrrRequestClass *)params->classes->pdata[i])->slo, limit) > 0;
  return is;
}

/* --- Requests --- */

/* As sim/run/answer/serving_rows.c judges a request: one output token has no time between tokens,
 * which meets an objective except by AIPerf's definition. */
static gboolean is_good(const OrrServing *params, const OrrServingRequestRow *request,
                        const double *factors) {
  const double seen[] = {request->ttft_s, request->tpot_s, request->e2e_s};
  const OrrSlo *slo = slo_of(params, request->group);
  const gboolean has_gap = request->output_tokens > orr_serving_outputs(params) ||
                           params->metrics.definition != ORR_METRICS_AIPERF;
  for (int limit = 0; limit < ORR_N_LIMITS; limit++) {
    const double most_s = limit_of(slo, limit);
    if (most_s <= 0) continue;
    if (!(seen[limit] * factors[limit] <= most_s) || (limit == ORR_LIMIT_TPOT && !has_gap))
      return FALSE;
  }
  return TRUE;
}

/* Completed requests within all objectives when latencies are multiplied by @factors. */
static double good_with(const OrrScenario *scenario, const OrrOutcome *outcome,
                        const double *factors) {
  const OrrServing *params = scenario->workload.params;
  guint good = 0;
  ORR_EACH(const OrrServingRequestRow, request, outcome->serving_requests)
    good += request->arrival_s >= params->metrics.warmup_s && is_good(params, request, factors);
  return good;
}

/* --- Bands --- */

static const char *percentile_of(double fraction) {
  return fraction >= 0.99 ? "p99" : fraction >= 0.95 ? "p95" : fraction >= 0.9 ? "p90" : "p50";
}

/* The upper factor of one latency; notes a band that is worse than those before. */
static double ask(const OrrBands *bands, const OrrBandQuestion *question, int limit,
                  OrrCapacityBand *ret) {
  const OrrBand band = orr_bands_ask(bands, question, NULL);
  if ((gint32)band.quality < ret->quality) {
    ret->quality = (gint32)band.quality;
    snprintf(ret->reason, sizeof ret->reason, "%s: %s", orr_capacity_limits[limit], band.reason);
  }
  return band.high;
}

OrrCapacityBand orr_capacity_band_of(const OrrBands *bands, OrrLibrary *library,
                                     const OrrScenario *scenario, const OrrOutcome *outcome,
                                     double fraction, double confidence) {
  const OrrServing *params = scenario->workload.params;
  const OrrLikenessRow likeness = orr_likeness_of(library, scenario, outcome);
  OrrCapacityBand ret = {.factors = {NAN, NAN, NAN}, .quality = ORR_BAND_GOOD};
  int n = 0;
  for (int limit = 0; limit < ORR_N_LIMITS; limit++) n += is_limited(params, limit);
  for (int limit = 0; limit < ORR_N_LIMITS; limit++) {
    if (!is_limited(params, limit)) continue;
    g_autofree char *metric =
        g_strdup_printf("%s_%s_s", orr_capacity_limits[limit], percentile_of(fraction));
    const OrrBandQuestion question = {
        .likeness = &likeness, .metric = metric, .level = 1 - 2 * (1 - confidence) / n};
    ret.factors[limit] = ask(bands, &question, limit, &ret);
  }
  if (ret.quality != ORR_BAND_NONE) ret.good = good_with(scenario, outcome, ret.factors);
  return ret;
}

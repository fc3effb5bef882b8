/*
 * capacity_band.h - whether a rate meets the objectives with some confidence, rather than only in
 * the simulation.
 *
 * A measurement may be slower than the simulation: an error band (sim/bands/band.h) of level
 * 2 c - 1 has a measurement above its upper bound with probability 1 - c. So each latency of each
 * request is multiplied by the upper factor of the band of that latency at this rate, and the
 * request counts if it still meets its objectives:
 *
 *   simulated ttft 400 ms, band 0.9 to 1.5 of it: with confidence c at most 600 ms
 *
 * With several objectives (ttft and tpot) each is held at 1 - (1 - c) / n, so that all hold with
 * probability c or more, whatever their errors have in common (Bonferroni). The band is for the
 * percentile that the fraction of requests asks for: p99 for 99 % and more, p95, p90, else the
 * median. Where an objective has no band, nothing can be said with confidence.
 */
#pragma once

#include "sim/bands/band.h"

/* The latencies that objectives limit. */
typedef enum { ORR_LIMIT_TTFT, ORR_LIMIT_TPOT, ORR_LIMIT_E2E, ORR_N_LIMITS } OrrCapacityLimit;
extern const char *const orr_capacity_limits[]; /* "ttft", "tpot", "e2e", NULL */

/* What the bands say about a run; plain bytes that cross a pipe. */
typedef struct {
  /* What a measured latency is over the simulated one, at most; NAN: no such objective. */
  double factors[ORR_N_LIMITS];
  double good;      /* completed requests within all objectives at these factors */
  gint32 quality;   /* OrrBandQuality: of the worst band */
  char reason[160]; /* why it is weak or none, with the name of the latency */
} OrrCapacityBand;

/* Of a finished run whose rows `serving_request` hold every request. @fraction: of requests that
 * must meet the objectives; @confidence: above 0.5 and below 1. */
OrrCapacityBand orr_capacity_band_of(const OrrBands *bands, OrrLibrary *library,
                                     const OrrScenario *scenario, const OrrOutcome *outcome,
                                     double fraction, double confidence);

/* Completed requests within all objectives when latencies are multiplied by @factors. */
double orr_capacity_band_good(const OrrScenario *scenario, const OrrOutcome *outcome,
                              const double *factors);

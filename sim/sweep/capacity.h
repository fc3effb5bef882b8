/*
 * capacity.h - finds the highest rate of requests at which a serving scenario meets its objectives.
 *
 * A rate meets them when the fraction of requests within all objectives (rejected and failed ones
 * are not) is at least `fraction`, in a steady state. Each rate is simulated `seeds` times with
 * different loads, each time until there is a steady state (workloads/serving/fleet/steady.c),
 * whose requests alone count: at least `requests` of the workload. A rate at which the number of
 * requests in the system grows does not meet the objectives, even if its requests so far do. The
 * lower end of Student's 95 % confidence interval of the mean decides, over ten batches of each
 * seed's run; of a trace, whose batches are not alike, over the seeds. From the scenario's own rate
 * on, the search doubles or halves it until one rate meets and one fails, then bisects until both
 * are within `tolerance` of each other. Halving ends where engines are idle and two halvings leave
 * as many requests outside the objectives, but for a trace's. Every run is a process of its own
 * (engine.h, rule 5), unless `in_process`.
 *
 * That rate is the simulation's alone. A second one holds with `confidence` against the errors of
 * the simulation: capacity_band.c.
 */
#pragma once

#include "results/rows/rows.h"
#include "sim/bands/band.h"
#include "sim/run/world.h"

/* capacity_band.c: whether a rate meets the objectives with some confidence, rather than only in
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

typedef struct {
  double meets; /* the highest rate that meets; 0: none found */
  double fails; /* the lowest rate above it that fails; 0: none found */
} OrrCapacityRange;

typedef struct {
  double fraction; /* of the requests, above 0 to 1 */
  double tolerance;
  double step;       /* from a rate that meets to the next higher one, until one fails; 0: 2 */
  guint seeds;       /* 2 to 10 */
  double confidence; /* above 0.5 and below 1; 0: the second search is left out */
  /* Rates below it are of no interest: it is tried first, or after the scenario's own rate where
   * that is more than twice as high and fails; if it fails, nothing else is tried. 0: all rates are
   * of interest */
  double least;
  /* What an earlier search found by the simulation alone: only the second search is made. All 0:
   * both are */
  OrrCapacityRange known;
  /* The runs take place here, seed after seed, but for those that cannot change the verdict: the
   * same rates meet. For an engine that a process can have many of: `engine: fair`. */
  gboolean in_process;
  /* In this process: made for the scenario's cluster, whose routes do not depend on the seed; NULL:
   * the search makes its own */
  const OrrRunWorld *world;
} OrrCapacityQuery;

/* Of the fraction of requests within their objectives. */
typedef struct {
  double mean, margin; /* over the seeds; half of its confidence interval */
  gboolean meets;      /* its lower end reaches the fraction asked for */
} OrrCapacityInterval;

typedef struct {
  double rate;
  OrrCapacityInterval alone, sure; /* by the simulation alone; with the confidence asked for */
  OrrCapacityBand band;            /* the worst of the seeds' runs; `good` is one seed's */
  gboolean is_steady;              /* all seeds' runs have a steady state */
  OrrServingResult result;         /* of the first seed, or of the first that has none */
} OrrCapacityPoint;

typedef struct {
  GArray *points;      /* OrrCapacityPoint, in the order tried */
  const char *rate_of; /* what its rates count: "requests", "tasks" */
  OrrCapacityRange alone, sure;
  char *band_note;       /* why the bands cannot be trusted; NULL: they can */
  gint64 trace_requests; /* of a trace, which is replayed until there is a steady state; else 0 */
  double trace_rate;     /* requests/s as the scenario has it */
  char *left_out;        /* of the trace: "columns that are not read: a, b"; NULL: nothing */
  char *load_note;       /* why no rate has a steady state; NULL: each that meets has one */
} OrrCapacity;

/* @tree: the scenario, which the search changes. NULL with ORR_FAULT_DOCUMENT when the load has no
 * rate or the scenario has no objective, or with the error of a run. */
OrrCapacity *orr_capacity_find(OrrLibrary *library, OrrNode *tree, const OrrCapacityQuery *query,
                               GError **error);
void orr_capacity_free(OrrCapacity *capacity);

/* Of the requests that a run counts, those within their objectives. */
double orr_capacity_fraction(const OrrServingResult *result);

/* The point of the highest rate that meets the objectives; NULL: none does. */
const OrrCapacityPoint *orr_capacity_best(const OrrCapacity *capacity);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(OrrCapacity, orr_capacity_free)

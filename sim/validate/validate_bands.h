/*
 * validate_bands.h - asks measured answers for their own bands: the test of what bands promise.
 *
 * An answer that was measured may not speak for itself. The rows that are left out decide which
 * promise is tested:
 *
 *   set       all rows of its validation set: a user whose runs are unlike all sets (the default)
 *   row       its own row alone: a user whose runs are like a set's
 *   nothing   for rows that the residuals do not hold
 *
 * In addition to its band each answer gets a constant one: the quantiles of all other residuals of
 * the same quantity, equally weighted, at the same level and with the same rows left out. A band
 * that is not narrower than that gains nothing from likeness.
 */
#pragma once

#include "sim/bands/band.h"
#include "sim/bands/band_metrics.h"

typedef enum {
  ORR_VALIDATE_BANDS_SET,
  ORR_VALIDATE_BANDS_ROW,
  ORR_VALIDATE_BANDS_NOTHING,
  ORR_VALIDATE_BANDS_MODEL, /* all rows of its model, and so on */
  ORR_VALIDATE_BANDS_STACK,
  ORR_VALIDATE_BANDS_DEVICE,
  ORR_VALIDATE_BANDS_CLUSTER
} OrrValidateBandsLeave;
extern const char *const orr_validate_bands_leave_words[]; /* "set", "row", ..., NULL */

/* The levels that are asked for. */
enum { ORR_VALIDATE_BANDS_LEVELS = 2 };
extern const double orr_validate_bands_levels[ORR_VALIDATE_BANDS_LEVELS]; /* 0.8, 0.5 */

/* Bounds of the error, as the logarithms of what a measurement is over the answer, in time (a
 * rate's are inverted). NAN: no bounds. */
typedef struct {
  double low, high;
} OrrBandsBounds;

/* A measured answer with its bands. */
typedef struct {
  const OrrResidual *residual;
  const OrrResidualAnswer *answer;
  const OrrBandMetric *metric;
  double log_error; /* log(measured / simulated) of a time; a rate's is inverted */
  OrrBandQuality quality;
  OrrBandsBounds bands[ORR_VALIDATE_BANDS_LEVELS];
  OrrBandsBounds constants[ORR_VALIDATE_BANDS_LEVELS];
  double median; /* of the residuals that make the constants */
} OrrBandsCheck;

typedef struct {
  const OrrResidual *residual;
  OrrQuantity quantity;
  double log_error;
} OrrBandsError;

/* The shipped residuals of one kind of workload. */
typedef struct {
  const char *kind;
  OrrResiduals *residuals;
  OrrBands *bands;
  GArray *errors; /* of OrrBandsError, least first: of all answers that can have a band */
} OrrBandsKind;

typedef struct {
  OrrValidateBandsLeave leave;
  GArray *kinds;  /* of OrrBandsKind */
  GArray *checks; /* of OrrBandsCheck, by kind, set and row */
} OrrValidateBands;

/* Checks the residuals of @sets (NULL: all). NULL with @error where a file is bad or holds no row
 * of them. */
OrrValidateBands *orr_validate_bands_new(OrrLibrary *library, char *const *sets,
                                         OrrValidateBandsLeave leave, GError **error);

/* Checks @rows instead, which must outlive it, against the shipped residuals. */
OrrValidateBands *orr_validate_bands_of_rows(OrrLibrary *library, const OrrResiduals *rows,
                                             OrrValidateBandsLeave leave, GError **error);

void orr_validate_bands_free(OrrValidateBands *bands);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(OrrValidateBands, orr_validate_bands_free)

/* The bands of @kind; NULL: none. */
const OrrBands *orr_validate_bands_of_kind(const OrrValidateBands *bands, const char *kind);

/* Why the bands cannot be trusted (orr_bands_stale); NULL: they can. */
const char *orr_validate_bands_stale(const OrrValidateBands *bands);

/* The question for @check's band at @level, with what @bands leaves out. */
OrrBandQuestion orr_validate_bands_question(const OrrValidateBands *bands,
                                            const OrrBandsCheck *check, double level);

/* validate_coverage.c: how well bands keep their promise, over groups of measured answers.
 *
 * Of the answers of a group that have a band (quality good or weak):
 *
 *   coverage         the fraction whose measurement lies inside; should be near the level
 *   width            the mean of log(high / low); 0.10: about 5 % to either side
 *
 * and of their constant bands (validate_bands.h) likewise. The two differ in coverage, so widths
 * are compared at equal coverage: each constant band is scaled about its median by one factor s
 * for the whole group, the least with which the constant bands cover as many answers as the bands
 * do:
 *
 *   low' = m + s (low - m)    high' = m + s (high - m)
 *
 * s is chosen with hindsight, and for each group anew, which no band can be: the smaller the
 * group, the stricter the comparison.
 *
 *   equal_width      the mean width of the scaled constant bands
 *   ratio            width / equal_width; below 1 likeness makes bands narrower
 */

/* NAN where nothing can be counted. */
typedef struct {
  double coverage, width;
  double constant_coverage, constant_width;
  double equal_width, ratio; /* over answers that have both bands */
} OrrCoverageLevel;

typedef struct {
  const char *name;
  guint n_answers, n_good, n_weak, n_none;
  OrrCoverageLevel levels[ORR_VALIDATE_BANDS_LEVELS];
} OrrCoverage;

/* A sum over sets. */
typedef struct {
  const char *name, *sentence;
  gboolean (*has)(const OrrBandsCheck *check);
} OrrCoverageGroup;

/* Groups that README reports; ends with a NULL name. */
extern const OrrCoverageGroup orr_coverage_groups[];

/* The coverage of @group's checks. */
OrrCoverage orr_coverage_of_group(const OrrValidateBands *bands, const OrrCoverageGroup *group);

/* The coverage of the checks of one set. */
OrrCoverage orr_coverage_of_set(const OrrValidateBands *bands, const char *set);

/* The sets that have checks, in order; of const char *, interned. */
GPtrArray *orr_coverage_sets(const OrrValidateBands *bands);

/* validate_pairs.c: asks pairs of measured answers for the band of their ratio: which of the two
 * is faster, and how surely Orrery says so.
 *
 * A pair is two rows of one validation set with the same measured result that differ in one axis.
 * An axis is a group of inputs that one choice of a user changes together:
 *
 *   device        device, architecture, cluster, GPUs that NVLink joins
 *   stack         software and its release; for serving also the scheduler
 *   model         model, family, parameters
 *   format        number format
 *   form          together or apart; the collective
 *   parallelism   GPUs, nodes, TP, PP, DP, CP, EP
 *   batch         sequences per step (training)
 *   micro         sequences per micro-batch
 *   load          requests in flight or per second, and how they arrive
 *   lengths       tokens of prompts, or of sequences, and of outputs
 *   size          bytes of a collective
 *   method        pipeline schedule (training)
 *   recompute     what is recomputed
 *   sharding      what data parallelism shards
 *   other         nothing above, and Orrery's answers differ: a setting that likeness does not know
 *
 * Results that a likeness also holds (fractions of the time, sequences that run, the algorithm
 * that NCCL chooses) are not inputs, so they may differ. A ratio is decided where its band
 * excludes 1.
 */

typedef enum {
  ORR_AXIS_DEVICE,
  ORR_AXIS_STACK,
  ORR_AXIS_MODEL,
  ORR_AXIS_FORMAT,
  ORR_AXIS_FORM,
  ORR_AXIS_PARALLELISM,
  ORR_AXIS_BATCH,
  ORR_AXIS_MICRO,
  ORR_AXIS_LOAD,
  ORR_AXIS_LENGTHS,
  ORR_AXIS_SIZE,
  ORR_AXIS_METHOD,
  ORR_AXIS_RECOMPUTE,
  ORR_AXIS_SHARDING,
  ORR_AXIS_OTHER,
  ORR_AXES
} OrrPairAxis;
extern const char *const orr_validate_pairs_axes[]; /* "device" ..., NULL */

typedef struct {
  const OrrBandsCheck *first, *second;
  OrrPairAxis axis;
  double log_measured, log_simulated; /* of first over second, as times */
  OrrBandsBounds band;                /* of log_measured, at level 0.8; NAN: none */
} OrrBandsPair;

/* At most @most pairs of each set, evenly spread over all of its pairs; of OrrBandsPair. */
GArray *orr_validate_pairs_new(const OrrValidateBands *bands, guint most);

typedef struct {
  const char *name;
  guint n_pairs, n_banded;
  double named;    /* fraction of all pairs whose faster one Orrery's answers name */
  double coverage; /* of the pairs that have a band */
  double decided;  /* fraction of all pairs whose band excludes 1 */
  double right;    /* fraction of the decided ones whose faster one was measured to be faster */
  double width;    /* mean of log(high / low) of the ratio's band */
  double apart;    /* the same where the two answers' own bands are combined: low over high */
} OrrPairsSummary;

/* All of @pairs, or the pairs of one set, of one axis, or whose answers are both in @group (NULL,
 * ORR_AXES: any). */
OrrPairsSummary orr_validate_pairs_summary(const GArray *pairs, const char *set, OrrPairAxis axis,
                                           const OrrCoverageGroup *group);

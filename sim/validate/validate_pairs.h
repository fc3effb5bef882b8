/*
 * validate_pairs.h - asks pairs of measured answers for the band of their ratio: which of the two
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
 * Results that a likeness also holds (fractions of the time, sequences that run, the algorithm that
 * NCCL chooses) are not inputs, so they may differ. A ratio is decided where its band excludes 1.
 */
#ifndef ORR_VALIDATE_PAIRS_H
#define ORR_VALIDATE_PAIRS_H

#include "sim/validate/validate_coverage.h"

G_BEGIN_DECLS

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

G_END_DECLS

#endif

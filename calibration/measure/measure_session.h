/*
 * measure_session.h - spends a time budget on a device: chooses shapes, measures and verifies them,
 * and passes rows on.
 *
 * In a job of several ranks every rank runs the session; rank 0 chooses shapes and stores rows, and
 * the others follow. All ranks measure the families that need all GPUs together; rank 0 measures
 * the rest.
 *
 * A shape measured by all ranks:
 *
 *   agree         what rank 0 picked
 *   prepare       each for itself: here memory runs out, on one rank maybe
 *   settle        no rank begins the collective unless all can: else all pass the shape over, or
 *                 end with that rank's reason
 *   verify, time
 *   settle        likewise
 *
 * Power is watched for one new row in eight: it takes 2 s, 1.5 of them until the board has settled,
 * while the timing of a row takes 0.14 s and pauses. All ranks count the rows in the same way.
 *
 * A rank that fails between the two `settle` ends the others through the layer's `fail`: they would
 * wait for a call that never comes.
 */
#pragma once

#include "calibration/measure/measure_plan.h"

typedef struct {
  double budget_s;
  const OrrMeasureFamily *const *families; /* NULL-terminated */
  /* of OrrMeasureRow: rows measured earlier with the same set-up; may be NULL */
  const GArray *known;
  const char *date; /* date of all rows */
  OrrTimingRule rule;
  /* Called with each new row; FALSE with @error ends the session. */
  gboolean (*row)(const OrrMeasureRow *row, void *user, GError **error);
  /* Called with each shape that could not be measured; may be NULL. */
  gboolean (*refusal)(const OrrMeasureRefusal *refusal, void *user, GError **error);
  /* reports what was skipped and why; each reason once */
  void (*note)(const char *text, void *user);
  void (*progress)(double spent_s, double budget_s, void *user);
  void *user;
} OrrMeasureOrder;

typedef struct {
  guint n_new, n_known, n_passed_over, n_wrong; /* rows; shapes; rows that failed verification */
  double spent_s;
  gboolean is_complete; /* the plan is empty */
} OrrMeasureOutcome;

extern const OrrTimingRule orr_timing_default;
enum { ORR_WATCHED_ONE_IN = 8 }; /* power is watched for one new row in this many */

/* The plan of a session of one process over these families (NULL-terminated). */
OrrMeasurePlan *orr_measure_session_plan(const OrrBenchFacts *facts,
                                         const OrrMeasureFamily *const *families);

/* @ret_states, if not NULL, gets one OrrPlanState for each family of the order. */
gboolean orr_measure_session(const OrrDeviceLayer *layer, OrrBench *bench,
                             const OrrMeasureOrder *order, OrrMeasureOutcome *ret_outcome,
                             OrrPlanState *ret_states, GError **error);

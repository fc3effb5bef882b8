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

#include "calibration/measure/family.h"

/* measure_plan.c: chooses the next shape to measure.
 *
 * Shapes that differ only in numbers form a slice (of one dtype and layout, say): a table that will
 * be interpolated. The budget goes where interpolation is worst:
 *
 *   1. Until a slice has its seeds (2 for each axis and 1), the shape farthest from what is
 *      measured, in log2 of the numbers, each axis scaled to [0, 1] (Gonzalez 1985: farthest-point
 *      traversal). All families in turn, and in each all slices: however short the budget, none
 *      waits for another's twentieth table.
 *   2. Then each measured point is left out: its residual r = log(time / roofline) is guessed from
 *      its nearest neighbours, weighted by 1/d^2 (Shepard 1968), and e = |guess - r| is how much
 *      the neighbours disagree. A shape not yet measured scores the weighted e of its neighbours
 *      times its distance to the nearest of them; the highest score of all slices is next.
 *
 * Deterministic: ties go to the shape that comes first in the plan. */

typedef struct OrrMeasurePlan OrrMeasurePlan;

/* Leaves out shapes that take more than @longest_s by the roofline or that need more than the
 * device's memory. */
OrrMeasurePlan *orr_measure_plan_new(const OrrBenchFacts *facts, double longest_s);
void orr_measure_plan_free(OrrMeasurePlan *plan);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(OrrMeasurePlan, orr_measure_plan_free)

void orr_measure_plan_add(OrrMeasurePlan *plan, const OrrMeasureFamily *family);

/* Records that @shape took @us; FALSE if it is not in the plan. */
gboolean orr_measure_plan_mark(OrrMeasurePlan *plan, const OrrShape *shape, double us);
/* Removes a shape that cannot be measured here. */
void orr_measure_plan_drop(OrrMeasurePlan *plan, const OrrShape *shape);

/* The index of the shape to measure next; -1 if none is left. @ret_score (may be NULL) gets its
 * score; INFINITY: a seed. */
gint64 orr_measure_plan_next(OrrMeasurePlan *plan, double *ret_score);
const OrrShape *orr_measure_plan_shape(const OrrMeasurePlan *plan, gint64 index);

/* The state of one family: its slices and their seeds, shapes planned and measured, and the mean
 * of e over its measured points (NAN below two). */
typedef struct {
  guint n_slices, n_seeds, n_planned, n_measured;
  double disagreement;
} OrrPlanState;

OrrPlanState orr_measure_plan_state(const OrrMeasurePlan *plan, const OrrMeasureFamily *family);

/* --- measure_session.c --- */

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

/*
 * measure_plan.h - chooses the next shape to measure.
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
 * Deterministic: ties go to the shape that comes first in the plan.
 */
#pragma once

#include "calibration/measure/family.h"

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

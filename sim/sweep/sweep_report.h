/*
 * sweep_report.h - collects the report of a sweep: counts, the best points, the Pareto front.
 */
#pragma once

#include "sim/sweep/sweep_point.h"

OrrSweepReport *orr_sweep_report_new(const OrrSweepPlan *plan);

/* Counts an answer. Returns whether the report shows the point now. */
gboolean orr_sweep_report_add(OrrSweepReport *report, const OrrSweepPlan *plan,
                              const OrrSweepAnswer *answer);

/* Objective @i of @score as a quantity to minimize. */
double orr_sweep_report_cost(const OrrSweepPlan *plan, const double *score, guint i);

/* Fills in the settings of @point, if the report shows it. */
void orr_sweep_report_settings(OrrSweepReport *report, const OrrSweepPlan *plan, guint64 point,
                               guint64 combination);

/*
 * sweep_store.h - the rows of a sweep: written as points are answered, read to resume.
 */
#pragma once

#include "sim/sweep/sweep_point.h"

/* Stores the sweep as the run *@sweep, which must be unused; 0: as the next run, whose number is
 * returned in *@sweep. */
gboolean orr_sweep_store_begin(OrrStore *store, const OrrSweepPlan *plan, guint64 n_points,
                               const GArray *excluded, gint64 *sweep, GError **error);

/* Stores one point as the run @sweep + 1 + point; with its likeness, if it has one and
 * @with_likeness. */
gboolean orr_sweep_store_point(OrrStore *store, const OrrSweepPlan *plan, gint64 sweep,
                               const OrrSweepAnswer *answer, gboolean with_likeness,
                               GError **error);

/* Finds the newest sweep of the same document, or the one with number @run if it is not 0.
 * *@ret_sweep is 0 when there is none. */
gboolean orr_sweep_store_find(OrrStore *store, const OrrSweepPlan *plan, gint64 run,
                              gint64 *ret_sweep, guint64 *ret_n_points, GError **error);

/* Calls @visit for each point of @sweep in the database, in order. Of the answer only point,
 * status, eligible, score and reason are set. */
typedef void (*OrrSweepVisit)(const OrrSweepAnswer *answer, void *user);
gboolean orr_sweep_store_visit(OrrStore *store, gint64 sweep, guint64 n_points, OrrSweepVisit visit,
                               void *user, GError **error);

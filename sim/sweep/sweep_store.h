/*
 * sweep_store.h - a sweep's rows: written as they come, and read again to go on.
 */
#ifndef ORR_SWEEP_STORE_H
#define ORR_SWEEP_STORE_H

#include "sim/sweep/sweep_private.h"

G_BEGIN_DECLS

/* As the run *@sweep, which is free; 0: the next one, and *@sweep says which. */
gboolean orr_sweep_store_begin(OrrStore *store, const OrrSweepPlan *plan, guint64 n_points,
                               const GArray *excluded, gint64 *sweep, GError **error);
gboolean orr_sweep_store_point(OrrStore *store, const OrrSweepPlan *plan, gint64 sweep,
                               const OrrSweepAnswer *answer, GError **error);

/* The newest sweep of the same document, or the one whose number is @run; *@ret_sweep is 0 where
 * there is none. */
gboolean orr_sweep_store_find(OrrStore *store, const OrrSweepPlan *plan, gint64 run,
                              gint64 *ret_sweep, guint64 *ret_n_points, GError **error);

/* Every point that is there, in order; of an answer's members: point, rung, status, eligible,
 * score. */
typedef void (*OrrSweepVisit)(const OrrSweepAnswer *answer, void *user);
gboolean orr_sweep_store_visit(OrrStore *store, gint64 sweep, guint64 n_points, OrrSweepVisit visit,
                               void *user, GError **error);

/* --- sweep_known.c --- */

/* The same as a file, a line a point, and back; of an answer's members: point, rung, status,
 * eligible, score[0]. */
gboolean orr_sweep_known_write(const char *path, OrrStore *store, gint64 sweep, guint64 n_points,
                               GError **error);
gboolean orr_sweep_known_visit(const char *path, OrrSweepVisit visit, void *user, GError **error);

G_END_DECLS

#endif

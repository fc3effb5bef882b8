/*
 * sweep_rungs.h - the order of points, rung after rung.
 *
 * The points of rung 0 come from the stream. When all points of a rung are answered, the sampler
 * keeps the best of them by the first objective; these are the points of the next rung, in order of
 * combination. Points are numbered from 0 through all rungs:
 *
 *   rung 0            rung 1        rung 2
 *   0 1 2 ... n-1     n ... n+k-1   n+k ...      a rung's first point is `first`
 */
#ifndef ORR_SWEEP_RUNGS_H
#define ORR_SWEEP_RUNGS_H

#include "sim/sweep/sampler.h"
#include "sim/sweep/sweep_point.h"
#include "sim/sweep/sweep_stream.h"

G_BEGIN_DECLS

typedef struct OrrSweepRungs OrrSweepRungs;

OrrSweepRungs *orr_sweep_rungs_new(const OrrSweepPlan *plan, OrrSweepVariants *variants);
void orr_sweep_rungs_free(OrrSweepRungs *rungs);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(OrrSweepRungs, orr_sweep_rungs_free)

/* The next point of the current rung; FALSE at its end. */
gboolean orr_sweep_rungs_next(OrrSweepRungs *rungs, OrrSweepTask *ret_task);

/* Counts an answered point of the current rung. */
void orr_sweep_rungs_answered(OrrSweepRungs *rungs);

/* Notes the first objective's value of @point, if it is in the current rung. A point without a
 * score does not reach the next rung. */
void orr_sweep_rungs_score(OrrSweepRungs *rungs, guint64 point, double score);

/* Whether every point of the current rung is answered and there is another rung. */
gboolean orr_sweep_rungs_can_climb(const OrrSweepRungs *rungs);

/* Begins the next rung. */
void orr_sweep_rungs_climb(OrrSweepRungs *rungs);

/* The range of points of the current rung, as far as they were given out. */
void orr_sweep_rungs_range(const OrrSweepRungs *rungs, guint64 *ret_from, guint64 *ret_to);

gboolean orr_sweep_rungs_is_last(const OrrSweepRungs *rungs, guint rung);

/* The number of rungs, and an upper bound of the points of all rungs when rung 0 has @n_first:
 * points that fail do not reach the next rung. */
guint64 orr_sweep_rungs_count(const OrrSweepPlan *plan, guint64 n_first);

G_END_DECLS

#endif

/*
 * sweep_pool.h - worker processes that simulate points.
 *
 * A worker is forked once and simulates one point after another. It gets its next points before it
 * finishes the current one, so that it never waits; but no more than 0.05 s of work, so that all
 * workers end at about the same time. A worker that dies loses at most one point.
 */
#ifndef ORR_SWEEP_POOL_H
#define ORR_SWEEP_POOL_H

#include "sim/sweep/sweep_point.h"

G_BEGIN_DECLS

typedef struct {
  guint jobs; /* worker processes */
  double timeout_s;
  /* The next point; FALSE: none, or none until the points under way are answered. */
  gboolean (*next)(OrrSweepTask *ret_task, void *user);
  /* Takes an answer; FALSE with @error stops the pool at once. */
  gboolean (*answer)(const OrrSweepAnswer *answer, void *user, GError **error);
  /* Called a few times per second; FALSE with @error stops the pool at once. */
  gboolean (*tick)(void *user, GError **error);
  /* 1: give out no more points; above 1: stop at once. May be NULL. */
  const volatile gint *interrupted;
  /* For tests: called in the worker before each point. May be NULL. */
  void (*before)(const OrrSweepTask *task, void *user);
  void *user;
} OrrSweepCrew;

/* Simulates the points that crew->next returns, until there are no more. */
gboolean orr_sweep_pool_run(const OrrSweepPlan *plan, OrrSweepVariants *variants,
                            const OrrSweepCrew *crew, GError **error);

G_END_DECLS

#endif

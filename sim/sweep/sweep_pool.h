/*
 * sweep_pool.h - worker processes that simulate points.
 *
 * A worker is forked once and simulates one point after another; it is given the next ones before
 * it has finished, so that it never waits, and no more than a twentieth of a second's worth, so
 * that all end together (whoever is done first takes what is left). A worker that dies takes one
 * point with it at most.
 */
#ifndef ORR_SWEEP_POOL_H
#define ORR_SWEEP_POOL_H

#include "sim/sweep/sweep_private.h"

G_BEGIN_DECLS

typedef struct {
  guint jobs;
  double timeout_s;
  gboolean (*next)(OrrSweepTask *ret_task,
                   void *user); /* FALSE: none, or none before what is under way is answered */
  gboolean (*answer)(const OrrSweepAnswer *answer, void *user,
                     GError **error);           /* FALSE: the pool stops at once */
  gboolean (*tick)(void *user, GError **error); /* a few times a second; FALSE: the same */
  const volatile gint
      *interrupted; /* not 0: give out no more; above 1: stop at once. May be NULL */
  void (*before)(const OrrSweepTask *task,
                 void *user); /* in the worker, before each point; may be NULL: of tests */
  void *user;
} OrrSweepCrew;

gboolean orr_sweep_pool_run(const OrrSweepPlan *plan, OrrSweepVariants *variants,
                            const OrrSweepCrew *crew, GError **error);

G_END_DECLS

#endif

/*
 * sweep_point.h - simulates one point of a sweep: applies its variant to the scenario, runs it,
 * and keeps its objectives or the reason why it has none.
 */
#ifndef ORR_SWEEP_POINT_H
#define ORR_SWEEP_POINT_H

#include "sim/sweep/sweep_likeness.h"
#include "sim/sweep/sweep_reasons.h"
#include "sim/sweep/sweep_variant.h"

G_BEGIN_DECLS

typedef struct {
  guint64 point, combination;
  guint32 rung;
} OrrSweepTask;

/* Everything that the rows of a point need, as plain bytes that cross a pipe. */
typedef struct {
  guint64 point, combination;
  guint32 rung;
  gint32 status;   /* OrrPointStatus */
  gint32 eligible; /* the point is ok and satisfies the constraints on results */
  gint32 folded;
  double seconds[ORR_N_TIMES];             /* of the iteration by kind, mean over GPUs; training */
  double score[ORR_SWEEP_MOST_OBJECTIVES]; /* the values of the objectives */
  double wall_time_s;
  OrrResult result;
  OrrSweepLikeness likeness; /* all zero: not known */
  char engine[96];
  char reason[ORR_REASON_BYTES]; /* why the point is not ok */
} OrrSweepAnswer;

/* Exit status of a worker whose SimGrid child was killed: as if the worker itself had been. */
#define ORR_KILLED_STATUS 77

typedef void (*OrrSweepSend)(const OrrSweepAnswer *answer, void *user);

/* Simulates @task and calls @send once with the answer: in this process, or in a child that is
 * forked when the point needs a SimGrid engine. The answer has a likeness, which takes 10 to 150
 * us, only if the point enters @seen, the report of what this process simulated at this rung. */
void orr_sweep_point_run(OrrSweepVariants *variants, const OrrSweepPlan *plan, OrrSweepReport *seen,
                         const OrrSweepTask *task, OrrSweepSend send, void *user);

G_END_DECLS

#endif

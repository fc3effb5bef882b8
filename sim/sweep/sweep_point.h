/*
 * sweep_point.h - simulates one point of a sweep: applies its variant to the scenario, runs it,
 * and keeps its objectives or the reason why it has none.
 */
#pragma once

#include "sim/sweep/sweep_likeness.h"
#include "sim/sweep/sweep_reasons.h"
#include "sim/sweep/sweep_variant.h"

/* How to treat a point. */
typedef enum { ORR_SWEEP_SIMULATE, ORR_SWEEP_BOUND } OrrSweepWork;

typedef struct {
  guint64 point, combination;
  gint32 work; /* OrrSweepWork */
} OrrSweepTask;

/* Everything that the rows of a point need, as plain bytes that cross a pipe. */
typedef struct {
  guint64 point, combination;
  gint32 status;   /* OrrPointStatus */
  gint32 eligible; /* the point is ok and satisfies the constraints on results */
  gint32 folded;
  gint32 is_bound; /* not the point's answer: its scores are bounds, and it is to be simulated */
  double seconds[ORR_N_TIMES];             /* of the iteration by kind, mean over GPUs; training */
  double score[ORR_SWEEP_MOST_OBJECTIVES]; /* the values of the objectives */
  double wall_time_s;
  double least_s;      /* of a bound and of a pruned point: seconds that a step takes at least */
  double memory_bytes; /* that the fullest GPU needs; 0: not known before a simulation */
  OrrResult result;
  OrrSweepLikeness likeness;       /* all zero: not known */
  guint64 looks[ORR_N_LEAP_LOOKS]; /* see OrrReplay; not stored */
  char engine[96];
  char reason[ORR_REASON_BYTES]; /* why the point is not ok */
} OrrSweepAnswer;

/* Exit status of a worker whose SimGrid child was killed: as if the worker itself had been. */
#define ORR_KILLED_STATUS 77

typedef void (*OrrSweepSend)(const OrrSweepAnswer *answer, void *user);

/* Does @task. ORR_SWEEP_BOUND: calls @send once, with the bound of a point that can be simulated,
 * or with the answer of one that cannot. ORR_SWEEP_SIMULATE: simulates it and calls @send once with
 * the answer: in this process, or in a child that is forked when the point needs a SimGrid engine.
 * The answer has a likeness, which takes 10 to 150 us, only if the point enters @seen, the report
 * of what this process simulated. */
void orr_sweep_point_run(OrrSweepVariants *variants, const OrrSweepPlan *plan, OrrSweepReport *seen,
                         const OrrSweepTask *task, OrrSweepSend send, void *user);

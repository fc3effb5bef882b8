/*
 * nccl_curve.h - what nccl-tests would print on a machine: a collective's times over sizes.
 *
 *   question (machine, collective, ranks, sizes) + settings -> scenario -> replay -> curve
 *
 * Each curve is replayed in a process of its own, several at once.
 */
#pragma once

#include "sim/run/scenario.h"
#include "workloads/collectives/collective.h"

/* One run of nccl-tests. */
typedef struct {
  const char *cluster;  /* a name of the library, or a file */
  gint64 nodes;         /* 0: as the cluster's document has it */
  gint64 ranks, stride; /* ranks 0: all GPUs */
  OrrCollectiveOp op;
  double begin_bytes, end_bytes, factor, step_bytes; /* step 0: the factor counts */
  char *const *settings;                             /* --set of the scenario; NULL: none */
} OrrNcclCurveQuestion;

typedef struct {
  double bytes, time_s;
  double low_s, high_s; /* the 80 % band of a measurement; NAN: none */
  double typical_s;     /* its median; NAN: none */
  double algbw_bytes_per_s, busbw_bytes_per_s;
  char algorithm[24], protocol[8], how[40];
} OrrNcclCurvePoint;

typedef struct {
  GError *error;  /* NULL: fine */
  GArray *points; /* of OrrNcclCurvePoint, by size; NULL where there is an error */
} OrrNcclCurve;

void orr_nccl_curve_free(OrrNcclCurve *curve); /* NULL is fine */

/* What to replay: @question, with further settings. */
typedef struct {
  const OrrNcclCurveQuestion *question;
  char **settings;   /* NULL: none */
  gboolean has_band; /* whether to fill the bounds */
} OrrNcclCurveOrder;

/* Returns an OrrNcclCurve * for each of the @n orders, in their order; @jobs at once, 0: one per
 * core. The caller owns the array. */
GPtrArray *orr_nccl_curve_replay(OrrLibrary *library, const OrrNcclCurveOrder *orders, guint n,
                                 guint jobs);

/* Time at @bytes: between two points by a straight line of logarithms, outside them the nearest
 * rate or time. @curve has points. */
double orr_nccl_curve_at(const OrrNcclCurve *curve, double bytes);

/* The scenario of @question, with @settings after the question's own (NULL: none), checked. NULL
 * with @error. */
OrrScenario *orr_nccl_curve_scenario(OrrLibrary *library, const OrrNcclCurveQuestion *question,
                                     char *const *settings, GError **error);

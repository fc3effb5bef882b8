/*
 * capacity.h - finds the highest rate of requests at which a serving scenario meets its objectives.
 *
 * A rate meets them when the fraction of requests within all objectives (rejected requests are not)
 * is at least `fraction`. Each rate is simulated `seeds` times with different loads; the lower end
 * of Student's 95 % confidence interval of their mean decides. Starting from the scenario's own
 * rate, the search doubles or halves the rate until one meets and one fails, then bisects until
 * both are within `tolerance` of each other. Every run is a process of its own (engine.h, rule 5).
 *
 * That rate is the simulation's alone. A second one holds with `confidence` against the errors of
 * the simulation: capacity_band.h.
 */
#ifndef ORR_CAPACITY_H
#define ORR_CAPACITY_H

#include "sim/sweep/capacity_band.h"

G_BEGIN_DECLS

typedef struct {
  double fraction; /* of the requests, above 0 to 1 */
  double tolerance;
  guint seeds;       /* 2 to 10 */
  double confidence; /* above 0.5 and below 1 */
  double least;      /* rates below it are not tried; 0: all may be */
} OrrCapacityQuery;

/* Of the fraction of requests within their objectives. */
typedef struct {
  double mean, margin; /* over the seeds; half of its confidence interval */
  gboolean meets;      /* its lower end reaches the fraction asked for */
} OrrCapacityInterval;

typedef struct {
  double rate;
  OrrCapacityInterval alone, sure; /* by the simulation alone; with the confidence asked for */
  OrrCapacityBand band;            /* the worst of the seeds' runs; `good` is that of one of them */
} OrrCapacityPoint;

typedef struct {
  double meets; /* the highest rate that meets; 0: none found */
  double fails; /* the lowest rate above it that fails; 0: none found */
} OrrCapacityRange;

typedef struct {
  GArray *points; /* OrrCapacityPoint, in the order tried */
  OrrCapacityRange alone, sure;
  char *band_note; /* why the bands cannot be trusted; NULL: they can */
} OrrCapacity;

/* @tree: the scenario, which the search changes. NULL with ORR_FAULT_DOCUMENT when the load has no
 * rate or the scenario has no objective, or with the error of a run. */
OrrCapacity *orr_capacity_find(OrrLibrary *library, OrrNode *tree, const OrrCapacityQuery *query,
                               GError **error);
void orr_capacity_free(OrrCapacity *capacity);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(OrrCapacity, orr_capacity_free)

G_END_DECLS

#endif

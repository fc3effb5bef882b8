/*
 * capacity.h - finds the highest rate of requests at which a serving scenario meets its objectives.
 *
 * A rate meets them when the fraction of requests within all objectives (rejected requests are not)
 * is at least `fraction`. Each rate is simulated `seeds` times with different loads; the lower end
 * of Student's 95 % confidence interval of their mean decides. Starting from the scenario's own
 * rate, the search doubles or halves the rate until one meets and one fails, then bisects until
 * both are within `tolerance` of each other. Every run is a process of its own (engine.h, rule 5).
 */
#ifndef ORR_CAPACITY_H
#define ORR_CAPACITY_H

#include "sim/run/scenario.h"

G_BEGIN_DECLS

typedef struct {
  double fraction; /* of the requests, above 0 to 1 */
  double tolerance;
  guint seeds; /* 2 to 10 */
} OrrCapacityQuery;

typedef struct {
  double rate;
  double fraction, margin; /* mean over the seeds; half of its confidence interval */
  gboolean meets;
} OrrCapacityPoint;

typedef struct {
  GArray *points; /* OrrCapacityPoint, in the order tried */
  double meets;   /* the highest rate that meets; 0: none found */
  double fails;   /* the lowest rate above it that fails; 0: none found */
} OrrCapacity;

/* @tree: the scenario, which the search changes. NULL with ORR_FAULT_DOCUMENT when the load has no
 * rate or the scenario has no objective, or with the error of a run. */
OrrCapacity *orr_capacity_find(OrrLibrary *library, OrrNode *tree, const OrrCapacityQuery *query,
                               GError **error);
void orr_capacity_free(OrrCapacity *capacity);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(OrrCapacity, orr_capacity_free)

G_END_DECLS

#endif

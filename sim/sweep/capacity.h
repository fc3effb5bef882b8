/*
 * capacity.h - the highest rate of requests at which a serving scenario meets its objectives.
 *
 * A rate meets them where the share of requests within all objectives (those rejected are not) is
 * at least `share`: `seeds` runs, each with loads of its own, give a mean and Student's interval of
 * 95 %, and the interval's lower end counts. From the scenario's own rate the search doubles or
 * halves until one rate meets and one does not, then bisects until they are within `tolerance` of
 * each other. Every run is a process of its own (engine.h, rule 5).
 */
#ifndef ORR_CAPACITY_H
#define ORR_CAPACITY_H

#include "sim/run/scenario.h"

G_BEGIN_DECLS

typedef struct {
  double share, tolerance;
  guint seeds; /* 2 to 10 */
} OrrCapacityAsk;

typedef struct {
  double rate, share, margin; /* mean of the seeds; half of its interval */
  gboolean meets;
} OrrCapacityPoint;

typedef struct {
  GArray *points; /* OrrCapacityPoint, as they were tried */
  double meets,
      fails; /* the highest rate that meets, the lowest above it that does not; 0: none was found */
} OrrCapacity;

/* @tree: the scenario's, which is changed. NULL with ORR_FAULT_DOCUMENT where the load has no
 * rate or there is no objective, or with a run's own fault. */
OrrCapacity *orr_capacity_find(OrrLibrary *library, OrrNode *tree, const OrrCapacityAsk *ask,
                               GError **error);
void orr_capacity_free(OrrCapacity *capacity);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(OrrCapacity, orr_capacity_free)

G_END_DECLS

#endif

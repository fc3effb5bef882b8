/*
 * autoscaler.c - the registry of autoscalers, and the rule by which several scale.
 */
#include "workloads/serving/autoscalers/autoscaler.h"

#include <math.h>

/* Kubernetes' --horizontal-pod-autoscaler-tolerance. */
#define TOLERANCE 0.1

extern const OrrAutoscaler orr_autoscaler_none, orr_autoscaler_queue, orr_autoscaler_slo,
    orr_autoscaler_utilization;

/* Alphabetical. To add one, see autoscaler.h. */
static const OrrEntry *const entries[] = {&orr_autoscaler_none.entry, &orr_autoscaler_queue.entry,
                                          &orr_autoscaler_slo.entry,
                                          &orr_autoscaler_utilization.entry, NULL};
const OrrRegistry orr_autoscaler_registry = {"autoscaler", entries};

guint orr_autoscaler_scale(guint n, double ratio) {
  if (fabs(ratio - 1) <= TOLERANCE) return n;
  return (guint)ceil(n * ratio * (1 - 1e-12)); /* 3 * (2 / 3) is 2 */
}

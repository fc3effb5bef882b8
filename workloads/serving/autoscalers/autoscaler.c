/*
 * autoscaler.c - the rule by which several autoscalers scale.
 */
#include "workloads/serving/autoscalers/autoscaler.h"

/* Kubernetes' --horizontal-pod-autoscaler-tolerance. */
#define TOLERANCE 0.1

guint orr_autoscaler_scale(guint n, double ratio) {
  if (fabs(ratio - 1) <= TOLERANCE) return n;
  return (guint)ceil(n * ratio * (1 - 1e-12)); /* 3 * (2 / 3) is 2 */
}

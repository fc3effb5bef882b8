/*
 * queue.c - a target number of requests per replica, running and waiting (KEDA and Knative on
 * concurrency).
 *
 *   wanted = ceil(requests / target)
 *
 *   workload: {replicas: 8, autoscaling: {by: {kind: queue, target: 16}, least: 1}}
 *
 * Oracle: at a rate r of requests that take s each, r s requests are in the system (Little), so r s
 * / target replicas are up.
 */
#include "workloads/serving/autoscalers/autoscaler.h"

typedef struct {
  double target;
} Params;

static const OrrFieldTable table = ORR_FIELDS(
    "autoscaler-queue", "Requests per replica.", Params,
    ORR_FIELD_REAL(Params, "target", target, ORR_UNIT_NONE, "16",
                   "Requests per replica, running and waiting.", .flags = ORR_FIELD_POSITIVE));

static guint wanted(const void *data, const OrrPoolView *view) {
  const Params *params = data;
  const guint n = MAX(view->n_started, 1);
  return orr_autoscaler_scale(n, (double)view->requests / (n * params->target));
}

const OrrAutoscaler orr_autoscaler_queue = {
    .entry = {"queue", "Enough replicas for a target number of requests each, running and waiting.",
              &table},
    .wanted = wanted,
};

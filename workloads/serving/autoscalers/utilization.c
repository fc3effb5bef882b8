/*
 * utilization.c - a target for the busy time of GPUs (Kubernetes' horizontal autoscaler on GPU
 * utilisation).
 *
 *   wanted = ceil(up * busy / target)
 *
 * An engine that decodes a single request computes all the time: `busy` shows that there is work,
 * not how much more the engine could take. A fleet with any load at all therefore looks full, which
 * is why the field scales on queues instead.
 *
 *   workload: {replicas: 8, autoscaling: {by: {kind: utilization, target: 80 %}, least: 1}}
 *
 * Oracle: if no two requests share a replica, the offered load r s equals the number of busy GPUs:
 * r s / target replicas are up.
 */
#include "workloads/serving/autoscalers/autoscaler.h"

typedef struct {
  double target;
} Params;

static const OrrFieldTable table =
    ORR_FIELDS("autoscaler-utilization", "Busy GPUs.", Params,
               ORR_FIELD_REAL(Params, "target", target, ORR_UNIT_FRACTION, "80 %",
                              "Fraction of the time for which a replica's GPUs compute.",
                              .min = 0.01, .max = 1));

static guint wanted(const void *data, const OrrPoolView *view) {
  const Params *params = data;
  const guint n = MAX(view->n_started, 1);
  if (view->n_up == 0) return n;
  return orr_autoscaler_scale(n, view->n_up * view->busy / (n * params->target));
}

const OrrAutoscaler orr_autoscaler_utilization = {
    .entry = {"utilization", "Enough replicas to keep their GPUs busy for a fraction of the time.",
              &table},
    .wanted = wanted,
};

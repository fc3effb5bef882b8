/*
 * slo.c - replicas by service level: the fraction of first tokens within slo.ttft.
 *
 *   share < target            as many again as are missing: n + ceil(n * (target - share)), once
 *                             all that started are up
 *   share met and busy < idle n - 1
 *
 * An objective does not show by how much a fleet is too large, so the fleet shrinks by one replica
 * at a time, while its GPUs are idle.
 *
 *   workload: {replicas: 8, slo: {ttft: 1 s},
 *              autoscaling: {by: {kind: slo, target: 95 %}, least: 1}}
 *
 * Oracle: with an objective that every request meets, the fleet shrinks to `least`; with one that
 * no request meets, it grows to `replicas`.
 */
#include "workloads/serving/autoscalers/autoscaler.h"

typedef struct {
  double target, idle;
} Params;

static const OrrFieldTable table = ORR_FIELDS(
    "autoscaler-slo", "Service level.", Params,
    ORR_FIELD_REAL(Params, "target", target, ORR_UNIT_FRACTION, "95 %",
                   "Target fraction of first tokens within slo.ttft.", .min = 0, .max = 1),
    ORR_FIELD_REAL(Params, "idle", idle, ORR_UNIT_FRACTION, "50 %",
                   "Remove a replica if GPUs compute for less than this fraction of the time.",
                   .min = 0, .max = 1));

static guint wanted(const void *data, const OrrPoolView *view) {
  const Params *params = data;
  const guint n = MAX(view->n_started, 1);
  const double share = view->answered > 0   ? (double)view->in_time / (double)view->answered
                       : view->requests > 0 ? 0
                                            : 1;
  if (share < params->target)
    return view->n_started > view->n_up ? n : n + (guint)ceil(n * (params->target - share));
  return view->busy < params->idle && n > 1 ? n - 1 : n;
}

const OrrAutoscaler orr_autoscaler_slo = {
    .entry = {"slo", "Enough replicas to keep a fraction of the first tokens within slo.ttft.",
              &table},
    .wanted = wanted,
};

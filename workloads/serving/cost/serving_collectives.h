/*
 * serving_collectives.h - collectives in the middle of an engine's step: who runs them, and how
 * long they take alone.
 *
 * Tensor parallelism's all-reduces go through vLLM's own kernel while they are small and the group
 * is in one domain, else through NCCL. Experts' tokens go through DeepEP's low-latency kernels
 * while they are few, else through its normal ones, over all ranks of attention data parallelism.
 * Both may be forced (serving_cost.h).
 */
#ifndef ORR_SERVING_COLLECTIVES_H
#define ORR_SERVING_COLLECTIVES_H

#include "workloads/serving/cost/serving_cost.h"

G_BEGIN_DECLS

/* a COMM */
OrrCost orr_serving_collectives_cost(const OrrServingCostParams *params, const OrrOperator *op);
/* Collectives that cannot run are told before the first step: ORR_FAULT_DOCUMENT. */
gboolean orr_serving_collectives_try(const OrrServingCostParams *params, GError **error);

G_END_DECLS

#endif

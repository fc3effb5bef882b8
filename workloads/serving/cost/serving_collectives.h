/*
 * serving_collectives.h - the collectives within an engine's step: which library runs them, and how
 * long they take alone.
 *
 * All-reduces of tensor parallelism use vLLM's own kernel while they are small and the group is in
 * one domain, otherwise NCCL. Experts' tokens use DeepEP's low-latency kernels while they are few,
 * otherwise its normal ones, over all ranks of attention data parallelism. Both can be forced
 * (serving_cost.h).
 */
#ifndef ORR_SERVING_COLLECTIVES_H
#define ORR_SERVING_COLLECTIVES_H

#include "workloads/serving/cost/serving_cost.h"

G_BEGIN_DECLS

/* @op: a COMM */
OrrCost orr_serving_collectives_cost(const OrrServingCostParams *params, const OrrOperator *op);
/* Bytes that leave a rank for another one in @op, a COMM. */
double orr_serving_collectives_sent(const OrrServingCostParams *params, const OrrOperator *op);
/* Reports collectives that cannot run before the first step: ORR_FAULT_DOCUMENT. */
gboolean orr_serving_collectives_try(const OrrServingCostParams *params, GError **error);

G_END_DECLS

#endif

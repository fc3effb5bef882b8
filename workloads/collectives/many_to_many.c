/*
 * many_to_many.c - loads the fabric's links with one unit flow for each pair that sends.
 */
#include "workloads/collectives/many_to_many.h"

#include "workloads/collectives/collective_private.h"

/* With @bytes of each pair; linear in them. */
static double seconds(const OrrCollectiveContext *context, const OrrManyToMany *sends,
                      double bytes) {
  g_auto(OrrCollectiveFlow) flow;
  g_autoptr(GArray) phases = g_array_new(FALSE, FALSE, sizeof(OrrCollectivePhase));
  double dearest_s = 0;
  orr_collective_flow_init(&flow, context);
  for (gint64 i = 0; i < sends->n_from; i++)
    for (gint64 k = 0; k < sends->n_to; k++) {
      if (sends->in_pairs && i != k) continue;
      const double hop_s = orr_collective_flow_edge(&flow, sends->from + i, sends->to + k, 0, 1);
      dearest_s = MAX(dearest_s, hop_s);
    }
  orr_collective_flow_finish(&flow, dearest_s, bytes, phases);
  const OrrCollectivePhase *phase = &g_array_index(phases, OrrCollectivePhase, 0);
  const double time_s =
      phase->latency_s +
      phase->bytes * orr_collective_per_byte(context->fabric, phase->uses, phase->n_uses, NULL);
  g_free(phase->uses);
  return time_s;
}

OrrManyToManyTime orr_many_to_many(const OrrCollectiveContext *context,
                                   const OrrManyToMany *sends) {
  static const double bytes = 1 << 20;
  OrrCollectiveContext inner = *context;
  OrrNcclCosts constants;
  if (context->cost) {
    if (!sends->in_pairs ||
        !orr_cost_nccl(context->cost, "direct", ORR_PROTOCOL_SIMPLE, &constants))
      constants = orr_cost_collective_constants(context->cost);
    inner.costs = &constants;
  }
  const double latency_s = seconds(&inner, sends, 0);
  return (OrrManyToManyTime){latency_s, (seconds(&inner, sends, bytes) - latency_s) / bytes};
}

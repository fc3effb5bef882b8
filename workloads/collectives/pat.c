/*
 * pat.c - parallel aggregated trees: all-gather and reduce-scatter in ceil(log2 n) steps (NCCL's
 * PAT since 2.23; Jeaugey, "PAT: a new algorithm for all-gather and reduce-scatter operations at
 * scale", 2025, arXiv 2506.20252).
 *
 * n trees, one rooted at each rank, run at once. Step k sends to the rank at distance 2^k and
 * carries min(2^k, n - 2^k) slices of S/n (Bruck's counts), so each rank sends n - 1 slices in
 * total, as in a ring, but in fewer steps.
 *
 *   all-gather, reduce-scatter    base + ceil(log2 n) alpha + (n-1)/n S/B
 *
 * NCCL supports one rank per node (ncclPatEnable, src/graph/tuning.cc), and so does this entry: one
 * member per node and per domain. Releases that have it (nccl.pat) choose it by its time; no
 * published rows could be fitted.
 *
 * Example:   algorithm: pat
 */
#include "workloads/collectives/collective_private.h"

static gboolean supports(const OrrCollectiveContext *context, const OrrCollectiveCall *call) {
  if (call->op != ORR_ALL_GATHER && call->op != ORR_REDUCE_SCATTER) return FALSE;
  g_auto(OrrCollectiveLayout) layout;
  orr_collective_layout_init(&layout, context->fabric, call->gpus, call->n);
  for (guint i = 1; i < call->n; i++) /* ranks are in the order of their nodes */
    if (orr_fabric_node(context->fabric, call->gpus[i]) ==
        orr_fabric_node(context->fabric, call->gpus[i - 1]))
      return FALSE;
  return layout.equal && layout.channels == 1;
}

static void plan(const OrrCollectiveContext *context, const OrrCollectiveCall *call,
                 GArray *phases) {
  g_auto(OrrCollectiveFlow) flow;
  orr_collective_flow_init(&flow, context);
  double latency_s = 0;
  for (guint distance = 1; distance < call->n; distance *= 2) {
    double dearest_s = 0;
    for (guint r = 0; r < call->n; r++) {
      gint64 to = call->gpus[(r + distance) % call->n];
      double hop_s =
          orr_collective_flow_edge(&flow, call->gpus[r], to, 0, MIN(distance, call->n - distance));
      dearest_s = MAX(dearest_s, hop_s);
    }
    latency_s += dearest_s;
  }
  orr_collective_flow_finish(&flow, latency_s, call->bytes / call->n, phases);
}

static double oracle(const OrrCollectiveCall *call, double alpha_s, double bytes_per_s) {
  return g_bit_storage(call->n - 1) * alpha_s +
         (call->n - 1.0) / call->n * call->bytes / bytes_per_s;
}

static gboolean is_released(const OrrNccl *nccl) { return nccl && nccl->pat; }

const OrrCollectiveAlgorithm orr_pat = {
    .entry = {.name = "pat",
              .sentence = "Trees from every rank at once: a ring's bytes in log2 n steps."},
    .chosen = ORR_CHOSEN_NEVER,
    .is_released = is_released,
    .needs = "one member in each node and each scale-up domain",
    .is_simple_only = TRUE,
    .supports = supports,
    .plan = plan,
    .oracle = oracle,
};

/*
 * mesh.c - every member exchanges with all others at once, over the links of a mesh (AMD's xGMI,
 * Ascend's HCCS, Gaudi's RoCE) or through a switch. HCCL's Mesh inside a server; RCCL's direct
 * all-gather (ROCm/rccl, src/rccl_wrap.cc) and the two-step all-reduce of MSCCL++, which RCCL runs
 * for small sizes.
 *
 *      0 ===== 1        reduce-scatter: each sends S/n to the owner of that part, n - 1 at once
 *      | \   / |        all-gather: each sends its S/n to all others
 *      |   X   |        all-reduce: one after the other
 *      | /   \ |
 *      3 ===== 2
 *
 *   all-gather, reduce-scatter   launch +   alpha +   (n-1)/n S/B      B: a member's links to all
 *   all-reduce                   launch + 2 alpha + 2 (n-1)/n S/B         other members together
 *
 * A ring over the same links (n - 1 rings at once) takes the same bytes and n - 1 times the steps.
 *
 * Only if the profile's `choices` say so, or forced. Example:   algorithm: mesh
 */
#include "workloads/collectives/collective_private.h"

static guint passes(OrrCollectiveOp op) { return op == ORR_ALL_REDUCE ? 2 : 1; }

static gboolean supports(const OrrCollectiveContext *context, const OrrCollectiveCall *call) {
  for (guint i = 1; i < call->n; i++)
    if (!orr_fabric_same_domain(context->fabric, call->gpus[0], call->gpus[i])) return FALSE;
  return call->op == ORR_ALL_REDUCE || call->op == ORR_ALL_GATHER || call->op == ORR_REDUCE_SCATTER;
}

double orr_mesh_pass(OrrCollectiveFlow *flow, const gint64 *gpus, guint n) {
  double dearest_s = 0;
  for (guint i = 0; i < n; i++)
    for (guint r = 1; r < n; r++) {
      const double hop_s = orr_collective_flow_edge(flow, gpus[i], gpus[(i + r) % n], 0, 1);
      dearest_s = MAX(dearest_s, hop_s);
    }
  return dearest_s;
}

static void plan(const OrrCollectiveContext *context, const OrrCollectiveCall *call,
                 GArray *phases) {
  g_auto(OrrCollectiveFlow) flow;
  orr_collective_flow_init(&flow, context);
  orr_collective_flow_fill(&flow, call->bytes, 0);
  const double hop_s = orr_mesh_pass(&flow, call->gpus, call->n);
  orr_collective_flow_finish(&flow, passes(call->op) * hop_s,
                             passes(call->op) * call->bytes / call->n, phases);
}

static double oracle(const OrrCollectiveCall *call, double alpha_s, double bytes_per_s) {
  return passes(call->op) * (alpha_s + (call->n - 1.0) / call->n * call->bytes / bytes_per_s);
}

const OrrCollectiveAlgorithm orr_mesh = {
    .entry = {.name = "mesh",
              .sentence = "Inside a domain each member exchanges with all others at once."},
    .chosen = ORR_CHOSEN_NEVER,
    .needs = "a group inside one scale-up domain",
    .supports = supports,
    .plan = plan,
    .oracle = oracle,
};

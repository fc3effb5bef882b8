/*
 * nvls_tree.c - NVLS inside each domain, double binary trees across them (NCCL's NVLSTree since
 * 2.18).
 *
 * N domains of m members. The switch sums a domain's slices for their owners (nvls.c), each owner's
 * S/m goes up and down two trees over the domains on its own rail (double_tree.c), and the switch
 * multicasts the result.
 *
 *   a NIC             2 units of S/(2m) for each tree edge: 2 S/m in all from 4 domains on, S/m for
 *                     2
 *   a scale-up link   m + 1 units of S/m, each way
 *
 *   all-reduce   base + step + 2 D alpha + S max(2/m / B_nic, (m + 1)/m / B_scale_up),
 *                D = floor(log2(N-1)) + 1
 *
 * If domains differ in size, each has m owners, the smallest number of NICs in a domain
 * (collective_layout.c); the switch sums over all members of a domain. alpha includes about one
 * chunk's time per level (cost.h): what NVIDIA's curves over 4 to 1,024 nodes show (GTC24 S62129).
 * NCCL disables it if a domain spans nodes (MNNVL; src/graph/tuning.cc).
 *
 * Example:   algorithm: nvls-tree
 */
#include "workloads/collectives/collective_private.h"

static gboolean supports(const OrrCollectiveContext *context, const OrrCollectiveCall *call) {
  if (call->op != ORR_ALL_REDUCE || orr_fabric_mesh_links(context->fabric, 0) > 1 ||
      !orr_nvls_sums(context))
    return FALSE;
  g_auto(OrrCollectiveLayout) layout;
  orr_collective_layout_init(&layout, context->fabric, call->gpus, call->n);
  return layout.n_domains > 1 && !orr_fabric_spans_nodes(context->fabric);
}

static void plan(const OrrCollectiveContext *context, const OrrCollectiveCall *call,
                 GArray *phases) {
  g_auto(OrrCollectiveLayout) layout;
  g_auto(OrrCollectiveFlow) flow;
  orr_collective_layout_init(&layout, context->fabric, call->gpus, call->n);
  orr_collective_flow_init(&flow, context);
  const guint m = layout.channels;
  double inside_s = 0;
  orr_collective_flow_fill(&flow, call->bytes, call->bytes / m);
  for (guint d = 0; d < layout.n_domains; d++) {
    const guint size = orr_collective_layout_size(&layout, d);
    double hop_s =
        orr_collective_flow_switch(&flow, layout.gpus + layout.first[d], size, 2 * (m + 1));
    inside_s = MAX(inside_s, hop_s);
  }
  double across_s = orr_double_tree_across(&flow, &layout);
  double latency_s = inside_s + 2 * orr_double_tree_depth(layout.n_domains) * across_s;
  orr_collective_flow_finish(&flow, latency_s, call->bytes / (2 * m), phases);
}

static void steps(const OrrCollectiveContext *context, const OrrCollectiveCall *call,
                  OrrCollectiveSteps *ret_steps) {
  g_auto(OrrCollectiveLayout) layout;
  orr_collective_layout_init(&layout, context->fabric, call->gpus, call->n);
  orr_double_tree_steps(call, &layout, TRUE, ret_steps);
}

/* For one member per domain: only the trees. */
static double oracle(const OrrCollectiveCall *call, double alpha_s, double bytes_per_s) {
  return orr_double_tree.oracle(call, alpha_s, bytes_per_s);
}

static gboolean is_released(const OrrNccl *nccl) { return !nccl || nccl->nvls_tree; }

const OrrCollectiveAlgorithm orr_nvls_tree = {
    .entry = {.name = "nvls-tree",
              .sentence = "NVSwitches sum inside each node, double binary trees across nodes."},
    .chosen = ORR_CHOSEN_WITH_ROWS,
    .is_released = is_released,
    .needs =
        "a group over several scale-up domains, none of which spans nodes, whose switches sum: "
        "Hopper's or later ones",
    .is_simple_only = TRUE,
    .supports = supports,
    .plan = plan,
    .steps = steps,
    .oracle = oracle,
};

/*
 * collnet.c - all-reduce in the network's switches (InfiniBand SHARP; NCCL's CollNetDirect).
 *
 * N domains of m members, one NIC each (for unequal domains see collective_layout.c). The owner of
 * S/m collects its slice inside the domain through the NVSwitch (as in nvls.c), sends it once, and
 * receives the sum of all domains once: a NIC carries S/m in each direction, while a ring carries
 * 2(n-1)/n S/m. Where the switch does not sum (A100), members send their slices to the owners,
 * which send the sums back to each: 2 (m - 1) slices instead of m + 1.
 *
 *   all-reduce   base + 2 steps + alpha + S max(1/m / B_nic, w/m / B_scale_up)
 *                w = m + 1, or 2 (m - 1)
 *
 * Graham et al., "Scalable hierarchical aggregation protocol (SHArP)", COMHPC 2016. alpha is the
 * path to the root switch and back, independent of the number of nodes: one number in NCCL's tuning
 * (31 us). NVIDIA shows 480 GB/s over 32 H100, the NVSwitch's rate (GTC25 S72583). It needs
 * switches and a plugin that a cluster document does not state, so it must be forced.
 *
 * Example:   algorithm: collnet
 */
#include "workloads/collectives/collective_private.h"

static gboolean supports(const OrrCollectiveContext *context, const OrrCollectiveCall *call) {
  if (call->op != ORR_ALL_REDUCE || !orr_fabric_transport(context->fabric)->in_network_reduction)
    return FALSE;
  g_auto(OrrCollectiveLayout) layout;
  orr_collective_layout_init(&layout, context->fabric, call->gpus, call->n);
  return layout.n_domains > 1;
}

/* Inside a domain the NVSwitch sums as for NVLS: if the profile has rows of that, with its
 * fraction of the links' bandwidth. */
static void apply_nvls_fraction(const OrrCollectiveContext *context, OrrCollectiveFlow *flow) {
  OrrNcclCosts nvls;
  if (context->cost &&
      orr_cost_nccl(context->cost, orr_nvls.entry.name, ORR_PROTOCOL_SIMPLE, &nvls))
    flow->costs.scale_up_efficiency = nvls.scale_up_efficiency;
}

/* Each NIC sends once and receives once. A ring along the rail loads exactly that, and the
 * switches between neighbours. */
static void plan(const OrrCollectiveContext *context, const OrrCollectiveCall *call,
                 GArray *phases) {
  g_auto(OrrCollectiveLayout) layout;
  g_auto(OrrCollectiveFlow) flow;
  orr_collective_layout_init(&layout, context->fabric, call->gpus, call->n);
  orr_collective_flow_init(&flow, context);
  apply_nvls_fraction(context, &flow);
  const guint m = layout.channels, n_domains = layout.n_domains;
  const guint slices = orr_nvls_sums(context) ? m + 1 : 2 * (m - 1);
  double inside_s = 0, across_s = 0;
  orr_collective_flow_fill(&flow, call->bytes, call->bytes / m);
  for (guint d = 0; d < n_domains; d++) {
    const guint size = orr_collective_layout_size(&layout, d);
    double hop_s = orr_collective_flow_switch(&flow, layout.gpus + layout.first[d], size, slices);
    inside_s = MAX(inside_s, hop_s);
    for (guint i = 0; i < m; i++) {
      gint64 here = orr_collective_layout_gpu(&layout, d, i);
      gint64 next = orr_collective_layout_gpu(&layout, (d + 1) % n_domains, i);
      double rail_s = orr_collective_flow_edge(&flow, here, next, i, 1);
      across_s = MAX(across_s, rail_s);
    }
  }
  orr_collective_flow_finish(&flow, 2 * inside_s + across_s, call->bytes / m, phases);
}

/* For one member per domain. */
static double oracle(const OrrCollectiveCall *call, double alpha_s, double bytes_per_s) {
  return alpha_s + call->bytes / bytes_per_s;
}

const OrrCollectiveAlgorithm orr_collnet = {
    .entry = {.name = "collnet",
              .sentence = "The network's switches sum (SHARP): each NIC sends its slice once."},
    .chosen = ORR_CHOSEN_NEVER,
    .needs = "a group over several scale-up domains, and a transport with in-network-reduction",
    .is_simple_only = TRUE,
    .supports = supports,
    .plan = plan,
    .oracle = oracle,
};

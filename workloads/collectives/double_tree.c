/*
 * double_tree.c - two binary trees over the hosts, each with half of the data; what is a leaf in
 * one is an inner node in the other (Sanders, Speck, Traeff: "Two-tree algorithms for full
 * bandwidth broadcast, reduction and scan", Parallel Computing 35, 2009; NCCL's tree since 2.4),
 * with a chain through the members inside each host, as NCCL has it. A host, "domain" below, is a
 * scale-up domain, or the node where it has several of them.
 *
 * The tree over positions 0 .. N-1 is the in-order one: the lowest set bit of a position is its
 * height above the leaves, position 0 is the root. The second tree is the first one mirrored (N
 * even) or shifted by one (N odd).
 *
 *        0                     7             N = 8: odd domains are leaves on the left, even ones
 *                                            on the right
 *         \                   /
 *          4                 3
 *        /   \             /   \              all-reduce: up both trees and down again
 *       2     6           5     1             depth D = floor(log2(N-1)) + 1
 *      / \   / \         / \   / \
 *     1   3 5   7       6   4 2   0
 *
 * Channels: m members per domain make m of these double trees (as NCCL has one per NIC); the k-th
 * has its chain k -> k+1 -> ... -> k-1 (mod m) and its NIC at member k. If domains differ in size,
 * m is the smallest number of NICs in a domain (collective_layout.c), and chains pass all members
 * of a domain. A unit flow is S/(2m). In the tree where its domain is an inner node, a NIC sends
 * one unit up and two down; in the other tree one up: 2 S/m in total for any N >= 4 (S for N = 2,
 * 3/2 S for N = 3).
 *
 *   launch + 2 (D alpha_across + (m-1) alpha_inside) + max(2 S/m / B_nic, 2(m-1)/m S / B_scale_up)
 *
 * NCCL has trees for all-reduce alone (src/graph/tuning.cc: broadcast and reduce skip all but the
 * ring).
 *
 * In a single domain there is one chain (as NCCL on one node), so an all-reduce takes as many hops
 * as the ring's. The channels of a tree reach less than the links' bandwidth (perChMaxTreeBws of
 * NCCL's tuning): the profile's efficiencies. Chunks follow one another; filling the tree with them
 * costs about one chunk per level (cost.h).
 *
 * Example:   algorithm: tree
 */
#include "workloads/collectives/collective_private.h"

typedef struct {
  OrrCollectiveFlow flow;
  OrrCollectiveLayout layout;
} Trees;

/* The parent of @position > 0 in the in-order tree over @n: one level up or, if that lies
 * outside, the next ancestor inside. */
static guint position_above(guint position, guint n) {
  guint bit = position & -position;
  guint up = (position ^ bit) | (bit << 1);
  return up < n ? up : position ^ bit;
}

guint orr_double_tree_above(guint t, guint node, guint n) {
  gboolean mirrored = t == 1 && n % 2 == 0;
  guint shift = t == 1 && n % 2 == 1 ? 1 : 0;
  guint position = mirrored ? n - 1 - node : (node + n - shift) % n;
  if (position == 0) return n;
  guint above = position_above(position, n);
  return mirrored ? n - 1 - above : (above + shift) % n;
}

/* Levels below the root: positions 1, 2, 4, ... lie on one path to it. */
static guint depth_of(guint n) { return n < 2 ? 0 : g_bit_storage(n - 1); }

/* Adds data between two GPUs, up the tree (from @low) and down. */
static double add_pair(Trees *trees, gint64 high, gint64 low, guint channel, guint weight) {
  double up_s = orr_collective_flow_edge(&trees->flow, low, high, channel, weight);
  double down_s = orr_collective_flow_edge(&trees->flow, high, low, channel, weight);
  return MAX(up_s, down_s);
}

/* Adds the edges of all channels between two domains; returns the most expensive hop. */
static double add_domains(Trees *trees, guint high, guint low) {
  const OrrCollectiveLayout *layout = &trees->layout;
  double dearest_s = 0;
  for (guint k = 0; k < layout->channels; k++) {
    const gint64 above = orr_collective_layout_gpu(layout, high, k),
                 below = orr_collective_layout_gpu(layout, low, k);
    double hop_s = add_pair(trees, above, below, k, 1);
    dearest_s = MAX(dearest_s, hop_s);
  }
  return dearest_s;
}

/* Adds both trees over the domains. Returns the most expensive hop. */
static double add_trees(Trees *trees) {
  guint n = trees->layout.n_domains;
  double dearest_s = 0;
  for (guint t = 0; t < ORR_N_TREES; t++)
    for (guint node = 0; node < n; node++) {
      guint above = orr_double_tree_above(t, node, n);
      if (above == n) continue;
      double hop_s = add_domains(trees, above, node);
      dearest_s = MAX(dearest_s, hop_s);
    }
  return dearest_s;
}

/* Adds the rotated chains of a domain. Returns the most expensive hop. */
static double add_chains(Trees *trees, guint domain) {
  const OrrCollectiveLayout *layout = &trees->layout;
  const guint size = orr_collective_layout_size(layout, domain);
  double dearest_s = 0;
  for (guint i = 0; size > 1 && i < size; i++) {
    const guint weight = ORR_N_TREES * orr_collective_layout_joined(layout, domain, i);
    const gint64 here = orr_collective_layout_gpu(layout, domain, i);
    double hop_s =
        add_pair(trees, here, orr_collective_layout_gpu(layout, domain, i + 1), 0, weight);
    dearest_s = MAX(dearest_s, hop_s);
  }
  return dearest_s;
}

double orr_double_tree_across(OrrCollectiveFlow *flow, const OrrCollectiveLayout *layout) {
  Trees trees = {.flow = *flow, .layout = *layout};
  double dearest_s = add_trees(&trees);
  *flow = trees.flow; /* its arrays may have moved */
  return dearest_s;
}

guint orr_double_tree_depth(guint n) { return depth_of(n); }

static double add_all_reduce(Trees *trees) {
  double inside_s = 0;
  for (guint d = 0; d < trees->layout.n_domains; d++) {
    double hop_s = add_chains(trees, d);
    inside_s = MAX(inside_s, hop_s);
  }
  double across_s = add_trees(trees);
  const guint most = orr_collective_layout_most(&trees->layout, 0);
  return 2 * (depth_of(trees->layout.n_domains) * across_s + (most - 1) * inside_s);
}

static gboolean supports(const OrrCollectiveContext *context, const OrrCollectiveCall *call) {
  if (call->op != ORR_ALL_REDUCE) return FALSE;
  if (context->gpus_per_switch == 0) return TRUE;
  g_auto(OrrCollectiveLayout) layout;
  orr_collective_layout_init_hosts(&layout, context->fabric, call->gpus, call->n);
  return !orr_collective_layout_is_strided(&layout, context); /* left to the ring: see ring.c */
}

static void plan(const OrrCollectiveContext *context, const OrrCollectiveCall *call,
                 GArray *phases) {
  Trees trees = {0};
  orr_collective_layout_init_hosts(&trees.layout, context->fabric, call->gpus, call->n);
  orr_collective_flow_init(&trees.flow, context);
  orr_collective_flow_fill(&trees.flow, call->bytes, call->bytes / trees.layout.channels);
  double latency_s = add_all_reduce(&trees);
  double unit_bytes = call->bytes / (ORR_N_TREES * trees.layout.channels);
  orr_collective_flow_finish(&trees.flow, latency_s, unit_bytes, phases);
  orr_collective_flow_clear(&trees.flow);
  orr_collective_layout_clear(&trees.layout);
}

static void steps(const OrrCollectiveContext *context, const OrrCollectiveCall *call,
                  OrrCollectiveSteps *ret_steps) {
  g_auto(OrrCollectiveLayout) layout;
  orr_collective_layout_init_hosts(&layout, context->fabric, call->gpus, call->n);
  orr_double_tree_steps(call, &layout, FALSE, ret_steps);
}

/* For one member per domain. */
static double oracle(const OrrCollectiveCall *call, double alpha_s, double bytes_per_s) {
  double transfer_s = call->bytes / bytes_per_s;
  double units = MIN(call->n, 4); /* units of S/2 that the busiest rank sends */
  return 2 * depth_of(call->n) * alpha_s + units / ORR_N_TREES * transfer_s;
}

const OrrCollectiveAlgorithm orr_double_tree = {
    .entry = {.name = "tree",
              .sentence = "Two binary trees over the nodes, half the data each: few steps."},
    .needs = "members of a node that share PCIe switches (NCCL before 2.12)",
    .supports = supports,
    .plan = plan,
    .steps = steps,
    .oracle = oracle,
};

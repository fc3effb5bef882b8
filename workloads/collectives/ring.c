/*
 * ring.c - every rank sends to the next one, all at once (Patarasuk, Yuan: "Bandwidth optimal
 * all-reduce algorithms for clusters of workstations", JPDC 2009; NCCL's ring).
 *
 *   0 -> 1 -> 2 -> 3        buffer S in n chunks; reduce-scatter: n-1 steps of S/n; all-gather: n-1
 *                           steps more
 *   ^______________|        broadcast, reduce: the ring cut at rank 0, chunks follow one another
 *                           (pipelined)
 *
 *   all-reduce                   launch + 2(n-1) alpha + 2(n-1)/n S/B
 *   all-gather, reduce-scatter   launch +  (n-1) alpha +  (n-1)/n S/B
 *   broadcast, reduce            launch +  (n-1) alpha +          S/B
 *
 * A chunk travels round the ring hop by hop, so if hops differ, alpha is counted per hop: (n-1)
 * alpha is the sum over the ring without its cheapest hop, not n-1 times the most expensive (NCCL's
 * tuning also counts network and NVLink hops separately).
 *
 * Channels. With several members in each of N > 1 domains, one ring would leave all NICs but one
 * idle. NCCL builds one ring per NIC: m of them, as many as the smallest domain has
 * (collective_layout.c). Ring k enters an even domain at member k, visits k, k+1, ..., k-1 (modulo
 * the domain's members) and leaves from k-1; it crosses an odd domain in the opposite direction,
 * k-1, ..., k. So it enters each domain on the rail on which it left the previous one. Only if N is
 * odd does the closing edge change rails (NCCL alternates its channels in the same way), and ring 0
 * between domains of different sizes.
 *
 *      domain 0          domain 1          m = 4, ring 0
 *      0-->1-->2-->3     0<--1<--2<--3
 *      ^           |     |           ^     each ring moves S/m; a NIC carries one ring,
 *      |           +-----|-----------+     a GPU's scale-up link m-1 of them
 *      +-----------------+
 *
 *   all-reduce     launch + 2 (hops) + 2(n-1)/n S/m * max(1 / B_nic, (m-1) / B_scale_up)
 *
 * In a domain of more than m members all m rings pass the links of the others: m instead of m-1.
 *
 * Where a node has several domains (pairs of NVLink, or PCIe alone) the picture's domain is the
 * node: NCCL searches rings over all of a node's GPUs, one for each NIC (src/graph/search.cc). Each
 * starts at a GPU next to its NIC and ends at one next to another, by which the next node is
 * entered (crossNic 2, the rings of odd nodes exchanged in src/graph/connect.cc): each NIC carries
 * one ring in and one out, and a bridge between sockets one ring each way.
 *
 * Inside one domain, or with one member per domain, there is one ring in rank order. The same holds
 * for NCCL before 2.12 if no two members of a node share a PCIe switch (src/graph/search.cc: a ring
 * returns to the NIC by which it entered, and a GPU reaches only the NIC of its own switch without
 * crossing the CPU; PXN removed that limit). On Selene, data-parallel groups of every second or
 * fourth GPU of a node then reduced at 24.3 GB/s, the rate of one NIC (Narayanan et al., SC21:
 * figure 15's step of 32 and 128 sequences with TP 2, and table 1's 3.6B and 7.5B).
 *
 * Example:   algorithm: ring
 */
#include "workloads/collectives/collective_private.h"

typedef struct {
  OrrCollectiveFlow *flow;
  const OrrCollectiveLayout *layout;
  const guint *starts;   /* orr_collective_layout_init_rings; NULL: ring k starts at member k */
  gint64 no_src, no_dst; /* the GPUs from which, and to which, an open ring has no edge; -1: none */
} Rings;

static guint size_of(const Rings *rings, guint domain) {
  return orr_collective_layout_size(rings->layout, domain);
}

static gint64 member(const Rings *rings, guint domain, guint i) {
  return orr_collective_layout_gpu(rings->layout, domain, i);
}

/* The member at which ring @k begins in an even domain. */
static guint start_of(const Rings *rings, guint domain, guint k) {
  return rings->starts ? rings->starts[domain * rings->layout->channels + k] : k;
}

/* How many rings join member @i to the next one: all but those that begin there. */
static guint joined(const Rings *rings, guint domain, guint i) {
  if (!rings->starts) return orr_collective_layout_joined(rings->layout, domain, i);
  const guint next = (i + 1) % size_of(rings, domain);
  guint n = 0;
  for (guint k = 0; k < rings->layout->channels; k++) n += start_of(rings, domain, k) != next;
  return n;
}

/* Adds the edge's load unless the ring is cut there; its latency counts in any case. */
static double add_edge(const Rings *rings, gint64 src, gint64 dst, guint channel, guint weight) {
  gboolean cut = src == rings->no_src || dst == rings->no_dst;
  return orr_collective_flow_edge(rings->flow, src, dst, channel, cut ? 0 : weight);
}

/* Every ring joins neighbours i, i+1 of a domain, except the one that enters or leaves there.
 * Returns the most expensive hop. */
static double add_inside(const Rings *rings) {
  double dearest_s = 0;
  for (guint d = 0; d < rings->layout->n_domains; d++)
    for (guint i = 0; i < size_of(rings, d); i++) {
      const guint weight = joined(rings, d, i);
      gint64 low = member(rings, d, i), high = member(rings, d, i + 1);
      double hop_s = d % 2 == 0 ? add_edge(rings, low, high, 0, weight)
                                : add_edge(rings, high, low, 0, weight);
      dearest_s = MAX(dearest_s, hop_s);
    }
  return dearest_s;
}

/* The member from which ring @k leaves an even domain; an odd domain the other way round. */
static guint far_end(const Rings *rings, guint domain, guint k) {
  return start_of(rings, domain, k) + size_of(rings, domain) - 1;
}

/* The edges of ring @k between domains; returns the sum of their hops. */
static double add_between(const Rings *rings, guint k, double *cheapest_s) {
  const guint n_domains = rings->layout->n_domains;
  double sum_s = 0;
  for (guint d = 0; d < n_domains; d++) {
    const guint next = (d + 1) % n_domains;
    gint64 src = member(rings, d, d % 2 == 0 ? far_end(rings, d, k) : start_of(rings, d, k));
    gint64 dst =
        member(rings, next, next % 2 == 0 ? start_of(rings, next, k) : far_end(rings, next, k));
    double hop_s = add_edge(rings, src, dst, k, 1);
    sum_s += hop_s;
    *cheapest_s = MIN(*cheapest_s, hop_s);
  }
  return sum_s;
}

/* Adds all rings; returns the latency of n - 1 hops round the slowest of them. */
static double add_channels(const Rings *rings) {
  const guint n_domains = rings->layout->n_domains, n = rings->layout->first[n_domains];
  double inside_s = add_inside(rings), slowest_s = 0, cheapest_s = inside_s;
  for (guint k = 0; k < rings->layout->channels; k++) {
    double between_s = add_between(rings, k, &cheapest_s);
    slowest_s = MAX(slowest_s, between_s);
  }
  return (n - n_domains) * inside_s + slowest_s - cheapest_s;
}

static gboolean supports(const OrrCollectiveContext *context, const OrrCollectiveCall *call) {
  return call->op != ORR_ALL_TO_ALL && call->op != ORR_SEND_RECV;
}

/* The number of times that data travels round the ring, and the fraction of the buffer that one
 * rank sends in total. */
static guint passes(OrrCollectiveOp op) { return op == ORR_ALL_REDUCE ? 2 : 1; }

static double share(const OrrCollectiveCall *call) {
  gboolean pipelined = call->op == ORR_BROADCAST || call->op == ORR_REDUCE;
  return pipelined ? 1 : passes(call->op) * (call->n - 1.0) / call->n;
}

static double add_single(OrrCollectiveFlow *flow, const OrrCollectiveCall *call) {
  OrrChain chain = call->op == ORR_BROADCAST ? ORR_CHAIN_FROM_FIRST
                   : call->op == ORR_REDUCE  ? ORR_CHAIN_TO_FIRST
                                             : ORR_CHAIN_CLOSED;
  return orr_collective_flow_chain(flow, call->gpus, call->n, 1, 0, chain);
}

static gboolean is_single(const OrrCollectiveContext *context, const OrrCollectiveLayout *layout) {
  const gboolean alone = layout->equal && layout->channels == 1;
  return layout->n_domains == 1 || alone || orr_collective_layout_is_strided(layout, context);
}

static void plan(const OrrCollectiveContext *context, const OrrCollectiveCall *call,
                 GArray *phases) {
  g_auto(OrrCollectiveLayout) layout;
  g_autofree guint *starts =
      orr_collective_layout_init_rings(&layout, context->fabric, call->gpus, call->n);
  g_auto(OrrCollectiveFlow) flow;
  orr_collective_flow_init(&flow, context);
  gboolean single = is_single(context, &layout);
  orr_collective_flow_fill(&flow, call->bytes / call->n,
                           call->bytes / call->n / (single ? 1 : layout.channels));
  Rings rings = {.flow = &flow, .layout = &layout, .starts = starts, .no_src = -1, .no_dst = -1};
  if (call->op == ORR_BROADCAST) rings.no_dst = call->gpus[0];
  if (call->op == ORR_REDUCE) rings.no_src = call->gpus[0];
  double pass_s = single ? add_single(&flow, call) : add_channels(&rings);
  double unit_bytes = share(call) * call->bytes / (single ? 1 : layout.channels);
  orr_collective_flow_finish(&flow, passes(call->op) * pass_s, unit_bytes, phases);
}

/* All ranks in the order of ring @k; see the picture. */
static void channel_order(const Rings *rings, guint k, gint64 *ret_gpus) {
  guint n = 0;
  for (guint d = 0; d < rings->layout->n_domains; d++)
    for (guint i = 0; i < size_of(rings, d); i++)
      ret_gpus[n++] =
          member(rings, d, d % 2 == 0 ? start_of(rings, d, k) + i : far_end(rings, d, k) - i);
}

static void steps(const OrrCollectiveContext *context, const OrrCollectiveCall *call,
                  OrrCollectiveSteps *ret_steps) {
  g_auto(OrrCollectiveLayout) layout;
  g_autofree guint *starts =
      orr_collective_layout_init_rings(&layout, context->fabric, call->gpus, call->n);
  const gboolean single = is_single(context, &layout);
  const guint channels = single ? 1 : layout.channels, n = call->n;
  const Rings rings = {.layout = &layout, .starts = starts, .no_src = -1, .no_dst = -1};
  const guint rounds = passes(call->op) * (n - 1);
  g_autofree gint64 *gpus = g_memdup2(call->gpus, n * sizeof *call->gpus);
  if (call->op == ORR_BROADCAST || call->op == ORR_REDUCE) {
    g_autofree guint32 *got = orr_collective_steps_nothing(n);
    orr_collective_steps_chain(ret_steps, gpus, n, 1, 0, call->bytes, call->op == ORR_REDUCE, got);
    return;
  }
  for (guint k = 0; k < channels; k++) {
    g_autofree guint32 *got = orr_collective_steps_nothing(n);
    if (!single) channel_order(&rings, k, gpus);
    orr_collective_steps_ring(ret_steps, gpus, n, 1, k, call->bytes / n / channels, rounds, got);
  }
}

static double oracle(const OrrCollectiveCall *call, double alpha_s, double bytes_per_s) {
  return passes(call->op) * (call->n - 1) * alpha_s + share(call) * call->bytes / bytes_per_s;
}

const OrrCollectiveAlgorithm orr_ring = {
    .entry = {.name = "ring",
              .sentence = "Rings over all ranks, one per NIC: fewest bytes, most steps."},
    .is_first = TRUE,
    .supports = supports,
    .plan = plan,
    .steps = steps,
    .oracle = oracle,
};

/*
 * pairwise.c - all-to-all in n - 1 rounds: in round r, rank i sends S/n to rank i + r (mod n) and
 * receives from i - r (NCCL's grouped ncclSend/ncclRecv; Thakur, Rabenseifner, Gropp, "Optimization
 * of collective communication operations in MPICH", IJHPCA 2005, for the schedule).
 *
 *   round 1     0->1  1->2  2->3  3->0          time = launch + (n-1) (alpha + S/n / B)
 *   round 2     0->2  1->3  2->0  3->1
 *   round 3     0->3  1->0  2->1  3->2
 *
 * One phase: rounds overlap, so the time depends on the number of pairs that cross each link; a
 * unit flow is one pair's S/n. With N domains of m members, a message for another rail first
 * crosses to that rail inside its own domain and leaves from the member at the receiver's position
 * (PXN, NCCL 2.12 on): no message changes rails in the network. Before, it left through its
 * sender's own NIC and changed rails in the network.
 *
 *   NIC of a member        m (N-1) units     to its peer in each other domain, for all members of
 *                                            its own
 *   scale-up link          (m-1) N units     its own domain's pairs, and those on their way to
 *                                            another rail
 *
 *   launch + (n-1) alpha + S/n * max(m (N-1) / B_nic, (m-1) N / B_scale_up)
 *
 * If domains differ in size, a smaller domain has no member on some rails. Data for such a rail
 * leave through the NICs of their senders and change rails in the network (src/graph/topo.cc,
 * ncclTopoGetNetDev: PXN takes the local GPU next to the receiver's rail, if the group has one
 * there). 8 + 7 members: each NIC of the 7 sends 7 units on its rail and 1 to the eighth, 8 in all.
 *
 * alpha is the most expensive path of a pair, once per round (with several members per domain: one
 * hop inside and one across). This needs N^2 m + N m^2 routes rather than n^2, and N m + m^2 on a
 * fabric that looks the same from every port (collective_symmetry.c).
 *
 * Example:   algorithm: pairwise
 */
#include "workloads/collectives/collective_private.h"

static gboolean supports(const OrrCollectiveContext *context, const OrrCollectiveCall *call) {
  return call->op == ORR_ALL_TO_ALL;
}

/* The slices that members of domain @d pass to member @i: its own slices, and the slices that it
 * forwards. */
static guint parts_for(const OrrCollectiveLayout *layout, guint d, guint i) {
  guint parts = 1;
  for (guint r = 1; r < layout->n_domains; r++)
    parts += i < orr_collective_layout_size(layout, (d + r) % layout->n_domains);
  return parts;
}

/* Adds the pairs within the first @n_counted domains: their own and, under @pxn, those on the way
 * to the receiver's rail. Returns the most expensive hop. */
static double add_inside(OrrCollectiveFlow *flow, const OrrCollectiveLayout *layout, gboolean pxn,
                         guint n_counted) {
  double dearest_s = 0;
  for (guint d = 0; d < n_counted; d++)
    for (guint to = 0; to < orr_collective_layout_size(layout, d); to++) {
      const guint m = orr_collective_layout_size(layout, d),
                  parts = pxn ? parts_for(layout, d, to) : 1;
      for (guint r = 1; r < m; r++) {
        const gint64 *gpus = layout->gpus + layout->first[d];
        double hop_s = orr_collective_flow_edge(flow, gpus[(to + r) % m], gpus[to], 0, parts);
        dearest_s = MAX(dearest_s, hop_s);
      }
    }
  return dearest_s;
}

/* Adds what domain @d's members send to member @i of domain @to: all of it from the member on that
 * rail, if there is one. Returns the most expensive hop. */
static double add_to(OrrCollectiveFlow *flow, const OrrCollectiveLayout *layout, guint d, guint to,
                     guint i) {
  const guint m = orr_collective_layout_size(layout, d);
  const gint64 dst = orr_collective_layout_gpu(layout, to, i);
  double dearest_s = 0;
  if (i < m)
    return orr_collective_flow_edge(flow, orr_collective_layout_gpu(layout, d, i), dst, 0, m);
  for (guint own = 0; own < m; own++) {
    const gint64 src = orr_collective_layout_gpu(layout, d, own);
    double hop_s = orr_collective_flow_edge(flow, src, dst, 0, 1);
    dearest_s = MAX(dearest_s, hop_s);
  }
  return dearest_s;
}

/* Adds the pairs of domains, rail by rail, for all members of the sender's domain, one of the
 * first @n_counted. Returns the most expensive hop. */
static double add_across(OrrCollectiveFlow *flow, const OrrCollectiveLayout *layout,
                         guint n_counted) {
  double dearest_s = 0;
  for (guint d = 0; d < n_counted; d++)
    for (guint r = 1; r < layout->n_domains; r++) {
      const guint to = (d + r) % layout->n_domains;
      for (guint i = 0; i < orr_collective_layout_size(layout, to); i++) {
        double hop_s = add_to(flow, layout, d, to, i);
        dearest_s = MAX(dearest_s, hop_s);
      }
    }
  return dearest_s;
}

/* The same without PXN: each pair from its sender's NIC to its receiver's. */
static double add_across_rails(OrrCollectiveFlow *flow, const OrrCollectiveLayout *layout,
                               guint n_counted) {
  double dearest_s = 0;
  for (guint src = 0; src < layout->first[n_counted]; src++)
    for (guint d = 0; d < layout->n_domains; d++)
      for (guint dst = layout->first[d]; dst < layout->first[d + 1]; dst++) {
        const guint first = layout->first[d], end = layout->first[d + 1];
        if (src >= first && src < end) continue;
        double hop_s = orr_collective_flow_edge(flow, layout->gpus[src], layout->gpus[dst], 0, 1);
        dearest_s = MAX(dearest_s, hop_s);
      }
  return dearest_s;
}

static double add_pairs(OrrCollectiveFlow *flow, const OrrCollectiveLayout *layout, gboolean pxn,
                        guint n_counted) {
  const double inside_s = add_inside(flow, layout, pxn, n_counted);
  const double across_s =
      pxn ? add_across(flow, layout, n_counted) : add_across_rails(flow, layout, n_counted);
  return pxn ? inside_s + across_s : MAX(inside_s, across_s);
}

/* Adds all pairs; on a fabric that looks the same from every port, one domain's pairs, spread over
 * the others. */
static double add_all(OrrCollectiveFlow *flow, const OrrCollectiveLayout *layout, gboolean pxn,
                      const OrrCollectiveCall *call) {
  if (orr_collective_flow_is_symmetric(flow, call->gpus, call->n)) {
    const double alpha_s = add_pairs(flow, layout, pxn, 1);
    if (orr_collective_flow_spread(flow, layout->n_domains)) return alpha_s;
    orr_collective_flow_empty(flow);
  }
  return add_pairs(flow, layout, pxn, layout->n_domains);
}

static void plan(const OrrCollectiveContext *context, const OrrCollectiveCall *call,
                 GArray *phases) {
  g_auto(OrrCollectiveLayout) layout;
  orr_collective_layout_init(&layout, context->fabric, call->gpus, call->n);
  g_auto(OrrCollectiveFlow) flow;
  orr_collective_flow_init(&flow, context);
  orr_collective_flow_fill(&flow, call->bytes / (call->n - 1), call->bytes / (call->n - 1));
  const gboolean pxn = !context->nccl || context->nccl->pxn;
  const double alpha_s = add_all(&flow, &layout, pxn, call);
  orr_collective_flow_finish(&flow, (call->n - 1) * alpha_s, call->bytes / call->n, phases);
}

/* Sends in the order of rounds: a rank's sends follow one another, and none needs data from
 * another rank. With several members per domain the rounds are over domains: slices for another
 * rail cross to it first, then its member sends all of them. */
typedef struct {
  const OrrCollectiveLayout *layout;
  OrrCollectiveSteps *steps;
  double part_bytes;
  /* by position in the layout: the last send on the member's rail, and off it; scratch */
  guint32 *last, *apart, *needs;
} Rounds;

/* Sends the slices of domain @d for the members of @to on whose rails it has no member: each from
 * its own sender, in turns, in addition to the traffic of the sender's rail. */
static void step_apart(const Rounds *rounds, guint d, guint to) {
  const OrrCollectiveLayout *layout = rounds->layout;
  const guint m = orr_collective_layout_size(layout, d), first = layout->first[d];
  const guint size = orr_collective_layout_size(layout, to), lacking = size > m ? size - m : 0;
  for (guint turn = 0; turn < lacking; turn++)
    for (guint i = 0; i < m; i++) {
      guint32 *last = &rounds->apart[first + i];
      const gint64 dst = orr_collective_layout_gpu(layout, to, m + (i + turn) % lacking);
      *last = orr_collective_steps_send(rounds->steps, layout->gpus[first + i], dst, 0,
                                        rounds->part_bytes, last, *last != ORR_NO_SEND);
    }
}

/* Sends all slices of domain @d for the GPU @to: first to the member @at that forwards them. */
static void step_message(const Rounds *rounds, guint d, guint at, gint64 to) {
  const guint m = orr_collective_layout_size(rounds->layout, d);
  const gint64 *gpus = rounds->layout->gpus + rounds->layout->first[d];
  guint32 *last = &rounds->last[rounds->layout->first[d] + at];
  guint n_needs = 0;
  for (guint i = 1; i < m; i++)
    rounds->needs[n_needs++] = orr_collective_steps_send(rounds->steps, gpus[(at + i) % m],
                                                         gpus[at], 0, rounds->part_bytes, NULL, 0);
  if (*last != ORR_NO_SEND) rounds->needs[n_needs++] = *last;
  *last = orr_collective_steps_send(rounds->steps, gpus[at], to, 0, m * rounds->part_bytes,
                                    rounds->needs, n_needs);
}

static void step_across(const OrrCollectiveLayout *layout, double part_bytes,
                        OrrCollectiveSteps *ret_steps) {
  const guint n_domains = layout->n_domains, n = layout->first[n_domains];
  g_autofree guint32 *last = orr_collective_steps_nothing(n),
                     *apart = orr_collective_steps_nothing(n), *needs = g_new0(guint32, n);
  const Rounds rounds = {layout, ret_steps, part_bytes, last, apart, needs};
  for (guint r = 1; r < n_domains; r++)
    for (guint d = 0; d < n_domains; d++) {
      const guint to = (d + r) % n_domains;
      const guint rails =
          MIN(orr_collective_layout_size(layout, d), orr_collective_layout_size(layout, to));
      for (guint i = 0; i < rails; i++)
        step_message(&rounds, d, i, orr_collective_layout_gpu(layout, to, i));
      step_apart(&rounds, d, to);
    }
}

static void step_inside(const OrrCollectiveLayout *layout, double part_bytes,
                        OrrCollectiveSteps *ret_steps) {
  for (guint d = 0; d < layout->n_domains; d++) {
    const guint m = orr_collective_layout_size(layout, d);
    const gint64 *gpus = layout->gpus + layout->first[d];
    for (guint i = 0; i < m; i++) {
      guint32 last = 0;
      for (guint r = 1; r < m; r++)
        last = orr_collective_steps_send(ret_steps, gpus[i], gpus[(i + r) % m], 0, part_bytes,
                                         &last, r > 1 ? 1 : 0);
    }
  }
}

static void steps(const OrrCollectiveContext *context, const OrrCollectiveCall *call,
                  OrrCollectiveSteps *ret_steps) {
  g_auto(OrrCollectiveLayout) layout;
  orr_collective_layout_init(&layout, context->fabric, call->gpus, call->n);
  step_inside(&layout, call->bytes / call->n, ret_steps);
  step_across(&layout, call->bytes / call->n, ret_steps);
}

static double oracle(const OrrCollectiveCall *call, double alpha_s, double bytes_per_s) {
  return (call->n - 1) * (alpha_s + call->bytes / call->n / bytes_per_s);
}

const OrrCollectiveAlgorithm orr_pairwise = {
    .entry = {.name = "pairwise",
              .sentence = "All-to-all in n - 1 rounds, each rank with one peer per round."},
    .supports = supports,
    .plan = plan,
    .steps = steps,
    .oracle = oracle,
};

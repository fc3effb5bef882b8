/*
 * collective_flow.c - edges between GPUs, piled up as weights on links.
 *
 * An algorithm says who sends to whom; the fabric says over which links. A link met again only grows its weight, so a
 * phase has each link once, in the order in which links were first met: the same call gives the same plan. Cost: one
 * hash probe for each link of each route.
 */
#include "workloads/collectives/collective_private.h"

#include <math.h>

enum { INITIAL_SLOTS = 64 };

void orr_collective_flow_init(OrrCollectiveFlow *flow, const OrrCollectiveContext *context) {
  *flow = (OrrCollectiveFlow){.fabric = context->fabric, .n_slots = INITIAL_SLOTS};
  if (context->cost)
    flow->costs = orr_cost_collective_constants(context->cost);
  flow->uses = g_array_new(FALSE, FALSE, sizeof(OrrLinkUse));
  flow->route = g_array_new(FALSE, FALSE, sizeof(guint32));
  flow->slots = g_new0(guint32, flow->n_slots);
}

void orr_collective_flow_clear(OrrCollectiveFlow *flow) {
  g_clear_pointer(&flow->uses, g_array_unref);
  g_clear_pointer(&flow->route, g_array_unref);
  g_clear_pointer(&flow->slots, g_free);
}

/* The slot that holds @link, or the empty one where it belongs. Fibonacci hashing: links are dense numbers, and those
 * of neighbours would else fill one stretch of the table. */
static guint32 *find_slot(const OrrCollectiveFlow *flow, guint32 link) {
  guint mask = flow->n_slots - 1;
  guint at = ((link * 2654435769u) >> 7) & mask;
  while (flow->slots[at] && g_array_index(flow->uses, OrrLinkUse, flow->slots[at] - 1).link != link)
    at = (at + 1) & mask;
  return &flow->slots[at];
}

static void index_uses(OrrCollectiveFlow *flow, guint n_slots) {
  g_free(flow->slots);
  flow->n_slots = n_slots;
  flow->slots = g_new0(guint32, n_slots);
  for (guint i = 0; i < flow->uses->len; i++)
    *find_slot(flow, g_array_index(flow->uses, OrrLinkUse, i).link) = i + 1;
}

static void load_link(OrrCollectiveFlow *flow, guint32 link, guint32 weight) {
  guint32 *slot = find_slot(flow, link);
  if (*slot) {
    g_array_index(flow->uses, OrrLinkUse, *slot - 1).weight += weight;
    return;
  }
  OrrLinkUse use = {.link = link, .weight = weight};
  g_array_append_val(flow->uses, use);
  *slot = flow->uses->len;
  if (flow->uses->len * 2 > flow->n_slots)
    index_uses(flow, flow->n_slots * 2);
}

double orr_collective_flow_edge(OrrCollectiveFlow *flow, gint64 src, gint64 dst, guint64 channel, guint32 weight) {
  if (src == dst)
    return 0;
  g_array_set_size(flow->route, 0);
  double route_s = orr_fabric_route(flow->fabric, src, dst, channel, flow->route);
  for (guint i = 0; weight > 0 && i < flow->route->len; i++)
    load_link(flow, g_array_index(flow->route, guint32, i), weight);
  gboolean near = orr_fabric_same_domain(flow->fabric, src, dst);
  return route_s + (near ? flow->costs.scale_up_step_s : flow->costs.scale_out_step_s);
}

double orr_collective_flow_chain(OrrCollectiveFlow *flow, const gint64 *gpus, guint n, guint stride, guint64 channel,
                                 OrrChain chain) {
  double sum_s = 0, cheapest_s = INFINITY;
  guint n_edges = chain == ORR_CHAIN_CLOSED ? n : n - 1;
  for (guint i = 0; i < n_edges; i++) {
    gint64 here = gpus[i * stride], next = gpus[(i + 1) % n * stride];
    double hop_s = chain == ORR_CHAIN_TO_FIRST ? orr_collective_flow_edge(flow, next, here, channel, 1)
                                               : orr_collective_flow_edge(flow, here, next, channel, 1);
    sum_s += hop_s;
    cheapest_s = MIN(cheapest_s, hop_s);
  }
  return chain == ORR_CHAIN_CLOSED ? sum_s - cheapest_s : sum_s;
}

static guint32 greatest_common_divisor(guint32 a, guint32 b) {
  while (b) {
    guint32 rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}

static guint32 divide_weights(GArray *uses) {
  guint32 divisor = 0;
  for (guint i = 0; i < uses->len && divisor != 1; i++)
    divisor = greatest_common_divisor(divisor, g_array_index(uses, OrrLinkUse, i).weight);
  for (guint i = 0; i < uses->len && divisor > 1; i++)
    g_array_index(uses, OrrLinkUse, i).weight /= divisor;
  return MAX(divisor, 1);
}

void orr_collective_flow_finish(OrrCollectiveFlow *flow, double latency_s, double bytes, GArray *phases) {
  OrrCollectivePhase phase = {.latency_s = latency_s, .bytes = bytes * divide_weights(flow->uses)};
  phase.n_uses = flow->uses->len;
  phase.uses = (OrrLinkUse *)(gpointer)g_array_free(flow->uses, FALSE);
  g_array_append_val(phases, phase);
  flow->uses = g_array_new(FALSE, FALSE, sizeof(OrrLinkUse));
  index_uses(flow, INITIAL_SLOTS);
}

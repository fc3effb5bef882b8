/*
 * collective_queue.c - what queues add to a planned collective.
 *
 * A phase is one transfer at the pace of its busiest link. Where its senders meet, queues and
 * pauses can make it longer: all sends of the phase are integrated as fluids
 * (topologies/queue_model.h), each over its own route, and
 *
 *   added = time of the last send - max(the phase's transfer, the busiest link's time)
 *
 * is paid as a delay before the transfer, if it exceeds NOISE of it. All sends of a phase count as
 * starting at once, which is the most that can meet. NCCL's choice of algorithm does not know of
 * queues, so the choice stands.
 *
 * Not seen: other communications on the same links, detours (ugal).
 */
#include "workloads/collectives/collective_private.h"

#define NOISE 0.02
enum { MOST_HOPS = 50000 }; /* of a phase; a solution takes half a second of a processor at most */

typedef struct {
  GArray *flows, *links; /* of OrrQueueFlow, of guint32: their routes */
} Flows;

/* The link lists move while they grow, so flows get them at the end. */
static void add_flow(Flows *flows, const OrrFabric *fabric, const OrrCollectiveEdge *edge,
                     guint path, guint n_paths) {
  OrrQueueFlow flow = {.bytes = edge->bytes / n_paths};
  const guint first = flows->links->len;
  orr_fabric_path(fabric, edge->src, edge->dst, edge->channel, path, flows->links);
  flow.n_links = flows->links->len - first;
  g_array_append_val(flows->flows, flow);
}

static void place_routes(Flows *flows) {
  const guint32 *links = (const guint32 *)(gconstpointer)flows->links->data;
  ORR_EACH(OrrQueueFlow, flow, flows->flows) {
    flow->links = links;
    links += flow->n_links;
  }
}

static double bandwidth(gconstpointer fabric, guint32 link) {
  return orr_fabric_link_bandwidth(fabric, link);
}

static void note(const OrrFabric *fabric, const OrrQueueResult *result) {
  OrrQueueUse *use = &orr_fabric_notes(fabric)->queues;
  for (guint i = 0; i < result->links->len; i++) {
    const OrrQueueLink *fact = &result->facts[i];
    const guint32 link = g_array_index(result->links, guint32, i);
    if (fact->peak_bytes > use->peak_bytes) {
      use->peak_bytes = fact->peak_bytes;
      use->peak_link = link;
    }
    const double paused = result->last_s > 0 ? MIN(fact->paused_s / result->last_s, 1) : 0;
    if (paused > use->paused) {
      use->paused = paused;
      use->paused_link = link;
    }
    if (fact->bytes > 0) use->marked = MAX(use->marked, fact->marked_bytes / fact->bytes);
  }
  use->rough += result->is_rough;
  use->stuck += result->is_stuck;
}

/* The time of the phase's last send; 0 where its flows are too many, or stuck. */
static double solve(const OrrFabric *fabric, const GArray *edges, guint phase) {
  OrrQueueUse *use = &orr_fabric_notes(fabric)->queues;
  const guint n_paths = orr_fabric_n_paths(fabric);
  g_autoptr(GArray) list = g_array_new(FALSE, TRUE, sizeof(OrrQueueFlow));
  g_autoptr(GArray) links = g_array_new(FALSE, FALSE, sizeof(guint32));
  Flows flows = {list, links};
  ORR_EACH(const OrrCollectiveEdge, edge, edges) {
    for (guint path = 0; edge->phase == phase && edge->bytes > 0 && path < n_paths; path++)
      if (links->len <= MOST_HOPS) add_flow(&flows, fabric, edge, path, n_paths);
  }
  if (list->len == 0) return 0;
  use->phases++;
  use->left_out += links->len > MOST_HOPS;
  if (links->len > MOST_HOPS) return 0;
  place_routes(&flows);
  g_autoptr(OrrQueueResult) result =
      orr_queue_model_solve(orr_fabric_queues(fabric), (OrrQueueFlow *)(gpointer)list->data,
                            list->len, bandwidth, fabric);
  note(fabric, result);
  return result->is_stuck ? 0 : result->last_s;
}

static void add(const OrrFabric *fabric, OrrCollectivePhase *phase, double queued_s,
                OrrCollectivePlan *plan) {
  OrrQueueUse *use = &orr_fabric_notes(fabric)->queues;
  const double flow_s =
      phase->bytes * orr_collective_per_byte(fabric, phase->uses, phase->n_uses, NULL);
  if (flow_s <= 0 || queued_s <= flow_s * (1 + NOISE)) return;
  phase->latency_s += queued_s - flow_s;
  plan->predicted_s += queued_s - flow_s;
  use->slowed++;
  use->added_s += queued_s - flow_s;
  use->worst = MAX(use->worst, queued_s / flow_s);
}

void orr_collective_queue_add(const OrrCollectiveContext *context, const OrrCollectiveCall *call,
                              OrrCollectivePlan *plan) {
  if (!orr_fabric_queues(context->fabric) || call->bytes <= 0) return;
  OrrNcclCosts costs;
  g_autoptr(GArray) edges = g_array_new(FALSE, FALSE, sizeof(OrrCollectiveEdge));
  g_autoptr(OrrCollectivePlan) again =
      orr_collective_plan_again(context, call, plan, &costs, edges);
  for (guint i = 0; i < plan->phases->len && i < again->phases->len; i++)
    add(context->fabric, &g_array_index(plan->phases, OrrCollectivePhase, i),
        solve(context->fabric, edges, i), plan);
}

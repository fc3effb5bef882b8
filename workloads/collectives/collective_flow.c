/*
 * collective_flow.c - accumulates edges between GPUs as weights on links.
 *
 * An algorithm lists sender and receiver; the fabric gives the links. A link that occurs again only
 * grows in weight, so a phase has each link once, in the order of first use: the same call gives
 * the same plan. Cost: one hash probe per link of each route.
 */
#include "workloads/collectives/collective_private.h"

enum { INITIAL_SLOTS = 64, LINE = 16, MOST_TAPED = 4096 };

static const OrrNcclCosts no_costs = {
    .scale_up_efficiency = 1, .scale_out_efficiency = 1, .plateau = 1};

/* --- Routes --- */

typedef struct {
  gint64 src, dst;
  guint64 channel;
  guint path;
  gboolean is_near, leaves_node;
  double path_s;
  double rate;    /* of the slowest link; 0: not asked yet */
  guint first, n; /* of the tape's links */
} Route;

/* `at` is the next route to ask for; at `most` and beyond it, the last route is overwritten. */
struct OrrRouteTape {
  GArray *routes; /* of Route */
  GArray *links;  /* of guint32 */
  guint at, most;
};

OrrRouteTape *orr_route_tape_new(gboolean is_kept) {
  OrrRouteTape *tape = g_new0(OrrRouteTape, 1);
  tape->routes = g_array_new(FALSE, FALSE, sizeof(Route));
  tape->links = g_array_new(FALSE, FALSE, sizeof(guint32));
  tape->most = is_kept ? MOST_TAPED : 0;
  return tape;
}

void orr_route_tape_free(OrrRouteTape *tape) {
  if (!tape) return;
  g_array_unref(tape->routes);
  g_array_unref(tape->links);
  g_free(tape);
}

void orr_route_tape_rewind(OrrRouteTape *tape) { tape->at = 0; }

/* The next route, from the tape if that has it; valid until the next call. */
static Route *ask_route(OrrCollectiveFlow *flow, gint64 src, gint64 dst, guint64 channel,
                        guint path) {
  OrrRouteTape *tape = flow->tape;
  if (tape->at < tape->routes->len) {
    Route *known = &g_array_index(tape->routes, Route, tape->at);
    if (tape->at < tape->most && known->src == src && known->dst == dst &&
        known->channel == channel && known->path == path) {
      tape->at++;
      return known;
    }
    g_array_set_size(tape->links, known->first);
    g_array_set_size(tape->routes, tape->at);
  }
  Route route = {src, dst, channel, path, .first = tape->links->len};
  route.is_near = orr_fabric_same_domain(flow->fabric, src, dst);
  route.leaves_node = !route.is_near && orr_fabric_leaves_node(flow->fabric, src, dst);
  route.path_s = orr_fabric_path(flow->fabric, src, dst, channel, path, tape->links);
  route.n = tape->links->len - route.first;
  g_array_append_val(tape->routes, route);
  tape->at += tape->at < tape->most;
  return &g_array_index(tape->routes, Route, tape->routes->len - 1);
}

static const guint32 *links_of(const OrrCollectiveFlow *flow, const Route *route) {
  return &g_array_index(flow->tape->links, guint32, route->first);
}

/* --- The flow --- */

/* Room in `uses` for the links that fill half of the slots. */
static void make_room(const OrrCollectiveFlow *flow) {
  const guint n = flow->uses->len;
  g_array_set_size(flow->uses, flow->n_slots / 2);
  flow->uses->len = n;
}

void orr_collective_flow_init(OrrCollectiveFlow *flow, const OrrCollectiveContext *context) {
  *flow = (OrrCollectiveFlow){.fabric = context->fabric,
                              .n_slots = INITIAL_SLOTS,
                              .connections = context->connections,
                              .edges = context->edges,
                              .first_edge = context->edges ? context->edges->len : 0};
  flow->n_paths = orr_fabric_n_paths(context->fabric);
  flow->n_detours = orr_fabric_n_detours(context->fabric);
  flow->detour_weights = g_array_new(FALSE, TRUE, sizeof(guint32));
  if (orr_fabric_transport(context->fabric)->incast_efficiency < 1)
    flow->senders = g_array_new(FALSE, TRUE, sizeof(guint32));
  flow->costs = context->costs ? *context->costs : no_costs;
  flow->uses = g_array_new(FALSE, FALSE, sizeof(OrrLinkUse));
  flow->own_tape = context->tape ? NULL : orr_route_tape_new(FALSE);
  flow->tape = context->tape ? context->tape : flow->own_tape;
  flow->slots = g_new0(guint32, flow->n_slots);
  make_room(flow);
}

void orr_collective_flow_clear(OrrCollectiveFlow *flow) {
  g_clear_pointer(&flow->uses, g_array_unref);
  g_clear_pointer(&flow->detour_weights, g_array_unref);
  g_clear_pointer(&flow->senders, g_array_unref);
  g_clear_pointer(&flow->own_tape, orr_route_tape_free);
  g_clear_pointer(&flow->slots, g_free);
}

/* The slot that holds @link, or the empty slot for it.
 *
 * Consecutive ranks use neighbouring links, so the links of a block of 16 share a line of the
 * cache: Fibonacci hashing of the block chooses the line, and turns the order of links within it,
 * so that links at a stride of 16 spread over all places. The odd step visits every slot, and moves
 * a block that finds its line taken to the next line as a whole. */
static guint32 *find_slot(const OrrCollectiveFlow *flow, guint32 link) {
  const guint mask = flow->n_slots - 1;
  const guint32 hash = link / LINE * 2654435769u;
  guint at = ((hash >> 7) * LINE + ((link ^ hash >> 28) & (LINE - 1))) & mask;
  while (flow->slots[at] && g_array_index(flow->uses, OrrLinkUse, flow->slots[at] - 1).link != link)
    at = (at + LINE + 1) & mask;
  return &flow->slots[at];
}

static void index_uses(OrrCollectiveFlow *flow, guint n_slots) {
  g_free(flow->slots);
  flow->n_slots = n_slots;
  flow->slots = g_new0(guint32, n_slots);
  make_room(flow);
  for (guint i = 0; i < flow->uses->len; i++)
    *find_slot(flow, g_array_index(flow->uses, OrrLinkUse, i).link) = i + 1;
}

/* Adds @parts on the shortest routes and @detour_parts on detours. */
static void load_link(OrrCollectiveFlow *flow, guint32 link, guint32 parts, guint32 detour_parts) {
  guint32 *slot = find_slot(flow, link);
  if (!*slot) {
    if (flow->uses->len == flow->n_slots / 2) {
      index_uses(flow, flow->n_slots * 2);
      slot = find_slot(flow, link);
    }
    g_array_index(flow->uses, OrrLinkUse, flow->uses->len++) = (OrrLinkUse){.link = link};
    *slot = flow->uses->len;
  }
  const guint at = *slot - 1;
  g_array_index(flow->uses, OrrLinkUse, at).weight += parts;
  if (flow->n_detours > 0) {
    g_array_set_size(flow->detour_weights, flow->uses->len);
    g_array_index(flow->detour_weights, guint32, at) += detour_parts;
  }
}

void orr_collective_flow_load(OrrCollectiveFlow *flow, guint32 link, guint32 parts) {
  load_link(flow, link, parts, 0);
}

void orr_collective_flow_empty(OrrCollectiveFlow *flow) {
  g_array_set_size(flow->uses, 0);
  index_uses(flow, INITIAL_SLOTS);
}

/* Bytes that fill the pipeline: up to about a chunk of @bytes; half of it at `ramp` chunks. */
static double filling(double bytes, double chunk_bytes, double ramp) {
  return bytes > 0 && chunk_bytes > 0 ? chunk_bytes * bytes / (bytes + chunk_bytes * ramp) : 0;
}

void orr_collective_flow_fill(OrrCollectiveFlow *flow, double scale_up_bytes,
                              double scale_out_bytes) {
  const OrrNcclCosts *costs = &flow->costs;
  flow->scale_up_fill_bytes =
      filling(scale_up_bytes, costs->scale_up_chunk_bytes, costs->chunk_ramp);
  flow->scale_out_fill_bytes =
      filling(scale_out_bytes, costs->scale_out_chunk_bytes, costs->chunk_ramp);
  flow->message_bytes = MAX(scale_out_bytes, MIN(scale_up_bytes, costs->whole_bytes));
}

static double fill_time(const OrrCollectiveFlow *flow, Route *route, double bytes) {
  if (bytes <= 0) return 0;
  if (route->rate == 0) {
    route->rate = INFINITY;
    for (guint i = 0; i < route->n; i++)
      route->rate =
          MIN(route->rate, orr_fabric_link_bandwidth(flow->fabric, links_of(flow, route)[i]));
  }
  return bytes / route->rate;
}

/* Whether the step's messages wait for a rendezvous @per hop or call. */
static gboolean waits(const OrrCollectiveFlow *flow, OrrRendezvous per) {
  const OrrTransport *transport = orr_fabric_transport(flow->fabric);
  return transport->rendezvous_per == (int)per &&
         flow->message_bytes > transport->eager_limit_bytes;
}

/* A hop's latency over the network: in LL no less than the transport's; what the protocol does
 * beyond LL comes on top. */
static double network_hop(const OrrCollectiveFlow *flow, double path_s) {
  const OrrTransport *transport = orr_fabric_transport(flow->fabric);
  const OrrNcclCosts *costs = &flow->costs;
  const double more_s =
      costs->flush_s + (waits(flow, ORR_RENDEZVOUS_PER_HOP) ? transport->rendezvous_s : 0);
  if (transport->hop_latency_s <= 0) return path_s + costs->scale_out_step_s + more_s;
  const double wire_s = path_s + costs->scale_out_step_s - costs->beyond_wire_s;
  return MAX(wire_s, transport->hop_latency_s) + costs->beyond_wire_s + more_s;
}

static double hop_time(const OrrCollectiveFlow *flow, Route *route) {
  if (route->is_near)
    return route->path_s + flow->costs.scale_up_step_s +
           fill_time(flow, route, flow->scale_up_fill_bytes);
  if (!route->leaves_node)
    return route->path_s + flow->costs.host_step_s +
           fill_time(flow, route, flow->scale_up_fill_bytes);
  return network_hop(flow, route->path_s) + fill_time(flow, route, flow->scale_out_fill_bytes);
}

static void load_route(OrrCollectiveFlow *flow, const guint32 *links, guint n, guint32 parts,
                       guint32 detour_parts) {
  for (guint i = 0; parts + detour_parts > 0 && i < n; i++)
    load_link(flow, links[i], parts, detour_parts);
  for (guint i = 0; flow->connections && parts > 0 && i < n; i++) flow->connections[links[i]]++;
}

static void add_detours(OrrCollectiveFlow *flow, gint64 src, gint64 dst, guint64 channel,
                        guint32 weight) {
  if (weight == 0 || flow->n_detours == 0) return;
  g_autoptr(GArray) links = g_array_new(FALSE, FALSE, sizeof(guint32));
  for (guint path = 0; path < flow->n_detours; path++) {
    g_array_set_size(links, 0);
    orr_fabric_detour(flow->fabric, src, dst, channel, path, links);
    load_route(flow, (const guint32 *)(const void *)links->data, links->len, 0, weight);
  }
}

/* Counts a sender on the last link of @route: the receiver's. */
static void count_sender(OrrCollectiveFlow *flow, const Route *route) {
  const guint at = *find_slot(flow, links_of(flow, route)[route->n - 1]) - 1;
  if (flow->senders->len < flow->uses->len) g_array_set_size(flow->senders, flow->uses->len);
  g_array_index(flow->senders, guint32, at)++;
}

static void note_edge(OrrCollectiveFlow *flow, gint64 src, gint64 dst, guint64 channel,
                      guint32 weight) {
  ORR_APPEND(flow->edges, OrrCollectiveEdge, {0, src, dst, channel, weight});
}

double orr_collective_flow_edge(OrrCollectiveFlow *flow, gint64 src, gint64 dst, guint64 channel,
                                guint32 weight) {
  if (src == dst) return 0;
  double hop_s = 0;
  Route *route = ask_route(flow, src, dst, channel, 0);
  const gboolean near = route->is_near, leaves_node = route->leaves_node;
  const guint n_paths = near ? 1 : flow->n_paths; /* inside a domain there is one route */
  flow->leaves_node |= leaves_node;
  for (guint path = 0; path < n_paths; path++) {
    if (path > 0) route = ask_route(flow, src, dst, channel, path);
    const double whole_s = hop_time(flow, route);
    load_route(flow, links_of(flow, route), route->n, near ? weight * flow->n_paths : weight,
               near ? weight * flow->n_detours : 0);
    hop_s = MAX(hop_s, whole_s);
    if (weight == 0) break;
  }
  if (!near && weight > 0 && flow->senders) count_sender(flow, route);
  if (leaves_node && weight > 0 && flow->edges) note_edge(flow, src, dst, channel, weight);
  if (!near) add_detours(flow, src, dst, channel, weight);
  return hop_s;
}

double orr_collective_flow_switch(OrrCollectiveFlow *flow, const gint64 *gpus, guint n,
                                  guint32 weight) {
  double dearest_s = 0;
  for (guint i = 0; n > 1 && i < n; i++) { /* tx of one GPU and rx of the next: each link once */
    double hop_s = orr_collective_flow_edge(flow, gpus[i], gpus[(i + 1) % n], 0, weight);
    dearest_s = MAX(dearest_s, hop_s);
  }
  return dearest_s;
}

double orr_collective_flow_owner(OrrCollectiveFlow *flow, const gint64 *gpus, guint n, gint64 owner,
                                 gboolean spread) {
  const gint64 other = gpus[0] == owner ? gpus[n - 1] : gpus[0];
  const double hop_s = orr_collective_flow_edge(flow, other, owner, 0, 0);
  g_autoptr(GArray) links = g_array_new(FALSE, FALSE, sizeof(guint32));
  for (guint i = 0; i < n; i++) {
    const gint64 peer =
        gpus[i] == owner ? other : owner; /* all routes of a GPU begin with the same link */
    g_array_set_size(links, 0);
    orr_fabric_route(flow->fabric, gpus[i], peer, 0, links);
    orr_fabric_route(flow->fabric, peer, gpus[i], 0, links);
    const guint32 out = g_array_index(links, guint32, 0), in = g_array_index(links, guint32, 3);
    if (!spread || gpus[i] == owner) orr_collective_flow_load(flow, out, flow->n_paths);
    if (spread || gpus[i] == owner) orr_collective_flow_load(flow, in, flow->n_paths);
  }
  return spread ? 0 : hop_s;
}

double orr_collective_flow_chain(OrrCollectiveFlow *flow, const gint64 *gpus, guint n, guint stride,
                                 guint64 channel, OrrChain chain) {
  double sum_s = 0, cheapest_s = INFINITY;
  guint n_edges = chain == ORR_CHAIN_CLOSED ? n : n - 1;
  for (guint i = 0; i < n_edges; i++) {
    gint64 here = gpus[i * stride], next = gpus[(i + 1) % n * stride];
    double hop_s = chain == ORR_CHAIN_TO_FIRST
                       ? orr_collective_flow_edge(flow, next, here, channel, 1)
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

static gboolean is_host_link(const char *kind) {
  return g_str_equal(kind, "host") || g_str_equal(kind, "node");
}

/* Whether some of @uses are links of the network. Neighbours in the list are often of one kind,
 * whose text is then the same. */
static gboolean leaves_node(const OrrFabric *fabric, const OrrLinkUse *uses, guint n_uses) {
  const char *before = NULL;
  for (guint i = 0; i < n_uses; i++) {
    const char *kind = orr_fabric_link_kind(fabric, uses[i].link);
    if (kind != before && !g_str_equal(kind, "scale-up") && !is_host_link(kind)) return TRUE;
    before = kind;
  }
  return FALSE;
}

/* PCIe on the way to a NIC has no loss of its own: node.host-link-efficiency is what NCCL reaches
 * on it. */
static double efficiency(const OrrNcclCosts *costs, const char *kind, gboolean is_network) {
  if (is_host_link(kind)) return is_network ? 1 : costs->scale_up_efficiency;
  return g_str_equal(kind, "scale-up") ? costs->scale_up_efficiency : costs->scale_out_efficiency;
}

/* @ret_plain_s: without @costs. */
static double per_byte(const OrrFabric *fabric, const OrrLinkUse *uses, guint n_uses,
                       const OrrNcclCosts *costs, double *ret_plain_s) {
  const gboolean is_network = costs && leaves_node(fabric, uses, n_uses);
  const char *before = NULL;
  double per_byte_s = 0, share = 1;
  *ret_plain_s = 0;
  for (guint i = 0; i < n_uses; i++) {
    const char *kind = costs ? orr_fabric_link_kind(fabric, uses[i].link) : NULL;
    const double bandwidth = orr_fabric_link_bandwidth(fabric, uses[i].link);
    if (kind != before) share = efficiency(costs, kind, is_network);
    before = kind;
    per_byte_s = MAX(per_byte_s, uses[i].weight / (bandwidth * share));
    *ret_plain_s = MAX(*ret_plain_s, uses[i].weight / bandwidth);
  }
  return per_byte_s;
}

double orr_collective_per_byte(const OrrFabric *fabric, const OrrLinkUse *uses, guint n_uses,
                               const OrrNcclCosts *costs) {
  double plain_s;
  return per_byte(fabric, uses, n_uses, costs, &plain_s);
}

/* The time that the protocol takes beyond the bandwidth of the links. */
static double shortfall(const OrrCollectiveFlow *flow, const OrrCollectivePhase *phase) {
  if (flow->costs.scale_up_efficiency == 1 && flow->costs.scale_out_efficiency == 1) return 0;
  double plain_s;
  const double slow_s = per_byte(flow->fabric, phase->uses, phase->n_uses, &flow->costs, &plain_s);
  return phase->bytes * (slow_s - plain_s);
}

enum {
  FINE = 1024
}; /* weights are whole numbers: scale all of them before a fraction of one link is lost */

/* A congested receiver reaches a fraction of its rate, so its link's weight grows. Returns the
 * factor by which all weights were scaled. */
static guint32 weigh_incast(OrrCollectiveFlow *flow) {
  const OrrTransport *transport = orr_fabric_transport(flow->fabric);
  guint32 most = 1, scale = FINE, congested = 0;
  for (guint i = 0; flow->senders && i < flow->senders->len; i++)
    congested += g_array_index(flow->senders, guint32, i) >= transport->incast_senders;
  for (guint i = 0; i < flow->uses->len; i++)
    most = MAX(most, g_array_index(flow->uses, OrrLinkUse, i).weight);
  while (scale > 1 && most > G_MAXUINT32 / 2 / scale) scale /= 2;
  if (congested == 0 || scale == 1) return 1;
  for (guint i = 0; i < flow->uses->len; i++) {
    const gboolean full = i < flow->senders->len &&
                          g_array_index(flow->senders, guint32, i) >= transport->incast_senders;
    const guint32 factor = full ? (guint32)(scale / transport->incast_efficiency + 0.5) : scale;
    g_array_index(flow->uses, OrrLinkUse, i).weight *= factor;
    if (i < flow->detour_weights->len) g_array_index(flow->detour_weights, guint32, i) *= factor;
  }
  return scale;
}

/* The members of the block of @each that has most of them in this phase. @member_of: the number of
 * the member whose link it is, or -1. */
static guint most_members(const OrrCollectiveFlow *flow,
                          gint64 (*member_of)(const OrrFabric *fabric, guint32 link), gint64 each) {
  g_autoptr(GHashTable) seen = g_hash_table_new(NULL, NULL); /* member + 1 */
  g_autoptr(GHashTable) members = g_hash_table_new(NULL, NULL);
  guint most = 0;
  for (guint i = 0; i < flow->uses->len; i++) {
    const gint64 member = member_of(flow->fabric, g_array_index(flow->uses, OrrLinkUse, i).link);
    if (member < 0 || !g_hash_table_add(seen, GUINT_TO_POINTER((guint)member + 1))) continue;
    gpointer key = GUINT_TO_POINTER((guint)(member / each + 1));
    const guint n = GPOINTER_TO_UINT(g_hash_table_lookup(members, key)) + 1;
    g_hash_table_insert(members, key, GUINT_TO_POINTER(n));
    most = MAX(most, n);
  }
  return most;
}

static gint64 mesh_gpu(const OrrFabric *fabric, guint32 link) {
  return orr_fabric_mesh_links(fabric, link) == 1 ? -1 : (gint64)link / 2;
}

/* In a mesh, m members of a domain have m - 1 of each GPU's links to each other. RCCL runs that
 * many rings in parallel, and an all-to-all sends over all of them at once: either way a member has
 * (m - 1) / links of its rate. Returns the factor by which all weights were scaled. */
static guint32 weigh_mesh(OrrCollectiveFlow *flow) {
  const guint members = most_members(flow, mesh_gpu, orr_fabric_domain_size(flow->fabric));
  if (members < 2) return 1;
  ORR_EACH_AT(i, OrrLinkUse, use, flow->uses) {
    const guint32 links = orr_fabric_mesh_links(flow->fabric, use->link),
                  factor = links > 1 ? links : members - 1;
    use->weight *= factor;
    if (i < flow->detour_weights->len) g_array_index(flow->detour_weights, guint32, i) *= factor;
  }
  return members - 1;
}

enum { SPLITS = 8 }; /* ugal splits a flow into eighths */

/* The total parts of a unit flow if @detoured eighths take detours. */
static double split_parts(const OrrCollectiveFlow *flow) {
  return (double)SPLITS * flow->n_paths * flow->n_detours;
}

static guint32 split_weight(const OrrCollectiveFlow *flow, guint i, guint detoured) {
  const guint32 shortest = g_array_index(flow->uses, OrrLinkUse, i).weight;
  const guint32 detour = g_array_index(flow->detour_weights, guint32, i);
  return (SPLITS - detoured) * flow->n_detours * shortest + detoured * flow->n_paths * detour;
}

/* The communicators like this one that the NICs of a node serve at once: tensor-parallel ranks each
 * have a data-parallel group of their own, and a stage's GPUs all send to the next one's. */
static double communicators_alike(const OrrCollectiveFlow *flow) {
  const gint64 nics = orr_fabric_nics_of_node(flow->fabric);
  return MAX(1, (double)nics / MAX(most_members(flow, orr_fabric_link_nic, nics), 1));
}

/* The time of the busiest link per byte. Links between switches carry @alike times their load. */
static double busiest(const OrrCollectiveFlow *flow, guint detoured, double alike) {
  double most = 0;
  for (guint i = 0; i < flow->uses->len; i++) {
    guint32 link = g_array_index(flow->uses, OrrLinkUse, i).link;
    const double load =
        split_weight(flow, i, detoured) * (orr_fabric_link_nic(flow->fabric, link) < 0 ? alike : 1);
    most = MAX(most, load / orr_fabric_link_bandwidth(flow->fabric, link));
  }
  return most;
}

/* Chooses the smallest number of eighths that minimizes the load of the busiest link; drops
 * links without load. */
static void split_detours(OrrCollectiveFlow *flow) {
  const double alike = communicators_alike(flow);
  guint best = 0, kept = 0;
  for (guint detoured = 1; detoured <= SPLITS; detoured++)
    if (busiest(flow, detoured, alike) < busiest(flow, best, alike) * (1 - 1e-9)) best = detoured;
  for (guint i = 0; i < flow->uses->len; i++) {
    OrrLinkUse use = {g_array_index(flow->uses, OrrLinkUse, i).link, split_weight(flow, i, best)};
    if (use.weight > 0) g_array_index(flow->uses, OrrLinkUse, kept++) = use;
  }
  g_array_set_size(flow->uses, kept);
  g_array_set_size(flow->detour_weights, 0);
}

void orr_collective_flow_finish(OrrCollectiveFlow *flow, double latency_s, double bytes,
                                GArray *phases) {
  double base_s = phases->len == 0 ? flow->costs.base_s : 0;
  for (guint i = flow->first_edge; flow->edges && i < flow->edges->len; i++) {
    OrrCollectiveEdge *edge = &g_array_index(flow->edges, OrrCollectiveEdge, i);
    edge->phase = phases->len;
    edge->bytes *= bytes; /* the weight, so far */
  }
  if (flow->edges) flow->first_edge = flow->edges->len;
  const guint32 grown = weigh_incast(flow) * weigh_mesh(flow);
  double parts = flow->n_paths;
  if (flow->n_detours > 0) {
    split_detours(flow);
    parts = split_parts(flow);
  }
  parts *= grown;
  if (flow->senders) g_array_set_size(flow->senders, 0);
  OrrCollectivePhase phase = {.latency_s = (base_s + latency_s) * flow->costs.plateau,
                              .bytes = bytes * divide_weights(flow->uses) / parts};
  if (phases->len == 0 && flow->leaves_node && waits(flow, ORR_RENDEZVOUS_PER_CALL))
    phase.latency_s += orr_fabric_transport(flow->fabric)->rendezvous_s;
  phase.n_uses = flow->uses->len;
  phase.uses = g_memdup2(flow->uses->data, phase.n_uses * sizeof *phase.uses);
  phase.latency_s += shortfall(flow, &phase);
  g_array_append_val(phases, phase);
  orr_collective_flow_empty(flow);
}

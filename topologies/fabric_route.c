/*
 * fabric_route.c - routes from GPU to GPU: which ports, which of several routes, and how to avoid
 * dead links.
 *
 * Invariants
 *  1. A route holds each link once; its first and last link belong to its two ends, or to their
 *     node.
 *  2. The route from a to b has as many links as the one from b to a, where neither a hash nor the
 *     destination picks between the cables of two dragonfly groups.
 *  3. The same seed, ends, flow and path give the same route.
 */
#include "sim/base/random.h"
#include "topologies/fabric_private.h"

/* The number of a GPU in the machine. */
static gint64 machine_gpu(const OrrFabric *fabric, gint64 gpu) {
  return fabric->gpu_of ? fabric->gpu_of[gpu] : gpu;
}

gint64 orr_fabric_domain(const OrrFabric *fabric, gint64 gpu) {
  return machine_gpu(fabric, gpu) / fabric->cluster->node.scale_up_domain;
}

gboolean orr_fabric_same_domain(const OrrFabric *fabric, gint64 gpu_a, gint64 gpu_b) {
  return orr_fabric_domain(fabric, gpu_a) == orr_fabric_domain(fabric, gpu_b);
}

/* Whether two GPUs of different domains communicate inside their node. */
static gboolean in_node(const OrrFabric *fabric, gint64 src, gint64 dst) {
  const gint64 each = fabric->cluster->node.gpus;
  return src / each == dst / each && !(fabric->kind->within_nodes && fabric->plan);
}

gboolean orr_fabric_leaves_node(const OrrFabric *fabric, gint64 src_gpu, gint64 dst_gpu) {
  return !orr_fabric_same_domain(fabric, src_gpu, dst_gpu) &&
         !in_node(fabric, machine_gpu(fabric, src_gpu), machine_gpu(fabric, dst_gpu));
}

gboolean orr_fabric_spans_nodes(const OrrFabric *fabric) {
  return fabric->cluster->node.scale_up_domain > fabric->cluster->node.gpus;
}

gboolean orr_fabric_gpudirect(const OrrFabric *fabric) {
  return fabric->cluster->node.gpudirect_rdma;
}

static void append_scale_up(gint64 src, gint64 dst, GArray *links) {
  guint32 ends[] = {(guint32)(2 * src), (guint32)(2 * dst + 1)};
  g_array_append_vals(links, ends, 2);
}

/* Whether a path selects one route by hash or by number; FALSE: paths are spread over all
 * routes. */
static gboolean is_hashed(const OrrFabric *fabric) {
  const OrrRouting routing = (OrrRouting)fabric->cluster->routing;
  return routing == ORR_ROUTING_ECMP || routing == ORR_ROUTING_STATIC;
}

/* The number whose digits select a route. */
static guint64 route_hash(const OrrFabric *fabric, gint64 src_gpu, gint64 dst_gpu, gint64 dst_port,
                          guint64 flow, guint path, guint attempt) {
  const OrrCluster *cluster = fabric->cluster;
  switch ((OrrRouting)cluster->routing) {
  case ORR_ROUTING_ECMP:
    return orr_random_hash3(fabric->seed + attempt, (guint64)src_gpu << 32 | (guint64)dst_gpu,
                            flow * (guint64)cluster->queue_pairs + path);
  case ORR_ROUTING_STATIC:
    return (guint64)dst_port + attempt;
  default:
    return path + attempt;
  }
}

typedef struct {
  const OrrFabric *fabric;
  guint64 flow;
  guint path;
  gboolean detour;
  guint switches; /* result: the switches on the route */
} Asked;

/* Attempts to find a route that avoids the links. */
enum { MOST_ATTEMPTS = 512 };

static gboolean is_avoided(const OrrFabric *fabric, const GArray *links, guint first) {
  for (guint i = first; fabric->avoid && i < links->len; i++)
    if (g_hash_table_contains(fabric->avoid, GUINT_TO_POINTER(g_array_index(links, guint32, i))))
      return TRUE;
  return FALSE;
}

static guint32 nic_link(const OrrFabric *fabric, gint64 port, gboolean back) {
  return (guint32)(fabric->nic_base + 2 * port + (back ? 1 : 0));
}

/* The two ends of a route through the switches. */
typedef struct {
  gint64 src_gpu, dst_gpu; /* for the hash */
  gint64 src, dst;         /* ports */
} Ends;

/* The part of a route between switches; FALSE if it crosses a link to avoid. */
static gboolean route_once(Asked *asked, const Ends *ends, guint attempt, GArray *links) {
  const OrrFabric *fabric = asked->fabric;
  const OrrFabricKind *kind = fabric->kind;
  guint64 hash = route_hash(fabric, ends->src_gpu, ends->dst_gpu, ends->dst, asked->flow,
                            asked->path, attempt);
  guint first = links->len;
  asked->switches =
      (asked->detour ? kind->detour : kind->route)(fabric->plan, ends->src, ends->dst, hash, links);
  for (guint i = first; i < links->len; i++)
    g_array_index(links, guint32, i) += (guint32)fabric->net_base;
  return !is_avoided(fabric, links, first);
}

/* The last attempt repeats the first, so that a route always results. */
static void route_switches(Asked *asked, const Ends *ends, GArray *links) {
  const guint first = links->len;
  gboolean found = route_once(asked, ends, 0, links);
  for (guint attempt = 1; !found && attempt <= MOST_ATTEMPTS; attempt++) {
    g_array_set_size(links, first);
    found = route_once(asked, ends, attempt % MOST_ATTEMPTS, links);
  }
}

static gboolean lane_works(const OrrFabric *fabric, gint64 src_gpu, gint64 dst_gpu, gint64 lane) {
  const guint32 tx = nic_link(fabric, orr_fabric_port(fabric, src_gpu, lane), FALSE),
                rx = nic_link(fabric, orr_fabric_port(fabric, dst_gpu, lane), TRUE);
  return !g_hash_table_contains(fabric->avoid, GUINT_TO_POINTER(tx)) &&
         !g_hash_table_contains(fabric->avoid, GUINT_TO_POINTER(rx));
}

/* The paths that a spread flow has for each route behind a port: one by port; and one for each pair
 * of ports where some may be dead, which divide over all ports but one as evenly as over all. */
static guint lane_paths(const OrrFabric *fabric) {
  const guint lanes = (guint)fabric->lanes;
  return fabric->avoid && lanes > 2 ? lanes * (lanes - 1) : lanes;
}

/* Sprayed packets leave by the ports that work. */
static gint64 spray_lane(Asked *asked, gint64 src_gpu, gint64 dst_gpu) {
  const OrrFabric *fabric = asked->fabric;
  const gint64 lanes = fabric->lanes, slot = asked->path % lane_paths(fabric);
  gint64 n_working = 0;
  asked->path /= lane_paths(fabric);
  for (gint64 lane = 0; fabric->avoid && lane < lanes; lane++)
    n_working += lane_works(fabric, src_gpu, dst_gpu, lane);
  if (n_working == 0) return slot % lanes;
  gint64 left = slot % n_working, lane = 0;
  while (!lane_works(fabric, src_gpu, dst_gpu, lane) || left-- > 0) lane++;
  return lane;
}

/* The port, of several of a GPU, that this path takes; both ends use the same. If it is dead,
 * a queue pair takes the next one. The rest of the path number selects among the routes from
 * there. */
static gint64 take_lane(Asked *asked, gint64 src_gpu, gint64 dst_gpu) {
  const OrrFabric *fabric = asked->fabric;
  const guint lanes = (guint)fabric->lanes;
  if (lanes == 1) return 0;
  if (!is_hashed(fabric)) return spray_lane(asked, src_gpu, dst_gpu);
  const guint64 first = asked->flow * orr_fabric_n_paths(fabric) + asked->path;
  for (guint i = 0; fabric->avoid && i < lanes; i++) {
    const gint64 lane = (gint64)((first + i) % lanes);
    if (lane_works(fabric, src_gpu, dst_gpu, lane)) return lane;
  }
  return (gint64)(first % lanes);
}

/* The links before the NIC, the NIC, the switches, the NIC, and the links behind it. */
static double route_out(Asked *asked, gint64 src_gpu, gint64 dst_gpu, GArray *links) {
  const OrrFabric *fabric = asked->fabric;
  const gint64 lane = take_lane(asked, src_gpu, dst_gpu);
  const Ends ends = {src_gpu, dst_gpu, orr_fabric_port(fabric, src_gpu, lane),
                     orr_fabric_port(fabric, dst_gpu, lane)};
  const guint32 tx = nic_link(fabric, ends.src, FALSE), rx = nic_link(fabric, ends.dst, TRUE);
  orr_fabric_append_exit(fabric, src_gpu, ends.src, links);
  g_array_append_val(links, tx);
  route_switches(asked, &ends, links);
  g_array_append_val(links, rx);
  orr_fabric_append_entry(fabric, dst_gpu, ends.dst, links);
  const double messages = orr_fabric_transport(fabric)->message_rate_per_s;
  return fabric->cluster->node.nic_latency_s + (messages > 0 ? 1 / messages : 0) +
         asked->switches * fabric->kind->switch_latency(fabric->plan);
}

double orr_fabric_messages_per_s(const OrrFabric *fabric) {
  return orr_fabric_transport(fabric)->message_rate_per_s * fabric->cluster->node.nics_per_gpu;
}

double orr_fabric_route_to_port(const OrrFabric *fabric, gint64 gpu, gint64 port, gboolean back,
                                GArray *links) {
  Asked asked = {.fabric = fabric};
  const gint64 own = orr_fabric_port(fabric, gpu, port % fabric->lanes);
  const gint64 other = port / fabric->lanes * fabric->gpus_per_nic;
  const guint32 nic = nic_link(fabric, own, back);
  orr_fabric_append_memory(fabric, gpu, own, back, links);
  g_array_append_val(links, nic);
  route_switches(
      &asked, &(Ends){back ? other : gpu, back ? gpu : other, back ? port : own, back ? own : port},
      links);
  return fabric->cluster->node.nic_latency_s +
         asked.switches * fabric->kind->switch_latency(fabric->plan);
}

/* PXN: the GPU of @src_gpu's domain whose port reaches @dst_gpu's port; @src_gpu itself if its
 * own port does. */
static gint64 exit_gpu(const OrrFabric *fabric, gint64 src_gpu, gint64 dst_gpu) {
  if (!fabric->kind->reaches) return src_gpu;
  const gint64 domain = fabric->cluster->node.scale_up_domain, first = src_gpu / domain * domain;
  const gint64 dst = orr_fabric_port(fabric, dst_gpu, 0);
  for (gint64 i = 0; i < domain; i++) {
    gint64 gpu = first + (src_gpu - first + i) % domain;
    if (fabric->kind->reaches(fabric->plan, orr_fabric_port(fabric, gpu, 0), dst)) return gpu;
  }
  return src_gpu; /* orr_fabric_new refuses such a fabric */
}

static double route_any(Asked *asked, gint64 src_gpu, gint64 dst_gpu, GArray *links) {
  const OrrFabric *fabric = asked->fabric;
  const OrrNodeShape *node = &fabric->cluster->node;
  asked->switches = src_gpu != dst_gpu;
  if (src_gpu == dst_gpu) return 0;
  const gboolean in_domain = orr_fabric_same_domain(fabric, src_gpu, dst_gpu);
  src_gpu = machine_gpu(fabric, src_gpu);
  dst_gpu = machine_gpu(fabric, dst_gpu);
  if (in_domain) {
    append_scale_up(src_gpu, dst_gpu, links);
    return node->scale_up_latency_s;
  }
  if (in_node(fabric, src_gpu, dst_gpu)) {
    orr_fabric_append_peer(fabric, src_gpu, dst_gpu, links);
    return node->host_link_latency_s;
  }
  gint64 out = exit_gpu(fabric, src_gpu, dst_gpu);
  if (out == src_gpu) return route_out(asked, src_gpu, dst_gpu, links);
  append_scale_up(src_gpu, out, links);
  double latency_s = node->scale_up_latency_s + route_out(asked, out, dst_gpu, links);
  asked->switches++; /* the NVSwitch */
  return latency_s;
}

/* Valiant's routes are detours; ugal requests detours separately. */
static gboolean takes_detours(const OrrFabric *fabric) {
  return fabric->cluster->routing == ORR_ROUTING_VALIANT;
}

double orr_fabric_path(const OrrFabric *fabric, gint64 src_gpu, gint64 dst_gpu, guint64 flow,
                       guint path, GArray *links) {
  Asked asked = {.fabric = fabric, .flow = flow, .path = path, .detour = takes_detours(fabric)};
  return route_any(&asked, src_gpu, dst_gpu, links);
}

double orr_fabric_route(const OrrFabric *fabric, gint64 src_gpu, gint64 dst_gpu, guint64 flow,
                        GArray *links) {
  return orr_fabric_path(fabric, src_gpu, dst_gpu, flow, 0, links);
}

double orr_fabric_detour(const OrrFabric *fabric, gint64 src_gpu, gint64 dst_gpu, guint64 flow,
                         guint path, GArray *links) {
  Asked asked = {.fabric = fabric, .flow = flow, .path = path, .detour = TRUE};
  return route_any(&asked, src_gpu, dst_gpu, links);
}

static guint count_paths(const OrrFabric *fabric, guint (*count)(gconstpointer)) {
  return (fabric->plan && count ? MAX(count(fabric->plan), 1) : 1) * lane_paths(fabric);
}

guint orr_fabric_n_paths(const OrrFabric *fabric) {
  switch ((OrrRouting)fabric->cluster->routing) {
  case ORR_ROUTING_ECMP:
    return fabric->cluster->split_data ? (guint)fabric->cluster->queue_pairs : 1;
  case ORR_ROUTING_STATIC:
    return (guint)MIN(fabric->lanes, fabric->cluster->queue_pairs);
  case ORR_ROUTING_VALIANT:
    return count_paths(fabric, fabric->kind->n_detours);
  default:
    return count_paths(fabric, fabric->kind->n_paths);
  }
}

guint orr_fabric_n_detours(const OrrFabric *fabric) {
  if (fabric->cluster->routing != ORR_ROUTING_UGAL || !fabric->plan) return 0;
  return fabric->kind->n_detours ? count_paths(fabric, fabric->kind->n_detours) : 0;
}

guint orr_fabric_hops(const OrrFabric *fabric, gint64 src_gpu, gint64 dst_gpu) {
  g_autoptr(GArray) links = g_array_new(FALSE, FALSE, sizeof(guint32));
  Asked asked = {.fabric = fabric};
  route_any(&asked, src_gpu, dst_gpu, links);
  return asked.switches;
}

/*
 * fabric.c - what all fabrics share: scale-up, host and NIC links, and the registry of kinds.
 *
 * Link ids, in this order (n = GPUs of the job's nodes, p = their fabric ports):
 *   scale-up  2n   tx, rx of each GPU; none where a domain is one GPU
 *   host      2n   tx, rx of each GPU's PCIe; only used between GPUs of a node that are in different domains
 *   nic       2p   tx, rx of each port
 *   fabric         the kind's own, for all the nodes that the fabric was built for
 *   storage        of a file system beside the machine (fabric_storage.c)
 *
 * Invariants
 *  1. A route holds each link once, and its first and last link belong to its two ends.
 *  2. The route from a to b has as many links as the one from b to a, where neither a hash nor the destination
 *     picks between the cables of two dragonfly groups.
 *  3. The same seed, ends, flow and path give the same route.
 */
#include "topologies/fabric.h"

#include <math.h>

#include "sim/base/fault.h"
#include "sim/base/random.h"
#include "topologies/fabric_private.h"

/* To add a kind: one file in fabrics/ with one const OrrFabricKind, a line in each list here (alphabetical), its file
 * in the build, its test in tests/topologies/fabrics/. */
extern const OrrFabricKind orr_clos_tree, orr_custom, orr_dragonfly, orr_dragonfly_plus, orr_fat_tree, orr_hyperx,
    orr_nvlink_domain, orr_rail_only, orr_rail_optimized, orr_torus;

static const OrrEntry *const entries[] = {
    &orr_clos_tree.entry,
    &orr_custom.entry,
    &orr_dragonfly.entry,
    &orr_dragonfly_plus.entry,
    &orr_fat_tree.entry,
    &orr_hyperx.entry,
    &orr_nvlink_domain.entry,
    &orr_rail_only.entry,
    &orr_rail_optimized.entry,
    &orr_torus.entry,
    NULL,
};

const OrrRegistry orr_fabric_registry = {.family = "fabric", .entries = entries};

static double port_bandwidth(const OrrNodeShape *node) {
  return node->nic_bytes_per_s * node->nic_efficiency * MAX(1, node->nics_per_gpu);
}

/* Of a cluster that no document was read into. */
static const OrrTransport plain = {4096, 26, 0, 2, 1, 1, TRUE};

const OrrTransport *orr_fabric_transport(const OrrFabric *fabric) {
  const OrrTransport *transport = fabric->cluster->transport.params;
  return transport ? transport : &plain;
}

/* What packets leave of the network's links; of those between switches, what adaptive routing reaches of that. */
static double nic_share(const OrrFabric *fabric) { return orr_transport_wire_share(orr_fabric_transport(fabric)); }

static double switch_share(const OrrFabric *fabric) {
  const gboolean adaptive = fabric->cluster->routing == ORR_ROUTING_ADAPTIVE;
  return nic_share(fabric) * (adaptive ? orr_fabric_transport(fabric)->adaptive_efficiency : 1);
}

static double host_bandwidth(const OrrCluster *cluster) {
  double nominal = cluster->node.host_link_bytes_per_s;
  return (nominal > 0 ? nominal : cluster->device.host_link_bytes_per_s) * cluster->node.host_link_efficiency;
}

/* --- Life --- */

static gboolean check_domains(const OrrFabric *fabric, GError **error) {
  const OrrNodeShape *node = &fabric->cluster->node;
  if (node->scale_up_domain > node->gpus && fabric->kind != &orr_nvlink_domain) {
    g_set_error(error, ORR_FAULT, ORR_FAULT_DOCUMENT,
                "a scale-up-domain of %" G_GINT64_FORMAT " GPUs spans nodes of %" G_GINT64_FORMAT
                ": the fabric must be {kind: nvlink-domain, scale-out: %s}",
                node->scale_up_domain, node->gpus, fabric->kind->entry.name);
    return FALSE;
  }
  if (!fabric->n_ports && fabric->n_gpus > MAX(node->scale_up_domain, node->gpus)) {
    g_set_error(error, ORR_FAULT, ORR_FAULT_DOCUMENT,
                "nics-per-gpu is %g, but %" G_GINT64_FORMAT " nodes need a network: it must be greater than 0",
                node->nics_per_gpu, orr_cluster_n_nodes(fabric->cluster));
    return FALSE;
  }
  return TRUE;
}

/* What a fabric without links between rails, and routing with detours, ask of the machine. */
static gboolean check_routing(const OrrFabric *fabric, GError **error) {
  const OrrCluster *cluster = fabric->cluster;
  const gboolean detours = cluster->routing == ORR_ROUTING_VALIANT || cluster->routing == ORR_ROUTING_UGAL;
  if (detours && (!fabric->plan || !fabric->kind->detour)) {
    g_set_error(error, ORR_FAULT, ORR_FAULT_DOCUMENT,
                "routing %s takes detours through other groups, which fabric %s has not: use it on a dragonfly or "
                "dragonfly-plus, or routing ideal, ecmp, adaptive or static",
                orr_routing_words[cluster->routing], fabric->kind->entry.name);
    return FALSE;
  }
  const gboolean apart = fabric->plan && fabric->kind->reaches && fabric->n_ports > 1 &&
                         !fabric->kind->reaches(fabric->plan, 0, 1);
  if (apart && cluster->node.scale_up_domain % cluster->node.gpus != 0) {
    g_set_error(error, ORR_FAULT, ORR_FAULT_DOCUMENT,
                "fabric %s has no links between rails: scale-up-domain (%" G_GINT64_FORMAT
                ") must hold whole nodes of %" G_GINT64_FORMAT " GPUs, which hand over to each other (PXN)",
                fabric->kind->entry.name, cluster->node.scale_up_domain, cluster->node.gpus);
    return FALSE;
  }
  return TRUE;
}

/* Ports that the fabric is built with: of nodes, and of storage servers, which have the last ones of those built. */
static gboolean count_ports(OrrFabric *fabric, gint64 *ret_ports, GError **error) {
  const OrrCluster *cluster = fabric->cluster;
  const gint64 per_node = orr_node_shape_n_ports(&cluster->node);
  const gint64 servers = cluster->storage.attach == ORR_STORAGE_FABRIC ? cluster->storage.servers : 0;
  gint64 nodes = orr_cluster_n_built_nodes(cluster);
  if (!cluster->max_nodes) nodes += (servers + per_node - 1) / per_node;
  *ret_ports = nodes * per_node;
  fabric->server_port = *ret_ports - servers;
  if (fabric->server_port >= fabric->n_ports) return TRUE;
  g_set_error(error, ORR_FAULT, ORR_FAULT_DOCUMENT,
              "%" G_GINT64_FORMAT " storage servers and the ports of %" G_GINT64_FORMAT
              " nodes do not fit the fabric, which was built for %" G_GINT64_FORMAT " nodes: raise max-nodes, or attach "
              "storage by a network of its own",
              servers, orr_cluster_n_nodes(cluster), nodes);
  return FALSE;
}

static gboolean make_plan(OrrFabric *fabric, GError **error) {
  const OrrCluster *cluster = fabric->cluster;
  if (!fabric->n_ports) return TRUE;
  gint64 built_ports = 0;
  if (!count_ports(fabric, &built_ports, error)) return FALSE;
  fabric->plan =
      fabric->kind->plan(cluster, cluster->fabric.params, built_ports, port_bandwidth(&cluster->node), error);
  if (!fabric->plan && cluster->max_nodes > orr_cluster_n_nodes(cluster)) /* else the numbers that follow would surprise */
    g_prefix_error(error, "for max-nodes, %" G_GINT64_FORMAT ": ", cluster->max_nodes);
  if (!fabric->plan) g_prefix_error(error, "fabric %s: ", fabric->kind->entry.name);
  return fabric->plan != NULL;
}

static gboolean number_links(OrrFabric *fabric, GError **error) {
  fabric->host_base = fabric->cluster->node.scale_up_domain > 1 ? 2 * fabric->n_gpus : 0;
  fabric->nic_base = fabric->host_base + 2 * fabric->n_gpus;
  fabric->net_base = fabric->nic_base + 2 * fabric->n_ports;
  fabric->storage_base = fabric->net_base + (fabric->plan ? fabric->kind->n_links(fabric->plan) : 0);
  fabric->n_links = fabric->storage_base + orr_fabric_n_storage_links(fabric);
  if (fabric->n_links < G_MAXUINT32) return TRUE;
  g_set_error(error, ORR_FAULT, ORR_FAULT_DOCUMENT,
              "the cluster has %" G_GINT64_FORMAT
              " links: at most %u can be numbered; use fewer nodes or routing: ideal",
              fabric->n_links, G_MAXUINT32);
  return FALSE;
}

OrrFabric *orr_fabric_new(const OrrCluster *cluster, guint64 seed, GError **error) {
  const OrrNodeShape *node = &cluster->node;
  g_autoptr(OrrFabric) fabric = g_new0(OrrFabric, 1);
  fabric->cluster = cluster;
  fabric->kind = (const OrrFabricKind *)cluster->fabric.entry;
  fabric->seed = seed;
  fabric->n_gpus = orr_cluster_n_nodes(cluster) * node->gpus;
  fabric->n_ports = orr_cluster_n_nodes(cluster) * orr_node_shape_n_ports(node);
  fabric->gpus_per_port = node->nics_per_gpu > 0 && node->nics_per_gpu < 1 ? llround(1 / node->nics_per_gpu) : 1;
  if (!check_domains(fabric, error) || !make_plan(fabric, error) || !check_routing(fabric, error) ||
      !number_links(fabric, error)) return NULL;
  return g_steal_pointer(&fabric);
}

static OrrFabric *view_of(const OrrFabric *whole) {
  OrrFabric *view = g_memdup2(whole, sizeof *whole);
  view->is_view = TRUE;
  view->gpu_of = whole->gpu_of ? g_memdup2(whole->gpu_of, (gsize)whole->n_slice * sizeof *whole->gpu_of) : NULL;
  if (view->avoid) g_hash_table_ref(view->avoid);
  return view;
}

OrrFabric *orr_fabric_avoiding(const OrrFabric *whole, GHashTable *avoid) {
  OrrFabric *view = view_of(whole);
  if (view->avoid) g_hash_table_unref(view->avoid);
  view->avoid = g_hash_table_ref(avoid);
  return view;
}

OrrFabric *orr_fabric_slice(const OrrFabric *whole, const gint64 *gpus, gint64 n_gpus) {
  OrrFabric *slice = view_of(whole);
  g_free(slice->gpu_of);
  slice->gpu_of = g_new(gint64, n_gpus + 1);
  slice->n_slice = n_gpus;
  for (gint64 i = 0; i < n_gpus; i++) slice->gpu_of[i] = whole->gpu_of ? whole->gpu_of[gpus[i]] : gpus[i];
  return slice;
}

/* The machine's number of a GPU. */
static gint64 machine_gpu(const OrrFabric *fabric, gint64 gpu) {
  return fabric->gpu_of ? fabric->gpu_of[gpu] : gpu;
}

void orr_fabric_free(OrrFabric *fabric) {
  if (!fabric) return;
  if (fabric->plan && !fabric->is_view) fabric->kind->plan_free(fabric->plan);
  if (fabric->avoid) g_hash_table_unref(fabric->avoid);
  g_free(fabric->gpu_of);
  g_free(fabric);
}

/* --- Links --- */

gint64 orr_fabric_n_gpus(const OrrFabric *fabric) {
  return fabric->gpu_of ? fabric->n_slice : orr_cluster_n_gpus(fabric->cluster);
}

gint64 orr_fabric_n_links(const OrrFabric *fabric) { return fabric->n_links; }

double orr_fabric_link_bandwidth(const OrrFabric *fabric, guint32 link) {
  if (link >= fabric->storage_base) return orr_fabric_storage_link_bandwidth(fabric, link - fabric->storage_base);
  const OrrCluster *cluster = fabric->cluster;
  if (link < fabric->host_base) return cluster->device.scale_up_bytes_per_s * cluster->device.scale_up_efficiency;
  if (link < fabric->nic_base) return host_bandwidth(cluster);
  if (link < fabric->net_base) return port_bandwidth(&cluster->node) * nic_share(fabric);
  return fabric->kind->link_bandwidth(fabric->plan, link - fabric->net_base) * switch_share(fabric);
}

const char *orr_fabric_link_kind(const OrrFabric *fabric, guint32 link) {
  if (link < fabric->host_base) return "scale-up";
  if (link < fabric->nic_base) return "host";
  if (link < fabric->net_base) return "nic";
  return link < fabric->storage_base ? "fabric" : "storage";
}

static char *end_name(const char *owner, gint64 index, const char *what) {
  return g_strdup_printf("%s%" G_GINT64_FORMAT ".%s.%s", owner, index / 2, what, index % 2 ? "rx" : "tx");
}

char *orr_fabric_link_name(const OrrFabric *fabric, guint32 link) {
  if (link >= fabric->storage_base) return orr_fabric_storage_link_name(fabric, link - fabric->storage_base);
  if (link < fabric->host_base) return end_name("gpu", link, "nvlink");
  if (link < fabric->nic_base) return end_name("gpu", link - fabric->host_base, "pcie");
  if (link < fabric->net_base && fabric->gpus_per_port > 1)
    return end_name("nic", link - fabric->nic_base, "net"); /* shared: it has a number of its own */
  if (link < fabric->net_base) return end_name("gpu", link - fabric->nic_base, "nic");
  return fabric->kind->link_name(fabric->plan, link - fabric->net_base);
}

/* --- Routes --- */

gint64 orr_fabric_domain(const OrrFabric *fabric, gint64 gpu) {
  return machine_gpu(fabric, gpu) / fabric->cluster->node.scale_up_domain;
}

gboolean orr_fabric_same_domain(const OrrFabric *fabric, gint64 gpu_a, gint64 gpu_b) {
  return orr_fabric_domain(fabric, gpu_a) == orr_fabric_domain(fabric, gpu_b);
}

gboolean orr_fabric_spans_nodes(const OrrFabric *fabric) {
  return fabric->cluster->node.scale_up_domain > fabric->cluster->node.gpus;
}

gboolean orr_fabric_gpudirect(const OrrFabric *fabric) { return fabric->cluster->node.gpudirect_rdma; }

static void append_ends(gint64 base, gint64 src, gint64 dst, GArray *links) {
  guint32 ends[] = {(guint32)(base + 2 * src), (guint32)(base + 2 * dst + 1)};
  g_array_append_vals(links, ends, 2);
}

/* The number whose digits make a route's choices. */
static guint64 route_hash(const OrrFabric *fabric, gint64 src_gpu, gint64 dst_gpu, gint64 dst_port, guint64 flow,
                          guint path, guint attempt) {
  const OrrCluster *cluster = fabric->cluster;
  switch ((OrrRouting)cluster->routing) {
  case ORR_ROUTING_ECMP:
    return orr_hash3(fabric->seed + attempt, (guint64)src_gpu << 32 | (guint64)dst_gpu, flow * (guint64)cluster->queue_pairs + path);
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
  guint switches; /* returned: how many were passed */
} Asked;

/* Routes that are tried for one that does without the links to avoid. */
enum { MOST_ATTEMPTS = 512 };

static gboolean is_avoided(const OrrFabric *fabric, const GArray *links, guint first) {
  for (guint i = first; fabric->avoid && i < links->len; i++)
    if (g_hash_table_contains(fabric->avoid, GUINT_TO_POINTER(g_array_index(links, guint32, i)))) return TRUE;
  return FALSE;
}

/* The switches' part of a route; FALSE where it crosses a link to avoid. */
static gboolean route_once(Asked *asked, gint64 src_gpu, gint64 dst_gpu, guint attempt, GArray *links) {
  const OrrFabric *fabric = asked->fabric;
  const OrrFabricKind *kind = fabric->kind;
  gint64 src = src_gpu / fabric->gpus_per_port, dst = dst_gpu / fabric->gpus_per_port;
  guint64 hash = route_hash(fabric, src_gpu, dst_gpu, dst, asked->flow, asked->path, attempt);
  guint first = links->len;
  asked->switches = (asked->detour ? kind->detour : kind->route)(fabric->plan, src, dst, hash, links);
  for (guint i = first; i < links->len; i++) g_array_index(links, guint32, i) += (guint32)fabric->net_base;
  return !is_avoided(fabric, links, first);
}

/* NIC, switches, NIC. */
static double route_out(Asked *asked, gint64 src_gpu, gint64 dst_gpu, GArray *links) {
  const OrrFabric *fabric = asked->fabric;
  const OrrFabricKind *kind = fabric->kind;
  gint64 src = src_gpu / fabric->gpus_per_port, dst = dst_gpu / fabric->gpus_per_port;
  guint32 tx = (guint32)(fabric->nic_base + 2 * src), rx = (guint32)(fabric->nic_base + 2 * dst + 1);
  g_array_append_val(links, tx);
  guint first = links->len;
  gboolean found = route_once(asked, src_gpu, dst_gpu, 0, links);
  for (guint attempt = 1; !found && attempt <= MOST_ATTEMPTS; attempt++) {
    g_array_set_size(links, first);
    found = route_once(asked, src_gpu, dst_gpu, attempt % MOST_ATTEMPTS, links); /* the last one as the first */
  }
  g_array_append_val(links, rx);
  const double messages = orr_fabric_transport(fabric)->message_rate_per_s;
  return fabric->cluster->node.nic_latency_s + (messages > 0 ? 1 / messages : 0) +
         asked->switches * kind->switch_latency(fabric->plan);
}

double orr_fabric_route_to_port(const OrrFabric *fabric, gint64 gpu, gint64 port, gboolean back, GArray *links) {
  Asked asked = {.fabric = fabric};
  const gint64 other = port * fabric->gpus_per_port;
  const guint32 nic = (guint32)(fabric->nic_base + 2 * (gpu / fabric->gpus_per_port) + (back ? 1 : 0));
  g_array_append_val(links, nic);
  const guint first = links->len;
  for (guint attempt = 0; attempt <= MOST_ATTEMPTS; attempt++) {
    g_array_set_size(links, first);
    if (route_once(&asked, back ? other : gpu, back ? gpu : other, attempt % MOST_ATTEMPTS, links)) break;
  }
  return fabric->cluster->node.nic_latency_s + asked.switches * fabric->kind->switch_latency(fabric->plan);
}

/* PXN: the GPU of @src_gpu's domain whose port reaches @dst_gpu's; @src_gpu itself where it does. */
static gint64 way_out(const OrrFabric *fabric, gint64 src_gpu, gint64 dst_gpu) {
  if (!fabric->kind->reaches) return src_gpu;
  const gint64 domain = fabric->cluster->node.scale_up_domain, first = src_gpu / domain * domain;
  const gint64 dst = dst_gpu / fabric->gpus_per_port;
  for (gint64 i = 0; i < domain; i++) {
    gint64 gpu = first + (src_gpu - first + i) % domain;
    if (fabric->kind->reaches(fabric->plan, gpu / fabric->gpus_per_port, dst)) return gpu;
  }
  return src_gpu; /* refused when the fabric was made */
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
    append_ends(0, src_gpu, dst_gpu, links);
    return node->scale_up_latency_s;
  }
  if (src_gpu / node->gpus == dst_gpu / node->gpus && !fabric->kind->within_nodes) {
    append_ends(fabric->host_base, src_gpu, dst_gpu, links);
    return node->host_link_latency_s;
  }
  gint64 out = way_out(fabric, src_gpu, dst_gpu);
  if (out == src_gpu) return route_out(asked, src_gpu, dst_gpu, links);
  append_ends(0, src_gpu, out, links);
  double latency_s = node->scale_up_latency_s + route_out(asked, out, dst_gpu, links);
  asked->switches++; /* the NVSwitch */
  return latency_s;
}

/* Detours are what valiant's routes are; ugal's are asked for by themselves. */
static gboolean takes_detours(const OrrFabric *fabric) { return fabric->cluster->routing == ORR_ROUTING_VALIANT; }

double orr_fabric_path(const OrrFabric *fabric, gint64 src_gpu, gint64 dst_gpu, guint64 flow, guint path,
                       GArray *links) {
  Asked asked = {.fabric = fabric, .flow = flow, .path = path, .detour = takes_detours(fabric)};
  return route_any(&asked, src_gpu, dst_gpu, links);
}

double orr_fabric_route(const OrrFabric *fabric, gint64 src_gpu, gint64 dst_gpu, guint64 flow, GArray *links) {
  return orr_fabric_path(fabric, src_gpu, dst_gpu, flow, 0, links);
}

double orr_fabric_detour(const OrrFabric *fabric, gint64 src_gpu, gint64 dst_gpu, guint64 flow, guint path,
                         GArray *links) {
  Asked asked = {.fabric = fabric, .flow = flow, .path = path, .detour = TRUE};
  return route_any(&asked, src_gpu, dst_gpu, links);
}

static guint count_paths(const OrrFabric *fabric, guint (*count)(gconstpointer)) {
  return fabric->plan && count ? MAX(count(fabric->plan), 1) : 1;
}

guint orr_fabric_n_paths(const OrrFabric *fabric) {
  switch ((OrrRouting)fabric->cluster->routing) {
  case ORR_ROUTING_ECMP:
    return (guint)fabric->cluster->queue_pairs;
  case ORR_ROUTING_STATIC:
    return 1;
  case ORR_ROUTING_VALIANT:
    return count_paths(fabric, fabric->kind->n_detours);
  default:
    return count_paths(fabric, fabric->kind->n_paths);
  }
}

guint orr_fabric_n_detours(const OrrFabric *fabric) {
  if (fabric->cluster->routing != ORR_ROUTING_UGAL || !fabric->plan) return 0;
  return fabric->kind->n_detours ? fabric->kind->n_detours(fabric->plan) : 0;
}

gboolean orr_fabric_torus(const OrrFabric *fabric, gint64 ret_shape[3]) {
  if (!fabric->plan || !fabric->kind->shape) return FALSE;
  fabric->kind->shape(fabric->plan, ret_shape);
  return ret_shape[0] * ret_shape[1] * ret_shape[2] == orr_fabric_n_gpus(fabric);
}

enum { OWN_ORBITS = 4 }; /* tx and rx of GPUs' scale-up links and of NICs, where every GPU has one */

guint orr_fabric_n_orbits(const OrrFabric *fabric) {
  const OrrCluster *cluster = fabric->cluster;
  const gboolean spread = cluster->routing == ORR_ROUTING_IDEAL || cluster->routing == ORR_ROUTING_ADAPTIVE;
  const gboolean whole = !fabric->gpu_of && !fabric->avoid &&
                         orr_cluster_n_gpus(cluster) == fabric->n_gpus &&
                         orr_cluster_n_built_nodes(cluster) == orr_cluster_n_nodes(cluster);
  if (!spread || !whole || !fabric->plan || !fabric->kind->n_orbits || fabric->n_ports != fabric->n_gpus) return 0;
  const guint n = fabric->kind->n_orbits(fabric->plan);
  return n > 0 ? OWN_ORBITS + n : 0;
}

guint orr_fabric_orbit(const OrrFabric *fabric, guint32 link) {
  if (link < fabric->host_base) return link % 2;
  if (link < fabric->nic_base) return G_MAXUINT;
  if (link < fabric->net_base) return 2 + (guint)(link - fabric->nic_base) % 2;
  return OWN_ORBITS + fabric->kind->orbit(fabric->plan, link - fabric->net_base);
}

guint orr_fabric_diameter(const OrrFabric *fabric) {
  return fabric->plan ? fabric->kind->diameter(fabric->plan) : 1;
}

guint orr_fabric_hops(const OrrFabric *fabric, gint64 src_gpu, gint64 dst_gpu) {
  g_autoptr(GArray) links = g_array_new(FALSE, FALSE, sizeof(guint32));
  Asked asked = {.fabric = fabric};
  route_any(&asked, src_gpu, dst_gpu, links);
  return asked.switches;
}

/* --- Description --- */

static void clear_level(gpointer level) { g_clear_pointer(&((OrrFabricLevel *)level)->name, g_free); }

GArray *orr_fabric_levels(const OrrFabric *fabric) {
  const OrrCluster *cluster = fabric->cluster;
  gint64 built = orr_cluster_n_built_nodes(cluster);
  GArray *levels = g_array_new(FALSE, FALSE, sizeof(OrrFabricLevel));
  g_array_set_clear_func(levels, clear_level);
  if (cluster->node.scale_up_domain > 1) {
    OrrFabricLevel level = {.name = g_strdup("gpu-nvlink"),
                            .links = built * cluster->node.gpus,
                            .link_bytes_per_s = orr_fabric_link_bandwidth(fabric, 0),
                            .oversubscription = 1};
    g_array_append_val(levels, level);
  }
  if (!fabric->plan) return levels;
  OrrFabricLevel level = {.name = g_strdup("nic-leaf"),
                          .links = built * llround((double)cluster->node.gpus * cluster->node.nics_per_gpu),
                          .link_bytes_per_s = cluster->node.nic_bytes_per_s * cluster->node.nic_efficiency,
                          .oversubscription = 1};
  guint nic = levels->len;
  g_array_append_val(levels, level);
  fabric->kind->levels(fabric->plan, levels);
  for (guint i = nic; i < levels->len; i++)
    g_array_index(levels, OrrFabricLevel, i).link_bytes_per_s *= i == nic ? nic_share(fabric) : switch_share(fabric);
  if (levels->len > nic + 1)
    g_array_index(levels, OrrFabricLevel, nic).switches_above = g_array_index(levels, OrrFabricLevel, nic + 1).switches;
  return levels;
}

double orr_fabric_bisection(const OrrFabric *fabric) {
  const OrrCluster *cluster = fabric->cluster;
  if (fabric->plan) return fabric->kind->bisection(fabric->plan) * switch_share(fabric);
  return (double)fabric->n_gpus / 2 *
         (cluster->node.scale_up_domain > 1 ? orr_fabric_link_bandwidth(fabric, 0) : host_bandwidth(cluster));
}

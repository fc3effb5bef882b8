/*
 * fabric.c - what all fabrics share: scale-up, host and NIC links, and the registry of kinds.
 *
 * Link ids, in this order (n = GPUs of the job's nodes, p = their fabric ports):
 *   scale-up  2n   tx, rx of each GPU; none where a domain is one GPU
 *   host      2n   tx, rx of each GPU's PCIe; only used between GPUs of a node that are in different domains
 *   nic       2p   tx, rx of each port
 *   fabric         the kind's own, for all the nodes that the fabric was built for
 *
 * Invariants
 *  1. A route holds each link once, and its first and last link belong to its two ends.
 *  2. The route from a to b has as many links as the one from b to a.
 *  3. The same seed, ends and flow give the same route.
 */
#include "topologies/fabric.h"

#include <math.h>

#include "sim/base/fault.h"
#include "sim/base/random.h"

/* To add a kind: one file in fabrics/ with one const OrrFabricKind, a line in each list here (alphabetical), its file
 * in the build, its test in tests/topologies/fabrics/. */
extern const OrrFabricKind orr_fat_tree, orr_nvlink_domain, orr_rail_optimized;

static const OrrEntry *const entries[] = {
    &orr_fat_tree.entry,
    &orr_nvlink_domain.entry,
    &orr_rail_optimized.entry,
    NULL,
};

const OrrRegistry orr_fabric_registry = {.family = "fabric", .entries = entries};

struct OrrFabric {
  const OrrCluster *cluster;
  const OrrFabricKind *kind;
  gpointer plan; /* NULL where there are no NICs */
  guint64 seed;
  gint64 n_gpus;                        /* of the job's nodes */
  gint64 n_ports;                       /* theirs */
  gint64 gpus_per_port;                 /* GPUs that share a NIC; 1 where a GPU has one or more */
  gint64 host_base, nic_base, net_base; /* first ids */
  gint64 n_links;
};

static double port_bandwidth(const OrrNodeShape *node) {
  return node->nic_bytes_per_s * node->nic_efficiency * MAX(1, node->nics_per_gpu);
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

static gboolean make_plan(OrrFabric *fabric, GError **error) {
  const OrrCluster *cluster = fabric->cluster;
  gint64 built_ports = orr_cluster_n_built_nodes(cluster) * orr_node_shape_n_ports(&cluster->node);
  if (!fabric->n_ports) return TRUE;
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
  fabric->n_links = fabric->net_base + (fabric->plan ? fabric->kind->n_links(fabric->plan) : 0);
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
  if (!check_domains(fabric, error) || !make_plan(fabric, error) || !number_links(fabric, error)) return NULL;
  return g_steal_pointer(&fabric);
}

void orr_fabric_free(OrrFabric *fabric) {
  if (!fabric) return;
  if (fabric->plan) fabric->kind->plan_free(fabric->plan);
  g_free(fabric);
}

/* --- Links --- */

gint64 orr_fabric_n_gpus(const OrrFabric *fabric) { return orr_cluster_n_gpus(fabric->cluster); }

gint64 orr_fabric_n_links(const OrrFabric *fabric) { return fabric->n_links; }

double orr_fabric_link_bandwidth(const OrrFabric *fabric, guint32 link) {
  const OrrCluster *cluster = fabric->cluster;
  if (link < fabric->host_base) return cluster->device.scale_up_bytes_per_s * cluster->device.scale_up_efficiency;
  if (link < fabric->nic_base) return host_bandwidth(cluster);
  if (link < fabric->net_base) return port_bandwidth(&cluster->node);
  return fabric->kind->link_bandwidth(fabric->plan, link - fabric->net_base);
}

const char *orr_fabric_link_kind(const OrrFabric *fabric, guint32 link) {
  if (link < fabric->host_base) return "scale-up";
  if (link < fabric->nic_base) return "host";
  return link < fabric->net_base ? "nic" : "fabric";
}

static char *end_name(const char *owner, gint64 index, const char *what) {
  return g_strdup_printf("%s%" G_GINT64_FORMAT ".%s.%s", owner, index / 2, what, index % 2 ? "rx" : "tx");
}

char *orr_fabric_link_name(const OrrFabric *fabric, guint32 link) {
  if (link < fabric->host_base) return end_name("gpu", link, "nvlink");
  if (link < fabric->nic_base) return end_name("gpu", link - fabric->host_base, "pcie");
  if (link < fabric->net_base && fabric->gpus_per_port > 1)
    return end_name("nic", link - fabric->nic_base, "net"); /* shared: it has a number of its own */
  if (link < fabric->net_base) return end_name("gpu", link - fabric->nic_base, "nic");
  return fabric->kind->link_name(fabric->plan, link - fabric->net_base);
}

/* --- Routes --- */

gint64 orr_fabric_domain(const OrrFabric *fabric, gint64 gpu) { return gpu / fabric->cluster->node.scale_up_domain; }

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

/* NIC, switches, NIC. @ret_switches: how many were passed. */
static double route_out(const OrrFabric *fabric, gint64 src_gpu, gint64 dst_gpu, guint64 flow, GArray *links,
                        guint *ret_switches) {
  gint64 src = src_gpu / fabric->gpus_per_port, dst = dst_gpu / fabric->gpus_per_port;
  guint64 pair = (guint64)src_gpu << 32 | (guint64)dst_gpu;
  guint32 tx = (guint32)(fabric->nic_base + 2 * src), rx = (guint32)(fabric->nic_base + 2 * dst + 1);
  g_array_append_val(links, tx);
  guint first = links->len;
  *ret_switches = fabric->kind->route(fabric->plan, src, dst, orr_hash3(fabric->seed, pair, flow), links);
  for (guint i = first; i < links->len; i++) g_array_index(links, guint32, i) += (guint32)fabric->net_base;
  g_array_append_val(links, rx);
  return fabric->cluster->node.nic_latency_s + *ret_switches * fabric->kind->switch_latency(fabric->plan);
}

static double route_any(const OrrFabric *fabric, gint64 src_gpu, gint64 dst_gpu, guint64 flow, GArray *links,
                        guint *ret_switches) {
  const OrrNodeShape *node = &fabric->cluster->node;
  *ret_switches = src_gpu != dst_gpu;
  if (src_gpu == dst_gpu) return 0;
  if (orr_fabric_same_domain(fabric, src_gpu, dst_gpu)) {
    append_ends(0, src_gpu, dst_gpu, links);
    return node->scale_up_latency_s;
  }
  if (src_gpu / node->gpus == dst_gpu / node->gpus) {
    append_ends(fabric->host_base, src_gpu, dst_gpu, links);
    return node->host_link_latency_s;
  }
  return route_out(fabric, src_gpu, dst_gpu, flow, links, ret_switches);
}

double orr_fabric_route(const OrrFabric *fabric, gint64 src_gpu, gint64 dst_gpu, guint64 flow, GArray *links) {
  guint switches = 0;
  return route_any(fabric, src_gpu, dst_gpu, flow, links, &switches);
}

guint orr_fabric_hops(const OrrFabric *fabric, gint64 src_gpu, gint64 dst_gpu) {
  g_autoptr(GArray) links = g_array_new(FALSE, FALSE, sizeof(guint32));
  guint switches = 0;
  route_any(fabric, src_gpu, dst_gpu, 0, links, &switches);
  return switches;
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
  if (levels->len > nic + 1)
    g_array_index(levels, OrrFabricLevel, nic).switches_above = g_array_index(levels, OrrFabricLevel, nic + 1).switches;
  return levels;
}

double orr_fabric_bisection(const OrrFabric *fabric) {
  const OrrCluster *cluster = fabric->cluster;
  if (fabric->plan) return fabric->kind->bisection(fabric->plan);
  return (double)fabric->n_gpus / 2 *
         (cluster->node.scale_up_domain > 1 ? orr_fabric_link_bandwidth(fabric, 0) : host_bandwidth(cluster));
}

/*
 * fabric.c - what all fabrics share: scale-up, host and NIC links.
 *
 * Link ids, in this order (n = GPUs of the job's nodes, p = their fabric ports):
 *   scale-up  2n   tx, rx of each GPU; none where a domain is one GPU
 *   host      2n   tx, rx of each GPU's PCIe: GPUs of a node in different domains, host memory, and
 *                  where cluster.h says so network traffic
 *   node           PCIe switches, host bridges, slots of NICs, where they bind (fabric_host.c)
 *   nic       2p   tx, rx of each port
 *   fabric         the kind's own, for all the nodes that the fabric was built for
 *   storage        of a file system outside the machine (fabric_storage.c)
 *   memory     N   DRAM of each of N nodes, reads and writes together, where cluster.h says how
 *                  fast it is
 */
#include "topologies/fabric.h"

#include "topologies/fabric_private.h"

/* The transport of a cluster that was not read from a document. */
static const OrrTransport plain = {4096, 26, 0, 2, 1, 1, TRUE, 0, 0};

const OrrTransport *orr_fabric_transport(const OrrFabric *fabric) {
  const OrrTransport *transport = fabric->cluster->transport.params;
  return transport ? transport : &plain;
}

/* The fraction of a network link's bandwidth that remains after packet headers; for links
 * between switches, times the fraction that adaptive routing reaches. */
double orr_fabric_nic_fraction(const OrrFabric *fabric) {
  return orr_transport_packet_fraction(orr_fabric_transport(fabric));
}

double orr_fabric_switch_fraction(const OrrFabric *fabric) {
  const gboolean adaptive = fabric->cluster->routing == ORR_ROUTING_ADAPTIVE;
  return orr_fabric_nic_fraction(fabric) *
         (adaptive ? orr_fabric_transport(fabric)->adaptive_efficiency : 1);
}

/* --- Life --- */

static gboolean check_domains(const OrrFabric *fabric, GError **error) {
  const OrrNodeShape *node = &fabric->cluster->node;
  if (node->scale_up_domain > node->gpus && !fabric->kind->spans_nodes)
    return orr_fault_set(error, ORR_FAULT_DOCUMENT,
                         "a scale-up-domain of %ld GPUs spans nodes of %ld: the fabric must be "
                         "{kind: nvlink-domain, scale-out: %s}",
                         node->scale_up_domain, node->gpus, fabric->kind->entry.name);
  const gint64 links = fabric->cluster->device.scale_up_links;
  if (links > 0 && node->scale_up_domain > links + 1)
    return orr_fault_set(error, ORR_FAULT_DOCUMENT,
                         "a scale-up-domain of %ld GPUs: a mesh of %ld links (device %s, "
                         "scale-up-links) joins at most %ld",
                         node->scale_up_domain, links, fabric->cluster->device.name, links + 1);
  if (!fabric->n_ports && fabric->n_gpus > MAX(node->scale_up_domain, node->gpus))
    return orr_fault_set(
        error, ORR_FAULT_DOCUMENT,
        "nics-per-gpu is %g, but %ld nodes need a network: it must be greater than 0",
        node->nics_per_gpu, orr_cluster_n_nodes(fabric->cluster));
  return TRUE;
}

/* Checks the machine against what a fabric without links between rails, and routing with
 * detours, require. */
static gboolean check_routing(const OrrFabric *fabric, GError **error) {
  const OrrCluster *cluster = fabric->cluster;
  const gboolean detours =
      cluster->routing == ORR_ROUTING_VALIANT || cluster->routing == ORR_ROUTING_UGAL;
  if (detours && (!fabric->plan || !fabric->kind->detour))
    return orr_fault_set(
        error, ORR_FAULT_DOCUMENT,
        "routing %s takes detours over third groups or routers, which fabric %s lacks: use it on a "
        "dragonfly, dragonfly-plus or hyperx, or routing ideal, ecmp, adaptive or static",
        orr_routing_words[cluster->routing], fabric->kind->entry.name);
  const gboolean apart = fabric->plan && fabric->kind->reaches && fabric->n_ports > 1 &&
                         !fabric->kind->reaches(fabric->plan, 0, 1);
  if (apart && cluster->node.scale_up_domain % cluster->node.gpus != 0)
    return orr_fault_set(error, ORR_FAULT_DOCUMENT,
                         "fabric %s has no links between rails: scale-up-domain (%ld) must hold "
                         "whole nodes of %ld GPUs, which forward to each other (PXN)",
                         fabric->kind->entry.name, cluster->node.scale_up_domain,
                         cluster->node.gpus);
  return TRUE;
}

/* Counts the ports that the fabric is built with: the nodes' and the storage servers', which take
 * the last ones. */
static gboolean count_ports(OrrFabric *fabric, gint64 *ret_ports, GError **error) {
  const OrrCluster *cluster = fabric->cluster;
  const gint64 per_node = orr_node_shape_n_ports(&cluster->node);
  const gint64 servers =
      cluster->storage.attach == ORR_STORAGE_FABRIC ? cluster->storage.servers : 0;
  gint64 nodes = orr_cluster_n_built_nodes(cluster);
  if (!cluster->max_nodes) nodes += (servers + per_node - 1) / per_node;
  *ret_ports = nodes * per_node;
  fabric->server_port = *ret_ports - servers;
  if (fabric->server_port >= fabric->n_ports) return TRUE;
  return orr_fault_set(
      error, ORR_FAULT_DOCUMENT,
      "%ld storage servers and the ports of %ld nodes do not fit the fabric, which was built for "
      "%ld nodes: raise max-nodes, or attach storage by its own network",
      servers, orr_cluster_n_nodes(cluster), nodes);
}

static gboolean make_plan(OrrFabric *fabric, GError **error) {
  const OrrCluster *cluster = fabric->cluster;
  if (!fabric->n_ports) return TRUE;
  gint64 built_ports = 0;
  if (!count_ports(fabric, &built_ports, error)) return FALSE;
  fabric->plan = fabric->kind->plan(cluster, cluster->fabric.params, built_ports,
                                    orr_node_shape_port_bandwidth(&cluster->node), error);
  if (!fabric->plan &&
      cluster->max_nodes >
          orr_cluster_n_nodes(cluster)) /* else the numbers that follow would surprise */
    g_prefix_error(error, "for max-nodes, %ld: ", cluster->max_nodes);
  if (!fabric->plan) g_prefix_error(error, "fabric %s: ", fabric->kind->entry.name);
  return fabric->plan != NULL;
}

static gboolean number_links(OrrFabric *fabric, GError **error) {
  fabric->host_base = fabric->cluster->node.scale_up_domain > 1 ? 2 * fabric->n_gpus : 0;
  fabric->nic_base = orr_fabric_number_host_links(fabric, fabric->host_base + 2 * fabric->n_gpus);
  fabric->net_base = fabric->nic_base + 2 * fabric->n_ports;
  fabric->storage_base =
      fabric->net_base + (fabric->plan ? fabric->kind->n_links(fabric->plan) : 0);
  fabric->memory_base = fabric->storage_base + orr_fabric_n_storage_links(fabric);
  fabric->n_links = fabric->memory_base + orr_fabric_n_memory_links(fabric);
  if (fabric->n_links < G_MAXUINT32) return TRUE;
  return orr_fault_set(
      error, ORR_FAULT_DOCUMENT,
      "the cluster has %ld links: at most %u can be numbered; use fewer nodes or routing: ideal",
      fabric->n_links, G_MAXUINT32);
}

OrrFabric *orr_fabric_new(const OrrCluster *cluster, guint64 seed, GError **error) {
  const OrrNodeShape *node = &cluster->node;
  g_autoptr(OrrFabric) fabric = g_new0(OrrFabric, 1);
  fabric->cluster = cluster;
  fabric->kind = (const OrrFabricKind *)cluster->fabric.entry;
  fabric->seed = seed;
  fabric->notes = g_new0(OrrFabricNotes, 1);
  fabric->notes->spreads = g_array_new(FALSE, FALSE, sizeof(OrrHashSpread));
  fabric->n_gpus = orr_cluster_n_nodes(cluster) * node->gpus;
  fabric->n_ports = orr_cluster_n_nodes(cluster) * orr_node_shape_n_ports(node);
  fabric->lanes = orr_node_shape_ports_each(node);
  fabric->gpus_per_nic =
      node->nics_per_gpu > 0 && node->nics_per_gpu < 1 ? llround(1 / node->nics_per_gpu) : 1;
  if (!check_domains(fabric, error) || !make_plan(fabric, error) || !check_routing(fabric, error) ||
      !number_links(fabric, error))
    return NULL;
  return g_steal_pointer(&fabric);
}

gint64 orr_fabric_hash_draws(const OrrFabric *fabric) {
  return fabric->cluster->routing == ORR_ROUTING_ECMP ? fabric->cluster->hash_draws : 0;
}

OrrHashTake orr_fabric_hash_take(const OrrFabric *fabric) {
  return (OrrHashTake)fabric->cluster->hash_take;
}

guint64 orr_fabric_seed(const OrrFabric *fabric) { return fabric->seed; }

OrrFabricNotes *orr_fabric_notes(const OrrFabric *fabric) { return fabric->notes; }

const OrrChoice *orr_fabric_queues(const OrrFabric *fabric) {
  const OrrQueueKind *kind = (const OrrQueueKind *)fabric->cluster->queues.entry;
  return kind && kind->has_queues ? &fabric->cluster->queues : NULL;
}

static OrrFabric *view_of(const OrrFabric *whole) {
  OrrFabric *view = g_memdup2(whole, sizeof *whole);
  view->is_view = TRUE;
  view->gpu_of = whole->gpu_of
                     ? g_memdup2(whole->gpu_of, (gsize)whole->n_slice * sizeof *whole->gpu_of)
                     : NULL;
  if (view->avoid) g_hash_table_ref(view->avoid);
  if (view->left) g_hash_table_ref(view->left);
  return view;
}

OrrFabric *orr_fabric_avoiding(const OrrFabric *whole, GHashTable *avoid) {
  OrrFabric *view = view_of(whole);
  if (view->avoid) g_hash_table_unref(view->avoid);
  view->avoid = g_hash_table_ref(avoid);
  return view;
}

OrrFabric *orr_fabric_losing(const OrrFabric *whole, GHashTable *left) {
  OrrFabric *view = view_of(whole);
  if (view->left) g_hash_table_unref(view->left);
  view->left = g_hash_table_ref(left);
  return view;
}

OrrFabric *orr_fabric_drawing(const OrrFabric *whole, guint64 seed) {
  OrrFabric *view = view_of(whole);
  view->seed = seed;
  return view;
}

OrrFabric *orr_fabric_slice(const OrrFabric *whole, const gint64 *gpus, gint64 n_gpus) {
  OrrFabric *slice = view_of(whole);
  g_free(slice->gpu_of);
  slice->gpu_of = g_new(gint64, n_gpus + 1);
  slice->n_slice = n_gpus;
  for (gint64 i = 0; i < n_gpus; i++)
    slice->gpu_of[i] = whole->gpu_of ? whole->gpu_of[gpus[i]] : gpus[i];
  return slice;
}

OrrFabric *orr_fabric_sharing(const OrrFabric *whole, double share) {
  OrrFabric *view = view_of(whole);
  view->taken = 1 - (1 - whole->taken) * share;
  return view;
}

void orr_fabric_free(OrrFabric *fabric) {
  if (!fabric) return;
  if (fabric->plan && !fabric->is_view) fabric->kind->plan_free(fabric->plan);
  if (fabric->avoid) g_hash_table_unref(fabric->avoid);
  if (fabric->left) g_hash_table_unref(fabric->left);
  if (fabric->notes && !fabric->is_view) {
    g_array_unref(fabric->notes->spreads);
    g_free(fabric->notes);
  }
  ORR_FREE(fabric->gpu_of, fabric);
}

/* --- Links --- */

gint64 orr_fabric_n_gpus(const OrrFabric *fabric) {
  return fabric->gpu_of ? fabric->n_slice : orr_cluster_n_gpus(fabric->cluster);
}

gint64 orr_fabric_n_links(const OrrFabric *fabric) { return fabric->n_links; }

static double built_bandwidth(const OrrFabric *fabric, guint32 link) {
  if (link >= fabric->memory_base) return orr_fabric_memory_bandwidth(fabric);
  if (link >= fabric->storage_base)
    return orr_fabric_storage_link_bandwidth(fabric, link - fabric->storage_base);
  const OrrCluster *cluster = fabric->cluster;
  if (link < fabric->host_base)
    return cluster->device.scale_up_bytes_per_s * cluster->device.scale_up_efficiency;
  if (link < fabric->inside_base[0]) return orr_cluster_host_copy_bytes_per_s(fabric->cluster);
  if (link < fabric->nic_base) return orr_fabric_host_link_bandwidth(fabric, link);
  if (link < fabric->net_base)
    return orr_node_shape_port_bandwidth(&cluster->node) * orr_fabric_nic_fraction(fabric);
  return fabric->kind->link_bandwidth(fabric->plan, link - fabric->net_base) *
         orr_fabric_switch_fraction(fabric) * (1 - fabric->taken);
}

double orr_fabric_link_bandwidth(const OrrFabric *fabric, guint32 link) {
  const double *left =
      fabric->left ? g_hash_table_lookup(fabric->left, GUINT_TO_POINTER(link)) : NULL;
  return built_bandwidth(fabric, link) * (left ? *left : 1);
}

gint64 orr_fabric_domain_size(const OrrFabric *fabric) {
  return fabric->cluster->node.scale_up_domain;
}

guint32 orr_fabric_mesh_links(const OrrFabric *fabric, guint32 link) {
  return link < fabric->host_base ? (guint32)MAX(fabric->cluster->device.scale_up_links, 1) : 1;
}

gint64 orr_fabric_link_nic(const OrrFabric *fabric, guint32 link) {
  if (link < fabric->host_base) return link / 2 / fabric->gpus_per_nic;
  if (link < fabric->inside_base[0]) return (link - fabric->host_base) / 2 / fabric->gpus_per_nic;
  return link < fabric->nic_base || link >= fabric->net_base
             ? -1
             : ((gint64)link - fabric->nic_base) / 2 / fabric->lanes;
}

gint64 orr_fabric_nics_of_node(const OrrFabric *fabric) {
  return MAX(fabric->cluster->node.gpus / fabric->gpus_per_nic, 1);
}

const char *orr_fabric_link_kind(const OrrFabric *fabric, guint32 link) {
  if (link < fabric->host_base) return "scale-up";
  if (link < fabric->inside_base[0]) return "host";
  if (link < fabric->nic_base) return "node";
  if (link < fabric->net_base) return "nic";
  if (link >= fabric->memory_base) return "memory";
  return link < fabric->storage_base ? "fabric" : "storage";
}

static char *end_name(const char *owner, gint64 index, const char *what) {
  return g_strdup_printf("%s%ld.%s.%s", owner, index / 2, what, index % 2 ? "rx" : "tx");
}

/* Shared NICs are numbered by themselves; the ports of one GPU are numbered within it. */
static char *port_name(const OrrFabric *fabric, gint64 index) {
  if (fabric->gpus_per_nic > 1) return end_name("nic", index, "net");
  if (fabric->lanes == 1) return end_name("gpu", index, "nic");
  const gint64 port = index / 2;
  return g_strdup_printf("gpu%ld.nic%ld.%s", port / fabric->lanes, port % fabric->lanes,
                         index % 2 ? "rx" : "tx");
}

char *orr_fabric_link_name(const OrrFabric *fabric, guint32 link) {
  if (link >= fabric->memory_base)
    return g_strdup_printf("node%ld.memory", link - fabric->memory_base);
  if (link >= fabric->storage_base)
    return orr_fabric_storage_link_name(fabric, link - fabric->storage_base);
  if (link < fabric->host_base) return end_name("gpu", link, "nvlink");
  if (link < fabric->inside_base[0]) return end_name("gpu", link - fabric->host_base, "pcie");
  if (link < fabric->nic_base) return orr_fabric_host_link_name(fabric, link);
  if (link < fabric->net_base) return port_name(fabric, link - fabric->nic_base);
  return fabric->kind->link_name(fabric->plan, link - fabric->net_base);
}

static char *name_link(gconstpointer fabric, guint32 link) {
  return orr_fabric_link_name(fabric, link);
}

guint32 orr_fabric_program_link(const OrrFabric *fabric, OrrProgram *program, guint32 link) {
  return orr_program_link_named_by(program, name_link, fabric, link,
                                   orr_fabric_link_bandwidth(fabric, link));
}

/* --- Symmetry --- */

gboolean orr_fabric_torus(const OrrFabric *fabric, gint64 ret_shape[3], gboolean ret_open[3]) {
  if (!fabric->plan || !fabric->kind->shape) return FALSE;
  fabric->kind->shape(fabric->plan, ret_shape, ret_open);
  return orr_fabric_n_gpus(fabric) % (ret_shape[0] * ret_shape[1] * ret_shape[2]) == 0;
}

enum { OWN_ORBITS = 4 }; /* tx and rx of GPUs' scale-up links and of NICs, if every GPU has one */

guint orr_fabric_n_orbits(const OrrFabric *fabric) {
  const OrrCluster *cluster = fabric->cluster;
  const gboolean spread =
      cluster->routing == ORR_ROUTING_IDEAL || cluster->routing == ORR_ROUTING_ADAPTIVE;
  const gboolean whole = !fabric->gpu_of && !fabric->avoid && !fabric->left && fabric->taken == 0 &&
                         orr_cluster_n_gpus(cluster) == fabric->n_gpus &&
                         orr_cluster_n_built_nodes(cluster) == orr_cluster_n_nodes(cluster);
  if (!spread || !whole || !fabric->plan || !fabric->kind->n_orbits ||
      fabric->n_ports != fabric->n_gpus)
    return 0;
  const guint n = fabric->kind->n_orbits(fabric->plan);
  return n > 0 ? OWN_ORBITS + n : 0;
}

guint orr_fabric_orbit(const OrrFabric *fabric, guint32 link) {
  if (link < fabric->host_base) return link % 2;
  if (link < fabric->nic_base || link >= fabric->storage_base) return G_MAXUINT;
  if (link < fabric->net_base) return 2 + (guint)(link - fabric->nic_base) % 2;
  return OWN_ORBITS + fabric->kind->orbit(fabric->plan, link - fabric->net_base);
}

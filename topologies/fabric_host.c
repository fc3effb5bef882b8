/*
 * fabric_host.c - links inside a node (cluster.h) other than GPUs' PCIe and NICs, and the routes
 * over them.
 *
 *   switch   2 a PCIe switch   up, down
 *   bridge   2 a host bridge   in (from its devices), out
 *   socket   2 a host bridge   out, in: to the other bridges of its node, and from them
 *   slot     2 a NIC           tx (to the network), rx
 *
 * A kind of link exists if its rate says that it can be a limit. Each route appends those links
 * that exist.
 */
#include "topologies/fabric_private.h"

static const OrrNodeShape *node_of(const OrrFabric *fabric) { return &fabric->cluster->node; }

static gint64 gpus_per_bridge(const OrrNodeShape *node) {
  return node->host.gpus_per_bridge > 0 ? node->host.gpus_per_bridge : node->gpus;
}

/* Fabric ports that share a slot. */
static gint64 ports_per_slot(const OrrNodeShape *node) {
  return node->ports == ORR_PORTS_SEPARATE ? MAX(1, node->ports_per_nic) : 1;
}

/* What NICs reach up to this fraction of the nominal rate of the GPU's link was measured with the
 * link on the path: NCCL expects 24, 48 and 96 GB/s of NICs of 200, 400 and 800 Gb/s, and of PCIe
 * x16 of Gen4, Gen5 and Gen6, whose nominal rates are 31.5, 63 and 121 GB/s. Faster NICs are
 * limited by the link. */
static const double measured_with_the_link = 0.8;

/* network-path: auto, and NICs that would reach more than was measured with the link there. */
static gboolean is_limit(const OrrCluster *cluster) {
  const OrrNodeShape *node = &cluster->node;
  const double nics = MAX(node->nics_per_gpu, 1); /* one GPU may have a shared NIC to itself */
  const double network = nics * node->nic_bytes_per_s * node->nic_efficiency;
  const double link = orr_cluster_host_link_bytes_per_s(cluster);
  return node->host.network_path == ORR_NETWORK_AUTO && link > 0 &&
         network > measured_with_the_link * link;
}

/* Faster NICs do not get less of the link than slower ones: at least what those reached over it.
 * Copies to the host share the link, and so its rate. */
double orr_cluster_host_copy_bytes_per_s(const OrrCluster *cluster) {
  const double efficiency = cluster->node.host_link_efficiency;
  return orr_cluster_host_link_bytes_per_s(cluster) *
         (is_limit(cluster) ? MAX(efficiency, measured_with_the_link) : efficiency);
}

gboolean orr_cluster_network_on_host_link(const OrrCluster *cluster) {
  const int path = cluster->node.host.network_path;
  return path == ORR_NETWORK_AUTO ? is_limit(cluster) : path != ORR_NETWORK_APART;
}

gboolean orr_fabric_peers_on_pcie(const OrrFabric *fabric) {
  const OrrNodeShape *node = node_of(fabric);
  const OrrHostShape *host = &node->host;
  const double own = node->host_link_bytes_per_s;
  const gboolean is_described = host->gpus_per_switch > 0 || host->bridge_bytes_per_s > 0 ||
                                host->socket_bytes_per_s > 0 || host->slot_bytes_per_s > 0;
  const gboolean is_plain = own <= 0 || own == fabric->cluster->device.host_link_bytes_per_s;
  const gboolean has_scale_up = fabric->cluster->device.scale_up_bytes_per_s > 0;
  return node->scale_up_domain == 1 && !has_scale_up && !is_described && is_plain;
}

gint64 orr_fabric_number_host_links(OrrFabric *fabric, gint64 base) {
  const OrrNodeShape *node = node_of(fabric);
  const OrrHostShape *host = &node->host;
  const gint64 bridges = fabric->n_gpus / gpus_per_bridge(node);
  const gint64 n[ORR_N_HOST_LINKS] = {
      host->gpus_per_switch > 0 ? fabric->n_gpus / host->gpus_per_switch : 0,
      host->bridge_bytes_per_s > 0 ? bridges : 0,
      host->socket_bytes_per_s > 0 && gpus_per_bridge(node) < node->gpus ? bridges : 0,
      host->slot_bytes_per_s > 0 ? fabric->n_ports / ports_per_slot(node) : 0,
  };
  for (int kind = 0; kind < ORR_N_HOST_LINKS; kind++) {
    fabric->inside_base[kind] = base;
    base += 2 * n[kind];
  }
  return base;
}

static int kind_of(const OrrFabric *fabric, gint64 link) {
  int kind = ORR_N_HOST_LINKS - 1;
  while (kind > 0 && link < fabric->inside_base[kind]) kind--;
  return kind;
}

double orr_fabric_host_link_bandwidth(const OrrFabric *fabric, gint64 link) {
  const OrrNodeShape *node = node_of(fabric);
  const double slots = node->ports == ORR_PORTS_SEPARATE ? 1 : MAX(1, node->nics_per_gpu);
  switch ((OrrHostLink)kind_of(fabric, link)) {
  case ORR_HOST_SWITCH:
    if (!(node->host.switch_bytes_per_s > 0))
      return orr_cluster_host_copy_bytes_per_s(fabric->cluster);
    return node->host.switch_bytes_per_s * node->host_link_efficiency;
  case ORR_HOST_BRIDGE:
    return node->host.bridge_bytes_per_s * node->host_link_efficiency;
  case ORR_HOST_SOCKET:
    return node->host.socket_bytes_per_s * node->host_link_efficiency;
  default:
    return node->host.slot_bytes_per_s * node->host_link_efficiency * slots;
  }
}

/* Switches, bridges and slots are numbered through the whole machine. */
char *orr_fabric_host_link_name(const OrrFabric *fabric, gint64 link) {
  static const char *const names[ORR_N_HOST_LINKS][3] = {{"switch", "pcie.up", "pcie.down"},
                                                         {"bridge", "host.in", "host.out"},
                                                         {"bridge", "socket.out", "socket.in"},
                                                         {"nic", "slot.tx", "slot.rx"}};
  const int kind = kind_of(fabric, link);
  const gint64 at = link - fabric->inside_base[kind];
  return g_strdup_printf("%s%ld.%s", names[kind][0], at / 2, names[kind][1 + at % 2]);
}

/* --- Routes --- */

static void append(GArray *links, gint64 link) { ORR_APPEND(links, guint32, (guint32)link); }

/* Appends link number @index of its kind, if the kind exists. @back: the second direction. */
static void append_inside(const OrrFabric *fabric, OrrHostLink kind, gint64 index, gboolean back,
                          GArray *links) {
  const gint64 end = kind + 1 < ORR_N_HOST_LINKS ? fabric->inside_base[kind + 1] : fabric->nic_base;
  if (fabric->inside_base[kind] < end)
    append(links, fabric->inside_base[kind] + 2 * index + (back ? 1 : 0));
}

static void append_pcie(const OrrFabric *fabric, gint64 gpu, gboolean back, GArray *links) {
  append(links, fabric->host_base + 2 * gpu + (back ? 1 : 0));
}

static void append_switch(const OrrFabric *fabric, gint64 gpu, gboolean back, GArray *links) {
  const gint64 each = node_of(fabric)->host.gpus_per_switch;
  if (each > 0) append_inside(fabric, ORR_HOST_SWITCH, gpu / each, back, links);
}

static void append_bridge(const OrrFabric *fabric, gint64 gpu, gboolean back, GArray *links) {
  append_inside(fabric, ORR_HOST_BRIDGE, gpu / gpus_per_bridge(node_of(fabric)), back, links);
}

static void append_slot(const OrrFabric *fabric, gint64 port, gboolean back, GArray *links) {
  append_inside(fabric, ORR_HOST_SLOT, port / ports_per_slot(node_of(fabric)), back, links);
}

void orr_fabric_append_exit(const OrrFabric *fabric, gint64 gpu, gint64 port, GArray *links) {
  const int path = node_of(fabric)->host.network_path;
  if (orr_cluster_network_on_host_link(fabric->cluster)) append_pcie(fabric, gpu, FALSE, links);
  if (path == ORR_NETWORK_BRIDGE) {
    append_switch(fabric, gpu, FALSE, links);
    append_bridge(fabric, gpu, FALSE, links);
    append_bridge(fabric, gpu, TRUE, links);
  }
  append_slot(fabric, port, FALSE, links);
}

void orr_fabric_append_entry(const OrrFabric *fabric, gint64 gpu, gint64 port, GArray *links) {
  const int path = node_of(fabric)->host.network_path;
  append_slot(fabric, port, TRUE, links);
  if (path == ORR_NETWORK_BRIDGE) {
    append_bridge(fabric, gpu, FALSE, links);
    append_bridge(fabric, gpu, TRUE, links);
    append_switch(fabric, gpu, TRUE, links);
  }
  if (orr_cluster_network_on_host_link(fabric->cluster)) append_pcie(fabric, gpu, TRUE, links);
}

void orr_fabric_append_memory(const OrrFabric *fabric, gint64 gpu, gint64 port, gboolean back,
                              GArray *links) {
  const int path = node_of(fabric)->host.network_path;
  if (path == ORR_NETWORK_SWITCH || path == ORR_NETWORK_BRIDGE)
    append_bridge(fabric, gpu, !back, links);
  if (path == ORR_NETWORK_SWITCH) append_switch(fabric, gpu, !back, links);
  append_slot(fabric, port, back, links);
}

void orr_fabric_append_peer(const OrrFabric *fabric, gint64 src, gint64 dst, GArray *links) {
  const OrrNodeShape *node = node_of(fabric);
  const gint64 each = node->host.gpus_per_switch, bridge = gpus_per_bridge(node);
  append_pcie(fabric, src, FALSE, links);
  if (each == 0 || src / each != dst / each) {
    append_switch(fabric, src, FALSE, links);
    append_bridge(fabric, src, FALSE, links);
    if (src / bridge != dst / bridge) {
      append_inside(fabric, ORR_HOST_SOCKET, src / bridge, FALSE, links);
      append_inside(fabric, ORR_HOST_SOCKET, dst / bridge, TRUE, links);
    }
    append_bridge(fabric, dst, TRUE, links);
    append_switch(fabric, dst, TRUE, links);
  }
  append_pcie(fabric, dst, TRUE, links);
}

void orr_fabric_host_route(const OrrFabric *fabric, gint64 gpu, gboolean is_read, GArray *links) {
  const gint64 machine = fabric->gpu_of ? fabric->gpu_of[gpu] : gpu;
  append_pcie(fabric, machine, is_read, links);
  append_switch(fabric, machine, is_read, links);
  append_bridge(fabric, machine, is_read, links);
}

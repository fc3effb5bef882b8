/*
 * fabric_storage.c - the links of a file system, numbered after all others but memory, and the
 * routes to it.
 *
 *   node     2 a node    tx, rx        where it has a network of its own
 *   server   2 a server  in, out
 *   all      2           in, out       where the file system has a limit of its own
 */
#include "topologies/fabric_private.h"

static const OrrStorage *storage_of(const OrrFabric *fabric) { return &fabric->cluster->storage; }

static gint64 n_node_links(const OrrFabric *fabric) {
  const OrrStorage *storage = storage_of(fabric);
  return storage->servers > 0 && storage->attach == ORR_STORAGE_OWN
             ? 2 * orr_cluster_n_nodes(fabric->cluster)
             : 0;
}

gint64 orr_fabric_n_storage_links(const OrrFabric *fabric) {
  const OrrStorage *storage = storage_of(fabric);
  if (storage->servers == 0) return 0;
  return n_node_links(fabric) + 2 * storage->servers + (storage->aggregate_bytes_per_s > 0 ? 2 : 0);
}

double orr_fabric_storage_link_bandwidth(const OrrFabric *fabric, gint64 link) {
  const gint64 n_nodes = n_node_links(fabric);
  if (link < n_nodes) return storage_of(fabric)->node_bytes_per_s;
  if (link < n_nodes + 2 * storage_of(fabric)->servers)
    return storage_of(fabric)->server_bytes_per_s;
  return storage_of(fabric)->aggregate_bytes_per_s;
}

char *orr_fabric_storage_link_name(const OrrFabric *fabric, gint64 link) {
  const gint64 n_nodes = n_node_links(fabric), server = link - n_nodes;
  if (link < n_nodes)
    return g_strdup_printf("node%ld.storage.%s", link / 2, link % 2 ? "rx" : "tx");
  if (server < 2 * storage_of(fabric)->servers)
    return g_strdup_printf("server%ld.storage.%s", server / 2, server % 2 ? "out" : "in");
  return g_strdup_printf("all.storage.%s", server % 2 ? "out" : "in");
}

static void append(GArray *links, gint64 link) { ORR_APPEND(links, guint32, (guint32)link); }

/* GPU numbers of a slice are mapped to the machine's. is_read selects the odd link of each pair. */
double orr_fabric_storage_route(const OrrFabric *fabric, gint64 gpu, gint64 server,
                                gboolean is_read, GArray *links) {
  const gint64 machine = fabric->gpu_of ? fabric->gpu_of[gpu] : gpu;
  const gint64 base = fabric->storage_base, n_nodes = n_node_links(fabric);
  double latency_s = storage_of(fabric)->latency_s;
  if (n_nodes > 0)
    append(links, base + 2 * (machine / fabric->cluster->node.gpus) + (is_read ? 1 : 0));
  else
    latency_s +=
        orr_fabric_route_to_port(fabric, machine, fabric->server_port + server, is_read, links);
  append(links, base + n_nodes + 2 * server + (is_read ? 1 : 0));
  if (storage_of(fabric)->aggregate_bytes_per_s > 0)
    append(links, base + n_nodes + 2 * storage_of(fabric)->servers + (is_read ? 1 : 0));
  return latency_s;
}

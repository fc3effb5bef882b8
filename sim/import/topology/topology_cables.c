/*
 * topology_cables.c - lists the switches and cables of a cluster's fabric.
 */
#include "sim/import/topology/topology_text.h"

static guint switch_of(OrrTopologyCables *of, const char *name) {
  const guint known = GPOINTER_TO_UINT(g_hash_table_lookup(of->numbers, name));
  if (known) return known - 1;
  char *copy = g_strdup(name);
  g_ptr_array_add(of->switches, copy);
  g_hash_table_insert(of->numbers, copy, GUINT_TO_POINTER(of->switches->len));
  return of->switches->len - 1;
}

/* Links come in pairs, there and back: names say "up" and "down", or follow one another. */
static void collect_cables(OrrTopologyCables *of) {
  const double efficiency = of->cluster.node.nic_efficiency *
                            orr_transport_packet_fraction(orr_fabric_transport(of->fabric));
  guint n_arrows = 0;
  for (guint32 link = 0; link < orr_fabric_n_links(of->fabric); link++) {
    char *ends[2] = {NULL, NULL};
    if (strcmp(orr_fabric_link_kind(of->fabric, link), "fabric") != 0) continue;
    g_autofree char *name = orr_fabric_link_name(of->fabric, link);
    const gboolean is_arrow = strchr(name, '>') != NULL;
    if (is_arrow ? n_arrows++ % 2 == 1 : g_str_has_suffix(name, ".down")) continue;
    orr_fabric_link_ends(of->fabric, link, ends);
    ORR_APPEND(of->cables, OrrTopologyCable,
               {switch_of(of, ends[0]), switch_of(of, ends[1]),
                orr_fabric_link_bandwidth(of->fabric, link) / efficiency});
    ORR_FREE(ends[0], ends[1]);
  }
}

/* The switch of a port. No cable leaves it: it is the only one, or the only one of a rail. */
static guint leaf_of(OrrTopologyCables *of, gint64 gpu, gint64 lane, gint64 port) {
  const OrrFabricKind *kind = (const OrrFabricKind *)of->cluster.fabric.entry;
  g_autofree char *leaf = orr_fabric_leaf(of->fabric, gpu, lane);
  g_autofree char *alone = g_strdup_printf("leaf%ld", kind->reaches ? port : 0);
  return switch_of(of, leaf ? leaf : alone);
}

/* The NICs of a node in the order of its GPUs. */
static void collect_nics(OrrTopologyCables *of) {
  const OrrNodeShape *node = &of->cluster.node;
  const gint64 each = orr_node_shape_ports_each(node), links = orr_node_shape_port_links(node);
  const gint64 owners = orr_node_shape_n_ports(node) / each, sharers = node->gpus / owners;
  for (gint64 n = 0; n < of->cluster.nodes; n++)
    for (gint64 port = 0; port < owners * each; port++) {
      const guint at = leaf_of(of, n * node->gpus + port / each * sharers, port % each, port);
      for (gint64 i = 0; i < links; i++) g_array_append_val(of->leaves, at);
    }
}

/* The machine that the fabric was built for, without trunks and storage. */
static OrrCluster plain_cluster(const OrrCluster *from) {
  OrrCluster cluster = *from;
  cluster.nodes = orr_cluster_n_built_nodes(from);
  cluster.gpus = 0;
  cluster.max_nodes = 0;
  cluster.routing = ORR_ROUTING_ECMP;
  cluster.storage.servers = 0;
  cluster.node.scale_up_domain = MIN(cluster.node.scale_up_domain, cluster.node.gpus);
  return cluster;
}

static gboolean check(const OrrCluster *cluster, const char *format, GError **error) {
  const OrrFabricKind *kind = (const OrrFabricKind *)cluster->fabric.entry;
  const char *reason = kind->within_nodes                  ? "its GPUs are their own switches"
                       : !(cluster->node.nics_per_gpu > 0) ? "its nodes have no NICs"
                                                           : NULL;
  if (reason)
    g_set_error(error, ORR_FAULT, ORR_FAULT_DOCUMENT, "--as %s: %s (%s): %s", format, cluster->name,
                kind->entry.name, reason);
  return !reason;
}

gboolean orr_topology_cables_init(OrrTopologyCables *of, const OrrCluster *cluster,
                                  const char *format, GError **error) {
  *of = (OrrTopologyCables){.cluster = plain_cluster(cluster)};
  if (!check(cluster, format, error)) return FALSE;
  of->fabric = orr_fabric_new(&of->cluster, 1, error);
  if (!of->fabric) return FALSE;
  of->switches = g_ptr_array_new_with_free_func(g_free);
  of->numbers = g_hash_table_new(g_str_hash, g_str_equal);
  of->cables = g_array_new(FALSE, FALSE, sizeof(OrrTopologyCable));
  of->leaves = g_array_new(FALSE, FALSE, sizeof(guint));
  collect_cables(of);
  collect_nics(of);
  return TRUE;
}

void orr_topology_cables_clear(OrrTopologyCables *of) {
  g_clear_pointer(&of->numbers, g_hash_table_unref);
  g_clear_pointer(&of->switches, g_ptr_array_unref);
  g_clear_pointer(&of->cables, g_array_unref);
  g_clear_pointer(&of->leaves, g_array_unref);
  g_clear_pointer(&of->fabric, orr_fabric_free);
}

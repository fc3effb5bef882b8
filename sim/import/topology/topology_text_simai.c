/*
 * topology_text_simai.c - a cluster as a topology of SimAI for ns-3 (dump_simai.c has the format).
 *
 * Nodes are numbered GPUs, NVSwitches, switches. A GPU is its own NIC there, so a node needs a NIC
 * for each GPU; of several NICs each is a link. NVLink is one NVSwitch for each node.
 *
 * Not carried: efficiencies, transport, routing, PCIe, racks whose NVLink spans nodes (refused).
 * The error rate of links is 0.
 */
#include "sim/import/topology/topology_text.h"

typedef struct {
  guint gpus, nvswitches, switches, links;
  guint per_node, each; /* GPUs of a node, NICs of a GPU */
} Counts;

static double gbps(double bytes_per_s) { return bytes_per_s * 8 / 1e9; }

static char *refuse(const OrrCluster *cluster, const char *why, GError **error) {
  return orr_fault_null(error, ORR_FAULT_DOCUMENT, "--as simai: %s: %s", cluster->name, why);
}

static Counts counts_of(const OrrTopologyCables *of) {
  const OrrNodeShape *node = &of->cluster.node;
  Counts n = {.per_node = (guint)node->gpus, .switches = of->switches->len};
  n.gpus = (guint)(of->cluster.nodes * node->gpus);
  n.each = of->leaves->len / n.gpus;
  n.nvswitches = node->scale_up_domain > 1 ? (guint)of->cluster.nodes : 0;
  n.links = of->leaves->len + of->cables->len + (n.nvswitches ? n.gpus : 0);
  return n;
}

static void write_links(GString *text, const OrrTopologyCables *of, const Counts *n) {
  const OrrNodeShape *node = &of->cluster.node;
  g_autoptr(GArray) links = g_array_new(FALSE, FALSE, sizeof(guint32));
  const double route_s =
      of->cluster.nodes > 1 ? orr_fabric_route(of->fabric, 0, node->gpus, 0, links) : 0;
  const double switch_ms = 1e3 * route_s / MAX(links->len, 1);
  const guint first = n->gpus + n->nvswitches;
  for (guint g = 0; n->nvswitches && g < n->gpus; g++)
    g_string_append_printf(text, "%u %u %.10gGbps %.10gms 0\n", g, n->gpus + g / n->per_node,
                           gbps(of->cluster.device.scale_up_bytes_per_s),
                           1e3 * node->scale_up_latency_s / 2);
  for (guint i = 0; i < of->leaves->len; i++)
    g_string_append_printf(text, "%u %u %.10gGbps %.10gms 0\n", i / n->each,
                           first + g_array_index(of->leaves, guint, i), gbps(node->nic_bytes_per_s),
                           switch_ms);
  ORR_EACH(const OrrTopologyCable, cable, of->cables)
    g_string_append_printf(text, "%u %u %.10gGbps %.10gms 0\n", first + cable->a, first + cable->b,
                           gbps(cable->bytes_per_s), switch_ms);
}

static char *write_text(const OrrCluster *cluster, GError **error) {
  g_auto(OrrTopologyCables) of;
  if (!orr_topology_cables_init(&of, cluster, "simai", error)) return NULL;
  const OrrNodeShape *node = &of.cluster.node;
  if (cluster->node.scale_up_domain > cluster->node.gpus)
    return refuse(cluster, "NVLink spans nodes", error);
  if (node->nics_per_gpu < 1 || node->nics_per_gpu != floor(node->nics_per_gpu))
    return refuse(cluster, "each GPU is a NIC there, so nodes need one or more for each GPU",
                  error);
  if (node->scale_up_domain > 1 && node->scale_up_domain < node->gpus)
    return refuse(cluster, "NVLink joins all GPUs of a node there, or none", error);
  const Counts n = counts_of(&of);
  GString *text = g_string_new(NULL);
  g_string_append_printf(text, "%u %u %u %u %u %s\n", n.gpus + n.nvswitches + n.switches,
                         n.per_node, n.nvswitches, n.switches, n.links, cluster->device.name);
  for (guint i = 0; i < n.nvswitches + n.switches; i++)
    g_string_append_printf(text, "%s%u", i ? " " : "", n.gpus + i);
  g_string_append_c(text, '\n');
  write_links(text, &of, &n);
  return g_string_free(text, FALSE);
}

const OrrTopologyText orr_topology_text_simai = {
    .name = "simai",
    .sentence = "nodes and every cable, as a topology of SimAI for ns-3",
    .write = write_text,
    .as_built = TRUE,
};

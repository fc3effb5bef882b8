/*
 * fabric_describe.c - a fabric as a dozen lines of text.
 */
#include "topologies/fabric_private.h"

#define LABEL "%-11s"

static void clear_level(gpointer level) {
  g_clear_pointer(&((OrrFabricLevel *)level)->name, g_free);
}

/* Cables between the NICs of a node and its leaves. */
static gint64 n_cables(const OrrNodeShape *node) {
  return orr_node_shape_n_ports(node) * orr_node_shape_port_links(node);
}

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
                          .links = built * n_cables(&cluster->node),
                          .link_bytes_per_s = orr_node_shape_port_bandwidth(&cluster->node) /
                                              (double)orr_node_shape_port_links(&cluster->node),
                          .oversubscription = 1};
  guint nic = levels->len;
  g_array_append_val(levels, level);
  fabric->kind->levels(fabric->plan, levels);
  for (guint i = nic; i < levels->len; i++)
    g_array_index(levels, OrrFabricLevel, i).link_bytes_per_s *=
        i == nic ? orr_fabric_nic_fraction(fabric) : orr_fabric_switch_fraction(fabric);
  if (levels->len > nic + 1)
    g_array_index(levels, OrrFabricLevel, nic).switches_above =
        g_array_index(levels, OrrFabricLevel, nic + 1).switches;
  return levels;
}

double orr_fabric_bisection(const OrrFabric *fabric) {
  const OrrCluster *cluster = fabric->cluster;
  if (fabric->plan)
    return fabric->kind->bisection(fabric->plan) * orr_fabric_switch_fraction(fabric);
  return (double)fabric->n_gpus / 2 *
         (cluster->node.scale_up_domain > 1 ? orr_fabric_link_bandwidth(fabric, 0)
                                            : orr_cluster_host_copy_bytes_per_s(fabric->cluster));
}

guint orr_fabric_diameter(const OrrFabric *fabric) {
  return fabric->plan ? fabric->kind->diameter(fabric->plan) : 1;
}

/* --- Text --- */

static const char *s_of(gint64 n) { return n == 1 ? "" : "s"; }

static void add_machine(GString *text, const OrrCluster *cluster) {
  const gint64 used = orr_cluster_n_gpus(cluster), built = orr_cluster_n_built_nodes(cluster);
  const gint64 nodes = orr_cluster_n_nodes(cluster), gpus = nodes * cluster->node.gpus;
  const char *noun = cluster->device.noun;
  g_string_append_printf(text, LABEL "%s: %ld node%s of %ld x %s, %ld %s%s", "machine",
                         cluster->name, nodes, s_of(nodes), cluster->node.gpus,
                         cluster->device.name, gpus, noun, s_of(gpus));
  if (used != gpus) g_string_append_printf(text, ", %ld of them used", used);
  if (built != nodes)
    g_string_append_printf(text, "; fabric built for %ld node%s, %ld %s%s", built, s_of(built),
                           built * cluster->node.gpus, noun, s_of(built * cluster->node.gpus));
  g_string_append_c(text, '\n');
}

static void add_rate(GString *text, double effective, double nominal) {
  g_autofree char *reached = orr_quantity_format(effective, ORR_UNIT_BYTES_PER_S);
  g_autofree char *given = orr_quantity_format(nominal, ORR_UNIT_BYTES_PER_S);
  g_string_append_printf(text, "%s of %s", reached, given);
}

static void add_latency(GString *text, double latency_s) {
  g_autofree char *latency = orr_quantity_format(latency_s, ORR_UNIT_SECONDS);
  g_string_append_printf(text, ", %s\n", latency);
}

static void add_scale_up(GString *text, const OrrFabric *fabric, const OrrCluster *cluster) {
  const OrrDevice *device = &cluster->device;
  gint64 domain = cluster->node.scale_up_domain, shape[3];
  gboolean open[3];
  if (domain <= 1) {
    g_string_append_printf(
        text, LABEL "none: %ss of a node communicate over %s\n", "scale-up", device->noun,
        orr_fabric_torus(fabric, shape, open) ? "the torus of the fabric" : "PCIe");
    return;
  }
  g_string_append_printf(text, LABEL "domains of %ld %ss, ", "scale-up", domain, device->noun);
  add_rate(text, device->scale_up_bytes_per_s * device->scale_up_efficiency,
           device->scale_up_bytes_per_s);
  g_string_append_printf(text, " per %s each way", device->noun);
  if (device->scale_up_links > 0)
    g_string_append_printf(text, ", a mesh: to one %s 1/%ld of it", device->noun,
                           device->scale_up_links);
  add_latency(text, cluster->node.scale_up_latency_s);
}

static void add_nic(GString *text, const OrrFabric *fabric, const OrrCluster *cluster) {
  const OrrNodeShape *node = &cluster->node;
  const double fraction = orr_fabric_nic_fraction(fabric);
  g_string_append_printf(text, LABEL "%g per %s, ", "nic", node->nics_per_gpu,
                         cluster->device.noun);
  add_rate(text, node->nic_bytes_per_s * node->nic_efficiency * fraction, node->nic_bytes_per_s);
  g_string_append(text, " each way");
  if (node->ports_per_nic > 1) g_string_append_printf(text, ", %ld ports", node->ports_per_nic);
  if (fabric->lanes > 1)
    g_string_append_printf(text, ", %ld separate ports per %s", fabric->lanes,
                           cluster->device.noun);
  add_latency(text, node->nic_latency_s);
}

/* Describes a GPU's PCIe, and the links of the node that can limit it. */
static void add_host(GString *text, const OrrFabric *fabric, const OrrCluster *cluster) {
  const OrrHostShape *host = &cluster->node.host;
  const gboolean carries_network = orr_cluster_network_on_host_link(fabric->cluster);
  if (fabric->inside_base[0] == fabric->nic_base && !carries_network) return;
  g_autofree char *pcie =
      orr_quantity_format(orr_cluster_host_copy_bytes_per_s(fabric->cluster), ORR_UNIT_BYTES_PER_S);
  g_string_append_printf(text, LABEL "%s per %s each way%s%s", "pcie", pcie, cluster->device.noun,
                         carries_network ? ", network traffic over it" : "",
                         host->network_path == ORR_NETWORK_BRIDGE ? " and the host bridge" : "");
  for (int kind = 0; kind < ORR_N_HOST_LINKS; kind++) {
    static const char *const names[] = {NULL, "a host bridge", "between sockets", "a NIC's slot"};
    const gint64 first = fabric->inside_base[kind];
    const gint64 end =
        kind + 1 < ORR_N_HOST_LINKS ? fabric->inside_base[kind + 1] : fabric->nic_base;
    if (first == end) continue;
    g_autofree char *rate =
        orr_quantity_format(orr_fabric_host_link_bandwidth(fabric, first), ORR_UNIT_BYTES_PER_S);
    g_string_append_printf(text, "; %s ", rate);
    if (kind == ORR_HOST_SWITCH)
      g_string_append_printf(text, "a PCIe switch of %ld %ss", host->gpus_per_switch,
                             cluster->device.noun);
    else
      g_string_append(text, names[kind]);
  }
  g_string_append_c(text, '\n');
}

static void add_level(GString *text, const OrrFabricLevel *level) {
  g_autofree char *rate = orr_quantity_format(level->link_bytes_per_s, ORR_UNIT_BYTES_PER_S);
  g_autofree char *below =
      level->switches ? g_strdup_printf("%ld", level->switches) : g_strdup("-");
  g_autofree char *above =
      level->switches_above ? g_strdup_printf("%ld", level->switches_above) : g_strdup("-");
  g_string_append_printf(text, LABEL "%10s %10s %10ld %13s %8.4g : 1\n", level->name, below, above,
                         level->links, rate, level->oversubscription);
}

static void add_levels(GString *text, const OrrFabric *fabric) {
  g_autoptr(GArray) levels = orr_fabric_levels(fabric);
  g_string_append_printf(text, LABEL "%10s %10s %10s %13s %12s\n", "level", "switches", "above",
                         "cables", "each way", "oversubscr.");
  for (guint i = 0; i < levels->len; i++)
    add_level(text, &g_array_index(levels, OrrFabricLevel, i));
}

enum { MAX_HOPS = 16 };

static void add_hops(GString *text, const OrrFabric *fabric, const char *noun) {
  gint64 reached[MAX_HOPS] = {0};
  const char *separator = "";
  for (gint64 gpu = 1; gpu < orr_fabric_n_gpus(fabric); gpu++)
    reached[MIN(orr_fabric_hops(fabric, 0, gpu), MAX_HOPS - 1)]++;
  g_string_append_printf(text, LABEL "from %s 0: ", "hops", noun);
  for (int hops = 0; hops < MAX_HOPS; hops++) {
    if (!reached[hops]) continue;
    g_string_append_printf(text, "%s%ld %s%s over %d switch%s", separator, reached[hops], noun,
                           s_of(reached[hops]), hops, hops == 1 ? "" : "es");
    separator = ", ";
  }
  g_string_append_c(text, '\n');
}

char *orr_fabric_describe(const OrrFabric *fabric, const OrrCluster *cluster) {
  GString *text = g_string_new(NULL);
  g_autofree char *bisection =
      orr_quantity_format(orr_fabric_bisection(fabric), ORR_UNIT_BYTES_PER_S);
  add_machine(text, cluster);
  add_scale_up(text, fabric, cluster);
  add_nic(text, fabric, cluster);
  add_host(text, fabric, cluster);
  g_string_append_printf(text, LABEL "%s, routing %s\n", "fabric", cluster->fabric.entry->name,
                         orr_routing_words[cluster->routing]);
  if (cluster->transport.entry && strcmp(cluster->transport.entry->name, "measured") != 0)
    g_string_append_printf(text, LABEL "%s\n", "transport", cluster->transport.entry->name);
  add_levels(text, fabric);
  g_string_append_printf(text, LABEL "%s, one direction, of the whole fabric\n", "bisection",
                         bisection);
  add_hops(text, fabric, cluster->device.noun);
  g_string_append_printf(text, LABEL "%ld to simulate\n", "links", orr_fabric_n_links(fabric));
  g_autoptr(OrrBill) bill = orr_bill_new(fabric);
  g_autofree char *counts = orr_bill_text(bill);
  g_string_append(text, counts);
  g_autofree char *power = orr_cluster_power_text(fabric, cluster);
  g_string_append(text, power);
  return g_string_free(text, FALSE);
}

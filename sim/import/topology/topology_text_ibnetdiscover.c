/*
 * topology_text_ibnetdiscover.c - a fabric as ibnetdiscover prints it: every cable, from both ends.
 *
 *   Switch  64 "S-0000000000000001"         # "MF0;leaf0:QM/U1" enhanced port 0 lid 1 lmc 0
 *   [1]     "H-0000000100000000"[1](100000000)      # "node0000 mlx5_0" lid 9 4xNDR
 *
 * Cables are as for routing ecmp, where parallel ones are not one trunk. InfiniBand's widths and
 * speeds are few: a cable within 0.5 % of one is written as it (a fat-tree's links are given the
 * rate at which its oversubscription holds exactly), any other rate is refused. So are networks
 * whose GPUs are their own switches (torus).
 */
#include "sim/base/fault.h"
#include "sim/import/topology/dump.h"
#include "sim/import/topology/topology_text.h"
#include "topologies/fabric.h"

#define I64 "%" G_GINT64_FORMAT

typedef struct {
  guint a, b; /* switches */
  double bytes_per_s;
} Cable;

typedef struct {
  const OrrCluster *cluster;
  OrrFabric *fabric;
  GPtrArray *switches; /* char*: names; owned */
  GHashTable *numbers; /* name -> index + 1 */
  GArray *cables;      /* of Cable */
  GArray *leaves;      /* of guint: the switch of each NIC, node by node */
  guint *used;         /* ports in use at each switch so far */
  GPtrArray *lines;    /* GString*: the ports of each switch */
} Writer;

static void free_line(gpointer data) { g_string_free(data, TRUE); }

/* "4xNDR" for a nominal rate; NULL: InfiniBand has none near it. */
static char *speed_of(double bytes_per_s) {
  static const char *const speeds[] = {"EDR", "HDR", "NDR", "XDR", "GDR"};
  static const int lanes[] = {4, 2, 1, 8, 12};
  for (guint l = 0; l < G_N_ELEMENTS(lanes); l++)
    for (guint s = 0; s < G_N_ELEMENTS(speeds); s++)
      if (fabs(orr_dump_ib_rate(lanes[l], speeds[s]) / bytes_per_s - 1) < 5e-3)
        return g_strdup_printf("%dx%s", lanes[l], speeds[s]);
  return NULL;
}

static guint switch_of(Writer *writer, const char *name) {
  const guint known = GPOINTER_TO_UINT(g_hash_table_lookup(writer->numbers, name));
  if (known) return known - 1;
  char *copy = g_strdup(name);
  g_ptr_array_add(writer->switches, copy);
  g_hash_table_insert(writer->numbers, copy, GUINT_TO_POINTER(writer->switches->len));
  return writer->switches->len - 1;
}

/* Links come in pairs, there and back: names say "up" and "down", or follow one another. */
static void collect_cables(Writer *writer) {
  const double efficiency = writer->cluster->node.nic_efficiency *
                            orr_transport_packet_fraction(orr_fabric_transport(writer->fabric));
  guint n_arrows = 0;
  for (guint32 link = 0; link < orr_fabric_n_links(writer->fabric); link++) {
    char *ends[2] = {NULL, NULL};
    if (strcmp(orr_fabric_link_kind(writer->fabric, link), "fabric") != 0) continue;
    g_autofree char *name = orr_fabric_link_name(writer->fabric, link);
    const gboolean is_arrow = strchr(name, '>') != NULL;
    if (is_arrow ? n_arrows++ % 2 == 1 : g_str_has_suffix(name, ".down")) continue;
    orr_fabric_link_ends(writer->fabric, link, ends);
    ORR_APPEND(writer->cables, Cable,
               {switch_of(writer, ends[0]), switch_of(writer, ends[1]),
                orr_fabric_link_bandwidth(writer->fabric, link) / efficiency});
    ORR_FREE(ends[0], ends[1]);
  }
}

/* The switch of a port. No cable leaves it: it is the only one, or the only one of a rail. */
static guint leaf_of(Writer *writer, gint64 gpu, gint64 lane, gint64 port) {
  const OrrFabricKind *kind = (const OrrFabricKind *)writer->cluster->fabric.entry;
  g_autofree char *leaf = orr_fabric_leaf(writer->fabric, gpu, lane);
  g_autofree char *alone = g_strdup_printf("leaf" I64, kind->reaches ? port : 0);
  return switch_of(writer, leaf ? leaf : alone);
}

/* The NICs of a node in the order of its GPUs. */
static void collect_nics(Writer *writer) {
  const OrrNodeShape *node = &writer->cluster->node;
  const gint64 each = orr_node_shape_ports_each(node), links = orr_node_shape_port_links(node);
  const gint64 owners = orr_node_shape_n_ports(node) / each, sharers = node->gpus / owners;
  for (gint64 n = 0; n < writer->cluster->nodes; n++)
    for (gint64 port = 0; port < owners * each; port++) {
      const guint at = leaf_of(writer, n * node->gpus + port / each * sharers, port % each, port);
      for (gint64 i = 0; i < links; i++) g_array_append_val(writer->leaves, at);
    }
}

static guint64 switch_guid(guint at) { return 0x10000000 + (guint64)at; }

static guint64 nic_guid(guint nic) { return 0x100000000 + (guint64)nic; }

#define GUID "%016" G_GINT64_MODIFIER "x"

static void plain_name(GString *text, const char *name) {
  for (; *name; name++) g_string_append_c(text, strchr(":;\"", *name) ? '_' : *name);
}

/* One end of a cable between switches, in the list of @from. */
static void add_end(const Writer *writer, guint from, guint port, guint to, guint far_port,
                    const char *speed) {
  GString *text = writer->lines->pdata[from];
  g_string_append_printf(text, "[%u]\t\"S-" GUID "\"[%u]\t\t# \"MF0;", port, switch_guid(to),
                         far_port);
  plain_name(text, writer->switches->pdata[to]);
  g_string_append_printf(text, ":QM/U1\" lid %u %s\n", to + 1, speed);
}

static gboolean refuse(double rate, const char *what, GError **error) {
  return orr_fault_set(error, ORR_FAULT_DOCUMENT,
                       "--as ibnetdiscover: %s of %.6g Gb/s has no InfiniBand width and speed",
                       what, rate * 8 / 1e9);
}

static gboolean add_cables(const Writer *writer, GError **error) {
  ORR_EACH(const Cable, cable, writer->cables) {
    g_autofree char *speed = speed_of(cable->bytes_per_s);
    if (!speed) return refuse(cable->bytes_per_s, "a cable", error);
    const guint a = ++writer->used[cable->a], b = ++writer->used[cable->b];
    add_end(writer, cable->a, a, cable->b, b, speed);
    add_end(writer, cable->b, b, cable->a, a, speed);
  }
  return TRUE;
}

/* A NIC in the list of its leaf, and as an adapter of its own behind all switches. */
static void add_nic(const Writer *writer, guint nic, const char *speed, GString *adapters) {
  const guint at = g_array_index(writer->leaves, guint, nic), port = ++writer->used[at];
  const guint each = writer->leaves->len / (guint)writer->cluster->nodes;
  GString *text = writer->lines->pdata[at];
  g_string_append_printf(
      text,
      "[%u]\t\"H-" GUID "\"[1](%" G_GINT64_MODIFIER "x)\t\t# \"node%04u mlx5_%u\" lid %u %s\n",
      port, nic_guid(nic), nic_guid(nic), nic / each, nic % each, nic + 10000, speed);
  g_string_append_printf(adapters,
                         "\nCa\t1 \"H-" GUID "\"\t\t# \"node%04u mlx5_%u\"\n[1](%" G_GINT64_MODIFIER
                         "x)\t\"S-" GUID "\"[%u]\t\t# lid %u lmc 0 \"MF0;",
                         nic_guid(nic), nic / each, nic % each, nic_guid(nic), switch_guid(at),
                         port, nic + 10000);
  plain_name(adapters, writer->switches->pdata[at]);
  g_string_append_printf(adapters, ":QM/U1\" lid %u %s\n", at + 1, speed);
}

static char *print(const Writer *writer, GError **error) {
  g_autoptr(GString) adapters = g_string_new(NULL);
  g_autofree char *speed = speed_of(writer->cluster->node.nic_bytes_per_s);
  if (!speed) refuse(writer->cluster->node.nic_bytes_per_s, "a NIC", error);
  if (!speed || !add_cables(writer, error)) return NULL;
  for (guint nic = 0; nic < writer->leaves->len; nic++) add_nic(writer, nic, speed, adapters);
  GString *text = g_string_new(NULL);
  g_string_append_printf(text, "#\n# Topology file: %s, " I64 " nodes\n#\n", writer->cluster->name,
                         writer->cluster->nodes);
  for (guint i = 0; i < writer->switches->len; i++) {
    g_string_append_printf(text, "\nSwitch\t%u \"S-" GUID "\"\t\t# \"MF0;", writer->used[i],
                           switch_guid(i));
    plain_name(text, writer->switches->pdata[i]);
    g_string_append_printf(text, ":QM/U1\" enhanced port 0 lid %u lmc 0\n%s", i + 1,
                           ((GString *)writer->lines->pdata[i])->str);
  }
  g_string_append(text, adapters->str);
  return g_string_free(text, FALSE);
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

static gboolean check(const OrrCluster *cluster, GError **error) {
  const OrrFabricKind *kind = (const OrrFabricKind *)cluster->fabric.entry;
  const char *reason = kind->within_nodes                  ? "its GPUs are their own switches"
                       : !(cluster->node.nics_per_gpu > 0) ? "its nodes have no NICs"
                                                           : NULL;
  if (reason)
    g_set_error(error, ORR_FAULT, ORR_FAULT_DOCUMENT, "--as ibnetdiscover: %s (%s): %s",
                cluster->name, kind->entry.name, reason);
  return !reason;
}

static char *write_cluster(const OrrCluster *from, GError **error) {
  const OrrCluster cluster = plain_cluster(from);
  if (!check(from, error)) return NULL;
  g_autoptr(OrrFabric) fabric = orr_fabric_new(&cluster, 1, error);
  if (!fabric) return NULL;
  Writer writer = {.cluster = &cluster,
                   .fabric = fabric,
                   .switches = g_ptr_array_new_with_free_func(g_free),
                   .numbers = g_hash_table_new(g_str_hash, g_str_equal),
                   .cables = g_array_new(FALSE, FALSE, sizeof(Cable)),
                   .leaves = g_array_new(FALSE, FALSE, sizeof(guint)),
                   .lines = g_ptr_array_new_with_free_func(free_line)};
  collect_cables(&writer);
  collect_nics(&writer);
  writer.used = g_new0(guint, writer.switches->len);
  for (guint i = 0; i < writer.switches->len; i++)
    g_ptr_array_add(writer.lines, g_string_new(NULL));
  char *text = print(&writer, error);
  g_ptr_array_unref(writer.switches);
  g_hash_table_unref(writer.numbers);
  g_array_unref(writer.cables);
  g_array_unref(writer.leaves);
  g_ptr_array_unref(writer.lines);
  g_free(writer.used);
  return text;
}

const OrrTopologyText orr_topology_text_ibnetdiscover = {
    .name = "ibnetdiscover",
    .sentence = "every cable of the fabric, as ibnetdiscover",
    .write = write_cluster,
};

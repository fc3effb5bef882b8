/*
 * topology_text_ibnetdiscover.c - a fabric as ibnetdiscover prints it: every cable, from both ends.
 *
 *   Switch  64 "S-0000000000000001"         # "MF0;leaf0:QM/U1" enhanced port 0 lid 1 lmc 0
 *   [1]     "H-0000000100000000"[1](100000000)      # "node0000 mlx5_0" lid 9 4xNDR
 *
 * InfiniBand's widths and speeds are few: a cable within 0.5 % of one is written as it (a
 * fat-tree's links are given the rate at which its oversubscription holds exactly), any other rate
 * is refused.
 */
#include "sim/import/topology/dump.h"
#include "sim/import/topology/topology_text.h"

typedef struct {
  const OrrTopologyCables *of;
  guint *used;      /* ports in use at each switch so far */
  GPtrArray *lines; /* GString*: the ports of each switch */
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
  plain_name(text, writer->of->switches->pdata[to]);
  g_string_append_printf(text, ":QM/U1\" lid %u %s\n", to + 1, speed);
}

static gboolean refuse(double rate, const char *what, GError **error) {
  return orr_fault_set(error, ORR_FAULT_DOCUMENT,
                       "--as ibnetdiscover: %s of %.6g Gb/s has no InfiniBand width and speed",
                       what, rate * 8 / 1e9);
}

static gboolean add_cables(const Writer *writer, GError **error) {
  ORR_EACH(const OrrTopologyCable, cable, writer->of->cables) {
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
  const guint at = g_array_index(writer->of->leaves, guint, nic), port = ++writer->used[at];
  const guint each = writer->of->leaves->len / (guint)writer->of->cluster.nodes;
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
  plain_name(adapters, writer->of->switches->pdata[at]);
  g_string_append_printf(adapters, ":QM/U1\" lid %u %s\n", at + 1, speed);
}

static char *print(const Writer *writer, GError **error) {
  g_autoptr(GString) adapters = g_string_new(NULL);
  g_autofree char *speed = speed_of(writer->of->cluster.node.nic_bytes_per_s);
  if (!speed) refuse(writer->of->cluster.node.nic_bytes_per_s, "a NIC", error);
  if (!speed || !add_cables(writer, error)) return NULL;
  for (guint nic = 0; nic < writer->of->leaves->len; nic++) add_nic(writer, nic, speed, adapters);
  GString *text = g_string_new(NULL);
  g_string_append_printf(text, "#\n# Topology file: %s, %ld nodes\n#\n", writer->of->cluster.name,
                         writer->of->cluster.nodes);
  for (guint i = 0; i < writer->of->switches->len; i++) {
    g_string_append_printf(text, "\nSwitch\t%u \"S-" GUID "\"\t\t# \"MF0;", writer->used[i],
                           switch_guid(i));
    plain_name(text, writer->of->switches->pdata[i]);
    g_string_append_printf(text, ":QM/U1\" enhanced port 0 lid %u lmc 0\n%s", i + 1,
                           ((GString *)writer->lines->pdata[i])->str);
  }
  g_string_append(text, adapters->str);
  return g_string_free(text, FALSE);
}

static char *write_cluster(const OrrCluster *from, GError **error) {
  g_auto(OrrTopologyCables) of;
  if (!orr_topology_cables_init(&of, from, "ibnetdiscover", error)) return NULL;
  Writer writer = {.of = &of, .lines = g_ptr_array_new_with_free_func(free_line)};
  writer.used = g_new0(guint, of.switches->len);
  for (guint i = 0; i < of.switches->len; i++) g_ptr_array_add(writer.lines, g_string_new(NULL));
  char *text = print(&writer, error);
  g_ptr_array_unref(writer.lines);
  g_free(writer.used);
  return text;
}

const OrrTopologyText orr_topology_text_ibnetdiscover = {
    .name = "ibnetdiscover",
    .sentence = "every cable of the fabric, as ibnetdiscover",
    .write = write_cluster,
    .as_built = TRUE,
};

/*
 * topology_text_infragraph.c - a cluster as an infrastructure of InfraGraph (dump_infragraph.c has
 * the format): a device `server`, a device `switch`, their instances, and an edge for each run of
 * cables between ports that follow one another.
 *
 * Not carried: efficiencies, latencies, transport, routing; what PCIe joins. Where NVLink spans
 * nodes, servers are nodes and NVLink joins a node's GPUs only, which a comment says.
 */
#include "sim/import/topology/topology_text.h"

typedef struct {
  const OrrTopologyCables *of;
  GArray *rates; /* of double: bytes/s, one a link of the format */
  guint *used;   /* ports in use at each switch so far */
  GString *edges;
} Writer;

static guint link_of(const Writer *writer, double bytes_per_s) {
  for (guint i = 0; i < writer->rates->len; i++)
    if (g_array_index(writer->rates, double, i) == bytes_per_s) return i;
  g_array_append_val(writer->rates, bytes_per_s);
  return writer->rates->len - 1;
}

/* NICs @nic .. of hosts @host .. on one switch. */
typedef struct {
  guint host, n_hosts, nic, n_nics, at;
} Nics;

/* The runs of NICs, as large as the order of nodes allows. */
static GArray *find_nics(const OrrTopologyCables *of) {
  const guint each = of->leaves->len / (guint)of->cluster.nodes;
  const guint *leaves = (const guint *)(const void *)of->leaves->data;
  GArray *runs = g_array_new(FALSE, FALSE, sizeof(Nics));
  guint before = 0; /* where the runs of the node before begin */
  for (guint host = 0; host < (guint)of->cluster.nodes; host++) {
    const guint *own = leaves + host * each, mine = runs->len;
    for (guint nic = 0, n; nic < each; nic += n) {
      gboolean is_known = FALSE;
      for (n = 1; nic + n < each && own[nic + n] == own[nic]; n++) continue;
      for (guint r = before; r < mine && !is_known; r++) {
        Nics *run = &g_array_index(runs, Nics, r);
        is_known = run->at == own[nic] && run->nic == nic && run->n_nics == n &&
                   run->host + run->n_hosts == host;
        if (is_known) run->n_hosts++;
      }
      if (!is_known) ORR_APPEND(runs, Nics, {host, 1, nic, n, own[nic]});
    }
    if (runs->len > mine) before = mine;
  }
  return runs;
}

static void add_edge(const Writer *writer, const char *ends, guint link) {
  g_string_append_printf(writer->edges, "- {%s, scheme: one2one, link: rate%u}\n", ends, link);
}

static void add_nics(const Writer *writer) {
  g_autoptr(GArray) runs = find_nics(writer->of);
  const guint link = link_of(writer, writer->of->cluster.node.nic_bytes_per_s);
  ORR_EACH(const Nics, run, runs) {
    const guint port = writer->used[run->at], n = run->n_hosts * run->n_nics;
    g_autofree char *ends = g_strdup_printf(
        "ep1: {instance: 'host[%u:%u]', component: 'nic[%u:%u]'}, ep2: {instance: 'sw[%u]', "
        "component: 'port[%u:%u]'}",
        run->host, run->host + run->n_hosts, run->nic, run->nic + run->n_nics, run->at, port,
        port + n);
    writer->used[run->at] += n;
    add_edge(writer, ends, link);
  }
}

/* How many cables from @i on go from one switch to one other (@step 0), or to the ones that follow
 * it, at the same port of each (@step 1). */
static guint run_of(const Writer *writer, guint i, guint step) {
  const GArray *cables = writer->of->cables;
  const OrrTopologyCable *first = &g_array_index(cables, OrrTopologyCable, i);
  guint n = 1;
  for (; i + n < cables->len; n++) {
    const OrrTopologyCable *next = &g_array_index(cables, OrrTopologyCable, i + n);
    if (next->a != first->a || next->b != first->b + n * step ||
        next->bytes_per_s != first->bytes_per_s ||
        (step && writer->used[next->b] != writer->used[first->b]))
      break;
  }
  return n;
}

static void add_cables(const Writer *writer) {
  const GArray *cables = writer->of->cables;
  for (guint i = 0, n; i < cables->len; i += n) {
    const OrrTopologyCable *cable = &g_array_index(cables, OrrTopologyCable, i);
    const guint beside = run_of(writer, i, 0), along = run_of(writer, i, 1);
    const guint step = along > beside, a = writer->used[cable->a], b = writer->used[cable->b];
    n = MAX(beside, along);
    g_autofree char *ends = g_strdup_printf(
        "ep1: {instance: 'sw[%u]', component: 'port[%u:%u]'}, ep2: {instance: 'sw[%u:%u]', "
        "component: 'port[%u:%u]'}",
        cable->a, a, a + n, cable->b, cable->b + (step ? n : 1), b, b + (step ? 1 : n));
    writer->used[cable->a] += n;
    for (guint k = 0; k < n; k++) writer->used[cable->b + k * step]++;
    add_edge(writer, ends, link_of(writer, cable->bytes_per_s));
  }
}

static void add_server(GString *text, const OrrTopologyCables *of) {
  const OrrNodeShape *node = &of->cluster.node;
  const guint nics = of->leaves->len / (guint)of->cluster.nodes;
  g_string_append_printf(text,
                         "devices:\n- name: server\n  components:\n"
                         "  - {name: xpu, choice: xpu, count: %ld, description: %s}\n"
                         "  - {name: nic, choice: nic, count: %u}\n",
                         node->gpus, of->cluster.device.name, nics);
  if (node->scale_up_domain > 1)
    g_string_append(text, "  - {name: nvsw, choice: switch, count: 1}\n"
                          "  edges: [{ep1: {component: xpu}, ep2: {component: nvsw}, scheme: "
                          "many2many}]\n");
}

static char *print(const Writer *writer, const OrrCluster *cluster) {
  const OrrTopologyCables *of = writer->of;
  guint ports = 1;
  GString *text = g_string_new(NULL);
  g_string_append_printf(text, "# %s, by orrery describe cluster --as infragraph%s\n",
                         cluster->name,
                         cluster->node.scale_up_domain > cluster->node.gpus
                             ? ". NVLink spans nodes, which is not carried"
                             : "");
  for (guint i = 0; i < of->switches->len; i++) ports = MAX(ports, writer->used[i]);
  add_server(text, of);
  g_string_append_printf(text,
                         "- name: switch\n  components: [{name: port, choice: port, count: %u}]\n"
                         "instances:\n- {name: host, device: server, count: %ld}\n- {name: sw, "
                         "device: switch, count: %u}\nlinks:\n",
                         ports, of->cluster.nodes, of->switches->len);
  for (guint i = 0; i < writer->rates->len; i++)
    g_string_append_printf(
        text, "- {name: rate%u, physical: {bandwidth: {gigabits_per_second: %.10g}}}\n", i,
        g_array_index(writer->rates, double, i) * 8 / 1e9);
  g_string_append_printf(text, "edges:\n%s", writer->edges->str);
  return g_string_free(text, FALSE);
}

static char *write_text(const OrrCluster *cluster, GError **error) {
  g_auto(OrrTopologyCables) of;
  if (!orr_topology_cables_init(&of, cluster, "infragraph", error)) return NULL;
  g_autoptr(GArray) rates = g_array_new(FALSE, FALSE, sizeof(double));
  g_autoptr(GString) edges = g_string_new(NULL);
  g_autofree guint *used = g_new0(guint, of.switches->len);
  const Writer writer = {&of, rates, used, edges};
  add_nics(&writer);
  add_cables(&writer);
  return print(&writer, cluster);
}

const OrrTopologyText orr_topology_text_infragraph = {
    .name = "infragraph",
    .sentence = "servers, switches and every cable, as InfraGraph's YAML",
    .write = write_text,
    .as_built = TRUE,
};

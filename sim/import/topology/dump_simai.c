/*
 * dump_simai.c - a topology of SimAI, as its generator writes it for ns-3.
 *
 *   36 8 4 8 128 H100                     nodes, GPUs per server, NVSwitches, switches, links, GPU
 *   32 33 34 35 36 37 ...                 the numbers of NVSwitches and of switches
 *   0 32 2880Gbps 0.000025ms 0            from, to, rate, latency, error rate
 *   0 36 200Gbps 0.0005ms 0
 *
 * GPUs are the first numbers, gpus-per-server of each server after another; a GPU is its NIC, too.
 * Newer generators write a number of optical modules before the links. A pair that is listed twice
 * is two cables.
 *
 * Left out: latencies and error rates (a cluster document has its own latencies), and NVLink's
 * rate, which the device's document has.
 *
 * Source: aliyun/SimAI, docs/Tutorial.md and astra-sim-alibabacloud/inputs/topo.
 */
#include "sim/base/quantity.h"
#include "sim/import/topology/dump.h"

typedef struct {
  gint64 nodes, per_server, nvswitches, switches, links;
  gint64 gpus; /* what is left of the nodes */
  const char *gpu;
} Header;

static gboolean whole(const char *word, gint64 most, gint64 *ret_value) {
  return g_ascii_string_to_signed(word, 10, 0, most, ret_value, NULL);
}

/* The first line; FALSE where it is another line. @words must outlive the header. */
static gboolean header_of(char **words, Header *ret_header) {
  const guint n = g_strv_length(words);
  Header h = {0};
  gint64 modules;
  if (n != 6 && n != 7) return FALSE;
  if (!whole(words[0], ORR_DUMP_MAX_PORTS, &h.nodes) ||
      !whole(words[1], ORR_DUMP_MAX_GPUS, &h.per_server) ||
      !whole(words[2], ORR_DUMP_MAX_PORTS, &h.nvswitches) ||
      !whole(words[3], ORR_DUMP_MAX_SWITCHES, &h.switches) ||
      (n == 7 && !whole(words[4], ORR_DUMP_MAX_PORTS, &modules)) ||
      !whole(words[n - 2], ORR_DUMP_MAX_LINES, &h.links) || !g_ascii_isalpha(*words[n - 1]))
    return FALSE;
  h.gpu = words[n - 1];
  h.gpus = h.nodes - h.nvswitches - h.switches;
  *ret_header = h;
  return h.per_server > 0 && h.gpus > 0 && h.gpus % h.per_server == 0;
}

static gboolean recognise(const OrrDumpText *text) {
  if (text->n_lines < 3) return FALSE;
  g_auto(GStrv) words = orr_dump_words(text->lines[0], NULL);
  g_auto(GStrv) numbers = orr_dump_words(text->lines[1], NULL);
  Header header;
  gint64 number;
  if (!header_of(words, &header)) return FALSE;
  for (char **at = numbers; *at; at++)
    if (!whole(*at, ORR_DUMP_MAX_PORTS, &number)) return FALSE;
  return g_strv_length(numbers) == (guint)(header.nvswitches + header.switches);
}

/* "200Gbps" in bytes/s; 0: no rate. */
static double rate_of(const char *word) {
  static const struct {
    const char *unit;
    double bytes;
  } units[] = {{"Gbps", 1e9 / 8}, {"Mbps", 1e6 / 8}, {"Tbps", 1e12 / 8}, {"bps", 1.0 / 8}};
  char *end;
  const double value = g_ascii_strtod(word, &end);
  for (guint i = 0; i < G_N_ELEMENTS(units); i++)
    if (strcmp(end, units[i].unit) == 0 && isfinite(value) && value > 0)
      return value * units[i].bytes;
  return 0;
}

typedef struct {
  const Header *header;
  OrrDumpFabric *fabric;
  gint64 *nvswitch; /* by GPU: the NVSwitch + 1 of its last link; 0: none */
  double nvlink_bytes_per_s;
} Links;

static gboolean is_gpu(const Header *h, gint64 node) { return node < h->gpus; }
static gboolean is_nvswitch(const Header *h, gint64 node) {
  return node >= h->gpus && node < h->gpus + h->nvswitches;
}

static guint switch_of(const Links *links, gint64 node) {
  g_autofree char *name = g_strdup_printf("switch%ld", node);
  return orr_dump_fabric_switch(links->fabric, name);
}

static void add_port(const Links *links, gint64 gpu, gint64 at, double rate) {
  const gint64 per = links->header->per_server;
  g_autofree char *server = g_strdup_printf("server%ld", gpu / per);
  g_autofree char *nic = g_strdup_printf("nic%ld", gpu % per);
  orr_dump_fabric_port(links->fabric, server, nic, switch_of(links, at), rate);
}

/* NULL, or what is wrong with a link. */
static const char *add_link(Links *links, gint64 a, gint64 b, double rate) {
  const Header *h = links->header;
  if (a >= h->nodes || b >= h->nodes) return "a link of a node beyond the first line's number";
  if (rate <= 0) return "the third word of a link is a rate, such as 400Gbps";
  if (is_gpu(h, b))
    return is_gpu(h, a) ? "GPUs without a switch between them" : add_link(links, b, a, rate);
  if (is_gpu(h, a) && is_nvswitch(h, b)) {
    links->nvswitch[a] = b + 1;
    links->nvlink_bytes_per_s = rate;
  } else if (is_gpu(h, a)) {
    add_port(links, a, b, rate);
  } else if (is_nvswitch(h, a) || is_nvswitch(h, b)) {
    return "an NVSwitch that is linked to a switch";
  } else {
    orr_dump_fabric_cable(links->fabric, switch_of(links, a), switch_of(links, b), 1, rate);
  }
  return NULL;
}

static void read_links(const OrrDumpText *text, Links *links, OrrDiags *diags) {
  for (guint i = 2; i < text->n_lines; i++) {
    g_auto(GStrv) words = orr_dump_words(text->lines[i], NULL);
    gint64 a, b;
    if (!words[0]) continue;
    const char *wrong = "a link is: from, to, rate, latency, error rate";
    if (g_strv_length(words) == 5 && whole(words[0], ORR_DUMP_MAX_PORTS, &a) &&
        whole(words[1], ORR_DUMP_MAX_PORTS, &b))
      wrong = add_link(links, a, b, rate_of(words[2]));
    if (!wrong) continue;
    orr_diags_error(diags, orr_dump_place(text, i + 1, 1), "%s", wrong);
    return;
  }
}

/* One server: all are alike, which its format takes for granted. */
static void add_node(const OrrDumpText *text, const Header *h, const Links *links, OrrDump *dump) {
  OrrDumpNode *node = orr_dump_add_node(dump, "SimAI", orr_dump_place(text, 1, 1));
  for (gint64 i = 0; i < h->per_server; i++) {
    g_autofree char *id = g_strdup_printf("GPU%ld", i);
    OrrDumpGpu *gpu = orr_dump_node_add_gpu(node, id);
    gpu->kind.name = g_strdup(h->gpu);
  }
  node->nvlink = g_new0(guint16, (gsize)(h->per_server * h->per_server));
  for (gint64 a = 0; a < h->per_server; a++)
    for (gint64 b = 0; b < h->per_server; b++)
      if (a != b && links->nvswitch[a] && links->nvswitch[b])
        node->nvlink[a * h->per_server + b] = G_MAXUINT16;
}

static void read_text(const OrrDumpText *text, OrrDump *dump, OrrDiags *diags) {
  g_auto(GStrv) words = orr_dump_words(text->n_lines ? text->lines[0] : "", NULL);
  Header header;
  if (!header_of(words, &header))
    return orr_diags_error(
        diags, orr_dump_place(text, 1, 1),
        "the first line is: nodes, GPUs per server, NVSwitches, switches, links, GPU");
  g_autofree gint64 *nvswitch = g_new0(gint64, (gsize)header.gpus);
  Links links = {.header = &header, .nvswitch = nvswitch};
  links.fabric = orr_dump_add_fabric(dump, "SimAI", orr_dump_place(text, 1, 1));
  read_links(text, &links, diags);
  add_node(text, &header, &links, dump);
  if (links.nvlink_bytes_per_s > 0) {
    g_autofree char *rate = orr_quantity_format(links.nvlink_bytes_per_s, ORR_UNIT_BYTES_PER_S);
    orr_dump_note(dump, "NVLink at %s: the device's document has its own rate", rate);
  }
  orr_dump_note(dump, "latencies and error rates of links: a cluster document has its own");
}

const OrrDumpReader orr_dump_simai = {
    .name = "simai",
    .sentence = "a topology of SimAI, for ns-3",
    .recognise = recognise,
    .read = read_text,
};

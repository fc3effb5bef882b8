/*
 * exchange_astra_sim.c - ASTRA-sim 2's analytical network.yml becomes a cluster, and with a
 * system.json a scenario of collectives on it.
 *
 *   topology: [ Switch, Switch ]     the first dimension: NPUs of a node, joined by NVLink
 *   npus_count: [ 8, 2 ]             the second: nodes; a third: pods of nodes
 *   bandwidth: [ 400.0, 50.0 ]       GB of 2^30 B per second of a link, one direction
 *   latency: [ 936.25, 1000.0 ]      ns of a link
 *
 * A Switch is crossed over two links, a FullyConnected dimension over one. An NPU reaches the
 * others of its node at
 *
 *   Switch: bandwidth     FullyConnected of n: (n - 1) bandwidth     Ring: 2 bandwidth (n = 2: 1)
 *
 * A FullyConnected node is a mesh without a switch: a transfer to one NPU has one of its links.
 * Dimensions that are all rings are a torus, each NPU a router of its own with links of one rate.
 * Pods become the leaves of a fat-tree whose oversubscription is the ratio of both bandwidths.
 *
 * Not carried: ASTRA-sim gives each dimension links of its own, and splits a collective over
 * dimensions; here one NIC per NPU crosses nodes and pods, and NCCL's algorithms choose.
 *
 * Source: astra-sim/astra-sim, inputs/network/analytical and inputs/system (0a390e0, bd3333b).
 */
#include "sim/import/exchange/exchange_format.h"

/* ASTRA-sim's analytical network counts a GB as 2^30 B (bw_GBps_to_Bpns, astra-network-analytical,
 * common/NetworkFunction.cpp; from memory). */
#define ASTRA_SIM_GB ((double)(1 << 30))

enum { MOST_DIMS = 3 };

typedef enum { RING, SWITCH, FULLY_CONNECTED } Shape;
static const char *const shapes[] = {"Ring", "Switch", "FullyConnected", NULL};

typedef struct {
  Shape shape;
  gint64 npus;
  double gb_per_s, latency_ns;
} Dim;

typedef struct {
  guint n;
  Dim of[MOST_DIMS];
} Network;

static gboolean is_network(const OrrNode *tree) {
  return orr_node_get(tree, "topology") && orr_node_get(tree, "npus_count");
}

static gboolean is_system(const OrrNode *tree) {
  return orr_node_get(tree, "scheduling-policy") || orr_node_get(tree, "all-reduce-implementation");
}

static gboolean recognise(const OrrNode *tree) { return is_network(tree) || is_system(tree); }

/* Item @i of the list @key, or of a scalar its whole text; "" with an error. */
static const char *item(OrrExchange *exchange, const OrrNode *tree, const char *key, guint i) {
  const OrrNode *list = orr_node_get(tree, key);
  if (!list) {
    if (i == 0) orr_diags_error(exchange->diags, tree->place, "the key %s is absent", key);
    return "";
  }
  const OrrNode *one = list->kind == ORR_NODE_LIST
                           ? (i < list->items->len ? list->items->pdata[i] : NULL)
                       : i == 0 ? list
                                : NULL;
  if (one && one->kind == ORR_NODE_SCALAR) return one->text;
  orr_diags_error(exchange->diags, list->place, "%s wants a value for each dimension", key);
  return "";
}

static double number(OrrExchange *exchange, const OrrNode *tree, const char *key, guint i,
                     double least, double most) {
  const char *text = item(exchange, tree, key, i);
  char *end;
  const double value = g_ascii_strtod(text, &end);
  if (*text && (*end || !(value >= least && value <= most)))
    orr_diags_error(exchange->diags, orr_node_get(tree, key)->place,
                    "%s takes numbers from %g to %g", key, least, most);
  return *text && value >= least && value <= most ? value : least;
}

static Shape shape_of(OrrExchange *exchange, const OrrNode *tree, guint i) {
  const char *text = item(exchange, tree, "topology", i);
  for (guint k = 0; shapes[k]; k++)
    if (g_str_equal(text, shapes[k])) return (Shape)k;
  if (*text)
    orr_diags_error(exchange->diags, orr_node_get(tree, "topology")->place,
                    "topology '%.20s' is not known (known: Ring, Switch, FullyConnected)", text);
  return SWITCH;
}

static Network network_of(OrrExchange *exchange, const OrrNode *tree) {
  const OrrNode *topology = orr_node_get(tree, "topology");
  const guint n = topology->kind == ORR_NODE_LIST ? topology->items->len : 1;
  Network network = {.n = CLAMP(n, 1, MOST_DIMS)};
  if (n > MOST_DIMS || n == 0)
    orr_diags_error(exchange->diags, topology->place,
                    "%u dimensions: a cluster has a node, a fabric and pods of it, so 1 to 3", n);
  for (guint i = 0; i < network.n; i++)
    network.of[i] =
        (Dim){shape_of(exchange, tree, i), (gint64)number(exchange, tree, "npus_count", i, 1, 1e6),
              number(exchange, tree, "bandwidth", i, 1e-6, 1e6) * ASTRA_SIM_GB / 1e9,
              number(exchange, tree, "latency", i, 0, 1e9)};
  return network;
}

static gboolean is_torus(const Network *network) {
  for (guint i = 0; i < network->n; i++)
    if (network->of[i].shape != RING) return FALSE;
  return TRUE;
}

/* From one NPU to another of the dimension. */
static double one_way_ns(const Dim *dim) {
  return dim->shape == SWITCH ? 2 * dim->latency_ns : dim->latency_ns;
}

static void write_torus(OrrExchange *exchange, const Network *network, const char *indent) {
  GString *out = exchange->text;
  gint64 npus = 1;
  g_autoptr(GString) shape = g_string_new(NULL);
  for (guint i = 0; i < network->n; i++) {
    npus *= network->of[i].npus;
    g_string_append_printf(shape, "%s%ld", i ? "x" : "", network->of[i].npus);
    if (network->of[i].gb_per_s != network->of[0].gb_per_s)
      orr_diags_error(exchange->diags, ((const OrrNode *)exchange->trees->pdata[0])->place,
                      "a torus has one bandwidth for all links");
    if (network->of[i].npus < 3)
      orr_diags_error(exchange->diags, ((const OrrNode *)exchange->trees->pdata[0])->place,
                      "a ring of a torus has 3 NPUs or more");
  }
  g_string_append_printf(out, "%snodes: %ld\n%snode:\n", indent, npus, indent);
  g_string_append_printf(out,
                         "%s  gpus: 1\n%s  scale-up-domain: 1\n%s  nics-per-gpu: %u\n"
                         "%s  nic-bandwidth: %.10g GB/s\n%s  nic-efficiency: 1\n"
                         "%s  nic-latency: 0 s\n%s  host: {network-path: apart}\n",
                         indent, indent, indent, 2 * network->n, indent, network->of[0].gb_per_s,
                         indent, indent, indent);
  g_string_append_printf(out, "%sfabric:\n%s  kind: torus\n%s  shape: %s\n", indent, indent, indent,
                         shape->str);
  g_string_append_printf(out, "%s  link-bandwidth: %.10g GB/s\n%s  switch-latency: %.10g ns\n",
                         indent, network->of[0].gb_per_s, indent, network->of[0].latency_ns);
}

static double node_gb_per_s(const Dim *dim) {
  if (dim->shape == FULLY_CONNECTED) return dim->gb_per_s * (double)(dim->npus - 1);
  return dim->shape == RING && dim->npus > 2 ? 2 * dim->gb_per_s : dim->gb_per_s;
}

/* Of one NPU to the others of its node; 0: a switch joins them. */
static gint64 mesh_links(const Dim *dim) {
  return dim->shape == FULLY_CONNECTED && dim->npus > 2 ? dim->npus - 1 : 0;
}

static void check_switched(OrrExchange *exchange, const Network *network) {
  const OrrPlace place = ((const OrrNode *)exchange->trees->pdata[0])->place;
  for (guint i = 1; i < network->n; i++)
    if (network->of[i].shape == RING && network->of[i].npus > 2)
      orr_diags_error(exchange->diags, place,
                      "a ring of %ld nodes over another dimension has no document: "
                      "Switch, FullyConnected or a ring of 2 has",
                      network->of[i].npus);
  if (network->n == 3 && network->of[2].gb_per_s > network->of[1].gb_per_s)
    orr_diags_error(exchange->diags, place,
                    "pods at %g GB/s, nodes at %g: a fat-tree is not faster above than below",
                    network->of[2].gb_per_s, network->of[1].gb_per_s);
  if (network->of[0].shape == RING && network->of[0].npus > 2)
    orr_exchange_note(exchange,
                      "the ring inside a node counts as a switch of twice its link's rate");
}

/* NICs and the fabric of dimensions 2 and 3. A leaf's route has one switch, a pod's three. */
static void write_fabric(GString *out, const Network *network, const char *indent) {
  const Dim *nodes = &network->of[1], *pods = network->n == 3 ? &network->of[2] : NULL;
  const double near_ns = one_way_ns(nodes);
  const double switch_ns = pods ? CLAMP((one_way_ns(pods) - near_ns) / 2, 0, near_ns) : 0;
  const double each = nodes->shape == FULLY_CONNECTED ? nodes->gb_per_s * (double)(nodes->npus - 1)
                                                      : nodes->gb_per_s;
  gint64 radix = 64;
  while (radix < 2 * nodes->npus * network->of[0].npus && radix < 65536) radix *= 2;
  g_string_append_printf(out,
                         "%s  nics-per-gpu: 1\n%s  nic-bandwidth: %.10g GB/s\n"
                         "%s  nic-efficiency: 1\n%s  nic-latency: %.10g ns\n"
                         "%s  host: {network-path: apart}\n",
                         indent, indent, each, indent, indent, near_ns - switch_ns, indent);
  g_string_append_printf(out,
                         "%sfabric:\n%s  kind: fat-tree\n%s  nodes-per-leaf: %ld\n"
                         "%s  radix: %ld\n%s  switch-latency: %.10g ns\n",
                         indent, indent, indent, nodes->npus, indent, radix, indent, switch_ns);
  if (pods && pods->gb_per_s < nodes->gb_per_s)
    g_string_append_printf(out, "%s  oversubscription: %.10g\n", indent,
                           nodes->gb_per_s / pods->gb_per_s);
}

static void write_switched(OrrExchange *exchange, const Network *network, const char *indent) {
  const Dim *node = &network->of[0];
  GString *out = exchange->text;
  gint64 nodes = 1;
  check_switched(exchange, network);
  for (guint i = 1; i < network->n; i++) nodes *= network->of[i].npus;
  g_string_append_printf(out,
                         "%snodes: %ld\n%snode:\n%s  gpus: %ld\n"
                         "%s  scale-up-domain: %ld\n"
                         "%s  scale-up-latency: %.10g ns\n",
                         indent, nodes, indent, indent, node->npus, indent, node->npus, indent,
                         one_way_ns(node));
  if (network->n > 1)
    write_fabric(out, network, indent);
  else
    g_string_append_printf(out, "%s  nics-per-gpu: 0\n%s  nic-bandwidth: 1 GB/s\n", indent, indent);
}

static void write_cluster(OrrExchange *exchange, const Network *network, const char *indent) {
  const gboolean torus = is_torus(network);
  g_string_append_printf(exchange->text, "%sdevice:\n%s  base: %s\n", indent, indent,
                         exchange->answers->device);
  if (!torus)
    g_string_append_printf(exchange->text,
                           "%s  scale-up-bandwidth: %.10g GB/s\n%s  scale-up-efficiency: 1\n"
                           "%s  scale-up-links: %ld\n",
                           indent, node_gb_per_s(&network->of[0]), indent, indent,
                           mesh_links(&network->of[0]));
  if (torus)
    write_torus(exchange, network, indent);
  else
    write_switched(exchange, network, indent);
  orr_exchange_note(exchange,
                    "ASTRA-sim's links of their own for each dimension: here one NIC per NPU "
                    "crosses all dimensions beyond the first");
  orr_exchange_note(exchange, "NCCL's own costs come from the device's profile, on top of the "
                              "network's latencies");
}

/* ASTRA-sim's names of algorithms, and ours; NULL: not simulated. */
static const char *const algorithms[][2] = {{"ring", "ring"}, {"doubleBinaryTree", "tree"}};

static const char *algorithm_of(OrrExchange *exchange, const OrrNode *system) {
  const OrrNode *list = orr_node_get(system, "all-reduce-implementation");
  const char *first = NULL;
  for (guint i = 0; list && list->kind == ORR_NODE_LIST && i < list->items->len; i++) {
    const OrrNode *one = list->items->pdata[i];
    if (one->kind != ORR_NODE_SCALAR) continue;
    if (first && strcmp(first, one->text) != 0) first = "several";
    if (!first) first = one->text;
  }
  for (guint i = 0; first && i < G_N_ELEMENTS(algorithms); i++)
    if (g_str_equal(first, algorithms[i][0])) return algorithms[i][1];
  if (first) {
    g_autofree char *safe = orr_exchange_name(first);
    orr_exchange_note(exchange, "all-reduce-implementation %s: NCCL's choice instead", safe);
  }
  return "auto";
}

static void write_scenario(OrrExchange *exchange, const Network *network, const OrrNode *system) {
  static const char *const known[] = {"all-reduce-implementation", NULL};
  g_string_append(exchange->text, "schema: scenario/1\nname: collectives of ASTRA-sim\ncluster:\n");
  g_string_append(exchange->text, "  name: astra-sim\n");
  write_cluster(exchange, network, "  ");
  g_string_append_printf(exchange->text,
                         "workload:\n  kind: collectives\n  collective: all-reduce\n"
                         "  algorithm: %s\n  begin: 1 MiB\n  end: 1 GiB\n  factor: 4\n",
                         algorithm_of(exchange, system));
  orr_exchange_note_unknown(exchange, system, known, "system keys that have no place here");
}

static void read_files(OrrExchange *exchange) {
  const OrrNode *tree = orr_exchange_tree_with(exchange, "npus_count"), *system = NULL;
  for (guint i = 0; i < exchange->trees->len; i++)
    if (is_system(exchange->trees->pdata[i])) system = exchange->trees->pdata[i];
  const OrrPlace place = ((const OrrNode *)exchange->trees->pdata[0])->place;
  if (!tree || !is_network(tree))
    return orr_diags_error(exchange->diags, place, "a system needs its network.yml, too");
  if (!exchange->answers->device)
    return orr_diags_error(exchange->diags, place,
                           "a network does not say which accelerator: add --device NAME");
  const Network network = network_of(exchange, tree);
  if (system) return write_scenario(exchange, &network, system);
  g_autofree char *name =
      orr_exchange_name(exchange->answers->name ? exchange->answers->name : "astra-sim");
  g_string_append_printf(exchange->text,
                         "schema: cluster/1\nname: %s\n"
                         "source: a network of ASTRA-sim, by orrery import exchange\n",
                         name);
  write_cluster(exchange, &network, "");
}

const OrrExchangeFormat orr_exchange_astra_sim = {
    .name = "astra-sim",
    .sentence = "ASTRA-sim 2's analytical network.yml becomes a cluster; with its system.json a "
                "scenario of collectives on it.",
    .recognise = recognise,
    .read = read_files,
};

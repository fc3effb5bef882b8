/*
 * What holds for every kind of fabric. Each kind lists shapes here; a kind without one fails.
 */
#include <malloc.h>

#include "tests/topologies/cluster_fixture.h"

typedef struct {
  const char *kind, *fabric, *domain;
} Shape;

#define CUSTOM                                                                                     \
  "{kind: custom, hosts: [{switch: a, ports: 16}, {switch: b, ports: 16}, {switch: c, ports: "     \
  "16}], "                                                                                         \
  "cables: [{from: a, to: s, count: 2}, {from: b, to: s, count: 2}, {from: c, to: s, bandwidth: "  \
  "20 GB/s}, "                                                                                     \
  "{from: a, to: t, count: 2}, {from: b, to: t, count: 2}, {from: c, to: t, bandwidth: 20 GB/s}]}"

static const Shape shapes[] = {
    {"clos", "{kind: clos, down: 4x4x4, oversubscription: 2x2}", "4"},
    {"clos", "{kind: clos, down: 2x3x4x2, radix: 12, planes: 2}", "4"},
    {"clos", "{kind: clos, down: 48}", "4"},
    {"custom", CUSTOM, "4"},
    {"dragonfly",
     "{kind: dragonfly, hosts-per-router: 2, routers-per-group: 4, global-per-router: 2}", "4"},
    {"dragonfly",
     "{kind: dragonfly, hosts-per-router: 3, routers-per-group: 4, global-per-router: 3}", "2"},
    {"dragonfly-plus",
     "{kind: dragonfly-plus, hosts-per-leaf: 4, leaves-per-group: 2, spines-per-group: 2, "
     "global-per-spine: 5}",
     "4"},
    {"fat-tree", "{kind: fat-tree, radix: 12}", "4"},
    {"fat-tree", "{kind: fat-tree, levels: 3, radix: 8}", "4"},
    {"fat-tree",
     "{kind: fat-tree, levels: 3, radix: 8, oversubscription: 3, core-oversubscription: 2}", "2"},
    {"hyperx", "{kind: hyperx, shape: 4x3, hosts-per-switch: 4}", "4"},
    {"hyperx", "{kind: hyperx, shape: 2x3x2, hosts-per-switch: 4, cables: 2}", "2"},
    {"nvlink-domain", "{kind: nvlink-domain, scale-out: {kind: fat-tree, levels: 3, radix: 8}}",
     "8"},
    {"rail-only", "{kind: rail-only, radix: 64}", "4"},
    {"rail-only", "{kind: rail-only, radix: 8, nodes-per-leaf: 4}", "8"},
    {"rail-optimized", "{kind: rail-optimized, radix: 24, nodes-per-group: 3}", "4"},
    {"rail-optimized",
     "{kind: rail-optimized, levels: 3, radix: 16, nodes-per-group: 3, groups-per-pod: 2}", "1"},
    {"torus", "{kind: torus, shape: 4x4x3}", "1"},
    {"torus", "{kind: torus, shape: 6x8}", "1"},
    {"torus", "{kind: torus, shape: 4x6, dcn-bandwidth: 3 GB/s}", "1"},
    {"two-tier-dpu", "{kind: two-tier-dpu, radix: 24, nodes-per-leaf: 3, oversubscription: 2}",
     "4"},
};

enum { N_NODES = 12, N_GPUS = 48 };

/* What a fixture of @shape is made of; a domain of 8 spans nodes. */
#define SHAPED(shape_, routing_)                                                                   \
  "nodes", "12", "node.scale-up-domain", (shape_).domain, "fabric", in_domains(&(shape_), buffer), \
      "routing", (routing_)

/* Whether NICs of different rails do not reach each other (rail-only). */
static gboolean is_by_rail(const Shape *shape) {
  const OrrEntry *entry = orr_registry_find(&orr_fabric_registry, shape->kind);
  return strcmp(shape->kind, "nvlink-domain") != 0 && ((const OrrFabricKind *)entry)->reaches;
}

/* A fabric by rails with a domain over two nodes stands inside nvlink-domain. */
static const char *in_domains(const Shape *shape, char buffer[1024]) {
  if (!is_by_rail(shape) || strcmp(shape->domain, "8") != 0) return shape->fabric;
  g_snprintf(buffer, 1024, "{kind: nvlink-domain, scale-out: %s}", shape->fabric);
  return buffer;
}

static gboolean takes_every_routing(const Shape *shape) {
  return g_str_has_prefix(shape->kind, "dragonfly");
}

static void test_every_kind_has_a_shape(void) {
  for (const OrrEntry *const *entry = orr_fabric_registry.entries; *entry; entry++) {
    gboolean found = FALSE;
    for (guint i = 0; i < G_N_ELEMENTS(shapes); i++)
      found |= strcmp(shapes[i].kind, (*entry)->name) == 0;
    g_assert_true(found);
    g_assert_true(g_str_has_suffix((*entry)->sentence, "."));
    g_assert_true(!entry[1] || strcmp((*entry)->name, entry[1]->name) < 0);
    for (size_t i = 0; i < (*entry)->params->n_fields; i++)
      g_assert_true(g_str_has_suffix((*entry)->params->fields[i].sentence, "."));
  }
}

/* Whether the ends meet without the fabric. */
static gboolean is_near(const ClusterFixture *fixture, gint64 src, gint64 dst) {
  const OrrFabricKind *kind = (const OrrFabricKind *)fixture->cluster.fabric.entry;
  return orr_fabric_same_domain(fixture->fabric, src, dst) ||
         (src / 4 == dst / 4 && !kind->within_nodes);
}

static double switch_latency(const ClusterFixture *fixture) {
  const char *kind = fixture->cluster.fabric.entry->name;
  return strcmp(kind, "torus") == 0 ? 100e-9 : strcmp(kind, "dragonfly") == 0 ? 350e-9 : 150e-9;
}

/* What NVLink adds where the sender's NIC does not reach the receiver's (rail-only). */
static gboolean crosses_rails(ClusterFixture *fixture, GArray *links) {
  const char *kind = orr_fabric_link_kind(fixture->fabric, g_array_index(links, guint32, 0));
  if (strcmp(kind, "scale-up") != 0) return FALSE;
  g_array_remove_range(links, 0, 2);
  return TRUE;
}

static guint check_pair(ClusterFixture *fixture, gint64 src, gint64 dst) {
  g_autoptr(GArray) there = g_array_new(FALSE, FALSE, sizeof(guint32));
  g_autoptr(GArray) back = g_array_new(FALSE, FALSE, sizeof(guint32));
  double latency_s = orr_fabric_route(fixture->fabric, src, dst, 3, there);
  double back_s = orr_fabric_route(fixture->fabric, dst, src, 3, back);
  if (src == dst || is_near(fixture, src, dst)) {
    g_assert_cmpuint(there->len, ==, src == dst ? 0 : 2);
    return 1;
  }
  gboolean crosses = crosses_rails(fixture, there);
  guint switches = fixture_check_links(fixture, there);
  assert_near(latency_s, 10e-6 + switches * switch_latency(fixture) + crosses * 1e-6);
  const gboolean by_ends = fixture->cluster.routing == ORR_ROUTING_ECMP ||
                           fixture->cluster.routing == ORR_ROUTING_STATIC;
  if (by_ends || crosses)
    return switches; /* what picks differs by direction: another cable of two groups */
  g_assert_cmpuint(there->len, ==, back->len);
  assert_near(back_s, latency_s);
  return switches;
}

/* Between all pairs; the most switches that are passed are what the closed form says. */
static void check_all_pairs(ClusterFixture *fixture) {
  guint most = 0;
  for (gint64 src = 0; src < N_GPUS; src++)
    for (gint64 dst = 0; dst < N_GPUS; dst++) {
      guint switches = check_pair(fixture, src, dst);
      most = MAX(most, switches);
    }
  g_assert_cmpuint(most, <=, orr_fabric_diameter(fixture->fabric));
  if (fixture->cluster.routing == ORR_ROUTING_ECMP)
    g_assert_cmpuint(most, ==, orr_fabric_diameter(fixture->fabric));
}

static void test_routes(void) {
  static const char *const routings[] = {"ideal", "ecmp", "adaptive", "static"};
  char buffer[1024];
  for (guint i = 0; i < G_N_ELEMENTS(shapes); i++)
    for (guint r = 0; r < G_N_ELEMENTS(routings); r++) {
      FIXTURE(fixture, 5, SHAPED(shapes[i], routings[r]));
      check_all_pairs(&fixture);
    }
}

/* Every path that a flow is spread over is a route, and detours are, too; no detour passes more
 * than twice the most of a shortest one. */
static void check_paths(const ClusterFixture *fixture, gint64 src, gint64 dst) {
  for (guint path = 0; path < orr_fabric_n_paths(fixture->fabric); path++) {
    g_autoptr(GArray) links = g_array_new(FALSE, FALSE, sizeof(guint32));
    orr_fabric_path(fixture->fabric, src, dst, 1, path, links);
    if (!is_near(fixture, src, dst)) fixture_check_links(fixture, links);
  }
  for (guint path = 0; path < orr_fabric_n_detours(fixture->fabric); path++) {
    g_autoptr(GArray) links = g_array_new(FALSE, FALSE, sizeof(guint32));
    orr_fabric_detour(fixture->fabric, src, dst, 1, path, links);
    if (!is_near(fixture, src, dst))
      g_assert_cmpuint(fixture_check_links(fixture, links), <,
                       2 * orr_fabric_diameter(fixture->fabric));
  }
}

static void test_spread_routes(void) {
  static const char *const routings[] = {"ideal", "valiant", "ugal"};
  char buffer[1024];
  for (guint i = 0; i < G_N_ELEMENTS(shapes); i++)
    for (guint r = 0; r < (takes_every_routing(&shapes[i]) ? 3 : 1); r++) {
      if (is_by_rail(&shapes[i])) continue; /* crossing rails is checked above */
      FIXTURE(fixture, 5, SHAPED(shapes[i], routings[r]));
      for (gint64 dst = 1; dst < N_GPUS; dst += 3) check_paths(&fixture, 0, dst);
    }
}

/* Under ideal routing a level is fewer, wider links: both ways together they carry what the
 * single links do. */
static void test_trunks_carry_the_same(void) {
  char buffer[1024];
  for (guint i = 0; i < G_N_ELEMENTS(shapes); i++) {
    double carried[2] = {0, 0};
    for (int ecmp = 0; ecmp < 2; ecmp++) {
      FIXTURE(fixture, 5, SHAPED(shapes[i], ecmp ? "ecmp" : "ideal"));
      for (guint32 link = 0; link < orr_fabric_n_links(fixture.fabric); link++)
        carried[ecmp] += orr_fabric_link_bandwidth(fixture.fabric, link);
    }
    g_assert_cmpfloat_with_epsilon(carried[0], carried[1], carried[1] * 1e-12);
  }
}

/* Cables as described are the links as simulated, in both directions. */
static void test_levels_count_all_links(void) {
  char buffer[1024];
  for (guint i = 0; i < G_N_ELEMENTS(shapes); i++) {
    FIXTURE(fixture, 5, SHAPED(shapes[i], "ecmp"));
    g_autoptr(GArray) levels = orr_fabric_levels(fixture.fabric);
    double told = 0, simulated = 0;
    gint64 cables = 0, links = 0;
    for (guint l = 0; l < levels->len; l++) {
      const OrrFabricLevel *level = &g_array_index(levels, OrrFabricLevel, l);
      if (strcmp(level->name, "gpu-nvlink") == 0 || strcmp(level->name, "nic-leaf") == 0) continue;
      told += 2 * (double)level->links * level->link_bytes_per_s;
      cables += level->links;
    }
    for (guint32 link = 0; link < orr_fabric_n_links(fixture.fabric); link++) {
      if (strcmp(orr_fabric_link_kind(fixture.fabric, link), "fabric") != 0) continue;
      simulated += orr_fabric_link_bandwidth(fixture.fabric, link);
      links++;
    }
    if (links == 2 * orr_fabric_n_gpus(fixture.fabric) && cables == 0)
      continue; /* a leaf that joins all */
    g_assert_cmpint(links, ==, 2 * cables);
    g_assert_cmpfloat_with_epsilon(told, simulated, simulated * 1e-12 + 1e-9);
  }
}

static void test_names_are_unique(void) {
  char buffer[1024];
  for (guint i = 0; i < G_N_ELEMENTS(shapes); i++) {
    FIXTURE(fixture, 5, SHAPED(shapes[i], "ecmp"));
    g_autoptr(GHashTable) seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    for (guint32 link = 0; link < orr_fabric_n_links(fixture.fabric); link++)
      g_assert_true(g_hash_table_add(seen, orr_fabric_link_name(fixture.fabric, link)));
  }
}

/* The second link of the route: the first one that a hash chose. */
static guint32 chosen(const ClusterFixture *fixture, gint64 src, gint64 dst, guint64 flow) {
  g_autoptr(GArray) links = g_array_new(FALSE, FALSE, sizeof(guint32));
  orr_fabric_route(fixture->fabric, src, dst, flow, links);
  return g_array_index(links, guint32, 1);
}

static void test_ecmp_follows_the_seed(void) {
  FIXTURE(one, 1, "nodes", "12", "routing", "ecmp", "fabric", "{kind: fat-tree, radix: 12}");
  FIXTURE(again, 1, "nodes", "12", "routing", "ecmp", "fabric", "{kind: fat-tree, radix: 12}");
  FIXTURE(other, 2, "nodes", "12", "routing", "ecmp", "fabric", "{kind: fat-tree, radix: 12}");
  guint differ = 0;
  for (guint64 flow = 0; flow < 100; flow++) {
    g_assert_cmpuint(chosen(&one, 0, 47, flow), ==, chosen(&again, 0, 47, flow));
    differ += chosen(&one, 0, 47, flow) != chosen(&other, 0, 47, flow);
  }
  g_assert_cmpuint(differ, >,
                   50); /* of 100 with four links up 75 are expected, standard deviation 4.3 */
}

static void test_ecmp_spreads(void) {
  /* 4000 flows over the 4 links up of leaf 0: 1000 each, standard deviation 27; within 5 of
   * them. */
  FIXTURE(fixture, 1, "nodes", "12", "routing", "ecmp", "fabric",
          "{kind: fat-tree, radix: 12, nodes-per-leaf: 1}");
  g_autoptr(GHashTable) flows = g_hash_table_new(NULL, NULL);
  for (guint64 flow = 0; flow < 4000; flow++) {
    gpointer link = GUINT_TO_POINTER(chosen(&fixture, 0, 47, flow));
    g_hash_table_insert(flows, link,
                        GUINT_TO_POINTER(GPOINTER_TO_UINT(g_hash_table_lookup(flows, link)) + 1));
  }
  g_assert_cmpuint(g_hash_table_size(flows), ==, 4);
  GHashTableIter iter;
  gpointer value;
  g_hash_table_iter_init(&iter, flows);
  while (g_hash_table_iter_next(&iter, NULL, &value))
    g_assert_cmpuint(ABS((int)GPOINTER_TO_UINT(value) - 1000), <, 137);
}

static void test_host_links(void) {
  /* No NVLink: GPUs of a node meet over PCIe, 20 GB/s at 50 %, 2 us. */
  FIXTURE(fixture, 1, "node.scale-up-domain", "1");
  g_autoptr(GArray) links = g_array_new(FALSE, FALSE, sizeof(guint32));
  assert_near(orr_fabric_route(fixture.fabric, 0, 3, 0, links), 2e-6);
  g_autofree char *tx = orr_fabric_link_name(fixture.fabric, g_array_index(links, guint32, 0));
  g_autofree char *rx = orr_fabric_link_name(fixture.fabric, g_array_index(links, guint32, 1));
  g_assert_cmpstr(tx, ==, "gpu0.pcie.tx");
  g_assert_cmpstr(rx, ==, "gpu3.pcie.rx");
  assert_near(orr_fabric_link_bandwidth(fixture.fabric, g_array_index(links, guint32, 0)), 10e9);
}

static void test_shared_nics(void) {
  /* Two GPUs a NIC: GPUs 0 and 1 leave by NIC 0; GPU 15 is reached by NIC 7. */
  FIXTURE(fixture, 1, "node.nics-per-gpu", "0.5");
  g_autoptr(GArray) links = g_array_new(FALSE, FALSE, sizeof(guint32));
  orr_fabric_route(fixture.fabric, 0, 15, 0, links);
  orr_fabric_route(fixture.fabric, 1, 15, 0, links);
  guint n = links->len / 2;
  g_autofree char *name =
      orr_fabric_link_name(fixture.fabric, g_array_index(links, guint32, n - 1));
  g_assert_cmpuint(g_array_index(links, guint32, 0), ==, g_array_index(links, guint32, n));
  g_assert_cmpstr(name, ==, "nic7.net.rx");
  assert_near(orr_fabric_link_bandwidth(fixture.fabric, g_array_index(links, guint32, 0)), 8e9);
  assert_near(orr_fabric_bisection(fixture.fabric), 8 * 8e9 / 2);
}

static void test_several_nics(void) {
  /* Two NICs per GPU are one port of 16 GB/s that takes two switch ports: a leaf of 64 ports holds
   * 16 GPUs and 32 links. */
  FIXTURE(fixture, 1, "nodes", "8", "node.nics-per-gpu", "2");
  OrrFabricLevel level = fixture_level(&fixture, "leaf-spine");
  assert_near(orr_fabric_link_bandwidth(fixture.fabric, 2 * 32 + 2 * 32), 16e9);
  g_assert_cmpint(level.switches, ==, 2);
  g_assert_cmpint(level.links, ==, 64);
  assert_near(level.link_bytes_per_s, 8e9);
  assert_near(orr_fabric_bisection(fixture.fabric), 32 * 16e9 / 2);
}

static void test_bandwidth_scales(void) {
  FIXTURE(fixture, 1, "nodes", "12");
  FIXTURE(twice, 1, "nodes", "12", "node.nic-bandwidth", "20 GB/s", "device.scale-up-bandwidth",
          "200 GB/s", "device.host-link-bandwidth", "40 GB/s");
  g_assert_cmpint(orr_fabric_n_links(fixture.fabric), ==, orr_fabric_n_links(twice.fabric));
  for (guint32 link = 0; link < orr_fabric_n_links(fixture.fabric); link++)
    assert_near(orr_fabric_link_bandwidth(twice.fabric, link),
                2 * orr_fabric_link_bandwidth(fixture.fabric, link));
}

static void test_big(void) {
  /* 131,072 GPUs: nothing is stored per GPU, so a fabric takes less than a byte for each. */
  FIXTURE(fixture, 1, "nodes", "16384", "node.gpus", "8", "node.scale-up-domain", "8", "routing",
          "ecmp", "fabric", "{kind: fat-tree, levels: 3, radix: 128}");
  g_assert_cmpint(orr_fabric_n_gpus(fixture.fabric), ==, 131072);
  g_assert_cmpuint(fixture_check_route(&fixture, 0, 131071, 9), ==, 5);
  assert_near(orr_fabric_bisection(fixture.fabric), 131072 * 8e9 / 2);
  const size_t before = mallinfo2().uordblks; /* 0 under sanitizers, whose heap is their own */
  OrrFabric *fabrics[100];
  for (guint i = 0; i < G_N_ELEMENTS(fabrics); i++)
    g_assert_nonnull(fabrics[i] = orr_fabric_new(&fixture.cluster, i, NULL));
  g_assert_cmpuint(mallinfo2().uordblks - before, <, G_N_ELEMENTS(fabrics) * (size_t)131072);
  for (guint i = 0; i < G_N_ELEMENTS(fabrics); i++) orr_fabric_free(fabrics[i]);
}

static void test_describe(void) {
  FIXTURE(fixture, 1, "nodes", "8", "max-nodes", "16", "gpus", "30", "fabric",
          "{kind: fat-tree, radix: 32}");
  g_autofree char *text = orr_fabric_describe(fixture.fabric, &fixture.cluster);
  const char *const parts[] = {
      "8 nodes of 4 x dev, 32 GPUs, 30 of them used; fabric built for 16 nodes, 64 GPUs",
      "domains of 4 GPUs", "fat-tree, routing ideal", "leaf-spine", "bisection  256 GB/s",
      /* leaves of 16 ports: 3 in the node, 12 on the leaf, 30 - 16 over a spine */
      "15 GPUs over 1 switch, 14 GPUs over 3 switches"};
  for (guint i = 0; i < G_N_ELEMENTS(parts); i++)
    if (!strstr(text, parts[i])) g_error("no '%s' in:\n%s", parts[i], text);
}

/* Switches that links join, by name. */
static GHashTable *named_switches(const OrrFabric *fabric, gint64 *ret_links) {
  GHashTable *names = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
  for (guint32 link = 0; link < orr_fabric_n_links(fabric); link++) {
    char *ends[2] = {NULL, NULL};
    if (strcmp(orr_fabric_link_kind(fabric, link), "fabric") != 0) continue;
    orr_fabric_link_ends(fabric, link, ends);
    for (int i = 0; i < 2; i++) g_hash_table_add(names, ends[i]);
    (*ret_links)++;
  }
  return names;
}

/* Under ecmp every cable is two links, so that links and the names of their ends count what the
 * bill has in closed form. Every cable takes two ports, a NIC's one; no switch has too many. */
static void test_bill(void) {
  char buffer[1024];
  for (guint i = 0; i < G_N_ELEMENTS(shapes); i++) {
    FIXTURE(fixture, 5, SHAPED(shapes[i], "ecmp"));
    gint64 links = 0, nic_cables = 0, room = 0;
    g_autoptr(GHashTable) switches = named_switches(fixture.fabric, &links);
    g_autoptr(OrrBill) bill = orr_bill_new(fixture.fabric);
    const gint64 cables = orr_bill_count(bill, ORR_BILL_CABLE);
    const gboolean is_torus = strcmp(shapes[i].kind, "torus") == 0;
    /* the data-centre network between slices is not of the machine's bill */
    if (strstr(shapes[i].fabric, "dcn-bandwidth")) links -= 2 * N_GPUS;
    for (guint k = 0; k < bill->items->len; k++) {
      const OrrBillItem *item = &g_array_index(bill->items, OrrBillItem, k);
      if (g_strcmp0(item->layer, "nic-leaf") == 0 && item->kind == ORR_BILL_CABLE)
        nic_cables = item->count;
      g_assert_cmpint(item->used, <=, item->count * item->ports);
      room += item->count * item->ports;
    }
    g_test_message("%s", shapes[i].fabric);
    g_assert_cmpint(nic_cables, ==, is_torus ? 0 : N_GPUS);
    if (cables == nic_cables) /* the plan numbers links above a single leaf that nothing takes */
      g_assert_cmpuint(orr_fabric_diameter(fixture.fabric), ==, 1);
    else
      g_assert_cmpint(2 * (cables - nic_cables), ==, links);
    if (is_torus) continue;
    g_assert_cmpint(orr_bill_ports(bill), ==, 2 * cables - nic_cables);
    g_assert_cmpint(orr_bill_ports(bill), <=, room);
    if (cables > nic_cables)
      g_assert_cmpint(orr_bill_count(bill, ORR_BILL_SWITCH), ==, g_hash_table_size(switches));
  }
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/fabric/every-kind-has-a-shape", test_every_kind_has_a_shape);
  g_test_add_func("/fabric/routes", test_routes);
  g_test_add_func("/fabric/spread-routes", test_spread_routes);
  g_test_add_func("/fabric/levels-count-all-links", test_levels_count_all_links);
  g_test_add_func("/fabric/trunks-carry-the-same", test_trunks_carry_the_same);
  g_test_add_func("/fabric/names-are-unique", test_names_are_unique);
  g_test_add_func("/fabric/ecmp/seed", test_ecmp_follows_the_seed);
  g_test_add_func("/fabric/ecmp/spread", test_ecmp_spreads);
  g_test_add_func("/fabric/host-links", test_host_links);
  g_test_add_func("/fabric/shared-nics", test_shared_nics);
  g_test_add_func("/fabric/several-nics", test_several_nics);
  g_test_add_func("/fabric/bandwidth-scales", test_bandwidth_scales);
  g_test_add_func("/fabric/big", test_big);
  g_test_add_func("/fabric/describe", test_describe);
  g_test_add_func("/fabric/bill", test_bill);
  return g_test_run();
}

/*
 * Bisections by brute force: of all ways to put switches on two sides with half of the ports each,
 * the one with the least bandwidth between the sides, against each kind's closed form. Switches and
 * cables are read off the links' names.
 */
#include "tests/topologies/cluster_fixture.h"

enum { MOST_SWITCHES = 20, MOST_LINKS = 1024 };

typedef struct {
  GPtrArray *switches; /* names */
  struct {
    guint from, to;
    double rate;
  } links[MOST_LINKS];
  guint n_links;
  guint ports[MOST_SWITCHES];
} Cut;

static guint number_of(Cut *cut, const char *name) {
  guint index = 0;
  if (g_ptr_array_find_with_equal_func(cut->switches, name, g_str_equal, &index)) return index;
  g_ptr_array_add(cut->switches, g_strdup(name));
  g_assert_cmpuint(cut->switches->len, <=, MOST_SWITCHES);
  return cut->switches->len - 1;
}

static void read_links(Cut *cut, const OrrFabric *fabric) {
  for (guint32 link = 0; link < orr_fabric_n_links(fabric); link++) {
    if (strcmp(orr_fabric_link_kind(fabric, link), "fabric") != 0) continue;
    g_autofree char *name = orr_fabric_link_name(fabric, link), *from = NULL, *to = NULL;
    fixture_ends(name, &from, &to);
    g_assert_cmpuint(cut->n_links, <, MOST_LINKS);
    cut->links[cut->n_links].from = number_of(cut, from);
    cut->links[cut->n_links].to = number_of(cut, to);
    cut->links[cut->n_links++].rate = orr_fabric_link_bandwidth(fabric, link);
  }
}

/* The switch of a port is where its route to any port of another switch begins. */
static void read_ports(Cut *cut, const OrrFabric *fabric) {
  for (gint64 gpu = 0; gpu < orr_fabric_n_gpus(fabric); gpu++) {
    g_autoptr(GArray) links = g_array_new(FALSE, FALSE, sizeof(guint32));
    for (gint64 to = 0; links->len < 3 && to < orr_fabric_n_gpus(fabric); to++) {
      g_array_set_size(links, 0);
      orr_fabric_route(fabric, gpu, to, 0, links);
    }
    g_autofree char *name = orr_fabric_link_name(fabric, g_array_index(links, guint32, 1)),
                    *from = NULL, *to = NULL;
    fixture_ends(name, &from, &to);
    cut->ports[number_of(cut, from)]++;
  }
}

static double least_cut(const Cut *cut, guint n_ports) {
  double least = G_MAXDOUBLE;
  for (guint32 side = 0; side < 1u << (cut->switches->len - 1); side++) {
    guint ports = 0;
    double crossing = 0;
    for (guint s = 0; s < cut->switches->len; s++) ports += side >> s & 1 ? cut->ports[s] : 0;
    if (ports * 2 != n_ports) continue;
    for (guint i = 0; i < cut->n_links && crossing < least; i++)
      if ((side >> cut->links[i].from & 1) && !(side >> cut->links[i].to & 1))
        crossing += cut->links[i].rate;
    least = MIN(least, crossing);
  }
  return least;
}

/* One GPU a node, so that only the fabric joins them. */
static void check(guint nodes, const char *fabric) {
  g_autofree char *count = g_strdup_printf("%u", nodes);
  FIXTURE(fixture, 1, "nodes", count, "node.gpus", "1", "node.scale-up-domain", "1", "fabric",
          fabric, "routing", "ecmp");
  Cut cut = {.switches = g_ptr_array_new_with_free_func(g_free)};
  read_links(&cut, fixture.fabric);
  read_ports(&cut, fixture.fabric);
  double ports = nodes * 8e9 / 2; /* what half of the NICs send */
  g_test_message("%s: %u switches", fabric, cut.switches->len);
  assert_near(orr_fabric_bisection(fixture.fabric), MIN(ports, least_cut(&cut, nodes)));
  g_ptr_array_unref(cut.switches);
}

static void test_clos(void) {
  check(16, "{kind: fat-tree, radix: 8}");
  check(32, "{kind: fat-tree, radix: 16, leaf-ports: 4, oversubscription: 4}");
  check(16, "{kind: clos, down: 2x2x4, oversubscription: 1x2}");
  check(24, "{kind: clos, down: 6x4, oversubscription: 3, radix: 16}");
}

static void test_dragonfly(void) {
  check(16, "{kind: dragonfly, hosts-per-router: 4, routers-per-group: 4, global-per-router: 0, "
            "groups: 1}");
  check(32, "{kind: dragonfly, hosts-per-router: 2, routers-per-group: 4, global-per-router: 2, "
            "groups: 4}");
  check(16, "{kind: dragonfly, hosts-per-router: 2, routers-per-group: 4, global-per-router: 1, "
            "groups: 2}");
}

static void test_dragonfly_plus(void) {
  check(16, "{kind: dragonfly-plus, hosts-per-leaf: 2, leaves-per-group: 2, spines-per-group: 2, "
            "global-per-spine: 2}");
  check(16, "{kind: dragonfly-plus, hosts-per-leaf: 4, leaves-per-group: 4, spines-per-group: 3, "
            "global-per-spine: 0}");
}

static void test_hyperx(void) {
  check(64, "{kind: hyperx, shape: 4x4, hosts-per-switch: 4}");
  check(48, "{kind: hyperx, shape: 2x2x4, hosts-per-switch: 3, link-bandwidth: 5 GB/s}");
  check(48, "{kind: hyperx, shape: 8, hosts-per-switch: 6, cables: 2, link-bandwidth: 1 GB/s}");
}

static void test_torus(void) {
  check(16, "{kind: torus, shape: 4x4, link-bandwidth: 1 GB/s}");
  check(16, "{kind: torus, shape: 2x2x4, link-bandwidth: 1 GB/s}");
  check(16, "{kind: torus, shape: 2x2x4, twisted: true, link-bandwidth: 1 GB/s}");
  check(8, "{kind: torus, shape: 2x4, twisted: true, link-bandwidth: 1 GB/s}");
  check(12, "{kind: torus, shape: 12, link-bandwidth: 1 GB/s}");
}

/* A ring of three switches of 4 ports has halves of 6 ports only with one switch cut: not by
 * sides; two of them with capacities 3 and 5 have the 3. */
static void test_custom(void) {
  check(8, "{kind: custom, hosts: [{switch: a, ports: 4}, {switch: b, ports: 4}], cables: "
           "[{from: a, to: s, bandwidth: 3 GB/s}, {from: s, to: b, bandwidth: 5 GB/s}]}");
  check(8, "{kind: custom, hosts: [{switch: a, ports: 2}, {switch: b, ports: 2}, {switch: c, "
           "ports: 2}, {switch: d, "
           "ports: 2}], cables: [{from: a, to: b}, {from: c, to: d}, {from: a, to: c, bandwidth: 2 "
           "GB/s}, "
           "{from: b, to: d, count: 2, bandwidth: 1 GB/s}]}");
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/cuts/clos", test_clos);
  g_test_add_func("/cuts/dragonfly", test_dragonfly);
  g_test_add_func("/cuts/dragonfly-plus", test_dragonfly_plus);
  g_test_add_func("/cuts/hyperx", test_hyperx);
  g_test_add_func("/cuts/torus", test_torus);
  g_test_add_func("/cuts/custom", test_custom);
  return g_test_run();
}

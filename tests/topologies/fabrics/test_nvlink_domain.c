/*
 * test_nvlink_domain.c - NVLink domains that span nodes: links, routes and closed forms by hand.
 */
#include "tests/topologies/cluster_fixture.h"

#define NVL72                                                                                      \
  "nodes", "54", "node.scale-up-domain", "72", "fabric",                                           \
      "{kind: nvlink-domain, scale-out: {kind: fat-tree}}"

static void test_domains(void) {
  /* 54 nodes of 4 are three domains of 18 nodes: GPUs 0-71, 72-143, 144-215. */
  FIXTURE(fixture, 1, NVL72);
  for (gint64 gpu = 0; gpu < 216; gpu++)
    g_assert_cmpint(orr_fabric_domain(fixture.fabric, gpu), ==, gpu / 72);
  g_assert_true(orr_fabric_same_domain(fixture.fabric, 0, 71));
  g_assert_false(orr_fabric_same_domain(fixture.fabric, 71, 72));
}

static void test_routes(void) {
  /* GPU 0 to GPU 71, another node of the rack: two NVLinks of 50 GB/s, 1 us. To GPU 72: the
   * scale-out fabric. */
  FIXTURE(fixture, 1, NVL72);
  g_autoptr(GArray) links = g_array_new(FALSE, FALSE, sizeof(guint32));
  assert_near(orr_fabric_route(fixture.fabric, 0, 71, 0, links), 1e-6);
  g_assert_cmpuint(links->len, ==, 2);
  for (guint i = 0; i < 2; i++) {
    g_assert_cmpstr(orr_fabric_link_kind(fixture.fabric, g_array_index(links, guint32, i)), ==,
                    "scale-up");
    assert_near(orr_fabric_link_bandwidth(fixture.fabric, g_array_index(links, guint32, i)), 50e9);
  }
  g_assert_cmpuint(fixture_check_route(&fixture, 0, 72, 0), ==, 3);
}

static void test_scale_out_is_the_inner_fabric(void) {
  /* The same fabric without domains over nodes shows the same levels above the NICs and the same
   * bisection. */
  FIXTURE(nvl, 1, "nodes", "32", "node.scale-up-domain", "16", "fabric",
          "{kind: nvlink-domain, scale-out: {kind: rail-optimized, nodes-per-group: 4, "
          "oversubscription: 2}}");
  FIXTURE(bare, 1, "nodes", "32", "fabric",
          "{kind: rail-optimized, nodes-per-group: 4, oversubscription: 2}");
  g_assert_cmpint(fixture_level(&nvl, "leaf-spine").links, ==,
                  fixture_level(&bare, "leaf-spine").links);
  g_assert_cmpint(orr_fabric_n_links(nvl.fabric), ==, orr_fabric_n_links(bare.fabric));
  assert_near(orr_fabric_bisection(nvl.fabric), orr_fabric_bisection(bare.fabric));
}

static void test_any_size(void) {
  const char *const sizes[] = {"1", "2", "4", "8", "72", "256"};
  for (guint i = 0; i < G_N_ELEMENTS(sizes); i++) {
    FIXTURE(fixture, 1, "nodes", "64", "node.scale-up-domain", sizes[i], "fabric", "nvlink-domain");
    gint64 size = g_ascii_strtoll(sizes[i], NULL, 10);
    g_assert_cmpint(orr_fabric_domain(fixture.fabric, 255), ==, 255 / size);
    g_assert_cmpint(orr_fabric_same_domain(fixture.fabric, 0, size), ==, FALSE);
  }
}

/* HGX of 8, GB200 NVL36 and NVL72, NVL576: in two domains of each, all GPUs of one are a hop
 * apart, and others are not. A network of one NIC a GPU joins the domains. */
static void test_published_sizes(void) {
  static const gint64 sizes[] = {8, 36, 72, 576};
  for (guint i = 0; i < G_N_ELEMENTS(sizes); i++) {
    const gint64 size = sizes[i];
    g_autofree char *domain = g_strdup_printf("%ld", size);
    g_autofree char *nodes = g_strdup_printf("%ld", 2 * size / 4);
    FIXTURE(fixture, 1, "nodes", nodes, "node.scale-up-domain", domain, "fabric",
            "{kind: nvlink-domain, scale-out: {kind: fat-tree, levels: 3}}");
    g_autoptr(GArray) links = g_array_new(FALSE, FALSE, sizeof(guint32));
    assert_near(orr_fabric_route(fixture.fabric, 0, size - 1, 0, links), 1e-6);
    g_assert_cmpuint(links->len, ==, 2);
    g_assert_cmpint(orr_fabric_domain(fixture.fabric, 2 * size - 1), ==, 1);
    g_assert_cmpuint(fixture_check_route(&fixture, 0, size, 0), >=, 1);
    g_assert_cmpint(fixture_level(&fixture, "gpu-nvlink").links, ==, 2 * size);
    g_assert_cmpint(fixture_level(&fixture, "nic-leaf").links, ==, 2 * size);
  }
}

static void test_a_single_domain_needs_no_network(void) {
  FIXTURE(fixture, 1, "nodes", "4", "node.scale-up-domain", "16", "node.nics-per-gpu", "0",
          "fabric", "nvlink-domain");
  g_assert_cmpint(orr_fabric_n_links(fixture.fabric), ==,
                  2 * 16 + 2 * 16); /* NVLink and PCIe, no NIC */
  assert_near(orr_fabric_bisection(fixture.fabric), 16 * 50e9 / 2);
}

static void test_refusals(void) {
  ASSERT_REFUSED("fabric nvlink-domain: scale-out: two levels of 8-port switches", "nodes", "32",
                 "fabric", "{kind: nvlink-domain, scale-out: {kind: fat-tree, radix: 8}}");
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/nvlink-domain/domains", test_domains);
  g_test_add_func("/nvlink-domain/routes", test_routes);
  g_test_add_func("/nvlink-domain/scale-out", test_scale_out_is_the_inner_fabric);
  g_test_add_func("/nvlink-domain/any-size", test_any_size);
  g_test_add_func("/nvlink-domain/published-sizes", test_published_sizes);
  g_test_add_func("/nvlink-domain/single", test_a_single_domain_needs_no_network);
  g_test_add_func("/nvlink-domain/refusals", test_refusals);
  return g_test_run();
}

/*
 * Expected counts follow from k-port fat trees: two levels join k^2/2 ports with k leaves and k/2
 * spines, three levels k^3/4 ports with k^2/2 leaves, k^2/2 spines and k^2/4 cores. The small
 * machine's NIC carries 8 GB/s.
 */
#include "tests/topologies/cluster_fixture.h"

#define B 8e9

static void test_two_levels(void) {
  /* k = 8: a leaf is 4 ports (one node) down and 4 up; 8 leaves, 4 spines, 32 links; N = 32:
   * bisection 32 B / 2. */
  FIXTURE(fixture, 1, "nodes", "8", "fabric", "{kind: fat-tree, radix: 8}");
  OrrFabricLevel level = fixture_level(&fixture, "leaf-spine");
  g_assert_cmpint(level.switches, ==, 8);
  g_assert_cmpint(level.switches_above, ==, 4);
  g_assert_cmpint(level.links, ==, 32);
  assert_near(level.link_bytes_per_s, B);
  assert_near(orr_fabric_bisection(fixture.fabric), 32 * B / 2);
  g_assert_cmpuint(fixture_check_route(&fixture, 0, 31, 0), ==, 3);
  ASSERT_REFUSED("at most 8 leaves of 4 ports, but 9 leaves are needed for 36 ports", "nodes", "9",
                 "fabric", "{kind: fat-tree, radix: 8}");
}

static void test_three_levels(void) {
  /* k = 8: 128 ports are 32 nodes; pods of 4 leaves; 32 leaves, 32 spines, 16 cores, 128 links
   * at each level. */
  FIXTURE(fixture, 1, "nodes", "32", "fabric", "{kind: fat-tree, levels: 3, radix: 8}");
  OrrFabricLevel leaf = fixture_level(&fixture, "leaf-spine"),
                 core = fixture_level(&fixture, "spine-core");
  g_assert_cmpint(leaf.switches, ==, 32);
  g_assert_cmpint(leaf.links, ==, 128);
  g_assert_cmpint(core.switches, ==, 32);
  g_assert_cmpint(core.switches_above, ==, 16);
  g_assert_cmpint(core.links, ==, 128);
  assert_near(orr_fabric_bisection(fixture.fabric), 128 * B / 2);
  g_assert_cmpuint(fixture_check_route(&fixture, 0, 15, 0), ==, 3); /* the last GPU of the pod */
  g_assert_cmpuint(fixture_check_route(&fixture, 0, 16, 0), ==, 5); /* the first one of the next */
  g_assert_cmpuint(fixture_check_route(&fixture, 127, 0, 0), ==, 5);
  ASSERT_REFUSED("at most 8 pods of 16 ports, but 9 pods are needed", "nodes", "33", "fabric",
                 "{kind: fat-tree, levels: 3, radix: 8}");
}

static void test_oversubscription(void) {
  /* 4 leaves of 12 ports (3 nodes); o1 = 3: 4 links up; o1 = 5: 12 / 5 = 2.4 rounds to 2 links
   * of 1.2 B each, so that 12 B / (2 * 1.2 B) is 5 exactly. Bisection N B / (2 o1), N = 48. */
  FIXTURE(three, 1, "nodes", "12", "fabric",
          "{kind: fat-tree, radix: 64, nodes-per-leaf: 3, oversubscription: 3}");
  FIXTURE(five, 1, "nodes", "12", "fabric",
          "{kind: fat-tree, radix: 64, nodes-per-leaf: 3, oversubscription: 5}");
  g_assert_cmpint(fixture_level(&three, "leaf-spine").links, ==, 16);
  assert_near(fixture_level(&three, "leaf-spine").link_bytes_per_s, B);
  assert_near(orr_fabric_bisection(three.fabric), 48 * B / 6);
  g_assert_cmpint(fixture_level(&five, "leaf-spine").links, ==, 8);
  assert_near(fixture_level(&five, "leaf-spine").link_bytes_per_s, 1.2 * B);
  assert_near(orr_fabric_bisection(five.fabric), 48 * B / 10);
}

static void test_core_oversubscription(void) {
  /* Leaves of 8 ports at 2:1 have 4 links up; pods of 4 leaves, 16 links into 4 spines... at 4:1
   * again. N = 64 ports in 2 pods: bisection 64 B / (2 * 2 * 4). */
  FIXTURE(fixture, 1, "nodes", "16", "fabric",
          "{kind: fat-tree, levels: 3, radix: 16, leaf-ports: 8, leaves-per-pod: 4, "
          "oversubscription: 2, "
          "core-oversubscription: 4}");
  OrrFabricLevel core = fixture_level(&fixture, "spine-core");
  g_assert_cmpint(fixture_level(&fixture, "leaf-spine").links, ==, 8 * 4);
  g_assert_cmpint(core.links, ==, 2 * 4); /* a quarter of the 32 links below */
  assert_near(core.oversubscription, 4);
  assert_near(orr_fabric_bisection(fixture.fabric), 64 * B / 16);
}

static void test_faster_links(void) {
  /* A leaf of 4 ports of 8 GB/s with links of 20 GB/s nominal, 16 effective: 2 links up. */
  FIXTURE(fixture, 1, "nodes", "4", "fabric",
          "{kind: fat-tree, radix: 8, leaf-ports: 4, link-bandwidth: 20 GB/s}");
  OrrFabricLevel level = fixture_level(&fixture, "leaf-spine");
  g_assert_cmpint(level.links, ==, 4 * 2);
  assert_near(level.link_bytes_per_s, 16e9);
}

static void test_published_size(void) {
  /* Al-Fares et al. 2008: 48-port switches join 27,648 hosts, in 48 pods, with 576 cores. 6,912
   * nodes of 4. */
  FIXTURE(fixture, 1, "nodes", "6912", "fabric", "{kind: fat-tree, levels: 3, radix: 48}");
  OrrFabricLevel core = fixture_level(&fixture, "spine-core");
  g_assert_cmpint(fixture_level(&fixture, "leaf-spine").switches, ==, 1152);
  g_assert_cmpint(core.switches, ==, 1152);
  g_assert_cmpint(core.switches_above, ==, 576);
  assert_near(orr_fabric_bisection(fixture.fabric), 27648 * B / 2);
}

static void test_any_shape_joins_all(void) {
  /* What a user may well ask for in place of a SuperPOD's rails: whole nodes of 8 under 40-port
   * leaves. 4:1 at a leaf is 4 nodes, 32 ports and 8 links up. */
  FIXTURE(fixture, 3, "node.gpus", "8", "node.scale-up-domain", "8", "nodes", "128", "max-nodes",
          "560", "routing", "ecmp", "fabric",
          "{kind: fat-tree, levels: 3, radix: 40, oversubscription: 4}");
  g_assert_cmpint(fixture_level(&fixture, "leaf-spine").switches, ==, 140);
  g_assert_cmpint(fixture_level(&fixture, "leaf-spine").links, ==, 1120);
  assert_near(orr_fabric_bisection(fixture.fabric), 4480 * B / 8);
  for (gint64 gpu = 32; gpu < 1024; gpu += 31) /* 32: the first one on another leaf */
    g_assert_cmpuint(fixture_check_route(&fixture, 0, gpu, 1), >=, 3);
  ASSERT_REFUSED("fabric fat-tree: for max-nodes, 560: two levels of 40-port switches", "nodes",
                 "2", "max-nodes", "560", "fabric", "{kind: fat-tree, radix: 40}");
}

static void test_refusals(void) {
  ASSERT_REFUSED("needs 40 ports, but radix is 32: at most 16 NICs", "fabric",
                 "{kind: fat-tree, radix: 32, nodes-per-leaf: 5}");
  ASSERT_REFUSED("nodes-per-leaf is 1 and leaf-ports is 4: give one", "fabric",
                 "{kind: fat-tree, nodes-per-leaf: 1, leaf-ports: 4}");
  ASSERT_REFUSED("a spine that joins 4 leaves needs at least 8 ports, but radix is 6", "fabric",
                 "{kind: fat-tree, levels: 3, radix: 6, leaf-ports: 3, leaves-per-pod: 4}");
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/fat-tree/two-levels", test_two_levels);
  g_test_add_func("/fat-tree/three-levels", test_three_levels);
  g_test_add_func("/fat-tree/oversubscription", test_oversubscription);
  g_test_add_func("/fat-tree/core-oversubscription", test_core_oversubscription);
  g_test_add_func("/fat-tree/faster-links", test_faster_links);
  g_test_add_func("/fat-tree/published-size", test_published_size);
  g_test_add_func("/fat-tree/any-shape", test_any_shape_joins_all);
  g_test_add_func("/fat-tree/refusals", test_refusals);
  return g_test_run();
}

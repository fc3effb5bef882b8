/*
 * Switch and cable counts against the tables that NVIDIA publishes for its DGX SuperPODs.
 */
#include "tests/topologies/cluster_fixture.h"

typedef struct {
  const char *nodes, *levels;
  gint64 leaves, spines, cores;
} Published;

static void check_published(const Published *row) {
  FIXTURE(fixture, 1, "node.gpus", "8", "node.scale-up-domain", "8", "nodes", row->nodes, "fabric",
          "{kind: rail-optimized, radix: 64, nodes-per-group: 32}", "fabric.levels", row->levels);
  OrrFabricLevel leaf = fixture_level(&fixture, "leaf-spine");
  gint64 n_gpus = orr_fabric_n_gpus(fixture.fabric);
  g_assert_cmpint(leaf.switches, ==, row->leaves);
  g_assert_cmpint(leaf.switches_above, ==, row->spines);
  g_assert_cmpint(leaf.links, ==, n_gpus);
  assert_near(orr_fabric_bisection(fixture.fabric), (double)n_gpus * 8e9 / 2);
  if (!row->cores) return;
  OrrFabricLevel core = fixture_level(&fixture, "spine-core");
  g_assert_cmpint(core.switches_above, ==, row->cores);
  g_assert_cmpint(core.links, ==, n_gpus);
}

static void test_published(void) {
  /* DGX SuperPOD reference architecture, DGX B200, "Larger DGX SuperPOD component counts": 2 to 64
   * SU of 32 nodes.
   */
  const Published rows[] = {
      {"64", "2", 16, 8, 0},      {"128", "2", 32, 16, 0},      {"256", "2", 64, 32, 0},
      {"512", "3", 128, 128, 64}, {"1024", "3", 256, 256, 128}, {"2048", "3", 512, 512, 256},
  };
  for (guint i = 0; i < G_N_ELEMENTS(rows); i++) check_published(&rows[i]);
}

static void test_a100_superpod(void) {
  /* RA-09950-001: 140 nodes, 7 SU of 20, 40-port switches. By hand: 7 SU * 8 rails = 56 leaves
   * of 20 links up, 1120 cables a level; 10 spines a rail with 7 * 2 down and 14 up; 8 rails *
   * 10 spines * 14 / 40 = 28 cores. */
  FIXTURE(fixture, 1, "node.gpus", "8", "node.scale-up-domain", "8", "nodes", "140", "fabric",
          "{kind: rail-optimized, levels: 3, radix: 40, nodes-per-group: 20}");
  OrrFabricLevel leaf = fixture_level(&fixture, "leaf-spine"),
                 core = fixture_level(&fixture, "spine-core");
  g_assert_cmpint(leaf.switches, ==, 56);
  g_assert_cmpint(core.switches, ==, 80);
  g_assert_cmpint(core.switches_above, ==, 28);
  g_assert_cmpint(leaf.links, ==, 1120);
  g_assert_cmpint(core.links, ==, 1120);
}

static void test_hops(void) {
  /* Groups of 2 nodes, 4 rails, pods of 2 groups: nodes 0-3 are a pod a rail. GPU 4n + r is on
   * rail r. */
  FIXTURE(fixture, 7, "nodes", "8", "routing", "ecmp", "fabric",
          "{kind: rail-optimized, levels: 3, radix: 16, nodes-per-group: 2, groups-per-pod: 2}");
  g_assert_cmpuint(fixture_check_route(&fixture, 0, 4, 0), ==,
                   1); /* same group, same rail: one leaf */
  g_assert_cmpuint(fixture_check_route(&fixture, 0, 8, 0), ==,
                   3); /* next group, same rail: its spines */
  g_assert_cmpuint(fixture_check_route(&fixture, 0, 5, 0), ==,
                   5); /* same group, other rail: a core */
  g_assert_cmpuint(fixture_check_route(&fixture, 0, 16, 0), ==,
                   5); /* same rail, next pod: a core */
  g_assert_cmpuint(fixture_check_route(&fixture, 31, 0, 0), ==, 5);
  g_assert_cmpuint(orr_fabric_hops(fixture.fabric, 0, 3), ==, 1); /* in the node: NVLink */
}

static void test_two_levels_share_spines(void) {
  FIXTURE(fixture, 7, "nodes", "8", "routing", "ecmp", "fabric",
          "{kind: rail-optimized, radix: 16, nodes-per-group: 2}");
  g_assert_cmpuint(fixture_check_route(&fixture, 0, 4, 0), ==, 1);
  g_assert_cmpuint(fixture_check_route(&fixture, 0, 5, 0), ==, 3);
  g_assert_cmpuint(fixture_check_route(&fixture, 0, 31, 0), ==, 3);
}

static void test_unfilled_group(void) {
  /* 5 nodes in groups of 4: 2 groups of 4 leaves; a second group with one node still has its
   * leaves and links. N B / 2 is less than the leaves' 8 * 4 B / 2. */
  FIXTURE(fixture, 1, "nodes", "5", "fabric", "{kind: rail-optimized, nodes-per-group: 4}");
  OrrFabricLevel leaf = fixture_level(&fixture, "leaf-spine");
  g_assert_cmpint(leaf.switches, ==, 8);
  g_assert_cmpint(leaf.links, ==, 32);
  assert_near(orr_fabric_bisection(fixture.fabric), 20 * 8e9 / 2);
}

static void test_oversubscription(void) {
  /* 4:1 at the leaves of 16 ports: 4 links up each; 2 groups * 4 rails * 4 links of 8 GB/s,
   * halved. */
  FIXTURE(fixture, 1, "nodes", "32", "fabric",
          "{kind: rail-optimized, nodes-per-group: 16, oversubscription: 4}");
  g_assert_cmpint(fixture_level(&fixture, "leaf-spine").links, ==, 32);
  assert_near(orr_fabric_bisection(fixture.fabric), 128 * 8e9 / 8);
}

static void test_refusals(void) {
  ASSERT_REFUSED("use levels: 3", "nodes", "64", "fabric",
                 "{kind: rail-optimized, radix: 8, nodes-per-group: 2}");
  ASSERT_REFUSED("radix is 64", "fabric", "{kind: rail-optimized, nodes-per-group: 33}");
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/rail-optimized/published", test_published);
  g_test_add_func("/rail-optimized/a100-superpod", test_a100_superpod);
  g_test_add_func("/rail-optimized/hops", test_hops);
  g_test_add_func("/rail-optimized/two-levels-share-spines", test_two_levels_share_spines);
  g_test_add_func("/rail-optimized/unfilled-group", test_unfilled_group);
  g_test_add_func("/rail-optimized/oversubscription", test_oversubscription);
  g_test_add_func("/rail-optimized/refusals", test_refusals);
  return g_test_run();
}

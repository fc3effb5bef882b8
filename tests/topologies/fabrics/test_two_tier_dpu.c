/*
 * test_two_tier_dpu.c - two tiers with storage on DPUs under every leaf: where servers are, and
 * what that does to links.
 *
 * 8 nodes of 4 GPUs, 2 nodes a leaf: 4 leaves of 8 NICs; 8 servers, 2 a leaf.
 */
#include "tests/topologies/cluster_fixture.h"

#define STORAGE                                                                                    \
  "storage.servers", "8", "storage.server-bandwidth", "8 GB/s", "storage.attach", "fabric"
#define TWO_TIER                                                                                   \
  "nodes", "8", "fabric", "{kind: two-tier-dpu, radix: 32, nodes-per-leaf: 2}", STORAGE

/* One unit from every GPU to every server, or back; returns what the busiest link between
 * switches carries. */
static guint busiest(const OrrFabric *fabric, gboolean is_read) {
  g_autofree guint *carried = g_new0(guint, orr_fabric_n_links(fabric));
  guint most = 0;
  for (gint64 gpu = 0; gpu < 32; gpu++)
    for (gint64 server = 0; server < 8; server++) {
      g_autoptr(GArray) links = g_array_new(FALSE, FALSE, sizeof(guint32));
      orr_fabric_storage_route(fabric, gpu, server, is_read, links);
      for (guint i = 0; i < links->len; i++) {
        const guint32 link = g_array_index(links, guint32, i);
        if (strcmp(orr_fabric_link_kind(fabric, link), "fabric") != 0) continue;
        carried[link]++;
        most = MAX(most, carried[link]);
      }
    }
  return most;
}

/* A leaf's 8 GPUs write to the 6 servers under others: 48 up, and as many down. At one corner of
 * a fat-tree the 8 servers have a leaf of their own, which all 32 GPUs' units come down to. */
static void test_spread(void) {
  FIXTURE(spread, 1, TWO_TIER);
  FIXTURE(corner, 1, "nodes", "8", "fabric", "{kind: fat-tree, radix: 32, nodes-per-leaf: 2}",
          STORAGE);
  for (int is_read = 0; is_read < 2; is_read++) {
    g_assert_cmpuint(busiest(spread.fabric, is_read), ==, 8 * 6);
    g_assert_cmpuint(busiest(corner.fabric, is_read), ==, 32 * 8);
  }
}

/* Server i under leaf i mod 4: GPU 0, under leaf 0, reaches servers 0 and 4 without a link
 * between switches. */
static void test_places(void) {
  FIXTURE(fixture, 1, TWO_TIER);
  for (gint64 server = 0; server < 8; server++) {
    g_autoptr(GArray) links = g_array_new(FALSE, FALSE, sizeof(guint32));
    orr_fabric_storage_route(fixture.fabric, 0, server, FALSE, links);
    g_assert_cmpuint(links->len, ==, server % 4 == 0 ? 2 : 4);
  }
}

/* Leaves of 8 NICs and 2 DPUs, 10 ports of 8 GB/s, 1:1: 10 links up; the bisection is as of 40
 * ports. Without storage a fat-tree of the same leaves. Left to itself, a leaf of 32 ports has
 * whole nodes beside its DPUs. */
static void test_counts(void) {
  FIXTURE(fixture, 1, TWO_TIER);
  FIXTURE(plain, 1, "nodes", "8", "fabric", "{kind: two-tier-dpu, radix: 32, nodes-per-leaf: 2}");
  FIXTURE(tree, 1, "nodes", "8", "fabric", "{kind: fat-tree, radix: 32, nodes-per-leaf: 2}");
  FIXTURE(widest, 1, "nodes", "8", "fabric", "{kind: two-tier-dpu, radix: 32}", STORAGE);
  g_assert_cmpint(fixture_level(&fixture, "leaf-spine").links, ==, 4 * 10);
  assert_near(orr_fabric_bisection(fixture.fabric), 40 * 8e9 / 2);
  assert_near(orr_fabric_bisection(plain.fabric), orr_fabric_bisection(tree.fabric));
  /* 16 ports down at 1:1: 12 NICs leave 4, and 3 leaves have 3 of 8 servers at most */
  g_assert_cmpint(fixture_level(&widest, "leaf-spine").switches, ==, 3);
}

static void test_refused(void) {
  ASSERT_REFUSED("which says attach: own: set attach: fabric", "nodes", "8", "fabric",
                 "two-tier-dpu", "storage.servers", "8", "storage.server-bandwidth", "8 GB/s",
                 "storage.node-bandwidth", "8 GB/s");
  ASSERT_REFUSED("two-tier-dpu has two, leaves and spines", "fabric",
                 "{kind: two-tier-dpu, levels: 3}");
  ASSERT_REFUSED("needs 20 ports, but radix is 16", "nodes", "8", "fabric",
                 "{kind: two-tier-dpu, radix: 16, nodes-per-leaf: 2}", STORAGE);
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/two-tier-dpu/spread", test_spread);
  g_test_add_func("/two-tier-dpu/places", test_places);
  g_test_add_func("/two-tier-dpu/counts", test_counts);
  g_test_add_func("/two-tier-dpu/refused", test_refused);
  return g_test_run();
}

/*
 * test_bill.c - the bill of materials of each kind of fabric against its closed form. What holds
 * for all of them (cables are links, ends are switches) is in test_fabric.c.
 */
#include "tests/topologies/cluster_fixture.h"

typedef struct {
  const char *name;   /* of the row, for a failure */
  const char *fabric; /* and the machine: nodes of @gpus, one domain each */
  const char *nodes, *gpus;
  gint64 switches, cables, ports; /* with the NICs' */
} Row;

static const Row rows[] = {
    /* k-ary fat-tree (Al-Fares et al. 2008): k^3/4 hosts, 5 k^2/4 switches, k^3/4 cables a level.
     * All ports are in use: 5 k^3/4. k = 8 and 16. */
    {"k=8", "{kind: fat-tree, levels: 3, radix: 8}", "32", "4", 5 * 64 / 4, 3 * 128, 5 * 128},
    {"k=16", "{kind: fat-tree, levels: 3, radix: 16}", "256", "4", 5 * 256 / 4, 3 * 1024, 5 * 1024},
    /* Two levels: k^2/2 hosts, k leaves and k/2 spines. */
    {"k=8, two levels", "{kind: fat-tree, radix: 8}", "8", "4", 12, 2 * 32, 3 * 32},
    /* All under one leaf: nothing above it. */
    {"one leaf", "{kind: fat-tree, radix: 64}", "4", "4", 1, 16, 16},
    /* 3:1 at leaves of 64 ports: 48 down, 16 up. 12 leaves have 192 links up: 3 spines of 64 ports
     * would do, but must divide 16: 4. */
    {"3:1", "{kind: fat-tree, radix: 64, oversubscription: 3}", "144", "4", 12 + 4, 576 + 192,
     576 + 2 * 192},
    /* A rail is one switch: rails switches, no cables but the NICs' (Wang et al. 2023). */
    {"rail-only", "{kind: rail-only, radix: 64}", "64", "8", 8, 512, 512},
    /* Rails of 128 nodes on switches of 64 ports: 8 x (4 leaves of 32 + 2 spines). */
    {"rail-only, two levels", "{kind: rail-only, radix: 64}", "128", "8", 8 * 6, 2 * 1024,
     3 * 1024},
    /* 4 SU of 32 DGX: 32 leaves, 16 spines (DGX SuperPOD RA, "component counts"). */
    {"SuperPOD", "{kind: rail-optimized, radix: 64, nodes-per-group: 32}", "128", "8", 48, 2 * 1024,
     3 * 1024},
    /* down m1 x m2: m2 leaves with m1 up, m1 spines, each with one cable to every leaf. */
    {"clos", "{kind: clos, down: 8x4}", "8", "4", 4 + 8, 32 + 32, 32 + 2 * 32},
    {"clos, two planes", "{kind: clos, down: 8x4, planes: 2}", "8", "4", 2 * (4 + 8), 32 + 64,
     32 + 2 * 64},
    /* p = 2, a = 4, h = 2, a h + 1 = 9 groups: 36 routers, 9 * 6 local and 9 * 8 / 2 global. */
    {"dragonfly",
     "{kind: dragonfly, hosts-per-router: 2, routers-per-group: 4, "
     "global-per-router: 2}",
     "18", "4", 36, 72 + 54 + 36, 72 + 2 * (54 + 36)},
    /* 3 groups of 2 leaves and 2 spines; 2 * 3 exits to 2 others: 3 cables between any two. */
    {"dragonfly+",
     "{kind: dragonfly-plus, hosts-per-leaf: 4, leaves-per-group: 2, "
     "spines-per-group: 2, global-per-spine: 3}",
     "6", "4", 12, 24 + 3 * 4 + 3 * 3, 24 + 2 * (12 + 9)},
    /* L1 x L2 x ...: each switch to the others of its rows: 12 * (3 + 2) / 2. */
    {"hyperx", "{kind: hyperx, shape: 4x3, hosts-per-switch: 4}", "12", "4", 12, 48 + 30,
     48 + 2 * 30},
    {"custom",
     "{kind: custom, hosts: [{switch: a, ports: 8}, {switch: b, ports: 8}], cables: "
     "[{from: a, to: s, count: 3}, {from: b, to: s, count: 2}]}",
     "4", "4", 3, 16 + 5, 16 + 10},
};

static void test_closed_forms(void) {
  for (guint i = 0; i < G_N_ELEMENTS(rows); i++) {
    FIXTURE(fixture, 1, "nodes", rows[i].nodes, "node.gpus", rows[i].gpus, "node.scale-up-domain",
            rows[i].gpus, "fabric", rows[i].fabric);
    g_autoptr(OrrBill) bill = orr_bill_new(fixture.fabric);
    g_test_message("%s", rows[i].name);
    g_assert_cmpint(orr_bill_count(bill, ORR_BILL_SWITCH), ==, rows[i].switches);
    g_assert_cmpint(orr_bill_count(bill, ORR_BILL_CABLE), ==, rows[i].cables);
    g_assert_cmpint(orr_bill_ports(bill), ==, rows[i].ports);
    g_assert_cmpint(orr_bill_count(bill, ORR_BILL_OPTIC), ==, 2 * rows[i].cables);
  }
}

static const OrrBillItem *find(const OrrBill *bill, OrrBillKind kind, const char *layer) {
  for (guint i = 0; i < bill->items->len; i++) {
    const OrrBillItem *item = &g_array_index(bill->items, OrrBillItem, i);
    if (item->kind == (int)kind && g_strcmp0(item->layer, layer) == 0) return item;
  }
  return NULL;
}

/* A fabric built for more nodes than the job has: all of it is on the bill. 2 NICs of 10 GB/s for
 * each GPU, 2 ports each: a cable is one port of 5 GB/s. Storage has a leaf's last ports. */
static void test_machine(void) {
  FIXTURE(fixture, 1, "nodes", "2", "max-nodes", "8", "node.nics-per-gpu", "2",
          "node.ports-per-nic", "2", "fabric",
          "{kind: fat-tree, radix: 64, link-bandwidth: 20 GB/s}", "storage",
          "{servers: 4, server-bandwidth: 8 GB/s, attach: fabric}", "copper", "[nic-leaf]");
  g_autoptr(OrrBill) bill = orr_bill_new(fixture.fabric);
  g_assert_cmpint(orr_bill_count(bill, ORR_BILL_NODE), ==, 8);
  g_assert_cmpint(orr_bill_count(bill, ORR_BILL_GPU), ==, 32);
  g_assert_cmpint(orr_bill_count(bill, ORR_BILL_NIC), ==, 64);
  g_assert_cmpint(orr_bill_count(bill, ORR_BILL_SERVER), ==, 4);
  g_assert_cmpint(find(bill, ORR_BILL_CABLE, "nic-leaf")->count, ==, 128);
  assert_near(find(bill, ORR_BILL_CABLE, "nic-leaf")->bytes_per_s, 5e9);
  assert_near(find(bill, ORR_BILL_CABLE, "leaf-spine")->bytes_per_s, 20e9);
  assert_near(find(bill, ORR_BILL_SWITCH, "leaf")->bytes_per_s, 20e9);
  g_assert_cmpint(find(bill, ORR_BILL_CABLE, "server-leaf")->count, ==, 16);
  g_assert_null(find(bill, ORR_BILL_OPTIC, "nic-leaf"));
  g_assert_cmpint(find(bill, ORR_BILL_OPTIC, "server-leaf")->count, ==, 32);
}

/* 4 racks of two nodes: 4 domains of 9 trays each. The chips of a torus have cables alone: three
 * axes of 48. Without NICs there is no network. */
static void test_other_shapes(void) {
  FIXTURE(racks, 1, "nodes", "8", "node.scale-up-domain", "8", "node.scale-up-switches", "9",
          "fabric", "{kind: nvlink-domain, scale-out: {kind: fat-tree, radix: 64}}");
  FIXTURE(torus, 1, "nodes", "12", "node.scale-up-domain", "1", "fabric",
          "{kind: torus, shape: 4x4x3}");
  FIXTURE(alone, 1, "nodes", "1", "node.nics-per-gpu", "0");
  g_autoptr(OrrBill) of_racks = orr_bill_new(racks.fabric);
  g_autoptr(OrrBill) of_torus = orr_bill_new(torus.fabric);
  g_autoptr(OrrBill) of_one = orr_bill_new(alone.fabric);
  g_assert_cmpint(orr_bill_count(of_racks, ORR_BILL_SCALE_UP_SWITCH), ==, 4 * 9);
  g_assert_cmpint(orr_bill_count(of_racks, ORR_BILL_SWITCH), ==, 1);
  g_assert_cmpint(orr_bill_count(of_torus, ORR_BILL_SWITCH), ==, 0);
  g_assert_cmpint(orr_bill_count(of_torus, ORR_BILL_NIC), ==, 0);
  g_assert_cmpint(orr_bill_count(of_torus, ORR_BILL_CABLE), ==, 3 * 48);
  g_assert_cmpint(orr_bill_count(of_one, ORR_BILL_NIC), ==, 0);
  g_assert_cmpint(orr_bill_count(of_one, ORR_BILL_CABLE), ==, 0);
}

static void test_text(void) {
  FIXTURE(fixture, 1, "nodes", "64", "node.gpus", "8", "node.scale-up-domain", "8", "fabric",
          "{kind: rail-only, radix: 64}");
  g_autoptr(OrrBill) bill = orr_bill_new(fixture.fabric);
  g_autofree char *text = orr_bill_text(bill);
  g_assert_nonnull(
      strstr(text, "switch           leaf                  8         64          512"));
}

static void test_refusals(void) {
  ASSERT_REFUSED("copper: no level 'nic-lef'; did you mean 'nic-leaf'?", "copper", "[nic-lef]");
  ASSERT_REFUSED("nic-leaf, leaf-spine", "nodes", "64", "fabric", "{kind: fat-tree}", "copper",
                 "[backplane]");
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/bill/closed-forms", test_closed_forms);
  g_test_add_func("/bill/machine", test_machine);
  g_test_add_func("/bill/other-shapes", test_other_shapes);
  g_test_add_func("/bill/text", test_text);
  g_test_add_func("/bill/refusals", test_refusals);
  return g_test_run();
}

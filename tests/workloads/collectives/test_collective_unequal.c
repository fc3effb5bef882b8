/*
 * test_collective_unequal.c - groups with unequally many members on their nodes: as many channels
 * as the smallest node has NICs next to its members; and nodes of several scale-up domains
 * (collective_layout.c).
 *
 * Rates of the fixture: scale-up 240 GB/s, 1 us a hop; NIC 24 GB/s, 2.5 us a hop under one leaf.
 */
#include "tests/workloads/collectives/test_collective_fixture.h"

#define S 1e9

static double time_of(const Machine *machine, OrrCollectiveOp op, const gint64 *gpus, guint n,
                      const char *algorithm) {
  g_autoptr(OrrCollectivePlan) plan = plan_on(machine, op, S, gpus, n, algorithm);
  return plan->predicted_s;
}

/* The first @large GPUs of node 0 and the first @small of node 1. */
static gint64 *two_nodes(guint large, guint small) {
  gint64 *gpus = g_new(gint64, large + small);
  for (guint r = 0; r < large + small; r++) gpus[r] = r < large ? r : 8 + r - large;
  return gpus;
}

/* How many links of @kind have @weight. */
static guint count(const Machine *machine, const OrrCollectivePlan *plan, const char *kind,
                   guint32 weight) {
  const OrrCollectivePhase *phase = phase_of(plan, 0);
  guint n = 0;
  for (guint i = 0; i < phase->n_uses; i++)
    n += g_str_equal(orr_fabric_link_kind(machine->fabric, phase->uses[i].link), kind) &&
         phase->uses[i].weight == weight;
  return n;
}

/* 8 + 3: three rings. A NIC carries one of them, 2 * 10/11 * S/3. Hops of a pass: 7 + 2 inside, 2
 * across, less the cheapest. The large node's links carry two rings where one begins or ends, else
 * three: five of its members come first in none of the rings, and five last in none; each of the
 * small node's carries two. */
static void test_ring(void) {
  g_auto(Machine) machine;
  machine_init(&machine, 2, 8, 2, 1);
  g_autofree gint64 *gpus = two_nodes(8, 3);
  g_autoptr(OrrCollectivePlan) plan = plan_on(&machine, ORR_ALL_REDUCE, S, gpus, 11, "ring");
  assert_close(plan->predicted_s, 2 * (9e-6 + 5e-6 - 1e-6) + 2 * 10.0 / 11 * S / 3 / NIC, 1e-12);
  g_assert_cmpuint(count(&machine, plan, "nic", 1), ==, 12);
  g_assert_cmpuint(count(&machine, plan, "scale-up", 3), ==, 10);
  g_assert_cmpuint(count(&machine, plan, "scale-up", 2), ==, 12);
}

/* A whole number a node on average is not yet equal numbers: 5 + 3. And a single member takes
 * one ring, node by node, however the ranks are dealt. */
static void test_ring_few(void) {
  g_auto(Machine) machine;
  machine_init(&machine, 2, 8, 2, 1);
  g_autofree gint64 *shifted = group_new(8, 3, 1);
  assert_close(time_of(&machine, ORR_ALL_REDUCE, shifted, 8, "ring"),
               2 * 10e-6 + 2 * 7.0 / 8 * S / 3 / NIC, 1e-12);
  const gint64 one[] = {0, 8, 1, 2}, filled[] = {0, 1, 2, 8};
  const double time_s = time_of(&machine, ORR_ALL_REDUCE, one, 4, "ring");
  assert_close(time_s, 2 * (2e-6 + 5e-6 - 1e-6) + 2 * 3.0 / 4 * S / NIC, 1e-12);
  g_assert_cmpfloat(time_s, ==, time_of(&machine, ORR_ALL_REDUCE, filled, 4, "ring"));
}

/* 8 + 4. Trees over two nodes: S/4 a NIC each way; a level across, chains of at most 8.
 * NVLSTree: the same across, one trip through the switch. CollNet: S/4 a NIC. */
static void test_trees(void) {
  g_auto(Machine) machine;
  machine_init(&machine, 2, 8, 2, 1);
  g_autofree gint64 *gpus = two_nodes(8, 4);
  const double nic_s = S / 4 / NIC;
  assert_close(time_of(&machine, ORR_ALL_REDUCE, gpus, 12, "tree"), 2 * (2.5e-6 + 7e-6) + nic_s,
               1e-12);
  assert_close(time_of(&machine, ORR_ALL_REDUCE, gpus, 12, "nvls-tree"), 1e-6 + 2 * 2.5e-6 + nic_s,
               1e-12);
}

/* All-to-all of 8 + 4: 8 members send 8 parts of S/12 each to each of 4 GPUs, which come in over
 * 4 NICs. */
static void test_pairwise(void) {
  g_auto(Machine) machine;
  machine_init(&machine, 2, 8, 2, 1);
  g_autofree gint64 *gpus = two_nodes(8, 4);
  assert_close(time_of(&machine, ORR_ALL_TO_ALL, gpus, 12, "pairwise"),
               11 * 3.5e-6 + 8 * S / 12 / NIC, 1e-12);
}

/* All-to-all of 8 + s: on the s common rails each NIC of the smaller node sends s parts, and each
 * of its members sends a part of its own to each of the 8 - s GPUs whose rail it lacks: 8 parts.
 * Through one NIC alone those would be s + s (8 - s). A lacking GPU receives s parts, and a NIC
 * of the larger node sends 8. */
static void test_pairwise_lacks_rails(void) {
  g_auto(Machine) machine;
  machine_init(&machine, 2, 8, 2, 1);
  for (guint small = 1; small < 8; small++) {
    g_autofree gint64 *gpus = two_nodes(8, small);
    const guint n = 8 + small;
    assert_close(time_of(&machine, ORR_ALL_TO_ALL, gpus, n, "pairwise"),
                 (n - 1) * 3.5e-6 + 8 * S / n / NIC, 1e-12);
  }
}

/* One more member in the smaller node never makes it slower, up to equal numbers: there is one
 * NIC more, until the chain through the larger node binds. NVLSTree over 8 + s is NVLSTree over
 * s + s: the switch sums 8 as it sums s. */
static void test_monotone(void) {
  g_auto(Machine) machine;
  machine_init(&machine, 2, 8, 2, 1);
  static const char *const algorithms[] = {"ring", "tree", "nvls-tree", NULL};
  for (guint a = 0; algorithms[a]; a++) {
    double before_s = INFINITY;
    for (guint small = 1; small <= 8; small++) {
      g_autofree gint64 *gpus = two_nodes(8, small), *even = two_nodes(small, small);
      const double time_s = time_of(&machine, ORR_ALL_REDUCE, gpus, 8 + small, algorithms[a]);
      g_assert_cmpfloat(time_s, <=, before_s * (1 + 1e-9));
      if (a == 2 && small > 1)
        assert_close(time_s, time_of(&machine, ORR_ALL_REDUCE, even, 2 * small, algorithms[a]),
                     1e-12);
      before_s = time_s;
    }
  }
}

/* Two GPUs a NIC: a third member behind the first NIC's second GPU makes no third channel, which
 * would put two on one NIC; and the larger node's channels take different NICs. */
static void test_shared_nic(void) {
  g_auto(Machine) machine;
  machine_init(&machine, 2, 8, 2, 1);
  orr_fabric_free(machine.fabric);
  machine.cluster.node.nics_per_gpu = 0.5;
  g_autoptr(GError) error = NULL;
  machine.fabric = orr_fabric_new(&machine.cluster, 1, &error);
  g_assert_no_error(error);
  const gint64 two[] = {0, 1, 2, 3, 8, 10}, three[] = {0, 1, 2, 3, 8, 9, 10};
  const double two_s = time_of(&machine, ORR_ALL_REDUCE, two, 6, "tree");
  assert_close(two_s, 2 * (2.5e-6 + 3e-6) + S / 2 / NIC, 1e-12);
  assert_close(time_of(&machine, ORR_ALL_REDUCE, three, 7, "tree"), two_s, 1e-12);
}

/* Racks of 72, one domain each: 72 + 56 GPUs have 56 NICs, 64 + 64 have 64. */
static void test_racks(void) {
  g_auto(Machine) machine;
  machine_init_on(&machine, 18, 72,
                  "{kind: nvlink-domain, scale-out: {kind: fat-tree, radix: 65536}}", 1);
  g_autofree gint64 *uneven = group_new(128, 0, 1), *even = group_new(128, 8, 1);
  const double uneven_s = time_of(&machine, ORR_ALL_REDUCE, uneven, 128, "ring");
  const double even_s = time_of(&machine, ORR_ALL_REDUCE, even, 128, "ring");
  g_assert_cmpfloat(uneven_s, >, even_s);
  g_assert_cmpfloat(uneven_s, <, even_s * 64 / 56 * 1.01);
}

/* An exchange of tokens over 8 + 4: what a rank of the large node sends to the small one is a
 * third of the experts. Over 8 + 8 and 4 + 4 there is an answer to compare with: between the
 * two, not 5 times as long. */
static void test_experts(void) {
  g_auto(Machine) machine;
  machine_init(&machine, 2, 8, 2, 1);
  const OrrExpertExchange exchange = {
      .tokens = 4096, .hidden = 7168, .topk = 8, .experts = 240, .bytes_per_element = 1};
  const OrrCollectiveContext context = {.fabric = machine.fabric};
  const guint sizes[][2] = {{4, 4}, {8, 4}, {8, 8}};
  double time_s[3];
  for (guint i = 0; i < 3; i++) {
    g_autofree gint64 *gpus = two_nodes(sizes[i][0], sizes[i][1]);
    const OrrCollectiveCall call = {.op = ORR_ALL_TO_ALL,
                                    .bytes = 1,
                                    .gpus = gpus,
                                    .n = sizes[i][0] + sizes[i][1],
                                    .exchange = &exchange};
    const OrrEntry *entry = orr_registry_find(&orr_collective_registry, "deepep");
    g_autoptr(OrrCollectivePlan) plan =
        orr_collective_plan(&context, &call, (const OrrCollectiveAlgorithm *)entry, NULL);
    time_s[i] = plan->predicted_s;
  }
  g_assert_cmpfloat(time_s[1], >, time_s[2] * 0.9);
  g_assert_cmpfloat(time_s[1], <, 2.1 * MAX(time_s[0], time_s[2])); /* 8 ranks send into 4 NICs */
}

/* Hosts of four pairs of NVLink are single members of the tree, as hosts of eight are: two hosts
 * send S to each other over 8 NICs. A tree over the eight pairs would send 2 S/m through each NIC,
 * with m = 2. */
static void test_tree_of_pairs(void) {
  static const guint domains[] = {8, 2, 1};
  g_autofree gint64 *gpus = group_new(16, 0, 1);
  for (guint i = 0; i < G_N_ELEMENTS(domains); i++) {
    g_auto(Machine) machine;
    machine_init(&machine, 2, domains[i], 2, 1);
    g_autoptr(OrrCollectivePlan) plan = plan_on(&machine, ORR_ALL_REDUCE, 8e9, gpus, 16, "tree");
    const OrrCollectivePhase *phase = phase_of(plan, 0);
    g_autoptr(GArray) nic = orr_fabric_nic(machine.fabric, 3);
    double sent = 0;
    for (guint u = 0; u < phase->n_uses; u++)
      if (phase->uses[u].link == g_array_index(nic, OrrFabricPart, 0).link)
        sent += phase->uses[u].weight * phase->bytes;
    assert_close(sent, 1e9, 1e-12);
  }
}

/* Whether the plan's first phase uses links between switches. */
static gboolean leaves_rails(const Machine *machine, const OrrCollectivePlan *plan) {
  for (guint i = 0; i < phase_of(plan, 0)->n_uses; i++)
    if (g_str_equal(orr_fabric_link_kind(machine->fabric, phase_of(plan, 0)->uses[i].link),
                    "fabric"))
      return TRUE;
  return FALSE;
}

/* What the plan's only phase sends over @link. */
static double sent_over(const OrrCollectivePlan *plan, guint32 link) {
  const OrrCollectivePhase *phase = phase_of(plan, 0);
  double sent = 0;
  for (guint u = 0; u < phase->n_uses; u++)
    if (phase->uses[u].link == link) sent += phase->uses[u].weight * phase->bytes;
  return sent;
}

/* So are they of rings: each of the 8 NICs carries one of 8 rings, whose data is S/8, each GPU
 * sends 7 of them to the next one, and only an odd number of nodes leaves the rails. One ring in
 * rank order would send all through one NIC. */
static void test_ring_of_pairs(void) {
  static const guint domains[] = {8, 2, 1};
  g_autofree gint64 *gpus = group_new(32, 0, 1);
  for (guint i = 0; i < G_N_ELEMENTS(domains); i++) {
    g_auto(Machine) machine;
    machine_init_on(&machine, 4, domains[i], "{kind: rail-optimized, nodes-per-group: 4}", 1);
    g_autoptr(OrrCollectivePlan) even = plan_on(&machine, ORR_ALL_GATHER, S, gpus, 32, "ring");
    g_autoptr(OrrCollectivePlan) odd = plan_on(&machine, ORR_ALL_GATHER, S, gpus, 24, "ring");
    g_autoptr(GArray) nic = orr_fabric_nic(machine.fabric, 3);
    g_autoptr(GArray) inside = g_array_new(FALSE, FALSE, sizeof(guint32));
    orr_fabric_route(machine.fabric, 0, 1, 0, inside);
    assert_close(sent_over(even, g_array_index(nic, OrrFabricPart, 0).link), 31.0 / 32 * S / 8,
                 1e-12);
    assert_close(sent_over(even, g_array_index(inside, guint32, 0)), 7 * 31.0 / 32 * S / 8, 1e-12);
    g_assert_false(leaves_rails(&machine, even));
    g_assert_true(leaves_rails(&machine, odd));
  }
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/collective-unequal/ring", test_ring);
  g_test_add_func("/collective-unequal/ring-few", test_ring_few);
  g_test_add_func("/collective-unequal/trees", test_trees);
  g_test_add_func("/collective-unequal/pairwise", test_pairwise);
  g_test_add_func("/collective-unequal/pairwise-lacks-rails", test_pairwise_lacks_rails);
  g_test_add_func("/collective-unequal/monotone", test_monotone);
  g_test_add_func("/collective-unequal/shared-nic", test_shared_nic);
  g_test_add_func("/collective-unequal/racks", test_racks);
  g_test_add_func("/collective-unequal/experts", test_experts);
  g_test_add_func("/collective-unequal/tree-of-pairs", test_tree_of_pairs);
  g_test_add_func("/collective-unequal/ring-of-pairs", test_ring_of_pairs);
  return g_test_run();
}

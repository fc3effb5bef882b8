/*
 * Draws of ecmp's hash, and queues under a planned collective, on machines small enough to count.
 *
 * The machine: two nodes of two GPUs, each node under a leaf of its own with two links up. A ring
 * has two channels, so two flows leave each leaf, and each takes one of two links: in each
 * direction both take the same one half of the time. The busiest link has two flows unless both
 * directions are lucky, so the mean is 2 * 3/4 + 1 * 1/4 = 1.75 times the time without collisions.
 */
#include "tests/topologies/cluster_fixture.h"
#include "workloads/collectives/collective.h"

#define MACHINE                                                                                    \
  "nodes", "2", "node.gpus", "2", "node.scale-up-domain", "2", "fabric",                           \
      "{kind: clos, down: 2x2}", "routing", "ecmp"

#define BYTES 8e9
static const gint64 gpus[] = {0, 1, 2, 3};

static OrrCollectivePlan *plan_on(const ClusterFixture *fixture, OrrCollectiveOp op,
                                  const char *algorithm) {
  g_autoptr(GError) error = NULL;
  const OrrCollectiveContext context = {.fabric = fixture->fabric};
  const OrrCollectiveCall call = {.op = op, .bytes = BYTES, .gpus = gpus, .n = 4};
  const OrrEntry *entry = orr_registry_find(&orr_collective_registry, algorithm);
  OrrCollectivePlan *plan =
      orr_collective_plan(&context, &call, (const OrrCollectiveAlgorithm *)entry, &error);
  g_assert_no_error(error);
  return plan;
}

static double time_on(const ClusterFixture *fixture, OrrCollectiveOp op, const char *algorithm) {
  g_autoptr(OrrCollectivePlan) plan = plan_on(fixture, op, algorithm);
  double sum_s = 0;
  for (guint i = 0; i < plan->phases->len; i++) {
    const OrrCollectivePhase *phase = &g_array_index(plan->phases, OrrCollectivePhase, i);
    double slowest_s = 0;
    for (guint u = 0; u < phase->n_uses; u++)
      slowest_s =
          MAX(slowest_s, phase->uses[u].weight * phase->bytes /
                             orr_fabric_link_bandwidth(fixture->fabric, phase->uses[u].link));
    sum_s += phase->latency_s + slowest_s;
  }
  g_assert_cmpfloat(ABS(sum_s - plan->predicted_s), <=, 1e-9 * sum_s); /* a plan is its phases */
  return plan->predicted_s;
}

static void assert_within(double value, double wanted, double tolerance) {
  if (ABS(value - wanted) > tolerance * wanted) g_test_message("%g, expected %g", value, wanted);
  g_assert_cmpfloat(ABS(value - wanted), <=, tolerance * wanted);
}

/* A ring over two nodes sends 3/2 of the buffer over the network, half of it on each NIC of 8 GB/s:
 * 0.75 s of 8 GB. */
static void test_mean(void) {
  FIXTURE(plain, 1, MACHINE, "routing", "ideal");
  FIXTURE(mean, 1, MACHINE, "hash-draws", "1000", "hash-take", "mean");
  FIXTURE(worst, 1, MACHINE, "hash-draws", "1000", "hash-take", "worst");
  const double alone_s = time_on(&plain, ORR_ALL_REDUCE, "ring");
  assert_within(alone_s, 0.75, 0.001);
  assert_within(time_on(&mean, ORR_ALL_REDUCE, "ring"), 1.75 * alone_s, 0.03);
  assert_within(time_on(&worst, ORR_ALL_REDUCE, "ring"), 2 * alone_s, 0.001);
  const GArray *spreads = orr_fabric_notes(mean.fabric)->spreads;
  g_assert_cmpuint(spreads->len, ==, 1);
  const OrrHashSpread *spread = &g_array_index(spreads, OrrHashSpread, 0);
  assert_within(spread->low_s, alone_s, 0.001);
  assert_within(spread->high_s, 2 * alone_s, 0.001);
  g_assert_cmpfloat(spread->taken_s, ==, spread->mean_s);
}

/* The seed's own draw is the first one: drawing more of them does not move it. */
static void test_seed(void) {
  for (guint seed = 1; seed < 9; seed++) {
    FIXTURE(none, seed, MACHINE);
    FIXTURE(drawn, seed, MACHINE, "hash-draws", "16");
    g_assert_cmpfloat(time_on(&none, ORR_ALL_REDUCE, "ring"), ==,
                      time_on(&drawn, ORR_ALL_REDUCE, "ring"));
  }
}

/* Without splitting, a message has one queue pair, however many there are. */
static void test_split(void) {
  FIXTURE(one, 1, MACHINE, "hash-draws", "1000", "hash-take", "mean");
  FIXTURE(unsplit, 1, MACHINE, "hash-draws", "1000", "hash-take", "mean", "queue-pairs", "16",
          "split-data-on-qps", "false");
  FIXTURE(split, 1, MACHINE, "hash-draws", "1000", "hash-take", "mean", "queue-pairs", "16");
  const double one_s = time_on(&one, ORR_ALL_REDUCE, "ring");
  assert_within(time_on(&unsplit, ORR_ALL_REDUCE, "ring"), one_s, 0.04);
  g_assert_cmpfloat(time_on(&split, ORR_ALL_REDUCE, "ring"), <, 0.85 * one_s);
}

/* Three senders to each receiver over a network that blocks nothing: the receivers' links are full
 * under every model, and credits grant 98 % of them. */
static void test_queues_of_an_incast(void) {
  static const char *const models[] = {"pfc", "dcqcn", "{kind: credit, unsolicited: 0 B}"};
  static const double ratios[] = {1, 1, 1 / 0.98};
  FIXTURE(none, 1, "nodes", "4", "node.gpus", "1", "node.scale-up-domain", "1", "fabric",
          "{kind: clos, down: 4}");
  const double flow_s = time_on(&none, ORR_ALL_TO_ALL, "pairwise");
  g_assert_null(orr_fabric_queues(none.fabric));
  for (guint i = 0; i < G_N_ELEMENTS(models); i++) {
    FIXTURE(queued, 1, "nodes", "4", "node.gpus", "1", "node.scale-up-domain", "1", "fabric",
            "{kind: clos, down: 4}", "queues", models[i]);
    assert_within(time_on(&queued, ORR_ALL_TO_ALL, "pairwise"), ratios[i] * flow_s, 0.03);
    g_assert_cmpint(orr_fabric_notes(queued.fabric)->queues.phases, ==, 1);
  }
}

/* Inside one node nothing meets a switch. */
static void test_no_network(void) {
  FIXTURE(queued, 1, "nodes", "1", "queues", "pfc");
  FIXTURE(none, 1, "nodes", "1");
  g_assert_cmpfloat(time_on(&queued, ORR_ALL_REDUCE, "ring"), ==,
                    time_on(&none, ORR_ALL_REDUCE, "ring"));
  g_assert_cmpint(orr_fabric_notes(queued.fabric)->queues.phases, ==, 0);
}

/* One of eight ports is dead: packets are sprayed over seven, 8/7 of the time. */
static void test_lost_plane(void) {
  FIXTURE(whole, 1, "nodes", "4", "node.gpus", "1", "node.scale-up-domain", "1",
          "node.ports-per-nic", "8", "node.ports", "separate", "node.host.network-path", "apart",
          "fabric", "{kind: clos, down: 4, planes: 8}", "routing", "adaptive");
  g_autoptr(GHashTable) dead = g_hash_table_new(NULL, NULL);
  g_autoptr(GError) error = NULL;
  g_autoptr(GArray) parts = orr_fabric_find_links(whole.fabric, "gpu1.nic3", &error);
  g_assert_no_error(error);
  for (guint i = 0; i < parts->len; i++)
    g_hash_table_add(dead, GUINT_TO_POINTER(g_array_index(parts, OrrFabricPart, i).link));
  ClusterFixture broken = whole;
  broken.fabric = orr_fabric_avoiding(whole.fabric, dead);
  const double ratio =
      time_on(&broken, ORR_ALL_REDUCE, "ring") / time_on(&whole, ORR_ALL_REDUCE, "ring");
  assert_within(ratio, 8 / 7., 0.001);
  orr_fabric_free(broken.fabric);
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/collective-draws/mean", test_mean);
  g_test_add_func("/collective-draws/seed", test_seed);
  g_test_add_func("/collective-draws/split", test_split);
  g_test_add_func("/collective-draws/queues-of-an-incast", test_queues_of_an_incast);
  g_test_add_func("/collective-draws/no-network", test_no_network);
  g_test_add_func("/collective-draws/lost-plane", test_lost_plane);
  return g_test_run();
}

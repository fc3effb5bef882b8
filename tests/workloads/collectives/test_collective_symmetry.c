/*
 * An all-to-all counted for one domain and spread over the orbits of links, against every pair
 * counted by itself (which is what a plan does that counts connections, too).
 */
#include "tests/workloads/collectives/test_collective_fixture.h"

typedef struct {
  const char *fabric;
  guint nodes, domain;
} Case;

static OrrCollectivePlan *all_to_all(const Machine *machine, guint n, guint32 *connections) {
  g_autoptr(GError) error = NULL;
  g_autofree gint64 *gpus = group_new(n, 0, 1);
  const OrrCollectiveContext context = {.fabric = machine->fabric, .connections = connections};
  const OrrCollectiveCall call = {.op = ORR_ALL_TO_ALL, .bytes = 1e9, .gpus = gpus, .n = n};
  const OrrEntry *pairwise = orr_registry_find(&orr_collective_registry, "pairwise");
  OrrCollectivePlan *plan =
      orr_collective_plan(&context, &call, (const OrrCollectiveAlgorithm *)pairwise, &error);
  g_assert_no_error(error);
  return plan;
}

/* Bytes by link. */
static double *bytes_of(const Machine *machine, const OrrCollectivePlan *plan) {
  const OrrCollectivePhase *phase = phase_of(plan, 0);
  double *bytes = g_new0(double, orr_fabric_n_links(machine->fabric));
  for (guint i = 0; i < phase->n_uses; i++)
    bytes[phase->uses[i].link] += phase->bytes * phase->uses[i].weight;
  return bytes;
}

static void check(const Case *c) {
  g_auto(Machine) machine;
  g_autofree char *stored = g_strdup_printf(
      "%s\nstorage: {servers: 3, server-bandwidth: 1 GB/s, node-bandwidth: 1 GB/s}", c->fabric);
  machine_init_on(&machine, c->nodes, c->domain, stored,
                  1); /* other links than the network's are in no orbit */
  const guint32 n_links = (guint32)orr_fabric_n_links(machine.fabric);
  g_assert_cmpuint(orr_fabric_n_orbits(machine.fabric), >, 4);
  g_autofree guint32 *connections = g_new0(guint32, n_links);
  g_autoptr(OrrCollectivePlan) one = all_to_all(&machine, c->nodes * 8, NULL);
  g_autoptr(OrrCollectivePlan) every = all_to_all(&machine, c->nodes * 8, connections);
  g_autofree double *told = bytes_of(&machine, one), *counted = bytes_of(&machine, every);
  for (guint32 link = 0; link < n_links; link++) assert_close(told[link], counted[link], 1e-12);
  assert_close(one->predicted_s, every->predicted_s, 1e-12);
}

static void test_equal(void) {
  static const Case cases[] = {
      {"{kind: torus, shape: 16}", 2, 1},
      {"{kind: torus, shape: 4x8}", 4, 1},
      {"{kind: torus, shape: 4x8, twisted: true}", 4, 1},
      {"{kind: torus, shape: 4x4x4}", 8, 1},
      {"{kind: torus, shape: 4x4x8, twisted: true}", 16, 1},
      {"{kind: torus, shape: 4x8x8, twisted: true}", 32, 1},
      {"{kind: torus, shape: 3x5x8}", 15, 1},
      {"{kind: hyperx, shape: 4x4, hosts-per-switch: 8}", 16, 8},
      {"{kind: hyperx, shape: 2x3x2, hosts-per-switch: 8}", 12, 1},
      {"{kind: hyperx, shape: 3x4, hosts-per-switch: 16}", 24, 8},
      {"{kind: fat-tree, radix: 64, nodes-per-leaf: 2}", 8, 8},
      {"{kind: fat-tree, levels: 3, radix: 64, nodes-per-leaf: 2, leaves-per-pod: 3, "
       "oversubscription: 4}",
       12, 8},
      {"{kind: fat-tree, radix: 64, nodes-per-leaf: 3}", 12, 4},
      {"{kind: rail-optimized, radix: 64, nodes-per-group: 4}", 12, 8},
      {"{kind: rail-optimized, levels: 3, radix: 64, nodes-per-group: 2, groups-per-pod: 2}", 16,
       8},
      {"{kind: rail-only, radix: 64}", 16, 8},
      {"{kind: rail-only, radix: 8, nodes-per-leaf: 4}", 16, 8},
      {"{kind: clos, down: 16x2x3, oversubscription: 1x7}", 12, 8},
      {"{kind: clos, down: 8x4x2x2, planes: 2}", 16, 8},
  };
  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) check(&cases[i]);
}

/* A pod of TPU v4, 16 x 16 x 16: D/4 hops along each axis on average over both directions of D
 * even, n (D/4) / 2 units of S/n on a link: S D / 8 bytes at 0.96 GB/s. 8.4 million pairs of 48
 * routes each, were they counted. */
static void test_pod(void) {
  g_auto(Machine) machine;
  machine_init_on(&machine, 512, 1, "{kind: torus, shape: 16x16x16, link-bandwidth: 1 GB/s}", 1);
  g_autoptr(OrrCollectivePlan) plan = all_to_all(&machine, 4096, NULL);
  assert_close(plan->predicted_s - latency_of(plan), 1e9 * 16 / 8 / 0.96e9, 1e-9);
}

/* 16,384 GPUs of 2,048 nodes, leaves of 32 nodes at 4:1: what the 256 GPUs below one send to the
 * other 16,128, S/n each, over 64 NICs' worth of links up. 33 million pairs of domains and
 * rails, were they counted. */
static void test_large_clos(void) {
  g_auto(Machine) machine;
  machine_init_on(&machine, 2048, 8,
                  "{kind: fat-tree, radix: 65536, nodes-per-leaf: 32, oversubscription: 4}", 1);
  g_autoptr(OrrCollectivePlan) plan = all_to_all(&machine, 16384, NULL);
  assert_close(plan->predicted_s - latency_of(plan), 256. * 16128 * 1e9 / 16384 / (64 * NIC), 1e-9);
}

/* Nothing is inferred from symmetry where there is none: part of the machine, one route per flow,
 * links to avoid, a leaf that is not full, more nodes built than used. */
static void test_none(void) {
  g_auto(Machine) fat_tree, torus, part;
  machine_init(&fat_tree, 5, 8, 4, 1);
  g_assert_cmpuint(orr_fabric_n_orbits(fat_tree.fabric), ==, 0);
  machine_init_on(&torus, 8, 1, "{kind: torus, shape: 4x4x4}", 1);
  torus.cluster.routing = ORR_ROUTING_ECMP;
  g_assert_cmpuint(orr_fabric_n_orbits(torus.fabric), ==, 0);
  torus.cluster.routing = ORR_ROUTING_IDEAL;
  g_assert_cmpuint(orr_fabric_n_orbits(torus.fabric), >, 0);
  const gint64 some[] = {0, 1, 2, 3};
  g_autoptr(OrrFabric) slice = orr_fabric_slice(torus.fabric, some, 4);
  g_assert_cmpuint(orr_fabric_n_orbits(slice), ==, 0);
  g_autoptr(GHashTable) dead = g_hash_table_new(NULL, NULL);
  g_autoptr(OrrFabric) detoured = orr_fabric_avoiding(torus.fabric, dead);
  g_assert_cmpuint(orr_fabric_n_orbits(detoured), ==, 0);
  machine_init_on(&part, 15, 8, "{kind: hyperx, shape: 4x4, hosts-per-switch: 8}", 1);
  g_assert_cmpuint(orr_fabric_n_orbits(part.fabric), ==, 0);
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/collective-symmetry/equal", test_equal);
  g_test_add_func("/collective-symmetry/pod", test_pod);
  g_test_add_func("/collective-symmetry/large-clos", test_large_clos);
  g_test_add_func("/collective-symmetry/none", test_none);
  return g_test_run();
}

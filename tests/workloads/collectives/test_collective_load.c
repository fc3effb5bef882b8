/*
 * Flows and busy times of links under a collective: closed forms on machines whose traffic can be
 * counted by hand.
 */
#include "tests/workloads/collectives/test_collective_fixture.h"
#include "workloads/collectives/collective_load.h"

static OrrCollectiveLoad *load_on(const Machine *machine, OrrCollectiveOp op, guint n,
                                  const char *algorithm) {
  g_autoptr(GError) error = NULL;
  g_autofree gint64 *gpus = group_new(n, 0, 1);
  const OrrCollectiveCall call = {.op = op, .bytes = 1e9, .gpus = gpus, .n = n};
  const OrrEntry *entry = algorithm ? orr_registry_find(&orr_collective_registry, algorithm) : NULL;
  OrrCollectiveLoad *load =
      orr_collective_load(machine->fabric, &call, (const OrrCollectiveAlgorithm *)entry, &error);
  g_assert_no_error(error);
  return load;
}

static const OrrLoadRow *row(const OrrCollectiveLoad *load, const char *kind) {
  for (guint i = 0; i < load->rows->len; i++)
    if (strcmp(g_array_index(load->rows, OrrLoadRow, i).kind, kind) == 0)
      return &g_array_index(load->rows, OrrLoadRow, i);
  g_error("no links of kind %s", kind);
}

/* 6 nodes of 8, two a leaf: a NIC carries the parts of its 8 rail mates to 5 other nodes, in 5
 * flows of 8 S/48; what leaves a leaf is 2 nodes * 8 rails * 4 nodes, 64 flows. */
static void test_all_to_all(void) {
  g_auto(Machine) machine;
  machine_init(&machine, 6, 8, 2, 1);
  g_autoptr(OrrCollectiveLoad) load = load_on(&machine, ORR_ALL_TO_ALL, 48, NULL);
  const OrrLoadRow *nic = row(load, "gpu.nic.tx"), *up = row(load, "leaf-spines.up");
  g_assert_cmpstr(load->algorithm->entry.name, ==, "pairwise");
  g_assert_cmpint(nic->links, ==, 48);
  g_assert_cmpint(nic->used, ==, 48);
  assert_close(nic->flows_mean, 5., 1e-12);
  assert_close(nic->busy_most_s, 5 * 8 * 1e9 / 48 / NIC, 1e-12);
  g_assert_cmpint(up->used, ==, 3);
  assert_close(up->flows_most, 64., 1e-12);
  assert_close(up->busy_mean_s, 64 * 8 * 1e9 / 48 / (16 * NIC), 1e-12);
  g_assert_cmpstr(g_array_index(load->rows, OrrLoadRow, 0).kind, ==,
                  "gpu.nic.rx"); /* as hot as tx, first by name */
}

/* At 8:1 the links up are the hot ones, 8 times as long in use. */
static void test_hottest(void) {
  g_auto(Machine) machine;
  machine_init_on(&machine, 6, 8,
                  "{kind: fat-tree, radix: 1024, nodes-per-leaf: 2, oversubscription: 8}", 1);
  g_autoptr(OrrCollectiveLoad) load = load_on(&machine, ORR_ALL_TO_ALL, 48, NULL);
  g_autofree char *name =
      orr_fabric_link_name(machine.fabric, g_array_index(load->hottest, guint32, 0));
  g_assert_cmpstr(name, ==, "leaf0-spines.up");
  assert_close(row(load, "leaf-spines.up")->busy_most_s, 8 * 64 * 8 * 1e9 / 48 / (16 * NIC), 1e-12);
}

/* Under ecmp what all links of a level are busy for is what the trunks were: hashing moves
 * flows, it makes none. */
static void test_ecmp_moves_flows(void) {
  double sums[2];
  for (int ecmp = 0; ecmp < 2; ecmp++) {
    g_auto(Machine) machine;
    g_autofree char *fabric =
        g_strdup_printf("{kind: clos, down: 16x3}\nrouting: %s", ecmp ? "ecmp" : "ideal");
    machine_init_on(&machine, 6, 8, fabric, 1);
    g_autoptr(OrrCollectiveLoad) load = load_on(&machine, ORR_ALL_TO_ALL, 48, NULL);
    const OrrLoadRow *up = row(load, ecmp ? "leaf-spine.up" : "leaf-spines.up");
    sums[ecmp] = up->busy_mean_s * (double)up->used * (ecmp ? 1 : 16);
    g_assert_cmpfloat(up->busy_most_s, >=, up->busy_mean_s * (1 - 1e-12));
  }
  assert_close(sums[1], sums[0], 1e-9);
}

static void test_one_rank(void) {
  g_auto(Machine) machine;
  machine_init(&machine, 1, 8, 1, 1);
  g_autoptr(OrrCollectiveLoad) load = load_on(&machine, ORR_ALL_REDUCE, 1, NULL);
  g_assert_cmpuint(load->hottest->len, ==, 0);
}

static void test_text(void) {
  g_auto(Machine) machine;
  machine_init(&machine, 6, 8, 2, 1);
  g_autofree gint64 *gpus = group_new(48, 0, 1);
  const OrrCollectiveCall call = {.op = ORR_ALL_TO_ALL, .bytes = 1 << 30, .gpus = gpus, .n = 48};
  g_autoptr(OrrCollectiveLoad) load = load_on(&machine, ORR_ALL_TO_ALL, 48, NULL);
  g_autofree char *text = orr_collective_load_text(load, machine.fabric, &call);
  g_assert_nonnull(strstr(text, "all-to-all of 1 GiB over 48 GPUs, pairwise\n"));
  g_assert_nonnull(strstr(text, "gpu0.nic.tx"));
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/collective-load/all-to-all", test_all_to_all);
  g_test_add_func("/collective-load/hottest", test_hottest);
  g_test_add_func("/collective-load/ecmp", test_ecmp_moves_flows);
  g_test_add_func("/collective-load/one-rank", test_one_rank);
  g_test_add_func("/collective-load/text", test_text);
  return g_test_run();
}

/*
 * Rings along the axes of a torus. A link between chips has 0.96 GB/s; a hop is NIC latency 2 us
 * and two chips of 0.1 us.
 */
#include "tests/workloads/collectives/test_collective_fixture.h"

#define LINK 0.96e9
#define HOP 2.2e-6

static OrrCollectivePlan *on_torus(Machine *machine, const char *shape, guint chips,
                                   OrrCollectiveOp op, const char *algorithm) {
  g_autofree char *fabric =
      g_strdup_printf("{kind: torus, shape: %s, link-bandwidth: 1 GB/s}", shape);
  g_autofree gint64 *gpus = group_new(chips, 0, 1);
  machine_init_on(machine, chips / 8, 1, fabric, 1);
  return plan_on(machine, op, 1e9, gpus, chips, algorithm);
}

typedef struct {
  const char *shape;
  guint chips;
  double hops;  /* of one pass */
  double share; /* of S that the bucket's busiest links carry in a pass, stage by stage */
} Case;

/* torus-ring: (n-1)/n S a pass. Bucket, all axes D: (n-1)/n S / (2 d). 4 x 8: four parts of S/4;
 * in the first stage two of them send 3/4 of that along x, two 7/8 along y, which is the
 * stage's; in the second the first two 7/8 of S/16 along y, the others 3/4 of S/32 along x. 7/32
 * + 7/128 = 35/128. */
static const Case cases[] = {
    {"8", 8, 7, 7. / 8 / 2},
    {"4x4", 16, 6, 15. / 16 / 4},
    {"4x4x4", 64, 9, 63. / 64 / 6},
    {"4x8", 32, 10, 35. / 128},
};

static void check(const Case *c, OrrCollectiveOp op, guint passes) {
  g_auto(Machine) machine, other;
  const double n = c->chips;
  g_autoptr(OrrCollectivePlan) rings = on_torus(&machine, c->shape, c->chips, op, "torus-ring");
  g_autoptr(OrrCollectivePlan) bucket = on_torus(&other, c->shape, c->chips, op, "bucket");
  assert_close(rings->predicted_s, passes * (c->hops * HOP + (n - 1) / n * 1e9 / LINK), 1e-9);
  assert_close(bucket->predicted_s - latency_of(bucket), passes * c->share * 1e9 / LINK, 1e-3);
}

static void test_closed_forms(void) {
  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    check(&cases[i], ORR_ALL_REDUCE, 2);
    check(&cases[i], ORR_ALL_GATHER, 1);
    check(&cases[i], ORR_REDUCE_SCATTER, 1);
  }
}

/* A flat ring over the chips in order: fewer bytes than none, but n - 1 hops and one link a
 * chip. */
static void test_fewer_hops_than_a_ring(void) {
  g_auto(Machine) machine, other;
  g_autoptr(OrrCollectivePlan) bucket = on_torus(&machine, "4x4x4", 64, ORR_ALL_REDUCE, "bucket");
  g_autoptr(OrrCollectivePlan) ring = on_torus(&other, "4x4x4", 64, ORR_ALL_REDUCE, "ring");
  g_assert_cmpfloat(latency_of(bucket), <, latency_of(ring) / 6);
  g_assert_cmpfloat(bucket->predicted_s, <, ring->predicted_s / 5);
}

/* Not of a part of the torus, nor in another order, nor elsewhere. */
static void test_needs_the_whole_torus(void) {
  g_auto(Machine) machine, tree;
  machine_init_on(&machine, 2, 1, "{kind: torus, shape: 4x4}", 1);
  machine_init(&tree, 2, 1, 2, 1);
  g_autofree gint64 *gpus = group_new(16, 0, 1);
  const OrrEntry *entry = orr_registry_find(&orr_collective_registry, "bucket");
  const OrrCollectiveAlgorithm *bucket = (const OrrCollectiveAlgorithm *)entry;
  const OrrCollectiveContext on = {.fabric = machine.fabric}, off = {.fabric = tree.fabric};
  OrrCollectiveCall call = {.op = ORR_ALL_REDUCE, .bytes = 1, .gpus = gpus, .n = 16};
  g_assert_true(bucket->supports(&on, &call));
  g_assert_false(bucket->supports(&off, &call));
  call.n = 15;
  g_assert_false(bucket->supports(&on, &call));
  call.n = 16;
  gpus[0] = 1, gpus[1] = 0;
  g_assert_false(bucket->supports(&on, &call));
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/torus-rings/closed-forms", test_closed_forms);
  g_test_add_func("/torus-rings/hops", test_fewer_hops_than_a_ring);
  g_test_add_func("/torus-rings/whole-torus", test_needs_the_whole_torus);
  return g_test_run();
}

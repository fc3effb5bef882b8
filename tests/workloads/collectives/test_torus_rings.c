/*
 * Rings along the axes of a torus. A link between chips has 0.96 GB/s; a hop is NIC latency 2 us
 * and two chips of 0.1 us.
 */
#include "calibration/profile/profile.h"
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

/* Open axes, on which the links of a direction carry the bucket's rings of both: twice (n-1)/n S /
 * (2 d), 7/8 S on a line of 8 and 7/24 S in 2x2x2. As many hops as on closed axes. 4x4 that closes
 * from 4 on is the torus. The bisection of a line is one cable, and its ends are 7 hops apart. */
static void test_open_axes(void) {
  static const struct {
    const char *shape, *from;
    guint chips;
    double hops, share;
  } axes[] = {
      {"8", "16", 8, 7, 7. / 8}, {"2x2x2", "4", 8, 3, 7. / 24}, {"4x4", "4", 16, 6, 15. / 16 / 4}};
  for (guint i = 0; i < G_N_ELEMENTS(axes); i++) {
    g_auto(Machine) machine;
    g_autofree char *fabric =
        g_strdup_printf("{kind: torus, shape: %s, closes-from: %s, link-bandwidth: 1 GB/s}",
                        axes[i].shape, axes[i].from);
    g_autofree gint64 *gpus = group_new(axes[i].chips, 0, 1);
    machine_init_on(&machine, axes[i].chips / 8, 1, fabric, 1);
    g_autoptr(OrrCollectivePlan) plan =
        plan_on(&machine, ORR_ALL_GATHER, 1e9, gpus, axes[i].chips, "bucket");
    assert_close(plan->predicted_s - latency_of(plan), axes[i].share * 1e9 / LINK, 1e-3);
    assert_close(latency_of(plan), axes[i].hops * HOP, 1e-9);
  }
  g_auto(Machine) line;
  machine_init_on(&line, 1, 1, "{kind: torus, shape: 8, closes-from: 16, link-bandwidth: 1 GB/s}",
                  1);
  assert_close(orr_fabric_bisection(line.fabric), LINK, 1e-9);
  g_assert_cmpuint(orr_fabric_diameter(line.fabric), ==, 8);
}

/* One ring through all chips of open axes, half of S each way round: n - 1 hops and (n-1)/n S / 2 a
 * pass on two of a chip's links, in 2x2x2 as in 2x4; every hop is between neighbours. Not where an
 * axis closes, nor along one axis. */
static void test_cycle(void) {
  static const struct {
    const char *shape;
    guint chips;
  } axes[] = {{"2x4", 8}, {"2x2x2", 8}, {"4x4", 16}, {"4x2x4", 32}};
  for (guint i = 0; i < G_N_ELEMENTS(axes); i++) {
    g_auto(Machine) machine;
    const double n = axes[i].chips;
    g_autofree char *fabric = g_strdup_printf(
        "{kind: torus, shape: %s, closes-from: 8, link-bandwidth: 1 GB/s}", axes[i].shape);
    g_autofree gint64 *gpus = group_new(axes[i].chips, 0, 1);
    machine_init_on(&machine, axes[i].chips / 8, 1, fabric, 1);
    g_autoptr(OrrCollectivePlan) gather =
        plan_on(&machine, ORR_ALL_GATHER, 1e9, gpus, axes[i].chips, "torus-cycle");
    g_autoptr(OrrCollectivePlan) reduce =
        plan_on(&machine, ORR_ALL_REDUCE, 1e9, gpus, axes[i].chips, "torus-cycle");
    assert_close(gather->predicted_s, (n - 1) * HOP + (n - 1) / n / 2 * 1e9 / LINK, 1e-9);
    assert_close(reduce->predicted_s, 2 * gather->predicted_s, 1e-9);
  }
  const OrrCollectiveAlgorithm *cycle =
      (const OrrCollectiveAlgorithm *)orr_registry_find(&orr_collective_registry, "torus-cycle");
  static const char *const refused[] = {"2x8", "8"};
  for (guint i = 0; i < G_N_ELEMENTS(refused); i++) {
    g_auto(Machine) machine;
    const guint chips = i == 0 ? 16 : 8;
    g_autofree char *fabric =
        g_strdup_printf("{kind: torus, shape: %s, closes-from: %d, link-bandwidth: 1 GB/s}",
                        refused[i], 8 + (int)i);
    g_autofree gint64 *gpus = group_new(chips, 0, 1);
    machine_init_on(&machine, chips / 8, 1, fabric, 1);
    const OrrCollectiveContext on = {.fabric = machine.fabric};
    const OrrCollectiveCall call = {.op = ORR_ALL_GATHER, .bytes = 1, .gpus = gpus, .n = chips};
    g_assert_false(cycle->supports(&on, &call));
  }
}

/* A profile's choice takes it; rows of it alone are not NCCL's, so a group whose axes close still
 * takes the bucket. */
static void test_choice_of_cycle(void) {
  static const char rows[] = "name: p\ndevice: d\nchoices:\n- {algorithm: torus-cycle}\n"
                             "nccl:\n- {algorithm: torus-cycle, protocol: simple, scale-out-step: "
                             "4 us}\n";
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_autoptr(OrrNode) tree = orr_yaml_parse(rows, strlen(rows), "rows", diags);
  g_autoptr(OrrProfile) profile = orr_profile_read(tree, NULL, diags);
  static const char *const names[] = {"bucket", "torus-cycle"};
  for (guint i = 0; i < 2; i++) {
    g_auto(Machine) machine;
    g_autofree char *fabric = g_strdup_printf(
        "{kind: torus, shape: 4x4, closes-from: %d, link-bandwidth: 1 GB/s}", 4 * (int)(i + 1));
    g_autofree gint64 *gpus = group_new(16, 0, 1);
    machine_init_on(&machine, 2, 1, fabric, 1);
    g_autoptr(OrrCostModel) cost = orr_cost_model_new(profile, &machine.cluster.device, NULL);
    const OrrCollectiveContext context = {.fabric = machine.fabric, .cost = cost};
    const OrrCollectiveCall call = {.op = ORR_ALL_GATHER, .bytes = 1e9, .gpus = gpus, .n = 16};
    g_autoptr(OrrCollectivePlan) plan = orr_collective_plan(&context, &call, NULL, NULL);
    g_assert_cmpstr(plan->algorithm->entry.name, ==, names[i]);
    if (i == 1) assert_close(latency_of(plan), 15 * (HOP + 4e-6), 1e-9);
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

/* Without rows of NCCL's algorithms the fastest is chosen: the bucket, (n-1)/n S / (2 d) a pass.
 * With rows, of a library without the bucket, it must be forced. */
static void test_auto(void) {
  static const char rows[] =
      "name: p\ndevice: d\nnccl:\n- {algorithm: ring, protocol: simple, base: 5 us, scale-up-step: "
      "1 us, scale-out-step: 2 us, scale-up-efficiency: 1, scale-out-efficiency: 1}\n";
  g_auto(Machine) machine;
  g_autoptr(OrrCollectivePlan) plan = on_torus(&machine, "4x4x4", 64, ORR_ALL_REDUCE, NULL);
  g_assert_cmpstr(plan->algorithm->entry.name, ==, "bucket");
  assert_close(plan->predicted_s - latency_of(plan), 2 * 63. / 64 / 6 * 1e9 / LINK, 1e-3);
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_autoptr(OrrNode) tree = orr_yaml_parse(rows, strlen(rows), "rows", diags);
  g_autoptr(OrrProfile) profile = orr_profile_read(tree, NULL, diags);
  g_autoptr(OrrCostModel) cost = orr_cost_model_new(profile, &machine.cluster.device, NULL);
  g_autofree gint64 *gpus = group_new(64, 0, 1);
  const OrrCollectiveContext context = {.fabric = machine.fabric, .cost = cost};
  const OrrCollectiveCall call = {.op = ORR_ALL_REDUCE, .bytes = 1e9, .gpus = gpus, .n = 64};
  g_autoptr(OrrCollectivePlan) nccl = orr_collective_plan(&context, &call, NULL, NULL);
  g_assert_cmpstr(nccl->algorithm->entry.name, ==, "ring");
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

/* Of 4x4x4 the 16 chips of y and z from chip 1 on: rings of 4 along two axes, 15/16 S / 4 a pass;
 * the chips of x alone: one ring, 3/4 S / 2. Half of an axis does not close a ring, nor do rows of
 * two planes. */
static void test_whole_axes(void) {
  g_auto(Machine) machine;
  machine_init_on(&machine, 8, 1, "{kind: torus, shape: 4x4x4, link-bandwidth: 1 GB/s}", 1);
  g_autofree gint64 *plane = group_new(16, 1, 4), *row = group_new(4, 8, 1);
  g_autofree gint64 *half = group_new(2, 0, 1), *shifted = group_new(4, 9, 1);
  g_autoptr(OrrCollectivePlan) of_plane =
      plan_on(&machine, ORR_ALL_GATHER, 1e9, plane, 16, "bucket");
  g_autoptr(OrrCollectivePlan) of_row = plan_on(&machine, ORR_ALL_GATHER, 1e9, row, 4, "bucket");
  assert_close(of_plane->predicted_s - latency_of(of_plane), 15. / 16 / 4 * 1e9 / LINK, 1e-3);
  assert_close(of_row->predicted_s - latency_of(of_row), 3. / 4 / 2 * 1e9 / LINK, 1e-3);
  const OrrEntry *entry = orr_registry_find(&orr_collective_registry, "bucket");
  const OrrCollectiveAlgorithm *bucket = (const OrrCollectiveAlgorithm *)entry;
  const OrrCollectiveContext on = {.fabric = machine.fabric};
  OrrCollectiveCall call = {.op = ORR_ALL_REDUCE, .bytes = 1, .gpus = half, .n = 2};
  g_assert_false(bucket->supports(&on, &call));
  call.gpus = shifted, call.n = 4;
  g_assert_false(bucket->supports(&on, &call));
}

/* The planes and the rows use other links: none of one is in the other. */
static void test_axes_are_apart(void) {
  g_auto(Machine) machine;
  machine_init_on(&machine, 8, 1, "{kind: torus, shape: 4x4x4, link-bandwidth: 1 GB/s}", 1);
  g_autofree gint64 *plane = group_new(16, 1, 4), *row = group_new(4, 0, 1);
  g_autoptr(OrrCollectivePlan) of_plane =
      plan_on(&machine, ORR_ALL_GATHER, 1e9, plane, 16, "bucket");
  g_autoptr(OrrCollectivePlan) of_row = plan_on(&machine, ORR_ALL_GATHER, 1e9, row, 4, "bucket");
  const OrrCollectivePhase *a = &g_array_index(of_plane->phases, OrrCollectivePhase, 0);
  const OrrCollectivePhase *b = &g_array_index(of_row->phases, OrrCollectivePhase, 0);
  const gint64 n_nics = 2 * 64;
  for (guint i = 0; i < a->n_uses; i++)
    for (guint j = 0; j < b->n_uses; j++)
      g_assert_true(a->uses[i].link != b->uses[j].link || a->uses[i].link < (guint)n_nics * 2);
}

/* Two slices of 16 chips with 0.96 * 0.1 GB/s to the data-centre network for each: an all-reduce of
 * two chips, one in each, moves S at that rate. */
static void test_slices(void) {
  g_auto(Machine) machine;
  machine_init_on(&machine, 4, 1,
                  "{kind: torus, shape: 4x4, link-bandwidth: 1 GB/s, dcn-bandwidth: 0.1 GB/s}", 1);
  g_autofree gint64 *across = group_new(2, 3, 16), *slice = group_new(16, 16, 1);
  g_autoptr(OrrCollectivePlan) of_two = plan_on(&machine, ORR_ALL_REDUCE, 1e9, across, 2, "ring");
  g_autoptr(OrrCollectivePlan) of_slice =
      plan_on(&machine, ORR_ALL_GATHER, 1e9, slice, 16, "bucket");
  assert_close(of_two->predicted_s - latency_of(of_two), 10 / 0.96, 1e-6);
  assert_close(of_slice->predicted_s - latency_of(of_slice), 15. / 16 / 4 * 1e9 / LINK, 1e-3);
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/torus-rings/closed-forms", test_closed_forms);
  g_test_add_func("/torus-rings/auto", test_auto);
  g_test_add_func("/torus-rings/hops", test_fewer_hops_than_a_ring);
  g_test_add_func("/torus-rings/whole-torus", test_needs_the_whole_torus);
  g_test_add_func("/torus-rings/whole-axes", test_whole_axes);
  g_test_add_func("/torus-rings/axes-apart", test_axes_are_apart);
  g_test_add_func("/torus-rings/open-axes", test_open_axes);
  g_test_add_func("/torus-rings/cycle", test_cycle);
  g_test_add_func("/torus-rings/cycle-chosen", test_choice_of_cycle);
  g_test_add_func("/torus-rings/slices", test_slices);
  return g_test_run();
}

/*
 * test_collective_plan.c - plans of groups with several members on each of several nodes, the
 * choice among algorithms, measured times, edge cases and errors.
 *
 * Rates of the fixture: scale-up 240 GB/s, 1 us a hop; NIC 24 GB/s, 2.5 us a hop under one leaf.
 */
#include "sim/base/fault.h"
#include "tests/workloads/collectives/test_collective_fixture.h"

#define S 1e9

/* The one weight that all links of @kind have in the phase; 0 where there is no such link. */
static guint32 weight_of(const Machine *machine, const OrrCollectivePhase *phase, const char *kind,
                         guint n_links) {
  guint32 weight = 0;
  guint n = 0;
  for (guint i = 0; i < phase->n_uses; i++) {
    if (!g_str_equal(orr_fabric_link_kind(machine->fabric, phase->uses[i].link), kind)) continue;
    g_assert_true(weight == 0 || weight == phase->uses[i].weight);
    weight = phase->uses[i].weight;
    n++;
  }
  g_assert_cmpuint(n, ==, n_links);
  return weight;
}

static void assert_single(const OrrCollectivePlan *plan, double latency_s, double transfer_s) {
  g_assert_cmpuint(plan->phases->len, ==, 1);
  assert_close(phase_of(plan, 0)->latency_s, latency_s, 1e-12);
  assert_close(plan->predicted_s, latency_s + transfer_s, 1e-12);
}

/* 4 nodes of 8: 8 rings. Each NIC carries one ring, each scale-up link 7 of them; a ring moves 2
 * * 31/32 * S/8. Hops of a pass: 4 * 7 inside, 4 across, less the cheapest: 28 + 10 - 1 = 37 us.
 * NICs bound: 1/24 > 7/240. */
static void test_ring_channels(void) {
  g_auto(Machine) machine;
  machine_init(&machine, 4, 8, 4, 1);
  g_autofree gint64 *gpus = group_new(32, 0, 1);
  g_autoptr(OrrCollectivePlan) plan = plan_on(&machine, ORR_ALL_REDUCE, S, gpus, 32, "ring");
  g_assert_cmpuint(weight_of(&machine, phase_of(plan, 0), "nic", 64), ==, 1);
  g_assert_cmpuint(weight_of(&machine, phase_of(plan, 0), "scale-up", 64), ==, 7);
  assert_single(plan, 2 * 37e-6, 2 * 31.0 / 32 * S / 8 / NIC);
}

/* An all-to-all of 2 nodes of 8 without PXN: each of the 8 pairs of a GPU with the other node
 * crosses its own NIC, and its scale-up link carries the 7 pairs of its own node alone; with PXN
 * those on their way to another rail too, 7 of its own for the other node. */
static void test_all_to_all_before_pxn(void) {
  g_auto(Machine) machine;
  machine_init(&machine, 2, 8, 2, 1);
  g_autofree gint64 *gpus = group_new(16, 0, 1);
  const OrrNccl old = {.pxn = FALSE}, new = {.pxn = TRUE};
  const OrrNccl *const releases[] = {&old, &new};
  const double inside[] = {7, 14};
  for (guint i = 0; i < 2; i++) {
    const OrrCollectiveContext context = {.fabric = machine.fabric, .nccl = releases[i]};
    const OrrCollectiveCall call = {.op = ORR_ALL_TO_ALL, .bytes = S, .gpus = gpus, .n = 16};
    g_autoptr(OrrCollectivePlan) plan = orr_collective_plan(&context, &call, NULL, NULL);
    const double pairs = phase_of(plan, 0)->bytes / (S / 16); /* of a unit flow */
    assert_close(weight_of(&machine, phase_of(plan, 0), "nic", 32) * pairs, 8.0, 1e-12);
    assert_close(weight_of(&machine, phase_of(plan, 0), "scale-up", 32) * pairs, inside[i], 1e-12);
  }
}

/* PAT is chosen where the release has it, for one GPU per node, whose few steps are fewer than a
 * ring's; never for a group of several GPUs per node. */
static void test_pat_by_release(void) {
  g_auto(Machine) machine;
  machine_init(&machine, 4, 8, 4, 1);
  g_autofree gint64 *one = group_new(4, 0, 8), *all = group_new(32, 0, 1);
  const OrrNccl old = {.pxn = TRUE}, new = {.pxn = TRUE, .pat = TRUE};
  const struct {
    const OrrNccl *nccl;
    const gint64 *gpus;
    guint n;
    const char *chosen;
  } cases[] = {{&old, one, 4, "ring"}, {&new, one, 4, "pat"}, {&new, all, 32, "ring"}};
  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    const OrrCollectiveContext context = {.fabric = machine.fabric, .nccl = cases[i].nccl};
    const OrrCollectiveCall call = {
        .op = ORR_ALL_GATHER, .bytes = 1024, .gpus = cases[i].gpus, .n = cases[i].n};
    g_autoptr(OrrCollectivePlan) plan = orr_collective_plan(&context, &call, NULL, NULL);
    g_assert_cmpstr(plan->algorithm->entry.name, ==, cases[i].chosen);
  }
}

static OrrCollectivePlan *plan_before_pxn(const Machine *machine, const gint64 *gpus, guint n,
                                          const char *algorithm) {
  const OrrCollectiveContext context = {.fabric = machine->fabric, .gpus_per_switch = 2};
  const OrrCollectiveCall call = {.op = ORR_ALL_REDUCE, .bytes = S, .gpus = gpus, .n = n};
  const OrrEntry *entry = algorithm ? orr_registry_find(&orr_collective_registry, algorithm) : NULL;
  return orr_collective_plan(&context, &call, (const OrrCollectiveAlgorithm *)entry, NULL);
}

/* Every second GPU of 4 nodes, a PCIe switch each: without PXN one ring of 16 over one NIC a
 * node, 2 * 15/16 * S. Each pass has 12 hops inside and 4 across, less the cheapest: 11 + 10 us.
 * There is no tree. Two on a switch, one a node, and later libraries are as ever. */
static void test_ring_before_pxn(void) {
  g_auto(Machine) machine;
  machine_init(&machine, 4, 8, 4, 1);
  g_autofree gint64 *strided = group_new(16, 0, 2), *all = group_new(32, 0, 1),
                    *one = group_new(4, 0, 8);
  g_autoptr(OrrCollectivePlan) plan = plan_before_pxn(&machine, strided, 16, NULL);
  g_assert_cmpstr(plan->algorithm->entry.name, ==, "ring");
  assert_single(plan, 2 * 21e-6, 2 * 15.0 / 16 * S / NIC);
  g_assert_null(plan_before_pxn(&machine, strided, 16, "tree"));
  g_autoptr(OrrCollectivePlan) later = plan_on(&machine, ORR_ALL_REDUCE, S, strided, 16, "ring");
  g_assert_cmpfloat(later->predicted_s, <, plan->predicted_s / 3);
  const struct {
    const gint64 *gpus;
    guint n;
  } same[] = {{all, 32}, {one, 4}};
  for (guint i = 0; i < G_N_ELEMENTS(same); i++) {
    g_autoptr(OrrCollectivePlan) before = plan_before_pxn(&machine, same[i].gpus, same[i].n, NULL);
    g_autoptr(OrrCollectivePlan) after =
        plan_on(&machine, ORR_ALL_REDUCE, S, same[i].gpus, same[i].n, NULL);
    g_assert_cmpfloat(before->predicted_s, ==, after->predicted_s);
  }
}

/* Ranks dealt out node by node make the same group as ranks that fill nodes. */
static void test_ring_permuted(void) {
  g_auto(Machine) machine;
  machine_init(&machine, 4, 8, 4, 1);
  g_autofree gint64 *filled = group_new(32, 0, 1), *dealt = g_new(gint64, 32);
  for (guint r = 0; r < 32; r++) dealt[r] = r % 4 * 8 + r / 4;
  for (OrrCollectiveOp op = ORR_ALL_REDUCE; op <= ORR_ALL_TO_ALL; op++) {
    g_autoptr(OrrCollectivePlan) a = plan_on(&machine, op, S, filled, 32, NULL);
    g_autoptr(OrrCollectivePlan) b = plan_on(&machine, op, S, dealt, 32, NULL);
    g_assert_cmpfloat(a->predicted_s, ==, b->predicted_s);
  }
}

/* Whether the phase uses links between switches. */
static gboolean leaves_rails(const Machine *machine, const OrrCollectivePlan *plan) {
  for (guint p = 0; p < plan->phases->len; p++)
    for (guint i = 0; i < phase_of(plan, p)->n_uses; i++)
      if (g_str_equal(orr_fabric_link_kind(machine->fabric, phase_of(plan, p)->uses[i].link),
                      "fabric"))
        return TRUE;
  return FALSE;
}

/* On rails, a ring over an even number of nodes, the hierarchy and all-to-all (PXN) never change
 * rails; a ring over an odd number does, on its closing edge. */
static void test_rails(void) {
  g_auto(Machine) machine;
  machine_init_on(&machine, 4, 8, "{kind: rail-optimized, nodes-per-group: 4}", 1);
  g_autofree gint64 *gpus = group_new(32, 0, 1);
  g_autoptr(OrrCollectivePlan) even = plan_on(&machine, ORR_ALL_REDUCE, S, gpus, 32, "ring");
  g_autoptr(OrrCollectivePlan) odd = plan_on(&machine, ORR_ALL_REDUCE, S, gpus, 24, "ring");
  g_autoptr(OrrCollectivePlan) levels =
      plan_on(&machine, ORR_ALL_REDUCE, S, gpus, 24, "hierarchical");
  g_autoptr(OrrCollectivePlan) tree = plan_on(&machine, ORR_ALL_REDUCE, S, gpus, 24, "tree");
  g_autoptr(OrrCollectivePlan) pairs = plan_on(&machine, ORR_ALL_TO_ALL, S, gpus, 24, "pairwise");
  g_assert_false(leaves_rails(&machine, even));
  g_assert_true(leaves_rails(&machine, odd));
  g_assert_false(leaves_rails(&machine, levels));
  g_assert_false(leaves_rails(&machine, tree));
  g_assert_false(leaves_rails(&machine, pairs));
  g_assert_cmpuint(weight_of(&machine, phase_of(odd, 0), "nic", 48), ==, 1);
}

/* Without scale-up links neighbours of a node meet over PCIe, 25 GB/s * 0.76, 1 us: slower than
 * the NIC. */
static void test_ring_pcie(void) {
  g_auto(Machine) machine;
  machine_init(&machine, 1, 1, 1, 1);
  g_autofree gint64 *gpus = group_new(4, 0, 1);
  g_autoptr(OrrCollectivePlan) plan = plan_on(&machine, ORR_ALL_REDUCE, S, gpus, 4, "ring");
  assert_single(plan, 6e-6, 1.5 * S / 19e9);
}

/* Rooted operations leave the ring open: nothing enters (broadcast) or leaves (reduce) the root.
 * The scale-up link of member 0 of domain 0 is idle in that direction. */
static void test_ring_rooted(void) {
  g_auto(Machine) machine;
  machine_init(&machine, 4, 8, 4, 1);
  g_autofree gint64 *gpus = group_new(32, 0, 1);
  g_autoptr(OrrCollectivePlan) broadcast = plan_on(&machine, ORR_BROADCAST, S, gpus, 32, "ring");
  g_autoptr(OrrCollectivePlan) reduce = plan_on(&machine, ORR_REDUCE, S, gpus, 32, "ring");
  g_autoptr(GArray) route = g_array_new(FALSE, FALSE, sizeof(guint32));
  orr_fabric_route(machine.fabric, 0, 1, 0, route);
  orr_fabric_route(machine.fabric, 1, 0, 0, route);
  guint32 root_tx = g_array_index(route, guint32, 0), root_rx = g_array_index(route, guint32, 3);
  for (guint i = 0; i < phase_of(broadcast, 0)->n_uses; i++)
    g_assert_cmpuint(phase_of(broadcast, 0)->uses[i].link, !=, root_rx);
  for (guint i = 0; i < phase_of(reduce, 0)->n_uses; i++)
    g_assert_cmpuint(phase_of(reduce, 0)->uses[i].link, !=, root_tx);
  assert_single(broadcast, 37e-6, S / 8 / NIC);
  assert_single(reduce, 37e-6, S / 8 / NIC);
}

/* hierarchical.c's table at N = 4, m = 8: latencies and bytes of a rank, phase by phase. */
static void test_hierarchical(void) {
  static const struct {
    OrrCollectiveOp op;
    guint n_phases;
    double latency_s[3], transfer_s[3];
  } rows[] = {
      {ORR_ALL_REDUCE,
       3,
       {7e-6, 15e-6, 7e-6},
       {7 / 8.0 * S / SCALE_UP, 1.5 * S / 8 / NIC, 7 / 8.0 * S / SCALE_UP}},
      {ORR_ALL_GATHER, 2, {7.5e-6, 7e-6}, {3 * S / 32 / NIC, 7 / 8.0 * S / SCALE_UP}},
      {ORR_REDUCE_SCATTER, 2, {7e-6, 7.5e-6}, {7 / 8.0 * S / SCALE_UP, 3 * S / 32 / NIC}},
      {ORR_BROADCAST,
       3,
       {1e-6, 7.5e-6, 7e-6},
       {7 / 8.0 * S / SCALE_UP, S / 8 / NIC, 7 / 8.0 * S / SCALE_UP}},
      {ORR_REDUCE,
       3,
       {7e-6, 7.5e-6, 1e-6},
       {7 / 8.0 * S / SCALE_UP, S / 8 / NIC, 7 / 8.0 * S / SCALE_UP}},
  };
  g_auto(Machine) machine;
  machine_init(&machine, 4, 8, 4, 1);
  g_autofree gint64 *gpus = group_new(32, 0, 1);
  for (guint row = 0; row < G_N_ELEMENTS(rows); row++) {
    g_autoptr(OrrCollectivePlan) plan =
        plan_on(&machine, rows[row].op, S, gpus, 32, "hierarchical");
    double sum_s = 0;
    g_assert_cmpuint(plan->phases->len, ==, rows[row].n_phases);
    for (guint i = 0; i < plan->phases->len; i++) {
      assert_close(phase_of(plan, i)->latency_s, rows[row].latency_s[i], 1e-12);
      sum_s += rows[row].latency_s[i] + rows[row].transfer_s[i];
    }
    assert_close(plan->predicted_s, sum_s, 1e-12);
  }
}

/* double_tree.c's formula at N = 4, m = 8: D = 2. The NICs' 2 S/8 are the bound, not the scale-up
 * links' 2 * 7/8 S. In one domain: the chain. */
static void test_tree(void) {
  g_auto(Machine) machine;
  machine_init(&machine, 4, 8, 4, 1);
  g_autofree gint64 *gpus = group_new(32, 0, 1);
  g_autoptr(OrrCollectivePlan) all_reduce = plan_on(&machine, ORR_ALL_REDUCE, S, gpus, 32, "tree");
  assert_single(all_reduce, 2 * (2 * 2.5e-6 + 7e-6), 2 * S / 8 / NIC);
  g_autoptr(OrrCollectivePlan) inside = plan_on(&machine, ORR_ALL_REDUCE, S, gpus, 8, "tree");
  assert_single(inside, 14e-6, 1.75 * S / SCALE_UP);
}

/* N = 2, m = 8, a pair moves S/16: NICs 8 pairs, scale-up links 7 * 2; a pair's way is a hop
 * inside and one across. */
static void test_pairwise(void) {
  g_auto(Machine) machine;
  machine_init(&machine, 2, 8, 2, 1);
  g_autofree gint64 *gpus = group_new(16, 0, 1);
  g_autoptr(OrrCollectivePlan) plan = plan_on(&machine, ORR_ALL_TO_ALL, S, gpus, 16, NULL);
  g_assert_cmpstr(plan->algorithm->entry.name, ==, "pairwise");
  /* Weights 8 and 14 are divided by 2. */
  g_assert_cmpuint(weight_of(&machine, phase_of(plan, 0), "nic", 32), ==, 4);
  g_assert_cmpuint(weight_of(&machine, phase_of(plan, 0), "scale-up", 32), ==, 7);
  assert_single(plan, 15 * 3.5e-6, 8 * S / 16 / NIC);
}

static void assert_choice(const Machine *machine, OrrCollectiveOp op, double bytes,
                          const gint64 *gpus, guint n, const char *name) {
  g_autoptr(OrrCollectivePlan) plan = plan_on(machine, op, bytes, gpus, n, NULL);
  g_assert_cmpstr(plan->algorithm->entry.name, ==, name);
  for (guint i = 0; orr_collective_registry.entries[i]; i++) {
    OrrCollectiveContext context = {.fabric = machine->fabric};
    OrrCollectiveCall call = {.op = op, .bytes = bytes, .gpus = gpus, .n = n};
    const OrrCollectiveAlgorithm *other = (gconstpointer)orr_collective_registry.entries[i];
    if (other->chosen != ORR_CHOSEN_ALWAYS || !other->supports(&context, &call)) continue;
    g_autoptr(OrrCollectivePlan) forced = plan_on(machine, op, bytes, gpus, n, other->entry.name);
    g_assert_cmpfloat(plan->predicted_s, <=, forced->predicted_s * (1 + 1e-12));
  }
}

/* 16 nodes, one rank each: the tree has 8 hops against 30, the ring 15/8 S against 2 S: equal at
 * 10.56 MB. */
static void test_choice(void) {
  g_auto(Machine) machine;
  machine_init(&machine, 16, 8, 16, 1);
  g_autofree gint64 *across = group_new(16, 0, 8), *inside = group_new(8, 0, 1),
                    *all = group_new(128, 0, 1);
  assert_choice(&machine, ORR_ALL_REDUCE, 10.5e6, across, 16, "tree");
  assert_choice(&machine, ORR_ALL_REDUCE, 10.6e6, across, 16, "ring");
  assert_choice(&machine, ORR_ALL_REDUCE, 1e6, inside, 8, "ring"); /* all alike: the ring */
  assert_choice(&machine, ORR_ALL_GATHER, 1e5, all, 128,
                "ring"); /* hierarchical is faster, but not NCCL's */
  assert_choice(&machine, ORR_ALL_GATHER, 1e10, all, 128, "ring");
  assert_choice(&machine, ORR_ALL_TO_ALL, 1e6, all, 128, "pairwise");
  assert_choice(&machine, ORR_SEND_RECV, 1e6, all, 2, "direct");
}

static void test_edges(void) {
  g_auto(Machine) machine;
  machine_init(&machine, 2, 8, 2, 1);
  g_autofree gint64 *gpus = group_new(2, 7, 1);
  for (OrrCollectiveOp op = ORR_ALL_REDUCE; op < ORR_N_COLLECTIVES; op++) {
    g_autoptr(OrrCollectivePlan) one = plan_on(&machine, op, S, gpus, 1, NULL);
    g_assert_cmpuint(one->phases->len, ==, 0);
    g_assert_cmpfloat(one->predicted_s, ==, 0);
    /* No bytes between two: latency alone, two hops for the all-reduce. */
    g_autoptr(OrrCollectivePlan) zero = plan_on(&machine, op, 0, gpus, 2, NULL);
    assert_close(zero->predicted_s, (op == ORR_ALL_REDUCE ? 2 : 1) * NIC_HOP, 1e-12);
    g_autoptr(OrrCollectivePlan) two = plan_on(&machine, op, S, gpus, 2, NULL);
    double share =
        op == ORR_ALL_GATHER || op == ORR_REDUCE_SCATTER || op == ORR_ALL_TO_ALL ? 0.5 : 1;
    assert_close(two->predicted_s, zero->predicted_s + share * S / NIC, 1e-12);
  }
  gint64 self[] = {3, 3};
  g_autoptr(OrrCollectivePlan) to_self = plan_on(&machine, ORR_SEND_RECV, S, self, 2, NULL);
  g_assert_cmpfloat(to_self->predicted_s, ==, 0);
}

static void test_unsupported(void) {
  g_auto(Machine) machine;
  machine_init(&machine, 2, 8, 2, 1);
  g_autofree gint64 *gpus = group_new(16, 0, 1);
  OrrCollectiveContext context = {.fabric = machine.fabric};
  OrrCollectiveCall call = {.op = ORR_ALL_GATHER, .bytes = S, .gpus = gpus, .n = 16};
  g_autoptr(GError) error = NULL;
  const OrrEntry *tree = orr_registry_find(&orr_collective_registry, "tree");
  g_assert_null(orr_collective_plan(&context, &call, (const OrrCollectiveAlgorithm *)tree, &error));
  g_assert_error(error, ORR_FAULT, ORR_FAULT_DOCUMENT);
  g_assert_cmpstr(error->message, ==,
                  "collective algorithm 'tree' does not support all-gather over 16 GPUs (it "
                  "supports: all-reduce)");
}

/* Nothing that some algorithm supports over a group: it says what it needs. A group of 16 on 2
 * nodes, one of 8 on one, and 32 in two domains that span nodes; every algorithm either supports
 * something or has a need to name. */
static void test_unsupported_group(void) {
  g_auto(Machine) nodes, racks;
  machine_init(&nodes, 2, 8, 2, 1);
  machine_init_on(&racks, 4, 16, "{kind: nvlink-domain, scale-out: {kind: fat-tree, radix: 65536}}",
                  1);
  const Machine *machines[] = {&nodes, &nodes, &racks};
  const guint sizes[] = {16, 8, 32};
  guint refused = 0;
  for (guint i = 0; i < G_N_ELEMENTS(sizes); i++)
    for (guint e = 0; orr_collective_registry.entries[e]; e++) {
      const OrrCollectiveAlgorithm *algorithm =
          (const OrrCollectiveAlgorithm *)orr_collective_registry.entries[e];
      g_autofree gint64 *gpus = group_new(sizes[i], 0, 1);
      const OrrCollectiveContext context = {.fabric = machines[i]->fabric};
      const OrrCollectiveCall call = {
          .op = ORR_ALL_REDUCE, .bytes = S, .gpus = gpus, .n = sizes[i]};
      g_autoptr(GError) error = NULL;
      g_autoptr(OrrCollectivePlan) plan = orr_collective_plan(&context, &call, algorithm, &error);
      if (plan || strstr(error->message, "it supports: a") ||
          strstr(error->message, "it supports: s"))
        continue;
      g_assert_nonnull(algorithm->needs);
      g_assert_nonnull(strstr(error->message, algorithm->needs));
      refused++;
    }
  g_assert_cmpuint(
      refused, >,
      15); /* of 51: the experts' four, the torus' two, and where the group does not fit */
}

/* --- With a profile --- */

static const char profile_text[] =
    "name: p\n"
    "device: d\n"
    "constants: {collective-launch: 10 us, scale-up-step: 2 us, scale-out-step: 5 us}\n"
    "collectives:\n"
    "- {op: all_reduce, ranks: 8, bytes: \"1000 1000000000\", us: \"30 5000\"}\n"
    "- {op: all_gather, ranks: 8, bytes: \"1000 1000000000\", us: \"20 9000\"}\n";

typedef struct {
  Machine machine;
  OrrProfile *profile;
  OrrCostModel *cost;
} Calibrated;

static void calibrated_init(Calibrated *calibrated) {
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_autoptr(OrrNode) node = orr_yaml_parse(profile_text, strlen(profile_text), "profile", diags);
  g_autoptr(GError) error = NULL;
  machine_init(&calibrated->machine, 2, 8, 2, 1);
  calibrated->profile = orr_profile_read(node, NULL, diags);
  orr_diags_check(diags, &error);
  g_assert_no_error(error);
  calibrated->cost =
      orr_cost_model_new(calibrated->profile, &calibrated->machine.cluster.device, &error);
  g_assert_no_error(error);
}

static void calibrated_clear(Calibrated *calibrated) {
  orr_cost_model_free(calibrated->cost);
  orr_profile_free(calibrated->profile);
  machine_clear(&calibrated->machine);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Calibrated, calibrated_clear)

static OrrCollectivePlan *calibrated_plan(const Calibrated *calibrated, OrrCollectiveOp op,
                                          double bytes, guint n, gint64 first,
                                          const OrrCollectiveAlgorithm *algorithm) {
  g_autofree gint64 *gpus = group_new(n, first, 1);
  OrrCollectiveContext context = {.fabric = calibrated->machine.fabric, .cost = calibrated->cost};
  OrrCollectiveCall call = {.op = op, .bytes = bytes, .gpus = gpus, .n = n};
  g_autoptr(GError) error = NULL;
  OrrCollectivePlan *plan = orr_collective_plan(&context, &call, algorithm, &error);
  g_assert_no_error(error);
  return plan;
}

/* In a node without NVLink, whose PCIe the cluster does not describe, the rows answer as in a
 * domain; not over two nodes, nor where the cluster has another PCIe rate, nor for a device with
 * NVLink that the cluster leaves unlinked: its rows were measured over NVLink. vLLM's all-reduce
 * runs on two of its GPUs, not on four. */
static void test_rows_on_pcie(void) {
  g_auto(Calibrated) pcie;
  calibrated_init(&pcie);
  const OrrCollectiveOp op = ORR_ALL_REDUCE;
  g_autoptr(OrrCollectivePlan) nvlink = calibrated_plan(&pcie, op, 1e6, 8, 0, NULL);
  machine_clear(&pcie.machine);
  machine_init(&pcie.machine, 2, 1, 2, 1);
  g_autoptr(OrrCollectivePlan) unlinked = calibrated_plan(&pcie, op, 1e6, 8, 0, NULL);
  g_assert_cmpint(unlinked->how, ==, ORR_HOW_MODELLED);
  pcie.machine.cluster.device.scale_up_bytes_per_s = 0;
  g_autoptr(OrrCollectivePlan) inside = calibrated_plan(&pcie, op, 1e6, 8, 0, NULL);
  g_autoptr(OrrCollectivePlan) across = calibrated_plan(&pcie, op, 1e6, 8, 4, NULL);
  assert_close(inside->predicted_s, nvlink->predicted_s, 1e-12);
  g_assert_cmpint(inside->how, !=, ORR_HOW_MODELLED);
  g_assert_cmpint(across->how, ==, ORR_HOW_MODELLED);
  pcie.machine.cluster.node.host_link_bytes_per_s = 20e9;
  g_autoptr(OrrCollectivePlan) other = calibrated_plan(&pcie, op, 1e6, 8, 0, NULL);
  g_assert_cmpint(other->how, ==, ORR_HOW_MODELLED);
  pcie.machine.cluster.node.host_link_bytes_per_s = 0;
  const OrrCollectiveAlgorithm *vllm =
      (const OrrCollectiveAlgorithm *)(gconstpointer)orr_registry_find(&orr_collective_registry,
                                                                       "custom-vllm");
  const OrrCollectiveContext context = {.fabric = pcie.machine.fabric};
  g_autofree gint64 *gpus = group_new(4, 0, 1);
  g_assert_true(
      vllm->supports(&context, &(OrrCollectiveCall){.op = op, .bytes = 1e6, .gpus = gpus, .n = 2}));
  g_assert_false(
      vllm->supports(&context, &(OrrCollectiveCall){.op = op, .bytes = 1e6, .gpus = gpus, .n = 4}));
}

/* Own rows of a collective that the base has none of: far from their sizes the plan is the
 * base's to the last digit, at them it takes their time, and in between there is no jump. */
static void test_own_rows(void) {
  g_auto(Calibrated) base, own;
  calibrated_init(&base);
  calibrated_init(&own);
  g_autoptr(OrrDiags) diags = orr_diags_new();
  static const char own_text[] = "collectives:\n- {op: reduce_scatter, ranks: 8, bytes: "
                                 "\"200000000 400000000\", us: \"1100 2200\"}\n";
  g_autoptr(OrrNode) under = orr_yaml_parse(profile_text, strlen(profile_text), "profile", diags);
  g_autoptr(OrrNode) over = orr_yaml_parse(own_text, strlen(own_text), "own", diags);
  g_autoptr(OrrNode) laid = orr_node_merge(under, over);
  g_autoptr(OrrProfile) profile = orr_profile_read(laid, NULL, diags);
  g_autoptr(OrrCostModel) cost = orr_cost_model_new(profile, &own.machine.cluster.device, NULL);
  OrrCostModel *shelved = own.cost;
  own.cost = cost;
  const double sizes[] = {
      1e6, 50e6, 1.6e9, 100e6, 200e6, 200e6 * (1 - 1e-6), 400e6, 400e6 * (1 + 1e-6)};
  double times[G_N_ELEMENTS(sizes)], base_times[G_N_ELEMENTS(sizes)];
  for (guint i = 0; i < G_N_ELEMENTS(sizes); i++) {
    g_autoptr(OrrCollectivePlan) a =
        calibrated_plan(&own, ORR_REDUCE_SCATTER, sizes[i], 8, 0, NULL);
    g_autoptr(OrrCollectivePlan) b =
        calibrated_plan(&base, ORR_REDUCE_SCATTER, sizes[i], 8, 0, NULL);
    times[i] = a->predicted_s;
    base_times[i] = b->predicted_s;
  }
  own.cost = shelved;
  for (guint i = 0; i < 3; i++) g_assert_cmpfloat(times[i], ==, base_times[i]);
  assert_close(times[3] / base_times[3], sqrt(1.1e-3 / base_times[4]), 1e-9);
  assert_close(times[4], 1.1e-3, 1e-12);
  assert_close(times[5], 1.1e-3, 1e-5);
  assert_close(times[6], 2.2e-3, 1e-12);
  assert_close(times[7], 2.2e-3, 1e-5);
}

/* Launch once, then each hop the step's constant and the route's own latency: 10 + 7 * (2 + 1)
 * us in a domain (a reduce-scatter, without rows); between two nodes 10 + (5 +
 * 2.5) us. */
static void test_constants(void) {
  g_auto(Calibrated) calibrated;
  calibrated_init(&calibrated);
  const OrrEntry *ring = orr_registry_find(&orr_collective_registry, "ring");
  g_autoptr(OrrCollectivePlan) inside = calibrated_plan(&calibrated, ORR_REDUCE_SCATTER, S, 8, 0,
                                                        (const OrrCollectiveAlgorithm *)ring);
  g_autoptr(OrrCollectivePlan) across = calibrated_plan(&calibrated, ORR_SEND_RECV, S, 2, 7, NULL);
  g_assert_cmpint(inside->how, ==, ORR_HOW_MODELLED);
  assert_single(inside, 31e-6, 0.875 * S / SCALE_UP);
  assert_single(across, 17.5e-6, S / NIC);
}

/* The ring's transfer takes 1.75 GB / 240 GB/s = 7.29 ms. Measured 5 ms at 1 GB: no latency is
 * left and the transfer shrinks. All-gather 3.65 ms, measured 9 ms: the rest is latency. No rows
 * for 4 ranks: modelled. */
static void test_measured(void) {
  g_auto(Calibrated) calibrated;
  calibrated_init(&calibrated);
  g_autoptr(OrrCollectivePlan) fast = calibrated_plan(&calibrated, ORR_ALL_REDUCE, S, 8, 8, NULL);
  g_assert_cmpint(fast->how, ==, ORR_HOW_MEASURED);
  assert_single(fast, 0, 5e-3);
  assert_close(phase_of(fast, 0)->bytes, 5e-3 * SCALE_UP, 1e-12);
  g_autoptr(OrrCollectivePlan) slow = calibrated_plan(&calibrated, ORR_ALL_GATHER, S, 8, 0, NULL);
  assert_single(slow, 9e-3 - 0.875 * S / SCALE_UP, 0.875 * S / SCALE_UP);
  g_autoptr(OrrCollectivePlan) small =
      calibrated_plan(&calibrated, ORR_ALL_REDUCE, 1000, 8, 0, NULL);
  assert_close(small->predicted_s, 30e-6, 1e-12);
  g_autoptr(OrrCollectivePlan) between =
      calibrated_plan(&calibrated, ORR_ALL_REDUCE, 1e6, 8, 0, NULL);
  g_assert_cmpint(between->how, ==, ORR_HOW_INTERPOLATED);
  g_autoptr(OrrCollectivePlan) four = calibrated_plan(&calibrated, ORR_ALL_REDUCE, S, 4, 0, NULL);
  g_assert_cmpint(four->how, ==, ORR_HOW_MODELLED);
  g_autoptr(OrrCollectivePlan) straddling =
      calibrated_plan(&calibrated, ORR_ALL_REDUCE, S, 8, 4, NULL);
  g_assert_cmpint(straddling->how, ==, ORR_HOW_MODELLED);
}

/* How many sends over the network a plan of an all-reduce over all GPUs of @nodes nodes has. */
static guint sends_of(guint nodes) {
  g_auto(Machine) machine;
  machine_init(&machine, nodes, 8, 32, 1);
  g_autofree gint64 *gpus = group_new(8 * nodes, 0, 1);
  g_autoptr(GArray) edges = g_array_new(FALSE, FALSE, sizeof(OrrCollectiveEdge));
  const OrrCollectiveContext context = {.fabric = machine.fabric, .edges = edges};
  const OrrCollectiveCall call = {.op = ORR_ALL_REDUCE, .bytes = S, .gpus = gpus, .n = 8 * nodes};
  g_autoptr(GError) error = NULL;
  g_autoptr(OrrCollectivePlan) plan = orr_collective_plan(&context, &call, NULL, &error);
  g_assert_no_error(error);
  g_assert_cmpstr(plan->algorithm->entry.name, !=, "pairwise");
  return edges->len;
}

/* Eight times as many ranks are planned with about eight times as many sends. */
static void test_scale(void) {
  const guint few = sends_of(128), many = sends_of(1024);
  g_test_message("1,024 ranks: %u sends; 8,192: %u", few, many);
  g_assert_cmpuint(few, >, 0);
  g_assert_cmpuint(many, <=, 10 * few);
  g_auto(Machine) machine;
  machine_init(&machine, 1024, 8, 32, 1);
  g_autofree gint64 *gpus = group_new(8192, 0, 1);
  g_autoptr(OrrCollectivePlan) all_reduce = plan_on(&machine, ORR_ALL_REDUCE, S, gpus, 8192, NULL);
  g_autoptr(OrrCollectivePlan) all_to_all = plan_on(&machine, ORR_ALL_TO_ALL, S, gpus, 1024, NULL);
  g_assert_cmpstr(all_reduce->algorithm->entry.name, !=, "pairwise");
  g_assert_cmpstr(all_to_all->algorithm->entry.name, ==, "pairwise");
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/collective/plan/ring-channels", test_ring_channels);
  g_test_add_func("/collective/plan/ring-permuted", test_ring_permuted);
  g_test_add_func("/collective/plan/rails", test_rails);
  g_test_add_func("/collective/plan/ring-pcie", test_ring_pcie);
  g_test_add_func("/collective/plan/ring-rooted", test_ring_rooted);
  g_test_add_func("/collective/plan/hierarchical", test_hierarchical);
  g_test_add_func("/collective/plan/tree", test_tree);
  g_test_add_func("/collective/plan/pairwise", test_pairwise);
  g_test_add_func("/collective/plan/choice", test_choice);
  g_test_add_func("/collective/plan/edges", test_edges);
  g_test_add_func("/collective/plan/unsupported", test_unsupported);
  g_test_add_func("/collective/plan/unsupported-group", test_unsupported_group);
  g_test_add_func("/collective/plan/ring-before-pxn", test_ring_before_pxn);
  g_test_add_func("/collective/plan/all-to-all-before-pxn", test_all_to_all_before_pxn);
  g_test_add_func("/collective/pat-by-release", test_pat_by_release);
  g_test_add_func("/collective/plan/constants", test_constants);
  g_test_add_func("/collective/plan/own-rows", test_own_rows);
  g_test_add_func("/collective/plan/rows-on-pcie", test_rows_on_pcie);
  g_test_add_func("/collective/plan/measured", test_measured);
  g_test_add_func("/collective/plan/scale", test_scale);
  return g_test_run();
}

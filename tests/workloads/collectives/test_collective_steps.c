/*
 * test_collective_steps.c - the one-flow form against every send of every step, on an engine that
 * shares links.
 *
 * Without a profile: a hop costs the route's latency alone. Equal within 2 % where hops are alike,
 * for all algorithms that have a step form, up to 64 ranks; where they are not, the difference is
 * held, too.
 */
#include "sim/engine/executor.h"
#include "tests/base/test_size.h"
#include "tests/engine/forked.h"
#include "tests/workloads/collectives/test_collective_fixture.h"
#include "workloads/collectives/collective_steps.h"

static OrrProgram *program_on(const Machine *machine) {
  OrrProgram *program = orr_program_new();
  for (gint64 link = 0; link < orr_fabric_n_links(machine->fabric); link++) {
    g_autofree char *name = orr_fabric_link_name(machine->fabric, (guint32)link);
    orr_program_link(program, name, orr_fabric_link_bandwidth(machine->fabric, (guint32)link));
  }
  return program;
}

/* Each send a communication on a stream of its own, after what it needs. */
static void add_sends(OrrProgram *program, const OrrCollectiveSteps *steps) {
  const guint32 lane = orr_program_lane(program, "rank", 1),
                label = orr_program_label(program, "send", "comm");
  g_autofree guint32 *events = g_new(guint32, steps->sends->len),
                     *paths = g_new(guint32, steps->routes->len);
  for (guint i = 0; i < steps->routes->len; i++) {
    const OrrStepRoute *route = &g_array_index(steps->routes, OrrStepRoute, i);
    paths[i] = orr_program_path(program, route->effect.uses, route->effect.n_uses);
  }
  for (guint i = 0; i < steps->sends->len; i++) {
    const OrrStepSend *send = &g_array_index(steps->sends, OrrStepSend, i);
    const OrrCollectivePhase *effect = &orr_collective_steps_route(steps, send)->effect;
    const OrrPhase phase = {effect->latency_s, effect->bytes, paths[send->route]};
    const guint32 stream = orr_program_stream(program, lane, "send");
    for (guint k = 0; k < send->n_needs; k++)
      orr_program_wait(program, stream,
                       events[g_array_index(steps->needs, guint32, send->first_need + k)]);
    orr_program_join(program, stream, orr_program_comm(program, 1, &phase, 1), label, -1);
    events[i] = orr_program_event(program);
    orr_program_record(program, stream, events[i]);
  }
}

static double replay(OrrProgram *program) {
  g_autoptr(GError) error = NULL;
  g_autoptr(OrrEngine) engine = orr_engine_new(ORR_ENGINE_SIMGRID, &error);
  OrrReplay result;
  g_assert_no_error(error);
  orr_program_seal(program, &error);
  orr_executor_run(program, engine, NULL, NULL, NULL, &result, &error);
  g_assert_no_error(error);
  return result.end_s;
}

typedef struct {
  const char *algorithm;
  OrrCollectiveOp op;
  guint nodes, n;
  gint64 stride;
  double bytes;
  const char *fabric;
  double ratio, within; /* steps over one flow */
} Case;

static void check(gconstpointer data) {
  const Case *c = data;
  g_auto(Machine) machine;
  g_autoptr(GError) error = NULL;
  machine_init_on(&machine, c->nodes, strstr(c->fabric, "torus") ? 1 : 8, c->fabric, 1);
  g_autofree gint64 *gpus = group_new(c->n, 0, c->stride);
  g_autoptr(OrrCollectivePlan) plan = plan_on(&machine, c->op, c->bytes, gpus, c->n, c->algorithm);
  const OrrCollectiveContext context = {.fabric = machine.fabric};
  const OrrCollectiveCall call = {.op = c->op, .bytes = c->bytes, .gpus = gpus, .n = c->n};
  g_autoptr(OrrCollectiveSteps) steps = orr_collective_steps_new(&context, &call, plan, &error);
  g_assert_no_error(error);
  g_autoptr(OrrProgram) program = program_on(&machine);
  add_sends(program, steps);
  const double ratio = replay(program) / plan->predicted_s;
  printf("# %s %s, %u ranks, %g B: steps / flow = %.4f\n", c->algorithm,
         orr_collective_words[c->op], c->n, c->bytes, ratio);
  assert_close(ratio, c->ratio, c->within);
}

#define ONE_LEAF "{kind: fat-tree, radix: 65536, nodes-per-leaf: 64, switch-latency: 0.5 us}"

/* A pipeline of a thousand chunks over 32 or 64 ranks repeats what 16 do: not in a small run. */
static void check_all(const Case *cases, guint n) {
  forked_load();
  for (guint i = 0; i < n; i++)
    if (cases[i].n * cases[i].bytes < test_size(1000, 300) * 1e9) forked(check, &cases[i]);
}

/* Hops alike: one member a node under one leaf, one node, a torus. */
static void test_equal(void) {
  static const Case cases[] = {
      {"ring", ORR_ALL_REDUCE, 2, 2, 8, 1e6, ONE_LEAF, 1, 0.02},
      {"ring", ORR_ALL_REDUCE, 64, 64, 8, 1e4, ONE_LEAF, 1, 0.02},
      {"ring", ORR_ALL_REDUCE, 64, 64, 8, 1e9, ONE_LEAF, 1, 0.02},
      {"ring", ORR_ALL_GATHER, 16, 16, 8, 1e7, ONE_LEAF, 1, 0.02},
      {"ring", ORR_REDUCE_SCATTER, 1, 8, 1, 1e7, ONE_LEAF, 1, 0.02},
      {"pairwise", ORR_ALL_TO_ALL, 16, 16, 8, 1e8, ONE_LEAF, 1, 0.02},
      {"pairwise", ORR_ALL_TO_ALL, 1, 8, 1, 1e6, ONE_LEAF, 1, 0.02},
      {"direct", ORR_SEND_RECV, 2, 2, 8, 1e6, ONE_LEAF, 1, 0.02},
      {"torus-ring", ORR_ALL_REDUCE, 8, 64, 1, 1e7, "{kind: torus, shape: 4x4x4}", 1, 0.02},
      {"bucket", ORR_ALL_REDUCE, 8, 64, 1, 1e7, "{kind: torus, shape: 4x4x4}", 1, 0.02},
      {"bucket", ORR_ALL_GATHER, 2, 16, 1, 1e8, "{kind: torus, shape: 4x4}", 1, 0.02},
  };
  check_all(cases, G_N_ELEMENTS(cases));
}

/* A chain in n chunks fills and drains, which the one-flow form, with chunks as small as can be,
 * does not: (2n - 2)/n of the bytes' time and 2n - 2 hops for n - 1 chunks behind one another
 * where nothing is under way twice. */
static void test_chain_fills(void) {
  static const Case cases[] = {{"ring", ORR_BROADCAST, 16, 16, 8, 1e9, ONE_LEAF, 30. / 16, 0.02},
                               {"ring", ORR_REDUCE, 16, 16, 8, 1e9, ONE_LEAF, 30. / 16, 0.02}};
  check_all(cases, G_N_ELEMENTS(cases));
}

/* 32 ranks on 4 nodes, 8 rings: NVLink hops and NIC hops. Large: as fast as the NIC, within a
 * few per cent. */
static void test_mixed_hops(void) {
  static const Case cases[] = {{"ring", ORR_ALL_REDUCE, 4, 32, 1, 1e9, ONE_LEAF, 1, 0.05},
                               {"ring", ORR_ALL_REDUCE, 4, 32, 1, 1e4, ONE_LEAF, 1, 0.1},
                               {"pairwise", ORR_ALL_TO_ALL, 4, 32, 1, 1e9, ONE_LEAF, 1, 0.15}};
  check_all(cases, G_N_ELEMENTS(cases));
}

/* Rings of unlike hops, as above: c = S / (n m) the chunk of a ring, a_h and B_h a hop's latency
 * and bandwidth. A chunk makes 2(n-1) hops, and 2(n-1) chunks cross the slowest link, which is
 * all there is to it: within 3 %
 *
 *   steps = max(2 sum (a_h + c / B_h), 2(n-1) c / B_slow),
 *   and not flow = 2 sum a_h + 2(n-1) c / B_slow
 *
 * sum: over n - 1 hops, all but a cheapest: 4 of 2.5 us and 24 GB/s, 27 of 1 us and, alone on
 * the link, 240 GB/s; with seven rings on an NVLink each has 34 GB/s of it, still more than a
 * NIC. In the middle the latency of NVLink hops hides behind what queues for the NICs. */
static const double mixed_bytes[] = {1e5, 1e6, 4e6, 1.6e7, 6.4e7, 1e9};

static void check_bounds(gconstpointer data) {
  const double bytes = *(const double *)data, chunk = bytes / 32 / 8;
  const double hops_s = 2 * (4 * (NIC_HOP + chunk / NIC) + 27 * (SCALE_UP_HOP + chunk / SCALE_UP));
  const double queue_s = 62 * chunk / NIC, flow_s = 2 * (4 * NIC_HOP + 27 * SCALE_UP_HOP) + queue_s;
  const double least = MAX(hops_s, queue_s) / flow_s;
  const Case c = {"ring", ORR_ALL_REDUCE, 4, 32, 1, bytes, ONE_LEAF, 1.015 * least, 0.0151};
  check(&c);
}

static void test_mixed_bounds(void) {
  for (guint i = 0; i < G_N_ELEMENTS(mixed_bytes); i++) forked(check_bounds, &mixed_bytes[i]);
}

/* Levels one after another, alike on all ranks. */
static void test_hierarchical(void) {
  static const Case cases[] = {
      {"hierarchical", ORR_ALL_REDUCE, 8, 64, 1, 1e9, ONE_LEAF, 1, 0.02},
      {"hierarchical", ORR_ALL_REDUCE, 8, 64, 1, 1e5, ONE_LEAF, 1, 0.02},
      {"hierarchical", ORR_ALL_GATHER, 4, 32, 1, 1e8, ONE_LEAF, 1, 0.02},
      {"hierarchical", ORR_REDUCE_SCATTER, 4, 32, 1, 1e8, ONE_LEAF, 1, 0.02},
  };
  check_all(cases, G_N_ELEMENTS(cases));
}

/* 8 ranks on one node, 4 on the next: four channels, whose ends are 4 of the 8. A ring begins
 * with 8 chunks on the large node's side, which share its NIC here and all arrive late: the
 * small node, with 4 of its own, waits 4 turns of 22. */
static void test_unequal(void) {
  static const Case cases[] = {
      {"ring", ORR_ALL_REDUCE, 2, 12, 1, 1e9, ONE_LEAF, 1 + 4.0 / 22, 0.04},
      {"tree", ORR_ALL_REDUCE, 2, 12, 1, 1e10, ONE_LEAF, 1, 0.02},
      {"nvls-tree", ORR_ALL_REDUCE, 2, 12, 1, 1e10, ONE_LEAF, 1, 0.02},
      {"pairwise", ORR_ALL_TO_ALL, 2, 12, 1, 1e9, ONE_LEAF, 1, 0.15}};
  check_all(cases, G_N_ELEMENTS(cases));
}

/* Pipelines of chunks, where those are many and a hop's latency is little compared with them: 10 GB
 * in 1,024 chunks. */
static void test_trees(void) {
  static const Case cases[] = {
      {"tree", ORR_ALL_REDUCE, 2, 2, 8, 1e10, ONE_LEAF, 1, 0.02},
      {"tree", ORR_ALL_REDUCE, 3, 3, 8, 1e10, ONE_LEAF, 1, 0.02},
      {"tree", ORR_ALL_REDUCE, 8, 8, 8, 1e10, ONE_LEAF, 1, 0.02},
      {"tree", ORR_ALL_REDUCE, 20, 20, 8, 1e10, ONE_LEAF, 1, 0.02},
      {"tree", ORR_ALL_REDUCE, 64, 64, 8, 1e3, ONE_LEAF, 1, 0.02},
      {"tree", ORR_ALL_REDUCE, 1, 8, 1, 1e10, ONE_LEAF, 1, 0.02},
      {"tree", ORR_ALL_REDUCE, 4, 32, 1, 1e10, ONE_LEAF, 1, 0.02},
      {"nvls", ORR_ALL_REDUCE, 1, 8, 1, 1e10, ONE_LEAF, 1, 0.02},
      {"nvls-tree", ORR_ALL_REDUCE, 4, 32, 1, 1e10, ONE_LEAF, 1, 0.02},
      {"nvls-tree", ORR_ALL_REDUCE, 4, 32, 1, 1e4, ONE_LEAF, 1, 0.02},
      {"nvls-tree", ORR_ALL_REDUCE, 5, 40, 1, 1e10, ONE_LEAF, 1, 0.02},
  };
  check_all(cases, G_N_ELEMENTS(cases));
}

/* A pipeline that is one chunk, B = 24 GB/s, hops of 2.5 us. Tree of 64, S/2 a tree: 12 levels, and
 * in 10 of them two children share the NIC above; one flow has 12 hops and 2 S / B. NVSwitch of 8,
 * 240 GB/s and 1 us: all to their owners, S / B, then to all, S / B, which one flow has as 9/8 S /
 * B, both ways of a link at once. */
static void test_one_chunk(void) {
  const double tree = 12 * 2.5e-6, half = 5e3 / NIC, part = 1e5 / SCALE_UP;
  const Case cases[] = {{"tree", ORR_ALL_REDUCE, 64, 64, 8, 1e4, ONE_LEAF,
                         (tree + 22 * half) / (tree + 4 * half), 0.002},
                        {"nvls", ORR_ALL_REDUCE, 1, 8, 1, 1e5, ONE_LEAF,
                         (1e-6 + 2 * part) / (1e-6 + 9 * part / 8), 0.002}};
  check_all(cases, G_N_ELEMENTS(cases));
}

/* Broadcast over 4 domains of 8, S = 100 MB: scatter 7/8 S and all-gather 7/8 S over NVLink, and
 * between them a chain of 4 chunks, which takes 6/4 of S/8 over the NIC. The root's all-gather
 * begins beside its scatter: 8/8 S for both. */
static void test_hierarchical_chain(void) {
  const double inside = 1e8 * 7 / 8 / SCALE_UP, own = 1e8 / SCALE_UP, rail = 1e8 / 8 / NIC;
  const double flow = 2 * inside + rail;
  const Case cases[] = {{"hierarchical", ORR_BROADCAST, 4, 32, 1, 1e8, ONE_LEAF,
                         (own + 1.5 * rail + inside) / flow, 0.01},
                        {"hierarchical", ORR_REDUCE, 4, 32, 1, 1e8, ONE_LEAF,
                         (2 * inside + 1.5 * rail) / flow, 0.01}};
  check_all(cases, G_N_ELEMENTS(cases));
}

/* In between: 100 MB are 96 chunks a tree, behind which 12 levels fill and drain, four chunks of
 * an edge at a time, which one flow lacks. */
static void test_tree_fills(void) {
  static const Case cases[] = {{"tree", ORR_ALL_REDUCE, 64, 64, 8, 1e8, ONE_LEAF, 1.2, 0.2}};
  check_all(cases, G_N_ELEMENTS(cases));
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/collective-steps/equal", test_equal);
  g_test_add_func("/collective-steps/chain", test_chain_fills);
  g_test_add_func("/collective-steps/mixed", test_mixed_hops);
  g_test_add_func("/collective-steps/mixed-bounds", test_mixed_bounds);
  g_test_add_func("/collective-steps/hierarchical", test_hierarchical);
  g_test_add_func("/collective-steps/trees", test_trees);
  g_test_add_func("/collective-steps/unequal", test_unequal);
  g_test_add_func("/collective-steps/one-chunk", test_one_chunk);
  g_test_add_func("/collective-steps/hierarchical-chain", test_hierarchical_chain);
  g_test_add_func("/collective-steps/tree-fills", test_tree_fills);
  return g_test_run();
}

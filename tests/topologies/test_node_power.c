/*
 * test_node_power.c - what the parts of a node draw, by hand, and that they add up.
 */
#include <math.h>

#include "tests/topologies/cluster_fixture.h"

/* Boards of 100 W at rest and 300 W at their limit; the small machine has 4 a node. */
#define BOARD                                                                                      \
  "device.tdp", "300 W", "device.power", "{static: 100 W, tensor: 200 W, memory: 10 pJ/B}",        \
      "node.host.cores", "20"
#define PARTS                                                                                      \
  "power.parts",                                                                                   \
      "{cpu-idle: 50 W, cpu-busy: 250 W, memory: 40 W, nic: 10 W, dpus: 2, dpu: 30 W, scale-up: "  \
      "80 W, fans-idle: 20 W, fans-busy: 120 W, efficiency: 0.8}"

static double part_sum(const OrrNodeDraw *draw) {
  double sum = 0;
  for (int part = 0; part < ORR_N_NODE_PARTS; part++)
    sum += isnan(draw->part_w[part]) ? 0 : draw->part_w[part];
  return sum;
}

/* Half loaded, 5 of 20 cores busy:
 *
 *   cpu 50 + 200 / 4 = 100, memory 40, nic 4 * 10, dpu 2 * 30, scale-up 80, fans 20 + 100 / 2 = 70
 *   = 390; boards 4 * 200 = 800; 1190 W out of supplies of 80 % take 1487.5: loss 297.5 */
static void test_parts(void) {
  FIXTURE(fixture, 1, BOARD, PARTS);
  const OrrNodeLoad load = {.boards_w = 800, .load = 0.5, .cores = 5};
  const OrrNodeDraw draw = orr_node_power_draw(&fixture.cluster, &load);
  const double wanted[] = {100, 40, 40, 60, 80, 70, 297.5};
  for (int part = 0; part < ORR_NODE_OTHER; part++) assert_near(draw.part_w[part], wanted[part]);
  g_assert_true(isnan(draw.part_w[ORR_NODE_OTHER]));
  assert_near(draw.rest_w, 687.5);
  assert_near(part_sum(&draw), draw.rest_w);
}

/* A meter shows 600 to 1,000 W besides the boards, 800 at half load, with idle CPUs. 5 busy cores
 * add 50 W, 62.5 of them at the plug: 862.5. Losses 0.2 * (800 + 862.5) = 332.5, the parts without
 * fans 320; `other` has what is left. */
static void test_meter(void) {
  FIXTURE(fixture, 1, BOARD, PARTS, "power.parts.fans-idle", "0 W", "power.parts.fans-busy", "0 W",
          "power.rest-idle", "600 W", "power.rest-busy", "1000 W");
  const OrrNodeLoad load = {.boards_w = 800, .load = 0.5, .cores = 5};
  const OrrNodeDraw draw = orr_node_power_draw(&fixture.cluster, &load);
  assert_near(draw.rest_w, 862.5);
  assert_near(draw.part_w[ORR_NODE_LOSS], 332.5);
  g_assert_true(isnan(draw.part_w[ORR_NODE_FAN]));
  assert_near(draw.part_w[ORR_NODE_OTHER], 862.5 - 332.5 - 320);
  assert_near(part_sum(&draw), draw.rest_w);
}

/* A meter alone: all of it is `other`, and cores change nothing. */
static void test_meter_alone(void) {
  FIXTURE(fixture, 1, BOARD, "power.rest-idle", "600 W", "power.rest-busy", "1000 W");
  const OrrNodeLoad load = {.boards_w = 800, .load = 0.25, .cores = 5};
  const OrrNodeDraw draw = orr_node_power_draw(&fixture.cluster, &load);
  assert_near(draw.rest_w, 700);
  assert_near(draw.part_w[ORR_NODE_OTHER], 700);
  g_assert_true(isnan(draw.part_w[ORR_NODE_CPU]));
}

/* Nothing stated: nothing known. More cores than there are: all are busy. */
static void test_ends(void) {
  FIXTURE(nothing, 1, BOARD);
  FIXTURE(fixture, 1, BOARD, PARTS);
  const OrrNodeLoad busy = orr_node_power_busy(&fixture.cluster);
  const OrrNodeLoad idle = orr_node_power_idle(&fixture.cluster);
  const OrrNodeLoad more = {.boards_w = 1200, .load = 1, .cores = 100};
  assert_near(idle.boards_w, 400);
  assert_near(busy.boards_w, 1200);
  g_assert_true(isnan(orr_node_power_draw(&nothing.cluster, &busy).rest_w));
  /* 50 + 40 + 40 + 60 + 80 + 20 = 290, with boards 690 out of 80 % */
  assert_near(orr_node_power_draw(&fixture.cluster, &idle).rest_w, 690 / 0.8 - 400);
  assert_near(orr_node_power_draw(&fixture.cluster, &busy).rest_w,
              orr_node_power_draw(&fixture.cluster, &more).rest_w);
  g_assert_true(orr_cluster_power_knows_nodes(&fixture.cluster.power));
  g_assert_false(orr_cluster_power_knows_nodes(&nothing.cluster.power));
}

/* A job on 8 of 16 GPUs at 200 W, 10 cores busy: two nodes as in test_parts. A fat tree of 6
 * switches of 50 W and 64 optics of 1 W is half its own. */
static void test_machine(void) {
  FIXTURE(fixture, 1, BOARD, PARTS, "fabric", "{kind: fat-tree, radix: 8}", "power.switch", "50 W",
          "power.optic", "1 W");
  const OrrMachineLoad load = {.gpus = 8, .gpu_w = 1600, .cores = 10};
  const OrrMachinePower machine =
      orr_cluster_power_machine(fixture.fabric, &fixture.cluster, &load);
  assert_near(machine.nodes_w, 2 * 687.5);
  assert_near(machine.node_part_w[ORR_NODE_CPU], 200);
  assert_near(machine.switch_w, 150);
  assert_near(machine.switches, 3);
  assert_near(machine.optic_w, 32);
  assert_near(machine.network_w, 182);
  assert_near(machine.all_w, 1600 + 1375 + 182);
  g_autofree char *left_out = orr_cluster_power_left_out(&machine);
  g_assert_cmpstr(left_out, ==, "");
  /* a quarter of the time; a node and a half wait at 690 / 0.8 - 400 = 462.5 W */
  const OrrMachinePower mean =
      orr_cluster_power_interrupted(&fixture.cluster, &machine, 0.25, 1.5, 900);
  assert_near(mean.nodes_w, 0.25 * 1375 + 1.5 * 462.5);
  assert_near(mean.node_part_w[ORR_NODE_CPU], 0.25 * 200 + 1.5 * 50);
  assert_near(mean.all_w, 900 + mean.nodes_w + 182);
}

/* What is left out of the sum is named; with a meter `other` has it. */
static void test_left_out(void) {
  FIXTURE(fixture, 1, BOARD, "power.parts", "{cpu-idle: 50 W, cpu-busy: 250 W, memory: 40 W}",
          "fabric", "{kind: fat-tree, radix: 8}");
  FIXTURE(metered, 1, BOARD, "power.rest-busy", "900 W", "power.switch", "50 W", "power.optic",
          "1 W", "fabric", "{kind: fat-tree, radix: 8}");
  const OrrMachineLoad load = {.gpus = 8, .gpu_w = 1600};
  const OrrMachinePower parts = orr_cluster_power_machine(fixture.fabric, &fixture.cluster, &load);
  const OrrMachinePower meter = orr_cluster_power_machine(metered.fabric, &metered.cluster, &load);
  g_autofree char *left_out = orr_cluster_power_left_out(&parts);
  g_autofree char *nothing = orr_cluster_power_left_out(&meter);
  g_assert_cmpstr(left_out, ==, " without its nic, scale-up, fan, supply-loss and network");
  g_assert_cmpstr(nothing, ==, "");
}

/* 4 kW for two nodes. A meter's 1,000 W leave 1,000 W for 4 boards. By parts a busy node without
 * host time draws 50 + 40 + 40 + 60 + 80 + 120 = 390 W out of its supplies, and 2,000 W at the plug
 * are 1,600 there: 1,210 for the boards. */
static void test_cap(void) {
  FIXTURE(metered, 1, BOARD, "power.rest-busy", "1000 W", "power.cap", "4 kW", "power.cap-nodes",
          "2");
  FIXTURE(parts, 1, BOARD, PARTS, "power.cap", "4 kW", "power.cap-nodes", "2");
  FIXTURE(none, 1, BOARD, PARTS);
  assert_near(orr_cluster_power_board_cap_w(&metered.cluster), 250);
  assert_near(orr_cluster_power_board_cap_w(&parts.cluster), 302.5);
  g_assert_cmpfloat(orr_cluster_power_board_cap_w(&none.cluster), ==, 0);
}

static void test_text(void) {
  FIXTURE(fixture, 1, BOARD, PARTS, "power.rated", "2 kW");
  g_autofree char *text = orr_cluster_power_text(fixture.fabric, &fixture.cluster);
  g_assert_nonnull(
      strstr(text, "nic              -                    16       10.0         10.0"));
  g_assert_nonnull(
      strstr(text, "cpu              -                     4       50.0        250.0"));
  g_assert_nonnull(strstr(text, "without what is not stated"));
  FIXTURE(nothing, 1, BOARD);
  g_autofree char *empty = orr_cluster_power_text(nothing.fabric, &nothing.cluster);
  g_assert_cmpstr(empty, ==, "");
}

static void test_refusals(void) {
  ASSERT_REFUSED("cpu-busy needs node.host.cores", "power.parts",
                 "{cpu-idle: 50 W, cpu-busy: 90 W}");
  ASSERT_REFUSED("cpu-idle is 90 W", BOARD, "power.parts", "{cpu-idle: 90 W, cpu-busy: 50 W}");
  ASSERT_REFUSED("fans-idle is 9 W", BOARD, "power.parts", "{fans-idle: 9 W, fans-busy: 5 W}");
  ASSERT_REFUSED("dpu has no meaning without dpus", BOARD, "power.parts", "{dpu: 9 W}");
  ASSERT_REFUSED("power.parts of an idle node draw 60 W, more than the 50 W of power.rest-idle",
                 BOARD, "power.parts", "{memory: 60 W}", "power.rest-idle", "50 W",
                 "power.rest-busy", "90 W");
  ASSERT_REFUSED("power.parts of a busy node draw 280 W, more than the 200 W of power.rest-busy",
                 BOARD, "power.parts", "{efficiency: 0.8}", "power.rest-idle", "100 W",
                 "power.rest-busy", "200 W");
  ASSERT_REFUSED("efficiency", BOARD, "power.parts", "{efficiency: 1.2}");
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/node-power/parts", test_parts);
  g_test_add_func("/node-power/meter", test_meter);
  g_test_add_func("/node-power/meter-alone", test_meter_alone);
  g_test_add_func("/node-power/ends", test_ends);
  g_test_add_func("/node-power/machine", test_machine);
  g_test_add_func("/node-power/left-out", test_left_out);
  g_test_add_func("/node-power/cap", test_cap);
  g_test_add_func("/node-power/text", test_text);
  g_test_add_func("/node-power/refusals", test_refusals);
  return g_test_run();
}

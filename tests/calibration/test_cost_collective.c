/* test_cost_collective.c - a profile's own rows of collectives over its base's. */
#include "calibration/cost/cost_private.h"
#include "calibration/cost/cost_tables.h"
#include "tests/calibration/calibration_sample.h"

#include <math.h>

static OrrNode *node_of(const char *text, OrrDiags *diags) {
  return orr_yaml_parse(text, strlen(text), "p", diags);
}

static const char base_text[] =
    "name: b\ndevice: d\nconstants: {collective-launch: 10 us, scale-up-step: 2 us}\ncollectives:\n"
    "- {op: all_reduce, ranks: 4, bytes: \"1e3 1e6 1e9\", us: \"20 40 10000\"}\n"
    "- {op: all_gather, ranks: 4, bytes: \"1e3 1e6 1e9\", us: \"10 20 5000\"}\n";

/* @over laid on the base, as the library lays documents. */
static OrrProfile *laid_on_base(const char *over) {
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_autoptr(OrrNode) under = node_of(base_text, diags), own = node_of(over, diags);
  g_autoptr(OrrNode) laid = orr_node_merge(under, own);
  OrrProfile *profile = orr_profile_read(laid, NULL, diags);
  g_autofree char *findings = orr_diags_text(diags);
  g_assert_cmpstr(findings, ==, "");
  return profile;
}

static double asked_us(const OrrCostModel *model, const char *op, double bytes) {
  OrrCost cost;
  g_assert_true(orr_cost_collective(model, op, 4, bytes, &cost));
  return cost.time_s * 1e6;
}

/* Two rows of 256 and 512 MB, half again as slow as the base: they alone answer from one to the
 * other; from a quarter of the least and four times the largest on the base answers, to the last
 * digit, and so it does for what was not measured. Next to them the ratio fades: no jump, and
 * never less time for more bytes. */
static void check_own(double ratio) {
  g_autoptr(OrrProfile) base = laid_on_base("name: same\n");
  g_autoptr(OrrCostModel) without = model_of(base, &round_device);
  const double least_us = ratio * asked_us(without, "all_reduce", 256e6);
  const double most_us = ratio * asked_us(without, "all_reduce", 512e6);
  g_autofree char *text = g_strdup_printf(
      "name: own\ncollectives:\n- {op: all_reduce, ranks: 4, bytes: \"256e6 512e6\", "
      "us: \"%.12g %.12g\"}\n",
      least_us, most_us);
  g_autoptr(OrrProfile) profile = laid_on_base(text);
  g_autoptr(OrrCostModel) model = model_of(profile, &round_device);
  assert_near(asked_us(model, "all_reduce", 256e6), least_us, 1e-9);
  assert_near(asked_us(model, "all_reduce", 512e6), most_us, 1e-9);
  const double same[] = {8, 1e3, 1e6, 64e6, 2048e6, 1e10};
  for (guint i = 0; i < G_N_ELEMENTS(same); i++) {
    g_assert_cmpfloat(asked_us(model, "all_reduce", same[i]), ==,
                      asked_us(without, "all_reduce", same[i]));
    g_assert_cmpfloat(asked_us(model, "all_gather", same[i]), ==,
                      asked_us(without, "all_gather", same[i]));
  }
  assert_near(asked_us(model, "all_reduce", 128e6),
              sqrt(ratio) * asked_us(without, "all_reduce", 128e6), 1e-9);
  for (double bytes = 8, before_us = 0; bytes < 1e10; bytes *= 1.01) {
    const double us = asked_us(model, "all_reduce", bytes);
    g_assert_cmpfloat(us, >=, before_us);
    if (bytes > 1e6) g_assert_cmpfloat(us, <, before_us * 1.03);
    before_us = us;
  }
}

static void test_own_rows(void) {
  check_own(1.5);
  check_own(0.7);
}

/* Own rows on own rows: the upper ones first, each in its range. And a collective that the base
 * has no rows of is left to the caller's model outside its range, with what it needs to hand
 * over. */
static void test_own_layers(void) {
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_autoptr(OrrNode) base = node_of(base_text, diags);
  g_autoptr(OrrNode) lower = node_of(
      "collectives:\n- {op: all_reduce, ranks: 4, bytes: \"1e6 1e9\", us: \"50 11000\"}\n", diags);
  g_autoptr(OrrNode) upper =
      node_of("collectives:\n- {op: all_reduce, ranks: 4, bytes: \"1e8 1e9\", us: \"3000 12000\"}\n"
              "- {op: broadcast, ranks: 4, bytes: \"1e8 1e9\", us: \"3000 12000\"}\n",
              diags);
  g_autoptr(OrrNode) half = orr_node_merge(base, lower);
  g_autoptr(OrrNode) whole = orr_node_merge(half, upper);
  g_autoptr(OrrProfile) profile = orr_profile_read(whole, NULL, diags);
  g_autoptr(OrrCostModel) model = model_of(profile, &round_device);
  assert_near(asked_us(model, "all_reduce", 1e9), 12000, 1e-9);
  assert_near(asked_us(model, "all_reduce", 1e6), 50, 1e-9);
  assert_near(asked_us(model, "all_reduce", 1e3), 20, 1e-9);
  OrrCost cost;
  OrrHandOver hand;
  assert_near(asked_us(model, "broadcast", 1e9), 12000, 1e-9);
  g_assert_false(orr_cost_collective(model, "broadcast", 4, 1e6, &cost));
  g_assert_true(orr_cost_collective_hand_over(model, "broadcast", 4, 0.5e8, &hand));
  assert_near(hand.edge_s, 3000e-6, 1e-9);
  assert_near(hand.weight, 0.5, 1e-9);
  g_assert_false(orr_cost_collective_hand_over(model, "broadcast", 4, 5e8, &hand));
}

/* Rows of a switch say nothing of a mesh, in which two GPUs have one link of three: the ring over
 * that link is the answer, S / (V / 3); all four have all three. */
static void test_other_links(void) {
  g_autoptr(OrrProfile) profile = laid_on_base("name: same\n");
  OrrDevice mesh = round_device;
  mesh.scale_up_links = 3;
  g_autoptr(OrrCostModel) model =
      orr_cost_model_new_scaled(profile, &round_device, NULL, &mesh, NULL);
  OrrCost cost;
  g_assert_false(orr_cost_collective(model, "all_reduce", 4, 1e9, &cost));
  const double rate =
      mesh.scale_up_bytes_per_s * (mesh.scale_up_efficiency > 0 ? mesh.scale_up_efficiency : 1);
  const double two_s = orr_cost_collective_ring(model, "all_reduce", 2, 1e9).time_s,
               four_s = orr_cost_collective_ring(model, "all_reduce", 4, 1e9).time_s;
  assert_near(two_s, 10e-6 + 2 * 2e-6 + 1e9 / (rate / 3), 1e-9);
  assert_near(four_s, 10e-6 + 6 * 2e-6 + 1.5e9 / rate, 1e-9);
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/cost-collective/own-rows", test_own_rows);
  g_test_add_func("/cost-collective/own-layers", test_own_layers);
  g_test_add_func("/cost-collective/other-links", test_other_links);
  return g_test_run();
}

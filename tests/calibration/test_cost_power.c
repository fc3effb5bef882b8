/* test_cost_power.c - the clock under a board's power limit. */
#include <math.h>

#include "tests/calibration/calibration_sample.h"

static const char text[] = "schema: profile/1\nname: p\ndevice: d\n"
                           "constants: {gemm-efficiency: 100 %}\n";

/* Tensor cores want 800 W at their peak, on top of 100 W. */
static OrrDevice device_of(double tdp_watts) {
  OrrDevice device = round_device;
  device.tdp_watts = tdp_watts;
  device.power = (OrrDevicePower){.static_w = 100, .tensor_w = 800, .memory_j_per_byte = 20e-12};
  return device;
}

static OrrOperator gemm_op(gint64 size) {
  return orr_operator_gemm("g", ORR_PASS_FORWARD, ORR_BF16, (OrrGemmShape){1, size, size, size});
}

/* At the peak (1e14) tensor cores want 800 W, and 500 W leave 400: half, so a clock of 2^(-1/3).
 * Half the rate wants just the 400 W; so does nothing at all. */
static void test_clock(void) {
  const OrrDevice device = device_of(500);
  g_autoptr(OrrProfile) profile = sample_profile(text);
  g_autoptr(OrrCostModel) model = model_of(profile, &device);
  assert_near(orr_cost_clock(model, ORR_BF16, 1e14, 1), cbrt(0.5), 1e-12);
  g_assert_cmpfloat(orr_cost_clock(model, ORR_BF16, 0.5e14, 1), ==, 1);
  g_assert_cmpfloat(orr_cost_clock(model, ORR_BF16, 0, 1), ==, 1);
  OrrOperator op = gemm_op(8192);
  double burst_s = orr_cost_operator(model, &op).time_s;
  assert_near(orr_cost_sustained(model, &op).time_s,
              burst_s / orr_cost_clock(model, ORR_BF16, op.flops / burst_s, 1), 1e-12);
  g_assert_cmpint(orr_cost_sustained(model, &op).how, ==, ORR_HOW_MODELLED);
}

/* The worst of 8 draws is 1.4236 deviations out (Harter 1961), Blom's formula says 1.4341: with
 * a spread of speeds of 2 % it wants 3 * 2 % * 1.4341 more power, and no other board sets the
 * pace. Where the limit does not bind it costs nothing. */
static void test_fleet(void) {
  const OrrDevice device = device_of(500);
  g_autofree char *spread = g_strconcat("schema: profile/1\nname: p\ndevice: d\n",
                                        "constants: {speed-spread: 2 %}\n", NULL);
  g_autoptr(OrrProfile) profile = sample_profile(spread);
  g_autoptr(OrrCostModel) model = model_of(profile, &device);
  assert_near(orr_cost_clock(model, ORR_BF16, 1e14, 8), cbrt(0.5 / (1 + 0.06 * 1.43420)), 1e-5);
  g_assert_cmpfloat(orr_cost_clock(model, ORR_BF16, 1e14, 0), ==,
                    orr_cost_clock(model, ORR_BF16, 1e14, 1));
  g_assert_cmpfloat(orr_cost_clock(model, ORR_BF16, 0.3e14, 1000), ==, 1);
  double last = 1;
  for (gint64 fleet = 1; fleet <= 1 << 17; fleet *= 2) {
    double clock = orr_cost_clock(model, ORR_BF16, 1e14, fleet);
    g_assert_cmpfloat(clock, <, last);
    last = clock;
  }
}

/* Under locked clocks and a cap each kernel takes the longer of its times under one of them,
 * whether it waits for memory or not. The voltage stays from 0.8 of the clock down, so that
 * products draw as much for each FLOP at both. */
static void test_locked_and_capped(void) {
  g_autoptr(OrrProfile) profile = sample_profile(text);
  const OrrOperator ops[] = {gemm_op(128), gemm_op(512), gemm_op(1024), gemm_op(8192)};
  for (double p = 0.5; p < 1; p += 0.1)
    for (double cap = 150; cap < 900; cap += 50) {
      OrrDevice locked = device_of(0), capped = device_of(cap), both = capped;
      OrrDevice *const all[] = {&locked, &capped, &both};
      for (guint i = 0; i < G_N_ELEMENTS(all); i++) {
        all[i]->power.active_w = 60;
        all[i]->power.idle_w = 60;
        all[i]->power.on_chip_j_per_byte = 50e-12;
        all[i]->power.voltage_floor = 0.8;
      }
      locked.power.clock = both.power.clock = p;
      g_autoptr(OrrCostModel) at_p = model_of(profile, &locked);
      g_autoptr(OrrCostModel) under = model_of(profile, &capped);
      g_autoptr(OrrCostModel) model = model_of(profile, &both);
      for (guint i = 0; i < G_N_ELEMENTS(ops); i++)
        assert_near(orr_cost_sustained(model, &ops[i]).time_s,
                    fmax(orr_cost_sustained(at_p, &ops[i]).time_s,
                         orr_cost_sustained(under, &ops[i]).time_s),
                    1e-12);
    }
}

/* No limit known, none stated, one that no kernel reaches, memory-bound work: all as they were. */
static void test_unlimited(void) {
  OrrDevice device = device_of(0);
  g_autoptr(OrrProfile) profile = sample_profile(text);
  OrrOperator big = gemm_op(8192),
              copy = orr_operator_memory("copy", ORR_PASS_FORWARD, ORR_BF16, 1e9, 1e12);
  for (double tdp = 0; tdp <= 900; tdp += 900) {
    device.tdp_watts = tdp;
    g_autoptr(OrrCostModel) model = model_of(profile, &device);
    g_assert_cmpfloat(orr_cost_sustained(model, &big).time_s, ==,
                      orr_cost_operator(model, &big).time_s);
  }
  OrrDevice without = device;
  device.tdp_watts = without.tdp_watts = 200;
  without.power = (OrrDevicePower){0};
  g_autoptr(OrrCostModel) unknown = model_of(profile, &without);
  g_autoptr(OrrCostModel) known = model_of(profile, &device);
  g_assert_cmpfloat(orr_cost_sustained(unknown, &big).time_s, ==,
                    orr_cost_operator(unknown, &big).time_s);
  g_assert_cmpfloat(orr_cost_sustained(known, &copy).time_s, ==,
                    orr_cost_operator(known, &copy).time_s);
}

/* A lower limit never makes anything faster, nothing takes less than its burst, and no limit
 * takes for ever. */
static void test_limits(void) {
  OrrDevice device = device_of(0);
  g_autoptr(OrrProfile) profile = sample_profile(text);
  for (gint64 size = 16; size <= 16384; size *= 4) {
    OrrOperator op = gemm_op(size);
    double last_s = INFINITY;
    for (double tdp = 50; tdp <= 1000; tdp += 50) {
      device.tdp_watts = tdp;
      g_autoptr(OrrCostModel) model = model_of(profile, &device);
      double time_s = orr_cost_sustained(model, &op).time_s,
             burst_s = orr_cost_operator(model, &op).time_s;
      g_assert_cmpfloat(time_s, <=, last_s);
      g_assert_cmpfloat(time_s, >=, burst_s);
      g_assert_cmpfloat(time_s, <=, burst_s * 10 * (1 + 1e-12));
      last_s = time_s;
    }
  }
}

/* What power.tensor was found from: products that keep all GPUs of a node busy for 2 s. The H100's
 * 755 TFLOP/s are the H200's, the same chip, at the best row; the B200's 1,439 at a shape between
 * rows. Source: stas00/ml-engineering, maximum sustained matmul FLOPS. */
static void test_shipped(void) {
  const struct {
    const char *device;
    OrrGemmShape shape;
    OrrHow how;
    double flops_per_s;
  } sustained[] = {{"h100-sxm", {1, 1536, 6144, 16384}, ORR_HOW_MEASURED, 755e12},
                   {"b200", {1, 3072, 18944, 4608}, ORR_HOW_INTERPOLATED, 1439e12}};
  for (gsize i = 0; i < G_N_ELEMENTS(sustained); i++) {
    g_autoptr(OrrDiags) diags = orr_diags_new();
    g_auto(OrrMachine) by_name = {NULL}, machine = {NULL};
    g_assert_true(orr_machine_load_device(shared_library(), sustained[i].device, &by_name, diags));
    g_assert_true(orr_machine_of(shared_library(), by_name.device, &machine, diags));
    g_autoptr(OrrCostModel) model = orr_machine_costs(&machine, NULL);
    OrrOperator op = orr_operator_gemm("g", ORR_PASS_FORWARD, ORR_BF16, sustained[i].shape);
    const OrrCost cost = orr_cost_sustained(model, &op);
    assert_near(op.flops / cost.time_s, sustained[i].flops_per_s, 3e-3);
    g_assert_cmpint(cost.how, ==, sustained[i].how); /* the row's, at another clock */
  }
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/cost-power/clock", test_clock);
  g_test_add_func("/cost-power/locked-and-capped", test_locked_and_capped);
  g_test_add_func("/cost-power/fleet", test_fleet);
  g_test_add_func("/cost-power/unlimited", test_unlimited);
  g_test_add_func("/cost-power/limits", test_limits);
  g_test_add_func("/cost-power/shipped", test_shipped);
  return g_test_run();
}

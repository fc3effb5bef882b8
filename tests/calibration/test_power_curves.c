/* test_power_curves.c - power against clock, and time against cap, beside published measurements.
 *
 * A GA100 (CMP 170HX, the A100's chip; cachenetics/170tune, docs/reference-matrices.md, 2026-08):
 * products of bf16 at locked clocks draw 130.6 W at 1200 MHz, 174.6 at 1350 and 197.6 at 1400; at
 * the lowest voltage 34 W and 72 mW/MHz. Its clock is 1410 MHz as the A100's.
 *
 * Six RTX 3090 (llmgarage.ai, "Tokens-per-Second Test Bench: Power Limit Sweep", 2026-02) read
 * prompts of 198,000 tokens at 9,893, 9,326, 8,436 and 5,941 tokens/s under caps of 350, 300, 250
 * and 200 W, and at 2,549 and 1,390 under 150 and 100. */
#include <math.h>

#include "calibration/cost/cost_energy.h"
#include "tests/calibration/calibration_sample.h"

static const char text[] = "schema: profile/1\nname: p\ndevice: d\n"
                           "constants: {gemm-efficiency: 100 %}\n";

static void assert_within(double value, double measured, double tolerance) {
  g_test_message("%.4g for %.4g, %+.1f %%", value, measured, 100 * (value / measured - 1));
  g_assert_cmpfloat(fabs(value / measured - 1), <=, tolerance);
}

static OrrOperator product_of(const OrrDevice *device) {
  OrrOperator op = orr_operator_gemm("g", ORR_PASS_FORWARD, ORR_BF16, (OrrGemmShape){1, 1, 1, 1});
  op.flops = device->bf16_flops;
  return op;
}

/* Watts of a second of products at the peak, at @clock of the full one. */
static double product_w(OrrDevice device, double clock) {
  g_autoptr(OrrProfile) profile = sample_profile(text);
  device.power.clock = clock;
  g_autoptr(OrrCostModel) model = model_of(profile, &device);
  const OrrOperator op = product_of(&device);
  const double joules = orr_joules_sum(orr_cost_energy_operator(model, &op, 1 / clock));
  return orr_device_power_static_w(&device.power) + joules * clock;
}

/* Everything from the row of 1350 MHz and the lowest voltage; the two others are predicted. */
static void test_locked_clocks(void) {
  OrrDevice device = round_device;
  const double full = 1410, at = 1350 / full;
  device.tdp_watts = 300;
  device.power = (OrrDevicePower){.static_w = 34,
                                  .tensor_w = (174.6 - 34) / (at * at * at),
                                  .memory_j_per_byte = 50e-12,
                                  .voltage_floor = 0.78};
  assert_within(product_w(device, 1200 / full), 130.6, 0.02);
  assert_within(product_w(device, 1400 / full), 197.6, 0.05);
  /* below the floor, as at the lowest voltage: what it draws falls with the clock alone */
  const double half_w = product_w(device, 0.5) - 34, floor_w = product_w(device, 0.78) - 34;
  assert_near(half_w / floor_w, 0.5 / 0.78, 1e-12);
  assert_within(floor_w + 34, 34 + 0.072 * 0.78 * full, 0.03);
}

/* What a cap leaves above 87 W of static power, with a voltage that stays below 0.85 of the clock:
 * the two constants are found from the rows, one of them for all rows. */
static void test_caps(void) {
  static const struct {
    double cap_w, tokens_per_s, tolerance;
  } rows[] = {{300, 9326, 0.02}, {250, 8436, 0.02}, {200, 5941, 0.02}, {150, 2549, 0.3}};
  for (guint i = 0; i < G_N_ELEMENTS(rows); i++) {
    OrrDevice device = round_device;
    g_autoptr(OrrProfile) profile = sample_profile(text);
    device.tdp_watts = 350;
    device.power = (OrrDevicePower){.static_w = 87,
                                    .tensor_w = 350 - 87,
                                    .memory_j_per_byte = 50e-12,
                                    .cap_w = rows[i].cap_w,
                                    .voltage_floor = 0.85};
    g_autoptr(OrrCostModel) model = model_of(profile, &device);
    const double clock = orr_cost_clock(model, ORR_BF16, device.bf16_flops, 1);
    assert_within(9893 * clock, rows[i].tokens_per_s, rows[i].tolerance);
  }
}

/* The clock at a fraction of the dynamic power and the power at that clock are inverse to each
 * other, and meet at the floor. */
static void test_inverse(void) {
  for (double lowest = 0; lowest <= 1; lowest += 0.2) {
    const OrrDevicePower power = {.voltage_floor = lowest};
    for (double fraction = 0.05; fraction <= 1; fraction += 0.05) {
      const double clock = orr_device_power_clock_at(&power, fraction);
      const double voltage = orr_device_power_voltage(&power, clock);
      assert_near(clock * voltage * voltage, fraction, 1e-12);
    }
  }
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/power-curves/locked-clocks", test_locked_clocks);
  g_test_add_func("/power-curves/caps", test_caps);
  g_test_add_func("/power-curves/inverse", test_inverse);
  return g_test_run();
}

/* test_cost_energy.c - the energy of operators in closed form, and the board's limit. */
#include <math.h>

#include "calibration/cost/cost_energy.h"
#include "tests/calibration/calibration_sample.h"

static const char text[] = "schema: profile/1\nname: p\ndevice: d\n";

/* 100 W always, 50 W while a kernel runs, 30 W more where all multiprocessors work, 800 W of tensor
 * cores at 1e14 FLOP/s, 200 pJ for a byte of memory and 120 pJ for its way over the chip. */
static OrrDevice device_of(double tdp_watts) {
  OrrDevice device = round_device;
  device.tdp_watts = tdp_watts;
  device.power = (OrrDevicePower){.static_w = 100,
                                  .active_w = 50,
                                  .simt_w = 30,
                                  .tensor_w = 800,
                                  .memory_j_per_byte = 200e-12,
                                  .on_chip_j_per_byte = 120e-12,
                                  .scale_up_j_per_byte = 400e-12};
  return device;
}

static OrrOperator product(double m, double flops) {
  OrrOperator op = orr_operator_gemm("g", ORR_PASS_FORWARD, ORR_BF16, (OrrGemmShape){1, 1, 1, 1});
  op.gemm.m = (gint64)m;
  op.flops = flops;
  op.bytes = 0;
  return op;
}

/* One second at the peak: 50 J for the kernel and 800 J for the tensor cores. */
static void test_peak(void) {
  const OrrDevice device = device_of(0);
  g_autoptr(OrrProfile) profile = sample_profile(text);
  g_autoptr(OrrCostModel) model = model_of(profile, &device);
  const OrrOperator wide = product(1e15, 1e14);
  assert_near(orr_cost_energy_operator(model, &wide, 1).compute, 850, 1e-9);
  assert_near(orr_cost_energy_busy(model, 2).compute, 2 * 80, 1e-12);
  g_assert_cmpfloat(orr_cost_energy_operator(model, &wide, 1).memory, ==, 0);
}

/* 1e12 bytes are 200 J of memory and 120 J on the chip, whatever time they take; so are links'
 * bytes, 400 J, and twice the bytes of memory. */
static void test_bytes(void) {
  const OrrDevice device = device_of(0);
  g_autoptr(OrrProfile) profile = sample_profile(text);
  g_autoptr(OrrCostModel) model = model_of(profile, &device);
  const OrrOperator copy = orr_operator_memory("copy", ORR_PASS_FORWARD, ORR_BF16, 1e12, 1e12);
  for (double time_s = 1; time_s <= 4; time_s *= 2) {
    const OrrJoules joules = orr_cost_energy_operator(model, &copy, time_s);
    assert_near(joules.memory, 200, 1e-12);
    assert_near(joules.compute, 120 + 50 * time_s, 1e-12);
    assert_near(orr_cost_energy_link(model, 1e12, time_s).network, 400 + 640 + 50 * time_s, 1e-12);
  }
}

/* 1e6 x 1e6 weights of half a byte that the tensor cores lack take 1.5 bytes more in 16 bits, for
 * half of their way: 0.75 of 120 J on top of the 120 J of 1e12 bytes. A format that they have, and
 * weights of 16 bits, take no more. */
static void test_widened(void) {
  OrrDevice device = device_of(0), without = device_of(0);
  device.fp4_flops = 4e14;
  g_autoptr(OrrProfile) profile = sample_profile(text);
  g_autoptr(OrrCostModel) model = model_of(profile, &device);
  g_autoptr(OrrCostModel) widens = model_of(profile, &without);
  OrrOperator op = product(1, 0);
  op.gemm.n = op.gemm.k = 1000000;
  op.bytes = 1e12;
  assert_near(orr_cost_energy_operator(widens, &op, 1).compute, 120 + 50, 1e-12);
  op.gemm.stored.weight_bytes = 0.5;
  assert_near(orr_cost_energy_operator(model, &op, 1).compute, 120 + 50, 1e-12);
  assert_near(orr_cost_energy_operator(widens, &op, 1).compute, 210 + 50, 1e-12);
  g_assert_cmpfloat(orr_cost_energy_operator(widens, &op, 1).memory, ==,
                    orr_cost_energy_operator(model, &op, 1).memory);
}

/* A kernel that takes no time, and a device without known figures. */
static void test_nothing(void) {
  OrrDevice device = device_of(500);
  g_autoptr(OrrProfile) profile = sample_profile(text);
  g_autoptr(OrrCostModel) model = model_of(profile, &device);
  OrrDevice without = device;
  without.power = (OrrDevicePower){0};
  g_autoptr(OrrCostModel) unknown = model_of(profile, &without);
  const OrrOperator op = product(4096, 1e14);
  g_assert_cmpfloat(orr_joules_sum(orr_cost_energy_operator(model, &op, 0)), ==, 0);
  g_assert_true(orr_cost_energy_is_known(model));
  g_assert_false(orr_cost_energy_is_known(unknown));
  g_assert_cmpfloat(orr_joules_sum(orr_cost_energy_operator(unknown, &op, 1)), ==, 0);
}

/* 500 W leave 400 W for work: 850 J of one second become 400 J, 850 J of three seconds remain, and
 * the kinds keep their proportions. */
static void test_limited(void) {
  const OrrDevice device = device_of(500);
  g_autoptr(OrrProfile) profile = sample_profile(text);
  g_autoptr(OrrCostModel) model = model_of(profile, &device);
  const OrrJoules wanted = {600, 200, 50};
  const OrrJoules second = orr_cost_energy_limited(model, wanted, 1);
  assert_near(orr_joules_sum(second), 400, 1e-12);
  assert_near(second.compute / second.memory, 3, 1e-12);
  g_assert_cmpfloat(orr_joules_sum(orr_cost_energy_limited(model, wanted, 3)), ==, 850);
}

/* 100 W are left for a copy at 1 TB/s that wants 200 W of memory and, at half the clock, 50 / 8 W
 * of the running kernel: it takes 2.0625 times as long. 300 W are enough, and it keeps its time. */
static void test_stretch(void) {
  g_autoptr(OrrProfile) profile = sample_profile(text);
  const OrrDevice low = device_of(200), high = device_of(400);
  g_autoptr(OrrCostModel) capped = model_of(profile, &low);
  g_autoptr(OrrCostModel) model = model_of(profile, &high);
  const OrrJoules joules = {.compute = 50, .memory = 200};
  assert_near(orr_cost_energy_stretch(capped, joules, 1), 2.0625, 1e-12);
  g_assert_cmpfloat(orr_cost_energy_stretch(model, joules, 1), ==, 1);
  const OrrOperator copy = orr_operator_memory("copy", ORR_PASS_FORWARD, ORR_BF16, 1e12, 0);
  g_assert_cmpfloat(orr_cost_sustained(model, &copy).time_s, ==,
                    orr_cost_operator(model, &copy).time_s);
  g_assert_cmpfloat(orr_cost_sustained(capped, &copy).time_s, >,
                    1.5 * orr_cost_operator(capped, &copy).time_s);
}

/* The lower the limit, the longer a product takes and the less it draws; under one that binds the
 * tensor cores draw what it leaves: energy falls as the square of the clock while time grows as its
 * inverse (cost_power.c). That is the shape of published curves: power capping costs little time
 * at first. */
static void test_caps(void) {
  g_autoptr(OrrProfile) profile = sample_profile(text);
  OrrOperator op =
      orr_operator_gemm("g", ORR_PASS_FORWARD, ORR_BF16, (OrrGemmShape){1, 16384, 16384, 16384});
  double last_s = INFINITY, last_w = 0;
  for (double tdp = 250; tdp <= 900; tdp += 50) {
    const OrrDevice device = device_of(tdp);
    g_autoptr(OrrCostModel) model = model_of(profile, &device);
    const double time_s = orr_cost_sustained(model, &op).time_s;
    const OrrJoules joules =
        orr_cost_energy_limited(model, orr_cost_energy_operator(model, &op, time_s), time_s);
    const double power_w = 100 + orr_joules_sum(joules) / time_s;
    g_assert_cmpfloat(time_s, <=, last_s);
    g_assert_cmpfloat(power_w, >=, last_w * (1 - 1e-9));
    g_assert_cmpfloat(power_w, <=, tdp * (1 + 1e-9));
    last_s = time_s;
    last_w = power_w;
  }
}

/* Locked to p of the full clock, a product at its peak takes 1/p as long; its FLOPs take p^2 of
 * their energy, and the running kernel p^3 of its power. A copy keeps its time down to half the
 * clock. A kernel that needs 0.8 of its memory time for its FLOPs is held up below 0.8. */
static void test_clock(void) {
  g_autoptr(OrrProfile) profile = sample_profile(text);
  OrrDevice device = device_of(0);
  g_autoptr(OrrCostModel) full = model_of(profile, &device);
  const double bandwidth = device.memory_bytes_per_s;
  OrrOperator big = product(1e15, 1e14), copy = product(1e15, 0), mixed = product(1e15, 0.8e14);
  copy.bytes = mixed.bytes = bandwidth;
  for (double p = 0.5; p <= 1; p += 0.1) {
    OrrDevice slow = device;
    slow.power.clock = p;
    g_autoptr(OrrCostModel) model = model_of(profile, &slow);
    const OrrCost second = {1, ORR_HOW_MEASURED};
    assert_near(orr_cost_limited(model, &big, second).time_s, 1 / p, 1e-12);
    assert_near(orr_cost_limited(model, &copy, second).time_s, 1, 1e-12);
    assert_near(orr_cost_limited(model, &mixed, second).time_s, fmax(0.8 / p, 1), 1e-12);
    assert_near(orr_cost_energy_operator(model, &big, 1 / p).compute, (800 + 50) * p * p, 1e-9);
    assert_near(orr_cost_energy_operator(model, &copy, 1).compute,
                50 * p * p * p + 120e-12 * bandwidth * p * p, 1e-9);
    g_assert_cmpfloat(orr_cost_energy_operator(model, &copy, 1).memory, ==,
                      orr_cost_energy_operator(full, &copy, 1).memory);
  }
}

/* With a voltage that stays below 0.8 of the clock, FLOPs and bytes take 0.64 of their energy at
 * every lower clock; the running kernel and the sampler fall with the clock. */
static void test_voltage_floor(void) {
  g_autoptr(OrrProfile) profile = sample_profile(text);
  OrrDevice device = device_of(0);
  device.power.voltage_floor = 0.8;
  OrrOperator copy = product(1e15, 0);
  copy.bytes = 1e12;
  for (double p = 0.5; p <= 0.8; p += 0.1) {
    device.power.clock = p;
    g_autoptr(OrrCostModel) model = model_of(profile, &device);
    const OrrOperator big = product(1e15, 1e14);
    assert_near(orr_cost_energy_operator(model, &big, 1 / p).compute, (800 + 50) * 0.64, 1e-9);
    assert_near(orr_cost_energy_operator(model, &copy, 1).compute, 0.64 * (50 * p + 120), 1e-9);
    assert_near(orr_cost_energy_busy(model, 1).compute, 80 * 0.64 * p, 1e-12);
    assert_near(orr_cost_energy_busy_stretch(model), 1 / p, 1e-12);
  }
}

/* Sorts want 80 W. A limit that leaves 40 W of it has them at the clock of half the power. */
static void test_busy_stretch(void) {
  g_autoptr(OrrProfile) profile = sample_profile(text);
  const OrrDevice low = device_of(140), high = device_of(180);
  OrrDevice floored = low;
  floored.power.voltage_floor = 0.9;
  g_autoptr(OrrCostModel) capped = model_of(profile, &low);
  g_autoptr(OrrCostModel) model = model_of(profile, &high);
  g_autoptr(OrrCostModel) stiff = model_of(profile, &floored);
  assert_near(orr_cost_energy_busy_stretch(capped), cbrt(2), 1e-12);
  g_assert_cmpfloat(orr_cost_energy_busy_stretch(model), ==, 1);
  assert_near(orr_cost_energy_busy_stretch(stiff), 0.81 / 0.5, 1e-12);
}

/* A board that draws 60 W idle keeps an eighth of the other 40 W at half the clock. */
static void test_static(void) {
  OrrDevice device = device_of(0);
  device.power.clock = 0.5;
  g_assert_cmpfloat(orr_device_power_static_w(&device.power), ==, 100); /* idle is unknown */
  device.power.idle_w = 60;
  assert_near(orr_device_power_static_w(&device.power), 65, 1e-12);
  device.power.clock = 1;
  g_assert_cmpfloat(orr_device_power_static_w(&device.power), ==, 100);
}

/* The lower of the cap and the board's own limit holds. */
static void test_cap(void) {
  OrrDevice device = device_of(500);
  g_assert_cmpfloat(orr_device_power_limit_w(&device.power, 500), ==, 500);
  device.power.cap_w = 300;
  g_assert_cmpfloat(orr_device_power_limit_w(&device.power, 500), ==, 300);
  g_assert_cmpfloat(orr_device_power_limit_w(&device.power, 0), ==, 300);
  device.power.cap_w = 600;
  g_assert_cmpfloat(orr_device_power_limit_w(&device.power, 500), ==, 500);
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/cost-energy/peak", test_peak);
  g_test_add_func("/cost-energy/bytes", test_bytes);
  g_test_add_func("/cost-energy/widened", test_widened);
  g_test_add_func("/cost-energy/nothing", test_nothing);
  g_test_add_func("/cost-energy/limited", test_limited);
  g_test_add_func("/cost-energy/stretch", test_stretch);
  g_test_add_func("/cost-energy/caps", test_caps);
  g_test_add_func("/cost-energy/clock", test_clock);
  g_test_add_func("/cost-energy/voltage-floor", test_voltage_floor);
  g_test_add_func("/cost-energy/busy-stretch", test_busy_stretch);
  g_test_add_func("/cost-energy/static", test_static);
  g_test_add_func("/cost-energy/cap", test_cap);
  return g_test_run();
}

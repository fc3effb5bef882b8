/*
 * cost_energy.c - the dynamic energy of an operator, from its FLOPs, its bytes and its time.
 *
 * With t the operator's time at the clock p that the board's limit leaves, and f = FLOPs / (peak t)
 * the fraction of the peak that it reaches then, the one at full clock is u = f / p, and by
 * cost_power.c
 *
 *   tensor power = tensor u p^3 = tensor f p^2 <= limit - static
 *
 * so that energy needs no clock of its own:
 *
 *   compute = active t + min(tensor f, limit - static) t + on-chip * widened bytes
 *   memory  = joules per byte * bytes
 *   network = joules per byte * bytes sent, and what device memory takes for them
 *
 * The way of a byte from the memory's controllers to the registers takes as much as the memory
 * itself (device documents): kernels that wait for memory draw power in proportion to the bandwidth
 * that they reach, so small kernels draw little and full ones most of what is left.
 *
 * A weight in a format that the tensor cores lack (mxfp4 on an H100) is widened to 16 bits in
 * registers, and walks the second half of that way, through shared memory into the tensor cores, in
 * 16 bits. That it is a half is an assumption.
 *
 * A collective reads each byte that it sends from device memory, and its peer writes it: two bytes
 * of memory for each one sent.
 *
 * At locked clocks (a fraction p of the full one, at the voltage v: device.h) a FLOP, or a
 * byte on the chip, takes v^2 of its energy; `active` and `simt` fall with p v^2.
 *
 * The limit holds for the sum of what a board does (orr_cost_energy_limited). Kernels that wait for
 * memory keep their time as the clock falls, and their work on the chip takes the square of the
 * voltage of its energy, down to half the clock (an assumption). Where that is still too much, all
 * takes longer (orr_cost_energy_stretch).
 */
#include "calibration/cost/cost_energy.h"

#include "calibration/cost/cost_private.h"

/* Of the way of a byte on the chip, the part beyond the registers. */
static const double widened_part = 0.5;

gboolean orr_cost_energy_is_known(const OrrCostModel *model) {
  return orr_device_power_is_known(&model->device->power);
}

double orr_cost_energy_limit_w(const OrrCostModel *model) {
  return orr_device_power_limit_w(&model->device->power, model->device->tdp_watts);
}

/* The locked clock as a fraction of the full one. */
static double clock_of(const OrrCostModel *model) {
  const double clock = model->device->power.clock;
  return clock > 0 ? clock : 1;
}

/* What a FLOP or a byte on the chip takes at @clock, of its energy at full clock. */
static double squared_voltage(const OrrCostModel *model, double clock) {
  const double voltage = orr_device_power_voltage(&model->device->power, clock);
  return voltage * voltage;
}

/* Watts that the board's limit leaves for work at @clock. */
static double left_w(const OrrCostModel *model, double clock) {
  const double limit = orr_cost_energy_limit_w(model);
  const double static_w = orr_device_power_static_at_w(&model->device->power, clock);
  return limit > 0 ? fmax(limit - static_w, 0) : INFINITY;
}

/* Seconds at the peak rate of the tensor cores. */
static double peak_seconds(const OrrCostModel *model, const OrrOperator *op) {
  if (op->kind == ORR_OPERATOR_MEMORY || op->kind == ORR_OPERATOR_COMM) return 0;
  return op->flops / model->peak_flops[model->has_peak[op->dtype] ? op->dtype : ORR_BF16];
}

/* Weights of a product or of the routed experts that get tokens, and the bytes of each. */
static double weights_of(const OrrOperator *op, double *ret_each) {
  const double element = orr_dtype_bytes((OrrDtype)op->dtype);
  const OrrGemmShape *gemm = &op->gemm;
  const OrrMoeShape *moe = &op->moe;
  double pairs, awake;
  *ret_each = 2;
  if (op->kind == ORR_OPERATOR_GEMM) {
    *ret_each = gemm->stored.weight_bytes > 0 ? gemm->stored.weight_bytes : element;
    return (double)gemm->batch * (double)gemm->k * (double)gemm->n;
  }
  if (op->kind != ORR_OPERATOR_MOE) return 0;
  *ret_each = moe->stored.weight_bytes > 0 ? moe->stored.weight_bytes : element;
  orr_cost_moe_load(moe, &pairs, &awake);
  return awake * orr_moe_products(moe) * (double)moe->hidden * (double)moe->inter / (double)moe->tp;
}

/* Bytes that walk the chip: a format that the device lacks is widened on its way. */
static double walked_bytes(const OrrCostModel *model, const OrrOperator *op) {
  double each;
  const double weights = weights_of(op, &each);
  if (each >= 2 || model->has_peak[each < 1 ? ORR_FP4 : ORR_FP8]) return op->bytes;
  return op->bytes + widened_part * weights * (2 - each);
}

/* What a kernel that runs takes at the locked clock, of its power at full clock. */
static double running(const OrrCostModel *model) {
  return clock_of(model) * squared_voltage(model, clock_of(model));
}

OrrJoules orr_cost_energy_operator(const OrrCostModel *model, const OrrOperator *op,
                                   double time_s) {
  const OrrDevicePower *power = &model->device->power;
  if (time_s <= 0 || !orr_device_power_is_known(power)) return (OrrJoules){0};
  const double square = squared_voltage(model, clock_of(model));
  const double tensor_j = fmin(power->tensor_w * square * peak_seconds(model, op),
                               left_w(model, clock_of(model)) * time_s);
  const double on_chip_j = power->on_chip_j_per_byte * square * walked_bytes(model, op);
  return (OrrJoules){.compute = power->active_w * running(model) * time_s + tensor_j + on_chip_j,
                     .memory = power->memory_j_per_byte * op->bytes};
}

OrrJoules orr_cost_energy_busy(const OrrCostModel *model, double time_s) {
  const OrrDevicePower *power = &model->device->power;
  if (time_s <= 0 || !orr_device_power_is_known(power)) return (OrrJoules){0};
  return (OrrJoules){.compute = (power->active_w + power->simt_w) * running(model) * time_s};
}

double orr_cost_energy_busy_stretch(const OrrCostModel *model) {
  const OrrDevicePower *power = &model->device->power;
  const double wanted_w = power->active_w + power->simt_w, left = left_w(model, 1);
  if (!orr_device_power_is_known(power)) return 1 / clock_of(model);
  const double reached = wanted_w > left ? orr_device_power_clock_at(power, left / wanted_w) : 1;
  return 1 / fmax(fmin(reached, clock_of(model)), ORR_COST_ENERGY_SLOWEST_CLOCK);
}

OrrJoules orr_cost_energy_link(const OrrCostModel *model, double bytes, double time_s) {
  return (OrrJoules){.network = orr_device_power_link_j(&model->device->power, bytes, time_s)};
}

double orr_cost_energy_stretch(const OrrCostModel *model, OrrJoules joules, double time_s) {
  const double clock = clock_of(model), least = fmin(ORR_COST_ENERGY_LEAST_CLOCK, clock);
  const double lower = squared_voltage(model, least) / squared_voltage(model, clock);
  const double active_w = model->device->power.active_w * running(model);
  const double active_j = fmin(active_w * time_s, joules.compute);
  const double most_j = left_w(model, least) * time_s;
  const double compute_j = (joules.compute - active_j * (1 - least / clock)) * lower;
  const double least_j = joules.memory + joules.network + compute_j;
  return most_j > 0 && least_j > most_j ? least_j / most_j : 1;
}

OrrJoules orr_cost_energy_limited(const OrrCostModel *model, OrrJoules joules, double time_s) {
  const double most_j = left_w(model, clock_of(model)) * fmax(time_s, 0);
  const double sum_j = orr_joules_sum(joules);
  OrrJoules limited = {0};
  if (sum_j <= most_j) return joules;
  orr_joules_add(&limited, joules, most_j / sum_j);
  return limited;
}

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
 *   narrow  = 1 / (1 + m / 512)
 *   compute = active t + min(tensor f, limit - static) (1 + narrow) t
 *   memory  = joules per byte * bytes
 *   network = joules per byte * bytes sent
 *
 * At locked clocks (a fraction p of the full one) a FLOP takes p^2 of its energy, by its voltage,
 * and `active` falls with the cube of p; static power stays.
 *
 * narrow: a product of m rows reads each weight through the caches into the tensor cores for m rows
 * alone, and small tiles read the rows again and again. The tensor power of a device is that of the
 * largest products, whose tiles share both. A product of few rows takes about twice the energy per
 * FLOP: least error over the watts of full servers on H100 (1.96) and on B200 (1.94), found apart
 * (docs/modelling/energy.md); 512 is where half of that is left, an assumption (256 to 2,048 fit
 * alike). Of routed experts m is the rows of one expert. A format that the device lacks is widened
 * to 16 bits.
 *
 * The limit holds for the sum of what a board does (orr_cost_energy_limited). Kernels that wait for
 * memory keep their time as the clock falls and the multiprocessors' power with its cube, down to
 * half the clock (an assumption: clocks locked low save up to a third of a decode's energy at
 * little loss of rate, arXiv 2605.11999, H200). Where that is still too much, all takes longer
 * (orr_cost_energy_stretch).
 */
#include "calibration/cost/cost_energy.h"

#include <math.h>

#include "calibration/cost/cost_private.h"

static const double half_narrow_rows = 512;

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

/* Watts that the board's limit leaves for work. */
static double left_w(const OrrCostModel *model) {
  const double limit = orr_cost_energy_limit_w(model);
  return limit > 0 ? fmax(limit - model->device->power.static_w, 0) : INFINITY;
}

/* Seconds at the peak rate of the tensor cores. */
static double peak_seconds(const OrrCostModel *model, const OrrOperator *op) {
  if (op->kind == ORR_OPERATOR_MEMORY || op->kind == ORR_OPERATOR_COMM) return 0;
  return op->flops / model->peak_flops[model->has_peak[op->dtype] ? op->dtype : ORR_BF16];
}

/* Rows that share a weight; attention's products are as wide as its tiles. */
static double rows_of(const OrrOperator *op) {
  if (op->kind == ORR_OPERATOR_GEMM) return (double)op->gemm.m;
  if (op->kind != ORR_OPERATOR_MOE) return INFINITY;
  double pairs = 0, awake = 0;
  orr_cost_moe_load(&op->moe, &pairs, &awake);
  return fmax(pairs / fmax(awake, 1), 1);
}

OrrJoules orr_cost_energy_operator(const OrrCostModel *model, const OrrOperator *op,
                                   double time_s) {
  const OrrDevicePower *power = &model->device->power;
  if (time_s <= 0 || !orr_device_power_is_known(power)) return (OrrJoules){0};
  const double rows = rows_of(op), narrow = 1 / (1 + rows / half_narrow_rows);
  const double clock = clock_of(model), peak_s = peak_seconds(model, op);
  const double tensor_j = fmin(power->tensor_w * clock * clock * peak_s, left_w(model) * time_s);
  const double active_j = power->active_w * clock * clock * clock * time_s;
  return (OrrJoules){.compute = active_j + (1 + narrow) * tensor_j,
                     .memory = power->memory_j_per_byte * op->bytes};
}

OrrJoules orr_cost_energy_link(const OrrCostModel *model, double bytes, double time_s) {
  const OrrDevicePower *power = &model->device->power;
  if (time_s <= 0 || !orr_device_power_is_known(power)) return (OrrJoules){0};
  const double clock = clock_of(model), active_w = power->active_w * clock * clock * clock;
  return (OrrJoules){.network = active_w * time_s + power->scale_up_j_per_byte * bytes};
}

double orr_cost_energy_stretch(const OrrCostModel *model, OrrJoules joules, double time_s) {
  const double most_j = left_w(model) * time_s;
  const double lower = fmin(ORR_COST_ENERGY_LEAST_CLOCK / clock_of(model), 1);
  const double least_j = joules.memory + joules.network + joules.compute * lower * lower * lower;
  return most_j > 0 && least_j > most_j ? least_j / most_j : 1;
}

OrrJoules orr_cost_energy_limited(const OrrCostModel *model, OrrJoules joules, double time_s) {
  const double most_j = left_w(model) * fmax(time_s, 0), sum_j = orr_joules_sum(joules);
  OrrJoules limited = {0};
  if (sum_j <= most_j) return joules;
  orr_joules_add(&limited, joules, most_j / sum_j);
  return limited;
}

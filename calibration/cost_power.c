/*
 * cost_power.c - what the board's power limit leaves of a kernel's rate when such kernels go on for long.
 *
 * What the rows of a profile multiply draws little power: calls of 0.1 s run at the rate of short ones. In a training
 * step, and in the prefill of a prompt, products of random-like data follow one another. With u the share of the format's peak that the row reaches, and
 * p the clock in that of the row,
 *
 *   P(p) = static + tensor u p^3 <= limit       p = min(1, ((limit - static) / (tensor u))^(1/3))       t = row / p
 *
 * Dynamic power is rate times voltage squared, and near the top of its range the voltage rises with the clock: the
 * cube. `static-power` and `tensor-power` are the profile's, `tdp` the device's, so that `--set
 * cluster.device.tdp=500W` caps the board. What waits for memory has a small u and keeps its time: the memory's clock
 * does not fall.
 *
 * Valid for one kind of data (random, normally distributed): zeros and small integers draw less. A step's idle stretches
 * (bubbles, communication) do not lend power to what follows: the regulator averages over milliseconds.
 */
#include <math.h>

#include "calibration/cost_private.h"

static const double least_clock = 0.1; /* where a limit leaves less than what the board draws idle */

double orr_cost_clock(const OrrCostModel *model, OrrDtype dtype, double flops_per_s) {
  const OrrProfileConstants *constants = model->constants;
  double used = flops_per_s / model->peak_flops[dtype], limit = model->device->tdp_watts;
  double wanted_w = constants->tensor_power_w * used, left_w = limit - constants->static_power_w;
  if (limit <= 0 || wanted_w <= left_w) return 1;
  return fmax(cbrt(left_w / wanted_w), least_clock);
}

OrrCost orr_cost_limited(const OrrCostModel *model, const OrrOperator *op, OrrCost burst) {
  if (op->kind == ORR_OPERATOR_MEMORY || burst.time_s <= 0) return burst;
  double clock = orr_cost_clock(model, (OrrDtype)op->dtype, op->flops / burst.time_s);
  return (OrrCost){burst.time_s / clock, burst.how};
}

OrrCost orr_cost_sustained(const OrrCostModel *model, const OrrOperator *op) {
  return orr_cost_limited(model, op, orr_cost_operator(model, op));
}

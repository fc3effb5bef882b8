/*
 * cost_power.c - what the board's power limit leaves of a kernel's rate when such kernels go on for
 * long.
 *
 * What the rows of a profile multiply draws little power: calls of 0.1 s run at the rate of short
 * ones. In a training step, and in the prefill of a prompt, products of random-like data follow one
 * another. With u the fraction of the format's peak that the row reaches, and p the clock relative
 * to the row's,
 *
 *   P(p) = static + tensor u p^3 <= limit       p = min(1, ((limit - static) / (tensor u))^(1/3))
 *                                               t = row / p
 *
 * Dynamic power is rate times voltage squared, and near the top of its range the voltage rises with
 * the clock: hence the cube. Below the clock `power.voltage-floor`, f, the voltage stays, and power
 * falls as p f^2 only. `power.static`, `power.tensor` and `tdp` are the device's;
 * `--set cluster.device.power.cap=500W` caps the board. A kernel that waits for memory has a small
 * u and keeps its time: the memory's clock does not fall.
 *
 * Boards of one kind differ: under power management some need more power for the same work. A job's
 * ranks meet in every step, and all but the slowest wait. So with n GPUs (an operator's `fleet`)
 * and s the standard deviation of their speeds (speed-spread; 3 s for their power, by the cube)
 *
 *   tensor of the worst = tensor (1 + 3 s E[max of n standard normal draws])
 *
 * Sinha et al. 2022 (arXiv 2208.11035; five centres, V100 and MI60, over 18,800 hours) find 8 %
 * between equal boards on average (22 % at most). Read as the span of a box plot's whiskers, 5.4
 * standard deviations, that is 1.5 %. Eight H200 of one node, and eight B200, differ by 0.9 %
 * (their profiles): no figure spans the nodes of a cluster there.
 *
 * Locked clocks (`power.clock`, a fraction p of the full clock) slow what the multiprocessors take
 * and not what the memory takes. With u and m the fractions of the format's peak and of the
 * memory's bandwidth that the kernel reaches at full clock, the multiprocessors hold it up below
 * the clock u / m:
 *
 *   t = row max(1, critical / p)        critical = min(max(u / m, 1/2), 1)
 *
 * Half the clock is an assumption: below it memory cannot be kept busy. Clocks are the lower of the
 * locked ones and those that the limit leaves: under both a kernel takes the longer of its times.
 *
 * Valid for one kind of data (random, normally distributed): zeros and small integers draw less
 * power. A step's idle intervals (bubbles, communication) do not lend power to what follows: the
 * regulator averages over milliseconds.
 */
#include "calibration/cost/cost_energy.h"
#include "calibration/cost/cost_private.h"

/* E[max of n] of standard normal draws: the normal quantile at (n - 3/8) / (n + 1/4) (Blom
 * 1958), by bisection. */
static double find_worst(gint64 n) {
  const double fraction = ((double)n - 0.375) / ((double)n + 0.25);
  double low = 0, high = 8;
  for (int i = 0; i < 50; i++) {
    const double middle = (low + high) / 2;
    *(1 - erfc(middle * M_SQRT1_2) / 2 < fraction ? &low : &high) = middle;
  }
  return low;
}

/* The same; it is kept, since a job asks for one n with each of its products. */
static double worst_of(gint64 n) {
  static _Thread_local gint64 known_n;
  static _Thread_local double known;
  if (n <= 1) return 0;
  if (n != known_n) known = find_worst(known_n = n);
  return known;
}

double orr_cost_clock(const OrrCostModel *model, OrrDtype dtype, double flops_per_s, gint64 fleet) {
  const OrrProfileConstants *constants = model->constants;
  double used = flops_per_s / model->peak_flops[dtype], limit = orr_cost_energy_limit_w(model);
  double worst = 1 + 3 * constants->speed_spread * worst_of(fleet);
  const OrrDevicePower *power = &model->device->power;
  double wanted_w = power->tensor_w * used * worst, left_w = limit - power->static_w;
  if (limit <= 0 || wanted_w <= left_w) return 1;
  return fmax(orr_device_power_clock_at(power, fmax(left_w / wanted_w, 0)),
              ORR_COST_ENERGY_SLOWEST_CLOCK);
}

/* How many times as long a kernel takes at locked clocks as at full ones. */
static double locked_stretch(const OrrCostModel *model, const OrrOperator *op) {
  const double clock = model->device->power.clock;
  if (!(clock > 0 && clock < 1)) return 1;
  const double compute_s =
      op->kind == ORR_OPERATOR_MEMORY ? 0 : op->flops / model->peak_flops[op->dtype];
  const double memory_s = op->bytes / model->device->memory_bytes_per_s;
  const double critical =
      memory_s > 0 ? fmin(fmax(compute_s / memory_s, ORR_COST_ENERGY_LEAST_CLOCK), 1) : 1;
  return fmax(critical / clock, 1);
}

OrrCost orr_cost_limited(const OrrCostModel *model, const OrrOperator *op, OrrCost burst) {
  if (burst.time_s <= 0) return burst;
  const double clock =
      op->kind == ORR_OPERATOR_MEMORY
          ? 1
          : orr_cost_clock(model, (OrrDtype)op->dtype, op->flops / burst.time_s, op->fleet);
  return (OrrCost){burst.time_s * fmax(1 / clock, locked_stretch(model, op)), burst.how};
}

OrrCost orr_cost_among(const OrrCostModel *model, const OrrOperator *op) {
  return orr_cost_limited(model, op, orr_cost_operator(model, op));
}

/* @burst under the limit alone, all its power counted. */
static double capped_s(const OrrCostModel *model, const OrrOperator *op, OrrCost burst) {
  OrrDevice device = *model->device;
  OrrCostModel unlocked = *model;
  device.power.clock = 1;
  unlocked.device = &device;
  const double time_s = orr_cost_limited(&unlocked, op, burst).time_s;
  const OrrJoules joules = orr_cost_energy_operator(&unlocked, op, time_s);
  return time_s * orr_cost_energy_stretch(&unlocked, joules, time_s);
}

OrrCost orr_cost_sustained(const OrrCostModel *model, const OrrOperator *op) {
  const OrrCost burst = orr_cost_operator(model, op);
  return (OrrCost){fmax(capped_s(model, op, burst), burst.time_s * locked_stretch(model, op)),
                   burst.how};
}

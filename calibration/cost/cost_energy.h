/*
 * cost_energy.h - what one operator adds to its board's static power.
 *
 * Joules by kind; the board's static power comes on top, for the time that the job holds it
 * (topologies/device.h). What happens at the same time adds up, and the board's limit holds
 * for the sum: callers add the operators of a step or of a stretch of work, and then apply
 * orr_cost_energy_limited to the whole.
 */
#pragma once

#include "calibration/cost/cost.h"

/* By what draws it: multiprocessors with their tensor cores; device memory; links to other devices
 * and to the host. Joules. */
typedef struct {
  double compute, memory, network;
} OrrJoules;

static inline double orr_joules_sum(OrrJoules joules) {
  return joules.compute + joules.memory + joules.network;
}

static inline void orr_joules_add(OrrJoules *sum, OrrJoules joules, double times) {
  sum->compute += times * joules.compute;
  sum->memory += times * joules.memory;
  sum->network += times * joules.network;
}

/* Below this fraction of the full clock multiprocessors no longer keep the memory busy. */
#define ORR_COST_ENERGY_LEAST_CLOCK 0.5

/* The clock, as such a fraction, where the limit is below the board's idle power. */
#define ORR_COST_ENERGY_SLOWEST_CLOCK 0.1

/* The board's limit in force, watts; 0: none is known. */
double orr_cost_energy_limit_w(const OrrCostModel *model);

/* Whether the device has a power model; without one all joules are 0. */
gboolean orr_cost_energy_is_known(const OrrCostModel *model);

/* Of @op, not a COMM, which runs for @time_s. */
OrrJoules orr_cost_energy_operator(const OrrCostModel *model, const OrrOperator *op, double time_s);

/* Of kernels that keep the multiprocessors busy for @time_s without products, such as the sorts of
 * a sampler. */
OrrJoules orr_cost_energy_busy(const OrrCostModel *model, double time_s);

/* How many times as long such kernels take as at full clock: at locked clocks, or under a limit
 * that they would exceed. */
double orr_cost_energy_busy_stretch(const OrrCostModel *model);

/* Of a collective's kernel on one rank: @bytes leave it over its scale-up links in @time_s. */
OrrJoules orr_cost_energy_link(const OrrCostModel *model, double bytes, double time_s);

/* How many times as long work takes that draws @joules in @time_s, under a limit that half the
 * clock does not reach; 1 at the limits of all boards as sold. */
double orr_cost_energy_stretch(const OrrCostModel *model, OrrJoules joules, double time_s);

/* What the board's limit leaves of @joules drawn within @time_s: never more than limit - static on
 * average. All kinds are scaled alike. */
OrrJoules orr_cost_energy_limited(const OrrCostModel *model, OrrJoules joules, double time_s);

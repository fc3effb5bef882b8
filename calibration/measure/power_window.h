/*
 * power_window.h - a kernel's mean power and clocks, from readings while it runs again and again.
 *
 * A board's power needs time to become the kernel's. The sensor reports averages (on A100 and H100
 * it looks at a quarter of the time only, 25 ms of each 100 ms: Yang, Adamek, Armour 2023,
 * "Part-time Power Measurements", arXiv:2312.02741), and a board at its power limit lowers its
 * clock step by step. So:
 *
 *   0 ........ settle_s ..|........ watch_s ........|..
 *              not used   first change      last change of the energy counter
 *
 *   watts = (energy at the last change - energy at the first) / (time between the two)
 *
 * NVML's energy counter (nvmlDeviceGetTotalEnergyConsumption: millijoules since the driver was
 * loaded, Volta and newer) integrates the power whether or not anybody reads it. It moves in steps,
 * so only the moments of its changes are exact: the window goes from one change to another. Where
 * there is no counter, watts are the mean of the power readings in the window. Clocks are the mean
 * of theirs.
 */
#pragma once

#include "sim/base/ground.h"

/* One reading; NAN where it is unknown. */
typedef struct {
  double at_s;            /* since the load began */
  double energy_j, watts; /* the counter; the sensor's own average */
  double sm_clock_hz, memory_clock_hz;
} OrrPowerReading;

typedef struct {
  double settle_s, watch_s;
  double last_energy_j;    /* of the newest reading */
  double first_s, first_j; /* first change of the counter in the window; NAN: none yet */
  double end_s, end_j;     /* the newest change */
  double watts, sm_clock_hz, memory_clock_hz; /* sums */
  guint n, n_watts, n_changes;
} OrrPowerWindow;

OrrPowerWindow orr_power_window_new(double settle_s, double watch_s);

/* TRUE: the window wants more readings. With a counter it ends at the first change after its
 * time is over, or a fifth of a second later. */
gboolean orr_power_window_add(OrrPowerWindow *window, const OrrPowerReading *reading);

/* Means over the window; NAN where nothing is known. */
void orr_power_window_result(const OrrPowerWindow *window, double *ret_watts, double *ret_sm_hz,
                             double *ret_memory_hz);

/*
 * power_window.c - averages power and clocks over the window between two changes of the energy
 * counter.
 */
#include "calibration/measure/power_window.h"

static const double LONGEST_STEP_S = 0.2; /* twice the slowest update of the counter */

OrrPowerWindow orr_power_window_new(double settle_s, double watch_s) {
  return (OrrPowerWindow){.settle_s = settle_s,
                          .watch_s = watch_s,
                          .last_energy_j = NAN,
                          .first_s = NAN,
                          .first_j = NAN,
                          .end_s = NAN,
                          .end_j = NAN};
}

static void take_change(OrrPowerWindow *window, const OrrPowerReading *reading) {
  window->n_changes++;
  window->end_s = reading->at_s;
  window->end_j = reading->energy_j;
  if (!isnan(window->first_s)) return;
  window->first_s = reading->at_s;
  window->first_j = reading->energy_j;
}

static void add_means(OrrPowerWindow *window, const OrrPowerReading *reading) {
  window->n++;
  window->sm_clock_hz += reading->sm_clock_hz;
  window->memory_clock_hz += reading->memory_clock_hz;
  if (isnan(reading->watts)) return;
  window->n_watts++;
  window->watts += reading->watts;
}

gboolean orr_power_window_add(OrrPowerWindow *window, const OrrPowerReading *reading) {
  const double end_s = window->settle_s + window->watch_s;
  const gboolean has_counter = !isnan(reading->energy_j);
  const gboolean changed =
      has_counter && !isnan(window->last_energy_j) && reading->energy_j != window->last_energy_j;
  window->last_energy_j = reading->energy_j;
  if (reading->at_s < window->settle_s) return TRUE;
  add_means(window, reading);
  if (changed) take_change(window, reading);
  if (reading->at_s < end_s) return TRUE;
  return has_counter && !changed && reading->at_s < end_s + LONGEST_STEP_S;
}

void orr_power_window_result(const OrrPowerWindow *window, double *ret_watts, double *ret_sm_hz,
                             double *ret_memory_hz) {
  const double span_s = window->end_s - window->first_s;
  const double read_watts = window->n_watts ? window->watts / window->n_watts : NAN;
  *ret_watts =
      window->n_changes > 1 && span_s > 0 ? (window->end_j - window->first_j) / span_s : read_watts;
  *ret_sm_hz = window->n ? window->sm_clock_hz / window->n : NAN;
  *ret_memory_hz = window->n ? window->memory_clock_hz / window->n : NAN;
}

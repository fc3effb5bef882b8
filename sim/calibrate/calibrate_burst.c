/*
 * calibrate_burst.c - times at the full clock, from times at the clock that a power limit left.
 */
#include "sim/calibrate/calibrate.h"

#include "calibration/measure/family.h"

enum { THROTTLE_POWER = 4 }; /* nvmlClocksEventReasonSwPowerCap */

static gboolean is_power_limited(const OrrMeasureRow *row) {
  if (!(row->sm_clock_hz > 0 && row->sm_clock_hz < 0.99 * row->sm_clock_limit_hz)) return FALSE;
  if (row->harness >= 2) return row->throttle > 0 && (row->throttle & THROTTLE_POWER);
  return row->watts >= 0.95 * row->power_limit_watts; /* FALSE if unknown */
}

static gboolean is_bound_by_arithmetic(const OrrMeasureRow *row, const OrrDevice *device) {
  const OrrMeasureFamily *family = orr_family_find(row->family);
  const OrrBenchFacts facts = {0};
  OrrShape shape;
  if (!family || !(row->flops > 0) || !orr_shape_parse(family, row->shape, &shape, NULL))
    return FALSE;
  const double peak = orr_device_peak_flops(device, family->work(&shape, &facts).dtype);
  return peak > 0 && row->flops / peak > row->bytes / device->memory_bytes_per_s;
}

guint orr_calibrate_burst(GArray *rows, const OrrDevice *device) {
  guint n = 0;
  ORR_EACH(OrrMeasureRow, row, rows) {
    if (!is_power_limited(row) || !is_bound_by_arithmetic(row, device)) continue;
    row->median_us *= row->sm_clock_hz / row->sm_clock_limit_hz;
    row->best_us *= row->sm_clock_hz / row->sm_clock_limit_hz;
    n++;
  }
  return n;
}

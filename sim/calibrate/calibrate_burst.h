/*
 * calibrate_burst.h - brings the times of rows that were measured under a power limit back to the
 * full clock, since a profile's rows come from a cool board: the cost model itself lowers the clock
 * of long work under a limit (calibration/cost/cost_power.c), and would lower it twice.
 *
 * A row counts as power-limited if NVML said so during its timing or, in rows of harness 1, if its
 * watts are within 5 % of the limit, and its clock was more than 1 % below the limit of the clock.
 * Its time is then multiplied by clock / limit if arithmetic bounds it by the device's own rates;
 * memory has its own clock, so other rows are unchanged.
 */
#ifndef ORR_CALIBRATE_BURST_H
#define ORR_CALIBRATE_BURST_H

#include "calibration/measure/measure_row.h"
#include "topologies/device.h"

G_BEGIN_DECLS

/* Changes the times of @rows (OrrMeasureRow) and returns how many were changed. */
guint orr_calibrate_burst(GArray *rows, const OrrDevice *device);

G_END_DECLS

#endif

/*
 * power_swing.c - reads the swing from the means of intervals, which hide what is faster.
 */
#include "sim/run/answer/answer_private.h"

void orr_power_swing(const GArray *powers, double *ret_swing_w, double *ret_ramp_w_per_s) {
  double least = INFINITY, most = -INFINITY, change = NAN, last = NAN;
  ORR_EACH(const OrrPowerRow, row, powers) {
    least = fmin(least, row->watts);
    most = fmax(most, row->watts);
    change = fmax(change, fabs(row->watts - last) / (row->end_s - row->begin_s));
    last = row->watts;
  }
  *ret_swing_w = powers->len > 0 ? most - least : NAN;
  *ret_ramp_w_per_s = change;
}

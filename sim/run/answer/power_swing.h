/*
 * power_swing.h - how far and how fast the power of a job's GPUs moves.
 */
#ifndef ORR_POWER_SWING_H
#define ORR_POWER_SWING_H

#include <glib.h>

G_BEGIN_DECLS

/* Of the rows @powers (OrrPowerRow): the highest less the lowest power, and the largest change
 * between neighbours, per second. NAN where there are too few rows. */
void orr_power_swing(const GArray *powers, double *ret_swing_w, double *ret_ramp_w_per_s);

G_END_DECLS

#endif

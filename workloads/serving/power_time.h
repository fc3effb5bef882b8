/*
 * power_time.h - the joules of a serving run over time, while its length is not yet known.
 *
 * Intervals of equal width begin at 0. When a step ends beyond the last one, neighbours are joined
 * and the width doubles: memory is constant, and a step costs its intervals alone.
 */
#pragma once

#include "calibration/cost/cost_energy.h"

enum { ORR_POWER_TIME_MOST = 2000 }; /* intervals */

typedef struct {
  double width_s;
  guint used; /* intervals up to the last that something was added to */
  OrrJoules joules[ORR_POWER_TIME_MOST];
} OrrPowerTime;

OrrPowerTime *orr_power_time_new(void); /* g_free */

/* Adds @joules, drawn evenly from @from_s to @to_s; both 0 or later. */
void orr_power_time_add(OrrPowerTime *power, double from_s, double to_s, OrrJoules joules);

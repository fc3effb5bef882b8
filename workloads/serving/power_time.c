/*
 * power_time.c - joules in intervals that double in width.
 */
#include "workloads/serving/power_time.h"

static const double first_width_s = 1e-3;

OrrPowerTime *orr_power_time_new(void) {
  OrrPowerTime *power = g_new0(OrrPowerTime, 1);
  power->width_s = first_width_s;
  return power;
}

static void join(OrrPowerTime *power) {
  for (guint i = 0; i < ORR_POWER_TIME_MOST / 2; i++) {
    OrrJoules both = power->joules[2 * i];
    orr_joules_add(&both, power->joules[2 * i + 1], 1);
    power->joules[i] = both;
  }
  for (guint i = ORR_POWER_TIME_MOST / 2; i < ORR_POWER_TIME_MOST; i++)
    power->joules[i] = (OrrJoules){0};
  power->width_s *= 2;
  power->used = (power->used + 1) / 2;
}

void orr_power_time_add(OrrPowerTime *power, double from_s, double to_s, OrrJoules joules) {
  while (to_s >= power->width_s * ORR_POWER_TIME_MOST) join(power);
  const guint first = (guint)(from_s / power->width_s), last = (guint)(to_s / power->width_s);
  power->used = MAX(power->used, last + 1);
  if (first == last) {
    orr_joules_add(&power->joules[first], joules, 1);
    return;
  }
  for (guint i = first; i <= last; i++) {
    const double begin_s = fmax(from_s, i * power->width_s),
                 end_s = fmin(to_s, (i + 1) * power->width_s);
    orr_joules_add(&power->joules[i], joules, fmax(end_s - begin_s, 0) / (to_s - from_s));
  }
}

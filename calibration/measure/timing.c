/*
 * timing.c - summarises repeats, and lengthens the hold of a stream until the host keeps up.
 */
#include "calibration/measure/timing.h"

#include "sim/base/number.h"

void orr_timing_summarize(double *us, guint n, OrrTiming *timing) {
  qsort(us, n, sizeof *us, orr_number_compare);
  timing->median_us = n % 2 ? us[n / 2] : (us[n / 2 - 1] + us[n / 2]) / 2;
  timing->best_us = us[0];
  timing->spread = (us[(n - 1) * 9 / 10] - us[(n - 1) / 10]) / timing->median_us;
  timing->repeats = n;
}

OrrTiming orr_timing_of(const char *method, guint calls) {
  return (OrrTiming){.calls = calls,
                     .method = method,
                     .watts = NAN,
                     .sm_clock_hz = NAN,
                     .memory_clock_hz = NAN,
                     .sustained_us = NAN,
                     .sustained_sm_clock_hz = NAN,
                     .throttle = -1,
                     .sustained_throttle = -1};
}

void orr_timing_set(OrrTiming *timing, const char *word) {
  if (timing->setting[0]) g_strlcat(timing->setting, " ", sizeof timing->setting);
  g_strlcat(timing->setting, word, sizeof timing->setting);
}

/* --- Holding the stream --- */

OrrHold orr_hold_new(void) { return (OrrHold){.us = ORR_HOLD_FIRST_US}; }

gboolean orr_hold_take(OrrHold *hold, gboolean was_held) {
  if (was_held || hold->us <= 0) return TRUE;
  hold->us = hold->us * 4 <= ORR_HOLD_MOST_US ? hold->us * 4
             : hold->us < ORR_HOLD_MOST_US    ? ORR_HOLD_MOST_US
                                              : 0;
  return FALSE;
}

const char *orr_hold_method(const OrrHold *hold, gboolean is_graph) {
  return hold->us <= 0 ? "unheld" : is_graph ? "graph" : "stream";
}

double orr_hold_for(double post_us) {
  return CLAMP(3 * post_us, ORR_HOLD_FIRST_US, ORR_HOLD_MOST_US);
}

/*
 * measure_session.h - spends a budget on a device: picks shapes, measures them, verifies them, hands rows on.
 *
 * Under a job of several ranks every rank runs the session; rank 0 picks and keeps the rows, the others follow it.
 * There only families over all GPUs are measured by all; the rest is rank 0's alone.
 */
#ifndef ORR_MEASURE_SESSION_H
#define ORR_MEASURE_SESSION_H

#include "calibration/measure/measure_plan.h"

G_BEGIN_DECLS

typedef struct {
  double budget_s;
  const OrrMeasureFamily *const *families; /* NULL-terminated */
  const GArray *known;                     /* of OrrMeasureRow: measured before with the same set-up; may be NULL */
  const char *date;                        /* of all rows */
  OrrTimingRule rule;
  /* Each new row; FALSE with @error ends the session. */
  gboolean (*row)(const OrrMeasureRow *row, void *user, GError **error);
  void (*note)(const char *text, void *user); /* what was passed over, and why */
  void (*progress)(double spent_s, double budget_s, void *user);
  void *user;
} OrrMeasureOrder;

typedef struct {
  guint n_new, n_known, n_passed_over, n_wrong; /* rows; shapes; rows that failed verification */
  double spent_s;
  gboolean is_complete; /* nothing is left in the plan */
} OrrMeasureOutcome;

extern const OrrTimingRule orr_timing_default;

/* @ret_states, if not NULL, gets one OrrPlanState for each family of the order. */
gboolean orr_measure_session(const OrrDeviceLayer *layer, OrrBench *bench, const OrrMeasureOrder *order,
                             OrrMeasureOutcome *ret_outcome, OrrPlanState *ret_states, GError **error);

G_END_DECLS

#endif

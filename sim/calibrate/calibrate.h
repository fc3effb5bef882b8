/*
 * calibrate.h - a measuring session from end to end: opens the device, reads the rows that the
 * database already has of it, spends the budget (calibration/measure/measure_session.h), and stores
 * rows as they are measured.
 *
 * Rows are stored in rounds, each a run of kind "calibration": a session that is killed loses at
 * most its last round.
 */
#ifndef ORR_CALIBRATE_H
#define ORR_CALIBRATE_H

#include "calibration/measure/measure_session.h"

G_BEGIN_DECLS

typedef struct {
  const char *db; /* NULL: rows are not stored */
  const OrrDeviceLayer *layer;
  int device; /* ordinal */
  double budget_s;
  char **families; /* strv; NULL or empty: all */
  void (*note)(const char *text, void *user);
  void (*progress)(double spent_s, double budget_s, void *user);
  void *user;
} OrrCalibrateOrder;

typedef struct {
  char *device, *driver;
  gint64 rank;
  GPtrArray *left_out;               /* of const char *: what needs more GPUs than there are */
  const OrrMeasureFamily **families; /* NULL-terminated: the families that were requested */
  OrrPlanState *states;              /* of each family */
  OrrMeasureOutcome outcome;
} OrrCalibrateAnswer;

void orr_calibrate_answer_clear(OrrCalibrateAnswer *answer);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(OrrCalibrateAnswer, orr_calibrate_answer_clear)

/* Runs a session. ORR_FAULT_USAGE: an unknown family. ORR_FAULT_RESOURCE: no driver, no device or
 * no database; rows stored so far stay. */
gboolean orr_calibrate(const OrrCalibrateOrder *order, OrrCalibrateAnswer *ret_answer,
                       GError **error);

/* Plans a session without measuring: sets the answer's families and the states of their plans.
 * @n_gpus: plan for this many GPUs; 0: for the number in this machine. */
gboolean orr_calibrate_plan(const OrrCalibrateOrder *order, gint64 n_gpus,
                            OrrCalibrateAnswer *ret_answer, GError **error);

/* The time that one row takes on average, without its preparation: 0.14 s of timing and pauses, and
 * 2 s of watching power for one row in ORR_WATCHED_ONE_IN. */
double orr_calibrate_row_time_s(void);

G_END_DECLS

#endif

/*
 * calibrate.h - a calibration from end to end: opens the device, reads what the database knows of
 * it, spends the budget (calibration/measure/measure_session.h), stores rows as they come, exports
 * them.
 *
 * Rows are stored in rounds, each a run of kind "calibration": a session that is killed keeps all
 * but its last round.
 */
#ifndef ORR_CALIBRATE_H
#define ORR_CALIBRATE_H

#include "calibration/measure/measure_export.h"
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
  GPtrArray *untold;                 /* of const char *: what this many GPUs cannot tell */
  const OrrMeasureFamily **families; /* NULL-terminated; of those that the device can be asked */
  OrrPlanState *states;              /* of each */
  OrrMeasureOutcome outcome;
} OrrCalibrateAnswer;

void orr_calibrate_answer_clear(OrrCalibrateAnswer *answer);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(OrrCalibrateAnswer, orr_calibrate_answer_clear)

/* ORR_FAULT_USAGE: an unknown family. ORR_FAULT_RESOURCE: no driver, no device, no database;
 * what was stored stays. */
gboolean orr_calibrate(const OrrCalibrateOrder *order, OrrCalibrateAnswer *ret_answer,
                       GError **error);

/* What would be measured: the answer's families with the states of their plans. @n_gpus: as if
 * there were so many; 0: as many as there are. */
gboolean orr_calibrate_plan(const OrrCalibrateOrder *order, gint64 n_gpus,
                            OrrCalibrateAnswer *ret_answer, GError **error);

/* All rows of the database, oldest first: GArray of OrrMeasureRow that clears its rows. Empty
 * where there are none. */
GArray *orr_calibrate_read(const char *db, GError **error);

/* The rows of the database that are of @device: as its driver or as topologies/devices/ calls
 * it. NULL, or a device of which it has none: all rows, where they are of one device (and, with
 * @device, of one that is not shipped: the user then says what to take it for).
 * ORR_FAULT_RESOURCE where there are none. */
GArray *orr_calibrate_rows_of(const char *db, const char *device, GError **error);

/* Writes the CSV files of measure_export.h into @folder, made where absent. @device: rows of
 * that one alone, as its driver or as topologies/devices/ calls it; NULL where the database
 * knows one device. */
GPtrArray *orr_calibrate_export(const char *db, const char *device, const char *folder,
                                GError **error);

G_END_DECLS

#endif

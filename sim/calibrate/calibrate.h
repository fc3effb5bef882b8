/*
 * calibrate.h - a measuring session from end to end: opens the device, reads the rows that the
 * database already has of it, spends the budget (calibration/measure/measure_session.h), and stores
 * rows as they are measured.
 *
 * Rows are stored in rounds, each a run of kind "calibration": a session that is killed loses at
 * most its last round.
 */
#pragma once

#include "calibration/crossval/crossval.h"
#include "calibration/measure/measure_row.h"
#include "calibration/measure/measure_session.h"
#include "sim/base/library.h"
#include "sim/run/machine.h"
#include "topologies/device.h"

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

/* calibrate_burst.c: brings the times of rows that were measured under a power limit back to the
 * full clock, since a profile's rows come from a cool board: the cost model itself lowers the
 * clock of long work under a limit (calibration/cost/cost_power.c), and would lower it twice.
 *
 * A row counts as power-limited if NVML said so during its timing or, in rows of harness 1, if its
 * watts are within 5 % of the limit, and its clock was more than 1 % below the limit of the clock.
 * Its time is then multiplied by clock / limit if arithmetic bounds it by the device's own rates;
 * memory has its own clock, so other rows are unchanged. */

/* Changes the times of @rows (OrrMeasureRow) and returns how many were changed. */
guint orr_calibrate_burst(GArray *rows, const OrrDevice *device);

/* calibrate_fit.c: fits a profile to measured rows, which are in a folder of CSV files or in a
 * database. */

typedef struct {
  char *raw;         /* folder of measured tables, or database */
  char *device;      /* the device that was measured, by its name in the library */
  char *collectives; /* CSV; NULL: collectives.csv in @raw, if it exists */
  char *system;      /* the system whose rows of @collectives to use; NULL: see below */
  char *name;        /* of the profile; NULL: the device's */
  int n_rows;        /* rows to keep (measured_private.h); 0: all */
} OrrCalibrateFit;

/* The YAML text of the profile; newly allocated. Without @system: for a database the name of its
 * device, for a folder with collectives.csv @device. ORR_FAULT_DOCUMENT names every bad line of the
 * tables. */
char *orr_calibrate_fit(const OrrCalibrateFit *fit, OrrLibrary *library, GError **error);

/* calibrate_report.c: writes a calibration as one text to send to others: the device and its
 * software, the state of the board before and after, statistics of the measured rows, the errors
 * of a profile, the refusals, and every row.
 *
 * Nothing in it identifies the machine: no host or user name, no serial number, bus address or
 * path. Free texts (reasons of refusals) are scrubbed. */

typedef struct {
  char *text;
  guint n_rows, n_sessions;
  guint n_refusals; /* different reasons of refusals */
} OrrCalibrateReport;

void orr_calibrate_report_clear(OrrCalibrateReport *report);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(OrrCalibrateReport, orr_calibrate_report_clear)

/* Reports the rows that orr_calibrate_rows_of(@db, @device) returns. @machine: has the profile
 * @profile, against which the rows are compared; NULL: no comparison. */
gboolean orr_calibrate_report(const char *db, const char *device, const char *profile,
                              const OrrMachine *machine, OrrCalibrateReport *ret_report,
                              GError **error);

/* @text with each path, and each of @words (NULL-terminated) that has two letters or more, replaced
 * by '*'. Newly allocated. */
char *orr_calibrate_report_scrub(const char *text, const char *const *words);

/* The name of the device that the rows of @db come from, if the library has a device of that name;
 * else "". NULL with @error. Newly allocated. */
char *orr_calibrate_report_device(OrrLibrary *library, const char *db, const char *device,
                                  GError **error);

/* calibrate_compare.c: compares measured kernels with the predictions of a profile, family by
 * family. */

typedef struct {
  char *kernels;    /* "gemm bf16 forward", "collective all-reduce fp16" ... */
  guint n_rows;     /* the newest row of each shape, without those with wrong results */
  OrrErrors errors; /* predicted / measured - 1; n: the rows that the profile predicts */
  double from_rows; /* fraction of the predictions that are measured or interpolated */
} OrrCalibrateDifference;

/* An array of OrrCalibrateDifference, sorted by name. Families that no profile predicts (launches,
 * copies, interference) have errors.n 0. @rows: OrrMeasureRow, oldest first. ORR_FAULT_DOCUMENT: a
 * row whose shape cannot be parsed. */
GPtrArray *orr_calibrate_compare(const GArray *rows, const OrrMachine *machine, GError **error);

/* calibrate_rows.c: measured rows: read from the database, and exported as CSV files. */

/* An empty GArray of OrrMeasureRow that clears its rows. */
GArray *orr_calibrate_rows_new(void);

/* A deep copy of @row. */
void orr_calibrate_rows_copy(const OrrMeasureRow *row, OrrMeasureRow *ret_copy);

/* All rows of the database, oldest first; empty for a database without measured rows. */
GArray *orr_calibrate_rows_read(const char *db, GError **error);

/* The rows of @device, which is the name that its driver reports or its name in
 * topologies/devices/. Returns all rows when @device is NULL, or when all rows come from one device
 * that the library does not have: the user then decides what device it is.
 * ORR_FAULT_RESOURCE when there are no rows. */
GArray *orr_calibrate_rows_of(const char *db, const char *device, GError **error);

/* Writes the rows that count (orr_measure_row_counts) as CSV files into @folder, which is created
 * if needed, and returns the files (OrrExportFile). */
GPtrArray *orr_calibrate_rows_write(const GArray *rows, const char *folder, GError **error);

/* Writes the CSV files of measure_export.c into @folder, which is created if needed, and returns
 * them (OrrExportFile). @device: as above; NULL when the database has rows of one device only. */
GPtrArray *orr_calibrate_rows_export(const char *db, const char *device, const char *folder,
                                     GError **error);

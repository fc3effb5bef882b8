/*
 * calibrate_report.h - writes a calibration as one text to send to others: the device and its
 * software, the state of the board before and after, statistics of the measured rows, the errors of
 * a profile, the refusals, and every row.
 *
 * Nothing in it identifies the machine: no host or user name, no serial number, bus address or
 * path. Free texts (reasons of refusals) are scrubbed.
 */
#ifndef ORR_CALIBRATE_REPORT_H
#define ORR_CALIBRATE_REPORT_H

#include "sim/run/machine.h"

G_BEGIN_DECLS

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

G_END_DECLS

#endif

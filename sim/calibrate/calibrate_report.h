/*
 * calibrate_report.h - a calibration as one text that its user can send to others: the device and
 * its software, how the board was before and after, what was measured, how far a profile is from
 * it, what was refused, and every row.
 *
 * Nothing in it says whose machine it was: no host or user name, no serial number, bus address or
 * path. Free texts (reasons of refusals) are scrubbed.
 */
#ifndef ORR_CALIBRATE_REPORT_H
#define ORR_CALIBRATE_REPORT_H

#include "sim/run/machine.h"

G_BEGIN_DECLS

typedef struct {
  char *text;
  guint n_rows, n_sessions, n_refusals; /* n_refusals: reasons */
} OrrCalibrateReport;

void orr_calibrate_report_clear(OrrCalibrateReport *report);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(OrrCalibrateReport, orr_calibrate_report_clear)

/* Of the rows of @db that @device names, as orr_calibrate_rows_of has them. @machine: the
 * profile called @profile that they are held against; NULL: none. */
gboolean orr_calibrate_report(const char *db, const char *device, const char *profile,
                              const OrrMachine *machine, OrrCalibrateReport *ret_report,
                              GError **error);

/* @text without paths and without the names of @words (NULL-terminated; those of two letters or
 * more), each replaced by '*'. Newly allocated. */
char *orr_calibrate_report_scrub(const char *text, const char *const *words);

G_END_DECLS

#endif

/*
 * verb_calibrate_fit.h - the actions of `orrery calibrate` that need no GPU.
 *
 * @args: what follows the action's word. The exit status, as a verb's run.
 */
#ifndef ORR_VERB_CALIBRATE_FIT_H
#define ORR_VERB_CALIBRATE_FIT_H

#include "sim/cli/cli.h"

G_BEGIN_DECLS

/* Options of `fit`, which the verb parses. */
typedef struct {
  char *raw;         /* folder of measured tables, or database */
  char *device;      /* whose they are */
  char *collectives; /* CSV; NULL: collectives.csv of @raw, where there is one */
  char *machine;     /* whose rows of it; NULL: the device's name */
  char *name;        /* of the profile; NULL: the device's */
  char *output;      /* NULL: stdout */
  int thin;          /* rows to keep; 0: all */
} OrrCalibrateFit;

/* `report [PROFILE]`: the database's rows of @device as one file; against PROFILE, or the
 * device's own. */
int orr_verb_calibrate_write_report(OrrLibrary *library, const char *db, const char *device,
                                    const char *output, char **args, GError **error);

int orr_calibrate_fit(OrrLibrary *library, const OrrCalibrateFit *fit, char **args, GError **error);

/* `compare PROFILE`: how far the rows of @db, of @device where it is given, are from what the
 * profile says. */
int orr_verb_calibrate_differ(OrrLibrary *library, const char *db, const char *device, char **args,
                              GError **error);

/* `errors PROFILE`: cross-validates it and prints the section `errors:`. */
int orr_verb_calibrate_errors(OrrLibrary *library, char **args, GError **error);

G_END_DECLS

#endif

/*
 * calibrate_fit.h - fits a profile to measured rows, which are in a folder of CSV files or in a
 * database.
 */
#ifndef ORR_CALIBRATE_FIT_H
#define ORR_CALIBRATE_FIT_H

#include "sim/base/library.h"

G_BEGIN_DECLS

typedef struct {
  char *raw;         /* folder of measured tables, or database */
  char *device;      /* the device that was measured, by its name in the library */
  char *collectives; /* CSV; NULL: collectives.csv in @raw, if it exists */
  char *system;      /* the system whose rows of @collectives to use; NULL: see below */
  char *name;        /* of the profile; NULL: the device's */
  int n_rows;        /* rows to keep (thin.h); 0: all */
} OrrCalibrateFit;

/* The YAML text of the profile; newly allocated. Without @system: for a database the name of its
 * device, for a folder with collectives.csv @device. ORR_FAULT_DOCUMENT names every bad line of the
 * tables. */
char *orr_calibrate_fit(const OrrCalibrateFit *fit, OrrLibrary *library, GError **error);

G_END_DECLS

#endif

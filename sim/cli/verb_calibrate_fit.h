/*
 * verb_calibrate_fit.h - the actions of `orrery calibrate` that work with profiles: compare,
 * errors, fit, report. None needs a GPU.
 *
 * @args: the arguments after the action's word. Each function returns the exit status, as
 * OrrCommand's run does.
 */
#pragma once

#include "calibration/measure/device_layer.h"
#include "sim/calibrate/calibrate.h"
#include "sim/cli/cli.h"

/* Options of the actions. */
typedef struct {
  const char *db;      /* measured rows */
  OrrCalibrateFit fit; /* its device serves all actions */
  char *output;        /* NULL: the action's default */
} OrrVerbCalibrate;

/* `compare PROFILE`: prints the errors of the profile against the rows of the database. */
int orr_verb_calibrate_compare(OrrLibrary *library, const OrrVerbCalibrate *options, char **args,
                               GError **error);

/* `doctor`: prints what would spoil a measurement. 1: a problem, or no GPU. */
int orr_verb_calibrate_doctor(const OrrDeviceLayer *layer, GError **error);

/* `errors PROFILE`: cross-validates the profile and prints the section `errors:`. */
int orr_verb_calibrate_errors(OrrLibrary *library, const OrrVerbCalibrate *options, char **args,
                              GError **error);

/* `fit`: writes the profile fitted to measured rows. */
int orr_verb_calibrate_fit(OrrLibrary *library, const OrrVerbCalibrate *options, char **args,
                           GError **error);

/* `import FILE.csv`: adds the rows of a profiler's report to the database. */
int orr_verb_calibrate_import(OrrLibrary *library, const OrrVerbCalibrate *options, char **args,
                              GError **error);

/* `report [PROFILE]`: writes the rows of the database and their errors against PROFILE, or against
 * the profile of their device, into one file. */
int orr_verb_calibrate_report(OrrLibrary *library, const OrrVerbCalibrate *options, char **args,
                              GError **error);

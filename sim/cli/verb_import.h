/*
 * verb_import.h - what the formats of `orrery import` share.
 *
 * A format is a command of its own (its options, its help) in sim/cli/verb_import_FORMAT.c. To add
 * one: write that file, declare its command in cli.h, add it to the array in verb_import.c and to
 * meson.build. A format prints or writes nothing before all of its sources were read.
 */
#pragma once

#include "calibration/fit/import_nccl_tests.h"
#include "sim/cli/cli.h"

/* --device, of the formats that measure a device or describe a machine, and without a format. */
extern char *orr_verb_import_device;

/* ORR_FAULT_USAGE unless @args is one source. @what: the sentence to print. */
gboolean orr_verb_import_check_source(char **args, const char *what, GError **error);
/* The sources @args ("-" is stdin) can be read, and -o differs from all of them. */
gboolean orr_verb_import_check_paths(char **args, GError **error);
/* ORR_FAULT_USAGE where @device is NULL. @format: what needs it. */
gboolean orr_verb_import_check_device(const char *device, const char *format, GError **error);
/* Imports the files @args by the format that their content has, and says which. */
int orr_verb_import_guess(OrrLibrary *library, char **args, GError **error);
/* "a trace of requests" or "of jobs", where @text begins as one does; NULL: it does not. */
const char *orr_verb_import_trace_kind(const char *text);
/* Prints how the tests @runs (OrrNcclTestsLog) compare with the healthy machine @cluster, and which
 * faults a slow one looks like. Returns the exit status. */
int orr_verb_import_compare_nccl(OrrLibrary *library, const GPtrArray *runs, const char *cluster,
                                 gboolean in_place, GError **error);
/* Writes @text to -o, or to stdout without one. Returns the exit status. */
int orr_verb_import_write(const char *text, GError **error);

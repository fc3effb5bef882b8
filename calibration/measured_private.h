/*
 * measured_private.h - what the measured*.c files share. Nobody else includes it.
 */
#ifndef ORR_MEASURED_PRIVATE_H
#define ORR_MEASURED_PRIVATE_H

#include "sim/base/csv.h"
#include "calibration/measured.h"

G_BEGIN_DECLS

/* Index of the column; -1 where it is missing, as told to @diags. */
int orr_measured_column(const OrrCsv *csv, const char *name, OrrDiags *diags);

/* A cell as a whole number above 0 or, in a column whose name ends in "dtype", as an OrrDtype. */
gboolean orr_measured_key(const OrrCsv *csv, const OrrCsvLine *line, int column, OrrDiags *diags, double *ret_key);

/* A cell as a time above 0. */
gboolean orr_measured_latency(const OrrCsv *csv, const OrrCsvLine *line, int column, OrrDiags *diags, double *ret_us);

/* A number as a CSV prints it, without an exponent: a profile's numbers are plain decimals. */
void orr_measured_append(GString *text, double value);

/* Appends the `collectives:` of @system in the file at @path; FALSE with @error where it cannot be read. */
gboolean orr_measured_collectives(GString *text, const char *path, const char *system, OrrDiags *diags, GError **error);

G_END_DECLS

#endif

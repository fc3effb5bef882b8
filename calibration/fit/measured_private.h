/*
 * measured_private.h - readers of columns and writers of numbers that the measured*.c files share.
 */
#pragma once

#include "calibration/crossval/crossval.h"
#include "calibration/fit/measured.h"
#include "sim/base/csv.h"

/* Index of the column; -1, with a finding, where it is missing. */
int orr_measured_column(const OrrCsv *csv, const char *name, OrrDiags *diags);

/* A cell as a whole number above 0 or, in a column whose name ends in "dtype", as an OrrDtype. */
gboolean orr_measured_key(const OrrCsv *csv, const OrrCsvLine *line, int column, OrrDiags *diags,
                          double *ret_key);

/* A cell as a time above 0. */
gboolean orr_measured_latency(const OrrCsv *csv, const OrrCsvLine *line, int column,
                              OrrDiags *diags, double *ret_us);

/* Appends a number without an exponent: a profile's numbers are plain decimals. */
void orr_measured_append(GString *text, double value);

/* Rounds to three significant digits: off by 0.5 % at most and 0.1 % on average, where repeats
 * of a kernel differ by 1 to 3 %. */
double orr_measured_round(double us);

/* The first '#' line of a file, as one line for a table's source. Newly allocated. */
char *orr_measured_source(const OrrCsv *csv);

/* Whether a line of aiter's tables is of @system, "gfx950-256" (columns gfx and cu_num) or "256";
 * lines that name no gfx, as older tables do, go by the units alone. */
gboolean orr_measured_of_aiter(const OrrCsv *csv, const OrrCsvLine *line, const char *system);

#define ORR_MEASURED_MOE "moe_ffn.csv"

/* Appends the `moe:` of @folder, if it has such a file, and counts it in @n_tables; FALSE with
 * @error where the file cannot be read. */
gboolean orr_measured_moe(GString *text, const char *folder, gboolean thin, OrrDiags *diags,
                          guint *n_tables, GError **error);

/* Appends the `moe:` of options->system in a table of aiter's tuner, and returns its rows. */
guint orr_measured_moe_of_aiter(GString *text, const OrrCsv *csv, const OrrMeasuredOptions *options,
                                OrrDiags *diags);

/* Appends the rows of options->system in the file at @path: products as `library-gemm:`, aiter's
 * experts as `moe:`; *ret_what: "libraries" or "experts". FALSE with @error where it cannot be read
 * or has no rows of that system. */
gboolean orr_measured_file(GString *text, const char *path, const OrrMeasuredOptions *options,
                           const char **ret_what, OrrDiags *diags, GError **error);

/* Appends the `collectives:` of @system in the file at @path; FALSE with @error where it cannot
 * be read. */
gboolean orr_measured_collectives(GString *text, const char *path, const char *system,
                                  OrrDiags *diags, GError **error);

/* thin.c: keeps only the rows of a profile that cannot be interpolated from the rest.
 *
 * Greedy insertion. It starts with evenly spread rows. In each round, a cost model of the rows
 * kept so far predicts all others, and the rows with the largest errors come back: at most one of
 * each line of a table, so that a row next to one that just came back is predicted again first.
 * (Garland, Heckbert 1995, "Fast polygonal approximation of terrains and height fields", choose
 * the points of a surface this way.)
 *
 * Rows of GEMM, attention and experts; collectives stay whole, since they are few. */

typedef struct {
  guint n_before, n_kept;
  OrrErrors left_out; /* of the rows dropped, predicted from those kept */
} OrrThinned;

/* Replaces all but @n_rows rows of @profile by '-', and drops lines without any left; changes
 * nothing where the profile has no more rows than that. FALSE with ORR_FAULT_USAGE where @n_rows
 * is below two per table. */
gboolean orr_thin(OrrProfile *profile, const OrrDevice *device, guint n_rows,
                  OrrThinned *ret_thinned, GError **error);

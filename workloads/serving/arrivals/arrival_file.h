/*
 * arrival_file.h - shared by loads that are read from files.
 */
#ifndef ORR_ARRIVAL_FILE_H
#define ORR_ARRIVAL_FILE_H

#include "sim/base/csv.h"
#include "workloads/serving/arrivals/arrival.h"

G_BEGIN_DECLS

extern const OrrFieldTable orr_trace_file_table; /* of OrrTraceFile */

/* As OrrArrival.check: rate and speed exclude each other. */
void orr_arrival_file_check(const void *params, OrrPlace place, OrrDiags *diags);

/* Reads one line of a CSV; @at: the index of each column, -1 of an optional one that is absent.
 * @zero_s belongs to the row function, 0 at first. */
typedef void (*OrrTraceRow)(OrrTrace *trace, const OrrCsv *csv, const OrrCsvLine *line,
                            const int *at, double *zero_s, OrrDiags *diags);

/* Reads a CSV with three required columns and none or two optional ones, which come together, each
 * with its names in other formats, "arrival_s|Timestamp". NULL with all findings (orr_csv_check,
 * orr_csv_require). */
OrrTrace *orr_arrival_file_read_csv(const OrrTraceFile *params, const OrrArrivalContext *context,
                                    const char *const *columns, OrrTraceRow add_row,
                                    GError **error);

G_END_DECLS

#endif

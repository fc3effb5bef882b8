/*
 * arrival_file.h - what loads that are read from files share.
 */
#ifndef ORR_ARRIVAL_FILE_H
#define ORR_ARRIVAL_FILE_H

#include "sim/base/csv.h"
#include "workloads/serving/arrivals/arrival.h"

G_BEGIN_DECLS

typedef struct {
  char *file;
  double speed;
} OrrTraceFile;

extern const OrrFieldTable orr_trace_file_table;

/* One line of a CSV; @at: where the columns are. @zero_s: the row's own, 0 at first. */
typedef void (*OrrTraceRow)(OrrTrace *trace, const OrrCsv *csv, const OrrCsvLine *line,
                            const int *at, double *zero_s, OrrDiags *diags);

/* At most three columns. NULL with all findings: a missing column is told with those that there
 * are. */
OrrTrace *orr_arrival_file_read_csv(const OrrTraceFile *params, const OrrArrivalContext *context,
                                    const char *const *columns, OrrTraceRow add_row,
                                    GError **error);

G_END_DECLS

#endif

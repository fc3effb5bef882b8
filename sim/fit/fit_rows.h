/*
 * fit_rows.h - measured rows of one installation, for `orrery calibrate stack`: a CSV as `import
 * bench` writes it, or typed by hand.
 */
#ifndef ORR_FIT_ROWS_H
#define ORR_FIT_ROWS_H

#include "sim/base/diag.h"

G_BEGIN_DECLS

/* What was asked of the system (a setting of the scenario), and what was measured. */
typedef enum {
  ORR_FIT_CONCURRENCY, /* requests in flight */
  ORR_FIT_RATE,        /* per second; infinity: all at once */
  ORR_FIT_REQUESTS,
  ORR_FIT_INPUT_TOKENS, /* mean per request */
  ORR_FIT_OUTPUT_TOKENS,
  ORR_FIT_GLOBAL_BATCH,
  ORR_FIT_TTFT, /* means, seconds */
  ORR_FIT_TPOT,
  ORR_FIT_E2E,
  ORR_FIT_ITERATION,
  ORR_FIT_N_COLUMNS
} OrrFitColumn;

enum { ORR_FIT_FIRST_MEASURED = ORR_FIT_TTFT };

typedef struct {
  OrrPlace place;
  double cells[ORR_FIT_N_COLUMNS]; /* NaN: empty, or no such column */
} OrrFitRow;

extern const char *const orr_fit_columns[ORR_FIT_N_COLUMNS + 1]; /* NULL-terminated */

/* Of OrrFitRow *, owned by the caller. Columns that resemble none of the ten are left out, as are
 * those that only `import bench` writes. NULL with ORR_FAULT_DOCUMENT (a column that resembles an
 * absent one, a cell that is not a number, a row that measured nothing, no row) or _RESOURCE. */
GPtrArray *orr_fit_rows_read(const char *path, GError **error);

G_END_DECLS

#endif

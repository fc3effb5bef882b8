/*
 * csv.h - tables of measurements as comma-separated text: a header line, rows, and '#' lines that
 * say where they are from. Lines keep their number and their text, so that messages can name them
 * and a copy can pass them through.
 */
#ifndef ORR_CSV_H
#define ORR_CSV_H

#include "sim/base/diag.h"

G_BEGIN_DECLS

typedef struct {
  OrrPlace place;
  char *text; /* without the line's end */
  /* as many as the header has; NULL: a '#' line, an empty one, the header, or one that was told
   * to diags */
  GStrv cells;
} OrrCsvLine;

typedef struct {
  GStrv header;
  guint header_line; /* its index in @lines */
  GPtrArray *lines;  /* OrrCsvLine* */
} OrrCsv;

/* NULL with @error (ORR_FAULT_RESOURCE: cannot be read; ORR_FAULT_DOCUMENT: no text, or no
 * header). Rows with more or fewer cells than the header are told to @diags. */
OrrCsv *orr_csv_read(const char *path, OrrDiags *diags, GError **error);
void orr_csv_free(OrrCsv *csv);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(OrrCsv, orr_csv_free)

/* Index of the column of that name, or -1. */
int orr_csv_column(const OrrCsv *csv, const char *name);

/* The cell as a finite number; anything else is told to @diags. */
gboolean orr_csv_number(const OrrCsv *csv, const OrrCsvLine *line, int column, OrrDiags *diags,
                        double *ret_value);

G_END_DECLS

#endif

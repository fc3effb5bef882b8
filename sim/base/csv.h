/*
 * csv.h - tables of measurements as comma-separated text: a header line, rows, and '#' lines that
 * name their source. Each line keeps its number and its text, so that a message can point at the
 * line and a copy of the table can repeat it unchanged.
 */
#ifndef ORR_CSV_H
#define ORR_CSV_H

#include "sim/base/diag.h"

G_BEGIN_DECLS

typedef struct {
  OrrPlace place;
  char *text; /* without the line end */
  /* one per column of the header; NULL for a '#' line, an empty line, the header, and a line with
   * an error */
  GStrv cells;
} OrrCsvLine;

typedef struct {
  GStrv header;
  guint header_line; /* its index in @lines */
  GPtrArray *lines;  /* OrrCsvLine* */
} OrrCsv;

/* NULL with ORR_FAULT_RESOURCE where the file cannot be read, ORR_FAULT_DOCUMENT where it is not
 * text or has no header. Rows with more or fewer cells than the header are reported to @diags. */
OrrCsv *orr_csv_read(const char *path, OrrDiags *diags, GError **error);
void orr_csv_free(OrrCsv *csv);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(OrrCsv, orr_csv_free)

/* Index of the column of that name, or -1. */
int orr_csv_column(const OrrCsv *csv, const char *name);

/* The cell as a finite number; anything else is reported to @diags. */
gboolean orr_csv_number(const OrrCsv *csv, const OrrCsvLine *line, int column, OrrDiags *diags,
                        double *ret_value);

G_END_DECLS

#endif

/*
 * csv.h - tables of measurements as comma-separated text: a header line, rows, and '#' lines that
 * name their source. Each line keeps its number and its text, so that a message can point at the
 * line and a copy of the table can repeat it unchanged.
 */
#pragma once

#include "sim/base/diag.h"

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
/* The same of a text, which @name names in messages; `header` is NULL where it has none. */
OrrCsv *orr_csv_parse(const char *text, const char *name, OrrDiags *diags);
void orr_csv_free(OrrCsv *csv);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(OrrCsv, orr_csv_free)

/* Index of the column of that name, or -1. */
int orr_csv_column(const OrrCsv *csv, const char *name);

/* The place of a cell of @line, which may be the header: its first character. */
OrrPlace orr_csv_place(const OrrCsvLine *line, int column);

/* --- Columns that a reader knows ---
 *
 * @known: NULL-terminated; each entry is the name of a column and, after '|', its other names:
 * "duration_s|work_s". The first of them that the header has is read. */

/* Index of the column with one of @names, an entry of @known. -1, with a finding, where the header
 * has none; the finding suggests a column of the header that no entry of @known names. It quotes no
 * other column: a stranger's document can name any file, and the first line of a file that is not a
 * table may be a secret. */
int orr_csv_require(const OrrCsv *csv, const char *const *known, const char *names,
                    OrrDiags *diags);

/* Index of the column with one of @names, or -1. */
int orr_csv_find(const OrrCsv *csv, const char *names);

/* Checks the header, once it has the columns that make it a table of @known. A column that comes
 * twice is an error, and so is one whose name resembles a known column that the header lacks (`job`
 * for `job_id`): the reader would use a default in its place. Other columns are legitimate: logs
 * and foreign traces have many; @others are those that resemble a known one (NULL: none). Returns
 * the columns that the reader leaves out, as orr_csv_left_out; NULL: none. Newly allocated. */
char *orr_csv_check(const OrrCsv *csv, const char *const *known, const char *const *others,
                    OrrDiags *diags);

/* "columns that are not read: state, mode and 3 more", of @what ("columns", "keys") and their names
 * (const char *), without control characters: a file holds what its writer likes. NULL: no names.
 * Newly allocated. */
char *orr_csv_left_out(const char *what, const GPtrArray *left_out);

/* The cell as a finite number; anything else is reported to @diags. */
gboolean orr_csv_number(const OrrCsv *csv, const OrrCsvLine *line, int column, OrrDiags *diags,
                        double *ret_value);

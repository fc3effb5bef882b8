/*
 * nsys_timeline.c - walks the tables of an export, one statement each, and checks every row.
 */
#include "results/nsys.h"

#include "results/store_private.h"

enum { MOST_ROWS = 50000000, MOST_S = 600, MOST_ERRORS = 20 };

typedef struct {
  sqlite3 *db;
  OrrPlace place;
  OrrDiags *diags;
  OrrNsysSink sink;
  void *user;
  gint64 n_rows, n_kernels;
} Reader;

static gboolean has(const Reader *reader, const char *table, const char *column) {
  return sqlite3_table_column_metadata(reader->db, "main", table, column, NULL, NULL, NULL, NULL,
                                       NULL) == SQLITE_OK;
}

static gboolean fail(const Reader *reader, const char *what, const char *detail) {
  orr_diags_error(reader->diags, reader->place, "%s%s", what, detail);
  return FALSE;
}

/* nsys export writes plain tables: a view may be endless. */
static gboolean is_plain(const Reader *reader, const char *table) {
  const char *kind = orr_foreign_kind(reader->db, table);
  if (!kind || strcmp(kind, "table") == 0) return TRUE;
  orr_diags_error(reader->diags, reader->place, "%s is a %s: nsys export writes a table", table,
                  kind);
  return FALSE;
}

/* Columns: rowid, start, end, device, stream, name. */
static void take(Reader *reader, sqlite3_stmt *row, OrrNsysSort sort) {
  const char *name = (const char *)sqlite3_column_text(row, 5);
  const gint64 start = sqlite3_column_int64(row, 1), end = sqlite3_column_int64(row, 2);
  const char *wrong =
      sqlite3_column_type(row, 1) != SQLITE_INTEGER || sqlite3_column_type(row, 2) != SQLITE_INTEGER
          ? "has a start or end that is not a whole number"
      : start < 0   ? "starts before the session does"
      : end < start ? "ends before it starts"
      : !name       ? "has a name that StringIds does not hold"
                    : NULL;
  if (wrong)
    return orr_diags_error(reader->diags, reader->place, "row %ld %s",
                           (gint64)sqlite3_column_int64(row, 0), wrong);
  const OrrNsysEvent event = {.sort = sort,
                              .name = name,
                              .begin_s = (double)start * 1e-9,
                              .end_s = (double)end * 1e-9,
                              .device = sqlite3_column_int64(row, 3),
                              .stream = sqlite3_column_int64(row, 4)};
  reader->n_kernels += sort == ORR_NSYS_KERNEL;
  reader->sink(&event, reader->user);
}

static gboolean walk(Reader *reader, const char *sql, OrrNsysSort sort) {
  sqlite3_stmt *rows = NULL;
  if (sqlite3_prepare_v2(reader->db, sql, -1, &rows, NULL) != SQLITE_OK)
    return fail(reader, "is not an export of Nsight Systems: ", sqlite3_errmsg(reader->db));
  int status;
  while ((status = sqlite3_step(rows)) == SQLITE_ROW && reader->n_rows < MOST_ROWS &&
         orr_diags_n_errors(reader->diags) < MOST_ERRORS) {
    reader->n_rows++;
    take(reader, rows, sort);
  }
  sqlite3_finalize(rows);
  if (status == SQLITE_ROW && reader->n_rows >= MOST_ROWS)
    return fail(reader, "holds more than 50 million rows: profile a shorter time", "");
  if (status != SQLITE_DONE && status != SQLITE_ROW)
    return fail(reader, "cannot be read to its end: ", sqlite3_errmsg(reader->db));
  return orr_diags_n_errors(reader->diags) == 0;
}

static gboolean walk_kernels(Reader *reader) {
  static const char *const table = "CUPTI_ACTIVITY_KIND_KERNEL";
  static const char *const needed[] = {"start", "end", "deviceId", "demangledName"};
  if (!has(reader, table, NULL) || !has(reader, "StringIds", "value"))
    return fail(reader, "is not an export of Nsight Systems with kernels: there is no table ",
                has(reader, table, NULL) ? "StringIds" : table);
  for (guint i = 0; i < G_N_ELEMENTS(needed); i++)
    if (!has(reader, table, needed[i]))
      return fail(reader, "CUPTI_ACTIVITY_KIND_KERNEL has no column ", needed[i]);
  g_autofree char *sql = g_strdup_printf(
      "SELECT k.rowid, k.start, k.end, k.deviceId, %s, s.value FROM CUPTI_ACTIVITY_KIND_KERNEL AS k"
      " LEFT JOIN StringIds AS s ON s.id = k.demangledName",
      has(reader, table, "streamId") ? "k.streamId" : "0");
  return walk(reader, sql, ORR_NSYS_KERNEL);
}

static gboolean walk_copies(Reader *reader) {
  if (has(reader, "CUPTI_ACTIVITY_KIND_MEMCPY", "copyKind") &&
      has(reader, "CUPTI_ACTIVITY_KIND_MEMCPY", "streamId") &&
      !walk(reader,
            "SELECT rowid, start, end, deviceId, streamId, CASE copyKind WHEN 1 THEN 'Memcpy HtoD'"
            " WHEN 2 THEN 'Memcpy DtoH' WHEN 8 THEN 'Memcpy DtoD' ELSE 'Memcpy' END"
            " FROM CUPTI_ACTIVITY_KIND_MEMCPY",
            ORR_NSYS_COPY))
    return FALSE;
  return !has(reader, "CUPTI_ACTIVITY_KIND_MEMSET", "streamId") ||
         walk(reader,
              "SELECT rowid, start, end, deviceId, streamId, 'Memset'"
              " FROM CUPTI_ACTIVITY_KIND_MEMSET",
              ORR_NSYS_COPY);
}

static gboolean walk_ranges(Reader *reader) {
  if (!has(reader, "NVTX_EVENTS", "text") || !has(reader, "NVTX_EVENTS", "end")) return TRUE;
  g_autofree char *sql = g_strdup_printf(
      "SELECT n.rowid, n.start, n.end, 0, 0, coalesce(n.text, %s, '') FROM NVTX_EVENTS AS n%s"
      " WHERE n.end IS NOT NULL",
      has(reader, "NVTX_EVENTS", "textId") ? "s.value" : "NULL",
      has(reader, "NVTX_EVENTS", "textId") ? " LEFT JOIN StringIds AS s ON s.id = n.textId" : "");
  return walk(reader, sql, ORR_NSYS_RANGE);
}

static gboolean are_plain(const Reader *reader) {
  static const char *const tables[] = {"CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_MEMCPY",
                                       "CUPTI_ACTIVITY_KIND_MEMSET", "NVTX_EVENTS", "StringIds"};
  gboolean plain = TRUE;
  for (guint i = 0; i < G_N_ELEMENTS(tables); i++) plain &= is_plain(reader, tables[i]);
  return plain;
}

gboolean orr_nsys_timeline_read(const char *path, OrrNsysSink sink, void *user, OrrDiags *diags) {
  Reader reader = {
      .place = {g_intern_string(path), 0, 0, NULL}, .diags = diags, .sink = sink, .user = user};
  const gint64 until_us = g_get_monotonic_time() + (gint64)MOST_S * G_USEC_PER_SEC;
  if (!g_file_test(path, G_FILE_TEST_IS_REGULAR) ||
      sqlite3_open_v2(path, &reader.db, SQLITE_OPEN_READONLY, NULL) != SQLITE_OK) {
    sqlite3_close(reader.db);
    return fail(&reader, "cannot be opened", "");
  }
  orr_foreign_distrust(reader.db);
  orr_foreign_limit(reader.db, &until_us);
  gboolean is_read =
      are_plain(&reader) && walk_kernels(&reader) && walk_copies(&reader) && walk_ranges(&reader);
  if (is_read && reader.n_kernels == 0) is_read = fail(&reader, "holds no kernel", "");
  sqlite3_close(reader.db);
  return is_read;
}

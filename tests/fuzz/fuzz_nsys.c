/*
 * fuzz_nsys.c - libFuzzer target: rows of an Nsight Systems export. A line of the input is a
 * letter, which picks the table, and the row's fields with commas between them; the reader gets the
 * database that they make. (SQLite's own file format is SQLite's to fuzz.)
 */
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

#include "results/nsys.h"
#include "tests/fuzz/fuzz_file.h"

/* A whole number, a number, a text; NULL where the field is empty. */
static void bind(sqlite3_stmt *row, int at, const char *field) {
  char *end = NULL;
  const gint64 whole = g_ascii_strtoll(field, &end, 10);
  if (end != field && !*end)
    sqlite3_bind_int64(row, at, whole);
  else if (end != field && g_ascii_strtod(field, &end) != 0 && !*end)
    sqlite3_bind_double(row, at, g_ascii_strtod(field, NULL));
  else if (*field)
    sqlite3_bind_text(row, at, field, -1, SQLITE_TRANSIENT);
}

static const struct {
  char letter;
  int n_fields;
  const char *schema, *insert;
} tables[] = {
    {'s', 2, "CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value)",
     "INSERT OR IGNORE INTO StringIds VALUES (?, ?)"},
    {'k', 6,
     "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start, end, deviceId, correlationId, demangledName, "
     "streamId)",
     "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (?, ?, ?, ?, ?, ?)"},
    {'r', 4, "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start, end, correlationId, globalTid)",
     "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (?, ?, ?, ?)"},
    {'n', 6, "CREATE TABLE NVTX_EVENTS (start, end, text, textId, globalTid, jsonText)",
     "INSERT INTO NVTX_EVENTS VALUES (?, ?, ?, ?, ?, ?)"},
    {'g', 2, "CREATE TABLE TARGET_INFO_GPU (id, name)",
     "INSERT INTO TARGET_INFO_GPU VALUES (?, ?)"},
};

static void add_row(sqlite3 *db, const char *line) {
  guint i = 0;
  while (i < G_N_ELEMENTS(tables) && tables[i].letter != *line) i++;
  if (i == G_N_ELEMENTS(tables) || line[1] != ',') return;
  g_auto(GStrv) fields = g_strsplit(line + 2, ",", tables[i].n_fields);
  sqlite3_stmt *row = NULL;
  g_assert_cmpint(sqlite3_prepare_v2(db, tables[i].insert, -1, &row, NULL), ==, SQLITE_OK);
  for (int k = 0; fields[k]; k++) bind(row, k + 1, g_strstrip(fields[k]));
  sqlite3_step(row);
  sqlite3_finalize(row);
}

static void make_database(const char *path, const char *text) {
  g_auto(GStrv) lines = g_strsplit(text, "\n", 64);
  sqlite3 *db = NULL;
  g_assert_cmpint(sqlite3_open(path, &db), ==, SQLITE_OK);
  sqlite3_exec(db, "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; BEGIN", NULL, NULL, NULL);
  for (guint i = 0; i < G_N_ELEMENTS(tables); i++)
    sqlite3_exec(db, tables[i].schema, NULL, NULL, NULL);
  for (guint i = 0; lines[i]; i++) add_row(db, lines[i]);
  g_assert_cmpint(sqlite3_exec(db, "COMMIT", NULL, NULL, NULL), ==, SQLITE_OK);
  sqlite3_close(db);
}

static void count_event(const OrrNsysEvent *event, void *user) {
  g_assert_true(event->name != NULL && event->end_s >= event->begin_s);
  ++*(guint *)user;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const char *folder = g_file_test("/dev/shm", G_FILE_TEST_IS_DIR) ? "/dev/shm" : g_get_tmp_dir();
  g_autofree char *path = g_strdup_printf("%s/orrery-fuzz-%d.sqlite", folder, (int)getpid());
  g_autofree char *text = g_strndup((const char *)data, size);
  g_autoptr(GError) error = NULL;
  make_database(path, text);
  g_autoptr(OrrNsys) nsys = orr_nsys_read(path, &error);
  g_autoptr(OrrDiags) diags = orr_diags_new();
  guint n_events = 0;
  const gboolean is_read = orr_nsys_timeline_read(path, count_event, &n_events, diags);
  g_assert_true(is_read == (orr_diags_n_errors(diags) == 0));
  unlink(path);
  g_assert_true((nsys != NULL) == (error == NULL));
  guint n_left_out = 0;
  g_autofree char *kernels = nsys ? orr_nsys_kernels_csv(nsys) : NULL;
  g_autofree char *collectives =
      nsys ? orr_nsys_collectives_csv(nsys, "fuzz", 8, &n_left_out) : NULL;
  g_assert_true(!nsys || (kernels && collectives));
  return 0;
}

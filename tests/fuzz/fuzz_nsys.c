/*
 * fuzz_nsys.c - libFuzzer target: rows of an Nsight Systems export. A line of the input is the fields, with commas
 * between them, of a kernel (start, end, demangledName, shortName, streamId), or of a name (id, value) where it has two
 * fields; the reader gets the database that they make. (SQLite's own file format is SQLite's to fuzz.)
 */
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

#include "results/nsys.h"
#include "tests/fuzz/fuzz_file.h"

/* Numbers, quoted text without quotes in it, and NULL: nothing else becomes SQL. */
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

static void add_row(sqlite3 *db, const char *line) {
  g_auto(GStrv) fields = g_strsplit(line, ",", 6);
  const guint n = g_strv_length(fields);
  sqlite3_stmt *row = NULL;
  sqlite3_prepare_v2(db,
                     n == 2 ? "INSERT OR IGNORE INTO StringIds VALUES (?, ?)"
                            : "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (?, ?, ?, ?, ?)",
                     -1, &row, NULL);
  for (guint i = 0; i < MIN(n, n == 2 ? 2 : 5); i++) bind(row, (int)i + 1, g_strstrip(fields[i]));
  sqlite3_step(row);
  sqlite3_finalize(row);
}

static void make_database(const char *path, const char *text) {
  g_auto(GStrv) lines = g_strsplit(text, "\n", 64);
  sqlite3 *db = NULL;
  g_assert_cmpint(sqlite3_open(path, &db), ==, SQLITE_OK);
  sqlite3_exec(db,
               "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; BEGIN;"
               "CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value);"
               "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start, end, demangledName, shortName, streamId)",
               NULL, NULL, NULL);
  for (guint i = 0; lines[i]; i++) add_row(db, lines[i]);
  g_assert_cmpint(sqlite3_exec(db, "COMMIT", NULL, NULL, NULL), ==, SQLITE_OK);
  sqlite3_close(db);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const char *folder = g_file_test("/dev/shm", G_FILE_TEST_IS_DIR) ? "/dev/shm" : g_get_tmp_dir();
  g_autofree char *path = g_strdup_printf("%s/orrery-fuzz-%d.sqlite", folder, (int)getpid());
  g_autofree char *text = g_strndup((const char *)data, size);
  g_autoptr(GError) error = NULL;
  make_database(path, text);
  g_autoptr(OrrNsys) nsys = orr_nsys_read(path, &error);
  unlink(path);
  g_assert_true((nsys != NULL) == (error == NULL));
  guint n_left_out = 0;
  g_autofree char *kernels = nsys ? orr_nsys_kernels_csv(nsys) : NULL;
  g_autofree char *collectives = nsys ? orr_nsys_collectives_csv(nsys, "fuzz", 8, &n_left_out) : NULL;
  g_assert_true(!nsys || (kernels && collectives));
  return 0;
}

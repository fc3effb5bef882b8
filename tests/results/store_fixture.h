/*
 * store_fixture.h - a temporary folder with a database in it, and one kind of row that has every
 * kind of column.
 */
#pragma once

#include <glib/gstdio.h>
#include <sqlite3.h>

#include "results/store.h"
#include "sim/base/fault.h"

typedef struct {
  char *folder;
  char *db; /* FOLDER/results.db; not made */
} Fixture;

static inline void fixture_set_up(Fixture *fixture, gconstpointer data) {
  (void)data;
  fixture->folder = g_dir_make_tmp("orrery-store-XXXXXX", NULL);
  g_assert_nonnull(fixture->folder);
  fixture->db = g_build_filename(fixture->folder, "results.db", NULL);
}

static inline void fixture_tear_down(Fixture *fixture, gconstpointer data) {
  (void)data;
  g_autoptr(GDir) dir = g_dir_open(fixture->folder, 0, NULL);
  for (const char *name; dir && (name = g_dir_read_name(dir));) {
    g_autofree char *path = g_build_filename(fixture->folder, name, NULL);
    g_remove(path);
  }
  g_rmdir(fixture->folder);
  g_free(fixture->folder);
  g_free(fixture->db);
}

/* Files in the folder: 1 is a database at rest, without a journal, log or shared memory. */
static inline guint fixture_n_files(const Fixture *fixture) {
  g_autoptr(GDir) dir = g_dir_open(fixture->folder, 0, NULL);
  guint n = 0;
  while (g_dir_read_name(dir)) n++;
  return n;
}

typedef struct {
  gint64 micro_batch; /* optional, 0 or more */
  double end_s;
  char *name;
  char *note; /* optional */
  int how;
  gboolean fits;
} Sample;

static const char *const sample_hows[] = {"measured", "modelled", NULL};
static const OrrField sample_fields[] = {
    ORR_FIELD_INT(Sample, "micro-batch", micro_batch, NULL, "The micro-batch.",
                  .flags = ORR_FIELD_OPTIONAL | ORR_FIELD_UNSIGNED),
    ORR_FIELD_REAL(Sample, "end-s", end_s, ORR_UNIT_SECONDS, NULL, "When it ended."),
    ORR_FIELD_TEXT(Sample, "name", name, NULL, "Its name."),
    ORR_COLUMN_TEXT(Sample, "note", note, "What is to be said."),
    ORR_FIELD_WORD(Sample, "how", how, sample_hows, NULL, "How it is known."),
    ORR_FIELD_BOOL(Sample, "fits", fits, NULL, "Whether it fits."),
};
static const OrrFieldTable sample_table =
    ORR_FIELD_TABLE("sample-row", "A row.", Sample, sample_fields);

static const OrrRunFacts sample_facts = {.scenario = "a scenario",
                                         .kind = "training",
                                         .file = "a.yaml",
                                         .hash = "00ff",
                                         .resolved = "schema: scenario/1\nname: a scenario\n",
                                         .tool_version = "0.1.0",
                                         .engine = "ideal",
                                         .fidelity = "folded"};

static inline OrrStore *fixture_open(const Fixture *fixture) {
  g_autoptr(GError) error = NULL;
  OrrStore *store = orr_store_open(fixture->db, &error);
  g_assert_no_error(error);
  g_assert_nonnull(store);
  return store;
}

/* One whole run with @n_rows rows, whose micro-batches count from 0; its id. */
static inline gint64 fixture_add_run(OrrStore *store, guint n_rows) {
  g_autoptr(GError) error = NULL;
  gint64 run_id = 0;
  orr_store_begin_run(store, &sample_facts, &run_id, &error);
  g_assert_no_error(error);
  for (guint i = 0; i < n_rows; i++) {
    char name[] = "gemm";
    Sample row = {.micro_batch = i, .end_s = 0.1 * i, .name = name};
    orr_store_add_row(store, &sample_table, &row, &error);
    g_assert_no_error(error);
  }
  orr_store_end_run(store, 0.25, &error);
  g_assert_no_error(error);
  return run_id;
}

/* The first cell of the answer, which the caller frees; NULL for SQL NULL. */
static inline char *fixture_ask(OrrStore *store, const char *sql) {
  g_autoptr(GError) error = NULL;
  g_autoptr(OrrAnswer) answer = orr_store_query(store, sql, 0, &error);
  g_assert_no_error(error);
  g_assert_cmpuint(answer->rows->len, >, 0);
  return g_strdup(((char **)answer->rows->pdata[0])[0]);
}

static inline void fixture_assert(OrrStore *store, const char *sql, const char *expected) {
  g_autofree char *found = fixture_ask(store, sql);
  g_assert_cmpstr(found, ==, expected);
}

/* @error is of our domain and @code, and its message has @part in it. */
static inline void fixture_assert_error(const GError *error, OrrFaultCode code, const char *part) {
  g_assert_error(error, ORR_FAULT, (int)code);
  if (!strstr(error->message, part)) g_error("'%s' is not in '%s'", part, error->message);
}

/* A connection of somebody else's to the same file, to do what the store does not. */
static inline sqlite3 *fixture_connect(const char *path) {
  sqlite3 *db = NULL;
  g_assert_cmpint(sqlite3_open(path, &db), ==, SQLITE_OK);
  return db;
}

static inline void fixture_exec(sqlite3 *db, const char *sql) {
  char *message = NULL;
  sqlite3_exec(db, sql, NULL, NULL, &message);
  g_assert_cmpstr(message, ==, NULL);
}

/*
 * sweep_fixture.h - small sweeps for tests: eight GPUs, a model of eight layers, milliseconds a
 * point.
 */
#pragma once

#include <glib/gstdio.h>
#include <string.h>

#include "sim/base/fault.h"
#include "sim/sweep/sweep.h"

#define SWEEP_SCENARIO                                                                             \
  "schema: scenario/1\n"                                                                           \
  "name: small\n"                                                                                  \
  "cluster: {base: dgx-a100-superpod, nodes: 1}\n"                                                 \
  "model: {layers: 8, hidden: 1024, heads: 16, vocab: 51200, context: 1024}\n"                     \
  "workload:\n"                                                                                    \
  "  kind: training\n  stack: none\n"                                                              \
  "  parallel: {tp: 2, pp: 2, dp: 2}\n"                                                            \
  "  batch: {global: 16, micro: 1}\n"                                                              \
  "  precision: bf16\n"

#define SWEEP_PRICES "prices: {currency: EUR, gpu-hour: 2}\n"

/* 4 * 4 * 3 * 2 = 96 combinations. */
#define SWEEP_AXES                                                                                 \
  "sweep:\n"                                                                                       \
  "  axes:\n"                                                                                      \
  "    tp: [1, 2, 4, 8]\n"                                                                         \
  "    pp: [1, 2, 4, 8]\n"                                                                         \
  "    micro-batch: [1, 2, 4]\n"                                                                   \
  "    recompute: [none, full]\n"

static char *sweep_folder;
static OrrLibrary *sweep_library;

static inline void sweep_set_up(void) {
  g_autoptr(GError) error = NULL;
  sweep_folder = g_dir_make_tmp("orrery-sweep-XXXXXX", &error);
  g_assert_no_error(error);
  sweep_library = orr_library_new(NULL);
}

static inline void sweep_tear_down(void) {
  g_autoptr(GDir) folder = g_dir_open(sweep_folder, 0, NULL);
  for (const char *name; folder && (name = g_dir_read_name(folder));) {
    g_autofree char *path = g_build_filename(sweep_folder, name, NULL);
    g_remove(path);
  }
  g_rmdir(sweep_folder);
  g_free(sweep_folder);
  orr_library_free(sweep_library);
}

/* A path in the folder; the file is removed where it is there. */
static inline char *sweep_fresh(const char *name) {
  static const char *const tails[] = {"", "-wal", "-shm", "-journal"};
  char *path = g_build_filename(sweep_folder, name, NULL);
  for (guint i = 0; i < G_N_ELEMENTS(tails); i++) {
    g_autofree char *file = g_strconcat(path, tails[i], NULL);
    g_remove(file);
  }
  return path;
}

static inline char *sweep_put(const char *name, const char *section) {
  char *path = g_build_filename(sweep_folder, name, NULL);
  g_autofree char *text = g_strconcat(SWEEP_SCENARIO, section, NULL);
  g_assert_true(g_file_set_contents(path, text, -1, NULL));
  return path;
}

static inline OrrSweepReport *sweep_run(const char *file, const char *db, guint jobs,
                                        gboolean resume) {
  g_autoptr(GError) error = NULL;
  const OrrSweepOrder order = {.file = file, .db = db, .jobs = jobs, .resume = resume};
  OrrSweepReport *report = orr_sweep(sweep_library, &order, &error);
  g_assert_no_error(error);
  return report;
}

/* The first field of the first row; NULL: there is none. */
static inline char *ask(const char *db, const char *sql) {
  g_autoptr(GError) error = NULL;
  g_autoptr(OrrStore) store = orr_store_open_read(db, &error);
  g_assert_no_error(error);
  g_autoptr(OrrAnswer) answer = orr_store_query(store, sql, 0, &error);
  g_assert_no_error(error);
  return answer->rows->len > 0 ? g_strdup(((char **)answer->rows->pdata[0])[0]) : NULL;
}

static inline void assert_answer(const char *db, const char *sql, const char *expected) {
  g_autofree char *found = ask(db, sql);
  g_assert_cmpstr(found, ==, expected);
}

/* Every row of every table, less when it was written and how long it took. */
static inline char *sweep_dump(const char *db) {
  g_autoptr(GError) error = NULL;
  g_autoptr(OrrStore) store = orr_store_open_read(db, &error);
  g_assert_no_error(error);
  g_autoptr(OrrAnswer) tables =
      orr_store_query(store,
                      "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE "
                      "'sqlite_%' ORDER BY name",
                      0, &error);
  g_assert_no_error(error);
  GString *text = g_string_new(NULL);
  for (guint t = 0; t < tables->rows->len; t++) {
    const char *name = ((char **)tables->rows->pdata[t])[0];
    g_autofree char *ask = g_strdup_printf(
        "SELECT name FROM pragma_table_info('%s') WHERE name NOT IN ('started_at', 'wall_time_s')",
        name);
    g_autoptr(OrrAnswer) columns = orr_store_query(store, ask, 0, &error);
    g_assert_no_error(error);
    g_autoptr(GString) sql = g_string_new("SELECT ");
    for (guint c = 0; c < columns->rows->len; c++)
      g_string_append_printf(sql, "%s\"%s\"", c > 0 ? ", " : "",
                             ((char **)columns->rows->pdata[c])[0]);
    g_string_append_printf(sql, " FROM \"%s\" ORDER BY 1, 2, 3", name);
    g_autoptr(OrrAnswer) rows = orr_store_query(store, sql->str, 0, &error);
    g_assert_no_error(error);
    g_autofree char *csv = orr_answer_csv(rows);
    g_string_append_printf(text, "-- %s\n%s", name, csv);
  }
  return g_string_free(text, FALSE);
}

/*
 * test_store_merge.c - runs of one database copied into another: whole, once, under the numbers they should have.
 */
#include <string.h>

#include "tests/results/store_fixture.h"

static const OrrStoreSpan everything = {1, G_MAXINT64, 0};

static char *other_path(const Fixture *fixture) { return g_build_filename(fixture->folder, "other.db", NULL); }

/* Another database with @n runs; run k has k rows. */
static char *add_other(const Fixture *fixture, guint n) {
  g_autofree char *path = other_path(fixture);
  g_autoptr(GError) error = NULL;
  g_autoptr(OrrStore) other = orr_store_open(path, &error);
  g_assert_no_error(error);
  for (guint k = 1; k <= n; k++) fixture_add_run(other, k);
  return g_steal_pointer(&path);
}

static guint64 merge(OrrStore *store, const char *path, const OrrStoreSpan *span) {
  g_autoptr(GError) error = NULL;
  guint64 n = 99;
  orr_store_merge(store, path, span, &n, &error);
  g_assert_no_error(error);
  return n;
}

/* Run k brings k rows: 1 + 2 + 3. A second time nothing comes. */
static void test_into_empty(Fixture *fixture, gconstpointer data) {
  (void)data;
  g_autofree char *path = add_other(fixture, 3);
  g_autoptr(OrrStore) store = fixture_open(fixture);
  for (guint pass = 0; pass < 2; pass++) {
    g_assert_cmpuint(merge(store, path, &everything), ==, pass ? 0 : 3);
    fixture_assert(store, "SELECT count(*) FROM run", "3");
    fixture_assert(store, "SELECT group_concat(run_id || ':' || micro_batch, ' ') FROM sample_row",
                   "1:0 2:0 2:1 3:0 3:1 3:2");
  }
  fixture_assert(store, "SELECT count(*) FROM metric_def WHERE table_name = 'sample_row'", "6");
  fixture_assert(store, "SELECT strict FROM pragma_table_list('sample_row')", "1");
  g_assert_cmpint(fixture_add_run(store, 1), ==, 4); /* and it is written on as any other */
}

/* What is here stays: run 1 has two rows, run 1 of the other one has one. */
static void test_kept(Fixture *fixture, gconstpointer data) {
  (void)data;
  g_autofree char *path = add_other(fixture, 2);
  g_autoptr(OrrStore) store = fixture_open(fixture);
  fixture_add_run(store, 2);
  g_assert_cmpuint(merge(store, path, &everything), ==, 1);
  fixture_assert(store, "SELECT group_concat(run_id || ':' || micro_batch, ' ') FROM sample_row", "1:0 1:1 2:0 2:1");
}

static void test_span(Fixture *fixture, gconstpointer data) {
  (void)data;
  g_autofree char *path = add_other(fixture, 4);
  g_autoptr(OrrStore) store = fixture_open(fixture);
  const OrrStoreSpan span = {2, 3, 0};
  g_assert_cmpuint(merge(store, path, &span), ==, 2);
  fixture_assert(store, "SELECT group_concat(id, ' ') FROM run", "2 3");
}

/* Numbers move in every place that holds one: the run, its rows, a sweep's point and the text that names its sweep. */
static void test_shift(Fixture *fixture, gconstpointer data) {
  (void)data;
  g_autofree char *path = add_other(fixture, 2);
  sqlite3 *other = fixture_connect(path);
  fixture_exec(other, "CREATE TABLE sweep_point (run_id INTEGER NOT NULL, sweep INTEGER) STRICT;"
                      "INSERT INTO sweep_point VALUES (2, 1);"
                      "UPDATE run SET resolved = '# The scenario of run 1 with' || char(10) || 'a: 1' WHERE id = 2");
  sqlite3_close(other);
  g_autoptr(OrrStore) store = fixture_open(fixture);
  const OrrStoreSpan span = {1, G_MAXINT64, 40};
  g_assert_cmpuint(merge(store, path, &span), ==, 2);
  fixture_assert(store, "SELECT group_concat(id, ' ') FROM run", "41 42");
  fixture_assert(store, "SELECT group_concat(run_id, ' ') FROM sample_row", "41 42 42");
  fixture_assert(store, "SELECT run_id || ' of ' || sweep FROM sweep_point", "42 of 41");
  fixture_assert(store, "SELECT resolved FROM run WHERE id = 42", "# The scenario of run 41 with\na: 1");
  fixture_assert(store, "SELECT resolved FROM run WHERE id = 41", sample_facts.resolved);
}

/* A column that only the other one has is made, and is NULL in what was here. */
static void test_new_column(Fixture *fixture, gconstpointer data) {
  (void)data;
  g_autofree char *path = add_other(fixture, 2);
  sqlite3 *other = fixture_connect(path);
  fixture_exec(other, "ALTER TABLE sample_row ADD COLUMN colour TEXT; UPDATE sample_row SET colour = 'red'");
  sqlite3_close(other);
  g_autoptr(OrrStore) store = fixture_open(fixture);
  fixture_add_run(store, 1);
  merge(store, path, &everything);
  fixture_assert(store, "SELECT group_concat(run_id || ifnull(colour, '?'), ' ') FROM sample_row", "1? 2red 2red");
}

/* A row that cannot come (no such run here: a broken file) takes the whole merge back. */
static void test_all_or_nothing(Fixture *fixture, gconstpointer data) {
  (void)data;
  g_autofree char *path = add_other(fixture, 2);
  sqlite3 *other = fixture_connect(path);
  fixture_exec(other, "CREATE TABLE zoo (run_id INTEGER, name TEXT) STRICT; INSERT INTO zoo VALUES (1, NULL)");
  sqlite3_close(other);
  { g_autoptr(OrrStore) store = fixture_open(fixture); }
  sqlite3 *mine = fixture_connect(fixture->db);
  fixture_exec(mine, "CREATE TABLE zoo (run_id INTEGER, name TEXT NOT NULL) STRICT");
  sqlite3_close(mine);
  g_autoptr(OrrStore) store = fixture_open(fixture);
  g_autoptr(GError) error = NULL;
  g_assert_false(orr_store_merge(store, path, &everything, NULL, &error));
  g_assert_nonnull(strstr(error->message, "other.db: "));
  g_assert_nonnull(strstr(error->message, "NOT NULL constraint failed: zoo.name"));
  fixture_assert(store, "SELECT count(*) FROM run", "0");
  fixture_assert(store, "SELECT count(*) FROM sqlite_schema WHERE name = 'sample_row'", "0");
  fixture_add_run(store, 1); /* nothing is left open */
}

/* What a kill in the middle of the first commit leaves, once it is rolled back: our numbers, no table. */
static void test_unmade(Fixture *fixture, gconstpointer data) {
  (void)data;
  g_autofree char *path = other_path(fixture);
  sqlite3 *other = fixture_connect(path);
  fixture_exec(other, "PRAGMA application_id = 0x4f525259; PRAGMA user_version = 1");
  sqlite3_close(other);
  g_autoptr(OrrStore) store = fixture_open(fixture);
  g_assert_cmpuint(merge(store, path, &everything), ==, 0);
  g_autofree char *made = add_other(fixture, 1); /* opening it makes it anew */
  g_assert_cmpuint(merge(store, made, &everything), ==, 1);
}

static void test_refused(Fixture *fixture, gconstpointer data) {
  (void)data;
  g_autofree char *path = other_path(fixture);
  g_autoptr(OrrStore) store = fixture_open(fixture);
  g_autoptr(GError) absent = NULL, foreign = NULL;
  g_assert_false(orr_store_merge(store, path, &everything, NULL, &absent));
  fixture_assert_error(absent, ORR_FAULT_RESOURCE, "there is no such results database");
  g_assert_true(g_file_set_contents(path, "no database at all", -1, NULL));
  g_assert_false(orr_store_merge(store, path, &everything, NULL, &foreign));
  fixture_assert_error(foreign, ORR_FAULT_RESOURCE, "is no SQLite database; it was left as it is");
}

#define ADD(name_, function_)                                                                                          \
  g_test_add("/results/store-merge/" name_, Fixture, NULL, fixture_set_up, function_, fixture_tear_down)

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  ADD("into-empty", test_into_empty);
  ADD("kept", test_kept);
  ADD("span", test_span);
  ADD("shift", test_shift);
  ADD("new-column", test_new_column);
  ADD("all-or-nothing", test_all_or_nothing);
  ADD("unmade", test_unmade);
  ADD("refused", test_refused);
  return g_test_run();
}

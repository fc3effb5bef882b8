/*
 * test_store_query.c - what may be asked, what may not, and which run is meant.
 */
#include <string.h>

#include "tests/results/store_fixture.h"

static void assert_refused(OrrStore *store, const char *sql, const char *part) {
  g_autoptr(GError) error = NULL;
  g_assert_null(orr_store_query(store, sql, 0, &error));
  fixture_assert_error(error, ORR_FAULT_USAGE, part);
}

/* On a store opened for writing, where only the store itself stands in the way. */
static void test_nothing_can_be_written(Fixture *fixture, gconstpointer data) {
  (void)data;
  static const char *const writes[] = {"DELETE FROM run",
                                       "UPDATE run SET kind = ''",
                                       "INSERT INTO run DEFAULT VALUES",
                                       "DROP TABLE run",
                                       "CREATE TABLE x (y)",
                                       "CREATE TEMP TABLE x (y)",
                                       "ATTACH 'other.db' AS other",
                                       "DETACH main",
                                       "BEGIN IMMEDIATE",
                                       "COMMIT TRANSACTION",
                                       "SAVEPOINT a",
                                       "VACUUM main",
                                       "VACUUM INTO 'copy.db'",
                                       "EXPLAIN VACUUM main",
                                       "REINDEX metric_def",
                                       "ANALYZE run",
                                       "PRAGMA user_version = 7",
                                       "PRAGMA journal_mode = DELETE",
                                       "PRAGMA wal_checkpoint",
                                       "PRAGMA optimize",
                                       "PRAGMA writable_schema = 1",
                                       "EXPLAIN DELETE FROM run",
                                       "WITH a AS (SELECT 1) DELETE FROM run",
                                       "DELETE FROM run RETURNING id"};
  g_autoptr(OrrStore) store = fixture_open(fixture);
  fixture_add_run(store, 1);
  for (guint i = 0; i < G_N_ELEMENTS(writes); i++)
    assert_refused(store, writes[i], "a query may only read");
  fixture_assert(store, "SELECT count(*) FROM run", "1");
  g_assert_false(g_file_test("copy.db", G_FILE_TEST_EXISTS));
  g_assert_cmpint(fixture_add_run(store, 1), ==, 2); /* and the store itself may write again */
}

static void test_what_may_be_asked(Fixture *fixture, gconstpointer data) {
  (void)data;
  static const char *const reads[] = {
      "SELECT 1",
      "VALUES (1), (2)",
      "WITH a AS (SELECT 1) SELECT * FROM a",
      "SELECT 1; -- and nothing more\n ; /* here */",
      "PRAGMA table_info('run')",
      "EXPLAIN QUERY PLAN SELECT * FROM run",
      "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 9) SELECT * FROM n",
      "SELECT name FROM pragma_table_info('run')"};
  g_autoptr(OrrStore) store = fixture_open(fixture);
  for (guint i = 0; i < G_N_ELEMENTS(reads); i++) {
    g_autoptr(GError) error = NULL;
    g_autoptr(OrrAnswer) answer = orr_store_query(store, reads[i], 0, &error);
    g_assert_no_error(error);
    g_assert_cmpuint(answer->rows->len, >, 0);
  }
}

static void test_mistakes(Fixture *fixture, gconstpointer data) {
  (void)data;
  g_autoptr(OrrStore) store = fixture_open(fixture);
  assert_refused(store, "SELECT 1; SELECT 2", "one statement at a time");
  assert_refused(store, "SELECT 1; DROP TABLE run", "one statement at a time");
  assert_refused(store, "SELECT 1; what is this", "one statement at a time");
  assert_refused(store, "-- nothing", "there is no statement");
  assert_refused(store, "SELECT * FROM spam", "no such table: spam, in: SELECT * FROM spam");
  assert_refused(store, "SELECT load_extension('x')",
                 "not authorized to use function: load_extension");
  assert_refused(store, "SELEC 1", "syntax error");
  assert_refused(store, "SELECT abs(-9223372036854775808)",
                 "integer overflow"); /* fails while it runs */
  assert_refused(store, "SELECT :walk", "parameter :walk");
  assert_refused(store, "SELECT ?", "parameter ?");
  assert_refused(store, "sumary", "did you mean 'summary'?");
  assert_refused(store, "xyzzy", "there is no view 'xyzzy' (views: ");
}

static void test_run_parameter(Fixture *fixture, gconstpointer data) {
  (void)data;
  g_autoptr(GError) error = NULL;
  g_autoptr(OrrStore) store = fixture_open(fixture);
  fixture_assert(store, "SELECT :run", NULL); /* no run yet */
  for (guint i = 1; i <= 3; i++) fixture_add_run(store, i);
  fixture_assert(store, "SELECT :run", "3");
  fixture_assert(store, "SELECT @run + $run", "6");
  g_autoptr(OrrAnswer) answer =
      orr_store_query(store, "SELECT count(*) FROM sample_row WHERE run_id = :run", 2, &error);
  g_assert_no_error(error);
  g_assert_cmpstr(((char **)answer->rows->pdata[0])[0], ==, "2");
  g_assert_null(orr_store_query(store, "summary", 7, &error));
  fixture_assert_error(error, ORR_FAULT_USAGE, "there is no run 7; the newest is 3");
}

static void test_number_columns(Fixture *fixture, gconstpointer data) {
  (void)data;
  g_autoptr(GError) error = NULL;
  g_autoptr(OrrStore) store = fixture_open(fixture);
  g_autoptr(OrrAnswer) answer = orr_store_query(
      store, "VALUES (1, '2', 3, NULL, NULL, 9e999, x'00ff'), (1.5, 3, 'x', NULL, 4, 1, x'')", 0,
      &error);
  g_assert_no_error(error);
  /* all numbers; a text of digits; mixed; nothing; one number and a NULL; infinity is NULL;
   * bytes */
  const gboolean expected[] = {TRUE, FALSE, FALSE, FALSE, TRUE, TRUE, FALSE};
  g_assert_cmpuint(answer->n_columns, ==, G_N_ELEMENTS(expected));
  for (guint i = 0; i < answer->n_columns; i++)
    g_assert_cmpint(answer->is_number[i], ==, expected[i]);
  g_assert_null(((char **)answer->rows->pdata[0])[5]);
  g_assert_cmpstr(((char **)answer->rows->pdata[0])[6], ==, "00ff");
}

#define ADD(name, function)                                                                        \
  g_test_add("/store-query/" name, Fixture, NULL, fixture_set_up, function, fixture_tear_down)

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  ADD("nothing-can-be-written", test_nothing_can_be_written);
  ADD("what-may-be-asked", test_what_may_be_asked);
  ADD("mistakes", test_mistakes);
  ADD("run-parameter", test_run_parameter);
  ADD("number-columns", test_number_columns);
  return g_test_run();
}

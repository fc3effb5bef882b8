/*
 * test_store.c - opening, the transaction of a run, and what happens when it is cut short or
 * another process is there.
 */
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/results/store_fixture.h"

static void test_new_database(Fixture *fixture, gconstpointer data) {
  (void)data;
  g_autoptr(OrrStore) store = fixture_open(fixture);
  fixture_assert(store, "PRAGMA application_id", "1330795097"); /* 0x4f525259, "ORRY" */
  fixture_assert(store, "PRAGMA user_version", "2");
  fixture_assert(store, "SELECT count(*) FROM run", "0");
  g_assert_cmpuint(fixture_n_files(fixture), ==, 3); /* the log and its index while it is open */
}

static void test_empty_file_is_fresh(Fixture *fixture, gconstpointer data) {
  (void)data;
  g_assert_true(g_file_set_contents(fixture->db, "", 0, NULL));
  g_autoptr(OrrStore) store = fixture_open(fixture);
  g_assert_cmpint(fixture_add_run(store, 1), ==, 1);
}

static void test_run_is_kept(Fixture *fixture, gconstpointer data) {
  (void)data;
  OrrStore *writer = fixture_open(fixture);
  g_assert_cmpint(fixture_add_run(writer, 3), ==, 1);
  g_assert_cmpint(fixture_add_run(writer, 2), ==, 2);
  orr_store_free(writer);
  g_assert_cmpuint(fixture_n_files(fixture), ==, 1); /* at rest: no log next to it */

  g_autoptr(GError) error = NULL;
  g_autoptr(OrrStore) store = orr_store_open_read(fixture->db, &error);
  g_assert_no_error(error);
  fixture_assert(
      store, "SELECT group_concat(n) FROM (SELECT count(*) AS n FROM sample_row GROUP BY run_id)",
      "3,2");
  fixture_assert(
      store,
      "SELECT scenario || kind || file || hash || tool_version || engine || fidelity FROM run",
      "a scenariotraininga.yaml00ff0.1.0idealfolded");
  fixture_assert(store, "SELECT wall_time_s FROM run", "0.25");
  fixture_assert(store, "SELECT started_at LIKE '20__-__-__T__:__:__Z' FROM run", "1");
}

static void test_abandoned_run_leaves_nothing(Fixture *fixture, gconstpointer data) {
  (void)data;
  g_autoptr(GError) error = NULL;
  g_autoptr(OrrStore) store = fixture_open(fixture);
  char name[] = "x";
  const Sample row = {.name = name};
  gint64 run_id = 0;
  g_assert_true(orr_store_begin_run(store, &sample_facts, &run_id, &error));
  g_assert_true(orr_store_add_row(store, &sample_table, &row, &error));
  orr_store_abandon_run(store);
  fixture_assert(store, "SELECT count(*) FROM run", "0");
  fixture_assert(store, "SELECT count(*) FROM sqlite_schema WHERE name = 'sample_row'", "0");
  /* The table went with the transaction: the next run makes it again. */
  fixture_add_run(store, 4);
  fixture_assert(store, "SELECT count(*) FROM sample_row", "4");
}

static void test_failed_row_is_rolled_back(Fixture *fixture, gconstpointer data) {
  (void)data;
  g_autoptr(GError) error = NULL;
  OrrStore *store = fixture_open(fixture);
  const Sample row = {.name = NULL}; /* required */
  g_assert_true(orr_store_begin_run(store, &sample_facts, NULL, &error));
  g_assert_false(orr_store_add_row(store, &sample_table, &row, &error));
  fixture_assert_error(error, ORR_FAULT_INTERNAL, "sample_row.name");
  orr_store_free(store); /* with the run unfinished */
  store = fixture_open(fixture);
  fixture_assert(store, "SELECT count(*) FROM run", "0");
  orr_store_free(store);
}

static void test_params(Fixture *fixture, gconstpointer data) {
  (void)data;
  g_autoptr(GError) error = NULL;
  g_autoptr(OrrStore) store = fixture_open(fixture);
  g_assert_true(orr_store_begin_run(store, &sample_facts, NULL, &error));
  g_assert_true(orr_store_add_param(store, "workload.parallel.tp", "8", &error));
  g_assert_true(orr_store_add_param(store, "cluster.link", "4.5e+11 B/s", &error));
  g_assert_true(orr_store_add_param(store, "model", "175b", &error));
  g_assert_true(orr_store_add_param(store, "none", NULL, &error));
  g_assert_false(orr_store_add_param(store, "model", "530b", &error));
  fixture_assert_error(error, ORR_FAULT_INTERNAL, "model");
  g_clear_error(&error);
  g_assert_true(orr_store_end_run(store, 0, &error));
  fixture_assert(store, "SELECT value FROM param WHERE path = 'cluster.link'", "4.5e+11 B/s");
  fixture_assert(store, "SELECT group_concat(path) FROM param WHERE number > 7",
                 "cluster.link,workload.parallel.tp");
  fixture_assert(store, "SELECT count(*) FROM param WHERE number IS NULL", "2");
}

static void test_wrong_order_is_refused(Fixture *fixture, gconstpointer data) {
  (void)data;
  g_autoptr(GError) error = NULL;
  g_autoptr(OrrStore) store = fixture_open(fixture);
  g_assert_true(orr_store_begin_run(store, &sample_facts, NULL, &error));
  g_assert_false(orr_store_begin_run(store, &sample_facts, NULL, &error));
  fixture_assert_error(error, ORR_FAULT_INTERNAL, "already");
  g_clear_error(&error);
  orr_store_abandon_run(store);
  g_assert_false(orr_store_add_param(store, "a", "1", &error));
  fixture_assert_error(error, ORR_FAULT_INTERNAL, "no run is being written");
  g_clear_error(&error);

  g_autoptr(OrrStore) reader = orr_store_open_read(fixture->db, &error);
  g_assert_no_error(error);
  g_assert_false(orr_store_begin_run(reader, &sample_facts, NULL, &error));
  fixture_assert_error(error, ORR_FAULT_INTERNAL, "opened for reading");
}

/* A process that dies between begin and end: the database is as it was before. */
static void test_killed_writer(Fixture *fixture, gconstpointer data) {
  (void)data;
  OrrStore *before = fixture_open(fixture);
  fixture_add_run(before, 2);
  orr_store_free(before);
  pid_t child = fork();
  if (child == 0) {
    OrrStore *store = orr_store_open(fixture->db, NULL);
    char name[] = "x";
    const Sample row = {.name = name};
    gboolean fine = store && orr_store_begin_run(store, &sample_facts, NULL, NULL);
    for (guint i = 0; fine && i < 200000; i++) /* more than the cache holds: pages reach the log */
      fine = orr_store_add_row(store, &sample_table, &row, NULL);
    _exit(fine ? 0 : 1);
  }
  int status = 1;
  g_assert_cmpint(waitpid(child, &status, 0), ==, child);
  g_assert_cmpint(status, ==, 0);
  g_autoptr(OrrStore) store = fixture_open(fixture);
  fixture_assert(store, "SELECT count(*) FROM run", "1");
  fixture_assert(store, "SELECT count(*) FROM sample_row", "2");
  fixture_assert(store, "PRAGMA integrity_check", "ok");
  g_assert_cmpint(fixture_add_run(store, 1), ==, 2);
}

/* Two stores on one file take turns; each reads what the other has finished, and nothing of what
 * it has not. */
static void test_two_stores(Fixture *fixture, gconstpointer data) {
  (void)data;
  g_autoptr(GError) error = NULL;
  g_autoptr(OrrStore) a = fixture_open(fixture);
  g_autoptr(OrrStore) b = fixture_open(fixture);
  g_assert_cmpint(fixture_add_run(a, 1), ==, 1);
  g_assert_cmpint(fixture_add_run(b, 1), ==, 2);
  g_assert_true(orr_store_begin_run(a, &sample_facts, NULL, &error));
  fixture_assert(b, "SELECT count(*) FROM run", "2");
  fixture_assert(a, "SELECT count(*) FROM run", "3");
  g_assert_true(orr_store_end_run(a, 0, &error));
  fixture_assert(b, "SELECT count(*) FROM run", "3");
}

/* Processes that make, write and close one file at the same time: no run is lost, none is
 * refused. */
static void test_many_processes(Fixture *fixture, gconstpointer data) {
  (void)data;
  enum { N = 6, RUNS = 10 };
  for (int i = 0; i < N; i++)
    if (fork() == 0) {
      gboolean fine = TRUE;
      for (int k = 0; fine && k < RUNS; k++) {
        g_autoptr(GError) error = NULL;
        OrrStore *store = orr_store_open(fixture->db, &error);
        fine = store && orr_store_begin_run(store, &sample_facts, NULL, &error) &&
               orr_store_end_run(store, 0, &error);
        if (error) g_printerr("# %s\n", error->message);
        orr_store_free(store);
      }
      _exit(fine ? 0 : 1);
    }
  for (int i = 0, status = 1; i < N; i++) {
    g_assert_cmpint(wait(&status), >, 0);
    g_assert_cmpint(status, ==, 0);
  }
  g_assert_cmpuint(fixture_n_files(fixture), ==, 1);
  g_autoptr(OrrStore) store = fixture_open(fixture);
  fixture_assert(store, "SELECT count(*) FROM run", "60");
}

/* Nobody is waited for in earnest here. */
static guint n_said;
static void count_said(const char *path, double waited_s) {
  g_assert_true(g_str_has_suffix(path, "results.db"));
  g_assert_cmpfloat(waited_s, >=, 0.01);
  n_said++;
}
static const OrrStorePatience short_patience = {
    .notice_s = 0.01, .most_s = 0.05, .say = count_said};

/* It waits, says so once, and gives up; then the next run goes in. */
static void test_locked(Fixture *fixture, gconstpointer data) {
  (void)data;
  g_autoptr(GError) error = NULL;
  g_autoptr(OrrStore) store = fixture_open(fixture);
  sqlite3 *other = fixture_connect(fixture->db);
  fixture_exec(other, "BEGIN IMMEDIATE");
  n_said = 0;
  orr_store_set_patience(&short_patience);
  for (guint i = 0; i < 2; i++) {
    g_assert_false(orr_store_begin_run(store, &sample_facts, NULL, &error));
    fixture_assert_error(error, ORR_FAULT_LOCKED, "is locked by another process (waited 0.05 s)");
    g_clear_error(&error);
  }
  g_assert_cmpuint(n_said, ==, 1);
  g_assert_false(orr_store_is_aside(store));
  orr_store_set_patience(NULL);
  fixture_exec(other, "COMMIT");
  g_assert_cmpint(fixture_add_run(store, 1), ==, 1);
  sqlite3_close(other);
}

/* What is kept meanwhile is a database of its own, at rest when the store is freed; merging brings
 * its run home. */
static void test_kept_aside(Fixture *fixture, gconstpointer data) {
  (void)data;
  g_autoptr(GError) error = NULL;
  OrrStore *store = fixture_open(fixture);
  fixture_add_run(store, 2);
  sqlite3 *other = fixture_connect(fixture->db);
  fixture_exec(other, "BEGIN IMMEDIATE");
  orr_store_set_patience(&short_patience);
  orr_store_keep_aside(store);
  fixture_add_run(store, 3);
  fixture_add_run(store, 4);
  g_assert_true(orr_store_is_aside(store));
  g_autofree char *aside = g_strdup(orr_store_path(store));
  g_assert_true(g_str_has_suffix(aside, "results.db.kept-1"));
  orr_store_free(store);
  orr_store_set_patience(NULL);
  fixture_exec(other, "COMMIT");
  sqlite3_close(other);
  g_assert_cmpuint(fixture_n_files(fixture), ==, 2);
  g_autoptr(OrrStore) home = fixture_open(fixture);
  fixture_assert(home, "SELECT count(*) FROM run", "1");
  g_assert_true(orr_store_begin_batch(home, &error) && orr_store_merge(home, aside, NULL, &error) &&
                orr_store_end_batch(home, &error));
  fixture_assert(
      home, "SELECT group_concat(n) FROM (SELECT count(*) AS n FROM sample_row GROUP BY run_id)",
      "2,3,4");
}

/* Without a log, who reads is met at the beginning of a run: at its end the run would be lost. */
static void test_reader(Fixture *fixture, gconstpointer data) {
  (void)data;
  g_autoptr(OrrStore) store = fixture_open(fixture);
  fixture_add_run(store, 1);
  g_clear_pointer(&store, orr_store_free);
  sqlite3 *other = fixture_connect(fixture->db);
  fixture_exec(other, "BEGIN; SELECT count(*) FROM run");
  orr_store_set_patience(&short_patience);
  store = fixture_open(fixture); /* cannot have its log: somebody reads */
  orr_store_keep_aside(store);
  fixture_add_run(store, 1);
  orr_store_set_patience(NULL);
  g_assert_true(orr_store_is_aside(store));
  fixture_exec(other, "COMMIT");
  sqlite3_close(other);
}

/* Locked for everybody, readers too: also when opening. */
static void test_locked_at_open(Fixture *fixture, gconstpointer data) {
  (void)data;
  g_autoptr(GError) error = NULL;
  orr_store_free(fixture_open(fixture));
  sqlite3 *other = fixture_connect(fixture->db);
  fixture_exec(other, "BEGIN EXCLUSIVE");
  orr_store_set_patience(&short_patience);
  g_assert_null(orr_store_open_read(fixture->db, &error));
  fixture_assert_error(error, ORR_FAULT_LOCKED, "is locked by another process");
  g_clear_error(&error);
  g_assert_null(orr_store_open(fixture->db, &error));
  fixture_assert_error(error, ORR_FAULT_LOCKED, "is locked by another process");
  orr_store_set_patience(NULL);
  sqlite3_close(other);
}

static void test_deleting_a_run(Fixture *fixture, gconstpointer data) {
  (void)data;
  g_autoptr(OrrStore) store = fixture_open(fixture);
  fixture_add_run(store, 2);
  fixture_add_run(store, 5);
  sqlite3 *other = fixture_connect(fixture->db);
  fixture_exec(other, "PRAGMA foreign_keys = ON; DELETE FROM run WHERE id = 1");
  sqlite3_close(other);
  fixture_assert(store, "SELECT count(*) FROM sample_row", "5"); /* the rows of a run go with it */
}

#define ADD(name, function)                                                                        \
  g_test_add("/store/" name, Fixture, NULL, fixture_set_up, function, fixture_tear_down)

/* A writer flushes the log before it folds it into the file: a power cut may lose the last runs,
 * never the file. With synchronous = OFF (0) the order of writes is the operating system's, and
 * the file may be lost. */
static void test_flushes(Fixture *fixture, gconstpointer data) {
  (void)data;
  g_autoptr(OrrStore) store = fixture_open(fixture);
  fixture_assert(store, "PRAGMA synchronous", "1");
  fixture_add_run(store, 1);
  fixture_assert(store, "PRAGMA synchronous", "1");
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  ADD("new-database", test_new_database);
  ADD("empty-file-is-fresh", test_empty_file_is_fresh);
  ADD("run-is-kept", test_run_is_kept);
  ADD("abandoned-run-leaves-nothing", test_abandoned_run_leaves_nothing);
  ADD("failed-row-is-rolled-back", test_failed_row_is_rolled_back);
  ADD("params", test_params);
  ADD("wrong-order-is-refused", test_wrong_order_is_refused);
  ADD("killed-writer", test_killed_writer);
  ADD("two-stores", test_two_stores);
  ADD("many-processes", test_many_processes);
  ADD("flushes", test_flushes);
  ADD("locked", test_locked);
  ADD("kept-aside", test_kept_aside);
  ADD("reader", test_reader);
  ADD("locked-at-open", test_locked_at_open);
  ADD("deleting-a-run", test_deleting_a_run);
  return g_test_run();
}

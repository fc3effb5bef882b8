/*
 * test_locked.c - a database that another process keeps locked: who has nothing to lose is refused;
 * a finished simulation prints its answer and goes into a database beside, which `orrery db merge`
 * takes.
 */
#include "tests/cli/bad_database.h"

/* Not to wait a minute; 0.05 s has a chance to find a lock that goes soon, none of the locks here
 * does. */
#define WAIT "50 ms"

static sqlite3 *lock(const char *name, const char *how) {
  sqlite3 *db = connect_to(name);
  execute(db, how);
  return db;
}

static void unlock(sqlite3 *db) {
  execute(db, "ROLLBACK");
  sqlite3_close(db);
}

/* "table: rows" of every table that does not name runs by number, in one line. */
static char *count_rows(const char *name) {
  g_autofree char *line = g_strdup_printf("query %s \"SELECT (SELECT count(*) FROM run) || ' runs, "
                                          "' || (SELECT count(*) FROM param) || ' params'\" --csv",
                                          name);
  g_autofree char *err = NULL;
  char *out = NULL;
  g_assert_cmpint(spawn(line, &out, &err), ==, 0);
  return out;
}

/* Not by assert_refused, which reads the file: that would drop this process' lock on it (POSIX). */
static void assert_kept(const char *line, const char *wanted) {
  g_autofree char *out = NULL, *err = NULL;
  const int status = spawn(line, &out, &err);
  if (status != 1 || !strstr(out, wanted) ||
      !strstr(err, "another process kept r.db locked for 0.05 s") ||
      !strstr(err, "orrery db merge r.db r.db.kept-1"))
    g_error("orrery %s: status %d: %s%s", line, status, out, err);
}

/* @line stores into r.db; with a lock that lets others read, and one that a writer of ours would
 * meet with a log. */
static void test_kept(gconstpointer data) {
  const char *const *what = data; /* the line, and a part of its answer */
  static const char *const modes[] = {"PRAGMA journal_mode = DELETE", "PRAGMA journal_mode = WAL"};
  for (guint i = 0; i < G_N_ELEMENTS(modes); i++) {
    empty_folder();
    put("small.yaml", GOOD, -1);
    assert_fine("run small.yaml --db r.db", "run 1 in r.db");
    sqlite3 *holder = connect_to("r.db");
    execute(holder, modes[i]);
    execute(holder, "BEGIN IMMEDIATE");
    assert_kept(what[0], what[1]);
    unlock(holder);
    assert_fine("db merge r.db r.db.kept-1", " added");
    g_autofree char *merged = count_rows("r.db");
    assert_fine("run small.yaml --db s.db", "run 1 in s.db");
    g_autofree char *line = g_strconcat(what[0], NULL);
    char *at = strstr(line, "r.db");
    *at = 's';
    assert_fine(line, what[1]);
    g_autofree char *straight = count_rows("s.db");
    g_assert_cmpstr(merged, ==, straight);
  }
}

static const char *const kept[][2] = {
    {"run small.yaml --db r.db --set seed=2", "efficiency"},
    {"run small.yaml --db r.db --set seed=2 --json", "iteration_time_s"},
    {"run two-jobs-one-uplink --db r.db", "stored"},
    {"validate korthikanti-layers --db r.db", "mean absolute error"},
};

/* A sweep goes on beside under its own numbers, so that its points join the points stored
 * before. */
static void test_sweep(void) {
  empty_folder();
  put("swept.yaml", GOOD "sweep:\n  axes:\n    micro-batch: [1, 2, 4, 8]\n", -1);
  assert_fine("sweep swept.yaml --db r.db -j 2", "4");
  g_autofree char *whole = count_rows("r.db");
  sqlite3 *db = connect_to("r.db");
  /* the sweep and two of four points stay */
  execute(db, "PRAGMA foreign_keys = ON; DELETE FROM run WHERE id > 3");
  execute(db, "BEGIN IMMEDIATE");
  assert_kept("sweep swept.yaml --db r.db -j 2 --resume", "stored");
  unlock(db);
  assert_fine("db merge r.db r.db.kept-1", "2 points of sweeps");
  g_autofree char *merged = count_rows("r.db");
  g_assert_cmpstr(merged, ==, whole);
}

/* Nothing is made beside where nothing can be lost: before the work, or for who reads. */
static void test_refused(void) {
  static const char *const lines[] = {"run small.yaml --db r.db", "query r.db runs",
                                      "db merge n.db r.db", "report r.db", "db vacuum r.db"};
  empty_folder();
  put("small.yaml", GOOD, -1);
  assert_fine("run small.yaml --db r.db", "run 1 in r.db");
  sqlite3 *holder = lock("r.db", "BEGIN EXCLUSIVE");
  for (guint i = 0; i < G_N_ELEMENTS(lines); i++) {
    g_autofree char *out = NULL, *err = NULL;
    g_assert_cmpint(spawn(lines[i], &out, &err), ==, 1);
    if (!strstr(err, "r.db: is locked by another process (waited 0.05 s)"))
      g_error("orrery %s: %s", lines[i], err);
    g_assert_cmpstr(out, ==, "");
  }
  unlock(holder);
  g_autofree char *aside = path_of("r.db.kept-1");
  g_assert_false(g_file_test(aside, G_FILE_TEST_EXISTS));
}

/* A folder full of such files, or one that cannot be written: both reasons are printed. */
static void test_second(void) {
  empty_folder();
  put("small.yaml", GOOD, -1);
  assert_fine("run small.yaml --db r.db", "run 1 in r.db");
  put("r.db.kept-1", "somebody's", -1);
  sqlite3 *holder = lock("r.db", "BEGIN IMMEDIATE");
  g_autofree char *out = NULL, *err = NULL, *text = NULL, *path = path_of("r.db.kept-1");
  g_assert_cmpint(spawn("run small.yaml --db r.db", &out, &err), ==, 1);
  g_assert_nonnull(strstr(err, "orrery db merge r.db r.db.kept-2"));
  g_assert_nonnull(strstr(out, "run 1 in r.db.kept-2"));
  unlock(holder);
  g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
  g_assert_cmpstr(text, ==, "somebody's");
}

static void test_wait(void) {
  g_setenv("ORRERY_LOCK_WAIT", "a while", TRUE);
  assert_refused("list views", 2, "ORRERY_LOCK_WAIT: ");
  g_setenv("ORRERY_LOCK_WAIT", WAIT, TRUE);
}

static void add_tests(void) {
  g_setenv("ORRERY_LOCK_WAIT", WAIT, TRUE);
  for (guint i = 0; i < G_N_ELEMENTS(kept); i++) {
    g_autofree char *name = g_strdup_printf("/locked/kept/%u", i);
    g_test_add_data_func(name, kept[i], test_kept);
  }
  g_test_add_func("/locked/sweep", test_sweep);
  g_test_add_func("/locked/refused", test_refused);
  g_test_add_func("/locked/second", test_second);
  g_test_add_func("/locked/wait", test_wait);
}

int main(int argc, char **argv) { return run_tests(argc, argv, add_tests); }

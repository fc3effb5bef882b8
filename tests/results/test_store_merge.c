/*
 * test_store_merge.c - the runs of other databases into one: numbers mapped, nothing twice, all or
 * nothing.
 */
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/results/store_fixture.h"

typedef struct {
  gint64 other; /* a run's number; 0: none */
  double end_s, wall_time_s;
} Link;

static const OrrField link_fields[] = {
    ORR_FIELD_INT(Link, "other", other, NULL, "A run.", .flags = ORR_FIELD_RUN),
    ORR_FIELD_REAL(Link, "end-s", end_s, ORR_UNIT_NONE, NULL, "A time."),
    ORR_FIELD_REAL(Link, "wall-time-s", wall_time_s, ORR_UNIT_NONE, NULL, "A time."),
};
static const OrrFieldTable link_table = ORR_FIELD_TABLE("link_row", "A row.", Link, link_fields);

typedef struct {
  gint64 n_points;
} SweepRow;
typedef struct {
  gint64 sweep;
} PointRow;
static const OrrField sweep_row_fields[] = {
    ORR_FIELD_INT(SweepRow, "n-points", n_points, NULL, "Points.")};
static const OrrField point_row_fields[] = {
    ORR_FIELD_INT(PointRow, "sweep", sweep, NULL, "The sweep.", .flags = ORR_FIELD_RUN)};
static const OrrFieldTable sweep_row_table =
    ORR_FIELD_TABLE("sweep", "A sweep.", SweepRow, sweep_row_fields);
static const OrrFieldTable point_row_table =
    ORR_FIELD_TABLE("sweep_point", "A point.", PointRow, point_row_fields);

static char *path_of(const Fixture *fixture, const char *name) {
  return g_build_filename(fixture->folder, name, NULL);
}

static OrrStore *open_named(const Fixture *fixture, const char *name) {
  g_autofree char *path = path_of(fixture, name);
  g_autoptr(GError) error = NULL;
  OrrStore *store = orr_store_open(path, &error);
  g_assert_no_error(error);
  return store;
}

/* A run with one row of @table. */
static gint64 add_run(OrrStore *store, const char *kind, const char *hash, gint64 id,
                      const OrrFieldTable *table, const void *row) {
  g_autoptr(GError) error = NULL;
  OrrRunFacts facts = sample_facts;
  gint64 run = 0;
  facts.kind = kind;
  facts.hash = hash;
  facts.id = id;
  orr_store_begin_run(store, &facts, &run, &error);
  g_assert_no_error(error);
  orr_store_add_param(store, "a.b", hash, &error);
  orr_store_add_row(store, table, row, &error);
  g_assert_no_error(error);
  orr_store_end_run(store, 0.5, &error);
  g_assert_no_error(error);
  return run;
}

static OrrMergeFacts merge(OrrStore *store, const Fixture *fixture, const char *name) {
  g_autofree char *path = path_of(fixture, name);
  g_autoptr(GError) error = NULL;
  OrrMergeFacts facts = {0};
  g_assert_true(orr_store_begin_batch(store, &error));
  orr_store_merge(store, path, &facts, &error);
  g_assert_no_error(error);
  g_assert_true(orr_store_end_batch(store, &error));
  return facts;
}

static void assert_facts(OrrMergeFacts facts, gint64 runs, gint64 points, gint64 duplicates,
                         gint64 differing) {
  g_assert_cmpint(facts.runs, ==, runs);
  g_assert_cmpint(facts.points, ==, points);
  g_assert_cmpint(facts.duplicates, ==, duplicates);
  g_assert_cmpint(facts.differing, ==, differing);
}

/* Two runs become 3 and 4; the number 1 in the second becomes 3, and 0, which means none, stays. */
static void test_numbers(Fixture *fixture, gconstpointer data) {
  (void)data;
  OrrStore *other = open_named(fixture, "b.db");
  add_run(other, "training", "h1", 0, &link_table, &(Link){0, 1.5, 9});
  add_run(other, "training", "h2", 0, &link_table, &(Link){1, 2.5, 9});
  orr_store_free(other);
  g_autoptr(OrrStore) store = fixture_open(fixture);
  fixture_add_run(store, 2);
  fixture_add_run(store, 0);
  assert_facts(merge(store, fixture, "b.db"), 2, 0, 0, 0);
  fixture_assert(store,
                 "SELECT group_concat(run_id || ' ' || other || ' ' || end_s, ', ') FROM link_row",
                 "3 0 1.5, 4 3 2.5");
  fixture_assert(store, "SELECT group_concat(value) FROM param", "h1,h2");
  fixture_assert(store, "SELECT group_concat(ifnull(origin, '-'), '; ') FROM run",
                 "-; -; b.db, run 1; b.db, run 2");
  fixture_assert(
      store, "SELECT unit FROM metric_def WHERE table_name = 'link_row' AND name = 'other'", "run");
  fixture_assert(store, "PRAGMA integrity_check", "ok");
  /* Foreign keys, off while rows are copied, are on again: a run's rows go with it. */
  g_assert_true(orr_store_remove_run(store, 3, NULL));
  fixture_assert(store, "SELECT group_concat(run_id) FROM link_row", "4");
}

/* Rows without a run, left behind by a program that does not enforce foreign keys, stay there. */
static void test_orphans(Fixture *fixture, gconstpointer data) {
  (void)data;
  OrrStore *other = open_named(fixture, "b.db");
  add_run(other, "training", "h1", 0, &link_table, &(Link){0, 1.5, 9});
  orr_store_free(other);
  g_autofree char *path = path_of(fixture, "b.db");
  sqlite3 *db = fixture_connect(path);
  fixture_exec(db, "INSERT INTO link_row VALUES (7, 0, 2.5, 9)");
  sqlite3_close(db);
  g_autoptr(OrrStore) store = fixture_open(fixture);
  assert_facts(merge(store, fixture, "b.db"), 1, 0, 0, 0);
  fixture_assert(store, "SELECT group_concat(run_id || ' ' || end_s) FROM link_row", "1 1.5");
}

/* The table here is of an older Orrery, the one there has a column more: NULL in the rows that
 * were there. */
static void test_more_columns(Fixture *fixture, gconstpointer data) {
  (void)data;
  static const OrrFieldTable older = ORR_FIELD_TABLE("link_row", "A row.", Link, link_fields);
  OrrFieldTable short_table = older;
  short_table.n_fields = 2;
  OrrStore *other = open_named(fixture, "b.db");
  add_run(other, "training", "h1", 0, &link_table, &(Link){0, 1.5, 9});
  orr_store_free(other);
  g_autoptr(OrrStore) store = fixture_open(fixture);
  add_run(store, "training", "h2", 0, &short_table, &(Link){0, 2.5, 0});
  assert_facts(merge(store, fixture, "b.db"), 1, 0, 0, 0);
  fixture_assert(
      store, "SELECT group_concat(end_s || ' ' || ifnull(wall_time_s, '-'), ', ') FROM link_row",
      "2.5 -, 1.5 9.0");
}

/* The table there is of an older Orrery, and lacks a column that is never NULL here: it may be
 * from now on. */
static void test_fewer_columns(Fixture *fixture, gconstpointer data) {
  (void)data;
  OrrFieldTable older = link_table;
  older.fields = link_fields + 1; /* without `other`, an INTEGER NOT NULL */
  older.n_fields = 2;
  OrrStore *other = open_named(fixture, "b.db");
  add_run(other, "training", "h1", 0, &older, &(Link){0, 1.5, 9});
  orr_store_free(other);
  g_autoptr(OrrStore) store = fixture_open(fixture);
  add_run(store, "training", "h2", 0, &link_table, &(Link){1, 2.5, 0});
  assert_facts(merge(store, fixture, "b.db"), 1, 0, 0, 0);
  fixture_assert(store,
                 "SELECT group_concat(run_id || ' ' || ifnull(other, '-') || ' ' || end_s, ', ') "
                 "FROM link_row",
                 "1 1 2.5, 2 - 1.5");
  add_run(store, "training", "h3", 0, &link_table,
          &(Link){2, 3.5, 0}); /* and it is written on as any other */
  fixture_assert(store, "SELECT count(*) FROM pragma_index_list('link_row')", "1");
}

/* Once more adds nothing, whatever it took on the wall. What has the same hash and other rows is
 * kept beside. */
static void test_duplicates(Fixture *fixture, gconstpointer data) {
  (void)data;
  static const Link rows[] = {{0, 1.5, 9}, {0, 1.5, 8}, {0, 1.25, 9}};
  g_autoptr(OrrStore) store = fixture_open(fixture);
  add_run(store, "training", "h1", 0, &link_table, &rows[0]);
  OrrStore *other = open_named(fixture, "b.db");
  add_run(other, "training", "h1", 0, &link_table, &rows[1]);
  add_run(other, "training", "h1", 0, &link_table, &rows[2]);
  add_run(other, "training", "h2", 0, &link_table, &rows[0]);
  orr_store_free(other);
  assert_facts(merge(store, fixture, "b.db"), 2, 0, 1, 1);
  assert_facts(merge(store, fixture, "b.db"), 0, 0, 3, 0);
  fixture_assert(store, "SELECT count(*) FROM run", "3");
}

/* Shards of one sweep of five points: 0, 2 and 4 here, 1 and 2 there. The runs between are
 * neither's. */
static void test_sweep(Fixture *fixture, gconstpointer data) {
  (void)data;
  static const char *const hashes[] = {"p0", "p1", "p2", "p3", "p4"};
  g_autoptr(OrrStore) store = fixture_open(fixture);
  fixture_add_run(store, 0);
  g_assert_cmpint(add_run(store, "sweep", "s", 0, &sweep_row_table, &(SweepRow){5}), ==, 2);
  for (gint64 p = 0; p < 5; p += 2)
    add_run(store, "training", hashes[p], 3 + p, &point_row_table, &(PointRow){2});
  OrrStore *other = open_named(fixture, "b.db");
  g_assert_cmpint(add_run(other, "sweep", "s", 0, &sweep_row_table, &(SweepRow){5}), ==, 1);
  for (gint64 p = 1; p < 3; p++)
    add_run(other, "training", hashes[p], 2 + p, &point_row_table, &(PointRow){1});
  add_run(other, "training", "alone", 0, &link_table, &(Link){1, 0, 0}); /* of the sweep's number */
  orr_store_free(other);
  assert_facts(merge(store, fixture, "b.db"), 1, 1, 1, 0);
  fixture_assert(store,
                 "SELECT group_concat(run_id || ' ' || sweep, ', ') FROM (SELECT * FROM "
                 "sweep_point ORDER BY run_id)",
                 "3 2, 4 2, 5 2, 7 2");
  fixture_assert(store, "SELECT run_id || ' ' || other FROM link_row", "8 2");
  fixture_assert(store, "SELECT count(*) FROM sweep", "1");
}

/* A new sweep's numbers are reserved: its third point comes later, and finds its place. */
static void test_new_sweep(Fixture *fixture, gconstpointer data) {
  (void)data;
  OrrStore *other = open_named(fixture, "b.db");
  add_run(other, "sweep", "s", 0, &sweep_row_table, &(SweepRow){3});
  add_run(other, "training", "p1", 3, &point_row_table, &(PointRow){1});
  orr_store_free(other);
  g_autoptr(OrrStore) store = fixture_open(fixture);
  fixture_add_run(store, 0);
  assert_facts(merge(store, fixture, "b.db"), 1, 1, 0, 0);
  fixture_assert(store, "SELECT group_concat(id) FROM run", "1,2,4");
  g_assert_cmpint(fixture_add_run(store, 0), ==, 6);
  OrrStore *late = open_named(fixture, "b.db");
  add_run(late, "training", "p2", 4, &point_row_table, &(PointRow){1});
  add_run(late, "training", "other p0", 2, &point_row_table, &(PointRow){1});
  orr_store_free(late);
  assert_facts(merge(store, fixture, "b.db"), 0, 2, 1, 0);
  fixture_assert(store, "SELECT group_concat(id) FROM run", "1,2,3,4,5,6");
  OrrStore *odd = open_named(fixture, "c.db"); /* the same point, simulated to another answer */
  add_run(odd, "sweep", "s", 0, &sweep_row_table, &(SweepRow){3});
  add_run(odd, "training", "p1 again", 3, &point_row_table, &(PointRow){1});
  orr_store_free(odd);
  assert_facts(merge(store, fixture, "c.db"), 0, 0, 0, 1);
}

/* The same sweep twice here: a shard of the second is one by its number, another's joins the
 * newest. */
static void test_sweep_twice(Fixture *fixture, gconstpointer data) {
  (void)data;
  g_autoptr(OrrStore) store = fixture_open(fixture);
  for (gint64 sweep = 1; sweep <= 7; sweep += 3)
    g_assert_cmpint(add_run(store, "sweep", "s", 0, &sweep_row_table, &(SweepRow){2}), ==, sweep);
  OrrStore *other = open_named(fixture, "b.db");
  add_run(other, "sweep", "s", 4, &sweep_row_table, &(SweepRow){2});
  add_run(other, "training", "p1", 6, &point_row_table, &(PointRow){4});
  orr_store_free(other);
  other = open_named(fixture, "c.db");
  add_run(other, "sweep", "s", 2, &sweep_row_table, &(SweepRow){2});
  add_run(other, "training", "p0", 3, &point_row_table, &(PointRow){2});
  orr_store_free(other);
  assert_facts(merge(store, fixture, "b.db"), 0, 1, 0, 0);
  assert_facts(merge(store, fixture, "c.db"), 0, 1, 0, 0);
  fixture_assert(store, "SELECT group_concat(run_id || ' of ' || sweep, ', ') FROM sweep_point",
                 "6 of 4, 8 of 7");
}

/* What a kill in the middle of the first commit leaves, once it is rolled back: our numbers, no
 * table. */
static void test_unmade(Fixture *fixture, gconstpointer data) {
  (void)data;
  g_autofree char *path = path_of(fixture, "b.db");
  sqlite3 *other = fixture_connect(path);
  fixture_exec(other, "PRAGMA application_id = 0x4f525259; PRAGMA user_version = 1");
  sqlite3_close(other);
  g_autoptr(OrrStore) store = fixture_open(fixture);
  assert_facts(merge(store, fixture, "b.db"), 0, 0, 0, 0);
  OrrStore *made = open_named(fixture, "b.db"); /* opening it for writing makes it anew */
  fixture_add_run(made, 1);
  orr_store_free(made);
  assert_facts(merge(store, fixture, "b.db"), 1, 0, 0, 0);
}

/* More than SQLite attaches. */
static void test_many(Fixture *fixture, gconstpointer data) {
  (void)data;
  g_autoptr(OrrStore) store = fixture_open(fixture);
  g_autoptr(GError) error = NULL;
  g_assert_true(orr_store_begin_batch(store, &error));
  for (gint64 i = 1; i <= 12; i++) {
    g_autofree char *name = g_strdup_printf("%d.db", (int)i), *path = path_of(fixture, name);
    OrrStore *other = open_named(fixture, name);
    add_run(other, "training", name, 0, &link_table, &(Link){0, (double)i, 0});
    orr_store_free(other);
    g_assert_true(orr_store_merge(store, path, NULL, &error));
  }
  g_assert_true(orr_store_end_batch(store, &error));
  fixture_assert(store, "SELECT count(*) || ' ' || sum(run_id = end_s) FROM link_row", "12 12");
}

/* A second file that cannot be merged leaves nothing of the first. */
static void assert_refused(Fixture *fixture, OrrStore *store, const char *name, OrrFaultCode code,
                           const char *part) {
  g_autofree char *good = path_of(fixture, "good.db"), *bad = path_of(fixture, name);
  g_autoptr(GError) error = NULL;
  OrrMergeFacts facts = {0};
  g_assert_true(orr_store_begin_batch(store, &error));
  g_assert_true(orr_store_merge(store, good, &facts, &error));
  g_assert_false(orr_store_merge(store, bad, &facts, &error));
  fixture_assert_error(error, code, part);
  fixture_assert_error(error, code, name);
  orr_store_abandon_batch(store);
  fixture_assert(store, "SELECT count(*) FROM run", "1");
  fixture_assert(store, "SELECT count(*) FROM sqlite_schema WHERE name = 'link_row'", "0");
}

static void test_refused(Fixture *fixture, gconstpointer data) {
  (void)data;
  g_autofree char *text = path_of(fixture, "text.db"), *newer = path_of(fixture, "newer.db"),
                  *cut = path_of(fixture, "cut.db"), *locked = path_of(fixture, "locked.db"),
                  *foreign = path_of(fixture, "foreign.db"), *odd = path_of(fixture, "odd.db"),
                  *bytes = NULL;
  gsize n = 0;
  OrrStore *good = open_named(fixture, "good.db");
  add_run(good, "training", "h1", 0, &link_table, &(Link){0, 1.5, 9});
  orr_store_free(good);
  g_autoptr(OrrStore) store = fixture_open(fixture);
  fixture_add_run(store, 0);
  assert_refused(fixture, store, "none.db", ORR_FAULT_RESOURCE,
                 "there is no such results database");
  assert_refused(fixture, store, "results.db", ORR_FAULT_USAGE, "is the database itself");
  g_assert_true(g_file_set_contents(text, "schema: scenario/1\n", -1, NULL));
  assert_refused(fixture, store, "text.db", ORR_FAULT_RESOURCE, "is not an SQLite database");
  sqlite3 *db = fixture_connect(foreign);
  fixture_exec(db, "CREATE TABLE run (id)");
  sqlite3_close(db);
  assert_refused(fixture, store, "foreign.db", ORR_FAULT_RESOURCE, "of another program");
  orr_store_free(open_named(fixture, "newer.db"));
  db = fixture_connect(newer);
  fixture_exec(db, "PRAGMA user_version = 99");
  sqlite3_close(db);
  assert_refused(fixture, store, "newer.db", ORR_FAULT_RESOURCE, "newer Orrery");
  orr_store_free(open_named(fixture, "odd.db"));
  db = fixture_connect(odd);
  fixture_exec(db, "CREATE TABLE mine (run_id, x BLOB)");
  sqlite3_close(db);
  assert_refused(fixture, store, "odd.db", ORR_FAULT_RESOURCE, "no Orrery made it");
  g_assert_true(g_file_get_contents(newer, &bytes, &n, NULL));
  bytes[63] = 2; /* user_version */
  g_assert_true(g_file_set_contents(cut, bytes, (gssize)n / 2, NULL));
  assert_refused(fixture, store, "cut.db", ORR_FAULT_RESOURCE, "is truncated");
  orr_store_free(open_named(fixture, "locked.db"));
  db = fixture_connect(locked);
  fixture_exec(db, "BEGIN EXCLUSIVE");
  orr_store_set_patience(&(OrrStorePatience){.notice_s = 1, .most_s = 0.05});
  assert_refused(fixture, store, "locked.db", ORR_FAULT_LOCKED, "is locked by another process");
  orr_store_set_patience(NULL);
  sqlite3_close(db);
}

/* The log may not grow: what a full disk does. Nothing of the merge is there. */
static void test_full_disk(Fixture *fixture, gconstpointer data) {
  (void)data;
  OrrStore *other = open_named(fixture, "b.db");
  fixture_add_run(other, 20000);
  orr_store_free(other);
  orr_store_free(fixture_open(fixture));
  const pid_t child = fork();
  if (child == 0) {
    const struct rlimit limit = {300000, 300000};
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &limit);
    g_autoptr(GError) error = NULL;
    g_autofree char *path = path_of(fixture, "b.db");
    OrrMergeFacts facts = {0};
    OrrStore *store = orr_store_open(fixture->db, &error);
    const gboolean merged = store && orr_store_begin_batch(store, &error) &&
                            orr_store_merge(store, path, &facts, &error) &&
                            orr_store_end_batch(store, &error);
    _exit(merged ? 1 : g_error_matches(error, ORR_FAULT, ORR_FAULT_RESOURCE) ? 0 : 2);
  }
  int status = -1;
  g_assert_cmpint(waitpid(child, &status, 0), ==, child);
  g_assert_cmpint(status, ==, 0);
  g_autoptr(OrrStore) store = fixture_open(fixture);
  fixture_assert(store, "SELECT count(*) FROM run", "0");
  assert_facts(merge(store, fixture, "b.db"), 1, 0, 0, 0);
  fixture_assert(store, "SELECT count(*) FROM sample_row", "20000");
}

/* A process that dies in the middle leaves nothing of it. */
static void test_kill(Fixture *fixture, gconstpointer data) {
  (void)data;
  OrrStore *other = open_named(fixture, "b.db");
  fixture_add_run(other, 100);
  orr_store_free(other);
  orr_store_free(fixture_open(fixture));
  const pid_t child = fork();
  if (child == 0) {
    g_autofree char *path = path_of(fixture, "b.db");
    OrrMergeFacts facts = {0};
    OrrStore *store = orr_store_open(fixture->db, NULL);
    if (!orr_store_begin_batch(store, NULL) || !orr_store_merge(store, path, &facts, NULL))
      _exit(1);
    kill(getpid(), SIGKILL);
  }
  int status = -1;
  g_assert_cmpint(waitpid(child, &status, 0), ==, child);
  g_assert_true(WIFSIGNALED(status));
  g_autoptr(OrrStore) store = fixture_open(fixture);
  fixture_assert(store, "SELECT count(*) FROM run", "0");
  fixture_assert(store, "PRAGMA integrity_check", "ok");
}

#define ADD(name, function)                                                                        \
  g_test_add("/store-merge/" name, Fixture, NULL, fixture_set_up, function, fixture_tear_down)

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  ADD("numbers", test_numbers);
  ADD("orphans", test_orphans);
  ADD("more-columns", test_more_columns);
  ADD("fewer-columns", test_fewer_columns);
  ADD("duplicates", test_duplicates);
  ADD("sweep", test_sweep);
  ADD("new-sweep", test_new_sweep);
  ADD("sweep-twice", test_sweep_twice);
  ADD("unmade", test_unmade);
  ADD("many", test_many);
  ADD("refused", test_refused);
  ADD("full-disk", test_full_disk);
  ADD("kill", test_kill);
  return g_test_run();
}

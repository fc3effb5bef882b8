/*
 * test_view_sweep.c - the views of sweeps, on one small sweep worked by hand:
 *
 *   run  a  b  t (maximize)  m (minimize)
 *     2  1  x  10            4
 *     3  1  y   8            2
 *     4  2  x  20            9
 *     5  2  y  unfit
 *     6  3  x  15            9     a constraint on results does not hold
 *     7  2  x  999           0     of an earlier rung: cheaper, and no answer
 *     8  3  y   7            3     worse than run 3 in both
 *     9  4  y   8            2     as good as run 3, and later
 *
 * Run 1 is the sweep, of 9 points: run 10 is still to come.
 */
#include "tests/results/store_fixture.h"

static const char small_sweep[] =
    "DELETE FROM run;"
    "INSERT INTO run (id, scenario, kind, hash, resolved, tool_version, engine, fidelity, "
    "started_at)"
    " VALUES (1, 'small', 'sweep', '', '', '', '', '', '2026-01-01T00:00:00Z');"
    "WITH RECURSIVE n (i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n WHERE i < 9) "
    "INSERT INTO run (id, scenario, kind, hash, resolved, tool_version, engine, fidelity, "
    "started_at)"
    " SELECT i, 'small', 'training', '', '', '', '', '', '2026-01-01T00:00:0' || iif(i = 9, 4, 0) "
    "|| 'Z' FROM n;"
    "CREATE TABLE sweep (run_id, n_points, n_combinations, sampler, objective);"
    "INSERT INTO sweep VALUES (1, 9, 12, 'halving', 'maximize t; minimize m');"
    "CREATE TABLE sweep_excluded (run_id, reason, combinations);"
    "INSERT INTO sweep_excluded VALUES (1, 'where a < b', 3);"
    "CREATE TABLE sweep_point (run_id, sweep, point, rung, status, reason, eligible, objective_1, "
    "objective_2,"
    " objective_3, objective_4);"
    "INSERT INTO sweep_point VALUES (2, 1, 0, 1, 'ok', NULL, 1, 10.0, 4.0, NULL, NULL),"
    " (3, 1, 1, 1, 'ok', NULL, 1, 8.0, 2.0, NULL, NULL), (4, 1, 2, 1, 'ok', NULL, 1, 20.0, 9.0, "
    "NULL, NULL),"
    " (5, 1, 3, 1, 'unfit', 'too large', 0, NULL, NULL, NULL, NULL), (6, 1, 4, 1, 'ok', NULL, 0, "
    "15.0, 9.0, NULL, "
    "NULL),"
    " (7, 1, 5, 0, 'ok', NULL, 1, 999.0, 0.0, NULL, NULL), (8, 1, 6, 1, 'ok', NULL, 1, 7.0, 3.0, "
    "NULL, NULL),"
    " (9, 1, 7, 1, 'ok', NULL, 1, 8.0, 2.0, NULL, NULL);"
    "INSERT INTO param VALUES (2, 'w.a', '1', 1), (2, 'b', 'x', NULL), (3, 'w.a', '1', 1), (3, "
    "'b', 'y', NULL),"
    " (4, 'w.a', '2', 2), (4, 'b', 'x', NULL), (5, 'w.a', '2', 2), (5, 'b', 'y', NULL), (6, 'w.a', "
    "'3', 3),"
    " (6, 'b', 'x', NULL), (7, 'w.a', '2', 2), (7, 'b', 'x', NULL), (8, 'w.a', '3', 3), (8, 'b', "
    "'y', NULL),"
    " (9, 'w.a', '4', 4), (9, 'b', 'y', NULL);";

static OrrStore *open_sweep(const Fixture *fixture, const char *more) {
  OrrStore *store = fixture_open(fixture);
  fixture_add_run(store, 0);
  sqlite3 *db = fixture_connect(fixture->db);
  fixture_exec(db, small_sweep);
  fixture_exec(db, more);
  sqlite3_close(db);
  return store;
}

static void assert_csv(OrrStore *store, const char *view, gint64 run, const OrrBinding *binding,
                       const char *expected) {
  g_autoptr(GError) error = NULL;
  g_autoptr(OrrAnswer) answer = orr_store_ask(store, view, run, binding, binding ? 1 : 0, &error);
  g_assert_no_error(error);
  g_autofree char *csv = orr_answer_csv(answer);
  g_assert_cmpstr(strchr(csv, '\n') + 1, ==, expected);
}

/* The sweep is meant by its own number, by the number of any of its points, and by default. */
static void test_best(Fixture *fixture, gconstpointer data) {
  (void)data;
  g_autoptr(OrrStore) store = open_sweep(fixture, "SELECT 1");
  static const char best[] = "1,4,20.0,100.0,,,,,,9,\"b x, a 2\"\n2,2,10.0,50.0,,,,,,4,\"b x, a "
                             "1\"\n3,3,8.0,40.0,,,,,,2,\"b y, a 1\"\n"
                             "4,9,8.0,40.0,,,,,,2,\"b y, a 4\"\n5,8,7.0,35.0,,,,,,3,\"b y, a 3\"\n";
  assert_csv(store, "best", 1, NULL, best);
  assert_csv(store, "best", 5, NULL, best);
  assert_csv(store, "best", 0, NULL, best);
  assert_csv(store, "best", 0, &(OrrBinding){"top", "1"}, "1,4,20.0,100.0,,,,,,9,\"b x, a 2\"\n");
  assert_csv(store, "best", 0, &(OrrBinding){"objective", "2"}, /* to be made small */
             "1,3,2.0,100.0,,,,,,8,\"b y, a 1\"\n2,9,2.0,100.0,,,,,,8,\"b y, a "
             "4\"\n3,8,3.0,150.0,,,,,,7,\"b y, a 3\"\n"
             "4,2,4.0,200.0,,,,,,10,\"b x, a 1\"\n5,4,9.0,450.0,,,,,,20,\"b x, a 2\"\n");
  assert_csv(store, "best", 0, &(OrrBinding){"objective", "3"}, "");
}

/* Run 3 is statistically tied with run 4, the best one; run 2 was compared with run 3, which was
 * the best when the sweep was interrupted. */
static void test_bands(Fixture *fixture, gconstpointer data) {
  (void)data;
  g_autoptr(OrrStore) store = open_sweep(
      fixture, "CREATE TABLE sweep_band (run_id, point_run, objective, low, high, quality, "
               "best_run, told_apart, sure);"
               "INSERT INTO sweep_band VALUES (1, 4, 1, 18.0, 23.0, 'good', 4, NULL, NULL),"
               " (1, 3, 1, 7.0, 9.0, 'weak', 4, 0, 0.75), (1, 2, 1, 9.0, 11.0, 'good', 3, 1, 0.9),"
               " (1, 4, 2, 8.0, 9.5, 'good', 4, NULL, NULL), (2, 4, 1, 1.0, 2.0, 'good', 4, 1, 1)");
  assert_csv(store, "best", 1, NULL,
             "1,4,20.0,100.0,18.0,23.0,good,,,9,\"b x, a 2\"\n"
             "2,2,10.0,50.0,9.0,11.0,good,,,4,\"b x, a 1\"\n"
             "3,3,8.0,40.0,7.0,9.0,weak,0,75.0,2,\"b y, a 1\"\n"
             "4,9,8.0,40.0,,,,,,2,\"b y, a 4\"\n5,8,7.0,35.0,,,,,,3,\"b y, a 3\"\n");
  assert_csv(store, "front", 1, NULL,
             "front,8.0,2.0,maximize t,minimize m,,,3,\"b y, a 1\",7.0,9.0,,,,\n"
             "front,10.0,4.0,maximize t,minimize m,,,2,\"b x, a 1\",9.0,11.0,,,,\n"
             "front,20.0,9.0,maximize t,minimize m,,,4,\"b x, a 2\",18.0,23.0,8.0,9.5,,\n"
             "other,7.0,3.0,maximize t,minimize m,,,8,,,,,,,\n"
             "other,8.0,2.0,maximize t,minimize m,,,9,,,,,,,\n");
}

static void test_front(Fixture *fixture, gconstpointer data) {
  (void)data;
  g_autoptr(OrrStore) store = open_sweep(fixture, "SELECT 1");
  assert_csv(store, "front", 1, NULL,
             "front,8.0,2.0,maximize t,minimize m,,,3,\"b y, a 1\",,,,,,\nfront,10.0,4.0,maximize "
             "t,minimize m,,,2,\"b x, a 1\",,,,,,\n"
             "front,20.0,9.0,maximize t,minimize m,,,4,\"b x, a 2\",,,,,,\nother,7.0,3.0,maximize "
             "t,minimize m,,,8,,,,,,,\n"
             "other,8.0,2.0,maximize t,minimize m,,,9,,,,,,,\n");
}

/* One objective: memory is the other. 20 at 9 GB and 10 at 4 GB stand; 8 at 5 GB does not. */
static void test_front_of_one(Fixture *fixture, gconstpointer data) {
  (void)data;
  g_autoptr(OrrStore) store =
      open_sweep(fixture, "UPDATE sweep SET objective = 'maximize t'; CREATE TABLE training_result "
                          "(run_id, memory_peak_bytes);"
                          "INSERT INTO training_result VALUES (2, 4e9), (3, 5e9), (4, 9e9)");
  assert_csv(
      store, "front", 1, NULL,
      "front,10.0,4000000000.0,maximize t,minimize memory_peak_bytes,,,2,\"b x, a 1\",,,,,,\n"
      "front,20.0,9000000000.0,maximize t,minimize memory_peak_bytes,,,4,\"b x, a 2\",,,,,,\n"
      "other,8.0,5000000000.0,maximize t,minimize memory_peak_bytes,,,3,,,,,,,\n");
}

/* The front of many random points in three objectives, against every pair compared. */
static void test_front_of_many(Fixture *fixture, gconstpointer data) {
  (void)data;
  g_autoptr(GError) error = NULL;
  g_autoptr(OrrStore) store =
      open_sweep(fixture, "DELETE FROM sweep_point; UPDATE sweep SET n_points = 3000, objective = "
                          "'maximize t; minimize m; maximize u';"
                          "WITH RECURSIVE n (i, x) AS (SELECT 2, 12345 UNION ALL SELECT i + 1, (x "
                          "* 48271) % 2147483647 FROM n WHERE i < "
                          "2001) "
                          "INSERT INTO sweep_point SELECT i, 1, i - 2, 0, 'ok', NULL, 1, x % 97, x "
                          "/ 97 % 89, x / 8633 % 83, NULL FROM n");
  static const char pairs[] =
      "SELECT group_concat(run_id) FROM (SELECT run_id FROM sweep_point p WHERE NOT EXISTS ("
      "SELECT 1 FROM sweep_point q WHERE q.objective_1 >= p.objective_1 AND q.objective_2 <= "
      "p.objective_2 AND"
      " q.objective_3 >= p.objective_3 AND (q.run_id < p.run_id OR q.objective_1 > p.objective_1 OR"
      " q.objective_2 < p.objective_2 OR q.objective_3 > p.objective_3)) ORDER BY run_id)";
  g_autoptr(OrrAnswer) answer = orr_store_query(store, "front", 1, &error);
  g_assert_no_error(error);
  g_autoptr(GArray) runs = g_array_new(FALSE, FALSE, sizeof(int));
  g_autoptr(GString) front = g_string_new(NULL);
  for (guint r = 0; r < answer->rows->len; r++) {
    char **cells = answer->rows->pdata[r];
    const int run = atoi(cells[7]);
    guint at = 0;
    if (!g_str_equal(cells[0], "front")) continue;
    while (at < runs->len && g_array_index(runs, int, at) < run) at++;
    g_array_insert_val(runs, at, run);
  }
  g_assert_cmpuint(runs->len, >, 10);
  for (guint i = 0; i < runs->len; i++)
    g_string_append_printf(front, "%s%d", i > 0 ? "," : "", g_array_index(runs, int, i));
  fixture_assert(store, pairs, front->str);
}

/* a: b = x has 10 and 20 (mean 15), b = y 8, 7 and 8 (mean 23/3): a = 1 is (10 / 15 + 8 * 3 /
 * 23) / 2 - 1 = -14.49 % off those like it. b: only a = 1 has both values, 10 and 8. */
static void test_sensitivity(Fixture *fixture, gconstpointer data) {
  (void)data;
  g_autoptr(OrrStore) store = open_sweep(fixture, "SELECT 1");
  g_autoptr(GError) error = NULL;
  static const struct {
    const char *axis, *setting, *points, *answered;
    double mean, effect, best;
    const char *run;
    double share;
  } rows[] = {
      {"b", "x", "3", "2", 15, 100.0 / 9, 20, "4", 100},
      {"b", "y", "4", "3", 23.0 / 3, -100.0 / 9, 8, "3", 40},
      {"w.a", "1", "2", "2", 9, 100 * ((10.0 / 15 + 24.0 / 23) / 2 - 1), 10, "2", 50},
      {"w.a", "2", "2", "1", 20, 100.0 / 3, 20, "4", 100},
      {"w.a", "3", "2", "1", 7, 100 * (21.0 / 23 - 1), 7, "8", 35},
      {"w.a", "4", "1", "1", 8, 100 * (24.0 / 23 - 1), 8, "9", 40},
  };
  g_autoptr(OrrAnswer) answer = orr_store_query(store, "sensitivity", 1, &error);
  g_assert_no_error(error);
  g_assert_cmpuint(answer->rows->len, ==, G_N_ELEMENTS(rows));
  for (guint r = 0; r < answer->rows->len; r++) {
    char **cells = answer->rows->pdata[r];
    g_assert_cmpstr(cells[0], ==, rows[r].axis);
    g_assert_cmpstr(cells[1], ==, rows[r].setting);
    g_assert_cmpstr(cells[2], ==, rows[r].points);
    g_assert_cmpstr(cells[3], ==, rows[r].answered);
    g_assert_cmpfloat_with_epsilon(g_ascii_strtod(cells[4], NULL), rows[r].mean, 1e-12);
    g_assert_cmpfloat_with_epsilon(g_ascii_strtod(cells[5], NULL), rows[r].effect, 1e-9);
    g_assert_cmpfloat_with_epsilon(g_ascii_strtod(cells[6], NULL), rows[r].best, 1e-12);
    g_assert_cmpstr(cells[7], ==, rows[r].run);
    g_assert_cmpfloat_with_epsilon(g_ascii_strtod(cells[8], NULL), rows[r].share, 1e-9);
  }
}

/* 3 of 12 combinations; of 8 points that are done one does not fit and one is not eligible. */
static void test_failures(Fixture *fixture, gconstpointer data) {
  (void)data;
  g_autoptr(OrrStore) store = open_sweep(fixture, "SELECT 1");
  assert_csv(store, "failures", 1, NULL,
             "excluded,where a < b,3,25.0,\nineligible,,1,12.5,6\nunfit,too large,1,12.5,5\n");
}

/* 8 of 9 points within 4 s: 2 per second, the last takes half a second. Runs without points get the
 * row of the sweep alone.
 */
static void test_progress(Fixture *fixture, gconstpointer data) {
  (void)data;
  g_autoptr(OrrStore) store =
      open_sweep(fixture, "DELETE FROM sweep_point WHERE run_id = 3; DELETE FROM run WHERE id = 3");
  assert_csv(store, "sweeps", 0, NULL,
             "1,small,halving,12,9,7,77.77777777777777,6,1,0,0,1.75,1.1428571428571428,maximize "
             "t,20.0,4\n");
  assert_csv(store, "runs", 0, NULL, "1,2026-01-01T00:00:00Z,small,sweep,,,,,,,,,,9,\n");
  g_autoptr(GError) error = NULL;
  g_autoptr(OrrAnswer) all =
      orr_store_ask(store, "runs", 0, &(OrrBinding){"points", "1"}, 1, &error);
  g_assert_cmpuint(all->rows->len, ==, 8);
}

static void test_points(Fixture *fixture, gconstpointer data) {
  (void)data;
  g_autoptr(OrrStore) store =
      open_sweep(fixture, "DELETE FROM sweep_point WHERE run_id NOT IN (4, 5)");
  assert_csv(
      store, "points", 1, NULL,
      "2,4,1,ok,1,20.0,9.0,,,,,,\"b x, a 2\",,,\n3,5,1,unfit,0,,,,,,,,\"b y, a 2\",too large,,\n");
}

#define TIMES                                                                                      \
  "CREATE TABLE lane (run_id, lane, multiplicity); INSERT INTO lane VALUES (2, 0, 8), (4, 0, 8), " \
  "(7, 0, 8);"                                                                                     \
  "CREATE TABLE time_kind (run_id, lane, category, seconds, fraction);"                            \
  "INSERT INTO time_kind VALUES (2, 0, 'gemm', 3.0, 0.75), (2, 0, 'bubble', 1.0, 0.25), (4, 0, "   \
  "'gemm', 2.0, 1.0),"                                                                             \
  " (7, 0, 'gemm', 9.0, 1.0);"

/* The two best that have times: gemm is 100 and 75 % of them, bubble 25 % of one of five that
 * are shown. */
static void test_breakdown(Fixture *fixture, gconstpointer data) {
  (void)data;
  g_autoptr(OrrStore) store = open_sweep(fixture, TIMES);
  assert_csv(store, "point-breakdown", 1, NULL,
             "1,4,\"b x, a 2\",gemm,2.0,100.0,35.0\n2,2,\"b x, a 1\",gemm,3.0,75.0,35.0\n"
             "2,2,\"b x, a 1\",bubble,1.0,25.0,5.0\n");
  assert_csv(store, "time-breakdown", 1, NULL,
             "gemm,1,\"4: b x, a 2\",0.0,2.0\ngemm,2,\"2: b x, a 1\",0.0,3.0\nbubble,2,\"2: b x, a "
             "1\",3.0,4.0\n");
}

/* The sweep's axes, the one with more values first; the cell that was simulated and is not
 * eligible stays empty. */
static void test_heat_map(Fixture *fixture, gconstpointer data) {
  (void)data;
  g_autoptr(OrrStore) store = open_sweep(fixture, "SELECT 1");
  assert_csv(
      store, "heat-map", 1, NULL,
      "b over w.a,1,1,10.0,1,x,w.a,b,maximize t,1\nb over w.a,1,2,8.0,1,y,w.a,b,maximize t,1\nb "
      "over "
      "w.a,2,1,20.0,2,x,w.a,b,maximize t,1\n"
      "b over w.a,2,2,,2,y,w.a,b,maximize t,1\nb over w.a,3,1,,3,x,w.a,b,maximize t,1\nb over "
      "w.a,3,2,7.0,3,y,w.a,b,maximize t,1\n"
      "b over w.a,4,2,8.0,4,y,w.a,b,maximize t,1\n");
}

/* Points and other runs in one picture: neither the ineligible point nor the point of the earlier
 * rung is in it. */
static void test_runs_and_points(Fixture *fixture, gconstpointer data) {
  (void)data;
  g_autoptr(OrrStore) store = open_sweep(
      fixture,
      "CREATE TABLE training_result (run_id, n_gpus, tokens_per_s, tp, pp, dp, cp, fits, "
      "memory_peak_bytes,"
      " iteration_time_s, tokens_per_s_per_gpu);"
      "INSERT INTO training_result SELECT run_id, 8, objective_1, 1, 1, 8, 1, 1, 0.0, 1.0, 1.0 "
      "FROM sweep_point"
      " WHERE status = 'ok';"
      "INSERT INTO run (id, scenario, kind, hash, resolved, tool_version, engine, fidelity)"
      " VALUES (11, 'other', 'training', '', '', '', '', '');"
      "INSERT INTO training_result VALUES (11, 16, 18.0, 2, 1, 8, 1, 1, 0.0, 1.0, 1.0);"
      "CREATE TABLE band (run_id, metric, low, high);"
      "INSERT INTO band VALUES (11, 'tokens_per_s', 16.0, 19.0), (11, 'mfu', 0.0, 1.0)");
  assert_csv(store, "pareto", 1, NULL,
             "front,8,20.0,0.0,4,tp1 pp1 dp8,,,\nother,8,10.0,0.0,2,tp1 pp1 "
             "dp8,,,\nother,8,8.0,0.0,3,tp1 pp1 dp8,,,\n"
             "other,8,7.0,0.0,8,tp1 pp1 dp8,,,\n");
  assert_csv(store, "scaling", 11, NULL,
             "other,16,18.0,100.0,16.0,19.0,\nsmall,8,20.0,100.0,,,\nideal "
             "other,16,18.0,100.0,,,\nideal small,8,20.0,100.0,,,\n");
}

#define ADD(name, function)                                                                        \
  g_test_add("/view-sweep/" name, Fixture, NULL, fixture_set_up, function, fixture_tear_down)

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  ADD("best", test_best);
  ADD("bands", test_bands);
  ADD("front", test_front);
  ADD("front-of-one", test_front_of_one);
  ADD("front-of-many", test_front_of_many);
  ADD("sensitivity", test_sensitivity);
  ADD("failures", test_failures);
  ADD("progress", test_progress);
  ADD("points", test_points);
  ADD("breakdown", test_breakdown);
  ADD("heat-map", test_heat_map);
  ADD("runs-and-points", test_runs_and_points);
  return g_test_run();
}

/*
 * test_view_references.c - views that were rewritten to be fast answer as they did before.
 *
 * references/NAME.sql is the view NAME as it was first written: shorter, and slow where there are
 * many rows. Both are asked on random databases, and every cell must be the same.
 */
#include <string.h>

#include "sim/base/random.h"
#include "tests/results/store_fixture.h"

#define N_SEEDS 24

/* --- Random databases --- */

static gint64 below(OrrRandom *random, guint64 n) { return (gint64)orr_random_below(random, n); }

/* Lanes with gaps in their numbers. Many spans end at one moment, on one lane and on several; some
 * take no time; few lanes have no span. */
static void add_spans(GString *sql, OrrRandom *random) {
  static const char *const kinds[] = {
      "'compute', 'forward a', 'compute'", "'compute', 'backward', 'compute'",
      "'compute', 'optimizer', 'compute'", "'other', 'forward', 'compute'",
      "'send', 'forwards', 'pp-comm'",     "'compute', 'reduce', 'tp-comm'",
      "'compute', 'the step', 'step'",
  };
  const gint64 n_lanes = 1 + below(random, 40), n_spans = below(random, 400),
               n_moments = 4 + below(random, 400);
  g_string_append(sql,
                  "CREATE TABLE lane (run_id, lane, name, multiplicity);"
                  "CREATE TABLE span (run_id, lane, stream, name, category, begin_s, started_s,"
                  " end_s);INSERT INTO span VALUES (2, 0, 'x', 'y', 'z', 0.0, 0.0, 99.0);");
  for (gint64 i = 0; i < n_lanes; i++)
    g_string_append_printf(sql, "INSERT INTO lane VALUES (1, %d, 'rank %d', 2);", (int)(3 * i + 1),
                           (int)i);
  for (gint64 i = 0; i < n_spans; i++) {
    const gint64 from = below(random, (guint64)n_moments), length = below(random, 9);
    const char *kind = kinds[orr_random_below(random, G_N_ELEMENTS(kinds))];
    g_string_append_printf(
        sql, "INSERT INTO span VALUES (1, %d, %s, 0.0, %d / 1024.0, %d / 1024.0);",
        (int)(3 * below(random, (guint64)n_lanes) + 1), kind, (int)from, (int)(from + length));
  }
}

/* A sweep over two to four axes, one in four without a dot; some points are of an earlier
 * rung, some are not eligible, and some values meet each other. */
static void add_sweep(GString *sql, OrrRandom *random) {
  static const char *const axes[] = {"workload.parallel.tp", "workload.parallel.pp", "batch",
                                     "w.b.recompute"};
  const gint64 n_axes = 2 + below(random, 3), n_points = 1 + below(random, 150);
  const gint64 n_third =
      1 + below(random, 3) * 4; /* one value, or several, of the third objective */
  static const char *const objectives[] = {
      "maximize t",
      "minimize t; minimize m",
      "maximize t; minimize m; maximize n",
      "minimize t; maximize m; minimize n; minimize q",
  };
  g_string_append_printf(
      sql,
      "CREATE TABLE sweep (run_id, n_points, n_combinations, sampler, objective);"
      "INSERT INTO sweep VALUES (1, %d, 99, 'grid', '%s');"
      "CREATE TABLE sweep_point (run_id, sweep, point, rung, status, reason, eligible, objective_1,"
      " objective_2, objective_3, objective_4);"
      "CREATE INDEX sweep_point_run ON sweep_point (run_id);"
      "CREATE TABLE training_result (run_id, memory_peak_bytes, tokens_per_s_per_gpu, fits,"
      " tokens_per_s, n_gpus, tp, pp, dp);"
      "CREATE TABLE serving_result (run_id, ttft_p99_s);"
      "CREATE TABLE time_kind (run_id, lane, category, seconds);"
      "CREATE TABLE sweep_band (run_id, point_run, objective, low, high, told_apart,"
      " expected);"
      "INSERT INTO sweep_band VALUES (1, 3, 1, 2.0, 3.0, 1, 2.4), (1, 3, 2, 7.0, 8.0, 0, 7.6);",
      (int)n_points, objectives[orr_random_below(random, G_N_ELEMENTS(objectives))]);
  for (gint64 i = 0; i < n_points; i++) {
    const int run = (int)i + 2, eligible = below(random, 8) > 0;
    g_string_append_printf(
        sql,
        "INSERT INTO run (id, scenario, kind, hash, resolved, tool_version, engine, fidelity)"
        " VALUES (%d, 's', 'training', 'h', 'r', 'v', 'e', 'f');"
        "INSERT INTO sweep_point VALUES (%d, 1, %d, %d, 'ok', NULL, %d, nullif(%d, 0) / 1024.0, %d,"
        " %d, %d);"
        "INSERT INTO training_result VALUES (%d, %d, %d, 1, %d, 2, 1, 1, 1);"
        "INSERT INTO time_kind VALUES (%d, 4, 'gemm', %d), (%d, 4, 'bubble', 1.0);"
        "INSERT INTO lane VALUES (%d, 4, 'a', 3);",
        run, run, (int)i, below(random, 9) > 0, eligible, (int)below(random, 60),
        (int)below(random, 60), (int)below(random, (guint64)n_third), (int)below(random, 9), run,
        (int)below(random, 60), (int)below(random, 60), (int)below(random, 60), run,
        (int)below(random, 60), run, run);
    gint64 combination = i;
    for (gint64 k = 0; k < n_axes; k++, combination /= 3 + k)
      g_string_append_printf(sql, "INSERT INTO param VALUES (%d, '%s', '%d', %d);", run, axes[k],
                             (int)(combination % (3 + k)), (int)(combination % (3 + k)));
  }
}

static OrrStore *open_random(const Fixture *fixture, guint64 seed) {
  OrrRandom random = orr_random_stream(seed, "views");
  g_autoptr(GString) sql = g_string_new("BEGIN;");
  g_remove(fixture->db);
  OrrStore *store = fixture_open(fixture);
  fixture_add_run(store, 0);
  add_spans(sql, &random);
  add_sweep(sql, &random);
  g_string_append(sql, "COMMIT;");
  sqlite3 *db = fixture_connect(fixture->db);
  fixture_exec(db, sql->str);
  sqlite3_close(db);
  return store;
}

/* Without the sweep, and two thirds of its points, the rest are runs like others. */
static void forget_sweep(const Fixture *fixture) {
  sqlite3 *db = fixture_connect(fixture->db);
  fixture_exec(db, "DELETE FROM sweep; DELETE FROM sweep_point WHERE run_id % 3 > 0");
  sqlite3_close(db);
}

/* --- A view and its reference --- */

/* The reference with values in place of its parameters. */
static char *reference(const char *view, const OrrBinding *bindings, guint n_bindings) {
  g_autofree char *file = g_strconcat(view, ".sql", NULL),
                  *path = g_test_build_filename(G_TEST_DIST, "results", "references", file, NULL);
  static const char *const others[] = {":lanes",     ":from", ":to", ":parts",
                                       ":objective", ":x",    ":y"};
  g_autoptr(GError) error = NULL;
  char *text = NULL;
  g_file_get_contents(path, &text, NULL, &error);
  g_assert_no_error(error);
  g_autoptr(GString) sql = g_string_new(text);
  g_free(text);
  for (guint i = 0; i < n_bindings; i++) {
    g_autofree char *name = g_strconcat(":", bindings[i].name, NULL);
    g_string_replace(sql, name, bindings[i].value, 0);
  }
  for (guint i = 0; i < G_N_ELEMENTS(others); i++) g_string_replace(sql, others[i], "NULL", 0);
  return g_string_free(g_steal_pointer(&sql), FALSE);
}

static OrrAnswer *ask(OrrStore *store, const char *sql_or_view, gint64 run,
                      const OrrBinding *bindings, guint n_bindings) {
  g_autoptr(GError) error = NULL;
  OrrAnswer *answer = orr_store_ask(store, sql_or_view, run, bindings, n_bindings, &error);
  g_assert_no_error(error);
  return answer;
}

/* Numbers agree to 1e-12: the order of sums is free. */
static void check_cell(const OrrAnswer *found, const OrrAnswer *wanted, guint row, guint column) {
  const char *a = ((char **)found->rows->pdata[row])[column],
             *b = ((char **)wanted->rows->pdata[row])[column];
  if (a && b && found->is_number[column] && wanted->is_number[column]) {
    const double x = g_ascii_strtod(a, NULL), y = g_ascii_strtod(b, NULL);
    if (ABS(x - y) <= 1e-12 * MAX(ABS(y), 1)) return;
  }
  if (g_strcmp0(a, b) != 0) g_test_message("row %u column %s", row, found->columns[column]);
  g_assert_cmpstr(a, ==, b);
}

static void check_with(OrrStore *store, const char *view, gint64 run, const OrrBinding *bindings,
                       guint n_bindings) {
  g_autofree char *sql = reference(view, bindings, n_bindings);
  g_autoptr(OrrAnswer) found = ask(store, view, run, bindings, n_bindings);
  g_autoptr(OrrAnswer) wanted = ask(store, sql, run, NULL, 0);
  g_test_message("%s of run %d: %u rows", view, (int)run, wanted->rows->len);
  g_assert_cmpuint(found->rows->len, ==, wanted->rows->len);
  for (guint r = 0; r < found->rows->len; r++)
    for (guint i = 0; i < found->n_columns; i++) check_cell(found, wanted, r, i);
}

static void check(OrrStore *store, const char *view) { check_with(store, view, 1, NULL, 0); }

static void test_references(Fixture *fixture, gconstpointer data) {
  (void)data;
  static const OrrBinding chart[] = {{"lanes", "5"}, {"parts", "16"}, {"from", "0.05"}};
  for (guint64 seed = 1; seed <= N_SEEDS; seed++) {
    g_autoptr(OrrStore) store = open_random(fixture, seed);
    g_test_message("seed %" G_GUINT64_FORMAT, seed);
    check(store, "critical-path");
    check(store, "front");
    check(store, "heat-map");
    check(store, "points");
    check(store, "sensitivity");
    check(store, "time-breakdown");
    check(store, "timeline");
    check_with(store, "timeline", 1, chart, G_N_ELEMENTS(chart));
    forget_sweep(fixture);
    check_with(store, "heat-map", 2, NULL, 0);
    check_with(store, "time-breakdown", 2, NULL, 0);
  }
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add("/view-references/random", Fixture, NULL, fixture_set_up, test_references,
             fixture_tear_down);
  return g_test_run();
}

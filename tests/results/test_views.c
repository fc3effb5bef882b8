/*
 * test_views.c - the views: their own description, on a database with nothing in it, and on small
 * cases worked by hand.
 */
#include <string.h>

#include "tests/results/store_fixture.h"

/* The columns that the head of a view describes, "a,b,c": the lines "-- word: ...", up to a bare
 * "--". */
static char *described_columns(const OrrView *view) {
  GString *columns = g_string_new(NULL);
  g_auto(GStrv) lines = g_strsplit(view->sql, "\n", -1);
  for (char **line = lines + 1; g_str_has_prefix(*line, "-- "); line++) {
    const char *colon = strchr(*line, ':');
    g_assert_nonnull(colon);
    g_assert_cmpuint(strlen(colon), >, 5); /* a column has a sentence */
    if (!g_str_has_prefix(*line, "-- reads:") && !g_str_has_prefix(*line, "-- takes:") &&
        !g_str_has_prefix(*line, "-- about:") && !g_str_has_prefix(*line, "-- rows-from:"))
      g_string_append_printf(columns, "%s%.*s", columns->len > 0 ? "," : "",
                             (int)(colon - *line - 3), *line + 3);
  }
  return g_string_free(columns, FALSE);
}

static OrrAnswer *ask(OrrStore *store, const char *view) {
  g_autoptr(GError) error = NULL;
  OrrAnswer *answer = orr_store_query(store, view, 0, &error);
  g_assert_no_error(error);
  return answer;
}

/* orrery query prints, for a view without rows, which runs have some. */
static void test_rows_from(void) {
  guint n = 0;
  const OrrView *views = orr_views(&n);
  for (guint i = 0; i < n; i++) {
    g_autofree char *runs = orr_view_rows_from(&views[i]);
    if (!runs) g_error("%s: the head has no line '-- rows-from: '", views[i].name);
    g_assert_cmpuint(strlen(runs), >, 5);
  }
}

/* Every view on a database without a single fact table: no error, no rows (but for what
 * describes the database itself), and exactly the columns that it describes. */
static void test_every_view_on_nothing(Fixture *fixture, gconstpointer data) {
  (void)data;
  g_autoptr(GError) error = NULL;
  orr_store_free(fixture_open(fixture));
  g_autoptr(OrrStore) store = orr_store_open_read(fixture->db, &error);
  g_assert_no_error(error);
  guint n = 0;
  const OrrView *views = orr_views(&n);
  g_assert_cmpuint(n, >=, 10);
  for (guint i = 0; i < n; i++) {
    g_test_message("%s", views[i].name);
    g_autofree char *described = described_columns(&views[i]);
    g_autoptr(OrrAnswer) answer = ask(store, views[i].name);
    g_autofree char *columns = g_strjoinv(",", answer->columns);
    g_assert_cmpstr(columns, ==, described);
    g_assert_true(answer->rows->len == 0 || strcmp(views[i].name, "metrics") == 0);
    g_assert_true(strchr("?.", views[i].question[strlen(views[i].question) - 1]) != NULL);
    g_assert_true(i == 0 || strcmp(views[i - 1].name, views[i].name) < 0);
    g_assert_true(orr_view_find(views[i].name) == &views[i]);
  }
}

/* A database with one run and what @sql adds. */
static OrrStore *open_with(const Fixture *fixture, const char *sql) {
  OrrStore *store = fixture_open(fixture);
  fixture_add_run(store, 0);
  sqlite3 *db = fixture_connect(fixture->db);
  fixture_exec(db, sql);
  sqlite3_close(db);
  return store;
}

static void assert_csv(OrrStore *store, const char *view, const char *expected) {
  g_autoptr(OrrAnswer) answer = ask(store, view);
  g_autofree char *csv = orr_answer_csv(answer);
  g_assert_cmpstr(strchr(csv, '\n') + 1, ==, expected);
}

static void assert_csv_with(OrrStore *store, const char *view, const OrrBinding *binding,
                            const char *expected) {
  g_autoptr(GError) error = NULL;
  g_autoptr(OrrAnswer) answer = orr_store_ask(store, view, 1, binding, 1, &error);
  g_assert_no_error(error);
  g_autofree char *csv = orr_answer_csv(answer);
  g_assert_cmpstr(strchr(csv, '\n') + 1, ==, expected);
}

/* Two classes, of 3 ranks and of 1, and steps of 16 s. gemm: (3 * 12 + 1 * 4) / 4 = 10 s = 62.5
 * %; bubble, on the second alone: (0 + 1 * 12) / 4 = 3 s = 18.75 %, and 0 at the least; host: (3
 * * 4 + 0) / 4 = 3 s. */
static void test_breakdown(Fixture *fixture, gconstpointer data) {
  (void)data;
  g_autoptr(OrrStore) store = open_with(
      fixture, "CREATE TABLE lane (run_id, lane, multiplicity);"
               "INSERT INTO lane VALUES (1, 0, 3), (1, 1, 1), (2, 0, 100);"
               "CREATE TABLE time_kind (run_id, lane, category, seconds, fraction);"
               "INSERT INTO time_kind VALUES (1, 0, 'gemm', 12.0, 0.75), (1, 0, 'host', 4.0, 0.25),"
               " (1, 1, 'gemm', 4.0, 0.25), (1, 1, 'bubble', 12.0, 0.75), (2, 0, 'gemm', 99.0, 1)");
  assert_csv(store, "breakdown",
             "gemm,10.0,62.5,4.0,12.0\nbubble,3.0,18.75,0.0,12.0\nhost,3.0,18.75,0.0,4.0\n");
}

/*
 * Two lanes and a transfer between them; the step ends at 10.
 *
 *   lane 0  |--- a 0..3 ---|= send 3..4 =|                          |- d 5..6 -|
 *   lane 1  |- b 0..1 -|     (waits)     |= recv 3..4 =|            |---- c 5..10 ----|
 *
 * Back from c (5..10): nothing runs 4..5, a gap of 1. What ended last before 5 on c's own lane is
 * recv, which started at 3 (it had waited since 1); what ended at 3 is a, on the other lane; a
 * began at 0. In all 5 + 1 + 1 + 3 = 10; b, send and d are not on the path.
 */
static void test_critical_path(Fixture *fixture, gconstpointer data) {
  (void)data;
  g_autoptr(OrrStore) store =
      open_with(fixture, "CREATE TABLE span (run_id, lane, stream, name, category, micro_batch, "
                         "begin_s, started_s, end_s);"
                         "INSERT INTO span VALUES"
                         " (1, 1, 'compute', 'b', 'gemm', 0, 0.0, 0.0, 1.0), (1, 0, 'compute', "
                         "'a', 'gemm', 0, 0.0, 0.0, 3.0),"
                         " (1, 0, 'send', 'send', 'pp-comm', 0, 3.0, 3.0, 4.0), (1, 1, 'recv', "
                         "'recv', 'pp-comm', 0, 1.0, 3.0, 4.0),"
                         " (1, 0, 'compute', 'd', 'gemm', 1, 5.0, 5.0, 6.0), (1, 1, 'compute', "
                         "'c', 'gemm', 0, 5.0, 5.0, 10.0),"
                         " (1, 1, 'compute', 'nothing', 'host', 0, 5.0, 5.0, 5.0), (2, 0, 'x', "
                         "'y', 'z', 0, 0.0, 0.0, 99.0)");
  assert_csv(store, "critical-path",
             "gemm,c,1,1,5.0,50.0\ngemm,a,1,1,3.0,30.0\ngap,no "
             "span,1,1,1.0,10.0\npp-comm,recv,1,1,1.0,10.0\n");
}

/* The path adds up to the end of the last span whatever the spans are: here 40 of one length on
 * each of three lanes, at starts that a fixed rule scatters. */
static void test_critical_path_adds_up(Fixture *fixture, gconstpointer data) {
  (void)data;
  g_autoptr(OrrStore) store = open_with(
      fixture, "CREATE TABLE span (run_id, lane, stream, name, category, micro_batch, begin_s, "
               "started_s, end_s);"
               "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 119)"
               " INSERT INTO span SELECT 1, i % 3, 'compute', 'op', 'gemm', i, t, t, t + 0.7"
               " FROM (SELECT i, (i * 37 % 101) * 0.31 AS t FROM n)");
  g_autoptr(OrrAnswer) answer = ask(store, "critical-path");
  double seconds = 0, percent = 0;
  for (guint r = 0; r < answer->rows->len; r++) {
    char **cells = answer->rows->pdata[r];
    seconds += g_ascii_strtod(cells[4], NULL);
    percent += g_ascii_strtod(cells[5], NULL);
  }
  /* i * 37 mod 101 takes every value up to 100: the last start is 31.0, its end 31.7 */
  g_assert_cmpfloat_with_epsilon(seconds, 31.7, 1e-7);
  g_assert_cmpfloat_with_epsilon(percent, 100, 1e-6);
}

/* 25e9 B/s is 25 GB/s; the busier first, of equals the one that carried more. */
static void test_hot_links(Fixture *fixture, gconstpointer data) {
  (void)data;
  g_autoptr(OrrStore) store =
      open_with(fixture, "CREATE TABLE link_use (run_id, link, kind, stands_for, "
                         "bandwidth_bytes_per_s, bytes, utilization);"
                         "INSERT INTO link_use VALUES (1, 'a', 'nic', 1, 25e9, 50e9, 0.25), (1, "
                         "'b', 'nic', 8, 25e9, 75e9, 0.5),"
                         " (1, 'c', 'nvlink', 1, 300e9, 150e9, 0.25)");
  assert_csv(store, "hot-links",
             "b,nic,8,25.0,75.0,50.0\nc,nvlink,1,300.0,150.0,25.0\na,nic,1,25.0,50.0,25.0\n");
}

/* The one that waits least is waited for; wait 2 of 8 s is 25 %. */
static void test_slowest_ranks(Fixture *fixture, gconstpointer data) {
  (void)data;
  g_autoptr(OrrStore) store = open_with(
      fixture, "CREATE TABLE lane (run_id, lane, name, multiplicity, stage, replica, compute_s, "
               "comm_s, wait_s,"
               " other_s, end_s);"
               "INSERT INTO lane VALUES (1, 0, 'first', 8, 0, 0, 4.0, 2.0, 2.0, 0.0, 8.0),"
               " (1, 1, 'last', 8, 1, 0, 6.0, 3.0, 1.0, 0.0, 10.0)");
  assert_csv(store, "slowest-ranks",
             "last,8,1,0,9.0,6.0,3.0,1.0,10.0,2.0\nfirst,8,0,0,6.0,4.0,2.0,2.0,25.0,0.0\n");
}

/* 2^30 bytes are a GiB; libraries take 1/2 + 1 + 1/2; 10 of 8 GiB are 125 %. */
static void test_memory(Fixture *fixture, gconstpointer data) {
  (void)data;
  g_autoptr(OrrStore) store = open_with(
      fixture,
      "CREATE TABLE memory (run_id, stage, weights_bytes, gradients_bytes, optimizer_bytes,"
      " activations_bytes, working_bytes, buffers_bytes, fragmentation_bytes, flat_copies_bytes, "
      "workspace_bytes, communicators_bytes, context_bytes,"
      " host_bytes, total_bytes, capacity_bytes);"
      "INSERT INTO memory VALUES (1, 0, 1<<30, 1<<30, 2<<30, 1<<30, 1<<28, 1<<28, 1<<29, 2<<30, "
      "1<<29, 1<<30, 1<<29,"
      " 4<<30, 10<<30, 8<<30)");
  assert_csv(store, "memory", "0,1.0,1.0,2.0,1.0,0.5,0.5,2.0,2.0,10.0,8.0,-2.0,4.0,125.0\n");
}

/* Of two stages the one that holds more, unless another is asked for: 3 GiB in two chunks of 1
 * and 2 passes are three quarters of 4; what is replayed takes nothing. */
static void test_activations(Fixture *fixture, gconstpointer data) {
  (void)data;
  g_autoptr(OrrStore) store = open_with(
      fixture, "CREATE TABLE memory (run_id, stage, activations_bytes, total_bytes);"
               "INSERT INTO memory VALUES (1, 0, 4<<30, 9<<30), (1, 1, 8<<30, 8<<30);"
               "CREATE TABLE activation (run_id, stage, chunk, unit, operator, units, kept_bytes, "
               "host_bytes,"
               " replayed_bytes, micro_batches, peak_bytes);"
               "INSERT INTO activation VALUES (1, 0, 0, 'layer', 'qkv', 2, 1<<30, 0, 0, 1, 1<<30),"
               " (1, 0, 1, 'layer', 'qkv', 2, 1<<30, 0, 0, 2, 2<<30),"
               " (1, 0, 0, 'layer', 'fc1', 2, 0, 1<<20, 2<<20, 1, 0),"
               " (1, 1, 0, 'head', 'logits', 1, 8<<20, 0, 0, 1, 8<<20)");
  assert_csv(store, "activations",
             "0,layer,qkv,4,2048.0,0.0,0.0,3,3.0,75.0\n0,layer,fc1,2,0.0,2.0,1.0,1,0.0,0.0\n");
}

/* A pass is two points: what it holds while it runs, and what is left of it. */
static void test_memory_time(Fixture *fixture, gconstpointer data) {
  (void)data;
  g_autoptr(OrrStore) store = open_with(
      fixture,
      "CREATE TABLE memory_time (run_id, stage, what, chunk, micro_batch, begin_s, end_s, "
      "fixed_bytes,"
      " activations_bytes, working_bytes, after_bytes, total_bytes);"
      "INSERT INTO memory_time VALUES (1, 0, 'forward', 0, 3, 1.0, 2.0, 8<<30, 1<<30, 0, 1<<30,"
      " 9<<30), (1, 0, 'update', -1, -1, 4.0, 5.0, 8<<30, 0, 2<<30, 0, 12<<30)");
  assert_csv(store, "memory-time",
             "stage 0,1.0,9.0,9.0,1.0,forward,3\nstage 0,2.0,9.0,9.0,1.0,forward ended,3\n"
             "stage 0,4.0,10.0,12.0,0.0,update,\nstage 0,5.0,8.0,12.0,0.0,update ended,\n");
}

/* Stacked from static power up. */
static void test_power(Fixture *fixture, gconstpointer data) {
  (void)data;
  g_autoptr(OrrStore) store = open_with(
      fixture,
      "CREATE TABLE power (run_id, begin_s, end_s, watts, compute_w, memory_w, network_w, "
      "idle_w); INSERT INTO power VALUES (1, 0.0, 1.0, 1000.0, 500.0, 200.0, 100.0, 200.0)");
  assert_csv(store, "power",
             "and multiprocessors,0.0,1.0\nand memory,0.0,0.5\nand links,0.0,0.3\n"
             "static,0.0,0.2\n");
}

/* 1e12 FLOPs in 10 ms are 100 TFLOP/s, 2e9 bytes in 10 ms 200 GB/s; 30 of the 40 ms of
 * the phase are 75 %. No time, no rate. */
static void test_operators(Fixture *fixture, gconstpointer data) {
  (void)data;
  g_autoptr(OrrStore) store = open_with(
      fixture, "CREATE TABLE operator_cost (run_id, phase, name, kind, count, seconds_each, "
               "seconds_total, how, flops, bytes);"
               "INSERT INTO operator_cost VALUES (1, 'forward', 'none', 'gemm', 9, 0.0, 0.0, "
               "'modelled', 1e12, 1e9),"
               " (1, 'forward', 'norm', 'memory', 1, 0.01, 0.01, 'modelled', 0.0, 2e9),"
               " (1, 'forward', 'qkv', 'gemm', 3, 0.01, 0.03, 'measured', 1e12, 2e9),"
               " (1, 'optimizer', 'adam', 'memory', 1, 0.02, 0.02, 'modelled', NULL, 4e9)");
  assert_csv(store, "operators",
             "forward,qkv,gemm,3,10000.0,30.0,75.0,100.0,200.0,measured\n"
             "optimizer,adam,memory,1,20000.0,20.0,100.0,,200.0,modelled\n"
             "forward,norm,memory,1,10000.0,10.0,25.0,0.0,200.0,modelled\n"
             "forward,none,gemm,9,0.0,0.0,0.0,,,modelled\n");
}

/* A run with a result, one with none (of another kind of workload), the newest first; two
 * columns that the table lacks (it was made by an older Orrery) are empty. */
static void test_runs(Fixture *fixture, gconstpointer data) {
  (void)data;
  g_autoptr(OrrStore) store =
      open_with(fixture, "CREATE TABLE training_result (run_id, n_gpus, tp, pp, dp, "
                         "iteration_time_s, tokens_per_s, mfu);"
                         "INSERT INTO training_result VALUES (1, 1024, 8, 16, 8, 25.5, 1e5, 0.5);"
                         "UPDATE run SET started_at = 'then'");
  fixture_add_run(store, 0);
  sqlite3 *db = fixture_connect(fixture->db);
  fixture_exec(db, "UPDATE run SET started_at = 'now' WHERE id = 2");
  sqlite3_close(db);
  assert_csv(store, "runs",
             "2,now,a scenario,training,,,,,,,,,,,0.25\n"
             "1,then,a scenario,training,1024,8,16,8,,25.5,100000.0,0.5,,,0.25\n");
}

/* The columns are made by the store here, so that units and sentences come from the field table. */
static void test_summary(Fixture *fixture, gconstpointer data) {
  (void)data;
  static const OrrField fields[] = {{.name = "iteration-time-s",
                                     .kind = ORR_FIELD_REAL,
                                     .offset = 0,
                                     .sentence = "A step.",
                                     .unit = ORR_UNIT_SECONDS}};
  const OrrFieldTable table = {
      .name = "training-result", .size = sizeof(double), .fields = fields, .n_fields = 1};
  const double row = 25.5;
  g_autoptr(OrrStore) store = fixture_open(fixture);
  g_assert_true(orr_store_begin_run(store, &sample_facts, NULL, NULL));
  g_assert_true(orr_store_add_row(store, &table, &row, NULL));
  g_assert_true(orr_store_end_run(store, 0, NULL));
  g_autoptr(OrrAnswer) answer = ask(store, "summary");
  char **first = answer->rows->pdata[0];
  g_assert_cmpstr(first[0], ==, "iteration_time_s");
  g_assert_cmpstr(first[1], ==, "25.5");
  g_assert_null(first[2]); /* a run without bands */
  g_assert_null(first[3]);
  g_assert_cmpstr(first[4], ==, "s");
  g_assert_cmpstr(first[6], ==, "A step.");
  g_assert_true(answer->is_number[1]);
}

#define BANDS                                                                                      \
  "CREATE TABLE band (run_id, metric, value, low, high, level, rows, bias, quality, reason);"      \
  "INSERT INTO band VALUES (1, 'iteration_time_s', 10.0, 9.0, 12.0, 0.75, 2, -0.125, 'good', '')," \
  " (1, 'tokens_per_s', 20.0, 16.0, 22.0, 0.75, 2, 0.125, 'good', ''),"                            \
  " (1, 'layer_forward_s', 1.0, 0.5, 2.0, 0.75, 1, 0.0, 'weak', 'other'),"                         \
  " (1, 'memory_peak_bytes', 5.0, NULL, NULL, 0.75, 0, NULL, 'none', 'why'),"                      \
  " (2, 'iteration_time_s', 99.0, 98.0, 100.0, 0.75, 1, 0.0, 'good', '');"                         \
  "CREATE TABLE band_source (run_id, metric, set_name, row, label, measured_metric, measured, "    \
  "simulated, error, weight);"                                                                     \
  "INSERT INTO band_source VALUES"                                                                 \
  " (1, 'iteration_time_s', 's', 7, 'far', 'mfu', 0.5, 0.25, -0.5, 0.25),"                         \
  " (1, 'iteration_time_s', 's', 3, 'near', 'iteration_time_s', 4.0, 5.0, 0.25, 0.75),"            \
  " (1, 'tokens_per_s', 's', 3, 'near', 'iteration_time_s', 4.0, 5.0, 0.25, 0.75),"                \
  " (1, 'tokens_per_s', 's', 7, 'far', 'mfu', 0.5, 0.25, -0.5, 0.25),"                             \
  " (1, 'layer_forward_s', 's', 3, 'near', 'iteration_time_s', 4.0, 5.0, 0.25, 0.5),"              \
  " (2, 'iteration_time_s', 's', 1, 'other', 'mfu', 1.0, 1.0, 0.0, 1.0)"

/* The rate is left out where nothing is asked for, since the rows of the step time speak for it
 * with the same weights. A result that nothing measured speaks for has one row without a measured
 * one. The rows of run 2 stay out. */
static void test_bands(Fixture *fixture, gconstpointer data) {
  (void)data;
  g_autoptr(OrrStore) store = open_with(fixture, BANDS);
  static const char near[] = "25.0,75.0,iteration_time_s,s,3,near,\"\",0.75,2,";
  static const char far[] = "0.5,0.25,-50.0,25.0,mfu,s,7,far,\"\",0.75,2,";
  g_autofree char *step = g_strdup_printf("iteration_time_s,10.0,9.0,12.0,good,4.0,5.0,%s-12.5,\n"
                                          "iteration_time_s,10.0,9.0,12.0,good,%s-12.5,\n",
                                          near, far);
  g_autofree char *rate = g_strdup_printf("tokens_per_s,20.0,16.0,22.0,good,4.0,5.0,%s12.5,\n"
                                          "tokens_per_s,20.0,16.0,22.0,good,%s12.5,\n",
                                          near, far);
  static const char layer[] = "layer_forward_s,1.0,0.5,2.0,weak,4.0,5.0,25.0,50.0,"
                              "iteration_time_s,s,3,near,other,0.75,1,0.0,\n";
  static const char memory[] = "memory_peak_bytes,5.0,,,none,,,,,,,,,why,0.75,0,,\n";
  g_autofree char *some = g_strconcat(step, layer, memory, NULL);
  g_autofree char *all = g_strconcat(step, rate, layer, memory, NULL);
  assert_csv(store, "bands", some);
  assert_csv_with(store, "bands", &(OrrBinding){"metric", "tokens_per_s"}, rate);
  assert_csv_with(store, "bands", &(OrrBinding){"metric", "all"}, all);
  *strchr(step, '\n') = '\0';
  g_autofree char *heaviest = g_strconcat(step, "\n", layer, memory, NULL);
  assert_csv_with(store, "bands", &(OrrBinding){"top", "1"}, heaviest);
}

/* The band of a mean and its 99th percentile's, in milliseconds; the median's and another run's are
 * not shown. */
static void test_latencies(Fixture *fixture, gconstpointer data) {
  (void)data;
  g_autoptr(OrrStore) store = open_with(
      fixture,
      "CREATE TABLE serving_result (run_id, ttft_mean_s, ttft_p50_s, ttft_p90_s, ttft_p95_s, "
      "ttft_p99_s);"
      "INSERT INTO serving_result VALUES (1, 0.25, 0.125, 0.5, 0.75, 1.0);"
      "CREATE TABLE band (run_id, metric, low, high, quality);"
      "INSERT INTO band VALUES (1, 'ttft_mean_s', 0.125, 0.375, 'good'),"
      " (1, 'ttft_p50_s', 0.0625, 0.25, 'good'), (1, 'ttft_p99_s', 0.5, 2.0, 'weak'),"
      " (2, 'ttft_mean_s', 7.0, 8.0, 'weak')");
  g_autoptr(OrrAnswer) answer = ask(store, "latencies");
  g_autofree char *csv = orr_answer_csv(answer);
  g_assert_nonnull(
      strstr(csv, "\nttft,250.0,125.0,500.0,750.0,1000.0,125.0,375.0,500.0,2000.0,good\n"));
}

/* Errors of -10, +20, -30, +40 %: mean of sizes 25, bias +5, median (20 + 30) / 2 = 25, the 90th
 * percentile is the ceil(0.9 * 4) = 4th of the sizes, 40. A set of one row is all of its own
 * statistics. Row a was compared in run 0 as well, before it got better: that counts no more, nor
 * does what a later run, 2, than the one that is asked for says.
 */
static void test_validation(Fixture *fixture, gconstpointer data) {
  (void)data;
  g_autoptr(OrrStore) store = open_with(
      fixture, "CREATE TABLE validation_row (run_id, set_name, row, label, metric, measured, "
               "simulated, error);"
               "INSERT INTO validation_row VALUES (1, 'one', 1, NULL, 't', 1, 1.5, 0.5),"
               " (0, 'four', 1, 'a', 't', 1, 1.9, 0.9), (1, 'four', 1, 'a', 't', 1, 0.9, -0.1),"
               " (1, 'four', 2, 'b', 't', 1, 1.2, 0.2), (1, 'four', 3, 'c', 't', 1, 0.7, -0.3),"
               " (1, 'four', 4, 'd', 't', 1, 1.4, 0.4), (2, 'four', 4, 'd', 't', 1, 9, 8.0)");
  g_autoptr(OrrAnswer) answer = ask(store, "validation");
  const double expected[2][5] = {{25, 5, 25, 40, 40}, {50, 50, 50, 50, 50}};
  const char *const worst[] = {"d", "row 1"}, *const rows[] = {"4", "1"};
  g_assert_cmpuint(answer->rows->len, ==, 2);
  for (guint r = 0; r < 2; r++) {
    char **cells = answer->rows->pdata[r];
    g_assert_cmpstr(cells[2], ==, rows[r]);
    for (guint i = 0; i < 5; i++)
      g_assert_cmpfloat_with_epsilon(g_ascii_strtod(cells[3 + i], NULL), expected[r][i], 1e-9);
    g_assert_cmpstr(cells[8], ==, worst[r]);
  }
  g_autoptr(OrrAnswer) all = ask(store, "validation-rows");
  g_assert_cmpuint(all->rows->len, ==, 5);
  g_assert_cmpstr(((char **)all->rows->pdata[0])[2], ==, "d"); /* the worst of the first set */
  g_assert_cmpstr(((char **)all->rows->pdata[3])[2], ==, "a");
}

/* Runs of several kinds in one database, each with one row of its own. Whichever was stored
 * last, a view shows the newest of the kinds that it is about: comparisons show the comparisons,
 * others the newest simulation. */
static void test_about(Fixture *fixture, gconstpointer data) {
  (void)data;
  g_autoptr(OrrStore) store =
      open_with(fixture, "DELETE FROM run;"
                         "CREATE TABLE validation_row (run_id, set_name, row, label, metric, "
                         "measured, simulated, error);"
                         "CREATE TABLE cost_error (run_id, set_name, profile, kernels, region, n, "
                         "mape, bias, median, p90, worst);"
                         "CREATE TABLE link_use (run_id, link, kind, stands_for, "
                         "bandwidth_bytes_per_s, bytes, utilization)");
  static const char *const kinds[] = {"training", "validation", "cost-validation", "calibration"};
  for (guint first = 0; first < G_N_ELEMENTS(kinds); first++) { /* each kind comes last once */
    sqlite3 *db = fixture_connect(fixture->db);
    fixture_exec(db, "DELETE FROM run; DELETE FROM validation_row; DELETE FROM cost_error; DELETE "
                     "FROM link_use");
    for (guint i = 1; i <= G_N_ELEMENTS(kinds); i++) {
      const char *kind = kinds[(first + i) % G_N_ELEMENTS(kinds)];
      g_autofree char *run = g_strdup_printf("INSERT INTO run (id, scenario, kind, hash, resolved, "
                                             "tool_version, engine, fidelity, wall_time_s)"
                                             " VALUES (%u, 's', '%s', '', '', '', '', '', 0)",
                                             i, kind);
      fixture_exec(db, run);
      g_autofree char *row =
          g_str_equal(kind, "training")
              ? g_strdup_printf("INSERT INTO link_use VALUES (%u, 'a', 'nic', 1, 1e9, 1e9, 1.0)", i)
          : g_str_equal(kind, "validation")
              ? g_strdup_printf(
                    "INSERT INTO validation_row VALUES (%u, 'v', 1, 'a', 't', 1, 1.5, 0.5)", i)
          : g_str_equal(kind, "cost-validation")
              ? g_strdup_printf(
                    "INSERT INTO cost_error VALUES (%u, 'c', 'p', 'k', 'all', 1, 1, 1, 1, 1, 1)", i)
              : g_strdup("SELECT 1");
      fixture_exec(db, row);
    }
    sqlite3_close(db);
    g_autoptr(OrrAnswer) validation = ask(store, "validation");
    g_autoptr(OrrAnswer) rows = ask(store, "validation-rows");
    g_autoptr(OrrAnswer) plotted = ask(store, "measured-simulated");
    g_autoptr(OrrAnswer) costs = ask(store, "cost-errors");
    g_autoptr(OrrAnswer) links = ask(store, "hot-links");
    g_assert_cmpuint(validation->rows->len, ==, 1);
    g_assert_cmpuint(rows->rows->len, ==, 1);
    g_assert_cmpuint(plotted->rows->len, ==, 1);
    g_assert_cmpuint(costs->rows->len, ==, 1);
    g_assert_cmpuint(links->rows->len, ==, 1);
  }
}

/* Shares become percent; of a comparison that was made again the last counts; `all` comes before
 * the regions. */
static void test_cost_errors(Fixture *fixture, gconstpointer data) {
  (void)data;
  g_autoptr(OrrStore) store = open_with(
      fixture,
      "CREATE TABLE cost_error (run_id, set_name, profile, kernels, region, n, mape, bias, median, "
      "p90, worst);"
      "INSERT INTO cost_error VALUES (0, 's', 'p', 'gemm', 'all', 9, 0.9, 0.9, 0.9, 0.9, 0.9),"
      " (1, 's', 'p', 'gemm', 'all', 8, 0.25, -0.5, 0.125, 0.5, 0.75),"
      " (1, 's', 'p', 'gemm', 'a-region', 3, 0.5, 0.5, 0.5, 0.5, 0.5)");
  assert_csv(
      store, "cost-errors",
      "s,p,gemm,all,8,25.0,-50.0,12.5,50.0,75.0\ns,p,gemm,a-region,3,50.0,50.0,50.0,50.0,50.0\n");
}

/* A table that another process makes while this store is open is seen. */
static void test_late_table(Fixture *fixture, gconstpointer data) {
  (void)data;
  g_autoptr(OrrStore) store = fixture_open(fixture);
  assert_csv(store, "hot-links", "");
  OrrStore *other =
      open_with(fixture, "CREATE TABLE link_use (run_id, link, kind, stands_for, "
                         "bandwidth_bytes_per_s, bytes, utilization);"
                         "INSERT INTO link_use VALUES (1, 'a', 'nic', 1, 1e9, 1e9, 1.0)");
  orr_store_free(other);
  assert_csv(store, "hot-links", "a,nic,1,1.0,1.0,100.0\n");
}

#define ADD(name, function)                                                                        \
  g_test_add("/views/" name, Fixture, NULL, fixture_set_up, function, fixture_tear_down)

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/views/rows-from", test_rows_from);
  ADD("every-view-on-nothing", test_every_view_on_nothing);
  ADD("breakdown", test_breakdown);
  ADD("cost-errors", test_cost_errors);
  ADD("critical-path", test_critical_path);
  ADD("critical-path-adds-up", test_critical_path_adds_up);
  ADD("hot-links", test_hot_links);
  ADD("slowest-ranks", test_slowest_ranks);
  ADD("activations", test_activations);
  ADD("memory", test_memory);
  ADD("memory-time", test_memory_time);
  ADD("power", test_power);
  ADD("operators", test_operators);
  ADD("runs", test_runs);
  ADD("bands", test_bands);
  ADD("latencies", test_latencies);
  ADD("summary", test_summary);
  ADD("validation", test_validation);
  ADD("about", test_about);
  ADD("late-table", test_late_table);
  return g_test_run();
}

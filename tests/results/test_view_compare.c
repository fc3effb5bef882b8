/*
 * test_view_compare.c - the views that set runs side by side, on cases worked by hand.
 */
#include "tests/results/store_fixture.h"

static OrrStore *open_with(const Fixture *fixture, const char *sql) {
  OrrStore *store = fixture_open(fixture);
  for (int i = 0; i < 5; i++) fixture_add_run(store, 0);
  sqlite3 *db = fixture_connect(fixture->db);
  fixture_exec(db, "DELETE FROM param");
  fixture_exec(db, sql);
  sqlite3_close(db);
  return store;
}

static void assert_csv(OrrStore *store, const char *view, gint64 run, const char *other,
                       const char *expected) {
  g_autoptr(GError) error = NULL;
  const OrrBinding binding = {"other", other};
  g_autoptr(OrrAnswer) answer = orr_store_ask(store, view, run, &binding, other ? 1 : 0, &error);
  g_assert_no_error(error);
  g_autofree char *csv = orr_answer_csv(answer);
  g_assert_cmpstr(strchr(csv, '\n') + 1, ==, expected);
}

/* What differs, and what only one of them has; equal values are left out. Not given, the other
 * is the one before. */
static void test_inputs(Fixture *fixture, gconstpointer data) {
  (void)data;
  g_autoptr(OrrStore) store = open_with(
      fixture, "INSERT INTO param VALUES (1, 'a', '8', 8), (1, 'b', 'x', NULL), (1, 'c', '1', 1),"
               " (2, 'a', '9', 9), (3, 'a', '4', 4), (3, 'b', 'x', NULL), (3, 'd', 'y', NULL)");
  assert_csv(store, "compare-inputs", 3, "1", "a,8,4\nc,1,\nd,,y\n");
  assert_csv(store, "compare-inputs", 2, NULL, "a,8,9\nb,x,\nc,1,\n");
  assert_csv(store, "compare-inputs", 1, NULL, ""); /* there is none before */
}

/* 10 s becomes 8 s: -20 %; 0 to 0.1 has no percentage. */
static void test_results(Fixture *fixture, gconstpointer data) {
  (void)data;
  g_autoptr(OrrStore) store = open_with(
      fixture,
      "CREATE TABLE training_result (run_id, iteration_time_s, tokens_per_s, tokens_per_s_per_gpu,"
      " model_tflops_per_gpu, mfu, hfu, bubble_fraction, exposed_comm_fraction, memory_peak_bytes, "
      "fits, n_gpus);"
      "INSERT INTO training_result VALUES (1, 10.0, 100.0, 50.0, 1.0, 0.5, 0.5, 0.0, 0.2, 4e9, 1, "
      "2),"
      " (2, 8.0, 125.0, 62.5, 1.25, 0.5, 0.5, 0.1, 0.2, 4e9, 1, 2);"
      "DELETE FROM metric_def WHERE table_name = 'training_result'");
  assert_csv(
      store, "compare-results", 2, "1",
      "iteration_time_s,10.0,8.0,-20.0,\"\",\"\"\ntokens_per_s,100.0,125.0,25.0,\"\",\"\"\n"
      "tokens_per_s_per_gpu,50.0,62.5,25.0,\"\",\"\"\nmodel_tflops_per_gpu,1.0,1.25,25.0,\"\","
      "\"\"\n"
      "mfu,0.5,0.5,0.0,\"\",\"\"\nhfu,0.5,0.5,0.0,\"\",\"\"\nbubble_fraction,0.0,0.1,,\"\",\"\"\n"
      "exposed_comm_fraction,0.2,0.2,0.0,\"\",\"\"\nmemory_peak_bytes,4000000000.0,4000000000.0,0."
      "0,\"\",\"\"\n"
      "fits,1,1,0.0,\"\",\"\"\nn_gpus,2,2,0.0,\"\",\"\"\n");
}

/* Latencies and rates of two serving runs; what neither measured is empty on both sides. */
static void test_serving(Fixture *fixture, gconstpointer data) {
  (void)data;
  g_autoptr(OrrStore) store = open_with(
      fixture,
      "CREATE TABLE serving_result (run_id, ttft_mean_s, tpot_mean_s, goodput_rps, preemptions);"
      "INSERT INTO serving_result VALUES (1, 0.5, 0.02, 8.0, 0), (2, 0.25, 0.02, 10.0, 4)");
  g_autoptr(GError) error = NULL;
  g_autoptr(OrrAnswer) answer =
      orr_store_ask(store, "compare-results", 2, &(OrrBinding){"other", "1"}, 1, &error);
  g_assert_no_error(error);
  static const char *const wanted[][4] = {{"ttft_mean_s", "0.5", "0.25", "-50.0"},
                                          {"tpot_mean_s", "0.02", "0.02", "0.0"},
                                          {"goodput_rps", "8.0", "10.0", "25.0"},
                                          {"preemptions", "0", "4", NULL}};
  guint found = 0;
  for (guint r = 0; r < answer->rows->len; r++) {
    char **cells = answer->rows->pdata[r];
    for (guint w = 0; w < G_N_ELEMENTS(wanted); w++) {
      if (!g_str_equal(cells[0], wanted[w][0])) continue;
      found++;
      for (guint i = 1; i < 4; i++) g_assert_cmpstr(cells[i], ==, wanted[w][i]);
    }
  }
  g_assert_cmpuint(found, ==, G_N_ELEMENTS(wanted));
}

/* Run 1, four equal ranks: gemm 6, bubble 4. Run 2, a class of 3 and one of 1: gemm (3 * 5 + 9)
 * / 4 = 6, and tp-comm (3 * 4 + 0) / 4 = 3. The change is -1 in all: -4 of bubble (400 %) and +3
 * of tp-comm (-300 %). */
static void test_time(Fixture *fixture, gconstpointer data) {
  (void)data;
  g_autoptr(OrrStore) store =
      open_with(fixture, "CREATE TABLE lane (run_id, lane, multiplicity);"
                         "INSERT INTO lane VALUES (1, 0, 4), (2, 0, 3), (2, 1, 1);"
                         "CREATE TABLE time_kind (run_id, lane, category, seconds);"
                         "INSERT INTO time_kind VALUES (1, 0, 'gemm', 6.0), (1, 0, 'bubble', 4.0), "
                         "(2, 0, 'gemm', 5.0),"
                         " (2, 1, 'gemm', 9.0), (2, 0, 'tp-comm', 4.0)");
  assert_csv(store, "compare-time", 2, "1",
             "bubble,4.0,0.0,-4.0,400.0\ntp-comm,0.0,3.0,3.0,-300.0\ngemm,6.0,6.0,0.0,0.0\n");
}

/* 0.1 + 0.2 is not 0.3 to the last digit: what differs by less than 1e-9 is equal, and a percentage
 * of no change is NULL. */
static void test_dust(Fixture *fixture, gconstpointer data) {
  (void)data;
  g_autoptr(OrrStore) store = open_with(
      fixture, "CREATE TABLE lane (run_id, lane, multiplicity); INSERT INTO lane VALUES (1, 0, 1), "
               "(2, 0, 1);"
               "CREATE TABLE time_kind (run_id, lane, category, seconds);"
               "INSERT INTO time_kind VALUES (1, 0, 'gemm', 0.3), (2, 0, 'gemm', 0.1 + 0.2), (1, "
               "0, 'bubble', 0.5),"
               " (2, 0, 'bubble', 0.5 - 1e-12);"
               "CREATE TABLE training_result (run_id, iteration_time_s, mfu);"
               "INSERT INTO training_result VALUES (1, 0.3, 0.5), (2, 0.1 + 0.2, 0.5000001);"
               "DELETE FROM metric_def WHERE table_name = 'training_result'");
  assert_csv(store, "compare-time", 2, "1",
             "bubble,0.5,0.499999999999,0.0,\ngemm,0.3,0.30000000000000004,0.0,\n");
  g_autoptr(GError) error = NULL;
  g_autoptr(OrrAnswer) answer =
      orr_store_ask(store, "compare-results", 2, &(OrrBinding){"other", "1"}, 1, &error);
  g_assert_no_error(error);
  g_assert_cmpstr(((char **)answer->rows->pdata[0])[3], ==, "0.0");
  g_assert_cmpfloat_with_epsilon(g_ascii_strtod(((char **)answer->rows->pdata[1])[3], NULL), 2e-5,
                                 1e-9);
}

/* A request of run 1 waits 0.125 s, is prefilled in 0.5 and decoded in 1.5; of run 2 it is 0,
 * 0.5 and 1: of -0.625 s the queue is a fifth. Kinds that neither has are left out. */
static void test_serving_time(Fixture *fixture, gconstpointer data) {
  (void)data;
  g_autoptr(OrrStore) store = open_with(
      fixture, "CREATE TABLE serving_result (run_id, queue_mean_s, ttft_mean_s, e2e_mean_s);"
               "INSERT INTO serving_result VALUES (1, 0.125, 0.625, 2.125), (2, 0.0, 0.5, 1.5);"
               "CREATE TABLE lane (run_id, lane, multiplicity); INSERT INTO lane VALUES (1, 0, 1), "
               "(2, 0, 1);"
               "CREATE TABLE time_kind (run_id, lane, category, seconds);"
               "INSERT INTO time_kind VALUES (1, 0, 'host', 0.0), (2, 0, 'host', 0.0)");
  assert_csv(store, "compare-time", 2, "1",
             "decode,1.5,1.0,-0.5,80.0\nqueue,0.125,0.0,-0.125,20.0\nprefill,0.5,0.5,0.0,0.0\n");
}

/* No run beats 2 GPUs at 100 or 4 GPUs at 150; 4 at 90 and 2 at 80 are beaten; a run that does not
 * fit into memory is skipped. */
static void test_pareto(Fixture *fixture, gconstpointer data) {
  (void)data;
  g_autoptr(OrrStore) store = open_with(
      fixture, "CREATE TABLE training_result (run_id, n_gpus, tokens_per_s, tp, pp, dp, cp, fits, "
               "memory_peak_bytes,"
               " iteration_time_s);"
               "INSERT INTO training_result VALUES (1, 2, 100.0, 2, 1, 1, 1, 1, 1073741824.0, 1.0),"
               " (2, 4, 90.0, 2, 2, 1, 1, 1, 0.0, 1.0), (3, 4, 150.0, 4, 1, 1, 1, 1, 0.0, 1.0),"
               " (4, 2, 80.0, 1, 2, 1, 1, 1, 0.0, 1.0), (5, 1, 999.0, 1, 1, 1, 1, 0, 0.0, 1.0)");
  /* no bands are stored: low and high are NULL */
  assert_csv(store, "pareto", 5, NULL,
             "front,2,100.0,1.0,1,tp2 pp1 dp1,,,\nfront,4,150.0,0.0,3,tp4 pp1 dp1,,,\n"
             "other,2,80.0,0.0,4,tp1 pp2 dp1,,,\nother,4,90.0,0.0,2,tp2 pp2 dp1,,,\n");
}

/* A view's parameter without a value is NULL; a statement's is an error, and so is a value without
 * a parameter. */
static void test_parameters(Fixture *fixture, gconstpointer data) {
  (void)data;
  g_autoptr(GError) error = NULL;
  g_autoptr(OrrStore) store = open_with(fixture, "SELECT 1");
  const OrrBinding number = {"n", "2.5"}, word = {"n", "2x"}, odd = {"odd", "1"};
  g_autoptr(OrrAnswer) real =
      orr_store_ask(store, "SELECT typeof(:n), :n * 2", 0, &number, 1, &error);
  g_assert_no_error(error);
  g_assert_cmpstr(((char **)real->rows->pdata[0])[0], ==, "real");
  g_assert_cmpstr(((char **)real->rows->pdata[0])[1], ==, "5.0");
  g_autoptr(OrrAnswer) text = orr_store_ask(store, "SELECT typeof(:n)", 0, &word, 1, &error);
  g_assert_no_error(error);
  g_assert_cmpstr(((char **)text->rows->pdata[0])[0], ==, "text");
  g_assert_null(orr_store_ask(store, "SELECT :n", 0, NULL, 0, &error));
  g_assert_error(error, ORR_FAULT, ORR_FAULT_USAGE);
  g_assert_nonnull(strstr(error->message, "parameter :n has no value"));
  g_clear_error(&error);
  g_assert_null(orr_store_ask(store, "runs", 0, &odd, 1, &error));
  g_assert_nonnull(strstr(error->message, "view 'runs' has no parameter 'odd'"));
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add("/view-compare/inputs", Fixture, NULL, fixture_set_up, test_inputs, fixture_tear_down);
  g_test_add("/view-compare/results", Fixture, NULL, fixture_set_up, test_results,
             fixture_tear_down);
  g_test_add("/view-compare/serving", Fixture, NULL, fixture_set_up, test_serving,
             fixture_tear_down);
  g_test_add("/view-compare/time", Fixture, NULL, fixture_set_up, test_time, fixture_tear_down);
  g_test_add("/view-compare/dust", Fixture, NULL, fixture_set_up, test_dust, fixture_tear_down);
  g_test_add("/view-compare/serving-time", Fixture, NULL, fixture_set_up, test_serving_time,
             fixture_tear_down);
  g_test_add("/view-compare/pareto", Fixture, NULL, fixture_set_up, test_pareto, fixture_tear_down);
  g_test_add("/view-compare/parameters", Fixture, NULL, fixture_set_up, test_parameters,
             fixture_tear_down);
  return g_test_run();
}

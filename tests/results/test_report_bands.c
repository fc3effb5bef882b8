/*
 * test_report_bands.c - the page of a run with error bands, and of one that was stored before there
 * were any.
 */
#include <string.h>

#include "results/report.h"
#include "tests/results/store_fixture.h"

#define RESULT                                                                                     \
  "CREATE TABLE training_result (run_id, iteration_time_s, tokens_per_s, memory_peak_bytes);"      \
  "INSERT INTO training_result VALUES (1, 10.0, 200.0, 4294967296.0);"                             \
  "INSERT INTO metric_def (table_name, name, unit, sentence) VALUES"                               \
  " ('training_result', 'memory_peak_bytes', 'B', 'Memory.');"

#define BANDS                                                                                      \
  "CREATE TABLE band (run_id, metric, value, low, high, level, rows, bias, quality, reason);"      \
  "INSERT INTO band VALUES"                                                                        \
  " (1, 'iteration_time_s', 10.0, 8.0, 12.5, 0.8, 1, -0.25, 'good', ''),"                          \
  " (1, 'tokens_per_s', 200.0, NULL, NULL, 0.8, 0, NULL, 'none', 'nothing like it was measured')," \
  " (1, 'memory_peak_bytes', 4294967296.0, 2147483648.0, 6442450944.0, 0.8, 1, 0.0, 'weak',"       \
  "  'no measured run on this device');"                                                           \
  "CREATE TABLE band_source (run_id, metric, set_name, row, label, measured_metric, measured, "    \
  "simulated, error, weight);"                                                                     \
  "INSERT INTO band_source VALUES"                                                                 \
  " (1, 'iteration_time_s', 'a', 3, '<b>ox</b>', 'iteration_time_s', 20.0, 15.0, -0.25, 1.0);"

/* The page of a run that @sql puts beside an empty one. */
static char *page_of(const Fixture *fixture, const char *sql) {
  g_autoptr(GError) error = NULL;
  g_autoptr(OrrStore) store = fixture_open(fixture);
  fixture_add_run(store, 0);
  sqlite3 *db = fixture_connect(fixture->db);
  fixture_exec(db, sql);
  sqlite3_close(db);
  char *html = orr_report_html(store, 1, &error);
  g_assert_no_error(error);
  return html;
}

/* Tiles have their bounds below, in the tile's unit; a section lists the measured rows, whose
 * labels are text. */
static void test_with_bands(Fixture *fixture, gconstpointer data) {
  (void)data;
  g_autofree char *html = page_of(fixture, RESULT BANDS);
  g_assert_nonnull(strstr(html, "<b>10</b> <br>iteration_time_s<br>8 to 12.5</div>"));
  g_assert_nonnull(strstr(html, "<b>200</b> <br>tokens_per_s</div>"));
  g_assert_nonnull(strstr(html, "<b>4</b> GiB<br>memory_peak_bytes<br>2 to 6, weak</div>"));
  g_assert_nonnull(strstr(html, "<table id=\"bands\">"));
  g_assert_nonnull(strstr(html, "data-value=\"-25.0\""));
  g_assert_nonnull(strstr(html, "&lt;b&gt;ox"));
  g_assert_null(strstr(html, "<b>ox"));
}

static void test_without_bands(Fixture *fixture, gconstpointer data) {
  (void)data;
  g_autofree char *html = page_of(fixture, RESULT);
  g_assert_nonnull(strstr(html, "<b>10</b> <br>iteration_time_s</div>"));
  g_assert_null(strstr(html, "<table id=\"bands\">"));
}

#define ADD(name, function)                                                                        \
  g_test_add("/report/" name, Fixture, NULL, fixture_set_up, function, fixture_tear_down)

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  ADD("with-bands", test_with_bands);
  ADD("without-bands", test_without_bands);
  return g_test_run();
}

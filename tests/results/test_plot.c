/*
 * test_plot.c - what gnuplot is given: blocks by series, the script's head, and every plot's view.
 */
#include <string.h>

#include "results/plot.h"
#include "sim/base/gnuplot.h"
#include "tests/results/store_fixture.h"

/* Each plot is drawn from the view of its name, whose first column is the series. */
static void test_every_plot_has_a_view(void) {
  guint n = 0;
  const OrrPlot *plots = orr_plot_entries(&n);
  g_assert_cmpuint(n, >=, 8);
  for (guint i = 0; i < n; i++) {
    const OrrView *view = orr_view_find(plots[i].name);
    g_assert_nonnull(view);
    g_assert_nonnull(strstr(view->sql, "\n-- series: "));
    g_assert_true(g_str_has_suffix(plots[i].sentence, "."));
    g_assert_nonnull(strstr(plots[i].script, "plot "));
    g_assert_true(i == 0 || strcmp(plots[i - 1].name, plots[i].name) < 0);
    g_assert_true(orr_plot_find(plots[i].name) == &plots[i]);
  }
  g_assert_null(orr_plot_find("time"));
}

static OrrAnswer *ask(const Fixture *fixture, const char *sql) {
  g_autoptr(GError) error = NULL;
  g_autoptr(OrrStore) store = fixture_open(fixture);
  OrrAnswer *answer = orr_store_query(store, sql, 0, &error);
  g_assert_no_error(error);
  return answer;
}

/* A block a series, two empty lines between; a column of texts is quoted, with quotes and
 * backslashes as octal escapes; NULL is a question mark, which `set datafile missing` leaves
 * out. */
static void test_data(Fixture *fixture, gconstpointer data) {
  (void)data;
  guint blocks = 0;
  g_autoptr(OrrAnswer) answer = ask(
      fixture, "SELECT 'a b' AS series, 1 AS x, 'say \"hi\\' AS t UNION ALL SELECT 'a b', NULL, 'u'"
               " UNION ALL SELECT 'c', 2.5, NULL");
  g_autofree char *text = orr_plot_data(answer, &blocks);
  g_assert_cmpstr(text, ==, "\"a b\"\n1 \"say \\042hi\\134\"\n? \"u\"\n\n\n\"c\"\n2.5 ?\n");
  g_assert_cmpuint(blocks, ==, 2);
}

static void test_no_data(Fixture *fixture, gconstpointer data) {
  (void)data;
  guint blocks = 7;
  g_autoptr(OrrAnswer) answer = ask(fixture, "SELECT id AS series, 1 AS x FROM run");
  g_autofree char *text = orr_plot_data(answer, &blocks);
  g_assert_cmpstr(text, ==, "");
  g_assert_cmpuint(blocks, ==, 0);
}

/* A path or a title may hold anything: it is a text in single quotes, where gnuplot expands
 * nothing; and no file's name begins with a character that makes it a pipe or an option. */
static void test_script(void) {
  const OrrPlot *plot = orr_plot_find("heat-map");
  g_autofree char *script =
      orr_plot_script(plot, "It's `touch x`\nhere", "d\"; '`ls`.dat", 3, "|out.svg", "svg");
  g_autofree char *dumb = orr_plot_script(plot, "A title", "/d", 3, "out.txt", "dumb");
  g_assert_nonnull(strstr(script, "set output './|out.svg'\n"));
  g_assert_nonnull(strstr(script, "set title 'It''s `touch x` here'\n"));
  g_assert_nonnull(strstr(script, "data = './d\"; ''`ls`.dat'\n"));
  g_assert_nonnull(strstr(script, "blocks = 3\n"));
  g_assert_true(g_str_has_suffix(script, plot->script));
  g_assert_null(strstr(dumb, "set output"));
  g_assert_nonnull(strstr(dumb, "data = '/d'\n"));
}

static void test_names(void) {
  g_autoptr(GError) error = NULL;
  g_assert_cmpstr(orr_gnuplot_terminal("a b.svg", &error), ==, "svg");
  g_assert_null(orr_gnuplot_terminal("a\nb.svg", &error));
  fixture_assert_error(error, ORR_FAULT_USAGE, "cannot hold a control character");
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/plot/every-plot-has-a-view", test_every_plot_has_a_view);
  g_test_add("/plot/data", Fixture, NULL, fixture_set_up, test_data, fixture_tear_down);
  g_test_add("/plot/no-data", Fixture, NULL, fixture_set_up, test_no_data, fixture_tear_down);
  g_test_add_func("/plot/script", test_script);
  g_test_add_func("/plot/names", test_names);
  return g_test_run();
}

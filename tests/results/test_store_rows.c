/*
 * test_store_rows.c - what a field table becomes in SQL, and that values come back as they went in.
 */
#include <math.h>
#include <string.h>

#include "tests/results/store_fixture.h"

static void add(OrrStore *store, const OrrFieldTable *table, const void *row) {
  g_autoptr(GError) error = NULL;
  orr_store_add_row(store, table, row, &error);
  g_assert_no_error(error);
}

static void begin(OrrStore *store) {
  g_autoptr(GError) error = NULL;
  orr_store_begin_run(store, &sample_facts, NULL, &error);
  g_assert_no_error(error);
}

static void end(OrrStore *store) {
  g_autoptr(GError) error = NULL;
  orr_store_end_run(store, 0, &error);
  g_assert_no_error(error);
}

static void test_columns(Fixture *fixture, gconstpointer data) {
  (void)data;
  g_autoptr(OrrStore) store = fixture_open(fixture);
  fixture_add_run(store, 1);
  fixture_assert(store,
                 "SELECT group_concat(name || ' ' || type || iif(\"notnull\", '!', ''), ', ')"
                 " FROM pragma_table_info('sample_row')",
                 "run_id INTEGER!, micro_batch INTEGER, end_s REAL, name TEXT!, note TEXT, how "
                 "TEXT!, fits INTEGER!");
  fixture_assert(store, "SELECT strict FROM pragma_table_list('sample_row')", "1");
  fixture_assert(store,
                 "SELECT unit || '|' || sentence FROM metric_def WHERE table_name = 'sample_row' "
                 "AND name = 'end_s'",
                 "s|When it ended.");
  fixture_assert(store, "SELECT count(*) FROM metric_def WHERE table_name = 'sample_row'", "6");
}

static void test_values(Fixture *fixture, gconstpointer data) {
  (void)data;
  g_autoptr(OrrStore) store = fixture_open(fixture);
  char name[] = "it's \"1\"", note[] = "";
  const Sample row = {
      .micro_batch = 0, .end_s = 1.5, .name = name, .note = note, .how = 1, .fits = 7};
  begin(store);
  add(store, &sample_table, &row);
  end(store);
  fixture_assert(store, "SELECT micro_batch FROM sample_row",
                 "0"); /* 0 is a value: it has a limit to be outside of */
  fixture_assert(store, "SELECT end_s FROM sample_row", "1.5");
  fixture_assert(store, "SELECT name FROM sample_row", "it's \"1\"");
  fixture_assert(store, "SELECT note FROM sample_row", ""); /* empty is not absent */
  fixture_assert(store, "SELECT how FROM sample_row", "modelled");
  fixture_assert(store, "SELECT fits FROM sample_row", "1");
}

static void test_nulls(Fixture *fixture, gconstpointer data) {
  (void)data;
  g_autoptr(OrrStore) store = fixture_open(fixture);
  const double odd[] = {NAN, INFINITY, -INFINITY};
  char name[] = "x";
  begin(store);
  for (guint i = 0; i < G_N_ELEMENTS(odd); i++) {
    const Sample row = {.micro_batch = -1, .end_s = odd[i], .name = name};
    add(store, &sample_table, &row);
  }
  end(store);
  fixture_assert(store,
                 "SELECT count(*) FROM sample_row WHERE end_s IS NULL AND micro_batch IS NULL AND "
                 "note IS NULL",
                 "3");
}

/* Doubles of every size, and the neighbours of round ones, read back bit for bit. (But for -0.0:
 * SQLite keeps no sign of zero.) */
static void test_doubles_are_exact(Fixture *fixture, gconstpointer data) {
  (void)data;
  g_autoptr(GError) error = NULL;
  g_autoptr(OrrStore) store = fixture_open(fixture);
  const double values[] = {0.1,       1.0 / 3,
                           4.5e11,    2.2250738585072014e-308,
                           5e-324,    1.7976931348623157e308,
                           0.1 + 0.2, nextafter(1, 2),
                           12.0,      0.0,
                           1e15,      9007199254740993.0};
  char name[] = "x";
  begin(store);
  for (guint i = 0; i < G_N_ELEMENTS(values); i++) {
    const Sample row = {.end_s = values[i], .name = name};
    add(store, &sample_table, &row);
  }
  end(store);
  g_autoptr(OrrAnswer) answer =
      orr_store_query(store, "SELECT end_s FROM sample_row ORDER BY rowid", 0, &error);
  g_assert_no_error(error);
  g_autofree char *csv = orr_answer_csv(answer);
  g_auto(GStrv) lines = g_strsplit(csv, "\n", -1);
  for (guint i = 0; i < G_N_ELEMENTS(values); i++) {
    double read = g_ascii_strtod(lines[i + 1], NULL);
    g_assert_cmpmem(&read, sizeof read, &values[i], sizeof values[i]);
  }
  g_assert_cmpstr(lines[1], ==, "0.1"); /* the shortest text that does it */
}

/* An Orrery that knows one column more meets a database that has none of it. */
static void test_table_grows(Fixture *fixture, gconstpointer data) {
  (void)data;
  const OrrFieldTable older = {
      .name = "sample-row", .size = sizeof(Sample), .fields = sample_fields, .n_fields = 3};
  char name[] = "x";
  const Sample row = {.name = name};
  OrrStore *store = fixture_open(fixture);
  begin(store);
  add(store, &older, &row);
  end(store);
  orr_store_free(store);
  store = fixture_open(fixture);
  fixture_add_run(store, 1);
  fixture_assert(store, "SELECT group_concat(coalesce(how, 'none')) FROM sample_row",
                 "none,measured");
  orr_store_free(store);
}

static void test_what_no_table_can_be(Fixture *fixture, gconstpointer data) {
  (void)data;
  g_autoptr(GError) error = NULL;
  g_autoptr(OrrStore) store = fixture_open(fixture);
  const Sample row = {0};
  const OrrFieldTable own = ORR_FIELD_TABLE("run", "Not allowed.", Sample, sample_fields);
  const OrrField texts = {.name = "list", .kind = ORR_FIELD_TEXTS, .sentence = "Not allowed."};
  const OrrFieldTable nested = {
      .name = "nested", .size = sizeof(Sample), .fields = &texts, .n_fields = 1};
  begin(store);
  g_assert_false(orr_store_add_row(store, &own, &row, &error));
  fixture_assert_error(error, ORR_FAULT_INTERNAL, "the store's own table");
  g_clear_error(&error);
  g_assert_false(orr_store_add_row(store, &nested, &row, &error));
  fixture_assert_error(error, ORR_FAULT_INTERNAL, "'list' is not a scalar");
  g_clear_error(&error);
  const Sample outside = {.how = 2}; /* one past the last word */
  g_assert_false(orr_store_add_row(store, &sample_table, &outside, &error));
  g_assert_error(error, ORR_FAULT, ORR_FAULT_INTERNAL);
}

/* A trace of a large step is hundreds of thousands of spans: run with -m perf for the rate. */
static void test_rate(Fixture *fixture, gconstpointer data) {
  (void)data;
  const guint n = 1000000;
  g_autoptr(OrrStore) store = fixture_open(fixture);
  g_test_timer_start();
  fixture_add_run(store, n);
  double elapsed_s = g_test_timer_elapsed();
  g_test_maximized_result(n / elapsed_s, "%.0f rows a second", n / elapsed_s);
}

#define ADD(name, function)                                                                        \
  g_test_add("/store-rows/" name, Fixture, NULL, fixture_set_up, function, fixture_tear_down)

/* Many rows at once are the rows one by one, in their order, however many there are; a row that
 * the table refuses, the 30th here, is an error. */
static void test_many(Fixture *fixture, gconstpointer data) {
  (void)data;
  static const guint counts[] = {1, 15, 16, 17, 33, 64};
  g_autoptr(GError) error = NULL;
  g_autoptr(OrrStore) store = fixture_open(fixture);
  char name[] = "x";
  Sample rows[64];
  for (guint i = 0; i < G_N_ELEMENTS(rows); i++)
    rows[i] = (Sample){.micro_batch = i, .end_s = 0.5 * i, .name = name, .how = (int)i % 2};
  begin(store);
  g_assert_true(orr_store_add_rows(store, &sample_table, rows, 0, NULL));
  end(store);
  fixture_assert(store, "SELECT count(*) FROM pragma_table_list('sample_row')", "0");
  for (guint i = 0; i < G_N_ELEMENTS(counts); i++) {
    begin(store);
    orr_store_add_rows(store, &sample_table, rows, counts[i], &error);
    g_assert_no_error(error);
    end(store);
    g_autofree char *n = g_strdup_printf("%u", counts[i]),
                    *sql = g_strdup_printf("SELECT count(*) FROM (SELECT row_number() OVER (ORDER "
                                           "BY rowid) - 1 AS i, * FROM sample_row WHERE run_id = "
                                           "%u) WHERE micro_batch = i AND end_s = 0.5 * i AND how "
                                           "= iif(i %% 2, 'modelled', 'measured')",
                                           i + 2);
    fixture_assert(store, sql, n);
  }
  rows[29].name = NULL;
  begin(store);
  g_assert_false(orr_store_add_rows(store, &sample_table, rows, 64, &error));
  g_assert_error(error, ORR_FAULT, ORR_FAULT_INTERNAL);
  orr_store_abandon_run(store);
  fixture_assert(store, "SELECT max(run_id) FROM sample_row", "7");
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  ADD("columns", test_columns);
  ADD("values", test_values);
  ADD("nulls", test_nulls);
  ADD("doubles-are-exact", test_doubles_are_exact);
  ADD("table-grows", test_table_grows);
  ADD("what-no-table-can-be", test_what_no_table_can_be);
  ADD("many", test_many);
  if (g_test_perf()) ADD("rate", test_rate);
  return g_test_run();
}

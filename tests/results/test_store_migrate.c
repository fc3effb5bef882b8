/*
 * test_store_migrate.c - databases of older versions, made by the Orrery of then (pages made small
 * by VACUUM):
 *
 *   version-1.db         9e7542e: a training run, a validation, a benchmark of collectives with its
 *                                 time line
 *   version-1-sweep.db   ebbe208: two jobs on one machine, a sweep of four points
 */
#include <string.h>

#include "tests/results/store_fixture.h"

static const char *const files[] = {"version-1.db", "version-1-sweep.db"};

static void copy(const Fixture *fixture, const char *name) {
  g_autofree char *path = g_test_build_filename(G_TEST_DIST, "results", name, NULL), *bytes = NULL;
  gsize n = 0;
  g_assert_true(g_file_get_contents(path, &bytes, &n, NULL));
  g_assert_true(g_file_set_contents(fixture->db, bytes, (gssize)n, NULL));
}

/* Every view of every run, as one text. */
static char *answers(OrrStore *store) {
  g_autoptr(GError) error = NULL;
  guint n = 0;
  const OrrView *views = orr_views(&n);
  g_autoptr(OrrAnswer) runs = orr_store_query(store, "SELECT id FROM run ORDER BY id", 0, &error);
  GString *text = g_string_new(NULL);
  for (guint i = 0; i < n; i++)
    for (guint r = 0; r < runs->rows->len; r++) {
      if (strcmp(views[i].name, "metrics") == 0) continue; /* units of references change */
      const gint64 run = g_ascii_strtoll(((char **)runs->rows->pdata[r])[0], NULL, 10);
      g_autoptr(OrrAnswer) answer = orr_store_query(store, views[i].name, run, &error);
      g_assert_no_error(error);
      g_autofree char *csv = orr_answer_csv(answer);
      g_string_append_printf(text, "%s\n%s", views[i].name, csv);
    }
  return g_string_free(text, FALSE);
}

/* Reading answers every view and leaves the file unchanged; opening it for writing brings it
 * forward, and every answer is the same. A run is added as to any other database. */
static void test_forward(Fixture *fixture, gconstpointer data) {
  (void)data;
  for (guint i = 0; i < G_N_ELEMENTS(files); i++) {
    g_autoptr(GError) error = NULL;
    g_autofree char *before = NULL, *after = NULL;
    gsize n_before = 0, n_after = 0;
    copy(fixture, files[i]);
    g_assert_true(g_file_get_contents(fixture->db, &before, &n_before, NULL));
    OrrStore *reader = orr_store_open_read(fixture->db, &error);
    g_assert_no_error(error);
    fixture_assert(reader, "PRAGMA user_version", "1");
    g_autofree char *old = answers(reader);
    orr_store_free(reader);
    g_assert_true(g_file_get_contents(fixture->db, &after, &n_after, NULL));
    g_assert_cmpmem(before, n_before, after, n_after);

    OrrStore *store = fixture_open(fixture);
    fixture_assert(store, "PRAGMA user_version", "2");
    g_autofree char *new = answers(store);
    g_assert_cmpstr(new, ==, old);
    fixture_assert(store, "SELECT count(origin) FROM run", "0");
    fixture_assert(store, "PRAGMA integrity_check", "ok");
    fixture_add_run(store, 1);
    orr_store_free(store);
    orr_store_free(fixture_open(fixture)); /* and once more: there is nothing left to do */
  }
}

/* What the numbers were then is what they are now. */
static void test_figures(Fixture *fixture, gconstpointer data) {
  (void)data;
  copy(fixture, files[0]);
  g_autoptr(OrrStore) store = fixture_open(fixture);
  fixture_assert(store, "SELECT group_concat(kind) FROM run", "training,validation,collectives");
  fixture_assert(store, "SELECT n_gpus FROM training_result WHERE run_id = 1", "32");
  fixture_assert(store, "SELECT count(*) FROM param WHERE run_id = 1", "92");
}

/* A file of version 1 is merged unchanged: the jobs' and points' runs are mapped, though it does
 * not say which columns hold them. */
static void test_merge(Fixture *fixture, gconstpointer data) {
  (void)data;
  g_autofree char *path = g_test_build_filename(G_TEST_DIST, "results", files[1], NULL);
  g_autoptr(GError) error = NULL;
  OrrMergeFacts facts = {0};
  copy(fixture, files[0]);
  g_autoptr(OrrStore) store = fixture_open(fixture);
  g_assert_true(orr_store_begin_batch(store, &error));
  orr_store_merge(store, path, &facts, &error);
  g_assert_no_error(error);
  g_assert_true(orr_store_end_batch(store, &error));
  g_assert_cmpint(facts.runs, ==, 3);
  g_assert_cmpint(facts.points, ==, 4);
  fixture_assert(store, "SELECT group_concat(run_id || ' ' || first_run) FROM job", "4 0,5 4");
  fixture_assert(store, "SELECT group_concat(run_id || ' ' || sweep) FROM sweep_point",
                 "7 6,8 6,9 6,10 6");
  fixture_assert(store, "SELECT count(*) FROM metric_def WHERE unit = 'run'", "2");
}

#define ADD(name, function)                                                                        \
  g_test_add("/store-migrate/" name, Fixture, NULL, fixture_set_up, function, fixture_tear_down)

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  ADD("forward", test_forward);
  ADD("figures", test_figures);
  ADD("merge", test_merge);
  return g_test_run();
}

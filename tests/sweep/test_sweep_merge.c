/*
 * test_sweep_merge.c - shards of a sweep, each a database of its own, merge to what one process
 * would have written.
 */
#include "tests/sweep/sweep_fixture.h"

static void run_shard(const char *file, const char *db, guint shard, guint n_shards) {
  g_autoptr(GError) error = NULL;
  const OrrSweepOrder order = {
      .file = file, .db = db, .jobs = 1, .shard = shard, .n_shards = n_shards};
  g_autoptr(OrrSweepReport) report = orr_sweep(sweep_library, &order, &error);
  g_assert_no_error(error);
}

static void merge(const char *db, char **shards) {
  g_autoptr(GError) error = NULL;
  g_autoptr(OrrStore) store = orr_store_open(db, &error);
  OrrMergeFacts facts = {0};
  orr_store_begin_batch(store, &error);
  for (guint i = 0; shards[i]; i++) {
    orr_store_merge(store, shards[i], &facts, &error);
    g_assert_no_error(error);
    g_assert_cmpint(facts.duplicates + facts.differing, ==, 0);
  }
  g_assert_true(orr_store_end_batch(store, &error));
}

/* In whatever order they come. How points compare with the best one is known only when the shards
 * have met: --resume, with no point left to simulate, asks for the bands. */
static void test_shards(void) {
  g_autofree char *file = sweep_put("shards.yaml", SWEEP_AXES), *whole = sweep_fresh("whole.db"),
                  *merged = sweep_fresh("merged.db");
  char *shards[4] = {sweep_fresh("0.db"), sweep_fresh("1.db"), sweep_fresh("2.db"), NULL};
  orr_sweep_report_free(sweep_run(file, whole, 2, FALSE));
  for (guint i = 0; i < 3; i++) run_shard(file, shards[i], (i + 1) % 3, 3);
  merge(merged, shards);
  assert_answer(whole, "SELECT count(*) FROM sweep_band", "10");
  orr_sweep_report_free(sweep_run(file, merged, 1, TRUE));
  g_autofree char *expected = sweep_dump(whole), *found = sweep_dump(merged);
  g_assert_cmpstr(found, ==, expected);
  for (guint i = 0; i < 3; i++) g_free(shards[i]);
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  sweep_set_up();
  g_test_add_func("/run/sweep-merge/shards", test_shards);
  const int status = g_test_run();
  sweep_tear_down();
  return status;
}

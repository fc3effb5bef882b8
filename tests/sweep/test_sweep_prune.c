/*
 * test_sweep_prune.c - a pruned sweep finds what a whole one finds: the same ten best points and
 * the same front, by any number of workers, resumed and merged.
 */
#include "sim/base/random.h"
#include "tests/base/test_size.h"
#include "tests/sweep/sweep_fixture.h"

/* --- Random sweeps --- */

static const char *const objectives[] = {
    "maximize tokens_per_s",
    "minimize iteration_time_s",
    "[maximize tokens_per_s, maximize memory_headroom_bytes]",
    "[minimize memory_peak_bytes, maximize mfu]",
    "[minimize cost_per_million_tokens, minimize n-gpus, maximize headroom_bytes]",
    "[maximize pp - tp, minimize iteration_time_s]",
};
static const char *const wheres[] = {"tp <= 8", "tp * pp > 1", "bubble_fraction < 30 / 100",
                                     "memory_peak_bytes < 2 GiB and mfu > 1 / 100"};

static const char *pick(OrrRandom *random, const char *const *from, guint n) {
  return from[orr_random_below(random, n)];
}
#define PICK(random_, ...)                                                                         \
  pick(random_, (const char *const[]){__VA_ARGS__},                                                \
       G_N_ELEMENTS(((const char *const[]){__VA_ARGS__})))

/* Small machines, all schedules and shardings; some points fail their constraints or memory. A cost
 * has energy in it, which its bound leaves out. */
static char *random_section(OrrRandom *random, const char *objective) {
  return g_strdup_printf(
      "prices: {currency: EUR, gpu-hour: 2, kwh: 0.2}\n"
      "sweep:\n"
      "  axes:\n"
      "    nodes: [%s]\n"
      "    cluster.node.scale-up-domain: [%s]\n"
      "    tp: [1, 2, 4, 8, 16]\n"
      "    pp: [1, 2, 4]\n"
      "    schedule: [%s]\n"
      "    chunks: [1, 2]\n"
      "    micro-batch: [%s]\n"
      "    recompute: [%s]\n"
      "    sharding: [%s]\n"
      "    workload.pipeline-comm.overlap-p2p: [%s]\n"
      "  where: %s\n"
      "  objective: %s\n",
      PICK(random, "1", "2", "1, 2"), PICK(random, "8", "8", "2"),
      PICK(random, "1f1b, interleaved-1f1b", "gpipe, zb-h1", "1f1b, interleaved-1f1b, zb-v"),
      PICK(random, "1, 2, 4", "1"), PICK(random, "none, full", "none, selective, full"),
      PICK(random, "none, zero-1", "distributed-optimizer", "none, fsdp", "zero-3, zero-2"),
      PICK(random, "true, false", "false"), pick(random, wheres, G_N_ELEMENTS(wheres)), objective);
}

static OrrSweepReport *run_pruned(const char *file, const char *kind, const char *db, guint jobs) {
  g_autoptr(GError) error = NULL;
  g_autofree char *prune = g_strconcat("sweep.prune=", kind, NULL);
  char *settings[] = {prune, NULL};
  const OrrSweepOrder order = {.file = file, .db = db, .jobs = jobs, .settings = settings};
  OrrSweepReport *report = orr_sweep(sweep_library, &order, &error);
  g_assert_no_error(error);
  g_assert_true(report->is_whole);
  g_assert_cmpuint(report->n_done, ==, report->n_points);
  return report;
}

static void assert_same(const GArray *found, const GArray *expected, const char *text) {
  if (found->len != expected->len)
    g_error("%u points instead of %u of\n%s", found->len, expected->len, text);
  for (guint i = 0; i < found->len; i++) {
    const OrrSweepBest *a = &g_array_index(found, OrrSweepBest, i),
                       *b = &g_array_index(expected, OrrSweepBest, i);
    if (a->point != b->point || a->score[0] != b->score[0])
      g_error("at %u point %d instead of %d of\n%s", i, (int)a->point, (int)b->point, text);
  }
}

/* What is pruned, by all random sweeps together. */
typedef struct {
  guint64 n_ok, n_pruned;
} Pruned;

static void compare(const char *file, const char *text, Pruned *sum) {
  g_autoptr(OrrSweepReport) whole = run_pruned(file, "none", NULL, 2),
                            best = run_pruned(file, "best", NULL, 2),
                            front = run_pruned(file, "front", NULL, 1);
  assert_same(best->best, whole->best, text);
  assert_same(front->best, whole->best, text);
  assert_same(front->front, whole->front, text);
  g_assert_cmpuint(whole->by_status[ORR_POINT_PRUNED], ==, 0);
  g_assert_cmpuint(best->front->len, ==, 0);
  sum->n_ok += whole->by_status[ORR_POINT_OK];
  sum->n_pruned += best->by_status[ORR_POINT_PRUNED] + front->by_status[ORR_POINT_PRUNED];
}

static void test_random_sweeps(void) {
  Pruned sum = {0};
  for (guint seed = 0; seed < test_size(12, 4); seed++) {
    OrrRandom random = orr_random_stream(seed, "prune");
    g_autofree char *section = random_section(&random, objectives[seed % G_N_ELEMENTS(objectives)]);
    g_autofree char *text = g_strdup_printf("seed %u\n%s", seed, section);
    g_autofree char *file = sweep_put("random.yaml", section);
    compare(file, text, &sum);
  }
  g_test_message("%d points, %d pruned of twice as many", (int)sum.n_ok, (int)sum.n_pruned);
  g_assert_cmpuint(sum.n_pruned, >, sum.n_ok / 2); /* of 2 n_ok: a quarter */
}

/* --- Rows --- */

#define PRUNED                                                                                     \
  SWEEP_AXES "  prune: front\n  objective: [maximize tokens_per_s, maximize "                      \
             "memory_headroom_bytes]\n"

/* Which points are pruned does not depend on the number of workers; each has its bound. */
static void test_rows(void) {
  g_autofree char *file = sweep_put("rows.yaml", PRUNED), *one = sweep_fresh("one.db"),
                  *three = sweep_fresh("three.db");
  g_autoptr(OrrSweepReport) a = sweep_run(file, one, 1, FALSE),
                            b = sweep_run(file, three, 3, FALSE);
  g_assert_cmpuint(a->by_status[ORR_POINT_PRUNED], >, 0);
  g_autofree char *found = sweep_dump(three), *expected = sweep_dump(one);
  g_assert_cmpstr(found, ==, expected);
  assert_answer(one,
                "SELECT count(*) FROM sweep_point WHERE (status = 'pruned') != (least_s > 0)"
                " OR (status = 'pruned' AND (eligible OR objective_1 IS NOT NULL))",
                "0");
  assert_answer(one,
                "SELECT count(*) FROM training_result t JOIN sweep_point p USING (run_id)"
                " WHERE p.status != 'ok'",
                "0");
}

/* Stragglers draw their times, so nothing is known before: all points are simulated. */
static void test_no_bound(void) {
  g_autofree char *file = sweep_put("noise.yaml", PRUNED);
  g_autoptr(GError) error = NULL;
  char *settings[] = {(char *)"workload.noise.kernel=0.01", NULL};
  const OrrSweepOrder order = {.file = file, .jobs = 2, .settings = settings};
  g_autoptr(OrrSweepReport) report = orr_sweep(sweep_library, &order, &error);
  g_assert_no_error(error);
  g_assert_cmpuint(report->by_status[ORR_POINT_OK], ==, report->n_points);
}

/* --- Continued --- */

static volatile gint interrupted;

static void interrupt_at_20(const OrrSweepReport *report, void *user) {
  (void)user;
  if (report->by_status[ORR_POINT_OK] >= 12) interrupted = 1;
}

static void test_resume(void) {
  g_autofree char *file = sweep_put("resumed.yaml", PRUNED), *db = sweep_fresh("resumed.db");
  g_autoptr(GError) error = NULL;
  const OrrSweepOrder order = {
      .file = file, .db = db, .jobs = 2, .interrupted = &interrupted, .progress = interrupt_at_20};
  g_autoptr(OrrSweepReport) whole = sweep_run(file, NULL, 2, FALSE);
  g_autoptr(OrrSweepReport) part = orr_sweep(sweep_library, &order, &error);
  g_assert_no_error(error);
  g_autoptr(OrrSweepReport) rest = sweep_run(file, db, 2, TRUE);
  g_assert_cmpuint(rest->n_before, ==, part->n_done);
  g_assert_cmpuint(rest->n_done, ==, rest->n_points);
  assert_same(rest->best, whole->best, "a resumed sweep");
  assert_same(rest->front, whole->front, "a resumed sweep");
}

/* Shards prune by what they found themselves: together they simulate more, and find the same. */
static void test_shards(void) {
  g_autofree char *file = sweep_put("shards.yaml", PRUNED), *merged = sweep_fresh("merged.db");
  g_autoptr(OrrSweepReport) whole = sweep_run(file, NULL, 2, FALSE);
  g_autoptr(GError) error = NULL;
  g_autoptr(OrrStore) store = orr_store_open(merged, &error);
  g_assert_true(orr_store_begin_batch(store, &error));
  for (guint shard = 0; shard < 2; shard++) {
    g_autofree char *db = sweep_fresh(shard ? "1.db" : "0.db");
    OrrMergeFacts facts = {0};
    const OrrSweepOrder order = {.file = file, .db = db, .jobs = 1, .shard = shard, .n_shards = 2};
    orr_sweep_report_free(orr_sweep(sweep_library, &order, &error));
    g_assert_no_error(error);
    g_assert_true(orr_store_merge(store, db, &facts, &error));
  }
  g_assert_true(orr_store_end_batch(store, &error));
  g_clear_pointer(&store, orr_store_free);
  g_autoptr(OrrSweepReport) all = sweep_run(file, merged, 1, TRUE);
  g_assert_cmpuint(all->n_before, ==, all->n_points);
  assert_same(all->best, whole->best, "merged shards");
  assert_same(all->front, whole->front, "merged shards");
}

/* --- What has no bound --- */

static void assert_refused(const char *section, const char *expected) {
  g_autofree char *file = sweep_put("refused.yaml", section);
  g_autoptr(GError) error = NULL;
  const OrrSweepOrder order = {.file = file, .jobs = 1};
  g_autoptr(OrrSweepReport) report = orr_sweep(sweep_library, &order, &error);
  g_assert_null(report);
  g_assert_nonnull(error);
  if (!strstr(error->message, expected)) g_error("no '%s' in\n%s", expected, error->message);
}

static void test_refused(void) {
  assert_refused(SWEEP_AXES "  prune: best\n  objective: minimize bubble_fraction\n",
                 "no bound of 'minimize bubble_fraction' is known");
  assert_refused(SWEEP_AXES "  prune: best\n  objective: maximize iteration_time_s\n",
                 "no bound of 'maximize iteration_time_s' is known");
  assert_refused(SWEEP_AXES "  prune: front\n  objective: [maximize mfu, maximize mfu - tp]\n",
                 "no bound of 'maximize mfu - tp' is known");
  assert_refused(SWEEP_AXES "  prune: most\n", "prune");
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  sweep_set_up();
  g_test_add_func("/run/sweep-prune/random-sweeps", test_random_sweeps);
  g_test_add_func("/run/sweep-prune/rows", test_rows);
  g_test_add_func("/run/sweep-prune/no-bound", test_no_bound);
  g_test_add_func("/run/sweep-prune/resume", test_resume);
  g_test_add_func("/run/sweep-prune/shards", test_shards);
  g_test_add_func("/run/sweep-prune/refused", test_refused);
  const int status = g_test_run();
  sweep_tear_down();
  return status;
}

/*
 * test_sweep_exact.c - what sweeps leave out changes nothing: whole steps, and whole steps on
 * SimGrid, give the same.
 */
#include "tests/sweep/sweep_fixture.h"

/* --- Fast-forward --- */

/* Steps that leave out most of their steady state give the numbers of whole ones. 128
 * micro-batches and fewer; uneven first and last stages; schedules with a period of one
 * micro-batch and of a group; gpipe, which has none; and stages whose tensor-parallel groups
 * share links with pipeline transfers, on SimGrid. */
#define STEADY_SCENARIO                                                                            \
  "sweep:\n"                                                                                       \
  "  axes:\n"                                                                                      \
  "    global-batch: [256]\n"                                                                      \
  "    tp: [1, 2]\n"                                                                               \
  "    pp: [1, 2, 4]\n"                                                                            \
  "    schedule: [1f1b, gpipe, zb-h1, interleaved-1f1b]\n"                                         \
  "    chunks: [1, 2]\n"                                                                           \
  "    workload.data-parallel.overlap: [true, false]\n"                                            \
  "    workload.pipeline-comm.overlap-p2p: [true, false]\n"                                        \
  "    cluster.node.scale-up-domain: [8, 1]\n"

static void test_steady(void) {
  g_autofree char *file = sweep_put("steady.yaml", STEADY_SCENARIO), *db = sweep_fresh("steady.db");
  g_autoptr(GError) error = NULL;
  OrrSweepOrder order = {.file = file, .db = db, .jobs = 2, .whole_steps = TRUE};
  g_autoptr(OrrSweepReport) whole = orr_sweep(sweep_library, &order, &error);
  g_assert_no_error(error);
  order.whole_steps = FALSE;
  g_autoptr(OrrSweepReport) brief = orr_sweep(sweep_library, &order, &error);
  g_assert_no_error(error);
  g_assert_cmpuint(whole->n_points, ==, brief->n_points);
  g_assert_cmpuint(brief->by_status[ORR_POINT_OK], ==, brief->n_points);
  g_autofree char *worst =
      ask(db, "SELECT max(max(abs(a.iteration_time_s / b.iteration_time_s - 1), "
              "abs(a.bubble_fraction - b.bubble_fraction),"
              " abs(a.exposed_comm_fraction - b.exposed_comm_fraction), abs(a.mfu / b.mfu - 1), "
              "abs(a.hfu / b.hfu - 1),"
              " abs(a.memory_peak_bytes - b.memory_peak_bytes))) FROM training_result a JOIN "
              "sweep_point p ON p.run_id = "
              "a.run_id"
              " JOIN sweep_point q ON q.point = p.point AND q.sweep != p.sweep AND p.sweep = 1"
              " JOIN training_result b ON b.run_id = q.run_id");
  g_assert_cmpfloat(g_ascii_strtod(worst, NULL), <, 1e-9);
  assert_answer(
      db,
      "SELECT count(*) > 20 FROM training_result a JOIN sweep_point p ON p.run_id = a.run_id"
      " JOIN sweep_point q ON q.point = p.point AND q.sweep != p.sweep AND p.sweep = 1"
      " JOIN training_result b ON b.run_id = q.run_id WHERE b.events * 2 < a.events",
      "1");
  assert_answer(db, "SELECT count(DISTINCT substr(engine, 1, 5)) FROM run WHERE kind = 'training'",
                "2");
}

/* The largest difference of steps between the database's first sweep and its others. */
static double worst_step(const char *db) {
  g_autofree char *worst =
      ask(db, "SELECT max(abs(a.iteration_time_s / b.iteration_time_s - 1)) FROM training_result a"
              " JOIN sweep_point p ON p.run_id = a.run_id"
              " JOIN sweep_point q ON q.point = p.point AND q.sweep != p.sweep AND p.sweep = 1"
              " JOIN training_result b ON b.run_id = q.run_id");
  return g_ascii_strtod(worst, NULL);
}

/* A mixture whose experts' groups cross nodes, of replicas that are alike: passes are routines, and
 * what a sweep replays in one event each is what SimGrid replays op by op. */
#define EXPERTS_SCENARIO                                                                           \
  "schema: scenario/1\n"                                                                           \
  "name: experts\n"                                                                                \
  "cluster: {base: dgx-h100-superpod, nodes: 8}\n"                                                 \
  "model: {layers: 8, hidden: 1024, heads: 16, vocab: 8192, context: 2048, "                       \
  "moe: {experts: 32, topk: 2, ffn: 512, shared-ffn: 512}, "                                       \
  "layout: [2 attention+dense, 6 attention+moe]}\n"                                                \
  "workload:\n"                                                                                    \
  "  kind: training\n  stack: none\n"                                                              \
  "  parallel: {tp: 1, pp: 2, ep: 16}\n"                                                           \
  "  batch: {global: 1024, micro: 1}\n"                                                            \
  "sweep:\n"                                                                                       \
  "  axes:\n"                                                                                      \
  "    pp: [1, 2, 4]\n"                                                                            \
  "    schedule: [1f1b, zb-h1, interleaved-1f1b]\n"                                                \
  "    chunks: [1, 2]\n"                                                                           \
  "    workload.experts.shared-expert-overlap: [true, false]\n"                                    \
  "    workload.pipeline-comm.overlap-p2p: [true, false]\n"                                        \
  "    recompute: [none, full]\n"

static void test_experts(void) {
  g_autofree char *file = sweep_fresh("experts.yaml"), *db = sweep_fresh("experts.db");
  g_autoptr(GError) error = NULL;
  char *settings[] = {(char *)"engine=simgrid", NULL};
  OrrSweepOrder order = {
      .file = file, .db = db, .jobs = 2, .settings = settings, .whole_steps = TRUE};
  g_assert_true(g_file_set_contents(file, EXPERTS_SCENARIO, -1, NULL));
  g_autoptr(OrrSweepReport) whole = orr_sweep(sweep_library, &order, &error);
  g_assert_no_error(error);
  order.settings = NULL;
  order.whole_steps = FALSE;
  g_autoptr(OrrSweepReport) brief = orr_sweep(sweep_library, &order, &error);
  g_assert_no_error(error);
  g_assert_cmpuint(brief->by_status[ORR_POINT_OK], >, 20);
  g_assert_cmpuint(brief->by_status[ORR_POINT_OK], ==, whole->by_status[ORR_POINT_OK]);
  g_assert_cmpfloat(worst_step(db), <, 1e-9);
  assert_answer(db,
                "SELECT sum((sweep = 2) * events) * 8 < sum((sweep = 1) * events) FROM "
                "training_result JOIN sweep_point USING (run_id)",
                "1");
}

/* 64 GPUs, tensor parallelism over nodes too: what a sweep says of each point, and which it
 * finds best, is what whole steps on SimGrid say. */
#define SPLITS_OF_64                                                                               \
  "sweep:\n"                                                                                       \
  "  axes:\n"                                                                                      \
  "    nodes: [8]\n"                                                                               \
  "    global-batch: [96]\n"                                                                       \
  "    tp: [1, 2, 8, 16]\n"                                                                        \
  "    pp: [1, 2, 4, 8]\n"                                                                         \
  "    chunks: [1, 2]\n"                                                                           \
  "    micro-batch: [1, 3]\n"                                                                      \
  "    recompute: [none, full]\n"                                                                  \
  "  objective: maximize tokens_per_s\n"

static void test_best_of_64(void) {
  g_autofree char *file = sweep_put("splits.yaml", SPLITS_OF_64), *db = sweep_fresh("splits.db");
  g_autoptr(GError) error = NULL;
  char *settings[] = {(char *)"engine=simgrid", NULL};
  const OrrSweepOrder fast = {.file = file, .db = db, .jobs = 2};
  const OrrSweepOrder full = {
      .file = file, .db = db, .jobs = 2, .settings = settings, .whole_steps = TRUE};
  g_autoptr(OrrSweepReport) all = orr_sweep(sweep_library, &full, &error);
  g_assert_no_error(error);
  g_autoptr(OrrSweepReport) found = orr_sweep(sweep_library, &fast, &error);
  g_assert_no_error(error);
  g_assert_cmpuint(found->n_points, >, 50);
  g_assert_cmpuint(found->by_status[ORR_POINT_OK], ==, all->by_status[ORR_POINT_OK]);
  const OrrSweepBest *best = &g_array_index(found->best, OrrSweepBest, 0),
                     *known = &g_array_index(all->best, OrrSweepBest, 0);
  g_assert_cmpuint(best->point, ==, known->point);
  g_assert_cmpfloat_with_epsilon(best->score[0] / known->score[0], 1, 1e-9);
  g_assert_cmpfloat(worst_step(db), <, 1e-9);
  assert_answer(db, "SELECT count(DISTINCT substr(engine, 1, 5)) FROM run WHERE kind = 'training'",
                "3");
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  sweep_set_up();
  g_test_add_func("/run/sweep/steady", test_steady);
  g_test_add_func("/run/sweep/experts", test_experts);
  g_test_add_func("/run/sweep/best-of-64", test_best_of_64);
  const int failed = g_test_run();
  sweep_tear_down();
  return failed;
}

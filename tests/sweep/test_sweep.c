/*
 * test_sweep.c - sweeps: points equal runs, rows that do not depend on who made them, samplers,
 * crashes, bad input.
 */
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/engine/forked.h"
#include "tests/sweep/sweep_fixture.h"

/* tp * pp divides 8: of 16 pairs those with tp pp <= 8, 10. Then dp = 8 / (tp pp) and 16 /
 * (micro dp) micro-batches: with micro 4, dp = 8 leaves half a micro-batch, so (1, 1, 4) is out:
 * 10 * 3 - 1 = 29, twice for recompute. */
static void test_counts(void) {
  g_autofree char *file = sweep_put("counts.yaml", SWEEP_AXES), *db = sweep_fresh("counts.db");
  g_autoptr(OrrSweepReport) report = sweep_run(file, db, 2, FALSE);
  g_assert_cmpuint(report->n_combinations, ==, 96);
  g_assert_cmpuint(report->n_points, ==, 58);
  g_assert_cmpuint(report->n_done, ==, 58);
  g_assert_cmpuint(report->by_status[ORR_POINT_OK], ==, 58);
  g_assert_true(report->is_whole);
  g_assert_cmpuint(report->excluded->len, ==, 2);
  const OrrSweepExclusion *first = &g_array_index(report->excluded, OrrSweepExclusion, 0);
  g_assert_cmpstr(first->reason, ==, "tp * pp * cp does not divide the GPUs");
  g_assert_cmpuint(first->n, ==, 36); /* 6 pairs * 3 * 2 */
  g_assert_cmpuint(g_array_index(report->excluded, OrrSweepExclusion, 1).n, ==, 2);
  assert_answer(db, "SELECT count(*) FROM training_result", "58");
  assert_answer(db, "SELECT count(*) FROM run", "59"); /* and the sweep */
  assert_answer(db, "SELECT kind FROM run WHERE id = 1", "sweep");
  assert_answer(db, "SELECT min(run_id) || ' ' || max(run_id) FROM sweep_point", "2 59");
  assert_answer(db, "SELECT sum(combinations) FROM sweep_excluded", "38");
}

typedef struct {
  const char *file;
  const OrrSweepBest *best;
  const char *iteration_time_s;
} Again;

/* The best point's settings laid on the scenario give the same number; a sweep adds the same
 * times in another order. */
static void run_again(gconstpointer data) {
  const Again *again = data;
  g_autoptr(GError) error = NULL;
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_autoptr(OrrNode) tree = orr_scenario_tree(sweep_library, again->file, diags);
  for (char **setting = again->best->again; *setting; setting++) {
    char *equals = strchr(*setting, '=');
    *equals = '\0';
    orr_field_set(&orr_scenario_table, tree, *setting, equals + 1, &error);
    g_assert_no_error(error);
  }
  g_autoptr(OrrScenario) scenario = orr_scenario_read(sweep_library, tree, diags);
  g_assert_nonnull(scenario);
  g_autoptr(OrrOutcome) outcome = orr_simulate(sweep_library, scenario, FALSE, &error);
  g_assert_no_error(error);
  g_assert_cmpfloat_with_epsilon(outcome->result.training.iteration_time_s / again->best->score[0],
                                 1, 1e-13);
}

static void test_points_are_runs(void) {
  g_autofree char *file =
      sweep_put("runs.yaml",
                SWEEP_AXES "    schedule: [1f1b, gpipe, interleaved-1f1b]\n    chunks: [1, 2]\n");
  g_autoptr(OrrSweepReport) report = sweep_run(file, NULL, 2, FALSE);
  g_assert_cmpuint(report->best->len, ==, ORR_SWEEP_MOST_BEST);
  for (guint i = 0; i < report->best->len; i++) {
    const Again again = {file, &g_array_index(report->best, OrrSweepBest, i), NULL};
    forked(run_again, &again);
    if (i > 0) g_assert_cmpfloat(again.best->score[0], >=, again.best[-1].score[0]);
  }
}

/* A point's rows are the same whatever process simulates it. */
static void test_jobs(void) {
  g_autofree char *file = sweep_put("jobs.yaml", SWEEP_AXES);
  g_autofree char *one = sweep_fresh("one.db"), *five = sweep_fresh("five.db");
  orr_sweep_report_free(sweep_run(file, one, 1, FALSE));
  orr_sweep_report_free(sweep_run(file, five, 5, FALSE));
  g_autofree char *a = sweep_dump(one), *b = sweep_dump(five);
  g_assert_cmpstr(a, ==, b);
}

/* --- Interrupted, crashed, late --- */

static volatile gint stop;

static void stop_soon(const OrrSweepReport *report, void *user) {
  (void)user;
  if (report->n_done >= 5) stop = 1;
}

static void test_interrupt(void) {
  g_autofree char *file = sweep_put("stop.yaml", SWEEP_AXES);
  g_autofree char *db = sweep_fresh("stop.db"), *whole = sweep_fresh("whole.db");
  g_autoptr(GError) error = NULL;
  const OrrSweepOrder order = {
      .file = file, .db = db, .jobs = 2, .interrupted = &stop, .progress = stop_soon};
  stop = 0;
  g_autoptr(OrrSweepReport) part = orr_sweep(sweep_library, &order, &error);
  g_assert_no_error(error);
  g_assert_false(part->is_whole);
  g_assert_cmpuint(part->n_done, >=, 5);
  g_autoptr(OrrSweepReport) rest = sweep_run(file, db, 2, TRUE);
  g_assert_cmpuint(rest->n_before, ==, part->n_done);
  g_assert_cmpuint(rest->n_done, ==, 58);
  g_autoptr(OrrSweepReport) all = sweep_run(file, whole, 2, FALSE);
  g_autofree char *a = sweep_dump(db), *b = sweep_dump(whole);
  g_assert_cmpstr(a, ==, b);
  g_assert_cmpuint(rest->best->len, ==, all->best->len);
  for (guint i = 0; i < all->best->len; i++) {
    const OrrSweepBest *x = &g_array_index(rest->best, OrrSweepBest, i),
                       *y = &g_array_index(all->best, OrrSweepBest, i);
    g_assert_cmpuint(x->point, ==, y->point);
    g_assert_true(g_strv_equal((const char *const *)x->settings, (const char *const *)y->settings));
  }
  g_autoptr(OrrSweepReport) nothing = sweep_run(file, db, 2, TRUE); /* nothing is left to do */
  g_assert_cmpuint(nothing->n_before, ==, 58);
}

/* In the worker. */
static void misbehave(guint64 point, void *user) {
  (void)user;
  if (point == 3) {
    signal(SIGABRT, SIG_DFL);
    abort();
  }
  if (point == 7) g_usleep(30 * G_USEC_PER_SEC);
  if (point == 9) _exit(5);
}

static void test_crashes(void) {
  g_autofree char *file = sweep_put("crash.yaml", SWEEP_AXES), *db = sweep_fresh("crash.db");
  g_autoptr(GError) error = NULL;
  const OrrSweepOrder order = {
      .file = file, .db = db, .jobs = 2, .timeout_s = 1, .before = misbehave};
  g_autoptr(OrrSweepReport) report = orr_sweep(sweep_library, &order, &error);
  g_assert_no_error(error);
  g_assert_cmpuint(report->n_done, ==, 58);
  g_assert_cmpuint(report->by_status[ORR_POINT_CRASHED], ==, 2);
  g_assert_cmpuint(report->by_status[ORR_POINT_TIMEOUT], ==, 1);
  g_assert_cmpuint(report->by_status[ORR_POINT_OK], ==, 55);
  assert_answer(db, "SELECT reason FROM sweep_point WHERE point = 7", "took longer than 1 s");
  g_autofree char *reason = ask(db, "SELECT reason FROM sweep_point WHERE point = 3");
  g_assert_true(g_str_has_prefix(reason, "ended by signal 6"));
  assert_answer(db, "SELECT reason FROM sweep_point WHERE point = 9", "left with status 5");
  assert_answer(db, "SELECT count(*) FROM training_result", "55");
}

static const char *marker;

/* Killed twice on the way: others did that, so the point is tried again. */
static void be_killed(guint64 point, void *user) {
  (void)user;
  if (point != 4) return;
  g_autofree char *text = NULL;
  if (g_file_get_contents(marker, &text, NULL, NULL) && strlen(text) >= 2) return;
  g_autofree char *longer = g_strconcat(text ? text : "", "x", NULL);
  g_file_set_contents(marker, longer, -1, NULL);
  kill(getpid(), SIGKILL);
}

static void test_killed_worker(void) {
  g_autofree char *file = sweep_put("killed.yaml", SWEEP_AXES), *mark = sweep_fresh("mark");
  g_autofree char *db = sweep_fresh("killed.db"), *whole = sweep_fresh("whole.db");
  g_autoptr(GError) error = NULL;
  marker = mark;
  const OrrSweepOrder order = {.file = file, .db = db, .jobs = 2, .before = be_killed};
  g_autoptr(OrrSweepReport) report = orr_sweep(sweep_library, &order, &error);
  g_assert_no_error(error);
  g_assert_cmpuint(report->by_status[ORR_POINT_OK], ==, 58);
  orr_sweep_report_free(sweep_run(file, whole, 2, FALSE));
  g_autofree char *a = sweep_dump(db), *b = sweep_dump(whole);
  g_assert_cmpstr(a, ==, b);
}

/* --- Constraints, objectives, memory --- */

static void test_rules(void) {
  g_autofree char *file =
      sweep_put("rules.yaml",
                SWEEP_AXES "  where:\n"
                           "    - tp <= 4 and recompute == none\n"
                           "    - \"bubble_fraction < 20 / 100\"\n"
                           "  objective: [maximize tokens_per_s, minimize memory_peak_bytes]\n");
  g_autofree char *db = sweep_fresh("rules.db");
  g_autoptr(OrrSweepReport) report = sweep_run(file, db, 2, FALSE);
  g_assert_cmpuint(report->n_points, ==, 26); /* of tp 1, 2, 4: 9 pairs, times 3, less one */
  assert_answer(db,
                "SELECT count(*) FROM sweep_point p JOIN training_result t USING (run_id)"
                " WHERE p.eligible != (t.bubble_fraction < 0.2)",
                "0");
  /* What SQL finds: no eligible point has more tokens per second and less memory. */
  g_autofree char *n_front = ask(
      db,
      "WITH e AS (SELECT t.run_id, tokens_per_s AS r, memory_peak_bytes AS m FROM training_result t"
      " JOIN sweep_point USING (run_id) WHERE eligible)"
      " SELECT count(*) FROM e a WHERE NOT EXISTS (SELECT 1 FROM e b WHERE b.r >= a.r AND b.m <= "
      "a.m"
      " AND (b.r > a.r OR b.m < a.m OR b.run_id < a.run_id))");
  g_assert_cmpint((int)report->front->len, ==, atoi(n_front));
  g_assert_cmpint(report->front->len, >, 1);
}

static void test_unfit(void) {
  g_autofree char *file = sweep_put(
      "unfit.yaml", "sweep: {axes: {tp: [1, 8], model: [gpt3-175b, gpt3-1.3b], pp: [1]}}\n");
  g_autofree char *db = sweep_fresh("unfit.db");
  g_autoptr(OrrSweepReport) report = sweep_run(file, db, 1, FALSE);
  g_assert_cmpuint(report->by_status[ORR_POINT_UNFIT], ==,
                   2); /* 175 billion parameters on eight GPUs */
  assert_answer(db, "SELECT DISTINCT reason FROM sweep_point WHERE status = 'unfit'",
                "does not fit the 80 GiB of a100-80gb-sxm");
  assert_answer(db,
                "SELECT count(*) FROM training_result t JOIN param p ON p.run_id = t.run_id AND "
                "p.path = 'model'"
                " WHERE p.value = 'gpt3-1.3b'",
                "2");
}

/* What is offloaded has to fit the hosts: 12 + 4 bytes of 154 million parameters (12 l h^2 of
 * layers, V h of the embedding) for each of 2 replicas are 4.9 GB. */
static void test_unfit_host(void) {
  g_autofree char *file =
      sweep_put("host.yaml", "sweep: {axes: {workload.offload.optimizer: [0, 1], "
                             "cluster.node.host.memory: [4 GiB, 2 TB]}}\n");
  g_autofree char *db = sweep_fresh("host.db");
  g_autoptr(OrrSweepReport) report = sweep_run(file, db, 1, FALSE);
  g_assert_cmpuint(report->by_status[ORR_POINT_OK], ==, 3);
  assert_answer(
      db, "SELECT reason FROM sweep_point WHERE status = 'unfit'",
      "the offloaded data does not fit the 4 GiB of a node's host (cluster.node.host.memory)");
}

static void test_cost(void) {
  g_autofree char *file = sweep_put(
      "cost.yaml", "prices: {currency: EUR, gpu-hour: 3.6}\n"
                   "sweep: {axes: {tp: [2]}, objective: minimize cost_per_million_tokens}\n");
  g_autofree char *db = sweep_fresh("cost.db");
  g_autoptr(OrrSweepReport) report = sweep_run(file, db, 1, FALSE);
  g_autofree char *tokens = ask(db, "SELECT tokens_per_s FROM training_result");
  /* 8 GPUs at 3.6 an hour: 0.008 a second */
  g_assert_cmpfloat_with_epsilon(g_array_index(report->best, OrrSweepBest, 0).score[0],
                                 0.008e6 / g_ascii_strtod(tokens, NULL), 1e-12);
}

/* Serving has tp and pp, and replicas where training has dp: an engine of 8 GPUs, on one node of
 * 8. Facts are the point's own, so that constraints and ranges may name them. */
#define SERVING_CLUSTER "cluster: {base: dgx-h100-superpod, nodes: 1}\n"
#define SERVING_HEAD                                                                               \
  "schema: scenario/1\n"                                                                           \
  "name: small serving\n"                                                                          \
  "model: llama-3.1-8b\n"                                                                          \
  "workload: {kind: serving, stack: none, requests: 4, input: {kind: fixed, tokens: 64}, output: " \
  "{kind: "                                                                                        \
  "fixed, tokens: 4}, load: {kind: poisson, rate: 8}}\n"
#define SERVING SERVING_HEAD SERVING_CLUSTER

static void test_serving(void) {
  g_autofree char *file = sweep_fresh("serving.yaml"), *db = sweep_fresh("serving.db");
  g_autoptr(GError) error = NULL;
  g_file_set_contents(
      file, SERVING "sweep: {axes: {tp: [1, 2, 4, 8], pp: [1, 2]}, where: [tp * pp == 8]}\n", -1,
      &error);
  g_assert_no_error(error);
  g_autoptr(OrrSweepReport) report = sweep_run(file, db, 1, FALSE);
  g_assert_cmpuint(report->by_status[ORR_POINT_OK], ==, 2);
  assert_answer(db,
                "SELECT group_concat(value, ' ') FROM (SELECT value FROM param WHERE path = "
                "'workload.parallel.tp'"
                " AND run_id IN (SELECT run_id FROM sweep_point) ORDER BY run_id)",
                "4 8");
}

/* Checks a serving sweep with @head, whose cluster replaces the usual one; @wanted: part of the
 * error, NULL for none. */
static void check_needs(const char *head, const char *axes, const char *rest, const char *wanted) {
  const char *const cluster = strstr(head, "cluster:") ? "" : SERVING_CLUSTER;
  g_autofree char *text =
      g_strdup_printf(SERVING_HEAD "%s%ssweep: {axes: {%s}, %s}\n", cluster, head, axes, rest);
  g_autofree char *file = sweep_fresh("needs.yaml");
  g_autoptr(GError) error = NULL;
  g_file_set_contents(file, text, -1, &error);
  g_assert_no_error(error);
  g_autoptr(OrrDiags) diags = orr_diags_new();
  orr_sweep_check_document(sweep_library, file, diags);
  g_autofree char *found = orr_diags_text(diags);
  g_test_message("%s%s %s: %s", head, axes, rest, found);
  g_assert_cmpint(orr_diags_n_errors(diags) > 0, ==, wanted != NULL);
  g_assert_true(!wanted || strstr(found, wanted));
}

/* A cost without prices is NULL at every point: refused, with what to set; fine with prices or
 * with an axis over one. Names that moved are refused with the new one. */
static void test_needs(void) {
  static const char cost[] = "objective: minimize cost-per-million-output-tokens";
  static const struct {
    const char *prices, *axes, *rest, *wanted;
  } cases[] = {
      {"", "tp: [1, 2]", cost, ": set prices"},
      {"", "tp: [1, 2]", "where: [cost_per_million_output_tokens < 3]", ": set prices"},
      {"", "tp: [1, 2]", "objective: [maximize output_tokens_per_s, minimize cost-per-day]",
       ": set prices"},
      {"", "tp: [1, 2]", "objective: minimize cost_per_token",
       ": write cost_per_million_tokens, by the scenario's prices"},
      {"", "tp: [1, 2]", "gpu-hour-price: 2",
       "it has moved, write prices.gpu-hour of the scenario"},
      {"", "workload.metrics.price-per-gpu-hour: [2, 3]", cost,
       "it has moved, write prices.gpu-hour of the scenario"},
      {"prices: {currency: EUR, gpu-hour: 2}\n", "tp: [1, 2]", cost, NULL},
      {"prices: {currency: EUR, gpu-hour: 2}\n", "prices.gpu-hour: [2, 3]", cost, NULL},
      {"prices: {currency: EUR, kwh: 0.2}\n", "tp: [1, 2]",
       "objective: minimize hardware_cost_per_gpu_hour", ": set prices.gpu-hour"},
      {"prices: {currency: EUR, gpu-hour: 2}\n", "tp: [1, 2]",
       "objective: minimize carbon_kg_per_day", ": set prices.carbon-grams-per-kwh"},
      /* an H100 has a power model; energy is not known where every point has none */
      {"", "tp: [1, 2]", "objective: minimize energy_j_per_output_token", NULL},
      {"", "tp: [1, 2], cluster.device: [h100-sxm, l40s]",
       "objective: minimize energy_j_per_output_token", NULL},
      {"prices: {currency: EUR, gpu-hour: 2, kwh: 0.2}\n", "tp: [1, 2]", cost, NULL},
  };
  for (guint i = 0; i < G_N_ELEMENTS(cases); i++)
    check_needs(cases[i].prices, cases[i].axes, cases[i].rest, cases[i].wanted);
  /* the same on a device without a power model */
  const char *const unpowered = "cluster: l40s-server\n";
  check_needs(unpowered, "tp: [1, 2]", "objective: minimize energy_j_per_output_token",
              "without a power model of device l40s: set cluster.device.power");
  check_needs("cluster: l40s-server\nprices: {currency: EUR, gpu-hour: 2, kwh: 0.2}\n",
              "tp: [1, 2]", cost, "set cluster.device.power, or leave out prices.kwh");
  check_needs("cluster: {base: aws-p5, nodes: 1}\nprices: {currency: EUR, kwh: 0.2}\n",
              "tp: [1, 2]", cost, "set cluster.power.rest-busy, or leave out prices.kwh");
  check_needs("cluster: l40s-server\nprices: {currency: EUR, gpu-hour: 2}\n", "tp: [1, 2]", cost,
              NULL);
}

/* --- Samplers --- */

static void test_random(void) {
  g_autofree char *file =
      sweep_put("random.yaml", SWEEP_AXES "  sampler: {kind: random, points: 20}\n");
  g_autofree char *db = sweep_fresh("random.db"), *again = sweep_fresh("again.db");
  g_autoptr(OrrSweepReport) report = sweep_run(file, db, 2, FALSE);
  g_assert_cmpuint(report->n_points, ==, 20);
  assert_answer(db, "SELECT count(DISTINCT hash) FROM run WHERE kind = 'training'", "20");
  orr_sweep_report_free(sweep_run(file, again, 1, FALSE));
  g_autofree char *a = sweep_dump(db), *b = sweep_dump(again);
  g_assert_cmpstr(a, ==, b);
}

/* Ten points over five values of an axis without constraints: each value twice, on both axes. */
static void test_latin_hypercube(void) {
  g_autofree char *file =
      sweep_put("latin.yaml", "sweep:\n  axes:\n    global-batch: [16, 32, 48, 64, 80]\n    "
                              "sequence: [128, 256, 384, 512, 640, 768, 896, 1024, 64, 32]\n"
                              "  sampler: {kind: latin-hypercube, points: 10}\n");
  g_autofree char *db = sweep_fresh("latin.db");
  g_autoptr(OrrSweepReport) report = sweep_run(file, db, 2, FALSE);
  g_assert_cmpuint(report->n_points, ==, 10);
  assert_answer(db,
                "SELECT group_concat(n) FROM (SELECT count(*) AS n FROM param WHERE path = "
                "'workload.batch.global' "
                "GROUP BY value)",
                "2,2,2,2,2");
  assert_answer(db, "SELECT count(DISTINCT value) FROM param WHERE path = 'workload.sequence'",
                "10");
}

/* --- Numbers of runs --- */

/* A run that is stored while a sweep is not whole takes no number of the sweep's. */
static void test_reserved(void) {
  g_autofree char *file = sweep_put("stop.yaml", SWEEP_AXES), *db = sweep_fresh("reserved.db");
  const OrrSweepOrder order = {
      .file = file, .db = db, .jobs = 1, .interrupted = &stop, .progress = stop_soon};
  g_autoptr(GError) error = NULL;
  stop = 0;
  orr_sweep_report_free(orr_sweep(sweep_library, &order, &error));
  g_assert_no_error(error);
  {
    g_autoptr(OrrStore) store = orr_store_open(db, &error);
    const OrrRunFacts facts = {"other", "training", "f", "h", "", "v", "e", "full", 0, 0};
    gint64 id = 0;
    g_assert_true(orr_store_begin_run(store, &facts, &id, &error));
    g_assert_cmpint(id, ==, 1 + 58 + 1);
    g_assert_true(orr_store_end_run(store, 0, &error));
  }
  g_autoptr(OrrSweepReport) rest = sweep_run(file, db, 2, TRUE);
  g_assert_cmpuint(rest->n_done, ==, 58);
  assert_answer(db, "SELECT count(*) FROM run", "60");
}

/* --- Bad input --- */

static void assert_refused(const char *section, int code, const char *message) {
  g_autofree char *file = sweep_put("bad.yaml", section);
  g_autoptr(GError) error = NULL;
  const OrrSweepOrder order = {.file = file, .jobs = 1};
  g_assert_null(orr_sweep(sweep_library, &order, &error));
  g_assert_error(error, ORR_FAULT, code);
  if (!strstr(error->message, message)) g_error("wanted '%s', found '%s'", message, error->message);
}

static void test_bad_input(void) {
  const struct {
    const char *section, *message;
  } cases[] = {
      {"", "the scenario has no sweep: section"},
      {"sweep: {axes: {}}\n", "bad.yaml:11:8: error: a sweep needs axes"},
      {"sweep: {axes: {workload.parallell.tp: [1]}}\n",
       "bad.yaml:11:16: error: axis workload.parallell.tp: path 'workload.parallell.tp': unknown "
       "key 'parallell' in "
       "workload: did you mean 'parallel'?"},
      {"sweep: {axes: {tp: 8}}\n", "axis tp takes a list"},
      {"sweep: {axes: {tp: []}}\n", "axis tp has no value"},
      {"sweep: {axes: {tp: [1, 1]}}\n", "axis tp: duplicate value 1"},
      {"sweep: {axes: {tp: [1], workload.parallel.tp: [2]}}\n", "duplicate axis tp"},
      {"sweep: {axes: {tp: [1, two]}}\n", "bad.yaml:11:24: error: 'tp' must be a whole number"},
      {"sweep: {axes: {tp: {divisors-of: n-gpu}}}\n",
       "bad.yaml:11:34: error: expression 'n-gpu': unknown name 'n-gpu': did you mean 'n-gpus'?"},
      {"sweep: {axes: {tp: {divisor-of: 8}}}\n", "axis tp takes a list"},
      {"sweep: {axes: {tp: {from: 1, to: 8, stop: 2}}}\n",
       "unknown key 'stop' (allowed: from, to, step)"},
      {"sweep: {axes: {tp: {from: 1, to: 8, step: 0}}}\n", "a step above 0"},
      {"sweep: {axes: {tp: {from: -1e308, to: 1e308}}}\n", "at most 65535 values"},
      /* ln 1e9 / ln 1.0000001 = 2.07e8: it never ended */
      {"sweep: {axes: {tp: {powers-of: 1.0000001, to: 1e9}}}\n",
       "axis tp: there are 2.07e+08 powers of 1.0000001 up to 1e+09, and an axis takes at most "
       "65535 "
       "values"},
      {"sweep: {axes: {workload.data-parallel.bucket: all}}\n", "cannot enumerate all its values"},
      {"sweep: {axes: {tp: [1]}, where: tp + 1}\n", "is not a condition"},
      {"sweep: {axes: {tp: [1]}, where: [tq < 2]}\n",
       "bad.yaml:11:34: error: expression 'tq < 2': unknown name 'tq'"},
      {"sweep: {axes: {tp: [1]}, where: [\"tp < recompute\"]}\n",
       "bad.yaml:11:40: error: expression 'tp < recompute': '<' wants a number"},
      {"sweep: {axes: {tp: [1]}, objective: iteration_time_s}\n",
       "objective takes minimize or maximize"},
      {"sweep: {axes: {tp: [1]}, objective: minimize iteration_tim_s}\n",
       "bad.yaml:11:46: error: expression 'iteration_tim_s': unknown name 'iteration_tim_s': did "
       "you mean "
       "'iteration-time-s'?"},
      {"sweep: {axes: {tp: [1]}, objective: minimize recompute}\n",
       "is text, and only numbers can be minimized"},
      {"sweep: {axes: {tp: [1]}, sampler: grit}\n", "did you mean 'grid'?"},
      {"sweep: {axes: {tp: [1]}, timeout: 5}\n", "'timeout'"},
      {"sweep: {axis: {tp: [1]}}\n", "unknown key 'axis' in sweep: did you mean 'axes'?"},
      {"sweep: {axes: {tp: [3, 5]}}\n",
       "none of the 2 combinations can run:\n  2 tp * pp * cp does not divide the GPUs"},
      {"sweep: {space: some}\n", "space takes the word all"},
  };
  for (guint i = 0; i < G_N_ELEMENTS(cases); i++)
    assert_refused(cases[i].section, ORR_FAULT_DOCUMENT, cases[i].message);
  assert_refused("sweep: {axes: {global-batch: {from: 16, to: 1600, step: 16}}, most: 50}\n",
                 ORR_FAULT_USAGE,
                 "the sweep has 100 points, more than 50 (sweep.most): pass --yes to run all");
}

static void test_bad_resume(void) {
  g_autofree char *file = sweep_put("resume.yaml", SWEEP_AXES), *db = sweep_fresh("resume.db");
  g_autofree char *other = sweep_put("other.yaml", SWEEP_AXES "    precision: [bf16]\n");
  orr_sweep_report_free(sweep_run(file, db, 2, FALSE));
  g_autoptr(GError) error = NULL;
  const OrrSweepOrder order = {.file = other, .db = db, .jobs = 1, .resume = TRUE};
  g_assert_null(orr_sweep(sweep_library, &order, &error));
  g_assert_error(error, ORR_FAULT, ORR_FAULT_USAGE);
  g_assert_nonnull(strstr(error->message, "has no sweep of this document"));
}

/* all: tp divides 16 heads and 8 GPUs (1, 2, 4, 8), pp 8 layers and 8 GPUs (4), cp 4, 3
 * schedules or more, chunks 1, 2, 4, 8, micro-batch 1 to 16 (5), 3 kinds of recomputation,
 * sharding 2 or more: each point passed every check. */
static void test_space(void) {
  g_autofree char *file = sweep_put("space.yaml", "sweep: {space: all, axes: {cp: [1], recompute: "
                                                  "[none], micro-batch: [1]}, where: pp <= 2}\n");
  g_autofree char *db = sweep_fresh("space.db");
  g_autoptr(OrrSweepReport) report = sweep_run(file, db, 2, FALSE);
  g_assert_cmpuint(report->by_status[ORR_POINT_OK], ==, report->n_points);
  assert_answer(db, "SELECT count(DISTINCT value) FROM param WHERE path = 'workload.parallel.tp'",
                "4");
  assert_answer(db, "SELECT max(number) FROM param WHERE path = 'workload.parallel.pp'", "2.0");
  assert_answer(db, "SELECT count(*) > 0 FROM param WHERE value = 'interleaved-1f1b'", "1");
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  sweep_set_up();
  g_test_add_func("/run/sweep/counts", test_counts);
  g_test_add_func("/run/sweep/points-are-runs", test_points_are_runs);
  g_test_add_func("/run/sweep/jobs", test_jobs);
  g_test_add_func("/run/sweep/interrupt", test_interrupt);
  g_test_add_func("/run/sweep/crashes", test_crashes);
  g_test_add_func("/run/sweep/killed-worker", test_killed_worker);
  g_test_add_func("/run/sweep/rules", test_rules);
  g_test_add_func("/run/sweep/unfit", test_unfit);
  g_test_add_func("/run/sweep/unfit-host", test_unfit_host);
  g_test_add_func("/run/sweep/cost", test_cost);
  g_test_add_func("/run/sweep/serving", test_serving);
  g_test_add_func("/run/sweep/needs", test_needs);
  g_test_add_func("/run/sweep/random", test_random);
  g_test_add_func("/run/sweep/latin-hypercube", test_latin_hypercube);
  g_test_add_func("/run/sweep/reserved", test_reserved);
  g_test_add_func("/run/sweep/bad-input", test_bad_input);
  g_test_add_func("/run/sweep/bad-resume", test_bad_resume);
  g_test_add_func("/run/sweep/space", test_space);
  const int status = g_test_run();
  sweep_tear_down();
  return status;
}

/*
 * test_inputs.c - uncertain inputs: the design, spreads and effects against closed forms, replays
 * that fail, and the same rows whatever the number of jobs.
 *
 * Two nodes send 1 GiB to each other's neighbour: its time is size / bandwidth plus microseconds of
 * latency, a ten-thousandth.
 */
#include "sim/bands/inputs.h"

#include <math.h>

#include "tests/workloads/scenario_fixture.h"
#include "tests/run/shared_library.h"

#define BANDWIDTH "cluster.node.nic-bandwidth={value: 400 Gb/s, low: 360 Gb/s, high: 440 Gb/s}"

static const char send_recv[] =
    "schema: scenario/1\nname: t\nengine: ideal\n"
    "cluster: {base: dgx-h100-superpod, device: tpu-v4, node: {scale-up-domain: 1,"
    " host: {network-path: apart}}, nodes: 2, max-nodes: 2}\n"
    /* a device without a profile is made ready sooner; its NICs bypass its slower host link */
    "workload: {kind: collectives, collective: send-recv, begin: 1 GiB, end: 1 GiB, ranks: 2,"
    " stride: 8}\n";

static const char serving[] =
    "schema: scenario/1\nname: t\ncluster: {base: dgx-h100-superpod, nodes: 1}\n"
    "model: llama-3.1-8b\nworkload: {kind: serving, load: {kind: poisson, rate: 4}, requests: 20,"
    " input: {tokens: 64}, output: {tokens: 8}}\n";

/* 400 requests, near the limit of the engine where @sets does not say otherwise. */
static const char busy[] =
    "schema: scenario/1\nname: t\ncluster: {base: dgx-h100-superpod, nodes: 1, gpus: 1}\n"
    "model: llama-3.1-8b\nworkload: {kind: serving, load: {kind: poisson, rate: 17}, requests: 400,"
    " engine: {max-num-seqs: 16}, input: {tokens: 512}, output: {tokens: 100}}\n";

typedef OrrInputs *Replay(OrrLibrary *library, const OrrNode *tree, const OrrScenario *scenario,
                          const OrrInputsHow *how);

/* The outcome with the rows of @samples replays by @replay; @ret_is_chance may be NULL. */
static OrrOutcome *answer_by(Replay *replay, const char *text, const char *sets, guint samples,
                             guint jobs, gboolean *ret_is_chance) {
  OrrLibrary *library = shared_library();
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_autoptr(GError) error = NULL;
  g_autoptr(OrrNode) tree = tree_of(text, sets, diags);
  g_autoptr(OrrScenario) scenario = orr_scenario_read(library, tree, diags);
  orr_diags_check(diags, &error);
  g_assert_no_error(error);
  const OrrInputsHow how = {.samples = samples ? samples : orr_inputs_samples(scenario),
                            .jobs = jobs};
  g_autoptr(OrrInputs) inputs = replay(library, tree, scenario, &how);
  OrrOutcome *outcome = orr_simulate(library, scenario, FALSE, &error);
  g_assert_no_error(error);
  if (ret_is_chance) *ret_is_chance = orr_inputs_is_chance(scenario, outcome);
  orr_inputs_add(inputs, outcome);
  return outcome;
}

static OrrOutcome *answer(const char *text, const char *sets, guint samples, guint jobs) {
  return answer_by(orr_inputs_replay, text, sets, samples, jobs, NULL);
}

static const OrrInputEffectRow *effect_of(const OrrOutcome *outcome, const char *metric,
                                          const char *path) {
  for (guint i = 0; i < outcome->input_effects->len; i++) {
    const OrrInputEffectRow *row = &g_array_index(outcome->input_effects, OrrInputEffectRow, i);
    if (g_str_equal(row->metric, metric) && g_str_equal(row->path, path)) return row;
  }
  g_error("no effect of %s on %s", path, metric);
}

static double result_of(const OrrOutcome *outcome, const char *metric, gint64 replay) {
  for (guint i = 0; i < outcome->input_results->len; i++) {
    const OrrInputResultRow *row = &g_array_index(outcome->input_results, OrrInputResultRow, i);
    if (row->replay == replay && g_str_equal(row->metric, metric)) return row->value;
  }
  g_error("no %s of replay %d", metric, (int)replay);
}

/* --- The design --- */

/* Each input meets the middle of each of n intervals once. */
static void test_strata(void) {
  enum { N = 14, INPUTS = 3 };
  g_autofree double *design = orr_inputs_design(7, INPUTS, N);
  for (guint i = 0; i < INPUTS; i++) {
    guint times[N] = {0};
    for (guint r = 0; r < N; r++) {
      const double at = design[r * INPUTS + i] * N - 0.5;
      g_assert_cmpfloat_with_epsilon(at, round(at), 1e-9);
      times[(guint)round(at)]++;
    }
    for (guint k = 0; k < N; k++) g_assert_cmpuint(times[k], ==, 1);
  }
}

static void test_seed(void) {
  g_autofree double *one = orr_inputs_design(7, 2, 12), *same = orr_inputs_design(7, 2, 12);
  g_autofree double *other = orr_inputs_design(8, 2, 12);
  g_assert_cmpmem(one, 24 * sizeof *one, same, 24 * sizeof *same);
  g_assert_true(memcmp(one, other, 24 * sizeof *one) != 0);
}

/* Two columns of 12 dealt at random have a correlation of 1 / sqrt(11) = 0.30 in the root mean
 * square; of the best of 64, the probability of one above 0.1 is 0.76^64, 2e-8. */
static void test_correlation(void) {
  for (guint64 seed = 0; seed < 50; seed++) {
    g_autofree double *design = orr_inputs_design(seed, 2, 12);
    double sum = 0;
    for (guint r = 0; r < 12; r++) sum += (design[2 * r] - 0.5) * (design[2 * r + 1] - 0.5);
    const double squares = (12.0 * 12 - 1) / 12 / 12; /* of 12 middles of intervals */
    g_assert_cmpfloat(fabs(sum / squares), <, 0.1);
  }
}

/* --- Closed forms --- */

/* The bandwidth is even over -10 to +10 %, so a tenth of it lies below -8 % and a tenth above +8 %.
 * The rate follows it; the time is its inverse. The time's quantile lies between two neighbours of
 * a curve, 1.2e-4 above it. */
static void test_bandwidth(void) {
  g_autoptr(OrrOutcome) outcome = answer(send_recv, BANDWIDTH, 0, 2);
  const OrrInputSpreadRow *rate = orr_inputs_spread(outcome, "algbw_bytes_per_s");
  const OrrInputSpreadRow *time = orr_inputs_spread(outcome, "time_s");
  const OrrCollectivesResult *result = &outcome->result.collectives;
  g_assert_cmpint(rate->replays, ==, 10);
  g_assert_cmpfloat(rate->value, ==, result->algbw_bytes_per_s);
  g_assert_cmpfloat_with_epsilon(rate->p10 / rate->value, 0.92, 5e-4);
  g_assert_cmpfloat_with_epsilon(rate->p50 / rate->value, 1, 5e-4);
  g_assert_cmpfloat_with_epsilon(rate->p90 / rate->value, 1.08, 5e-4);
  g_assert_cmpfloat_with_epsilon(time->p10 / time->value, 1 / 1.08, 5e-4);
  g_assert_cmpfloat_with_epsilon(time->p90 / time->value, 1 / 0.92, 5e-4);
  g_assert_cmpfloat(effect_of(outcome, "time_s", "cluster.node.nic-bandwidth")->correlation, ==,
                    -1);
  g_assert_cmpfloat(effect_of(outcome, "time_s", "cluster.node.nic-bandwidth")->fraction, ==, 1);
}

/* Bounds that are not symmetric: 0.8 of the way from the value to a bound. */
static void test_skewed(void) {
  g_autoptr(OrrOutcome) outcome =
      answer(send_recv,
             "cluster.node.nic-bandwidth={value: 400 Gb/s, low: 390 Gb/s, high: 480 Gb/s}", 20, 2);
  const OrrInputSpreadRow *rate = orr_inputs_spread(outcome, "algbw_bytes_per_s");
  g_assert_cmpfloat_with_epsilon(rate->p10 / rate->value, 392 / 400., 1e-3);
  g_assert_cmpfloat_with_epsilon(rate->p50 / rate->value, 1, 5e-3); /* between both slopes */
  g_assert_cmpfloat_with_epsilon(rate->p90 / rate->value, 464 / 400., 1e-3);
}

/* What does not move the result has its correlation with what does: below 0.1, so 0.01 of the
 * squares. */
static void test_effects(void) {
  g_autoptr(OrrOutcome) outcome = answer(
      send_recv, BANDWIDTH ";cluster.device.memory={value: 80 GB, low: 60 GB, high: 100 GB}", 0, 2);
  g_assert_cmpuint(outcome->input_replays->len, ==, 12);
  g_assert_cmpuint(outcome->uncertain_inputs->len, ==, 2);
  g_assert_cmpfloat(effect_of(outcome, "time_s", "cluster.node.nic-bandwidth")->fraction, >, 0.98);
  g_assert_cmpfloat(effect_of(outcome, "time_s", "cluster.device.memory")->fraction, <, 0.01);
}

/* Bounds that equal the value: every result is the run's own. */
static void test_no_width(void) {
  g_autoptr(OrrOutcome) outcome =
      answer(serving, "workload.load.rate={value: 4, low: 4, high: 4}", 2, 2);
  g_assert_cmpuint(outcome->input_spreads->len, >, 10);
  for (guint i = 0; i < outcome->input_spreads->len; i++) {
    const OrrInputSpreadRow *row = &g_array_index(outcome->input_spreads, OrrInputSpreadRow, i);
    g_assert_cmpfloat(fabs(row->p10 - row->value), <=, 1e-9 * fabs(row->value));
    g_assert_cmpfloat(fabs(row->p90 - row->value), <=, 1e-9 * fabs(row->value));
  }
  for (guint i = 0; i < outcome->input_effects->len; i++)
    g_assert_cmpfloat(g_array_index(outcome->input_effects, OrrInputEffectRow, i).fraction, ==, 0);
}

/* --- Replays --- */

/* TP 1, 2 and 3 by rounding; the model's 32 heads do not divide by 3. Of four replays, at the
 * probabilities 1/8, 3/8, 5/8, 7/8: 1.25, 1.75, 2.25, 2.75. */
static void test_failed(void) {
  g_autoptr(OrrOutcome) outcome =
      answer(serving, "workload.parallel.tp={value: 2, low: 1, high: 3}", 4, 2);
  guint n_failed = 0;
  for (guint i = 0; i < outcome->input_replays->len; i++) {
    const OrrInputReplayRow *row = &g_array_index(outcome->input_replays, OrrInputReplayRow, i);
    const gboolean is_three = g_str_equal(row->settings, "workload.parallel.tp=3");
    g_assert_cmpstr(row->status, ==, is_three ? "failed" : "ok");
    g_assert_true(is_three == (strlen(row->reason) > 0));
    n_failed += is_three;
  }
  g_assert_cmpuint(n_failed, ==, 1);
  g_assert_cmpint(orr_inputs_spread(outcome, "ttft_mean_s")->replays, ==, 3);
}

/* A replay answers what its settings answer in a run of their own, stacks' conditions included:
 * vLLM's batch of tokens is smaller on devices of less than 70 GiB. */
static void test_settings(void) {
  OrrLibrary *library = shared_library();
  g_autoptr(OrrOutcome) outcome =
      answer(serving,
             "cluster.device.memory={value: 80 GiB, low: 40 GiB, high: 80 GiB};"
             "workload.input.tokens={value: 9000, low: 5000, high: 16000}",
             4, 2);
  for (guint r = 0; r < outcome->input_replays->len; r++) {
    g_autoptr(GError) error = NULL;
    g_autofree char *sets = g_strdelimit(
        g_strdup(g_array_index(outcome->input_replays, OrrInputReplayRow, r).settings), "\n", ';');
    g_autoptr(OrrScenario) scenario = scenario_of(library, serving, sets);
    g_autoptr(OrrOutcome) alone = orr_simulate(library, scenario, FALSE, &error);
    g_assert_no_error(error);
    const double wanted = alone->result.serving.ttft.mean;
    const double found = result_of(outcome, "ttft_mean_s", r + 1);
    g_assert_cmpfloat_with_epsilon(found / wanted, 1, 1e-9);
  }
}

/* The rows do not depend on how many replays run at once. */
static void test_jobs(void) {
  const char *sets = BANDWIDTH ";cluster.device.memory={value: 80 GB, low: 60 GB, high: 100 GB}";
  g_autoptr(OrrOutcome) one = answer(send_recv, sets, 6, 1), three = answer(send_recv, sets, 6, 3);
  g_assert_cmpuint(one->input_spreads->len, ==, three->input_spreads->len);
  g_assert_cmpmem(one->input_spreads->data, one->input_spreads->len * sizeof(OrrInputSpreadRow),
                  three->input_spreads->data,
                  three->input_spreads->len * sizeof(OrrInputSpreadRow));
  g_assert_cmpmem(one->input_effects->data, one->input_effects->len * sizeof(OrrInputEffectRow),
                  three->input_effects->data,
                  three->input_effects->len * sizeof(OrrInputEffectRow));
  for (guint i = 0; i < one->input_replays->len; i++)
    g_assert_cmpstr(g_array_index(one->input_replays, OrrInputReplayRow, i).settings, ==,
                    g_array_index(three->input_replays, OrrInputReplayRow, i).settings);
}

/* --- Other seeds --- */

/* Whether an answer of @busy with @sets is one draw among many; @ret_error: its standard error of
 * ttft over the standard deviation between eight seeds, which lie 2.56 of them apart from p10 to
 * p90. */
static gboolean is_chance(const char *sets, double *ret_error) {
  gboolean is_chance;
  g_autoptr(OrrOutcome) outcome = answer_by(orr_inputs_replay_seeds, busy, sets, 8, 2, &is_chance);
  const OrrInputSpreadRow *mean = orr_inputs_spread(outcome, "ttft_mean_s"),
                          *error = orr_inputs_spread(outcome, "ttft_stderr_s");
  g_assert_true(orr_inputs_are_seeds(outcome));
  g_assert_cmpuint(outcome->input_replays->len, ==, 8);
  *ret_error = error->p50 / ((mean->p90 - mean->p10) / 2.56);
  return is_chance;
}

/* Batch means see what seeds do where the load is low; near the limit other seeds wait several
 * times as long. Equal requests at equal distances wait alike. */
static void test_chance(void) {
  double error;
  g_assert_false(is_chance("workload.load.rate=12", &error));
  g_assert_cmpfloat(error, >, 0.5);
  g_assert_cmpfloat(error, <, 2);
  g_assert_true(is_chance("", &error));
  g_assert_false(is_chance("workload.load={kind: constant, rate: 12}", &error));
}

/* 0.8 to 1.25 by the model, 0.5 to 2 by the draw: hypot(ln 1.25, ln 2) = 0.7282 on both sides; a
 * middle of the draws that is 1.5 times the answer moves all. */
static void test_widened(void) {
  g_autoptr(OrrOutcome) outcome = answer_by(orr_inputs_replay_seeds, busy, "", 2, 1, NULL);
  OrrBandRow row = {.metric = (char *)"m", .value = 1, .low = 0.8, .high = 1.25, .expected = 1};
  OrrInputSpreadRow spread = {.metric = (char *)"m", .value = 1, .p10 = 0.5, .p50 = 1, .p90 = 2};
  g_array_append_val(outcome->bands, row);
  g_array_append_val(outcome->input_spreads, spread);
  OrrBandRow *band = &g_array_index(outcome->bands, OrrBandRow, outcome->bands->len - 1);
  OrrInputSpreadRow *own =
      &g_array_index(outcome->input_spreads, OrrInputSpreadRow, outcome->input_spreads->len - 1);
  orr_inputs_widen(outcome);
  g_assert_cmpfloat_with_epsilon(band->low, exp(-hypot(log(1.25), log(2))), 1e-12);
  g_assert_cmpfloat_with_epsilon(band->high, exp(hypot(log(1.25), log(2))), 1e-12);
  g_assert_cmpfloat(band->expected, ==, 1);
  *band = row;
  *own = (OrrInputSpreadRow){.metric = (char *)"m", .value = 1, .p10 = 0.75, .p50 = 1.5, .p90 = 3};
  orr_inputs_widen(outcome);
  g_assert_cmpfloat_with_epsilon(band->expected, 1.5, 1e-12);
  g_assert_cmpfloat_with_epsilon(band->low, 1.5 * exp(-hypot(log(1.25), log(2))), 1e-12);
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/inputs/strata", test_strata);
  g_test_add_func("/inputs/seed", test_seed);
  g_test_add_func("/inputs/correlation", test_correlation);
  g_test_add_func("/inputs/bandwidth", test_bandwidth);
  g_test_add_func("/inputs/skewed", test_skewed);
  g_test_add_func("/inputs/effects", test_effects);
  g_test_add_func("/inputs/no-width", test_no_width);
  g_test_add_func("/inputs/failed", test_failed);
  g_test_add_func("/inputs/settings", test_settings);
  g_test_add_func("/inputs/jobs", test_jobs);
  g_test_add_func("/inputs/chance", test_chance);
  g_test_add_func("/inputs/widened", test_widened);
  return g_test_run();
}

/*
 * Packed documents: what they save, what their lengths cost, and what they must not change.
 */
#include <math.h>

#include "tests/workloads/scenario_fixture.h"
#include "tests/run/shared_library.h"

static const char *const scenario_text =
    "schema: scenario/1\n"
    "name: test\n"
    "cluster: {base: dgx-h100-superpod, nodes: 1}\n"
    "model: {name: small, layers: 8, hidden: 2048, heads: 16, vocab: 32000, context: 8192}\n"
    "workload:\n"
    "  kind: training\n  stack: none\n"
    "  parallel: {tp: 1, pp: 1, dp: 8}\n"
    "  batch: {global: 64, micro: 1}\n";

typedef struct {
  OrrTrainingResult result;
  double attention_s, bubble_s;
  guint lanes;
} Answer;

static Answer simulate(const char *sets) {
  g_autoptr(OrrOutcome) outcome = ideal_outcome_of(scenario_text, sets, FALSE);
  return (Answer){outcome->result.training, outcome->time_by_kind[ORR_TIME_ATTENTION],
                  outcome->time_by_kind[ORR_TIME_BUBBLE] + outcome->time_by_kind[ORR_TIME_DP_COMM],
                  outcome->lanes->len};
}

static Answer packed(const char *documents) {
  g_autofree char *sets = g_strconcat("workload.packing=", documents, NULL);
  return simulate(sets);
}

static void assert_near(double a, double b) {
  g_assert_cmpfloat_with_epsilon(a, b, 1e-9 * MAX(fabs(a), fabs(b)));
}

/* A document as long as the sequence is not packing. */
static void test_whole_sequence(void) {
  const Answer plain = simulate(""), one = packed("{documents: {tokens: 8192}}");
  assert_near(one.result.iteration_time_s, plain.result.iteration_time_s);
  assert_near(one.result.mfu, plain.result.mfu);
  g_assert_cmpfloat(one.result.padding_fraction, ==, 0);
  g_assert_cmpuint(one.lanes, ==, 8); /* every replica is its own */
}

/* Four documents of a quarter: 4 (s/4)^2 = s^2 / 4 pairs. Forward FLOPs of a token, a layer: 24
 * h^2 + 4 s h, and 2 h V of the head: 8 (24 2048^2 + 4 * 8192 * 2048) + 2 * 2048 * 32000 =
 * 1.4732e9; attention is 0.5369e9 of it. */
static void test_quarters(void) {
  const Answer plain = simulate(""), quarters = packed("{documents: {tokens: 2048}}");
  const double token = 8 * (24 * 2048.0 * 2048 + 4 * 8192.0 * 2048) + 2 * 2048.0 * 32000,
               core = 8 * 4 * 8192.0 * 2048;
  const double flops = quarters.result.model_tflops_per_gpu * quarters.result.iteration_time_s;
  assert_near(flops / (plain.result.model_tflops_per_gpu * plain.result.iteration_time_s),
              1 - 0.75 * core / token);
  g_assert_cmpfloat(quarters.attention_s, <, 0.5 * plain.attention_s);
  g_assert_cmpfloat(quarters.attention_s, >, 0.2 * plain.attention_s);
  g_assert_cmpfloat(quarters.result.iteration_time_s, <, plain.result.iteration_time_s);
}

/* Documents of 5,000 tokens: one fits into 8,192, and 3,192 are padding; cut, none are. */
static void test_padding(void) {
  g_assert_cmpfloat_with_epsilon(packed("{documents: {tokens: 5000}}").result.padding_fraction,
                                 3192 / 8192.0, 1e-12);
  g_assert_cmpfloat(packed("{documents: {tokens: 5000}, cut: true}").result.padding_fraction, ==,
                    0);
  /* longer ones are cut to the sequence */
  g_assert_cmpfloat(packed("{documents: {tokens: 20000}}").result.padding_fraction, ==, 0);
}

/* Documents of 20,000 tokens: a sequence of 8,192 holds 40.96 % of one, or with `cut` all of it. */
static void test_too_long(void) {
  static const char *const sets[] = {"workload.packing={documents: {tokens: 20000}}",
                                     "workload.packing={documents: {tokens: 20000}, cut: true}"};
  for (guint i = 0; i < G_N_ELEMENTS(sets); i++) {
    g_autoptr(OrrOutcome) outcome = ideal_outcome_of(scenario_text, sets[i], FALSE);
    guint n = 0;
    for (guint k = 0; k < outcome->warnings->len; k++)
      n += g_str_has_prefix(outcome->warnings->pdata[k], "packing trains 41 % of the documents'");
    g_assert_cmpuint(n, ==, i == 0);
  }
}

/* Days and tokens/s count the 5,000 tokens of each sequence's document, not its 8,192. */
static void test_real_tokens(void) {
  const Answer plain = simulate("workload.run-tokens=1e12"),
               some = simulate("workload.run-tokens=1e12;workload.packing={documents: {tokens: "
                               "5000}}");
  const double whole = plain.result.tokens_per_s * plain.result.iteration_time_s;
  assert_near(some.result.tokens_per_s * some.result.iteration_time_s, whole * 5000 / 8192);
  assert_near(some.result.run_days,
              1e12 / (whole * 5000 / 8192) * some.result.iteration_time_s / 86400);
}

/* Lengths that differ: the same for the same seed, others for another; and replicas that wait
 * for the slowest, which equal documents do not make them do. */
static void test_lengths(void) {
  const char *const documents =
      "workload.packing={documents: {kind: lognormal, tokens: 1500, sigma: 1.2}, cut: true};seed=";
  g_autofree char *first = g_strconcat(documents, "1", NULL);
  g_autofree char *second = g_strconcat(documents, "2", NULL);
  const Answer a = simulate(first), again = simulate(first), b = simulate(second);
  g_assert_cmpfloat(a.result.iteration_time_s, ==, again.result.iteration_time_s);
  g_assert_cmpfloat(a.result.iteration_time_s, !=, b.result.iteration_time_s);
  g_assert_cmpfloat(a.bubble_s, >, packed("{documents: {tokens: 2048}}").bubble_s);
}

/* In two steps a replica sees other documents in the second. */
static void test_steps(void) {
  const Answer two = simulate(
      "workload.steps=2;workload.packing={documents: {kind: lognormal, tokens: 1500, sigma: 1}}");
  g_assert_cmpfloat(two.result.step_p99_s, >, two.result.step_p50_s);
}

#define UNEVEN "{documents: {kind: lognormal, tokens: 1500, sigma: 1.2}, cut: true"

/* Balanced, the same documents take the same attention, and replicas wait less for the slowest;
 * stages of a pipeline for the longest micro-batch, too. Nothing but who computes what is
 * another. */
static void test_balance(void) {
  static const char *const layouts[] = {
      "", "workload.parallel={tp: 1, pp: 4, dp: 2};workload.batch.micro=4"};
  static const char *const kinds[] = {"longest-first", "karmarkar-karp"};
  for (guint l = 0; l < G_N_ELEMENTS(layouts); l++) {
    g_autofree char *plain =
        g_strconcat("workload.packing=" UNEVEN ", balance: in-order};", layouts[l], NULL);
    const Answer before = simulate(plain);
    for (guint k = 0; k < G_N_ELEMENTS(kinds); k++) {
      g_autofree char *sets =
          g_strconcat("workload.packing=" UNEVEN ", balance: ", kinds[k], "};", layouts[l], NULL);
      const Answer after = simulate(sets);
      g_test_message("%s: %g s, %g s as they come", kinds[k], after.result.iteration_time_s,
                     before.result.iteration_time_s);
      g_assert_cmpfloat(after.result.iteration_time_s, <, before.result.iteration_time_s);
      assert_near(after.result.model_tflops_per_gpu * after.result.iteration_time_s,
                  before.result.model_tflops_per_gpu * before.result.iteration_time_s);
      g_assert_cmpfloat_with_epsilon(after.attention_s / before.attention_s, 1,
                                     0.02); /* by kind it is a mean */
      g_assert_cmpfloat(after.result.padding_fraction, ==, before.result.padding_fraction);
      g_assert_cmpfloat(after.bubble_s, <, before.bubble_s);
    }
  }
  assert_near(packed(UNEVEN "}").result.iteration_time_s,
              packed(UNEVEN ", balance: in-order}").result.iteration_time_s);
}

/* Equal documents need no balance. */
static void test_balance_of_equals(void) {
  const Answer plain = packed("{documents: {tokens: 2048}}");
  assert_near(
      packed("{documents: {tokens: 2048}, balance: karmarkar-karp}").result.iteration_time_s,
      plain.result.iteration_time_s);
}

static void assert_refused(const char *sets, const char *says) {
  OrrLibrary *library = shared_library();
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_autoptr(GError) error = NULL;
  g_autoptr(OrrNode) tree = tree_of(scenario_text, sets, diags);
  g_autoptr(OrrScenario) scenario = orr_scenario_read(library, tree, diags);
  g_autofree char *findings = orr_diags_text(diags);
  if (!*findings) {
    g_autoptr(OrrOutcome) outcome = orr_simulate(library, scenario, FALSE, &error);
    g_assert_null(outcome);
  }
  const char *found = error ? error->message : findings;
  if (!strstr(found, says)) g_error("'%s' says '%s', not '%s'", sets, found, says);
}

static void test_refusals(void) {
  assert_refused("workload.packing.documents.tokens=1000;workload.attention=unfused",
                 "has no block-diagonal mask");
  assert_refused("workload.packing.documents.tokens=1000;fidelity=folded",
                 "gives each of the 8 replicas");
  assert_refused("workload.packing.documents.kind=lognormal", "packing.documents");
  assert_refused("workload.packing={documents: {tokens: 1000}, images: {tokens: 1}}",
                 "packing.images needs a model with an encoder");
  assert_refused("workload.packing={documents: {tokens: 1000}, balance: karmarkar-karb}",
                 "did you mean 'karmarkar-karp'");
  assert_refused("workload.packing.documents.tokens=1000;model.window.size=1024",
                 "windows of 1024");
}

#define TOWER                                                                                      \
  "model.encoder={layers: 8, hidden: 1024, heads: 16, image: 448, patch: 14, merge: 2, images: "   \
  "%d}"

static double towered_s(int per_sequence, const char *packing) {
  g_autofree char *sets =
      g_strdup_printf(TOWER "%s%s", per_sequence, *packing ? ";workload.packing=" : "", packing);
  return simulate(sets).result.iteration_time_s;
}

/* Documents that fill a sequence: with as many images as the encoder has for each sequence nothing
 * changes; with twice and three times as many its layers take as much again each time, about what
 * the encoder takes with twice as many. Images are not documents: quarters of a sequence, with an
 * image each, take as much longer with a tower of four images as whole sequences do. */
static void test_images(void) {
  const double two_s = towered_s(2, ""), four_s = towered_s(4, "");
  const double same_s = towered_s(2, "{documents: {tokens: 8192}, images: {tokens: 2}}"),
               twice_s = towered_s(2, "{documents: {tokens: 8192}, images: {tokens: 4}}"),
               thrice_s = towered_s(2, "{documents: {tokens: 8192}, images: {tokens: 6}}");
  assert_near(same_s, two_s);
  g_assert_cmpfloat(twice_s, >, two_s);
  g_assert_cmpfloat_with_epsilon((thrice_s - twice_s) / (twice_s - two_s), 1, 1e-6);
  g_assert_cmpfloat_with_epsilon((twice_s - two_s) / (four_s - two_s), 1, 0.2);
  const double whole_s = four_s - simulate("").result.iteration_time_s;
  const double quarters_s = towered_s(4, "{documents: {tokens: 2048}, images: {tokens: 1}}") -
                            packed("{documents: {tokens: 2048}}").result.iteration_time_s;
  g_assert_cmpfloat_with_epsilon(quarters_s / whole_s, 1, 0.02);
  const char *uneven = "{documents: {kind: lognormal, tokens: 2048, sigma: 1}}";
  const double uneven_s = towered_s(4, uneven) - packed(uneven).result.iteration_time_s;
  g_test_message("tower %g s, next to uneven documents %g s", whole_s, uneven_s);
  g_assert_cmpfloat_with_epsilon(uneven_s / whole_s, 1, 0.003);
}

/* Twice the images are twice the encoder's layers in each kind of time: under tp 2, where
 * collectives cut layers into pieces, as much gemm is added as the whole tower has next to no
 * tower, but for its ends. */
static void test_kinds_of_images(void) {
  static const OrrTimeKind kinds[] = {ORR_TIME_GEMM, ORR_TIME_ATTENTION, ORR_TIME_MEMORY};
  static const char *const images[] = {"2", "4", "6"};
  double seconds[3][ORR_N_TIMES];
  for (guint i = 0; i < 3; i++) {
    g_autofree char *sets = g_strdup_printf(
        TOWER ";workload.parallel={tp: 2, pp: 1};workload.packing={documents: {tokens: 8192}, "
              "images: {tokens: %s}}",
        2, images[i]);
    g_autoptr(OrrOutcome) outcome = ideal_outcome_of(scenario_text, sets, FALSE);
    memcpy(seconds[i], outcome->time_by_kind, sizeof seconds[i]);
  }
  g_autoptr(OrrOutcome) none =
      ideal_outcome_of(scenario_text, "workload.parallel={tp: 2, pp: 1}", FALSE);
  for (guint k = 0; k < G_N_ELEMENTS(kinds); k++) {
    const double once_s = seconds[1][kinds[k]] - seconds[0][kinds[k]];
    g_assert_cmpfloat_with_epsilon((seconds[2][kinds[k]] - seconds[1][kinds[k]]) / once_s, 1, 1e-6);
  }
  const double tower_s = seconds[0][ORR_TIME_GEMM] - none->time_by_kind[ORR_TIME_GEMM];
  g_assert_cmpfloat_with_epsilon((seconds[1][ORR_TIME_GEMM] - seconds[0][ORR_TIME_GEMM]) / tower_s,
                                 0.85, 0.15);
}

/* A document's tokens hold no more images: of 512, two of 256. */
static void test_images_fit(void) {
  assert_near(towered_s(2, "{documents: {tokens: 512}, images: {tokens: 9}}"),
              towered_s(2, "{documents: {tokens: 512}, images: {tokens: 2}}"));
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/training-packing/whole-sequence", test_whole_sequence);
  g_test_add_func("/training-packing/quarters", test_quarters);
  g_test_add_func("/training-packing/padding", test_padding);
  g_test_add_func("/training-packing/real-tokens", test_real_tokens);
  g_test_add_func("/training-packing/lengths", test_lengths);
  g_test_add_func("/training-packing/steps", test_steps);
  g_test_add_func("/training-packing/balance", test_balance);
  g_test_add_func("/training-packing/balance-of-equals", test_balance_of_equals);
  g_test_add_func("/training-packing/refusals", test_refusals);
  g_test_add_func("/training-packing/images", test_images);
  g_test_add_func("/training-packing/kinds-of-images", test_kinds_of_images);
  g_test_add_func("/training-packing/too-long", test_too_long);
  g_test_add_func("/training-packing/images-fit", test_images_fit);
  return g_test_run();
}

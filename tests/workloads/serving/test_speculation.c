/*
 * test_speculation.c - guessed tokens: how many come out of a step, what that takes, and that
 * nothing is lost by it.
 */
#include <glib/gstdio.h>

#include "tests/workloads/serving/serving_fixture.h"

#define LONG_OUTPUTS                                                                               \
  "workload.output={tokens: 1000};workload.requests=100;workload.load={kind: poisson, rate: 2};"
#define ONE_AT_A_TIME                                                                              \
  "workload.load={kind: closed-loop, concurrency: "                                                \
  "1};workload.requests=10;workload.input={tokens: 1000};"                                         \
  "workload.output={tokens: 400};"

static char *speculate(const char *rest, const char *kind, gint64 k, const char *acceptance) {
  return g_strdup_printf(
      "%sworkload.engine.speculation={kind: %s, num-speculative-tokens: %d, acceptance: %s}", rest,
      kind, (int)k, acceptance);
}

/* Equal probabilities a: (1 - a^(k+1)) / (1 - a) (Leviathan et al. 2023, equation 1). Unequal
 * ones, of two tokens: 1 + 0.8 + 0.8 * 0.5 = 2.2; a third goes as the second: 2.2 + 0.8 * 0.5 *
 * 0.5 = 2.4. */
static void test_closed_form(void) {
  for (int k = 1; k <= 8; k++)
    for (double a = 0.1; a < 1; a += 0.2) {
      g_autoptr(GArray) one = g_array_new(FALSE, FALSE, sizeof(double));
      g_array_append_val(one, a);
      const OrrSpeculation equal = {k, one, NULL};
      g_assert_cmpfloat_with_epsilon(orr_speculation_expected(&equal, k),
                                     (1 - pow(a, k + 1)) / (1 - a), 1e-12);
    }
  const double list[] = {0.8, 0.5};
  g_autoptr(GArray) two = g_array_new(FALSE, FALSE, sizeof(double));
  g_array_append_vals(two, list, 2);
  const OrrSpeculation unequal = {3, two, NULL};
  g_assert_cmpfloat_with_epsilon(orr_speculation_expected(&unequal, 2), 2.2, 1e-12);
  g_assert_cmpfloat_with_epsilon(orr_speculation_expected(&unequal, 3), 2.4, 1e-12);
}

/* 100 requests of 1,000 tokens: some 100,000 / E checks, whose number of tokens has a deviation
 * below k + 1: five standard errors are (k + 1) * 5 / sqrt(100,000 / (k + 1)). */
static void test_tokens_per_check(void) {
  static const struct {
    int k;
    double a;
  } cases[] = {{1, 0.85}, {3, 0.7}, {4, 0.5}, {8, 0.9}, {2, 0}, {3, 1}};
  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    const int k = cases[i].k;
    const double a = cases[i].a, expected = a < 1 ? (1 - pow(a, k + 1)) / (1 - a) : k + 1;
    g_autofree char *acceptance = g_strdup_printf("[%g]", a);
    g_autofree char *sets = speculate(LONG_OUTPUTS, "eagle", k, acceptance);
    g_autoptr(OrrOutcome) outcome = serving_run(sets);
    const OrrServingResult *result = &outcome->result.serving;
    const double error = a == 0 || a == 1 ? 1e-12 : (k + 1) * 5 / sqrt(100e3 / (k + 1));
    g_test_message("k %d, a %g: %g tokens a check, expected %g", k, a, result->tokens_per_check,
                   expected);
    g_assert_cmpfloat(fabs(result->tokens_per_check - expected), <, error);
    g_assert_cmpfloat_with_epsilon(result->acceptance_rate, (result->tokens_per_check - 1) / k,
                                   0.01);
    g_assert_cmpfloat(result->littles_law_error, <, 1e-9);
  }
}

/* A draft is found 40 times in 100: 1 + 0.4 (0.6 + 0.36) = 1.384 tokens a check. */
static void test_ngram(void) {
  g_autoptr(OrrOutcome) outcome =
      serving_run(LONG_OUTPUTS "workload.engine.speculation={kind: ngram, num-speculative-tokens: "
                               "2, acceptance: [0.6], found: 0.4}");
  g_assert_cmpfloat(fabs(outcome->result.serving.tokens_per_check - 1.384), <, 0.02);
  g_assert_cmpfloat(fabs(outcome->result.serving.acceptance_rate - 0.48), <, 0.02);
}

/* Rows 0, 1, 1, 4 in equal parts: 1 + 6 / 4 tokens a check. */
static void test_trace(void) {
  g_autofree char *path = g_build_filename(g_get_tmp_dir(), "orrery-accepted.csv", NULL);
  g_autofree char *sets = g_strdup_printf(
      LONG_OUTPUTS
      "workload.engine.speculation={kind: eagle, num-speculative-tokens: 4, acceptance-trace: %s}",
      path);
  g_assert_true(g_file_set_contents(path, "accepted\n0\n1\n1\n4\n", -1, NULL));
  g_autoptr(OrrOutcome) outcome = serving_run(sets);
  g_assert_cmpfloat(fabs(outcome->result.serving.tokens_per_check - 2.5), <, 0.04);
  g_assert_true(g_file_set_contents(path, "accepted\n0\n5\n", -1, NULL));
  serving_refused(sets,
                  "orrery-accepted.csv:3:1: error: accepted is 5: want a whole number from 0 to "
                  "num-speculative-tokens (4)");
  g_assert_true(g_file_set_contents(path, "right\n0\n", -1, NULL));
  serving_refused(sets, "there is no column accepted");
  g_assert_true(g_file_set_contents(path, "accepted\n", -1, NULL));
  serving_refused(sets, "the trace has no rows");
  g_assert_cmpint(g_unlink(path), ==, 0);
}

/* Guesses of nobody's time that are always wrong change no request's tokens, only what a step
 * computes; guesses that are always right and cost nothing but their check make a lone request
 * nearly k + 1 times as fast. */
static void test_extremes(void) {
  g_autoptr(OrrOutcome) plain = serving_run(ONE_AT_A_TIME);
  g_autoptr(OrrOutcome) right =
      serving_run(ONE_AT_A_TIME "workload.engine.speculation={kind: ngram, num-speculative-tokens: "
                                "3, acceptance: [1], found: 1}");
  g_autoptr(OrrOutcome) wrong =
      serving_run(ONE_AT_A_TIME "workload.engine.speculation={kind: ngram, num-speculative-tokens: "
                                "3, acceptance: [0], found: 1}");
  g_autoptr(OrrOutcome) never =
      serving_run(ONE_AT_A_TIME "workload.engine.speculation={kind: ngram, num-speculative-tokens: "
                                "3, acceptance: [1], found: 0}");
  const double tpot_s = plain->result.serving.tpot.mean;
  g_assert_cmpfloat(tpot_s / right->result.serving.tpot.mean, >, 3.2);
  g_assert_cmpfloat(tpot_s / right->result.serving.tpot.mean, <, 4);
  g_assert_cmpfloat(wrong->result.serving.tpot.mean, >, tpot_s);
  g_assert_cmpfloat(wrong->result.serving.tpot.mean, <, 1.2 * tpot_s);
  g_assert_cmpfloat_with_epsilon(never->result.serving.tpot.mean, tpot_s, 1e-12);
  g_assert_cmpint(wrong->result.serving.steps, ==, plain->result.serving.steps);
}

/* A tree of 12 tokens on 3 levels: all right, 1 + 3 come out, a quarter of the drafted ones; with
 * probability 0.7 on each level 1 + 0.7 + 0.49 + 0.343. A step checks 13 tokens and drafts three
 * times: longer than a chain of 3 takes, shorter than one of 12. */
static void test_tree(void) {
  static const char tree[] = "%sworkload.engine.speculation={kind: eagle, num-speculative-tokens: "
                             "12, depth: 3, branches: 4, acceptance: [%s]}";
  g_autofree char *right = g_strdup_printf(tree, LONG_OUTPUTS, "1"),
                  *seldom = g_strdup_printf(tree, LONG_OUTPUTS, "0.7"),
                  *wrong = g_strdup_printf(tree, ONE_AT_A_TIME, "0"),
                  *chain = speculate(ONE_AT_A_TIME, "eagle", 3, "[0]"),
                  *longer = speculate(ONE_AT_A_TIME, "eagle", 12, "[0]");
  g_autoptr(OrrOutcome) all = serving_run(right), some = serving_run(seldom),
                        none = serving_run(wrong), of_three = serving_run(chain),
                        of_twelve = serving_run(longer);
  g_assert_cmpfloat(fabs(all->result.serving.tokens_per_check - 4), <, 0.01);
  g_assert_cmpfloat(fabs(all->result.serving.acceptance_rate - 0.25), <, 0.01);
  g_assert_cmpfloat(fabs(some->result.serving.tokens_per_check - 2.533), <,
                    4 * 5 / sqrt(100e3 / 4));
  g_assert_cmpfloat(none->result.serving.tpot.mean, >, of_three->result.serving.tpot.mean);
  g_assert_cmpfloat(none->result.serving.tpot.mean, <, of_twelve->result.serving.tpot.mean);
  serving_refused("workload.engine.speculation={kind: eagle, num-speculative-tokens: 3, depth: 4, "
                  "acceptance: [0.6]}",
                  "depth (4) is above num-speculative-tokens (3)");
  serving_refused("workload.engine.speculation={kind: eagle, num-speculative-tokens: 3, branches: "
                  "2, acceptance: [0.6]}",
                  "branches are of a tree: give depth");
}

/* 512 requests, eight branches: a pass after the first computes 512 * 7 tokens more than one of a
 * chain, each through EAGLE's layer and Llama-3.1-8B's head of 4,096 * 128,256, whose products
 * alone take 512 * 7 * 2 * 4,096 * 128,256 / 989.4 TFLOP/s = 3.8 ms. A tree of three levels meets
 * no objective below a fourth of a token's time. */
static void test_branches(void) {
  static const char crowd[] =
      "workload.load={kind: closed-loop, concurrency: 512};workload.engine.max-num-seqs=512;"
      "workload.input={tokens: 100};workload.output={tokens: 20};workload.requests=512;workload."
      "engine.speculation={kind: eagle, num-speculative-tokens: 8, depth: 2, branches: %d, "
      "acceptance: [0]}";
  g_autofree char *chain = g_strdup_printf(crowd, 1), *tree = g_strdup_printf(crowd, 8);
  g_autoptr(OrrOutcome) one = serving_run(chain), eight = serving_run(tree),
                        alone = serving_run(ONE_AT_A_TIME);
  const double head_s = 512 * 7 * 2.0 * 4096 * 128256 / 989.4e12,
               more_s = eight->result.serving.tpot.mean - one->result.serving.tpot.mean;
  g_test_message("%g s more, %g s of heads", more_s, head_s);
  g_assert_cmpfloat(more_s, >, head_s);
  g_autofree char *never = g_strdup_printf(
      ONE_AT_A_TIME "workload.engine.speculation={kind: eagle, num-speculative-tokens: 12, depth: "
                    "3, branches: 4, acceptance: [0.6]};workload.slo={tpot: %.9g s}",
      alone->result.serving.tpot.mean / 6);
  serving_refused(never, "can never be met");
}

/* A lone request is faster; where the batch keeps the tensor cores busy already, the checked
 * tokens cost more than the accepted ones save. */
static void test_load(void) {
  static const char crowd[] =
      "workload.load={kind: closed-loop, concurrency: 512};workload.engine.max-num-seqs=512;"
      "workload.input={tokens: 100};workload.output={tokens: 200};workload.requests=1024;"
      "workload.engine.eager-prefill=false;";
  g_autofree char *few = speculate(ONE_AT_A_TIME, "eagle", 4, "[0.6]"),
                  *many = speculate(crowd, "eagle", 4, "[0.6]");
  g_autoptr(OrrOutcome) alone = serving_run(ONE_AT_A_TIME);
  g_autoptr(OrrOutcome) alone_fast = serving_run(few);
  g_autoptr(OrrOutcome) crowded = serving_run(crowd);
  g_autoptr(OrrOutcome) crowded_slow = serving_run(many);
  g_assert_cmpfloat(alone_fast->result.serving.tpot.mean, <,
                    0.65 * alone->result.serving.tpot.mean);
  g_assert_cmpfloat(crowded_slow->result.serving.output_tokens_per_s, <,
                    crowded->result.serving.output_tokens_per_s);
}

/* A draft model of a fiftieth of the size: slower per draft than a layer, and its cache takes
 * room of the model's: 16 layers of 2 * 8 * 64 * 2 bytes beside 131,072 bytes per token. */
static void test_draft_model(void) {
  static const char draft[] = "workload.engine.kv-blocks=0;workload.engine.speculation={kind: "
                              "draft-model, model: llama-3.2-1b, "
                              "num-speculative-tokens: 4, acceptance: [0.7]}";
  g_autofree char *sets = g_strconcat(ONE_AT_A_TIME, draft, NULL);
  g_autofree char *eagle = speculate(ONE_AT_A_TIME, "eagle", 4, "[0.7]");
  g_autoptr(OrrOutcome) model = serving_run(sets);
  g_autoptr(OrrOutcome) layer = serving_run(eagle);
  g_autoptr(OrrOutcome) plain = serving_run(ONE_AT_A_TIME "workload.engine.kv-blocks=0");
  g_assert_cmpfloat(model->result.serving.tpot.mean, >, layer->result.serving.tpot.mean);
  g_assert_cmpfloat(model->result.serving.tpot.mean, <, plain->result.serving.tpot.mean);
  g_assert_cmpfloat(model->result.serving.kv_bytes_per_token, ==, 131072 + 16 * 2 * 8 * 64 * 2);
  g_assert_cmpint(model->result.serving.kv_blocks, <, plain->result.serving.kv_blocks);
  g_assert_cmpfloat(model->result.serving.weights_bytes - plain->result.serving.weights_bytes, >,
                    2.4e9);
}

/* Blocks are conserved where they are short, with any scheduler, stages and ranks (the run
 * checks them). */
static void test_short_of_blocks(void) {
  static const char *const kinds[] = {
      "workload.engine.kv-blocks=500",
      "workload.engine.kv-blocks=500;workload.engine.preemption=swap",
      "workload.engine.kv-blocks=500;workload.engine.prefix-caching=block-hash;workload.shared-"
      "prefix=100",
      "workload.engine.kv-blocks=5000;workload.engine.block-size=1",
      "workload.engine.scheduler=static",
      "workload.engine.scheduler=sarathi",
      "workload.engine.scheduler=sglang",
      "workload.parallel.pp=4;workload.engine.kv-blocks=500",
      "workload.parallel.dp-attention=4",
      "workload.replicas=2;workload.disaggregation={prefill: 1}",
      "workload.engine.max-num-batched-tokens=64",
  };
  for (guint i = 0; i < G_N_ELEMENTS(kinds); i++) {
    g_autofree char *sets = g_strdup_printf("workload.engine.speculation={kind: eagle, "
                                            "num-speculative-tokens: 5, acceptance: [0.6]};%s",
                                            kinds[i]);
    g_autoptr(OrrOutcome) outcome = serving_run(sets);
    g_assert_cmpint(outcome->result.serving.completed, ==, 400);
    g_assert_cmpfloat(outcome->result.serving.littles_law_error, <, 1e-9);
  }
}

/* What a request's guesses come to does not depend on who else runs: one at a time or all at
 * once, the same checks. */
static void test_draws_are_the_requests(void) {
  static const char eagle[] =
      "workload.engine.speculation={kind: eagle, num-speculative-tokens: 3, acceptance: [0.6]};";
  g_autofree char *alone = g_strconcat(eagle, "workload.engine.max-num-seqs=1", NULL);
  g_autofree char *together = g_strconcat(eagle, "workload.engine.max-num-seqs=64", NULL);
  g_autoptr(OrrOutcome) a = serving_run(alone);
  g_autoptr(OrrOutcome) b = serving_run(together);
  g_assert_cmpfloat_with_epsilon(a->result.serving.tokens_per_check,
                                 b->result.serving.tokens_per_check, 1e-12);
}

static void test_refused(void) {
  serving_refused("workload.engine.speculation={kind: eagle, num-speculative-tokens: 3}",
                  "give either acceptance or acceptance-trace");
  serving_refused(
      "workload.engine.speculation={kind: eagle, num-speculative-tokens: 3, acceptance: [0.5], "
      "acceptance-trace: x.csv}",
      "not both");
  serving_refused(
      "workload.engine.speculation={kind: eagle, num-speculative-tokens: 200, acceptance: [0.5]}",
      "128");
  serving_refused(
      "workload.engine.speculation={kind: eagle, num-speculative-tokens: 3, acceptance: [1.5]}",
      "1.5");
  serving_refused(
      "workload.engine.speculation={kind: eagel, num-speculative-tokens: 3, acceptance: [0.5]}",
      "did you mean 'eagle'?");
  serving_refused(
      "workload.engine.speculation={kind: mtp, num-speculative-tokens: 1, acceptance: [0.5]}",
      "has no mtp-layers");
  serving_refused("workload.engine.speculation={kind: draft-model, model: llama-3.2-2b, "
                  "num-speculative-tokens: 1, "
                  "acceptance: [0.5]}",
                  "llama-3.2-");
  serving_refused("workload.engine.speculation={kind: draft-model, model: qwen2.5-0.5b, "
                  "num-speculative-tokens: 1, "
                  "acceptance: [0.5]}",
                  "drafts must be in the model's own tokens");
  serving_refused(
      "workload.parallel.tp=8;workload.engine.speculation={kind: draft-model, model: {base: "
      "llama-3.2-1b, "
      "heads: 4, kv-heads: 4, head-dim: 512}, num-speculative-tokens: 1, acceptance: [0.5]}",
      "above the 4 attention heads");
}

/* 42 requests with three drafts each are steps of 168 tokens. Graphs of up to 128 sequences hold
 * them, as graphs of up to 512 tokens do; graphs of up to 128 tokens do not, and steps are launched
 * kernel by kernel: 32 layers of at least 7 kernels by 100 us is 22 ms. */
static double step_s(const char *unit, int largest) {
  g_autofree char *sets = g_strdup_printf(
      "workload.load={kind: closed-loop, concurrency: 42};workload.requests=84;"
      "workload.input={tokens: 16};workload.output={tokens: 64};"
      "workload.engine.host.launch=100 us;workload.engine.cuda-graph-prompts=false;"
      "workload.engine.cuda-graph-padding=false;workload.engine.cuda-graph-unit=%s;"
      "workload.engine.cuda-graph-max-size=%d;workload.engine.speculation={kind: ngram, "
      "num-speculative-tokens: 3, acceptance: [1.0], found: 100 %%}",
      unit, largest);
  g_autoptr(OrrOutcome) outcome = serving_run(sets);
  return outcome->result.serving.tpot.mean;
}

static void test_graph_units(void) {
  const double sequences_s = step_s("sequences", 128), eager_s = step_s("tokens", 128);
  g_test_message("graphs %.3f ms, eager %.3f ms", 1e3 * sequences_s, 1e3 * eager_s);
  g_assert_cmpfloat(sequences_s, ==, step_s("tokens", 512));
  g_assert_cmpfloat(sequences_s, <, eager_s);
  g_assert_cmpfloat(step_s("sequences", 41), >, sequences_s);
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/workloads/serving-speculation/graph-units", test_graph_units);
  g_test_add_func("/workloads/speculation/closed-form", test_closed_form);
  g_test_add_func("/workloads/speculation/tokens-per-check", test_tokens_per_check);
  g_test_add_func("/workloads/speculation/ngram", test_ngram);
  g_test_add_func("/workloads/speculation/trace", test_trace);
  g_test_add_func("/workloads/speculation/extremes", test_extremes);
  g_test_add_func("/workloads/speculation/tree", test_tree);
  g_test_add_func("/workloads/speculation/branches", test_branches);
  g_test_add_func("/workloads/speculation/load", test_load);
  g_test_add_func("/workloads/speculation/draft-model", test_draft_model);
  g_test_add_func("/workloads/speculation/short-of-blocks", test_short_of_blocks);
  g_test_add_func("/workloads/speculation/draws-are-the-requests", test_draws_are_the_requests);
  g_test_add_func("/workloads/speculation/refused", test_refused);
  return g_test_run();
}

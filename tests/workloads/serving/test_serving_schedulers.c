/*
 * test_serving_schedulers.c - what one scheduler's own options do to a loop of equal lengths.
 */
#include "tests/workloads/serving/serving_fixture.h"

#define CHUNKS                                                                                     \
  "workload.load={kind: closed-loop, concurrency: 16};workload.requests=160;workload.input="       \
  "{tokens: 2000};workload.output={tokens: 100};workload.engine.scheduler={kind: sglang, "         \
  "chunked-prefill-size: 2000, enable-mixed-chunk: "

/* 16 prompts of 2,000 tokens and chunks of 2,000. Prompts first: all end together and begin
 * together, so a first token waits for (16 + 1) / 2 prompts in the mean. With mixed chunks the
 * first ones decode beside the prompts of the others and end before them; from the second round on
 * a prompt finds its step, and the mean over 10 rounds is below half of that. */
static void test_mixed_chunk(void) {
  g_autoptr(OrrOutcome) first = serving_run(CHUNKS "false}"), mixed = serving_run(CHUNKS "true}"),
                        alone = serving_run(CHUNKS "false};workload.load.concurrency=1");
  const double prompt_s = alone->result.serving.ttft.mean;
  g_test_message("ttft %g alone, %g and %g s", prompt_s, first->result.serving.ttft.mean,
                 mixed->result.serving.ttft.mean);
  g_assert_cmpfloat_with_epsilon(first->result.serving.ttft.mean, 8.5 * prompt_s, 0.5 * prompt_s);
  g_assert_cmpfloat(mixed->result.serving.ttft.mean, <, 4.25 * prompt_s);
  g_assert_cmpfloat(mixed->result.serving.tpot.mean, >, first->result.serving.tpot.mean);
  g_assert_cmpint(mixed->result.serving.completed, ==, 160);
}

/* Two groups of attention divide a chunk of 2,000: a prompt of 2,000 tokens takes two steps of
 * 1,000, and its 9 decodes one each. One group takes it whole. */
static void test_groups_of_attention(void) {
  static const char load[] =
      "workload.load={kind: closed-loop, concurrency: 1};workload.requests=4;workload.input="
      "{tokens: 2000};workload.output={tokens: 10};workload.engine.scheduler={kind: sglang, "
      "chunked-prefill-size: 2000};workload.parallel={dp-attention: ";
  for (int groups = 1; groups <= 2; groups++) {
    g_autofree char *sets = g_strdup_printf("%s%d}", load, groups);
    g_autoptr(OrrOutcome) outcome = serving_run(sets);
    g_assert_cmpint(outcome->result.serving.steps, ==, 4 * (groups + 9));
  }
}

/* SGLang 0.5 reserves by chunk, graphs and all GPUs of an engine, in MiB: 1.4 * 1024 + 512 + 1.5 *
 * 8192 + 2 * 256 + 128 * 1 = 14873.6; of tp 8 2 * 512 + 128 * 8. With dp attention over the same 8
 * GPUs 4.5 * 512 * 8 more. Chunks of 32,768 take 1.5 * 24,576 more, and graphs of the user's own
 * size what they do. A board above 60 GiB reserves 10 GiB at least, and EAGLE 2 GiB more. */
static void test_sglang_memory(void) {
  static const struct {
    const char *sets;
    gint64 graphs;
    double mib;
  } rows[] = {
      {"", 256, 14873.6},
      {";workload.parallel.tp=8", 512, 1433.6 + 512 + 12288 + 1024 + 1024},
      {";workload.parallel={dp-attention: 8}", 512,
       1433.6 + 512 + 12288 + 1024 + 1024 + 4.5 * 512 * 8},
      {";workload.parallel={dp-attention: 8};workload.engine.cuda-graph-max-size=128", 128,
       1433.6 + 512 + 12288 + 256 + 1024 + 3 * 128 * 8},
      {";workload.engine.scheduler={kind: sglang, chunked-prefill-size: 32768}", 256,
       14873.6 + 1.5 * 24576},
      {";workload.engine.scheduler={kind: sglang, chunked-prefill-size: 2048}", 256,
       1433.6 + 10240},
      {";workload.engine.speculation={kind: ngram, num-speculative-tokens: 4, found: 50 %, "
       "acceptance: [50 %]}",
       256, 14873.6},
      {";workload.engine.speculation={kind: eagle, num-speculative-tokens: 4, acceptance: [50 %]}",
       256, 14873.6 + 2048},
      {";cluster.base=l40s-server", 32, 1433.6 + 512 + 6144 + 64 + 128},
      {";workload.engine.scheduler=vllm", 256, 14873.6},
      {";workload.engine.reserved=1 GiB", 256, 1024}};
  for (guint i = 0; i < G_N_ELEMENTS(rows); i++) {
    g_autofree char *sets = g_strconcat("workload.stack=sglang-0.5", rows[i].sets, NULL);
    g_autofree char *findings = NULL;
    g_autoptr(OrrScenario) scenario = serving_scenario(shared_library(), sets, &findings);
    if (!scenario) g_error("%s: %s", sets, findings);
    const OrrEngineParams *engine = &((const OrrServing *)scenario->workload.params)->engine;
    g_assert_cmpint(engine->graph_largest, ==, rows[i].graphs);
    g_assert_cmpfloat_with_epsilon(engine->reserved_bytes / 0x1p20, rows[i].mib, 1e-3);
  }
}

/* Without priorities the scheduler of priorities is vLLM's, with its chunks: 500 tokens at most of
 * 2,000 are four steps of a prompt, and whole prompts one. */
static void test_priority_chunks(void) {
  static const char load[] =
      "workload.load={kind: closed-loop, concurrency: 1};workload.requests=4;workload.input="
      "{tokens: 2000};workload.output={tokens: 10};workload.engine.max-model-len=4096;"
      "workload.engine.max-num-batched-tokens=4096;workload.engine.scheduler={kind: %s, %s}";
  static const struct {
    const char *chunks;
    gint64 steps; /* of a request: its prompt's, and nine decodes */
  } rows[] = {{"long-prefill-token-threshold: 500", 4 + 9}, {"chunked-prefill: false", 1 + 9}};
  for (guint i = 0; i < G_N_ELEMENTS(rows); i++) {
    g_autofree char *vllm = g_strdup_printf(load, "vllm", rows[i].chunks),
                    *priority = g_strdup_printf(load, "priority", rows[i].chunks);
    g_autoptr(OrrOutcome) plain = serving_run(vllm), ranked = serving_run(priority);
    g_assert_cmpint(ranked->result.serving.steps, ==, 4 * rows[i].steps);
    g_assert_cmpint(plain->result.serving.steps, ==, 4 * rows[i].steps);
    g_assert_cmpfloat(ranked->result.serving.ttft.mean, ==, plain->result.serving.ttft.mean);
  }
}

/* TensorRT-LLM without chunked prefill: prompts of 2,000 tokens go into a step of 4,000 by twos,
 * and one of 4,001 is refused. */
static void test_trtllm_whole_prompts(void) {
  static const char load[] =
      "workload.load={kind: closed-loop, concurrency: 4};workload.requests=4;workload.input="
      "{tokens: %d};workload.output={tokens: 1};workload.engine.max-num-batched-tokens=4000;"
      "workload.metrics.step-rows=100;workload.engine.scheduler={kind: trtllm, chunked-prefill: "
      "%s}";
  g_autofree char *cut = g_strdup_printf(load, 3000, "true"),
                  *whole = g_strdup_printf(load, 3000, "false"),
                  *two = g_strdup_printf(load, 2000, "false"),
                  *longer = g_strdup_printf(load, 4001, "false");
  g_autoptr(OrrOutcome) chunks = serving_run(cut), alone = serving_run(whole),
                        pairs = serving_run(two);
  g_assert_cmpint(chunks->result.serving.steps, ==, 3); /* 12,000 tokens */
  g_assert_cmpint(alone->result.serving.steps, ==, 4);
  g_assert_cmpint(pairs->result.serving.steps, ==, 2);
  serving_refused(longer, "4001 tokens is longer than engine.max-num-batched-tokens (4000)");
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/workloads/serving-schedulers/groups", test_groups_of_attention);
  g_test_add_func("/workloads/serving-schedulers/sglang-memory", test_sglang_memory);
  g_test_add_func("/workloads/serving-schedulers/mixed-chunk", test_mixed_chunk);
  g_test_add_func("/workloads/serving-schedulers/priority-chunks", test_priority_chunks);
  g_test_add_func("/workloads/serving-schedulers/trtllm-whole-prompts", test_trtllm_whole_prompts);
  return g_test_run();
}

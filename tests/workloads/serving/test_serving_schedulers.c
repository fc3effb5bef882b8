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

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/workloads/serving-schedulers/mixed-chunk", test_mixed_chunk);
  return g_test_run();
}

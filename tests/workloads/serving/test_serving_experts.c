/*
 * test_serving_experts.c - routed experts of a step: how many are read, by which kernel, what
 * is known of them.
 */
#include "tests/workloads/serving/serving_fixture.h"

#define EXPERTS                                                                                    \
  "model=qwen3-30b-a3b;workload.engine.kv-blocks=0;workload.parallel.tp=2;workload.input={tokens:" \
  " 64};"
#define LOOP                                                                                       \
  "workload.output={tokens: 200};workload.requests=%d;workload.load={kind: closed-loop, "          \
  "concurrency: %d}"

static double tpot(const char *sets, int clients) {
  g_autofree char *text = g_strdup_printf("%s" LOOP, sets, 2 * clients, clients);
  g_autoptr(OrrOutcome) outcome = serving_run(text);
  return outcome->result.serving.tpot.mean;
}

/* Qwen3-30B-A3B: 48 layers of 128 experts, 8 a token, of 3 x 2,048 x 768: 4.7 MB in fp8, half of
 * it on each of two ranks. 4 tokens wake 128 (1 - (15/16)^4) = 29 experts, 32 tokens 112, so
 * that 32 requests read 83 * 48 * 2.36 MB = 9.4 GB more a step than 4, 2.8 ms at 3.35 TB/s, and
 * products reach 60 to 100 % of it; and all else (attention of some 200 tokens, the host,
 * all-reduces) is within 2 ms. */
static void test_awake(void) {
  static const char fp8[] = EXPERTS "workload.precision=fp8;";
  const double few_s = tpot(fp8, 4), many_s = tpot(fp8, 32);
  g_test_message("4: %.3f ms, 32: %.3f ms", 1e3 * few_s, 1e3 * many_s);
  g_assert_cmpfloat(many_s - few_s, >, 2.8e-3);
  g_assert_cmpfloat(many_s - few_s, <, 2.8e-3 / 0.6 + 2e-3);
}

/* More tokens never wake fewer: steps of more requests are not shorter. */
static void test_rises(void) {
  double before_s = 0;
  for (int clients = 1; clients <= 64; clients *= 2) {
    const double now_s = tpot(EXPERTS "workload.precision=fp8;", clients);
    g_assert_cmpfloat(now_s, >, before_s);
    before_s = now_s;
  }
}

/* Each of 8 ranks has 4,096 tokens of Llama 4 Scout, which choose one expert: sent to their experts
 * they cross NVLink at most once, gathered 7 times, and so do the sums. That is 2 * 6 * 4,096 *
 * 5,120 * 2 bytes more in each of 48 layers, 54 ms at an H100's 450 GB/s; NCCL reaches half to all
 * of that. Tokens of fp8 experts are gathered in fp8, the sums still in 16 bits. */
static void test_gathered(void) {
#define SCOUT                                                                                      \
  "model=llama-4-scout;cluster.gpus=8;workload.engine.kv-blocks=0;workload.input={tokens: 4096};"  \
  "workload.output={tokens: 1};workload.engine.max-num-batched-tokens=4096;workload.requests=8;"   \
  "workload.load={kind: closed-loop, concurrency: 8};workload.parallel={dp-attention: 8, ep: 8, "  \
  "all-to-all: "
  g_autoptr(OrrOutcome) sent = serving_run(SCOUT "deepep}"),
                        gathered = serving_run(SCOUT "gather}"),
                        fp8 = serving_run(SCOUT "gather};workload.precision=fp8"),
                        fp8_sent = serving_run(SCOUT "deepep};workload.precision=fp8");
#undef SCOUT
  const double more_s = gathered->result.serving.ttft.mean - sent->result.serving.ttft.mean,
               fp8_s = fp8->result.serving.ttft.mean - fp8_sent->result.serving.ttft.mean;
  g_test_message("%.1f ms more, %.1f ms in fp8", 1e3 * more_s, 1e3 * fp8_s);
  g_assert_cmpfloat(more_s, >, 54e-3);
  g_assert_cmpfloat(more_s, <, 108e-3);
  g_assert_cmpfloat(fp8_s, >, 0.6 * more_s);
  g_assert_cmpfloat(fp8_s, <, 0.9 * more_s);
}

/* Shared experts run during the routed ones in graphs: without graphs a step is longer by what
 * they take, two products and an activation in each of DeepSeek-V2-Lite's 26 layers, some 15 to
 * 40 us each, and no longer with more of the same. */
static void test_shared_beside(void) {
  static const char lite[] =
      "model=deepseek-v2-lite;workload.engine.kv-blocks=0;workload.precision=fp8;";
  static const char bare[] =
      "model=deepseek-v2-lite;workload.engine.kv-blocks=0;workload.precision=fp8;"
      "workload.engine.cuda-graph-max-size=0;workload.engine.eager-prefill=false;"
      "workload.engine.cuda-graph-padding=false;";
  const double beside_s = tpot(lite, 8), after_s = tpot(bare, 8);
  g_test_message("beside %.3f ms, after %.3f ms", 1e3 * beside_s, 1e3 * after_s);
  g_assert_cmpfloat(after_s - beside_s, >, 26 * 10e-6);
  g_assert_cmpfloat(after_s - beside_s, <, 26 * 45e-6);
}

static gboolean warns_of(const char *sets, const char *wanted) {
  g_autofree char *text = g_strdup_printf("%s" LOOP, sets, 2, 1);
  g_autoptr(OrrOutcome) outcome = serving_run(text);
  for (guint i = 0; i < outcome->warnings->len; i++)
    if (strstr(outcome->warnings->pdata[i], wanted)) return TRUE;
  return FALSE;
}

/* nvfp4 experts have no rows of their own, but grouped products have: nothing is missing, and
 * they are faster than fp8 ones, and read 9/16 as much. Int8 has neither. */
static void test_nvfp4(void) {
  static const char b200[] = EXPERTS "cluster.base=dgx-b200-superpod;workload.precision=fp4;";
  g_assert_false(warns_of(b200, "moe"));
  g_assert_true(warns_of(EXPERTS "workload.quantization=int8;", "moe int8"));
  g_assert_cmpfloat(tpot(b200, 32), <,
                    tpot(EXPERTS "cluster.base=dgx-b200-superpod;workload.precision=fp8;", 32));
}

/* Steps of programs with default tiles: 48 layers on 132 multiprocessors, hidden 2,048, width 384.
 * One token wakes 8 experts: 8 (768/32 * 2048/64 + 2048/32 * 384/64) = 9,216 steps, 38 of them one
 * after another. 2,048 tokens are more than experts: 128 rows an expert, 128 (2 + 1/2) blocks of
 * 768/64 * 2048/32 + 2048/64 * 384/32 = 1,152 steps. */
static double with_tiles(const char *step, const char *alone, int tokens, gboolean first) {
  g_autofree char *text = g_strdup_printf(
      "model=qwen3-30b-a3b;workload.engine.kv-blocks=0;workload.parallel.tp=2;"
      "workload.input={kind: constant, tokens: %d};workload.output={tokens: 50};"
      "workload.requests=1;workload.load={kind: closed-loop, concurrency: 1};"
      "workload.engine.eager-prefill=false;workload.engine.max-num-batched-tokens=4096;"
      "workload.engine.expert-kernels={rows: default-tiles, step: %s, step-alone: %s}",
      tokens, step, alone);
  g_autoptr(OrrOutcome) outcome = serving_run(text);
  const OrrServingResult *result = &outcome->result.serving;
  return first ? result->ttft.mean : result->tpot.mean;
}

static void test_default_tiles(void) {
  const double one_s = with_tiles("1 us", "0 s", 2048, FALSE);
  const double first_s = with_tiles("1 us", "0 s", 2048, TRUE);
  const double step_s = with_tiles("2 us", "0 s", 2048, FALSE) - one_s;
  const double alone_s = with_tiles("1 us", "1 us", 2048, FALSE) - one_s;
  const double prompt_s = with_tiles("2 us", "0 s", 2048, TRUE) - first_s;
  g_assert_cmpfloat_with_epsilon(step_s, 48 * 9216e-6 / 132, 1e-9);
  g_assert_cmpfloat_with_epsilon(alone_s, 48 * 38e-6, 1e-9);
  g_assert_cmpfloat_with_epsilon(prompt_s, 48 * 320 * 1152e-6 / 132, 1e-8);
}

static double first_token(const char *precision, gboolean merged) {
  static const char load[] =
      "model=qwen3-30b-a3b;cluster.base=dgx-b200-superpod;workload.engine.kv-blocks=0;"
      "workload.parallel.tp=2;workload.precision=%s;workload.input={kind: constant, tokens: 16384};"
      "workload.output={tokens: 2};workload.requests=1;workload.engine.eager-prefill=false;"
      "workload.engine.max-num-batched-tokens=16384;"
      "workload.engine.expert-kernels={merged: %s};"
      "workload.load={kind: closed-loop, concurrency: 1}";
  g_autofree char *text = g_strdup_printf(load, precision, merged ? "true" : "false");
  g_autoptr(OrrOutcome) outcome = serving_run(text);
  return outcome->result.serving.ttft.mean;
}

/* 16,384 tokens are 131,072 pairs in each of 48 layers. Merged products save the activation, 3 x
 * 384 of 16 bits a pair, 302 MB, and lay out tokens once, 86 MB where the copy for each pair takes
 * 218: 434 MB, 54 us at 8 TB/s, and at 85 % of that; the casts of 2,048 and 384 elements a pair
 * come on top, 2.6 bytes each. Experts in 8 bits have no such kernels. */
static void test_merged(void) {
  const double apart_s = first_token("fp4", FALSE), merged_s = first_token("fp4", TRUE);
  g_test_message("apart %.3f ms, merged %.3f ms", 1e3 * apart_s, 1e3 * merged_s);
  g_assert_cmpfloat(apart_s - merged_s, >, 48 * 434e6 / 8e12);
  g_assert_cmpfloat(apart_s - merged_s, <, 48 * (434e6 + 131072 * 2432 * 2.6) / 8e12 / 0.6);
  g_assert_cmpfloat(first_token("fp8", FALSE), ==, first_token("fp8", TRUE));
}

static double loaded(const char *parallel, gint64 *ret_blocks) {
  static const char load[] =
      "model=qwen3-30b-a3b;workload.parallel={tp: 8, ep: 8, %s};workload.engine.kv-blocks=0;"
      "workload.input={kind: constant, tokens: 8192};workload.output={tokens: 2};"
      "workload.requests=1;workload.engine.eager-prefill=false;"
      "workload.engine.max-num-batched-tokens=8192;"
      "workload.load={kind: closed-loop, concurrency: 1}";
  g_autofree char *text = g_strdup_printf(load, parallel);
  g_autoptr(OrrOutcome) outcome = serving_run(text);
  if (ret_blocks) *ret_blocks = outcome->result.serving.kv_blocks;
  return outcome->result.serving.ttft.mean;
}

/* A prompt of 8,192 tokens waits for the fullest of eight ranks. With loads that are equal
 * nothing changes; with one hot expert of 128, an eighth of all pairs, the rank that holds it has
 * these and 15 of the 127 others: (1 / 8 + 7 / 8 * 15 / 127) * 8 = 1.83 times the pairs. Copies of
 * it, packed, take that away, and take room in the cache: 8 copies of 3 x 2,048 x 768 of 16 bits in
 * 48 layers are 3.6 GB on eight ranks. */
static void test_expert_load(void) {
  g_autoptr(GString) hot = g_string_new("expert-load: {kind: histogram, counts: [16");
  for (int e = 1; e < 128; e++) g_string_append(hot, ", 0.8819");
  g_string_append(hot, "]}");
  g_autofree char *packed =
      g_strconcat(hot->str, ", redundant-experts: 8, expert-placement: packed", NULL);
  gint64 blocks = 0, fewer = 0;
  const double even_s = loaded("expert-load: balanced", &blocks), hot_s = loaded(hot->str, NULL),
               packed_s = loaded(packed, &fewer);
  g_test_message("even %.3f, hot %.3f, packed %.3f ms", 1e3 * even_s, 1e3 * hot_s, 1e3 * packed_s);
  g_assert_cmpfloat(loaded("expert-load: {kind: lognormal, spread: 0}", NULL), ==, even_s);
  g_assert_cmpfloat(hot_s, >, 1.1 * even_s);
  g_assert_cmpfloat(hot_s, <, 1.83 * even_s);
  g_assert_cmpfloat(packed_s, <, even_s + 0.2 * (hot_s - even_s));
  g_assert_cmpint(fewer, <, blocks);
}

static void test_expert_load_refused(void) {
  serving_refused(
      "model=qwen3-30b-a3b;workload.parallel={tp: 8, ep: 8, imbalance: 1.2, expert-load: "
      "lognormal}",
      "excludes");
  serving_refused("model=qwen3-30b-a3b;workload.parallel={tp: 8, ep: 8, redundant-experts: 3}",
                  "experts (131 with their copies) cannot be divided by ep (8)");
  serving_refused("model=qwen3-30b-a3b;workload.parallel={tp: 8, redundant-experts: 8}",
                  "redundant-experts (8): with parallel.ep 1 every rank has a slice");
  serving_refused("model=llama-3.1-8b;workload.parallel={tp: 8, expert-load: lognormal}",
                  "has no experts");
  serving_refused("model=qwen3-30b-a3b;workload.parallel={tp: 8, ep: 8, expert-load: {kind: "
                  "histogram, counts: [1, 2]}}",
                  "128 experts");
}

/* gpt-oss 20b in mxfp4: 24 layers of 32 experts, 4 a token, of 3 x 2,880 x 2,880. 32 requests wake
 * 32 (1 - (7/8)^32) = 31.6 experts: 24 * 31.6 * 24.9e6 = 18.9e9 weights, which in 16 bits would
 * take 11.3 ms at 3.35 TB/s and in mxfp4, 17/32 of a byte, 3.0 ms. It has no shared experts, so
 * that a step in a graph takes as long as one without (prompts' steps are padded there). */
static void test_narrow_weights(void) {
  static const char narrow[] =
      "model=gpt-oss-20b;workload.engine.kv-blocks=0;workload.quantization=mxfp4;";
  static const char plain[] =
      "model=gpt-oss-20b;workload.engine.kv-blocks=0;workload.quantization=mxfp4;"
      "workload.engine.cuda-graph-max-size=0;workload.engine.eager-prefill=false;";
  const double graph_s = tpot(narrow, 32);
  g_test_message("graph: %.3f ms", 1e3 * graph_s);
  g_assert_cmpfloat(graph_s, >, 3.0e-3);
  g_assert_cmpfloat(graph_s, <, 3.0e-3 / 0.6 + 3e-3);
  g_assert_cmpfloat_with_epsilon(graph_s / tpot(plain, 32), 1, 1e-3);
}

/* Tuned kernels are never slower than the measured ones, and read narrow experts as fast as memory
 * is: DeepSeek-V3 on 8 ranks by width: 16 requests wake 256 (1 - (31/32)^16) = 102 of
 * 3 x 7,168 x 256 bytes in 58 layers, 33 GB, 9.7 ms at 3.35 TB/s; all else is within 10 ms. What
 * small kernels add is the same for any number of requests: 58 layers by 40 of 2.4 us, the H200's
 * kernel-overhead. At half the efficiency a step is longer by the experts' time, at least the
 * 6.9 ms in which 4.8 TB/s read their weights. */
static void test_tuned(void) {
  static const char v3[] =
      "model=deepseek-v3;workload.engine.kv-blocks=0;workload.engine.reserved=0 B;"
      "workload.engine.gpu-memory-utilization=100 %%;workload.parallel.tp=8;"
      "workload.input={tokens: 64};workload.precision=fp8;cluster.device=h200-sxm;"
      "workload.engine.expert-kernels={rows: %s, small: %d, efficiency: %g};";
  g_autofree char *measured = g_strdup_printf(v3, "measured", 0, 1.),
                  *tuned = g_strdup_printf(v3, "tuned", 0, 1.),
                  *longer = g_strdup_printf(v3, "tuned", 40, 1.),
                  *slower = g_strdup_printf(v3, "tuned", 0, 0.5);
  const double tuned_s = tpot(tuned, 16);
  g_test_message("measured %.3f ms, tuned %.3f ms", 1e3 * tpot(measured, 16), 1e3 * tuned_s);
  g_assert_cmpfloat(tuned_s, <, tpot(measured, 16));
  g_assert_cmpfloat(tuned_s, >, 33e9 / 4.8e12);
  g_assert_cmpfloat(tuned_s, <, 33e9 / 4.8e12 / 0.8 + 10e-3);
  g_assert_cmpfloat_with_epsilon(tpot(longer, 16) - tuned_s, 58 * 40 * 2.4e-6, 0.2e-3);
  g_assert_cmpfloat(tpot(slower, 16) - tuned_s, >, 33e9 / 4.8e12);
  g_assert_cmpfloat(tpot(slower, 16), <, 2 * tuned_s);
}

/* A step with a prompt that is not a graph lasts as long as its launches: 48 layers of experts by
 * 100 launches of 10 us, and no more than that and 60 further kernels in each. */
static void test_eager_prompts(void) {
  static const char load[] =
      EXPERTS "workload.precision=fp8;workload.requests=4;workload.output={tokens: 4};"
              "workload.load={kind: closed-loop, concurrency: 1};"
              "workload.engine.host={launch: 10 us};workload.engine.expert-kernels={launches: 100};"
              "workload.engine.cuda-graph-prompts=%s";
  g_autofree char *graphs = g_strdup_printf(load, "true"), *eager = g_strdup_printf(load, "false");
  g_autoptr(OrrOutcome) fast = serving_run(graphs);
  g_autoptr(OrrOutcome) slow = serving_run(eager);
  g_assert_cmpfloat(fast->result.serving.ttft.mean, <, 20e-3);
  g_assert_cmpfloat(slow->result.serving.ttft.mean, >, 48 * 1e-3);
  g_assert_cmpfloat(slow->result.serving.ttft.mean, <, 48 * (1e-3 + 60 * 10e-6));
  g_assert_cmpfloat_with_epsilon(slow->result.serving.tpot.mean, fast->result.serving.tpot.mean,
                                 1e-4);
}

/* A prompt waits until every rank of attention data parallelism has one, as many steps as are
 * allowed, and longer for twice as many. */
static void test_balance(void) {
  static const char load[] =
      "workload.parallel.dp-attention=4;workload.input={kind: constant, tokens: 200};"
      "workload.output={kind: uniform-up-to, tokens: 400, ratio: 0.5};workload.requests=64;"
      "workload.load={kind: closed-loop, concurrency: 8};"
      "workload.engine.scheduler={kind: trtllm, balance-timeout-iters: %d}";
  double ttft_s[3];
  static const int steps[3] = {0, 20, 40};
  for (guint i = 0; i < 3; i++) {
    g_autofree char *text = g_strdup_printf(load, steps[i]);
    g_autoptr(OrrOutcome) outcome = serving_run(text);
    ttft_s[i] = outcome->result.serving.ttft.mean;
    if (i == 0) continue;
    g_assert_cmpfloat(ttft_s[i], >, ttft_s[i - 1] + 5 * outcome->result.serving.tpot.mean);
    g_assert_cmpfloat(ttft_s[i], <, ttft_s[0] + (steps[i] + 1) * outcome->result.serving.tpot.mean);
  }
}

/* Half of what is left is half of the blocks. */
static void test_cache_fraction(void) {
  static const char text[] = "workload.engine.kv-blocks=0;workload.requests=1;"
                             "workload.engine.cache-fraction=%s";
  g_autofree char *all = g_strdup_printf(text, "100 %"), *half = g_strdup_printf(text, "50 %");
  g_autoptr(OrrOutcome) whole = serving_run(all);
  g_autoptr(OrrOutcome) part = serving_run(half);
  g_assert_cmpfloat_with_epsilon((double)whole->result.serving.kv_blocks / 2,
                                 (double)part->result.serving.kv_blocks, 1);
}

/* A replica whose plan ages by half of the drift time from one to the next, and has a new plan
 * every @interval_s. */
static double lasts(double interval_s) {
  g_autofree char *text = g_strdup_printf(
      "model=qwen3-30b-a3b;workload.engine.kv-blocks=0;workload.input={tokens: 64};"
      "workload.parallel={dp-attention: 4, ep: 4, expert-load: lognormal, expert-placement: packed,"
      " rebalance: {interval: %.12g s, drift: %.12g s}};" LOOP,
      interval_s, 2 * interval_s, 4, 4);
  g_autoptr(OrrOutcome) outcome = serving_run(text);
  return outcome->result.serving.duration_s;
}

/* All steps take the same, since the plans age alike: one new plan costs what its moves take, three
 * cost three times that. A rank has 32 of the 128 experts of a layer and receives most of them, of
 * 48 layers of 3 x 2048 x 768 weights in 16 bits, at the 450 GB/s of NVLink or somewhat less. */
static void test_rebalance(void) {
  const double none_s = lasts(1e6), once_s = lasts(0.6 * none_s) - none_s,
               thrice_s = lasts(0.3 * none_s) - none_s;
  const double most_s = 32 * 48 * 3.0 * 2048 * 768 * 2 / 450e9;
  g_test_message("a run of %g s, a plan's moves %g s, three %g s", none_s, once_s, thrice_s);
  g_assert_cmpfloat(once_s, >, 0.3 * most_s);
  g_assert_cmpfloat(once_s, <, 1.5 * most_s);
  g_assert_cmpfloat_with_epsilon(thrice_s, 3 * once_s, 1e-6);
}

static void test_rebalance_refused(void) {
#define MIXTURE "model=qwen3-30b-a3b;workload.engine.kv-blocks=0;workload.parallel="
  serving_refused(MIXTURE "{dp-attention: 4, ep: 4, expert-placement: packed, expert-load: "
                          "lognormal, rebalance: {interval: 5 min}}",
                  "needs rebalance.drift above 0");
  serving_refused(MIXTURE "{dp-attention: 4, ep: 4, expert-load: lognormal, rebalance: {interval: "
                          "5 min, drift: 1 h}}",
                  "give expert-placement: packed");
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/workloads/serving-experts/awake", test_awake);
  g_test_add_func("/workloads/serving-experts/rises", test_rises);
  g_test_add_func("/workloads/serving-experts/gathered", test_gathered);
  g_test_add_func("/workloads/serving-experts/shared-beside", test_shared_beside);
  g_test_add_func("/workloads/serving-experts/nvfp4", test_nvfp4);
  g_test_add_func("/workloads/serving-experts/merged", test_merged);
  g_test_add_func("/workloads/serving-experts/expert-load", test_expert_load);
  g_test_add_func("/workloads/serving-experts/expert-load-refused", test_expert_load_refused);
  g_test_add_func("/workloads/serving-experts/narrow-weights", test_narrow_weights);
  g_test_add_func("/workloads/serving-experts/tuned", test_tuned);
  g_test_add_func("/workloads/serving-experts/eager-prompts", test_eager_prompts);
  g_test_add_func("/workloads/serving-experts/balance", test_balance);
  g_test_add_func("/workloads/serving-experts/cache-fraction", test_cache_fraction);
  g_test_add_func("/workloads/serving-experts/rebalance", test_rebalance);
  g_test_add_func("/workloads/serving-experts/rebalance-refused", test_rebalance_refused);
  g_test_add_func("/workloads/serving-experts/default-tiles", test_default_tiles);
  return g_test_run();
}

/*
 * test_serving_models.c - engines of models that are not plain attention: latent attention, states,
 * windows, encoders, experts over attention data parallelism; and narrow formats.
 */
#include "tests/workloads/serving/serving_fixture.h"
#include "workloads/serving/cost/serving_cost_private.h"

#define SMALL                                                                                      \
  "workload.requests=100;workload.engine.kv-blocks=0;workload.load={kind: poisson, rate: 4};"
#define ALONE                                                                                      \
  "workload.load={kind: closed-loop, concurrency: 1};workload.requests=4;workload.input={tokens: " \
  "1000};"                                                                                         \
  "workload.output={tokens: 100};workload.engine.kv-blocks=0;"

static const char *const kinds[] = {
    "model=deepseek-v2-lite",
    "model=deepseek-v2-lite;workload.parallel={tp: 2, dp-attention: 2, ep: 4}",
    "model=deepseek-v2-lite;workload.parallel={tp: 1, dp-attention: 8, ep: 8, all-to-all: deepep}",
    "model=deepseek-v2-lite;workload.parallel={tp: 1, dp-attention: 4, ep: 2, all-to-all: nccl}",
    "model=deepseek-v2-lite;workload.replicas=2;workload.disaggregation={prefill: 1}",
    "model=nemotron-h-8b",
    "model=nemotron-h-8b;workload.parallel.tp=4",
    "model=qwen3-next-80b-a3b;workload.parallel={tp: 8, ep: 8}",
    "model=gemma-3-12b",
    "model=gemma-3-12b;workload.engine.kv-blocks=300",
    "model=gemma-3-12b;workload.engine.prefix-caching=block-hash;workload.shared-prefix=100",
    "model=gemma-3-12b;workload.engine.speculation={kind: eagle, num-speculative-tokens: 3, "
    "acceptance: [0.7]}",
    "model=qwen2-vl-7b;workload.images=2",
    "model=gpt-oss-20b;workload.quantization=mxfp4",
    "workload.quantization=awq",
};

/* Little's law, all tokens of all requests, blocks (by the run itself); and runs of steps are
 * single steps. */
static void test_laws(void) {
  for (guint k = 0; k < G_N_ELEMENTS(kinds); k++) {
    g_autofree char *runs = g_strconcat(SMALL, kinds[k], NULL),
                    *single = g_strconcat(runs, ";fidelity=full", NULL);
    g_autoptr(OrrOutcome) a = serving_run(runs);
    g_autoptr(OrrOutcome) b = serving_run(single);
    const OrrServingResult *x = &a->result.serving, *y = &b->result.serving;
    g_test_message("%s: ttft %g tpot %g", kinds[k], x->ttft.mean, x->tpot.mean);
    g_assert_cmpint(x->completed, ==, 100);
    g_assert_cmpfloat(x->littles_law_error, <, 1e-9);
    g_assert_cmpfloat(x->tpot.mean, >, 0);
    g_assert_true(x->ttft.mean == y->ttft.mean && x->e2e.mean == y->e2e.mean);
    g_assert_cmpint(x->steps, ==, y->steps);
    g_assert_cmpfloat_with_epsilon(x->kv_utilization, y->kv_utilization, 1e-12);
  }
}

/* Five in six of Gemma 3's layers see 1,024 tokens: of 31,000 a window's layers keep 1,040, so
 * that a request takes (31,000 / 6 + 1,040 * 5 / 6) / 31,000 = 0.195 of what it would keep
 * whole, with a prefix cache and without. */
static void test_windows(void) {
  static const char load[] = "model=gemma-3-12b;" ALONE
                             "workload.input={tokens: 30900};workload.engine.max-model-len=32768";
  g_autofree char *cached = g_strconcat(load, ";workload.engine.prefix-caching=block-hash", NULL),
                  *whole = g_strconcat(load, ";workload.engine.window-room=1", NULL),
                  *both = g_strconcat(cached, ";workload.engine.window-room=1", NULL);
  g_autoptr(OrrOutcome) kept = serving_run(whole);
  g_autoptr(OrrOutcome) windows = serving_run(load);
  g_autoptr(OrrOutcome) hashed = serving_run(cached);
  g_autoptr(OrrOutcome) hashed_whole = serving_run(both);
  const double ratio = windows->result.serving.kv_peak / kept->result.serving.kv_peak;
  g_assert_cmpfloat_with_epsilon(ratio, (31000.0 / 6 + 1040.0 * 5 / 6) / 31000, 0.002);
  g_assert_cmpfloat_with_epsilon(
      hashed->result.serving.kv_peak / hashed_whole->result.serving.kv_peak, ratio, 0.002);
  g_assert_cmpfloat_with_epsilon(hashed_whole->result.serving.kv_peak, kept->result.serving.kv_peak,
                                 1e-3);
}

static double keys_mean(gboolean chunked, guint decodes, double sum, double least, double most) {
  const Kind kind = {.heads.window = 8192};
  const OrrModel model = {.window = {.size = 8192, .chunked = chunked}};
  const OrrStepShape shape = {
      .decodes = decodes, .key_sum = sum, .keys_least = least, .keys_most = most};
  return orr_serving_keys_mean(&kind, &model, &shape);
}

/* A window is full from 8,192 tokens on; in chunks the next token begins a new one and sees itself
 * alone. Two decodes at 8,191 and 8,193 see 8,191 and 1; many over two whole chunks half of one. */
static void test_chunks(void) {
  g_assert_cmpfloat(keys_mean(FALSE, 1, 8193, 8193, 8193), ==, 8192);
  g_assert_cmpfloat(keys_mean(TRUE, 1, 8192, 8192, 8192), ==, 8192);
  g_assert_cmpfloat(keys_mean(TRUE, 1, 8193, 8193, 8193), ==, 1);
  g_assert_cmpfloat(keys_mean(TRUE, 1, 9000, 9000, 9000), ==, 808);
  g_assert_cmpfloat(keys_mean(TRUE, 2, 8191 + 8193, 8191, 8193), ==, 4096);
  g_assert_cmpfloat_with_epsilon(keys_mean(TRUE, 64, 64 * 8192, 1, 2 * 8192), 4096, 1);
}

/* So with the part of a prompt that follows 8,192 or 9,000 tokens of it. */
static void test_chunked_prompts(void) {
  const Kind kind = {.heads.window = 8192};
  OrrModel model = {.window = {.size = 8192, .chunked = TRUE}};
  g_assert_cmpfloat(orr_serving_keys_history(&kind, &model, 8191), ==, 8191);
  g_assert_cmpfloat(orr_serving_keys_history(&kind, &model, 8192), ==, 0);
  g_assert_cmpfloat(orr_serving_keys_history(&kind, &model, 9000), ==, 808);
  model.window.chunked = FALSE;
  g_assert_cmpfloat(orr_serving_keys_history(&kind, &model, 9000), ==, 8192);
}

/* Where the kernel of chunks reads 0.1 GB/s on each of 132 multiprocessors, a token takes what 36
 * of Scout's 48 layers read: 1,050 keys in the mean, of 5 query heads a rank, 128 wide, keys and
 * values in 16 bits. At twice the rate half of it is gone. Layers without chunks do not slow. */
static void test_chunked_kernel(void) {
  static const char slow[] = "model=llama-4-scout;" ALONE
                             "workload.parallel.tp=8;workload.engine.chunked-bandwidth=0.1 GB/s",
                    twice[] = "model=llama-4-scout;" ALONE
                              "workload.parallel.tp=8;workload.engine.chunked-bandwidth=0.2 GB/s";
  g_autoptr(OrrOutcome) a = serving_run(slow);
  g_autoptr(OrrOutcome) b = serving_run(twice);
  const double read_s = 36 * 1050.5 * 2 * 5 * 128 * 2 / (0.1e9 * 132);
  const double gone_s = a->result.serving.tpot.mean - b->result.serving.tpot.mean;
  g_assert_cmpfloat(fabs(gone_s / (read_s / 2) - 1), <, 0.01);
}

/* A state is as large after a thousand tokens as after one: with ten times the context a step is
 * hardly longer, and a sequence holds at least its state's blocks. */
static void test_states(void) {
  g_autoptr(OrrOutcome) brief =
      serving_run("model=nemotron-h-8b;" ALONE "workload.input={tokens: 100}");
  g_autoptr(OrrOutcome) lengthy =
      serving_run("model=nemotron-h-8b;" ALONE "workload.input={tokens: 8000}");
  g_assert_cmpfloat(lengthy->result.serving.tpot.mean, <, 1.05 * brief->result.serving.tpot.mean);
  g_assert_cmpfloat(lengthy->result.serving.ttft.mean, >, 5 * brief->result.serving.ttft.mean);
  serving_refused("model=nemotron-h-8b;workload.engine.speculation={kind: ngram, "
                  "num-speculative-tokens: 2, acceptance: "
                  "[1], found: 1}",
                  "cannot drop rejected tokens");
}

/* Latent attention reads 576 elements a token and layer instead of 2 * 16 * 128
 * (DeepSeek-V2-Lite): its cache holds as many tokens as the memory has 31,104 bytes of (27
 * layers), whatever tp. */
static void test_latent(void) {
  g_autoptr(OrrOutcome) one = serving_run("model=deepseek-v2-lite;" ALONE);
  g_autoptr(OrrOutcome) two = serving_run("model=deepseek-v2-lite;" ALONE "workload.parallel.tp=2");
  g_assert_cmpfloat(one->result.serving.kv_bytes_per_token, ==, 27 * 576 * 2);
  g_assert_cmpfloat(two->result.serving.kv_bytes_per_token, ==, 27 * 576 * 2);
}

/* Two images of 448 x 448 are 2 * 256 tokens of the prompt, and work before it. */
static void test_images(void) {
  g_autoptr(OrrOutcome) text =
      serving_run("model=qwen2-vl-7b;" ALONE "workload.input={tokens: 1512}");
  g_autoptr(OrrOutcome) seen = serving_run("model=qwen2-vl-7b;workload.images=2;" ALONE);
  g_assert_cmpint(serving_request(seen, 0)->input_tokens, ==, 1000 + 2 * 256);
  g_assert_cmpfloat(seen->result.serving.ttft.mean, >, 1.1 * text->result.serving.ttft.mean);
  g_assert_cmpfloat_with_epsilon(seen->result.serving.tpot.mean, text->result.serving.tpot.mean,
                                 1e-9);
  serving_refused("workload.images=1", "has no encoder");
}

/* Routed experts are over all ranks, the rest on each: 27 - 1 layers of 64 experts of 3 * 2048 *
 * 1408 weights. */
static void test_wide_experts(void) {
  g_autoptr(OrrOutcome) one = serving_run("model=deepseek-v2-lite;" ALONE);
  g_autoptr(OrrOutcome) eight =
      serving_run("model=deepseek-v2-lite;" ALONE "workload.parallel={dp-attention: 8, ep: 8}");
  const double experts = 26 * 64 * 3.0 * 2048 * 1408 * 2;
  g_assert_cmpfloat_with_epsilon(one->result.serving.weights_bytes -
                                     eight->result.serving.weights_bytes,
                                 experts * 7 / 8, 1e3);
  g_assert_cmpfloat(one->result.serving.comm_fraction, ==, 0);
  g_assert_cmpfloat(eight->result.serving.comm_fraction, >, 0);
}

/* Ranks step together: a rank that only decodes waits for the one with the prompt, so that the gaps
 * of its requests are a step's with the prompt, and the slowest rank's share of the experts' work
 * does not depend on which it is. */
static void test_lock_step(void) {
  static const char load[] =
      "model=deepseek-v2-lite;workload.engine.kv-blocks=0;workload.requests=64;"
      "workload.load={kind: poisson, rate: 8};workload.output={tokens: 200};"
      "workload.input={tokens: 4000};workload.parallel={dp-attention: 8, ep: 8};"
      "workload.engine.max-num-batched-tokens=%d";
  g_autofree char *large = g_strdup_printf(load, 8192), *small = g_strdup_printf(load, 512);
  g_autoptr(OrrOutcome) whole = serving_run(large);
  g_autoptr(OrrOutcome) chunks = serving_run(small);
  g_assert_cmpfloat(whole->result.serving.itl.p99, >, 2 * whole->result.serving.itl.p50);
  g_assert_cmpfloat(chunks->result.serving.itl.p99, <, whole->result.serving.itl.p99);
}

/* --- formats --- */

/* 8.03 billion weights; 2 * 128,256 * 4,096 of embedding and head and 64 norms of 4,096 stay in 16
 * bits; the others as the table of quantization.c says. */
static void test_weights(void) {
  static const struct {
    const char *word;
    double bytes;
  } words[] = {{"none", 2},
               {"fp8", 1},
               {"fp8-block", 1 + 4.0 / 16384},
               {"fp8-weights", 1},
               {"int8", 1},
               {"awq", 0.5 + 2.5 / 128},
               {"gptq", 0.5 + 2.0 / 128}};
  const double ends = (2 * 128256.0 + 64) * 4096, layers = 8030261248.0 - ends;
  for (guint i = 0; i < G_N_ELEMENTS(words); i++) {
    g_autofree char *sets = g_strdup_printf(ALONE "workload.quantization=%s", words[i].word);
    g_autoptr(OrrOutcome) outcome = serving_run(sets);
    g_assert_cmpfloat_with_epsilon(outcome->result.serving.weights_bytes,
                                   ends * 2 + layers * words[i].bytes, 1e4);
  }
}

/* A lone request reads weights: four bits are some 2.5 to 4 times as fast as sixteen. Prompts of
 * thousands of tokens multiply: products in 16 bits are as fast as before, in 8 bits nearly
 * twice. The word fp8 is the precision fp8. */
static void test_speed(void) {
  g_autoptr(OrrOutcome) plain = serving_run(ALONE "workload.input={tokens: 8000}");
  g_autoptr(OrrOutcome) awq =
      serving_run(ALONE "workload.input={tokens: 8000};workload.quantization=awq");
  g_autoptr(OrrOutcome) fp8 =
      serving_run(ALONE "workload.input={tokens: 8000};workload.quantization=fp8");
  g_autoptr(OrrOutcome) precision =
      serving_run(ALONE "workload.input={tokens: 8000};workload.precision=fp8");
  g_autoptr(OrrOutcome) int8 =
      serving_run(ALONE "workload.input={tokens: 8000};workload.quantization=int8");
  const OrrServingResult *a = &plain->result.serving, *b = &awq->result.serving,
                         *c = &fp8->result.serving;
  g_assert_cmpfloat(b->tpot.mean, <, a->tpot.mean / 2);
  g_assert_cmpfloat(b->tpot.mean, >, a->tpot.mean / 4);
  g_assert_cmpfloat_with_epsilon(b->ttft.mean / a->ttft.mean, 1, 0.03);
  g_assert_cmpfloat(c->ttft.mean, <, 0.75 * a->ttft.mean);
  g_assert_true(c->tpot.mean == precision->result.serving.tpot.mean);
  g_assert_cmpfloat(int8->result.serving.ttft.mean, <, 0.75 * a->ttft.mean);
}

/* H100: products at u = 0.75 to 0.9 of the peak want 920 u W. 700 W leave 550 W of them, a clock of
 * 0.93 to 0.87; 350 W leave 200 W, and below 0.78 of the clock the voltage stays: a clock of 200 /
 * (920 u 0.78^2) = 0.48 to 0.40. So prompts of 16,384 tokens take up to 0.87 / 0.40 = 2.2 times as
 * long, what waits for memory in them the same. Single sequences that decode wait for memory alone.
 */
static void test_power_limit(void) {
  static const char alone[] =
      "workload.input={tokens: 16384};workload.output={tokens: 20};workload.requests=5;"
      "workload.load={kind: constant, rate: 0.2};cluster.device.tdp=%s";
  g_autofree char *capped = g_strdup_printf(alone, "350 W"),
                  *rated = g_strdup_printf(alone, "700 W");
  g_autoptr(OrrOutcome) a = serving_run(capped);
  g_autoptr(OrrOutcome) b = serving_run(rated);
  const OrrServingResult *slow = &a->result.serving, *fast = &b->result.serving;
  g_test_message("ttft %g and %g s, tpot %g and %g s", slow->ttft.mean, fast->ttft.mean,
                 slow->tpot.mean, fast->tpot.mean);
  g_assert_cmpfloat(slow->ttft.mean, >, 1.6 * fast->ttft.mean);
  g_assert_cmpfloat(slow->ttft.mean, <, 2.2 * fast->ttft.mean);
  g_assert_cmpfloat_with_epsilon(slow->tpot.mean, fast->tpot.mean, 1e-9);
}

/* A cache of half the bytes holds twice the tokens, and long ones are read sooner. */
static void test_cache_format(void) {
  g_autoptr(OrrOutcome) wide = serving_run(ALONE "workload.input={tokens: 60000}");
  g_autoptr(OrrOutcome) narrow =
      serving_run(ALONE "workload.input={tokens: 60000};workload.kv-dtype=fp8");
  g_assert_cmpfloat(narrow->result.serving.kv_bytes_per_token * 2, ==,
                    wide->result.serving.kv_bytes_per_token);
  g_assert_cmpint(ABS(narrow->result.serving.kv_blocks - 2 * wide->result.serving.kv_blocks), <=,
                  1);
  g_assert_cmpfloat(narrow->result.serving.tpot.mean, <, wide->result.serving.tpot.mean);
}

static gboolean warns(const OrrOutcome *outcome, const char *wanted) {
  for (guint i = 0; i < outcome->warnings->len; i++)
    if (strstr(outcome->warnings->pdata[i], wanted)) return TRUE;
  return FALSE;
}

/* What a device cannot multiply is refused, what nobody measured is reported, or refused where the
 * scenario says so. */
static void test_formats_that_lack(void) {
  serving_refused("cluster.base=dgx-a100-superpod;workload.quantization=fp8",
                  "does not multiply fp8");
  serving_refused(
      "workload.quantization=nvfp4",
      "does not multiply fp4; weights alone may be narrow: quantization nvfp4-weights, ");
  serving_refused(
      "cluster.base=mi355x-roce;workload.quantization=nvfp4;workload.stack=none",
      "multiplies mxfp4, and not nvfp4; weights alone may be narrow: quantization nvfp4-");
  serving_refused("workload.precision=fp4", "does not multiply fp4");
  serving_refused("workload.quantization=awq;workload.precision=fp8", "exclude each other");
  serving_refused("workload.quantization=int8;on-missing=error", "holds no gemm int8");
  serving_refused("workload.quantization=awk", "did you mean 'awq'?");
  g_autoptr(OrrOutcome) int8 = serving_run(ALONE "workload.quantization=int8");
  g_autoptr(OrrOutcome) awq =
      serving_run(ALONE "workload.quantization=awq;cluster.base=dgx-a100-superpod");
  g_autoptr(OrrOutcome) fp8 = serving_run(ALONE "workload.quantization=fp8");
  g_assert_true(warns(int8, "holds no gemm int8"));
  g_assert_true(warns(awq, "gemm bf16 with weights of 0.52 bytes"));
  g_assert_false(warns(fp8, "holds no"));
}

/* vLLM's cache on a published fp8 checkpoint, Qwen3-235B-A22B-FP8 on 4 H100: the log of its start
 * says 178,880 tokens. 90 % of 81,559 MiB are left by 55.1 GiB of weights, 2.6 GiB of context and
 * communicators, and the start-up's sampler: 38 B for each of 1,024 x 151,936 logits, beside the
 * last hidden states of 8,192 tokens. A token takes 2 * 94 * 128 * 2 B. */
static void test_profiled_cache(void) {
  static const char model[] = "model=Qwen/Qwen3-235B-A22B-FP8;workload.parallel.tp=4;"
                              "workload.engine.kv-blocks=0;workload.engine.max-num-seqs=1024;"
                              "workload.requests=4;";
  g_autofree char *vllm = g_strconcat(model, "workload.stack=vllm-0.9", NULL);
  g_autoptr(OrrOutcome) outcome = serving_run(vllm);
  const OrrServingResult *result = &outcome->result.serving;
  const double gib = 1 << 30, tokens = (double)result->kv_blocks * 16;
  const double left = 0.9 * 81559 / 1024 * gib - result->weights_bytes - 2.6 * gib -
                      38.0 * 1024 * 151936 - 8192 * 4096.0 * 2;
  g_assert_cmpfloat(fabs(tokens - left / (2 * 94 * 128 * 2)), <=, 16);
  g_assert_cmpfloat(fabs(tokens / 178880 - 1), <, 0.1);
}

static gint64 blocks(const char *sets) {
  g_autofree char *all =
      g_strconcat("workload.engine.kv-blocks=0;workload.requests=4;", sets, NULL);
  g_autoptr(OrrOutcome) outcome = serving_run(all);
  return outcome->result.serving.kv_blocks;
}

/* Without the measurement the layers' and the sampler's memory is the cache's: 8,192 tokens of
 * Llama 3.1 8B take 8,192 (2 * 4,096 + 3 * 14,336) * 2 B, 64 sequences' logits less; a block of 16
 * tokens takes 2 MiB. */
static void test_profile_activations(void) {
  const double bytes = 8192 * (2 * 4096.0 + 3 * 14336.0) * 2;
  const gint64 with = blocks("workload.engine.profile-activations=true");
  const gint64 without = blocks("workload.engine.profile-activations=false");
  g_assert_cmpfloat(fabs((double)(without - with) - bytes / (2 << 20)), <=, 1);
  /* 64 sequences at 400 B a logit are more than that */
  const gint64 sampler = blocks("workload.engine.sampler-peak=400 B");
  const double logits = 400.0 * 64 * 128256 + 8192 * 4096.0 * 2;
  g_assert_cmpfloat(fabs((double)(without - sampler) - logits / (2 << 20)), <=, 1);
}

/* Sixteen ranks need two nodes of eight, eight do not. */
static void test_across_nodes(void) {
  static const char two[] = "cluster={base: dgx-h100-superpod, nodes: 2};workload.requests=4;";
  g_autofree char *over = g_strconcat(two, "workload.parallel.tp=16", NULL),
                  *within = g_strconcat(two, "workload.parallel.tp=8", NULL);
  g_autoptr(OrrOutcome) spans = serving_run(over);
  g_autoptr(OrrOutcome) stays = serving_run(within);
  g_assert_true(serving_warns(spans, "tp 16 spans scale-up domains of 8 GPUs"));
  g_assert_false(serving_warns(stays, "spans scale-up domains"));
}

/* Mixtral 8x7B on two GPUs, steps of 8,192 tokens, 1,024 x 32,000 logits of 14 B. Each of a token's
 * two pairs takes the wider of 2 * 7,168 and 4,096 elements and 7,168 more, 704.6 MB. Without
 * keep-workspaces the layers are the peak: these, input, residual and the pairs' sum, 3 * 4,096
 * elements a token. With it the sampler comes on top of them: the logits and one 4,096. A block of
 * 16 tokens takes 16 * 32 * 2 * 4 * 128 * 2 B = 1 MiB. */
static void test_kept_workspaces(void) {
  static const char mixtral[] = "model=mixtral-8x7b;workload.parallel.tp=2;"
                                "workload.engine.max-num-seqs=1024;"
                                "workload.engine.max-num-batched-tokens=8192;"
                                "workload.engine.sampler-peak=14 B;"
                                "workload.engine.keep-workspaces=";
  g_autofree char *freed = g_strconcat(mixtral, "false", NULL),
                  *kept = g_strconcat(mixtral, "true", NULL);
  const double pairs = 8192 * 2 * (2 * 7168 + 7168) * 2.0, width = 8192 * 4096 * 2.0;
  const double layers = pairs + 3 * width, sampler = 14.0 * 1024 * 32000 + width;
  g_assert_cmpfloat(layers, >, sampler);
  g_assert_cmpfloat(
      fabs((double)(blocks(freed) - blocks(kept)) - (pairs + sampler - layers) / (1 << 20)), <=, 1);
}

/* Formats of experts alone would change nothing in a model without any. Its parts can be named. */
static void test_formats_of_experts(void) {
  static const char *const words[] = {"mxfp4", "int4-experts"};
  for (guint i = 0; i < G_N_ELEMENTS(words); i++) {
    g_autofree char *dense = g_strconcat("workload.quantization=", words[i], NULL);
    g_autofree char *mixture = g_strconcat(SMALL "model=gpt-oss-20b;", dense, NULL);
    g_autofree char *named = g_strconcat(SMALL "workload.weights.feed-forward=", words[i], NULL);
    serving_refused(dense, "model llama-3.1-8b has none");
    g_autoptr(OrrOutcome) all = serving_run(SMALL);
    g_autoptr(OrrOutcome) some = serving_run(named);
    g_autoptr(OrrOutcome) experts = serving_run(mixture);
    g_assert_cmpfloat(some->result.serving.weights_bytes, <,
                      0.5 * all->result.serving.weights_bytes);
    g_assert_cmpint(experts->result.serving.completed, ==, 100);
  }
}

static double full_requests(const char *caching) {
  g_autofree char *sets = g_strdup_printf(
      "model=deepseek-v4-flash;workload.parallel.tp=8;workload.kv-dtype=fp8;workload.requests=2;"
      "workload.engine.kv-blocks=0;workload.input={tokens: 1000};workload.output={tokens: 2};"
      "workload.load={kind: closed-loop, concurrency: 1};workload.engine.prefix-caching=%s",
      caching);
  g_autoptr(OrrOutcome) outcome = serving_run(sets);
  return outcome->result.serving.kv_full_requests;
}

/* Each request of DeepSeek-V4 has a ring of its last 128 tokens in 41 layers, which no other
 * shares: a prefix cache that nothing hits is full from as many requests on as one without. */
static void test_rings(void) {
  const double plain = full_requests("none"), cached = full_requests("block-hash");
  g_test_message("full from %g requests on, %g with a prefix cache", plain, cached);
  g_assert_cmpfloat(fabs(cached / plain - 1), <, 0.1);
}

/* Keys that nothing reads beside the others, each with what makes it idle; what an engine reads of
 * them is silent. */
static void test_idle(void) {
  static const struct {
    const char *sets, *wanted;
  } rows[] = {
      {"workload.engine.window-room=0.5",
       "engine.window-room (0.5) has no effect: the model has no "},
      {"workload.engine.window-room=0.5;model=gemma-2-9b", NULL},
      {"workload.engine.lora={shape: {rank: 32}}",
       "engine.lora.shape has no effect: engine.lora.ada"},
      {"workload.engine.lora={adapters: 2, shape: {rank: 32}}", NULL},
      {"workload.disaggregation={overhead: 1 s}",
       "disaggregation.overhead (1 s) has no effect: disa"},
      {"workload.autoscaling={interval: 1 s}",
       "autoscaling.interval (1 s) has no effect: autoscali"},
      {"workload.beam-search={skew: 1}", "beam-search.skew (1) has no effect: beam-search.width"},
      {"workload.encoders={cache: 100}", "encoders.cache (100) has no effect: encoders.replicas"},
      {"workload.engine.host={sampling: 1 ms}", "engine.host.sampling (1 ms) has no effect: sampl"},
      {"workload.engine.host={sampling: 1 ms};workload.sampling=top-p", NULL},
      {"workload.parallel={all-to-all: nccl}", "parallel.all-to-all (nccl) has no effect: the mod"},
      {"workload.engine={stage-tensors: 1}", "engine.stage-tensors (1) has no effect: parallel.pp"},
      {"workload.engine={stage-tensors: 1};workload.parallel={pp: 2}", NULL},
  };
  for (guint i = 0; i < G_N_ELEMENTS(rows); i++) {
    g_autofree char *findings = NULL;
    g_autoptr(OrrScenario) scenario = serving_scenario(shared_library(), rows[i].sets, &findings);
    if (!scenario) g_error("%s: %s", rows[i].sets, findings);
    if (rows[i].wanted ? !strstr(findings, rows[i].wanted)
                       : strstr(findings, "has no effect") != NULL)
      g_error("%s: %s", rows[i].sets, findings);
  }
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/workloads/serving-models/laws", test_laws);
  g_test_add_func("/workloads/serving-models/windows", test_windows);
  g_test_add_func("/workloads/serving-models/chunks", test_chunks);
  g_test_add_func("/workloads/serving-models/chunked-prompts", test_chunked_prompts);
  g_test_add_func("/workloads/serving-models/chunked-kernel", test_chunked_kernel);
  g_test_add_func("/workloads/serving-models/states", test_states);
  g_test_add_func("/workloads/serving-models/latent", test_latent);
  g_test_add_func("/workloads/serving-models/images", test_images);
  g_test_add_func("/workloads/serving-models/wide-experts", test_wide_experts);
  g_test_add_func("/workloads/serving-models/lock-step", test_lock_step);
  g_test_add_func("/workloads/serving-models/weights", test_weights);
  g_test_add_func("/workloads/serving-models/speed", test_speed);
  g_test_add_func("/workloads/serving-models/power-limit", test_power_limit);
  g_test_add_func("/workloads/serving-models/cache-format", test_cache_format);
  g_test_add_func("/workloads/serving-models/profiled-cache", test_profiled_cache);
  g_test_add_func("/workloads/serving-models/profile-activations", test_profile_activations);
  g_test_add_func("/workloads/serving-models/kept-workspaces", test_kept_workspaces);
  g_test_add_func("/workloads/serving-models/across-nodes", test_across_nodes);
  g_test_add_func("/workloads/serving-models/formats-that-lack", test_formats_that_lack);
  g_test_add_func("/workloads/serving-models/formats-of-experts", test_formats_of_experts);
  g_test_add_func("/workloads/serving-models/rings", test_rings);
  g_test_add_func("/workloads/serving-models/idle", test_idle);
  return g_test_run();
}

/*
 * test_serving_beams.c - beam search: which blocks beams share, and what a search takes of an
 * engine.
 */
#include "models/inference.h"
#include "tests/workloads/serving/serving_fixture.h"
#include "workloads/serving/stations/station.h"
#include "tests/run/shared_library.h"

/* --- blocks --- */

/* Different blocks among those from @first to @last of @width beams. */
static gint64 count_blocks(const OrrBeams *beams, guint width, gint64 first, gint64 last) {
  g_autoptr(GHashTable) seen = g_hash_table_new(g_direct_hash, g_direct_equal);
  for (guint i = 0; i < width; i++)
    for (gint64 block = first; block <= last; block++)
      g_hash_table_add(seen, GUINT_TO_POINTER(orr_beams_block(beams, i, block)));
  return g_hash_table_size(seen);
}

/* A prompt of 20 tokens and blocks of 16: four beams share block 1 of the sequence; three copy
 * it for their first token, the last writes in place. Three beams' tails end where the prompt's
 * does: each begins a block of its own. */
static void test_copy_on_write(void) {
  OrrBeams *beams = orr_beams_new(4, 20, 16, 0, 1), *whole = orr_beams_new(3, 32, 16, 0, 1);
  g_assert_cmpint(count_blocks(beams, 4, 1, 1), ==, 1);
  orr_beams_append(beams);
  orr_beams_append(beams); /* there is room already */
  orr_beams_append(whole);
  g_assert_cmpint(count_blocks(beams, 4, 1, 1), ==, 4);
  g_assert_cmpint(count_blocks(whole, 3, 2, 2), ==, 3);
  orr_beams_free(beams);
  orr_beams_free(whole);
}

/* Neutral Wright-Fisher. Two beams: a block whose last token was appended s forks ago is one
 * with 1 - 2^-s. With blocks of one token and n of them, E = sum over s = 0 .. n - 1 of 1 + 2^-s
 * = n + 2 - 2^(1 - n) before the next fork. Any width: after a fork k (1 - (1 - 1/k)^k) of the
 * last blocks are left. 4,000 searches: errors of five standard deviations. */
static void test_forebears(void) {
  enum { N = 12, SEARCHES = 4000 };
  double sum = 0, squares = 0, left = 0;
  for (guint64 seed = 0; seed < SEARCHES; seed++) {
    OrrBeams *two = orr_beams_new(2, 1, 1, 0, seed), *five = orr_beams_new(5, 1, 1, 0, seed);
    for (guint token = 0; token < N; token++) {
      if (token > 0) orr_beams_fork(two);
      orr_beams_append(two);
    }
    const double n = (double)count_blocks(two, 2, 1, N);
    sum += n;
    squares += n * n;
    orr_beams_append(five);
    orr_beams_fork(five);
    left += (double)count_blocks(five, 5, 1, 1);
    orr_beams_free(two);
    orr_beams_free(five);
  }
  const double mean = sum / SEARCHES, error = sqrt((squares / SEARCHES - mean * mean) / SEARCHES);
  g_assert_cmpfloat_with_epsilon(mean, N + 2 - exp2(1 - N), 5 * error);
  g_assert_cmpfloat_with_epsilon(left / SEARCHES, 5 * (1 - pow(0.8, 5)), 5 * 0.8 / sqrt(SEARCHES));
}

/* Share of the blocks that sharing saves, over a search's steps. */
static double saved(guint width, gint64 prompt, gint64 output) {
  double shared = 0, apart = 0;
  for (guint64 seed = 0; seed < 50; seed++) {
    OrrBeams *beams = orr_beams_new(width, prompt, 16, 0, seed);
    for (gint64 token = 1; token < output; token++) {
      if (token > 1) orr_beams_fork(beams);
      orr_beams_append(beams);
      const gint64 last = (prompt + token - 1) / 16;
      shared += (double)(prompt / 16 + count_blocks(beams, width, prompt / 16, last));
      apart += (double)(width * ((prompt + token + 15) / 16));
    }
    orr_beams_free(beams);
  }
  return 1 - shared / apart;
}

/* Kwon et al. 2023 (vLLM), section 6.3, measured on OPT-13B with widths of 2 to 6: beam search
 * saves 37.6 to 55.2 % of the blocks on Alpaca (19.3 tokens in, 58.5 out, in the mean) and 44.3
 * to 66.3 % on ShareGPT (161.3 and 338.0). Mean lengths and beams that have children alike come
 * within four points, but for six long beams, which share 12 points less than that; nothing is
 * fitted. */
static void test_measured(void) {
  static const struct {
    guint width;
    gint64 prompt, output;
    double share;
  } all[] = {{2, 19, 58, 0.376}, {6, 19, 58, 0.552}, {2, 161, 338, 0.443}, {6, 161, 338, 0.663}};
  for (guint i = 0; i < G_N_ELEMENTS(all); i++) {
    const double share = saved(all[i].width, all[i].prompt, all[i].output);
    g_test_message("width %u, %d + %d tokens: %.1f %% saved, measured %.1f %%", all[i].width,
                   (int)all[i].prompt, (int)all[i].output, 100 * share, 100 * all[i].share);
    g_assert_cmpfloat_with_epsilon(share, all[i].share, i < 3 ? 0.04 : 0.13);
  }
}

/* Five beams' candidates: four passes over 128,256 numbers of 4 bytes each. */
static void test_candidates(void) {
  OrrLibrary *library = shared_library();
  g_autofree char *findings = NULL;
  g_autoptr(OrrScenario) scenario = serving_scenario(library, "", &findings);
  g_autoptr(GArray) operators = g_array_new(FALSE, TRUE, sizeof(OrrOperator));
  const OrrInferenceShard shard = {.tp = 2};
  double bytes = 0;
  orr_inference_candidates(&scenario->model, &shard, 5, operators);
  for (guint i = 0; i < operators->len; i++)
    bytes += g_array_index(operators, OrrOperator, i).bytes;
  g_assert_cmpfloat_with_epsilon(bytes, 5 * 128256 * 4.0 * 4, 1);
}

/* --- engines --- */

#define ALONE                                                                                      \
  "workload.load={kind: closed-loop, concurrency: 1};workload.requests=3;workload.input={tokens: " \
  "1000};"                                                                                         \
  "workload.output={tokens: 50};"
#define CACHED "workload.engine.prefix-caching=block-hash;"

/* One beam is not a search. */
static void test_one(void) {
  g_autoptr(OrrOutcome) plain = serving_run(ALONE);
  g_autoptr(OrrOutcome) one = serving_run(ALONE "workload.beam-search={width: 1}");
  g_assert_true(plain->result.serving.e2e.mean == one->result.serving.e2e.mean);
}

/* The front end: 50 rounds of a step each. Round t > 0 looks 4 (1,000 + t) tokens up and finds
 * all whole blocks of what was there before it, 16 floor((999 + t) / 16) each. Each round waits
 * for the front end: 50 times host.token. First and last token come together, and the client
 * gets 200 tokens. */
static void test_rounds(void) {
  g_autoptr(OrrOutcome) outcome = serving_run(ALONE CACHED "workload.beam-search={width: 4}");
  g_autoptr(OrrOutcome) late =
      serving_run(ALONE CACHED "workload.beam-search={width: 4};workload.engine.host.token=3 ms");
  g_autoptr(OrrOutcome) anew = serving_run(ALONE "workload.beam-search={width: 4}");
  const OrrServingResult *a = &outcome->result.serving, *b = &late->result.serving,
                         *c = &anew->result.serving;
  double asked = 1000, found = 0;
  for (int t = 1; t < 50; t++) {
    asked += 4 * (1000 + t);
    found += 4 * 16 * ((999 + t) / 16);
  }
  g_assert_cmpint(a->steps, ==, 3 * 50);
  g_assert_cmpfloat_with_epsilon(a->prefix_hit_rate, found / asked, 1e-9);
  g_assert_cmpfloat_with_epsilon(b->e2e.mean - a->e2e.mean, 50 * 3e-3, 1e-9);
  g_assert_cmpfloat_with_epsilon(a->output_tokens_per_s * a->duration_s, 3 * 50 * 4, 1e-6);
  g_assert_true(a->ttft.mean == a->e2e.mean);
  g_assert_cmpfloat(
      c->e2e.mean, >,
      2 * a->e2e.mean); /* without a cache prompts are computed 50 times, four at once */
  g_assert_cmpint(c->steps, ==, 3 * 50);
}

/* Under every scheduler, with little room or much, whichever nodes are lost: all searches end,
 * blocks are conserved at every step (by the run itself), Little's law holds, and full fidelity
 * gives the same. */
static void test_laws(void) {
  static const char *const kinds[] = {
      "",
      "workload.engine.kv-blocks=500",
      "workload.engine.max-num-batched-tokens=64;workload.engine.max-num-seqs=7",
      "workload.engine.scheduler=sarathi",
      "workload.engine.scheduler=fair",
      "workload.engine.scheduler=prefill-first",
      "workload.engine.lora={adapters: 5, max-loras: 2, shape: {rank: 8}}",
      "workload.parallel.pp=2",
      "workload.parallel.dp-attention=2",
      "workload.output={tokens: 1}",
      "workload.replicas=2;workload.engine.host.token=5 ms;workload.start.weights=false;"
      "workload.autoscaling={by: {kind: queue, target: 3}, interval: 1 s, down-after: 2 s}",
      "cluster.nodes=2;workload.replicas=16;workload.start.weights=false;workload.engine.host."
      "token=5 ms;"
      "faults=[{at: 2 s, until: 4 s, fault: {kind: node-lost, node: 0}}]",
  };
  static const char *const ways[] = {"workload.beam-search={width: 3};",
                                     "workload.beam-search={width: 3, skew: 1};" CACHED};
  for (guint k = 0; k < G_N_ELEMENTS(kinds); k++)
    for (guint way = 0; way < G_N_ELEMENTS(ways); way++) {
      g_autofree char *sets =
          g_strconcat("workload.requests=30;workload.load={kind: poisson, rate: 4};"
                      "workload.output={tokens: 40};",
                      ways[way], kinds[k], NULL);
      g_autofree char *full = g_strconcat("fidelity=full;", sets, NULL);
      g_autoptr(OrrOutcome) a = serving_run(sets);
      g_autoptr(OrrOutcome) b = serving_run(full);
      g_assert_cmpint(a->result.serving.completed, ==, 30);
      g_assert_cmpfloat(a->result.serving.littles_law_error, <, 1e-9);
      g_assert_true(a->result.serving.e2e.mean == b->result.serving.e2e.mean);
    }
}

static void test_refused(void) {
  serving_refused("workload.beam-search={width: 65}", "above engine.max-num-seqs (64)");
  serving_refused("workload.beam-search={width: 0}", "width");
  serving_refused("workload.beam-search={width: 2};workload.samples=2", "exclude each other");
  serving_refused("workload.beam-search={width: 2};workload.engine.speculation={kind: ngram, "
                  "num-speculative-tokens: 2, "
                  "acceptance: [1], found: 1}",
                  "exclude each other: vLLM refuses them");
  serving_refused(
      "workload.beam-search={width: 2};workload.replicas=2;workload.disaggregation={prefill: 1}",
      "never handed over");
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/workloads/serving-beams/copy-on-write", test_copy_on_write);
  g_test_add_func("/workloads/serving-beams/forebears", test_forebears);
  g_test_add_func("/workloads/serving-beams/measured", test_measured);
  g_test_add_func("/workloads/serving-beams/candidates", test_candidates);
  g_test_add_func("/workloads/serving-beams/one", test_one);
  g_test_add_func("/workloads/serving-beams/rounds", test_rounds);
  g_test_add_func("/workloads/serving-beams/laws", test_laws);
  g_test_add_func("/workloads/serving-beams/refused", test_refused);
  return g_test_run();
}

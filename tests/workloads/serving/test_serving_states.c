/*
 * test_serving_states.c - sequences with a state: kept where blocks end, found again, handed over.
 */
#include "tests/workloads/serving/serving_fixture.h"
#include "workloads/serving/core/kv.h"

static OrrKv *three_of_state(gint64 n_blocks) {
  const OrrKvLayout layout = {.state_blocks = 2.5}; /* three whole blocks */
  OrrKv *kv = orr_kv_new(n_blocks, 16, ORR_PREFIX_BLOCK_HASH);
  orr_kv_lay_out(kv, &layout);
  return kv;
}

/* One step's end of @request, at @computed. */
static void step_ends(OrrKv *kv, OrrRequest *request, gint32 computed) {
  const gint64 before = request->computed;
  g_assert_true(orr_kv_grow(kv, request, computed));
  request->computed = computed;
  orr_kv_publish(kv, request, before);
  g_assert_true(orr_kv_check(kv));
}

/* 70 tokens in steps of 32, 32 and 6 leave states at 32 and 64. A prompt that goes on finds 64;
 * one that is equal for 64 tokens alone, whose last must be computed, goes on from 32, although
 * three of its blocks are there. */
static void test_found(void) {
  g_autoptr(OrrKv) kv = three_of_state(40);
  OrrRequest first = {.id = 1, .prompt = 70, .output = 1, .stream = 9};
  OrrRequest longer = {.id = 2, .prompt = 90, .output = 1, .stream = 9};
  OrrRequest equal = {.id = 3, .prompt = 64, .output = 1, .stream = 9};
  g_assert_cmpint(orr_kv_needed(kv, &first, 70, 0), ==, 5 + 3);
  step_ends(kv, &first, 32);
  g_assert_cmpint(orr_kv_n_free(kv), ==, 40 - 2 - 3);
  step_ends(kv, &first, 64);
  step_ends(kv, &first, 70);
  g_assert_cmpint(orr_kv_n_free(kv), ==, 40 - 5 - 3);
  g_assert_cmpint(orr_kv_lookup(kv, &longer), ==, 64);
  g_assert_cmpint(orr_kv_lookup(kv, &equal), ==, 32);
  g_assert_cmpint(orr_kv_needed(kv, &longer, 90, 64), ==,
                  2 + 3); /* four of six are shared with the first */
  orr_kv_share(kv, &longer, 64);
  step_ends(kv, &longer, 90);
  g_assert_cmpint(orr_kv_n_free(kv), ==, 40 - 5 - 3 - 2 - 3);
  orr_kv_release(kv, &first);
  orr_kv_release(kv, &longer);
  g_assert_cmpint(orr_kv_n_free(kv), ==, 40);
  g_assert_true(orr_kv_check(kv));
}

/* 8 blocks: 5 of tokens and 3 of the state; each state that is kept takes the room of what was
 * kept longest. At the end nothing is lost, and what was evicted is not found. */
static void test_little_room(void) {
  g_autoptr(OrrKv) kv = three_of_state(8);
  OrrRequest first = {.id = 1, .prompt = 64, .output = 1, .stream = 9},
             again = {.id = 2, .prompt = 90, .stream = 9};
  for (gint32 computed = 16; computed <= 64; computed += 16) step_ends(kv, &first, computed);
  g_assert_false(orr_kv_grow(kv, &first, 81));
  orr_kv_release(kv, &first);
  g_assert_cmpint(orr_kv_n_free(kv), ==, 8);
  const gint64 found = orr_kv_lookup(kv, &again);
  g_assert_cmpint(found, <=, 64);
  g_assert_cmpint(found % 16, ==, 0);
}

#define MODEL "model=nemotron-h-8b;workload.engine.prefix-caching=block-hash;"
#define ONE "workload.load={kind: closed-loop, concurrency: 1};workload.output={tokens: 8};"

/* Prompts that share 1,000 tokens and have 100 of their own, blocks of 16: the first one's steps
 * end at 1,088 = 68 blocks and 1,100, so that no state is kept at the end of what is shared, and
 * nothing is found. With steps of 992 tokens, 62 blocks, a state is kept there: each but the
 * first finds 992 of 1,100 tokens. */
static void test_steps_end_at_blocks(void) {
  static const char load[] =
      MODEL ONE "workload.requests=11;workload.shared-prefix=1000;workload.input={tokens: 100};"
                "workload.engine.max-num-batched-tokens=%d";
  g_autofree char *large = g_strdup_printf(load, 8192), *fit = g_strdup_printf(load, 992);
  g_autoptr(OrrOutcome) a = serving_run(large);
  g_autoptr(OrrOutcome) b = serving_run(fit);
  g_assert_cmpfloat(a->result.serving.prefix_hit_rate, ==, 0);
  g_assert_cmpfloat_with_epsilon(b->result.serving.prefix_hit_rate, 10 * 992 / (11 * 1100.0), 1e-9);
  g_assert_cmpfloat(b->result.serving.ttft.p50, <, 0.7 * a->result.serving.ttft.p50);
}

/* A conversation goes on from the last block of the turn before: states are kept while tokens
 * are generated too. In blocks of 528 tokens, as vLLM sets them for this model, a state is 102.1
 * MB / (528 * 16,384 B) = 11.8, 12 blocks; in blocks of 16 it is 390, one is kept for each 16
 * tokens, and they push each other out of as large a cache. */
static void test_conversations(void) {
  static const char load[] =
      MODEL "workload.load={kind: sessions, rate: 0.5, longest: 8000};workload.requests=60;"
            "workload.engine.block-size=%d;workload.engine.kv-blocks=%d";
  g_autofree char *of_528 = g_strdup_printf(load, 528, 606),
                  *of_16 = g_strdup_printf(load, 16, 20000);
  g_autoptr(OrrOutcome) large = serving_run(of_528);
  g_autoptr(OrrOutcome) small = serving_run(of_16);
  g_test_message("found: %g, %g", large->result.serving.prefix_hit_rate,
                 small->result.serving.prefix_hit_rate);
  g_assert_cmpfloat(large->result.serving.prefix_hit_rate, >,
                    1.5 * small->result.serving.prefix_hit_rate);
  g_assert_cmpfloat(large->result.serving.littles_law_error, <, 1e-9);
}

/* Under every scheduler, with little room or much, all come out. */
static void test_laws(void) {
  static const char *const kinds[] = {
      "",
      "workload.engine.kv-blocks=1200",
      "workload.engine.kv-blocks=1200;workload.engine.preemption=swap",
      "workload.engine.scheduler=sarathi",
      "workload.engine.scheduler=trtllm",
      "workload.engine.scheduler=sglang;workload.engine.prefix-caching=radix",
      "workload.parallel.pp=2",
      "workload.engine.max-num-batched-tokens=64;workload.engine.max-num-seqs=8",
      "workload.engine.block-size=528;workload.engine.kv-blocks=800"};
  for (guint k = 0; k < G_N_ELEMENTS(kinds); k++) {
    g_autofree char *sets = g_strconcat(MODEL "workload.requests=60;workload.shared-prefix=640;"
                                              "workload.load={kind: poisson, rate: 3};",
                                        kinds[k], NULL);
    g_autofree char *steps = g_strconcat("fidelity=full;", sets, NULL);
    g_autoptr(OrrOutcome) a = serving_run(sets);
    g_autoptr(OrrOutcome) b = serving_run(steps);
    g_assert_cmpint(a->result.serving.completed, ==, 60);
    g_assert_cmpfloat(a->result.serving.littles_law_error, <, 1e-9);
    g_assert_true(a->result.serving.e2e.mean == b->result.serving.e2e.mean);
  }
}

/* --- separate prefill and decode --- */

#define APART                                                                                      \
  "model=nemotron-h-8b;workload.replicas=2;workload.disaggregation.prefill=1;workload.output={"    \
  "tokens: 8};"                                                                                    \
  "workload.load={kind: constant, rate: 0.5};workload.requests=10;"

static double bytes_of(const char *sets) {
  g_autoptr(OrrOutcome) outcome = serving_run(sets);
  return outcome->result.serving.handover_bytes;
}

/* Nemotron-H 8B: 4 layers of attention with 2 * 8 * 128 elements of 2 bytes per token, 16,384
 * bytes; 24 layers of Mamba-2 with 128 heads of 64 times a state of 128 in fp32, and 3 tokens of
 * 8,192 + 2 * 8 * 128 channels of convolution in 2 bytes: 102.1 MB. The second is there once a
 * request, whatever its prompt, layout and way of transfer. */
static void test_bytes(void) {
  const double brief = bytes_of(APART "workload.input={tokens: 1000}");
  const double lengthy = bytes_of(APART "workload.input={tokens: 3000}");
  const double token = (lengthy - brief) / (10 * 2000), state = brief / 10 - 1000 * token;
  g_assert_cmpfloat_with_epsilon(token, 4 * 2 * 8 * 128 * 2.0, 1e-6);
  g_test_message("state of %g bytes", state);
  g_assert_cmpfloat_with_epsilon(state,
                                 24 * (4.0 * 128 * 64 * 128 + 2.0 * 3 * (8192 + 2 * 8 * 128)), 1);
  const double pushed =
      bytes_of(APART "workload.input={tokens: 1000};workload.disaggregation.transfer=per-layer");
  const double ranks = bytes_of(APART "workload.input={tokens: 1000};workload.parallel.tp=2");
  g_assert_cmpfloat_with_epsilon(pushed, brief, 1);
  g_assert_cmpfloat_with_epsilon(ranks, brief, 1e-3 * brief);
}

/* --- states alone --- */

#define RWKV "model=rwkv-7-1.5b;"
/* Of a request: 24 layers of 32 states of 64 x 64 in fp32 and two tokens of 2,048 in 16 bits. */
#define RWKV_STATE (24 * (4.0 * 32 * 64 * 64 + 2.0 * 2 * 2048))

/* Room for 16 states is room for 16 requests, as long as they may be: 16 of them run, as where
 * max-num-seqs is 16, and none is preempted. A GPU of 80 GiB without kv-blocks has room for as many
 * states as fit beside the weights. */
static void test_room_for_states(void) {
  static const char load[] =
      RWKV "workload.load={kind: closed-loop, concurrency: 32};workload.requests=96;"
           "workload.input={kind: fixed, tokens: %d};workload.output={kind: fixed, tokens: 64};"
           "workload.engine.kv-blocks=%d;workload.engine.max-num-seqs=%d";
  for (int tokens = 16; tokens < 4000; tokens += 3900) {
    g_autofree char *room = g_strdup_printf(load, tokens, 16, 64);
    g_autofree char *seqs = g_strdup_printf(load, tokens, 64, 16);
    g_autoptr(OrrOutcome) a = serving_run(room);
    g_autoptr(OrrOutcome) b = serving_run(seqs);
    g_assert_cmpint(a->result.serving.completed, ==, 96);
    g_assert_cmpint(a->result.serving.preemptions, ==, 0);
    g_assert_cmpfloat(a->result.serving.kv_peak, ==, 1);
    g_assert_cmpfloat(b->result.serving.kv_peak, ==, 0.25);
    g_assert_cmpfloat_with_epsilon(a->result.serving.e2e.mean / b->result.serving.e2e.mean, 1,
                                   1e-9);
    g_assert_cmpfloat(a->result.serving.littles_law_error, <, 1e-9);
  }
  g_autoptr(OrrOutcome) whole = serving_run(RWKV "workload.engine.kv-blocks=0;workload.requests=1");
  const OrrServingResult *result = &whole->result.serving;
  const double used = (double)result->kv_blocks * RWKV_STATE + result->weights_bytes;
  g_test_message("%ld states", result->kv_blocks);
  g_assert_cmpfloat(used, <, 80e9);
  g_assert_cmpfloat(used, >, 0.8 * 80e9);
}

/* A step that decodes takes as long behind 16 tokens as behind 4,000. */
static void test_length_does_not_matter(void) {
  static const char load[] =
      RWKV "workload.load={kind: closed-loop, concurrency: 1};workload.requests=2;"
           "workload.input={kind: fixed, tokens: %d};workload.output={kind: fixed, tokens: 64}";
  g_autofree char *brief = g_strdup_printf(load, 16), *lengthy = g_strdup_printf(load, 4000);
  g_autoptr(OrrOutcome) a = serving_run(brief);
  g_autoptr(OrrOutcome) b = serving_run(lengthy);
  g_assert_cmpfloat_with_epsilon(a->result.serving.itl.p50 / b->result.serving.itl.p50, 1, 1e-9);
  g_assert_cmpfloat(b->result.serving.ttft.p50, >, 2 * a->result.serving.ttft.p50);
}

/* A state is handed over once, whatever the prompt. */
static void test_states_handed_over(void) {
  static const char load[] =
      RWKV "workload.replicas=2;workload.disaggregation.prefill=1;workload.output={tokens: 8};"
           "workload.load={kind: constant, rate: 0.5};workload.requests=10;"
           "workload.input={kind: fixed, tokens: %d}";
  g_autofree char *brief = g_strdup_printf(load, 100), *lengthy = g_strdup_printf(load, 3000);
  g_assert_cmpfloat_with_epsilon(bytes_of(brief) / (10 * RWKV_STATE), 1, 1e-9);
  g_assert_cmpfloat_with_epsilon(bytes_of(lengthy) / (10 * RWKV_STATE), 1, 1e-9);
}

static void test_states_alone_refused(void) {
  serving_refused(RWKV "workload.engine.prefix-caching=block-hash",
                  "test.yaml:7:3: error: engine.prefix-caching of model rwkv-7-1.5b: its layers "
                  "keep states alone");
  serving_refused(RWKV "workload.engine.prefix-caching=radix;workload.engine.scheduler=sglang",
                  "so there are no key-value blocks for prompts to share");
  serving_refused(RWKV "workload.parallel.tp=3", "test.yaml:7:3: error: ");
  serving_refused("model={base: llama-3.1-8b, layout: [dense], parameters: 0}",
                  "has no layer with a key-value cache or a state");
}

static void test_refused(void) {
  serving_refused(MODEL "workload.engine.scheduler=prefill-first", "Chunked prefill is required");
  serving_refused(MODEL "workload.engine.block-size=16384", "must be <= max_num_batched_tokens");
  serving_refused(MODEL "workload.engine.cache-tiers={host: 10 GB}",
                  "states are kept in HBM alone");
  serving_refused(MODEL "workload.replicas=2;workload.disaggregation={prefill: 1}",
                  "SSM can only have one local block");
  serving_refused("model=nemotron-h-8b;workload.disaggregation={prefill: "
                  "1};workload.groups=[{parallel: {tp: 2}}]",
                  "require homogeneous TP");
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/workloads/serving-states/found", test_found);
  g_test_add_func("/workloads/serving-states/little-room", test_little_room);
  g_test_add_func("/workloads/serving-states/steps-end-at-blocks", test_steps_end_at_blocks);
  g_test_add_func("/workloads/serving-states/conversations", test_conversations);
  g_test_add_func("/workloads/serving-states/laws", test_laws);
  g_test_add_func("/workloads/serving-states/bytes", test_bytes);
  g_test_add_func("/workloads/serving-states/room-for-states", test_room_for_states);
  g_test_add_func("/workloads/serving-states/length-does-not-matter", test_length_does_not_matter);
  g_test_add_func("/workloads/serving-states/states-handed-over", test_states_handed_over);
  g_test_add_func("/workloads/serving-states/states-alone-refused", test_states_alone_refused);
  g_test_add_func("/workloads/serving-states/refused", test_refused);
  return g_test_run();
}

/*
 * test_rollout_replica.c - one engine, by hand: prompts in a step, responses that end together, and
 * one that is longer.
 *
 * Seconds of a step come from rollout_replica.h; here they are added up by another way.
 */
#include <string.h>

#include "sim/base/yaml.h"
#include "sim/run/scenario.h"
#include "sim/run/world.h"
#include "workloads/post_training/post_training_parts.h"
#include "workloads/post_training/rollout_replica.h"

#define TEXT(engine)                                                                               \
  "schema: scenario/1\n"                                                                           \
  "name: engine\n"                                                                                 \
  "cluster: {base: dgx-h100-superpod, nodes: 1, gpus: 2}\n"                                        \
  "model: llama-3.2-1b\n"                                                                          \
  "workload: {kind: post-training, prompts: 4, samples: 4, prompt: {tokens: 100}, "                \
  "response: {tokens: 20}, rollout: {engine: {max-model-len: 4096, " engine "}}, "                 \
  "update: {batch: {global: 4}, sequence: 4096}}\n"
#define PLAIN TEXT("prefix-caching: none")
#define CACHED TEXT("prefix-caching: block-hash")

/* One engine and what it needs. */
typedef struct {
  OrrScenario *scenario;
  OrrRunWorld *machine;
  OrrWorld world;
  OrrPostTrainingParts *parts;
  OrrRolloutSpeed *speed;
  OrrEngine *engine;
  OrrRolloutContext context;
  OrrRolloutReplica *replica;
  double ends[8]; /* by sample */
  guint n_ends;
} Bench;

static void ended(void *user, OrrRolloutSample *sample) {
  Bench *bench = user;
  bench->ends[sample->id] = orr_engine_now(bench->engine);
  bench->n_ends++;
}

static void open_world(Bench *bench, const char *text) {
  static OrrLibrary *library = NULL;
  if (!library) library = orr_library_new(NULL);
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_autoptr(GError) error = NULL;
  g_autoptr(OrrNode) tree = orr_yaml_parse(text, strlen(text), "engine.yaml", diags);
  bench->scenario = orr_scenario_read(library, tree, diags);
  g_assert_nonnull(bench->scenario);
  bench->machine = orr_run_world_new(library, bench->scenario, &error);
  g_assert_no_error(error);
  bench->world = (OrrWorld){.model = &bench->scenario->model,
                            .cluster = &bench->scenario->cluster,
                            .fabric = bench->machine->fabric,
                            .cost = bench->machine->cost,
                            .cost_of = orr_run_world_cost_of,
                            .machines = bench->machine,
                            .plans = bench->machine->plans};
  bench->parts = orr_post_training_parts_new(bench->scenario->workload.params,
                                             &bench->scenario->model, &bench->scenario->cluster);
}

static Bench *bench_new(const char *text) {
  Bench *bench = g_new0(Bench, 1);
  g_autoptr(GError) error = NULL;
  open_world(bench, text);
  bench->speed = orr_rollout_speed_new(&bench->parts->rollout, &bench->world, &error);
  g_assert_no_error(error);
  bench->engine = orr_engine_new(ORR_ENGINE_IDEAL, &error);
  g_assert_no_error(error);
  bench->context =
      (OrrRolloutContext){.engine = bench->engine,
                          .speed = bench->speed,
                          .samples = g_ptr_array_new_with_free_func(orr_rollout_sample_free),
                          .ended = ended,
                          .user = bench};
  bench->replica = orr_rollout_replica_new(&bench->context, 0);
  return bench;
}

static void bench_free(Bench *bench) {
  orr_rollout_replica_free(bench->replica);
  g_ptr_array_unref(bench->context.samples);
  orr_engine_free(bench->engine);
  orr_rollout_speed_free(bench->speed);
  orr_post_training_parts_free(bench->parts);
  orr_run_world_free(bench->machine);
  orr_scenario_free(bench->scenario);
  g_free(bench);
}
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Bench, bench_free)

/* Responses of one group to a prompt of 100 tokens; all are there when the engine begins. */
static void add_all(Bench *bench, const gint32 *tokens, guint n) {
  orr_rollout_replica_pause(bench->replica);
  for (guint i = 0; i < n; i++) {
    OrrRolloutSample *sample = g_new0(OrrRolloutSample, 1);
    *sample = (OrrRolloutSample){.id = i, .prompt = 100, .context = 100, .left = tokens[i]};
    g_ptr_array_add(bench->context.samples, sample);
    orr_rollout_replica_add(bench->replica, sample);
  }
  orr_rollout_replica_resume(bench->replica, FALSE);
}

static void run(Bench *bench) {
  g_autoptr(GError) error = NULL;
  g_assert_true(orr_engine_run(bench->engine, &error));
}

/* k steps of n sequences with @keys before them, which grow by n a step: the middle's, k times. */
static double steps(Bench *bench, guint n, double keys, double k) {
  return k * orr_rollout_speed_decode(bench->speed, n, keys + n * (k - 1) / 2);
}

/* The prompts' step writes a token of each. 19 steps of four, from 100 keys each, end three; 30 of
 * the last one, from 119 keys, are the tail. */
static void test_tail(void) {
  static const gint32 tokens[] = {20, 20, 20, 50};
  g_autoptr(Bench) bench = bench_new(PLAIN);
  add_all(bench, tokens, 4);
  run(bench);
  const double body_s = orr_rollout_speed_prompt(bench->speed, 0, 400) + steps(bench, 4, 400, 19);
  const double tail_s = steps(bench, 1, 119, 30);
  g_assert_cmpuint(bench->n_ends, ==, 4);
  for (int i = 0; i < 3; i++) g_assert_cmpfloat_with_epsilon(bench->ends[i], body_s, 1e-12);
  g_assert_cmpfloat_with_epsilon(bench->ends[3], body_s + tail_s, 1e-12);
  g_assert_cmpfloat(tail_s, >, body_s); /* one sequence takes nearly as long per step as four */
  const OrrRolloutTotals *totals = orr_rollout_replica_totals(bench->replica);
  g_assert_cmpfloat_with_epsilon(totals->busy_s, body_s + tail_s, 1e-12);
  g_assert_cmpfloat_with_epsilon(totals->decoded, 110, 1e-9);
  g_assert_cmpfloat_with_epsilon(totals->prompted, 400, 1e-9);
}

/* With prefix caching the first computes the prompt; the others compute what its six whole blocks
 * of 16 tokens leave of it, four each. */
static void test_shared_prompt(void) {
  static const gint32 tokens[] = {1, 1, 1, 1};
  g_autoptr(Bench) bench = bench_new(CACHED);
  add_all(bench, tokens, 4);
  run(bench);
  g_assert_cmpfloat_with_epsilon(bench->ends[3], orr_rollout_speed_prompt(bench->speed, 0, 112),
                                 1e-12);
}

/* Responses of seven lengths in an order in which the least end is at times a heap's right child:
 * each ends after its own tokens. With n sequences left, k more tokens are k steps of n. */
static void test_ends_in_order(void) {
  static const gint32 tokens[] = {10, 50, 20, 60, 70, 30, 40};
  static const guint shortest_first[] = {0, 2, 5, 6, 1, 3, 4};
  g_autoptr(Bench) bench = bench_new(PLAIN);
  gint32 n = G_N_ELEMENTS(tokens);
  add_all(bench, tokens, G_N_ELEMENTS(tokens));
  run(bench);
  double at_s = orr_rollout_speed_prompt(bench->speed, 0, n * 100), keys = n * 100;
  gint32 written = 1;
  for (guint i = 0; i < G_N_ELEMENTS(tokens); i++, n--) {
    const gint32 length = tokens[shortest_first[i]], k = length - written;
    at_s += steps(bench, (guint)n, keys, k);
    g_assert_cmpfloat_with_epsilon(bench->ends[shortest_first[i]], at_s, 1e-12);
    keys += n * k - (99 + length);
    written = length;
  }
}

static void add_group(Bench *bench, guint group, gint32 prompt, guint n) {
  for (guint i = 0; i < n; i++) {
    OrrRolloutSample *sample = g_new0(OrrRolloutSample, 1);
    *sample = (OrrRolloutSample){.id = bench->context.samples->len,
                                 .group = group,
                                 .prompt = prompt,
                                 .context = prompt,
                                 .left = 1};
    g_ptr_array_add(bench->context.samples, sample);
    orr_rollout_replica_add(bench->replica, sample);
  }
}

/* A group that has left gives back its sequences and its one prompt, no more and no less: of four
 * prompts of 1,500 tokens, 94 blocks each, three fit in 300 blocks afterwards, as in an empty
 * cache. */
static void test_shared_prompt_is_given_back(void) {
  g_autoptr(Bench) bench = bench_new(TEXT("prefix-caching: block-hash, kv-blocks: 300"));
  const gint32 third = 1500;
  add_group(bench, 0, third, 3);
  run(bench);
  g_assert_cmpuint(bench->n_ends, ==, 3);
  orr_rollout_replica_pause(bench->replica);
  for (guint group = 1; group <= 4; group++) add_group(bench, group, third, 1);
  orr_rollout_replica_resume(bench->replica, FALSE);
  run(bench);
  g_assert_cmpuint(bench->n_ends, ==, 7);
  g_assert_cmpfloat(bench->ends[3], ==, bench->ends[4]);
  g_assert_cmpfloat(bench->ends[3], ==, bench->ends[5]);
  g_assert_cmpfloat(bench->ends[6], >, bench->ends[5]);
}

/* Emptied in its sixth step of decoding, it gives five tokens and the one of the prompts' step. */
static void empty(void *user) {
  Bench *bench = user;
  g_autoptr(GPtrArray) samples = g_ptr_array_new();
  orr_rollout_replica_pause(bench->replica);
  orr_rollout_replica_empty(bench->replica, samples);
  g_assert_cmpuint(samples->len, ==, 4);
  for (guint i = 0; i < 4; i++) {
    const OrrRolloutSample *sample = samples->pdata[i];
    g_assert_cmpint(sample->response, ==, 6);
    g_assert_cmpint(sample->left, ==, 14);
    g_assert_cmpint(sample->context, ==, 106);
  }
  g_assert_cmpuint(orr_rollout_replica_load(bench->replica), ==, 0);
}

static void test_empty(void) {
  static const gint32 tokens[] = {20, 20, 20, 20};
  g_autoptr(Bench) bench = bench_new(PLAIN);
  add_all(bench, tokens, 4);
  const double each = steps(bench, 4, 400, 19) / 19;
  orr_engine_after(bench->engine, orr_rollout_speed_prompt(bench->speed, 0, 400) + 5.5 * each,
                   empty, bench);
  run(bench);
  g_assert_cmpuint(bench->n_ends, ==, 0);
}

/* A tool answers with 64 tokens: of the 100 + 20 + 64 that the second turn begins with, the cache
 * has 112, the whole blocks of the 119 that the first turn computed: its last token was not. */
static void test_second_turn(void) {
  static const gint32 tokens[] = {20};
  g_autoptr(Bench) bench = bench_new(CACHED);
  add_all(bench, tokens, 1);
  run(bench);
  const double first_s = bench->ends[0];
  OrrRolloutSample *sample = bench->context.samples->pdata[0];
  g_assert_cmpint(sample->context, ==, 120);
  sample->context += 64;
  sample->left = 1;
  orr_rollout_replica_add(bench->replica, sample);
  run(bench);
  g_assert_cmpfloat_with_epsilon(bench->ends[0] - first_s,
                                 orr_rollout_speed_prompt(bench->speed, 0, 184 - 112), 1e-12);
}

/* Responses that outgrow the cache: the newest is preempted, and all end in spite of it. Two
 * prompts of 1,600 tokens and 800 more each take 300 blocks of 16, one more than there are. */
static void test_full_cache(void) {
  g_autoptr(Bench) bench = bench_new(TEXT("prefix-caching: none, kv-blocks: 299"));
  static const gint32 tokens[] = {801, 801};
  add_all(bench, tokens, 2);
  for (guint i = 0; i < 2; i++) {
    OrrRolloutSample *sample = bench->context.samples->pdata[i];
    sample->request.prompt = sample->prompt = sample->context = 1600;
  }
  run(bench);
  g_assert_cmpuint(bench->n_ends, ==, 2);
  g_assert_cmpint(orr_rollout_replica_totals(bench->replica)->preemptions, ==, 1);
  g_assert_cmpfloat(bench->ends[1], >, bench->ends[0]);
  g_assert_cmpfloat_with_epsilon(orr_rollout_replica_totals(bench->replica)->decoded, 1602, 1e-9);
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/rollout-replica/tail", test_tail);
  g_test_add_func("/rollout-replica/shared-prompt", test_shared_prompt);
  g_test_add_func("/rollout-replica/ends-in-order", test_ends_in_order);
  g_test_add_func("/rollout-replica/shared-prompt-is-given-back", test_shared_prompt_is_given_back);
  g_test_add_func("/rollout-replica/empty", test_empty);
  g_test_add_func("/rollout-replica/second-turn", test_second_turn);
  g_test_add_func("/rollout-replica/full-cache", test_full_cache);
  return g_test_run();
}

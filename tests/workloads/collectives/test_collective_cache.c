/*
 * test_collective_cache.c - a plan from the cache is the plan that would be made, whatever was
 * asked before it.
 */
#include "sim/base/random.h"
#include "tests/workloads/collectives/test_collective_fixture.h"
#include "workloads/collectives/collective_cache.h"

#define N_CALLS 2000

static void assert_equal(const OrrCollectivePlan *found, const OrrCollectivePlan *expected) {
  g_assert_true(found->algorithm == expected->algorithm && found->protocol == expected->protocol);
  g_assert_true(found->how == expected->how && found->predicted_s == expected->predicted_s);
  g_assert_cmpuint(found->phases->len, ==, expected->phases->len);
  for (guint k = 0; k < found->phases->len; k++) {
    const OrrCollectivePhase *a = &g_array_index(found->phases, OrrCollectivePhase, k),
                             *b = &g_array_index(expected->phases, OrrCollectivePhase, k);
    g_assert_true(a->latency_s == b->latency_s && a->bytes == b->bytes && a->n_uses == b->n_uses);
    for (guint u = 0; u < a->n_uses; u++)
      g_assert_true(a->uses[u].link == b->uses[u].link && a->uses[u].weight == b->uses[u].weight);
  }
}

/* Few bytes, groups and contents, so that most calls come again. */
static void test_random(void) {
  static const OrrExpertExchange exchanges[] = {
      {.tokens = 64, .hidden = 128, .topk = 2, .experts = 16, .bytes_per_element = 2},
      {.tokens = 64, .hidden = 128, .topk = 4, .experts = 16, .bytes_per_element = 1}};
  OrrRandom random = orr_random_stream(1, "plans");
  Machine machine;
  machine_init(&machine, 8, 8, 2, 1);
  g_autofree gint64 *gpus = g_new(gint64, 64);
  const OrrCollectiveAlgorithm *ring =
      (const OrrCollectiveAlgorithm *)orr_registry_find(&orr_collective_registry, "ring");
  OrrCollectiveCache *cache = orr_collective_cache_new(machine.fabric, NULL);
  for (guint i = 0; i < N_CALLS; i++) {
    const OrrNccl nccl = {.pxn = TRUE, .nvls = orr_random_below(&random, 2), .pat = TRUE};
    const OrrCollectiveContext context = {.fabric = machine.fabric, .nccl = &nccl};
    const guint n = 2u << orr_random_below(&random, 4), stride = 1 + orr_random_below(&random, 2);
    const gint64 first = orr_random_below(&random, 2) * 8;
    for (guint r = 0; r < n; r++) gpus[r] = first + r * stride;
    OrrCollectiveCall call = {.op = orr_random_below(&random, ORR_SEND_RECV),
                              .bytes = 1024 << orr_random_below(&random, 4) * 4,
                              .gpus = gpus,
                              .n = n};
    if (call.op == ORR_ALL_TO_ALL && orr_random_below(&random, 2))
      call.exchange = &exchanges[orr_random_below(&random, 2)];
    const gboolean forced = call.op == ORR_ALL_REDUCE && orr_random_below(&random, 2);
    const OrrCollectiveAlgorithm *algorithm = forced ? ring : NULL;
    g_autoptr(OrrCollectivePlan) expected = orr_collective_plan(&context, &call, algorithm, NULL);
    g_autoptr(OrrCollectivePlan) found =
        orr_collective_cache_plan(cache, &context, &call, algorithm, NULL);
    assert_equal(found, expected);
    if (i % 8 > 0 || found->phases->len == 0) continue;
    found = orr_collective_plan_own(found); /* what an owner changes, no one else sees */
    g_array_index(found->phases, OrrCollectivePhase, 0).bytes *= 2;
    if (g_array_index(found->phases, OrrCollectivePhase, 0).n_uses > 0)
      g_array_index(found->phases, OrrCollectivePhase, 0).uses[0].weight++;
  }
  orr_collective_cache_free(cache);
  machine_clear(&machine);
}

/* A cache of one fabric has no answers for another, wherever that lies in memory. */
static void test_other_fabric(void) {
  g_auto(Machine) slow = {0}, fast = {0};
  machine_init(&slow, 4, 8, 2, 1);
  machine_init(&fast, 4, 8, 2, 2);
  g_autofree gint64 *gpus = group_new(4, 0, 8);
  const OrrNccl nccl = {0};
  const OrrCollectiveCall call = {.op = ORR_ALL_REDUCE, .bytes = 1e9, .gpus = gpus, .n = 4};
  OrrCollectiveCache *cache = orr_collective_cache_new(slow.fabric, NULL);
  for (int again = 0; again < 2; again++) {
    OrrCollectiveContext context = {.fabric = slow.fabric, .nccl = &nccl};
    g_autoptr(OrrCollectivePlan) on_slow =
        orr_collective_cache_plan(cache, &context, &call, NULL, NULL);
    context.fabric = fast.fabric;
    g_autoptr(OrrCollectivePlan) on_fast =
        orr_collective_cache_plan(cache, &context, &call, NULL, NULL);
    assert_close(on_slow->predicted_s / on_fast->predicted_s, 2.0, 0.01);
  }
  orr_collective_cache_free(cache);
}

/* Joint plans are found for the same groups alone: not for one call of all their GPUs, other
 * groups of the GPUs, other bytes, or another algorithm. */
static void test_joint(void) {
  g_auto(Machine) machine = {0};
  machine_init(&machine, 4, 8, 2, 1);
  g_autofree gint64 *gpus = group_new(16, 0, 1);
  const OrrNccl nccl = {0};
  const OrrCollectiveContext context = {.fabric = machine.fabric, .nccl = &nccl};
  const OrrCollectiveAlgorithm *ring =
      (const OrrCollectiveAlgorithm *)orr_registry_find(&orr_collective_registry, "ring");
  const OrrCollectiveCall call = {.op = ORR_ALL_REDUCE, .bytes = 1e6, .gpus = gpus, .n = 4};
  g_autofree gint64 *moved = g_memdup2(gpus, 16 * sizeof *gpus);
  OrrCollectiveCall half = call, more = call, elsewhere = call;
  moved[15] = 16;
  elsewhere.gpus = moved;
  half.n = 8;
  more.bytes = 2e6;
  OrrCollectiveCache *cache = orr_collective_cache_new(machine.fabric, NULL);
  const OrrJointCalls calls = {&context, &call, 4, NULL};
  const OrrJointCalls others[] = {{&context, &half, 2, NULL},
                                  {&context, &more, 4, NULL},
                                  {&context, &elsewhere, 4, NULL},
                                  {&context, &call, 3, NULL},
                                  {&context, &call, 4, ring}};
  g_autoptr(OrrCollectivePlan) plan = orr_collective_plan(&context, &call, NULL, NULL);
  g_assert_null(orr_collective_cache_find_joint(cache, &calls));
  orr_collective_cache_keep_joint(cache, &calls, plan);
  g_autoptr(OrrCollectivePlan) found = orr_collective_cache_find_joint(cache, &calls);
  g_assert_true(found == plan);
  for (guint i = 0; i < G_N_ELEMENTS(others); i++)
    g_assert_null(orr_collective_cache_find_joint(cache, &others[i]));
  half.n = 16;
  g_autoptr(OrrCollectivePlan) whole =
      orr_collective_cache_plan(cache, &context, &half, NULL, NULL);
  g_assert_true(whole != plan);
  orr_collective_cache_free(cache);
}

/* Facts are found by equal keys, on their own fabric alone; another of the same key replaces. */
static void test_facts(void) {
  Machine machine, other;
  machine_init(&machine, 2, 8, 2, 1);
  machine_init(&other, 2, 8, 2, 1);
  OrrCollectiveCache *cache = orr_collective_cache_new(machine.fabric, NULL);
  g_autoptr(GBytes) key = g_bytes_new("key", 3), unknown = g_bytes_new("kez", 3);
  for (guint i = 0; i < 2; i++) {
    GBytes *equal = g_bytes_new("key", 3), *fact = g_bytes_new(&i, sizeof i);
    orr_collective_cache_keep(cache, machine.fabric, equal, fact);
    g_assert_true(orr_collective_cache_find(cache, machine.fabric, key) == fact);
  }
  orr_collective_cache_keep(cache, other.fabric, g_bytes_ref(unknown), g_bytes_new("x", 1));
  orr_collective_cache_keep(NULL, machine.fabric, g_bytes_ref(unknown), g_bytes_new("x", 1));
  g_assert_null(orr_collective_cache_find(cache, machine.fabric, unknown));
  g_assert_null(orr_collective_cache_find(cache, other.fabric, key));
  g_assert_null(orr_collective_cache_find(NULL, machine.fabric, key));
  orr_collective_cache_free(cache);
  machine_clear(&machine);
  machine_clear(&other);
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/collective-cache/random", test_random);
  g_test_add_func("/collective-cache/other-fabric", test_other_fabric);
  g_test_add_func("/collective-cache/joint", test_joint);
  g_test_add_func("/collective-cache/facts", test_facts);
  return g_test_run();
}

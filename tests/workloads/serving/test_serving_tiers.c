/*
 * test_serving_tiers.c - caches below HBM: lists by least recent use, which of them has a prompt,
 * and what reading takes.
 */
#include "tests/workloads/serving/serving_fixture.h"
#include "workloads/serving/core/kv.h"

/* Three places: 1 2 3, 1 again, 4: 2 is the oldest and goes. */
static void test_store(void) {
  OrrTierStore *store = orr_tier_store_new(3);
  for (guint64 key = 1; key <= 3; key++) orr_tier_store_touch(store, key);
  orr_tier_store_touch(store, 1);
  orr_tier_store_touch(store, 4);
  g_assert_false(orr_tier_store_has(store, 2));
  for (guint64 key = 1; key <= 4; key++)
    if (key != 2) g_assert_true(orr_tier_store_has(store, key));
  g_assert_null(orr_tier_store_new(0));
  g_assert_false(orr_tier_store_has(NULL, 1));
  const OrrTiers tiers = {.stores = {NULL, store, NULL}};
  g_assert_cmpint(orr_tiers_find(&tiers, 4), ==, ORR_TIER_SSD);
  g_assert_cmpint(orr_tiers_find(&tiers, 2), ==, -1);
  orr_tier_store_free(store);
}

/* Lists by least recent use contain one another (Mattson et al. 1970): of any keys, what a list
 * of 20 has one of 50 has. */
static void test_inclusion(void) {
  OrrTierStore *few = orr_tier_store_new(20), *many = orr_tier_store_new(50);
  OrrRandom random = orr_random_stream(1, "tiers");
  for (int i = 0; i < 5000; i++) {
    const guint64 key = orr_random_below(&random, 1 + orr_random_below(&random, 200));
    if (orr_tier_store_has(few, key)) g_assert_true(orr_tier_store_has(many, key));
    orr_tier_store_touch(few, key);
    orr_tier_store_touch(many, key);
  }
  orr_tier_store_free(few);
  orr_tier_store_free(many);
}

/* Conversations that are more than the cache holds: 600 blocks of 16 tokens. */
#define TALKS                                                                                      \
  "workload.load={kind: sessions, rate: 1, turns: 8, think: 20 s, longest: "                       \
  "6000};workload.requests=400;"                                                                   \
  "workload.engine.prefix-caching=block-hash;workload.engine.kv-blocks=600;workload.input={"       \
  "tokens: 400};"                                                                                  \
  "workload.output={tokens: 50};"

/* Llama 3.1 8B has 128 KiB per token: 100 GiB are all that was ever said, and nothing is computed
 * twice but for the last block of each turn (which turns there are differs a little with when
 * they come). Each tier is slower to read than the one above it; all are faster than computing. */
static void test_tiers(void) {
  g_autoptr(OrrOutcome) none = serving_run(TALKS);
  g_autoptr(OrrOutcome) large = serving_run(TALKS "workload.engine.kv-blocks=30000");
  g_autoptr(OrrOutcome) host = serving_run(TALKS "workload.engine.cache-tiers={host: 100 GiB}");
  g_autoptr(OrrOutcome) ssd = serving_run(TALKS "workload.engine.cache-tiers={ssd: 100 GiB}");
  g_autoptr(OrrOutcome) remote =
      serving_run(TALKS "workload.engine.cache-tiers={remote: 100 GiB, remote-bandwidth: 1 GB/s}");
  const OrrServingResult *a = &none->result.serving, *b = &host->result.serving,
                         *c = &ssd->result.serving;
  const OrrServingResult *d = &remote->result.serving, *all = &large->result.serving;
  g_assert_cmpfloat(a->prefix_hit_rate, <, 0.7 * all->prefix_hit_rate);
  g_assert_cmpfloat_with_epsilon(b->prefix_hit_rate, all->prefix_hit_rate, 0.03);
  g_assert_cmpfloat_with_epsilon(c->prefix_hit_rate, all->prefix_hit_rate, 0.03);
  g_assert_cmpfloat(b->prefix_host_rate, >, 0.2);
  g_assert_cmpfloat(b->prefix_ssd_rate, ==, 0);
  g_assert_cmpfloat(d->prefix_remote_rate, >, 0.2);
  g_assert_cmpfloat(all->ttft.mean, <, b->ttft.mean);
  g_assert_cmpfloat(b->ttft.mean, <, c->ttft.mean);
  g_assert_cmpfloat(b->ttft.mean, <, a->ttft.mean);
  g_assert_cmpfloat(d->ttft.mean, >, c->ttft.mean);
}

/* What HBM has is not read from below: the second of two requests that begin alike comes as soon
 * whatever the SSD. */
static void test_hbm_first(void) {
  static const char load[] =
      "workload.load={kind: closed-loop, concurrency: "
      "1};workload.requests=2;workload.input={tokens: 16};"
      "workload.output={tokens: "
      "2};workload.shared-prefix=3200;workload.engine.prefix-caching=block-hash;"
      "workload.engine.cache-tiers={ssd: 10 GiB, ssd-bandwidth: %s, ssd-latency: 1 "
      "ms};workload.engine.kv-blocks=%d";
  g_autofree char *fast = g_strdup_printf(load, "6 GB/s", 210),
                  *slow = g_strdup_printf(load, "3 GB/s", 210);
  g_autoptr(OrrOutcome) a = serving_run(fast);
  g_autoptr(OrrOutcome) b = serving_run(slow);
  g_assert_cmpfloat_with_epsilon(serving_request(a, 1)->ttft_s, serving_request(b, 1)->ttft_s,
                                 1e-12);
  g_assert_cmpint(serving_request(a, 1)->cached_tokens, ==, 3200);
}

/* Two replicas, round robin: the second request, on the other replica, finds the prefix in the
 * store that both share: 200 blocks of 2 MiB at 10 GB/s and 1 ms of latency, or at half of it. */
static void test_remote_is_shared(void) {
  static const char load[] =
      "workload.replicas=2;workload.load={kind: closed-loop, concurrency: 1};workload.requests=2;"
      "workload.input={tokens: 16};workload.output={tokens: 2};workload.shared-prefix=3200;"
      "workload.engine.prefix-caching=block-hash;workload.engine.cache-tiers={%s}";
  g_autofree char *fast =
      g_strdup_printf(load, "remote: 10 GiB, remote-bandwidth: 10 GB/s, remote-latency: 1 ms");
  g_autofree char *slow =
      g_strdup_printf(load, "remote: 10 GiB, remote-bandwidth: 5 GB/s, remote-latency: 1 ms");
  g_autofree char *own = g_strdup_printf(load, "host: 10 GiB");
  g_autoptr(OrrOutcome) a = serving_run(fast);
  g_autoptr(OrrOutcome) b = serving_run(slow);
  g_autoptr(OrrOutcome) c = serving_run(own);
  g_assert_cmpint(serving_request(a, 1)->cached_tokens, ==, 3200);
  g_assert_cmpint(serving_request(c, 1)->cached_tokens, ==, 0);
  const double bytes = 3200 * 131072.0;
  g_assert_cmpfloat_with_epsilon(serving_request(b, 1)->ttft_s - serving_request(a, 1)->ttft_s,
                                 bytes / 10e9, 1e-9);
}

static void test_refused(void) {
  serving_refused("workload.engine.cache-tiers={host: 10 GiB}", "set engine.prefix-caching");
  serving_refused("workload.engine.prefix-caching=radix;workload.engine.cache-tiers={ssd: 1 GiB, "
                  "ssd-bandwidth: 0 GB/s}",
                  "ssd-bandwidth above 0");
  serving_refused("workload.engine.prefix-caching=radix;workload.engine.cache-tiers={hots: 1 GiB}",
                  "did you mean 'host'?");
  serving_refused("workload.engine.prefix-caching=radix;workload.engine.cache-tiers={host: 10}",
                  "GiB");
}

/* A replica of tp 1 keeps its blocks in the memory of a node, with 7 others of 8: 8 x 250 GB are
 * 2 TB, and a byte more for each is too much. */
static void test_host_memory(void) {
  const char *const fits = "cluster.node.host.memory=2 TB;cluster.node.host.memory-bandwidth=300 "
                           "GB/s;workload.replicas=8;workload.parallel.tp=1;"
                           "workload.engine.prefix-caching=block-hash;";
  g_autofree char *most = g_strconcat(fits, "workload.engine.cache-tiers={host: 250 GB}", NULL);
  g_autofree char *over = g_strconcat(fits, "workload.engine.cache-tiers={host: 251 GB}", NULL);
  g_autoptr(OrrOutcome) outcome = serving_run(most);
  g_assert_nonnull(outcome);
  serving_refused(over, "engine.cache-tiers.host takes");
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/workloads/serving-tiers/store", test_store);
  g_test_add_func("/workloads/serving-tiers/inclusion", test_inclusion);
  g_test_add_func("/workloads/serving-tiers/tiers", test_tiers);
  g_test_add_func("/workloads/serving-tiers/host-memory", test_host_memory);
  g_test_add_func("/workloads/serving-tiers/hbm-first", test_hbm_first);
  g_test_add_func("/workloads/serving-tiers/remote-is-shared", test_remote_is_shared);
  g_test_add_func("/workloads/serving-tiers/refused", test_refused);
  return g_test_run();
}

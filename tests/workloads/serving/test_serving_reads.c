/*
 * test_serving_reads.c - the store on the network read as flows, and prefixes that are read while
 * requests queue.
 */
#include <glib/gstdio.h>

#include "tests/workloads/serving/serving_fixture.h"

static OrrServingResult result_of(const char *sets) {
  g_autoptr(OrrOutcome) outcome = serving_run(sets);
  return outcome->result.serving;
}

/* --- flows --- */

/* Two replicas of eight GPUs, a node each, round robin: the second request finds 3,200 tokens of
 * the first in the store. */
#define TWO_NODES                                                                                  \
  "cluster.nodes=2;workload.replicas=2;workload.parallel.tp=8;workload.load={kind: closed-loop, "  \
  "concurrency: 1};"                                                                               \
  "workload.requests=2;workload.input={tokens: 16};workload.output={tokens: "                      \
  "2};workload.shared-prefix=3200;"                                                                \
  "workload.engine.prefix-caching=block-hash;"
#define BYTES (3200 * 131072.0)

static double ttft_of_second(const char *sets) {
  g_autoptr(OrrOutcome) outcome = serving_run(sets);
  g_assert_cmpint(serving_request(outcome, 1)->cached_tokens, ==, 3200);
  return serving_request(outcome, 1)->ttft_s;
}

/* From two hosts' memory each of eight ranks has an eighth of the bytes, half of that through
 * its card of 50 GB/s and what it reaches: at a quarter of the rate the card is what binds, and
 * half of that takes as much again. From a file system of one server of 10 GB/s all bytes go
 * through that: 5 GB/s, as much again to the last nanosecond, whatever the ranks. */
static void test_flows(void) {
  static const char load[] =
      TWO_NODES "workload.engine.cache-tiers={remote: 100 GiB, remote-latency: %s};%s";
  g_autofree char *cards = g_strdup_printf(load, "0 s", "cluster.node.nic-bandwidth=100 Gb/s");
  g_autofree char *slow = g_strdup_printf(load, "0 s", "cluster.node.nic-bandwidth=50 Gb/s");
  g_autofree char *late = g_strdup_printf(load, "3 ms", "cluster.node.nic-bandwidth=100 Gb/s");
  const double at_100 = ttft_of_second(cards), at_50 = ttft_of_second(slow);
  g_test_message("%g s at 100 Gb/s, %g s at 50 Gb/s", at_100, at_50);
  g_assert_cmpfloat(at_50 - at_100, >=, BYTES / 16 / 12.5e9);
  g_assert_cmpfloat(at_50 - at_100, <,
                    1.2 * BYTES / 16 / 12.5e9); /* what a card reaches of its nominal rate */
  g_assert_cmpfloat_with_epsilon(ttft_of_second(late) - at_100, 3e-3, 1e-9);
  static const char files[] =
      TWO_NODES "workload.engine.cache-tiers={remote: 100 GiB};cluster.storage={servers: 1, "
                "server-bandwidth: %d GB/s, attach: own, node-bandwidth: 50 GB/s}";
  g_autofree char *ten = g_strdup_printf(files, 10), *five = g_strdup_printf(files, 5);
  g_assert_cmpfloat_with_epsilon(ttft_of_second(five) - ttft_of_second(ten), BYTES / 10e9, 1e-9);
}

/* Conversations that are more than the cache holds, on four nodes: all is found in each layout,
 * whichever replica steps. */
static void test_laws(void) {
  static const char *const kinds[] = {
      "",
      "workload.engine.cache-tiers={remote: 500 GiB, host: 40 GiB, prefetch: wait-complete}",
      "workload.engine.cache-tiers={remote: 500 GiB, host: 40 GiB, prefetch: best-effort}",
      "workload.engine.cache-tiers={remote: 500 GiB, host: 40 GiB, ssd: 60 GiB, prefetch: timeout, "
      "prefetch-threshold: "
      "16}",
      "workload.engine.cache-tiers={ssd: 60 GiB, host: 4 GiB, prefetch: wait-complete, "
      "prefetch-threshold: 16}",
      "workload.parallel={tp: 2, pp: 2}",
      "workload.parallel.dp-attention=4",
      "workload.disaggregation.prefill=1",
      "workload.engine.preemption=swap",
      "cluster.nodes=2;workload.start.weights=false;faults=[{at: 20 s, until: 40 s, fault: {kind: "
      "node-lost, node: "
      "0}}];"
      "workload.replicas=12",
      "cluster.nodes=2;workload.start.weights=false;faults=[{at: 20 s, until: 40 s, fault: {kind: "
      "node-lost, node: "
      "0}}];"
      "workload.replicas=12;workload.engine.cache-tiers={remote: 500 GiB, remote-bandwidth: 100 "
      "MB/s, host: 40 GiB, "
      "prefetch: wait-complete}",
  };
  for (guint k = 0; k < G_N_ELEMENTS(kinds); k++) {
    g_autofree char *sets =
        g_strconcat("workload.load={kind: sessions, rate: 2, turns: 6, think: 8 s, longest: "
                    "6000};workload.requests=300;"
                    "workload.engine.prefix-caching=block-hash;workload.engine.kv-blocks=900;"
                    "workload.input={tokens: 400};"
                    "workload.output={tokens: "
                    "40};workload.replicas=2;workload.engine.cache-tiers={remote: 500 GiB};",
                    kinds[k], NULL);
    g_autofree char *full = g_strconcat("fidelity=full;", sets, NULL);
    g_autoptr(OrrOutcome) a = serving_run(sets);
    g_autoptr(OrrOutcome) b = serving_run(full);
    g_test_message("%s: %g found, ttft %g s", kinds[k], a->result.serving.prefix_hit_rate,
                   a->result.serving.ttft.mean);
    g_assert_cmpint(a->result.serving.completed, ==, 300);
    g_assert_cmpfloat(a->result.serving.littles_law_error, <, 1e-9);
    g_assert_true(a->result.serving.e2e.mean == b->result.serving.e2e.mean);
  }
}

/* --- prefetching --- */

/* The second request finds its prefix in the store alone, which a rank reads at 1 GB/s, and its
 * engine is idle. With wait-complete it is read to host memory in two batches, of 128 and 72
 * blocks, and from there over the host link: one latency and a rank's bytes over that link more
 * than a step that reads the store. With best-effort it begins at once, and computes all. */
#define STORE                                                                                      \
  TWO_NODES "cluster.node.host-link-bandwidth=50 GB/s;cluster.node.host-link-efficiency=1;"

static void test_idle(void) {
  static const char load[] =
      STORE "workload.engine.cache-tiers={host: 100 GiB, remote: 100 GiB, remote-latency: 1 ms, "
            "remote-bandwidth: 1 GB/s, prefetch: %s}";
  g_autofree char *none = g_strdup_printf(load, "none"),
                  *wait = g_strdup_printf(load, "wait-complete");
  g_autofree char *best = g_strdup_printf(load, "best-effort"),
                  *few = g_strdup_printf(load, "wait-complete, "
                                               "prefetch-threshold: 3201");
  g_assert_cmpfloat_with_epsilon(ttft_of_second(wait) - ttft_of_second(none),
                                 1e-3 + BYTES / 8 / 50e9, 1e-9);
  const char *const computed[] = {best, few};
  for (guint i = 0; i < G_N_ELEMENTS(computed); i++) {
    g_autoptr(OrrOutcome) outcome = serving_run(computed[i]);
    g_assert_cmpint(serving_request(outcome, 1)->cached_tokens, ==, 0);
    g_assert_cmpfloat_with_epsilon(serving_request(outcome, 1)->ttft_s,
                                   serving_request(outcome, 0)->ttft_s, 1e-9);
  }
}

/* 3,200 tokens have 2 + 0.1 * 3,200 / 1,024 = 2.3125 s. At 20 MB/s the first batch takes 33.55
 * MB / 20 MB/s = 1.68 s, and the second does not come in time: 2,048 tokens are found. At 10
 * MB/s none is. At 1 GB/s all are, and it begins then. */
static void test_timeout(void) {
  static const char load[] =
      STORE "workload.engine.cache-tiers={host: 100 GiB, remote: 100 GiB, remote-latency: 0 s, "
            "remote-bandwidth: %s, prefetch: timeout}";
  static const struct {
    const char *rate;
    gint64 found;
    double from_s, to_s; /* the first token */
  } all[] = {
      {"20 MB/s", 2048, 2.3125, 2.4}, {"10 MB/s", 0, 2.3125, 2.4}, {"1 GB/s", 3200, 52.4e-3, 0.1}};
  for (guint i = 0; i < G_N_ELEMENTS(all); i++) {
    g_autofree char *sets = g_strdup_printf(load, all[i].rate);
    g_autoptr(OrrOutcome) outcome = serving_run(sets);
    g_assert_cmpint(serving_request(outcome, 1)->cached_tokens, ==, all[i].found);
    g_assert_cmpfloat(serving_request(outcome, 1)->ttft_s, >=, all[i].from_s);
    g_assert_cmpfloat(serving_request(outcome, 1)->ttft_s, <, all[i].to_s);
  }
}

/* Conversations at an engine that is busy: what queues is read meanwhile, and steps wait for
 * host memory alone. */
static void test_hidden(void) {
  static const char load[] = "workload.load={kind: sessions, rate: 3, turns: 6, think: 8 s, "
                             "longest: 6000};workload.requests=600;"
                             "workload.engine.prefix-caching=block-hash;workload.engine.kv-blocks="
                             "900;workload.input={tokens: 400};"
                             "workload.output={tokens: 40};workload.engine.max-num-seqs=4;"
                             "workload.engine.cache-tiers={host: 100 GiB, ssd: 500 GiB, "
                             "ssd-bandwidth: 1 GB/s, prefetch: %s};%s";
  g_autofree char *none = g_strdup_printf(load, "none", "workload.engine.cache-tiers.host=0 B");
  g_autofree char *best = g_strdup_printf(load, "best-effort", "");
  const OrrServingResult a = result_of(none), b = result_of(best);
  g_test_message("a step waits: ttft %g s; read while it queues: %g s", a.ttft.mean, b.ttft.mean);
  g_assert_cmpfloat(b.ttft.mean, <, a.ttft.mean);
}

/* --- queues --- */

/* Prompts of 2,064 tokens at these dates, round robin; 2,048 of them are one of two texts. Engines
 * have room for one: the other is read back from below. */
static OrrOutcome *with_trace(const char *const *dates_and_texts, const char *sets) {
  g_autofree char *folder = g_dir_make_tmp("orrery-XXXXXX", NULL);
  g_autofree char *path = g_build_filename(folder, "m.jsonl", NULL);
  g_autoptr(GString) lines = g_string_new(NULL);
  for (const char *const *one = dates_and_texts; *one; one += 2)
    g_string_append_printf(lines,
                           "{\"timestamp\": %s, \"input_length\": 2064, \"output_length\": 2, "
                           "\"hash_ids\": [%s]}\n",
                           one[0], one[1]);
  g_assert_true(g_file_set_contents(path, lines->str, -1, NULL));
  g_autofree char *all = g_strdup_printf(
      "workload.load={kind: mooncake, file: %s};workload.requests=0;workload.parallel.tp=1;"
      "workload.engine.prefix-caching=block-hash;workload.engine.kv-blocks=130;%s",
      path, sets);
  OrrOutcome *outcome = serving_run(all);
  g_remove(path);
  g_rmdir(folder);
  return outcome;
}

#define READ_BYTES (2048 * 131072.0)

/* Two replicas of a node read the same bytes at once: with an SSD of their own each waits for its
 * read alone, with one of the node the second one waits for both. The mean wait is half a read. */
static void test_shared_ssd(void) {
  static const char *const lines[] = {
      "0",          "1, 2, 3, 4", "0",          "1, 2, 3, 4", "10000",      "5, 6, 7, 8", "10000",
      "5, 6, 7, 8", "20000",      "1, 2, 3, 4", "20000",      "1, 2, 3, 4", NULL};
  static const char tiers[] = "workload.replicas=2;workload.engine.cache-tiers={ssd: 100 GiB, "
                              "ssd-bandwidth: 1 GB/s, ssd-latency: 1 ms, ssd-of: %s}";
  g_autofree char *own_text = g_strdup_printf(tiers, "replica");
  g_autofree char *one_text = g_strdup_printf(tiers, "node");
  g_autoptr(OrrOutcome) own = with_trace(lines, own_text);
  g_autoptr(OrrOutcome) one = with_trace(lines, one_text);
  const double read_s = 1e-3 + READ_BYTES / 1e9;
  g_assert_cmpint(serving_request(one, 4)->cached_tokens, ==, 2048);
  g_assert_cmpfloat_with_epsilon(serving_request(one, 5)->ttft_s - serving_request(own, 5)->ttft_s,
                                 read_s, 1e-9);
  g_assert_cmpfloat_with_epsilon(serving_request(one, 4)->ttft_s, serving_request(own, 4)->ttft_s,
                                 1e-9);
  g_assert_cmpfloat(own->result.serving.ssd_wait_mean_s, ==, 0);
  g_assert_cmpfloat_with_epsilon(one->result.serving.ssd_wait_mean_s, read_s / 2, 1e-9);
}

/* A prompt has 129 blocks; 128 are read back at 10 s. Meanwhile another prompt's 129 are
 * written, at 0.1 GB/s. Written through, they came to the drive with that prompt, 129 blocks /
 * rate before its end, and the read waits for the rest. Written back under host memory of one
 * prompt, the drive has got nothing but the first prompt's blocks. */
static void test_writes(void) {
  static const char *const lines[] = {"0",     "1, 2, 3, 4", "9000", "5, 6, 7, 8",
                                      "10000", "1, 2, 3, 4", NULL};
  static const char tiers[] = "workload.replicas=1;workload.engine.cache-tiers={ssd: 100 GiB, "
                              "ssd-bandwidth: 1 GB/s, ssd-latency: 0 s%s}";
  g_autofree char *free_text = g_strdup_printf(tiers, "");
  g_autofree char *slow_text = g_strdup_printf(tiers, ", ssd-write-bandwidth: 0.1 GB/s");
  g_autoptr(OrrOutcome) free = with_trace(lines, free_text);
  g_autoptr(OrrOutcome) slow = with_trace(lines, slow_text);
  const double write_s = 129 * 16 * 131072.0 / 0.1e9; /* 2.706 s */
  const OrrServingRequestRow *second = serving_request(free, 1);
  const double begun_s = second->arrival_s + second->ttft_s, asked_s = 10;
  g_assert_cmpint(serving_request(slow, 2)->cached_tokens, ==, 2048);
  g_assert_cmpfloat_with_epsilon(serving_request(slow, 2)->ttft_s -
                                     serving_request(free, 2)->ttft_s,
                                 begun_s + write_s - asked_s, 1e-6);
  g_assert_cmpfloat(slow->result.serving.ssd_busy, >, free->result.serving.ssd_busy);
  static const char back[] = "workload.replicas=1;workload.engine.cache-tiers={ssd: 100 GiB, host: "
                             "%s, ssd-writes: back, ssd-write-bandwidth: 0.1 GB/s}";
  g_autofree char *large_text = g_strdup_printf(back, "100 GiB");
  g_autofree char *small_text = g_strdup_printf(back, "280 MB"); /* 133 blocks of 2 MiB */
  g_autoptr(OrrOutcome) large = with_trace(lines, large_text);
  g_autoptr(OrrOutcome) small = with_trace(lines, small_text);
  g_assert_cmpfloat(large->result.serving.ssd_busy, ==, 0);
  g_assert_cmpfloat(small->result.serving.ssd_busy, >, 0);
  g_assert_cmpint(serving_request(small, 2)->cached_tokens, ==, 2048);
}

/* A text is in the store when four replicas ask for it at once: each of two readers has two reads,
 * and the second one waits for the first. Without a limit none waits. */
static void test_store_readers(void) {
  static const char *const lines[] = {"0",     "1, 2, 3, 4", "10000", "1, 2, 3, 4",
                                      "10000", "1, 2, 3, 4", "10000", "1, 2, 3, 4",
                                      "10000", "1, 2, 3, 4", NULL};
  static const char tiers[] = "workload.replicas=5;workload.engine.cache-tiers={remote: 100 GiB, "
                              "remote-bandwidth: 2 GB/s, remote-latency: 3 ms, remote-readers: %d}";
  g_autofree char *two_text = g_strdup_printf(tiers, 2), *all_text = g_strdup_printf(tiers, 0);
  g_autoptr(OrrOutcome) two = with_trace(lines, two_text);
  g_autoptr(OrrOutcome) all = with_trace(lines, all_text);
  const double read_s = 3e-3 + READ_BYTES / 2e9, begun_s = serving_request(all, 1)->ttft_s;
  for (guint i = 1; i <= 4; i++) {
    g_assert_cmpfloat_with_epsilon(serving_request(all, i)->ttft_s, begun_s, 1e-9);
    g_assert_cmpfloat_with_epsilon(serving_request(two, i)->ttft_s, begun_s + (i > 2 ? read_s : 0),
                                   1e-9);
  }
  g_assert_cmpfloat_with_epsilon(two->result.serving.store_wait_mean_s, read_s / 2, 1e-9);
  g_assert_cmpfloat(all->result.serving.store_wait_mean_s, ==, 0);
}

static void test_refused(void) {
  serving_refused("workload.engine.prefix-caching=radix;workload.engine.cache-tiers={ssd: 1 GiB, "
                  "prefetch: timeout}",
                  "give engine.cache-tiers.host");
  serving_refused("workload.engine.prefix-caching=radix;workload.engine.cache-tiers={host: 1 GiB, "
                  "prefetch: timeout}",
                  "nothing to read from");
  serving_refused("workload.engine.prefix-caching=radix;workload.engine.cache-tiers={host: 1 GiB, "
                  "prefetch: timeuot}",
                  "timeout");
  serving_refused("workload.engine.prefix-caching=radix;workload.engine.cache-tiers={host: 1 GiB, "
                  "prefetch-threshold: 0}",
                  "prefetch-threshold");
}

/* Conversations whose turns go from replica to replica read what others computed, from a file
 * system of one server: on SimGrid they share it, on the ideal engine they do not. One run on
 * SimGrid a process. */
static void test_contention(void) {
  static const char load[] = "workload.replicas=4;workload.load={kind: sessions, rate: 4, turns: "
                             "6, think: 4 s, longest: 6000};"
                             "workload.requests=300;workload.engine.prefix-caching=block-hash;"
                             "workload.engine.kv-blocks=900;"
                             "workload.input={tokens: 400};workload.output={tokens: "
                             "40};workload.engine.cache-tiers={remote: 500 GiB};"
                             "cluster.storage={servers: 1, server-bandwidth: 2 GB/s, attach: own, "
                             "node-bandwidth: 50 GB/s};%s";
  g_autofree char *ideal = g_strdup_printf(load, ""),
                  *shared = g_strdup_printf(load, "engine=auto");
  const double alone_s = result_of(ideal).ttft.mean, together_s = result_of(shared).ttft.mean;
  g_test_message("%g s alone, %g s together", alone_s, together_s);
  g_assert_cmpfloat(together_s, >, 1.2 * alone_s);
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/workloads/serving-reads/flows", test_flows);
  g_test_add_func("/workloads/serving-reads/idle", test_idle);
  g_test_add_func("/workloads/serving-reads/timeout", test_timeout);
  g_test_add_func("/workloads/serving-reads/hidden", test_hidden);
  g_test_add_func("/workloads/serving-reads/laws", test_laws);
  g_test_add_func("/workloads/serving-reads/shared-ssd", test_shared_ssd);
  g_test_add_func("/workloads/serving-reads/writes", test_writes);
  g_test_add_func("/workloads/serving-reads/store-readers", test_store_readers);
  g_test_add_func("/workloads/serving-reads/refused", test_refused);
  g_test_add_func("/workloads/serving-reads/contention", test_contention);
  return g_test_run();
}

/*
 * test_encoders.c - images on GPUs of their own: what an embedding takes, who has it, who is lost.
 */
#include "tests/workloads/serving/serving_fixture.h"

/* Far apart: nothing waits for anything. 448 x 448: 256 tokens of 3,584 elements of 2 bytes,
 * 1,835,008 bytes an image. */
#define FAR                                                                                        \
  "model=qwen2-vl-7b;workload.load={kind: constant, rate: "                                        \
  "0.5};workload.requests=12;workload.input={tokens: 1000};"                                       \
  "workload.output={tokens: 20};"
#define IMAGE (256 * 3584 * 2.0)
#define POOL "workload.images=1;workload.encoders={replicas: 1};"

static OrrServingResult result_of(const char *sets) {
  g_autoptr(OrrOutcome) outcome = serving_run(sets);
  return outcome->result.serving;
}

/* What an image adds to a first token on one engine is the tower's time; with an encoder it is
 * that and the embedding's way, which takes the bytes over NVLink: half the bandwidth, as much
 * again. The rest is as without images. */
static void test_alone(void) {
  const OrrServingResult text = result_of(FAR "workload.input={tokens: 1256}");
  const OrrServingResult mixed = result_of(FAR "workload.images=1");
  const OrrServingResult apart = result_of(FAR POOL);
  const OrrServingResult half = result_of(FAR POOL "cluster.device.scale-up-bandwidth=225 GB/s");
  const OrrServingResult later =
      result_of(FAR "workload.images=1;workload.encoders={replicas: 1, overhead: 5 ms};"
                    "workload.engine.host={step: 1 ms}");
  const OrrServingResult plain =
      result_of(FAR "workload.input={tokens: 1256};workload.engine.host={step: 1 ms}");
  const double tower_s = mixed.ttft.mean - text.ttft.mean, way_s = apart.encode_mean_s - tower_s;
  g_test_message("tower %g s, way %g s, of text %g s", tower_s, way_s, text.ttft.mean);
  g_assert_cmpfloat(tower_s, >, 1e-3);
  g_assert_cmpfloat(way_s, >, IMAGE / 450e9);
  g_assert_cmpfloat(way_s, <, IMAGE / 450e9 + 20e-6);
  g_assert_cmpfloat(half.encode_mean_s - apart.encode_mean_s, >, IMAGE / 450e9);
  g_assert_cmpfloat(half.encode_mean_s - apart.encode_mean_s, <,
                    1.4 * IMAGE / 450e9); /* NCCL's share of the nominal rate */
  g_assert_cmpfloat_with_epsilon(apart.ttft.mean, text.ttft.mean + apart.encode_mean_s, 1e-9);
  g_assert_cmpfloat_with_epsilon(apart.e2e.mean, text.e2e.mean + apart.encode_mean_s, 1e-9);
  g_assert_cmpfloat_with_epsilon(later.encode_mean_s, apart.encode_mean_s + 6e-3, 1e-9);
  g_assert_cmpfloat_with_epsilon(later.ttft.mean, plain.ttft.mean + later.encode_mean_s, 1e-9);
}

/* 12 requests of 3 images: to each rank that computes their prompts, on its stage. */
static void test_bytes(void) {
  static const char load[] = FAR "workload.images=3;workload.encoders={replicas: 2};%s";
  static const struct {
    const char *layout;
    double copies;
  } all[] = {{"", 1},
             {"workload.parallel.tp=4", 4},
             {"workload.parallel={tp: 2, pp: 2}", 2},
             {"workload.replicas=2;workload.parallel.tp=2;workload.disaggregation={prefill: 1}", 2},
             {"workload.replicas=2;workload.disaggregation={prefill: 1, transfer: per-layer}", 1},
             {"workload.replicas=2;workload.disaggregation={prefill: 1, least-prompt: 5000}", 1}};
  for (guint i = 0; i < G_N_ELEMENTS(all); i++) {
    g_autofree char *sets = g_strdup_printf(load, all[i].layout);
    g_assert_cmpfloat_with_epsilon(result_of(sets).embedding_bytes, 12 * 3 * IMAGE * all[i].copies,
                                   1);
  }
}

/* All show the same image: it is encoded once, and sent once. Of four images with room for one
 * nearly all are encoded again; with room for four each is once. Requests that come together and
 * show the same share one place of a batch. */
static void test_caches(void) {
  const OrrServingResult one = result_of(FAR POOL "workload.distinct-images=1");
  g_assert_cmpfloat_with_epsilon(one.image_hit_rate, 11.0 / 12, 1e-9);
  g_assert_cmpfloat_with_epsilon(one.embedding_bytes, IMAGE, 1);
  static const char load[] =
      FAR "workload.requests=200;workload.images=1;workload.distinct-images=4;"
          "workload.encoders={replicas: 1, cache: %d}";
  g_autofree char *room_of_one = g_strdup_printf(load, 256),
                  *room_of_four = g_strdup_printf(load, 1024);
  const OrrServingResult few = result_of(room_of_one), all = result_of(room_of_four);
  g_assert_cmpfloat_with_epsilon(all.image_hit_rate, 196.0 / 200, 1e-9);
  g_assert_cmpfloat_with_epsilon(all.embedding_bytes, 4 * IMAGE, 1);
  g_assert_cmpfloat_with_epsilon(few.image_hit_rate, 0.25,
                                 5 * sqrt(0.25 * 0.75 / 200)); /* the last one again */
}

/* A million tokens are 3,906 whole images, 256,000 a thousand; each takes its bytes of an engine's
 * memory, in blocks of 16 tokens with 57,344 bytes of keys and values each. What does not fit is
 * refused. */
static void test_cache_memory(void) {
  static const char load[] =
      FAR POOL "workload.engine.kv-blocks=0;workload.encoders={replicas: 1, cache: %d}";
  const double block = 16 * 57344;
  g_autofree char *large = g_strdup_printf(load, 1000000), *small = g_strdup_printf(load, 256000),
                  *huge = g_strdup_printf(load, 100000000);
  const OrrServingResult few = result_of(large), many = result_of(small);
  g_assert_cmpfloat(fabs((double)(many.kv_blocks - few.kv_blocks) - 2906 * IMAGE / block), <, 1);
  serving_refused(huge, "667.6 of images' embeddings (encoders.cache)");
}

/* An image stays where it was: four encoders that each keep four of eight images have nearly all
 * of them together (hashing gives one of them five), and round robin finds an image where it was
 * last in some half of the cases. */
static void test_routers(void) {
  static const char load[] =
      FAR "workload.requests=400;workload.images=1;workload.distinct-images=8;"
          "workload.encoders={replicas: 4, cache: 1024, router: %s}";
  g_autofree char *here = g_strdup_printf(load, "session-affinity"),
                  *there = g_strdup_printf(load, "round-robin");
  const OrrServingResult a = result_of(here), b = result_of(there);
  g_test_message("found: %g, %g", a.image_hit_rate, b.image_hit_rate);
  g_assert_cmpfloat(a.image_hit_rate, >, 0.8);
  g_assert_cmpfloat_with_epsilon(b.image_hit_rate, 0.5, 0.12);
}

/* One encoder is an M/D/1 queue where a batch is one image: the mean wait is rho / (2 (1 - rho))
 * of the tower's time. Two wait less. Ratios show in what is busy. */
static void test_queue(void) {
  static const char load[] =
      FAR "workload.requests=%d;workload.images=1;workload.load={kind: poisson, rate: %g};"
          "workload.replicas=4;workload.output={tokens: 2};workload.input={tokens: 16};"
          "workload.encoders={replicas: %d, batch: 256}";
  g_autofree char *alone = g_strdup_printf(load, 100, 0.1, 1);
  const double service_s = result_of(alone).encode_mean_s;
  g_autofree char *one = g_strdup_printf(load, 20000, 0.6 / service_s, 1);
  g_autofree char *two = g_strdup_printf(load, 20000, 0.6 / service_s, 2);
  const OrrServingResult a = result_of(one), b = result_of(two);
  g_test_message("service %g s; wait %g of %g", service_s, a.encode_mean_s / service_s - 1,
                 0.6 / 0.8);
  g_assert_cmpfloat_with_epsilon(a.encode_mean_s / service_s - 1, 0.6 / (2 * (1 - 0.6)), 0.08);
  g_assert_cmpfloat_with_epsilon(a.encoder_busy, 0.6, 0.03);
  g_assert_cmpfloat_with_epsilon(b.encoder_busy, 0.3, 0.02);
  g_assert_cmpfloat(b.encode_mean_s, <, a.encode_mean_s);
}

/* All requests end, whatever the layout of the fleet and whichever nodes are lost; what is answered
 * is what arrived. */
static void test_laws(void) {
  static const char *const kinds[] = {
      "",
      "workload.replicas=3;workload.disaggregation={prefill: 1}",
      "workload.replicas=3;workload.disaggregation={prefill: 1, transfer: per-layer}",
      "workload.replicas=3;workload.disaggregation={prefill: 1};workload.admission={in-flight: 2, "
      "queue: 2}",
      "workload.admission={in-flight: 4, queue: 3}",
      "workload.parallel.dp-attention=2",
      "workload.beam-search={width: 3};workload.engine.prefix-caching=block-hash",
      "workload.samples=3",
      "workload.load={kind: closed-loop, concurrency: 6}",
      "cluster.nodes=2;workload.start.weights=false;workload.replicas=8;"
      "faults=[{at: 3 s, until: 6 s, fault: {kind: node-lost, node: 1}}]",
      /* above, both encoders are lost: images wait; below, replicas: images are encoded again */
      "cluster.nodes=2;workload.start={weights: false, overhead: 1 s};workload.replicas=10;"
      "faults=[{at: 3 s, until: 6 s, fault: {kind: node-lost, node: 0}}]",
      "cluster.nodes=2;workload.start.weights=false;workload.replicas=12;workload.disaggregation."
      "prefill=6;"
      "faults=[{at: 3 s, until: 6 s, fault: {kind: node-lost, node: 0}}]",
  };
  for (guint k = 0; k < G_N_ELEMENTS(kinds); k++) {
    g_autofree char *sets = g_strconcat(
        "model=qwen2-vl-7b;workload.requests=120;workload.images=2;workload.encoders.replicas=2;"
        "workload.load={kind: poisson, rate: 15};workload.distinct-images=40;",
        kinds[k], NULL);
    g_autofree char *full = g_strconcat("fidelity=full;", sets, NULL);
    g_autoptr(OrrOutcome) a = serving_run(sets);
    g_autoptr(OrrOutcome) b = serving_run(full);
    const OrrServingResult *result = &a->result.serving;
    g_test_message("%s: %g s, %d rejected, %d retried", kinds[k], result->encode_mean_s,
                   (int)result->rejected, (int)result->retried);
    g_assert_cmpint(result->completed + result->rejected, ==, 120);
    g_assert_cmpfloat(result->littles_law_error, <, 1e-9);
    g_assert_true(result->e2e.mean == b->result.serving.e2e.mean);
  }
}

/* A lost encoder costs what it takes until it is back: its only one is away from 3 s to 6 s, and
 * requests that come then wait for it. A slow one takes twice the tower's time. */
static void test_lost(void) {
  static const char load[] =
      FAR "workload.replicas=8;cluster.nodes=2;" POOL "workload.start={overhead: 1 s};%s";
  g_autofree char *well = g_strdup_printf(load, "");
  g_autofree char *lost =
      g_strdup_printf(load, "workload.start.weights=false;"
                            "faults=[{at: 3 s, until: 6 s, fault: {kind: node-lost, node: 1}}]");
  g_autofree char *slow =
      g_strdup_printf(load, "faults=[{fault: {kind: slow-gpu, gpu: 8, slower: 100 %}}]");
  g_autoptr(OrrOutcome) outcome = serving_run(lost);
  const OrrServingResult a = result_of(well), c = result_of(slow);
  g_assert_cmpfloat_with_epsilon(serving_request(outcome, 0)->ttft_s, a.ttft.mean, 1e-3);
  double longest_s = 0;
  for (guint i = 0; i < outcome->serving_requests->len; i++)
    longest_s = fmax(longest_s, serving_request(outcome, i)->ttft_s);
  /* requests come each 2 s; the first one that finds it lost comes 0 to 2 s after, and it is
   * back 4 s after */
  g_assert_cmpfloat(longest_s, >=, 2);
  g_assert_cmpfloat(longest_s, <=, 4 + a.ttft.mean);
  g_assert_cmpfloat(c.encode_mean_s, >, 1.9 * a.encode_mean_s);
  g_assert_cmpfloat(c.encode_mean_s, <, 2 * a.encode_mean_s);
}

/* Three encoders on another node send at once through one replica's card: on SimGrid they share
 * it, on the ideal engine they do not. One run on SimGrid a process. */
static void test_contention(void) {
  static const char load[] =
      "model=qwen2-vl-7b;cluster.nodes=2;workload.parallel={tp: 4, pp: 2};workload.images=6;"
      "workload.load={kind: constant, rate: 10};workload.requests=20;workload.output={tokens: 2};"
      "workload.encoders={replicas: 3, batch: 256};cluster.node.nic-bandwidth=1 Gb/s;%s";
  g_autofree char *ideal = g_strdup_printf(load, ""),
                  *shared = g_strdup_printf(load, "engine=auto");
  g_assert_cmpfloat(result_of(shared).encode_mean_s, >, 1.2 * result_of(ideal).encode_mean_s);
}

static void test_refused(void) {
  serving_refused("workload.images=1;workload.encoders.replicas=1", "has no encoder");
  serving_refused("model=qwen2-vl-7b;workload.encoders.replicas=1", "nothing to encode");
  serving_refused("model=qwen2-vl-7b;workload.images=1;workload.distinct-images=5",
                  "give encoders.replicas");
  serving_refused("model=qwen2-vl-7b;workload.images=1;workload.encoders={replicas: 8}",
                  "1 * 1 * 1 * 1 + encoders 8 = 9 GPUs");
  serving_refused(
      "model=qwen2-vl-7b;workload.images=1;workload.encoders={replicas: 1, router: kv-aware}",
      "use session-affinity");
  serving_refused(
      "model=qwen2-vl-7b;workload.images=1;workload.encoders={replicas: 1, router: round-rob}",
      "did you mean 'round-robin'?");
  serving_refused(
      "model=qwen2-vl-7b;workload.images=1;workload.encoders={replicas: 1};workload.replicas=2;"
      "workload.disaggregation={prefill: 1};workload.samples=2",
      "exclude each other");
  serving_refused("model=qwen2-vl-7b;workload.images=1;workload.encoders={replicas: -1}",
                  "replicas");
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/workloads/encoders/alone", test_alone);
  g_test_add_func("/workloads/encoders/bytes", test_bytes);
  g_test_add_func("/workloads/encoders/caches", test_caches);
  g_test_add_func("/workloads/encoders/cache-memory", test_cache_memory);
  g_test_add_func("/workloads/encoders/routers", test_routers);
  g_test_add_func("/workloads/encoders/queue", test_queue);
  g_test_add_func("/workloads/encoders/laws", test_laws);
  g_test_add_func("/workloads/encoders/lost", test_lost);
  g_test_add_func("/workloads/encoders/refused", test_refused);
  g_test_add_func("/workloads/encoders/contention", test_contention);
  return g_test_run();
}

/*
 * test_serving_pools.c - attention and feed-forwards on GPUs of their own: the pipeline of
 * micro-batches against closed forms, what a step takes on both pools, what each GPU holds, and
 * what is refused.
 */
#include "sim/base/random.h"
#include "tests/base/test_size.h"
#include "tests/workloads/serving/serving_fixture.h"
#include "workloads/serving/cost/serving_pools.h"

enum { MOST_LAYERS = 40 };

static double draw(OrrRandom *random, double least, double most) {
  return least + (most - least) * orr_random_unit(random);
}

/* MegaScale-Infer (arXiv 2504.02263), equations 1 to 5: c is the way there, and the same back,
 * t_f = max(a, f), c < t_f. With m t_f >= a + f + 2 c the busier pool never waits, and m
 * micro-batches take
 *
 *   a + f + 2 c + t_f (m L - 1)
 *
 * One micro-batch alone takes L (a + f + 2 c). */
static void test_closed_forms(void) {
  OrrRandom random = orr_random_stream(3, "pools");
  const guint cases = test_size(1000, 50);
  for (guint i = 0; i < cases; i++) {
    const guint n = 1 + (guint)draw(&random, 0, MOST_LAYERS - 1);
    const double a = draw(&random, 1, 2), f = draw(&random, 1, 2), longest = fmax(a, f);
    const double way = draw(&random, 0, longest);
    const guint m = (guint)ceil((a + f + 2 * way) / longest) + (i % 2 == 0);
    OrrPoolStage layers[MOST_LAYERS];
    for (guint l = 0; l < n; l++) layers[l] = (OrrPoolStage){a, way, f, way};
    const double hidden = a + f + 2 * way + longest * (m * n - 1);
    g_assert_cmpfloat_with_epsilon(orr_serving_batches_stages_s(layers, n, m, FALSE), hidden,
                                   1e-9 * hidden);
    const double bare = n * (a + f + 2 * way);
    g_assert_cmpfloat_with_epsilon(orr_serving_batches_stages_s(layers, n, 1, FALSE), bare,
                                   1e-9 * bare);
  }
}

/* Two halves on one set of GPUs: kernels share one resource and both ways the other. Where the ways
 * hide under kernels (d, c <= a, e), 2 L (a + e) + c; where d = c are the longer ones, the first
 * half's kernels and then ways without a gap: a + 4 L d. By hand, one layer with a = 3, d = 2, e =
 * 4, c = 2: a ends at 3, 6; d at 5, 8; e at 10, 14; c at 12, 16. */
static void test_two_halves(void) {
  OrrRandom random = orr_random_stream(5, "pools");
  const OrrPoolStage one = {3, 2, 4, 2};
  g_assert_cmpfloat(orr_serving_batches_stages_s(&one, 1, 2, TRUE), ==, 16);
  for (int k = 0; k < 200; k++) {
    const guint n = 1 + (guint)draw(&random, 0, MOST_LAYERS - 1);
    const double a = draw(&random, 1, 2), e = draw(&random, 1, 2), shorter = fmin(a, e);
    const double d = draw(&random, 0, shorter), c = draw(&random, 0, shorter);
    const double longer = draw(&random, 2, 3);
    OrrPoolStage hidden[MOST_LAYERS], bare[MOST_LAYERS];
    for (guint l = 0; l < n; l++) {
      hidden[l] = (OrrPoolStage){a, d, e, c};
      bare[l] = (OrrPoolStage){a, longer, e, longer};
    }
    const double kernels = 2 * n * (a + e) + c, ways = a + 4 * n * longer;
    g_assert_cmpfloat_with_epsilon(orr_serving_batches_stages_s(hidden, n, 2, TRUE), kernels,
                                   1e-9 * kernels);
    g_assert_cmpfloat_with_epsilon(orr_serving_batches_stages_s(bare, n, 2, TRUE), ways,
                                   1e-9 * ways);
  }
}

/* Of layers that differ: at least what each of the four needs alone and what a micro-batch needs by
 * itself, at most all micro-batches one after the other; and more of the same is never faster. */
static void test_bounds(void) {
  OrrRandom random = orr_random_stream(4, "pools");
  for (int i = 0; i < 200; i++) {
    const guint n = 1 + (guint)draw(&random, 0, MOST_LAYERS - 1), m = 1 + (guint)(i % 5);
    double alone = 0, attention = 0, feed = 0, before = 0;
    OrrPoolStage layers[MOST_LAYERS];
    for (guint l = 0; l < n; l++) {
      const gboolean feeds = l % 3 != 1;
      layers[l] =
          (OrrPoolStage){draw(&random, 1, 2), feeds ? draw(&random, 0, 1) : 0,
                         feeds ? draw(&random, 0.5, 3) : 0, feeds ? draw(&random, 0, 1) : 0};
      attention += layers[l].attention_s;
      feed += layers[l].feed_s;
      alone += layers[l].attention_s + layers[l].out_s + layers[l].feed_s + layers[l].back_s;
    }
    const double time_s = orr_serving_batches_stages_s(layers, n, m, FALSE);
    g_assert_cmpfloat(time_s, >=, alone * (1 - 1e-12));
    g_assert_cmpfloat(time_s, >=, m * fmax(attention, feed) * (1 - 1e-12));
    g_assert_cmpfloat(time_s, <=, m * alone * (1 + 1e-12));
    for (guint k = 1; k <= m; k++) {
      const double next = orr_serving_batches_stages_s(layers, n, k, FALSE);
      g_assert_cmpfloat(next, >, before);
      before = next;
    }
  }
}

#define ONE                                                                                        \
  "workload.load={kind: closed-loop, concurrency: 1};workload.requests=2;workload.input={tokens: " \
  "64};workload.output={tokens: 100};"

/* Llama-3.1-8B on a GPU of attention and one of feed-forwards: the same kernels as on one GPU, one
 * after the other, and the ways there and back. All tokens are sent in 16 bits, so both ways take
 * the same, sends_busy of a step. `stack: none` has no host time. Weights: each GPU has its part,
 * together all of them. */
static void test_dense_pair(void) {
  g_autoptr(OrrOutcome) one = serving_run(ONE);
  g_autoptr(OrrOutcome) two = serving_run(ONE "workload.parallel.feed-forward={gpus: 1}");
  const OrrServingResult *a = &one->result.serving, *b = &two->result.serving;
  g_test_message("one %g, two %g, sends %g", a->tpot.mean, b->tpot.mean, b->sends_busy);
  g_assert_cmpint(a->feed_gpus, ==, 0);
  g_assert_cmpint(b->feed_gpus, ==, 1);
  g_assert_cmpint(b->n_gpus, ==, a->n_gpus + 1);
  g_assert_cmpfloat(b->tpot.mean, >, a->tpot.mean);
  g_assert_cmpfloat_with_epsilon(b->tpot.mean * (1 - 2 * b->sends_busy), a->tpot.mean,
                                 1e-3 * a->tpot.mean);
  g_assert_cmpfloat_with_epsilon(b->attention_pool_busy + b->feed_pool_busy + 2 * b->sends_busy, 1,
                                 1e-9);
  g_assert_cmpfloat_with_epsilon(b->weights_bytes + b->feed_weights_bytes, a->weights_bytes, 1);
}

/* Above static power, in joules of a run on @n GPUs; @ret_active_w: of a running kernel. */
static double dynamic_j(const OrrServingResult *result, double n, double *ret_active_w) {
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_auto(OrrMachine) h100 = {NULL};
  g_assert_true(orr_machine_load_device(shared_library(), "h100-sxm", &h100, diags));
  *ret_active_w = h100.device->power.active_w;
  return (result->gpu_power_mean_w - n * orr_device_power_static_w(&h100.device->power)) *
         result->duration_s;
}

/* The same kernels draw the same energy on one GPU and on two; static power is twice as much. Sends
 * there and back are kernels, too, and their bytes, 8 KiB per layer, next to nothing. */
static void test_energy(void) {
  double active_w;
  g_autoptr(OrrOutcome) one = serving_run(ONE);
  g_autoptr(OrrOutcome) two = serving_run(ONE "workload.parallel.feed-forward={gpus: 1}");
  const OrrServingResult *apart = &two->result.serving;
  const double of_one = dynamic_j(&one->result.serving, 1, &active_w),
               of_two = dynamic_j(apart, 2, &active_w),
               sends = 2 * apart->sends_busy * apart->duration_s * active_w;
  g_test_message("one %g J, two %g J, sends %g J", of_one, of_two, sends);
  g_assert_cmpfloat(of_one, >, 0);
  g_assert_cmpfloat(sends, >, 0.005 * of_one);
  g_assert_cmpfloat_with_epsilon(of_two, of_one + sends, 0.003 * of_one);
}

#define MIXTURE                                                                                    \
  "model=qwen3-30b-a3b;workload.engine.kv-blocks=0;workload.engine.max-num-seqs=256;cluster."      \
  "nodes="                                                                                         \
  "2;workload.load={kind: closed-loop, concurrency: 1024};workload.requests=2048;workload.input={" \
  "tokens: 64};workload.output={tokens: 64};"

static OrrServingResult mixture(const char *parallel) {
  g_autofree char *sets = g_strdup_printf(MIXTURE "workload.parallel=%s", parallel);
  g_autoptr(OrrOutcome) outcome = serving_run(sets);
  return outcome->result.serving;
}

/* Two micro-batches let one pool work while the other does; a third hides sends, too. Each pool is
 * then busier than with fewer. GPUs of feed-forwards hold 1 / 8 of the experts each. */
static void test_micro_batches(void) {
  const OrrServingResult one = mixture("{dp-attention: 8, ep: 8, feed-forward: {gpus: 8}}"),
                         two = mixture("{dp-attention: 8, ep: 8, feed-forward: {gpus: 8, "
                                       "micro-batches: 2}}"),
                         three = mixture("{dp-attention: 8, ep: 8, feed-forward: {gpus: 8, "
                                         "micro-batches: 3}}");
  g_test_message("tpot %g, %g, %g; feed %g, %g, %g", one.tpot.mean, two.tpot.mean, three.tpot.mean,
                 one.feed_pool_busy, two.feed_pool_busy, three.feed_pool_busy);
  g_assert_cmpfloat(two.feed_pool_busy, >, one.feed_pool_busy);
  g_assert_cmpfloat(three.feed_pool_busy, >, two.feed_pool_busy);
  g_assert_cmpfloat(two.attention_pool_busy, >, one.attention_pool_busy);
  g_assert_cmpfloat(one.attention_pool_busy + one.feed_pool_busy, <, 1);
  /* 48 layers of 128 experts of 3 * 2,048 * 768 in bf16 */
  const double experts = 48.0 * 128 * 3 * 2048 * 768 * 2 / 8;
  g_assert_cmpfloat_with_epsilon(one.feed_weights_bytes, experts, 0.01 * experts);
}

/* Each GPU of a pool of twice as many has half of the experts: its part of a step is less. */
static void test_ratio(void) {
  const OrrServingResult few = mixture("{dp-attention: 4, ep: 4, feed-forward: {gpus: 4}}"),
                         many = mixture("{dp-attention: 4, ep: 8, feed-forward: {gpus: 8}}");
  g_test_message("feed %g, %g; tpot %g, %g", few.feed_pool_busy, many.feed_pool_busy, few.tpot.mean,
                 many.tpot.mean);
  g_assert_cmpfloat(many.feed_pool_busy, <, few.feed_pool_busy);
  g_assert_cmpfloat_with_epsilon(few.feed_weights_bytes, 2 * many.feed_weights_bytes,
                                 0.02 * few.feed_weights_bytes);
}

/* Feed-forwards on a device of their own: the same device under its name changes nothing. An H20
 * has a seventh of the H100's tensor cores and 4.0 TB/s instead of 3.35: one token's feed-forwards,
 * which read weights, are faster. Attention's part of a step is as before (prompts are in
 * the mean, too). */
static void test_devices(void) {
  g_autoptr(OrrOutcome) own = serving_run(ONE "workload.parallel.feed-forward={gpus: 1}");
  g_autoptr(OrrOutcome) same =
      serving_run(ONE "workload.parallel.feed-forward={gpus: 1, device: h100-sxm}");
  g_autoptr(OrrOutcome) other =
      serving_run(ONE "workload.parallel.feed-forward={gpus: 1, device: h20}");
  const OrrServingResult *a = &own->result.serving, *b = &same->result.serving,
                         *c = &other->result.serving;
  g_assert_cmpfloat_with_epsilon(a->tpot.mean, b->tpot.mean, 1e-12);
  g_assert_cmpfloat_with_epsilon(a->gpu_power_mean_w, b->gpu_power_mean_w, 1e-9);
  const double attention_s = a->attention_pool_busy * a->tpot.mean;
  g_assert_cmpfloat_with_epsilon(c->attention_pool_busy * c->tpot.mean, attention_s,
                                 0.01 * attention_s);
  g_assert_cmpfloat(c->feed_pool_busy * c->tpot.mean, <, a->feed_pool_busy * a->tpot.mean);
  g_assert_cmpfloat(c->ttft.mean, !=, a->ttft.mean);
}

/* A batch below the threshold is computed whole. Above it halves read all weights twice, so few
 * tokens take longer, and the same tokens draw more energy. Prompts over two nodes, whose exchange
 * takes long, are faster in halves. */
static void test_two_batches(void) {
  const OrrServingResult whole = mixture("{dp-attention: 8, ep: 8}"),
                         below = mixture("{dp-attention: 8, ep: 8, two-batches: {decodes: 1000}}"),
                         few = mixture("{dp-attention: 8, ep: 8, two-batches: {decodes: 2}}");
  g_test_message("tpot %g, %g", whole.tpot.mean, few.tpot.mean);
  g_assert_cmpfloat(below.tpot.mean, ==, whole.tpot.mean);
  g_assert_cmpfloat(few.tpot.mean, >, whole.tpot.mean);
  g_assert_cmpfloat(few.gpu_power_mean_w * few.duration_s, >,
                    whole.gpu_power_mean_w * whole.duration_s);
#define PROMPTS                                                                                    \
  "workload.output={tokens: 1};workload.input={tokens: 4096};workload.engine.max-num-batched-"     \
  "tokens=8192;workload.requests=256;workload.load={kind: closed-loop, concurrency: 256};"
  g_autoptr(OrrOutcome) one =
      serving_run(MIXTURE PROMPTS "workload.parallel={dp-attention: 16, ep: 16}");
  g_autoptr(OrrOutcome) two = serving_run(
      MIXTURE PROMPTS "workload.parallel={dp-attention: 16, ep: 16, two-batches: {prompts: 2}}");
#undef PROMPTS
  g_assert_cmpfloat(two->result.serving.ttft.mean, <, one->result.serving.ttft.mean);
}

static void test_refused(void) {
  serving_refused("workload.parallel={pp: 2, two-batches: {decodes: 2}}",
                  "parallel.two-batches and parallel.pp above 1");
  serving_refused("workload.parallel={feed-forward: {gpus: 2}, two-batches: {decodes: 2}}",
                  "feed-forward.micro-batches overlap there");
  serving_refused("workload.parallel={two-batches: {decodes: 2, held: 132}}",
                  "leaves none of the 132");
  serving_refused("workload.parallel.feed-forward={device: h20}",
                  "feed-forward.device needs feed-forward.gpus");
  serving_refused("workload.precision=fp8;workload.parallel.feed-forward={gpus: 1, device: "
                  "a100-80gb-sxm}",
                  "does not multiply fp8");
  serving_refused("workload.parallel.feed-forward={micro-batches: 2}", "give feed-forward.gpus");
  serving_refused("workload.parallel={ep: 2, feed-forward: {gpus: 3}}", "cannot be divided by ep");
  serving_refused("workload.parallel={pp: 2, feed-forward: {gpus: 2}}",
                  "parallel.feed-forward and parallel.pp above 1");
  serving_refused("workload.parallel.feed-forward={gpus: 2};workload.engine.speculation={kind: "
                  "ngram, num-speculative-tokens: 2}",
                  "engine.speculation");
  serving_refused("workload.parallel.feed-forward={gpus: 8}", "9 GPUs, but the cluster has 8");
  serving_refused(
      "workload.parallel.feed-forward={gpus: 2};workload.autoscaling={by: queue};"
      "cluster.storage={servers: 1, server-bandwidth: 10 GB/s, node-bandwidth: 10 GB/s}",
      "start.weights: false");
  serving_refused("model=deepseek-v3;workload.precision=fp8;workload.engine.kv-blocks=0;workload."
                  "parallel={ep: 4, feed-forward: {gpus: 4}}",
                  "the feed-forwards of model deepseek-v3 do not fit");
}

/* Sends between the pools take tokens to the experts: no all-to-all does. With ep 1 no rank has
 * more of the experts than another. */
static void test_idle(void) {
#define OF_EXPERTS "model=qwen3-30b-a3b;workload.engine.kv-blocks=0;workload.parallel="
  static const struct {
    const char *sets, *says; /* NULL: nothing has no effect */
  } cases[] = {
      {"workload.parallel={feed-forward: {gpus: 2}, all-to-all: nccl}",
       "parallel.all-to-all (nccl) has no effect"},
      {"workload.parallel={all-to-all: nccl}",
       "parallel.all-to-all (nccl) has no effect: the model has no experts"},
      {OF_EXPERTS "{two-batches: {decodes: 2}}", "parallel.two-batches has no effect"},
      {OF_EXPERTS "{expert-placement: packed}", "parallel.expert-placement (packed) has no e"},
      {OF_EXPERTS "{dp-attention: 2, ep: 2, expert-load: lognormal, expert-placement: packed}",
       NULL},
  };
#undef OF_EXPERTS
  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    g_autofree char *findings = NULL;
    g_autoptr(OrrScenario) scenario = serving_scenario(shared_library(), cases[i].sets, &findings);
    g_assert_nonnull(scenario);
    if (cases[i].says ? !strstr(findings, cases[i].says) : strstr(findings, "has no e") != NULL)
      g_error("'%s' says: %s", cases[i].sets, findings);
  }
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/workloads/serving-pools/closed-forms", test_closed_forms);
  g_test_add_func("/workloads/serving-pools/two-halves", test_two_halves);
  g_test_add_func("/workloads/serving-pools/two-batches", test_two_batches);
  g_test_add_func("/workloads/serving-pools/bounds", test_bounds);
  g_test_add_func("/workloads/serving-pools/dense-pair", test_dense_pair);
  g_test_add_func("/workloads/serving-pools/energy", test_energy);
  g_test_add_func("/workloads/serving-pools/micro-batches", test_micro_batches);
  g_test_add_func("/workloads/serving-pools/ratio", test_ratio);
  g_test_add_func("/workloads/serving-pools/devices", test_devices);
  g_test_add_func("/workloads/serving-pools/refused", test_refused);
  g_test_add_func("/workloads/serving-pools/idle", test_idle);
  return g_test_run();
}

/*
 * test_task_oracles.c - tasks against closed forms: networks of queues, bytes of indexes, passes of
 * models.
 */
#include "tests/base/test_size.h"
#include "tests/workloads/scenario_fixture.h"
#include "tests/workloads/serving/serving_fixture.h"

/* --- a Jackson network --- */

#define NETWORK                                                                                    \
  "workload.input={tokens: 10};workload.output={tokens: 1};"                                       \
  "workload.load={kind: poisson, rate: 0.3};workload.requests=%d;seed=%d;"                         \
  "workload.tasks={steps: [{name: pass, do: {kind: repeat, program: pass, again: 0.4}}], "         \
  "programs: [{name: pass, steps: ["                                                               \
  "{name: a, do: {kind: tool, pool: one, time: {kind: exponential, mean: 1 s}}}, "                 \
  "{name: b, do: {kind: tool, pool: two, time: {kind: exponential, mean: 2.5 s}}}]}], "            \
  "pools: [{name: one, of: {kind: workers, workers: 1}}, "                                         \
  "{name: two, of: {kind: workers, workers: 2}}]}"

/* Erlang's C: the probability that a job waits in M/M/c. */
static double waits(int c, double offered) {
  double sum = 0, term = 1;
  for (int k = 0; k < c; k++) {
    sum += term;
    term *= offered / (k + 1);
  }
  const double last = term / (1 - offered / c);
  return last / (sum + last);
}

/* Time in M/M/c: service + C / (c mu - lambda). */
static double sojourn_s(int c, double rate, double service_s) {
  return service_s + waits(c, rate * service_s) / (c / service_s - rate);
}

/* A tandem of M/M/1 and M/M/2 that a task leaves with probability 0.6 and else passes again. By
 * Jackson (1957) each station is as if its arrivals were Poisson with rate 0.3 / 0.6 = 0.5, though
 * with feedback they are not: 2 s at the first, 2.5 + C / (0.8 - 0.5) at the second, 1 / 0.6 times
 * each. Means over independent seeds must agree within four standard errors, which are themselves
 * within 3 % of the mean: a wrong discipline, or a queue that is not there, is off by 20 % and
 * more. */
static void test_jackson(void) {
  const int seeds = 8, tasks = (int)test_size(10000, 2500);
  const double first_s = sojourn_s(1, 0.5, 1), second_s = sojourn_s(2, 0.5, 2.5);
  const double want = (first_s + second_s) / 0.6;
  double sum = 0, squares = 0, busy[2] = {0};
  g_assert_cmpfloat_with_epsilon(first_s, 2, 1e-12); /* 1 / (mu - lambda) */
  for (int seed = 1; seed <= seeds; seed++) {
    g_autofree char *sets = g_strdup_printf(NETWORK, tasks, seed);
    g_autoptr(OrrOutcome) outcome = serving_run(sets);
    const double mean =
        g_array_index(outcome->serving_task_results, OrrServingTaskResult, 0).e2e.mean;
    sum += mean / seeds;
    squares += mean * mean / seeds;
    for (guint i = 0; i < 2; i++)
      busy[i] += g_array_index(outcome->serving_task_pools, OrrServingTaskPoolRow, i).busy / seeds;
  }
  const double error = sqrt(fmax(squares - sum * sum, 0) / (seeds - 1));
  g_test_message("mean %g s, Jackson %g s, standard error %g s", sum, want, error);
  g_assert_cmpfloat(error, <, 0.03 * want);
  g_assert_cmpfloat(fabs(sum - want), <, 4 * error);
  g_assert_cmpfloat(fabs(busy[0] - 0.5), <, 0.02); /* rho: 80,000 passes, 0.4 % and less */
  g_assert_cmpfloat(fabs(busy[1] - 0.625), <, 0.02);
}

/* --- indexes --- */

#define SEARCH(index_)                                                                             \
  "workload.load={kind: constant, rate: 0.1};workload.requests=2;workload.tasks={steps: [{name: "  \
  "s, do: {kind: search, pool: v, queries: 2}}], pools: [{name: v, of: {kind: index, " index_      \
  "}}]}"

static OrrServingTaskPoolRow searched(const char *sets) {
  g_autoptr(OrrOutcome) outcome = serving_run(sets);
  return g_array_index(outcome->serving_task_pools, OrrServingTaskPoolRow, 0);
}

/* Two queries each. flat: 1e6 x 128 x 4 bytes, 256 FLOPs for each vector: 51.2 ms of 10 GB/s.
 * ivf, 10 of 1,000 lists: 1e4 vectors, and 1,000 centroids. With codes of 16 bytes the centroids
 * and 1e4 x 16 bytes; FLOPs 256e3 + 10 x 2 x 256 x 128 + 160e3.
 * hnsw, M 16 and ef 84: ln 1e6 / ln 16 is 4.983, so 88.98 hops, 16 vectors each. */
static void test_indexes(void) {
  const OrrServingTaskPoolRow flat = searched(SEARCH("type: flat, vectors: 1e6, dimension: 128"));
  g_assert_cmpfloat_with_epsilon(flat.bytes_per_job, 2 * 512e6, 1);
  g_assert_cmpfloat_with_epsilon(flat.flops_per_job, 2 * 256e6, 1);
  g_assert_cmpfloat_with_epsilon(flat.service_mean_s, 2 * 512e6 / 10e9, 1e-9);
  const OrrServingTaskPoolRow ivf =
      searched(SEARCH("type: ivf, vectors: 1e6, dimension: 128, lists: 1000, probes: 10"));
  g_assert_cmpfloat_with_epsilon(ivf.bytes_per_job, 2 * 11000 * 512.0, 1);
  g_assert_cmpfloat_with_epsilon(ivf.flops_per_job, 2 * 11000 * 256.0, 1);
  const OrrServingTaskPoolRow codes = searched(
      SEARCH("type: ivf, vectors: 1e6, dimension: 128, lists: 1000, probes: 10, code: 16"));
  g_assert_cmpfloat_with_epsilon(codes.bytes_per_job, 2 * (512e3 + 160e3), 1);
  g_assert_cmpfloat_with_epsilon(codes.flops_per_job, 2 * (256e3 + 655360 + 160e3), 1);
  const OrrServingTaskPoolRow hnsw =
      searched(SEARCH("type: hnsw, vectors: 1e6, dimension: 128, links: 16, ef: 84"));
  const double hops = 84 + log(1e6) / log(16);
  g_assert_cmpfloat_with_epsilon(hnsw.bytes_per_job, 2 * hops * (16 * 512 + 128), 1);
  g_assert_cmpfloat_with_epsilon(hnsw.service_mean_s, 2 * hops * ((16 * 512 + 128) / 10e9 + 100e-9),
                                 1e-9);
  /* ten vectors: ten candidates at most, and as many distances as there are vectors */
  const OrrServingTaskPoolRow tiny =
      searched(SEARCH("type: hnsw, vectors: 10, dimension: 128, links: 16, ef: 84"));
  const double few = 10 + log(10) / log(16);
  g_assert_cmpfloat_with_epsilon(tiny.bytes_per_job, 2 * (10 * 512 + few * 128), 1);
  g_assert_cmpfloat_with_epsilon(tiny.flops_per_job, 2 * 10 * 256.0, 1);
  serving_refused(SEARCH("type: ivf, vectors: 100, dimension: 128"),
                  "lists (1024) is above the 100 vectors");
  serving_refused(SEARCH("vectors: 1e12, dimension: 128"), "does not fit the");
  serving_refused(SEARCH("vectors: 1e6, dimension: 128, lists: 4, probes: 9"), "probes (9)");
  serving_refused(SEARCH("type: hnsw, vectors: 10, dimension: 8, on: gpu"), "is not modelled");
}

/* FAISS's benchmark of SIFT1B on one GPU (in its README): OPQ8_32,IVF262144,PQ8, 10,000 queries
 * in 0.244, 0.353, 0.587 and 1.160 s with 32, 64, 128 and 256 probes. Queries of a batch share the
 * centroids, so what more probes add is compared: bytes at a fifth of the Titan X's 336 GB/s. The
 * fifth is from the last pair; the others are within 35 %. */
static void test_published(void) {
  static const double seconds[] = {0.244, 0.353, 0.587, 1.160};
  double before = 0;
  for (guint i = 0; i < 4; i++) {
    g_autofree char *sets = g_strdup_printf(
        SEARCH("vectors: 1e9, dimension: 32, lists: 262144, probes: %d, code: 8"), 32 << i);
    const double bytes = searched(sets).bytes_per_job / 2;
    const double added_s = (bytes - before) / (0.2 * 336e9);
    if (i > 0) {
      const double ratio = added_s / ((seconds[i] - seconds[i - 1]) / 1e4);
      g_test_message("from %d to %d probes: %.2f of the measured time", 16 << i, 32 << i, ratio);
      g_assert_cmpfloat(fabs(ratio - 1), <, i == 3 ? 0.03 : 0.35);
    }
    before = bytes;
  }
}

/* A GPU reads at a fifth of its bandwidth: 11,000 vectors of 512 bytes from 3.35 TB/s. */
static void test_gpu_index(void) {
  const OrrServingTaskPoolRow row =
      searched(SEARCH("type: ivf, vectors: 1e6, dimension: 128, lists: 1000, probes: 10, on: gpu"));
  g_assert_cmpint(row.gpus, ==, 1);
  g_assert_cmpfloat_with_epsilon(row.service_mean_s, 2 * 11000 * 512.0 / (0.2 * 3.35e12), 1e-9);
}

/* One more search, of 512 MB at a fifth of 3.35 TB/s: 0.764 ms of a running kernel (60 W), and 50
 * pJ of memory and 53 on the chip per byte. Its engines compute as much. */
static void test_gpu_index_energy(void) {
  static const char load[] =
      "workload.load={kind: constant, rate: 0.1};workload.requests=2;workload.tasks={steps: "
      "[{name: "
      "s, do: {kind: search, pool: v, queries: %d}}], pools: [{name: v, of: {kind: index, type: "
      "flat, vectors: 1e6, dimension: 128, on: gpu}}]}";
  g_autofree char *one = g_strdup_printf(load, 1), *two = g_strdup_printf(load, 2);
  g_autoptr(OrrOutcome) a = serving_run(one), b = serving_run(two);
  const OrrServingResult *x = &a->result.serving, *y = &b->result.serving;
  const double kernel_j = 60 * 512e6 / (0.2 * 3.35e12), chip_j = 53e-12 * 512e6;
  g_assert_cmpfloat_with_epsilon(y->gpu_energy_memory_j - x->gpu_energy_memory_j,
                                 2 * 50e-12 * 512e6, 1e-6);
  g_assert_cmpfloat_with_epsilon(y->gpu_energy_compute_j - x->gpu_energy_compute_j,
                                 2 * (kernel_j + chip_j), 1e-6);
}

static gboolean warns(const OrrOutcome *outcome, const char *part) {
  ORR_EACH_POINTER(const char, warning, outcome->warnings)
    if (strstr(warning, part)) return TRUE;
  return FALSE;
}

/* 1,000 tools of 1 s per second keep 1,000 cores busy, 100 keep 100; a node has 112. Indexes that
 * read 512 MB a query, 4,000 per second, read 2,048 GB/s of 614.4. */
static void test_hosts(void) {
  static const char tools[] = "workload.load={kind: constant, rate: "
                              "%d};workload.requests=%d;workload.tasks={steps: [{name: "
                              "t, do: {kind: tool, pool: box, time: {kind: constant, mean: 1 "
                              "s}}}], pools: [{name: box, of: "
                              "{kind: workers}}]}";
  static const char searches[] =
      "workload.load={kind: constant, rate: 4000};workload.requests=40000;workload.tasks={steps: "
      "[{name: s, do: {kind: search, pool: v}}], pools: [{name: v, of: {kind: index, type: flat, "
      "vectors: 1e6, dimension: 128, workers: 1000}}]}";
  g_autofree char *many = g_strdup_printf(tools, 1000, 10000),
                  *few = g_strdup_printf(tools, 100, 1000);
  g_autoptr(OrrOutcome) above = serving_run(many), below = serving_run(few),
                        readers = serving_run(searches);
  g_assert_true(warns(above, "CPU cores busy on average, and the cluster's hosts have 112"));
  g_assert_false(warns(below, "CPU cores busy"));
  g_assert_true(warns(readers, "the memory of the cluster's hosts gives 614"));
  g_assert_false(warns(above, "the memory of the cluster's hosts"));
}

/* --- models that read --- */

#define READ(rate_, more_)                                                                         \
  "workload.load=" rate_ ";workload.requests=2;workload.tasks={steps: [{name: e, do: {kind: "      \
  "encode, pool: m, sequences: 8, tokens: {tokens: 256}}}], pools: [{name: m, of: {kind: model, "  \
  "model: qwen3-0.6b" more_ "}}]}"
#define APART "{kind: constant, rate: 0.1}"
#define TOGETHER "{kind: closed-loop, concurrency: 2}"

/* Alone, the overhead adds to the pass; two jobs that come at once share a pass, which is longer
 * than one of theirs and shorter than both; where a pass has room for one, the second waits for the
 * first. Twice the replicas need no wait. */
static void test_models(void) {
  const OrrServingTaskPoolRow alone = searched(READ(APART, ""));
  const OrrServingTaskPoolRow later = searched(READ(APART, ", overhead: 5 ms"));
  const OrrServingTaskPoolRow both = searched(READ(TOGETHER, ""));
  const OrrServingTaskPoolRow queue = searched(READ(TOGETHER, ", batch: 2048"));
  const OrrServingTaskPoolRow two = searched(READ(TOGETHER, ", batch: 2048, replicas: 2"));
  const double one_s = alone.service_mean_s;
  g_assert_cmpfloat(one_s, >, 1e-3);
  g_assert_cmpfloat(one_s, <, 50e-3);
  g_assert_cmpfloat_with_epsilon(later.service_mean_s, one_s + 5e-3, 1e-9);
  /* a score is a product with the head, 1,024 * 151,936 in 16 bits, at 3.35 TB/s at most */
  const double head_s = 2 * 1024.0 * 151936 / 3.35e12;
  const double scored_s = searched(READ(APART, ", scores: true")).service_mean_s - one_s;
  g_assert_cmpfloat(scored_s, >, head_s);
  g_assert_cmpfloat(scored_s, <, 2 * head_s);
  g_assert_cmpfloat(both.service_mean_s * 2, >, one_s); /* of servers, per job: half a pass */
  g_assert_cmpfloat(both.service_mean_s, <, one_s);
  g_assert_cmpfloat_with_epsilon(queue.service_mean_s, one_s, 1e-9);
  g_assert_cmpfloat_with_epsilon(queue.wait_mean_s, one_s / 2, 1e-9);
  g_assert_cmpfloat_with_epsilon(two.wait_mean_s, 0, 1e-9);
  g_assert_cmpint(two.gpus, ==, 2);
}

/* One text above a pass' tokens is one pass all the same. */
static void test_long_text(void) {
  static const char read[] = "workload.load={kind: constant, rate: "
                             "0.1};workload.requests=2;workload.tasks={steps: [{name: "
                             "e, do: {kind: encode, pool: m, sequences: 1, tokens: {tokens: "
                             "3000}}}], pools: [{name: m, of: "
                             "{kind: model, model: qwen3-0.6b, batch: %d}}]}";
  g_autofree char *small = g_strdup_printf(read, 1000), *large = g_strdup_printf(read, 3000);
  g_assert_cmpfloat_with_epsilon(searched(small).service_mean_s, searched(large).service_mean_s,
                                 1e-9);
}

/* --- generators --- */

#define MAKE(load_, requests_, more_)                                                              \
  "workload.load=" load_ ";workload.requests=" #requests_                                          \
  ";workload.tasks={steps: [{name: draw, do: {kind: make, pool: g}}], pools: [{name: g, of: "      \
  "{kind: generator, make: {generator: sd-1.5, steps: 4, host: {dispatch: 1 ns}}" more_ "}}]}"

static double alone_s(const char *keys) {
  g_autofree char *text = g_strdup_printf(
      "name: t\ncluster: {base: dgx-h100-superpod, nodes: 0, gpus: 1}\nworkload: {kind: diffusion, "
      "stack: none, generator: sd-1.5, steps: 4, host: {dispatch: 1 ns}, %s}\n",
      keys);
  g_autoptr(OrrOutcome) outcome = ideal_outcome_of(text, "", FALSE);
  return outcome->result.diffusion.latency_s;
}

/* A picture alone takes as long as workload diffusion's. Of four that come together a pool makes
 * two at once: the second pair waits for the first. Two replicas need no wait, and stages add up to
 * the whole. */
static void test_generators(void) {
  const double one_s = alone_s("batch: 1"), two_s = alone_s("batch: 2");
  const OrrServingTaskPoolRow alone = searched(MAKE("{kind: constant, rate: 0.1}", 2, ""));
  g_assert_cmpfloat_with_epsilon(alone.service_mean_s / one_s, 1, 1e-9);
  const OrrServingTaskPoolRow pairs =
      searched(MAKE("{kind: closed-loop, concurrency: 4}", 4, ", batch: 2"));
  g_assert_cmpfloat_with_epsilon(pairs.service_mean_s / (two_s / 2), 1, 1e-9);
  g_assert_cmpfloat_with_epsilon(pairs.wait_mean_s / (two_s / 2), 1, 1e-9);
  const OrrServingTaskPoolRow both =
      searched(MAKE("{kind: closed-loop, concurrency: 4}", 4, ", batch: 2, replicas: 2"));
  g_assert_cmpfloat_with_epsilon(both.wait_mean_s, 0, 1e-9);
  double sum_s = 0;
  static const char *const stages[] = {", stages: text", ", stages: backbone", ", stages: decoder"};
  for (guint i = 0; i < 3; i++) {
    g_autofree char *sets =
        g_strdup_printf(MAKE("{kind: constant, rate: 0.1}", 2, "%s"), stages[i]);
    sum_s += searched(sets).service_mean_s;
  }
  g_assert_cmpfloat_with_epsilon(sum_s / one_s, 1, 1e-9);
}

/* Weights that come a block ahead: copies decide over small pictures, kernels over large ones. */
static void test_generators_fetch(void) {
  static const char *const keys[] = {"offload: prefetch, height: 256, width: 256, batch: 1",
                                     "offload: prefetch, height: 1024, width: 1024, batch: 1"};
  for (guint i = 0; i < G_N_ELEMENTS(keys); i++) {
    g_autofree char *sets = g_strdup_printf(
        "workload.load={kind: constant, rate: 0.01};workload.requests=2;workload.tasks={steps: "
        "[{name: draw, do: {kind: make, pool: g}}], pools: [{name: g, of: {kind: generator, make: "
        "{generator: sd-1.5, steps: 4, host: {dispatch: 1 ns}, %s}}}]}",
        keys[i]);
    g_assert_cmpfloat_with_epsilon(searched(sets).service_mean_s / alone_s(keys[i]), 1, 1e-6);
  }
}

/* With `wait` the first of a batch that is not full waits for others: two that come 1 s apart are
 * made together, after the whole wait where no third comes. */
static void test_patience(void) {
  const OrrServingTaskPoolRow waits =
      searched(MAKE("{kind: constant, rate: 1}", 2, ", batch: 3, wait: 5 s"));
  g_assert_cmpfloat_with_epsilon(waits.wait_mean_s, 4.5, 1e-6);
  const OrrServingTaskPoolRow full =
      searched(MAKE("{kind: constant, rate: 1}", 2, ", batch: 2, wait: 5 s"));
  g_assert_cmpfloat_with_epsilon(full.wait_mean_s, 0.5, 1e-6);
}

/* Poisson arrivals, one picture at a time, fixed times: M/D/1, whose mean wait is rho s / (2 (1 -
 * rho)) (Pollaczek, Khinchine). rho 0.5: half a service. */
static void test_md1(void) {
  const double one_s = alone_s("batch: 1");
  const int seeds = 8, pictures = (int)test_size(4000, 1500);
  double sum = 0, squares = 0;
  for (int seed = 1; seed <= seeds; seed++) {
    g_autofree char *sets = g_strdup_printf(MAKE("{kind: poisson, rate: %.9g}", % d, "") ";seed=%d",
                                            0.5 / one_s, pictures, seed);
    const double wait = searched(sets).wait_mean_s / one_s;
    sum += wait / seeds;
    squares += wait * wait / seeds;
  }
  const double error = sqrt(fmax(squares - sum * sum, 0) / (seeds - 1));
  g_test_message("mean wait %g services, 0.5 wanted, standard error %g", sum, error);
  g_assert_cmpfloat(error, <, 0.05);
  g_assert_cmpfloat(fabs(sum - 0.5), <, 4 * error);
}

static void test_generators_refused(void) {
  serving_refused(MAKE("{kind: constant, rate: 1}", 2, ", batch: 10000"), "needs at least");
  serving_refused("workload.load={kind: constant, rate: 1};workload.tasks={steps: [{name: d, do: "
                  "{kind: make, pool: g}}], pools: [{name: g, of: {kind: generator, make: "
                  "{generator: flux.1-dev, parallel: {ulysses: 2}}}}]}",
                  "a replica of a pool is one GPU");
  serving_refused("workload.load={kind: constant, rate: 1};workload.tasks={steps: [{name: d, do: "
                  "{kind: make, pool: g}}], pools: [{name: g, of: {kind: generator, make: "
                  "{generator: flux.1-dev, stack: xdit-0.4}}}]}",
                  "pools take no stack");
}

/* --- models that share GPUs --- */

#define SHARE(requests_, more_) SHARED_BY(1, requests_, more_)
#define SHARED_BY(clients_, requests_, more_)                                                      \
  "workload.load={kind: closed-loop, concurrency: " #clients_ "};workload.requests=" #requests_    \
  ";cluster.node.host-link-efficiency=100 %;workload.tasks={steps: [{name: a, do: {kind: make, "   \
  "pool: a}}, {name: b, answers: true, do: {kind: make, pool: b}}], pools: [{name: a, of: {kind: " \
  "generator, make: {generator: sd-1.5, steps: 4, host: {dispatch: 1 ns}}}}, {name: b" more_       \
  ", of: {kind: generator, make: {generator: sdxl, steps: 2, host: {dispatch: 1 ns}}}}]}"

static double load_s(const char *generator) {
  g_autofree char *text = g_strdup_printf(
      "name: t\ncluster: {base: dgx-h100-superpod, nodes: 0, gpus: 1}\nworkload: {kind: diffusion, "
      "stack: none, generator: %s, steps: 1}\n",
      generator);
  g_autoptr(OrrOutcome) outcome = ideal_outcome_of(text, "", FALSE);
  return outcome->result.diffusion.weight_bytes / 63e9;
}

/* One GPU, two models, asked in turn: each of n tasks loads the second, and all but the first load
 * the first again. With GPUs of their own none is loaded. A task's first answer is its end here. */
static void test_shared_gpus(void) {
  enum { N = 5 };
  g_autoptr(OrrOutcome) apart = serving_run(SHARE(5, ""));
  g_autoptr(OrrOutcome) shared = serving_run(SHARE(5, ", shares: a"));
  const OrrServingTaskResult *a =
      &g_array_index(apart->serving_task_results, OrrServingTaskResult, 0);
  const OrrServingTaskResult *b =
      &g_array_index(shared->serving_task_results, OrrServingTaskResult, 0);
  const OrrServingTaskPoolRow *pools =
      (const OrrServingTaskPoolRow *)(const void *)shared->serving_task_pools->data;
  const double loads_s = (N - 1) * load_s("sd-1.5") + N * load_s("sdxl");
  g_assert_cmpint(pools[0].loads, ==, N - 1);
  g_assert_cmpint(pools[1].loads, ==, N);
  g_assert_cmpfloat_with_epsilon(N * (b->e2e.mean - a->e2e.mean), loads_s, 1e-6 * loads_s);
  g_assert_cmpfloat_with_epsilon(b->first.mean, b->e2e.mean, 1e-9);
  g_assert_cmpint(apart->result.serving.n_gpus, ==, shared->result.serving.n_gpus + 1);
}

/* Of two tasks that come together the second asks for the first model before the first asks for the
 * second, so both are served by it, and the second model is loaded once. */
static void test_shared_order(void) {
  g_autoptr(OrrOutcome) outcome = serving_run(SHARED_BY(2, 2, ", shares: a"));
  const OrrServingTaskPoolRow *pools =
      (const OrrServingTaskPoolRow *)(const void *)outcome->serving_task_pools->data;
  g_assert_cmpint(pools[0].loads, ==, 0);
  g_assert_cmpint(pools[1].loads, ==, 1);
}

/* Two GPUs for both models: each keeps one, so the second is loaded once for all tasks. */
static void test_shared_pair(void) {
  g_autoptr(OrrOutcome) outcome = serving_run(
      "workload.load={kind: closed-loop, concurrency: "
      "1};workload.requests=5;workload.tasks={steps: "
      "[{name: a, do: {kind: make, pool: a}}, {name: b, do: {kind: make, pool: b}}], pools: "
      "[{name: "
      "a, of: {kind: generator, replicas: 2, make: {generator: sd-1.5, steps: 4}}}, {name: b, "
      "shares: a, of: {kind: generator, replicas: 2, make: {generator: sdxl, steps: 2}}}]}");
  const OrrServingTaskPoolRow *pools =
      (const OrrServingTaskPoolRow *)(const void *)outcome->serving_task_pools->data;
  g_assert_cmpint(pools[0].loads, ==, 0);
  g_assert_cmpint(pools[1].loads, ==, 1);
}

/* Of two steps that answer the first is the first answer: 1 s of 3. */
static void test_first_answer(void) {
  g_autoptr(OrrOutcome) outcome = serving_run(
      "workload.load={kind: constant, rate: 0.1};workload.requests=2;workload.tasks={steps: "
      "[{name: "
      "a, answers: true, do: {kind: tool, pool: w, time: {kind: constant, mean: 1 s}}}, {name: b, "
      "answers: true, do: {kind: tool, pool: w, time: {kind: constant, mean: 2 s}}}], pools: "
      "[{name: w, of: {kind: workers, workers: 1}}]}");
  const OrrServingTaskResult *result =
      &g_array_index(outcome->serving_task_results, OrrServingTaskResult, 0);
  g_assert_cmpfloat_with_epsilon(result->first.mean, 1, 1e-6);
  g_assert_cmpfloat_with_epsilon(result->e2e.mean, 3, 1e-6);
}

static void test_shared_refused(void) {
  serving_refused(SHARE(5, ", shares: c"), "'c' is not an earlier pool");
  serving_refused(SHARE(5, ", shares: b"), "'b' is not an earlier pool");
  serving_refused("workload.load={kind: constant, rate: 1};workload.tasks={steps: [{name: d, do: "
                  "{kind: make, pool: g}}], pools: [{name: w, of: {kind: workers, workers: 1}}, "
                  "{name: g, shares: w, of: {kind: generator, make: {generator: sd-1.5}}}]}",
                  "with as many replicas");
}

/* --- recommenders --- */

/* Two rankers on one GPU whose tables stay in host memory: of a load only the dense layers come, in
 * 16 bits. With biases 13 * 512 + 512 * 256 + 256 * 64 + 64 * 16 + 848 below, and above the 27 * 26
 * / 2 products and 16 inputs 367 * 512 + 512 * 256 + 256 + 769: 475,985. */
static void test_shared_rankers(void) {
  enum { N = 5 };
  static const char pools[] =
      "workload.load={kind: closed-loop, concurrency: "
      "1};workload.requests=5;cluster.node.host-link-"
      "efficiency=100 %%;workload.tasks={steps: [{name: a, do: {kind: rank, pool: a, items: "
      "{tokens: "
      "10}}}, {name: b, do: {kind: rank, pool: b, items: {tokens: 10}}}], pools: [{name: a, of: "
      "{kind: recommender, make: {recommender: dlrm-criteo-kaggle, mode: inference, tier: host, "
      "batch: 10}}}, {name: b%s, of: {kind: recommender, make: {recommender: dlrm-criteo-kaggle, "
      "mode: inference, tier: host, batch: 10}}}]}";
  g_autofree char *two = g_strdup_printf(pools, ""), *one = g_strdup_printf(pools, ", shares: a");
  g_autoptr(OrrOutcome) apart = serving_run(two), shared = serving_run(one);
  const double more_s =
      g_array_index(shared->serving_task_results, OrrServingTaskResult, 0).e2e.mean -
      g_array_index(apart->serving_task_results, OrrServingTaskResult, 0).e2e.mean;
  const double load_s = 2 * 475985 / 63e9;
  g_assert_cmpfloat_with_epsilon(N * more_s, (2 * N - 1) * load_s, 1e-3 * load_s);
}

#define RANK(load_, requests_, more_)                                                              \
  "workload.load=" load_ ";workload.requests=" #requests_                                          \
  ";workload.tasks={steps: [{name: rank, answers: true, do: {kind: rank, pool: r, items: "         \
  "{tokens: "                                                                                      \
  "1000}}}], pools: [{name: r, of: {kind: recommender" more_ ", make: {recommender: "              \
  "dlrm-criteo-kaggle, mode: inference, batch: 2000}}}]}"

static double ranked_s(int items) {
  g_autofree char *text = g_strdup_printf(
      "name: t\ncluster: {base: dgx-h100-superpod, nodes: 0, gpus: 1}\nworkload: {kind: "
      "recommendation, stack: none, recommender: dlrm-criteo-kaggle, mode: inference, batch: %d}\n",
      items);
  g_autoptr(OrrOutcome) outcome = ideal_outcome_of(text, "", FALSE);
  return outcome->result.step.step_s;
}

/* A query alone takes as long as a step of workload recommendation over its items; of four that
 * come together, a pool whose passes take 2,000 items ranks two at once. */
static void test_recommenders(void) {
  const double one_s = ranked_s(1000), two_s = ranked_s(2000);
  const OrrServingTaskPoolRow alone = searched(RANK("{kind: constant, rate: 1}", 2, ""));
  g_assert_cmpfloat_with_epsilon(alone.service_mean_s / one_s, 1, 1e-6);
  const OrrServingTaskPoolRow slower = searched(
      "workload.load={kind: constant, rate: 1};workload.requests=2;workload.tasks={steps: [{name: "
      "rank, do: {kind: rank, pool: r, items: {tokens: 1000}}}], pools: [{name: r, of: {kind: "
      "recommender, overhead: 2 ms, make: {recommender: dlrm-criteo-kaggle, mode: inference, "
      "batch: "
      "2000, overhead: 1 ms}}}]}");
  g_assert_cmpfloat_with_epsilon(slower.service_mean_s - alone.service_mean_s, 3e-3, 1e-9);
  const OrrServingTaskPoolRow pairs = searched(RANK("{kind: closed-loop, concurrency: 4}", 4, ""));
  g_assert_cmpfloat_with_epsilon(pairs.service_mean_s / (two_s / 2), 1, 1e-6);
  g_assert_cmpfloat_with_epsilon(pairs.wait_mean_s / (two_s / 2), 1, 1e-6);
  const OrrServingTaskPoolRow later =
      searched(RANK("{kind: constant, rate: 1}", 2, ", overhead: 5 ms"));
  g_assert_cmpfloat_with_epsilon(later.service_mean_s - alone.service_mean_s, 5e-3, 1e-9);
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/task-oracles/jackson", test_jackson);
  g_test_add_func("/task-oracles/indexes", test_indexes);
  g_test_add_func("/task-oracles/published", test_published);
  g_test_add_func("/task-oracles/gpu-index", test_gpu_index);
  g_test_add_func("/task-oracles/gpu-index-energy", test_gpu_index_energy);
  g_test_add_func("/task-oracles/hosts", test_hosts);
  g_test_add_func("/task-oracles/models", test_models);
  g_test_add_func("/task-oracles/generators", test_generators);
  g_test_add_func("/task-oracles/long-text", test_long_text);
  g_test_add_func("/task-oracles/patience", test_patience);
  g_test_add_func("/task-oracles/md1", test_md1);
  g_test_add_func("/task-oracles/first-answer", test_first_answer);
  g_test_add_func("/task-oracles/shared-gpus", test_shared_gpus);
  g_test_add_func("/task-oracles/shared-rankers", test_shared_rankers);
  g_test_add_func("/task-oracles/shared-order", test_shared_order);
  g_test_add_func("/task-oracles/shared-pair", test_shared_pair);
  g_test_add_func("/task-oracles/shared-refused", test_shared_refused);
  g_test_add_func("/task-oracles/recommenders", test_recommenders);
  g_test_add_func("/task-oracles/generators-fetch", test_generators_fetch);
  g_test_add_func("/task-oracles/generators-refused", test_generators_refused);
  return g_test_run();
}

/*
 * test_serving.c - engines on the clock: laws that any queue obeys, queues with closed forms, what
 * changes what, and what is refused.
 */
#include "tests/base/test_size.h"
#include "tests/workloads/serving/serving_fixture.h"

/* Memory and time of a step do not matter here: the host takes a step's time, whatever the
 * batch. */
#define CONSTANT_STEPS                                                                             \
  "workload.engine.host={step: 1 "                                                                 \
  "s};workload.engine.kv-blocks=1000000;workload.engine.eager-prefill=false;"                      \
  "workload.metrics.request-rows=1000000;workload.input={tokens: 1};"

/* --- laws --- */

static const char *const kinds[] = {
    "",
    "workload.engine.scheduler=continuous",
    "workload.engine.scheduler=static",
    "workload.engine.scheduler=prefill-first",
    "workload.engine.scheduler=sarathi",
    "workload.engine.scheduler=trtllm",
    "workload.engine.scheduler=sglang;workload.engine.prefix-caching=radix",
    "workload.engine.scheduler=shortest-job",
    "workload.engine.scheduler=priority;workload.classes=[{name: a, priority: 1}, {name: b}]",
    "workload.engine.scheduler=fair;workload.classes=[{name: a, share: 9}, {name: b}]",
    "workload.engine.kv-blocks=700",
    "workload.engine.kv-blocks=700;workload.engine.preemption=swap",
    "workload.engine.kv-blocks=700;workload.engine.prefix-caching=block-hash;workload.shared-"
    "prefix=100",
    "workload.replicas=4;workload.router=least-loaded",
    "workload.replicas=4;workload.router={kind: least-loaded, by: kv-blocks, staleness: 1 s}",
    "workload.replicas=4;workload.router=power-of-two",
    "workload.replicas=4;workload.router=prefix-aware;workload.shared-prefix=600",
    "workload.replicas=4;workload.router={kind: kv-aware, staleness: 100 "
    "ms};workload.shared-prefix=600;"
    "workload.engine.prefix-caching=block-hash",
    "workload.replicas=4;workload.router=session-affinity;workload.load={kind: sessions, rate: 1, "
    "longest: 4000}",
    "workload.replicas=2;workload.admission={in-flight: 4}",
    "workload.replicas=2;workload.admission={in-flight: 20, queue: 100}",
    "workload.parallel.tp=8",
    "workload.parallel.pp=4",
    "workload.parallel.dp-attention=4",
    "workload.parallel={pp: 2, dp-attention: 2}",
    "workload.parallel={tp: 2, pp: 2, dp-attention: 2};workload.engine.kv-blocks=700",
    "workload.load={kind: closed-loop, concurrency: 16}",
    "workload.load={kind: sessions, rate: 1, think: 1 s, longest: "
    "4000};workload.engine.prefix-caching=block-hash",
    "workload.load={kind: gamma, rate: 20, burstiness: 0.1}",
    "workload.load={kind: diurnal, rate: 10, period: 60 s}",
    "workload.load={kind: ramp, from: 1, to: 20, duration: 20 s}",
    "workload.load={kind: constant, rate: 1000}",
};

/* Little 1961: the integral of the number in the system is the sum of times in it; every token
 * of every request came out; blocks are checked by the run itself. */
static void test_laws(void) {
  for (guint k = 0; k < G_N_ELEMENTS(kinds); k++) {
    g_autoptr(OrrOutcome) outcome = serving_run(kinds[k]);
    const OrrServingResult *result = &outcome->result.serving;
    g_test_message("%s: ttft %g tpot %g preemptions %d", kinds[k], result->ttft.mean,
                   result->tpot.mean, (int)result->preemptions);
    g_assert_cmpfloat(result->littles_law_error, <, 1e-9);
    g_assert_cmpint(result->completed, >=, 160);
    g_assert_cmpfloat(result->ttft.p50, <=, result->ttft.p90);
    g_assert_cmpfloat(result->gpu_busy, <=, 1 + 1e-12);
    g_assert_cmpfloat(result->kv_peak, <=, 1);
    for (guint i = 0; i < outcome->serving_requests->len; i++) {
      const OrrServingRequestRow *row = serving_request(outcome, i);
      g_assert_cmpfloat(row->queue_s, >=, 0);
      g_assert_cmpfloat(row->ttft_s, >, row->queue_s);
      g_assert_cmpfloat(row->e2e_s, >=, row->ttft_s);
    }
  }
}

static void assert_equal_rows(const OrrOutcome *a, const OrrOutcome *b) {
  g_assert_cmpuint(a->serving_requests->len, ==, b->serving_requests->len);
  for (guint i = 0; i < a->serving_requests->len; i++) {
    const OrrServingRequestRow *x = serving_request(a, i), *y = serving_request(b, i);
    g_assert_true(x->ttft_s == y->ttft_s && x->e2e_s == y->e2e_s && x->queue_s == y->queue_s);
    g_assert_cmpint(x->replica, ==, y->replica);
    g_assert_cmpint(x->preemptions, ==, y->preemptions);
  }
}

/* Runs of alike steps are single steps, to the last bit: requests, books and gaps. */
static void test_runs_are_steps(void) {
  for (guint k = 0; k < G_N_ELEMENTS(kinds); k++) {
    g_autofree char *single =
        g_strdup_printf("fidelity=full;workload.load={kind: poisson, rate: 2};%s", kinds[k]);
    g_autofree char *runs =
        g_strdup_printf("fidelity=folded;workload.load={kind: poisson, rate: 2};%s", kinds[k]);
    g_autoptr(OrrOutcome) a = serving_run(single);
    g_autoptr(OrrOutcome) b = serving_run(runs);
    assert_equal_rows(a, b);
    const OrrServingResult *x = &a->result.serving, *y = &b->result.serving;
    g_assert_cmpint(x->steps, ==, y->steps);
    g_assert_cmpfloat_with_epsilon(x->kv_utilization, y->kv_utilization, 1e-12);
    g_assert_cmpfloat_with_epsilon(x->gpu_busy, y->gpu_busy, 1e-9);
    g_assert_cmpfloat_with_epsilon(x->itl.mean, y->itl.mean, 1e-9);
    g_assert_cmpfloat_with_epsilon(x->itl.p99, y->itl.p99, 1e-6);
    g_assert_cmpint(x->events, >=, y->events);
  }
}

static void test_same_seed_same_rows(void) {
  g_autoptr(OrrOutcome) a = serving_run("workload.replicas=3");
  g_autoptr(OrrOutcome) b = serving_run("workload.replicas=3");
  g_autoptr(OrrOutcome) other = serving_run("workload.replicas=3;seed=7");
  assert_equal_rows(a, b);
  g_assert_true(serving_request(a, 0)->ttft_s != serving_request(other, 0)->ttft_s);
}

/* --- queues with closed forms --- */

/* Mean queue time and the standard error of it, by means of 20 batches. */
static void mean_wait(const OrrOutcome *outcome, guint skip, double *ret_mean, double *ret_error) {
  enum { BATCHES = 20 };
  const guint n = (outcome->serving_requests->len - skip) / BATCHES;
  double sum = 0, squares = 0;
  for (guint b = 0; b < BATCHES; b++) {
    double batch = 0;
    for (guint i = 0; i < n; i++) batch += serving_request(outcome, skip + b * n + i)->queue_s;
    sum += batch / n;
    squares += batch / n * batch / n;
  }
  *ret_mean = sum / BATCHES;
  *ret_error = sqrt((squares / BATCHES - *ret_mean * *ret_mean) / (BATCHES - 1));
}

/* One sequence at a time, ten steps of 1 s (and some ms of GPU): M/D/1 waits rho S / (2 (1 -
 * rho)) (Pollaczek 1930). */
static void test_md1(void) {
  static const double loads[] = {0.3, 0.6, 0.8};
  const guint n = test_size(40000, 8000);
  for (guint k = 0; k < G_N_ELEMENTS(loads); k++) {
    g_autofree char *sets = g_strdup_printf(
        CONSTANT_STEPS "workload.engine.max-num-seqs=1;workload.output={tokens: 10};"
                       "workload.requests=%u;workload.load={kind: poisson, rate: %g}",
        n, loads[k] / 10);
    g_autoptr(OrrOutcome) outcome = serving_run(sets);
    const OrrServingRequestRow *row = serving_request(outcome, 100);
    const double service_s = row->e2e_s - row->queue_s, rho = loads[k] / 10 * service_s;
    double wait_s, error_s;
    mean_wait(outcome, n / 20, &wait_s, &error_s);
    g_test_message("rho %.2f: waits %g +- %g, M/D/1 %g", rho, wait_s, error_s,
                   rho * service_s / (2 * (1 - rho)));
    g_assert_cmpfloat(fabs(wait_s - rho * service_s / (2 * (1 - rho))), <, 4 * error_s);
    g_assert_cmpfloat(error_s, <, 0.1 * sqrt(40000. / n) * wait_s);
  }
}

/* The probability of waiting in M/M/c (Erlang 1917). */
static double erlang_c(guint c, double offered) {
  double term = 1, sum = 0;
  for (guint k = 0; k < c; k++) {
    sum += term;
    term *= offered / (k + 1);
  }
  term *= c / (c - offered);
  return term / (sum + term);
}

/* c sequences at once, steps of 1 s whatever their batch, exponential outputs of 100 tokens: M/M/c
 * waits C(c, a) S / (c - a). Times come in whole steps: an arrival waits half a step more for the
 * next one, and a place is free only when a step ends; 1 s on either side is allowed beside the
 * confidence. */
static void test_mmc(void) {
  static const guint servers[] = {1, 4, 16};
  const guint n = test_size(30000, 12000);
  for (guint k = 0; k < G_N_ELEMENTS(servers); k++) {
    const double rho = 0.75, rate = rho * servers[k] / 100;
    g_autofree char *sets = g_strdup_printf(
        CONSTANT_STEPS
        "workload.engine.max-num-seqs=%u;workload.output={kind: exponential, tokens: 100};"
        "workload.requests=%u;workload.load={kind: poisson, rate: "
        "%.10g};workload.engine.max-model-len=100000",
        servers[k], n, rate);
    g_autoptr(OrrOutcome) outcome = serving_run(sets);
    double service_s = 0, wait_s, error_s;
    for (guint i = 0; i < outcome->serving_requests->len; i++)
      service_s += serving_request(outcome, i)->e2e_s - serving_request(outcome, i)->queue_s;
    service_s /= outcome->serving_requests->len;
    mean_wait(outcome, n / 20, &wait_s, &error_s);
    const double a = rate * service_s,
                 wanted_s = erlang_c(servers[k], a) * service_s / (servers[k] - a);
    g_test_message("c %u, rho %.3f: waits %g +- %g, M/M/c %g", servers[k], a / servers[k], wait_s,
                   error_s, wanted_s);
    g_assert_cmpfloat(fabs(wait_s - wanted_s), <, 4 * error_s + 1);
    g_assert_cmpfloat(error_s, <, 0.15 * sqrt(60000. / n) * wanted_s);
  }
}

/* A closed loop without thinking: throughput times mean latency is the concurrency. */
static void test_closed_loop(void) {
  g_autoptr(OrrOutcome) outcome =
      serving_run("workload.load={kind: closed-loop, concurrency: "
                  "32};workload.requests=3200;workload.output={tokens: 100}");
  const OrrServingResult *result = &outcome->result.serving;
  g_assert_cmpfloat_with_epsilon(result->requests_per_s * result->e2e.mean / 32, 1, 0.02);
}

/* --- what changes what --- */

static void test_more_is_better(void) {
  g_autoptr(OrrOutcome) base = serving_run("");
  g_autoptr(OrrOutcome) halved =
      serving_run("cluster.device.memory-bandwidth=1.675 TB/s;cluster.device.bf16=494 TFLOP/s;"
                  "cluster.device.fp16=494 TFLOP/s");
  g_autoptr(OrrOutcome) tp = serving_run("workload.parallel.tp=4");
  g_autoptr(OrrOutcome) fp8 = serving_run("workload.precision=fp8");
  g_assert_cmpfloat(halved->result.serving.tpot.mean, >, 1.4 * base->result.serving.tpot.mean);
  g_assert_cmpfloat(tp->result.serving.tpot.mean, <, base->result.serving.tpot.mean);
  g_assert_cmpfloat(fp8->result.serving.tpot.mean, <, base->result.serving.tpot.mean);
}

/* vLLM's chunks bound the gap that a long prompt makes; whole prompts first give the first token
 * sooner. */
static void test_chunked_prefill(void) {
  static const char load[] =
      "workload.input={tokens: 8000};workload.load={kind: poisson, rate: 2};"
      "workload.engine.max-num-batched-tokens=%d;workload.engine.scheduler=%s";
  g_autofree char *small = g_strdup_printf(load, 512, "vllm"),
                  *large = g_strdup_printf(load, 8192, "vllm");
  g_autofree char *first = g_strdup_printf(load, 8192, "prefill-first");
  g_autoptr(OrrOutcome) chunked = serving_run(small);
  g_autoptr(OrrOutcome) whole = serving_run(large);
  g_autoptr(OrrOutcome) prefill_first = serving_run(first);
  g_assert_cmpfloat(chunked->result.serving.itl.p99, <, 0.5 * whole->result.serving.itl.p99);
  g_assert_cmpfloat(chunked->result.serving.ttft.mean, >, whole->result.serving.ttft.mean);
  g_assert_cmpfloat(prefill_first->result.serving.itl.p99, >, chunked->result.serving.itl.p99);
}

/* Half the blocks: the same until they are short, then preemptions and later first tokens. */
static void test_blocks(void) {
  g_autoptr(OrrOutcome) many = serving_run("workload.engine.kv-blocks=20000");
  g_autoptr(OrrOutcome) half = serving_run("workload.engine.kv-blocks=10000");
  g_autoptr(OrrOutcome) few = serving_run("workload.engine.kv-blocks=400");
  assert_equal_rows(many, half);
  g_assert_cmpint(many->result.serving.preemptions, ==, 0);
  g_assert_cmpint(few->result.serving.preemptions, >, 0);
  g_assert_cmpfloat(few->result.serving.ttft.mean, >, 2 * many->result.serving.ttft.mean);
}

/* Conversations repeat what was said: a cache saves its prefill. */
static void test_prefix_cache(void) {
  static const char load[] =
      "workload.load={kind: sessions, rate: 0.5, turns: 8, think: 2 s, system-prompt: 512};"
      "workload.engine.prefix-caching=%s";
  g_autofree char *without = g_strdup_printf(load, "none"),
                  *with = g_strdup_printf(load, "block-hash");
  g_autoptr(OrrOutcome) none = serving_run(without);
  g_autoptr(OrrOutcome) cached = serving_run(with);
  g_assert_cmpfloat(none->result.serving.prefix_hit_rate, ==, 0);
  g_assert_cmpfloat(cached->result.serving.prefix_hit_rate, >, 0.5);
  g_assert_cmpfloat(cached->result.serving.ttft.mean, <, none->result.serving.ttft.mean);
}

/* All equal requests at once, two batches of 8: makespan = 2 (prefill + 9 decodes); see
 * static_batching.c. */
static void test_static_makespan(void) {
  g_autoptr(OrrOutcome) outcome =
      serving_run("workload.engine.scheduler=static;workload.engine.max-num-seqs=8;workload."
                  "requests=16;workload.output={tokens: "
                  "10};"
                  "workload.input={tokens: 64};workload.load={kind: constant, rate: "
                  "1e9};workload.metrics.step-rows=100");
  const OrrServingRequestRow *first = serving_request(outcome, 0),
                             *last = serving_request(outcome, 15);
  g_assert_cmpint(outcome->result.serving.steps, ==,
                  20 + 10); /* the first came alone: it is a batch of its own */
  g_assert_cmpfloat(last->e2e_s, >, 2 * first->e2e_s);
}

/* A dense model's ranks of attention data parallelism do not meet: twice the requests on twice
 * the ranks of a pipeline take what half of both do. */
static void test_pipeline_ranks(void) {
  static const char load[] =
      "workload.parallel={pp: 2, dp-attention: %d};workload.requests=%d;workload.output={tokens: "
      "50};"
      "workload.input={tokens: 500};workload.load={kind: closed-loop, concurrency: %d}";
  g_autofree char *one = g_strdup_printf(load, 1, 16, 16), *two = g_strdup_printf(load, 2, 32, 32);
  g_autoptr(OrrOutcome) a = serving_run(one);
  g_autoptr(OrrOutcome) b = serving_run(two);
  const OrrServingResult *x = &a->result.serving, *y = &b->result.serving;
  g_assert_cmpint(y->completed, ==, 32);
  g_assert_cmpfloat_with_epsilon(x->tpot.mean, y->tpot.mean, 1e-12);
  g_assert_cmpfloat_with_epsilon(x->ttft.p99, y->ttft.p99, 1e-12);
  g_assert_cmpfloat_with_epsilon(y->output_tokens_per_s / x->output_tokens_per_s, 2, 1e-9);
}

/* Four batches under way, eight prompts that each fill one: two requests a batch, and requests of
 * different batches never meet, however long the one's stages are and however short the other's. */
static void test_pipeline_batches_stay_apart(void) {
  g_autoptr(OrrOutcome) outcome = serving_run(
      "workload.parallel.pp=4;workload.requests=8;workload.engine.max-num-batched-tokens=4096;"
      "workload.input={kind: constant, tokens: 4096};workload.output={kind: constant, tokens: 100};"
      "workload.load={kind: closed-loop, concurrency: 8};workload.metrics.step-rows=10000");
  gint64 most = 0;
  for (guint i = 0; i < outcome->serving_steps->len; i++)
    most = MAX(most, g_array_index(outcome->serving_steps, OrrServingStepRow, i).decodes);
  g_assert_cmpuint(outcome->serving_steps->len, >=, 4 * 100);
  g_assert_cmpint(most, ==, 2);
}

/* Seconds from the arrival of one prompt of 4,096 tokens to its only token, with NICs of @gbps. */
static double first_token_s(int gbps, int pp, const char *sets) {
  g_autofree char *all = g_strdup_printf(
      "cluster.nodes=%d;cluster.node.nic-bandwidth=%d Gb/s;cluster.node.nic-efficiency=1;"
      "workload.parallel={tp: 8, pp: %d};workload.requests=1;workload.output={tokens: 1};"
      "workload.input={kind: constant, tokens: 4096}%s",
      pp, gbps, pp, sets);
  g_autoptr(OrrOutcome) outcome = serving_run(all);
  return serving_request(outcome, 0)->ttft_s;
}

/* Each of p - 1 boundaries between nodes carries the hidden state and the residual, 4,096 wide, in
 * two bytes: a NIC has 1/8 of them, or with whole tensors all. NCCL's send-recv reaches 73 % of a
 * NIC (the profile's row of `direct`).
 *
 *   t(1 Gb/s) - t(10 Gb/s) = (p - 1) 2 * 4096 * 4096 * 2 B * share * 8 bit
 *                            * (1/1e9 - 1/1e10) / 0.73 */
static void test_pipeline_sends(void) {
  static const struct {
    int pp;
    const char *sets;
    double tensors;
  } cases[] = {{2, "", 2 / 8.0},
               {4, "", 2 / 8.0},
               {2, ";workload.engine.stage-slices=false", 2},
               {2, ";workload.engine.stage-tensors=1", 1 / 8.0}};
  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    const double more_s = first_token_s(1, cases[i].pp, cases[i].sets) -
                          first_token_s(10, cases[i].pp, cases[i].sets);
    const double bits = (cases[i].pp - 1) * cases[i].tensors * 4096 * 4096 * 2 * 8;
    const double wanted_s = bits * (1 / 1e9 - 1 / 1e10) / 0.73;
    g_assert_cmpfloat_with_epsilon(more_s, wanted_s, 1e-6 * wanted_s);
  }
}

/* 700 blocks of 16 hold nine requests of 1,200 tokens: vLLM admits more and takes their cache
 * back, TensorRT-LLM does not. */
static void test_no_evict(void) {
  static const char load[] =
      "workload.engine.kv-blocks=700;workload.input={kind: constant, tokens: 200};"
      "workload.output={kind: constant, tokens: 1000};workload.requests=64;"
      "workload.load={kind: closed-loop, concurrency: 64};workload.engine.scheduler=%s";
  g_autofree char *vllm = g_strdup_printf(load, "vllm"), *trtllm = g_strdup_printf(load, "trtllm");
  g_autoptr(OrrOutcome) evicting = serving_run(vllm);
  g_autoptr(OrrOutcome) reserving = serving_run(trtllm);
  g_assert_cmpint(evicting->result.serving.preemptions, >, 0);
  g_assert_cmpint(reserving->result.serving.preemptions, ==, 0);
  g_assert_cmpfloat(reserving->result.serving.running_mean, <=, 9);
}

/* The smaller number first: its requests wait less, and the others more, than first come, first
 * served. */
static void test_priority(void) {
  static const char load[] =
      "workload.load={kind: poisson, rate: 60};workload.engine.max-num-seqs=16;"
      "workload.classes=[{name: late, priority: 5}, {name: soon, priority: 0}];"
      "workload.engine.scheduler=%s";
  g_autofree char *plain = g_strdup_printf(load, "vllm"),
                  *ordered = g_strdup_printf(load, "priority");
  g_autoptr(OrrOutcome) fcfs = serving_run(plain);
  g_autoptr(OrrOutcome) priority = serving_run(ordered);
  const OrrServingClassRow *f = (OrrServingClassRow *)(void *)fcfs->serving_classes->data;
  const OrrServingClassRow *p = (OrrServingClassRow *)(void *)priority->serving_classes->data;
  g_assert_cmpfloat(p[1].ttft_mean_s, <, 0.5 * f[1].ttft_mean_s);
  g_assert_cmpfloat(p[0].ttft_mean_s, >, f[0].ttft_mean_s);
}

static int by_arrival(const void *a, const void *b) {
  const double x = ((const OrrServingRequestRow *)a)->arrival_s,
               y = ((const OrrServingRequestRow *)b)->arrival_s;
  return (x > y) - (x < y);
}

/* First come, first served, whenever it became known that they would come: the next turn of a
 * conversation is known when the one before it ends, its thinking earlier than it comes. */
static void test_order_of_arrival(void) {
  g_autoptr(OrrOutcome) outcome =
      serving_run("workload.engine.max-num-seqs=4;workload.load={kind: sessions, rate: 2, "
                  "turns: 4, think: 5 s, longest: 8000}");
  GArray *rows = outcome->serving_requests;
  qsort(rows->data, rows->len, sizeof(OrrServingRequestRow), by_arrival);
  double begun_s = 0;
  guint n_waited = 0;
  for (guint i = 0; i < rows->len; i++) {
    const OrrServingRequestRow *row = serving_request(outcome, i);
    g_assert_cmpfloat(row->arrival_s + row->queue_s, >=, begun_s - 1e-9);
    begun_s = row->arrival_s + row->queue_s;
    n_waited += row->queue_s > 0.1;
  }
  g_assert_cmpuint(n_waited, >, rows->len / 4);
}

/* Without classes, priorities and fairness are vLLM's order, preempted requests' included. */
static void test_orders_of_one_class(void) {
  g_autoptr(OrrOutcome) plain =
      serving_run("workload.engine.kv-blocks=500;workload.engine.scheduler=vllm");
  g_autoptr(OrrOutcome) priority =
      serving_run("workload.engine.kv-blocks=500;workload.engine.scheduler=priority");
  g_autoptr(OrrOutcome) fair =
      serving_run("workload.engine.kv-blocks=500;workload.engine.scheduler=fair");
  g_assert_cmpint(plain->result.serving.preemptions, >, 0);
  assert_equal_rows(plain, priority);
  assert_equal_rows(plain, fair);
}

/* A ramp's gaps grow: without the first of them their mean is longer, and of no request there is
 * none. */
static void test_warmup(void) {
  static const char ramp[] = "workload.load={kind: ramp, from: 1, to: 60, duration: 20 "
                             "s};workload.metrics.warmup=%d s;fidelity=%s";
  g_autofree char *all = g_strdup_printf(ramp, 0, "folded"),
                  *late = g_strdup_printf(ramp, 8, "folded"),
                  *single = g_strdup_printf(ramp, 8, "full"),
                  *none = g_strdup_printf(ramp, 1000, "folded");
  g_autoptr(OrrOutcome) a = serving_run(all);
  g_autoptr(OrrOutcome) l = serving_run(late);
  g_autoptr(OrrOutcome) s = serving_run(single);
  g_autoptr(OrrOutcome) n = serving_run(none);
  g_assert_cmpfloat(l->result.serving.itl.mean, >, 1.02 * a->result.serving.itl.mean);
  g_assert_cmpfloat_with_epsilon(l->result.serving.itl.mean, s->result.serving.itl.mean, 1e-9);
  g_assert_cmpint(n->result.serving.completed, ==, 0);
  g_assert_true(isnan(n->result.serving.itl.mean)); /* no gap is counted */
}

/* 96 requests at once on 16 places: 16 begin together, and the others join as places become free.
 * From the first token of request 16 to the first one of request 96 all places are taken, so the
 * rate is 16 tokens per gap (within 5 %: a joining request's first token has no gap); the whole
 * run, which drains at its end, is slower. Single steps and runs of steps agree. */
static void test_full_window(void) {
  static const char text[] =
      "workload.load={kind: closed-loop, concurrency: 96};workload.requests=96;workload.input={"
      "tokens: 64};workload.output={kind: uniform, tokens: 200, ratio: "
      "0.9};workload.engine.max-num-seqs=16;workload.metrics.window=%s;fidelity=%s";
  g_autofree char *all = g_strdup_printf(text, "all", "folded"),
                  *full = g_strdup_printf(text, "full", "folded"),
                  *single = g_strdup_printf(text, "full", "full");
  g_autoptr(OrrOutcome) a = serving_run(all);
  g_autoptr(OrrOutcome) f = serving_run(full);
  g_autoptr(OrrOutcome) s = serving_run(single);
  const OrrServingResult *result = &f->result.serving;
  g_assert_cmpfloat(result->output_tokens_per_s, >, 1.05 * a->result.serving.output_tokens_per_s);
  g_assert_cmpfloat_with_epsilon(result->output_tokens_per_s * result->itl.mean / 16, 1, 0.05);
  g_assert_cmpfloat_with_epsilon(
      result->output_tokens_per_s / s->result.serving.output_tokens_per_s, 1, 1e-9);
  g_assert_cmpfloat_with_epsilon(result->itl.p50, s->result.serving.itl.p50, 1e-9);
}

/* One output in four or so has one token, which has no time after it: 0 to vLLM, and good; no
 * value to AIPerf, and not good (its good_request_count_metric.py). Without an objective on it
 * both count them. */
static void test_definitions(void) {
  static const char few[] = "workload.output={kind: uniform-up-to, tokens: 4, ratio: "
                            "0.25};workload.metrics.definition=%s;%s";
  g_autofree char *v = g_strdup_printf(few, "vllm", "workload.slo={tpot: 10 s}"),
                  *a = g_strdup_printf(few, "aiperf", "workload.slo={tpot: 10 s}"),
                  *o = g_strdup_printf(few, "aiperf", "workload.slo={ttft: 10 s}");
  g_autoptr(OrrOutcome) vllm = serving_run(v);
  g_autoptr(OrrOutcome) aiperf = serving_run(a);
  g_autoptr(OrrOutcome) other = serving_run(o);
  guint n_single = 0;
  for (guint i = 0; i < vllm->serving_requests->len; i++)
    n_single += serving_request(vllm, i)->output_tokens == 1;
  const OrrServingResult *x = &vllm->result.serving, *y = &aiperf->result.serving;
  g_assert_cmpuint(n_single, >, 40);
  g_assert_cmpfloat_with_epsilon(x->goodput_rps * x->duration_s, 400, 1e-6);
  g_assert_cmpfloat_with_epsilon(y->goodput_rps * y->duration_s, 400 - n_single, 1e-6);
  g_assert_cmpfloat_with_epsilon(other->result.serving.goodput_rps,
                                 other->result.serving.requests_per_s, 1e-9);
}

/* An empty list of classes means that there are no classes. */
static void test_no_classes(void) {
  g_autoptr(OrrOutcome) none = serving_run("");
  g_autoptr(OrrOutcome) empty = serving_run("workload.classes=[]");
  assert_equal_rows(none, empty);
}

/* Blocks may be asked for beyond the memory, to see what more of it would do: it is said. 1e6
 * blocks of 16 tokens of 128 KiB are 2 TiB. */
static void test_more_blocks_than_memory(void) {
  g_autoptr(OrrOutcome) fits = serving_run("workload.engine.kv-blocks=1000");
  g_autoptr(OrrOutcome) above = serving_run("workload.engine.kv-blocks=1000000");
  g_assert_cmpuint(fits->warnings->len, ==, above->warnings->len - 1);
  g_assert_true(serving_warns(above, "engine.kv-blocks makes a GPU hold"));
}

/* The node has 8 GPUs: GPUs beyond the replicas are named as idle. */
static void test_idle_gpus(void) {
  g_autoptr(OrrOutcome) all = serving_run("workload.replicas=8");
  g_autoptr(OrrOutcome) some = serving_run("workload.replicas=2");
  g_assert_false(serving_warns(all, "idle"));
  g_assert_true(serving_warns(some, "2 of 8 GPUs serve; the others idle and are not counted"));
}

/* A client that asks nine times as often does not make the other one wait. */
static void test_fair(void) {
  static const char load[] =
      "workload.load={kind: poisson, rate: 60};workload.engine.max-num-seqs=16;"
      "workload.classes=[{name: greedy, share: 9}, {name: modest, share: 1}];"
      "workload.engine.scheduler=%s";
  g_autofree char *plain = g_strdup_printf(load, "vllm"), *fair = g_strdup_printf(load, "fair");
  g_autoptr(OrrOutcome) fcfs = serving_run(plain);
  g_autoptr(OrrOutcome) vtc = serving_run(fair);
  const OrrServingClassRow *f = (OrrServingClassRow *)(void *)fcfs->serving_classes->data;
  const OrrServingClassRow *v = (OrrServingClassRow *)(void *)vtc->serving_classes->data;
  g_assert_cmpfloat(v[1].ttft_mean_s, <, 0.3 * f[1].ttft_mean_s);
}

static void test_diverges(void) {
  g_autoptr(OrrOutcome) outcome =
      serving_run("workload.load={kind: poisson, rate: 200};workload.requests=4000");
  g_assert_true(outcome->result.serving.saturated);
  g_autoptr(OrrOutcome) calm = serving_run("workload.load={kind: poisson, rate: 1}");
  g_assert_false(calm->result.serving.saturated);
  serving_refused(
      "workload.load={kind: poisson, rate: 200};workload.requests=4000;workload.longest-queue=1 s",
      "the queue diverges");
}

/* --- what is refused --- */

static void test_refused(void) {
  serving_refused("model=llama-3.1-70b;workload.engine.kv-blocks=0", "does not fit");
  serving_refused("workload.input={tokens: 200000}", "is longer than the context");
  serving_refused("workload.input={kind: uniform, tokens: 0}", "need tokens above 0");
  serving_refused("workload.input={tokens: -5}", "tokens");
  serving_refused("workload.load={kind: poisson, rate: 0}", "rate");
  serving_refused("workload.load={kind: poison, rate: 1}", "did you mean 'poisson'?");
  serving_refused("workload.load={kind: azur, file: x}", "azure");
  serving_refused("workload.slo={ttft: 1 us}", "can never be met");
  serving_refused("workload.parallel.tp=64", "is above the 32 attention heads");
  serving_refused("workload.parallel.tp=3", "cannot be divided by tp");
  serving_refused("workload.parallel.pp=33", "is above the 32 layers");
  serving_refused("workload.replicas=9", "GPUs, but the cluster has 8 in use");
  serving_refused("workload.engine.max-num-seqs=9000", "is below max-num-seqs");
  serving_refused("workload.engine.kv-blocks=20", "longer than the key-value cache");
  serving_refused("workload.engine.all-reduce=rong", "unknown engine.all-reduce 'rong'");
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/workloads/serving/laws", test_laws);
  g_test_add_func("/workloads/serving/runs-are-steps", test_runs_are_steps);
  g_test_add_func("/workloads/serving/same-seed-same-rows", test_same_seed_same_rows);
  g_test_add_func("/workloads/serving/md1", test_md1);
  g_test_add_func("/workloads/serving/mmc", test_mmc);
  g_test_add_func("/workloads/serving/closed-loop", test_closed_loop);
  g_test_add_func("/workloads/serving/more-is-better", test_more_is_better);
  g_test_add_func("/workloads/serving/chunked-prefill", test_chunked_prefill);
  g_test_add_func("/workloads/serving/blocks", test_blocks);
  g_test_add_func("/workloads/serving/prefix-cache", test_prefix_cache);
  g_test_add_func("/workloads/serving/static-makespan", test_static_makespan);
  g_test_add_func("/workloads/serving/pipeline-ranks", test_pipeline_ranks);
  g_test_add_func("/workloads/serving/pipeline-sends", test_pipeline_sends);
  g_test_add_func("/workloads/serving/pipeline-batches-stay-apart",
                  test_pipeline_batches_stay_apart);
  g_test_add_func("/workloads/serving/no-evict", test_no_evict);
  g_test_add_func("/workloads/serving/priority", test_priority);
  g_test_add_func("/workloads/serving/order-of-arrival", test_order_of_arrival);
  g_test_add_func("/workloads/serving/orders-of-one-class", test_orders_of_one_class);
  g_test_add_func("/workloads/serving/warmup", test_warmup);
  g_test_add_func("/workloads/serving/full-window", test_full_window);
  g_test_add_func("/workloads/serving/definitions", test_definitions);
  g_test_add_func("/workloads/serving/no-classes", test_no_classes);
  g_test_add_func("/workloads/serving/more-blocks-than-memory", test_more_blocks_than_memory);
  g_test_add_func("/serving/idle-gpus", test_idle_gpus);
  g_test_add_func("/workloads/serving/fair", test_fair);
  g_test_add_func("/workloads/serving/diverges", test_diverges);
  g_test_add_func("/workloads/serving/refused", test_refused);
  return g_test_run();
}

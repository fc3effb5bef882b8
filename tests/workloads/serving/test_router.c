/*
 * test_router.c - routers against closed forms, on replicas that only count; then on engines.
 */
#include "tests/workloads/serving/serving_fixture.h"
#include "workloads/serving/routers/router.h"

/* --- replicas that count --- */

typedef struct {
  guint n;
  gint64 *requests;
  gboolean *closed;
  gint64 prompts[8]; /* tokens that the first eight have yet to compute */
} Bins;

static gboolean is_open(void *user, guint i) { return !((Bins *)user)->closed[i]; }
static gint64 load(void *user, guint i, OrrRouterLoad by) {
  const Bins *bins = user;
  if (by == ORR_LOAD_PROMPT_TOKENS) return i < G_N_ELEMENTS(bins->prompts) ? bins->prompts[i] : 0;
  return bins->requests[i];
}

static Bins bins_new(guint n) { return (Bins){n, g_new0(gint64, n), g_new0(gboolean, n), {0}}; }
static void bins_clear(Bins *bins) {
  g_free(bins->requests);
  g_free(bins->closed);
}
static OrrRouterView view_of(Bins *bins, guint64 seed) {
  return (OrrRouterView){
      .user = bins, .n = bins->n, .block_size = 16, .seed = seed, .is_open = is_open, .load = load};
}

/* A router as a scenario would name it; the scenario keeps its parameters. */
typedef struct {
  OrrLibrary *library;
  OrrScenario *scenario;
  const OrrRouter *router;
  const void *params;
} Made;

static Made made(const char *text) {
  g_autofree char *sets = g_strdup_printf("workload.router=%s", text), *findings = NULL;
  Made made = {.library = orr_library_new(NULL)};
  made.scenario = serving_scenario(made.library, sets, &findings);
  if (!made.scenario) g_error("%s", findings);
  const OrrServing *params = made.scenario->workload.params;
  made.router = (const OrrRouter *)params->router.entry;
  made.params = params->router.params;
  return made;
}

static void made_clear(Made *made) {
  orr_scenario_free(made->scenario);
  orr_library_free(made->library);
}

/* @m requests to @bins, one every @gap_s, none of which ends. */
static void throw(const char *router, Bins *bins, guint m, double gap_s, guint64 seed) {
  Made one = made(router);
  const OrrRouterView view = view_of(bins, seed);
  gpointer state = one.router->open(one.params, &view);
  for (guint k = 0; k < m; k++) {
    const OrrRequest request = {.id = k, .prompt = 100, .output = 1};
    bins->requests[one.router->pick(state, &request, k * gap_s)]++;
  }
  one.router->close(state);
  made_clear(&one);
}

static gint64 most(const Bins *bins) {
  gint64 most = 0;
  for (guint i = 0; i < bins->n; i++) most = MAX(most, bins->requests[i]);
  return most;
}

static gint64 least(const Bins *bins) {
  gint64 least = G_MAXINT64;
  for (guint i = 0; i < bins->n; i++) least = MIN(least, bins->requests[i]);
  return least;
}

/* ds_i/dt = s_{i-1}^d - s_i^d to t = 1 (power_of_two.c), by Euler's steps of 1e-4. */
static void fluid_limit(double d, double *tail, guint n) {
  for (guint i = 0; i < n; i++) tail[i] = i == 0;
  for (guint k = 0; k < 10000; k++)
    for (guint i = n - 1; i > 0; i--) tail[i] += 1e-4 * (pow(tail[i - 1], d) - pow(tail[i], d));
}

/* As many requests as replicas. Random: Poisson(1), e.g. s_1 = 1 - 1/e = 0.632, and 10,000
 * replicas have 7 +- 1 at most (10,000 / (e k!) is 0.7 at 7). The better of two: s_1 = tanh 1 =
 * 0.762, and at most 4. */
static void test_power_of_two(void) {
  enum { N = 10000, TAILS = 8 };
  static const char *const routers[] = {"{kind: power-of-two, choices: 1}", "power-of-two",
                                        "{kind: power-of-two, choices: 3}"};
  gint64 worst[3];
  for (guint r = 0; r < 3; r++) {
    double tail[TAILS];
    fluid_limit(r + 1, tail, TAILS);
    Bins bins = bins_new(N);
    throw(routers[r], &bins, N, 0, 7);
    worst[r] = most(&bins);
    for (guint i = 1; i < 5; i++) {
      guint n = 0;
      for (guint b = 0; b < N; b++) n += bins.requests[b] >= (gint64)i;
      const double sigma = sqrt(tail[i] * (1 - tail[i]) / N);
      g_test_message("choices %u: s_%u %.4f, fluid limit %.4f", r + 1, i, (double)n / N, tail[i]);
      g_assert_cmpfloat(fabs((double)n / N - tail[i]), <, 4 * sigma + 2e-4);
    }
    bins_clear(&bins);
  }
  g_assert_cmpint(worst[0], >=, 6);
  g_assert_cmpint(worst[0], <=, 9);
  g_assert_cmpint(worst[1], <=, 4);
  g_assert_cmpint(worst[2], <=, worst[1]);
}

static void test_even(void) {
  static const char *const routers[] = {"round-robin", "least-loaded"};
  for (guint r = 0; r < 2; r++) {
    Bins bins = bins_new(7);
    throw(routers[r], &bins, 703, 0, 1); /* 100 each, and 3 more */
    g_assert_cmpint(most(&bins), ==, 101);
    g_assert_cmpint(least(&bins), ==, 100);
    bins_clear(&bins);
  }
  Bins bins = bins_new(4);
  bins.closed[2] = TRUE;
  throw("round-robin", &bins, 30, 0, 1);
  g_assert_cmpint(bins.requests[2], ==, 0);
  g_assert_cmpint(most(&bins), ==, 10);
  bins_clear(&bins);
}

/* A report every 100 requests to 10 replicas: the least loaded of the report gets all 100 of
 * them; of two at random, a replica that is best of the report gets 1 - (9/10)^2 = 19 of 100. */
static void test_old_information(void) {
  Bins herd = bins_new(10), two = bins_new(10);
  herd.requests[3] = two.requests[3] = -1;
  throw("{kind: least-loaded, staleness: 1 s}", &herd, 100, 0.00999, 1);
  throw("{kind: power-of-two, staleness: 1 s}", &two, 100, 0.00999, 1);
  g_assert_cmpint(most(&herd), ==, 99);
  g_assert_cmpint(two.requests[3], >=, 19 - 12); /* 3 sigma of a binomial of 100 and 0.19 */
  g_assert_cmpint(two.requests[3], <=, 19 + 12);
  bins_clear(&herd);
  bins_clear(&two);
}

/* 1,000 conversations over 5 replicas: each stays; closing one moves its own and no other. */
static void test_affinity(void) {
  Made one = made("session-affinity");
  Bins bins = bins_new(5);
  const OrrRouterView view = view_of(&bins, 3);
  gpointer state = one.router->open(one.params, &view);
  guint first[1000], count[5] = {0};
  for (guint k = 0; k < 1000; k++) {
    const OrrRequest request = {.id = k, .prompt = 10, .stream = k + 1};
    count[first[k] = one.router->pick(state, &request, 0)]++;
    g_assert_cmpuint(one.router->pick(state, &request, 1), ==, first[k]);
  }
  for (guint i = 0; i < 5; i++)
    g_assert_cmpint(abs((int)count[i] - 200), <, 4 * 13); /* sigma = sqrt(1000 0.2 0.8) */
  bins.closed[1] = TRUE;
  for (guint k = 0; k < 1000; k++) {
    const OrrRequest request = {.id = k, .prompt = 10, .stream = k + 1};
    const guint now = one.router->pick(state, &request, 2);
    if (first[k] == 1)
      g_assert_cmpuint(now, !=, 1);
    else
      g_assert_cmpuint(now, ==, first[k]);
  }
  one.router->close(state);
  bins_clear(&bins);
  made_clear(&one);
}

/* Two prompts of 320 tokens, sent in turn: each goes where it went before. An idle memory gets
 * what nobody knows. */
static void test_prefix_aware(void) {
  Made one = made("prefix-aware");
  Bins bins = bins_new(2);
  const OrrRouterView view = view_of(&bins, 3);
  gpointer state = one.router->open(one.params, &view);
  for (guint k = 0; k < 10; k++) {
    const OrrRequest request = {.id = k, .prompt = 320, .output = 1, .stream = 1 + k % 2};
    g_assert_cmpuint(one.router->pick(state, &request, k), ==, k % 2);
  }
  bins.requests[0] = 65; /* above 64 and 1.5 times: balance first */
  const OrrRequest request = {.prompt = 320, .output = 1, .stream = 1};
  g_assert_cmpuint(one.router->pick(state, &request, 11), ==, 1);
  one.router->close(state);
  bins_clear(&bins);
  made_clear(&one);
}

/* An event is heard of a staleness later; a block that is gone is forgotten as late. */
static void test_kv_aware(void) {
  Made one = made("{kind: kv-aware, staleness: 1 s}");
  Bins bins = bins_new(3);
  const OrrRouterView view = view_of(&bins, 3);
  gpointer state = one.router->open(one.params, &view);
  const OrrRequest request = {.prompt = 64, .output = 1, .stream = 5};
  g_assert_cmpuint(one.router->pick(state, &request, 0), ==, 0);
  const OrrTextBlocks prompt = orr_request_blocks(&request, 0, 4, 16),
                      first = orr_request_blocks(&request, 0, 1, 16);
  one.router->on_blocks(state, 2, &prompt, TRUE, 0.5);
  g_assert_cmpuint(one.router->pick(state, &request, 1.4), ==, 1); /* not heard: in turn */
  g_assert_cmpuint(one.router->pick(state, &request, 1.5), ==, 2);
  g_assert_cmpuint(one.router->pick(state, &request, 1.6), ==, 2);
  one.router->on_blocks(state, 2, &first, FALSE, 1.6);
  g_assert_cmpuint(one.router->pick(state, &request, 2.5), ==, 2); /* believed to be there still */
  g_assert_cmpuint(one.router->pick(state, &request, 2.6), ==,
                   0); /* without its first block there is no prefix */
  one.router->close(state);
  bins_clear(&bins);
  made_clear(&one);
}

/* A prompt of 64 tokens, all of which replica 2 has: prompts of 64 tokens before it there cost as
 * much as computing it elsewhere, where ties go in turn, and one token more costs more. */
static void test_kv_aware_queues(void) {
  Made one = made("kv-aware");
  Bins bins = bins_new(3);
  const OrrRouterView view = view_of(&bins, 3);
  gpointer state = one.router->open(one.params, &view);
  const OrrRequest request = {.prompt = 64, .output = 1, .stream = 5};
  const OrrTextBlocks prompt = orr_request_blocks(&request, 0, 4, 16);
  one.router->on_blocks(state, 2, &prompt, TRUE, 0);
  bins.prompts[2] = 63;
  g_assert_cmpuint(one.router->pick(state, &request, 1), ==, 2);
  bins.prompts[2] = 65;
  g_assert_cmpuint(one.router->pick(state, &request, 2), ==, 0);
  bins.prompts[0] = 16;
  g_assert_cmpuint(one.router->pick(state, &request, 3), ==, 1);
  one.router->close(state);
  bins_clear(&bins);
  made_clear(&one);
}

/* --- on engines --- */

/* Prompts of 3,000 tokens on average, few of them far longer, and nothing to share: who counts the
 * prompts that wait sends the next one where fewer tokens are ahead of it, and halves the wait that
 * turns bring. Without these tokens it was 0.62 of it. */
static void test_waiting_prompts(void) {
  static const char load[] =
      "workload.replicas=4;workload.engine={max-num-seqs: 64, kv-blocks: 20000, prefix-caching: "
      "block-hash, max-num-batched-tokens: 2048};workload.load={kind: poisson, rate: 40};"
      "workload.input={kind: lognormal, tokens: 3000, sigma: 1.3};"
      "workload.output={tokens: 100};workload.router=";
  g_autofree char *turns = g_strconcat(load, "round-robin", NULL),
                  *aware = g_strconcat(load, "kv-aware", NULL);
  g_autoptr(OrrOutcome) a = serving_run(turns), b = serving_run(aware);
  const double ratio = b->result.serving.ttft.mean / a->result.serving.ttft.mean;
  g_test_message("%.3g of %.3g s", ratio, a->result.serving.ttft.mean);
  g_assert_cmpfloat(ratio, <, 0.55);
}

/* B(c, a) = a B(c-1, a) / (c + a B(c-1, a)), of any distribution of service (Erlang 1917;
 * Sevastyanov 1957). Steps of 1 s: a request holds its place for the rest of the step under way
 * and 100 steps more. */
static void test_erlang_b(void) {
  enum { C = 8, N = 40000 };
  g_autoptr(OrrOutcome) outcome = serving_run(
      "workload.engine={max-num-seqs: 8, kv-blocks: 100000, eager-prefill: false, host: {step: 1 "
      "s}};"
      "workload.input={tokens: 1};workload.output={tokens: 100};workload.requests=40000;"
      "workload.metrics.request-rows=0;workload.load={kind: poisson, rate: 0.08};"
      "workload.admission={in-flight: 8, queue: 0}");
  const OrrServingResult *result = &outcome->result.serving;
  const double a = 0.08 * result->e2e.mean;
  double wanted = 1;
  for (guint c = 1; c <= C; c++) wanted = a * wanted / (c + a * wanted);
  const double rejected = (double)result->rejected / N;
  g_test_message("rejected %.4f, B(8, %.2f) = %.4f", rejected, a, wanted);
  g_assert_cmpint(result->rejected + result->completed, ==, N);
  g_assert_cmpfloat(fabs(rejected - wanted), <, 0.03 * wanted + 4 * sqrt(wanted / N));
}

/* Limits at the router move the queue there: with one place for each that an engine would run,
 * it changes little. */
static void test_queue_at_the_router(void) {
  g_autoptr(OrrOutcome) inside =
      serving_run("workload.load={kind: poisson, rate: 30};workload.engine.max-num-seqs=16");
  g_autoptr(OrrOutcome) outside =
      serving_run("workload.load={kind: poisson, rate: "
                  "30};workload.engine.max-num-seqs=16;workload.admission={in-flight: 16}");
  g_assert_cmpint(outside->result.serving.rejected, ==, 0);
  g_assert_cmpfloat_with_epsilon(
      inside->result.serving.ttft.mean / outside->result.serving.ttft.mean, 1, 0.02);
}

/* Conversations find their cache where they were before. */
static void test_prefix_hits(void) {
  static const char load[] =
      "workload.replicas=4;workload.engine.prefix-caching=block-hash;workload.requests=800;"
      "workload.load={kind: sessions, rate: 4, turns: 8, think: 2 s};workload.router=%s";
  static const char *const routers[] = {"round-robin",  "session-affinity",
                                        "prefix-aware", "{kind: kv-aware, overlap-weight: 8}",
                                        "kv-aware",     "{kind: kv-aware, staleness: 1000 s}"};
  double hits[G_N_ELEMENTS(routers)];
  for (guint r = 0; r < G_N_ELEMENTS(routers); r++) {
    g_autofree char *sets = g_strdup_printf(load, routers[r]);
    g_autoptr(OrrOutcome) outcome = serving_run(sets);
    hits[r] = outcome->result.serving.prefix_hit_rate;
    g_test_message("%s: %.3f of prompt tokens, ttft %.4g s", routers[r], hits[r],
                   outcome->result.serving.ttft.mean);
  }
  for (guint r = 1; r < 4; r++) g_assert_cmpfloat(hits[r], >, 1.3 * hits[0]);
  g_assert_cmpfloat(
      hits[4], <, hits[3]); /* blocks held weigh as much as blocks to compute: conversations move */
  g_assert_cmpfloat(hits[5], <, hits[4]); /* nothing was ever heard */
}

/* Routers that go by caches see the same caches whether replicas take steps at once or one by one:
 * conversations that come back, in caches that are too small for them. */
static void test_runs_of_steps(void) {
  static const char *const routers[] = {"kv-aware", "{kind: kv-aware, staleness: 300 ms}",
                                        "{kind: kv-aware, overlap-weight: 0}",
                                        "{kind: least-loaded, by: kv-blocks}", "prefix-aware"};
  static const char *const engines[] = {"kv-blocks: 700", "kv-blocks: 3000",
                                        "kv-blocks: 4000, block-size: 1"};
  for (guint r = 0; r < G_N_ELEMENTS(routers) * G_N_ELEMENTS(engines); r++) {
    g_autofree char *sets = g_strdup_printf(
        "workload.replicas=4;workload.router=%s;workload.engine={prefix-caching: block-hash, %s};"
        "workload.load={kind: sessions, rate: 3, think: 2 s, longest: 2500, system-prompt: "
        "200};workload.input.tokens=200;workload.output.tokens=150;fidelity=",
        routers[r % G_N_ELEMENTS(routers)], engines[r / G_N_ELEMENTS(routers)]);
    g_autofree char *single = g_strconcat(sets, "full", NULL),
                    *runs = g_strconcat(sets, "folded", NULL);
    g_autoptr(OrrOutcome) a = serving_run(single);
    g_autoptr(OrrOutcome) b = serving_run(runs);
    g_assert_cmpuint(a->serving_requests->len, ==, b->serving_requests->len);
    for (guint i = 0; i < a->serving_requests->len; i++) {
      const OrrServingRequestRow *x = serving_request(a, i), *y = serving_request(b, i);
      if (x->e2e_s != y->e2e_s || x->replica != y->replica)
        g_error("%s: request %u differs", sets, i);
    }
    g_assert_true(a->result.serving.prefix_hit_rate == b->result.serving.prefix_hit_rate);
    g_assert_cmpint(a->result.serving.events, >=, b->result.serving.events);
  }
}

static void test_refused(void) {
  serving_refused("workload.router=least-load", "did you mean 'least-loaded'?");
  serving_refused("workload.router={kind: power-of-two, choices: 0}", "choices");
  serving_refused("workload.router={kind: kv-aware, staleness: -1 s}", "staleness");
  serving_refused("workload.router={kind: least-loaded, by: kv}", "kv-blocks");
  serving_refused("workload.admission={in-flight: -1}", "in-flight");
  serving_refused("workload.admission={queue: 0}", "in-flight");
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/workloads/router/power-of-two", test_power_of_two);
  g_test_add_func("/workloads/router/even", test_even);
  g_test_add_func("/workloads/router/old-information", test_old_information);
  g_test_add_func("/workloads/router/affinity", test_affinity);
  g_test_add_func("/workloads/router/prefix-aware", test_prefix_aware);
  g_test_add_func("/workloads/router/kv-aware", test_kv_aware);
  g_test_add_func("/workloads/router/kv-aware-queues", test_kv_aware_queues);
  g_test_add_func("/workloads/router/waiting-prompts", test_waiting_prompts);
  g_test_add_func("/workloads/router/erlang-b", test_erlang_b);
  g_test_add_func("/workloads/router/queue-at-the-router", test_queue_at_the_router);
  g_test_add_func("/workloads/router/prefix-hits", test_prefix_hits);
  g_test_add_func("/workloads/router/runs-of-steps", test_runs_of_steps);
  g_test_add_func("/workloads/router/refused", test_refused);
  return g_test_run();
}

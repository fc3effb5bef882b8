/*
 * test_steady.c - the steady state of a run: Little's law over its window, answers that do not
 * depend on the length of the run, overloads, and the clients' limit on requests in flight.
 */
#include <glib/gstdio.h>

#include "tests/workloads/serving/serving_fixture.h"

/* Four sequences at a time, each ten steps of 1 s whatever their batch: 0.4 requests per second. */
#define FOUR_SERVERS                                                                               \
  "workload.engine={max-num-seqs: 4, kv-blocks: 1000000, eager-prefill: false, host: {step: 1 "    \
  "s}};workload.metrics={request-rows: 1000000, step-rows: 0%s};workload.input={tokens: "          \
  "1};workload.output={tokens: 10};"

static OrrOutcome *four_servers(const char *metrics, const char *more) {
  g_autofree char *head = g_strdup_printf(FOUR_SERVERS, metrics);
  g_autofree char *sets = g_strconcat(head, more, NULL);
  return serving_run(sets);
}

static double overlap(const OrrServingRequestRow *row, double begin_s, double end_s) {
  return fmax(fmin(row->arrival_s + row->e2e_s, end_s) - fmax(row->arrival_s, begin_s), 0);
}

/* The mean number in the system over the window is what requests spent in the system within it,
 * over its length: 0.5 % for the number between two dates at which requests leave. The rate times
 * the residence time is that number, too, but for the requests that the window's ends cut: one
 * residence time in ten at most. */
static void test_little(void) {
  static const char *const rates[] = {"2", "10", "18"};
  for (guint i = 0; i < G_N_ELEMENTS(rates); i++) {
    g_autofree char *sets = g_strdup_printf(
        "workload.load.rate=%s;workload.requests=2000;workload.metrics.request-rows=2000",
        rates[i]);
    g_autoptr(OrrOutcome) outcome = serving_run(sets);
    const OrrServingResult *result = &outcome->result.serving;
    const double begin_s = result->steady_begin_s, end_s = result->steady_end_s;
    double sum_s = 0;
    g_assert_true(result->steady);
    for (guint k = 0; k < outcome->serving_requests->len; k++)
      sum_s += overlap(serving_request(outcome, k), begin_s, end_s);
    const double mean = sum_s / (end_s - begin_s);
    g_assert_cmpfloat_with_epsilon(result->in_system_mean / mean, 1, 0.005);
    g_assert_cmpfloat_with_epsilon(result->steady_requests_per_s * result->residence_s / mean, 1,
                                   0.1);
  }
}

/* Of 0.4 requests per second that four servers answer, 0.3 and 0.34 arrive, or 0.2 in bursts:
 * waves that come and go. None is an overload, whatever the seed. */
static void test_waves(void) {
  static const char *const loads[] = {"{kind: poisson, rate: 0.3}", "{kind: poisson, rate: 0.34}",
                                      "{kind: gamma, rate: 0.2, burstiness: 0.25}"};
  for (guint i = 0; i < G_N_ELEMENTS(loads); i++)
    for (int seed = 1; seed <= 12; seed++) {
      g_autofree char *sets =
          g_strdup_printf("seed=%d;workload.load=%s;workload.requests=400", seed, loads[i]);
      g_autoptr(OrrOutcome) outcome = four_servers(", window: steady", sets);
      if (!outcome->result.serving.steady) g_error("%s, seed %d: an overload", loads[i], seed);
    }
}

/* Poisson arrivals at 10 per second leave at 10 per second, however long the run is; start and end
 * of 400 requests make the whole run's rate lower. */
static void test_length(void) {
  static const int lengths[] = {500, 1000, 2000, 4000};
  double rate = 0, margin = 0;
  for (guint i = 0; i < G_N_ELEMENTS(lengths); i++) {
    g_autofree char *sets =
        g_strdup_printf("workload.requests=%d;workload.metrics.window=steady", lengths[i]);
    g_autoptr(OrrOutcome) outcome = serving_run(sets);
    const OrrServingResult *result = &outcome->result.serving;
    g_assert_true(result->steady);
    g_assert_cmpint(result->completed, >=, lengths[i]);
    g_assert_cmpfloat(result->littles_law_error, <, 1e-9);
    g_assert_cmpfloat_with_epsilon(result->requests_per_s, result->steady_requests_per_s, 1e-9);
    const double own = result->steady_margin * result->output_tokens_per_s;
    if (i > 0) g_assert_cmpfloat(fabs(result->output_tokens_per_s - rate), <=, own + margin);
    rate = result->output_tokens_per_s;
    margin = own;
  }
  g_autoptr(OrrOutcome) whole = serving_run("workload.requests=400");
  g_autoptr(OrrOutcome) steady =
      serving_run("workload.requests=400;workload.metrics.window=steady");
  g_assert_cmpfloat(whole->result.serving.gpu_power_mean_w, <,
                    1.02 * steady->result.serving.gpu_power_mean_w);
}

/* Half more than four servers do, too short for a steady state: who goes first does not
 * change the verdict. */
static void test_order(void) {
  static const char *const schedulers[] = {"vllm", "priority", "fair"};
  double growth = 0;
  for (guint i = 0; i < G_N_ELEMENTS(schedulers); i++) {
    g_autofree char *sets = g_strdup_printf(
        "workload.load={kind: poisson, rate: 0.6};workload.requests=200;"
        "workload.engine.scheduler=%s;workload.classes=[{name: a, share: 1, priority: 0}, "
        "{name: b, share: 3, priority: 5}]",
        schedulers[i]);
    g_autoptr(OrrOutcome) outcome = four_servers("", sets);
    const OrrServingResult *result = &outcome->result.serving;
    if (i == 0) growth = result->growth_rps;
    g_assert_true(result->saturated);
    g_assert_cmpfloat_with_epsilon(result->growth_rps, growth, 1e-9);
  }
}

/* M/D/4 at nine tenths of what it serves is steady for every seed; the queue of twice as much grows
 * by the difference, which is seen before a thousand requests have left. */
static void test_overload(void) {
  for (int seed = 1; seed <= 20; seed++) {
    g_autofree char *calm =
        g_strdup_printf("seed=%d;workload.load={kind: poisson, rate: 0.36}", seed);
    g_autoptr(OrrOutcome) outcome = four_servers(", window: steady", calm);
    g_assert_true(outcome->result.serving.steady);
    g_assert_cmpfloat(outcome->result.serving.growth_rps, ==, 0);
    g_autofree char *high =
        g_strdup_printf("seed=%d;workload.load={kind: poisson, rate: 0.8}", seed);
    g_autoptr(OrrOutcome) over = four_servers(", window: steady", high);
    const OrrServingResult *result = &over->result.serving;
    g_assert_false(result->steady);
    g_assert_true(result->saturated);
    g_assert_cmpfloat_with_epsilon(result->growth_rps / 0.4, 1, 0.45);
    g_assert_cmpfloat_with_epsilon(result->requests_per_s / 0.4, 1, 0.1);
    g_assert_cmpint(result->completed, <, 1000);
    g_assert_cmpfloat(result->littles_law_error, <, 1e-9);
    g_assert_nonnull(strstr(over->warnings->pdata[0], "not in steady state: the queue grows by"));
  }
}

/* Rates that grow from 0.02 to 0.28 per second, of 0.4 that four servers answer: the requests in
 * the system grow with the rate and stay no longer, so nothing is overloaded. From 0.2 to 1 the
 * last arrive faster than they are served, and stay ever longer. */
static void test_growing_load(void) {
  static const struct {
    const char *load;
    gboolean is_overload;
  } cases[] = {
      {"{kind: ramp, from: 0.02, to: 0.28, duration: 8000 s};workload.requests=1100", FALSE},
      {"{kind: ramp, from: 0.2, to: 1, duration: 2000 s};workload.requests=1100", TRUE}};
  for (guint i = 0; i < G_N_ELEMENTS(cases); i++)
    for (int seed = 1; seed <= 10; seed++) {
      g_autofree char *sets = g_strdup_printf("seed=%d;workload.load=%s", seed, cases[i].load);
      g_autoptr(OrrOutcome) outcome = four_servers("", sets);
      g_assert_cmpint(outcome->result.serving.saturated, ==, cases[i].is_overload);
      g_assert_true((outcome->result.serving.growth_rps > 0) == cases[i].is_overload);
    }
}

/* A run whose requests have all arrived before a tenth is served is too short for a steady
 * state; its queue grows all the same, by what arrives less what is served: 4 less 0.4 a second. */
static void test_short_overload(void) {
  g_autoptr(OrrOutcome) outcome =
      four_servers("", "workload.load={kind: poisson, rate: 4};workload.requests=400");
  const OrrServingResult *result = &outcome->result.serving;
  g_assert_false(result->steady);
  g_assert_true(result->saturated);
  g_assert_cmpfloat_with_epsilon(result->growth_rps, 3.6, 0.4); /* 2 s.d. of the arrivals */
}

/* An objective that an overload misses ends the run early, and a fraction that is met does not. */
static void test_misses(void) {
  g_autoptr(OrrOutcome) late = four_servers(
      ", window: steady",
      "workload.load={kind: poisson, rate: 0.5};workload.slo={ttft: 5 s};workload.least-good=0.9");
  g_assert_false(late->result.serving.steady);
  g_assert_cmpfloat(late->result.serving.missed_ttft, >, 0.1);
  g_assert_cmpint(late->result.serving.completed, <, 400);
  g_autoptr(OrrOutcome) fine = four_servers(
      ", window: steady",
      "workload.load={kind: poisson, rate: 0.2};workload.slo={ttft: 5 s};workload.least-good=0.9");
  g_assert_true(fine->result.serving.steady);
  g_assert_cmpfloat(fine->result.serving.missed_ttft, <, 0.1);
}

/* Twenty requests 1 s apart, then twenty at a quarter of that rate. */
static void write_waves(const char *path) {
  g_autoptr(GString) text = g_string_new("arrival_s,input_tokens,output_tokens\n");
  for (int i = 0; i < 40; i++)
    g_string_append_printf(text, "%d,1,10\n", i < 20 ? i : 20 + 4 * (i - 20));
  g_assert_true(g_file_set_contents(path, text->str, -1, NULL));
}

/* A trace comes again and again until its mean rate equals a window's of whole replays, although
 * its first half comes faster than four servers serve. Steps of 1 s do not begin at the same place
 * of each replay, so a request more or less may leave in the window. Where the whole is too much,
 * 0.5 for 0.4 per second, the number grows from replay to replay by the difference. */
static void test_trace(void) {
  g_autofree char *folder = g_dir_make_tmp("orrery-XXXXXX", NULL);
  g_autofree char *path = g_build_filename(folder, "waves.csv", NULL);
  write_waves(path);
  static const char text[] =
      "workload.load={kind: csv, file: %s, rate: %s};workload.requests=%d;seed=1";
  g_autofree char *calm = g_strdup_printf(text, path, "0.3", 0),
                  *high = g_strdup_printf(text, path, "0.5", 0),
                  *first = g_strdup_printf(text, path, "0.3", 20);
  g_autoptr(OrrOutcome) steady = four_servers(", window: steady", calm);
  const OrrServingResult *result = &steady->result.serving;
  const double replays = (result->steady_end_s - result->steady_begin_s) * 0.3 / 40;
  g_assert_true(result->steady);
  g_assert_cmpfloat_with_epsilon(replays, round(replays), 1e-9);
  g_assert_cmpfloat(result->steady_end_s - result->steady_begin_s, >=, 10 * result->residence_s);
  g_assert_cmpfloat_with_epsilon(result->requests_per_s / 0.3, 1, 1.001 / (40 * replays));
  g_assert_cmpfloat(result->steady_margin, >=, 1 / (40 * replays));
  g_assert_cmpfloat_with_epsilon(result->offered_rps, 0.3, 1e-9);
  g_autoptr(OrrOutcome) part = four_servers(", window: steady", first);
  g_assert_cmpint((part->result.serving.completed + 1) % 20, <=, 2);
  g_autoptr(OrrOutcome) over = four_servers(", window: steady", high);
  g_assert_false(over->result.serving.steady);
  g_assert_cmpfloat_with_epsilon(over->result.serving.growth_rps, 0.1, 0.01);
  g_assert_cmpfloat_with_epsilon(over->result.serving.requests_per_s, 0.4, 0.01);
  g_remove(path);
  g_rmdir(folder);
}

/* A full queue rejects: of ten times what four servers serve, nine in ten, so a tenth of the
 * window's requests are served, all of them in time. Rejected ones miss, and their number varies:
 * the fraction has an error although none of the served ones misses. */
static void test_rejected(void) {
  g_autoptr(OrrOutcome) outcome = four_servers(
      ", window: steady",
      "workload.load={kind: poisson, rate: 4};workload.admission={in-flight: 4, queue: "
      "0};workload.slo={ttft: 100 s};workload.least-good=0.05");
  const OrrServingResult *result = &outcome->result.serving;
  const double window_s = result->steady_end_s - result->steady_begin_s;
  g_assert_true(result->steady);
  g_assert_cmpfloat_with_epsilon(result->goodput_rps, result->requests_per_s, 1e-9);
  g_assert_cmpfloat_with_epsilon((double)(result->completed + result->rejected) / window_s / 4, 1,
                                 0.1);
  g_assert_cmpfloat(result->steady_good_error, >, 0);
  g_assert_cmpfloat(result->steady_good_error, <, 0.02);
}

/* Batches in which no request leaves say nothing of the fraction: where none misses, it has no
 * error. A gap of this load is longer than a window of forty requests in ten, at times. */
static void test_empty_batch(void) {
  for (int seed = 1; seed <= 10; seed++) {
    g_autofree char *sets = g_strdup_printf(
        "seed=%d;workload.load={kind: gamma, rate: 0.01, burstiness: 0.03};workload.requests=20;"
        "workload.slo={ttft: 1000 s};workload.least-good=0.5",
        seed);
    g_autoptr(OrrOutcome) outcome = four_servers(", window: steady", sets);
    const OrrServingResult *result = &outcome->result.serving;
    if (result->steady && result->goodput_rps == result->requests_per_s)
      g_assert_cmpfloat(result->steady_good_error, ==, 0);
  }
}

/* That none misses is asked of as many requests as that one in a thousand does: 20 / 0.001. */
static void test_all_good(void) {
  g_autoptr(OrrOutcome) outcome = four_servers(
      ", window: steady",
      "workload.load={kind: poisson, rate: 0.1};workload.slo={ttft: 500 s};workload.least-good=1");
  g_assert_true(outcome->result.serving.steady);
  g_assert_cmpint(outcome->result.serving.completed, >=, 20000);
}

/* Three clients, 1 s after one another, in step: a turn has three requests, in three seconds of
 * eleven. Rate times residence is the number of clients (Little), in windows of whole turns; one
 * that ends within a turn has up to two requests too many for its time. */
static void test_closed_in_step(void) {
  for (int requests = 20; requests <= 34; requests += 2) {
    g_autofree char *sets = g_strdup_printf("workload.load={kind: closed-loop, concurrency: 3, "
                                            "stagger: 1 s};workload.requests=%d",
                                            requests);
    g_autoptr(OrrOutcome) outcome = four_servers(", window: steady", sets);
    const OrrServingResult *result = &outcome->result.serving;
    g_assert_true(result->steady);
    g_assert_cmpfloat_with_epsilon(result->steady_requests_per_s * result->residence_s / 3, 1,
                                   1e-3);
  }
}

/* A closed loop keeps its number. */
static void test_closed(void) {
  g_autoptr(OrrOutcome) outcome =
      four_servers(", window: steady", "workload.load={kind: closed-loop, concurrency: 4}");
  g_assert_true(outcome->result.serving.steady);
  g_assert_cmpfloat_with_epsilon(outcome->result.serving.in_system_mean, 4, 0.01);
  g_assert_cmpfloat_with_epsilon(outcome->result.serving.requests_per_s, 0.4, 0.01);
}

/* All arrive at once, and four are sent at a time: the others wait at their clients and are not in
 * the system, which has as many as in the closed loop, by Little's law, too. */
static void test_clients(void) {
  g_autoptr(OrrOutcome) outcome = four_servers(
      "",
      "workload.load={kind: poisson, rate: 1e5};workload.max-concurrency=4;workload.requests=200");
  const OrrServingResult *result = &outcome->result.serving;
  g_assert_cmpfloat_with_epsilon(result->in_system_mean, 4, 0.1);
  g_assert_cmpfloat_with_epsilon(result->requests_per_s * result->residence_s, 4, 0.1);
}

/* Eight clients that think for 30 s: the first four are served at once, the others 10 s later, and
 * none waits from then on. X = N / (R + Z) = 8 / 40 s. The number in the system swings between 0
 * and 4: in an overload it would grow. */
static void test_closed_thinking(void) {
  g_autoptr(OrrOutcome) outcome = four_servers(
      ", window: steady", "workload.load={kind: closed-loop, concurrency: 8, think: 30 s}");
  const OrrServingResult *result = &outcome->result.serving;
  g_assert_true(result->steady);
  g_assert_false(result->saturated);
  g_assert_cmpfloat_with_epsilon(result->requests_per_s, 0.2, 0.002);
  g_assert_cmpfloat_with_epsilon(result->in_system_mean, 2, 0.05);
  g_assert_cmpfloat(result->steady_end_s - result->steady_begin_s, >=, 10 * 40);
}

/* Conversations of five turns of 10 s and four thinks of 30 s, 0.06 a second: 0.3 requests per
 * second of 0.4 that four servers answer. A window is ten conversations of 170 s at least, and none
 * is an overload while conversations gather. Five seeds together answer 5 x 0.06; of their 5 x 102
 * conversations the number is known to 4.4 %, and of the requests, E(n^2) / E(n) = 9 times as
 * variable, to 5.9 %. Of twice as many conversations the queue grows. */
static void test_conversations(void) {
  double requests = 0, seconds = 0;
  for (int seed = 1; seed <= 5; seed++) {
    g_autofree char *sets = g_strdup_printf(
        "seed=%d;workload.load={kind: sessions, rate: 0.06, turns: 5, think: 30 s}", seed);
    g_autoptr(OrrOutcome) outcome = four_servers(", window: steady", sets);
    const OrrServingResult *result = &outcome->result.serving;
    const double window_s = result->steady_end_s - result->steady_begin_s;
    if (!result->steady) g_error("seed %d: no steady state", seed);
    g_assert_cmpfloat(result->residence_s, >=, 10);
    g_assert_cmpfloat(window_s, >=, 10 * (5 * result->residence_s + 4 * 30));
    g_assert_cmpfloat(result->steady_begin_s, >=, 2 * (5 * 10 + 4 * 30));
    requests += result->requests_per_s * window_s;
    seconds += window_s;
  }
  g_assert_cmpfloat_with_epsilon(requests / seconds / 0.3, 1, 2 * 0.059);
  g_autoptr(OrrOutcome) over = four_servers(
      ", window: steady", "workload.load={kind: sessions, rate: 0.12, turns: 5, think: 30 s}");
  g_assert_true(over->result.serving.saturated);
}

/* Four of them, all at once, in a short run, whose window has few turns of 40 s: it begins and ends
 * where clients leave, so that no turn is cut. */
static void test_closed_turns(void) {
  for (int requests = 80; requests <= 100; requests += 4) {
    g_autofree char *sets = g_strdup_printf(
        "workload.load={kind: closed-loop, concurrency: 4, think: 30 s};workload.requests=%d",
        requests);
    g_autoptr(OrrOutcome) outcome = four_servers("", sets);
    const OrrServingResult *result = &outcome->result.serving;
    g_assert_true(result->steady);
    g_assert_cmpfloat_with_epsilon(result->steady_requests_per_s, 0.1, 0.0005);
  }
}

/* Ten requests per second on four servers, and the client keeps four in flight: each is sent
 * when another one has ended, so it has its first token a step or two later. All the same as four
 * clients, whose requests follow each other. */
static void test_client_limit(void) {
  g_autoptr(OrrOutcome) open =
      four_servers("", "workload.load={kind: constant, rate: 1000};workload.requests=40;"
                       "workload.max-concurrency=4");
  g_autoptr(OrrOutcome) closed = four_servers(
      "", "workload.load={kind: closed-loop, concurrency: 4, stagger: 1 ms};workload.requests=40");
  const OrrServingResult *result = &open->result.serving;
  g_assert_cmpint(result->completed, ==, 40);
  g_assert_cmpfloat(result->ttft.p99, <, 2.1);
  g_assert_cmpfloat(result->e2e.p99, <, 11.1);
  g_assert_cmpfloat(result->client_wait_mean_s, >, 30); /* 0 to 90 s */
  guint n_said = 0;
  for (guint i = 0; i < open->warnings->len; i++)
    n_said += strstr(open->warnings->pdata[i], "than max-concurrency (4) are in flight") != NULL;
  g_assert_cmpuint(n_said, ==, 1);
  g_assert_cmpfloat(result->littles_law_error, <, 1e-9);
  g_assert_cmpfloat_with_epsilon(result->duration_s / closed->result.serving.duration_s, 1, 0.02);
  g_autoptr(OrrOutcome) without =
      four_servers("", "workload.load={kind: constant, rate: 1000};workload.requests=40");
  g_assert_cmpfloat(without->result.serving.ttft.p99, >, 80);
  g_assert_cmpfloat(without->result.serving.client_wait_mean_s, ==, 0);
}

static void test_refused(void) {
  serving_refused("workload.load={kind: closed-loop, concurrency: 8};workload.requests=8;"
                  "workload.metrics.window=full",
                  "the 64 places of the engines (max-num-seqs of all) are never all taken");
  serving_refused("workload.metrics.window=steady;workload.load={kind: ramp, from: 1, to: 2, "
                  "duration: 10 s}",
                  "changes over time");
  serving_refused("workload.metrics={window: steady, warmup: 1 s}", "exclude each other");
  serving_refused("workload.metrics={window: full, warmup: 1 s}",
                  "window: full exclude each other");
  serving_refused("workload.least-good=0.9", "needs metrics.window: steady");
}

/* Gamma gaps of shape b: over long intervals counts have 1 / b times the variance of a Poisson
 * process's, so a window holds 1 / b times the requests for a mean of the same error. */
static void test_bursts(void) {
  static const char load[] =
      "workload.load={kind: gamma, rate: 5, burstiness: %g};workload.requests=100;"
      "workload.input={tokens: 100};workload.output={tokens: 10};workload.metrics.window=steady";
  static const double shapes[] = {4, 1, 0.1};
  for (guint i = 0; i < G_N_ELEMENTS(shapes); i++) {
    g_autofree char *sets = g_strdup_printf(load, shapes[i]);
    g_autoptr(OrrOutcome) outcome = serving_run(sets);
    const double n = (double)outcome->result.serving.completed,
                 asked = 100 * fmax(1 / shapes[i], 1);
    g_assert_cmpfloat(n, >=, asked);
    g_assert_cmpfloat(n, <, 4 * asked);
  }
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/workloads/steady/trace", test_trace);
  g_test_add_func("/workloads/serving/steady/little", test_little);
  g_test_add_func("/workloads/serving/steady/length", test_length);
  g_test_add_func("/workloads/serving/steady/waves", test_waves);
  g_test_add_func("/workloads/serving/steady/overload", test_overload);
  g_test_add_func("/workloads/serving/steady/growing-load", test_growing_load);
  g_test_add_func("/workloads/serving/steady/short-overload", test_short_overload);
  g_test_add_func("/workloads/serving/steady/misses", test_misses);
  g_test_add_func("/workloads/serving/steady/rejected", test_rejected);
  g_test_add_func("/workloads/serving/steady/empty-batch", test_empty_batch);
  g_test_add_func("/workloads/serving/steady/all-good", test_all_good);
  g_test_add_func("/workloads/serving/steady/closed", test_closed);
  g_test_add_func("/workloads/serving/steady/closed-in-step", test_closed_in_step);
  g_test_add_func("/workloads/serving/steady/clients", test_clients);
  g_test_add_func("/workloads/serving/steady/closed-thinking", test_closed_thinking);
  g_test_add_func("/workloads/serving/steady/closed-turns", test_closed_turns);
  g_test_add_func("/workloads/serving/steady/conversations", test_conversations);
  g_test_add_func("/workloads/serving/steady/client-limit", test_client_limit);
  g_test_add_func("/workloads/serving/steady/order", test_order);
  g_test_add_func("/workloads/serving/steady/refused", test_refused);
  g_test_add_func("/workloads/steady/bursts", test_bursts);
  return g_test_run();
}

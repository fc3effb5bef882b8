/*
 * test_tasks.c - tasks on the clock: histories worked out by hand, contexts, budgets, branches.
 */
#include <glib/gstdio.h>

#include "tests/workloads/serving/serving_fixture.h"

/* One task per second: at 1 s, 2 s ... Nothing but a tool of 10 s. */
#define EVERY_SECOND                                                                               \
  "workload.load={kind: constant, rate: 1};workload.requests=2;"                                   \
  "workload.input={tokens: 100};workload.output={tokens: 10};"
#define TOOL(workers_) "pools: [{name: box, of: {kind: workers, workers: " #workers_ "}}]"
#define USE(seconds_)                                                                              \
  "{name: run, do: {kind: tool, pool: box, time: {kind: constant, mean: " #seconds_                \
  " s}, adds: {tokens: 50}}}"
#define THINK "{name: think, do: generate}"

static const OrrServingTaskRow *task(const OrrOutcome *outcome, guint i) {
  g_assert_cmpuint(i, <, outcome->serving_tasks->len);
  return &g_array_index(outcome->serving_tasks, OrrServingTaskRow, i);
}

static const OrrServingTaskStepRow *step(const OrrOutcome *outcome, guint i) {
  g_assert_cmpuint(i, <, outcome->serving_task_steps->len);
  return &g_array_index(outcome->serving_task_steps, OrrServingTaskStepRow, i);
}

static const OrrServingTaskPoolRow *pool(const OrrOutcome *outcome, guint i) {
  g_assert_cmpuint(i, <, outcome->serving_task_pools->len);
  return &g_array_index(outcome->serving_task_pools, OrrServingTaskPoolRow, i);
}

static OrrServingTaskResult result_of(const OrrOutcome *outcome) {
  g_assert_cmpuint(outcome->serving_task_results->len, ==, 1);
  return g_array_index(outcome->serving_task_results, OrrServingTaskResult, 0);
}

/* The second task comes 1 s after the first and waits 9 s for the only worker: 10 s and 19 s. The
 * run is 20 s from the first arrival, in which the worker is never idle; 2 tasks in 20 s are 360
 * per hour, and (10 + 19) / 20 are under way. */
static void test_queue(void) {
  g_autoptr(OrrOutcome) outcome =
      serving_run(EVERY_SECOND "workload.tasks={steps: [" USE(10) "], " TOOL(1) "}");
  const double first_s = task(outcome, 0)->arrival_s;
  g_assert_cmpfloat_with_epsilon(task(outcome, 1)->arrival_s, first_s + 1, 1e-9);
  g_assert_cmpfloat_with_epsilon(task(outcome, 0)->e2e_s, 10, 1e-9);
  g_assert_cmpfloat_with_epsilon(task(outcome, 1)->e2e_s, 19, 1e-9);
  g_assert_cmpstr(task(outcome, 1)->outcome, ==, "done");
  g_assert_cmpfloat_with_epsilon(step(outcome, 0)->wait_s, 0, 1e-9);
  g_assert_cmpfloat_with_epsilon(step(outcome, 1)->wait_s, 9, 1e-9);
  g_assert_cmpfloat_with_epsilon(step(outcome, 1)->service_s, 10, 1e-9);
  g_assert_cmpfloat_with_epsilon(step(outcome, 1)->seconds, 19, 1e-9);
  g_assert_cmpint(step(outcome, 1)->tokens, ==, 50);
  const OrrServingTaskResult result = result_of(outcome);
  g_assert_cmpfloat_with_epsilon(result.tasks_per_hour, 360, 1e-6);
  g_assert_cmpfloat_with_epsilon(result.in_flight_mean, 29.0 / 20, 1e-9);
  g_assert_cmpfloat_with_epsilon(result.cpu_seconds_mean, 10, 1e-9);
  g_assert_cmpfloat_with_epsilon(result.cpu_cores_mean, 1, 1e-9);
  g_assert_cmpint(pool(outcome, 0)->waiting_most, ==, 1);
  g_assert_cmpfloat_with_epsilon(pool(outcome, 0)->wait_mean_s, 4.5, 1e-9);
}

/* Both end after 5 s for their clients. The worker knows nothing of it: 20 s are worked. */
static void test_timeout(void) {
  g_autoptr(OrrOutcome) outcome = serving_run(
      EVERY_SECOND "workload.tasks={timeout: 5 s, steps: [" USE(10) ", " THINK "], " TOOL(1) "}");
  for (guint i = 0; i < 2; i++) {
    g_assert_cmpfloat_with_epsilon(task(outcome, i)->e2e_s, 5, 1e-9);
    g_assert_cmpstr(task(outcome, i)->outcome, ==, "timeout");
    g_assert_cmpint(task(outcome, i)->turns, ==, 0);
  }
  g_assert_cmpint(result_of(outcome).timeouts, ==, 2);
  g_assert_cmpint(result_of(outcome).done, ==, 0);
  g_assert_cmpint(pool(outcome, 0)->jobs, ==, 2);
  g_assert_cmpuint(outcome->serving_requests->len, ==, 0);
}

/* A call's own time-out frees its worker after 4 s: 4 s and 7 s. */
static void test_cut_calls(void) {
  g_autoptr(OrrOutcome) outcome = serving_run(
      EVERY_SECOND "workload.tasks={steps: [{name: run, do: {kind: tool, pool: box, timeout: 4 s, "
                   "time: {kind: constant, mean: 10 s}}}], " TOOL(1) "}");
  g_assert_cmpfloat_with_epsilon(task(outcome, 0)->e2e_s, 4, 1e-9);
  g_assert_cmpfloat_with_epsilon(task(outcome, 1)->e2e_s, 7, 1e-9);
  g_assert_cmpint(pool(outcome, 0)->cut, ==, 2);
}

/* Three turns with a result of 50 tokens after each: prompts of 100, 160 and 220 tokens. The cache
 * has what was computed before: the prompt, and the answer but for its last token: 109 and 169
 * tokens, 6 and 10 blocks of 16. */
static void test_turns(void) {
  g_autoptr(OrrOutcome) outcome = serving_run(
      EVERY_SECOND "workload.requests=1;workload.engine.prefix-caching=block-hash;workload.tasks={"
                   "steps: [{name: work, do: {kind: repeat, program: turn, times: {tokens: 3}}}], "
                   "programs: [{name: turn, steps: [" THINK ", " USE(1) "]}], " TOOL(0) "}");
  const gint64 prompts[] = {100, 160, 220}, cached[] = {0, 96, 160};
  g_assert_cmpuint(outcome->serving_requests->len, ==, 3);
  double sum_s = 3;
  for (guint i = 0; i < 3; i++) {
    g_assert_cmpint(serving_request(outcome, i)->input_tokens, ==, prompts[i]);
    g_assert_cmpint(serving_request(outcome, i)->cached_tokens, ==, cached[i]);
    sum_s += serving_request(outcome, i)->e2e_s;
  }
  g_assert_cmpfloat_with_epsilon(task(outcome, 0)->e2e_s, sum_s, 1e-9);
  g_assert_cmpint(task(outcome, 0)->turns, ==, 3);
  g_assert_cmpint(task(outcome, 0)->input_tokens, ==, 480);
  g_assert_cmpint(task(outcome, 0)->cached_tokens, ==, 256);
  g_assert_cmpint(task(outcome, 0)->output_tokens, ==, 30);
}

/* A budget of two turns, of 25 tokens of answers, or a context without room for a third. */
static void test_budgets(void) {
  static const char text[] =
      EVERY_SECOND "workload.requests=1;%sworkload.tasks={%s"
                   "steps: [{name: work, do: {kind: repeat, program: turn, times: {tokens: 5}}}], "
                   "programs: [{name: turn, steps: [" THINK "]}]}";
  const struct {
    const char *set, *budget, *outcome;
  } all[] = {{"", "max-turns: 2, ", "turns"},
             {"", "max-tokens: 25, ", "tokens"},
             {"workload.engine.max-model-len=125;", "", "context"}};
  for (guint i = 0; i < G_N_ELEMENTS(all); i++) {
    g_autofree char *sets = g_strdup_printf(text, all[i].set, all[i].budget);
    g_autoptr(OrrOutcome) outcome = serving_run(sets);
    g_assert_cmpstr(task(outcome, 0)->outcome, ==, all[i].outcome);
    g_assert_cmpint(task(outcome, 0)->turns, ==, 2);
    g_assert_cmpint(task(outcome, 0)->output_tokens, ==, 20);
    g_assert_cmpuint(outcome->serving_requests->len, ==, 2);
  }
}

#define BRANCHES(n_, more_, steps_)                                                                \
  "steps: [" THINK ", {name: fan, do: {kind: parallel, program: side, branches: {tokens: " #n_     \
  "}, returns: {tokens: 30}" more_ "}}, " THINK "], programs: [{name: side, steps: [" steps_       \
  "]}], "

/* Three branches of a tool of 4 s: on three workers 4 s, on two 8 s. Each returns 30 tokens to a
 * context of 110: 200. */
static void test_branches(void) {
  g_autoptr(OrrOutcome) three = serving_run(
      EVERY_SECOND "workload.requests=1;workload.tasks={" BRANCHES(3, "", USE(4)) TOOL(3) "}");
  g_autoptr(OrrOutcome) two = serving_run(
      EVERY_SECOND "workload.requests=1;workload.tasks={" BRANCHES(3, "", USE(4)) TOOL(2) "}");
  g_assert_cmpfloat_with_epsilon(task(two, 0)->e2e_s - task(three, 0)->e2e_s, 4, 1e-9);
  g_assert_cmpfloat_with_epsilon(
      task(three, 0)->e2e_s,
      4 + serving_request(three, 0)->e2e_s + serving_request(three, 1)->e2e_s, 1e-9);
  g_assert_cmpint(serving_request(three, 1)->input_tokens, ==, 200);
}

/* After a turn of 1,000 + 10 tokens two forks go on from 1,010 tokens with 40 of their own: each
 * finds 63 blocks of its parent's, 1,008 of 1,009 computed tokens, and not the other's 40. */
static void test_forks(void) {
  g_autoptr(OrrOutcome) outcome = serving_run(
      EVERY_SECOND "workload.requests=1;workload.input={tokens: 1000};"
                   "workload.engine.prefix-caching=block-hash;workload.tasks={" BRANCHES(
                       2, ", prompt: {tokens: 40}", USE(1) ", " THINK ", " THINK) TOOL(1) "}");
  /* the first fork's tool ends 1 s before the second's, so its turns come first */
  const gint64 prompts[] = {1000, 1100, 1110, 1100, 1110, 1070};
  const gint64 cached[] = {0, 1008, 1104, 1008, 1104, 1008};
  g_assert_cmpuint(outcome->serving_requests->len, ==, 6);
  for (guint i = 0; i < 6; i++) {
    g_assert_cmpint(serving_request(outcome, i)->input_tokens, ==, prompts[i]);
    g_assert_cmpint(serving_request(outcome, i)->cached_tokens, ==, cached[i]);
  }
}

/* Sub-agents share their system prompt of 800 tokens and nothing else: 50 blocks, once the first
 * has computed them. */
static void test_sub_agents(void) {
  g_autoptr(OrrOutcome) outcome = serving_run(
      EVERY_SECOND "workload.requests=1;workload.input={tokens: 1000};"
                   "workload.engine.prefix-caching=block-hash;workload.tasks={" BRANCHES(
                       2, ", context: own, system: 800, prompt: {tokens: 40}", USE(1) ", " THINK)
                       TOOL(1) "}");
  g_assert_cmpint(serving_request(outcome, 1)->input_tokens, ==, 890);
  g_assert_cmpint(serving_request(outcome, 1)->cached_tokens, ==, 0);
  g_assert_cmpint(serving_request(outcome, 2)->cached_tokens, ==, 800);
  g_assert_cmpint(serving_request(outcome, 3)->input_tokens, ==, 1070);
}

/* One task in flight: each begins where the last one ended, with its own conversation. */
static void test_closed_loop(void) {
  g_autoptr(OrrOutcome) outcome =
      serving_run(EVERY_SECOND "workload.requests=4;workload.load={kind: closed-loop, concurrency: "
                               "1};workload.tasks={steps: [" USE(10) "], " TOOL(0) "}");
  for (guint i = 0; i < 4; i++)
    g_assert_cmpfloat_with_epsilon(task(outcome, i)->arrival_s, 10.0 * i, 1e-9);
  g_assert_cmpfloat_with_epsilon(result_of(outcome).in_flight_mean, 1, 1e-9);
}

/* A rejected turn ends its task, and the run goes on. */
static void test_rejected(void) {
  g_autoptr(OrrOutcome) outcome =
      serving_run(EVERY_SECOND "workload.requests=50;workload.load={kind: constant, rate: 1000};"
                               "workload.admission={in-flight: 1, queue: 0};"
                               "workload.tasks={steps: [" THINK "]}");
  const OrrServingTaskResult result = result_of(outcome);
  g_assert_cmpint(result.rejected, >, 0);
  g_assert_cmpint(result.rejected, ==, outcome->result.serving.rejected);
  g_assert_cmpint(result.done + result.rejected, ==, 50);
}

static int by_arrival(const void *a, const void *b) {
  const double x = ((const OrrServingRequestRow *)a)->arrival_s,
               y = ((const OrrServingRequestRow *)b)->arrival_s;
  return (x > y) - (x < y);
}

/* Conversations as tasks: what `sessions` sends without tasks, with think times on no worker, is
 * sent at the same times and has the same latencies. */
static void test_replay(void) {
#define SESSIONS                                                                                   \
  "workload.load={kind: sessions, rate: 0.5, turns: 4, think: 2 s};workload.requests=60;"
  g_autoptr(OrrOutcome) plain = serving_run(SESSIONS);
  g_autoptr(OrrOutcome) tasks =
      serving_run(SESSIONS "workload.tasks={steps: [{name: chat, do: replay}]}");
  g_assert_cmpuint(plain->serving_requests->len, ==, 60);
  g_assert_cmpuint(tasks->serving_requests->len, ==, 60);
  qsort(plain->serving_requests->data, 60, sizeof(OrrServingRequestRow), by_arrival);
  qsort(tasks->serving_requests->data, 60, sizeof(OrrServingRequestRow), by_arrival);
  for (guint i = 0; i < 60; i++) { /* numbers differ: a turn gets its own when it is sent */
    g_assert_cmpfloat_with_epsilon(serving_request(tasks, i)->arrival_s,
                                   serving_request(plain, i)->arrival_s, 1e-9);
    g_assert_cmpfloat_with_epsilon(serving_request(tasks, i)->e2e_s,
                                   serving_request(plain, i)->e2e_s, 1e-9);
  }
  gint64 turns = 0;
  for (guint i = 0; i < tasks->serving_tasks->len; i++) turns += task(tasks, i)->turns;
  g_assert_cmpint(turns, ==, 60);
}

/* Two sessions of a file. The first: a turn of 100 + 10 tokens at 1 s, another 2 s after its end.
 * The second: a turn at 0 s. On one worker nothing waits. Of the second turn's 140 tokens the cache
 * has the six whole blocks of 109 computed ones. */
static void test_recorded(void) {
  static const char text[] =
      "{\"session_id\":\"a\",\"timestamp\":1000,\"input_length\":100,\"output_length\":10}\n"
      "{\"session_id\":\"a\",\"delay\":2000,\"input_length\":30,\"output_length\":10}\n"
      "{\"timestamp\": 0, \"input_length\": 50, \"output_length\": 10}\n";
  g_autofree char *path = g_build_filename(g_get_tmp_dir(), "orrery-sessions-XXXXXX", NULL);
  const int file = g_mkstemp(path);
  g_assert_cmpint(file, >=, 0);
  g_assert_true(g_close(file, NULL) && g_file_set_contents(path, text, -1, NULL));
  g_autofree char *sets = g_strdup_printf(
      "workload.requests=0;workload.engine.prefix-caching=block-hash;workload.load={kind: "
      "mooncake-sessions, prompts: added, file: %s};workload.tasks={steps: [{name: s, do: {kind: "
      "replay, pool: box}}], " TOOL(1) "}",
      path);
  g_autoptr(OrrOutcome) outcome = serving_run(sets);
  g_remove(path);
  g_assert_cmpuint(outcome->serving_tasks->len, ==, 2);
  g_assert_cmpint(task(outcome, 0)->turns, ==, 1);
  g_assert_cmpint(task(outcome, 1)->turns, ==, 2);
  g_assert_cmpfloat_with_epsilon(task(outcome, 1)->arrival_s, 1, 1e-9);
  g_assert_cmpint(serving_request(outcome, 2)->input_tokens, ==, 140); /* 100 + 10 + 30 */
  g_assert_cmpint(serving_request(outcome, 2)->cached_tokens, ==, 96); /* of 109 */
  g_assert_cmpfloat_with_epsilon(
      task(outcome, 1)->e2e_s,
      2 + serving_request(outcome, 1)->e2e_s + serving_request(outcome, 2)->e2e_s, 1e-9);
}

/* Findings are at the step, with what there is. */
static void test_refused(void) {
  serving_refused("workload.tasks={steps: []}", "there is no step");
  serving_refused("workload.tasks={steps: [" USE(1) "]}", "there is no pool 'box' in tasks");
  serving_refused("workload.tasks={steps: [{name: s, do: {kind: search, pool: box}}], " TOOL(1) "}",
                  "pool 'box' is of workers: this step needs one of index");
  serving_refused(
      "workload.tasks={steps: [{name: r, do: {kind: repeat, program: a}}], programs: [{name: a, "
      "steps: [{name: b, do: {kind: repeat, program: a}}]}]}",
      "program 'a' calls itself");
  serving_refused("workload.tasks={steps: [{name: r, do: replay}]}", "replay needs a load of");
  serving_refused("workload.load={kind: sessions, rate: 1};workload.tasks={steps: [" THINK "]}",
                  "load sessions has lengths of its own");
  serving_refused("workload.samples=2;workload.tasks={steps: [" THINK "]}",
                  "tasks and samples exclude each other");
  serving_refused("workload.metrics.window=steady;workload.tasks={steps: [" THINK "]}",
                  "tasks and metrics.window exclude each other");
  serving_refused("workload.tasks={steps: [{name: e, do: {kind: encode, pool: m}}], pools: [{name: "
                  "m, of: {kind: model, model: qwen3-0.6b, replicas: 8}}]}",
                  "pools of tasks 8 = 9 GPUs");
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/tasks/queue", test_queue);
  g_test_add_func("/tasks/timeout", test_timeout);
  g_test_add_func("/tasks/cut-calls", test_cut_calls);
  g_test_add_func("/tasks/turns", test_turns);
  g_test_add_func("/tasks/budgets", test_budgets);
  g_test_add_func("/tasks/branches", test_branches);
  g_test_add_func("/tasks/forks", test_forks);
  g_test_add_func("/tasks/sub-agents", test_sub_agents);
  g_test_add_func("/tasks/closed-loop", test_closed_loop);
  g_test_add_func("/tasks/rejected", test_rejected);
  g_test_add_func("/tasks/replay", test_replay);
  g_test_add_func("/tasks/recorded", test_recorded);
  g_test_add_func("/tasks/refused", test_refused);
  return g_test_run();
}

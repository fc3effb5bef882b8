/*
 * test_arrival.c - loads: their rates, what traces hold, and what is wrong with one, with its line.
 */
#include <glib/gstdio.h>

#include "tests/workloads/serving/serving_fixture.h"
#include "tests/run/shared_library.h"

/* Over many requests each open loop keeps its oracle's rate. */
static void test_rates(void) {
  static const char *const loads[] = {"{kind: constant, rate: 7}",
                                      "{kind: poisson, rate: 7}",
                                      "{kind: gamma, rate: 7, burstiness: 0.3}",
                                      "{kind: gamma, rate: 7, burstiness: 4}",
                                      "{kind: diurnal, rate: 7, swing: 0.9, period: 100 s}",
                                      "{kind: ramp, from: 1, to: 7, duration: 10 s}"};
  for (guint k = 0; k < G_N_ELEMENTS(loads); k++) {
    g_autofree char *sets = g_strdup_printf("workload.load=%s", loads[k]);
    g_autofree char *findings = NULL;
    OrrLibrary *library = shared_library();
    g_autoptr(OrrScenario) scenario = serving_scenario(library, sets, &findings);
    const OrrServing *params = scenario->workload.params;
    const OrrArrival *load = (const OrrArrival *)params->load.entry;
    const OrrArrivalContext context = {
        .requests = 40000, .input = &params->input, .output = &params->output, .seed = 3};
    gpointer state = load->open(params->load.params, &context, NULL);
    OrrRequest request = {0};
    double last_s = 0;
    guint n = 0;
    for (; load->next(state, &request); n++) {
      g_assert_cmpfloat(request.arrival_s, >=, last_s);
      last_s = request.arrival_s;
    }
    load->close(state);
    g_assert_cmpuint(n, ==, 40000);
    g_assert_cmpfloat_with_epsilon(n / last_s / load->oracle(params->load.params), 1, 0.04);
  }
}

/* The warning of a run that names what its trace has beside what is read; NULL: none. */
static const char *left_out(const OrrOutcome *outcome) {
  for (guint i = 0; i < outcome->warnings->len; i++)
    if (g_str_has_prefix(outcome->warnings->pdata[i], "the trace has ")) /* once */
      return outcome->warnings->pdata[i];
  return NULL;
}

static void with_file(const char *name, const char *text, const char *load, const char *wanted) {
  g_autofree char *folder = g_dir_make_tmp("orrery-XXXXXX", NULL);
  g_autofree char *path = g_build_filename(folder, name, NULL);
  g_autofree char *sets =
      g_strdup_printf("workload.load={%s, file: %s};workload.requests=0", load, path);
  g_assert_true(g_file_set_contents(path, text, -1, NULL));
  if (wanted) {
    serving_refused(sets, wanted);
  } else {
    g_autoptr(OrrOutcome) outcome = serving_run(sets);
    g_assert_cmpint(outcome->result.serving.completed, ==, 2);
    g_assert_cmpint(serving_request(outcome, 1)->input_tokens, ==, 700);
    g_assert_cmpint(serving_request(outcome, 1)->output_tokens, ==, 20);
    g_assert_cmpfloat_with_epsilon(serving_request(outcome, 1)->arrival_s, 1.5, 1e-6);
  }
  g_remove(path);
  g_rmdir(folder);
}

static void test_formats(void) {
  with_file("a.csv",
            "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:15:46.5000000,300,10\n"
            "2023-11-16 18:15:48.0000000,700,20\n",
            "kind: azure", NULL);
  with_file(
      "b.jsonl",
      "{\"timestamp\": 0, \"input_length\": 600, \"output_length\": 10, \"hash_ids\": [1, 2]}\n"
      "{\"timestamp\": 1500, \"input_length\": 700, \"output_length\": 20, \"hash_ids\": [1, 3]}\n",
      "kind: mooncake", NULL);
  with_file("c.csv",
            "# a comment\narrival_s,input_tokens,output_tokens,more\n0,300,10,x\n1.5,700,20,y\n",
            "kind: csv", NULL);
  with_file("c.csv", "arrived_at,num_prefill_tokens,num_decode_tokens\n0,300,10\n1.5,700,20\n",
            "kind: csv", NULL); /* Vidur */
  with_file("c.csv",
            "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n"
            "0,ChatGPT,300,10,310,API log\n1.5,GPT-4,700,20,720,API log\n",
            "kind: csv", NULL); /* BurstGPT */
  with_file("c.csv",
            "arrival_timestamp,batch_size,prompt_size,token_size\n0,1,300,10\n1.5,1,700,20\n",
            "kind: csv", NULL); /* Splitwise */
  with_file("b.jsonl",          /* Bailian: seconds */
            "{\"chat_id\": 0, \"timestamp\": 0.0, \"input_length\": 20, \"output_length\": 10, "
            "\"hash_ids\": [1, 2]}\n"
            "{\"chat_id\": 1, \"timestamp\": 1.5, \"input_length\": 700, \"output_length\": 20, "
            "\"hash_ids\": [1, 3]}\n",
            "kind: mooncake", NULL);
  with_file(
      "b.jsonl",
      "{\"timestamp\": 0, \"input_length\": 200, \"output_length\": 1, \"hash_ids\": [1, 2, 3, 4]}",
      "kind: mooncake", "4 hash_ids for a prompt of 200 tokens: blocks of 512 tokens");
  with_file("d.json",
            "[{\"prompt_len\": 300, \"output_len\": 10, \"timestamp\": 0},\n {\"prompt_len\": 700, "
            "\"output_len\": 20, \"timestamp\": 1.5}]",
            "kind: sharegpt", NULL);
  with_file("e.jsonl",
            "{\"prompt_len\": 300, \"output_len\": 10, \"timestamp\": 0}\n{\"prompt\": \"not "
            "counted\", \"prompt_len\": "
            "700, \"output_len\": 20, \"timestamp\": 1.5}\n",
            "kind: sharegpt", NULL);
}

/* Each column or key that is not read is named once. */
static void test_left_out(void) {
  static const struct {
    const char *kind, *text, *wanted;
  } all[] = {
      {"csv",
       "Timestamp,Model,Request tokens,Response tokens,Total tokens\n0,a,9,1,10\n1,b,9,1,10\n",
       "the trace has columns that are not read: Model, Total tokens"},
      {"csv", "arrival_s,input_tokens,output_tokens\n0,9,1\n", NULL},
      {"azure", "TIMESTAMP,ContextTokens,GeneratedTokens,Tier\n2023-11-16 18:15:46.5,9,1,gold\n",
       "the trace has columns that are not read: Tier"},
      {"mooncake",
       "{\"timestamp\": 0, \"input_length\": 9, \"output_length\": 1, \"turn\": 1}\n"
       "{\"timestamp\": 9, \"input_length\": 9, \"output_length\": 1, \"turn\": [2], \"x\": 3}\n",
       "the trace has keys that are not read: turn, x"},
      {"sharegpt", "[{\"id\": 7, \"prompt_len\": 9, \"output_len\": 1, \"timestamps\": 3}]",
       "the trace has keys that are not read: timestamps"},
      {"sharegpt", "{\"date\": \"x\", \"input_lens\": [9], \"output_lens\": [1]}", NULL}};
  g_autofree char *folder = g_dir_make_tmp("orrery-XXXXXX", NULL);
  g_autofree char *path = g_build_filename(folder, "trace", NULL);
  for (guint i = 0; i < G_N_ELEMENTS(all); i++) {
    g_assert_true(g_file_set_contents(path, all[i].text, -1, NULL));
    g_autofree char *sets = g_strdup_printf(
        "workload.load={kind: %s, file: %s};workload.requests=0", all[i].kind, path);
    g_autoptr(OrrOutcome) outcome = serving_run(sets);
    g_assert_cmpstr(left_out(outcome), ==, all[i].wanted);
  }
  g_remove(path);
  g_rmdir(folder);
}

/* vLLM's --dataset-name custom: a line each, the prompt as text; 40 characters are ten tokens of
 * four. */
static void test_custom_lines(void) {
  g_autofree char *folder = g_dir_make_tmp("orrery-XXXXXX", NULL);
  g_autofree char *path = g_build_filename(folder, "custom.jsonl", NULL);
  g_assert_true(g_file_set_contents(
      path,
      "{\"prompt\": \"0123456789012345678901234567890123456789\", \"output_tokens\": 7}\n"
      "{\"prompt\": \"why?\", \"output_tokens\": 3}\n",
      -1, NULL));
  g_autofree char *sets =
      g_strdup_printf("workload.load={kind: sharegpt, file: %s};workload.requests=0", path);
  g_autoptr(OrrOutcome) outcome = serving_run(sets);
  g_assert_cmpuint(outcome->serving_requests->len, ==, 2);
  g_assert_cmpint(serving_request(outcome, 0)->input_tokens, ==, 10);
  g_assert_cmpint(serving_request(outcome, 0)->output_tokens, ==, 7);
  g_assert_cmpint(serving_request(outcome, 1)->input_tokens, ==, 1);
  g_remove(path);
  g_rmdir(folder);
}

static void test_bad_traces(void) {
  static const char azure[] = "TIMESTAMP,ContextTokens,GeneratedTokens\n";
  g_autofree char *back =
      g_strconcat(azure, "2023-11-16 18:15:46.5,3,1\n2023-11-16 18:15:46.4,3,1\n", NULL);
  with_file("t.csv", back, "kind: azure", "t.csv:3:1: error: time goes back");
  g_autofree char *negative = g_strconcat(azure, "2023-11-16 18:15:46.5,-3,1\n", NULL);
  with_file("t.csv", negative, "kind: azure", "t.csv:2:1: error: a prompt of -3 tokens");
  g_autofree char *absurd = g_strconcat(azure, "2023-11-16 18:15:46.5,3e12,1\n", NULL);
  with_file("t.csv", absurd, "kind: azure", "must be a whole number from 1 to 100000000");
  with_file("t.csv", azure, "kind: azure", "the trace has no request");
  with_file("t.csv", "TIMESTAMP,ContextToken,GeneratedTokens\nx,1,1\n", "kind: azure",
            "t.csv:1:1: error: there is no column ContextTokens; is it 'ContextToken'?");
  with_file("t.csv", "arrival_s,Request token,output_tokens\n0,1,1\n", "kind: csv",
            "there is no column input_tokens (or num_prefill_tokens, Request tokens,");
  with_file("t.csv", "arrival_s,input_tokens,output\n0,1,1\n", "kind: csv", "is it 'output'?");
  with_file("t.csv", "arrival_s,input_tokens\n0,1\n", "kind: csv", /* which is in use */
            "there is no column output_tokens (or num_decode_tokens, Response tokens,");
  with_file("t.csv",
            "arrival_s,input_tokens,output_tokens,first_tokens_s,last_token_s\n0,1,1,1,1\n",
            "kind: csv",
            "t.csv:1:38: error: unknown column 'first_tokens_s': did you mean 'first_token_s'?");
  with_file("t.csv", "arrival_s,input_tokens,output_tokens,ttft_s,last_token_s\n0,1,1,1,1\n",
            "kind: csv", "t.csv:1:1: error: there is a column last_token_s, but no column first_");
  with_file("t.csv", "arrival_s,input_tokens,output_tokens\n0,zero,1\n", "kind: csv", "t.csv:2");
  with_file("t.csv", "arrival_s,input_tokens,output_tokens\n0,200000,1\n", "kind: csv",
            "t.csv:2:1: error: a request of 200000 + 1 tokens is longer than the context");
  with_file("t.jsonl", "{\"timestamp\": 0, \"input_length\": 3}\n", "kind: mooncake",
            "t.jsonl:1:1: error: a request needs timestamp, input_length and output_length");
  with_file("t.jsonl", "{\"timestamp\": 0, \"input_length\" 3}\n", "kind: mooncake",
            "':' was expected");
  with_file("t.json", "{\"a\": 1}", "kind: sharegpt", "input_lens and output_lens");
  with_file("t.json", "{\"prompt\": \"why?\"}", "kind: sharegpt",
            "t.json:1:1: error: a request needs");
  with_file("t.json", "{\"prompt_len\": 3, \"output_len\": 1}\nx\n", "kind: sharegpt",
            "t.json:2:1: error: found 'x'");
  with_file("t.json", "7", "kind: sharegpt", "t.json:1:1: error: found '7'");
  with_file("t.csv", "arrival_s,input_tokens,output_tokens\n1700000000.5,100,20\n", "kind: csv",
            "t.csv:2:1: error: the first request comes at 1700000000 s: give seconds since the "
            "start, not a date");
  serving_refused("workload.load={kind: csv, file: nowhere.csv}", "there is no trace nowhere.csv");
}

/* Two requests that begin with the same 512 tokens: the second finds them in the cache. */
static void test_shared_spans(void) {
  g_autofree char *folder = g_dir_make_tmp("orrery-XXXXXX", NULL);
  g_autofree char *path = g_build_filename(folder, "m.jsonl", NULL);
  g_assert_true(g_file_set_contents(
      path,
      "{\"timestamp\": 0, \"input_length\": 1000, \"output_length\": 5, \"hash_ids\": [1, 2]}\n"
      "{\"timestamp\": 9000, \"input_length\": 1000, \"output_length\": 5, \"hash_ids\": [1, 3]}\n",
      -1, NULL));
  g_autofree char *sets =
      g_strdup_printf("workload.load={kind: mooncake, file: "
                      "%s};workload.requests=0;workload.engine.prefix-caching=block-hash",
                      path);
  g_autoptr(OrrOutcome) outcome = serving_run(sets);
  g_assert_cmpint(serving_request(outcome, 0)->cached_tokens, ==, 0);
  g_assert_cmpint(serving_request(outcome, 1)->cached_tokens, ==, 512);
  g_assert_cmpfloat(serving_request(outcome, 1)->ttft_s, <, serving_request(outcome, 0)->ttft_s);
  g_remove(path);
  g_rmdir(folder);
}

/* Three times the trace, each after the one before: 2 requests 9 s apart take 18 s; only requests
 * of one time share their first tokens, and --requests limits all of them. */
static void test_repeat(void) {
  g_autofree char *folder = g_dir_make_tmp("orrery-XXXXXX", NULL);
  g_autofree char *path = g_build_filename(folder, "m.jsonl", NULL);
  g_assert_true(g_file_set_contents(
      path,
      "{\"timestamp\": 0, \"input_length\": 1000, \"output_length\": 5, \"hash_ids\": [1, 2]}\n"
      "{\"timestamp\": 9000, \"input_length\": 1000, \"output_length\": 5, \"hash_ids\": [1, 3]}\n",
      -1, NULL));
  static const char text[] =
      "workload.load={kind: mooncake, file: %s, repeat: %s};workload.requests=%d;"
      "workload.engine.prefix-caching=block-hash";
  g_autofree char *three = g_strdup_printf(text, path, "3", 0),
                  *five = g_strdup_printf(text, path, "3", 5),
                  *never = g_strdup_printf(text, path, "0", 0),
                  *many = g_strdup_printf(text, path, "100001", 0);
  g_autoptr(OrrOutcome) all = serving_run(three);
  g_autoptr(OrrOutcome) some = serving_run(five);
  g_assert_cmpuint(all->serving_requests->len, ==, 6);
  g_assert_cmpuint(some->serving_requests->len, ==, 5);
  for (guint i = 0; i < 6; i++) {
    g_assert_cmpfloat_with_epsilon(serving_request(all, i)->arrival_s, 9.0 * i, 1e-9);
    g_assert_cmpint(serving_request(all, i)->cached_tokens, ==, i % 2 ? 512 : 0);
  }
  serving_refused(never, "repeat");
  serving_refused(many, "repeat");
  g_remove(path);
  g_rmdir(folder);
}

/* Prompts of a trace begin alike in what they have: 800 of 1,000 tokens are 50 blocks of 16. A load
 * that says itself what is shared takes no other prefix. */
static void test_trace_prefix(void) {
  g_autofree char *folder = g_dir_make_tmp("orrery-XXXXXX", NULL);
  g_autofree char *path = g_build_filename(folder, "alike.csv", NULL);
  g_assert_true(g_file_set_contents(
      path, "arrival_s,input_tokens,output_tokens\n0,1000,4\n9,1000,4\n18,1000,4\n", -1, NULL));
  g_autofree char *sets =
      g_strdup_printf("workload.engine.prefix-caching=block-hash;workload.shared-prefix=800;"
                      "workload.requests=0;workload.load={kind: csv, file: %s}",
                      path);
  g_autoptr(OrrOutcome) outcome = serving_run(sets);
  for (guint i = 0; i < 3; i++) {
    g_assert_cmpint(serving_request(outcome, i)->input_tokens, ==, 1000);
    g_assert_cmpint(serving_request(outcome, i)->cached_tokens, ==, i ? 800 : 0);
  }
  serving_refused("workload.shared-prefix=800;workload.load={kind: sessions, rate: 1}",
                  "shared-prefix (800) with load sessions: load.system-prompt defines");
  g_remove(path);
  g_rmdir(folder);
}

/* Requests at 100 and 109 s come at 0 and 9 s, and again 9 s after the last one. The rate that is
 * offered does not depend on when the trace begins: 5 gaps in 45 s. */
static void test_repeat_late(void) {
  g_autofree char *folder = g_dir_make_tmp("orrery-XXXXXX", NULL);
  g_autofree char *path = g_build_filename(folder, "late.csv", NULL);
  g_assert_true(g_file_set_contents(
      path, "arrival_s,input_tokens,output_tokens\n100,9,5\n109,9,5\n", -1, NULL));
  g_autofree char *sets = g_strdup_printf("workload.load={kind: csv, file: %s, repeat: 3}", path);
  g_autoptr(OrrOutcome) all = serving_run(sets);
  g_assert_cmpuint(all->serving_requests->len, ==, 6);
  for (guint i = 0; i < 6; i++)
    g_assert_cmpfloat_with_epsilon(serving_request(all, i)->arrival_s, 9.0 * i, 1e-9);
  g_assert_cmpfloat_with_epsilon(all->result.serving.offered_rps, 5 / 45.0, 1e-9);
  g_remove(path);
  g_rmdir(folder);
}

/* Five per second offer five, however few come. One request, and forty at once that wait for each
 * other, have no rate, and so nothing that arrives faster than it is served. */
static void test_offered(void) {
  static const int n[] = {2, 3, 100};
  g_autoptr(OrrOutcome) one =
      serving_run("workload.load={kind: constant, rate: 5};workload.requests=1");
  g_assert_true(isnan(one->result.serving.offered_rps));
  for (guint i = 0; i < G_N_ELEMENTS(n); i++) {
    g_autofree char *sets =
        g_strdup_printf("workload.load={kind: constant, rate: 5};workload.requests=%d", n[i]);
    g_autoptr(OrrOutcome) outcome = serving_run(sets);
    g_assert_cmpfloat_with_epsilon(outcome->result.serving.offered_rps, 5, 1e-9);
  }
  g_autofree char *folder = g_dir_make_tmp("orrery-XXXXXX", NULL);
  g_autofree char *path = g_build_filename(folder, "burst.csv", NULL);
  g_autoptr(GString) text = g_string_new("arrival_s,input_tokens,output_tokens\n");
  for (int i = 0; i < 40; i++) g_string_append(text, "0,100,500\n");
  g_assert_true(g_file_set_contents(path, text->str, -1, NULL));
  g_autofree char *sets = g_strdup_printf(
      "workload.requests=0;workload.engine.max-num-seqs=1;workload.load={kind: csv, file: %s}",
      path);
  g_autoptr(OrrOutcome) burst = serving_run(sets);
  g_assert_cmpint(burst->result.serving.completed, ==, 40);
  g_assert_true(isnan(burst->result.serving.offered_rps));
  g_assert_false(burst->result.serving.saturated);
  g_remove(path);
  g_rmdir(folder);
}

/* Three requests at 5, 6 and 9 s come at 2 / 4 = 0.5 per second; at 2 per second four times as
 * fast, from 0 s on. */
static void test_trace_rate(void) {
  g_autofree char *folder = g_dir_make_tmp("orrery-XXXXXX", NULL);
  g_autofree char *path = g_build_filename(folder, "t.csv", NULL);
  g_assert_true(g_file_set_contents(
      path, "arrival_s,input_tokens,output_tokens\n5,300,10\n6,400,20\n9,500,30\n", -1, NULL));
  static const char text[] =
      "workload.load={kind: csv, file: %s, rate: 2, speed: %s};workload.requests=%d";
  g_autofree char *all = g_strdup_printf(text, path, "1", 0),
                  *first = g_strdup_printf(text, path, "1", 1),
                  *both = g_strdup_printf(text, path, "3", 0);
  static const double wanted_s[] = {0, 0.25, 1};
  g_autoptr(OrrOutcome) outcome = serving_run(all);
  g_assert_cmpuint(outcome->serving_requests->len, ==, 3);
  for (guint i = 0; i < 3; i++) {
    g_assert_cmpfloat_with_epsilon(serving_request(outcome, i)->arrival_s, wanted_s[i], 1e-12);
    g_assert_cmpint(serving_request(outcome, i)->input_tokens, ==, 300 + 100 * (gint64)i);
    g_assert_cmpint(serving_request(outcome, i)->output_tokens, ==, 10 + 10 * (gint64)i);
  }
  serving_refused(first, "all requests of the trace come at the same time");
  serving_refused(both, "load.rate and load.speed exclude each other");
  g_remove(path);
  g_rmdir(folder);
}

/* JSON without times comes at the rate given; with times these are scaled. */
static void test_sharegpt_rate(void) {
  g_autofree char *folder = g_dir_make_tmp("orrery-XXXXXX", NULL);
  g_autofree char *path = g_build_filename(folder, "t.json", NULL);
  g_assert_true(g_file_set_contents(path,
                                    "[{\"prompt_len\": 9, \"output_len\": 2, \"timestamp\": 0},"
                                    "{\"prompt_len\": 9, \"output_len\": 2, \"timestamp\": 8}]",
                                    -1, NULL));
  g_autofree char *sets = g_strdup_printf(
      "workload.load={kind: sharegpt, file: %s, rate: 2};workload.requests=0", path);
  g_autoptr(OrrOutcome) outcome = serving_run(sets);
  g_assert_cmpfloat_with_epsilon(serving_request(outcome, 1)->arrival_s, 0.5, 1e-12);
  g_remove(path);
  g_rmdir(folder);
}

/* Each file's beginning says its format; a name does not. */
static void test_kinds(void) {
  static const char *const texts[][2] = {
      {"azure", "TIMESTAMP,ContextTokens,GeneratedTokens\n"},
      {"csv", "arrival_s,input_tokens,output_tokens\n"},
      {"csv", ""},
      {"mooncake", "{\"timestamp\": 0, \"input_length\": 600, \"output_length\": 10}\n"},
      {"sharegpt", " [{\"prompt_len\": 9, \"output_len\": 2}]"},
      {"sharegpt", "{\"input_lens\": [9], \"output_lens\": [2]}"}};
  g_autofree char *folder = g_dir_make_tmp("orrery-XXXXXX", NULL);
  g_autofree char *path = g_build_filename(folder, "trace", NULL);
  for (guint i = 0; i < G_N_ELEMENTS(texts); i++) {
    g_assert_true(g_file_set_contents(path, texts[i][1], -1, NULL));
    g_assert_cmpstr(orr_arrival_of_file(path)->entry.name, ==, texts[i][0]);
  }
  g_remove(path);
  g_rmdir(folder);
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/workloads/arrival/rates", test_rates);
  g_test_add_func("/workloads/arrival/formats", test_formats);
  g_test_add_func("/workloads/arrival/left-out", test_left_out);
  g_test_add_func("/workloads/arrival/custom-lines", test_custom_lines);
  g_test_add_func("/workloads/arrival/bad-traces", test_bad_traces);
  g_test_add_func("/workloads/arrival/shared-spans", test_shared_spans);
  g_test_add_func("/workloads/arrival/repeat", test_repeat);
  g_test_add_func("/workloads/arrival/repeat-late", test_repeat_late);
  g_test_add_func("/workloads/arrival/offered", test_offered);
  g_test_add_func("/workloads/arrival/trace-prefix", test_trace_prefix);
  g_test_add_func("/workloads/arrival/trace-rate", test_trace_rate);
  g_test_add_func("/workloads/arrival/sharegpt-rate", test_sharegpt_rate);
  g_test_add_func("/workloads/arrival/kinds", test_kinds);
  return g_test_run();
}

/*
 * test_plan_serving_trace.c - plans whose load is a trace: rates, lengths, bursts, and which of its
 * requests can say that a layout is too slow.
 */
#include <math.h>

#include "tests/plan/plan_fixture.h"

/* Rows that come in waves, @times times; the last output has @last tokens. */
static void write_trace(const char *path, int times, int last) {
  g_autoptr(GString) text = g_string_new("arrival_s,input_tokens,output_tokens\n");
  for (int i = 0; i < 200 * times; i++) {
    const int phase = i % 200, begin_s = 250 * (i / 200);
    g_string_append_printf(text, "%g,%d,%d\n",
                           begin_s + (phase < 100 ? 0.5 * phase : 50 + 2 * (phase - 100)),
                           200 + 37 * phase % 800, i == 200 * times - 1 ? last : 5 + phase % 30);
  }
  g_assert_true(g_file_set_contents(path, text->str, -1, NULL));
}

static GArray *best_of_trace(OrrLibrary *library, const char *path, const OrrPlanServing *like,
                             guint *ret_best) {
  g_autoptr(GError) error = NULL;
  g_autoptr(OrrPlanTrace) trace = orr_plan_trace_new(library, path, NULL, NULL, &error);
  g_assert_no_error(error);
  OrrPlanServing asked = *like;
  orr_plan_trace_ask(trace, &asked);
  g_autoptr(GArray) layouts = layouts_of(library, &asked);
  search(library, &asked, layouts);
  g_autoptr(GArray) ranked = orr_plan_serving_rank(&asked, layouts);
  g_assert_cmpuint(ranked->len, >, 0);
  *ret_best = g_array_index(ranked, guint, 0);
  return g_steal_pointer(&layouts);
}

/* The rates of a trace do not depend on how often its file holds it, but for a search's 5 %. */
static void test_trace(void) {
  g_autoptr(OrrLibrary) library = orr_library_new(NULL);
  g_autofree char *folder = g_dir_make_tmp("orrery-plan-XXXXXX", NULL);
  g_autofree char *path = g_build_filename(folder, "t.csv", NULL);
  OrrPlanServing asked = question("vllm-0.19");
  asked.gpus = 1;
  asked.is_whole = TRUE;
  guint best[2];
  write_trace(path, 1, 5);
  g_autoptr(GArray) once = best_of_trace(library, path, &asked, &best[0]);
  write_trace(path, 2, 5);
  g_autoptr(GArray) twice = best_of_trace(library, path, &asked, &best[1]);
  g_assert_cmpuint(best[0], ==, best[1]);
  g_assert_cmpfloat_with_epsilon(at(once, best[0])->rate / at(twice, best[1])->rate, 1, 0.06);
  g_unlink(path);
  g_rmdir(folder);
}

/* The scenario of a trace has no lengths of its own: one request alone is its shortest. A layout
 * that its longest request does not fit is refused, and one that its shortest misses is late. */
static void test_trace_lengths(void) {
  static char *few[] = {"workload.engine.max-model-len=512", NULL};
  g_autoptr(OrrLibrary) library = orr_library_new(NULL);
  g_autofree char *folder = g_dir_make_tmp("orrery-plan-XXXXXX", NULL);
  g_autofree char *path = g_build_filename(folder, "t.csv", NULL);
  g_autoptr(GError) error = NULL;
  write_trace(path, 1, 5);
  g_autoptr(OrrPlanTrace) trace = orr_plan_trace_new(library, path, NULL, NULL, &error);
  g_assert_no_error(error);
  g_assert_cmpint(trace->facts.requests, ==, 200);
  g_assert_cmpint(trace->facts.shortest_prompt, ==, 200);
  g_assert_cmpint(trace->facts.longest_prompt, <, 1000);
  g_assert_cmpfloat_with_epsilon(trace->facts.rate, 199 / 248.0, 1e-9);
  OrrPlanServing asked = question("vllm-0.19");
  asked.is_whole = TRUE;
  asked.rate = asked.gpus = 0;
  orr_plan_trace_ask(trace, &asked);
  g_assert_cmpfloat(asked.rate, ==, trace->facts.rate);
  asked.rate = 0;
  asked.gpus = 1;
  const OrrPlanLayout layout = {.split = {1, 1, 1, 1}, .batched_tokens = 8192, .gpus = 1};
  const OrrPlanLoad loads[] = {{.rate = 2}, {.clients = 1, .requests = 1}};
  for (guint i = 0; i < G_N_ELEMENTS(loads); i++) {
    g_autoptr(OrrNode) tree = orr_plan_serving_tree(library, &asked, &layout, 1, &loads[i], &error);
    g_assert_no_error(error);
    g_autofree char *yaml = orr_yaml_text(tree);
    g_assert_cmpint(strstr(yaml, "  input:") != NULL, ==, i == 1);
    g_assert_cmpint(strstr(yaml, path) != NULL, ==, i == 0);
  }
  asked.settings = few;
  g_autoptr(GArray) refused = layouts_of(library, &asked);
  search(library, &asked, refused);
  g_assert_cmpint(at(refused, 0)->status, ==, ORR_PLAN_REFUSED);
  g_assert_nonnull(strstr(at(refused, 0)->why, "is longer than the context"));
  asked.settings = NULL;
  asked.ttft_s = 0.001;
  g_autoptr(GArray) late = layouts_of(library, &asked);
  search(library, &asked, late);
  g_assert_cmpint(at(late, 0)->status, ==, ORR_PLAN_LATE);
  g_assert_nonnull(strstr(at(late, 0)->why, "the trace's shortest request alone"));
  g_unlink(path);
  g_rmdir(folder);
}

/* A trace with another content is another question. */
static void test_trace_identity(void) {
  g_autoptr(OrrLibrary) library = orr_library_new(NULL);
  g_autofree char *folder = g_dir_make_tmp("orrery-plan-XXXXXX", NULL);
  g_autofree char *path = g_build_filename(folder, "t.csv", NULL);
  g_autofree char *db = g_build_filename(folder, "plan.db", NULL);
  g_autoptr(GError) error = NULL;
  g_autoptr(OrrStore) store = orr_store_open(db, &error);
  g_assert_no_error(error);
  static const guint known[] = {0, 2, 0}; /* of two layouts: new, the same again, another trace */
  for (guint i = 0; i < G_N_ELEMENTS(known); i++) {
    write_trace(path, 1, i < 2 ? 5 : 6);
    g_autoptr(OrrPlanTrace) trace = orr_plan_trace_new(library, path, NULL, NULL, &error);
    g_assert_no_error(error);
    OrrPlanServing asked = question("vllm-0.19");
    asked.is_whole = TRUE;
    asked.gpus = 1;
    asked.ttft_s = 0.001; /* late: no search */
    orr_plan_trace_ask(trace, &asked);
    g_autoptr(GArray) layouts = layouts_of(library, &asked);
    g_assert_cmpuint(layouts->len, ==, 2);
    g_assert_cmpuint(search_stored(library, store, &asked, layouts, G_MAXUINT), ==, known[i]);
  }
  g_clear_pointer(&store, orr_store_free);
  g_unlink(db);
  g_unlink(path);
  g_rmdir(folder);
}

/* The first requests of a trace may all come at once, as benchmarks' do. */
static void test_trace_burst(void) {
  g_autoptr(OrrLibrary) library = orr_library_new(NULL);
  g_autofree char *folder = g_dir_make_tmp("orrery-plan-XXXXXX", NULL);
  g_autofree char *path = g_build_filename(folder, "t.csv", NULL);
  g_autoptr(GString) text = g_string_new("arrival_s,input_tokens,output_tokens\n");
  for (int i = 0; i < 200; i++)
    g_string_append_printf(text, "%d,%d,%d\n", i / 50, 200 + i, 5 + i % 30);
  g_assert_true(g_file_set_contents(path, text->str, -1, NULL));
  OrrPlanServing asked = question("vllm-0.19");
  asked.gpus = 1;
  asked.is_whole = TRUE;
  asked.ttft_s = 5;
  asked.tpot_s = 1;
  guint best = 0;
  g_autoptr(GArray) layouts = best_of_trace(library, path, &asked, &best);
  g_assert_cmpfloat(at(layouts, best)->rate, >, 1);
  g_assert_cmpfloat(at(layouts, best)->estimate_rps, >, 1);
  g_unlink(path);
  g_rmdir(folder);
}

/* The way of a cache to its decoder comes before the first token, so that an answer of two tokens
 * is as fast as one of sixty: what is too late for it is for all. A request without drafts that are
 * accepted does not speak for those that have them. */
static void test_trace_late(void) {
  static char *drafts[] = {"workload.engine.speculation={kind: ngram, num-speculative-tokens: 4, "
                           "acceptance: [0.8], found: 1}",
                           NULL};
  g_autoptr(OrrLibrary) library = orr_library_new(NULL);
  g_autofree char *folder = g_dir_make_tmp("orrery-plan-XXXXXX", NULL);
  g_autofree char *path = g_build_filename(folder, "t.csv", NULL);
  g_autoptr(GError) error = NULL;
  g_autoptr(GString) text = g_string_new("arrival_s,input_tokens,output_tokens\n");
  for (int i = 0; i < 100; i++)
    g_string_append_printf(text, "%d,%d,%d\n", i, i ? 4000 : 3990, i ? 60 : 2);
  g_assert_true(g_file_set_contents(path, text->str, -1, NULL));
  g_autoptr(OrrPlanTrace) trace = orr_plan_trace_new(library, path, NULL, NULL, &error);
  g_assert_no_error(error);
  OrrPlanServing asked = question("vllm-0.19");
  orr_plan_trace_ask(trace, &asked);
  asked.gpus = 2;
  asked.fraction = 0.9;
  asked.ttft_s = 1;
  OrrPlanLayout apart = {.split = {1, 1, 1, 1},
                         .decode = {1, 1, 1, 1},
                         .prefill = 1,
                         .decoders = 1,
                         .batched_tokens = 8192,
                         .gpus = 2};
  OrrPlanLayout whole = {.split = {1, 1, 1, 1}, .batched_tokens = 8192, .gpus = 1};
  for (guint i = 0; i < 2; i++) {
    asked.settings = i == 1 ? drafts : NULL;
    /* nine tenths of what a request alone takes per token */
    g_autoptr(GArray) layouts = g_array_new(FALSE, FALSE, sizeof(OrrPlanLayout));
    asked.tpot_s = 1;
    g_array_append_val(layouts, *(i == 1 ? &whole : &apart));
    search(library, &asked, layouts);
    g_assert_cmpint(at(layouts, 0)->status, ==, ORR_PLAN_MEASURED);
    const double lone_s = at(layouts, 0)->lone_tpot_s;
    g_array_set_size(layouts, 0);
    g_array_append_val(layouts, *(i == 1 ? &whole : &apart));
    asked.tpot_s = 0.9 * lone_s;
    search(library, &asked, layouts);
    g_test_message("%s: %g s alone, rate %g", i ? "drafts" : "apart", lone_s, at(layouts, 0)->rate);
    g_assert_cmpint(at(layouts, 0)->status, ==, i ? ORR_PLAN_MEASURED : ORR_PLAN_LATE);
    if (i) g_assert_cmpfloat(at(layouts, 0)->rate, >, 0);
  }
  g_unlink(path);
  g_rmdir(folder);
}

/* The file that is hashed is the one that runs: the working directory's, though a folder of
 * the library has one of this name, too. The stored question is YAML, whatever the name. */
static void test_trace_here(void) {
  g_autofree char *here = g_get_current_dir();
  g_autofree char *folder = g_dir_make_tmp("orrery-plan-XXXXXX", NULL);
  g_autofree char *shelf = g_dir_make_tmp("orrery-plan-XXXXXX", NULL);
  const char *const folders[] = {shelf, NULL};
  g_autoptr(GError) error = NULL;
  g_autofree char *other = g_build_filename(shelf, "a: 'b' #c.csv", NULL);
  char *hashes[2];
  write_trace(other, 1, 9);
  g_assert_cmpint(g_chdir(folder), ==, 0);
  write_trace("a: 'b' #c.csv", 1, 5);
  for (guint i = 0; i < 2; i++) {
    g_autoptr(OrrLibrary) library = orr_library_new(i == 0 ? NULL : folders);
    g_autoptr(OrrPlanTrace) trace =
        orr_plan_trace_new(library, "./a: 'b' #c.csv", NULL, NULL, &error);
    g_assert_no_error(error);
    hashes[i] = g_strdup(trace->hash);
    OrrPlanServing asked = question("vllm-0.19");
    asked.gpus = 1;
    asked.is_whole = TRUE;
    orr_plan_trace_ask(trace, &asked);
    g_autoptr(GArray) layouts = layouts_of(library, &asked);
    g_autoptr(OrrStore) store = orr_store_open("plan.db", &error);
    g_assert_no_error(error);
    gint64 run = 0;
    guint n_known = 0;
    orr_plan_serving_store_begin(store, library, &asked, layouts, &run, &n_known, &error);
    g_assert_no_error(error);
    g_autoptr(OrrAnswer) answer =
        orr_store_query(store, "SELECT resolved FROM run WHERE id = :run", run, &error);
    g_assert_no_error(error);
    const char *text = ((char **)answer->rows->pdata[0])[0];
    g_autoptr(OrrDiags) diags = orr_diags_new();
    g_autoptr(OrrNode) tree = orr_yaml_parse(text, strlen(text), "question", diags);
    g_assert_cmpstr(orr_node_get_text(tree, "trace"), ==, "./a: 'b' #c.csv");
    g_clear_pointer(&store, orr_store_free);
    g_unlink("plan.db");
  }
  g_assert_cmpstr(hashes[0], ==, hashes[1]);
  for (guint i = 0; i < 2; i++) g_free(hashes[i]);
  g_unlink(other);
  g_unlink("a: 'b' #c.csv");
  g_assert_cmpint(g_chdir(here), ==, 0);
  g_rmdir(folder);
  g_rmdir(shelf);
}

static void refuse_trace(const char *file, const char *kind, const char *wanted) {
  g_autoptr(OrrLibrary) library = orr_library_new(NULL);
  g_autoptr(GError) error = NULL;
  g_assert_null(orr_plan_trace_new(library, file, kind, NULL, &error));
  if (!strstr(error->message, wanted)) g_error("wanted '%s' in '%s'", wanted, error->message);
}

static void test_trace_refused(void) {
  g_autofree char *folder = g_dir_make_tmp("orrery-plan-XXXXXX", NULL);
  g_autofree char *path = g_build_filename(folder, "t.csv", NULL);
  refuse_trace(path, NULL, "there is no such file");
  g_assert_true(g_file_set_contents(path, "arrival_s,input_tokens,output_tokens\n", -1, NULL));
  refuse_trace(path, NULL, "--trace: the trace has no request: /");
  refuse_trace(path, "poisson", "known: azure, csv, mooncake, sharegpt");
  refuse_trace(path, "mooncake", "t.csv:1:1: error");
  g_unlink(path);
  g_rmdir(folder);
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/plan-serving/trace", test_trace);
  g_test_add_func("/plan-serving/trace-lengths", test_trace_lengths);
  g_test_add_func("/plan-serving/trace-burst", test_trace_burst);
  g_test_add_func("/plan-serving/trace-late", test_trace_late);
  g_test_add_func("/plan-serving/trace-here", test_trace_here);
  g_test_add_func("/plan-serving/trace-identity", test_trace_identity);
  g_test_add_func("/plan-serving/trace-refused", test_trace_refused);
  return g_test_run();
}

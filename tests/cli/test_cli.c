/*
 * test_cli.c - the command line as its user has it: the built program (ORRERY_BINARY), run in a
 * folder of its own.
 */
#include <glib.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/wait.h>

static char *folder;
static char *binary;

typedef struct {
  int status;
  char *out, *err;
} Said;

static void said_clear(Said *said) {
  g_free(said->out);
  g_free(said->err);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Said, said_clear)

/* Runs `orrery LINE`; @line is split as a shell would. */
static Said orrery(const char *line) {
  Said said = {-1, NULL, NULL};
  g_autoptr(GError) error = NULL;
  g_autofree char *whole = g_strdup_printf("'%s' %s", binary, line);
  g_auto(GStrv) argv = NULL;
  int wait_status = 0;
  g_assert_true(g_shell_parse_argv(whole, NULL, &argv, NULL));
  g_spawn_sync(folder, argv, NULL, G_SPAWN_DEFAULT, NULL, NULL, &said.out, &said.err, &wait_status,
               &error);
  g_assert_no_error(error);
  g_assert_true(WIFEXITED(wait_status));
  said.status = WEXITSTATUS(wait_status);
  return said;
}

static void put(const char *name, const char *text, gssize length) {
  g_autofree char *path = g_build_filename(folder, name, NULL);
  g_assert_true(g_file_set_contents(path, text, length, NULL));
}

static gboolean is_there(const char *name) {
  g_autofree char *path = g_build_filename(folder, name, NULL);
  return g_file_test(path, G_FILE_TEST_EXISTS);
}

static void assert_has(const char *text, const char *wanted) {
  if (!strstr(text, wanted)) g_error("'%s' is not in: %s", wanted, text);
}

/* Status, and what stderr has; stdout stays empty where the status is not 0. */
static void assert_refused(const char *line, int status, const char *wanted) {
  g_auto(Said) said = orrery(line);
  g_test_message("orrery %s: %s", line, g_strchomp(said.err));
  g_assert_cmpint(said.status, ==, status);
  assert_has(said.err, wanted);
  g_assert_cmpstr(said.out, ==, "");
}

static void assert_fine(const char *line, const char *wanted) {
  g_auto(Said) said = orrery(line);
  g_test_message("orrery %s: %s", line, g_strchomp(said.err));
  g_assert_cmpint(said.status, ==, 0);
  assert_has(said.out, wanted);
}

#define SMALL                                                                                      \
  "schema: scenario/1\n"                                                                           \
  "name: small\n"                                                                                  \
  "cluster: {base: dgx-a100-superpod, nodes: 1, gpus: 4}\n"                                        \
  "model: {layers: 4, hidden: 1024, heads: 16, vocab: 51200, context: 1024}\n"                     \
  "workload:\n"                                                                                    \
  "  kind: training\n  stack: none\n"                                                              \
  "  parallel: {tp: 2, pp: 2, dp: 1}\n"                                                            \
  "  batch: {global: 8, micro: 1}\n"                                                               \
  "  precision: bf16\n"

/* --- The command line --- */

static void test_help(void) {
  static const char *const verbs[] = {"calibrate", "check", "compare", "db",  "describe",
                                      "import",    "list",  "query",   "run", "validate"};
  assert_fine("--version", "orrery ");
  assert_fine("--help", "usage: orrery");
  for (guint i = 0; i < G_N_ELEMENTS(verbs); i++) {
    g_autofree char *help = g_strdup_printf("help %s", verbs[i]),
                    *option = g_strdup_printf("%s --help", verbs[i]);
    g_autofree char *usage = g_strdup_printf("usage: orrery %s ", verbs[i]);
    assert_fine("help", verbs[i]);
    assert_fine(help, usage);
    assert_fine(option, usage);
  }
}

/* Verbs that became parts of others still work, and say where they went. */
static void test_renamed(void) {
  assert_fine("help advise", "usage: orrery plan campaign ");
  assert_fine("help compare --trace", "usage: orrery compare --trace ");
  assert_fine("help db log", "usage: orrery db log ");
  assert_fine("cost a100-80gb-sxm", "gemm [gemm_dtype=bfloat16] m=...");
  assert_fine("schema device --markdown", "# device");
  assert_refused("capacity", 2, "'capacity' is now 'plan rate'");
  assert_refused("log nowhere.db", 1, "no such results database");
  assert_refused("db info log", 1, "log"); /* a database that is called as a part is */
  assert_refused("compare x --out y z", 2, "one argument too many: compare --trace");
  assert_fine("advise --help", "usage: orrery plan campaign ");
  assert_fine("describe --schema=device --markdown", "# device");
  assert_refused("compare nothing -o out.json", 2, "unknown scenario 'nothing'");
  assert_refused("plan training --db rate", 2, "plan needs --model");
  assert_refused("plan rate campaign", 2, "unknown scenario 'campaign'");
  assert_refused("db lgo x.db", 2, "did you mean 'log'?");
  assert_refused("plan", 2, "campaign, gpus, nccl, rate, scaling, serving, training");
}

static void test_usage(void) {
  assert_refused("", 2, "orrery help");
  assert_refused("rum x", 2, "did you mean 'run'?");
  assert_refused("help rum", 2, "did you mean 'run'?");
  assert_refused("run", 2, "run takes one scenario");
  assert_refused("run a b", 2, "'b' is one argument too many");
  assert_refused("run --jsn a", 2, "did you mean '--json'?");
  assert_refused("run --db", 2, "--db");
  assert_refused("--librry x list", 2, "did you mean '--library'?");
  assert_refused("--library /nowhere list", 2, "no such folder");
  assert_refused("list devises", 2, "did you mean 'devices'?");
  assert_refused("describe device h100-sxn", 2, "did you mean 'h100-sxm'?");
  assert_refused("describe --schema modle", 2, "did you mean 'model'?");
  assert_refused("validate megatron-sc2", 2, "did you mean 'megatron-sc21'?");
  assert_refused("validate -j x megatron-sc21", 2, "x");
  assert_refused("validate --rows x.csv", 2, "needs one SET");
  assert_refused("import mesured x", 2, "did you mean 'measured'?");
  assert_refused("import measured x", 2, "--device");
  assert_refused("calibrate exprt x", 2, "did you mean 'export'?");
  assert_refused("calibrate export", 2, "takes a folder");
  assert_refused("calibrate import", 2, "takes a CSV of nsys stats or ncu");
  assert_refused("calibrate import nowhere.csv", 2, "needs --device NAME");
  assert_refused("calibrate import nowhere.csv --device h100-sxm", 1, "nowhere.csv");
  assert_refused("calibrate plan --doctor", 2, "is one argument too many: calibrate plan");
  assert_refused("calibrate --budget 5", 2, "--budget");
  assert_refused("calibrate compare", 2, "takes a profile");
  assert_refused("calibrate compare h100-sx", 2, "h100-sxm");
  assert_refused("calibrate report h100-sxm twice", 2, "at most one profile");
  assert_refused("calibrate plan --device fake --gpus=-1", 2, "found -1");
  assert_refused("calibrate fit nowhere --device h100-sxm", 1, "no such folder or database");
  assert_refused("calibrate fit --raw nowhere --device h100-sxm", 1, "no such folder or database");
  assert_refused("calibrate fit --raw=nowhere --device h100-sxm", 1, "no such folder or database");
  assert_refused("calibrate fit . --device h100-sxm --thin=-1", 2, "found -1");
  assert_refused("calibrate --device fake --families gem", 2, "did you mean 'gemm'?");
  assert_refused("calibrate cost nothing gemm", 2, "unknown profile");
  assert_refused("calibrate cost a100-80gb-sxm gem m=1", 2, "gemm");
  assert_refused("calibrate cost a100-80gb-sxm gemm m=1 n=2", 2, "k");
}

/* --- Calibration --- */

/* Without a GPU (hidden from CUDA here) it says so; the analytic device shows the rest. */
static void test_calibrate(void) {
  g_setenv("CUDA_VISIBLE_DEVICES", "", TRUE);
  assert_refused("calibrate", 1, "GPU");
  g_assert_false(is_there("calibration.db"));
  assert_refused("calibrate export out", 1, "no such results database");
  assert_fine("calibrate --device fake --families launch,device-copy --budget 7s",
              "calibrate export DIR");
  g_assert_true(is_there("calibration.db"));
  assert_fine("calibrate export out", "launch.csv");
  assert_fine("calibrate --device fake --families gemm --budget 40s", "gemm");
  assert_fine("calibrate compare h100-sxm", "gemm bf16 forward");
  assert_fine("calibrate report", "calibration-report.txt: ");
  assert_fine("calibrate report h100-sxm -o mine.txt", ", against h100-sxm");
  assert_refused("calibrate report -o calibration.db", 2, "calibration.db");
  g_assert_true(is_there("calibration-report.txt") && is_there("mine.txt"));
  assert_fine("calibrate plan --device fake --gpus 1", "needs more than one GPU: collectives");
  assert_fine("calibrate fit calibration.db --device h100-sxm",
              "made by orrery calibrate fit from fake");
  assert_fine("calibrate fit calibration.db --device h100-sxm --thin 50", ", 50 of ");
  g_assert_true(is_there("out/device_copy.csv"));
  assert_fine("query calibration.db calibration", "launch");
  assert_fine("calibrate --device fake --families launch --budget 1min", "everything is measured");
  g_auto(Said) wrong = orrery("calibrate --device fake --families memory --budget 1h");
  g_assert_cmpint(wrong.status, ==, 1);
  assert_has(wrong.out, "10 kernels gave wrong results");
}

/* --- Catalogs --- */

static void test_catalogs(void) {
  static const char *const things[][2] = {{"clusters", "dgx-a100-superpod"},
                                          {"collectives", "ring"},
                                          {"devices", "h100-sxm"},
                                          {"fabrics", "fat-tree"},
                                          {"models", "gpt3-175b"},
                                          {"pipelines", "1f1b"},
                                          {"profiles", "a100-80gb-sxm"},
                                          {"scenarios", "gpt3-175b-1024-a100"},
                                          {"validation-sets", "megatron-sc21"},
                                          {"views", "breakdown"},
                                          {"workloads", "training"}};
  for (guint i = 0; i < G_N_ELEMENTS(things); i++) {
    g_autofree char *list = g_strdup_printf("list %s", things[i][0]);
    g_autofree char *describe = g_strdup_printf("describe %s %s", things[i][0], things[i][1]);
    g_autofree char *json = g_strdup_printf("list %s --json", things[i][0]);
    g_autofree char *name = g_strdup_printf("{\"name\": \"%s\"", things[i][1]);
    assert_fine("list", things[i][0]);
    assert_fine(list, things[i][1]);
    assert_fine(json, name);
    assert_fine(describe, "");
    g_auto(Said) said = orrery(list);
    g_assert_null(strstr(said.out, "cannot be read"));
  }
}

static void test_describe(void) {
  assert_fine("describe cluster dgx-a100-superpod", "bisection");
  assert_fine("describe cluster gb200-nvl72", "schema: cluster/1");
  assert_fine("describe model gpt3-175b",
              "174615846912"); /* parameters, with GPT-3's 2,048 positions */
}

static void test_schema(void) {
  static const char *const kinds[] = {"device",          "cluster",  "model",
                                      "profile",         "workload", "scenario",
                                      "training_result", "span",     "validation_row"};
  for (guint i = 0; i < G_N_ELEMENTS(kinds); i++) {
    g_autofree char *json = g_strdup_printf("schema %s", kinds[i]),
                    *markdown = g_strconcat(json, " --markdown", NULL);
    assert_fine(json, "https://json-schema.org/draft/2020-12/schema");
    assert_fine(markdown, "| Key |");
  }
}

static void test_cost(void) {
  assert_fine("calibrate cost a100-80gb-sxm", "gemm ");
  assert_fine("calibrate cost a100-80gb-sxm gemm m=1024 n=4096 k=4096", " us  ");
  assert_fine("calibrate cost a100-80gb-sxm gemm m=1024 n=4096 k=4096 --json", "{\"time_s\": ");
  /* Rows that cannot be right: m=8 takes 13 us, and 8192^3 took longer in fp8 than in bf16. */
  assert_fine("calibrate cost b200 gemm gemm_dtype=fp8 m=4 n=2560 k=8192",
              " us  interpolated\n  excluded: the row here says 32.4 us, but one at least as "
              "large, m=");
  assert_fine("calibrate cost b200 gemm gemm_dtype=fp8 m=8192 n=8192 k=8192",
              " us  interpolated\n  excluded: the row here says");
  assert_fine("calibrate cost b200 gemm gemm_dtype=fp8 m=4 n=2560 k=8192 --json",
              "\"note\": \"excluded: ");
  assert_fine("calibrate cost gb300 deepep_dispatch num_token_per_rank=128 hidden=7168 topk=8 "
              "num_experts=256",
              " us  carried over from gb200\n");
  assert_fine("calibrate cost b300 all_reduce n_gpus=8 bytes=1048576",
              " us  carried over from b200\n");
  assert_fine("calibrate cost b200", "Rows that are not used, because they contradict others");
  put("rows.csv", "# where from\nm,n,k,note\n1024,4096,4096,x\n", -1);
  assert_fine("calibrate cost a100-80gb-sxm gemm --rows rows.csv",
              "m,n,k,note,predicted_us,how\n1024,4096,4096,x,");
  assert_refused("calibrate cost a100-80gb-sxm --rows rows.csv", 2, "--rows needs the operator");
  assert_refused("calibrate cost a100-80gb-sxm gemm --rows nothing.csv", 1, "nothing.csv");
}

/* --- run --- */

static void test_run(void) {
  put("small.yaml", SMALL, -1);
  g_auto(Said) said = orrery("run small.yaml --db run.db");
  g_assert_cmpint(said.status, ==, 0);
  assert_has(said.out,
             "TP 2 x PP 2 x DP 1, 8 micro-batches"); /* 8 sequences, 1 a micro-batch, 1 replica */
  assert_has(said.out, "run 1 in run.db");
  /* The last line is a command, and it works. */
  g_autofree char *text = g_strchomp(g_strdup(said.out));
  const char *command = strstr(strrchr(text, '\n'), "orrery ");
  g_assert_nonnull(command);
  assert_fine(command + strlen("orrery "), "gemm");
}

/* Replicas of other layouts and devices are listed one by one. */
static void test_run_groups(void) {
  put("groups.yaml",
      "schema: scenario/1\nname: groups\ncluster: {base: dgx-h100-superpod, nodes: 1}\nmodel: "
      "llama-3.1-8b\nworkload:\n"
      "  kind: serving\n  groups: [{replicas: 2, device: a100-80gb-sxm}, {parallel: {tp: 2}}]\n"
      "  load: {kind: poisson, rate: 1}\n  requests: 4\n  input: {tokens: 100}\n  output: {tokens: "
      "5}\n",
      -1);
  assert_fine("run groups.yaml --db none",
              ": 1 replica of TP 1 x PP 1, 2 of TP 1 x PP 1 on a100-80gb-sxm, 1 of TP 2 x PP 1");
}

/* The keys that scripts rely on; 4 GPUs as asked; and the same numbers again, but for the wall
 * time. */
static void test_run_json(void) {
  static const char *const keys[] = {"iteration_time_s",
                                     "tokens_per_s",
                                     "tokens_per_s_per_gpu",
                                     "model_tflops_per_gpu",
                                     "mfu",
                                     "hfu",
                                     "peak_tflops_per_gpu",
                                     "memory_peak_bytes",
                                     "fits",
                                     "bubble_fraction",
                                     "exposed_comm_fraction",
                                     "n_gpus",
                                     "events",
                                     "wall_time_s"};
  put("small.yaml", SMALL, -1);
  g_auto(Said) first = orrery("run small.yaml --json --db none"),
               again = orrery("run small.yaml --json --db none");
  g_assert_cmpint(first.status, ==, 0);
  for (guint i = 0; i < G_N_ELEMENTS(keys); i++) {
    g_autofree char *key = g_strdup_printf("\"%s\": ", keys[i]);
    assert_has(first.out, key);
  }
  assert_has(first.out, "\"n_gpus\": 4,");
  g_autoptr(GRegex) wall = g_regex_new("\"wall_time_s\": [^,}]*", 0, 0, NULL);
  g_autofree char *a = g_regex_replace_literal(wall, first.out, -1, 0, "", 0, NULL);
  g_autofree char *b = g_regex_replace_literal(wall, again.out, -1, 0, "", 0, NULL);
  g_assert_cmpstr(a, ==, b);
  g_assert_false(is_there("orrery.db"));
}

/* The files' order of precedence: --set lays on the file; 16 sequences on 1 replica are 16
 * micro-batches. */
static void test_set(void) {
  put("small.yaml", SMALL, -1);
  assert_fine("run small.yaml --set workload.batch.global=16 --db none --json",
              "\"micro_batches\": 16");
  assert_fine("run small.yaml --set fidelity=full --db none --json", "\"n_gpus\": 4");
  assert_refused("run small.yaml --set workload.paralel.tp=2 --db none", 2,
                 "did you mean 'parallel'?");
  assert_refused("run small.yaml --set workload.batch.global --db none", 2,
                 "--set takes PATH=VALUE");
  assert_refused("run small.yaml --set workload.batch.global=ten --db none", 2, "ten");
  assert_refused("run small.yaml --set fidelity=ful --db none", 2, "did you mean 'full'?");
  assert_refused("run small.yaml --fidelity=ful --db none", 2, "did you mean 'full'?");
  assert_fine("run small.yaml --fidelity full --db none --json", "\"n_gpus\": 4");
}

static void test_default_database(void) {
  put("small.yaml", SMALL, -1);
  assert_fine("run small.yaml", "run 1 in orrery.db");
  assert_fine("run small.yaml", "run 2 in orrery.db");
  assert_fine("query orrery.db 'SELECT count(*) AS n FROM training_result' --csv", "n\n2\n");
  assert_fine("query orrery.db 'SELECT count(*) AS n FROM training_result' --json", "{\"n\": 2}");
  assert_fine("query orrery.db breakdown --run 1", "gemm");
  assert_refused("query orrery.db brekdown", 2, "did you mean 'breakdown'?");
  assert_refused("query orrery.db 'DELETE FROM run'", 2, "read");
  assert_refused("query nothing.db summary", 1, "nothing.db");
  g_autofree char *path = g_build_filename(folder, "orrery.db", NULL);
  g_assert_cmpint(g_remove(path), ==, 0);
}

static void test_trace(void) {
  put("small.yaml", SMALL, -1);
  assert_fine("run small.yaml --db none --trace time.json", "small");
  g_autofree char *path = g_build_filename(folder, "time.json", NULL), *text = NULL;
  g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
  assert_has(text, "\"traceEvents\"");
  assert_refused("run small.yaml --db none --trace nowhere/time.json", 1, "nowhere");
}

/* --- Bad input: one clear message, and nothing half-written --- */

static void test_bad_documents(void) {
  const struct {
    const char *from, *to, *wanted;
  } wrong[] = {
      {"model:", "modle:", "did you mean 'model'?"},
      {"name: small\n", "", "name"},
      {"layers: 4", "layers: four", "four"},
      {"tp: 2, pp: 2", "tp: 2, pp: 4", "8"},
      {"heads: 16", "heads: 15", "heads"},
      {"layers: 4", "layers: 5", "layers"},
      {"global: 8", "global: 7, x: 1", "unknown key 'x'"},
      {"nodes: 1", "nodes: 100000", "nodes"},
      {"dgx-a100-superpod", "dgx-a100-superpot", "did you mean 'dgx-a100-superpod'?"},
      {"scenario/1", "scenario/2", "scenario/1"},
  };
  for (guint i = 0; i < G_N_ELEMENTS(wrong); i++) {
    g_auto(GStrv) parts = g_strsplit(SMALL, wrong[i].from, 2);
    g_autofree char *text = g_strjoinv(wrong[i].to, parts);
    put("wrong.yaml", text, -1);
    assert_refused("run wrong.yaml --db wrong.db", 2, wrong[i].wanted);
    assert_refused("check wrong.yaml", 2, wrong[i].wanted);
    g_assert_false(is_there("wrong.db"));
  }
}

static void test_bad_files(void) {
  g_autofree char *deep = g_strnfill(100000, '[');
  g_autofree char *large = g_strnfill(20 << 20, 'a');
  put("empty.yaml", "", 0);
  put("binary.yaml", "\0\1\2\377", 4);
  put("deep.yaml", deep, -1);
  put("large.yaml", large, -1);
  assert_refused("run empty.yaml", 2, "empty.yaml");
  assert_refused("run binary.yaml", 2, "binary.yaml");
  assert_refused("run deep.yaml", 2, "deep");
  assert_refused("run large.yaml", 2, "large.yaml");
  assert_refused("run nothing.yaml", 2, "nothing.yaml");
  assert_refused("run nothing", 2, "unknown scenario 'nothing'");
  g_assert_false(is_there("orrery.db"));
}

static void test_bad_databases(void) {
  g_autofree char *path = g_build_filename(folder, "notes.txt", NULL), *text = NULL;
  put("small.yaml", SMALL, -1);
  put("notes.txt", "not a database", -1);
  assert_refused("run small.yaml --db notes.txt", 1, "notes.txt");
  assert_refused("run small.yaml --db nowhere/x.db", 1, "nowhere");
  g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
  g_assert_cmpstr(text, ==, "not a database");
}

/* A thousand mistakes: a hundred are shown, and how many more there are. */
static void test_many_mistakes(void) {
  g_autoptr(GString) text = g_string_new(SMALL);
  for (int i = 0; i < 1000; i++) g_string_append_printf(text, "mistake-%d: 1\n", i);
  put("many.yaml", text->str, -1);
  g_auto(Said) said = orrery("check many.yaml");
  guint n_lines = 0;
  for (const char *c = said.err; *c; c++) n_lines += *c == '\n';
  g_assert_cmpint(said.status, ==, 2);
  g_assert_cmpuint(n_lines, ==, 101);
  assert_has(said.err, "and 900 more");
}

static void test_check(void) {
  put("small.yaml", SMALL, -1);
  put("none.yaml", "a: 1\n", -1);
  assert_fine("check small.yaml", "small.yaml: fine");
  g_auto(Said) said = orrery("check small.yaml none.yaml");
  g_assert_cmpint(said.status, ==, 2);
  g_assert_cmpstr(said.out, ==, "small.yaml: fine\n");
  assert_has(said.err, "none.yaml:1:1: error: ");
  put("swept.yaml", SMALL "sweep: {axes: {tp: [1, 2]}, objective: minimize iteration_tim_s}\n", -1);
  assert_refused("check swept.yaml", 2, "error: expression 'iteration_tim_s': unknown name");
  put("swept.yaml", SMALL "sweep: {axes: {tp: [1, 2]}, objective: minimize iteration_time_s}\n",
      -1);
  assert_fine("check swept.yaml", "swept.yaml: fine");
}

/* --- validate --- */

static void test_validate(void) {
  put("rows.csv",
      "label,cluster.gpus,workload.parallel.dp,measured.n_gpus\na,32,32,32\nb,32,33,32\n", -1);
  g_auto(Said) said = orrery("validate megatron-sc21 --rows rows.csv --db validate.db");
  g_assert_cmpint(said.status, ==, 0); /* a refused row is not a failure of the simulation */
  assert_has(said.out, "+0.0 %");
  assert_has(said.out, "b (line 3): refused: ");
  assert_has(said.out, "1 compared, 1 row refused; mean absolute error 0.0 %");
  assert_fine("query validate.db validation", "megatron-sc21");
  assert_fine("validate megatron-sc21 --rows rows.csv --db none --json",
              "\"n_compared\": 1, \"n_refused\": 1");
  assert_refused("validate megatron-sc21 --rows nothing.csv --db none", 1, "nothing.csv");
}

static void remove_folder(void) {
  const char *argv[] = {"rm", "-rf", folder, NULL};
  g_spawn_sync(NULL, (char **)argv, NULL, G_SPAWN_SEARCH_PATH, NULL, NULL, NULL, NULL, NULL, NULL);
}

static void add_tests(void) {
  g_test_add_func("/cli/help", test_help);
  g_test_add_func("/cli/usage", test_usage);
  g_test_add_func("/cli/renamed", test_renamed);
  g_test_add_func("/cli/calibrate", test_calibrate);
  g_test_add_func("/cli/catalogs", test_catalogs);
  g_test_add_func("/cli/describe", test_describe);
  g_test_add_func("/cli/schema", test_schema);
  g_test_add_func("/cli/cost", test_cost);
  g_test_add_func("/cli/run", test_run);
  g_test_add_func("/cli/run-groups", test_run_groups);
  g_test_add_func("/cli/run-json", test_run_json);
  g_test_add_func("/cli/set", test_set);
  g_test_add_func("/cli/default-database", test_default_database);
  g_test_add_func("/cli/trace", test_trace);
  g_test_add_func("/cli/bad-documents", test_bad_documents);
  g_test_add_func("/cli/bad-files", test_bad_files);
  g_test_add_func("/cli/bad-databases", test_bad_databases);
  g_test_add_func("/cli/many-mistakes", test_many_mistakes);
  g_test_add_func("/cli/check", test_check);
  g_test_add_func("/cli/validate", test_validate);
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  const char *named = g_getenv("ORRERY_BINARY");
  if (!named) {
    g_test_message("ORRERY_BINARY names no program");
    return 77; /* TAP has no tests then, and meson says skipped */
  }
  binary = g_canonicalize_filename(named, NULL);
  folder = g_dir_make_tmp("orrery-cli-XXXXXX", NULL);
  add_tests();
  int status = g_test_run();
  remove_folder();
  g_free(folder);
  g_free(binary);
  return status;
}

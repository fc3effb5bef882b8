/*
 * verb_import_bench.c - orrery import bench FILE...: results of benchmarks become rows, or a load.
 */
#include "sim/cli/verb_import.h"
#include "sim/import/bench/bench.h"
#include "sim/run/scenario_stack.h"
#include "workloads/stack.h"

static gboolean load;
static gint64 choice;

static const GOptionEntry options[] = {
    ORR_OPTION_FLAG("load", load,
                    "Write the load of the benchmark, as keys of a scenario, instead of rows"),
    ORR_OPTION_INT64("choose", choice, "--load: which of several results"),
    ORR_OPTION_OUTPUT("Write to FILE instead of stdout"),
    {NULL},
};

/* The default of the kind of workload that @result is of. Newly allocated. */
static char *assumed_for(OrrLibrary *library, const OrrBenchResult *result) {
  gboolean is_training = FALSE;
  for (int i = ORR_BENCH_ITERATION; i <= ORR_BENCH_UPDATE; i++)
    is_training |= !isnan(result->values[i]);
  return orr_scenario_stack_default(library, is_training ? "training" : "serving");
}

/* The newest stack of the server that @result is of, else of the software that printed it, that is
 * not newer than the version it printed; NULL: a benchmark's client, or software without a stack.
 * Newly allocated. */
static char *stack_of(OrrLibrary *library, const OrrBenchResult *result) {
  static const char *const families[][2] = {{"tensorrt-llm", "trtllm"},
                                            {"trt", "trtllm"},
                                            {"sglang", "sglang"},
                                            {"vllm", "vllm"},
                                            {"dynamo-trt", "dynamo-trtllm"},
                                            {"dynamo-sglang", "sglang"},
                                            {"dynamo-vllm", "vllm"}};
  g_autofree char *family = g_strdup(result->server ? result->server : result->tool);
  for (guint i = 0; result->server && i < G_N_ELEMENTS(families); i++) {
    if (!g_str_has_prefix(result->server, families[i][0])) continue;
    g_free(family);
    family = g_strdup(families[i][1]);
    break;
  }
  if (g_str_has_suffix(family, "-bench")) family[strlen(family) - strlen("-bench")] = '\0';
  const char *version =
      result->version && g_ascii_isdigit(*result->version) ? result->version : "9999";
  g_autofree char *newest = g_strconcat(family, "-", version, NULL);
  return orr_stack_resolve(library, newest);
}

/* What a scenario that replays @result should name, or the release that it takes without a name,
 * with what is @more to say of that. Newly allocated. */
static char *release_of(OrrLibrary *library, const OrrBenchResult *result, const char *more) {
  g_autofree char *assumed = assumed_for(library, result);
  g_autofree char *own = stack_of(library, result), *text = orr_show_assumed(assumed);
  if (!own && result->server)
    return g_strdup_printf("the result is from a server of %s, and no stack describes it: %s is "
                           "assumed, which has another scheduler and host",
                           result->server, assumed);
  if (!own || strcmp(own, assumed) == 0) return g_strconcat(text, more, NULL);
  return g_strdup_printf("the result is of %s%s%s: name workload.stack: %s%s in a "
                         "scenario that replays it; without it, %s is assumed",
                         result->server ? result->server : result->tool,
                         result->version ? ", version " : "",
                         result->version ? result->version : "", own,
                         result->version ? "" : ", or another release,", assumed);
}

/* Results name no release. Each sentence comes once. */
static void say_assumed(OrrLibrary *library, const GPtrArray *results) {
  g_autoptr(GHashTable) said = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
  for (guint i = 0; i < results->len; i++) {
    char *text = release_of(library, results->pdata[i],
                            ", where a scenario that replays these rows names no workload.stack");
    if (!g_hash_table_contains(said, text)) orr_show_problem("%s", text);
    g_hash_table_add(said, text);
  }
}

static void say_left_out(const GPtrArray *results) {
  for (guint i = 0; i < results->len; i++) {
    const OrrBenchResult *one = results->pdata[i];
    const guint n = one->other_batches;
    if (n > 0)
      orr_show_problem("%s:%d: %u step%s left out before this line: the global batch was not yet "
                       "%g, the last one",
                       one->place.file, one->place.line, n, n == 1 ? " is" : "s are",
                       one->values[ORR_BENCH_GLOBAL_BATCH]);
  }
}

static char *load_of(OrrLibrary *library, const GPtrArray *results, GError **error) {
  if (choice < 0 || choice > results->len || (choice == 0 && results->len > 1))
    return orr_fault_null(error, ORR_FAULT_USAGE,
                          "there are %u results: add --choose N, from 1 to %u", results->len,
                          results->len);
  const OrrBenchResult *one = results->pdata[MAX(choice, 1) - 1];
  g_autofree char *keys = orr_bench_load(one, error);
  g_autofree char *text = keys ? release_of(library, one, " (workload.stack names another)") : NULL;
  return keys ? g_strdup_printf("# %s\n%s", text, keys) : NULL;
}

static int run(OrrLibrary *library, char **args, GError **error) {
  g_autoptr(GPtrArray) results =
      g_ptr_array_new_with_free_func((GDestroyNotify)orr_bench_result_free);
  if (!orr_cli_check_args(args, 1, G_MAXUINT, "import bench takes results of benchmarks", error) ||
      !orr_verb_import_check_paths(args, error))
    return 2;
  for (char **file = args; *file; file++)
    if (!orr_bench_read(strcmp(*file, "-") == 0 ? "/dev/stdin" : *file, results, error)) return 2;
  g_autofree char *text = load ? load_of(library, results, error) : orr_bench_csv(results);
  if (!text) return 2;
  const int status = orr_verb_import_write(text, error);
  if (!load) say_assumed(library, results);
  if (!load) say_left_out(results);
  return status;
}

const OrrCommand orr_verb_import_bench = {
    .verb = "bench",
    .sentence = "What a benchmark measured becomes rows, or the load of a scenario.",
    .usage = "FILE... [--load [--choose N]] [-o FILE]",
    .more =
        "Reads JSON and text of vllm bench, sglang.bench_serving, trtllm-bench, AIPerf, "
        "GenAI-Perf, GuideLLM, inference-perf, llm-d and InferenceX; logs of servers of vLLM, "
        "SGLang and TensorRT-LLM; training logs of Megatron-LM, Megatron-Bridge, NeMo, "
        "torchtitan, DeepSpeed, Transformers, MaxText, nanotron, llm-foundry, OLMo-core, verl, "
        "NeMo-RL, slime and prime-rl; and result logs of MLPerf training; several files, each "
        "with several results. Rows are a CSV with a column for each value that was printed, in "
        "seconds, tokens and bytes. Steps of training are medians without the first tenth of the "
        "steps, at most ten.",
    .options = options,
    .run = run,
};

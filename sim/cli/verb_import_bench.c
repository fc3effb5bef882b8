/*
 * verb_import_bench.c - orrery import bench FILE...: results of benchmarks become rows, or a load.
 */
#include <string.h>

#include "sim/base/fault.h"
#include "sim/cli/verb_import.h"
#include "sim/import/bench/bench.h"

static char *output;
static gboolean load;
static gint64 choice;

static const GOptionEntry options[] = {
    {"load", 0, 0, G_OPTION_ARG_NONE, &load,
     "Write the load of the benchmark, as keys of a scenario, instead of rows", NULL},
    {"choose", 0, 0, G_OPTION_ARG_INT64, &choice, "--load: which of several results", "N"},
    {"output", 'o', 0, G_OPTION_ARG_FILENAME, &output, "Write to FILE instead of stdout", "FILE"},
    {NULL},
};

static char *load_of(const GPtrArray *results, GError **error) {
  if (choice < 0 || choice > results->len || (choice == 0 && results->len > 1)) {
    g_set_error(error, ORR_FAULT, ORR_FAULT_USAGE,
                "there are %u results: add --choose N, from 1 to %u", results->len, results->len);
    return NULL;
  }
  return orr_bench_load(results->pdata[MAX(choice, 1) - 1], error);
}

static int run(OrrLibrary *library, char **args, GError **error) {
  (void)library;
  g_autoptr(GPtrArray) results =
      g_ptr_array_new_with_free_func((GDestroyNotify)orr_bench_result_free);
  if (!orr_cli_check_args(args, 1, G_MAXUINT, "import bench takes results of benchmarks", error) ||
      !orr_verb_import_check_paths(args, output, error))
    return 2;
  for (char **file = args; *file; file++)
    if (!orr_bench_read(strcmp(*file, "-") == 0 ? "/dev/stdin" : *file, results, error)) return 2;
  g_autofree char *text = load ? load_of(results, error) : orr_bench_csv(results);
  return text ? orr_verb_import_write(text, output, error) : 2;
}

const OrrCommand orr_verb_import_bench = {
    .verb = "bench",
    .sentence = "What a benchmark measured becomes rows, or the load of a scenario.",
    .usage = "FILE... [--load [--choose N]] [-o FILE]",
    .more =
        "Reads JSON and text of vllm bench serve, sglang.bench_serving, AIPerf, GenAI-Perf and "
        "InferenceX, training logs of Megatron-LM and torchtitan, and result logs of MLPerf "
        "training; several files, each with several results. Rows are a CSV with a column for "
        "each value that was printed, in seconds, tokens and bytes. Steps of training are medians "
        "without the first tenth of the steps, at most ten.",
    .options = options,
    .run = run,
};

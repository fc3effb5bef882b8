/*
 * verb_import_guess.c - orrery import FILE...: the format by the content of the first file.
 *
 * The order is from the surest sign to the loosest: SQLite's header; a log of nccl-tests; the
 * result or log of a benchmark; a dump of a topology; a file of another simulator; a trace of
 * requests or jobs; a model's config.json alone; at last a launch line or config, whose reader says
 * what it does not know.
 */
#include "sim/base/file.h"
#include "sim/cli/verb_import.h"
#include "sim/import/bench/bench.h"
#include "sim/import/exchange/exchange_format.h"
#include "sim/import/topology/dump.h"

typedef struct {
  const OrrCommand *format;
  const char *what; /* what the file is taken for; NULL: the format's own word for it */
} Guess;

static const char *bench_reader_of(const char *text, gsize length) {
  const OrrBenchInput input = {text, length, "", NULL, NULL};
  const OrrBenchReader *found = NULL;
  for (guint i = 0; orr_bench_readers[i]; i++)
    if ((!found || found->yields) && orr_bench_readers[i]->recognise(&input))
      found = orr_bench_readers[i];
  return found ? found->sentence : NULL;
}

/* A config.json: a JSON object with the type of a model, and no key of a trainer. */
static gboolean is_model(const char *text) {
  return text[strspn(text, " \t\r\n")] == '{' && strstr(text, "\"model_type\"") &&
         (strstr(text, "\"architectures\"") || strstr(text, "\"hidden_size\"") ||
          strstr(text, "_config\""));
}

static Guess guess_of(const char *path, const char *text, gsize length, guint n_files) {
  if (g_str_has_prefix(text, "SQLite format 3"))
    return (Guess){&orr_verb_import_nsys, "an export of Nsight Systems"};
  const gboolean is_mlperf = strstr(text, ":::MLLOG") != NULL; /* it may begin with nccl-tests */
  if (!is_mlperf &&
      (strstr(text, "# nThread") || (strstr(text, "#wrong") && strstr(text, "busbw"))))
    return (Guess){&orr_verb_import_nccl_tests, "a log of nccl-tests"};
  const char *bench = bench_reader_of(text, length);
  if (bench) return (Guess){&orr_verb_import_bench, bench};
  const OrrDumpReader *dump = orr_dump_reader_of(path);
  if (dump) return (Guess){&orr_verb_import_topology, dump->sentence};
  if (orr_dump_is_foreign(text)) return (Guess){&orr_verb_import_topology, "a dump of a topology"};
  const OrrExchangeFormat *exchange = orr_exchange_format_of(text, length);
  if (exchange) return (Guess){&orr_verb_import_exchange, exchange->name};
  const char *trace = n_files == 1 ? orr_verb_import_trace_kind(text) : NULL;
  if (trace) return (Guess){&orr_verb_import_trace, trace};
  if (n_files == 1 && is_model(text))
    return (Guess){&orr_verb_import_huggingface, "the config.json of a model"};
  return (Guess){&orr_verb_import_launch, "a launch line or a config"};
}

int orr_verb_import_guess(OrrLibrary *library, char **args, GError **error) {
  const gboolean is_stdin = args[0] && strcmp(args[0], "-") == 0;
  gsize length = 0;
  if (is_stdin) /* it can be read once only */
    return orr_fault_set(error, ORR_FAULT_USAGE,
                         "give standard input's format, as in 'import launch -'")
               ? 0
               : 2;
  g_autofree char *text = orr_file_read(args[0], ORR_FILE_MAX_DATA, &length, error);
  if (!text) {
    g_prefix_error(error, "%s: ", args[0]);
    return 1;
  }
  const Guess guess = guess_of(args[0], text, length, g_strv_length(args));
  orr_show_problem("%s is taken for %s: import %s (its options: orrery import %s --help)", args[0],
                   guess.what, guess.format->verb, guess.format->verb);
  return guess.format->run(library, args, error);
}

/*
 * verb_calibrate_stack.c - orrery calibrate stack SCENARIO --rows ROWS: a stack's constants from
 * measured rows of one installation.
 */
#include "sim/base/paths.h"
#include "sim/cli/cli.h"
#include "sim/fit/fit_stack.h"

static char *rows_path;

static const GOptionEntry options[] = {
    ORR_OPTION_TEXT("rows", rows_path, "FILE.csv",
                    "Measurements: a CSV as 'import bench' writes it"),
    ORR_OPTION_SET("workload.parallel.tp=4"),
    ORR_OPTION_JOBS("Replays at once (default: one per core)"),
    ORR_OPTION_OUTPUT("Write the stack to FILE"),
    {NULL},
};

static gboolean check(char **args, GError **error) {
  const OrrPath paths[] = {{"--rows", rows_path, ORR_PATH_READ, TRUE},
                           {"-o", orr_options.output, ORR_PATH_WRITTEN, FALSE}};
  if (!orr_cli_check_args(args, 1, 1, "calibrate stack takes one scenario, and --rows FILE.csv",
                          error))
    return FALSE;
  if (!rows_path || orr_options.n_jobs < 0)
    return orr_fault_set(error, ORR_FAULT_USAGE, "%s",
                         rows_path ? "-j takes a number of 1 or more"
                                   : "calibrate stack needs --rows FILE.csv");
  return orr_paths_check(paths, G_N_ELEMENTS(paths), error);
}

static int write_stack(const OrrFit *fit, GError **error) {
  g_autoptr(GDateTime) now = g_date_time_new_now_utc();
  g_autofree char *date = g_date_time_format(now, "%Y-%m-%d");
  g_autofree char *text = orr_fit_stack_document(fit, rows_path, date);
  return !orr_options.output || orr_show_document(text, orr_options.output, error) ? 0 : 1;
}

static int run(OrrLibrary *library, char **args, GError **error) {
  const OrrFitHow how = {.jobs = (guint)orr_options.n_jobs};
  if (!check(args, error)) return 2;
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_autoptr(GPtrArray) rows = orr_fit_rows_read(rows_path, error);
  if (!rows) return 2;
  g_autoptr(OrrNode) tree = orr_options_scenario(library, args[0], diags, error);
  orr_show_diags(diags);
  if (!tree) return 2;
  g_autoptr(OrrFit) fit = orr_fit_stack(library, tree, rows, &how, error);
  if (!fit) return 2;
  g_autofree char *text = orr_fit_stack_text(fit, rows);
  orr_terminal_outlive_reader();
  fputs(text, stdout);
  fflush(stdout);
  return write_stack(fit, error);
}

const OrrCommand orr_verb_calibrate_stack = {
    .verb = "stack",
    .sentence = "Fit constants of a stack to measurements of one installation.",
    .usage = "SCENARIO --rows FILE.csv [-o STACK.yaml] [--set PATH=VALUE]... [-j N]",
    .more =
        "Each row sets the scenario's load (concurrency or rate, requests, tokens) and holds what "
        "was measured under it. At most seven constants are fitted (the host's times, the front "
        "end's, the polling interval, the rate of the experts' kernels, the cache's part of the "
        "memory), by least squares of logarithms, within bounds; those that the rows cannot "
        "determine stay as the stack has them, with the "
        "reason. 'left out' is the error of rows that are predicted from the others. The stack "
        "that is written has the scenario's as its base: name it by 'stack: ./STACK.yaml'.",
    .options = options,
    .run = run,
};

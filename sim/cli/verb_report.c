/*
 * verb_report.c - orrery report DB [RUN]: writes a run as one HTML page.
 */
#include "results/report.h"
#include "sim/base/file.h"
#include "sim/base/paths.h"
#include "sim/cli/cli.h"
#include "sim/cli/page.h"

static const GOptionEntry options[] = {
    ORR_OPTION_OUTPUT("Write to FILE (default: report.html)"),
    {NULL},
};

static int run(OrrLibrary *library, char **args, GError **error) {
  gint64 run_id = 0;
  if (!orr_cli_check_args(args, 1, 2, "report takes a database, and optionally the number of a run",
                          error) ||
      (args[1] && !orr_question_run(args[1], &run_id, error)))
    return 2;
  const char *path = orr_options.output ? orr_options.output : "report.html";
  const OrrPath paths[] = {{"the database", args[0], ORR_PATH_READ, TRUE},
                           {"-o", path, ORR_PATH_WRITTEN, FALSE}};
  if (!orr_paths_check(paths, G_N_ELEMENTS(paths), error)) return 2;
  g_autoptr(OrrStore) store = orr_store_open_read(args[0], error);
  g_autofree char *html = store ? orr_report_html(store, run_id, error) : NULL;
  if (!html || !orr_file_write(path, html, -1, error)) return 1;
  printf("%s\n", path);
  return 0;
}

const OrrCommand orr_verb_report = {
    .verb = "report",
    .group = "Look",
    .sentence = "Write a run as one self-contained HTML page.",
    .usage = "DB [RUN] [-o FILE]",
    .more = "Reports run RUN, or the newest run; for a sweep, the sweep and not its last point. "
            "The page needs no network.\n"
            "Training: question, result, where the time goes, time line, memory, communication, "
            "how each cost is known, warnings and the resolved scenario. Serving: latencies, load, "
            "batches and cache over time. Sweep: the best points, the Pareto front, the effect of "
            "each axis, failures. Validation: measured against simulated.",
    .options = options,
    .run = run,
};

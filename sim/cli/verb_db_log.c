/*
 * verb_db_log.c - orrery db log [DB]: the runs of a database, newest first, with their labels and
 * answers (view log).
 */
#include "sim/cli/cli.h"

static gint most = 20;
static gboolean with_points;

static const GOptionEntry options[] = {
    ORR_OPTION('n', INT, "most", most, "N", "Show at most N runs (default: 20)"),
    ORR_OPTION_FLAG("points", with_points, "Show the points of sweeps, too"),
    ORR_OPTION_CSV("Print CSV (RFC 4180)"),
    ORR_OPTION_JSON("an array of JSON objects"),
    {NULL},
};

static int run(OrrLibrary *library, char **args, GError **error) {
  if (!orr_cli_check_args(args, 0, 1, "db log takes a database (default: orrery.db)", error))
    return 2;
  if (most < 1 || (orr_options.csv && orr_options.json)) {
    if (most < 1)
      g_set_error(error, ORR_FAULT, ORR_FAULT_USAGE, "-n takes a number above 0, found %d", most);
    else
      g_set_error(error, ORR_FAULT, ORR_FAULT_USAGE, "give --csv or --json, not both");
    return 2;
  }
  g_autofree char *limit = g_strdup_printf("%d", most);
  const OrrBinding values[] = {{"most", limit}, {"points", with_points ? "1" : "0"}};
  g_autoptr(OrrStore) store = orr_store_open_read(args[0] ? args[0] : "orrery.db", error);
  g_autoptr(OrrAnswer) answer = store ? orr_store_ask(store, "log", 0, values, 2, error) : NULL;
  if (!answer) return 1;
  g_autofree char *text = orr_options_answer(answer);
  fputs(text, stdout);
  return 0;
}

const OrrCommand orr_verb_db_log = {
    .verb = "log",
    .sentence = "List the runs of a database, newest first, with their labels and answers.",
    .usage = "[DB] [-n N] [--points] [--csv|--json]",
    .more = "A run that has no label of its own (run --label) is called by what differs from other "
            "runs of the same scenario. 'orrery compare DB RUN RUN' takes the numbers.",
    .options = options,
    .run = run,
};

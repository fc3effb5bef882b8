/*
 * verb_sweep.c - orrery sweep FILE: many configurations of one scenario.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "sim/base/fault.h"
#include "sim/cli/cli.h"
#include "sim/cli/show.h"
#include "sim/cli/summary_sweep.h"

static char **settings, *database, *executor, *timeout;
static gboolean as_json, resume, whole_steps, yes;
static gint n_jobs;

static const GOptionEntry options[] = {
    {"set", 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &settings, "Change the scenario, e.g. cluster.nodes=64; may be repeated",
     "PATH=VALUE"},
    {"db", 0, 0, G_OPTION_ARG_FILENAME, &database, "Store the points there (default orrery.db); 'none' stores nothing",
     "FILE"},
    {"jobs", 'j', 0, G_OPTION_ARG_INT, &n_jobs, "Worker processes (default: one a core)", "N"},
    {"resume", 0, 0, G_OPTION_ARG_NONE, &resume, "Go on with the newest sweep of this document in the database", NULL},
    {"timeout", 0, 0, G_OPTION_ARG_FILENAME, &timeout, "The longest that one point may take, e.g. 30s", "TIME"},
    {"whole-steps", 0, 0, G_OPTION_ARG_NONE, &whole_steps,
     "Replay every micro-batch, and do not fast-forward over a pipeline's steady state", NULL},
    {"yes", 0, 0, G_OPTION_ARG_NONE, &yes, "Run a sweep of more points than sweep.most", NULL},
    {"json", 0, 0, G_OPTION_ARG_NONE, &as_json, "Print the report as one JSON object", NULL},
    {NULL},
};

static volatile gint interrupted;

static void interrupt(int signal_number) {
  (void)signal_number;
  interrupted++;
}

static gboolean is_drawn;

static void draw(const OrrSweepReport *report, void *user) {
  static gint64 drawn_us;
  const gint64 now_us = g_get_monotonic_time();
  (void)user;
  if (report->seconds < 1 || now_us - drawn_us < G_USEC_PER_SEC / 5) return;
  g_autofree char *line = orr_summary_sweep_line(report);
  fprintf(stderr, "\r\033[K%s%s", line, interrupted ? ", ending what runs" : "");
  drawn_us = now_us;
  is_drawn = TRUE;
}

static gboolean read_timeout(double *ret_timeout_s, GError **error) {
  if (!timeout) return TRUE;
  if (!orr_quantity_parse(timeout, ORR_UNIT_SECONDS, ret_timeout_s, error)) {
    g_prefix_error(error, "--timeout: ");
    return FALSE;
  }
  if (*ret_timeout_s > 0) return TRUE;
  g_set_error(error, ORR_FAULT, ORR_FAULT_USAGE, "--timeout wants a time above 0, found %s", timeout);
  return FALSE;
}

static gboolean check_options(GError **error) {
  static const char *const executors[] = {"local", NULL};
  if (n_jobs < 0)
    g_set_error(error, ORR_FAULT, ORR_FAULT_USAGE, "-j wants a number above 0, found %d", n_jobs);
  else if (resume && database && strcmp(database, "none") == 0)
    g_set_error(error, ORR_FAULT, ORR_FAULT_USAGE, "--resume wants a database, and --db is none");
  else if (executor && !g_strv_contains(executors, executor))
    orr_cli_unknown("executor", executor, executors, error);
  else
    return TRUE;
  return FALSE;
}

/* 130: ended by Ctrl-C, as shells say it. */
static int finish(const OrrSweepReport *report, const char *file, const char *db) {
  if (as_json)
    orr_summary_sweep_json(report);
  else
    orr_summary_sweep_print(report, file, db);
  if (report->is_whole) return 0;
  fprintf(stderr, "orrery: interrupted: what ran is kept%s\n", db ? ", --resume goes on" : "");
  return 130;
}

static int run(OrrLibrary *library, char **args, GError **error) {
  const char *path = database ? database : "orrery.db";
  double timeout_s = 0;
  if (!orr_cli_check_args(args, 1, 1, "sweep wants one scenario with a sweep: section", error) ||
      !check_options(error) || !read_timeout(&timeout_s, error))
    return 2;
  struct sigaction action = {.sa_handler = interrupt}, kept;
  const OrrSweepOrder order = {
      .file = args[0],
      .settings = settings,
      .db = strcmp(path, "none") == 0 ? NULL : path,
      .jobs = (guint)n_jobs,
      .timeout_s = timeout_s,
      .resume = resume,
      .yes = yes,
      .whole_steps = whole_steps,
      .interrupted = &interrupted,
      .progress = isatty(STDERR_FILENO) ? draw : NULL,
  };
  sigaction(SIGINT, &action, &kept);
  g_autoptr(OrrSweepReport) report = orr_sweep(library, &order, error);
  sigaction(SIGINT, &kept, NULL);
  if (is_drawn) fputs("\r\033[K", stderr);
  return report ? finish(report, args[0], order.db) : 1;
}

const OrrCommand orr_verb_sweep = {
    .verb = "sweep",
    .sentence = "Simulate many configurations of a scenario and say which are best.",
    .usage = "FILE [--set PATH=VALUE]... [--db FILE] [-j N] [--resume] [--timeout TIME] [--yes] [--json]",
    .more =
        "FILE is a scenario with a sweep: section ('orrery schema sweep' describes it). Points that cannot work or do\n"
        "not fit into memory are counted by reason. Ctrl-C ends what runs and keeps it; --resume goes on after that, "
        "a\n"
        "kill, a full disk or a reboot: no point is lost and none is there twice.",
    .options = options,
    .run = run,
};

/*
 * verb_sweep.c - orrery sweep FILE: simulates many configurations of one scenario, here or on
 * Slurm, and reports the best.
 */
#include <signal.h>
#include <unistd.h>

#include "sim/base/paths.h"
#include "sim/cli/cli.h"
#include "sim/cli/summary.h"

static char *executor, *timeout, *shard;
static gboolean collect, resume, status, verbose, whole_steps, yes;
static gint task = -1;
static guint shard_number, n_shards; /* of --shard; 0: none */

static const GOptionEntry options[] = {
    ORR_OPTION_SET("cluster.nodes=64"),
    ORR_OPTION_DB("the points"),
    ORR_OPTION_JOBS("Worker processes (default: one per core)"),
    ORR_OPTION_TEXT("executor", executor, "WORD",
                    "local (default): worker processes on this machine; slurm: a job array, "
                    "configured in the section sweep.slurm"),
    ORR_OPTION_TEXT("shard", shard, "I/N",
                    "Simulate only each N-th point, from the I-th on (1/N to N/N), into a --db of "
                    "its own, for the jobs of any batch system; 'orrery db merge' merges them"),
    ORR_OPTION_FLAG("status", status,
                    "Print the progress of the sweep that was submitted to Slurm for --db"),
    ORR_OPTION_FLAG("collect", collect,
                    "Merge the points of its tasks into --db, and submit the missing points again"),
    ORR_OPTION_INT("task", task, "Run one task of the job array (for the submitted job)"),
    ORR_OPTION_FLAG("resume", resume, "Continue the newest sweep of this document in the database"),
    ORR_OPTION_TEXT("timeout", timeout, "TIME", "Time limit of one point, e.g. 30s"),
    ORR_OPTION_FLAG(
        "whole-steps", whole_steps,
        "Replay every micro-batch instead of extrapolating the steady state of a pipeline"),
    ORR_OPTION_FLAG("verbose", verbose,
                    "Print how often a pipeline's steady state was skipped, and why it was not"),
    ORR_OPTION_FLAG("yes", yes, "Allow more points than sweep.most"),
    ORR_OPTION_JSON("the report as one JSON object"),
    {NULL},
};

/* The signals that ask a program to end: Ctrl-C, kill, a closed terminal, Ctrl-\. After the first,
 * the running points finish; the second kills them; the third ends the program at once. */
static const struct {
  int number;
  const char *name;
} end_signals[] = {
    {SIGINT, "SIGINT"}, {SIGTERM, "SIGTERM"}, {SIGHUP, "SIGHUP"}, {SIGQUIT, "SIGQUIT"}};

static volatile gint interrupted, interrupted_by;

static void interrupt(int signal_number) {
  interrupted_by = signal_number;
  interrupted = interrupted + 1;
  if (interrupted < 3) return;
  signal(signal_number, SIG_DFL); /* the sweep can still be counting combinations */
  raise(signal_number);
}

/* Leaves ignored signals ignored, for nohup. @kept: NULL, or room for the handlers so far. */
static void catch_signals(struct sigaction *kept) {
  const struct sigaction action = {.sa_handler = interrupt};
  for (guint i = 0; i < G_N_ELEMENTS(end_signals); i++) {
    struct sigaction before;
    sigaction(end_signals[i].number, NULL, &before);
    if (before.sa_handler != SIG_IGN) sigaction(end_signals[i].number, &action, NULL);
    if (kept) kept[i] = before;
  }
}

static gboolean is_drawn;

static void draw(const OrrSweepReport *report, void *user) {
  static gint64 drawn_us;
  const gint64 now_us = g_get_monotonic_time();
  if (report->seconds < 1 || now_us - drawn_us < G_USEC_PER_SEC / 5) return;
  g_autofree char *line = orr_summary_sweep_line(report);
  g_autofree char *whole =
      g_strconcat(line, interrupted ? ", waiting for running points" : "", NULL);
  orr_terminal_line(whole);
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
  return orr_fault_set(error, ORR_FAULT_USAGE, "--timeout takes a time above 0, found %s", timeout);
}

static gboolean read_number(const char **text, guint *ret_number) {
  char *end = NULL;
  const guint64 number = g_ascii_isdigit(**text) ? g_ascii_strtoull(*text, &end, 10) : 0;
  if (number < 1 || number > G_MAXINT) return FALSE;
  *ret_number = (guint)number;
  *text = end;
  return TRUE;
}

/* "3/8": the third of eight. */
static gboolean read_shard(GError **error) {
  const char *at = shard;
  if (!shard) return TRUE;
  if (!read_number(&at, &shard_number) || *at++ != '/' || !read_number(&at, &n_shards) || *at ||
      shard_number > n_shards)
    return orr_fault_set(error, ORR_FAULT_USAGE,
                         "--shard takes I/N with 1 <= I <= N, e.g. 3/8, found %s", shard);
  if (orr_options.database && orr_options_database()) return TRUE;
  return orr_fault_set(error, ORR_FAULT_USAGE,
                       "--shard needs a database of its own, e.g. --db shard-%u.db", shard_number);
}

static gboolean is_slurm(void) { return g_strcmp0(executor, "slurm") == 0; }

static gboolean check_options(GError **error) {
  static const char *const executors[] = {"local", "slurm", NULL};
  const gboolean is_none = !orr_options_database();
  if (executor && !g_strv_contains(executors, executor))
    orr_cli_unknown("executor", executor, executors, error);
  else if ((resume || is_slurm() || status || collect || task >= 0) && is_none)
    g_set_error(error, ORR_FAULT, ORR_FAULT_USAGE, "%s needs a database, but --db none was given",
                resume    ? "--resume"
                : status  ? "--status"
                : collect ? "--collect"
                          : "--executor slurm");
  else if (is_slurm() && orr_options.n_jobs > 0)
    g_set_error(error, ORR_FAULT, ORR_FAULT_USAGE,
                "-j is for --executor local; for Slurm set sweep.slurm.tasks and sweep.slurm.cpus");
  else if (shard && (is_slurm() || status || collect || task >= 0))
    g_set_error(error, ORR_FAULT, ORR_FAULT_USAGE,
                "--shard is for a sweep on this machine; --executor slurm makes its own shards");
  else if (status && collect)
    g_set_error(error, ORR_FAULT, ORR_FAULT_USAGE, "give --status or --collect, not both");
  else
    return orr_options_check_jobs(error);
  return FALSE;
}

/* Returns 128 plus the signal's number, as shells report a program that a signal ended. */
static int finish_early(const OrrSweepReport *report, const char *file, const char *db) {
  const char *name = "a signal";
  for (guint i = 0; i < G_N_ELEMENTS(end_signals); i++)
    if (end_signals[i].number == interrupted_by) name = end_signals[i].name;
  const guint64 n = report->n_done;
  if (db)
    orr_show_problem(
        "interrupted by %s: %" G_GUINT64_FORMAT " of %" G_GUINT64_FORMAT
        " points are stored in %s; to continue, run 'orrery sweep %s --db %s --resume'",
        name, n, report->n_points, db, file, db);
  else
    orr_show_problem("interrupted by %s: %" G_GUINT64_FORMAT " of %" G_GUINT64_FORMAT
                     " points ran; none are stored",
                     name, n, report->n_points);
  return 128 + interrupted_by;
}

static GError *stopped; /* why points could no longer be stored */

static int finish(const OrrSweepReport *report, const char *file, const char *db, GError **error) {
  if (orr_options.json)
    orr_summary_sweep_json(report);
  else
    orr_summary_sweep_print(report, file, orr_options.settings, db);
  if (verbose && !orr_options.json) orr_summary_sweep_looks(report);
  if (n_shards > 0 && report->is_whole && !orr_options.json)
    printf(
        "  shard         %u of %u; when all have run: orrery db merge WHOLE.db SHARD.db..., then "
        "orrery sweep %s --db WHOLE.db --resume\n",
        shard_number, n_shards, file);
  fflush(stdout);
  const int kept = orr_patience_end(db, report->aside);
  if (stopped) {
    g_propagate_error(error, g_steal_pointer(&stopped));
    return 1;
  }
  return report->is_whole ? kept : finish_early(report, file, db);
}

static gboolean check_paths(const char *file, const char *db, GError **error) {
  const OrrPath paths[] = {{"the scenario", file, ORR_PATH_READ, FALSE},
                           {"--db", db, ORR_PATH_WRITTEN, TRUE}};
  return orr_paths_check(paths, G_N_ELEMENTS(paths), error);
}

/* --- Slurm --- */

static int show_status(const char *path, GError **error) {
  g_autoptr(OrrSlurmStatus) found = orr_sweep_slurm_status(path, error);
  if (!found) return 1;
  if (orr_options.json)
    orr_summary_slurm_json(found);
  else
    orr_summary_slurm_print(found, path);
  return 0;
}

/* Merges, and prints the sweep's report; while points are missing, the progress of its tasks. */
static int merge_shards(OrrLibrary *library, const char *path, GError **error) {
  g_autoptr(OrrSweepReport) report = orr_sweep_slurm_collect(library, path, error);
  g_autoptr(OrrSlurmStatus) found = report ? orr_sweep_slurm_status(path, error) : NULL;
  if (!found) return 1;
  if (orr_options.json && report->is_whole)
    orr_summary_sweep_json(report);
  else if (orr_options.json)
    orr_summary_slurm_json(found);
  else if (report->is_whole)
    orr_summary_sweep_print(report, found->file, found->settings, path);
  else
    orr_summary_slurm_print(found, path);
  return 0;
}

static int run_task(OrrLibrary *library, const char *path, GError **error) {
  catch_signals(NULL); /* Slurm sends SIGTERM shortly before the time limit */
  return orr_sweep_slurm_task(library, path, task, &interrupted, error) ? 0 : 1;
}

static int submit(OrrLibrary *library, const OrrSweepOrder *order, GError **error) {
  return orr_sweep_slurm_submit(library, order, error) ? show_status(order->db, error) : 1;
}

/* Commands about a submitted sweep, whose scenario is known. */
static int run_submitted(OrrLibrary *library, char **args, const char *path, GError **error) {
  if (!orr_cli_check_args(args, 0, 0, "--status, --collect and --task take no scenario, only --db",
                          error))
    return 2;
  if (status) return show_status(path, error);
  return collect ? merge_shards(library, path, error) : run_task(library, path, error);
}

/* --- On this machine --- */

static int run_here(OrrLibrary *library, const OrrSweepOrder *order, GError **error) {
  struct sigaction kept[G_N_ELEMENTS(end_signals)];
  catch_signals(kept);
  g_autoptr(OrrSweepReport) report = orr_sweep(library, order, error);
  for (guint i = 0; i < G_N_ELEMENTS(end_signals); i++)
    sigaction(end_signals[i].number, &kept[i], NULL);
  if (is_drawn) orr_terminal_line(NULL);
  return report ? finish(report, order->file, order->db, error) : 1;
}

static int run(OrrLibrary *library, char **args, GError **error) {
  const char *path = orr_options_database();
  double timeout_s = 0;
  if (!check_options(error) || !read_shard(error) || !read_timeout(&timeout_s, error)) return 2;
  if (status || collect || task >= 0) return run_submitted(library, args, path, error);
  if (!orr_cli_check_args(args, 1, 1, "sweep takes one scenario with a sweep: section", error))
    return 2;
  const OrrSweepOrder order = {
      .file = args[0],
      .settings = orr_options.settings,
      .db = path,
      .jobs = (guint)orr_options.n_jobs,
      .timeout_s = timeout_s,
      .resume = resume,
      .yes = yes,
      .whole_steps = whole_steps,
      .shard = n_shards > 0 ? shard_number - 1 : 0,
      .n_shards = n_shards,
      .interrupted = &interrupted,
      .stopped = &stopped,
      .progress = isatty(STDERR_FILENO) ? draw : NULL,
  };
  if (!check_paths(order.file, order.db, error)) return 2;
  return is_slurm() ? submit(library, &order, error) : run_here(library, &order, error);
}

const OrrCommand orr_verb_sweep = {
    .verb = "sweep",
    .group = "Sweep",
    .sentence = "Simulate many configurations of a scenario and report the best.",
    .usage = "FILE [--set PATH=VALUE]... [--db FILE] [-j N] [--executor slurm] [--shard I/N] "
             "[--resume] [--timeout TIME] [--verbose] [--yes] "
             "[--json]\n"
             "       orrery sweep --status|--collect [--db FILE] [--json]",
    .more =
        "FILE is a scenario with a sweep: section ('orrery describe --schema sweep' describes "
        "it). Points "
        "that cannot work or do not fit into memory are counted by reason.\n"
        "After Ctrl-C, SIGTERM, SIGHUP or SIGQUIT the running points finish and are stored; a "
        "second signal kills them. --resume continues after that, and after a kill, a full "
        "disk or a reboot: every point is stored exactly once.\n"
        "--executor slurm submits a job array, whose tasks simulate the points, and a job that "
        "merges their results and submits missing points again. --status prints the progress. "
        "All nodes must see the folder DB.slurm.\n"
        "Under another batch system each job runs --shard I/N into a database of its own; "
        "'orrery db merge WHOLE.db SHARD.db...' merges them, and --resume on WHOLE.db simulates "
        "missing points and prints the report.",
    .options = options,
    .run = run,
};

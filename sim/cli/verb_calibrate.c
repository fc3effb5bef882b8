/*
 * verb_calibrate.c - orrery calibrate [ACTION]: measures the kernels of this machine's GPU, and
 * makes profiles of rows.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "sim/base/fault.h"
#include "sim/base/paths.h"
#include "sim/cli/cli.h"
#include "sim/cli/progress.h"
#include "sim/cli/show.h"
#include "sim/cli/verb_calibrate_fit.h"
#include "sim/calibrate/calibrate.h"

static char *db, *budget, *families;
static int n_gpus;          /* plan: 0: those that there are */
static OrrCalibrateFit fit; /* its device serves all actions */

static const GOptionEntry options[] = {
    {"db", 0, 0, G_OPTION_ARG_FILENAME, &db,
     "The database of measured rows (default: calibration.db)", "FILE"},
    {"budget", 0, 0, G_OPTION_ARG_FILENAME, &budget,
     "Time to spend, e.g. 90s or 2h (default: 10min)", "TIME"},
    {"families", 0, 0, G_OPTION_ARG_FILENAME, &families,
     "Only these, e.g. gemm,memory; 'orrery list microkernels'", "LIST"},
    {"device", 0, 0, G_OPTION_ARG_FILENAME, &fit.device,
     "GPU to measure (default: 0), or fake; export, fit, compare, report: whose rows they are",
     "N|NAME"},
    {"gpus", 0, 0, G_OPTION_ARG_INT, &n_gpus,
     "plan: as if there were N GPUs (default: those that there are)", "N"},
    {"raw", 0, 0, G_OPTION_ARG_FILENAME, &fit.raw,
     "fit: the folder of measured tables, or a database", "DIR|DB"},
    {"collectives", 0, 0, G_OPTION_ARG_FILENAME, &fit.collectives,
     "fit: measured collectives (default: collectives.csv of DIR)", "FILE.csv"},
    {"system", 0, 0, G_OPTION_ARG_FILENAME, &fit.machine,
     "fit: whose rows of the collectives (default: the device's)", "NAME"},
    {"name", 0, 0, G_OPTION_ARG_FILENAME, &fit.name,
     "fit: the profile's name (default: the device's)", "NAME"},
    {"thin", 0, 0, G_OPTION_ARG_INT, &fit.thin,
     "fit: keep so many rows, those that others cannot tell", "N"},
    {"output", 'o', 0, G_OPTION_ARG_FILENAME, &fit.output,
     "fit: write there instead of to stdout; report: the file (default: calibration-report.txt)",
     "FILE"},
    {NULL},
};

static const char *database(void) { return db ? db : "calibration.db"; }

/* --- Measuring --- */

typedef struct {
  OrrProgress *progress;
} Watch;

static void print_note(const char *text, void *user) {
  (void)user;
  fprintf(stderr, "orrery: passed over: %s\n", text);
}

static void update_progress(double spent_s, double budget_s, void *user) {
  orr_progress_update(((Watch *)user)->progress, (guint)spent_s, (guint)budget_s);
}

/* "10min" as the unit's parser wants it: with a blank before the unit. */
static gboolean parse_budget(double *ret_s, GError **error) {
  const char *text = budget ? budget : "10 min";
  const gsize digits = strspn(text, "0123456789.");
  g_autofree char *number = g_strndup(text, digits);
  g_autofree char *spaced =
      g_strdup_printf("%s %s", number, text + digits + strspn(text + digits, " "));
  if (!orr_quantity_parse(spaced, ORR_UNIT_SECONDS, ret_s, error)) {
    g_prefix_error(error, "--budget: ");
    return FALSE;
  }
  if (*ret_s > 0) return TRUE;
  g_set_error(error, ORR_FAULT, ORR_FAULT_USAGE, "--budget %s: want a time above 0", budget);
  return FALSE;
}

/* --device fake is the analytic device; anything else a GPU's number. */
static gboolean parse_device(OrrCalibrateOrder *order, GError **error) {
  gint64 ordinal = 0;
  if (g_strcmp0(fit.device, "fake") == 0) {
    order->layer = &orr_fake_layer;
    return TRUE;
  }
  if (fit.device && !g_ascii_string_to_signed(fit.device, 10, 0, 1023, &ordinal, NULL)) {
    g_set_error(error, ORR_FAULT, ORR_FAULT_USAGE, "--device %s: want a GPU's number, or fake",
                fit.device);
    return FALSE;
  }
  order->device = (int)ordinal;
  return (order->layer = orr_cuda_layer_find(error)) != NULL;
}

static void print_family(const OrrMeasureFamily *family, const OrrPlanState *state) {
  g_autofree char *planned = orr_show_count(state->n_planned),
                  *measured = orr_show_count(state->n_measured);
  g_autofree char *share = state->n_measured > 1 && isfinite(state->disagreement)
                               ? orr_show_percent(state->disagreement)
                               : g_strdup("-");
  if (state->n_planned)
    printf("  %-18s %8s of %8s shapes, neighbours disagree by %s\n", family->entry.name, measured,
           planned, share);
}

static void print_answer(const OrrCalibrateAnswer *answer) {
  const OrrMeasureOutcome *outcome = &answer->outcome;
  printf("%s, driver %s\n", answer->device, answer->driver);
  for (guint i = 0; answer->families[i]; i++) print_family(answer->families[i], &answer->states[i]);
  for (guint i = 0; i < answer->untold->len; i++)
    printf("  left out   needs more than one GPU: %s\n", (const char *)answer->untold->pdata[i]);
  if (outcome->n_passed_over)
    printf("  passed by  %u shapes that this device or its libraries do not have\n",
           outcome->n_passed_over);
  if (outcome->n_wrong)
    printf("  wrong      %u kernels gave wrong results: their rows are kept, and not used\n",
           outcome->n_wrong);
  printf("  stored     %u new rows in %s, %u were there; %.0f s%s\n", outcome->n_new, database(),
         outcome->n_known, outcome->spent_s,
         outcome->is_complete ? ", nothing is left to measure" : "");
  printf("  next       orrery calibrate report --db %s\n", database());
  printf("             orrery calibrate export DIR --db %s\n", database());
}

static int measure(char **args, GError **error) {
  g_auto(GStrv) asked = families ? g_strsplit(families, ",", -1) : NULL;
  Watch watch = {0};
  OrrCalibrateOrder order = {.db = database(),
                             .families = asked,
                             .note = print_note,
                             .progress = update_progress,
                             .user = &watch};
  if (!orr_cli_check_args(
          args, 0, 0,
          "calibrate takes options, or an action: compare, errors, export, fit, plan, report",
          error))
    return 2;
  if (!parse_budget(&order.budget_s, error)) return 2;
  if (!parse_device(&order, error)) return 1;
  g_auto(OrrCalibrateAnswer) answer = {0};
  watch.progress = orr_progress_new("measuring", TRUE);
  gboolean fine = orr_calibrate(&order, &answer, error);
  orr_progress_free(watch.progress);
  if (!fine) return 1;
  if (answer.rank == 0) print_answer(&answer);
  if (answer.outcome.n_wrong)
    orr_show_problem("%u kernels gave wrong results", answer.outcome.n_wrong);
  return answer.outcome.n_wrong ? 1 : 0;
}

/* --- The plan --- */

/* A row's 0.14 s of timing and a quarter of 0.8 s for power; preparing it comes on top. */
static void print_plan(const OrrCalibrateAnswer *answer) {
  const OrrTimingRule *rule = &orr_timing_default;
  const double row_s =
      rule->warm_up_s + rule->burst_s + (rule->settle_s + rule->watch_s) / ORR_WATCHED_ONE_IN;
  guint n_seeds = 0, n_planned = 0;
  printf("%s, driver %s\n", answer->device, answer->driver);
  printf("  %-18s %8s %8s %8s\n", "family", "tables", "seeds", "shapes");
  for (guint i = 0; answer->families[i]; i++) {
    const OrrPlanState *state = &answer->states[i];
    n_seeds += state->n_seeds, n_planned += state->n_planned;
    if (state->n_planned)
      printf("  %-18s %8u %8u %8u\n", answer->families[i]->entry.name, state->n_slices,
             state->n_seeds, state->n_planned);
  }
  for (guint i = 0; i < answer->untold->len; i++)
    printf("  left out   needs more than one GPU: %s\n", (const char *)answer->untold->pdata[i]);
  printf("  seeds      %u of %u shapes; at %.2f s a row, without preparing it: %.0f min\n", n_seeds,
         n_planned, row_s, ceil(n_seeds * row_s / 60));
}

static int show_plan(OrrLibrary *library, char **args, GError **error) {
  (void)library;
  g_auto(GStrv) asked = families ? g_strsplit(families, ",", -1) : NULL;
  OrrCalibrateOrder order = {.families = asked};
  g_auto(OrrCalibrateAnswer) answer = {0};
  if (!orr_cli_check_args(args, 0, 0, "calibrate plan takes options", error)) return 2;
  if (n_gpus < 0) {
    g_set_error(error, ORR_FAULT, ORR_FAULT_USAGE, "--gpus %d: want a number of GPUs above 0",
                n_gpus);
    return 2;
  }
  if (!parse_device(&order, error) || !orr_calibrate_plan(&order, n_gpus, &answer, error)) return 1;
  print_plan(&answer);
  return 0;
}

/* --- Exporting --- */

static int export_rows(OrrLibrary *library, char **args, GError **error) {
  (void)library;
  if (!orr_cli_check_args(args, 1, 1, "calibrate export wants a folder", error)) return 2;
  const OrrPath paths[] = {{"the database", database(), ORR_PATH_READ, TRUE},
                           {"calibrate export", args[0], ORR_PATH_WRITTEN, FALSE}};
  if (!orr_paths_check(paths, G_N_ELEMENTS(paths), error)) return 2;
  g_autoptr(GPtrArray) files = orr_calibrate_export(database(), fit.device, args[0], error);
  if (!files) return 1;
  for (guint i = 0; i < files->len; i++) {
    const OrrExportFile *file = files->pdata[i];
    printf("%-26s %u rows\n", file->file, file->n_rows);
  }
  return 0;
}

/* --- Profiles --- */

static int make_profile(OrrLibrary *library, char **args, GError **error) {
  return orr_calibrate_fit(library, &fit, args, error);
}

static int compare(OrrLibrary *library, char **args, GError **error) {
  return orr_verb_calibrate_differ(library, database(), fit.device, args, error);
}

static int write_report(OrrLibrary *library, char **args, GError **error) {
  return orr_verb_calibrate_write_report(library, database(), fit.device, fit.output, args, error);
}

/* --- The verb --- */

/* Alphabetical. Each gets what follows its word. */
static const struct {
  const char *word;
  int (*run)(OrrLibrary *library, char **args, GError **error);
} actions[] = {
    {"compare", compare},    {"errors", orr_verb_calibrate_errors},
    {"export", export_rows}, {"fit", make_profile},
    {"plan", show_plan},     {"report", write_report},
};

static int run(OrrLibrary *library, char **args, GError **error) {
  const char *words[G_N_ELEMENTS(actions) + 1] = {NULL};
  if (!args[0]) return measure(args, error);
  for (guint i = 0; i < G_N_ELEMENTS(actions); i++) {
    if (strcmp(actions[i].word, args[0]) == 0) return actions[i].run(library, args + 1, error);
    words[i] = actions[i].word;
  }
  return orr_cli_unknown("action", args[0], words, error);
}

const OrrCommand orr_verb_calibrate = {
    .verb = "calibrate",
    .sentence = "Measure this machine's GPUs, and make profiles of measured rows.",
    .usage = "[--db FILE] [--budget TIME] [--families LIST] [--device N] | export DIR [--db FILE] "
             "[--device NAME] |\n"
             "       fit --raw DIR|DB --device NAME [--thin N] [-o FILE] | compare PROFILE [--db "
             "FILE] | errors PROFILE |\n"
             "       plan [--device N] [--gpus N] [--families LIST] | report [PROFILE] [--db FILE] "
             "[-o FILE]",

    .more =
        "Rows go to a database as they are measured; a second session goes on where the first "
        "ended: what was\n"
        "measured with the same device, driver, libraries, clock and power limit is not repeated. "
        "The budget goes\n"
        "where neighbours disagree most. 'export' writes CSV files that 'orrery import measured "
        "DIR' reads.\n"
        "'fit' makes a whole profile of such files: rows, the constants that they tell, and the "
        "errors of a\n"
        "cross-validation that leaves whole shapes out; 'errors' prints those of a profile of the "
        "library.\n"
        "'compare' says, kernels by kernels, how far the database's rows are from what a profile "
        "says of them.\n"
        "'plan' says what would be measured; 'report' writes one file with rows, residuals, "
        "refusals and the\n"
        "board's state, and nothing that says whose machine it is: docs/calibrate-on-your-gpu.md.\n"
        "Under Slurm or mpirun (a process a GPU, a folder all see in ORRERY_RENDEZVOUS) "
        "collectives span the job.\n"
        "--device fake is an analytic device, to see what this does where there is no GPU.\n"
        "Exit status 1: no GPU, or a kernel whose results are wrong.",
    .options = options,
    .run = run,
};

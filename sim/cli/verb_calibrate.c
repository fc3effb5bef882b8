/*
 * verb_calibrate.c - orrery calibrate [ACTION]: measures the kernels of this machine's GPUs, and
 * makes profiles from the rows. Actions with profiles are in verb_calibrate_fit.c.
 */
#include "sim/base/paths.h"
#include "sim/cli/verb_calibrate_fit.h"

static char *budget, *families;
static int n_gpus; /* of plan; 0: the number in this machine */
static OrrVerbCalibrate request;

static const GOptionEntry options[] = {
    ORR_OPTION_DATABASE("The database of measured rows (default: calibration.db)"),
    ORR_OPTION_TEXT("budget", budget, "TIME", "Time to spend, e.g. 90s or 2h (default: 10min)"),
    ORR_OPTION_TEXT(
        "families", families, "LIST",
        "Measure only these families, e.g. gemm,memory; see 'orrery list microkernels'"),
    ORR_OPTION_TEXT("device", request.fit.device, "N|NAME",
                    "Measure GPU N (default: 0), or fake; export, fit, compare, report: use the "
                    "rows of NAME; import: the device that was measured"),
    ORR_OPTION_INT("gpus", n_gpus, "plan: plan for N GPUs (default: the number in this machine)"),
    ORR_OPTION_TEXT("collectives", request.fit.collectives, "FILE.csv",
                    "fit: measured collectives (default: collectives.csv of DIR)"),
    ORR_OPTION_TEXT("system", request.fit.system, "NAME",
                    "fit: use the rows of this system in the collectives (default: the device's)"),
    ORR_OPTION_TEXT("name", request.fit.name, "NAME",
                    "fit: the profile's name (default: the device's)"),
    ORR_OPTION_INT("thin", request.fit.n_rows,
                   "fit: keep only N rows, the rows that cannot be interpolated from the rest"),
    ORR_OPTION_OUTPUT(
        "fit: write to FILE instead of stdout; report: the file (default: calibration-report.txt)"),
    {NULL},
};

static const char *database(void) {
  return orr_options.database ? orr_options.database : "calibration.db";
}

/* --- Measuring --- */

typedef struct {
  OrrProgress *progress;
} Watch;

static void print_note(const char *text, void *user) {
  fprintf(stderr, "orrery: skipped: %s\n", text);
}

static void update_progress(double spent_s, double budget_s, void *user) {
  orr_progress_update(((Watch *)user)->progress, (guint)spent_s, (guint)budget_s);
}

/* Parses "10min"; the parser of quantities needs a blank before the unit. */
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
  return orr_fault_set(error, ORR_FAULT_USAGE, "--budget takes a time above 0, found %s", budget);
}

/* --device is the number of a GPU, or fake for the analytic device. */
static gboolean parse_device(OrrCalibrateOrder *session, GError **error) {
  gint64 ordinal = 0;
  if (g_strcmp0(request.fit.device, "fake") == 0) {
    session->layer = &orr_fake_layer;
    return TRUE;
  }
  if (request.fit.device &&
      !g_ascii_string_to_signed(request.fit.device, 10, 0, 1023, &ordinal, NULL))
    return orr_fault_set(error, ORR_FAULT_USAGE,
                         "--device takes the number of a GPU, or fake; found %s",
                         request.fit.device);
  session->device = (int)ordinal;
  return (session->layer = orr_device_layer_find(error)) != NULL;
}

static void print_family(const OrrMeasureFamily *family, const OrrPlanState *state) {
  g_autofree char *planned = orr_show_count(state->n_planned),
                  *measured = orr_show_count(state->n_measured);
  g_autofree char *disagreement = state->n_measured > 1 && isfinite(state->disagreement)
                                      ? orr_show_percent(state->disagreement)
                                      : g_strdup("-");
  if (state->n_planned)
    printf("  %-18s %8s of %8s shapes, neighbours disagree by %s\n", family->entry.name, measured,
           planned, disagreement);
}

static void print_answer(const OrrCalibrateAnswer *answer) {
  const OrrMeasureOutcome *outcome = &answer->outcome;
  printf("%s, driver %s\n", answer->device, answer->driver);
  for (guint i = 0; answer->families[i]; i++) print_family(answer->families[i], &answer->states[i]);
  for (guint i = 0; i < answer->left_out->len; i++)
    printf("  left out   needs more than one GPU: %s\n", (const char *)answer->left_out->pdata[i]);
  if (outcome->n_passed_over)
    printf("  skipped    %u shapes that this device or its libraries do not support\n",
           outcome->n_passed_over);
  if (outcome->n_wrong)
    printf("  wrong      %u kernels gave wrong results: their rows are stored, but not used\n",
           outcome->n_wrong);
  printf("  stored     %u new rows in %s, %u rows known before; %.0f s%s\n", outcome->n_new,
         database(), outcome->n_known, outcome->spent_s,
         outcome->is_complete ? ", everything is measured" : "");
  printf("  next       orrery calibrate report --db %s\n", database());
  printf("             orrery calibrate export DIR --db %s\n", database());
}

static int measure(char **args, GError **error) {
  g_auto(GStrv) names = families ? g_strsplit(families, ",", -1) : NULL;
  Watch watch = {0};
  OrrCalibrateOrder session = {.db = database(),
                               .families = names,
                               .note = print_note,
                               .progress = update_progress,
                               .user = &watch};
  if (!orr_cli_check_args(args, 0, 0,
                          "calibrate takes options, or an action: compare, doctor, errors, export, "
                          "fit, import, plan, report",
                          error))
    return 2;
  if (!parse_budget(&session.budget_s, error)) return 2;
  if (!parse_device(&session, error)) return 1;
  g_auto(OrrCalibrateAnswer) answer = {0};
  watch.progress = orr_progress_new("measuring", TRUE);
  gboolean fine = orr_calibrate(&session, &answer, error);
  orr_progress_free(watch.progress);
  if (!fine) return 1;
  if (answer.rank == 0) print_answer(&answer);
  if (answer.outcome.n_wrong)
    orr_show_problem("%u kernels gave wrong results", answer.outcome.n_wrong);
  return answer.outcome.n_wrong ? 1 : 0;
}

static int examine(OrrLibrary *library, const OrrVerbCalibrate *unused, char **args,
                   GError **error) {
  OrrCalibrateOrder session = {0};
  if (!orr_cli_check_args(args, 0, 0, "calibrate doctor takes options", error)) return 2;
  return parse_device(&session, error) ? orr_verb_calibrate_doctor(session.layer, error) : 1;
}

/* --- The plan --- */

static void print_plan(const OrrCalibrateAnswer *answer) {
  const double row_s = orr_calibrate_row_time_s();
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
  for (guint i = 0; i < answer->left_out->len; i++)
    printf("  left out   needs more than one GPU: %s\n", (const char *)answer->left_out->pdata[i]);
  printf("  seeds      %u of %u shapes; at %.2f s per row, without its preparation: %.0f min\n",
         n_seeds, n_planned, row_s, ceil(n_seeds * row_s / 60));
}

static int show_plan(OrrLibrary *library, const OrrVerbCalibrate *unused, char **args,
                     GError **error) {
  g_auto(GStrv) names = families ? g_strsplit(families, ",", -1) : NULL;
  OrrCalibrateOrder session = {.families = names};
  g_auto(OrrCalibrateAnswer) answer = {0};
  if (!orr_cli_check_args(args, 0, 0, "calibrate plan takes options", error)) return 2;
  if (n_gpus < 0) {
    g_set_error(error, ORR_FAULT, ORR_FAULT_USAGE, "--gpus takes a number above 0, found %d",
                n_gpus);
    return 2;
  }
  if (!parse_device(&session, error) || !orr_calibrate_plan(&session, n_gpus, &answer, error))
    return 1;
  print_plan(&answer);
  return 0;
}

/* --- Exporting --- */

static int export_rows(OrrLibrary *library, const OrrVerbCalibrate *values, char **args,
                       GError **error) {
  if (!orr_cli_check_args(args, 1, 1, "calibrate export takes a folder", error)) return 2;
  const OrrPath paths[] = {{"the database", database(), ORR_PATH_READ, TRUE},
                           {"calibrate export", args[0], ORR_PATH_WRITTEN, FALSE, TRUE}};
  if (!orr_paths_check(paths, G_N_ELEMENTS(paths), error)) return 2;
  g_autoptr(GPtrArray) files =
      orr_calibrate_rows_export(values->db, values->fit.device, args[0], error);
  if (!files) return 1;
  ORR_EACH_POINTER(const OrrExportFile, file, files)
    printf("%-26s %u rows\n", file->file, file->n_rows);
  return 0;
}

/* --- The verb --- */

/* Alphabetical. Each gets the arguments after its word. */
static const struct {
  const char *word;
  int (*run)(OrrLibrary *library, const OrrVerbCalibrate *options, char **args, GError **error);
} actions[] = {
    {"compare", orr_verb_calibrate_compare},
    {"doctor", examine},
    {"errors", orr_verb_calibrate_errors},
    {"export", export_rows},
    {"fit", orr_verb_calibrate_fit},
    {"import", orr_verb_calibrate_import},
    {"plan", show_plan},
    {"report", orr_verb_calibrate_report},
};

static int run(OrrLibrary *library, char **args, GError **error) {
  const char *words[G_N_ELEMENTS(actions) + 1] = {NULL};
  if (!args[0]) return measure(args, error);
  request.db = database();
  request.output = orr_options.output;
  for (guint i = 0; i < G_N_ELEMENTS(actions); i++) {
    if (strcmp(actions[i].word, args[0]) == 0)
      return actions[i].run(library, &request, args + 1, error);
    words[i] = actions[i].word;
  }
  return orr_cli_unknown("action", args[0], words, error);
}

static const OrrCommand *const parts[] = {&orr_verb_calibrate_cost, &orr_verb_calibrate_stack,
                                          NULL};

const OrrCommand orr_verb_calibrate = {
    .verb = "calibrate",
    .group = "Import",
    .sentence = "Measure this machine's GPUs, and make profiles from measured rows.",
    .usage = "[--db FILE] [--budget TIME] [--families LIST] [--device N] | doctor [--device N] | "
             "export DIR [--db FILE] [--device NAME] |\n"
             "       fit DIR|DB --device NAME [--thin N] [-o FILE] | compare PROFILE [--db "
             "FILE] | errors PROFILE |\n"
             "       import FILE.csv --device NAME [--db FILE] | plan [--device N] [--gpus N] "
             "[--families LIST] | report [PROFILE] [--db FILE] [-o FILE]",

    .more =
        "Without an action, measures rows and stores them in a database as it goes. A later "
        "session continues: rows measured with the same device, driver, libraries, clock and power "
        "limit are not measured again. The budget goes to the shapes where neighbouring rows "
        "disagree most. Under Slurm or mpirun (one process per GPU, and a folder that all "
        "processes see in ORRERY_RENDEZVOUS), collectives span the job.\n"
        "export writes CSV files, which 'orrery import measured DIR' reads. fit makes a "
        "complete profile from such files or a database: rows, the constants that can be "
        "computed from them, and the errors of a cross-validation that leaves out whole "
        "shapes. errors prints these errors for a profile of the library. compare prints the "
        "errors of a profile against the database's rows, by kernel.\n"
        "import reads CSV files of Nsight Systems ('nsys stats --format csv --report "
        "nvtx_kern_sum') and Nsight Compute ('ncu --csv --nvtx'), for machines where this "
        "program may not run: kernels in NVTX ranges with a shape become rows, others are "
        "listed. A range is 'orrery:gemm dtype=bf16 layout=forward batch=1 m=4096 n=4096 "
        "k=4096', or of PyTorch's emit_nvtx(record_shapes=True).\n"
        "plan prints what would be measured. report writes one file with rows, residuals, "
        "refusals and the board's state, without anything that identifies the machine: see "
        "docs/calibrate-on-your-gpu.md.\n"
        "doctor looks at driver, clocks, power limit, heat, ECC, persistence, MIG, NVLinks, "
        "GPUDirect RDMA, libraries, other processes and environment variables, and prints "
        "which of them would spoil a measurement; it measures nothing and makes no context on any "
        "GPU.\n"
        "--device fake is an analytic device, to try these commands without a GPU. Exit status "
        "1: there is no GPU, doctor found a problem, or a kernel gave wrong results.",
    .options = options,
    .run = run,
    .part = "action",
    .parts = parts,
};

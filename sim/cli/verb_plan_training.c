/*
 * verb_plan_training.c - orrery plan training: which layout trains fastest on a number of GPUs.
 */
#include "sim/bands/band.h"
#include "sim/base/json_write.h"
#include "sim/base/uncertain.h"
#include "sim/base/file.h"
#include "sim/base/settings.h"
#include "sim/base/yaml.h"
#include "sim/cli/verb_plan.h"
#include "sim/cli/summary.h"

enum { SHOWN = 5 };

static int n_gpus;
static char *executor;

static const GOptionEntry options[] = {
    ORR_VERB_PLAN_ENTRIES(orr_verb_plan_asked),
    ORR_OPTION_INT("gpus", n_gpus, "How many GPUs"),
    ORR_OPTION_TEXT("prices", orr_verb_plan_asked.prices, "NAME", "Prices, for the cost of tokens"),
    ORR_OPTION_TEXT("executor", executor, "WORD",
                    "local (default), or slurm: a job array, which --set sweep.slurm.tasks=N and "
                    "the like configure; the same command without it then prints the answer"),
    ORR_OPTION_OUTPUT(
        "The swept scenario (default: plan.yaml); the best point's is written to the same folder"),
    ORR_OPTION_JSON("one JSON object"),
    {NULL},
};

/* The parts of the answer. */
typedef struct {
  const OrrSweepReport *report;
  guint n;                              /* points that are shown */
  OrrStudyAnswer *answers;              /* [n] */
  OrrBand memory[SHOWN];                /* of their peak memory */
  guint chosen;                         /* the fastest of them whose memory's upper end fits */
  char *best_file, *best_text, *launch; /* launch: NULL where none is known */
  GPtrArray *unsaid;                    /* of char *: what the launch line does not say; or NULL */
} Plan;

/* --- Text --- */

/* "tp 4, pp 4, chunks 10": without what is off, but for the micro-batch. */
static char *layout_of(char **settings) {
  GString *text = g_string_new(NULL);
  for (char **setting = settings; setting && *setting; setting++) {
    const gboolean is_off = g_str_has_suffix(*setting, "=1") || g_str_has_suffix(*setting, "=none");
    if (!is_off || strstr(*setting, "micro")) orr_settings_append(text, *setting);
  }
  return g_string_free(text, FALSE);
}

/* "592,000": three digits, for bands support no more. */
static char *rounded(double value) {
  const double unit = value > 0 ? pow(10, fmax(floor(log10(value)) - 2, 0)) : 1;
  return orr_show_count((gint64)(round(value / unit) * unit));
}

static char *band_text(const OrrBand *band, double value) {
  if (!band) return g_strdup("none");
  g_autofree char *low = rounded(value * band->low), *high = rounded(value * band->high),
                  *note = orr_uncertain_note_after(1, band->low, band->high, band->middle);
  return g_strdup_printf("%s to %s%s%s", low, high, note,
                         band->quality == ORR_BAND_WEAK ? ", weak" : "");
}

static const OrrSweepBest *best_at(const Plan *plan, guint i) {
  return &g_array_index(plan->report->best, OrrSweepBest, i);
}

static const OrrBand *band_at(const Plan *plan, guint i) {
  const OrrSweepBest *one = best_at(plan, i);
  return one->bands && one->bands->of[0].quality != ORR_BAND_NONE ? &one->bands->of[0] : NULL;
}

static const char *apart_at(const Plan *plan, guint i) {
  const OrrSweepBands *bands = best_at(plan, i)->bands;
  return i > 0 && bands && bands->apart == ORR_APART_NOT_TOLD ? "statistically tied with the best"
                                                              : "";
}

/* Whether a measured run fits, too, as far as bands say. */
static gboolean upper_end_fits(const Plan *plan, guint i) {
  const OrrTrainingResult *answer = &plan->answers[i].result.training;
  const double room = answer->memory_peak_bytes + answer->headroom_bytes;
  return plan->memory[i].quality == ORR_BAND_NONE ||
         answer->memory_peak_bytes * plan->memory[i].high <= room;
}

static void print_points(const Plan *plan) {
  int width = 30; /* of the bands */
  for (guint i = 0; i < plan->n; i++) {
    g_autofree char *band =
        band_text(band_at(plan, i), plan->answers[i].result.training.tokens_per_s);
    width = MAX(width, (int)strlen(band));
  }
  printf("    %12s  %-*s %6s  %8s  layout\n", "tokens/s", width, "80 % band", "MFU", "memory");
  for (guint i = 0; i < plan->n; i++) {
    const OrrTrainingResult *answer = &plan->answers[i].result.training;
    g_autofree char *layout = layout_of(best_at(plan, i)->settings);
    g_autofree char *speed = rounded(answer->tokens_per_s);
    g_autofree char *band = band_text(band_at(plan, i), answer->tokens_per_s);
    printf("  %u %12s  %-*s %4.1f %%  %4.1f GiB  %s\n", i + 1, speed, width, band,
           100 * answer->mfu, answer->memory_peak_bytes / 1073741824, layout);
  }
}

static void print_why(const Plan *plan) {
  for (guint i = 1; i < plan->n; i++) {
    g_autofree char *why = orr_plan_why(&plan->answers[0], &plan->answers[i]);
    const char *apart = apart_at(plan, i);
    printf("  %s %u is %s%s%s\n", i == 1 ? "why          " : "             ", i + 1, why,
           *apart ? "; " : "", apart);
  }
}

/* "71.2 GiB of 79.6" */
static char *room_text(const Plan *plan, guint i) {
  const OrrTrainingResult *answer = &plan->answers[i].result.training;
  return g_strdup_printf("%.1f GiB of %.1f",
                         answer->memory_peak_bytes * plan->memory[i].high / 1073741824,
                         (answer->memory_peak_bytes + answer->headroom_bytes) / 1073741824);
}

/* The upper end of memory's band decides what fits; nothing limits the speed, so the simulation
 * decides what is fastest. */
static void print_decides(const Plan *plan) {
  const OrrBand *memory = &plan->memory[plan->chosen];
  g_autofree char *first = room_text(plan, 0), *room = room_text(plan, plan->chosen);
  printf("  decides       ");
  if (memory->quality == ORR_BAND_NONE)
    printf("the simulation alone, for memory has no band: %s\n", memory->reason);
  else if (!upper_end_fits(plan, plan->chosen))
    printf("the simulation alone, for no upper end of memory's band fits here: layout 1's is %s\n",
           room);
  else if (plan->chosen > 0)
    printf("the upper end of memory's band: layout 1's is %s; layout %u is the fastest that "
           "fits, %s\n",
           first, plan->chosen + 1, room);
  else
    printf("the upper end of memory's band fits, %s; the simulation says which is fastest\n", room);
}

static void print_cost(OrrLibrary *library, const OrrTrainingResult *best) {
  const char *prices = orr_verb_plan_asked.prices;
  if (!prices) return;
  g_autofree char *currency = orr_verb_plan_currency(library, prices);
  if (isfinite(best->money.per_million_tokens))
    printf("  cost          %.4g %s per million tokens, %.4g per day\n",
           best->money.per_million_tokens, currency, best->money.per_day);
  else
    printf("  cost          not known: see orrery run\n");
}

static void print_unsaid(const Plan *plan) {
  if (!plan->unsaid) return;
  ORR_EACH_POINTER_AT(i, const char, key, plan->unsaid)
    printf("  %-13s %s\n", i == 0 ? "left out" : "", key);
}

static void print_text(OrrLibrary *library, const Plan *plan, const char *file, const char *db) {
  const OrrSweepReport *report = plan->report;
  const guint64 *by = report->by_status;
  printf("  searched      %" G_GUINT64_FORMAT " layouts in %.1f s: %" G_GUINT64_FORMAT
         " can run, %" G_GUINT64_FORMAT " of them fit, %" G_GUINT64_FORMAT " were simulated\n",
         report->n_combinations, report->seconds, report->n_points,
         by[ORR_POINT_OK] + by[ORR_POINT_PRUNED], by[ORR_POINT_OK]);
  g_autofree char *assumed = orr_verb_plan_assumed_training(library, orr_verb_plan_asked.cluster);
  g_autofree char *words = assumed ? orr_show_assumed(assumed) : NULL;
  if (words) printf("  stack         %s (--stack names another)\n", words);
  orr_show_warnings("  warning       ", report->caveats);
  print_points(plan);
  print_why(plan);
  print_decides(plan);
  print_cost(library, &plan->answers[plan->chosen].result.training);
  printf("  scenario      %s, of layout %u; %s has the whole search\n", plan->best_file,
         plan->chosen + 1, file);
  if (plan->launch) printf("  launch        as Megatron-LM's arguments:\n%s", plan->launch);
  print_unsaid(plan);
  if (db && report->sweep) printf("  stored        sweep %ld in %s\n", report->sweep, db);
  printf("  next          orrery run %s\n", plan->best_file);
}

static gboolean is_decided_by_band(const Plan *plan) {
  return plan->memory[plan->chosen].quality != ORR_BAND_NONE && upper_end_fits(plan, plan->chosen);
}

static void print_json(OrrLibrary *library, const Plan *plan, const char *file) {
  g_autofree char *assumed = orr_verb_plan_assumed_training(library, orr_verb_plan_asked.cluster);
  g_autoptr(GString) out = g_string_new("{");
  orr_json_write_text(out, "file", file);
  orr_json_write_text(out, "best_file", plan->best_file);
  orr_json_write_text(out, "launch", plan->launch);
  if (plan->unsaid)
    orr_json_write_texts(out, "not_in_launch", (char *const *)plan->unsaid->pdata,
                         plan->unsaid->len);
  orr_json_write_text(out, "release_assumed", assumed);
  ORR_JSON_NUMBERS(out, {"combinations", (double)plan->report->n_combinations},
                   {"points", (double)plan->report->n_points},
                   {"simulated", (double)plan->report->by_status[ORR_POINT_OK]},
                   {"chosen", plan->chosen + 1.0});
  orr_json_write_text(out, "decides", is_decided_by_band(plan) ? "band" : "simulation");
  orr_json_write_array(out, "best");
  for (guint i = 0; i < plan->n; i++) {
    const OrrTrainingResult *answer = &plan->answers[i].result.training;
    g_autofree char *layout = layout_of(best_at(plan, i)->settings);
    orr_json_write_element(out, "\n  ");
    g_string_append_printf(out,
                           "\"tokens_per_s\": %.17g, \"iteration_time_s\": %.17g, \"mfu\": "
                           "%.17g, \"memory_peak_bytes\": %.17g",
                           answer->tokens_per_s, answer->iteration_time_s, answer->mfu,
                           answer->memory_peak_bytes);
    orr_json_write_number(out, "memory_peak_bytes_high",
                          answer->memory_peak_bytes * plan->memory[i].high);
    orr_json_write_text(out, "layout", layout);
    g_string_append_c(out, '}');
  }
  g_string_append_c(out, ']');
  const GPtrArray *warnings = plan->report->caveats;
  orr_json_write_texts(out, "warnings", (char *const *)warnings->pdata, warnings->len);
  printf("%s}\n", out->str);
}

/* --- The plan --- */

static char *best_file_of(const char *file) {
  const gsize stem = strlen(file) - (g_str_has_suffix(file, ".yaml") ? 5 : 0);
  return g_strdup_printf("%.*s-best.yaml", (int)stem, file);
}

static void describe_best(OrrLibrary *library, Plan *plan, const OrrNode *tree, const char *file) {
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_autoptr(OrrScenario) scenario = orr_scenario_read(library, tree, diags);
  g_autofree char *yaml = orr_yaml_text(tree);
  g_autofree char *text =
      g_strdup_printf("# Made by orrery plan training: the chosen point of %s.\n%s", file, yaml);
  plan->launch = scenario ? orr_plan_launch(scenario) : NULL;
  if (plan->launch) plan->unsaid = orr_verb_plan_readback(library, scenario, plan->launch);
  plan->best_text = g_steal_pointer(&text);
}

static OrrBand memory_of(const OrrBands *bands, const OrrSweepBest *one) {
  if (!bands) return orr_band_none(ORR_BAND_LEVEL, "the measured rows cannot be read");
  if (!one->likeness) return orr_band_none(ORR_BAND_LEVEL, "the point's likeness was not stored");
  const OrrBandQuestion question = {
      .likeness = one->likeness, .metric = "memory_peak_bytes", .level = ORR_BAND_LEVEL};
  return orr_bands_ask(bands, &question, NULL);
}

static void choose(OrrLibrary *library, Plan *plan) {
  g_autoptr(OrrBands) bands = orr_bands_new(library, "training", NULL); /* the sweep says why not */
  for (guint i = 0; i < plan->n; i++) plan->memory[i] = memory_of(bands, best_at(plan, i));
  for (plan->chosen = 0; plan->chosen < plan->n; plan->chosen++)
    if (upper_end_fits(plan, plan->chosen)) return;
  plan->chosen = 0;
}

static gboolean simulate_best(OrrLibrary *library, Plan *plan, const char *file, GError **error) {
  g_autoptr(GPtrArray) points = g_ptr_array_new_with_free_func((GDestroyNotify)orr_node_free);
  plan->n = MIN(plan->report->best->len, SHOWN);
  for (guint i = 0; i < plan->n; i++) {
    OrrNode *tree = orr_plan_point(library, file, best_at(plan, i)->again, error);
    if (!tree) return FALSE;
    g_ptr_array_add(points, tree);
  }
  plan->answers = orr_plan_simulate(library, points, (guint)orr_options.n_jobs, error);
  if (!plan->answers) return FALSE;
  choose(library, plan);
  describe_best(library, plan, points->pdata[plan->chosen], file);
  return TRUE;
}

static gboolean check_found(const OrrSweepReport *report, GError **error) {
  if (report->best->len) return TRUE;
  const OrrSweepExclusion *reason =
      report->refused->len    ? &g_array_index(report->refused, OrrSweepExclusion, 0)
      : report->excluded->len ? &g_array_index(report->excluded, OrrSweepExclusion, 0)
                              : NULL;
  return orr_fault_set(error, ORR_FAULT_DOCUMENT,
                       "no layout of %" G_GUINT64_FORMAT " works; most: %s", report->n_combinations,
                       reason ? reason->reason : "nothing was simulated");
}

/* Before the search: both files can be written, and the sweep can be read back. */
static gboolean check_files(const char *file, const char *best_file, GError **error) {
  if (!orr_verb_plan_check(file, error) || !orr_verb_plan_check(best_file, error)) return FALSE;
  if (!g_file_test(file, G_FILE_TEST_EXISTS) || g_file_test(file, G_FILE_TEST_IS_REGULAR))
    return TRUE;
  return orr_fault_set(error, ORR_FAULT_USAGE,
                       "-o %s: the sweep is read from it, so a regular file is needed", file);
}

/* Prints the answer before the best point's scenario is written. */
static gboolean answer(OrrLibrary *library, Plan *plan, const char *file, const char *db,
                       GError **error) {
  if (!simulate_best(library, plan, file, error)) return FALSE;
  orr_terminal_outlive_reader();
  if (orr_options.json)
    print_json(library, plan, file);
  else
    print_text(library, plan, file, db);
  fflush(stdout);
  return orr_file_write(plan->best_file, plan->best_text, -1, error);
}

static int submit(OrrLibrary *library, const char *file, const char *db, GError **error) {
  const OrrSweepOrder order = {.file = file, .db = db};
  if (!orr_sweep_slurm_submit(library, &order, error)) return 1;
  g_autoptr(OrrSlurmStatus) status = orr_sweep_slurm_status(db, error);
  if (!status) return 1;
  orr_summary_slurm_print(status, db);
  printf("when it is complete, the same command without --executor prints the answer from %s\n",
         db);
  return 0;
}

static int run(OrrLibrary *library, char **args, GError **error) {
  OrrPlanTraining asked;
  const char *file = orr_options.output ? orr_options.output : "plan.yaml";
  const char *db = orr_options_database();
  if (!orr_cli_check_args(args, 0, 0, "plan training takes options only", error) ||
      !orr_verb_plan_read(&asked, error))
    return 2;
  asked.gpus = n_gpus;
  if (n_gpus < 1) {
    g_set_error(error, ORR_FAULT, ORR_FAULT_USAGE, "plan training needs --gpus N, 1 or more");
    return 2;
  }
  g_autofree char *best_file = best_file_of(file);
  if (!check_files(file, best_file, error)) return 2;
  g_autofree char *text = orr_plan_training_text(library, &asked, error);
  gboolean is_slurm = FALSE;
  if (!text || !orr_plan_slurm_asked(executor, db, &is_slurm, error) ||
      !orr_verb_plan_set(&text, orr_options.settings, file, error) ||
      !orr_file_write(file, text, -1, error))
    return 2;
  if (is_slurm) return submit(library, file, db, error);
  g_autoptr(OrrSweepReport) report = orr_verb_plan_sweep(library, file, db, NULL, error);
  if (!report || !check_found(report, error)) return 1;
  char *note = orr_plan_training_batch_note(&asked, text, orr_options.settings);
  if (note) g_ptr_array_add(report->caveats, note);
  Plan plan = {.report = report, .best_file = best_file};
  const gboolean is_done = answer(library, &plan, file, db, error);
  ORR_FREE(plan.best_text, plan.launch);
  if (plan.unsaid) g_ptr_array_unref(plan.unsaid);
  orr_study_free(plan.answers, plan.n);
  return is_done ? 0 : 1;
}

const OrrCommand orr_verb_plan_training = {
    .verb = "training",
    .sentence = "Which layout trains a model fastest on a number of GPUs.",
    .usage = "--model NAME --cluster NAME --gpus N [--sequence N] [--batch-tokens N] [-o FILE]",
    .more =
        "Tensor, pipeline, context and expert parallelism, chunks of a stage, micro-batches and "
        "recomputation are searched (context parallelism as long as each GPU has 4,096 tokens of "
        "a sequence); layouts that a lower bound rules out are not simulated. The fastest layout "
        "whose memory fits is chosen: where measured runs say how far off memory is, by the upper "
        "end of its error band. The search is a "
        "sweep: the file that -o names has it, to be changed and run again, and its points are in "
        "the database.",
    .options = options,
    .run = run,
};

/*
 * verb_run.c - orrery run FILE: simulates a scenario, stores the run and prints a summary.
 */
#include <glib/gstdio.h>
#include <signal.h>
#include <unistd.h>

#include "sim/bands/band.h"
#include "sim/bands/inputs.h"
#include "sim/bands/own_rows.h"
#include "sim/base/json_write.h"
#include "sim/base/memory.h"
#include "sim/base/paths.h"
#include "sim/base/number.h"
#include "sim/base/settings.h"
#include "sim/base/yaml.h"
#include "sim/cli/documents.h"
#include "sim/cli/summary.h"
#include "sim/plan/plan.h"
#include "sim/run/scenario_stack.h"
#include "sim/validate/validate.h"

static char *trace;
static char *spans, *band, *memory, *label, *measured;
static gboolean from_launch, narrow;
static gint n_samples = -1;

/* --spans auto stores no longer time line: a span takes about 100 bytes. */
#define MANY_SPANS 250000

static const GOptionEntry options[] = {
    ORR_OPTION_SET("workload.parallel.tp=4"),
    ORR_OPTION_DB("the run"),
    ORR_OPTION(0, STRING, "label", label, "TEXT",
               "Call the run TEXT in 'orrery db log' (default: its differences from runs of the "
               "same name)"),
    ORR_OPTION_JSON("the result as one JSON object"),
    ORR_OPTION_TEXT(
        "spans", spans, "WHICH",
        "Store the time line: all, none, or auto (default: only if it has at most 250,000 spans)"),
    ORR_OPTION_TEXT("trace", trace, "FILE",
                    "Write the time line for Perfetto (Trace Event Format); NAME.et: a training "
                    "step as Chakra traces of its ranks; NAME.goal: as a schedule in GOAL; "
                    "NAME.txt: as layers for ASTRA-sim 1 and SimAI; NAME.cm: its flows for htsim"),
    ORR_OPTION(0, STRING, "band", band, "LEVEL",
               "Fraction of measurements that an error band holds (default: 80 %)"),
    ORR_OPTION_TEXT(
        "rows", measured, "FILE.csv",
        "Narrow error bands by rows that were measured on this machine: columns are "
        "paths of the scenario, label and measured.METRIC, or as 'import bench' writes them"),
    ORR_OPTION_FLAG("narrow", narrow,
                    "Also print which measured rows would narrow the error bands most"),
    ORR_OPTION(
        0, STRING, "memory", memory, "SIZE",
        "Refuse a replay that would take more, e.g. 16GiB (default: half of the machine's memory)"),
    ORR_OPTION_INT(
        "samples", n_samples,
        "Replays with other values of uncertain inputs (default: 8, and 2 per input); 0: none"),
    ORR_OPTION_JOBS("Replays of uncertain inputs at once (default: one per core)"),
    ORR_OPTION_FLAG(
        "from-launch", from_launch,
        "FILE is a launch line or a config, as for 'import launch'; --set can set its variables"),
    ORR_FROM_LAUNCH_ENTRIES,
    {NULL},
};

/* Moves the settings of a script's variables out of `settings`. Newly allocated. */
static char **split_variables(void) {
  g_autoptr(GStrvBuilder) variables = g_strv_builder_new();
  g_autoptr(GStrvBuilder) others = g_strv_builder_new();
  for (char **setting = orr_options.settings; setting && *setting; setting++)
    g_strv_builder_add(orr_from_launch_is_variable(*setting) ? variables : others, *setting);
  g_strfreev(orr_options.settings);
  orr_options.settings = g_strv_builder_end(others);
  return g_strv_builder_end(variables);
}

/* Warnings that reading the scenario and measured rows has printed: the answer has them, too. */
static GPtrArray *said; /* of char * */

/* The unread scenario of a launch line. NULL with @error. */
static OrrNode *launch_tree(OrrLibrary *library, char *file, OrrDiags *diags, GError **error) {
  char *files[] = {file, NULL};
  g_auto(GStrv) variables = split_variables();
  orr_from_launch_asked.variables = variables;
  g_autofree char *text = orr_from_launch_text(library, files, FALSE, said, error);
  g_autofree char *placed = text ? orr_relative_text(text, file) : NULL;
  return text ? orr_yaml_parse(placed, strlen(placed), file, diags) : NULL;
}

/* Reads the scenario and applies the settings of the command line. NULL with @error, or with errors
 * in @diags. */
static OrrScenario *read_scenario(OrrLibrary *library, char *file, OrrNode **ret_tree,
                                  OrrDiags *diags, GError **error) {
  OrrNode *tree = *ret_tree = from_launch ? launch_tree(library, file, diags, error)
                                          : orr_scenario_tree(library, file, diags);
  if (!tree || !orr_settings_apply(&orr_scenario_table, tree, orr_options.settings, error))
    return NULL;
  return orr_scenario_read(library, tree, diags);
}

/* Appends `, "ttft_s": {"mean": ..., "p50": ...}`: members that belong together. */
static void add_groups(GString *out, const OrrOutcome *outcome) {
  for (const OrrResultGroup *group = outcome->kind->groups; group && group->name; group++) {
    const double *values =
        (const double *)(const void *)((const char *)&outcome->result + group->offset);
    orr_json_write_object(out, group->name);
    for (guint i = 0; group->members[i]; i++)
      orr_json_write_number(out, group->members[i], values[i]);
    g_string_append_c(out, '}');
  }
}

static void print_json(const OrrScenario *scenario, const OrrOutcome *outcome) {
  g_autoptr(GString) out = g_string_new("{");
  const OrrFieldTable *details = outcome->kind->details; /* the rows behind the result */
  orr_json_write_text(out, "stack", orr_scenario_stack_name(&scenario->workload));
  orr_json_write_members(out, outcome->kind->result, &outcome->result);
  add_groups(out, outcome);
  orr_summary_band_json(out, outcome);
  if (details)
    orr_json_write_rows(out, details->name, details, orr_outcome_rows(outcome, details), "\n  ");
  orr_summary_tasks_json(out, outcome);
  orr_summary_inputs_json(out, outcome);
  orr_summary_network_json(out, outcome);
  orr_summary_faults_json(out, outcome);
  orr_json_write_texts(out, "warnings", (char *const *)outcome->warnings->pdata,
                       outcome->warnings->len);
  printf("%s}\n", out->str);
}

static gboolean has_many_spans(const OrrOutcome *outcome) {
  return g_str_equal(spans, "auto") && outcome->spans->len > MANY_SPANS;
}

static void warn_of_spans(OrrOutcome *outcome) {
  if (!has_many_spans(outcome)) return;
  g_autofree char *count = orr_show_count(outcome->spans->len);
  g_ptr_array_add(
      outcome->warnings,
      g_strdup_printf("the time line of %s spans is not stored; --spans all stores it", count));
}

/* Refuses to overwrite input files. Runs twice: before the simulation, for the scenario and its
 * documents, and before writing the trace, for the files that the simulation has read. */
static gboolean check_paths(const char *file, GError **error) {
  const OrrPath paths[] = {{"the scenario", file, ORR_PATH_READ, FALSE},
                           {"--db", orr_options_database(), ORR_PATH_WRITTEN, TRUE},
                           {"--trace", trace, ORR_PATH_WRITTEN, FALSE}};
  return orr_paths_check(paths, G_N_ELEMENTS(paths), error);
}

/* The time line, or the format of another tool that the name asks for. */
static gboolean write_trace(OrrLibrary *library, const OrrOutcome *outcome,
                            const OrrScenario *scenario, GError **error) {
  return orr_exchange_is_asked(trace) ? orr_exchange_write(library, scenario, trace, error)
                                      : orr_outcome_trace(outcome, trace, error);
}

/* Stores the run and writes the trace; runs when the answer is printed, since both can fail (a full
 * disk). Each is tried, whatever becomes of the other. */
static gboolean keep(OrrLibrary *library, OrrOutcome *outcome, const OrrScenario *scenario,
                     const char *file, OrrStore *store, gint64 *ret_run_id, GError **error) {
  const gboolean is_traced =
      !trace || (check_paths(file, error) && write_trace(library, outcome, scenario, error));
  if (has_many_spans(outcome)) g_array_set_size(outcome->spans, 0);
  orr_outcome_label(outcome, label);
  return (!store || orr_outcome_store(outcome, scenario, file, store, ret_run_id,
                                      is_traced ? error : NULL)) &&
         is_traced;
}

static gboolean check_spans(GError **error) {
  static const char *const words[] = {"all", "auto", "none", NULL};
  if (!spans) spans = g_strdup("auto");
  if (g_strv_contains(words, spans)) return TRUE;
  return orr_fault_set(error, ORR_FAULT_USAGE, "--spans takes all, auto or none, found %s", spans);
}

static gboolean check_samples(GError **error) {
  if (n_samples < -1 || n_samples == 1 || n_samples > 10000)
    return orr_fault_set(
        error, ORR_FAULT_USAGE,
        "--samples takes 0 (no replays of uncertain inputs) or 2 to 10000, found %d", n_samples);
  return orr_options_check_jobs(error);
}

static gboolean set_memory(GError **error) {
  double bytes = 0;
  if (!memory) return TRUE;
  if (orr_quantity_parse(memory, ORR_UNIT_BYTES, &bytes, NULL) && bytes > 0) {
    orr_memory_set_limit(bytes);
    return TRUE;
  }
  return orr_fault_set(error, ORR_FAULT_USAGE,
                       "--memory takes a size above 0, such as 16GiB or 500MB, found %s", memory);
}

typedef struct {
  OrrProgress *progress;
  guint n;
} Replaying;

static void show_replays(guint n_done, void *user) {
  const Replaying *replaying = user;
  orr_progress_update(replaying->progress, n_done, replaying->n);
}

typedef OrrInputs *Replay(OrrLibrary *library, const OrrNode *tree, const OrrScenario *scenario,
                          const OrrInputsHow *how);

static OrrInputs *replay_with(Replay *replay, const char *what, OrrLibrary *library,
                              const OrrNode *tree, const OrrScenario *scenario) {
  const guint n = n_samples < 0 ? orr_inputs_samples(scenario) : (guint)n_samples;
  Replaying replaying = {orr_progress_new(what, FALSE), n};
  const OrrInputsHow how = {.samples = n,
                            .jobs = (guint)orr_options.n_jobs,
                            .progress = show_replays,
                            .user = &replaying};
  OrrInputs *inputs = replay(library, tree, scenario, &how);
  orr_progress_free(replaying.progress);
  return inputs;
}

/* Replays with other values of the uncertain inputs; NULL where there are none. Comes before the
 * run itself, which uses up this process's SimGrid engine. */
static OrrInputs *replay_inputs(OrrLibrary *library, const OrrNode *tree,
                                const OrrScenario *scenario) {
  if (scenario->uncertain->len == 0 || n_samples == 0) return NULL;
  return replay_with(orr_inputs_replay, "uncertain inputs", library, tree, scenario);
}

/* The run may take this long, and its draws as long each; else a warning says what they would. */
static const double most_s_of_draws = 10;

/* Replays with other seeds where the answer is one draw among many; NULL where it is not. */
static OrrInputs *replay_seeds(OrrLibrary *library, const OrrNode *tree,
                               const OrrScenario *scenario, OrrOutcome *outcome) {
  const OrrServingResult *result = &outcome->result.serving;
  if (!orr_inputs_is_chance(scenario, outcome)) return NULL;
  if (scenario->uncertain->len == 0 && n_samples != 0 && outcome->wall_time_s < most_s_of_draws)
    return replay_with(orr_inputs_replay_seeds, "other seeds", library, tree, scenario);
  g_ptr_array_add(
      outcome->warnings,
      g_strdup_printf("chance alone moves the means: standard errors of ttft %.0f %%, of e2e "
                      "%.0f %%; more requests, or metrics.window: steady, lessen it",
                      100 * result->ttft_stderr_s / result->ttft.mean,
                      100 * result->e2e_stderr_s / result->e2e.mean));
  return NULL;
}

/* The level of --band. */
static gboolean read_level(double *ret_level, GError **error) {
  *ret_level = ORR_BAND_LEVEL;
  if (!band) return TRUE;
  if (orr_quantity_parse(band, ORR_UNIT_FRACTION, ret_level, NULL) && *ret_level > 0 &&
      *ret_level < 1)
    return TRUE;
  return orr_fault_set(error, ORR_FAULT_USAGE,
                       "--band takes a level between 0 and 1, such as 0.8 or '80 %%', found %s",
                       band);
}

/* --- Own rows --- */

static gboolean check_own(GError **error) {
  if (!narrow || !orr_options.json) return TRUE;
  return orr_fault_set(error, ORR_FAULT_USAGE, "--narrow prints text: give it without --json");
}

/* Measurements this many times above or below the simulation are in another unit, or of another
 * machine. */
static const double absurd = 20;

static void warn_of_absurd(const OrrValidation *own) {
  ORR_EACH(const OrrValidationRow, row, own->rows) {
    const double ratio = row->measured / row->simulated;
    if (ratio < absurd && ratio > 1 / absurd) continue;
    char *text =
        g_strdup_printf("%s:%ld: %s is %.4g measured and %.4g simulated: is it in the same unit "
                        "(seconds, bytes, tokens), and of this scenario?",
                        measured, row->row, row->metric, row->measured, row->simulated);
    orr_show_problem("warning: %s", text);
    g_ptr_array_add(said, text);
  }
}

/* Simulates the rows of --rows as changes of the scenario, each in its own process. NULL with
 * @error, also where no row can be simulated. */
static OrrValidation *simulate_own(OrrLibrary *library, const OrrNode *tree, const char *file,
                                   GError **error) {
  const OrrValidateOrder order = {
      .set = file, .tree = tree, .rows_csv = measured, .jobs = (guint)orr_options.n_jobs};
  g_autoptr(OrrValidation) own = orr_validate(library, &order, error);
  if (!own) return NULL;
  ORR_EACH(const OrrValidationRefusal, one, own->refusals)
    orr_show_problem("%s:%ld: the row does not speak: %s", measured, one->row, one->reason);
  warn_of_absurd(own);
  if (own->residuals->rows->len > 0) return g_steal_pointer(&own);
  return orr_fault_null(error, ORR_FAULT_USAGE, "%s: no row narrows a band", measured);
}

/* Why no rows can be named that would narrow the bands; NULL: some can. */
static const char *why_no_advice(const OrrOutcome *outcome) {
  const OrrLikenessRow *likeness = (const OrrLikenessRow *)(const void *)outcome->likenesses->data;
  if (outcome->likenesses->len == 0) return "results of this kind have no rows of their own";
  const char *reason = "results of this kind have no bands";
  ORR_EACH(const OrrBandRow, row, outcome->bands) {
    if (isfinite(row->low))
      return orr_own_rows_is_tested(likeness->kind)
                 ? NULL
                 : "too few runs of one campaign were measured to test how much more runs would "
                   "narrow them";
    reason = row->reason;
  }
  return reason;
}

/* What to measure, the best first. */
static void print_advice(const OrrOutcome *outcome) {
  const char *why = why_no_advice(outcome);
  if (why) {
    printf("  measure       nothing is known to narrow these bands: %s\n", why);
    return;
  }
  g_autoptr(GArray) advice =
      orr_own_rows_advice(&g_array_index(outcome->likenesses, OrrLikenessRow, 0));
  ORR_EACH_AT(i, const OrrOwnAdvice, one, advice)
    printf("  %-12s  %s on this machine: bands of %.0f %% of their width\n",
           i == 0 ? "measure" : "", one->text, 100 * one->width);
}

/* Comes before what stores the run: an answer is not lost on a full disk. The summary does not
 * repeat warnings that stderr has; JSON and the database have all. */
static void print_answer(const OrrScenario *scenario, OrrOutcome *outcome) {
  warn_of_spans(outcome);
  g_autofree char *text = orr_options.json ? NULL : orr_summary_text(scenario, outcome);
  g_ptr_array_extend_and_steal(outcome->warnings, g_steal_pointer(&said));
  orr_terminal_outlive_reader();
  if (text)
    fputs(text, stdout);
  else
    print_json(scenario, outcome);
  fflush(stdout);
}

static int run_jobs(OrrLibrary *library, const OrrScenario *scenario, const char *file,
                    OrrStore *store, const char *path, double level, GError **error) {
  if (trace) {
    g_set_error(error, ORR_FAULT, ORR_FAULT_USAGE,
                "--trace is for one workload; a scenario of jobs stores the spans of each job in "
                "the database");
    return 2;
  }
  const OrrRunJobs how = {.file = file,
                          .store = store,
                          .database = path,
                          .as_json = orr_options.json,
                          .keep_spans = store && !g_str_equal(spans, "none"),
                          .many_spans = g_str_equal(spans, "auto") ? MANY_SPANS : 0,
                          .label = label,
                          .level = level,
                          .said = said};
  return orr_run_jobs(library, scenario, &how, error);
}

/* Refuses options of launch lines for a scenario. */
static gboolean check_launch(GError **error) {
  const OrrLaunchOptions *asked = &orr_from_launch_asked;
  const gboolean is_asked = asked->cluster || asked->model || asked->stack || asked->gpus ||
                            asked->nodes || asked->choice;
  if (from_launch || !is_asked) return TRUE;
  return orr_fault_set(
      error, ORR_FAULT_USAGE,
      "--cluster, --gpus, --nodes, --model, --stack and --choose are for --from-launch; a "
      "scenario is changed by --set, e.g. --set cluster.nodes=4");
}

/* --- What would fit --- */

/* Their replays end after MOST_REMEDIES_S, or after as long as the run took if that was longer. */
enum { MOST_REMEDIES = 5, MOST_REMEDIES_S = 10 };

static volatile sig_atomic_t is_skipped;

static void skip(int signal_number) { is_skipped = 1; }

static gboolean is_skipping(void *user) { return is_skipped != 0; }

static gboolean is_too_large(const OrrOutcome *outcome) {
  return outcome->kind->result == &orr_training_result_table && !outcome->result.training.fits;
}

static void show_remedies(guint n_done, guint n, void *user) {
  orr_progress_update(user, n_done, n);
}

/* Ctrl-C ends the replays, not the command, whose answer is printed and stored. */
static GPtrArray *find_remedies(OrrLibrary *library, const OrrNode *tree,
                                const OrrScenario *scenario, double run_s, guint *ret_n_tried) {
  const struct sigaction action = {.sa_handler = skip};
  struct sigaction before;
  g_autoptr(OrrProgress) progress =
      orr_progress_new("looking for changes that would fit (Ctrl-C skips)", FALSE);
  const OrrPlanPatience watch = {MAX(run_s, MOST_REMEDIES_S), show_remedies, is_skipping, progress};
  sigaction(SIGINT, NULL, &before);
  if (before.sa_handler != SIG_IGN) sigaction(SIGINT, &action, NULL);
  fflush(stdout);
  GPtrArray *remedies = orr_plan_remedy_list(library, tree, scenario, &watch, ret_n_tried);
  sigaction(SIGINT, &before, NULL);
  return remedies;
}

static void print_untimed(const OrrScenario *scenario) {
  if (orr_cluster_n_gpus(&scenario->cluster) > ORR_PLAN_REMEDY_MOST_GPUS)
    printf("                steps are not replayed on more than %d GPUs: run one with --set\n",
           ORR_PLAN_REMEDY_MOST_GPUS);
  else
    printf("                replays were %s: run a change that has no step with --set\n",
           is_skipped ? "skipped" : "stopped, since they took longer than the run");
}

static void print_remedies(OrrLibrary *library, const OrrNode *tree, const OrrScenario *scenario,
                           double run_s) {
  guint n_tried = 0;
  gboolean are_timed = TRUE;
  g_autoptr(GPtrArray) remedies = find_remedies(library, tree, scenario, run_s, &n_tried);
  if (remedies->len == 0)
    printf("  would fit     no change of %u that were tried: more GPUs\n", n_tried);
  for (guint i = 0; i < MIN(remedies->len, MOST_REMEDIES); i++) {
    const OrrPlanRemedy *remedy = remedies->pdata[i];
    g_autofree char *text = orr_plan_remedy_text(remedy);
    g_autofree char *peak = orr_quantity_format(remedy->memory_bytes, ORR_UNIT_BYTES);
    g_autofree char *step = orr_quantity_format(remedy->iteration_s, ORR_UNIT_SECONDS);
    const gboolean is_timed = remedy->iteration_s > 0;
    are_timed = are_timed && is_timed;
    printf("  %s %s: %s%s%s\n", i ? "             " : "would fit    ", text, is_timed ? step : "",
           is_timed ? " per step, " : "", peak);
  }
  if (!are_timed) print_untimed(scenario);
}

/* After the findings of a scenario that was refused: what would fit, of serving. */
static void offer_serving(OrrLibrary *library, const OrrNode *tree, const OrrDiags *diags) {
  g_autofree char *findings = orr_diags_text(diags);
  g_autoptr(OrrDiags) own = orr_diags_new();
  if (!tree || orr_options.json || !orr_plan_remedy_is_serving(findings)) return;
  g_autoptr(OrrScenario) scenario = orr_scenario_read_fields(library, tree, own);
  guint n_tried = 0;
  if (!scenario || strcmp(scenario->workload.entry->name, "serving") != 0) return;
  g_autoptr(GPtrArray) remedies = orr_plan_remedy_serving_list(library, tree, scenario, &n_tried);
  if (remedies->len == 0)
    printf("  would fit     no change of %u that were replayed: a larger device\n", n_tried);
  for (guint i = 0; i < MIN(remedies->len, MOST_REMEDIES); i++) {
    const OrrPlanRemedy *remedy = remedies->pdata[i];
    g_autofree char *text = orr_plan_remedy_text(remedy);
    g_autofree char *ttft = orr_quantity_format(remedy->ttft_s, ORR_UNIT_SECONDS);
    g_autofree char *tpot = orr_quantity_format(remedy->tpot_s, ORR_UNIT_SECONDS);
    printf("  %s %s, %ld GPU%s: ttft %s, tpot %s%s\n", i ? "             " : "would fit    ", text,
           remedy->gpus, remedy->gpus > 1 ? "s" : "", ttft, tpot,
           remedy->is_slow ? "; it falls behind the load" : "");
  }
}

/* Whether FILE and --set make the same run again, with the same bands. */
static gboolean repeats_by_settings(void) {
  return !from_launch && !band && !measured && !memory && !orr_options.has_library;
}

static int run(OrrLibrary *library, char **args, GError **error) {
  const char *path = orr_options_database();
  double level;
  if (!orr_cli_check_args(args, 1, 1,
                          "run takes one scenario: a file, or a name from 'orrery list scenarios'",
                          error) ||
      !check_launch(error) || !check_spans(error) || !check_samples(error) || !set_memory(error) ||
      !read_level(&level, error) || !check_own(error))
    return 2;
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_autoptr(OrrNode) tree = NULL;
  said = g_ptr_array_new_with_free_func(g_free);
  g_autoptr(OrrScenario) scenario = read_scenario(library, args[0], &tree, diags, error);
  orr_show_diags_kept(diags, said);
  if (!scenario) offer_serving(library, tree, diags);
  if (!scenario || !check_paths(args[0], error)) return 2;
  g_autoptr(OrrStore) store = NULL;
  if (!orr_options_open(path, &store, error)) return 1;
  if (measured && orr_scenario_has_jobs(scenario)) {
    g_set_error(error, ORR_FAULT, ORR_FAULT_USAGE, "--rows is for one workload, not for jobs");
    return 2;
  }
  if (orr_scenario_has_jobs(scenario)) {
    const int status = run_jobs(library, scenario, args[0], store, path, level, error);
    if (status && error) orr_scenario_locate(tree, *error);
    return status;
  }
  g_autoptr(OrrValidation) own = measured ? simulate_own(library, tree, args[0], error) : NULL;
  if (measured && !own) return 2;
  g_autoptr(OrrInputs) inputs = replay_inputs(library, tree, scenario);
  OrrProgress *progress = orr_progress_new("simulating", TRUE);
  g_autoptr(OrrOutcome) outcome =
      orr_simulate(library, scenario, trace || (store && !g_str_equal(spans, "none")), error);
  orr_progress_free(progress);
  gint64 run_id = 0;
  if (!outcome && error) orr_scenario_locate(tree, *error);
  if (outcome) orr_bands_add_own(library, scenario, outcome, level, own ? own->residuals : NULL);
  g_autoptr(OrrInputs) seeds = outcome ? replay_seeds(library, tree, scenario, outcome) : NULL;
  if (outcome && (inputs || seeds)) orr_inputs_add(inputs ? inputs : seeds, outcome);
  if (outcome && seeds) orr_inputs_widen(outcome);
  if (!outcome) return 1;
  print_answer(scenario, outcome);
  if (narrow) print_advice(outcome);
  const gboolean is_kept = keep(library, outcome, scenario, args[0], store, &run_id, error);
  g_autofree char *stored = orr_summary_stored(outcome, repeats_by_settings() ? args[0] : NULL,
                                               store ? orr_store_path(store) : NULL, run_id);
  if (!orr_options.json && (is_kept || run_id > 0)) fputs(stored, stdout);
  if (!is_kept) return 1;
  if (!orr_options.json && is_too_large(outcome))
    print_remedies(library, tree, scenario, outcome->wall_time_s);
  return orr_patience_end_store(path, store);
}

const OrrCommand orr_verb_run = {
    .verb = "run",
    .group = "Ask",
    .sentence = "Simulate a scenario, store the run and print a summary.",
    .usage =
        "FILE [--set PATH=VALUE]... [--db FILE] [--label TEXT] [--spans WHICH] [--json] [--trace "
        "FILE] "
        "[--memory SIZE] [--band LEVEL] [--rows FILE.csv] [--narrow] [--samples "
        "N] [-j N]\n"
        "       orrery run --from-launch FILE --cluster NAME [--gpus N] [--set VAR=VALUE]... ...",
    .more =
        "FILE is a scenario's file, or its name in the library. The database is created if "
        "needed; each run is added whole or not at all. If another process keeps the database "
        "locked for one minute (or ORRERY_LOCK_WAIT), the result is printed, the run is stored "
        "in FILE.kept-N, which 'orrery db merge' merges, and the exit status is 1. Numbers that "
        "the scenario marks as uncertain, {value: 4, low: 3, high: 5}, are propagated by "
        "replays with other values of them.",
    .options = options,
    .run = run,
};

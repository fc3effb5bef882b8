/*
 * verb_validate.c - orrery validate [SET...]: simulates published measurements and prints the
 * errors.
 */
#include "sim/base/paths.h"
#include "sim/cli/cli.h"
#include "sim/cli/verb_validate.h"
#include "sim/validate/validate_costs.h"

static char *rows_csv, *profile, *residuals_folder, *leave;
static gboolean wants_bands;
static gint n_pairs = 400;

static const GOptionEntry options[] = {
    ORR_OPTION_TEXT("rows", rows_csv, "FILE.csv",
                    "Simulate the rows of FILE.csv instead of the set's own"),
    ORR_OPTION_TEXT("profile", profile, "NAME", "Sets of costs: query only this profile"),
    ORR_OPTION_JSON("one JSON object"),
    ORR_OPTION_DB("the comparison"),
    ORR_OPTION_JOBS("Rows to simulate at once (default: one per core)"),
    ORR_OPTION_FLAG(
        "bands", wants_bands,
        "Test the error bands instead: ask each measured answer for its band, without replays"),
    ORR_OPTION_TEXT(
        "leave", leave, "WHAT",
        "Bands: the rows that are left out when an answer is judged: its set (default), its row, "
        "all rows of its model, stack, device or cluster, or nothing (default with --rows)"),
    ORR_OPTION_INT("pairs", n_pairs,
                   "Bands: pairs of each set that are asked for the band of their ratio, at most "
                   "(default: 400)"),
    ORR_OPTION_TEXT(
        "residuals", residuals_folder, "FOLDER",
        "Write the residuals behind error bands into FOLDER; needs all sets (make residuals)"),
    {NULL},
};

static const OrrValidationRefusal *refusal_at(const OrrValidation *validation, guint i) {
  return &g_array_index(validation->refusals, OrrValidationRefusal, i);
}

static void show_progress(guint done, guint total, void *user) {
  orr_progress_update(user, done, total);
}

static GError *not_stored; /* why comparisons are not stored: they are printed all the same */

static OrrValidation *validate_one(OrrLibrary *library, const char *set, OrrStore *store,
                                   GError **error) {
  g_autoptr(OrrProgress) progress = orr_progress_new(set, FALSE);
  const OrrValidateOrder order = {.set = set,
                                  .rows_csv = rows_csv,
                                  .profile = profile,
                                  .jobs = (guint)orr_options.n_jobs,
                                  .store = not_stored ? NULL : store,
                                  .lost = &not_stored,
                                  .progress = show_progress,
                                  .user = progress};
  return orr_validate_costs_is(library, set) ? orr_validate_costs(library, &order, error)
                                             : orr_validate(library, &order, error);
}

/* Merges the sets of scenarios into one. Sets of costs stay separate, since they have a thousand
 * times more rows. The merged rows are flat copies: the sets own their members. */
static void merge(GPtrArray *validations, OrrValidation *ret_all) {
  *ret_all = (OrrValidation){.set_name = (char *)"all",
                             .rows = g_array_new(FALSE, FALSE, sizeof(OrrValidationRow)),
                             .refusals = g_array_new(FALSE, FALSE, sizeof(OrrValidationRefusal))};
  ORR_EACH_POINTER(const OrrValidation, one, validations) {
    if (one->costs->len > 0) continue;
    g_array_append_vals(ret_all->rows, one->rows->data, one->rows->len);
    g_array_append_vals(ret_all->refusals, one->refusals->data, one->refusals->len);
  }
  orr_validation_summarise(ret_all);
}

/* The number of sets of scenarios. */
static guint count_replayed(const GPtrArray *validations) {
  guint n = 0;
  for (guint i = 0; i < validations->len; i++)
    n += ((const OrrValidation *)validations->pdata[i])->costs->len == 0;
  return n;
}

/* 1 when the simulation of a row failed, and names the first such row; a refused row is not a
 * failure. */
static int status_of(const OrrValidation *all) {
  const OrrValidationRefusal *first = NULL;
  guint n = 0;
  for (guint i = 0; i < all->refusals->len; i++) {
    if (!refusal_at(all, i)->failed) continue;
    if (n++ == 0) first = refusal_at(all, i);
  }
  if (first)
    orr_show_problem("%u row%s failed; %s (line %ld): %s", n, n == 1 ? "" : "s", first->label,
                     first->row, first->reason);
  return first ? 1 : 0;
}

/* Says so where the stored residuals are not what the set gives now. */
static void report_stored(OrrLibrary *library, const OrrValidation *validation) {
  if (rows_csv || residuals_folder) return;
  g_autofree char *difference = orr_validate_stored_difference(library, validation);
  if (difference) orr_show_problem("%s", difference);
}

/* Writes the residuals of all sets. Where a row failed nothing is written: bands would lose it. */
static int write_residuals(const GPtrArray *validations, int status, GError **error) {
  g_autofree char *lost =
      status == 0 ? orr_validate_stored_lost(validations, residuals_folder) : NULL;
  if (lost) orr_show_problem("%s", lost);
  if (status == 0 && !orr_validate_stored_write(validations, residuals_folder, error)) return 1;
  if (status != 0) orr_show_problem("nothing is written to %s", residuals_folder);
  return status;
}

static int validate_sets(OrrLibrary *library, const char *group, char **sets, OrrStore *store,
                         GError **error) {
  g_autoptr(GPtrArray) validations =
      g_ptr_array_new_with_free_func((GDestroyNotify)orr_validation_free);
  OrrValidation all;
  g_auto(GStrv) computed = orr_validation_group(library, "training-computed");
  g_auto(GStrv) without = orr_validation_group(library, "without-bands");
  for (char **set = sets; *set; set++) {
    if (residuals_folder && (orr_validate_costs_is(library, *set) ||
                             g_strv_contains((const char *const *)computed, *set) ||
                             g_strv_contains((const char *const *)without, *set)))
      continue; /* bands speak of measured scenarios that the model has not seen */
    OrrValidation *validation = validate_one(library, *set, store, error);
    if (!validation) return 2;
    g_ptr_array_add(validations, validation);
    if (!orr_options.json && !group) orr_summary_validate_set(validation);
    fflush(stdout);
    report_stored(library, validation);
  }
  merge(validations, &all);
  if (orr_options.json)
    orr_summary_validate_json(validations, &all);
  else if (group) {
    orr_validate_group_print(group, validations);
    orr_summary_validate_assumed(&all);
  } else if (count_replayed(validations) > 1)
    orr_summary_validate_all(&all, count_replayed(validations));
  int status = status_of(&all);
  if (residuals_folder) status = write_residuals(validations, status, error);
  g_array_unref(all.rows);
  g_array_unref(all.refusals);
  return status;
}

/* Refuses a misspelt set before any set runs. */
static gboolean check_sets(OrrLibrary *library, char **sets, GError **error) {
  g_auto(GStrv) known = orr_validation_sets(library);
  for (char **set = sets; *set; set++) {
    g_autofree char *path = orr_validation_path(library, *set);
    if (!path) {
      orr_cli_unknown("validation set", *set, (const char *const *)known, error);
      return FALSE;
    }
  }
  return TRUE;
}

static gboolean check_options(char **args, GError **error) {
  if (rows_csv && g_strv_length(args) != 1)
    return orr_fault_set(error, ORR_FAULT_USAGE,
                         "--rows needs one SET, whose scenario simulates the rows");
  if (residuals_folder && args[0])
    return orr_fault_set(error, ORR_FAULT_USAGE,
                         "--residuals takes all sets: give no GROUP and no SET");
  if (residuals_folder && !g_file_test(residuals_folder, G_FILE_TEST_IS_DIR))
    return orr_fault_set(error, ORR_FAULT_USAGE, "--residuals takes a folder, found %s",
                         residuals_folder);
  if (residuals_folder && wants_bands)
    return orr_fault_set(error, ORR_FAULT_USAGE,
                         "--residuals writes what --bands reads: give one of them");
  if (leave && !wants_bands) return orr_fault_set(error, ORR_FAULT_USAGE, "--leave needs --bands");
  if (n_pairs < 0)
    return orr_fault_set(error, ORR_FAULT_USAGE, "--pairs takes a number from 0, found %d",
                         n_pairs);
  return orr_options_check_jobs(error) &&
         orr_verb_validate_bands_check(leave, rows_csv != NULL, error);
}

static gboolean check_paths(const char *db, GError **error) {
  const OrrPath paths[] = {{"--rows", rows_csv, ORR_PATH_READ, FALSE},
                           {"--db", db, ORR_PATH_WRITTEN, TRUE},
                           {"--residuals", residuals_folder, ORR_PATH_WRITTEN, FALSE, TRUE}};
  return orr_paths_check(paths, G_N_ELEMENTS(paths), error);
}

/* Asks for the bands of the sets' shipped residuals, or of the rows of --rows. */
static int test_bands(OrrLibrary *library, char **sets, GError **error) {
  g_autoptr(OrrValidation) rows = rows_csv ? validate_one(library, sets[0], NULL, error) : NULL;
  const OrrVerbValidateBands order = {.sets = sets,
                                      .rows = rows,
                                      .leave = leave,
                                      .n_pairs = (guint)n_pairs,
                                      .as_json = orr_options.json};
  if (rows_csv && !rows) return 2;
  const int status = orr_verb_validate_bands(library, &order, error);
  return rows ? MAX(status, status_of(rows)) : status;
}

static int run(OrrLibrary *library, char **args, GError **error) {
  const char *path = wants_bands ? NULL : orr_options_database();
  g_auto(GStrv) shipped =
      args[0] ? orr_validation_group(library, args[0]) : orr_validation_sets(library);
  const char *group = args[0] && shipped[0] && !args[1] ? args[0] : NULL;
  char **sets = args[0] && !group ? args : shipped;
  if (!check_options(args, error) || !check_sets(library, sets, error) || !check_paths(path, error))
    return 2;
  if (wants_bands) return test_bands(library, sets, error);
  g_autoptr(OrrStore) store = NULL;
  if (!orr_options_open(path, &store, error)) return 1;
  const int status = validate_sets(library, group, sets, store, error);
  if (not_stored && error && !*error)
    g_propagate_prefixed_error(error, not_stored, "not all is stored: ");
  return MAX(status, orr_patience_end_store(path, store));
}

const OrrCommand orr_verb_validate = {
    .verb = "validate",
    .group = "Compare",
    .sentence = "Simulate published measurements and print the errors of the simulation.",
    .usage = "[GROUP | SET...] [--rows FILE.csv] [--profile NAME] [--bands] [--json] [--db FILE] "
             "[-j N]",
    .more =
        "Without SET, validates all of 'orrery list validation-sets'. GROUP training validates "
        "the sets of training steps and prints one line per set. A row that the checks refuse "
        "is listed with its reason.\n"
        "Sets of costs (attention, collectives, gemm) leave whole shapes out of a profile and "
        "predict them from the rest; with --rows the profile predicts the kernels of the rows, "
        "and the errors are against their latency_us.\n"
        "--bands tests what error bands promise: each measured answer is asked for its band "
        "from the measured rows of all other sets, and the measurements inside are counted, "
        "next to a constant band made from the same rows (equal: widened or narrowed until it "
        "covers as many). Pairs of rows that differ in one axis are asked for the band of their "
        "ratio: how many are decided, and how often rightly. With --rows the rows of FILE.csv "
        "are replayed, and asked for their bands.",
    .options = options,
    .run = run,
};

/*
 * test_residuals.c - the files of residuals: what is written is read back, what is wrong is placed,
 * and the shipped ones belong to the shipped sets and this model.
 */
#include <glib/gstdio.h>
#include <math.h>
#include <string.h>

#include "sim/base/fault.h"
#include "sim/validate/validate_private.h"
#include "sim/validate/validate_costs.h"
#include "sim/validate/validate.h"

static const char *const kinds[] = {
    "training",           "serving",       "collectives",   "diffusion",
    "diffusion-training", "post-training", "recommendation"};
static OrrLibrary *library;
static char *folder;
static OrrResiduals *shipped[G_N_ELEMENTS(kinds)];

static char *path_of(const char *name) { return g_build_filename(folder, name, NULL); }

static const OrrResidual *row_at(const OrrResiduals *residuals, guint i) {
  return &g_array_index(residuals->rows, OrrResidual, i);
}

static OrrResiduals *read_text(const char *text, gssize length, GError **error) {
  g_autofree char *path = path_of("residuals.csv");
  g_assert_true(g_file_set_contents(path, text, length, NULL));
  return orr_residuals_read(path, error);
}

/* --- Reading and writing --- */

/* Every shipped file read and written is the same file, byte by byte. */
static void test_round_trip(void) {
  for (guint k = 0; k < G_N_ELEMENTS(kinds); k++) {
    g_autofree char *path = orr_residuals_path(library, kinds[k]);
    g_autofree char *copy = path_of("copy.csv"), *before = NULL, *after = NULL;
    g_autoptr(GError) error = NULL;
    g_assert_true(orr_residuals_write(shipped[k], kinds[k], copy, &error));
    g_assert_true(g_file_get_contents(path, &before, NULL, NULL));
    g_assert_true(g_file_get_contents(copy, &after, NULL, NULL));
    if (strcmp(before, after) != 0) g_error("%s is not as `make residuals` writes it", path);
  }
}

/* A label with a comma, a quote and a line end keeps to its cell; rows of another kind are left
 * out. */
static void test_labels(void) {
  g_autoptr(OrrResiduals) residuals = orr_residuals_new();
  g_autofree char *path = path_of("labels.csv");
  g_autoptr(GError) error = NULL;
  for (guint k = 0; k < 2; k++) {
    OrrResidual residual = *row_at(shipped[k], 0);
    residual.label = g_strdup("a, \"b\"\nc");
    g_array_append_val(residuals->rows, residual);
  }
  g_assert_true(orr_residuals_write(residuals, kinds[0], path, &error));
  g_autoptr(OrrResiduals) got = orr_residuals_read(path, &error);
  g_assert_no_error(error);
  g_assert_cmpuint(got->rows->len, ==, 1);
  g_assert_cmpstr(row_at(got, 0)->label, ==, "a   b  c");
  g_assert_true(orr_validate_stored_same(row_at(got, 0), row_at(residuals, 0)));
}

/* The shipped file's first row with @found replaced by @by. */
static char *changed(const char *found, const char *by) {
  g_autofree char *path = orr_residuals_path(library, "training"), *text = NULL;
  g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
  g_auto(GStrv) lines = g_strsplit(text, "\n", 5);
  g_clear_pointer(&lines[4], g_free); /* the rest */
  g_autoptr(GString) all = g_string_new(NULL);
  for (guint i = 0; i < 4; i++) g_string_append_printf(all, "%s\n", lines[i]);
  g_assert_cmpuint(g_string_replace(all, found, by, 1), ==, 1);
  return g_string_free(g_steal_pointer(&all), FALSE);
}

/* Line 4 is korthikanti-layers,5,,... of 8 GPUs with two answers of seconds. */
static void test_bad_lines(void) {
  static const struct {
    const char *found, *by, *message;
  } cases[] = {
      {"layers,5,", "layers,five,", ":4: row: found 'five', allowed: a line number"},
      {"layers,5,", "layers,0,", ":4: row: found '0', allowed: a line number"},
      {"2022.33", "nan", ":4: release: found 'nan', allowed: a number or nothing"},
      {"2022.33", "1e999", ":4: release: found '1e999', allowed: a number or nothing"},
      {"2022.33", "2022x", ":4: release: found '2022x', allowed: a number or nothing"},
      {",compute,", ",", " columns, allowed: "},
      {",compute,", ",compute,,", ":4: found more than "},
      {"layer_forward_s:", "", ":4: answers: allowed: 1 to 4 of METRIC:MEASURED:SIMULATED"},
      {"layer_forward_s:", ":", ":4: answers: allowed"},
      {"layer_forward_s:", "layer_forward_s:-", ":4: answers: allowed"},
      {"layer_forward_s:", "layer_forward_s:inf:", ":4: answers: allowed"},
      {"layer_forward_s:", "a:1:1 b:1:1 c:1:1 layer_forward_s:", ":4: answers: allowed"},
      {"set,row,part", "set,part,row", ":3: not the header of this version"},
  };
  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    g_autofree char *text = changed(cases[i].found, cases[i].by);
    g_autoptr(GError) error = NULL;
    g_autoptr(OrrResiduals) got = read_text(text, -1, &error);
    g_assert_error(error, ORR_FAULT, ORR_FAULT_DOCUMENT);
    g_assert_null(got);
    if (!strstr(error->message, cases[i].message))
      g_error("%s -> %s: %s", cases[i].found, cases[i].by, error->message);
    g_assert_nonnull(strstr(error->message, "`make residuals` writes the file"));
  }
}

/* Bytes that are not text, a file without rows, one that is not there. */
static void test_bad_files(void) {
  g_autoptr(GError) error = NULL;
  g_autofree char *text = changed("gpt", "gpt"), *missing = path_of("missing.csv");
  text[strlen(text) / 2] = '\0';
  g_assert_null(read_text(text, 400, &error));
  g_assert_error(error, ORR_FAULT, ORR_FAULT_DOCUMENT);
  g_clear_error(&error);
  g_assert_null(read_text("# a comment\n\xff\n", -1, &error));
  g_assert_nonnull(strstr(error->message, "not UTF-8 text"));
  g_clear_error(&error);
  g_assert_null(orr_residuals_read(missing, &error));
  g_assert_nonnull(strstr(error->message, missing));
  g_clear_error(&error);
  g_autoptr(OrrResiduals) empty = read_text("# model-revision: 3\n\n", -1, &error);
  g_assert_no_error(error);
  g_assert_cmpuint(empty->rows->len, ==, 0);
  g_assert_cmpint(empty->revision, ==, 3);
}

/* A validation of one set with two rows of training, as `make residuals` gathers them. */
static GPtrArray *validations_of(void) {
  GPtrArray *validations = g_ptr_array_new_with_free_func((GDestroyNotify)orr_validation_free);
  OrrValidation *one = orr_validation_new("a set");
  for (guint i = 0; i < 2; i++) {
    OrrResidual residual = *row_at(shipped[0], i);
    residual.label = g_strdup(residual.label);
    g_array_append_val(one->residuals->rows, residual);
  }
  g_ptr_array_add(validations, one);
  return validations;
}

static void assert_text(const char *name, const char *wanted) {
  g_autofree char *path = path_of(name), *text = NULL;
  g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
  g_assert_cmpstr(text, ==, wanted);
}

static gboolean is_there(const char *name) {
  g_autofree char *path = path_of(name);
  return g_file_test(path, G_FILE_TEST_EXISTS);
}

/* Where one of the files cannot be replaced, none is, and nothing is left next to them; else all
 * are, also a kind's without rows. */
static void test_all_or_none(void) {
  g_autoptr(GPtrArray) validations = validations_of();
  g_autofree char *training = path_of("training.csv"), *serving = path_of("serving.csv"),
                  *collectives = path_of("collectives.csv");
  g_autoptr(GError) error = NULL;
  g_assert_true(g_file_set_contents(collectives, "old", -1, NULL));
  g_assert_true(g_file_set_contents(serving, "old", -1, NULL));
  g_assert_cmpint(g_mkdir(training, 0700), ==, 0);
  g_assert_false(orr_validate_stored_write(validations, folder, &error));
  g_assert_nonnull(strstr(error->message, "training.csv: found a folder"));
  g_clear_error(&error);
  assert_text("collectives.csv", "old");
  assert_text("serving.csv", "old");
  g_assert_false(is_there("collectives.csv.new") || is_there("serving.csv.new") ||
                 is_there("training.csv.new"));
  g_rmdir(training);
  g_assert_true(orr_validate_stored_write(validations, folder, &error));
  g_autoptr(OrrResiduals) got = orr_residuals_read(training, &error);
  g_autoptr(OrrResiduals) none = orr_residuals_read(serving, &error);
  g_assert_no_error(error);
  g_assert_cmpuint(got->rows->len, ==, 2);
  g_assert_cmpuint(none->rows->len, ==, 0);
  g_assert_false(is_there("training.csv.new"));
}

/* Rows that the files held and a new validation lacks are named before the files are replaced. */
static void test_lost(void) {
  g_autoptr(GPtrArray) validations = validations_of();
  g_autoptr(GError) error = NULL;
  OrrValidation *one = validations->pdata[0];
  g_assert_true(orr_validate_stored_write(validations, folder, &error));
  g_assert_null(orr_validate_stored_lost(validations, folder));
  const OrrResidual last = *row_at(one->residuals, 1);
  g_array_set_size(one->residuals->rows, 1);
  g_autofree char *lost = orr_validate_stored_lost(validations, folder);
  g_autofree char *named = g_strdup_printf("gone, the first %s, line %ld:", last.set, last.row);
  g_assert_true(g_str_has_prefix(lost, "1 row of "));
  g_assert_nonnull(strstr(lost, named));
}

/* --- The shipped files --- */

static const OrrResidual *find(const OrrValidateSet *set, gint64 line) {
  const OrrResidual wanted = {.set = set->name, .row = line};
  for (guint k = 0; k < G_N_ELEMENTS(kinds); k++) {
    const OrrResidual *found = orr_validate_stored_find(shipped[k], &wanted);
    if (found) return found;
  }
  return NULL;
}

/* The measured values of the set's table are the file's. */
static void assert_measured(const OrrValidateSet *set, const OrrValidateCase *one,
                            const OrrResidual *stored) {
  for (guint i = 0; i < one->metrics->len; i++) {
    const OrrField *field = g_array_index(one->metrics, const OrrField *, i);
    g_autofree char *metric = g_strdelimit(g_strdup(field->name), "-", '_');
    if (!orr_validate_has_band(set->result->name, metric)) continue;
    const OrrResidualAnswer *answer = orr_residual_answer(stored, metric);
    const double measured = g_array_index(one->measured, double, i);
    if (answer && fabs(answer->measured / measured - 1) < 1e-4) continue;
    if (!answer && i >= ORR_RESIDUAL_ANSWERS) continue;
    g_error("%s, line %ld: the table of the set says %s = %g, calibration/"
            "residuals another value or none: run `make residuals`",
            set->name, one->line, metric, measured);
  }
}

/* Whether the checks refuse the row before it is simulated. */
static gboolean is_refused(const OrrValidateCase *one) {
  g_autoptr(OrrDiags) diags = orr_diags_new();
  if (one->refused) return TRUE;
  g_autoptr(OrrScenario) scenario = orr_scenario_read(library, one->tree, diags);
  return scenario == NULL;
}

/* Whether a result that the row measures can have a band; a ratio of two answers has none. */
static gboolean has_band(const OrrValidateSet *set, const OrrValidateCase *one) {
  if (one->over) return FALSE;
  for (guint i = 0; i < one->metrics->len; i++) {
    const OrrField *field = g_array_index(one->metrics, const OrrField *, i);
    g_autofree char *metric = g_strdelimit(g_strdup(field->name), "-", '_');
    if (orr_validate_has_band(set->result->name, metric)) return TRUE;
  }
  return FALSE;
}

/* Compares the rows of a set's table with the files; returns how many rows are neither stored nor
 * refused by checks: their simulation must refuse them. */
static guint compare_set(const char *name) {
  g_autoptr(GError) error = NULL;
  g_autoptr(OrrValidateSet) set = orr_validate_set_read(library, name, NULL, &error);
  g_assert_no_error(error);
  guint n_missing = 0;
  for (guint i = 0; i < set->csv->lines->len; i++) {
    const OrrCsvLine *line = set->csv->lines->pdata[i];
    if (!line->cells) continue;
    OrrValidateCase *one = orr_validate_case_new(set, line);
    const OrrResidual *stored = find(set, one->line);
    if (stored)
      assert_measured(set, one, stored);
    else if (has_band(set, one) && !is_refused(one)) {
      n_missing++;
      g_test_message("%s, line %ld is not stored", name, one->line);
    }
    orr_validate_case_free(one);
  }
  return n_missing;
}

/* Every row of every set of measured scenarios is in the files, but those that are refused. */
static void test_every_row(void) {
  g_auto(GStrv) sets = orr_validation_sets(library);
  g_auto(GStrv) computed = orr_validation_group(library, "training-computed");
  g_auto(GStrv) without = orr_validation_group(library, "without-bands");
  guint n_missing = 0;
  for (char **set = sets; *set; set++)
    if (!orr_validate_costs_is(library, *set) &&
        !g_strv_contains((const char *const *)computed, *set) &&
        !g_strv_contains((const char *const *)without, *set))
      n_missing += compare_set(*set);
  if (n_missing > 0) g_error("%u rows are missing: run `make residuals`", n_missing);
}

/* No row of the files belongs to a set that is not shipped, or stands twice. */
static void test_no_other_row(void) {
  g_auto(GStrv) sets = orr_validation_sets(library);
  for (guint k = 0; k < G_N_ELEMENTS(kinds); k++)
    for (guint i = 0; i < shipped[k]->rows->len; i++) {
      const OrrResidual *row = row_at(shipped[k], i);
      g_assert_true(g_strv_contains((const char *const *)sets, row->set));
      g_assert_true(orr_validate_stored_find(shipped[k], row) == row);
      g_assert_cmpstr(row->likeness.kind, ==, kinds[k]);
    }
}

/* --- This model --- */

/* The set's table with all lines blank but every @nth row, so that rows keep their numbers. */
static char *thin(const char *name, guint nth) {
  g_autofree char *scenario = orr_validation_path(library, name);
  g_autofree char *stem = g_strndup(scenario, strlen(scenario) - strlen(".yaml"));
  g_autofree char *table = g_strconcat(stem, ".csv", NULL);
  g_autofree char *text = NULL;
  g_assert_true(g_file_get_contents(table, &text, NULL, NULL));
  g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
  g_autoptr(GString) kept = g_string_new(NULL);
  guint n = 0;
  for (char **line = lines; *line; line++) {
    const gboolean is_row = **line && **line != '#';
    g_string_append(kept, is_row && n > 0 && (n - 1) % nth != 0 ? "" : *line);
    g_string_append_c(kept, '\n');
    n += is_row;
  }
  char *path = path_of("thin.csv");
  g_assert_true(g_file_set_contents(path, kept->str, -1, NULL));
  return path;
}

static void compare_sample(const char *name, guint nth) {
  g_autoptr(GError) error = NULL;
  g_autofree char *path = thin(name, nth);
  const OrrValidateOrder order = {.set = name, .rows_csv = path};
  g_autoptr(OrrValidation) fresh = orr_validate(library, &order, &error);
  g_assert_no_error(error);
  g_assert_cmpuint(fresh->residuals->rows->len, >, 0);
  for (guint i = 0; i < fresh->residuals->rows->len; i++) {
    const OrrResidual *row = row_at(fresh->residuals, i), *stored = NULL;
    for (guint k = 0; k < G_N_ELEMENTS(kinds) && !stored; k++)
      stored = orr_validate_stored_find(shipped[k], row);
    if (!stored || !orr_validate_stored_same(stored, row))
      g_error("%s, line %ld (%s): the model gives %g for %s, calibration/residuals "
              "holds %g: the model has moved, so raise ORR_MODEL_REVISION (sim/bands/residuals.h) "
              "and run `make residuals`",
              name, row->row, row->label, row->answers[0].simulated, row->answers[0].metric,
              stored ? stored->answers[0].simulated : NAN);
  }
}

/* Rows of several sets that are fast: what this program computes is what the files hold. */
static void test_fresh(void) {
  static const struct {
    const char *set;
    guint nth;
  } samples[] = {{"korthikanti-layers", 2},          {"training-torchtitan", 4},
                 {"training-megatron-h100", 3},      {"training-sc21-zero3", 5},
                 {"serving-vllm-llama-3.1-8b", 1},   {"serving-splitwise", 13},
                 {"collectives-one-node-small", 23}, {"collectives-multi-node", 57},
                 {"collectives-pcie", 61},           {"rl-areal", 1},
                 {"diffusion-layouts", 17}};
  for (guint i = 0; i < G_N_ELEMENTS(samples); i++) compare_sample(samples[i].set, samples[i].nth);
}

/* Each text in the cell of `gpus`, all others empty: the double that strtod finds, whether the text
 * takes the short way (15 digits at most, no sign, no exponent) or not. */
static void test_numbers(void) {
  static const char *const texts[] = {"0",
                                      "8",
                                      "0.1",
                                      "13609.6",
                                      "0.00718",
                                      "1e300",
                                      "-2.5",
                                      "3.27621e+10",
                                      "123456789012345",
                                      ".5",
                                      "7.",
                                      "0.123456789012345",
                                      "00000.30",
                                      "1234567890123456789",
                                      "0.3333333333333333"};
  for (guint i = 0; i < G_N_ELEMENTS(texts); i++) {
    g_autoptr(GString) line = g_string_new(NULL);
    OrrLikenessRow row;
    for (size_t k = 0; k < orr_likeness_table.n_fields; k++)
      g_string_append_printf(line, "%s%s", k > 0 ? "\t" : "",
                             g_str_equal(orr_likeness_table.fields[k].name, "gpus") ? texts[i]
                                                                                    : "");
    g_assert_true(orr_residuals_likeness_parse(line->str, &row));
    g_assert_cmpfloat(row.gpus, ==, g_ascii_strtod(texts[i], NULL));
  }
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  library = orr_library_new((const char *const[]){NULL});
  folder = g_dir_make_tmp("orrery-residuals-XXXXXX", NULL);
  for (guint k = 0; k < G_N_ELEMENTS(kinds); k++) {
    g_autoptr(GError) error = NULL;
    g_autofree char *path = orr_residuals_path(library, kinds[k]);
    shipped[k] = orr_residuals_read(path, &error);
    g_assert_no_error(error);
  }
  g_test_add_func("/residuals/round-trip", test_round_trip);
  g_test_add_func("/residuals/labels", test_labels);
  g_test_add_func("/residuals/bad-lines", test_bad_lines);
  g_test_add_func("/residuals/bad-files", test_bad_files);
  g_test_add_func("/residuals/all-or-none", test_all_or_none);
  g_test_add_func("/residuals/lost", test_lost);
  g_test_add_func("/residuals/every-row", test_every_row);
  g_test_add_func("/residuals/no-other-row", test_no_other_row);
  g_test_add_func("/residuals/fresh", test_fresh);
  g_test_add_func("/residuals/numbers", test_numbers);
  const int status = g_test_run();
  for (guint k = 0; k < G_N_ELEMENTS(kinds); k++) orr_residuals_free(shipped[k]);
  orr_library_free(library);
  const char *names[] = {"residuals.csv", "copy.csv",    "labels.csv",     "thin.csv",
                         "training.csv",  "serving.csv", "collectives.csv"};
  for (guint i = 0; i < G_N_ELEMENTS(names); i++) {
    g_autofree char *path = path_of(names[i]);
    g_unlink(path);
  }
  g_rmdir(folder);
  g_free(folder);
  return status;
}

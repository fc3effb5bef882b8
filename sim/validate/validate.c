/*
 * validate.c - measured rows against simulated ones: the comparison and its summary.
 *
 * Error of a row: simulated / measured - 1. Over a set: mean absolute percentage error, bias (mean
 * error), median and 90th percentile of the absolute errors, and the largest of them.
 */
#include "sim/validate/validate.h"

#include <math.h>
#include <string.h>

#include "sim/base/fault.h"
#include "sim/base/yaml.h"
#include "sim/validate/validate_private.h"

#ifndef ORR_VERSION
#define ORR_VERSION "0.1.0" /* the build says; this serves a build by hand */
#endif

#define AT(member_) .offset = offsetof(OrrValidationRow, member_), .flags = ORR_FIELD_OPTIONAL

static const OrrField fields[] = {
    {.name = "set-name", .kind = ORR_FIELD_TEXT, AT(set_name), .sentence = "The validation set."},
    {.name = "row", .kind = ORR_FIELD_INT, AT(row), .sentence = "Line of the set's table."},
    {.name = "label", .kind = ORR_FIELD_TEXT, AT(label), .sentence = "What the row is."},
    {.name = "metric",
     .kind = ORR_FIELD_TEXT,
     AT(metric),
     .sentence = "The result that was measured."},
    {.name = "measured",
     .kind = ORR_FIELD_REAL,
     AT(measured),
     .sentence = "The measurement, in the result's unit."},
    {.name = "simulated",
     .kind = ORR_FIELD_REAL,
     AT(simulated),
     .sentence = "The result, in the same unit."},
    {.name = "error",
     .kind = ORR_FIELD_REAL,
     AT(error),
     .sentence = "Simulated over measured, less one."},
    {.name = "explanation",
     .kind = ORR_FIELD_TEXT,
     AT(explanation),
     .sentence = "The largest parts of the answer."},
    {.name = "source",
     .kind = ORR_FIELD_TEXT,
     AT(source),
     .sentence = "Where the measurement is from."},
    {.name = "note", .kind = ORR_FIELD_TEXT, AT(note), .sentence = "What is to be known about it."},
};
const OrrFieldTable orr_validation_row_table =
    ORR_FIELD_TABLE("validation_row", "One row a measurement, compared with the simulation.",
                    OrrValidationRow, fields);

static const OrrField cost_fields[] = {
    {.name = "set-name",
     .kind = ORR_FIELD_TEXT,
     .offset = offsetof(OrrCostError, set_name),
     .sentence = "The validation set."},
    {.name = "profile",
     .kind = ORR_FIELD_TEXT,
     .offset = offsetof(OrrCostError, profile),
     .sentence = "The profile that was asked."},
    {.name = "kernels",
     .kind = ORR_FIELD_TEXT,
     .offset = offsetof(OrrCostError, kernels),
     .sentence = "The table: operator and number formats."},
    {.name = "region",
     .kind = ORR_FIELD_TEXT,
     .offset = offsetof(OrrCostError, region),
     .sentence =
         "What bounds the shape, or outside: beyond what the rest of the table reaches; all: any."},
    {.name = "n",
     .kind = ORR_FIELD_INT,
     .offset = offsetof(OrrCostError, n),
     .sentence = "How many shapes."},
    {.name = "mape",
     .kind = ORR_FIELD_REAL,
     .offset = offsetof(OrrCostError, mape),
     .unit = ORR_UNIT_FRACTION,
     .sentence = "Mean of the errors' sizes; error: modelled over measured, less one."},
    {.name = "bias",
     .kind = ORR_FIELD_REAL,
     .offset = offsetof(OrrCostError, bias),
     .unit = ORR_UNIT_FRACTION,
     .sentence = "Mean of the errors."},
    {.name = "median",
     .kind = ORR_FIELD_REAL,
     .offset = offsetof(OrrCostError, median),
     .unit = ORR_UNIT_FRACTION,
     .sentence = "Median of the errors' sizes."},
    {.name = "p90",
     .kind = ORR_FIELD_REAL,
     .offset = offsetof(OrrCostError, p90),
     .unit = ORR_UNIT_FRACTION,
     .sentence = "90th percentile of the errors' sizes."},
    {.name = "worst",
     .kind = ORR_FIELD_REAL,
     .offset = offsetof(OrrCostError, worst),
     .unit = ORR_UNIT_FRACTION,
     .sentence = "The largest of the errors' sizes."},
    {.name = "met",
     .kind = ORR_FIELD_BOOL,
     .offset = offsetof(OrrCostError, met),
     .sentence = "Whether mape and p90 are within the set's targets."},
};
const OrrFieldTable orr_cost_error_table = ORR_FIELD_TABLE(
    "cost_error",
    "Errors of one table of one profile in one region, on shapes that it had not seen.",
    OrrCostError, cost_fields);

char **orr_validation_sets(OrrLibrary *library) { return orr_library_names(library, "validation"); }

char *orr_validation_path(OrrLibrary *library, const char *set) {
  if (g_str_has_suffix(set, ".yaml") && g_file_test(set, G_FILE_TEST_IS_REGULAR))
    return g_strdup(set);
  return orr_library_path(library, "validation", set);
}

/* --- Life --- */

static void clear_row(gpointer data) {
  g_clear_pointer(&((OrrValidationRow *)data)->part, g_free);
  orr_field_clear(&orr_validation_row_table, data);
}

static void clear_refusal(gpointer data) {
  OrrValidationRefusal *refusal = data;
  g_free(refusal->set_name);
  g_free(refusal->label);
  g_free(refusal->reason);
}

static void clear_cost(gpointer data) { orr_field_clear(&orr_cost_error_table, data); }

OrrValidation *orr_validate_new(const char *set_name) {
  OrrValidation *validation = g_new0(OrrValidation, 1);
  validation->set_name = g_strdup(set_name);
  validation->rows = g_array_new(FALSE, FALSE, sizeof(OrrValidationRow));
  validation->refusals = g_array_new(FALSE, FALSE, sizeof(OrrValidationRefusal));
  validation->costs = g_array_new(FALSE, FALSE, sizeof(OrrCostError));
  g_array_set_clear_func(validation->costs, clear_cost);
  g_array_set_clear_func(validation->rows, clear_row);
  g_array_set_clear_func(validation->refusals, clear_refusal);
  return validation;
}

void orr_validation_free(OrrValidation *validation) {
  if (!validation) return;
  g_array_unref(validation->rows);
  g_array_unref(validation->refusals);
  g_array_unref(validation->costs);
  g_free(validation->set_name);
  g_free(validation);
}

/* --- Summary --- */

void orr_validation_summarise(OrrValidation *validation) {
  g_autoptr(GArray) errors = g_array_new(FALSE, FALSE, sizeof(double));
  for (guint i = 0; i < validation->rows->len; i++)
    g_array_append_val(errors, g_array_index(validation->rows, OrrValidationRow, i).error);
  orr_validate_set_errors(validation, orr_errors_of(errors));
}

void orr_validate_set_errors(OrrValidation *validation, OrrErrors errors) {
  validation->n_compared = errors.n;
  validation->mape = errors.mape;
  validation->bias = errors.bias;
  validation->median = errors.median;
  validation->p90 = errors.p90;
  validation->worst = errors.worst;
}

/* --- Comparison --- */

/* Of the set as called by its user: its diagnostics are lines; a reason is one. */
static char *one_line(const char *text) {
  g_autofree char *trimmed = g_strchomp(g_strdup(text));
  g_auto(GStrv) lines = g_strsplit(trimmed, "\n", -1);
  return g_strjoinv("; ", lines);
}

static void add_refusal(OrrValidation *validation, const OrrValidateCase *one, const char *reason,
                        gboolean failed) {
  OrrValidationRefusal refusal = {g_strdup(validation->set_name), one->line,
                                  g_strdup(one->texts[ORR_VALIDATE_LABEL]), one_line(reason),
                                  failed};
  g_array_append_val(validation->refusals, refusal);
}

static double metric_value(const OrrResult *result, const OrrField *field) {
  const char *member = (const char *)result + field->offset;
  return field->kind == ORR_FIELD_INT ? (double)*(const gint64 *)member : *(const double *)member;
}

static OrrValidationRow make_row(const char *set_name, const OrrValidateCase *one, guint metric) {
  const OrrField *field = g_array_index(one->metrics, const OrrField *, metric);
  return (OrrValidationRow){
      .set_name = g_strdup(set_name),
      .row = one->line,
      .label = g_strdup(one->texts[ORR_VALIDATE_LABEL]),
      .metric = g_strdelimit(g_strdup(field->name), "-", '_'),
      .measured = g_array_index(one->measured, double, metric),
      .simulated = NAN,
      .error = NAN,
      .source = g_strdup(one->texts[ORR_VALIDATE_SOURCE]),
      .note = g_strdup(one->texts[ORR_VALIDATE_NOTE]),
      .part = g_strdup(one->part),
  };
}

static void compare(OrrValidation *validation, const OrrValidateCase *one,
                    const OrrValidateAnswer *answer) {
  if (!answer->ok) {
    add_refusal(validation, one, answer->reason, answer->failed);
    return;
  }
  for (guint i = 0; i < one->metrics->len; i++) {
    const OrrField *field = g_array_index(one->metrics, const OrrField *, i);
    gboolean is_memory = strcmp(field->name, "memory-peak-bytes") == 0;
    OrrValidationRow row = make_row(validation->set_name, one, i);
    row.simulated = metric_value(&answer->result, field);
    row.error = row.simulated / row.measured - 1;
    row.explanation = g_strdup(is_memory ? answer->memory_parts : answer->time_parts);
    g_array_append_val(validation->rows, row);
  }
}

/* --- The database --- */

static gboolean store_refused(OrrStore *store, const char *set_name, const OrrValidateCase *one,
                              const char *reason, GError **error) {
  gboolean ok = TRUE;
  for (guint i = 0; ok && i < one->metrics->len; i++) {
    OrrValidationRow row = make_row(set_name, one, i);
    row.explanation = one_line(reason);
    ok = orr_store_add_row(store, &orr_validation_row_table, &row, error);
    clear_row(&row);
  }
  return ok;
}

static gboolean store_rows(OrrStore *store, const OrrValidation *validation, GPtrArray *cases,
                           GPtrArray *answers, GError **error) {
  for (guint i = 0; i < validation->rows->len; i++)
    if (!orr_store_add_row(store, &orr_validation_row_table,
                           &g_array_index(validation->rows, OrrValidationRow, i), error))
      return FALSE;
  for (guint i = 0; i < cases->len; i++) {
    const OrrValidateAnswer *answer = answers->pdata[i];
    if (!answer->ok &&
        !store_refused(store, validation->set_name, cases->pdata[i], answer->reason, error))
      return FALSE;
  }
  return TRUE;
}

static gboolean store(OrrStore *database, const OrrValidateSet *set,
                      const OrrValidation *validation, GPtrArray *cases, GPtrArray *answers,
                      double wall_time_s, GError **error) {
  g_autofree char *resolved = orr_yaml_text(set->tree);
  g_autofree char *hash = g_compute_checksum_for_string(G_CHECKSUM_SHA256, resolved, -1);
  OrrRunFacts facts = {.scenario = set->name,
                       .kind = "validation",
                       .file = set->path,
                       .hash = hash,
                       .resolved = resolved,
                       .tool_version = ORR_VERSION,
                       .engine = "",
                       .fidelity = "",
                       .wall_time_s = wall_time_s};
  gint64 run_id = 0;
  for (guint i = answers->len; i-- > 0;) {
    const OrrValidateAnswer *answer = answers->pdata[i];
    facts.engine = answer->ok ? answer->engine : facts.engine;
    facts.fidelity = answer->ok ? answer->fidelity : facts.fidelity;
  }
  if (!orr_store_begin_run(database, &facts, &run_id, error)) return FALSE;
  if (store_rows(database, validation, cases, answers, error))
    return orr_store_end_run(database, wall_time_s, error);
  orr_store_abandon_run(database);
  return FALSE;
}

/* --- The whole --- */

static GPtrArray *make_cases(const OrrValidateSet *set) {
  GPtrArray *cases = g_ptr_array_new_with_free_func((GDestroyNotify)orr_validate_case_free);
  for (guint i = 0; i < set->csv->lines->len; i++) {
    const OrrCsvLine *line = set->csv->lines->pdata[i];
    if (line->cells) g_ptr_array_add(cases, orr_validate_case_new(set, line));
  }
  return cases;
}

OrrValidation *orr_validate(OrrLibrary *library, const char *set_name, const char *rows_csv,
                            guint jobs, OrrStore *store_to, OrrValidationProgress progress,
                            void *user, GError **error) {
  gint64 begin_us = g_get_monotonic_time();
  g_autoptr(OrrValidateSet) set = orr_validate_set_read(library, set_name, rows_csv, error);
  if (!set) return NULL;
  g_autoptr(OrrValidation) validation = orr_validate_new(set->name);
  g_autoptr(GPtrArray) cases = make_cases(set);
  g_autoptr(GPtrArray) answers = orr_validate_pool_run(library, cases, jobs, progress, user);
  for (guint i = 0; i < cases->len; i++) compare(validation, cases->pdata[i], answers->pdata[i]);
  orr_validation_summarise(validation);
  double wall_time_s = (double)(g_get_monotonic_time() - begin_us) / G_USEC_PER_SEC;
  if (store_to && !store(store_to, set, validation, cases, answers, wall_time_s, error))
    return NULL;
  return g_steal_pointer(&validation);
}

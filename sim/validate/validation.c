/*
 * validation.c - the tables of a validation's rows, and its statistics.
 *
 * The error of a row is simulated / measured - 1. Over a set: the mean of |error| (mape), the mean of
 * error (bias), the median and 90th percentile of |error|, and the largest |error|.
 */
#include "sim/validate/validate.h"

#define AT(member_) .offset = offsetof(OrrValidationRow, member_), .flags = ORR_FIELD_OPTIONAL

static const OrrField fields[] = {
    {.name = "set-name", .kind = ORR_FIELD_TEXT, AT(set_name), .sentence = "The validation set."},
    {.name = "row", .kind = ORR_FIELD_INT, AT(row), .sentence = "Line of the set's table."},
    {.name = "label", .kind = ORR_FIELD_TEXT, AT(label), .sentence = "The name of the row."},
    {.name = "metric",
     .kind = ORR_FIELD_TEXT,
     AT(metric),
     .sentence = "The name of the measured result."},
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
     .sentence = "simulated / measured - 1; NULL for a refused row."},
    {.name = "explanation",
     .kind = ORR_FIELD_TEXT,
     AT(explanation),
     .sentence = "The largest parts of the result, or why the row was refused."},
    {.name = "source",
     .kind = ORR_FIELD_TEXT,
     AT(source),
     .sentence = "The source of the measurement."},
    {.name = "note", .kind = ORR_FIELD_TEXT, AT(note), .sentence = "A remark on the measurement."},
};
const OrrFieldTable orr_validation_row_table =
    ORR_FIELD_TABLE("validation_row", "One row per measured value, compared with the simulation.",
                    OrrValidationRow, fields);

static const OrrField cost_fields[] = {
    {.name = "set-name",
     .kind = ORR_FIELD_TEXT,
     .offset = offsetof(OrrCostError, set_name),
     .sentence = "The validation set."},
    {.name = "profile",
     .kind = ORR_FIELD_TEXT,
     .offset = offsetof(OrrCostError, profile),
     .sentence = "The profile that was queried."},
    {.name = "kernels",
     .kind = ORR_FIELD_TEXT,
     .offset = offsetof(OrrCostError, kernels),
     .sentence = "The table: operator and number formats."},
    {.name = "region",
     .kind = ORR_FIELD_TEXT,
     .offset = offsetof(OrrCostError, region),
     .sentence =
         "What bounds the shape; outside: beyond the range of the other rows; all: every region."},
    {.name = "n",
     .kind = ORR_FIELD_INT,
     .offset = offsetof(OrrCostError, n),
     .sentence = "Number of shapes."},
    {.name = "mape",
     .kind = ORR_FIELD_REAL,
     .offset = offsetof(OrrCostError, mape),
     .unit = ORR_UNIT_FRACTION,
     .sentence = "Mean of |error|; error is modelled / measured - 1."},
    {.name = "bias",
     .kind = ORR_FIELD_REAL,
     .offset = offsetof(OrrCostError, bias),
     .unit = ORR_UNIT_FRACTION,
     .sentence = "Mean of the errors, with their signs."},
    {.name = "median",
     .kind = ORR_FIELD_REAL,
     .offset = offsetof(OrrCostError, median),
     .unit = ORR_UNIT_FRACTION,
     .sentence = "Median of |error|."},
    {.name = "p90",
     .kind = ORR_FIELD_REAL,
     .offset = offsetof(OrrCostError, p90),
     .unit = ORR_UNIT_FRACTION,
     .sentence = "90th percentile of |error|."},
    {.name = "worst",
     .kind = ORR_FIELD_REAL,
     .offset = offsetof(OrrCostError, worst),
     .unit = ORR_UNIT_FRACTION,
     .sentence = "Largest |error|."},
    {.name = "met",
     .kind = ORR_FIELD_BOOL,
     .offset = offsetof(OrrCostError, met),
     .sentence = "Whether mape and p90 are within the set's targets."},
};
const OrrFieldTable orr_cost_error_table = ORR_FIELD_TABLE(
    "cost_error",
    "Errors of one table of one profile in one region, on shapes left out of the table.",
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

OrrValidation *orr_validation_new(const char *set_name) {
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
  orr_validation_set_errors(validation, orr_errors_of(errors));
}

void orr_validation_set_errors(OrrValidation *validation, OrrErrors errors) {
  validation->n_compared = errors.n;
  validation->mape = errors.mape;
  validation->bias = errors.bias;
  validation->median = errors.median;
  validation->p90 = errors.p90;
  validation->worst = errors.worst;
}

/*
 * validation.c - the tables of a validation's rows, and its statistics.
 *
 * The error of a row is simulated / measured - 1. Over a set: the mean of |error| (mape), the mean
 * of error (bias), the median and 90th percentile of |error|, and the largest |error|.
 */
#include "sim/validate/validate.h"

const OrrFieldTable orr_validation_row_table = ORR_FIELDS(
    "validation_row", "One row per measured value, compared with the simulation.", OrrValidationRow,
    ORR_COLUMN_TEXT(OrrValidationRow, "set-name", set_name, "The validation set."),
    ORR_COLUMN_INT(OrrValidationRow, "row", row, "Line of the set's table."),
    ORR_COLUMN_TEXT(OrrValidationRow, "label", label, "The name of the row."),
    ORR_COLUMN_TEXT(OrrValidationRow, "metric", metric, "The name of the measured result."),
    ORR_COLUMN_REAL(OrrValidationRow, "measured", measured, ORR_UNIT_NONE,
                    "The measurement, in the result's unit."),
    ORR_COLUMN_REAL(OrrValidationRow, "simulated", simulated, ORR_UNIT_NONE,
                    "The result, in the same unit."),
    ORR_COLUMN_REAL(OrrValidationRow, "error", error, ORR_UNIT_NONE,
                    "simulated / measured - 1; NULL for a refused row."),
    ORR_COLUMN_TEXT(OrrValidationRow, "explanation", explanation,
                    "The largest parts of the result, or why the row was refused."),
    ORR_COLUMN_TEXT(OrrValidationRow, "source", source, "The source of the measurement."),
    ORR_COLUMN_TEXT(OrrValidationRow, "note", note, "A remark on the measurement."),
    ORR_COLUMN_TEXT(OrrValidationRow, "device", device, "The device that was simulated."),
    ORR_COLUMN_TEXT(OrrValidationRow, "architecture", architecture, "Its architecture."),
    ORR_COLUMN_TEXT(OrrValidationRow, "family", family,
                    "Family of the model: dense, experts, latent (experts with latent attention) "
                    "or state."),
    ORR_COLUMN_TEXT(OrrValidationRow, "stack", stack, "The software stack."),
    ORR_COLUMN_REAL(OrrValidationRow, "gemm", gemm, ORR_UNIT_FRACTION,
                    "Fraction of the simulated time in matrix products; NULL: not simulated."),
    ORR_COLUMN_REAL(OrrValidationRow, "attention", attention, ORR_UNIT_FRACTION,
                    "Fraction of the simulated time in attention."),
    ORR_COLUMN_REAL(OrrValidationRow, "experts", experts, ORR_UNIT_FRACTION,
                    "Fraction of the simulated time in experts (serving)."),
    ORR_COLUMN_REAL(OrrValidationRow, "memory", memory, ORR_UNIT_FRACTION,
                    "Fraction of the simulated time in kernels that HBM bounds, and in the "
                    "optimizer."),
    ORR_COLUMN_REAL(OrrValidationRow, "comm", comm, ORR_UNIT_FRACTION,
                    "Fraction of the simulated time that waits for communication."),
    ORR_COLUMN_REAL(OrrValidationRow, "host", host, ORR_UNIT_FRACTION,
                    "Fraction of the simulated time that waits for the host."),
    ORR_COLUMN_REAL(OrrValidationRow, "bubble", bubble, ORR_UNIT_FRACTION,
                    "Fraction of the simulated time in pipeline bubbles."));

const OrrFieldTable orr_cost_error_table = ORR_FIELDS(
    "cost_error",
    "Errors of one table of one profile in one region, on shapes left out of the table.",
    OrrCostError, ORR_FIELD_TEXT(OrrCostError, "set-name", set_name, NULL, "The validation set."),
    ORR_FIELD_TEXT(OrrCostError, "profile", profile, NULL, "The profile that was queried."),
    ORR_FIELD_TEXT(OrrCostError, "kernels", kernels, NULL,
                   "The table: operator and number formats."),
    ORR_FIELD_TEXT(OrrCostError, "region", region, NULL,
                   "The resource that bounds the shape; outside: beyond the range of the other "
                   "rows; all: every region."),
    ORR_FIELD_INT(OrrCostError, "n", n, NULL, "Number of shapes."),
    ORR_FIELD_REAL(OrrCostError, "mape", mape, ORR_UNIT_FRACTION, NULL,
                   "Mean of |error|; error is modelled / measured - 1."),
    ORR_FIELD_REAL(OrrCostError, "bias", bias, ORR_UNIT_FRACTION, NULL,
                   "Mean of the errors, with their signs."),
    ORR_FIELD_REAL(OrrCostError, "median", median, ORR_UNIT_FRACTION, NULL, "Median of |error|."),
    ORR_FIELD_REAL(OrrCostError, "p90", p90, ORR_UNIT_FRACTION, NULL,
                   "90th percentile of |error|."),
    ORR_FIELD_REAL(OrrCostError, "worst", worst, ORR_UNIT_FRACTION, NULL, "Largest |error|."),
    ORR_FIELD_BOOL(OrrCostError, "met", met, NULL,
                   "Whether mape and p90 are within the set's targets."));

void orr_validation_row_times(OrrValidationRow *row, const OrrLikenessRow *like) {
  static const OrrLikenessRow none = {.gemm = NAN,
                                      .attention = NAN,
                                      .experts = NAN,
                                      .memory = NAN,
                                      .comm = NAN,
                                      .host = NAN,
                                      .bubble = NAN};
  if (!like) like = &none;
  row->device = g_strdup(like->device);
  row->architecture = g_strdup(like->architecture);
  row->family = g_strdup(like->family);
  row->gemm = like->gemm;
  row->attention = like->attention;
  row->experts = like->experts;
  row->memory = like->memory;
  row->comm = like->comm;
  row->host = like->host;
  row->bubble = like->bubble;
}

char **orr_validation_sets(OrrLibrary *library) { return orr_library_names(library, "validation"); }

char *orr_validation_path(OrrLibrary *library, const char *set) {
  if (g_str_has_suffix(set, ".yaml") && g_file_test(set, G_FILE_TEST_IS_REGULAR))
    return g_strdup(set);
  return orr_library_path(library, "validation", set);
}

/* --- Life --- */

static void clear_row(gpointer data) {
  g_clear_pointer(&((OrrValidationRow *)data)->part, g_free);
  g_clear_pointer(&((OrrValidationRow *)data)->assumed, g_free);
  orr_field_clear(&orr_validation_row_table, data);
}

static void clear_refusal(gpointer data) {
  OrrValidationRefusal *refusal = data;
  ORR_FREE(refusal->set_name, refusal->label, refusal->reason);
}

static void clear_cost(gpointer data) { orr_field_clear(&orr_cost_error_table, data); }

OrrValidation *orr_validation_new(const char *set_name) {
  OrrValidation *validation = g_new0(OrrValidation, 1);
  validation->set_name = g_strdup(set_name);
  validation->rows = g_array_new(FALSE, FALSE, sizeof(OrrValidationRow));
  validation->refusals = g_array_new(FALSE, FALSE, sizeof(OrrValidationRefusal));
  validation->residuals = orr_residuals_new();
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
  orr_residuals_free(validation->residuals);
  g_array_unref(validation->costs);
  ORR_FREE(validation->set_name, validation);
}

/* --- Summary --- */

void orr_validation_summarise(OrrValidation *validation) {
  g_autoptr(GArray) errors = g_array_new(FALSE, FALSE, sizeof(double));
  ORR_EACH(const OrrValidationRow, row, validation->rows) g_array_append_val(errors, row->error);
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

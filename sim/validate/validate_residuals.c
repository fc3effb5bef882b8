/*
 * validate_residuals.c - predicts kernels and collects the errors, by table and region of the
 * table.
 */
#include "sim/validate/validate_private.h"

#include "calibration/cost/query.h"

/* --- Shapes --- */

enum { N_WORST = 10 };

static void add_cost(OrrValidateResiduals *residuals, const char *profile, const char *kernels,
                     const char *region, OrrErrors errors) {
  const OrrCostValidation *set = residuals->set;
  ORR_APPEND(residuals->validation->costs, OrrCostError,
             {.set_name = g_strdup(set->name),
              .profile = g_strdup(profile),
              .kernels = g_strdup(kernels),
              .region = g_strdup(region),
              .n = errors.n,
              .mape = errors.mape,
              .bias = errors.bias,
              .median = errors.median,
              .p90 = errors.p90,
              .worst = errors.worst,
              .met = errors.mape <= set->target_mape && errors.p90 <= set->target_p90});
}

static void add_row(OrrValidateResiduals *residuals, gint64 line, char *label, double measured_s,
                    double modelled_s, const char *how) {
  OrrValidationRow row = {.set_name = g_strdup(residuals->set->name),
                          .row = line,
                          .label = label,
                          .metric = g_strdup("time_s"),
                          .measured = measured_s,
                          .simulated = modelled_s,
                          .error = modelled_s / measured_s - 1,
                          .explanation = g_strdup(how)};
  orr_validation_row_times(&row, NULL);
  g_array_append_val(residuals->validation->rows, row);
}

/* |error| */
static double size_of(const OrrCrossvalPoint *point) {
  return fabs(point->modelled_s / point->measured_s - 1);
}

static int compare_rows(gconstpointer a, gconstpointer b) {
  const OrrValidationRow *x = a, *y = b;
  double left = fabs(x->error), right = fabs(y->error);
  return left != right ? (left > right ? -1 : 1) : x->row > y->row ? 1 : -1;
}

/* Merges the table's worst shapes into the worst shapes of the set. */
static void add_worst(OrrValidateResiduals *residuals, const char *profile,
                      const OrrCrossvalTable *table) {
  GArray *rows = residuals->validation->rows;
  double least =
      rows->len < N_WORST ? -1 : fabs(g_array_index(rows, OrrValidationRow, rows->len - 1).error);
  ORR_EACH_AT(i, const OrrCrossvalPoint, point, table->points) {
    if (size_of(point) <= least) continue;
    g_autofree char *shape = orr_crossval_shape(table, point);
    add_row(residuals, residuals->errors->len + i,
            g_strdup_printf("%s, %s, %s", profile, table->label, shape), point->measured_s,
            point->modelled_s, orr_how_words[point->how]);
    g_array_sort(rows, compare_rows);
    if (rows->len > N_WORST) g_array_set_size(rows, N_WORST);
    if (rows->len == N_WORST)
      least = fabs(g_array_index(rows, OrrValidationRow, N_WORST - 1).error);
  }
}

static void add_table(OrrValidateResiduals *residuals, const char *profile,
                      const OrrCrossvalTable *table) {
  const char *const *regions = orr_crossval_regions(table);
  add_cost(residuals, profile, table->label, "all", orr_crossval_errors(table, -1));
  for (int r = 0; regions[r]; r++) {
    OrrErrors errors = orr_crossval_errors(table, r);
    if (errors.n) add_cost(residuals, profile, table->label, regions[r], errors);
  }
  add_worst(residuals, profile, table);
  ORR_EACH(const OrrCrossvalPoint, point, table->points)
    ORR_APPEND(residuals->errors, double, point->modelled_s / point->measured_s - 1);
}

static gboolean add_machine(OrrValidateResiduals *residuals, const OrrMachine *machine,
                            GError **error) {
  if (!machine->profile || machine->measured_on)
    return TRUE; /* its rows are compared on the device that they were measured on */
  g_autoptr(GPtrArray) tables =
      orr_crossval_run(machine->profile, machine->device, residuals->set->family, error);
  for (guint t = 0; tables && t < tables->len; t++)
    add_table(residuals, orr_profile_name(machine->profile), tables->pdata[t]);
  return tables != NULL;
}

static gboolean compare_profile(OrrLibrary *library, const char *name,
                                OrrValidateResiduals *residuals, OrrDiags *diags, GError **error) {
  g_auto(OrrMachine) machine = {NULL};
  return orr_machine_load(library, name, &machine, diags) &&
         add_machine(residuals, &machine, error);
}

gboolean orr_validate_residuals_add_shapes(OrrValidateResiduals *residuals, OrrLibrary *library,
                                           const char *profile, OrrDiags *diags, GError **error) {
  if (profile) return compare_profile(library, profile, residuals, diags, error);
  g_auto(GStrv) devices = orr_library_names(library, "device");
  for (char **device = devices; *device; device++)
    if (!compare_profile(library, *device, residuals, diags, error)) return FALSE;
  return TRUE;
}

/* --- Rows --- */

/* @answered is the line with ",PREDICTED,HOW" at its end; the prediction is empty for a row of
 * another operator. */
static void compare_line(OrrValidateResiduals *residuals, const OrrCsv *csv, const OrrCsvLine *line,
                         int latency, double unit_us, const char *answered, OrrDiags *diags) {
  const char *how = strrchr(answered, ',');
  double measured_us, predicted_us = g_ascii_strtod(answered + strlen(line->text) + 1, NULL);
  if (!how || predicted_us <= 0 || !orr_csv_number(csv, line, latency, diags, &measured_us)) return;
  if (measured_us == 0 && unit_us > 1) return; /* beneath the source's resolution */
  if (measured_us <= 0)
    orr_diags_error(diags, line->place, "latency_us must be above 0, found %s",
                    line->cells[latency]);
  else
    add_row(residuals, line->place.line, g_strdup(line->text), measured_us * unit_us * 1e-6,
            predicted_us * 1e-6, how + 1);
}

/* A table of rows, and the costs that predict them. */
typedef struct {
  const OrrCostModel *model;
  const char *profile; /* its name */
  const char *path;
  const OrrCsv *csv;
} Table;

static gboolean compare_operator(OrrValidateResiduals *residuals, const Table *table,
                                 const char *op, OrrDiags *diags, GError **error) {
  g_autofree char *text = NULL;
  if (!orr_query_rows(table->model, op, table->path, &text, error)) return FALSE;
  g_auto(GStrv) answered = g_strsplit(text, "\n", -1);
  const int in_us = orr_csv_column(table->csv, "latency_us");
  const int latency = in_us >= 0 ? in_us : orr_csv_column(table->csv, "latency"); /* in ms */
  const guint n_before = residuals->validation->rows->len;
  g_autoptr(GArray) errors = g_array_new(FALSE, FALSE, sizeof(double));
  for (guint i = 0; i < table->csv->lines->len && answered[i]; i++) {
    const OrrCsvLine *line = table->csv->lines->pdata[i];
    if (line->cells)
      compare_line(residuals, table->csv, line, latency, in_us >= 0 ? 1 : 1000, answered[i], diags);
  }
  for (guint i = n_before; i < residuals->validation->rows->len; i++)
    g_array_append_val(errors,
                       g_array_index(residuals->validation->rows, OrrValidationRow, i).error);
  g_array_append_vals(residuals->errors, errors->data, errors->len);
  if (errors->len) add_cost(residuals, table->profile, op, "all", orr_errors_of(errors));
  return TRUE;
}

/* Every operator predicts its own rows of a table with a column `op`; the first operator whose
 * columns exist predicts all rows of any other table. */
static gboolean compare_operators(OrrValidateResiduals *residuals, const Table *table,
                                  OrrDiags *diags, GError **error) {
  const gboolean has_op = orr_csv_column(table->csv, "op") >= 0;
  for (char **op = residuals->set->operators; *op; op++) {
    if (!has_op && op[1] && !orr_query_has_columns(*op, table->csv)) continue;
    if (!compare_operator(residuals, table, *op, diags, error)) return FALSE;
    if (!has_op) break;
  }
  return TRUE;
}

static gboolean compare_table(OrrValidateResiduals *residuals, Table *table, OrrDiags *diags,
                              GError **error) {
  g_autoptr(OrrCsv) csv = orr_csv_read(table->path, diags, error);
  if (!csv) return FALSE;
  table->csv = csv;
  if (orr_csv_column(csv, "latency_us") >= 0 || orr_csv_column(csv, "latency") >= 0)
    return compare_operators(residuals, table, diags, error);
  orr_diags_error(diags, ((const OrrCsvLine *)csv->lines->pdata[csv->header_line])->place,
                  "no column 'latency_us' (or 'latency', in ms) to compare with");
  return FALSE;
}

gboolean orr_validate_residuals_add_rows(OrrValidateResiduals *residuals, OrrLibrary *library,
                                         const char *profile, const char *rows_csv, OrrDiags *diags,
                                         GError **error) {
  g_auto(OrrMachine) machine = {NULL};
  if (!profile)
    return orr_fault_set(error, ORR_FAULT_USAGE,
                         "--rows of %s needs --profile NAME: the profile that predicts them",
                         residuals->set->name);
  if (!orr_machine_load(library, profile, &machine, diags)) return FALSE;
  g_autoptr(OrrCostModel) model = orr_machine_costs(&machine, error);
  Table table = {model, profile, rows_csv, NULL};
  return model && compare_table(residuals, &table, diags, error);
}

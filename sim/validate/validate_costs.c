/*
 * validate_costs.c - see validate_costs.h.
 */
#include "sim/validate/validate_costs.h"

#include <math.h>
#include <string.h>

#include "calibration/cost/query.h"
#include "sim/base/fault.h"
#include "sim/base/file.h"
#include "sim/base/yaml.h"
#include "sim/run/machine.h"
#include "sim/validate/validate_private.h"

#ifndef ORR_VERSION
#define ORR_VERSION "0.1.0" /* the build says; this serves a build by hand */
#endif

/* --- The set --- */

#define AT(member_) .offset = offsetof(OrrCostValidation, member_)

static const OrrField fields[] = {
    {.name = "name", .kind = ORR_FIELD_TEXT, AT(name), .sentence = "The set's name."},
    {.name = "family",
     .kind = ORR_FIELD_TEXT,
     AT(family),
     .sentence = "The tables that shapes are left out of."},
    {.name = "operators",
     .kind = ORR_FIELD_TEXTS,
     AT(operators),
     .sentence = "Operators that rows are asked of; the first whose columns the table has."},
    {.name = "target-mape",
     .kind = ORR_FIELD_REAL,
     AT(target_mape),
     .unit = ORR_UNIT_FRACTION,
     .flags = ORR_FIELD_POSITIVE,
     .sentence = "What the mean of the errors' sizes shall not exceed."},
    {.name = "target-p90",
     .kind = ORR_FIELD_REAL,
     AT(target_p90),
     .unit = ORR_UNIT_FRACTION,
     .flags = ORR_FIELD_POSITIVE,
     .sentence = "What the 90th percentile of the errors' sizes shall not exceed."},
};
const OrrFieldTable orr_cost_validation_table =
    ORR_FIELD_TABLE("cost-validation", "Measured kernels beside what a profile says of them.",
                    OrrCostValidation, fields);

gboolean orr_validate_costs_is(OrrLibrary *library, const char *set) {
  g_autofree char *path = orr_validation_path(library, set);
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_autoptr(OrrNode) root = path ? orr_yaml_read_file(path, diags) : NULL;
  const char *schema =
      root && root->kind == ORR_NODE_MAP ? orr_node_get_text(root, "schema") : NULL;
  return g_strcmp0(schema, "cost-validation/1") == 0;
}

static void set_clear(OrrCostValidation *set) { orr_field_clear(&orr_cost_validation_table, set); }
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(OrrCostValidation, set_clear)

static gboolean read_set(OrrLibrary *library, const char *path, OrrCostValidation *set,
                         OrrDiags *diags) {
  g_autoptr(OrrNode) tree = orr_library_read_file(library, "cost-validation", path, diags);
  if (!tree || !orr_field_read(&orr_cost_validation_table, tree, library, diags, set)) return FALSE;
  if (g_strv_contains(orr_crossval_families, set->family)) return TRUE;
  g_autofree char *known = g_strjoinv(", ", (char **)orr_crossval_families);
  orr_diags_error(diags, orr_node_get(tree, "family")->place, "unknown family '%s' (known: %s)",
                  set->family, known);
  return FALSE;
}

/* --- Shapes --- */

enum { N_WORST = 10 };

typedef struct {
  const OrrCostValidation *set;
  OrrValidation *validation;
  GArray *errors; /* of double: of all tables */
} Comparison;

static void add_cost(Comparison *comparison, const char *profile, const char *kernels,
                     const char *region, OrrErrors errors) {
  const OrrCostValidation *set = comparison->set;
  OrrCostError row = {.set_name = g_strdup(set->name),
                      .profile = g_strdup(profile),
                      .kernels = g_strdup(kernels),
                      .region = g_strdup(region),
                      .n = errors.n,
                      .mape = errors.mape,
                      .bias = errors.bias,
                      .median = errors.median,
                      .p90 = errors.p90,
                      .worst = errors.worst,
                      .met = errors.mape <= set->target_mape && errors.p90 <= set->target_p90};
  g_array_append_val(comparison->validation->costs, row);
}

static void add_row(Comparison *comparison, gint64 line, char *label, double measured_s,
                    double modelled_s, const char *how) {
  OrrValidationRow row = {.set_name = g_strdup(comparison->set->name),
                          .row = line,
                          .label = label,
                          .metric = g_strdup("time_s"),
                          .measured = measured_s,
                          .simulated = modelled_s,
                          .error = modelled_s / measured_s - 1,
                          .explanation = g_strdup(how)};
  g_array_append_val(comparison->validation->rows, row);
}

static double size_of(const OrrCrossvalPoint *point) {
  return fabs(point->modelled_s / point->measured_s - 1);
}

static int compare_rows(gconstpointer a, gconstpointer b) {
  const OrrValidationRow *x = a, *y = b;
  double left = fabs(x->error), right = fabs(y->error);
  return left != right ? (left > right ? -1 : 1) : x->row > y->row ? 1 : -1;
}

/* The table's worst shapes join the set's, of which the worst are kept. */
static void add_worst(Comparison *comparison, const char *profile, const OrrCrossvalTable *table) {
  GArray *rows = comparison->validation->rows;
  double least =
      rows->len < N_WORST ? -1 : fabs(g_array_index(rows, OrrValidationRow, rows->len - 1).error);
  for (guint i = 0; i < table->points->len; i++) {
    const OrrCrossvalPoint *point = &g_array_index(table->points, OrrCrossvalPoint, i);
    if (size_of(point) <= least) continue;
    g_autofree char *shape = orr_crossval_shape(table, point);
    add_row(comparison, comparison->errors->len + i,
            g_strdup_printf("%s, %s, %s", profile, table->label, shape), point->measured_s,
            point->modelled_s, orr_how_words[point->how]);
    g_array_sort(rows, compare_rows);
    if (rows->len > N_WORST) g_array_set_size(rows, N_WORST);
    if (rows->len == N_WORST)
      least = fabs(g_array_index(rows, OrrValidationRow, N_WORST - 1).error);
  }
}

static void add_table(Comparison *comparison, const char *profile, const OrrCrossvalTable *table) {
  const char *const *regions = orr_crossval_regions(table);
  add_cost(comparison, profile, table->label, "all", orr_crossval_errors(table, -1));
  for (int r = 0; regions[r]; r++) {
    OrrErrors errors = orr_crossval_errors(table, r);
    if (errors.n) add_cost(comparison, profile, table->label, regions[r], errors);
  }
  add_worst(comparison, profile, table);
  for (guint i = 0; i < table->points->len; i++) {
    const OrrCrossvalPoint *point = &g_array_index(table->points, OrrCrossvalPoint, i);
    double error = point->modelled_s / point->measured_s - 1;
    g_array_append_val(comparison->errors, error);
  }
}

static gboolean add_machine(Comparison *comparison, const OrrMachine *machine, GError **error) {
  if (!machine->profile || machine->measured_on)
    return TRUE; /* rows of another device are compared there */
  g_autoptr(GPtrArray) tables =
      orr_crossval_run(machine->profile, machine->device, comparison->set->family, error);
  for (guint t = 0; tables && t < tables->len; t++)
    add_table(comparison, orr_profile_name(machine->profile), tables->pdata[t]);
  return tables != NULL;
}

static gboolean compare_profile(OrrLibrary *library, const char *name, Comparison *comparison,
                                OrrDiags *diags, GError **error) {
  g_auto(OrrMachine) machine = {NULL};
  return orr_machine_load(library, name, &machine, diags) &&
         add_machine(comparison, &machine, error);
}

/* @profile, or those of all devices. */
static gboolean compare_shapes(OrrLibrary *library, const char *profile, Comparison *comparison,
                               OrrDiags *diags, GError **error) {
  if (profile) return compare_profile(library, profile, comparison, diags, error);
  g_auto(GStrv) devices = orr_library_names(library, "device");
  for (char **device = devices; *device; device++)
    if (!compare_profile(library, *device, comparison, diags, error)) return FALSE;
  return TRUE;
}

/* --- Rows --- */

/* A line ends in ",PREDICTED,HOW"; an empty prediction is a row of another operator. */
static void compare_line(Comparison *comparison, const OrrCsv *csv, const OrrCsvLine *line,
                         int latency, const char *answered, OrrDiags *diags) {
  const char *how = strrchr(answered, ',');
  double measured_us, predicted_us = g_ascii_strtod(answered + strlen(line->text) + 1, NULL);
  if (!how || predicted_us <= 0 || !orr_csv_number(csv, line, latency, diags, &measured_us)) return;
  if (measured_us <= 0)
    orr_diags_error(diags, line->place, "latency_us is %s: want a time above 0",
                    line->cells[latency]);
  else
    add_row(comparison, line->place.line, g_strdup(line->text), measured_us * 1e-6,
            predicted_us * 1e-6, how + 1);
}

static gboolean compare_operator(const OrrCostModel *model, const char *profile, const char *op,
                                 const OrrCsv *csv, const char *rows_csv, Comparison *comparison,
                                 OrrDiags *diags, GError **error) {
  g_autofree char *text = NULL;
  if (!orr_query_rows(model, op, rows_csv, &text, error)) return FALSE;
  g_auto(GStrv) answered = g_strsplit(text, "\n", -1);
  int latency = orr_csv_column(csv, "latency_us");
  guint n_before = comparison->validation->rows->len;
  g_autoptr(GArray) errors = g_array_new(FALSE, FALSE, sizeof(double));
  for (guint i = 0; i < csv->lines->len && answered[i]; i++) {
    const OrrCsvLine *line = csv->lines->pdata[i];
    if (line->cells) compare_line(comparison, csv, line, latency, answered[i], diags);
  }
  for (guint i = n_before; i < comparison->validation->rows->len; i++)
    g_array_append_val(errors,
                       g_array_index(comparison->validation->rows, OrrValidationRow, i).error);
  g_array_append_vals(comparison->errors, errors->data, errors->len);
  if (errors->len) add_cost(comparison, profile, op, "all", orr_errors_of(errors));
  return TRUE;
}

/* A table with a column `op` is asked of every operator, each of which takes its own rows; any
 * other, of the first one whose columns it has. */
static gboolean compare_table(const OrrCostModel *model, const char *profile, const char *rows_csv,
                              Comparison *comparison, OrrDiags *diags, GError **error) {
  g_autoptr(OrrCsv) csv = orr_csv_read(rows_csv, diags, error);
  if (!csv) return FALSE;
  if (orr_csv_column(csv, "latency_us") < 0) {
    orr_diags_error(diags, ((const OrrCsvLine *)csv->lines->pdata[csv->header_line])->place,
                    "no column 'latency_us' to compare with");
    return FALSE;
  }
  gboolean has_op = orr_csv_column(csv, "op") >= 0;
  for (char **op = comparison->set->operators; *op; op++) {
    g_autoptr(GError) reason = NULL;
    gboolean ok = compare_operator(model, profile, *op, csv, rows_csv, comparison, diags, &reason);
    if (ok && !has_op) return TRUE;
    gboolean fits_not =
        reason && strstr(reason->message, "no column '") != NULL; /* orr_query_rows' words */
    if (ok || (!has_op && op[1] && fits_not)) continue;
    g_propagate_error(error, g_steal_pointer(&reason));
    return FALSE;
  }
  return TRUE;
}

static gboolean compare_rows_of(OrrLibrary *library, const char *profile, const char *rows_csv,
                                Comparison *comparison, OrrDiags *diags, GError **error) {
  g_auto(OrrMachine) machine = {NULL};
  if (!profile) {
    g_set_error(error, ORR_FAULT, ORR_FAULT_USAGE,
                "--rows of %s wants --profile NAME: which profile answers", comparison->set->name);
    return FALSE;
  }
  if (!orr_machine_load(library, profile, &machine, diags)) return FALSE;
  g_autoptr(OrrCostModel) model = orr_machine_costs(&machine, error);
  return model && compare_table(model, profile, rows_csv, comparison, diags, error);
}

/* --- The whole --- */

static gboolean store_rows(OrrStore *database, const OrrValidation *validation, gboolean with_rows,
                           GError **error) {
  for (guint i = 0; i < validation->costs->len; i++)
    if (!orr_store_add_row(database, &orr_cost_error_table,
                           &g_array_index(validation->costs, OrrCostError, i), error))
      return FALSE;
  for (guint i = 0; with_rows && i < validation->rows->len; i++)
    if (!orr_store_add_row(database, &orr_validation_row_table,
                           &g_array_index(validation->rows, OrrValidationRow, i), error))
      return FALSE;
  return TRUE;
}

/* The worst shapes of a cross-validation are no sample: only rows that were given are stored as
 * rows. */
static gboolean store(OrrStore *database, const char *path, const OrrValidation *validation,
                      gboolean with_rows, double wall_time_s, GError **error) {
  gint64 run_id = 0;
  g_autofree char *text = orr_file_read(path, ORR_FILE_MAX_DOCUMENT, NULL, error);
  if (!text) {
    g_prefix_error(error, "%s: ", path);
    return FALSE;
  }
  g_autofree char *hash = g_compute_checksum_for_string(G_CHECKSUM_SHA256, text, -1);
  OrrRunFacts facts = {.scenario = validation->set_name,
                       .kind = "cost-validation",
                       .file = path,
                       .hash = hash,
                       .resolved = text,
                       .tool_version = ORR_VERSION,
                       .engine = "",
                       .fidelity = "",
                       .wall_time_s = wall_time_s};
  if (!orr_store_begin_run(database, &facts, &run_id, error)) return FALSE;
  if (store_rows(database, validation, with_rows, error))
    return orr_store_end_run(database, wall_time_s, error);
  orr_store_abandon_run(database);
  return FALSE;
}

OrrValidation *orr_validate_costs(OrrLibrary *library, const char *set_name, const char *profile,
                                  const char *rows_csv, OrrStore *database, GError **error) {
  gint64 begin_us = g_get_monotonic_time();
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_auto(OrrCostValidation) set = {0};
  g_autofree char *path = orr_validation_path(library, set_name);
  g_autoptr(GError) failure = NULL;
  if (!path || !read_set(library, path, &set, diags)) {
    orr_diags_check(diags, error);
    return NULL;
  }
  g_autoptr(OrrValidation) validation = orr_validate_new(set.name);
  g_autoptr(GArray) errors = g_array_new(FALSE, FALSE, sizeof(double));
  Comparison comparison = {&set, validation, errors};
  gboolean ok = rows_csv ? compare_rows_of(library, profile, rows_csv, &comparison, diags, &failure)
                         : compare_shapes(library, profile, &comparison, diags, &failure);
  if (!orr_diags_check(diags, error)) return NULL;
  if (!ok) {
    g_propagate_error(error, g_steal_pointer(&failure));
    return NULL;
  }
  orr_validate_set_errors(validation, orr_errors_of(errors));
  double wall_time_s = (double)(g_get_monotonic_time() - begin_us) / G_USEC_PER_SEC;
  if (database && !store(database, path, validation, rows_csv != NULL, wall_time_s, error))
    return NULL;
  return g_steal_pointer(&validation);
}

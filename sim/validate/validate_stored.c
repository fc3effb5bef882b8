/*
 * validate_stored.c - writes the residuals of all sets, and finds rows whose likeness or answers
 * have moved since.
 */
#include <unistd.h>

#include "sim/base/registry.h"
#include "sim/bands/known_errors.h"
#include "sim/validate/validate_private.h"
#include "workloads/workload.h"

#define SAME 1e-4

static const OrrResidual *row_at(const OrrResiduals *residuals, guint i) {
  return &g_array_index(residuals->rows, OrrResidual, i);
}

const OrrResidual *orr_validate_stored_find(const OrrResiduals *stored, const OrrResidual *row) {
  for (guint i = 0; i < stored->rows->len; i++) {
    const OrrResidual *one = row_at(stored, i);
    if (one->row == row->row && strcmp(one->set, row->set) == 0) return one;
  }
  return NULL;
}

static gboolean is_same_number(double a, double b, double least) {
  if (isnan(a) || isnan(b)) return isnan(a) == isnan(b);
  return fabs(a - b) <= SAME * fmax(least, fmax(fabs(a), fabs(b)));
}

static gboolean is_same_likeness(const OrrLikenessRow *a, const OrrLikenessRow *b) {
  for (size_t i = 0; i < orr_likeness_table.n_fields; i++) {
    const OrrField *field = &orr_likeness_table.fields[i];
    const void *x = (const char *)a + field->offset, *y = (const char *)b + field->offset;
    const double least = field->unit == ORR_UNIT_FRACTION ? 1 : 0;
    if (field->kind == ORR_FIELD_TEXT
            ? strcmp(*(char *const *)x, *(char *const *)y) != 0
            : !is_same_number(*(const double *)x, *(const double *)y, least))
      return FALSE;
  }
  return TRUE;
}

gboolean orr_validate_stored_same(const OrrResidual *stored, const OrrResidual *row) {
  if (stored->n_answers != row->n_answers) return FALSE;
  for (guint i = 0; i < row->n_answers; i++) {
    const OrrResidualAnswer *a = &stored->answers[i], *b = &row->answers[i];
    if (strcmp(a->metric, b->metric) != 0 || !is_same_number(a->measured, b->measured, 0) ||
        !is_same_number(a->simulated, b->simulated, 0))
      return FALSE;
  }
  return is_same_likeness(&stored->likeness, &row->likeness);
}

/* Rows of the validation that differ or are not stored, and stored ones that it does not have. */
static guint count_differences(const OrrResiduals *stored, const OrrValidation *validation,
                               guint *ret_n) {
  const OrrResiduals *fresh = validation->residuals;
  guint n_differ = 0, n_gone = 0, n_found = 0;
  for (guint i = 0; i < fresh->rows->len; i++) {
    const OrrResidual *one = orr_validate_stored_find(stored, row_at(fresh, i));
    n_found += one != NULL;
    n_differ += !one || !orr_validate_stored_same(one, row_at(fresh, i));
  }
  for (guint i = 0; i < stored->rows->len; i++)
    n_gone += strcmp(row_at(stored, i)->set, validation->set_name) == 0 &&
              !orr_validate_stored_find(fresh, row_at(stored, i));
  *ret_n = fresh->rows->len + n_gone;
  return n_found + n_gone > 0 ? n_differ + n_gone : 0;
}

char *orr_validate_stored_difference(OrrLibrary *library, const OrrValidation *validation) {
  g_autoptr(GError) error = NULL;
  if (validation->residuals->rows->len == 0) return NULL;
  g_autofree char *path =
      orr_residuals_path(library, row_at(validation->residuals, 0)->likeness.kind);
  if (!path) return NULL;
  g_autoptr(OrrResiduals) stored = orr_residuals_read(path, &error);
  if (!stored) return g_strdup(error->message);
  guint n_rows;
  const guint n = count_differences(stored, validation, &n_rows);
  if (n == 0) return NULL;
  return g_strdup_printf("%u of %u row%s of %s differ%s from %s, on which error bands rest: "
                         "`make residuals` writes it anew",
                         n, n_rows, n_rows == 1 ? "" : "s", validation->set_name, n == 1 ? "s" : "",
                         path);
}

/* --- Writing --- */

/* The rows of all validations, as copies. */
static OrrResiduals *gather(const GPtrArray *validations) {
  OrrResiduals *all = orr_residuals_new();
  ORR_EACH_POINTER(const OrrValidation, one, validations) {
    for (guint r = 0; r < one->residuals->rows->len; r++) {
      OrrResidual residual = *row_at(one->residuals, r);
      residual.label = g_strdup(residual.label);
      g_array_append_val(all->rows, residual);
    }
  }
  return all;
}

static char *path_of(const char *folder, const char *kind, const char *suffix) {
  g_autofree char *name = g_strconcat(kind, suffix, NULL);
  return g_build_filename(folder, name, NULL);
}

/* Adds to @ret_n the rows of @old that @fresh lacks, and sets @ret_first to the first of all. */
static void count_lost(const OrrResiduals *old, const OrrResiduals *fresh, guint *ret_n,
                       char **ret_first) {
  for (guint i = 0; i < old->rows->len; i++) {
    const OrrResidual *row = row_at(old, i);
    if (orr_validate_stored_find(fresh, row)) continue;
    if ((*ret_n)++ == 0) *ret_first = g_strdup_printf("%s, line %ld", row->set, row->row);
  }
}

char *orr_validate_stored_lost(const GPtrArray *validations, const char *folder) {
  g_autoptr(OrrResiduals) fresh = gather(validations);
  g_autofree char *first = NULL;
  guint n = 0;
  for (const OrrEntry *const *kind = orr_workload_registry.entries; *kind; kind++) {
    g_autofree char *path = path_of(folder, (*kind)->name, ".csv");
    g_autoptr(OrrResiduals) old = orr_residuals_read(path, NULL);
    if (old) count_lost(old, fresh, &n, &first);
  }
  return n == 0
             ? NULL
             : g_strdup_printf("%u row%s of %s %s gone, the first %s: sets refuse rows that they "
                               "did not refuse before, or are gone",
                               n, n == 1 ? "" : "s", folder, n == 1 ? "is" : "are", first);
}

/* Writes the file that will replace KIND.csv. A folder of that name cannot be replaced, which must
 * be known before another file is. */
static gboolean write_fresh(const OrrResiduals *all, const char *folder, const char *kind,
                            GError **error) {
  g_autofree char *fresh = path_of(folder, kind, ".csv.new"), *path = path_of(folder, kind, ".csv");
  if (!g_file_test(path, G_FILE_TEST_IS_DIR)) return orr_residuals_write(all, kind, fresh, error);
  return orr_fault_set(error, ORR_FAULT_RESOURCE, "%s: found a folder, allowed: a file", path);
}

static gboolean put_in_place(const char *folder, const char *kind, GError **error) {
  g_autofree char *fresh = path_of(folder, kind, ".csv.new"), *path = path_of(folder, kind, ".csv");
  if (rename(fresh, path) == 0) return TRUE;
  return orr_fault_set(error, ORR_FAULT_RESOURCE, "%s: cannot be replaced by %s", path, fresh);
}

/* --- Errors of results without a band --- */

gboolean orr_validate_has_band(const char *table, const char *metric) {
  for (const OrrBandMetric *one = orr_band_metrics; one->kind; one++) {
    const OrrEntry *kind = orr_registry_find(&orr_workload_registry, one->kind);
    const OrrFieldTable *result = orr_kinds_find((const OrrWorkloadKind *)kind)->result;
    if (strcmp(result->name, table) == 0 && strcmp(one->metric, metric) == 0) return TRUE;
  }
  return FALSE;
}

static OrrKnownError *known_of(GArray *errors, const OrrValidation *validation,
                               const OrrValidationRow *row) {
  const gboolean has_parts = strcmp(validation->table, orr_campaign_result_table.name) == 0;
  const char *part = has_parts && row->part ? row->part : "";
  ORR_EACH(OrrKnownError, one, errors)
    if (strcmp(one->set, validation->set_name) == 0 && strcmp(one->metric, row->metric) == 0 &&
        strcmp(one->part, part) == 0)
      return one;
  ORR_APPEND(errors, OrrKnownError,
             {.table = g_strdup(validation->table),
              .metric = g_strdup(row->metric),
              .part = g_strdup(part),
              .set = g_strdup(validation->set_name)});
  return &g_array_index(errors, OrrKnownError, errors->len - 1);
}

/* The mean errors of the results without a band, by set and part: of OrrKnownError. */
static GArray *validate_stored_errors(const GPtrArray *validations) {
  GArray *errors = orr_known_errors_new();
  ORR_EACH_POINTER(const OrrValidation, one, validations) {
    for (guint r = 0; one->table && r < one->rows->len; r++) {
      const OrrValidationRow *row = &g_array_index(one->rows, OrrValidationRow, r);
      if (orr_validate_has_band(one->table, row->metric) || !isfinite(row->error) || row->is_ratio)
        continue;
      OrrKnownError *known = known_of(errors, one, row);
      known->error += (fabs(row->error) - known->error) / (double)++known->rows; /* the mean */
    }
  }
  return errors;
}

static gboolean write_errors(const GPtrArray *validations, const char *folder, GError **error) {
  g_autoptr(GArray) errors = validate_stored_errors(validations);
  g_autofree char *text = orr_known_errors_text(errors), *path = path_of(folder, "errors", ".csv");
  return g_file_set_contents(path, text, -1, error);
}

gboolean orr_validate_stored_write(const GPtrArray *validations, const char *folder,
                                   GError **error) {
  g_autoptr(OrrResiduals) all = gather(validations);
  const OrrEntry *const *kinds = orr_workload_registry.entries;
  gboolean ok = TRUE;
  guint n = 0;
  for (; ok && kinds[n]; n++)
    ok = !orr_band_metrics_has(kinds[n]->name) || write_fresh(all, folder, kinds[n]->name, error);
  for (guint i = 0; ok && i < n; i++)
    ok = !orr_band_metrics_has(kinds[i]->name) || put_in_place(folder, kinds[i]->name, error);
  for (guint i = 0; !ok && i < n; i++) {
    g_autofree char *fresh = path_of(folder, kinds[i]->name, ".csv.new");
    unlink(fresh);
  }
  return ok && write_errors(validations, folder, error);
}

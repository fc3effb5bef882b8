/*
 * validate_parts.c - groups the errors of a set's rows by part and metric, and prints each group's
 * statistics.
 */
#include "sim/cli/verb_validate.h"

#include "calibration/crossval/crossval.h"
#include "sim/base/json_write.h"

typedef struct {
  const char *part, *metric;
  GArray *errors; /* of double */
} Part;

static void clear_part(gpointer data) { g_array_unref(((Part *)data)->errors); }

static Part *part_of(GArray *parts, const OrrValidationRow *row) {
  ORR_EACH(Part, part, parts)
    if (strcmp(part->part, row->part) == 0 && strcmp(part->metric, row->metric) == 0) return part;
  ORR_APPEND(parts, Part, {row->part, row->metric, g_array_new(FALSE, FALSE, sizeof(double))});
  return &g_array_index(parts, Part, parts->len - 1);
}

static GArray *parts_of(const OrrValidation *validation) {
  GArray *parts = g_array_new(FALSE, FALSE, sizeof(Part));
  g_array_set_clear_func(parts, clear_part);
  ORR_EACH(const OrrValidationRow, row, validation->rows)
    if (row->part) g_array_append_val(part_of(parts, row)->errors, row->error);
  return parts;
}

gboolean orr_validate_parts_print(const OrrValidation *validation) {
  g_autoptr(GArray) parts = parts_of(validation);
  int width = 0, metric_width = 0;
  for (guint i = 0; i < parts->len; i++) {
    width = MAX(width, (int)strlen(g_array_index(parts, Part, i).part));
    metric_width = MAX(metric_width, (int)strlen(g_array_index(parts, Part, i).metric));
  }
  ORR_EACH(const Part, part, parts) {
    const OrrErrors errors = orr_errors_of(part->errors);
    printf(
        "  %-*s  %-*s  %4u compared; mean absolute error %.1f %%, bias %+.1f %%, median %.1f %%\n",
        width, part->part, metric_width, part->metric, errors.n, 100 * errors.mape,
        100 * errors.bias, 100 * errors.median);
  }
  return parts->len > 0;
}

void orr_validate_parts_json(GString *out, const OrrValidation *validation) {
  g_autoptr(GArray) parts = parts_of(validation);
  if (parts->len == 0) return;
  g_string_append(out, ",\n   ");
  orr_json_write_array(out, "parts");
  ORR_EACH(const Part, part, parts) {
    const OrrErrors errors = orr_errors_of(part->errors);
    orr_json_write_element(out, "\n    ");
    orr_json_write_text(out, "part", part->part);
    orr_json_write_text(out, "metric", part->metric);
    ORR_JSON_NUMBERS(out, {"n", (double)errors.n}, {"mape", errors.mape}, {"bias", errors.bias},
                     {"median", errors.median});
    g_string_append_c(out, '}');
  }
  g_string_append_c(out, ']');
}

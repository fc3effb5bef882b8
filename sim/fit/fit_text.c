/*
 * fit_text.c - a fit as a stack document, and as the tables that the command prints.
 */
#include "sim/base/quantity.h"
#include "sim/fit/fit_stack.h"

static char *value_text(const OrrFitConstant *constant, double value) {
  return *constant->unit ? orr_quantity_format(value, ORR_UNIT_SECONDS)
                         : g_strdup_printf("%.4g", value);
}

static guint n_fitted(const OrrFit *fit) {
  guint n = 0;
  for (guint k = 0; k < fit->n_constants; k++) n += fit->constants[k].is_fitted;
  return n;
}

/* Once the host's times count in full, those that were not fitted are written as they were felt. */
static gboolean is_written(const OrrFit *fit, guint k) {
  const OrrFitConstant *constant = &fit->constants[k];
  return constant->is_fitted ||
         (fit->is_exposed && n_fitted(fit) > 0 && k < ORR_FIT_N_HOST && !isnan(constant->after));
}

char *orr_fit_stack_document(const OrrFit *fit, const char *rows, const char *date) {
  g_autofree char *base = g_path_get_basename(rows);
  GString *text = g_string_new("schema: stack/1\n");
  const char *dash = strrchr(fit->stack, '-');
  const int family = dash ? (int)(dash - fit->stack) : (int)strlen(fit->stack);
  const char *release = dash ? dash + 1 : "0";
  g_string_append_printf(text,
                         "name: %.*s-ours-%s\nfamily: %.*s-ours\nrelease: \"%s\"\nbase: %s\n"
                         "summary: \"%s, its host as measured on one installation.\"\nsettings:",
                         family, fit->stack, release, family, fit->stack, release, fit->stack,
                         fit->stack);
  if (n_fitted(fit) == 0) g_string_append(text, " []");
  g_string_append_c(text, '\n');
  for (guint k = 0; k < fit->n_constants; k++) {
    const OrrFitConstant *constant = &fit->constants[k];
    if (!is_written(fit, k)) continue;
    g_autofree char *value = value_text(constant, constant->after);
    g_string_append_printf(
        text,
        "  - {set: %s, to: %s, source: \"orrery calibrate stack%s, %s, %u row%s, %s\", "
        "confidence: fitted}\n",
        constant->path, value,
        constant->is_fitted ? "" : ": as before, the part that GPUs wait for", base, fit->n_rows,
        fit->n_rows == 1 ? "" : "s", date);
  }
  if (fit->is_exposed && n_fitted(fit) > 0)
    g_string_append(
        text, "  - {set: engine.host.exposed, to: 100 %, source: \"orrery calibrate stack: the "
              "host's times above are what GPUs wait for\", confidence: fitted}\n");
  return g_string_free(text, FALSE);
}

static void append_constants(GString *text, const OrrFit *fit) {
  g_string_append_printf(text, "%-30s %12s %12s\n", "constant", "before", "fitted");
  for (guint k = 0; k < fit->n_constants; k++) {
    const OrrFitConstant *constant = &fit->constants[k];
    g_autofree char *before = value_text(constant, constant->before);
    g_autofree char *after = value_text(constant, constant->after);
    g_string_append_printf(text, "%-30s %12s %12s%s%s\n", constant->path, before,
                           constant->is_fitted ? after : "-", constant->why ? "  " : "",
                           constant->why ? constant->why : "");
  }
}

static void append_percent(GString *text, double value) {
  if (isnan(value))
    g_string_append_printf(text, "%12s", "-");
  else
    g_string_append_printf(text, "%10.1f %%", 100 * value);
}

static void append_errors(GString *text, const OrrFit *fit) {
  g_string_append_printf(text, "%-30s%12s%12s%12s\n", "error (root mean square)", "before",
                         "fitted", "left out");
  for (int i = ORR_FIT_FIRST_MEASURED; i < ORR_FIT_N_COLUMNS; i++) {
    if (isnan(fit->errors[i].before)) continue;
    g_string_append_printf(text, "%-30s", orr_fit_columns[i]);
    append_percent(text, fit->errors[i].before);
    append_percent(text, fit->errors[i].after);
    append_percent(text, fit->errors[i].left_out);
    g_string_append_c(text, '\n');
  }
}

static void append_row(GString *text, const OrrFit *fit, const OrrFitRow *row, guint r,
                       int column) {
  const double measured = row->cells[column];
  const gsize i = (gsize)r * ORR_FIT_N_COLUMNS + (gsize)column;
  if (isnan(measured) || isnan(fit->simulated_after[i])) return;
  g_autofree char *shown = orr_quantity_format(measured, ORR_UNIT_SECONDS);
  g_autofree char *before = orr_quantity_format(fit->simulated_before[i], ORR_UNIT_SECONDS);
  g_autofree char *after = orr_quantity_format(fit->simulated_after[i], ORR_UNIT_SECONDS);
  g_string_append_printf(text, "line %-5d %-19s %12s %12s %12s\n", row->place.line,
                         orr_fit_columns[column], shown, before, after);
}

char *orr_fit_stack_text(const OrrFit *fit, const GPtrArray *rows) {
  GString *text = g_string_new(NULL);
  append_constants(text, fit);
  g_string_append_c(text, '\n');
  append_errors(text, fit);
  g_string_append_printf(text, "\n%-30s %12s %12s %12s\n", "row", "measured", "before", "fitted");
  for (guint r = 0; r < rows->len; r++)
    for (int i = ORR_FIT_FIRST_MEASURED; i < ORR_FIT_N_COLUMNS; i++)
      append_row(text, fit, rows->pdata[r], r, i);
  for (guint i = 0; i < fit->remarks->len; i++)
    g_string_append_printf(text, "%s%s\n", i ? "" : "\n", (char *)fit->remarks->pdata[i]);
  return g_string_free(text, FALSE);
}

/*
 * crossval_yaml.c - writes the errors that cross-validation found as the section `errors` of a
 * profile (profile.h).
 */
#include "calibration/crossval/crossval.h"

static void append_percent(GString *text, const char *key, double fraction) {
  char buffer[G_ASCII_DTOSTR_BUF_SIZE];
  g_string_append_printf(text, ", %s: %s %%", key,
                         g_ascii_formatd(buffer, sizeof buffer, "%.1f", 100 * fraction));
}

static void append_errors(GString *text, const char *kernels, const char *region,
                          OrrErrors errors) {
  if (errors.n == 0) return;
  g_string_append_printf(text, "%s  - {kernels: %s, region: %s, shapes: %u",
                         text->len ? "" : "errors:\n", kernels, region, errors.n);
  append_percent(text, "mape", errors.mape);
  append_percent(text, "bias", errors.bias);
  append_percent(text, "median", errors.median);
  append_percent(text, "p90", errors.p90);
  append_percent(text, "worst", errors.worst);
  g_string_append(text, "}\n");
}

char *orr_crossval_yaml(const GPtrArray *tables) {
  GString *text = g_string_new(NULL);
  ORR_EACH_POINTER(const OrrCrossvalTable, table, tables) {
    append_errors(text, table->label, "all", orr_crossval_errors(table, -1));
    for (int r = 0; orr_crossval_regions(table)[r]; r++)
      append_errors(text, table->label, orr_crossval_regions(table)[r],
                    orr_crossval_errors(table, r));
  }
  return g_string_free(text, FALSE);
}

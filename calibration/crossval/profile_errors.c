/*
 * profile_errors.c - see profile_errors.h.
 */
#include "calibration/crossval/profile_errors.h"

#include <string.h>

#include "calibration/profile/profile_private.h"

#define SHARE(name_, member_, sentence_)                                                           \
  {                                                                                                \
    .name = (name_), .kind = ORR_FIELD_REAL, .offset = offsetof(OrrProfileErrors, member_),        \
    .unit = ORR_UNIT_FRACTION, .sentence = (sentence_)                                             \
  }
static const OrrField fields[] = {
    {.name = "kernels",
     .kind = ORR_FIELD_TEXT,
     .offset = offsetof(OrrProfileErrors, kernels),
     .sentence = "The table: operator and number formats."},
    {.name = "region",
     .kind = ORR_FIELD_TEXT,
     .offset = offsetof(OrrProfileErrors, region),
     .sentence =
         "What bounds the shapes; outside: beyond what the rest of the table reaches; all: any."},
    {.name = "shapes",
     .kind = ORR_FIELD_INT,
     .offset = offsetof(OrrProfileErrors, shapes),
     .flags = ORR_FIELD_POSITIVE,
     .sentence = "How many rows were left out, a seventh of the shapes at a time."},
    SHARE("mape", mape, "Mean of the errors' sizes; error: modelled over measured, less one."),
    SHARE("bias", bias, "Mean of the errors."),
    SHARE("median", median, "Median of the errors' sizes."),
    SHARE("p90", p90, "90th percentile of the errors' sizes."),
    SHARE("worst", worst, "The largest of the errors' sizes."),
};
const OrrFieldTable orr_profile_errors_table =
    ORR_FIELD_TABLE("profile-errors", "How far a table's answers are from rows that were left out.",
                    OrrProfileErrors, fields);

static void append_share(GString *text, const char *key, double share) {
  char buffer[G_ASCII_DTOSTR_BUF_SIZE];
  g_string_append_printf(text, ", %s: %s %%", key,
                         g_ascii_formatd(buffer, sizeof buffer, "%.1f", 100 * share));
}

static void append_errors(GString *text, const char *kernels, const char *region,
                          OrrErrors errors) {
  if (errors.n == 0) return;
  g_string_append_printf(text, "%s  - {kernels: %s, region: %s, shapes: %u",
                         text->len ? "" : "errors:\n", kernels, region, errors.n);
  append_share(text, "mape", errors.mape);
  append_share(text, "bias", errors.bias);
  append_share(text, "median", errors.median);
  append_share(text, "p90", errors.p90);
  append_share(text, "worst", errors.worst);
  g_string_append(text, "}\n");
}

char *orr_profile_errors_text(const GPtrArray *tables) {
  GString *text = g_string_new(NULL);
  for (guint t = 0; t < tables->len; t++) {
    const OrrCrossvalTable *table = tables->pdata[t];
    append_errors(text, table->label, "all", orr_crossval_errors(table, -1));
    for (int r = 0; orr_crossval_regions(table)[r]; r++)
      append_errors(text, table->label, orr_crossval_regions(table)[r],
                    orr_crossval_errors(table, r));
  }
  return g_string_free(text, FALSE);
}

char *orr_profile_errors_describe(const OrrProfile *profile) {
  GString *text = g_string_new(NULL);
  if (orr_profile_length(profile->errors) == 0) {
    g_string_append(text, "  It does not say how far off it is.\n");
    return g_string_free(text, FALSE);
  }
  g_string_append_printf(text, "  %-28s %-11s %8s %8s %8s %8s %8s\n", "on shapes left out",
                         "region", "shapes", "mape", "bias", "median", "p90");
  for (guint i = 0; i < profile->errors->len; i++) {
    const OrrProfileErrors *row = profile->errors->pdata[i];
    gboolean is_all = strcmp(row->region, "all") == 0;
    g_string_append_printf(
        text, "  %-28s %-11s %8" G_GINT64_FORMAT " %6.1f %% %+6.1f %% %6.1f %% %6.1f %%\n",
        is_all ? row->kernels : "", row->region, row->shapes, 100 * row->mape, 100 * row->bias,
        100 * row->median, 100 * row->p90);
  }
  return g_string_free(text, FALSE);
}

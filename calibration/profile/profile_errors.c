/*
 * profile_errors.c - the field table of the section `errors`, and its text for `orrery describe`.
 */
#include "calibration/profile/profile_errors.h"

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

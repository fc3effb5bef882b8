/*
 * profile_errors.c - the field table of the section `errors`, and its text for `orrery describe`.
 */

#include "calibration/profile/profile_private.h"

const OrrFieldTable orr_profile_errors_table = ORR_FIELDS(
    "profile-errors", "Errors of a table's answers for rows that were left out.", OrrProfileErrors,
    ORR_FIELD_TEXT(OrrProfileErrors, "kernels", kernels, NULL,
                   "The table: operator and number formats."),
    ORR_FIELD_TEXT(
        OrrProfileErrors, "region", region, NULL,
        "The limit of the shapes (latency, memory, compute); outside: beyond the range of "
        "the rest of the table; all: any."),
    ORR_POSITIVE_INT(OrrProfileErrors, "shapes", shapes, NULL,
                     "Number of rows left out, a seventh of the shapes at a time."),
    ORR_FIELD_REAL(OrrProfileErrors, "mape", mape, ORR_UNIT_FRACTION, NULL,
                   "Mean absolute error; error: modelled over measured, minus one."),
    ORR_FIELD_REAL(OrrProfileErrors, "bias", bias, ORR_UNIT_FRACTION, NULL, "Mean of the errors."),
    ORR_FIELD_REAL(OrrProfileErrors, "median", median, ORR_UNIT_FRACTION, NULL,
                   "Median absolute error."),
    ORR_FIELD_REAL(OrrProfileErrors, "p90", p90, ORR_UNIT_FRACTION, NULL,
                   "90th percentile of the absolute errors."),
    ORR_FIELD_REAL(OrrProfileErrors, "worst", worst, ORR_UNIT_FRACTION, NULL,
                   "Largest absolute error."));

char *orr_profile_errors_describe(const OrrProfile *profile) {
  GString *text = g_string_new(NULL);
  if (orr_profile_length(profile->errors) == 0) {
    g_string_append(text, "  The profile states no errors.\n");
    return g_string_free(text, FALSE);
  }
  g_string_append_printf(text, "  %-28s %-11s %8s %8s %8s %8s %8s\n", "on shapes left out",
                         "region", "shapes", "mape", "bias", "median", "p90");
  ORR_EACH_POINTER(const OrrProfileErrors, row, profile->errors) {
    gboolean is_all = strcmp(row->region, "all") == 0;
    g_string_append_printf(text, "  %-28s %-11s %8ld %6.1f %% %+6.1f %% %6.1f %% %6.1f %%\n",
                           is_all ? row->kernels : "", row->region, row->shapes, 100 * row->mape,
                           100 * row->bias, 100 * row->median, 100 * row->p90);
  }
  return g_string_free(text, FALSE);
}

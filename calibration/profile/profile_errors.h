/*
 * profile_errors.h - the section `errors` of a profile: how far its answers are from rows that were
 * left out. `orrery calibrate fit` and `orrery calibrate errors` write it (crossval_yaml.c).
 *
 *   errors:
 *     - {kernels: gemm bf16, region: all, shapes: 7665, mape: 5.1 %, bias: -0.3 %, median: 2.9 %,
 *        p90: 12.3 %, worst: 90 %}
 */
#pragma once

#include "calibration/profile/profile.h"

typedef struct {
  char *kernels, *region;
  gint64 shapes;
  double mape, bias, median, p90, worst;
} OrrProfileErrors;

extern const OrrFieldTable orr_profile_errors_table;

/* The section as a table for people, or a sentence where the profile has none. Newly allocated. */
char *orr_profile_errors_describe(const OrrProfile *profile);

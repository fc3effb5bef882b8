/*
 * profile_errors.h - the part `errors` of a profile: how far its answers are from rows that were
 * left out (crossval.h), as `orrery calibrate fit` and `orrery calibrate errors` write it.
 *
 *   errors:
 *     - {kernels: gemm bf16, region: all, shapes: 7665, mape: 5.1 %, bias: -0.3 %, median: 2.9 %, p90: 12.3 %, worst:
 * 90 %}
 */
#ifndef ORR_PROFILE_ERRORS_H
#define ORR_PROFILE_ERRORS_H

#include "calibration/crossval/crossval.h"

G_BEGIN_DECLS

typedef struct {
  char *kernels, *region;
  gint64 shapes;
  double mape, bias, median, p90, worst;
} OrrProfileErrors;

extern const OrrFieldTable orr_profile_errors_table;

/* The section as YAML, from `errors:` on; "" where no table has a row. Newly allocated. @tables:
 * orr_crossval_run's. */
char *orr_profile_errors_text(const GPtrArray *tables);

/* The profile's own, as a table for people; a sentence where it has none. Newly allocated. */
char *orr_profile_errors_describe(const OrrProfile *profile);

G_END_DECLS

#endif

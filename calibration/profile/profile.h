/*
 * profile.h - a profile: the document of everything that was measured on one kind of device.
 *
 * Documents: calibration/profiles/NAME.yaml (`schema: profile/1`). Numbers carry their source. Long
 * rows of latencies are one scalar of space-separated microseconds, so that a profile of 30,000
 * points reads in milliseconds.
 */
#pragma once

#include "sim/base/dtype.h"
#include "sim/base/field.h"

typedef struct OrrProfile OrrProfile; /* its structs are in profile_private.h */

extern const OrrFieldTable orr_profile_table;

/* NULL with findings in @diags. */
OrrProfile *orr_profile_read(const OrrNode *node, OrrLibrary *library, OrrDiags *diags);
void orr_profile_free(OrrProfile *profile);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(OrrProfile, orr_profile_free)

const char *orr_profile_name(const OrrProfile *profile);
const char *orr_profile_device(const OrrProfile *profile); /* on which its rows were measured */
/* Whether it has any row of GEMM, attention or experts. */
gboolean orr_profile_has_kernels(const OrrProfile *profile);
/* Whether it has rows of products by the kernels of one library. */
gboolean orr_profile_has_library_products(const OrrProfile *profile);

/* profile_format.c: the number formats as tables of measurements name them. */

/* The format that a collector calls @word ("bfloat16", "half", "fp8_block" ..., or one of
 * orr_dtype_names). FALSE: unknown. */
gboolean orr_profile_format(const char *word, OrrDtype *ret_dtype);

/* profile_errors.c: the section `errors` of a profile: how far its answers are from rows that
 * were left out. `orrery calibrate fit` and `orrery calibrate errors` write it
 * (crossval_yaml.c).
 *
 *   errors:
 *     - {kernels: gemm bf16, region: all, shapes: 7665, mape: 5.1 %, bias: -0.3 %, median: 2.9 %,
 *        p90: 12.3 %, worst: 90 %} */

typedef struct {
  char *kernels, *region;
  gint64 shapes;
  double mape, bias, median, p90, worst;
} OrrProfileErrors;

extern const OrrFieldTable orr_profile_errors_table;

/* The section as a table for people, or a sentence where the profile has none. Newly allocated. */
char *orr_profile_errors_describe(const OrrProfile *profile);

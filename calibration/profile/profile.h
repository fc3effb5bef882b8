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

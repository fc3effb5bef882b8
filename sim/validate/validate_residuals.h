/*
 * validate_residuals.h - the errors of a set of costs: predicted times of kernels against measured
 * ones, by cross-validation of profiles, or for the rows of a table.
 */
#ifndef ORR_VALIDATE_RESIDUALS_H
#define ORR_VALIDATE_RESIDUALS_H

#include "sim/validate/validate_costs.h"

G_BEGIN_DECLS

/* Collects the errors. */
typedef struct {
  const OrrCostValidation *set;
  OrrValidation *validation; /* gets costs and rows */
  GArray *errors;            /* of double: of all shapes */
} OrrValidateResiduals;

/* Cross-validates @profile, or the profile of every device when it is NULL. Keeps only the worst
 * shapes as rows. */
gboolean orr_validate_residuals_add_shapes(OrrValidateResiduals *residuals, OrrLibrary *library,
                                           const char *profile, OrrDiags *diags, GError **error);

/* Predicts the rows of @rows_csv from @profile, as `orrery calibrate cost PROFILE OPERATOR --rows`
 * does, and compares them with their latency_us. */
gboolean orr_validate_residuals_add_rows(OrrValidateResiduals *residuals, OrrLibrary *library,
                                         const char *profile, const char *rows_csv, OrrDiags *diags,
                                         GError **error);

G_END_DECLS

#endif

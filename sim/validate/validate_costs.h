/*
 * validate_costs.h - sets that hold kernels, not scenarios, against measurements.
 *
 *   schema: cost-validation/1
 *   name: gemm
 *   family: gemm                    what is left out: gemm, attention, collectives (calibration/crossval/crossval.h)
 *   operators: [gemm]               what --rows asks `orrery cost` for: the first whose columns the table has
 *   target-mape: 8 %
 *   target-p90: 20 %
 *
 * Without rows: every profile that a device of the library names is cross-validated, table by
 * table. With rows: the profile answers for each row, as `orrery cost PROFILE OPERATOR --rows`
 * does, and is compared with `latency_us`.
 */
#ifndef ORR_VALIDATE_COSTS_H
#define ORR_VALIDATE_COSTS_H

#include "sim/validate/validate.h"

G_BEGIN_DECLS

typedef struct {
  char *name, *family;
  char **operators;
  double target_mape, target_p90;
} OrrCostValidation;

extern const OrrFieldTable orr_cost_validation_table;

/* Is the file of that set (or that path) a set of costs? */
gboolean orr_validate_costs_is(OrrLibrary *library, const char *set);

/* @profile NULL: all; with @rows_csv it must be named. Errors as of orr_validate. */
OrrValidation *orr_validate_costs(OrrLibrary *library, const char *set, const char *profile,
                                  const char *rows_csv, OrrStore *store, GError **error);

G_END_DECLS

#endif

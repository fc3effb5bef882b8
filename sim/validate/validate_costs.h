/*
 * validate_costs.h - sets of costs: compare predicted times of kernels, not of scenarios, with
 * measurements.
 *
 *   schema: cost-validation/1
 *   name: gemm
 *   family: gemm                    tables to leave shapes out of: gemm, attention, collectives
 *                                   (crossval.h)
 *   operators: [gemm]               predict the rows of --rows: the first whose columns the table
 *                                   has
 *   target-mape: 8 %
 *   target-p90: 20 %
 *
 * Without --rows, cross-validates the profile of every device in the library, table by table. With
 * --rows, one profile predicts each row, as `orrery calibrate cost PROFILE OPERATOR --rows` does,
 * and the prediction is compared with `latency_us`.
 */
#pragma once

#include "sim/validate/validate.h"

typedef struct {
  char *name, *family;
  char **operators;
  double target_mape, target_p90;
} OrrCostValidation;

extern const OrrFieldTable orr_cost_validation_table;

/* Whether @set, a name or a path, is a set of costs. */
gboolean orr_validate_costs_is(OrrLibrary *library, const char *set);

/* Runs a set of costs; with order->rows_csv, order->profile must be set. Errors as in
 * orr_validate. */
OrrValidation *orr_validate_costs(OrrLibrary *library, const OrrValidateOrder *order,
                                  GError **error);

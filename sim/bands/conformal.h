/*
 * conformal.h - weighted quantiles of residuals with a finite-sample correction.
 *
 * Conformal prediction (Vovk, Gammerman, Shafer 2005; Lei et al. 2018, JASA 113) takes quantiles of
 * n residuals as if the new one could lie anywhere beyond them: the p-quantile of n values and one
 * at infinity. In its localised form (Guan 2023, Biometrika 110) residuals near the question weigh
 * more, and the one at infinity weighs as much as the nearest could. No distribution is assumed.
 */
#pragma once

#include "sim/base/ground.h"

typedef struct {
  double value, weight; /* a weight is above 0 and at most 1 */
} OrrConformalRow;

/* The bounds between which the next value lies at @level, (1 - level) / 2 beyond each. Sorts @rows.
 * -INFINITY or INFINITY where the weights are too few for that level: at 0.8 they must add up to 9
 * or more. */
void orr_conformal_bounds(OrrConformalRow *rows, guint n, double level, double *ret_low,
                          double *ret_high);

/*
 * cost_narrow.h - products in 8 and 4 bits of programs that are not serving engines.
 *
 * A profile's fp8 and fp4 rows are a serving engine's linear layer, whose slow cast of the
 * activations is in them (fp8-row-launch, fp8-row-cast). A library that casts by a streaming kernel
 * takes
 *
 *   t = min(t_rows, t_16 R_d / R_16 + t_cast)
 *
 *   t_rows       the rows, with their cast
 *   t_16, R_16   the product in 16 bits, and its roofline; R_d the format's roofline: both are as
 *                far from theirs
 *   t_cast       reads m k elements of 16 bits and writes them in the format
 *
 * Nobody has measured such products in the profiles: the second is modelled.
 */
#pragma once

#include "calibration/cost/cost.h"

/* As orr_cost_sustained, for @op of any kind. */
OrrCost orr_cost_narrow(const OrrCostModel *model, const OrrOperator *op);

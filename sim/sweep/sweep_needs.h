/*
 * sweep_needs.h - refuses expressions that use a result which is 0 until the document gives a price
 * or a power.
 */
#ifndef ORR_SWEEP_NEEDS_H
#define ORR_SWEEP_NEEDS_H

#include "sim/sweep/sweep_plan.h"

G_BEGIN_DECLS

/* Adds an error to @diags for each such result in @expression; the error names the path to set. */
void orr_sweep_needs_check(const OrrSweepPlan *plan, const OrrExpression *expression,
                           OrrPlace place, OrrDiags *diags);

G_END_DECLS

#endif

/*
 * sweep_needs.h - refuses expressions that use a result which is not known until the document gives
 * prices or a power, and names that results once had.
 */
#ifndef ORR_SWEEP_NEEDS_H
#define ORR_SWEEP_NEEDS_H

#include "sim/sweep/sweep_plan.h"

G_BEGIN_DECLS

/* Adds an error to @diags for each such result in @expression; the error names the path to set. */
void orr_sweep_needs_check(const OrrSweepPlan *plan, const OrrExpression *expression,
                           OrrPlace place, OrrDiags *diags);

/* TRUE, and an error with the new name, if the text of an expression uses an old one. */
gboolean orr_sweep_needs_refuse_moved(const char *text, OrrPlace place, OrrDiags *diags);

G_END_DECLS

#endif

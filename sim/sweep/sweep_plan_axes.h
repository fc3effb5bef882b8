/*
 * sweep_plan_axes.h - the axes of a plan, from `axes:` and `space:`.
 */
#ifndef ORR_SWEEP_PLAN_AXES_H
#define ORR_SWEEP_PLAN_AXES_H

#include "sim/sweep/sweep_plan.h"

G_BEGIN_DECLS

/* Adds the axes of the plan's section. plan->names must hold the facts. Errors go to @diags. */
void orr_sweep_plan_axes_add(OrrSweepPlan *plan, OrrDiags *diags);

/* Opens dp in the base scenario when @sweep, the section, varies tp, pp or cp but not dp. FALSE
 * with errors in @diags or @error. */
gboolean orr_sweep_plan_axes_open_dp(OrrSweepPlan *plan, const OrrNode *sweep, OrrDiags *diags,
                                     GError **error);

G_END_DECLS

#endif

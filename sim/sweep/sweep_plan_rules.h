/*
 * sweep_plan_rules.h - the constraints and objectives of a plan.
 */
#ifndef ORR_SWEEP_PLAN_RULES_H
#define ORR_SWEEP_PLAN_RULES_H

#include "sim/sweep/sweep_plan.h"

G_BEGIN_DECLS

/* Adds the rules of the plan's section, or the default objective. plan->names must be complete;
 * @sweep is the section. Errors go to @diags. */
void orr_sweep_plan_rules_add(OrrSweepPlan *plan, const OrrNode *sweep, OrrDiags *diags);

void orr_sweep_plan_rules_free(OrrSweepRule *rule);

G_END_DECLS

#endif

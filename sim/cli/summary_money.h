/*
 * summary_money.h - the lines of a summary about what a run costs. Without prices there are none.
 */
#ifndef ORR_SUMMARY_MONEY_H
#define ORR_SUMMARY_MONEY_H

#include "sim/run/answer/kinds.h"
#include "sim/run/scenario.h"

G_BEGIN_DECLS

void orr_summary_money(GString *out, const OrrScenario *scenario, const OrrOutcome *outcome);

G_END_DECLS

#endif

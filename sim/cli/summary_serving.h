/*
 * summary_serving.h - what a serving run says.
 */
#ifndef ORR_SUMMARY_SERVING_H
#define ORR_SUMMARY_SERVING_H

#include "sim/run/kinds.h"

G_BEGIN_DECLS

void orr_summary_serving(GString *out, const OrrScenario *scenario, const OrrOutcome *outcome);

G_END_DECLS

#endif

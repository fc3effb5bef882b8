/*
 * summary_serving.h - the summary of a serving run: latencies, throughput, engines, fleet.
 */
#ifndef ORR_SUMMARY_SERVING_H
#define ORR_SUMMARY_SERVING_H

#include "sim/run/simulate.h"

G_BEGIN_DECLS

/* Appends the summary of @outcome, a run of kind serving. */
void orr_summary_serving(GString *out, const OrrScenario *scenario, const OrrOutcome *outcome);

G_END_DECLS

#endif

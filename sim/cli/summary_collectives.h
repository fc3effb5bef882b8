/*
 * summary_collectives.h - a run of collectives as nccl-tests prints it.
 */
#ifndef ORR_SUMMARY_COLLECTIVES_H
#define ORR_SUMMARY_COLLECTIVES_H

#include "sim/run/simulate.h"

G_BEGIN_DECLS

/* Appends the machine, the table of sizes with nccl-tests' columns (out of place), what chose
 * them, and the mean. */
void orr_summary_collectives(GString *out, const OrrScenario *scenario, const OrrOutcome *outcome);

G_END_DECLS

#endif

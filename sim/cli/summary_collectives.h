/*
 * summary_collectives.h - a run of collectives in the format that nccl-tests prints.
 */
#ifndef ORR_SUMMARY_COLLECTIVES_H
#define ORR_SUMMARY_COLLECTIVES_H

#include "sim/run/simulate.h"

G_BEGIN_DECLS

/* Appends the machine, a table with the columns of nccl-tests (out of place) plus the algorithm
 * chosen at each size, and the average bus bandwidth. */
void orr_summary_collectives(GString *out, const OrrScenario *scenario, const OrrOutcome *outcome);

G_END_DECLS

#endif

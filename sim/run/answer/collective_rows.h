/*
 * collective_rows.h - a replayed run of collectives as rows.
 */
#ifndef ORR_COLLECTIVE_ROWS_H
#define ORR_COLLECTIVE_ROWS_H

#include "sim/run/kinds.h"

G_BEGIN_DECLS

void orr_collective_rows(const OrrScenario *scenario, const OrrReplayed *replayed,
                         OrrOutcome *outcome);

/* "nvls-tree simple, modelled, latency 12 %": how the last size's time came about. Newly
 * allocated. */
char *orr_collective_rows_explain(const OrrOutcome *outcome);

G_END_DECLS

#endif

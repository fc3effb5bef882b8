/*
 * collective_rows.h - the rows of a replayed run of collectives: a line of nccl-tests per size.
 */
#ifndef ORR_COLLECTIVE_ROWS_H
#define ORR_COLLECTIVE_ROWS_H

#include "sim/run/answer/replayed.h"
#include "sim/run/answer/run_kind.h"

G_BEGIN_DECLS

void orr_collective_rows(const OrrReplayed *replayed, OrrOutcome *outcome);

/* "nvls-tree simple, modelled, latency 12 %": what explains the time of the last size. Newly
 * allocated. */
char *orr_collective_rows_explain(const OrrOutcome *outcome);

G_END_DECLS

#endif

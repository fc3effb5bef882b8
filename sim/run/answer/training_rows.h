/*
 * training_rows.h - a replayed training job as rows.
 */
#ifndef ORR_TRAINING_ROWS_H
#define ORR_TRAINING_ROWS_H

#include "sim/run/kinds.h"

G_BEGIN_DECLS

void orr_training_rows(const OrrScenario *scenario, const OrrReplayed *replayed,
                       OrrOutcome *outcome);

/* "gemm 61 %, tp-comm 17 %, bubble 9 %" of the time, and of the memory of the stage that holds
 * most. Newly allocated. */
char *orr_training_rows_explain(const OrrOutcome *outcome);
char *orr_training_rows_memory_parts(const OrrOutcome *outcome);

G_END_DECLS

#endif

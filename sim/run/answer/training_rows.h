/*
 * training_rows.h - the rows of a replayed training job.
 */
#pragma once

#include "sim/run/answer/ledger.h"
#include "sim/run/answer/run_kind.h"

void orr_training_rows(const OrrReplayed *replayed, OrrOutcome *outcome);

/* OrrRunKind.outline: sizes, memory, and rates at @least_s. */
void orr_training_rows_outline(const OrrReplayed *outline, double least_s, OrrOutcome *outcome);

/* "gemm 61 %, tp-comm 17 %, bubble 9 %": the largest parts of the time, and of the memory of the
 * fullest stage. Newly allocated. */
char *orr_training_rows_explain(const OrrOutcome *outcome);
char *orr_training_rows_memory_parts(const OrrOutcome *outcome);

/*
 * kinds.h - the kinds of answers, one for each kind of workload.
 *
 * To add a kind: describe its tables in a rows_KIND.inc (rows.inc), add its result to OrrResult,
 * write KIND_rows.c, which fills them from a replay, and add an entry in kinds.c and a summary in
 * sim/cli/summary.c.
 */
#pragma once

#include "sim/run/answer/ledger.h"
#include "sim/run/answer/run_kind.h"

const OrrRunKind *orr_kinds_find(const OrrWorkloadKind *kind);
const OrrRunKind *orr_kinds_named(const char *name); /* NULL: unknown */

/* Fills @outcome, all but its wall time, engine and fidelity, from @replayed. */
void orr_kinds_answer(const OrrReplayed *replayed, OrrOutcome *outcome);

/* Fills the result of @outcome from the outline (OrrRunKind.outline). */
void orr_kinds_outline(const OrrReplayed *outline, double least_s, OrrOutcome *outcome);

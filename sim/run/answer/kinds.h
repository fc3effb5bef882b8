/*
 * kinds.h - the answer of each kind of workload: its result, its rows, and the view that shows
 * more.
 *
 * To add a kind: describe its tables in a rows_KIND.inc (rows.inc), add its result to OrrResult,
 * write KIND_rows.c, which fills them from a replay, and add an entry in kinds.c and a summary in
 * sim/cli/summary.c.
 */
#ifndef ORR_KINDS_H
#define ORR_KINDS_H

#include "sim/run/answer/replayed.h"

G_BEGIN_DECLS

/* Members of a result that `run --json` also prints together: "ttft_s": {"mean": ..., "p50": ...}.
 * All are REAL. */
typedef struct {
  const char *name;
  size_t offset;              /* of the first double */
  const char *const *members; /* their names, in order, NULL-terminated */
} OrrResultGroup;

struct OrrRunKind {
  const OrrWorkloadKind *kind;
  const OrrFieldTable *result; /* the table of its member of OrrResult */
  /* Fills @outcome's result, rows and warnings; n-gpus and events are filled already. */
  void (*rows)(const OrrReplayed *replayed, OrrOutcome *outcome);
  /* One line with the largest contributions to the answer, newly allocated. */
  char *(*explain)(const OrrOutcome *outcome);
  const char *view;             /* the view that shows more */
  const OrrFieldTable *details; /* rows that `run --json` also lists; NULL: none */
  const OrrResultGroup *groups; /* ends with a NULL name; NULL: none */
};

const OrrRunKind *orr_run_kind(const OrrWorkloadKind *kind);
const OrrRunKind *orr_run_kind_named(const char *name); /* NULL: unknown */

/* Fills @outcome, all but its wall time, engine and fidelity, from @replayed. */
void orr_run_kind_answer(const OrrReplayed *replayed, OrrOutcome *outcome);

G_END_DECLS

#endif

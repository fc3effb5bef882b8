/*
 * run_kind.h - what the answer of a kind of workload consists of: its result, its rows, and the
 * view that shows more. kinds.h lists the kinds.
 */
#pragma once

#include "workloads/workload.h"

typedef struct OrrOutcome OrrOutcome;   /* outcome.h */
typedef struct OrrReplayed OrrReplayed; /* ledger.h */
typedef struct OrrRunKind OrrRunKind;

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
  gboolean knows_steps; /* @rows also answers for the steps before a job stopped early; FALSE:
                           nothing is known of such a job but when it stopped */
  /* Fills @outcome's result with what an outline (workload.h) whose step takes @least_s would have;
   * times that no outline knows stay 0, and costs are bounds like the time. @outline has work,
   * cluster, prices and fabric, and nothing that was replayed. NULL: this kind has none. */
  void (*outline)(const OrrReplayed *outline, double least_s, OrrOutcome *outcome);
  /* One line with the largest contributions to the answer, newly allocated. */
  char *(*explain)(const OrrOutcome *outcome);
  const char *view;             /* the view that shows more */
  const OrrFieldTable *details; /* rows that `run --json` also lists; NULL: none */
  const OrrResultGroup *groups; /* ends with a NULL name; NULL: none */
};

/*
 * kinds.h - what a kind of workload answers with: its result, its rows, and the view that shows
 * more.
 *
 * To add one: its result in rows.h (numbers only: a validation's rows cross a pipe as bytes) and in
 * OrrResult, a file that fills it from a replay, an entry in kinds.c, a summary in
 * sim/cli/summary.c.
 */
#ifndef ORR_KINDS_H
#define ORR_KINDS_H

#include "sim/run/answer/ledger.h"
#include "sim/run/simulate.h"

G_BEGIN_DECLS

/* A program that was replayed, and where. */
typedef struct {
  const OrrWork *work;
  const OrrFabric *fabric;
  OrrLedger *ledger;
  const GArray *spans; /* of OrrSpan; NULL: not kept */
  double *link_bytes;  /* by program link */
  OrrReplay replay;
} OrrReplayed;

/* Members of a result that belong together: in JSON "ttft_s": {"mean": ..., "p50": ...}.
 * Numbers, REAL each. */
typedef struct {
  const char *name;
  size_t offset;              /* of the first double */
  const char *const *members; /* their names, in order, NULL-terminated */
} OrrResultGroup;

struct OrrRunKind {
  const OrrWorkloadKind *kind;
  /* of a member of OrrResult; n-gpus and events are filled before `rows`, wall-time-s after */
  const OrrFieldTable *result;
  /* Fills @outcome's result, rows and warnings. Texts in rows are interned or outlive the
   * process: rows own nothing. */
  void (*rows)(const OrrScenario *scenario, const OrrReplayed *replayed, OrrOutcome *outcome);
  char *(*explain)(
      const OrrOutcome *outcome); /* the largest parts of the answer in a line, newly allocated */
  const char *view;               /* that shows more */
  /* `run --json` lists these rows, too, under their table's name; NULL: none */
  const OrrFieldTable *parts;
  size_t parts_offset; /* of their GArray in OrrOutcome */
  /* `run --json` says these together, too; ends with a NULL name; NULL: none */
  const OrrResultGroup *groups;
};

const OrrRunKind *orr_run_kind(const OrrWorkloadKind *kind);
const OrrRunKind *orr_run_kind_named(const char *name); /* NULL: there is none */

/* What every kind's replay has: spans and link_use. */
void orr_replayed_add_spans(const OrrReplayed *replayed, OrrOutcome *outcome);
void orr_replayed_add_links(const OrrReplayed *replayed, OrrOutcome *outcome);

G_END_DECLS

#endif

/*
 * outcome.h - what a run found: its result, its rows, and what to know about them.
 */
#pragma once

#include "results/store.h"
#include "results/rows/rows.h"
#include "workloads/workload.h"

typedef struct OrrRunKind OrrRunKind; /* run_kind.h */

typedef struct OrrOutcome {
  const OrrRunKind *kind;
  OrrResult result;
  double wall_time_s;
  /* The rows: a GArray for each ROWS in rows.inc, of the struct described there. `spans`,
   * `link_times` and `memory_times` stay empty unless the run keeps spans. */
#define ROWS(table, member, sentence) GArray *member;
#include "results/rows/rows.inc"
  /* In addition to the rows of `span`, for callers that divide them further: the label of each, and
   * OrrWork.label_seconds. */
  GArray *span_labels;   /* of guint32 */
  GArray *label_seconds; /* NULL: no spans */
  /* The rows of cluster_span, instead of an array of them (answer_private.h); NULL: none. */
  struct OrrClusterSpans *job_spans;
  GStringChunk *names;               /* of links: a machine has too many to intern them for good */
  GPtrArray *warnings;               /* of char *: e.g. costs outside the measured range */
  double trust[ORR_HOW_OUTSIDE + 1]; /* serving: seconds of steps by OrrHow */
  double attention_fraction, experts_fraction; /* serving: of the steps' GPU time */
  double time_by_kind[ORR_N_TIMES];            /* training: seconds per step, mean over GPUs */
  /* The device whose measured rows the costs come from, interned; NULL: the machine's own. */
  const char *carried_from;
  char *reserve_of;     /* another device, for which engine.reserved is known; NULL: none */
  char *engine;         /* orr_engine_settings */
  const char *fidelity; /* "folded" or "full": what was replayed */
  /* Set where several jobs shared the machine, or one met faults; borrowed, or @own_job. */
  const OrrJobRow *job;
  OrrJobRow *own_job;
} OrrOutcome;

OrrOutcome *orr_outcome_new(void); /* no rows, no kind */
void orr_outcome_free(OrrOutcome *outcome);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(OrrOutcome, orr_outcome_free)

/* Makes @filled, of the workload, the outcome's array @rows. */
void orr_outcome_take(GArray **rows, GArray *filled);

/* Adds the label that the run's user gave; NULL: none. */
void orr_outcome_label(OrrOutcome *outcome, const char *label);

/* The rows of @table; NULL where the outcome keeps no array of them. */
const GArray *orr_outcome_rows(const OrrOutcome *outcome, const OrrFieldTable *table);

/* Sets all reals of the result to NAN: nothing is known. */
void orr_outcome_forget(OrrOutcome *outcome);

/* Sets the result's integer @name ("n-gpus"), which every kind's result has. */
void orr_outcome_set_integer(OrrOutcome *outcome, const char *name, gint64 value);
/* Sets the wall time to the time since @begin_us of g_get_monotonic_time. */
void orr_outcome_set_wall_time(OrrOutcome *outcome, gint64 begin_us);

/* Adds the rows of outcome->job_spans. */
gboolean orr_cluster_spans_store(const struct OrrClusterSpans *spans, OrrStore *store,
                                 GError **error);

/* Writes the spans in the Trace Event format that Perfetto opens: one process per lane, one thread
 * per stream. */
gboolean orr_outcome_trace(const OrrOutcome *outcome, const char *path, GError **error);

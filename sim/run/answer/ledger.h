/*
 * ledger.h - where each lane's time went, kept while spans come in.
 *
 * The lane's compute stream is the clock. A WORK span is made of what its label says
 * (OrrWork.label_seconds). A COMM on the compute stream is its own kind of time once all members
 * have arrived; before that it is waiting: bubble. A gap between two spans of the compute stream is
 * the kind of the communication of that lane that was under way in it, and bubble where none was.
 * Invariant: the kinds of a lane add up to the end of the replay.
 */
#ifndef ORR_LEDGER_H
#define ORR_LEDGER_H

#include "sim/engine/executor.h"
#include "workloads/workload.h"

G_BEGIN_DECLS

typedef struct OrrLedger OrrLedger;

/* @work outlives it. Lanes' compute stream is their first. @spans (may be NULL) gets an OrrSpan
 * for each. */
OrrLedger *orr_ledger_new(const OrrWork *work, GArray *spans);
void orr_ledger_free(OrrLedger *ledger);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(OrrLedger, orr_ledger_free)

void orr_ledger_span(const OrrSpan *span, void *ledger); /* an OrrSpanSink */
/* the rest of every lane until @end_s is bubble */
void orr_ledger_close(OrrLedger *ledger, double end_s);

const double *orr_ledger_lane(const OrrLedger *ledger, guint lane); /* seconds[ORR_N_TIMES] */
double orr_ledger_lane_end(const OrrLedger *ledger, guint lane);
/* Seconds by kind, mean over GPUs (lanes weighted by multiplicity). */
void orr_ledger_mean(const OrrLedger *ledger, double ret_seconds[ORR_N_TIMES]);
guint orr_ledger_whole_steps(const OrrLedger *ledger); /* that all lanes have ended */
/* of double: when the last lane ended step i */
const GArray *orr_ledger_step_ends(const OrrLedger *ledger);
/* Communications of one label: how many spans, how long from their start, and how long if each
 * had been alone. */
typedef struct {
  guint64 n;
  double seconds, alone_s;
  double covered_s; /* when at least one was under way */
} OrrLabelTimes;

/* What has come since the last mark, @times more, as if the clock had gone on by @times *
 * @period_s meanwhile: spans that come after are later by that. Once. */
void orr_ledger_mark(OrrLedger *ledger);
void orr_ledger_repeat(OrrLedger *ledger, double times, double period_s);

OrrLabelTimes orr_ledger_label(const OrrLedger *ledger, const char *name);

G_END_DECLS

#endif

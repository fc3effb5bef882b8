/*
 * ledger.h - accounts for each lane's time by kind, while spans come in.
 *
 * A lane's first stream is its compute stream, and its clock. The ledger attributes every second of
 * that clock:
 *
 *   WORK span                      to the kinds that its label consists of (OrrWork.label_seconds)
 *   COMM span, all members there   to its own kind
 *   COMM span before that          to waiting: bubble (to storage, where all wait for the load of
 *                                  a checkpoint before the first step)
 *   gap between two spans          to the communication of that lane in flight; bubble if none is
 *
 *   compute  |--WORK--|      |--COMM--|----WORK----|
 *   other         |---dp-comm--|
 *   ledger   |  gemm  |dp-comm|bubble..
 *
 * Where kernels run on any stream (OrrWork.streams_alike) no stream is the clock: a moment belongs
 * to kernels, else to communication, else to the host, else it is bubble.
 *
 * Invariant: the kinds of a lane add up to the end of the replay.
 */
#pragma once

#include "sim/engine/executor.h"
#include "sim/run/answer/outcome.h"
#include "topologies/prices.h"
#include "workloads/workload.h"

typedef struct OrrLedger OrrLedger;

/* @work outlives the ledger. @spans (may be NULL) gets a copy of every OrrSpan. */
OrrLedger *orr_ledger_new(const OrrWork *work, GArray *spans);
/* For the spans that another ledger of @work stored: they are moved already. */
OrrLedger *orr_ledger_new_again(const OrrWork *work);
void orr_ledger_free(OrrLedger *ledger);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(OrrLedger, orr_ledger_free)

/* An OrrSpanSink; spans come in the order of their ends. */
void orr_ledger_span(const OrrSpan *span, void *ledger);
/* Counts the rest of every lane until @end_s as bubble. No spans after that. */
void orr_ledger_close(OrrLedger *ledger, double end_s);

/* What the program left out (orr_program_repeat): what ended after from_s, up to to_s, happened
 * @times more times, each to_s - from_s later than the last. Spans that end later are moved by all
 * of them. times is 0 where nothing was left out. */
typedef struct {
  double from_s, to_s;
  guint times;
} OrrRepetition;

/* After orr_ledger_close. */
OrrRepetition orr_ledger_repetition(const OrrLedger *ledger);

/* Before the first span: lanes that a replay took ahead (@leaps, one for each lane; outlives the
 * spans). A leap's period counts as often as it was left out. */
void orr_ledger_set_leaps(OrrLedger *ledger, const OrrLeap *leaps);

const double *orr_ledger_lane(const OrrLedger *ledger, guint lane); /* seconds[ORR_N_TIMES] */
double orr_ledger_lane_end(const OrrLedger *ledger, guint lane);
/* Seconds by kind, mean over GPUs: lanes are weighted by their multiplicity. */
void orr_ledger_mean(const OrrLedger *ledger, double ret_seconds[ORR_N_TIMES]);
/* Steps that all lanes have ended, and when the last lane ended step i (of double). */
guint orr_ledger_whole_steps(const OrrLedger *ledger);
const GArray *orr_ledger_step_ends(const OrrLedger *ledger);

/* The communications of one label. */
typedef struct {
  guint64 n;        /* spans */
  double seconds;   /* from their starts to their ends, sum */
  double alone_s;   /* the same if each had its links to itself */
  double covered_s; /* time in which at least one was in flight */
} OrrLabelTimes;

OrrLabelTimes orr_ledger_label(const OrrLedger *ledger, const char *name);
/* The communications that begin with @path of the program; covered_s is not kept. */
OrrLabelTimes orr_ledger_path(const OrrLedger *ledger, guint32 path);

/* replayed.c: a work that has been replayed: what the rows of an answer are read from. */

typedef struct OrrReplayed {
  const OrrWork *work;
  const OrrCluster *cluster; /* of this job alone */
  const OrrPrices *prices;   /* NULL, or not given: no money is computed */
  const OrrFabric *fabric;
  OrrLedger *ledger;   /* NULL: the work is live, and keeps its own statistics */
  const GArray *spans; /* of OrrSpan; NULL: not kept */
  double *link_bytes;  /* by program link */
  gboolean stopped;    /* by a loss: what had not ended then is not known */
  OrrReplay replay;
} OrrReplayed;

/* Adds the rows that runs of every kind have: of `span`, and of `link_use`. */
void orr_replayed_add_spans(const OrrReplayed *replayed, OrrOutcome *outcome);
void orr_replayed_add_links(const OrrReplayed *replayed, OrrOutcome *outcome);
/* Warns where the work leaves GPUs of its cluster idle: power and cost are of the GPUs in use.
 * @verb: "serve". */
void orr_replayed_warn_idle(const OrrReplayed *replayed, const char *verb, OrrOutcome *outcome);
/* Warns where kernels of more than 5 % of the kernels' time lie outside the profile's measured
 * range. @cost_s: their time for each OrrHow, how it is known. */
void orr_replayed_warn_outside(const double *cost_s, OrrOutcome *outcome);
/* Mean watts of @n_gpus that run alike for @time_s, and the machine's, with its rows; NAN: not
 * known. */
double orr_replayed_power(const OrrReplayed *replayed, double time_s, gint64 n_gpus,
                          OrrMachinePower *ret_machine, OrrOutcome *outcome);
/* What @gpus cost, with their share of the machine, which draws @watts (NAN: not known). */
OrrMoney orr_replayed_money(const OrrReplayed *replayed, double gpus, double watts);

/*
 * replayed.h - a work that has been replayed: what the rows of an answer are read from.
 */
#ifndef ORR_REPLAYED_H
#define ORR_REPLAYED_H

#include "sim/run/answer/ledger.h"
#include "sim/run/answer/outcome.h"
#include "topologies/prices.h"

G_BEGIN_DECLS

typedef struct OrrReplayed {
  const OrrWork *work;
  const OrrCluster *cluster; /* of this job alone */
  const OrrPrices *prices;   /* NULL, or not given: no money is computed */
  const OrrFabric *fabric;
  OrrLedger *ledger;   /* NULL: the work is live, and keeps its own statistics */
  const GArray *spans; /* of OrrSpan; NULL: not kept */
  double *link_bytes;  /* by program link */
  OrrReplay replay;
} OrrReplayed;

/* Adds the rows that runs of every kind have: of `span`, and of `link_use`. */
void orr_replayed_add_spans(const OrrReplayed *replayed, OrrOutcome *outcome);
void orr_replayed_add_links(const OrrReplayed *replayed, OrrOutcome *outcome);
/* Warns where the work leaves GPUs of its cluster idle: power and cost are of the GPUs in use.
 * @verb: "serve". */
void orr_replayed_warn_idle(const OrrReplayed *replayed, const char *verb, OrrOutcome *outcome);
/* What @gpus cost, with their share of the machine, which draws @watts (NAN: not known). */
OrrMoney orr_replayed_money(const OrrReplayed *replayed, double gpus, double watts);

G_END_DECLS

#endif

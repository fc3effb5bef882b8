/*
 * training_rows.h - a replayed training job as rows.
 */
#ifndef ORR_TRAINING_ROWS_H
#define ORR_TRAINING_ROWS_H

#include "sim/run/ledger.h"
#include "sim/run/simulate.h"

G_BEGIN_DECLS

typedef struct {
  const OrrWork *work;
  const OrrFabric *fabric;
  OrrLedger *ledger;
  const GArray *spans; /* of OrrSpan; NULL: not kept */
  double *link_bytes;  /* by program link */
  OrrReplay replay;
} OrrReplayed;

/* Fills @outcome's result, rows and warnings. Texts in rows are interned or outlive the process: rows own nothing. */
void orr_training_rows(const OrrScenario *scenario, const OrrReplayed *replayed, OrrOutcome *outcome);

G_END_DECLS

#endif

/*
 * network_rows.h - rows of what a run's network did besides carrying flows.
 */
#ifndef ORR_NETWORK_ROWS_H
#define ORR_NETWORK_ROWS_H

#include "sim/run/answer/replayed.h"

G_BEGIN_DECLS

/* Adds a row to `queue` where the cluster has a model of queues, with a warning for phases that it
 * could not solve, and rows to `hash_spread` where it draws hashes. */
void orr_network_rows_add(const OrrReplayed *replayed, OrrOutcome *outcome);

G_END_DECLS

#endif

/*
 * cluster_rows.h - the rows of a cluster of jobs: a row per job, and statistics by size and queue.
 */
#ifndef ORR_CLUSTER_ROWS_H
#define ORR_CLUSTER_ROWS_H

#include "sim/run/answer/replayed.h"
#include "sim/run/answer/run_kind.h"

G_BEGIN_DECLS

void orr_cluster_rows(const OrrReplayed *replayed, OrrOutcome *outcome);

/* "waits 97 % of the completion time, 12 % of GPUs idle while jobs wait". Newly allocated. */
char *orr_cluster_rows_explain(const OrrOutcome *outcome);

G_END_DECLS

#endif

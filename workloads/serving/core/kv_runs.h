/*
 * kv_runs.h - the blocks of one cache as runs: consecutive blocks of one text that the same number
 * of requests hold. An operation on a run costs the same however long the run is. Only kv.c uses
 * it.
 *
 *   text A   |  held by 3  |  held by 1   |  free  |          each text: its runs, by number
 *   free     oldest  (no name, 900) - (A: 87 .. 80) - (B: 40 .. 0)  newest
 *
 * A free run gives its last block first. Neighbours of a text that have the same number
 * of holders are joined; free ones, where the upper comes just before the lower among the free.
 */
#ifndef ORR_KV_RUNS_H
#define ORR_KV_RUNS_H

#include "workloads/serving/core/request.h"

G_BEGIN_DECLS

typedef struct OrrKvRuns OrrKvRuns;

/* Called for blocks that have names, or just had. */
typedef void (*OrrKvSeen)(const OrrTextBlocks *blocks, void *user);

OrrKvRuns *orr_kv_runs_new(gint64 n_blocks); /* free, without a name */
void orr_kv_runs_free(OrrKvRuns *runs);      /* NULL is fine */

/* How many of @blocks the cache has, counted from the first up to the first that it lacks; and how
 * many it lacks, up to the first that it has. */
gint64 orr_kv_runs_have(const OrrKvRuns *runs, const OrrTextBlocks *blocks);
gint64 orr_kv_runs_lack(const OrrKvRuns *runs, const OrrTextBlocks *blocks);
/* How many of @blocks, which are all there, nobody holds. */
gint64 orr_kv_runs_unheld(const OrrKvRuns *runs, const OrrTextBlocks *blocks);

/* Takes the @n oldest free blocks; at least @n must be free. They lose their names and are held.
 * Returns how many had a name. */
gint64 orr_kv_runs_take(OrrKvRuns *runs, gint64 n, OrrKvSeen seen, void *user);
/* Adds a holder to @blocks, all of which the cache has. Returns how many were free. */
gint64 orr_kv_runs_hold(OrrKvRuns *runs, const OrrTextBlocks *blocks);
/* Removes a holder from @blocks. Of the blocks that become free, the last is the oldest. Blocks
 * without a text have one holder. Returns how many became free. */
gint64 orr_kv_runs_let_go(OrrKvRuns *runs, const OrrTextBlocks *blocks);
/* Gives the names @blocks, which no block has yet, to held blocks without names. */
void orr_kv_runs_name(OrrKvRuns *runs, const OrrTextBlocks *blocks);
/* Calls @seen for everything that has a name. */
void orr_kv_runs_each(const OrrKvRuns *runs, OrrKvSeen seen, void *user);

/* Whether @n_free blocks are free, and texts and the list of the free are in order. O(runs). */
gboolean orr_kv_runs_check(const OrrKvRuns *runs, gint64 n_free);

G_END_DECLS

#endif

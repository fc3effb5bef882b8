/*
 * kv_runs.h - the blocks of one cache as runs: blocks of one text, one after another, that as many
 * requests hold. What is done to a run costs the same however long it is. kv.c uses it, and no
 * other file.
 *
 *   text A   |  held by 3  |  held by 1   |  free  |          each text: its runs, by number
 *   free     oldest  (no name, 900) - (A: 87 .. 80) - (B: 40 .. 0)  newest
 *
 * A free run gives its last block first. Runs that could be one are one: neighbours of a text that
 * as many hold, free ones where the upper is just before the lower among the free.
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

/* How many of @blocks, from the first on, there are; and how many, from the first on, not. */
gint64 orr_kv_runs_have(const OrrKvRuns *runs, const OrrTextBlocks *blocks);
gint64 orr_kv_runs_lack(const OrrKvRuns *runs, const OrrTextBlocks *blocks);
/* How many of @blocks, which are all there, nobody holds. */
gint64 orr_kv_runs_unheld(const OrrKvRuns *runs, const OrrTextBlocks *blocks);

/* Takes the @n oldest of the free, of which there are as many: they have no name and are held.
 * Returns how many had one. */
gint64 orr_kv_runs_take(OrrKvRuns *runs, gint64 n, OrrKvSeen seen, void *user);
/* One more holds @blocks, which are all there. Returns how many were free. */
gint64 orr_kv_runs_hold(OrrKvRuns *runs, const OrrTextBlocks *blocks);
/* One less holds them; of what nobody holds then the last block is the oldest. Those of no text
 * have one holder. Returns how many are free now. */
gint64 orr_kv_runs_let_go(OrrKvRuns *runs, const OrrTextBlocks *blocks);
/* @blocks, whose names no block has, are names of held blocks without one from now on. */
void orr_kv_runs_name(OrrKvRuns *runs, const OrrTextBlocks *blocks);
/* Calls @seen for everything that has a name. */
void orr_kv_runs_each(const OrrKvRuns *runs, OrrKvSeen seen, void *user);

/* Whether @n_free blocks are free, and texts and the list of the free are in order. O(runs). */
gboolean orr_kv_runs_check(const OrrKvRuns *runs, gint64 n_free);

G_END_DECLS

#endif

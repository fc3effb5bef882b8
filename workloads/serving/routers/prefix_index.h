/*
 * prefix_index.h - how much of a prompt each replica has: one index for all replicas, walked once
 * per prompt. A text of blocks (request.h) leads to the replicas that have some of it, with the
 * stretches that they have.
 *
 *   text A   replica 0: [0, 40)    replica 3: [0, 12) [16, 40)    replica 7: [0, 40) on two cores
 *
 * A prompt costs O(its texts + replicas that have blocks of them), a change what cutting and
 * joining the stretches of its text costs.
 */
#pragma once

#include "workloads/serving/core/request.h"

typedef struct OrrPrefixIndex OrrPrefixIndex;

OrrPrefixIndex *orr_prefix_index_new(guint n_replicas);
void orr_prefix_index_free(OrrPrefixIndex *index);

/* One core of @replica has @blocks, which it did not have; or has lost them. */
void orr_prefix_index_change(OrrPrefixIndex *index, guint replica, const OrrTextBlocks *blocks,
                             gboolean is_there);

/* How many of the first @most blocks of @request's tokens each replica has, from the first on: as
 * many numbers as there are replicas, owned by @index, until the next call. */
const gint64 *orr_prefix_index_match(OrrPrefixIndex *index, const OrrRequest *request, gint64 most,
                                     gint64 block_size);

/*
 * serving_paths.h - the links that a fleet's transfers cross.
 *
 * All paths that a run can use are found when it is compiled, as weights of the links of the work's
 * program. A path is one transfer over the routes of all its ranks, as they are in lock-step
 * (program.h); the size of a transfer is what one unit of weight carries.
 */
#pragma once

#include "workloads/serving/serving_work.h"

typedef struct {
  OrrLinkUse *uses; /* of links of the work's program */
  guint n_uses;
  double latency_s;
  double bytes_per_token; /* carried by a unit of weight; of embeddings, per image */
  double state_bytes;     /* the same, of layers that keep a state, whatever the tokens */
  double n_units;         /* that all ranks send */
} OrrServingPath;

/* At compilation: the work's program, its links and all paths. */
gboolean orr_serving_paths_plan(OrrServingWork *work, GError **error);
void orr_serving_paths_free(OrrServingPaths *paths); /* NULL is fine */

/* The weights of a replica, from the file system; NULL: none is ever read. */
const OrrServingPath *orr_serving_paths_load(const OrrServingWork *work, guint replica);
double orr_serving_paths_load_bytes(const OrrServingWork *work, guint replica); /* of a unit */
/* A cache, from a core of a replica to a core of another. */
const OrrServingPath *orr_serving_paths_handover(const OrrServingWork *work, guint from,
                                                 guint from_core, guint to, guint to_core);
/* Blocks, from the store on the network to the ranks of a core; NULL: read at a rate of its own. */
const OrrServingPath *orr_serving_paths_remote(const OrrServingWork *work, guint replica,
                                               guint core);
/* Embeddings, from an encoder to the ranks of a core's first stage. There are encoders. */
const OrrServingPath *orr_serving_paths_embedding(const OrrServingWork *work, guint encoder,
                                                  guint to, guint to_core);

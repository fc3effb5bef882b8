/*
 * replay.h - one clock for all: a program, and live works beside it, on one engine and the same
 * links.
 */
#ifndef ORR_REPLAY_H
#define ORR_REPLAY_H

#include "sim/engine/executor.h"
#include "workloads/workload.h"

G_BEGIN_DECLS

typedef struct {
  OrrWork *work;        /* of a live kind */
  const guint32 *links; /* the replayed program's number of each link of the work's; NULL: equal */
  double start_s;
} OrrLivePart;

/* Replays @program, which keeps the links of all @parts (orr_program_share_link), on @engine
 * (fresh) while the parts run on it. The others are as of orr_executor_run; @link_bytes counts
 * what all have sent. */
gboolean orr_replay(const OrrProgram *program, const OrrLivePart *parts, guint n_parts,
                    OrrEngine *engine, OrrSpanSink sink, void *user, double *link_bytes,
                    OrrReplay *ret_replay, GError **error);

G_END_DECLS

#endif

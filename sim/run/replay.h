/*
 * replay.h - one clock for everything on a machine: a program, and live works that run at the same
 * time on the same engine and the same links.
 *
 * A program is fixed before it runs; a live work (serving) decides its next step from the last one
 * and calls the engine itself (OrrWorkloadKind.begin).
 */
#ifndef ORR_REPLAY_H
#define ORR_REPLAY_H

#include "sim/engine/executor.h"
#include "workloads/workload.h"

G_BEGIN_DECLS

/* A live work in a replay. */
typedef struct {
  OrrWork *work;
  /* For each link of the work's program its number in the replayed program; NULL: equal. */
  const guint32 *links;
  double start_s;
} OrrLivePart;

typedef struct {
  const OrrProgram *program; /* keeps the links of all live works (orr_program_share_link) */
  const OrrLivePart *live;
  guint n_live;
  OrrEngine *engine;  /* fresh */
  OrrSpanSink sink;   /* gets the program's spans; may be NULL */
  void *user;         /* for @sink */
  double *link_bytes; /* by program link: gets what program and live works sent; may be NULL */
} OrrReplaySetup;

/* @ret_replay may be NULL. */
gboolean orr_replay(const OrrReplaySetup *setup, OrrReplay *ret_replay, GError **error);

G_END_DECLS

#endif

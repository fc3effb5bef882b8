/*
 * executor.h - replays a sealed program on an engine.
 *
 * Each stream runs its ops in order. A run of WORK, RECORD and satisfied WAIT ops that nobody
 * outside waits within is cheap: consecutive WORK ops with nothing between them are one engine
 * event (coalescing), their spans are reported all the same. At the end, streams that are not done
 * are a deadlock: ORR_FAULT_STUCK, with the list of who waits for what.
 */
#ifndef ORR_EXECUTOR_H
#define ORR_EXECUTOR_H

#include "sim/engine/program.h"

G_BEGIN_DECLS

/* One op that took time. For COMM: from the op's being reached (begin_s) to its end; started_s
 * is when all members had arrived, so that started_s - begin_s is waiting for others. For WORK
 * started_s equals begin_s. */
typedef struct {
  guint32 stream;
  guint32 label;
  gint32 tag;
  guint32 comm; /* G_MAXUINT32 for WORK */
  double begin_s, started_s, end_s;
  guint32 beside; /* WORK that was slowed: label of a comm that was under way; else G_MAXUINT32 */
  guint32 routine, first,
      /* n_ops > 0: not one op but so many of a routine, from `first` on, each alone on its links
       * and one right after the other; the label is the call's */
      n_ops;
} OrrSpan;

typedef void (*OrrSpanSink)(const OrrSpan *span, void *user);

typedef struct {
  double end_s;     /* when the last op ended */
  guint64 n_events; /* engine events */
  guint64 n_transfers;
} OrrReplay;

/* Replays @program (sealed) on @engine (fresh: the executor adds the program's links to it).
 * @sink (may be NULL) gets every span, in order of end time; equal ends in that of their starts,
 * then of streams. @link_bytes (may be NULL): array of n_links doubles that is filled with what
 * each kept link carried. */
gboolean orr_executor_run(const OrrProgram *program, OrrEngine *engine, OrrSpanSink sink,
                          void *user, double *link_bytes, OrrReplay *ret_replay, GError **error);

/* The same to rounding, with fewer events: ops of routines that nobody meets are one event and
 * one span. What links carried is not told. */
gboolean orr_executor_run_briefly(const OrrProgram *program, OrrEngine *engine, OrrSpanSink sink,
                                  void *user, OrrReplay *ret_replay, GError **error);

/* The same in parts, where others run on the engine at the same time, and over the same links:
 * begin before orr_engine_run, and end after it. */
typedef struct OrrExecutor OrrExecutor;
OrrExecutor *orr_executor_begin(const OrrProgram *program, OrrEngine *engine, OrrSpanSink sink,
                                void *user, GError **error);
/* the engine's, of a link that the program keeps */
OrrLink orr_executor_link(const OrrExecutor *executor, guint32 link);
/* @has_run: what orr_engine_run returned. FALSE where it did not, whose error in @error then
 * says who waits, too. */
gboolean orr_executor_end(OrrExecutor *executor, gboolean has_run, double *link_bytes,
                          OrrReplay *ret_replay, GError **error);
void orr_executor_free(OrrExecutor *executor); /* NULL is fine */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(OrrExecutor, orr_executor_free)

G_END_DECLS

#endif

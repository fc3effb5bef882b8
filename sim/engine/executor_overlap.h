/*
 * executor_overlap.h - work that communication on its lane slows, and lanes that the program slows
 * for a time. Only the executor*.c files use it.
 */
#pragma once

#include "sim/engine/executor.h"
#include "sim/engine/program_private.h"

/* Work in progress on a lane whose communication slows work (executor_overlap.c). */
typedef struct {
  OrrExecutor *executor;
  gboolean working;
  gboolean is_listed; /* among the lane's workers */
  double begin_s;
  double since_s, left_s; /* work left at since_s */
  double factor;          /* of duration, since since_s */
  double end_s;           /* if nothing changes */
  double noted_s;         /* slowed_by is up to date until here */
  /* the lowest stream of the lane whose comm slowed it; ORR_NOBODY: none */
  guint32 slowed_by;
  guint32 beside; /* label of that comm, or G_MAXUINT32 */
  OrrEvent *end;  /* the engine's call at end_s; NULL: none */
} OrrWorkState;

typedef struct {
  OrrWorkState *works;    /* by stream; NULL: no lane is slowed */
  guint32 *n_flights;     /* by lane: comms in flight on its streams, without copies */
  guint32 *n_copies;      /* by lane: copies in flight */
  guint32 *n_computing;   /* by lane: streams with work of the GPU in progress */
  gboolean drags;         /* some lane slows comms or copies */
  gboolean *in_flight;    /* by stream: its comm is in progress; a copy, too */
  guint32 *flight_labels; /* by stream: label of its comm in flight, or G_MAXUINT32 */
  guint32 *first;         /* by lane, n_lanes + 1: its streams in `streams` */
  guint32 *streams;
  guint32 *workers;   /* by lane, from `first` on: its streams that have begun work, ascending */
  guint32 *n_workers; /* by lane */
} OrrOverlaps;

/* The dates at which each lane's speed changes, in order; rows by lane as in OrrUseRows. */
typedef struct {
  guint32 *starts; /* by lane, n_lanes + 1; NULL: no lane is ever slow */
  OrrSlowdown *items;
} OrrSlowdowns;

/* Sorts @program's slowdowns by lane and date (executor_slow.c). */
void orr_slowdowns_init(OrrSlowdowns *slowdowns, const OrrProgram *program);
void orr_slowdowns_clear(OrrSlowdowns *slowdowns);

/* When work of @lane ends that begins at @begin_s and takes @duration_s where nothing is slow; a
 * lane does not slow @fixed_share of it. */
double orr_slowdowns_work_end(const OrrSlowdowns *slowdowns, guint32 lane, double begin_s,
                              double duration_s, double fixed_share);

/* How much work of @lane is done from @begin_s to @end_s. */
double orr_slowdowns_work_between(const OrrSlowdowns *slowdowns, guint32 lane, double begin_s,
                                  double end_s, double fixed_share);

/* Work that communication slows (executor_overlap.c). Where any lane of the program is, no stream
 * runs ahead of the engine: works are TRUE, and every end of work or of a comm is an engine
 * event. */
void orr_overlaps_init(OrrExecutor *executor);
void orr_overlaps_clear(OrrOverlaps *overlaps);
void orr_overlaps_begin_work(OrrExecutor *executor, guint32 stream, double duration_s);
/* The same for work that began before: nothing has changed on its lane since @since_s, when it had
 * @left_s left; until then the comm on stream @beside has slowed it (ORR_NOBODY: none has). */
void orr_overlaps_resume_work(OrrExecutor *executor, guint32 stream, double left_s, double since_s,
                              guint32 beside, guint32 label);
void orr_overlaps_begin_flight(OrrExecutor *executor, guint32 stream, guint32 label);
void orr_overlaps_end_flight(OrrExecutor *executor, guint32 stream);
/* See orr_executor_comm_call_stream (executor_private.h). */
guint32 orr_overlaps_call_stream(OrrEngineCall call, const void *user);
void orr_overlaps_postpone(OrrExecutor *executor, guint32 stream, double delay_s);

/*
 * executor.h - replays a sealed program on an engine.
 *
 * Each stream executes its ops in order. Only transfers and slowed work cost engine events: WORK,
 * RECORD and satisfied WAIT ops advance the stream's own time (executor.c), and still report their
 * spans. A stream that is not done at the end is part of a deadlock: ORR_FAULT_STUCK, with the list
 * of waiting streams and what each waits for.
 */
#pragma once

#include "sim/engine/program.h"

/* One op that took time. A COMM begins when the stream reaches the op (begin_s), starts when its
 * last member arrives (started_s), and ends at end_s; started_s - begin_s is the time spent
 * waiting for others. For WORK started_s equals begin_s. */
typedef struct {
  guint32 stream;
  guint32 label;
  gint32 tag;
  guint32 comm; /* G_MAXUINT32 for WORK */
  double begin_s, started_s, end_s;
  guint32 beside; /* slowed WORK: label of the comm that slowed it; else G_MAXUINT32 */
  /* n_ops > 0: not one op but n_ops ops of a routine, from `first` on, each alone on its links and
   * without gaps; the label is the call's */
  guint32 routine, first, n_ops;
  double alone_s; /* WORK: what it takes where nothing slows it down */
} OrrSpan;

typedef void (*OrrSpanSink)(const OrrSpan *span, void *user);

/* What became of each date at which lanes might have been taken ahead (executor_leap.c). */
typedef enum {
  ORR_LEAP_TAKEN,
  ORR_LEAP_DATED,   /* something changes at given dates: nothing is looked at */
  ORR_LEAP_NO_LOOP, /* some stream's ops do not repeat */
  ORR_LEAP_LENGTHS, /* the last periods took different times */
  ORR_LEAP_FIRST,   /* the first lane's ops do not repeat a period later */
  ORR_LEAP_OTHERS,  /* other lanes' ops do not */
  ORR_LEAP_CROWDED, /* ops end so close to each other that rounding could change their order */
  ORR_LEAP_AT_ONCE, /* the engine has more to do for them at that date */
  ORR_LEAP_FEW,     /* what is left is less than the period */
  ORR_N_LEAP_LOOKS
} OrrLeapLook;
extern const char *const orr_leap_words[]; /* by OrrLeapLook: for people */

typedef struct {
  double end_s;     /* the end of the last op */
  guint64 n_events; /* engine events */
  guint64 n_transfers;
  gint64 n_left_out;               /* periods of lanes that were left out and not made up for */
  guint64 looks[ORR_N_LEAP_LOOKS]; /* how many ended so */
} OrrReplay;

/* Replays the sealed @program on a new @engine; the executor adds the program's links to it. @sink
 * (may be NULL) receives every span in the order of end time, then start time, then stream.
 * @link_bytes (may be NULL): n_links doubles, filled with the bytes that each kept link carried. */
gboolean orr_executor_run(const OrrProgram *program, OrrEngine *engine, OrrSpanSink sink,
                          void *user, double *link_bytes, OrrReplay *ret_replay, GError **error);

/* A lane whose state came back, `period_s` before `at_s`, and that was taken `later_s` ahead then:
 * its spans that end in (from, at] stand for 1 + `times` as many, and later ones have later dates.
 * All zero: none. */
typedef struct {
  double from_s, at_s;
  double times;
  double later_s;
} OrrLeap;

/* What a program leaves out of the middle of its schedule: periods; each raises the ops' tags by
 * `tags`. */
typedef struct {
  gint64 n_periods, tags;
} OrrLeftOut;

/* The same up to rounding, with fewer events: the ops of a routine that meets no other traffic are
 * one event and one span (executor_express.c). Does not report the bytes of links. @left_out (may
 * be NULL): the replay makes up for the periods that the program leaves out. It replays its own
 * again in their place (executor_rewind.c), and once a lane's state comes back takes it ahead
 * (executor_leap.c); @leaps, one for each lane, are filled. Where OrrReplay.n_left_out is not 0, it
 * could not: then the replay is of no use. */
gboolean orr_executor_run_briefly(const OrrProgram *program, OrrEngine *engine,
                                  const OrrLeftOut *left_out, OrrSpanSink sink, void *user,
                                  OrrLeap *leaps, OrrReplay *ret_replay, GError **error);

/* The same in two steps, for several executors on one engine and its links: begin before
 * orr_engine_run, end after it. */
typedef struct OrrExecutor OrrExecutor;
OrrExecutor *orr_executor_begin(const OrrProgram *program, OrrEngine *engine, OrrSpanSink sink,
                                void *user, GError **error);
/* the engine's number of a link that the program keeps */
OrrLink orr_executor_link(const OrrExecutor *executor, guint32 link);
/* @has_run: the result of orr_engine_run. Where that is FALSE, so is this, and the message of
 * @error gains the list of waiting streams. */
gboolean orr_executor_end(OrrExecutor *executor, gboolean has_run, double *link_bytes,
                          OrrReplay *ret_replay, GError **error);
void orr_executor_free(OrrExecutor *executor); /* NULL is fine */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(OrrExecutor, orr_executor_free)

/*
 * executor_private.h - the state of a replay, which the executor*.c files share.
 */
#pragma once

#include "sim/engine/executor_overlap.h"

#define ORR_NOBODY G_MAXUINT32

/* A stream waits for one thing at a time, so its one `next` is enough for the list of streams that
 * wait for a comm or an event. */
typedef struct {
  const OrrOp *ops;       /* the stream's, or in a call the routine's */
  const guint32 *targets; /* of the ops, where another stream has the same; NULL: as they say */
  guint32 lane;
  guint32 n_ops;
  guint32 next_op;
  guint32 call;  /* in a call: index of the CALL among the stream's ops, plus 1; else 0 */
  guint32 helps; /* a helper in use: the stream in the call, plus 1; else 0 */
  double now_s;  /* the stream's own time: the end of its last op; may run ahead of the engine's */
  guint32 next;  /* in the list it waits in, or in the ready queue */
  gboolean waiting; /* for the target of ops[next_op - 1] */
} OrrStreamState;

typedef struct {
  guint32 first, last;
} OrrStreamList;

/* Of a comm from its first member's arrival to its end: comms take turns with a few states. */
typedef struct OrrCommState {
  OrrExecutor *executor;
  guint32 comm;
  struct OrrCommState *next_spare;
  OrrStreamList members; /* that have arrived */
  guint32 n_arrived, n_phases;
  guint32 phase; /* the current phase; while a transfer is in flight, the next one */
  const OrrPhase *phases;
  OrrTransfer *transfer; /* in flight, or NULL */
  double drag;           /* of its transfers now; 1 unless overlaps.drags */
  double started_s;
  double end_s; /* while streams wait for the end */
} OrrCommState;

typedef struct {
  OrrStreamList waiters;
  double at_s; /* below 0: not yet */
} OrrEventState;

typedef struct {
  OrrSpan span;
  guint64 index; /* counts spans, so that the ops of one stream stay in order */
  /* with a leaper: */
  double noted_s;   /* when it was handed over, which may be after its end */
  guint32 previous; /* the stream's span before it */
} OrrKeptSpan;

/* The number of spans buffered before the final ones are sorted and delivered. */
#define ORR_SPAN_BUFFER 65536u

/* Spans are produced out of order, since streams run ahead. They are buffered until no earlier
 * span can follow. */
typedef struct {
  OrrSpanSink sink;
  void *user;
  OrrKeptSpan *kept;
  guint n_kept, room; /* of `kept` */
  guint64 n;
  guint flush_at;
} OrrSpanBuffer;

/* The change of an engine's link by a fault; 0 bytes/s: down. */
typedef struct {
  OrrEngine *engine;
  OrrLink link;
  double bandwidth;
} OrrLinkChange;

/* An engine call at which communications are rerouted, or a lane is lost. */
typedef struct {
  OrrExecutor *executor;
  guint index; /* epoch, or lane */
} OrrDatedCall;

/* What a program leaves out (executor_repeat.c), seen at the two barriers around what repeats. */
typedef struct {
  OrrProgramRepeat of;
  double from_s, to_s; /* the barriers' ends; below 0: not yet */
  double *bytes;       /* by program link: carried by the end of the first, then between the two */
  guint n_flying;      /* transfers in flight at a barrier: a bug of who built the program */
} OrrRepeats;

typedef struct OrrExpressRoutine OrrExpressRoutine;
typedef struct OrrExpressRun OrrExpressRun;

/* Routines replayed as one event (executor_express.c). */
typedef struct {
  OrrExpressRoutine *routines; /* NULL: op by op */
  OrrExpressRun *runs;         /* by stream */
  guint32 *n_flows;            /* by the engine's links: transfers in flight */
  guint32 *on_link, *on_lane;  /* the stream whose run occupies it, plus 1; 0: none */
} OrrExpress;

typedef struct OrrLeaper OrrLeaper;

struct OrrExecutor {
  const OrrProgram *program;
  OrrEngine *engine;
  OrrStreamState *streams;
  OrrCommState **comms; /* NULL: nobody is in it */
  OrrCommState *spares; /* of comms that have ended: a list */
  OrrEventState *events;
  OrrLink *links;         /* program's kept link -> engine's */
  OrrLinkChange *changes; /* of the program's faults */
  OrrUseRows uses;        /* the program's kept rows, in the engine's numbers */
  OrrSlowdowns slowdowns;
  OrrOverlaps overlaps;
  OrrExpress express;
  OrrRepeats repeats;
  OrrLeaper *leaper;    /* NULL: nothing is left out */
  OrrDatedCall *epochs; /* of the program */
  OrrDatedCall *losses;
  double *lost_s; /* by lane: when it is lost; NULL: none is */
  OrrStreamList ready;
  OrrSpanBuffer spans;
  double end_s;
  guint64 n_transfers, n_transferred; /* begun, and ended */
};

/* The op that the stream is in; in a call, the routine's op. */
static inline const OrrOp *orr_stream_op(const OrrStreamState *state) {
  return &state->ops[state->next_op - 1];
}

/* The comm or event of that op. Streams that call routines share no ops. */
static inline guint32 orr_stream_target(const OrrStreamState *state) {
  return state->targets ? state->targets[state->next_op - 1] : orr_stream_op(state)->target;
}

static inline void orr_stream_list_append(OrrStreamState *streams, OrrStreamList *list,
                                          guint32 stream) {
  streams[stream].next = ORR_NOBODY;
  if (list->first == ORR_NOBODY)
    list->first = stream;
  else
    streams[list->last].next = stream;
  list->last = stream;
}

/* Hands to the sink, in order, the kept spans that end before @before_s. */
void orr_span_buffer_flush(OrrSpanBuffer *buffer, double before_s);

/* Other ways and lost lanes (executor_reroute.c). */
void orr_executor_plan_changes(OrrExecutor *executor);
void orr_executor_clear_changes(OrrExecutor *executor);
/* by its started_s */
void orr_executor_choose_phases(const OrrExecutor *executor, OrrCommState *comm);
gboolean orr_executor_comm_is_lost(const OrrExecutor *executor, const OrrCommState *comm,
                                   double now_s);

static inline gboolean orr_executor_is_lost(const OrrExecutor *executor, guint32 stream,
                                            double at_s) {
  return executor->lost_s != NULL && executor->lost_s[executor->streams[stream].lane] < at_s;
}

/* Of the op that @stream is at. */
double orr_executor_fixed_share(const OrrExecutor *executor, guint32 stream);

/* Transfers that compute and other transfers slow (executor_drag.c). All members of @comm have
 * begun their flights; the activity on @lane has changed. */
void orr_executor_drag_begin(OrrExecutor *executor, OrrCommState *comm);
void orr_executor_drag_change(OrrExecutor *executor, guint32 lane);
/* Whether any lane of the program slows transfers. */
gboolean orr_executor_drags(const OrrProgram *program);

/* The op that @stream is at has ended: its span, and the stream goes on (executor.c). */
void orr_executor_end_work(OrrExecutor *executor, guint32 stream, double begin_s, double end_s,
                           guint32 beside);

/* Calls (executor_call.c): @stream comes to its CALL, and to the end of the routine (FALSE: of
 * its own ops). */
void orr_executor_call_begin(OrrExecutor *executor, guint32 stream, guint32 routine);
gboolean orr_executor_call_end(OrrExecutor *executor, guint32 stream);
/* The CALL that @stream is in, or that it helps in; NULL: none. */
const OrrOp *orr_executor_call_op(const OrrExecutor *executor, guint32 stream);
guint32 orr_executor_call_helper(const OrrExecutor *executor, guint32 stream);
/* The helper is at @op of @stream's routine, from @now_s on; join its comm then. */
void orr_executor_call_send_helper(OrrExecutor *executor, guint32 stream, guint32 op, double now_s);
/* FALSE: @stream waits for its helper */
gboolean orr_executor_call_meet(OrrExecutor *executor, guint32 stream);
/* a stream has no more ops: if it helped, that is over */
void orr_executor_call_helped(OrrExecutor *executor, guint32 stream);

/* Calls of routines in one go. Where express is on, no stream runs ahead of the engine. */
gboolean orr_express_is_possible(const OrrProgram *program);
void orr_express_init(OrrExecutor *executor); /* after the links are the engine's */
void orr_express_clear(OrrExpress *express, const OrrProgram *program);
/* From the op that @stream is at to the end of @routine, which it is in; FALSE: op by op. */
gboolean orr_express_begin(OrrExecutor *executor, guint32 stream, guint32 routine);
/* The op that the stream's run is in now; G_MAXUINT32: it has no run, or overlaps a comm. */
guint32 orr_express_op(OrrExecutor *executor, guint32 stream);
/* Hands over the span of the run's ops before that one; the run goes on from it. */
void orr_express_split(OrrExecutor *executor, guint32 stream);
/* A transfer over @uses is about to begin, or has ended; a comm is about to begin on another
 * stream of the lane. */
void orr_express_begin_flow(OrrExecutor *executor, const OrrLinkUse *uses, guint n_uses);
void orr_express_end_flow(OrrExecutor *executor, const OrrLinkUse *uses, guint n_uses);
void orr_express_meet_lane(OrrExecutor *executor, guint32 lane);

/* Back from express (executor.c): the span of @n_ops ops, or of one; the stream goes on after
 * its op, at @now_s; it is in the comm of its op since its now_s, alone on its links. */
void orr_executor_add_run(OrrExecutor *executor, guint32 stream, guint32 routine, guint32 first,
                          guint32 n_ops, double begin_s, double end_s);
void orr_executor_go_on(OrrExecutor *executor, guint32 stream, double now_s);
void orr_executor_add_span(OrrExecutor *executor, guint32 stream, const OrrOp *op, double begin_s,
                           double end_s, guint32 beside);
void orr_executor_join_since(OrrExecutor *executor, guint32 stream);
/* bytes/s of a transfer that is alone on @path, as engines compute it */
double orr_executor_rate_alone(const OrrExecutor *executor, guint32 path);

/* Repetitions that the program leaves out (executor_repeat.c). Comm @comm ends at @end_s. */
void orr_repeats_init(OrrExecutor *executor);
void orr_repeats_clear(OrrRepeats *repeats);
void orr_repeats_note(OrrExecutor *executor, guint32 comm, double end_s);
/* Adds what was left out to the end of the replay and to @link_bytes (may be NULL). */
gboolean orr_repeats_add(OrrExecutor *executor, double *link_bytes, GError **error);

/* Fast-forward (executor_leap.c): makes executor->leaper. @leaps: of the caller, by lane. */
void orr_leaper_init(OrrExecutor *executor, const OrrLeftOut *left_out, OrrLeap *leaps);
/* Whether it is known from the start that periods stay left out. */
gboolean orr_leaper_gives_up(const OrrExecutor *executor);
/* Periods that are still left out, of all lanes. */
gint64 orr_leaper_n_left(OrrExecutor *executor);
/* How each look at lanes ended: OrrReplay.looks. */
void orr_leaper_count_looks(const OrrExecutor *executor, guint64 *ret_looks);
void orr_leaper_free(OrrLeaper *leaper);
/* The last span of the buffer is new. */
void orr_leaper_note_span(OrrExecutor *executor);

/* The stream that an engine call is about, and moving the dates of what is under way on it; each in
 * the file that makes the calls. ORR_NOBODY: not one of these calls. */
guint32 orr_executor_comm_call_stream(OrrEngineCall call, const void *user);
guint32 orr_express_call_stream(OrrEngineCall call, const void *user);
void orr_express_postpone(OrrExecutor *executor, guint32 stream, double delay_s);

/* TRUE when all streams are done; else ORR_FAULT_STUCK with who waits for what
 * (executor_stuck.c). */
gboolean orr_executor_check_done(const OrrExecutor *executor, GError **error);
/* Says in place of the engine's ORR_FAULT_STUCK who has waited longest for which link that stays
 * down, and since when. */
void orr_executor_explain_stuck(const OrrExecutor *executor, GError **error);

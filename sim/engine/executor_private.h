/*
 * executor_private.h - the state of a replay: shared by executor*.c.
 */
#ifndef ORR_EXECUTOR_PRIVATE_H
#define ORR_EXECUTOR_PRIVATE_H

#include "sim/engine/executor.h"
#include "sim/engine/program_private.h"

G_BEGIN_DECLS

#define ORR_NOBODY G_MAXUINT32

/* A stream waits for one thing at a time, so one link in it makes the list of who waits for a
 * comm or an event. */
typedef struct {
  const OrrOp *ops; /* the stream's, or in a call the routine's */
  guint32 n_ops;
  guint32 next_op;
  guint32 call;  /* in a call: the place of its op among the stream's, and one more; else 0 */
  guint32 helps; /* a helper at work: the stream that is in the call, and one more; else 0 */
  double now_s;  /* the stream's own time: the end of its last op; may run ahead of the engine's */
  guint32 next;  /* in the list it waits in, or in the ready queue */
  gboolean waiting; /* for what ops[next_op - 1] names */
} OrrStreamState;

/* Work under way where communication slows it (executor_beside.c). */
typedef struct {
  gboolean working;
  double begin_s;
  double since_s, left_s; /* at since_s, so much of the op was left */
  double factor;          /* since then */
  double end_s;           /* if nothing changes */
  double noted_s;         /* what slowed it is known up to here */
  /* the least stream of the lane whose comm slowed it; ORR_NOBODY: nothing has */
  guint32 slowed_by;
  guint32 beside;     /* label of that comm; G_MAXUINT32 */
  guint32 generation; /* of end_s: earlier ends are void */
} OrrWorkState;

/* A date at which a stream's work ends, unless that has moved. */
typedef struct {
  OrrExecutor *executor;
  guint32 stream, generation;
} OrrWorkEnd;

typedef struct {
  OrrWorkState *works;    /* by stream; NULL: no lane is slowed */
  guint32 *n_flights;     /* by lane: comms under way on its streams */
  guint32 *flight_labels; /* by stream: of the comm under way; G_MAXUINT32: none */
  guint32 *first;         /* by lane, n_lanes + 1: its streams in `streams` */
  guint32 *streams;
  GPtrArray *ends; /* of OrrWorkEnd: all */
  GPtrArray *idle; /* of those, the ones in no calendar */
} OrrBesides;

typedef struct {
  guint32 first, last;
} OrrStreamList;

typedef struct {
  OrrExecutor *executor;
  OrrStreamList members; /* that have arrived */
  guint32 n_arrived;
  guint32 phase; /* the next one, where a transfer is in flight; else the one under way */
  guint32 n_phases;
  const OrrPhase *phases;
  OrrTransfer *transfer; /* in flight; NULL: none */
  double started_s;
  double end_s; /* where the end is waited for */
} OrrCommState;

typedef struct {
  OrrStreamList waiters;
  double at_s;
  gboolean happened;
} OrrEventState;

typedef struct {
  OrrSpan span;
  guint64 index; /* in order of production: keeps the ops of one stream in order */
} OrrKeptSpan;

/* Spans come about out of order (a stream runs ahead); they wait here until no earlier one can
 * come. */
typedef struct {
  OrrSpanSink sink;
  void *user;
  GArray *kept; /* OrrKeptSpan */
  guint64 n;
  guint flush_at;
} OrrSpanBuffer;

/* What a fault does to a link of the engine's; 0 bytes/s: down. */
typedef struct {
  OrrEngine *engine;
  OrrLink link;
  double bandwidth;
} OrrLinkChange;

/* When a lane's work slows down; by date, the dates of one lane in rows of `starts` as in
 * OrrUseRows. */
typedef struct {
  guint32 *starts; /* by lane, n_lanes + 1 of them; NULL: no lane is ever slow */
  OrrSlowdown *items;
} OrrSlowdowns;

/* A date at which communications take other ways, or a lane is lost. */
typedef struct {
  OrrExecutor *executor;
  guint index; /* epoch, or lane */
} OrrDatedCall;

typedef struct OrrExpressRoutine OrrExpressRoutine;
typedef struct OrrExpressRun OrrExpressRun;

/* Routines in one go (executor_express.c). */
typedef struct {
  OrrExpressRoutine *routines; /* NULL: op by op */
  OrrExpressRun *runs;         /* by stream */
  guint32 *n_flows;            /* by the engine's links: transfers in flight */
  guint32 *on_link, *on_lane;  /* the stream whose run is there, and one more; 0: none */
  GPtrArray *ends, *idle;      /* as in OrrBesides */
} OrrExpress;

struct OrrExecutor {
  const OrrProgram *program;
  OrrEngine *engine;
  OrrStreamState *streams;
  OrrCommState *comms;
  OrrEventState *events;
  OrrLink *links;         /* program's kept link -> engine's */
  OrrLinkChange *changes; /* of the program's faults */
  OrrUseRows uses;        /* the program's kept rows, in the engine's numbers */
  OrrSlowdowns slowdowns;
  OrrBesides besides;
  OrrExpress express;
  OrrDatedCall *epochs; /* of the program */
  OrrDatedCall *losses;
  double *lost_s; /* by lane: when it is lost; NULL: none is */
  OrrStreamList ready;
  OrrSpanBuffer spans;
  double end_s;
  guint64 n_transfers;
};

/* The op that the stream is in; of a call: that of the routine. */
static inline const OrrOp *orr_stream_op(const OrrStreamState *state) {
  return &state->ops[state->next_op - 1];
}

void orr_stream_list_append(OrrStreamState *streams, OrrStreamList *list, guint32 stream);

/* Hands to the sink, in order, the kept spans that end before @before_s. */
void orr_span_buffer_flush(OrrSpanBuffer *buffer, double before_s);

/* Sorts @program's slowdowns by lane and date (executor_slow.c). */
void orr_slowdowns_init(OrrSlowdowns *slowdowns, const OrrProgram *program);
void orr_slowdowns_clear(OrrSlowdowns *slowdowns);

/* Other ways and lost lanes (executor_reroute.c). */
void orr_executor_plan_changes(OrrExecutor *executor);
void orr_executor_clear_changes(OrrExecutor *executor);
/* by its started_s */
void orr_executor_choose_phases(const OrrExecutor *executor, OrrCommState *comm);
gboolean orr_executor_comm_is_lost(const OrrExecutor *executor, const OrrCommState *comm,
                                   double now_s);

static inline gboolean orr_executor_is_lost(const OrrExecutor *executor, guint32 stream,
                                            double at_s) {
  return executor->lost_s != NULL &&
         executor->lost_s[orr_program_stream_lane(executor->program, stream)] < at_s;
}

/* When work of @lane ends that begins at @begin_s and takes @duration_s where nothing is slow; a
 * lane does not slow @fixed_share of it. */
double orr_slowdowns_work_end(const OrrSlowdowns *slowdowns, guint32 lane, double begin_s,
                              double duration_s, double fixed_share);

/* How much work of @lane is done from @begin_s to @end_s. */
double orr_slowdowns_work_between(const OrrSlowdowns *slowdowns, guint32 lane, double begin_s,
                                  double end_s, double fixed_share);

/* Of the op that @stream is at. */
double orr_executor_fixed_share(const OrrExecutor *executor, guint32 stream);

/* Work that communication slows (executor_beside.c). Where any lane of the program is, no stream
 * runs ahead of the engine: works are TRUE, and every end of work or of a comm is an engine
 * event. */
void orr_besides_init(OrrExecutor *executor);
void orr_besides_clear(OrrBesides *besides);
void orr_besides_begin_work(OrrExecutor *executor, guint32 stream, double duration_s);
/* The same for work that began before, and of which @left_s is left now; so far the comm on
 * stream @beside has slowed it (ORR_NOBODY: none has). */
void orr_besides_resume_work(OrrExecutor *executor, guint32 stream, double left_s, guint32 beside,
                             guint32 label);
void orr_besides_begin_flight(OrrExecutor *executor, guint32 stream, guint32 label);
void orr_besides_end_flight(OrrExecutor *executor, guint32 stream);

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

/* Calls of routines in one go. Where express is on, no stream runs ahead of the engine, as
 * above. */
gboolean orr_express_is_possible(const OrrProgram *program);
void orr_express_init(OrrExecutor *executor); /* after the links are the engine's */
void orr_express_clear(OrrExpress *express, const OrrProgram *program);
/* From the op that @stream is at to the end of @routine, which it is in; FALSE: op by op. */
gboolean orr_express_begin(OrrExecutor *executor, guint32 stream, guint32 routine);
/* A transfer over @uses is about to begin, or has ended; a comm is about to begin on another
 * stream of the lane. */
void orr_express_begin_flow(OrrExecutor *executor, const OrrLinkUse *uses, guint n_uses);
void orr_express_end_flow(OrrExecutor *executor, const OrrLinkUse *uses, guint n_uses);
void orr_express_meet_lane(OrrExecutor *executor, guint32 lane);

/* Back from express (executor.c): the span of @n_ops ops, or of one; the stream goes on after
 * its op, at @now_s; it is in the comm of its op since its now_s, and so much of that is left. */
void orr_executor_add_run(OrrExecutor *executor, guint32 stream, guint32 routine, guint32 first,
                          guint32 n_ops, double begin_s, double end_s);
void orr_executor_go_on(OrrExecutor *executor, guint32 stream, double now_s);
void orr_executor_add_span(OrrExecutor *executor, guint32 stream, const OrrOp *op, double begin_s,
                           double end_s, guint32 beside);
void orr_executor_join_within(OrrExecutor *executor, guint32 stream, double left_s);

/* TRUE when all streams are done; else ORR_FAULT_STUCK with who waits for what
 * (executor_stuck.c). */
gboolean orr_executor_check_done(const OrrExecutor *executor, GError **error);
/* Says in place of the engine's ORR_FAULT_STUCK who has waited longest for which link that stays
 * down, and since when. */
void orr_executor_explain_stuck(const OrrExecutor *executor, GError **error);

G_END_DECLS

#endif

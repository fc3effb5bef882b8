/*
 * executor_private.h - the state of a replay: shared by executor*.c.
 */
#ifndef ORR_EXECUTOR_PRIVATE_H
#define ORR_EXECUTOR_PRIVATE_H

#include "sim/engine/executor.h"
#include "sim/engine/program_private.h"

G_BEGIN_DECLS

#define ORR_NOBODY G_MAXUINT32

/* A stream waits for one thing at a time, so one link in it makes the list of who waits for a comm or an event. */
typedef struct {
  const OrrOp *ops;
  guint32 n_ops;
  guint32 next_op;
  double now_s;     /* the stream's own time: the end of its last op; may run ahead of the engine's */
  guint32 next;     /* in the list it waits in, or in the ready queue */
  gboolean waiting; /* for what ops[next_op - 1] names */
} OrrStreamState;

typedef struct {
  guint32 first, last;
} OrrStreamList;

typedef struct OrrExecutor OrrExecutor;

typedef struct {
  OrrExecutor *executor;
  OrrStreamList members; /* that have arrived */
  guint32 n_arrived;
  guint32 phase; /* the one under way */
  double started_s;
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

/* Spans come about out of order (a stream runs ahead); they wait here until no earlier one can come. */
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

/* When a lane's work slows down; by date, the dates of one lane in rows of `starts` as in OrrUseRows. */
typedef struct {
  guint32 *starts; /* by lane, n_lanes + 1 of them; NULL: no lane is ever slow */
  OrrSlowdown *items;
} OrrSlowdowns;

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
  OrrStreamList ready;
  OrrSpanBuffer spans;
  double end_s;
  guint64 n_transfers;
};

void orr_stream_list_append(OrrStreamState *streams, OrrStreamList *list, guint32 stream);

/* Hands to the sink, in order, the kept spans that end before @before_s. */
void orr_span_buffer_flush(OrrSpanBuffer *buffer, double before_s);

/* Sorts @program's slowdowns by lane and date (executor_slow.c). */
void orr_slowdowns_init(OrrSlowdowns *slowdowns, const OrrProgram *program);
void orr_slowdowns_clear(OrrSlowdowns *slowdowns);

/* When work of @lane ends that begins at @begin_s and takes @duration_s where nothing is slow. */
double orr_slowdowns_work_end(const OrrSlowdowns *slowdowns, guint32 lane, double begin_s, double duration_s);

/* TRUE when all streams are done; else ORR_FAULT_STUCK with who waits for what (executor_stuck.c). */
gboolean orr_executor_check_done(const OrrExecutor *executor, GError **error);

G_END_DECLS

#endif

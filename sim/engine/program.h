/*
 * program.h - what is replayed: streams of operations, as CUDA has them.
 *
 * A program is a value: workloads build it, executor.h replays it on an engine, tests print it with
 * no engine at all.
 *
 *   lane      a rank, or a class of `multiplicity` equivalent ranks replayed once (folding)
 *   stream    ops of one lane in order, like a CUDA stream; a lane has several
 *   op        WORK     occupies the stream for `duration_s`
 *             COMM     joins communication `comm`; the stream is held until the communication is over
 *             RECORD   marks event `event` as happened
 *             WAIT     holds the stream until event `event` has happened
 *             CALL     does the ops of routine `target`, as if they stood here, with the call's tag
 *   routine   ops that one stream does again and again (the layers of each micro-batch), written once: WORK, COMM, and
 *             BESIDE   joins comm `target` on the routine's helper stream, and goes on
 *             MEET     holds the stream until that is over; only WORK stands between the two
 *             Its comms have one member, and nobody else joins them. The helper has no ops of its own.
 *   comm      one communication: starts when all its `n_members` COMM ops have been reached (as NCCL rendezvous), then
 *             takes its phases one after another: first latency_s as a delay, then `bytes` over the phase's path
 *   path      a set of links with weights, shared by many comms: what a transfer loads
 *   event     happens once
 *
 *   A non-blocking collective is a COMM on a stream of its own, after a WAIT for what it needs; who needs its result
 *   waits for an event recorded after it.
 *
 * Links here are numbered by whoever built the program (topologies/fabric.h); bandwidths are given
 * once a link in orr_program_link. Before replay orr_program_seal folds links: two links with equal
 * bandwidth that every path uses with equal weights are one constraint to the sharing, so one of
 * them is kept, exactly. A link that is nobody's bottleneck because another with the same uses has
 * less bandwidth is dropped, exactly too. Links named by orr_program_keep_link (faults) are never
 * folded.
 */
#ifndef ORR_PROGRAM_H
#define ORR_PROGRAM_H

#include "sim/engine/engine.h"

G_BEGIN_DECLS

typedef enum {
  ORR_OP_WORK,
  ORR_OP_COMM,
  ORR_OP_RECORD,
  ORR_OP_WAIT,
  ORR_OP_CALL,
  ORR_OP_BESIDE,
  ORR_OP_MEET
} OrrOpKind;

typedef struct {
  double duration_s; /* WORK */
  /* WORK, COMM, BESIDE, CALL: index into the program's labels (what a span is called) */
  guint32 label;
  guint32 target; /* COMM, BESIDE: comm; RECORD, WAIT: event; CALL: routine */
  gint32 tag;     /* free for the workload: the micro-batch; -1 none. Goes to the span as it is */
  guint8 kind;    /* OrrOpKind */
} OrrOp;

typedef struct {
  double latency_s;
  double bytes;
  guint32 path; /* index, or ORR_NO_PATH: only the latency */
} OrrPhase;

#define ORR_NO_PATH G_MAXUINT32

/* Where the numbers of one part begin in a merged program (program_merge.h): its lane l is lane
 * first_lane + l there, and so on. Links are looked up instead, since parts share them. */
typedef struct {
  guint32 first_lane, first_stream, first_label, first_comm, first_event, first_routine;
} OrrProgramOffset;

typedef struct OrrProgram OrrProgram;

OrrProgram *orr_program_new(void);
void orr_program_free(OrrProgram *program); /* NULL is fine */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(OrrProgram, orr_program_free)

/* Building. Indices are dense, from 0, in order of the calls. Strings are copied. */
guint32 orr_program_link(OrrProgram *program, const char *name, double bandwidth_bytes_per_s);
guint32 orr_program_lane(OrrProgram *program, const char *name, guint32 multiplicity);
guint32 orr_program_stream(OrrProgram *program, guint32 lane, const char *name);
/* equal pairs share an index */
guint32 orr_program_label(OrrProgram *program, const char *name, const char *category);
guint32 orr_program_event(OrrProgram *program);
/* a link at most once */
guint32 orr_program_path(OrrProgram *program, const OrrLinkUse *uses, guint n_uses);
guint32 orr_program_comm(OrrProgram *program, guint32 n_members, const OrrPhase *phases,
                         guint n_phases);

void orr_program_work(OrrProgram *program, guint32 stream, double duration_s, guint32 label,
                      gint32 tag);
void orr_program_join(OrrProgram *program, guint32 stream, guint32 comm, guint32 label, gint32 tag);
void orr_program_record(OrrProgram *program, guint32 stream, guint32 event);
void orr_program_wait(OrrProgram *program, guint32 stream, guint32 event);

/* What is put on @stream between the two becomes a routine instead; its number is returned. They
 * do not nest. @helper is a stream of the same lane. */
void orr_program_begin_routine(OrrProgram *program, guint32 stream, guint32 helper);
guint32 orr_program_end_routine(OrrProgram *program, guint32 stream);
/* in routines alone */
void orr_program_beside(OrrProgram *program, guint32 stream, guint32 comm, guint32 label,
                        gint32 tag);
void orr_program_meet(OrrProgram *program, guint32 stream); /* likewise */
void orr_program_call(OrrProgram *program, guint32 stream, guint32 routine, guint32 label,
                      gint32 tag);

/* A change of a link at a time: what faults are made of. @factor of its bandwidth; 0 is down. */
void orr_program_fault(OrrProgram *program, double at_s, guint32 link, double factor);
void orr_program_keep_link(OrrProgram *program, guint32 link);
/* A link that is not this program's alone: others send over it on the same engine. Kept, though
 * nothing here uses it. */
void orr_program_share_link(OrrProgram *program, guint32 link);

/* A slow GPU: from @at_s on, WORK of @lane takes @factor times as long (1: as usual; less is
 * faster). Work that is under way then is slowed for the rest of it. A later one of the same
 * lane replaces it. */
void orr_program_slow_lane(OrrProgram *program, double at_s, guint32 lane, double factor);

/* Compute and communication share SMs and memory: while a comm is under way on another stream of
 * @lane, from its start to its end, WORK of the lane takes @factor (1 or more) times as long. */
void orr_program_slow_beside(OrrProgram *program, guint32 lane, double factor);

/* But for those of @stream: copy engines, and work on the host, take none of the GPU's
 * multiprocessors. */
void orr_program_quiet_stream(OrrProgram *program, guint32 stream);

/* Of WORK of @label, the share that a slow lane slows; 1 unless said. The rest is collectives
 * that are part of it. */
void orr_program_slow_share(OrrProgram *program, guint32 label, double share);

/* A lane that is lost at @at_s: its communications that are under way then end there, later ones
 * never begin, and no span of it ends later. Lanes that meet in a communication are lost
 * together. */
void orr_program_lose_lane(OrrProgram *program, double at_s, guint32 lane);

/* Other ways for communications: from @at_s on until the next such date, a comm that starts
 * takes the phases that orr_program_reroute gives it here, or else its own. One that is under
 * way then goes on with what is left of its present phase, and with the next ones, on the new
 * way, where that has as many phases. Dates ascend; within one, comms ascend. */
void orr_program_epoch(OrrProgram *program, double at_s);
void orr_program_reroute(OrrProgram *program, guint32 comm, const OrrPhase *phases, guint n_phases);

/* Checks that each comm has exactly n_members joins (a routine's: one), each event one record,
 * each routine one stream that calls it, and folds links. Once, before replay. */
gboolean orr_program_seal(OrrProgram *program, GError **error);

/* TRUE when no two comms that may be in flight together use the same link (each sealed link is
 * used by the paths of one stream only): then the ideal engine is exact. */
gboolean orr_program_uncontended(const OrrProgram *program);

/* Looking. */
guint orr_program_n_lanes(const OrrProgram *program);
guint orr_program_n_streams(const OrrProgram *program);
guint orr_program_n_labels(const OrrProgram *program);
guint orr_program_n_comms(const OrrProgram *program);
guint orr_program_n_paths(const OrrProgram *program);
guint orr_program_n_links(const OrrProgram *program);
guint orr_program_n_kept_links(const OrrProgram *program); /* after seal */
guint orr_program_n_routines(const OrrProgram *program);
/* of all streams; a call counts as the ops it does */
guint64 orr_program_n_ops(const OrrProgram *program);
const char *orr_program_lane_name(const OrrProgram *program, guint32 lane);
guint32 orr_program_multiplicity(const OrrProgram *program, guint32 lane);
guint32 orr_program_stream_lane(const OrrProgram *program, guint32 stream);
const char *orr_program_stream_name(const OrrProgram *program, guint32 stream);
const OrrOp *orr_program_ops(const OrrProgram *program, guint32 stream, guint *ret_n);
const OrrOp *orr_program_routine_ops(const OrrProgram *program, guint32 routine, guint *ret_n);
double *orr_program_routine_begins(
    const OrrProgram *program,
    /* seconds from its begin to that of each op and to its end, comms alone on their links;
     * newly allocated; after seal */
    guint32 routine);
const char *orr_program_label_name(const OrrProgram *program, guint32 label);
const char *orr_program_label_category(const OrrProgram *program, guint32 label);
const char *orr_program_link_name(const OrrProgram *program, guint32 link);
double orr_program_link_bandwidth(const OrrProgram *program, guint32 link);
/* links folded into it, itself included; 0: folded away or unused */
guint32 orr_program_link_stands_for(const OrrProgram *program, guint32 link);
const OrrPhase *orr_program_phases(const OrrProgram *program, guint32 comm, guint *ret_n);
/* as given; valid until the next path */
const OrrLinkUse *orr_program_path_uses(const OrrProgram *program, guint32 path, guint *ret_n);
const OrrLinkUse *
orr_program_path_kept(const OrrProgram *program, guint32 path,
                      guint *ret_n); /* after seal: over the links that are kept */
/* of a transfer that is alone on it; after seal */
double orr_program_seconds_a_byte(const OrrProgram *program, guint32 path);
/* seconds with its links to itself; after seal */
double orr_program_comm_alone(const OrrProgram *program, guint32 comm);
guint32 orr_program_comm_members(const OrrProgram *program, guint32 comm);

/* The whole program as text, a line an op: for tests and for the curious. Newly allocated. */
char *orr_program_text(const OrrProgram *program);

G_END_DECLS

#endif

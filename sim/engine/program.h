/*
 * program.h - a program to replay: streams of operations, like CUDA's.
 *
 * A program is a value: workloads build it, the executor (executor.h) replays it on an engine, and
 * tests print it without an engine.
 *
 *   lane      a rank, or a class of `multiplicity` equivalent ranks replayed once (folding)
 *   stream    ops of one lane in order, like a CUDA stream; a lane has several
 *   op        WORK     occupies the stream for `duration_s`
 *             COMM     joins communication `comm`, and holds the stream until that ends
 *             RECORD   marks event `event` as happened
 *             WAIT     holds the stream until event `event` has happened
 *             CALL     executes the ops of routine `target` here, with the tag of the call
 *   routine   ops that one stream repeats (the layers of each micro-batch), stored once: WORK,
 *             COMM, and these two:
 *             BESIDE   joins comm `target` on the routine's helper stream, and continues
 *             MEET     holds the stream until that comm ends; only WORK stands between the two
 *             Its comms have one member each. The helper has no ops of its own.
 *   comm      one communication: starts when all its `n_members` COMM ops have been reached (as in
 *             NCCL's rendezvous), then takes its phases one after another: latency_s as a delay,
 *             then `bytes` over the phase's path
 *   path      a set of links with weights, shared by many comms: what a transfer loads
 *   event     happens once
 *
 *   A non-blocking collective is a COMM on a stream of its own, after a WAIT for its inputs; a
 *   stream that needs its result waits for an event recorded after it.
 *
 * The builder of the program numbers the links (topologies/fabric.h) and gives each bandwidth once,
 * in orr_program_link. Before replay orr_program_seal folds links: two links with equal bandwidth
 * that every path uses with equal weights are one constraint, so one of them is kept. A link is
 * also dropped where another one with the same uses has less bandwidth. Both rules are exact. Links
 * named by orr_program_keep_link (faults) are never folded.
 */
#pragma once

#include "sim/base/interference.h"
#include "sim/engine/engine.h"

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
  gint32 tag;     /* set by the workload (the micro-batch); -1: none. Copied to the span */
  guint8 kind;    /* OrrOpKind */
} OrrOp;

typedef struct {
  double latency_s;
  double bytes;
  guint32 path; /* index, or ORR_NO_PATH: only the latency */
} OrrPhase;

#define ORR_NO_PATH G_MAXUINT32

/* Where the numbers of one part begin in a merged program (program_merge.h): lane l of the part is
 * lane first_lane + l of the merged program, and so on. Links are looked up, since parts share
 * them. */
typedef struct {
  guint32 first_lane, first_stream, first_label, first_comm, first_event, first_routine;
} OrrProgramOffset;

typedef struct OrrProgram OrrProgram;

OrrProgram *orr_program_new(void);
void orr_program_free(OrrProgram *program); /* NULL is fine */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(OrrProgram, orr_program_free)

/* Building. Indices are dense, from 0, in order of the calls. Strings are copied. */
guint32 orr_program_link(OrrProgram *program, const char *name, double bandwidth_bytes_per_s);
/* A link whose name is @namer's for @number, newly allocated, when it is first asked for: large
 * machines have millions of links whose names nobody sees. @user must live until then, or until
 * orr_program_name_links. */
typedef char *(*OrrLinkNamer)(gconstpointer user, guint32 number);
guint32 orr_program_link_named_by(OrrProgram *program, OrrLinkNamer namer, gconstpointer user,
                                  guint32 number, double bandwidth_bytes_per_s);
void orr_program_name_links(OrrProgram *program); /* all of them, now */
guint32 orr_program_lane(OrrProgram *program, const char *name, guint32 multiplicity);
guint32 orr_program_stream(OrrProgram *program, guint32 lane, const char *name);
/* equal pairs share an index */
guint32 orr_program_label(OrrProgram *program, const char *name, const char *category);
guint32 orr_program_event(OrrProgram *program);
/* names each link at most once */
guint32 orr_program_path(OrrProgram *program, const OrrLinkUse *uses, guint n_uses);
guint32 orr_program_comm(OrrProgram *program, guint32 n_members, const OrrPhase *phases,
                         guint n_phases);

void orr_program_work(OrrProgram *program, guint32 stream, double duration_s, guint32 label,
                      gint32 tag);
void orr_program_join(OrrProgram *program, guint32 stream, guint32 comm, guint32 label, gint32 tag);
void orr_program_record(OrrProgram *program, guint32 stream, guint32 event);
void orr_program_wait(OrrProgram *program, guint32 stream, guint32 event);

/* If @stream repeats the operations of @like with other comms and events, stores them once
 * (program_share.c): replicas of a job take a fifth of the memory. Otherwise does nothing. Either
 * can get more ops later. */
void orr_program_share(OrrProgram *program, guint32 stream, guint32 like);

/* The ops added to @stream between the two calls form a routine, whose number the second returns.
 * Routines do not nest. @helper is a stream of the same lane. */
void orr_program_begin_routine(OrrProgram *program, guint32 stream, guint32 helper);
guint32 orr_program_end_routine(OrrProgram *program, guint32 stream);
/* only in routines */
void orr_program_beside(OrrProgram *program, guint32 stream, guint32 comm, guint32 label,
                        gint32 tag);
void orr_program_meet(OrrProgram *program, guint32 stream); /* only in routines */
/* Only in routines: the ops added to @stream between the two calls follow one another @times times,
 * each time with comms of their own. Loops do not nest. */
void orr_program_begin_loop(OrrProgram *program, guint32 stream);
void orr_program_end_loop(OrrProgram *program, guint32 stream, gint64 times);
void orr_program_call(OrrProgram *program, guint32 stream, guint32 routine, guint32 label,
                      gint32 tag);

/* A fault: from @at_s on, the link has @factor times its bandwidth; 0 is down. */
void orr_program_fault(OrrProgram *program, double at_s, guint32 link, double factor);
void orr_program_keep_link(OrrProgram *program, guint32 link);
/* Marks a link that other programs on the same engine use too; it is kept even where this program
 * does not use it. */
void orr_program_share_link(OrrProgram *program, guint32 link);

/* A slow GPU: from @at_s on, WORK of @lane takes @factor times as long (below 1: faster). It
 * applies to the rest of the work in progress at @at_s. A later factor of the same lane replaces
 * it. */
void orr_program_slow_lane(OrrProgram *program, double at_s, guint32 lane, double factor);

/* Compute, communication and copies of a lane share SMs and memory: each takes its factor (1 or
 * more; by default 1) times as long while another one is in progress on another stream of @lane.
 * A comm is in progress from its start to its end; only its bytes are slowed, not its latency, and
 * by the most that slows any of its members. */
void orr_program_interfere(OrrProgram *program, guint32 lane, const OrrInterference *factors);

/* The comms of @stream are copies, and its WORK is the host's, which slows nothing: copy engines
 * and host work occupy no multiprocessors. */
void orr_program_quiet_stream(OrrProgram *program, guint32 stream);

/* The comms of @stream are the host's, between its memory and the network: they slow nothing on the
 * GPU, and nothing there slows them. */
void orr_program_host_stream(OrrProgram *program, guint32 stream);

/* The fraction of WORK with @label that a slow lane slows; 1 by default. The rest is collectives
 * inside that work. */
void orr_program_slow_share(OrrProgram *program, guint32 label, double share);

/* Loses a lane at @at_s: its communications in flight end then, later ones never begin, and none
 * of its spans ends later. Lanes that take part in a common communication are lost together. */
void orr_program_lose_lane(OrrProgram *program, double at_s, guint32 lane);

/* Reroutes communications: from @at_s until the next such date, a comm that starts takes the
 * phases that orr_program_reroute gives it for this epoch, or else its own. A comm in flight at
 * @at_s continues the rest of its current phase, and the next phases, on the new path, where that
 * has as many phases. Dates ascend; within an epoch, comms ascend. */
void orr_program_epoch(OrrProgram *program, double at_s);
void orr_program_reroute(OrrProgram *program, guint32 comm, const OrrPhase *phases, guint n_phases);

/* Fast-forward: everything from the end of comm @from to the end of comm @to happens @times more
 * times before the rest does. Both are barriers: every lane joins each of them once, @from first,
 * and no transfer is in flight when one of them ends. A replay then reports the dates and sums of
 * the whole (executor_repeat.c); spans exist for the ops that the program has. */
typedef struct {
  guint32 from, to;
  guint32 times; /* 0: nothing is left out */
} OrrProgramRepeat;
void orr_program_repeat(OrrProgram *program, guint32 from, guint32 to, guint32 times);
OrrProgramRepeat orr_program_repeated(const OrrProgram *program);

/* Checks that each comm has exactly n_members joins (a routine's: one), each event one record,
 * each routine one stream that calls it, and folds links. Once, before replay. */
gboolean orr_program_seal(OrrProgram *program, GError **error);

/* TRUE when no two comms that may be in flight together use the same link (each sealed link is
 * used by the paths of one stream only): then the ideal engine is exact. */
gboolean orr_program_uncontended(const OrrProgram *program);

/* Whether both, which are sealed, replay alike to the last bit, whatever their links and names are
 * (program_alike.c). Programs that do have equal hashes. */
gboolean orr_program_replay_alike(const OrrProgram *a, const OrrProgram *b);
guint64 orr_program_replay_hash(const OrrProgram *program);

/* Stores once which routines and comms @program and @like, another job's, have alike. Neither gets
 * more of them afterwards. */
void orr_program_share_built(OrrProgram *program, const OrrProgram *like);

/* Queries. */
guint orr_program_n_lanes(const OrrProgram *program);
guint orr_program_n_streams(const OrrProgram *program);
guint orr_program_n_labels(const OrrProgram *program);
guint orr_program_n_comms(const OrrProgram *program);
guint orr_program_n_paths(const OrrProgram *program);
guint orr_program_n_uses(const OrrProgram *program); /* of links, over all paths as given */
guint orr_program_n_links(const OrrProgram *program);
guint orr_program_n_kept_links(const OrrProgram *program); /* after seal */
/* of all streams; a CALL counts as the ops of its routine */
guint64 orr_program_n_ops(const OrrProgram *program);
const char *orr_program_lane_name(const OrrProgram *program, guint32 lane);
guint32 orr_program_multiplicity(const OrrProgram *program, guint32 lane);
guint32 orr_program_stream_lane(const OrrProgram *program, guint32 stream);
const char *orr_program_stream_name(const OrrProgram *program, guint32 stream);
/* The targets of a shared stream's ops are another stream's: ask orr_program_target instead. */
const OrrOp *orr_program_ops(const OrrProgram *program, guint32 stream, guint *ret_n);
guint32 orr_program_target(const OrrProgram *program, guint32 stream, guint op);
const OrrOp *orr_program_routine_ops(const OrrProgram *program, guint32 routine, guint *ret_n);
double *orr_program_routine_begins(
    const OrrProgram *program,
    /* seconds from its begin to the begin of each op, and to its end, with comms alone on their
     * links; newly allocated; after seal */
    guint32 routine);
const char *orr_program_label_name(const OrrProgram *program, guint32 label);
const char *orr_program_label_category(const OrrProgram *program, guint32 label);
const char *orr_program_link_name(const OrrProgram *program, guint32 link);
double orr_program_link_bandwidth(const OrrProgram *program, guint32 link);
/* the number of links folded into it, including itself; 0: folded away or unused */
guint32 orr_program_link_stands_for(const OrrProgram *program, guint32 link);
const OrrPhase *orr_program_phases(const OrrProgram *program, guint32 comm, guint *ret_n);
/* as given; valid until the next path */
const OrrLinkUse *orr_program_path_uses(const OrrProgram *program, guint32 path, guint *ret_n);
const OrrLinkUse *
orr_program_path_kept(const OrrProgram *program, guint32 path,
                      guint *ret_n); /* after seal: over the links that are kept */
/* of the first phase that has one, or ORR_NO_PATH */
guint32 orr_program_comm_path(const OrrProgram *program, guint32 comm);
/* seconds with its links to itself; after seal */
double orr_program_comm_alone(const OrrProgram *program, guint32 comm);
guint32 orr_program_comm_members(const OrrProgram *program, guint32 comm);

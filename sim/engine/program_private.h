/*
 * program_private.h - the content of a program, which program*.c and executor*.c share.
 *
 * Paths are stored as given and, after orr_program_seal, again over the kept links only. Both are
 * compressed sparse rows: row p is the entries starts[p] .. starts[p + 1] of one array.
 */
#pragma once

#include "sim/base/arrays.h"
#include "sim/engine/program.h"

typedef struct {
  const char *name; /* stored in OrrProgram.names, like all names; NULL: the namer's for `number` */
  double bandwidth;
  guint32 number;
  guint32 stands_for; /* after seal */
  gboolean keep;
  gboolean is_shared;
} OrrProgramLink;

typedef struct {
  const char *name;
  guint32 multiplicity;
  OrrInterference interference;
} OrrLane;

typedef struct {
  const char *name;
  guint32 lane;
  gboolean quiet;   /* its comms are copies, see orr_program_quiet_stream */
  gboolean of_host; /* its comms are the host's, see orr_program_host_stream */
  GArray *ops;      /* OrrOp */
  /* of each op, where `ops` is another stream's (program_share.c); NULL: as the op says */
  guint32 *targets;
  gboolean is_shared; /* another stream has the same `ops` */
  GArray *outer;      /* the stream's own ops, while `ops` is a routine being built; else NULL */
  guint32 helper;     /* of that routine */
  guint32 loop;       /* the first op of its loop that is being built */
} OrrStream;

typedef struct {
  OrrOp *ops; /* a reference-counted box (g_rc_box_alloc) of just their size */
  guint n_ops;
  guint32 stream; /* the stream that calls it */
  guint32 helper; /* the stream of its BESIDE ops */
} OrrRoutine;

typedef struct {
  const char *name;
  const char *category;
  double fixed_share; /* the fraction of its WORK that a slow lane does not slow */
} OrrLabel;

typedef struct {
  guint32 n_members;
  guint32 first_phase;
  guint32 n_phases;
} OrrComm;

typedef struct {
  double at_s;
  guint32 link;
  double factor;
} OrrFault;

typedef struct {
  double at_s;
  guint32 lane;
  double factor;
} OrrSlowdown;

/* A lost lane; `factor` is unused. */
typedef OrrSlowdown OrrLoss;

/* A comm's phases in an epoch: rows from `first_reroute` to the next epoch's. */
typedef struct {
  guint32 comm;
  guint32 first_phase;
  guint32 n_phases;
} OrrReroute;

typedef struct {
  double at_s;
  guint32 first_reroute;
} OrrEpoch;

/* Rows of link uses. */
typedef struct {
  GArray *starts; /* guint32, n_rows + 1 of them */
  GArray *uses;   /* OrrLinkUse */
} OrrUseRows;

struct OrrProgram {
  GStringChunk *names;
  OrrLinkNamer namer; /* one for all links that have no name yet */
  gconstpointer namer_user;
  GArray *links;   /* OrrProgramLink */
  GArray *lanes;   /* OrrLane */
  GArray *streams; /* OrrStream */
  GArray *labels;  /* OrrLabel */
  GHashTable *label_index;
  GArray *comms;     /* OrrComm */
  GArray *phases;    /* OrrPhase; equal comms share theirs */
  GArray *newest;    /* guint32 by path: the newest phases that begin with it, + 1; 0: none */
  GArray *routines;  /* OrrRoutine */
  GArray *faults;    /* OrrFault */
  GArray *slowdowns; /* OrrSlowdown */
  GArray *losses;    /* OrrLoss */
  GArray *epochs;    /* OrrEpoch */
  GArray *reroutes;  /* OrrReroute */
  OrrUseRows paths;
  double *seconds_a_byte; /* by path, for a transfer alone on its links; after seal */
  OrrUseRows kept; /* after seal: the same rows over kept links; links are numbered as in `links` */
  OrrProgramRepeat repeat;
  guint32 n_events;
  guint64 n_lost; /* calls with a stream or link that does not exist; seal reports them */
  gboolean sealed;
  gboolean uncontended;
};

static inline const OrrRoutine *orr_program_routine(const OrrProgram *program, guint32 routine) {
  return &g_array_index(program->routines, OrrRoutine, routine);
}

static inline const OrrComm *orr_comm_of(const OrrProgram *program, gsize comm) {
  return &g_array_index(program->comms, OrrComm, comm);
}

static inline guint32 orr_use_rows_n(const OrrUseRows *rows) { return rows->starts->len - 1; }

static inline const OrrLinkUse *orr_use_rows_get(const OrrUseRows *rows, guint32 row,
                                                 guint *ret_n) {
  const guint32 *starts = (const guint32 *)(void *)rows->starts->data;
  *ret_n = starts[row + 1] - starts[row];
  return (const OrrLinkUse *)(void *)rows->uses->data + starts[row];
}

void orr_use_rows_init(OrrUseRows *rows);
void orr_use_rows_clear(OrrUseRows *rows);
/* ends a row: the uses appended since the last call */
void orr_use_rows_end_row(OrrUseRows *rows);

/* Room for the ops of a routine. */
static inline OrrOp *orr_program_room(guint n) { return g_rc_box_alloc((n + 1) * sizeof(OrrOp)); }

/* Gives the stream ops of its own, before they change. */
void orr_program_unshare(OrrStream *stream);

/* Sets stands_for of all links and fills program->kept (program_fold.c). */
void orr_program_fold(OrrProgram *program);

/* Computes orr_program_uncontended from program->kept (program_contention.c). */
gboolean orr_program_find_uncontended(const OrrProgram *program);

/* Checks that routines follow the rules of program.h and that one stream calls each; adds their
 * joins to @joins, by comm. */
gboolean orr_program_check_routines(const OrrProgram *program, guint32 *joins, GError **error);

/* "LANE/STREAM", newly allocated. */
char *orr_program_stream_title(const OrrProgram *program, guint32 stream);

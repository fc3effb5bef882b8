/*
 * workload.h - what runs on a cluster, compiled to a program.
 *
 * A workload kind is an entry (collectives, serving, training): it checks a scenario, and compiles
 * it in a world - model, machine, costs - to a program (sim/engine/program.h) with a few facts
 * beside it. Nothing here runs anything; tests print the program with no engine.
 *
 * To add a kind: write workloads/KIND.c with one `const OrrWorkloadKind`, add it to the array in
 * workload.c and to meson.build.
 */
#ifndef ORR_WORKLOAD_H
#define ORR_WORKLOAD_H

#include "calibration/cost/cost.h"
#include "models/model.h"
#include "sim/engine/program.h"
#include "topologies/fabric.h"

G_BEGIN_DECLS

typedef enum { ORR_FIDELITY_AUTO, ORR_FIDELITY_FOLDED, ORR_FIDELITY_FULL } OrrFidelity;
extern const char *const orr_fidelity_words[]; /* "auto", "folded", "full", NULL */

/* What becomes of operators that the profile does not hold: something stands in, flagged, or the
 * run is refused. */
typedef enum { ORR_ON_MISSING_FALLBACK, ORR_ON_MISSING_ERROR } OrrOnMissing;
extern const char *const orr_on_missing_words[]; /* "fallback", "error", NULL */

/* What breaks the symmetry of a machine, so that ranks that are equal otherwise are told apart
 * (folding). Parts of equal marks may be alike, parts of different ones never are. */
typedef struct {
  guint64 *gpus; /* by GPU; 0: as built */
  /* fabric link -> mark (GSIZE_TO_POINTER); not in it: as built. Their bandwidth may change, so
   * that nothing that uses them becomes part of a lane's work */
  GHashTable *links;
} OrrMarks;

/* What a workload is compiled in; all of it outlives the compilation. */
typedef struct {
  const OrrModel *model;
  const OrrCluster *cluster;
  const OrrFabric *fabric;
  const OrrCostModel *cost;
  OrrFidelity fidelity;
  OrrOnMissing on_missing;
  gint64 seed;
  char *const
      *folders; /* where traces may lie, in the order of the search, then NULL; NULL: none */
  /* other jobs use the same fabric, or its links may change: nobody has a switch's link to
   * itself */
  gboolean is_shared;
  gboolean is_faulty;    /* things may go wrong with the machine */
  const OrrMarks *marks; /* NULL: all of the machine is as built */
  /* not 0: a step may leave out what repeats itself (OrrWork.n_left_out), at attempt 1 */
  guint shorten;
  /* Costs of another device, for parts of the machine that differ; lives as long as the machines
   * do. */
  const OrrCostModel *(*cost_of)(void *machines, const OrrDevice *device, GError **error);
  void *machines;
} OrrWorld;

/* Where time goes. The order is that of reports. */
typedef enum {
  ORR_TIME_GEMM,
  ORR_TIME_ATTENTION,
  ORR_TIME_MEMORY, /* kernels bound by HBM bandwidth */
  ORR_TIME_TP_COMM,
  ORR_TIME_CP_COMM,
  ORR_TIME_EP_COMM,
  ORR_TIME_PP_COMM,
  ORR_TIME_DP_COMM,
  ORR_TIME_OPTIMIZER,
  ORR_TIME_HOST,    /* the GPU waits for kernel launches */
  ORR_TIME_STORAGE, /* or for a file system */
  ORR_TIME_OFFLOAD, /* or for copies to and from the host's memory */
  ORR_TIME_BUBBLE,
  ORR_N_TIMES
} OrrTimeKind;
/* "gemm", "attention", "memory-bound", "tp-comm", ..., NULL */
extern const char *const orr_time_words[];
OrrTimeKind orr_time_kind(const char *word);

typedef struct OrrWorkloadKind OrrWorkloadKind;
#define ORR_NO_LANE G_MAXUINT32

/* From a date on, of a live work's GPU (its own number). */
typedef struct {
  double at_s; /* the engine's */
  gint64 gpu;
  /* its node is lost (factor 0), or back; one loss more or less where several overlap */
  gboolean is_node;
  double factor; /* else its kernels take so many times as long */
} OrrGpuChange;

typedef struct OrrWork
    OrrWork; /* a compiled workload; each kind embeds it first in its own struct */

struct OrrWork {
  const OrrWorkloadKind *kind;
  OrrProgram *program; /* sealed; of a live kind links alone, which it shares with others */
  /* of double[ORR_N_TIMES] a label: what one WORK span of that label is made of */
  GArray *label_seconds;
  OrrFidelity fidelity; /* what was compiled: folded or full, never auto */
  gint64 n_gpus;
  gint64 n_left_out;  /* periods of the steady state that the program leaves out; 0: it is whole */
  gint64 period;      /* by how much a period raises the ops' tags */
  gboolean contends;  /* of a live kind: its transfers may share links */
  double *link_bytes; /* of a live kind, by program link: what it has sent */
  /* of OrrGpuChange, by date; what goes wrong with a live kind's GPUs; NULL: nothing */
  GArray *gpu_changes;
  GArray *links; /* of guint32: the fabric link behind each program link */
  /* of guint32: the lane that each GPU is of, ORR_NO_LANE for none; NULL where the kind is live */
  GArray *lane_of_gpu;
};

/* Where a live kind runs. */
typedef struct {
  OrrEngine *engine;
  /* the engine's, by link of the work's program; live until the work is freed */
  const OrrLink *links;
  double start_s; /* its time 0 is the engine's start_s */
} OrrLivePlace;

/* The most that a workload holds at once. */
typedef struct {
  double gpu_bytes;  /* of the fullest GPU's memory */
  double host_bytes; /* of the fullest node's */
} OrrFootprint;

/* NULL, or what does not fit, and the memory that is too small (newly allocated). */
char *orr_footprint_refuse(const OrrFootprint *footprint, const OrrCluster *cluster);

struct OrrWorkloadKind {
  OrrEntry entry;
  gboolean without_model; /* needs none: a scenario may leave it out */
  /* What single fields cannot check: divisibility, sizes against model and cluster. Findings at
   * @place. */
  void (*check)(const void *params, const OrrModel *model, const OrrCluster *cluster,
                OrrPlace place, OrrDiags *diags);
  OrrWork *(*compile)(const void *params, const OrrWorld *world, GError **error);
  /* What it lacks to go on when a node that was lost comes back, with the remedy (static); NULL:
   * nothing. Optional. */
  const char *(*refuse_return)(const void *params, const OrrCluster *cluster);
  /* What it needs of memories, without compiling; FALSE: compile says why. NULL: nothing is
   * known before. */
  gboolean (*footprint)(const void *params, const OrrWorld *world, OrrFootprint *ret_footprint);
  void (*work_free)(OrrWork *work);
  /* Of a live kind, whose next step depends on the last one, so that it makes calls of the
   * engine itself: before orr_engine_run, and after it (FALSE where it could not finish). All
   * three NULL: its program is replayed. */
  gboolean (*begin)(OrrWork *work, const OrrLivePlace *place, GError **error);
  gboolean (*finish)(OrrWork *work, GError **error);
  /* Of a finished live work: when it ended on its own clock, and the mean time that its users
   * waited for an answer. */
  void (*times)(const OrrWork *work, double *ret_end_s, double *ret_answer_s);
};

extern const OrrRegistry orr_workload_registry;

GArray *orr_work_lanes_new(gint64 n_gpus); /* for a work's lane_of_gpu: none yet */
static inline gboolean orr_work_is_live(const OrrWork *work) { return work->kind->begin != NULL; }
/* Of a live work that has finished (OrrWorkloadKind.times); either may be NULL. */
void orr_work_times(const OrrWork *work, double *ret_end_s, double *ret_answer_s);
void orr_work_free(OrrWork *work); /* NULL is fine */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(OrrWork, orr_work_free)

G_END_DECLS

#endif

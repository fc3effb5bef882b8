/*
 * workload.h - workloads: what runs on a cluster, compiled to a program.
 *
 * A workload kind is an entry (workload.c lists them). It checks a scenario and compiles it in a
 * world (model, machine, costs) to a program (sim/engine/program.h) with some facts about it.
 * Nothing here runs the program; tests print it without an engine.
 *
 * To add a kind: write workloads/KIND.c with one `const OrrWorkloadKind`, add it to the array in
 * workload.c and to meson.build.
 */
#pragma once

#include "calibration/cost/cost_energy.h"
#include "models/model.h"
#include "sim/engine/program.h"
#include "topologies/fabric.h"

typedef enum { ORR_FIDELITY_AUTO, ORR_FIDELITY_FOLDED, ORR_FIDELITY_FULL } OrrFidelity;
extern const char *const orr_fidelity_words[]; /* "auto", "folded", "full", NULL */

/* Treatment of operators that the profile lacks: use a fallback and flag it, or refuse the run. */
typedef enum { ORR_ON_MISSING_FALLBACK, ORR_ON_MISSING_ERROR } OrrOnMissing;
extern const char *const orr_on_missing_words[]; /* "fallback", "error", NULL */

/* Marks of what breaks the symmetry of a machine, so that folding separates otherwise equal
 * ranks. Parts with equal marks may be alike; parts with different marks never are. */
typedef struct {
  guint64 *gpus; /* mark by GPU; 0: as built */
  /* fabric link -> mark (GSIZE_TO_POINTER); a missing link is as built. The bandwidth of marked
   * links may change, so work that uses them never becomes part of a lane's own work */
  GHashTable *links;
} OrrMarks;

/* The environment of a compilation, which must outlive it. */
typedef struct {
  const OrrModel *model;
  const OrrCluster *cluster;
  const OrrFabric *fabric;
  const OrrCostModel *cost;
  OrrFidelity fidelity;
  OrrOnMissing on_missing;
  gint64 seed;
  char *const *folders; /* folders to search for traces, in order, NULL-terminated; NULL: none */
  /* other jobs use the same fabric, or its links may change: no job has a switch's link to
   * itself */
  gboolean is_shared;
  gboolean is_faulty;    /* the machine may have faults */
  const OrrMarks *marks; /* NULL: the whole machine is as built */
  /* not 0: a step may omit repeated periods (OrrWork.n_left_out), at attempt 1 */
  guint shorten;
  /* steps that repeat may be left out (orr_program_repeat); FALSE: all are replayed */
  gboolean repeats_steps;
  gboolean keeps_spans; /* the replay's time line will be kept in memory */
  /* every communication is an op of the program, and OrrWork.calls says which calls it is */
  gboolean keeps_calls;
  /* The costs of another device, for parts of the machine that differ; they live as long as
   * @machines. */
  const OrrCostModel *(*cost_of)(void *machines, const OrrDevice *device, GError **error);
  void *machines;
  struct OrrCollectiveCache *plans; /* of collectives; NULL: none are kept */
  const struct OrrParts *parts; /* for workloads made of others (parts.h); NULL: there are none */
} OrrWorld;

/* Categories of time, in the order of reports. */
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
  ORR_TIME_HOST,    /* the GPU waits for kernel launches, */
  ORR_TIME_STORAGE, /* for a file system, */
  ORR_TIME_OFFLOAD, /* or for copies to and from host memory */
  ORR_TIME_BUBBLE,
  ORR_N_TIMES
} OrrTimeKind;
/* "gemm", "attention", "memory-bound", "tp-comm", ..., NULL */
extern const char *const orr_time_words[];
OrrTimeKind orr_time_kind(const char *word);

/* The key `stack` of every kind of workload, for its field table. orr_scenario_stack_apply has laid
 * the stack's settings under the workload before its fields are read, so only the name is left. */
#define ORR_WORKLOAD_STACK_FIELD(type_)                                                            \
  ORR_FIELD_TEXT(                                                                                  \
      type_, "stack", stack, "none",                                                               \
      "The software, whose defaults it supplies (`orrery list stacks`); later versions "           \
      "of a family find the newest stack that is not newer; none: kernels and links "              \
      "alone.",                                                                                    \
      .document = "stack")

typedef struct OrrWorkloadKind OrrWorkloadKind;
#define ORR_NO_LANE G_MAXUINT32

/* What a GPU of a replayed work draws in each kind of time: the mean of what it runs then, on top
 * of static power. */
typedef struct {
  gboolean is_known; /* FALSE: the device has no power model */
  double static_w;
  OrrJoules watts[ORR_N_TIMES]; /* joules per second */
} OrrWorkPower;

/* A change of a live work's GPU (by its own number) at some time. */
typedef struct {
  double at_s; /* the engine's */
  gint64 gpu;
  /* its node is lost (factor 0) or returns; overlapping losses are counted */
  gboolean is_node;
  double factor; /* otherwise: kernels take this many times as long */
} OrrGpuChange;

/* The machine's links as they are from some time on, for a live work: what is left of them, and the
 * routes around them. Owns the fabric. */
typedef struct {
  double at_s;       /* the engine's */
  OrrFabric *fabric; /* NULL: as built */
} OrrFabricChange;

/* Array of OrrFabricChange. */
GArray *orr_work_fabric_changes_new(void);

/* A key of a workload that holds another workload, without `kind`. */
typedef struct {
  const char *key, *kind;
  /* NULL; or the path of a list whose entries have that key beside a model of their own: such a
   * workload has a stack where it names one, and no default */
  const char *list;
} OrrWorkloadSection;

typedef struct OrrWork
    OrrWork; /* a compiled workload; each kind embeds it as the first member of its own struct */

/* The label of a barrier before the first step: waiting there is of its own category. */
#define ORR_LOAD_BARRIER "checkpoint-load-barrier"

struct OrrWork {
  const OrrWorkloadKind *kind;
  OrrProgram *program; /* sealed; for a live kind only links, which it shares with others */
  /* of double[ORR_N_TIMES] per label: the categories of time in one WORK span of that label */
  GArray *label_seconds;
  OrrWorkPower power;   /* kinds whose ledger is kept; unknown otherwise */
  OrrFidelity fidelity; /* fidelity of the compilation: folded or full, never auto */
  gint64 n_gpus;
  /* periods of the steady state that the program omits; 0: the program is complete */
  gint64 n_left_out;
  gint64 period;      /* increase of the ops' tags per period */
  gboolean contends;  /* live kinds: whether transfers may share links */
  double *link_bytes; /* live kinds: bytes sent, by program link */
  /* live kinds: of OrrGpuChange, ordered by time: changes of its GPUs; NULL: none */
  GArray *gpu_changes;
  GArray *fabric_changes; /* the same, of OrrFabricChange */
  GArray *links;          /* of guint32: the fabric link behind each program link */
  /* of guint32: the lane of each GPU, ORR_NO_LANE for none; NULL for live kinds */
  GArray *lane_of_gpu;
  struct OrrWorkCalls *calls; /* work_calls.h; NULL: not kept */
  gboolean streams_alike;     /* kernels run on any stream of a lane, several at once */
};

/* Where a live kind runs. */
typedef struct {
  OrrEngine *engine;
  /* the engine's links, by link of the work's program; live until the work is freed */
  const OrrLink *links;
  double start_s; /* the engine's time at the work's time 0 */
} OrrLivePlace;

/* The peak memory of a workload. */
typedef struct {
  double gpu_bytes;  /* bytes on the fullest GPU */
  double host_bytes; /* bytes of host memory on the fullest node */
} OrrFootprint;

/* NULL, or which memory is too small and what does not fit (newly allocated). */
char *orr_footprint_refuse(const OrrFootprint *footprint, const OrrCluster *cluster);

/* NULL, or why the host of a node does not hold @bytes of @what, a key (newly allocated). */
char *orr_footprint_refuse_host(const OrrCluster *cluster, double bytes, const char *what);

struct OrrWorkloadKind {
  OrrEntry entry;
  /* Mandatory: check, compile, work_free. Other functions may be NULL. */
  gboolean without_model; /* needs no model: a scenario may omit it */
  /* it has the machine to itself: no other jobs, and no faults from the scenario */
  gboolean is_alone;
  /* the family of stacks (workloads/stack.h) whose newest release answers for a workload that names
   * none; NULL: kernels and links alone */
  const char *default_family;
  /* keys with workloads of their own, which have stacks of their own; ends with a NULL key; NULL:
   * none */
  const OrrWorkloadSection *sections;
  /* Checks rules that span fields: divisibility, sizes against model and cluster. Adds findings
   * at @place. */
  void (*check)(const void *params, const OrrModel *model, const OrrCluster *cluster,
                OrrPlace place, OrrDiags *diags);
  OrrWork *(*compile)(const void *params, const OrrWorld *world, GError **error);
  /* What it lacks to continue when a lost node returns, with the remedy (static); NULL: nothing.
   * Optional. */
  const char *(*refuse_return)(const void *params, const OrrCluster *cluster);
  /* The memory that it needs, computed without compiling; FALSE: compile reports why. NULL:
   * unknown beforehand. */
  gboolean (*footprint)(const void *params, const OrrWorld *world, OrrFootprint *ret_footprint);
  /* What is known of it without compiling: its facts and memory, as a work with no program, and in
   * *@ret_least_s the seconds that a step takes at least, whatever is replayed; 0: no bound. NULL
   * with @error: compile would refuse it, too. NULL: not known beforehand. */
  OrrWork *(*outline)(const void *params, const OrrWorld *world, double *ret_least_s,
                      GError **error);
  void (*work_free)(OrrWork *work);
  /* For a live kind, whose next step depends on the last one, so that it calls the engine
   * itself: before orr_engine_run, and after it (FALSE if it could not finish). All three NULL:
   * its program is replayed. */
  gboolean (*begin)(OrrWork *work, const OrrLivePlace *place, GError **error);
  gboolean (*finish)(OrrWork *work, GError **error);
  /* For a finished live work: its end on its own clock, and the mean time that its users waited
   * for an answer. */
  void (*times)(const OrrWork *work, double *ret_end_s, double *ret_answer_s);
};

extern const OrrRegistry orr_workload_registry;

GArray *orr_work_lanes_new(gint64 n_gpus); /* for a work's lane_of_gpu: no GPU has a lane yet */
static inline gboolean orr_work_is_live(const OrrWork *work) { return work->kind->begin != NULL; }
/* For a finished live work (OrrWorkloadKind.times); either pointer may be NULL. */
void orr_work_times(const OrrWork *work, double *ret_end_s, double *ret_answer_s);
void orr_work_free(OrrWork *work); /* NULL is fine */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(OrrWork, orr_work_free)

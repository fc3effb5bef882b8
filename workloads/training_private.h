/*
 * training_private.h - the steps from an OrrTraining to a program, one file each:
 *
 *   training_check.c    what single fields cannot check
 *   training_costs.c    operators -> runs: seconds between tensor-parallel collectives, by kind of time
 *   training_wires.c    collectives -> phases over program links
 *   training_fold.c     replicas -> classes that are replayed once
 *   training_plan.c     every communication of the job, planned
 *   training_memory.c   bytes a GPU of each stage holds
 *   training_program.c  schedule + runs + wires -> streams of ops
 *   training_compile.c  puts them together
 */
#ifndef ORR_TRAINING_PRIVATE_H
#define ORR_TRAINING_PRIVATE_H

#include "workloads/training.h"

G_BEGIN_DECLS

void orr_training_check(const void *params, const OrrModel *model, const OrrCluster *cluster, OrrPlace place,
                        OrrDiags *diags);
OrrWork *orr_training_compile(const void *params, const OrrWorld *world, GError **error);

/* One job, with the defaults that depend on model and machine filled in. */
typedef struct {
  const OrrTraining *params;
  const OrrWorld *world;
  OrrShard shard;
  OrrPipelineShape shape;
  const OrrPipelineKind *schedule;
  OrrPlacement placement;
  gint64 tp, pp, dp;
  gint64 chunk_layers;
  double gradient_bytes_each; /* of one parameter's gradient */
} OrrJob;

gboolean orr_job_init(OrrJob *job, const OrrTraining *params, const OrrWorld *world, GError **error);
gint64 orr_job_gpu(const OrrJob *job, gint64 tp, gint64 dp, gint64 pp);
double orr_job_stage_parameters(const OrrJob *job, gint64 stage); /* of one GPU */

/* training_costs.c */

/* Work of one lane up to a tensor-parallel collective (or the end). */
typedef struct {
  double seconds[ORR_N_TIMES];
  int comm;          /* OrrOperatorComm that follows the work, or -1 */
  double comm_bytes; /* NCCL's size */
  gboolean beside;   /* the collective runs beside the next segment's work; what comes after that waits for it */
} OrrSegment;

typedef struct {
  GArray *segments; /* of OrrSegment */
  guint kernels;
} OrrRun;

typedef struct {
  OrrRun layer_forward, layer_backward; /* backward begins with what is recomputed */
  OrrRun embedding_forward, embedding_backward, head_forward, head_backward;
  GArray *operators; /* of OrrCostedOperator */
  gint64 outside;
} OrrTrainingCosts;

void orr_training_costs_init(OrrTrainingCosts *costs, const OrrJob *job);
void orr_training_costs_clear(OrrTrainingCosts *costs);

/* What @work_s lasts beside a collective of @comm_s: slowed down while that runs. */
double orr_training_beside_seconds(const OrrJob *job, double work_s, double comm_s);

/* Seconds of the optimizer on one GPU of @stage; its operators join costs->operators for stage 0. */
double orr_training_optimizer_seconds(OrrTrainingCosts *costs, const OrrJob *job, gint64 stage);

/* training_wires.c */

/* A communication ready to be made any number of times. */
typedef struct {
  OrrPhase *phases;
  guint n_phases;
  double predicted_s; /* alone on the fabric */
} OrrWire;

typedef struct {
  const OrrJob *job;
  OrrCollectiveContext context;
  OrrProgram *program;
  GHashTable *program_links; /* fabric link -> program link + 1 */
  GArray *links;             /* of guint32: program link -> fabric link */
  GArray *collectives;       /* of OrrPlannedCollective: what was planned, once a name */
} OrrWires;

void orr_wires_init(OrrWires *wires, const OrrJob *job, OrrProgram *program);
void orr_wires_clear(OrrWires *wires);

/* One wire for @n_calls equal calls that different groups make at the same time: their links' weights add up, the
 * longest latency counts. It is noted in wires->collectives under @name with @count a step, where that name is new. */
gboolean orr_wires_join(OrrWires *wires, const char *name, gint64 count, const OrrCollectiveCall *calls, guint n_calls,
                        OrrWire *ret_wire, GError **error);
void orr_wire_clear(OrrWire *wire);

/* Adds to @load (fabric link -> hash) what @wire puts on each of its links, told apart by @salt. */
void orr_wires_load(const OrrWires *wires, const OrrWire *wire, guint64 salt, GHashTable *load);

/* Whether the two use a link in common. */
gboolean orr_wires_meet(const OrrWires *wires, const OrrWire *a, const OrrWire *b);

/* training_fold.c */

/* Classes of replicas; class_of[replica], first[class] and size[class]. */
typedef struct {
  guint n;
  guint32 *class_of;
  guint32 *first;
  guint32 *size;
} OrrFold;

/* @load (may be NULL): fabric link -> hash of what other collectives put on it (orr_wires_load). */
void orr_fold_init(OrrFold *fold, const OrrJob *job, OrrFidelity fidelity, GHashTable *load);
void orr_fold_clear(OrrFold *fold);

/* training_memory.c */
void orr_training_memory(const OrrJob *job, GArray *memory /* of OrrStageMemory */);

/* training_plan.c */

/* Gradients that are reduced together: those of the next `units` units of the stage's last backward, where a unit is the
 * head, a layer or the embedding, in backward order. */
typedef struct {
  gint64 units;
  double bytes;
  const OrrWire *wire; /* of the plan */
} OrrBucket;

/* A tensor-parallel collective of one lane's group. */
typedef struct {
  int comm; /* OrrOperatorComm */
  double bytes;
  OrrWire wire;
} OrrTpWire;

/* Every communication of the job, planned. Lane l = stage * fold.n + class. */
typedef struct {
  OrrWires wires;
  OrrFold fold;
  GArray **buckets;           /* by stage: of OrrBucket; empty where dp is 1 */
  GPtrArray *bucket_wires;    /* of OrrWire *: owned */
  OrrWire *parameters;        /* by stage: all-gather of a distributed optimizer */
  OrrWire *transfers;         /* by (class * pp + stage) * 2 + direction: stage to stage + 1, and back */
  OrrWire *embedding;         /* by class: the tied embedding's gradient, first and last stage */
  OrrWire norm;               /* the gradient norm over a replica */
  GArray **tp_wires;          /* by lane: of OrrTpWire */
  gboolean tp_alone;          /* nothing else ever uses the tensor-parallel groups' links while they do */
  double gather_s;            /* scatter-gather: the receiver's all-gather over NVLink */
} OrrTrainingPlan;

gboolean orr_training_plan_init(OrrTrainingPlan *plan, const OrrJob *job, const OrrTrainingCosts *costs,
                                OrrFidelity fidelity, OrrProgram *program, GError **error);
void orr_training_plan_clear(OrrTrainingPlan *plan);

const OrrWire *orr_training_tp_wire(const OrrTrainingPlan *plan, guint lane, int comm, double bytes);

/* training_program.c */

/* @run, @times over, as one piece of work, added to @seconds: its collectives take their time alone on the fabric; those
 * that run beside work cost its slow-down and what outlasts it. Exact when the lane is alone on its links. */
void orr_training_add_run(const OrrJob *job, const OrrTrainingPlan *plan, guint lane, const OrrRun *run, gint64 times,
                          double seconds[ORR_N_TIMES]);

/* About how many ops orr_training_emit will emit; rather too many. */
double orr_training_n_ops(const OrrJob *job, const OrrTrainingCosts *costs, const OrrTrainingPlan *plan);

/* Emits the whole job into @work->work.program and notes its labels' seconds. */
void orr_training_emit(const OrrJob *job, const OrrTrainingCosts *costs, const OrrTrainingPlan *plan,
                       const double *optimizer_s /* by stage */, OrrTrainingWork *work);

G_END_DECLS

#endif

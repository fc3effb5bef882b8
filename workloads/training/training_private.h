/*
 * training_private.h - the steps from an OrrTraining to a program, one file each:
 *
 *   training_check.c    what single fields cannot check
 *   training_job.c      a job with all defaults filled in; its ranks
 *   training_layout.c   the model's layers -> blocks of units
 *   training_costs.c    operators -> runs: seconds between collectives, by kind of time
 *   training_grouped.c  of those, what experts cost when training
 *   training_overlap.c  of those, tensor-parallel collectives in pieces
 *   training_groups.c   ranks -> the groups that meet in collectives
 *   training_traffic.c    collectives -> phases over program links
 *   training_fold.c     replicas -> classes that are replayed once
 *   training_plan.c     every communication of the job, planned
 *   training_layers.c   of those, the collectives inside layers
 *   training_sharding.c of those, what replicas say to each other; as ops
 *   training_by_tensor.c  of that, what lists of a tensor's parts cost
 *   training_loader.c   data that hosts prepare, as ops
 *   training_memory.c   bytes a GPU of each stage holds
 *   training_activations.c of those, activations by operator
 *   training_handover.c of those, tensors on their way between stages
 *   training_overhead.c of those, what libraries take for themselves
 *   training_offload.c  what lies in the hosts' memory: rules, bytes, ways; as ops in training_offload_emit.c
 *   training_storage.c  checkpoints and data: bytes, wires and ops
 *   training_emit.c     a run of units, a transfer, a reduction -> ops
 *   training_noise.c    what stragglers add to pieces of work
 *   training_packing.c  what attention costs of packed documents
 *   training_program.c  schedule -> streams of ops
 *   training_compile.c  puts them together
 */
#ifndef ORR_TRAINING_PRIVATE_H
#define ORR_TRAINING_PRIVATE_H

#include "workloads/training/training.h"

G_BEGIN_DECLS

void orr_training_check(const void *params, const OrrModel *model, const OrrCluster *cluster,
                        OrrPlace place, OrrDiags *diags);
OrrWork *orr_training_compile(const void *params, const OrrWorld *world, GError **error);

/* training_layout.c */

typedef enum { ORR_UNIT_EMBEDDING, ORR_UNIT_LAYER, ORR_UNIT_MTP, ORR_UNIT_HEAD } OrrUnitKind;

/* What equal units of the model share: their operators, and so their costs, parameters and
 * activations. */
typedef struct {
  OrrUnitKind unit;
  guint kind;    /* LAYER: orr_model_layer_kind */
  guint modules; /* LAYER, MTP: what is recomputed before its backward, ORR_MODULE_* */
} OrrPart;

/* The model cut into the blocks of a pipeline. */
typedef struct {
  GArray *parts;   /* of OrrPart, no two alike, in the order of their first unit */
  GArray **blocks; /* of guint, the part of each unit in forward order; by block, NULL-terminated */
} OrrLayout;

/* How many layers each of @n_blocks blocks holds (@ret_layers, n_blocks of them); FALSE with the
 * rule that is broken.
 */
gboolean orr_layout_cut(const OrrTraining *params, const OrrModel *model,
                        const OrrPipelineShape *shape, gint64 n_blocks, gint64 *ret_layers,
                        GError **error);
gboolean orr_layout_init(OrrLayout *layout, const OrrTraining *params, const OrrModel *model,
                         const OrrPipelineShape *shape, gint64 n_blocks, GError **error);
void orr_layout_clear(OrrLayout *layout);

/* training_job.c */

/* Parameters by who holds the same ones: routed experts are replicated over fewer ranks than all
 * the rest. */
typedef enum { ORR_SHARE_DENSE, ORR_SHARE_EXPERTS, ORR_N_SHARES } OrrShare;

/* One job, with the defaults that depend on model and machine filled in. */
typedef struct {
  const OrrTraining *params;
  const OrrWorld *world;
  OrrShard shard;
  OrrPipelineShape shape;
  const OrrPipelineKind *schedule;
  OrrPlacement placement;
  OrrLayout layout;
  gint64 tp, cp, pp, dp;
  gint64 ep, etp;             /* of routed experts; etp * ep divides or is a multiple of tp * cp */
  double gradient_bytes_each; /* of one parameter's gradient */
  OrrShardingPlan sharding;
} OrrJob;

/* Modules that selective recomputation replays; FALSE with the word that is none. */
gboolean orr_training_modules(const OrrTraining *params, guint *ret_modules, GError **error);
OrrShard orr_training_shard(const OrrTraining *params, const OrrModel *model);
gint64 orr_training_replicas(const OrrTraining *params, gint64 n_gpus); /* dp, settled */

/* NULL, or the rule of its framework that optimizer.sharding breaks; newly allocated. */
char *orr_training_refuse_sharding(const OrrTraining *params, const OrrModel *model,
                                   const OrrCluster *cluster);

gboolean orr_job_init(OrrJob *job, const OrrTraining *params, const OrrWorld *world,
                      GError **error);
void orr_job_clear(OrrJob *job);

/* Ranks of a stage are numbered tp fastest, then cp, then dp, whatever GPUs hold them:
 * Megatron's order, by which expert groups are cut. Those of a replica are next to each other. */
gint64 orr_job_gpu(const OrrJob *job, gint64 stage, gint64 rank);
static inline gint64 orr_job_replica_ranks(const OrrJob *job) { return job->tp * job->cp; }

gint64 orr_job_n_blocks(const OrrJob *job);
/* of guint: parts, in forward order */
const GArray *orr_job_units(const OrrJob *job, gint64 stage, gint64 chunk);
const OrrPart *orr_job_part(const OrrJob *job, guint part);
/* units of that part on the stage */
gint64 orr_job_count(const OrrJob *job, gint64 stage, guint part);
/* The steps of @stage's schedule that run: of an evaluation, its forwards. */
void orr_job_steps(const OrrJob *job, gint64 stage, GArray *steps /* of OrrPipelineStep */);
gint64 orr_job_passes(const OrrJob *job); /* micro-batches through a unit, a step */
gboolean orr_job_holds(const OrrJob *job, gint64 stage, OrrUnitKind unit);

/* Whether weights are gathered unit by unit: in every pass, or beside the first forwards of a
 * step. */
gboolean orr_job_gathers(const OrrJob *job);

OrrWeights orr_job_part_weights(const OrrJob *job, gint64 stage, guint part); /* of one GPU */
OrrWeights orr_job_stage_weights(const OrrJob *job, gint64 stage);
double orr_share_of(OrrWeights weights, OrrShare share); /* the trained ones among them */
/* of @weights, what this GPU updates */
double orr_job_optimized(const OrrJob *job, OrrWeights weights);
/* of @weights that share, whole */
double orr_job_gather_bytes(const OrrJob *job, OrrWeights weights, OrrShare share);

/* training_costs.c */

/* Work of one lane up to a collective of one of its groups (or the end). */
typedef struct {
  double seconds[ORR_N_TIMES];
  double squares;    /* sum of the squares of its kernels' seconds */
  int comm;          /* OrrOperatorComm that follows the work, or -1 */
  int group;         /* OrrOperatorGroup of it */
  double comm_bytes; /* NCCL's size */
  /* the collective runs beside the next segment's work; what comes after that waits for it */
  gboolean beside;
} OrrSegment;

typedef struct {
  GArray *segments;     /* of OrrSegment */
  guint kernels;        /* operators that the host dispatches, collectives among them */
  guint expert_kernels; /* those of routed experts among them */
  guint launched;       /* beside them, pieces that an operator of these launches */
  /* what the host needs to launch them: the run lasts no less; where it is serial, as much more */
  double host_s;
  gboolean serial; /* host and GPU take turns */
} OrrRun;

/* What a unit does. A backward begins with what is recomputed; it is whole, or the two runs of a
 * cut one. */
typedef enum {
  ORR_RUN_FORWARD,
  ORR_RUN_BACKWARD,
  ORR_RUN_INPUT,
  ORR_RUN_WEIGHT,
  ORR_N_RUNS
} OrrRunKind;

typedef struct {
  OrrRun runs[ORR_N_RUNS];
} OrrPartCosts;

/* training_launches.c */

/* that the host dispatches for @op */
guint orr_training_operators(const OrrJob *job, const OrrOperator *op);
void orr_training_add_host(const OrrJob *job, OrrRun *run); /* from its kernels, all counted */

/* training_packing.c */

/* What attention takes of packed documents. */
typedef struct {
  double mean; /* of the time that one document a sequence takes */
  /* to the mean, of a micro-batch: by (step * dp + replica) * micro-batches + micro-batch */
  double *ratio;
  /* of queries and keys, of the s^2 of one document a sequence, before the causal half */
  double pairs;
  double padding; /* tokens, of all */
} OrrPackedLoads;

extern const OrrFieldTable orr_packing_table;
gboolean orr_packing_is_on(const OrrPacking *packing);
OrrPackedLoads *orr_packed_loads_new(const OrrJob *job); /* NULL: not packed */
void orr_packed_loads_free(OrrPackedLoads *loads);
/* What a piece of @micro_batch (-1: none) takes longer than in the mean, of which @attention_s
 * is attention. */
double orr_packed_late(const OrrJob *job, const OrrPackedLoads *loads, gint64 step, gint64 replica,
                       gint32 micro_batch, double attention_s);
void orr_training_check_packing(const OrrTraining *params, const OrrModel *model, OrrPlace place,
                                OrrDiags *diags);

typedef struct {
  OrrPartCosts *parts; /* by part of the layout */
  guint n_parts;
  GArray *operators; /* of OrrCostedOperator */
  gint64 outside;
  OrrPackedLoads *packed; /* NULL: one document a sequence */
} OrrTrainingCosts;

void orr_training_costs_init(OrrTrainingCosts *costs, const OrrJob *job);
void orr_training_costs_clear(OrrTrainingCosts *costs);

/* training_grouped.c: as training runs it, at the clock that power leaves. */
OrrCost orr_training_operator_cost(const OrrJob *job, const OrrOperator *op);
/* Tokens of the fullest rank over those of a balanced one, where @comm is an exchange between
 * experts; else 1. */
double orr_training_fullest(const OrrJob *job, const OrrOperator *comm);

/* training_overlap.c: @operators of a layer, with what parallel.tp-comm-overlap takes of them in
 * pieces. */
void orr_training_overlap(const OrrJob *job, GArray *operators);
/* NULL, or the rule that it breaks; newly allocated. */
char *orr_training_refuse_overlap(const OrrTraining *params, const OrrCluster *cluster);

/* What @work_s lasts beside a collective of @comm_s: slowed down while that runs. */
double orr_training_beside_seconds(const OrrJob *job, double work_s, double comm_s);

/* Seconds of the optimizer on one GPU of @stage; its operators join costs->operators for stage
 * 0. */
double orr_training_optimizer_seconds(OrrTrainingCosts *costs, const OrrJob *job, gint64 stage);

/* training_groups.c */

/* Equal calls of several groups that move together: call g's GPUs are gpus[g * n .. g * n + n). */
typedef struct {
  gint64 *gpus;
  OrrCollectiveCall *calls;
  guint n_calls;
} OrrCalls;

/* Ranks i, i + stride, ... of a stage, `size` of them, for each i below stride; then of the next
 * stride * size ranks.
 */
typedef struct {
  gint64 stride, size;
} OrrComb;

OrrComb orr_group_comb(const OrrJob *job, OrrOperatorGroup group);
OrrComb
orr_share_comb(const OrrJob *job,
               OrrShare share); /* who holds the same: cp dp, of experts tp cp dp / (etp ep) */
OrrComb orr_shard_comb(const OrrJob *job, OrrShare share); /* of those, who share one copy out */
/* and who hold the same part of another copy */
OrrComb orr_copies_comb(const OrrJob *job, OrrShare share);

/* GPUs that hold the same parameter: those of its comb, on both stages that hold its block in a
 * bidirectional schedule.
 */
gint64 orr_share_replicas(const OrrJob *job, OrrShare share);
/* of those, who share one copy out; 1: each holds all */
gint64 orr_share_ranks(const OrrJob *job, OrrShare share);
/* how many, and which */
guint orr_job_holders(const OrrJob *job, gint64 block, gint64 ret_stages[2]);

/* Replicas that meet in the collectives of @group: 1, or, for experts, as many as their groups
 * reach over. */
gint64 orr_group_span(const OrrJob *job, OrrOperatorGroup group);

void orr_calls_init(OrrCalls *calls, OrrCollectiveOp op, double bytes, guint n_calls, guint n);
void orr_calls_clear(OrrCalls *calls);

/* The groups of @comb among the ranks [first, first + n) of each of @n_ranges ranges of @stage.
 * A send-recv is one step of a ring: a call for each rank, to the next. */
void orr_calls_of(OrrCalls *calls, const OrrJob *job, OrrCollectiveOp op, double bytes,
                  OrrComb comb, gint64 stage, const gint64 *firsts, guint n_ranges, gint64 n);

/* The groups of @comb over all ranks of @stages, each group joined over those. */
void orr_calls_over(OrrCalls *calls, const OrrJob *job, OrrCollectiveOp op, double bytes,
                    OrrComb comb, const gint64 *stages, guint n_stages);

/* training_traffic.c */

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
  guint32 *program_links; /* fabric link -> program link + 1; 0: none yet */
  GArray *links;          /* of guint32: program link -> fabric link */
  GArray *slots;          /* of guint32 by program link: scratch, zero between calls */
  GArray *collectives;    /* of OrrPlannedCollective: what was planned, once a name */
} OrrWires;

void orr_wires_init(OrrWires *wires, const OrrJob *job, OrrProgram *program);
void orr_wires_clear(OrrWires *wires);

/* One wire for equal calls that different groups make at the same time: their links' weights add
 * up, the longest latency counts. It is noted in wires->collectives under @name with @count a
 * step, where that name is new. */
gboolean orr_wires_join(OrrWires *wires, const char *name, gint64 count, const OrrCalls *calls,
                        OrrWire *ret_wire, GError **error);
/* A path of the program over fabric links. */
guint32 orr_wires_path(OrrWires *wires, const OrrLinkUse *fabric_uses, guint n);
void orr_wire_clear(OrrWire *wire);
void orr_wire_append(OrrWire *wire, OrrWire *next); /* @next after @wire; leaves @next empty */

/* Adds to @load (a hash by fabric link) what @wire (NULL: nothing) puts on each of its links,
 * told apart by @salt. */
void orr_wires_load(const OrrWires *wires, const OrrWire *wire, guint64 salt, guint64 *load);

/* Sets @links (by fabric link) where @wire (NULL: nowhere) uses the link; whether it uses one
 * that is set. */
void orr_wires_cover(const OrrWires *wires, const OrrWire *wire, guint8 *links);
gboolean orr_wires_touch(const OrrWires *wires, const OrrWire *wire, const guint8 *links);

/* Whether the two use a link in common. */
gboolean orr_wires_meet(const OrrWires *wires, const OrrWire *a, const OrrWire *b);

/* training_fold.c */

/* Classes of replicas; class_of[replica], first[class] and size[class]. Where expert groups
 * reach over `span` replicas in a row, these are a team: its classes meet in every all-to-all.
 * Teams of equal classes are one. */
typedef struct {
  guint n;
  guint32 *class_of;
  guint32 *first;
  guint32 *size;
  gint64 span;
  guint n_teams;
  guint32 *team_of;   /* by class */
  guint32 *team_size; /* by team: its classes */
  /* by colour all replicas of each team are of one class: they arrive together wherever they
   * meet */
  gboolean uniform;
} OrrFold;

/* @load (may be NULL): by fabric link a hash of what other collectives put on it
 * (orr_wires_load). */
void orr_fold_init(OrrFold *fold, const OrrJob *job, OrrFidelity fidelity, const guint64 *load);
void orr_fold_clear(OrrFold *fold);

/* training_memory.c */

/* Buffers of activations on their way to the host, and as many on their way back. */
#define ORR_STASH_BUFFERS 2

/* by one unit of a block's pass */
double orr_training_kept_bytes(const OrrJob *job, const GArray *units, gint64 unit);
void orr_training_memory(const OrrJob *job, GArray *memory /* of OrrStageMemory */,
                         GArray *moments /* of OrrMemoryMoment */,
                         GArray *activations /* of OrrKeptActivation, or NULL */);

/* training_activations.c: appends those of @stage, whose @peak-th pass is the one with most. */
void orr_training_activations(const OrrJob *job, gint64 stage, guint peak,
                              GArray *rows /* of OrrKeptActivation */);

/* training_handover.c: bytes of tensors between stages. */
typedef struct {
  double passing;  /* allocated in every step */
  double standing; /* allocated once */
  double merged;   /* of all micro-batches, put together when activations are dead */
} OrrHandoverBytes;
/* @received: passes under way at the peak whose input came from another block. */
OrrHandoverBytes orr_training_handover_bytes(const OrrJob *job, gint64 stage, gint64 received);

/* training_overhead.c */
void orr_training_overhead(const OrrJob *job, double optimized, double gradients,
                           OrrStageMemory *memory);
/* Of one of Adam's two moments. */
double orr_training_moment_bytes(const OrrTraining *params);
/* gaps between tensors of @bytes */
double orr_training_fragmentation(const OrrTraining *params, double bytes);
extern const OrrFieldTable orr_overhead_table;
/* Of the stage that holds most, and of the fullest node's host; FALSE: compiling says why. */
gboolean orr_training_footprint(const void *params, const OrrWorld *world,
                                OrrFootprint *ret_footprint);

/* training_plan.c */

/* Gradients that are reduced together: those of the next `units` units of the stage's last
 * backwards, in their order.
 */
typedef struct {
  gint64 units;
  guint part; /* of the last of them */
  double bytes;
  /* of the plan; NULL: nobody else holds the same, it goes to the host alone */
  const OrrWire *wire;
  const OrrWire *copies; /* hybrid sharding: the all-reduce that follows, or NULL */
} OrrBucket;

/* What the lists of a unit's tensors take of its lane, by kind of time. */
typedef struct {
  double gather[ORR_N_TIMES], again[ORR_N_TIMES],
      scatter[ORR_N_TIMES]; /* of a forward; of a backward, two; after it */
} OrrListWork;

/* A collective inside layers, of one lane's group. */
typedef struct {
  int group, comm; /* OrrOperatorGroup, OrrOperatorComm */
  double bytes;
  OrrWire wire;
} OrrGroupWire;

/* What a lane exchanges with the file system. */
typedef struct {
  OrrWire write, snapshot, load, data;
} OrrStorageWires;

/* Paths of the program between a lane's GPUs and their hosts' memory, and within that. */
typedef struct {
  guint32 out, back, memory;
} OrrOffloadWays;

/* Every communication of the job, planned. Lane l = stage * fold.n + class. */
typedef struct {
  OrrWires wires;
  OrrFold fold;
  /* by stage: of OrrBucket; empty where nobody else holds the same */
  GArray **buckets[ORR_N_SHARES];
  GPtrArray *bucket_wires;           /* of OrrWire *: owned */
  OrrWire *parameters[ORR_N_SHARES]; /* by stage: all-gather of a distributed optimizer */
  OrrWire *weights[ORR_N_SHARES];    /* by stage * parts + part: all-gather of one unit's weights */
  /* by part: of its backward, where tensors are gathered one by one; else NULL */
  OrrWire *weights_again;
  OrrListWork *lists;   /* by part; NULL: tensors are gathered together */
  OrrWire *transfers;   /* by (class * pp + stage) * 2 + direction: stage to stage + 1, and back */
  OrrWire *embedding;   /* by class: the tied embedding's gradient, first and last stage */
  OrrWire norm;         /* the gradient norm over a replica */
  GArray **group_wires; /* by lane: of OrrGroupWire */
  guint8 *beside;       /* by fabric link: carries what all replicas do together beside layers */
  gboolean alone
      /* nothing else ever uses the links of that group's collectives while they do */
      [ORR_N_GROUPS];
  gboolean all_alone;
  gboolean by_turns; /* all-to-alls between experts run beside another micro-batch's compute */
  double gather_s;   /* scatter-gather: the receiver's all-gather over NVLink */
  OrrStorageWires *storage; /* by lane; NULL: the file system is not used */
  OrrOffloadWays *offload;  /* by lane; NULL: nothing is offloaded */
} OrrTrainingPlan;

gboolean orr_training_plan_init(OrrTrainingPlan *plan, const OrrJob *job,
                                const OrrTrainingCosts *costs, OrrFidelity fidelity,
                                OrrProgram *program, GError **error);
void orr_training_plan_clear(OrrTrainingPlan *plan);

/* Ranks at which the replicas of @class begin; newly allocated, fold.size[class] of them. */
gint64 *orr_training_class_ranks(const OrrTrainingPlan *plan, const OrrJob *job, guint class);

/* training_sharding.c */
/* What the replicas of @share say to each other. */
gboolean orr_training_plan_share(OrrTrainingPlan *plan, const OrrJob *job, OrrShare share,
                                 GError **error);
/* whether anything of the stage is reduced */
gboolean orr_training_reduces(const OrrTrainingPlan *plan, gint64 stage);

/* training_by_tensor.c */

/* Parameters of each of the part's tensors that are not whole everywhere, in the order of the
 * backward; of double. */
GArray *orr_training_tensors(const OrrJob *job, guint part);
/* Those of @tensors that are gathered again between the layer's recomputation and its backward. */
GArray *orr_training_regathered(const OrrJob *job, guint part, const GArray *tensors);
OrrListWork orr_training_list_work(const OrrJob *job, guint part);

/* training_layers.c */

/* The lane that speaks for all that meet in collectives of @group with @lane: itself, or the
 * first of its team. */
guint orr_training_leader(const OrrTrainingPlan *plan, const OrrJob *job, guint lane, int group);

gboolean orr_training_plan_layers(OrrTrainingPlan *plan, const OrrJob *job,
                                  const OrrTrainingCosts *costs, GError **error);
void orr_training_clear_layers(OrrTrainingPlan *plan);
const OrrWire *orr_training_group_wire(const OrrTrainingPlan *plan, guint lane,
                                       const OrrSegment *segment);
const char *orr_training_comm_name(int group, int comm); /* "tp-all-reduce" */

/* training_loader.c */
extern const OrrFieldTable orr_loader_table;
gboolean orr_loader_is_on(const OrrLoader *loader);

/* training_noise.c */
extern const OrrFieldTable orr_noise_table;
gboolean orr_noise_is_on(const OrrNoise *noise);

/* training_offload.c */
extern const OrrFieldTable orr_offload_table;
gboolean orr_training_offloads(const OrrTraining *params);
/* NULL, or the rule that offload breaks; newly allocated. */
char *orr_training_refuse_offload(const OrrTraining *params, const OrrCluster *cluster,
                                  const OrrPipelineShape *shape);
char *orr_training_refuse_offloaded_layers(const OrrTraining *params, const gint64 *layers,
                                           gint64 n_blocks);
/* Whether the activations of the @unit-th of a block's units go to the host. */
gboolean orr_offload_takes(const OrrJob *job, const GArray *units, gint64 unit);
/* of @weights, what this GPU's host updates */
double orr_offload_optimized(const OrrJob *job, OrrWeights weights);
/* NULL, or the rule that offload.parameters breaks under @sharding; newly allocated. */
char *orr_training_refuse_offloaded_parameters(const OrrTraining *params,
                                               const OrrShardingPlan *sharding);
/* of @weights, copied up for a gather */
double orr_offload_weight_bytes(const OrrJob *job, OrrWeights weights);
double orr_offload_adam_bytes(const OrrJob *job); /* through its memory, a parameter */
double orr_training_host_peak(const OrrJob *job, const GArray *memory);
void orr_training_plan_offload(OrrTrainingPlan *plan, const OrrJob *job);
/* as orr_wires_cover */
void orr_offload_cover(const OrrTrainingPlan *plan, const OrrJob *job, guint8 *links);

/* training_storage.c */
gboolean orr_training_uses_storage(const OrrTraining *params);
void orr_training_plan_storage(OrrTrainingPlan *plan, const OrrJob *job);
void orr_training_clear_storage(OrrTrainingPlan *plan, gsize n_lanes);
double orr_training_storage_bytes(const OrrJob *job, OrrStorageUse use); /* of all GPUs, once */

/* training_emit.c */

/* @run, @times over, as one piece of work, added to @seconds: its collectives take their time
 * alone on the fabric; those that run beside work cost its slow-down and what outlasts it. Exact
 * when the lane is alone on its links. @backlog_s: the work that the GPU still has when the host
 * has launched what came before; then this, too. */
void orr_training_add_run(const OrrJob *job, const OrrTrainingPlan *plan, guint lane,
                          const OrrRun *run, gint64 times, double *backlog_s,
                          double seconds[ORR_N_TIMES]);

/* training_program.c */

/* About how many ops orr_training_emit will emit; rather too many. */
double orr_training_n_ops(const OrrJob *job, const OrrTrainingCosts *costs,
                          const OrrTrainingPlan *plan);

/* training_limit.c */

/* How many micro-batches of a step are replayed: all, or those of a step that the steady state
 * completes. */
gint64 orr_training_replayed_micro_batches(const OrrJob *job);
/* FALSE where the job is too much to replay, with what would reduce it enough. */
gboolean orr_training_check_ops(const OrrJob *job, const OrrTrainingCosts *costs,
                                const OrrTrainingPlan *plan, GError **error);

/* training_program.c */

/* Emits the whole job into @work->work.program and notes its labels' seconds. */
void orr_training_emit(const OrrJob *job, const OrrTrainingCosts *costs,
                       const OrrTrainingPlan *plan, const double *optimizer_s /* by stage */,
                       OrrTrainingWork *work);

G_END_DECLS

#endif

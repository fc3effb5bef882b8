/*
 * training.h - the training workload: data, tensor, sequence, context, expert and pipeline
 * parallelism, as Megatron-LM, DeepSpeed and FSDP run them.
 *
 * What is replayed (docs/modelling/ has the equations):
 *  1. A lane is one tensor-parallel group of one pipeline stage of one data-parallel replica: its tp ranks meet in at
 *     least two blocking collectives a layer, so they move in lock-step. `full` has a lane for each (stage, replica);
 *     `folded` one for each stage and class of replicas whose routes and link loads are the same (training_fold.h).
 *  2. A lane's streams: compute; one a direction for pipeline transfers (to and from the next and the previous stage);
 *     dp for the gradient and parameter collectives of the data-parallel group.
 *  3. One step of the schedule (forward, backward, or its halves by input and by weight) is one run of the units of a
 *     block: embedding, layers by kind, loss. Its collectives (tensor, context, expert groups) are part of it where nobody
 *     else can use the same links meanwhile (coalescing, exact); otherwise they are communications of their own between
 *     the pieces of compute.
 *  4. After the last backward: gradient reduction (or what is left of it when it overlaps), the embedding gradients'
 *     all-reduce between first and last stage, the gradient norm, the optimizer, and with a distributed optimizer the
 *     parameter all-gather.
 */
#ifndef ORR_TRAINING_H
#define ORR_TRAINING_H

#include "models/transformer.h"
#include "topologies/placement.h"
#include "workloads/training/balances/balance.h"
#include "workloads/collectives/collective.h"
#include "workloads/training/expert_loads/expert_load.h"
#include "workloads/training/pipelines/pipeline.h"
#include "workloads/lengths.h"
#include "workloads/training/sharding/sharding.h"
#include "workloads/training/tp_overlaps/tp_overlap.h"
#include "workloads/workload.h"

G_BEGIN_DECLS

typedef struct {
  gint64 tp, pp, dp, cp, ep; /* dp 0: as many replicas as fit the GPUs */
  gint64 etp;                /* 0: as tp where the model has experts, else 1 */
  int context;               /* OrrContext */
  gint64 context_inner;      /* of hierarchical */
  gboolean sequence_parallel;
  gboolean keep_gathered; /* OrrShard.keeps_gathered */
  /* the backward's input-gradient all-reduce runs beside the weight-gradient GEMM */
  gboolean async_tp_all_reduce;
  OrrChoice tp_comm_overlap; /* of orr_tp_overlap_registry */
  char *order;               /* placement: see topologies/placement.h */
} OrrParallel;

typedef struct {
  gint64 global_size; /* sequences a step */
  gint64 micro;       /* sequences a micro-batch */
} OrrBatch;

/* Whose code moves tensors between stages, and keeps what of them (training_handover.c); auto:
 * torch under FSDP. */
typedef enum { ORR_RUNTIME_AUTO, ORR_RUNTIME_MEGATRON, ORR_RUNTIME_TORCH } OrrPipelineRuntime;
extern const char *const orr_pipeline_runtime_words[]; /* "auto", "megatron", "torch", NULL */

typedef struct {
  gboolean overlap_p2p; /* sends run beside the compute that follows them */
  int runtime;          /* OrrPipelineRuntime */
  /* each tp rank sends 1/tp of the boundary tensor, gathered over NVLink (SC21, 4.1) */
  gboolean scatter_gather;
} OrrPipelineComm;

/* What is not the model's about routed experts. */
typedef struct {
  double capacity;  /* of an expert, in balanced shares; 0: dropless */
  gboolean pads;    /* experts are filled up to it */
  double imbalance; /* exponent of the power law that tokens follow over experts; 0: as load says */
  OrrChoice load;   /* of orr_expert_load_registry */
  gboolean shared_expert_overlap;
  int dispatch; /* OrrDispatch */
  gint64 nodes; /* that a token's experts may lie on; 0: any */
} OrrExpertDispatch;

typedef enum { ORR_DISPATCH_FLAT, ORR_DISPATCH_DEEPEP, ORR_DISPATCH_HIERARCHICAL } OrrDispatch;

/* How layers are cut into stages: one of the three ways, or evenly (training_layout.c). */
typedef struct {
  gboolean count_embedding, count_loss; /* as one layer each */
  gboolean count_where_needed;          /* both, where the layers alone cannot be divided */
  gboolean fill;      /* what does not divide: all blocks but the last are filled up */
  gint64 first, last; /* layers of the first and the last stage; 0: as the others */
  char *layout;       /* "Et*3|(tt|)*29,tL", or "none" */
} OrrPipelineSplit;

/* Full recomputation: every layer's, from inputs kept once every recompute_layers layers; or
 * that of the first recompute_layers layers of each block alone. */
typedef enum { ORR_RECOMPUTE_UNIFORM, ORR_RECOMPUTE_BLOCK } OrrRecomputeMethod;

typedef struct {
  int kind;           /* adam */
  int moments;        /* index of orr_moments_words: fp32, bf16 */
  OrrChoice sharding; /* of orr_sharding_registry */
} OrrOptimizer;

/* What is kept in the memory of the hosts (training_offload.c). */
typedef struct {
  double optimizer; /* share of its state that lies there and is updated there */
  gboolean overlap;
  gboolean parameters; /* shares of the weights lie there, too */
  gint64 activations;  /* layers of each chunk whose activations go there */
} OrrOffload;

typedef struct {
  gboolean overlap;    /* gradient reduction runs beside the last backward, bucket by bucket */
  double bucket_bytes; /* of gradients */
  int gradients;       /* dtype of the reduction: words "fp32", "same" (as the weights) */
} OrrDataParallel;

/* Documents that share a sequence (training_packing.c). */
typedef struct {
  OrrLengths documents;
  gboolean cut;
  OrrChoice balance; /* of orr_balance_registry */
} OrrPacking;

/* Of one replica's data (training_loader.c). */
typedef struct {
  double sample_s;
  gint64 workers, prefetch;
} OrrLoader;

/* How the host gives kernels to the GPU: it works ahead, with a queue that may run dry; it waits
 * for each kernel's end before it launches the next (CUDA_LAUNCH_BLOCKING=1); or a run of
 * kernels is one CUDA graph, and one launch, but for routed experts or with them. */
typedef enum {
  ORR_LAUNCHES_AHEAD,
  ORR_LAUNCHES_BLOCKING,
  ORR_LAUNCHES_GRAPHS,
  ORR_LAUNCHES_GRAPHS_BUT_EXPERTS
} OrrLaunches;
/* "ahead", "blocking", "graphs", "graphs-but-experts", NULL */
extern const char *const orr_launches_words[];

/* Standard deviations as shares of the mean (training_noise.c); 0: all alike. */
typedef struct {
  double rank, kernel;
  int distribution;
} OrrNoise;

/* What libraries take of a GPU's memory for themselves (training_overhead.c). */
typedef struct {
  double context_bytes, communicator_bytes, pair_bytes, exchange_bytes, workspace_bytes;
  double fragmentation; /* share of what the allocator holds for activations that no tensor fills */
  gboolean flat_copies; /* of gradients */
  int allocator;        /* OrrAllocator */
} OrrOverhead;

typedef enum {
  ORR_ALLOCATOR_CACHING,
  ORR_ALLOCATOR_EXPANDABLE
} OrrAllocator; /* words "caching", "expandable" */

typedef enum {
  ORR_CHECKPOINT_SYNC,
  ORR_CHECKPOINT_ASYNC
} OrrCheckpointMode; /* words "sync", "async" */

typedef struct {
  gint64 every; /* steps; 0: never */
  int mode;     /* OrrCheckpointMode */
  gboolean sharded, load;
} OrrCheckpoint;

typedef struct {
  OrrParallel parallel;
  OrrChoice pipeline; /* of orr_pipeline_registry */
  OrrPipelineComm pipeline_comm;
  OrrPipelineSplit split;
  OrrExpertDispatch experts;
  OrrBatch batch;
  gint64 sequence; /* tokens; 0: the model's context */
  OrrPacking packing;
  gboolean evaluation;           /* forwards alone */
  int precision;                 /* OrrPrecision */
  gboolean fp8_activation_input; /* kept for the backward */
  int attention;                 /* OrrAttention */
  int loss;                      /* OrrLoss */
  int kernels;                   /* OrrKernels */
  int launches;                  /* OrrLaunches */
  gboolean dropout;
  int recompute;            /* OrrRecompute */
  char **recompute_modules; /* of selective, words of orr_module_words */
  int recompute_method;     /* OrrRecomputeMethod */
  gint64 recompute_layers;
  OrrOptimizer optimizer;
  OrrOffload offload;
  OrrLoraFields lora;
  OrrDataParallel data_parallel;
  /* an algorithm of orr_collective_registry that all collectives it supports use, or "auto" */
  char *collectives;
  gint64 steps;
  OrrNoise noise;
  OrrOverhead memory;
  OrrCheckpoint checkpoint;
  OrrLoader loader;
  double data_bytes; /* of a sequence, read from the file system; 0: not modelled */
} OrrTraining;

extern const OrrFieldTable orr_training_table;
extern const OrrWorkloadKind orr_training_kind;

/* One kind of operator of one phase, as it was costed: rows of `operator_cost`. */
typedef struct {
  /* "layer-forward", "layer-backward", "layer-recompute", "head-forward", ..., "optimizer" */
  const char *phase;
  OrrOperator op;
  guint count; /* of this kind a step, on a rank that has the phase */
  double each_s;
  OrrHow how;
} OrrCostedOperator;

/* A communication kind of the step: rows of `collective`. */
typedef struct {
  const char *name;      /* "tp-forward", "pp-forward", "dp-gradients", ... */
  const char *op;        /* "all-reduce" */
  const char *algorithm; /* "ring" */
  gint64 n_ranks;
  double bytes;
  gint64 count; /* in one step, on the first lane that has it */
  double latency_s;
  double predicted_s; /* alone on the fabric */
  OrrHow how;
} OrrPlannedCollective;

/* Bytes a GPU of one stage holds at a moment of the step. */
typedef struct {
  gint64 stage;
  double weights, gradients, optimizer;
  double moving_gradients; /* those of @gradients that come and go within the step */
  double activations;      /* kept from forward to backward */
  double working; /* beside them while a pass runs: what is replayed, gradients of activations */
  double buffers; /* boundary tensors on their way between stages */
  double fragmentation;
  double flat_copies, workspace;
  double communicators, context;
  double host; /* in the host's memory instead */
} OrrStageMemory;

/* What operators of one kind keep from forward to backward in a GPU of a stage: bytes of one
 * micro-batch. */
typedef struct {
  gint64 stage, chunk;
  const char *unit;     /* "embedding", "layer", "mtp", "head" */
  const char *operator; /* OrrKeptBytes.operator */
  gint64 units;         /* of the chunk, that keep it or replay it */
  double kept;          /* in the GPU's memory, by all of them */
  double in_host;       /* offloaded */
  double replayed;      /* what they would keep besides, were nothing recomputed */
  gint64 micro_batches; /* of the chunk, under way when the stage holds most */
} OrrKeptActivation;

/* One pass of a stage's schedule, or what follows the last of them. */
typedef struct {
  gint64 stage;
  gint64 received;  /* passes under way whose input came from another block */
  const char *what; /* "forward", "backward", "backward-input", "backward-weight", "update" */
  gint64 chunk, micro_batch;   /* -1: none */
  gint64 back_chunk;           /* whose backward runs; -1: none */
  double activations, working; /* while it runs */
  /* whole ones that are there then, of chunks that have not been reduced (FSDP) */
  double gradients;
  double after; /* activations once it has ended */
} OrrMemoryMoment;

double orr_stage_memory_total(const OrrStageMemory *memory); /* what nvidia-smi shows */
/* of that, the framework's allocator: tensors */
double orr_stage_memory_reserved(const OrrStageMemory *memory);

typedef enum {
  ORR_STORAGE_USE_WRITE,
  ORR_STORAGE_USE_SNAPSHOT,
  ORR_STORAGE_USE_LOAD,
  ORR_STORAGE_USE_DATA,
  ORR_N_STORAGE_USES
} OrrStorageUse;
/* "checkpoint-write", ...: its communications' label */
const char *orr_training_storage_name(OrrStorageUse use);

typedef struct {
  OrrWork work; /* first */
  OrrPlacement placement;
  OrrPipelineShape shape;
  gint64 tp, pp, dp, cp;
  gint64 sequence, global_batch;
  double model_flops;    /* a step, whole job (OrrModel's formula) */
  double hardware_flops; /* with recomputation */
  double peak_flops;     /* of one GPU */
  double padding;        /* share of the tokens that is no document's */
  double layer_forward_s,
      layer_backward_s; /* one layer: compute, tensor-parallel collectives and recomputation */
  gint64 costs_outside; /* operator kinds whose cost lies outside the measured range */
  GArray *operators;    /* of OrrCostedOperator */
  GArray *collectives;  /* of OrrPlannedCollective */
  GArray *memory;       /* of OrrStageMemory, by stage: at its peak */
  GArray *activations;  /* of OrrKeptActivation, by stage and chunk, in the forward's order */
  GArray *moments;      /* of OrrMemoryMoment, by stage, in the schedule's order */
  /* of guint, for each step the moments again: ops of the stage's first lane's compute stream,
   * up to the moment's end; others where the program leaves a part of the step out */
  GArray *moment_ops;
  double host_peak_bytes; /* of the fullest node's memory, by this job */
  GArray *lane_stage;     /* of gint64: the stage of each lane */
  GArray *lane_replica;   /* of gint64: the first replica of each lane's class */
  double storage_bytes
      [ORR_N_STORAGE_USES]; /* of one checkpoint, load or step's data, by all GPUs; 0: not used */
  gint64 storage_counts[ORR_N_STORAGE_USES];
} OrrTrainingWork;

G_END_DECLS

#endif

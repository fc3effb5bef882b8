/*
 * training_params.h - a training job as its document describes it: one struct per section.
 *
 * The tables in training.c, and the tables of single sections in the rooms, read a document into
 * these structs and describe every field. A member has a comment here only where its field's
 * sentence does not explain it. 0 often means a default that depends on the model or the machine;
 * OrrJob (job/training_job.h) has such defaults filled in.
 */
#pragma once

#include "models/transformer.h"
#include "topologies/placement.h"
#include "workloads/training/balances/balance.h"
#include "workloads/collectives/collective.h"
#include "workloads/expert_loads/expert_load.h"
#include "workloads/training/pipelines/pipeline.h"
#include "workloads/lengths.h"
#include "workloads/training/sharding/sharding.h"
#include "workloads/training/tp_overlaps/tp_overlap.h"
#include "workloads/workload.h"

typedef struct {
  gint64 tp, pp, dp, cp, ep; /* dp 0: as many replicas as fit the GPUs */
  gint64 etp;                /* 0: tp where the model has experts, else 1 */
  int context;               /* OrrContext */
  gint64 context_inner;      /* for OrrContext hierarchical only */
  gboolean sequence_parallel;
  gboolean keep_gathered; /* OrrShard.keeps_gathered */
  /* The backward's input-gradient all-reduce overlaps the weight-gradient GEMM. */
  gboolean async_tp_all_reduce;
  OrrChoice tp_comm_overlap; /* orr_tp_overlap_registry */
  char *order;               /* rank order: topologies/placement.h */
} OrrParallel;

typedef struct {
  gint64 global_size; /* sequences per step */
  gint64 micro;       /* sequences per micro-batch */
} OrrBatch;

/* Whose code sends tensors between stages, which decides what a stage holds of them
 * (memory/training_handover.c). AUTO is TORCH under FSDP, else MEGATRON. */
typedef enum { ORR_RUNTIME_AUTO, ORR_RUNTIME_MEGATRON, ORR_RUNTIME_TORCH } OrrPipelineRuntime;

typedef struct {
  gboolean overlap_p2p; /* sends overlap the compute that follows them */
  gboolean lock_step;   /* emit/training_slots.c */
  int runtime;          /* OrrPipelineRuntime */
  /* Each tp rank sends 1/tp of the boundary tensor; NVLink gathers it (SC21, section 4.1). */
  gboolean scatter_gather;
} OrrPipelineComm;

typedef enum { ORR_DISPATCH_FLAT, ORR_DISPATCH_DEEPEP, ORR_DISPATCH_HIERARCHICAL } OrrDispatch;
typedef enum { ORR_CHOICE_DRAWN, ORR_CHOICE_IN_TURN } OrrExpertChoice;

/* Work beside a product: done by it, or by kernels of its own. */
typedef enum { ORR_GLUE_FUSED, ORR_GLUE_APART } OrrGlue;

/* A rank's experts: one grouped product for each matrix, or one expert after the other. */
typedef enum { ORR_EXPERTS_GROUPED, ORR_EXPERTS_SEQUENTIAL } OrrExpertsMlp;

/* How tokens reach routed experts: what the framework decides, not the model. */
typedef struct {
  double capacity;  /* of one expert, as a multiple of its balanced load; 0: dropless */
  gboolean pads;    /* experts are padded to the capacity */
  double imbalance; /* exponent of the power law of tokens over experts; 0: `load` decides */
  OrrChoice load;   /* orr_expert_load_registry */
  gboolean shared_expert_overlap;
  int dispatch;         /* OrrDispatch */
  gint64 nodes;         /* most nodes that a token's experts lie on; 0: any number */
  int choice;           /* OrrExpertChoice */
  gboolean gathers_map; /* with DeepEP's dispatch */
  gboolean router_fp32;
  int bias, clamp, padding; /* OrrGlue */
  int mlp;                  /* OrrExpertsMlp */
  double backward_rate;     /* of their products, as a fraction of what the kernels reach forward */
  gboolean sync; /* the host waits for the router, to learn how many tokens each expert has */
} OrrExpertDispatch;

/* How layers are cut into stages: by one of three methods, or evenly (job/training_layout.c). */
typedef struct {
  gboolean count_embedding, count_loss; /* as one layer each */
  gboolean count_where_needed;          /* both, where the layers alone cannot be divided */
  gboolean fill;      /* all blocks but the last get the quotient rounded up, the last the rest */
  gint64 first, last; /* layers of the first and the last stage; 0: as the other stages */
  char *layout;       /* "Et*3|(tt|)*29,tL", or "none" */
} OrrPipelineSplit;

/* Full recomputation. UNIFORM: all layers, from one kept input per recompute_layers layers. BLOCK:
 * only the first recompute_layers layers of each block. */
typedef enum { ORR_RECOMPUTE_UNIFORM, ORR_RECOMPUTE_BLOCK } OrrRecomputeMethod;

typedef struct {
  int kind;           /* 0: adam */
  int master;         /* words "fp32", "weights" */
  int moments;        /* words "fp32", "bf16" */
  OrrChoice sharding; /* orr_sharding_registry */
} OrrOptimizer;

/* What the hosts' memory holds (job/training_offload.h). */
typedef struct {
  double optimizer; /* fraction of the optimizer's state that the host holds and updates */
  gboolean overlap;
  gboolean parameters; /* the host holds the ranks' shards of the weights */
  gint64 activations;  /* layers of each chunk whose activations the host holds */
} OrrOffload;

typedef struct {
  gboolean overlap;    /* reduce gradients bucket by bucket during the last backward */
  double bucket_bytes; /* of gradients */
  int gradients;       /* format of the reduction: words "fp32", "same" (as the weights) */
} OrrDataParallel;

/* Documents packed into sequences (cost/training_packing.c). */
typedef struct {
  OrrLengths documents;
  OrrLengths images; /* of a document; a mean of 0: every sequence has as many */
  gboolean cut;
  OrrChoice balance; /* orr_balance_registry */
} OrrPacking;

/* The data loader of one replica (emit/training_loader.c). */
typedef struct {
  double sample_s;
  gint64 workers, prefetch;
} OrrLoader;

/* How the host launches kernels. */
typedef enum {
  ORR_LAUNCHES_AHEAD,    /* into a queue, which can run dry */
  ORR_LAUNCHES_BLOCKING, /* each after the end of the one before (CUDA_LAUNCH_BLOCKING=1) */
  ORR_LAUNCHES_GRAPHS,   /* a run of kernels is one CUDA graph, and one launch */
  ORR_LAUNCHES_GRAPHS_BUT_EXPERTS /* likewise, but for the kernels of routed experts */
} OrrLaunches;

/* Standard deviations, as fractions of the mean (emit/training_noise.c); 0: no noise. */
typedef struct {
  double rank, kernel;
  int distribution;
} OrrNoise;

/* Layers that keep the storage format where the recipe has a narrower one. */
typedef struct {
  gint64 first, last;
  gboolean mtp;
} OrrWideLayers;

/* The library of matrix products, where it is not the one of the profile's rows. */
typedef struct {
  char *release; /* "cublas-11.4"; NULL: any */
  double rate;   /* as a multiple of the rows' */
} OrrProducts;

typedef enum { ORR_ALLOCATOR_CACHING, ORR_ALLOCATOR_EXPANDABLE } OrrAllocator;

/* GPU memory that libraries take for themselves (memory/training_overhead.c). */
typedef struct {
  double context_bytes, communicator_bytes, pair_bytes, exchange_bytes, workspace_bytes;
  double fragmentation; /* fraction of the allocator's memory for activations that is gaps */
  gboolean flat_copies; /* of gradients */
  int allocator;        /* OrrAllocator */
} OrrOverhead;

typedef enum { ORR_CHECKPOINT_SYNC, ORR_CHECKPOINT_ASYNC } OrrCheckpointMode;

typedef struct {
  gint64 every; /* steps; 0: never */
  int mode;     /* OrrCheckpointMode */
  gboolean sharded, load;
} OrrCheckpoint;

typedef struct {
  OrrParallel parallel;
  OrrChoice pipeline; /* orr_pipeline_registry */
  OrrPipelineComm pipeline_comm;
  OrrPipelineSplit split;
  OrrExpertDispatch experts;
  OrrBatch batch;
  gint64 sequence; /* tokens; 0: the model's context */
  OrrPacking packing;
  gboolean evaluation; /* forwards only */
  gboolean reference;  /* a frozen copy of the model goes before each forward */
  int precision;       /* OrrPrecision */
  OrrWideLayers wide;
  gboolean fp8_activation_input;
  int attention; /* OrrAttention */
  int loss;      /* OrrLoss */
  int layers;    /* OrrLayers */
  gboolean compile;
  int rope;    /* OrrGlue */
  int kernels; /* OrrKernels */
  OrrProducts products;
  int launches;          /* OrrLaunches */
  double host_operators; /* dispatched for each one that cost/training_launches.c counts */
  OrrNccl nccl;
  gboolean dropout;
  int recompute;            /* OrrRecompute */
  char **recompute_modules; /* for selective only: words of orr_module_words */
  int recompute_method;     /* OrrRecomputeMethod */
  gint64 recompute_layers;
  OrrOptimizer optimizer;
  OrrOffload offload;
  OrrLoraFields lora;
  gboolean frozen_encoder;
  OrrDataParallel data_parallel;
  /* An entry of orr_collective_registry, used for every call that it supports; or "auto". */
  char *collectives;
  double run_tokens; /* of the whole training run; 0: not asked */
  gint64 steps;
  OrrNoise noise;
  OrrOverhead memory;
  OrrCheckpoint checkpoint;
  OrrLoader loader;
  double data_bytes; /* of one sequence, read from the file system; 0: not modelled */
  char *stack;       /* name of the software stack, whose defaults are in the members above */
} OrrTraining;

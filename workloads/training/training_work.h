/*
 * training_work.h - a compiled training job, and the rows that describe it: what each operator
 * costs, which communications a step makes, and what a GPU holds when.
 *
 * Plain values. The rooms of workloads/training fill them; sim/run copies them into result rows.
 */
#pragma once

#include "models/operator.h"
#include "results/rows/rows.h"
#include "topologies/placement.h"
#include "workloads/training/pipelines/pipeline.h"
#include "workloads/workload.h"

/* The cost of one kind of operator in one phase: a row of `operator_cost`. */
typedef struct {
  /* "layer-forward", "layer-backward", "layer-recompute", "head-forward", ..., "optimizer" */
  const char *phase;
  OrrOperator op;
  guint count; /* operators of this kind per step, on a rank that has the phase */
  double each_s;
  OrrHow how;
} OrrCostedOperator;

/* Communications of the step of one purpose and size: a row of `collective`. */
typedef struct {
  const char *name;      /* "tp-forward", "pp-forward", "dp-gradients", ... */
  const char *op;        /* "all-reduce" */
  const char *algorithm; /* "ring" */
  gint64 n_ranks;
  double bytes;
  gint64 count; /* per step, on the first lane that makes it */
  double latency_s;
  double predicted_s; /* on an idle fabric */
  OrrHow how;
  gboolean within; /* others, too, are part of the communications that carry it out */
} OrrPlannedCollective;

/* Bytes that a GPU of one stage holds at one moment of the step. */
typedef struct {
  gint64 stage;
  double weights, gradients, optimizer;
  double moving_gradients; /* the part of @gradients that comes and goes within the step */
  double activations;      /* kept from forward to backward */
  double working; /* temporary, during a pass: replayed activations, gradients of activations */
  double buffers; /* boundary tensors being sent between stages, activations being copied */
  double fragmentation;
  double flat_copies, workspace;
  double communicators, context;
  double host; /* held in the host's memory instead */
} OrrStageMemory;

double orr_stage_memory_total(const OrrStageMemory *memory);    /* what nvidia-smi shows */
double orr_stage_memory_reserved(const OrrStageMemory *memory); /* the framework allocator's part */

/* One pass of a stage's schedule, or the update that follows the last one. */
typedef struct {
  gint64 stage;
  gint64 received;  /* passes under way whose input came from another block */
  const char *what; /* "forward", "backward", "backward-input", "backward-weight", "update" */
  gint64 chunk, micro_batch;   /* -1: none */
  gint64 back_chunk;           /* the chunk whose backward runs; -1: none */
  double activations, working; /* during the pass */
  double gradients; /* during the pass, whole ones of chunks that are not yet reduced (FSDP) */
  double after;     /* activations after the pass */
} OrrMemoryMoment;

typedef enum {
  ORR_STORAGE_USE_WRITE,
  ORR_STORAGE_USE_SNAPSHOT,
  ORR_STORAGE_USE_LOAD,
  ORR_STORAGE_USE_DATA,
  ORR_N_STORAGE_USES
} OrrStorageUse;
/* "checkpoint-write", ...: the label of its operations */
const char *orr_storage_use_name(OrrStorageUse use);

typedef struct {
  OrrWork work; /* first */
  OrrPlacement placement;
  OrrPipelineShape shape;
  gint64 tp, pp, dp, cp;
  gint64 sequence, global_batch;
  double run_tokens;     /* of the whole training run; 0: not asked */
  double model_flops;    /* per step of the whole job, by OrrModel's formula */
  double hardware_flops; /* likewise, with recomputation */
  double masked_flops;   /* the part behind the causal mask, which fused kernels skip */
  double peak_flops;     /* of one GPU */
  double padding;        /* fraction of the tokens that belong to no document */
  double left_out;       /* fraction of the documents' tokens that no sequence holds */
  double dropped;        /* of the pairs of a token and an expert, by experts.capacity */
  /* products.release where the profile has no rows of it and products.rate says nothing instead;
   * NULL: all is known */
  const char *unknown_release;
  double host_s; /* of CPU cores per step and rank, mean: launches, preparing data */
  /* One layer: compute, tensor-parallel collectives and recomputation. */
  double layer_forward_s, layer_backward_s;
  gint64 costs_outside; /* operator kinds whose cost lies outside the measured range */
  GArray *operators;    /* of OrrCostedOperator */
  GArray *collectives;  /* of OrrPlannedCollective */
  GArray *row_of_path;  /* of guint32: program path that begins a collective -> its row + 1 */
  GArray *memory;       /* of OrrStageMemory at its peak, by stage */
  GArray *activations;  /* of OrrActivationRow, by stage and chunk, in the forward's order */
  GArray *moments;      /* of OrrMemoryMoment, by stage, in the schedule's order */
  /* of guint: for each step, for each moment, how many operations the compute stream of the stage's
   * first lane has up to the moment's end. A program that leaves out part of the step has fewer. */
  GArray *moment_ops;
  double host_peak_bytes; /* that this job holds in the memory of the fullest node */
  GArray *lane_stage;     /* of gint64: the stage of each lane */
  GArray *lane_replica;   /* of gint64: the first replica of each lane's class */
  /* Bytes of one checkpoint, one load or one step's data, over all GPUs; 0: not used. */
  double storage_bytes[ORR_N_STORAGE_USES];
  double checkpoint_bytes; /* whether or not one is written */
  gint64 storage_counts[ORR_N_STORAGE_USES];
} OrrTrainingWork;

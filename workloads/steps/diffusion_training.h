/*
 * diffusion_training.h - the workload `diffusion-training`: a step of training a generator's
 * backbone.
 *
 * A rank is (d * ulysses + u) * tp + t. Pictures and texts come encoded from storage, or text is
 * encoded in the step.
 */
#pragma once

#include "models/generator.h"
#include "workloads/collectives/nccl.h"
#include "workloads/workload.h"

/* What each GPU of a data-parallel group holds a part of. */
typedef enum {
  ORR_SHARDS_NONE,      /* nothing: gradients are all-reduced (DDP) */
  ORR_SHARDS_OPTIMIZER, /* the optimizer's state (ZeRO-1, Megatron's distributed optimizer) */
  ORR_SHARDS_FULL       /* weights and gradients, too (FSDP) */
} OrrShards;

typedef struct {
  gint64 tp, ulysses;
} OrrDiffusionTrainingParallel;

typedef struct {
  char *stack;
  OrrGenerator generator;
  gint64 height, width, frames, text_tokens; /* 0: the generator's */
  gint64 batch, micro_batch;                 /* of all GPUs; of a GPU's pass, 0: all of its own */
  OrrDiffusionTrainingParallel parallel;
  int sharding;  /* OrrShards */
  int precision; /* OrrDtype */
  int attention; /* OrrFlash */
  int gradients; /* OrrDtype, as reduced */
  int encoders;  /* 0: cached, 1: live */
  double bucket; /* parameters of a collective */
  gboolean overlaps_gather, two_outputs, compiled, fused_heads, graphs;
  OrrNccl nccl;
} OrrDiffusionTraining;

extern const OrrFieldTable orr_diffusion_training_table;
extern const OrrWorkloadKind orr_diffusion_training_kind;

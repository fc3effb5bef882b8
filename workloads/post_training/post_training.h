/*
 * post_training.h - the workload `post-training`: reinforcement learning of a language model, where
 * serving and training take turns.
 *
 *   prompts -> rollouts (replicas of an engine) -> verifier -> buffer -> passes and update
 *        ^                                                                     |
 *        +------------------------- weights, version + 1 ----------------------+
 *
 *   workload:
 *     kind: post-training
 *     algorithm: grpo
 *     prompts: 64
 *     samples: 32
 *     response: {kind: lognormal, tokens: 3000, most: 4096}
 *     mode: {kind: asynchronous, staleness: 1}
 *     pools: {rollout-gpus: 16}
 *     rollout: {parallel: {tp: 2}}
 *     update: {parallel: {ep: 8}, batch: {global: 512}}
 *
 * What it is made of:
 *  - a step of an engine by its batch and its contexts: serving_cost.h (rollout_replica.h);
 *  - forward passes and updates of the actor and of the other models: replays of two training
 *    steps that differ in their micro-batches, a line through them (post_training_parts.h);
 *  - what a GPU holds meanwhile: post_training_parts.h;
 *  - weights from trainer to engines: replays of collectives (weight_syncs/);
 *  - the loop: an event simulation of all replicas, the verifier and the trainer (loop_sim.h).
 */
#pragma once

#include "topologies/job_placement.h"
#include "workloads/collectives/collective_bench.h"
#include "workloads/lengths.h"
#include "workloads/post_training/algorithms/rl_algorithm.h"
#include "workloads/post_training/loop_sim.h"
#include "workloads/post_training/weight_syncs/weight_sync.h"
#include "workloads/serving/serving.h"
#include "workloads/training/training.h"

/* fp32 master weights and two moments, and gradients in fp32; 16-bit weights. */
#define ORR_RL_OPTIMIZER_BYTES 16.0
#define ORR_RL_WEIGHT_BYTES 2.0

typedef struct {
  gint64 rollout_gpus;      /* 0: rollouts and updates take turns on all GPUs */
  OrrDevice rollout_device; /* unnamed: the cluster's */
  gboolean hybrid;          /* the trainer's GPUs roll out, too, while the trainer waits */
} OrrPostTrainingPools;

/* Another job on the machine, whose traffic runs while weights move. */
typedef struct {
  gint64 gpus;         /* 0: nobody */
  OrrChoice placement; /* of orr_job_placement_registry */
  OrrCollectiveBench traffic;
} OrrPostTrainingBeside;

typedef enum { ORR_ROLE_ON_GPU, ORR_ROLE_ON_HOST } OrrPostTrainingState;

/* A model in addition to the actor, on the trainer's GPUs. */
typedef struct {
  OrrModel model;    /* unnamed: the actor's */
  gint64 tp, pp, ep; /* 0: as update.parallel */
  int state;         /* OrrPostTrainingState: where its state lies while others compute */
} OrrPostTrainingRole;

typedef struct {
  char *stack;
  OrrChoice algorithm; /* of orr_rl_algorithm_registry */
  gint64 prompts, samples, steps;
  double run_steps; /* of the whole run; 0: not asked */
  OrrLengths prompt, response;
  OrrLoopMode mode;
  OrrLoopTurns turns;
  OrrLoopVerifier verifier;
  OrrPostTrainingPools pools;
  OrrLoopCosts costs;
  OrrChoice sync;  /* of orr_weight_sync_registry */
  int balance;     /* OrrPassBalance */
  int packing;     /* OrrPassPacking */
  gint64 epochs;   /* updates over the same samples */
  int offload;     /* OrrPostTrainingOffload */
  gboolean sleeps; /* engines leave a shared GPU during updates */
  double wake_s;   /* of an engine, and of putting it to sleep */
  gboolean quantized_sync;
  OrrPostTrainingRole critic, reference, reward; /* reward: unnamed: the verifier alone */
  OrrPostTrainingBeside beside;
  OrrServing rollout;
  OrrTraining update;
} OrrPostTraining;

/* What leaves the GPUs while they roll out, where both share them. */
typedef enum { ORR_OFFLOAD_NOTHING, ORR_OFFLOAD_OPTIMIZER, ORR_OFFLOAD_ALL } OrrPostTrainingOffload;

typedef struct {
  OrrWork work;            /* first */
  OrrPostTraining params;  /* points into the scenario: not owned */
  OrrLoopHistory *history; /* what happened */
  GArray *memory;          /* of OrrPostTrainingMemoryRow: what a GPU holds in a phase */
  gboolean keeps_spans;
  gint64 rollout_gpus, update_gpus;
  guint replicas, helpers;
  gint64 uncounted;                   /* steps at the beginning that no mean counts */
  double sync_bytes, blocked_s;       /* weights, as they are sent; for which engines wait */
  double rollout_bytes, update_bytes; /* memory of a GPU: engine's weights and cache; peak */
  /* of the rollouts' own GPUs, and of the trainer's; NAN: a device has no power model */
  double rollout_static_w, update_static_w;
  const char *rollout_device, *update_device; /* interned */
  char *missing;                              /* kernels without rows in the profile; NULL: none */
  double trust_s[ORR_HOW_OUTSIDE + 1];        /* seconds of rollout steps by how they are known */
} OrrPostTrainingWork;

extern const OrrWorkloadKind orr_post_training_kind;

/*
 * post_training_parts.h - the workloads that a post-training workload is made of, on the GPUs on
 * which they run, and what replays of them take.
 *
 * A pass over m micro-batches takes fixed + m each seconds. Both come from two replays, of one and
 * of two rounds of micro-batches:
 *
 *   line      replays                         whose
 *   update    training steps                  the actor; a critic of its own shape
 *   forward   evaluation steps                the actor; reference, reward model, critic
 *
 * A role without a model or a split of its own has the actor's lines.
 */
#pragma once

#include "workloads/parts.h"
#include "workloads/post_training/post_training.h"

/* The lines, in the order in which they are replayed. */
typedef enum {
  ORR_LINE_UPDATE,
  ORR_LINE_FORWARD,
  ORR_LINE_REFERENCE,
  ORR_LINE_REWARDS,
  ORR_LINE_VALUES,
  ORR_LINE_CRITIC,
  ORR_N_LINES
} OrrPostTrainingLine;

/* What two replays of a line gave. */
typedef struct {
  OrrPassTime time;
  OrrPassShape shape;
  /* of the fullest GPU: its peak; weights, gradients and optimizer state; what the process holds
   * besides (CUDA context, buffers of NCCL and cuBLAS) */
  double peak_bytes, state_bytes, process_bytes;
  OrrPostTrainingLine as; /* the line that it shares, or itself */
  gboolean is_there;
} OrrPostTrainingPass;

typedef struct {
  const OrrPostTraining *params; /* borrowed, as are the pointers of the copies below */
  const OrrModel *model;
  OrrModel models[ORR_N_LINES];                      /* settled */
  OrrCluster rollout_cluster, update_cluster, whole; /* whole: weights travel on it */
  OrrServing rollout;
  OrrTraining trainings[ORR_N_LINES][2];
  gint64 dp[ORR_N_LINES];
  OrrPostTrainingPass passes[ORR_N_LINES];
} OrrPostTrainingParts;

OrrPostTrainingParts *orr_post_training_parts_new(const OrrPostTraining *params,
                                                  const OrrModel *model, const OrrCluster *cluster);
void orr_post_training_parts_free(OrrPostTrainingParts *parts); /* NULL is fine */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(OrrPostTrainingParts, orr_post_training_parts_free)

/* Checks the parts as the workloads that they are. */
void orr_post_training_parts_check(const OrrPostTrainingParts *parts, OrrPlace place,
                                   OrrDiags *diags);
/* Replays all lines and fills parts->passes. */
gboolean orr_post_training_parts_replay(OrrPostTrainingParts *parts, const OrrParts *runs,
                                        GError **error);

/* GPUs of both pools; of an engine. */
gint64 orr_post_training_parts_own_gpus(const OrrPostTraining *params, const OrrCluster *cluster);
gint64 orr_post_training_parts_engine_gpus(const OrrPostTraining *params);
/* The role whose pass it is; NULL: the actor. */
const OrrPostTrainingRole *orr_post_training_parts_role(const OrrPostTraining *params,
                                                        OrrPostTrainingLine line);
/* Ranks of the actor's trainer that hold different shards of a weight. */
gint64 orr_post_training_parts_shard_ranks(const OrrPostTrainingParts *parts);

/* post_training_compile.c: from the document to the loop: pools, engines, passes, weights. */

/* Checks engines and trainer as the workloads that they are, on their own GPUs. */
void orr_post_training_compile_check(const OrrPostTraining *params, const OrrModel *model,
                                     const OrrCluster *cluster, OrrPlace place, OrrDiags *diags);

/* OrrWorkloadKind's. The loop runs here: the program that it returns is empty. */
OrrWork *orr_post_training_compile(const void *params, const OrrWorld *world, GError **error);

/* post_training_memory.c: what a GPU of each pool holds in each phase.
 *
 *   trainer   process + states that stay + the state at work + its working set
 *   rollouts  weights and cache of an engine; on shared GPUs next to what the trainer leaves there
 *
 * A role's state (post_training.h) stays on the GPU, or comes from host memory for its own phases.
 */

/* Of OrrPostTrainingMemoryRow, in the order of a step's phases. @engine_bytes: of an engine. */
GArray *orr_post_training_memory_new(const OrrPostTrainingParts *parts, double engine_bytes);
/* The most that a phase of the trainer needs. */
double orr_post_training_memory_peak(const GArray *memory);
/* Where an engine shares its GPUs: FALSE with @error if the trainer leaves too little room. */
gboolean orr_post_training_memory_check_room(const OrrPostTrainingParts *parts, double engine_bytes,
                                             GError **error);

/*
 * post_training_memory.h - what a GPU of each pool holds in each phase.
 *
 *   trainer   process + states that stay + the state at work + its working set
 *   rollouts  weights and cache of an engine; on shared GPUs next to what the trainer leaves there
 *
 * A role's state (post_training.h) stays on the GPU, or comes from host memory for its own phases.
 */
#ifndef ORR_POST_TRAINING_MEMORY_H
#define ORR_POST_TRAINING_MEMORY_H

#include "workloads/post_training/post_training_parts.h"

G_BEGIN_DECLS

/* Of OrrPostTrainingMemoryRow, in the order of a step's phases. @engine_bytes: of an engine. */
GArray *orr_post_training_memory_new(const OrrPostTrainingParts *parts, double engine_bytes);
/* The most that a phase of the trainer needs. */
double orr_post_training_memory_peak(const GArray *memory);
/* Where an engine shares its GPUs: FALSE with @error if the trainer leaves too little room. */
gboolean orr_post_training_memory_check_room(const OrrPostTrainingParts *parts, double engine_bytes,
                                             GError **error);

G_END_DECLS

#endif

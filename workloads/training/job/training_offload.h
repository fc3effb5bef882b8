/*
 * training_offload.h - what a job keeps in its hosts' memory: which layers' activations, and which
 * bytes of weights and optimizer state.
 */
#pragma once

#include "workloads/training/job/training_job.h"

/* Buffers of activations being copied to the host, and as many for those being copied back. */
#define ORR_STASH_BUFFERS 2

extern const OrrFieldTable orr_training_offload_table;
gboolean orr_training_offload_is_on(const OrrTraining *params);

/* Whether the activations of the @layer-th of a block's @layers go to the host. */
gboolean orr_training_offload_takes(const OrrJob *job, const GArray *layers, gint64 layer);

/* Of @weights: the parameters that this GPU's host updates. */
double orr_training_offload_optimized(const OrrJob *job, OrrWeights weights);
/* Of @weights: the bytes copied up from the host before a gather. */
double orr_training_offload_weight_bytes(const OrrJob *job, OrrWeights weights);
/* Bytes through the host's memory per parameter that it updates. */
double orr_training_offload_adam_bytes(const OrrJob *job);

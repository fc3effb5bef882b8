/*
 * training_sharding_emit.h - what replicas send each other, as operations.
 */
#pragma once

#include "workloads/training/emit/training_emitter.h"

/* The gathers of a step wait until the step before has updated what they gather. */
void orr_training_sharding_emit_updated(OrrEmitter *e, const OrrLaneAt *lane);
/* Gathers the weights of a layer; compute waits for them. */
void orr_training_sharding_emit_gather(OrrEmitter *e, const OrrLaneAt *lane,
                                       OrrLaneProgress *progress, guint spec, gboolean backward);
/* Notes that the lane has computed a layer whose weights were gathered. */
void orr_training_sharding_emit_computed(OrrEmitter *e, const OrrLaneAt *lane,
                                         OrrLaneProgress *progress);

/* Gradients or parameters of one weight set of the stage @owner, reduced or gathered by the lanes
 * of @n_stages stages. */
typedef struct {
  OrrWeightSet set;
  gint64 owner;
  guint n_stages;
} OrrOwned;

/* Reduces the gradients of the @bucket-th bucket, which are complete on compute, on the dp
 * stream. */
void orr_owned_reduce(OrrEmitter *e, const OrrLaneAt *lane, OrrLaneProgress *progress,
                      const OrrOwned *owned, guint bucket);
/* Gathers the updated parameters, where they are gathered after the update. */
void orr_owned_gather(OrrEmitter *e, const OrrLaneAt *lane, const OrrOwned *owned);

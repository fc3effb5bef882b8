/*
 * training_offload_emit.h - copies to and from the hosts' memory, and the hosts' update, as
 * operations. Every function emits nothing where the job does not offload what it copies.
 */
#pragma once

#include "workloads/training/emit/training_emitter.h"

/* The lane's shards of a layer's weights, copied up before they are gathered, and no earlier than
 * gathers run ahead. */
void orr_training_offload_emit_weights(OrrEmitter *e, const OrrLaneAt *lane,
                                       const OrrLaneProgress *progress, guint spec);

/* The reduced gradients of a bucket of @bucket_bytes, copied to the host. */
void orr_training_offload_emit_gradients(OrrEmitter *e, const OrrLaneAt *lane,
                                         const OrrLaneProgress *progress, OrrWeightSet set,
                                         double bucket_bytes);
/* Compute waits until the host has all gradients. */
void orr_training_offload_emit_wait_gradients(OrrEmitter *e, const OrrLaneAt *lane);
/* The host updates its parameters and copies them back; the next call makes compute wait. */
void orr_training_offload_emit_update(OrrEmitter *e, const OrrLaneAt *lane);
void orr_training_offload_emit_wait_update(OrrEmitter *e, const OrrLaneAt *lane);

/* One layer of a pass. */
typedef struct {
  const GArray *layers;
  gint64 chunk, micro_batch, layer;
  gboolean forward;
} OrrStash;

/* Before the layer computes: a free buffer for a forward's activations, or a backward's copied
 * back. */
void orr_stash_before(OrrEmitter *e, const OrrLaneAt *lane, OrrLaneProgress *progress,
                      const OrrStash *stash);
/* After the layer has computed: its activations copied out, or their buffer freed. */
void orr_stash_after(OrrEmitter *e, const OrrLaneAt *lane, OrrLaneProgress *progress,
                     const OrrStash *stash);

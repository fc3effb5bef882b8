/*
 * weight_sync.h - ways for new weights from the trainer to the rollout engines.
 *
 * An entry names the collectives that it calls and then says what all of it takes, given the time
 * of one call of each on the fabric (replayed, with the contention among a collective's own rings):
 *
 *   message   bytes of one call: a bucket, or without buckets the mean tensor
 *   gather    all-gather of a message over the trainer's ranks that hold different shards of it
 *   send      broadcast of a message from one trainer rank to all rollout ranks
 *
 * To add one: write weight_syncs/NAME.c with one `const OrrWeightSync` and its line in meson.build.
 */
#pragma once

#include "models/model.h"
#include "sim/base/field.h"
#include "topologies/cluster.h"

/* The first members of every entry's parameters. */
typedef struct {
  double bucket_bytes; /* 0: a message per tensor */
  double tensor_s;     /* a Xeon's time per tensor: names, views, loading */
  double step_s;       /* per sync */
} OrrWeightSyncParams;

typedef struct {
  double bytes;                                   /* of all weights, as they are sent */
  double tensors;                                 /* of the checkpoint */
  gint64 trainer_gpus, rollout_gpus, engine_gpus; /* engine_gpus: of one replica */
  double host_copy_bytes_per_s, memory_bytes_per_s;
  double launch_speed; /* of the nodes' hosts, of a Xeon's: topologies/cluster.h */
} OrrWeightLoad;

typedef struct {
  double gather_s, send_s; /* of one message */
} OrrWeightCalls;

typedef struct {
  double copy_s;    /* from the trainer's first byte to the engines' last */
  double blocked_s; /* the part of it at its end in which the engines stand still */
} OrrWeightTimes;

typedef struct {
  OrrEntry entry; /* mandatory; its parameters begin with OrrWeightSyncParams */
  gboolean gathers, sends;
  const char *refuses_apart, *refuses_shared; /* why it needs shared GPUs, or pools; NULL: not */
  OrrWeightTimes (*times)(const OrrWeightSyncParams *params, const OrrWeightLoad *load,
                          const OrrWeightCalls *calls); /* mandatory */
} OrrWeightSync;

#define ORR_WEIGHT_SYNC_FIELDS(bucket_, tensor_)                                                   \
  ORR_FIELD_REAL(OrrWeightSyncParams, "bucket", bucket_bytes, ORR_UNIT_BYTES, bucket_,             \
                 "Bytes that are sent together; 0 B: each tensor alone.",                          \
                 .flags = ORR_FIELD_UNSIGNED),                                                     \
      ORR_FIELD_REAL(OrrWeightSyncParams, "tensor", tensor_s, ORR_UNIT_SECONDS, tensor_,           \
                     "A Xeon's time per tensor: names, views, loading into the engine; on "        \
                     "another CPU it is divided by node.host.launch-speed.",                       \
                     .flags = ORR_FIELD_UNSIGNED),                                                 \
      ORR_FIELD_REAL(OrrWeightSyncParams, "step", step_s, ORR_UNIT_SECONDS, "0 s",                 \
                     "Time per sync: pausing engines, clearing their prefix caches.",              \
                     .flags = ORR_FIELD_UNSIGNED)

extern const OrrRegistry orr_weight_sync_registry;

/* Tensors of @model's checkpoint as Hugging Face's library stores it: a linear layer each, every
 * expert's its own. */
double orr_weight_sync_tensors(const OrrModel *model);
/* The hosts' time for all tensors, on @load's CPUs. */
double orr_weight_sync_tensors_s(const OrrWeightSyncParams *params, const OrrWeightLoad *load);
/* Of one call, and how many calls there are. */
double orr_weight_sync_message_bytes(const OrrWeightSyncParams *params, const OrrWeightLoad *load);
double orr_weight_sync_messages(const OrrWeightSyncParams *params, const OrrWeightLoad *load);

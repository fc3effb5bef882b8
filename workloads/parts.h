/*
 * parts.h - what a workload that is made of others may ask while it compiles: a world on a part of
 * the machine, and what other workloads take there.
 *
 * sim/run provides both (run_private.h), since a replay needs engines and processes of its own.
 */
#pragma once

#include "workloads/workload.h"

/* Collectives of another job on the same machine, which run while a part does. */
typedef struct {
  const void *params; /* of orr_collective_bench_table */
  gint64 gpus;
  const OrrChoice *placement; /* of orr_job_placement_registry */
} OrrPartTraffic;

/* A workload on a cluster of its own; all of it outlives the call. */
typedef struct {
  const char *name; /* for messages: "update" */
  const OrrWorkloadKind *kind;
  const void *params;
  const OrrModel *model;
  const OrrCluster *cluster;
  /* Its GPUs, of the cluster's, in the order of its ranks; NULL: all. Without other jobs there. */
  const gint64 *gpus;
  gint64 n_gpus;
  double switch_share; /* of the bandwidth of links between switches; 0 and 1: all of it */
  /* NULL: nothing; else it is placed first, and the part gets the first of the other GPUs */
  const OrrPartTraffic *beside;
  gint64 beside_gpus; /* of the part, where something runs next to it */
} OrrPart;

/* training: a step. collectives: one call of the only size. */
typedef struct {
  double seconds;
  double gpu_bytes; /* training: peak of the fullest GPU */
  /* training: of that, weights, gradients and optimizer; CUDA context, workspace, NCCL's buffers */
  double state_bytes, process_bytes;
  double gpu_energy_j;  /* training: of all GPUs in a step; NAN: not known */
  OrrJoules gpu_joules; /* training: of that, what is not static power */
  double switch_use;    /* training: fraction of the busiest link between switches that it uses */
  gint64 events;
} OrrPartTimes;

typedef struct OrrParts {
  void *user;
  /* The world of @cluster, which outlives it; it lives as long as @user. NULL with @error. */
  const OrrWorld *(*world_of)(void *user, const OrrCluster *cluster, GError **error);
  /* Replays @n parts, several at once, and fills @ret_times. */
  gboolean (*replay)(void *user, const OrrPart *parts, guint n, OrrPartTimes *ret_times,
                     GError **error);
} OrrParts;

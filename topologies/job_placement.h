/*
 * job_placement.h - chooses the GPUs of each job when several jobs share a machine.
 *
 * A kind of placement is an entry: it fills a list with free GPUs, in the order of the job's ranks.
 *
 * To add one: write topologies/job_placements/NAME.c with one const OrrJobPlacementKind and its
 * line in meson.build. tests/topologies/test_job_placement.c applies the same checks to all kinds.
 */
#pragma once

#include "topologies/cluster.h"

typedef struct {
  const OrrCluster *cluster;
  const gboolean *taken; /* by GPU: whether another job has it */
  gint64 n_gpus;         /* of the cluster */
  guint64 seed;
  const char *job; /* the job's name: for messages, and to seed its random stream */
} OrrPlacementRequest;

typedef struct {
  OrrEntry entry;
  /* Mandatory. Writes @n free GPUs, each once, to @ret_gpus. ORR_FAULT_DOCUMENT that says what
   * is missing if it cannot. */
  gboolean (*choose)(const void *params, const OrrPlacementRequest *request, gint64 n,
                     gint64 *ret_gpus, GError **error);
} OrrJobPlacementKind;

extern const OrrRegistry orr_job_placement_registry;

/* Runs the chosen kind and checks that each GPU exists, is free and appears once. */
gboolean orr_job_placement_choose(const OrrChoice *choice, const OrrPlacementRequest *request,
                                  gint64 n, gint64 *ret_gpus, GError **error);

/* For entries: takes the first @n free GPUs of @order (a permutation of some of the cluster's
 * GPUs). */
gboolean orr_job_placement_take(const OrrPlacementRequest *request, const gint64 *order,
                                gint64 n_order, gint64 n, gint64 *ret_gpus, GError **error);

/* "0-7, 16-23": runs of neighbours; newly allocated. */
char *orr_job_placement_text(const gint64 *gpus, gint64 n);

/*
 * collective_load.h - the load of one collective on each link: flows, bytes, and the most loaded
 * links.
 *
 * A flow is a connection between two GPUs (under ecmp, one of its queue pairs; if packets are
 * spread over several routes, it counts on each). Links whose names differ only in numbers are
 * reported as one kind.
 */
#pragma once

#include "workloads/collectives/collective.h"

typedef struct {
  char *kind; /* "leaf-spines.up" */
  gint64 links, used;
  double flows_mean, flows_most; /* over links in use */
  double busy_mean_s, busy_most_s;
  guint32 hottest;
} OrrLoadRow;

typedef struct {
  const OrrCollectiveAlgorithm *algorithm;
  GArray *rows;    /* of OrrLoadRow, most loaded kind first */
  GArray *hottest; /* of guint32: a handful of links, most loaded first */
  double *busy_s;  /* by link */
  guint32 *flows;  /* by link */
} OrrCollectiveLoad;

/* The load of @call with @algorithm; NULL: the algorithm chosen for a machine without a profile. */
OrrCollectiveLoad *orr_collective_load(const OrrFabric *fabric, const OrrCollectiveCall *call,
                                       const OrrCollectiveAlgorithm *algorithm, GError **error);
void orr_collective_load_free(OrrCollectiveLoad *load); /* NULL is fine */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(OrrCollectiveLoad, orr_collective_load_free)

/* The load as a table, followed by the most loaded links. Newly allocated. */
char *orr_collective_load_text(const OrrCollectiveLoad *load, const OrrFabric *fabric,
                               const OrrCollectiveCall *call);

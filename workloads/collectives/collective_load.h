/*
 * collective_load.h - what one collective puts on each link: how many flows, how many bytes, which
 * links are hot.
 *
 * A flow is a connection of two GPUs (under ecmp one of its queue pairs; where packets are spread
 * over several routes, it counts on each). Links of one kind are told together: those whose names
 * differ in numbers alone.
 */
#ifndef ORR_COLLECTIVE_LOAD_H
#define ORR_COLLECTIVE_LOAD_H

#include "workloads/collectives/collective.h"

G_BEGIN_DECLS

typedef struct {
  char *kind; /* "leaf-spines.up" */
  gint64 links, used;
  double flows_mean, flows_most; /* over the used */
  double busy_mean_s, busy_most_s;
  guint32 hottest;
} OrrLoadRow;

typedef struct {
  const OrrCollectiveAlgorithm *algorithm;
  GArray *rows;    /* of OrrLoadRow, hottest kind first */
  GArray *hottest; /* of guint32: links, hottest first, a handful */
  double *busy_s;  /* by link */
  guint32 *flows;  /* by link */
} OrrCollectiveLoad;

/* Of @call by @algorithm, or where NULL the one that a machine without a profile would take. */
OrrCollectiveLoad *orr_collective_load(const OrrFabric *fabric, const OrrCollectiveCall *call,
                                       const OrrCollectiveAlgorithm *algorithm, GError **error);
void orr_collective_load_free(OrrCollectiveLoad *load); /* NULL is fine */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(OrrCollectiveLoad, orr_collective_load_free)

/* The load as a table, and its hottest links. Newly allocated. */
char *orr_collective_load_text(const OrrCollectiveLoad *load, const OrrFabric *fabric,
                               const OrrCollectiveCall *call);

G_END_DECLS

#endif

/*
 * serving_private.h - what the serving_*.c files share. Nobody else includes it.
 */
#ifndef ORR_SERVING_PRIVATE_H
#define ORR_SERVING_PRIVATE_H

#include "workloads/serving.h"

G_BEGIN_DECLS

/* serving_check.c */
void orr_serving_check(const void *params, const OrrModel *model, const OrrCluster *cluster, OrrPlace place,
                       OrrDiags *diags);
OrrWork *orr_serving_compile(const void *params, const OrrWorld *world, GError **error);
void orr_serving_work_free(OrrWork *work);
gint64 orr_serving_replicas(const OrrServing *params, const OrrCluster *cluster);
OrrInferenceShard orr_serving_shard(const OrrServing *params);

/* serving_fleet.c */
gboolean orr_serving_run(OrrWork *work, OrrEngine *engine, GError **error);

/* --- a replica on the clock: serving_replica.c --- */

typedef struct OrrFleet OrrFleet;
typedef struct OrrReplica OrrReplica;

/* What a replica tells the fleet. */
struct OrrFleet {
  OrrServingWork *work;
  OrrEngine *engine;
  OrrServingCost *cost; /* all replicas are alike */
  OrrReplica **replicas;
  double next_arrival_s;                               /* of those known in advance; G_MAXDOUBLE: none */
  GError *error;                                       /* set: nothing more happens */
  void (*ended)(OrrFleet *fleet, OrrRequest *request); /* takes the request */
  guint64 seen_steps, step_stride;
};

OrrReplica *orr_replica_new(OrrFleet *fleet, gint index);
void orr_replica_free(OrrReplica *replica);
void orr_replica_add(OrrReplica *replica, OrrRequest *request); /* now */
gint64 orr_replica_n_requests(const OrrReplica *replica);       /* waiting and running */
/* Closes the books; ORR_FAULT_STUCK where requests are left that no step could serve. */
gboolean orr_replica_close(OrrReplica *replica, GError **error);

G_END_DECLS

#endif

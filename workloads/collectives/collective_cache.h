/*
 * collective_cache.h - plans of collectives, kept for the next equal call.
 *
 * A plan follows from the machine, the call and its group alone. A job plans the same call for its
 * time and again for its traffic, and neighbouring points of a sweep plan the same calls: planning
 * the calls of a point takes a fifth to a third of its time.
 */
#pragma once

#include "workloads/collectives/collective.h"

typedef struct OrrCollectiveCache OrrCollectiveCache; /* workload.h names it, too */

/* For one machine, which must outlive it: plans on another fabric (a detour around faults, a
 * remedy that is tried) or with other costs are made anew. @cost may be NULL. */
OrrCollectiveCache *orr_collective_cache_new(const OrrFabric *fabric, const OrrCostModel *cost);
void orr_collective_cache_free(OrrCollectiveCache *cache);

/* As orr_collective_plan, whose answer it keeps. @cache may be NULL. The plan is shared and
 * must not be changed, except what orr_collective_plan_own returns; freed as always. */
OrrCollectivePlan *orr_collective_cache_plan(OrrCollectiveCache *cache,
                                             const OrrCollectiveContext *context,
                                             const OrrCollectiveCall *call,
                                             const OrrCollectiveAlgorithm *algorithm,
                                             GError **error);

/* Equal calls of several groups, whose GPUs follow each other in memory: what is planned for the
 * first one, over the links of all. */
typedef struct {
  const OrrCollectiveContext *context;
  const OrrCollectiveCall *first; /* its group is the first; all exchange the same */
  guint n_calls;
  const OrrCollectiveAlgorithm *algorithm; /* as for orr_collective_plan */
} OrrJointCalls;

/* A plan that was kept for the same calls, shared as above; NULL: none. */
OrrCollectivePlan *orr_collective_cache_find_joint(const OrrCollectiveCache *cache,
                                                   const OrrJointCalls *calls);
/* The caller goes on to own @plan, which must not change any more. */
void orr_collective_cache_keep_joint(OrrCollectiveCache *cache, const OrrJointCalls *calls,
                                     OrrCollectivePlan *plan);

/* What else follows from @fabric and @key alone, such as which replicas are alike, or the routes
 * inside a group. NULL: nothing is kept. */
GBytes *orr_collective_cache_find(const OrrCollectiveCache *cache, const OrrFabric *fabric,
                                  GBytes *key);
/* Takes both. Where @cache is NULL or another fabric's, it keeps nothing. */
void orr_collective_cache_keep(OrrCollectiveCache *cache, const OrrFabric *fabric, GBytes *key,
                               GBytes *fact);

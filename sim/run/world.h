/*
 * world.h - a machine that is ready to be simulated: its profile's costs and its fabric. Made once
 * and used by any number of runs, because reading a profile takes a hundred times longer than a
 * query.
 */
#pragma once

#include "sim/run/machine.h"
#include "sim/run/scenario.h"
#include "workloads/collectives/collective_cache.h"

typedef struct {
  OrrMachine machine;
  OrrCostModel *cost;
  OrrFabric *fabric;
  GPtrArray *warnings; /* of char *: which costs are not measured on the device itself */
  OrrLibrary *library; /* borrowed */
  gboolean refuses;    /* on-missing: error */
  GPtrArray *others;   /* costs of other devices, made at their first query */
  OrrCollectiveCache *plans;
} OrrRunWorld;

/* Made for @scenario's cluster, seed and on-missing. @library and @scenario must outlive it. */
OrrRunWorld *orr_run_world_new(OrrLibrary *library, const OrrScenario *scenario, GError **error);
/* For OrrWorld.cost_of: @world is an OrrRunWorld; @device must outlive the use of its costs. NULL
 * with @error. */
const OrrCostModel *orr_run_world_cost_of(void *world, const OrrDevice *device, GError **error);
void orr_run_world_free(OrrRunWorld *world);

/* What a workload of @scenario is compiled in, of its whole step; it borrows from both. */
OrrWorld orr_run_world_of(const OrrRunWorld *machine, const OrrScenario *scenario);
/* Why the workload's memory does not fit, without compiling it; NULL: it fits, has no footprint, or
 * compiling it reports an error. @ret_gpu_bytes is set where the footprint is known. Newly
 * allocated. */
char *orr_run_world_refuse(const OrrRunWorld *machine, const OrrScenario *scenario,
                           double *ret_gpu_bytes);

/* Reads and builds what runs of @scenario's machine have in common, such as tables of kernels, in
 * this process: @library keeps it, and children that are started afterwards find it. NULL is fine.
 * An error is left to the runs. */
void orr_run_world_warm(OrrLibrary *library, const OrrScenario *scenario);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(OrrRunWorld, orr_run_world_free)

/*
 * world.h - a machine ready to be simulated on: its profile's costs and its fabric. Made once, used
 * by any number of runs: reading a profile takes a hundred times longer than asking it.
 */
#ifndef ORR_WORLD_H
#define ORR_WORLD_H

#include "sim/run/machine.h"
#include "sim/run/scenario.h"

G_BEGIN_DECLS

typedef struct {
  OrrMachine machine;
  OrrCostModel *cost;
  OrrFabric *fabric;
  GPtrArray *warnings; /* of char *: what the profile does not hold of its own */
  OrrLibrary *library; /* borrowed */
  gboolean refuses;    /* on-missing: error */
  GPtrArray *others;   /* machines of other devices, made when they are asked for */
} OrrRunWorld;

/* Of @scenario's cluster, seed and on-missing, which must outlive it, and of @library, which
 * must too. */
OrrRunWorld *orr_run_world_new(OrrLibrary *library, const OrrScenario *scenario, GError **error);
/* For OrrWorld.cost_of; @world is an OrrRunWorld, and @device outlives the asking of its costs.
 * NULL with @error. */
const OrrCostModel *orr_run_world_cost_of(void *world, const OrrDevice *device, GError **error);
void orr_run_world_free(OrrRunWorld *world);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(OrrRunWorld, orr_run_world_free)

G_END_DECLS

#endif

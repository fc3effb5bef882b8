/*
 * sweep_variant.h - turns combinations into scenarios, and reads as few documents as possible.
 */
#pragma once

#include "sim/run/world.h"
#include "sim/sweep/sweep_plan.h"

/* A cache of scenarios and their machines. A fork copies it; processes do not share it. */
typedef struct OrrSweepVariants OrrSweepVariants;

OrrSweepVariants *orr_sweep_variants_new(const OrrSweepPlan *plan);
void orr_sweep_variants_free(OrrSweepVariants *variants);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(OrrSweepVariants, orr_sweep_variants_free)

/* The scenario of @combination, unchecked; owned by @variants, valid until the next call. Writes
 * facts and axes into @ret_values (plan->names->len values). NULL: *@ret_reason (newly allocated)
 * is the reason. */
OrrScenario *orr_sweep_variants_scenario(OrrSweepVariants *variants, guint64 combination,
                                         OrrValue *ret_values, char **ret_reason);

/* Checks the scenario of the last call. NULL, or the first error, newly allocated. */
char *orr_sweep_variants_check(OrrSweepVariants *variants);

/* The machine of the scenario of the last call. NULL with @error. */
const OrrRunWorld *orr_sweep_variants_world(OrrSweepVariants *variants, GError **error);

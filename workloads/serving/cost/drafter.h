/*
 * drafter.h - the drafter of an engine: its cost, and how many of its tokens are accepted.
 *
 * After each step of the model, with T tokens (chunks of prompts, checked drafts) and S sequences,
 * a drafter with layers takes
 *
 *   t = t_draft(T tokens) + (d - 1) t_draft(S decodes, b tokens each)
 *       + projection of as many tokens each time
 *
 * for a tree of d levels and b branches (a chain of k tokens: d = k, b = 1). serving_cost.h
 * computes t_draft for its layers and head; the first pass also updates its cache. A drafter
 * without layers uses no GPU time.
 */
#pragma once

#include "workloads/serving/cost/serving_cost.h"
#include "workloads/serving/core/request.h"

typedef struct OrrDrafter OrrDrafter;

/* Makes the drafter of an engine whose steps cost as @target says. NULL with ORR_FAULT_DOCUMENT
 * for a bad trace, and NULL without @error if nothing is drafted. */
OrrDrafter *orr_drafter_new(const OrrChoice *choice, const OrrServingCostParams *target,
                            GError **error);
void orr_drafter_free(OrrDrafter *drafter);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(OrrDrafter, orr_drafter_free)

/* The tokens drafted for the step in which @request decodes next: 0 or all. */
gint64 orr_drafter_drafts(const OrrDrafter *drafter, const OrrRequest *request);
/* How many of the @drafted tokens of this step are accepted. */
gint64 orr_drafter_accepted(const OrrDrafter *drafter, const OrrRequest *request, gint64 drafted);

/* The cost of drafting after a step of that shape, on the GPUs and on the host. NULL: none. */
OrrStepTime orr_drafter_step(OrrDrafter *drafter, const OrrStepShape *shape);
double orr_drafter_host_s(const OrrDrafter *drafter, guint sequences);

/* as orr_serving_cost_trust; NULL: no cost was computed */
const double *orr_drafter_trust(const OrrDrafter *drafter);

/* Bytes per rank that the drafter adds: weights, and the cache of one token. */
void orr_drafter_memory(const OrrDraft *draft, const OrrInferenceShard *shard, double *ret_weights,
                        double *ret_kv);

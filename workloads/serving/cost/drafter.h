/*
 * drafter.h - the guesser of an engine at work: what it takes, and what becomes of its
 * guesses.
 *
 * After each step of the model, of T tokens (chunks of prompts, checked guesses) and S sequences, a
 * guesser with layers
 *
 *   t = t_draft(T tokens) + (k - 1) t_draft(S decodes, one token each)      + projection of as many tokens each time
 *
 * where t_draft is serving_cost.h's of its layers and head; the first pass also keeps its cache up
 * to date. Without layers it takes none of the GPUs' time.
 */
#ifndef ORR_DRAFTER_H
#define ORR_DRAFTER_H

#include "workloads/serving/cost/serving_cost.h"
#include "workloads/serving/core/request.h"

G_BEGIN_DECLS

typedef struct OrrDrafter OrrDrafter;

/* Beside an engine whose steps cost as @target says. NULL with ORR_FAULT_DOCUMENT (a trace that
 * is none), and NULL without @error set where nothing is guessed. */
OrrDrafter *orr_drafter_new(const OrrChoice *choice, const OrrServingCostParams *target,
                            GError **error);
void orr_drafter_free(OrrDrafter *drafter);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(OrrDrafter, orr_drafter_free)

/* Tokens that are guessed for the step in which @request decodes next: 0 or all. */
gint64 orr_drafter_drafts(const OrrDrafter *drafter, const OrrRequest *request);
/* How many of @drafted, its guesses in this step, are right. */
gint64 orr_drafter_accepted(const OrrDrafter *drafter, const OrrRequest *request, gint64 drafted);

/* Guessing after a step of that shape, on the GPUs; and on the host. NULL: none. */
OrrStepTime orr_drafter_step(OrrDrafter *drafter, const OrrStepShape *shape);
double orr_drafter_host_s(const OrrDrafter *drafter, guint sequences);

/* as orr_serving_cost_trust; NULL: nothing was computed */
const double *orr_drafter_trust(const OrrDrafter *drafter);

/* Bytes of one rank that the guesser adds: weights, and the cache of a token. */
void orr_drafter_memory(const OrrDraft *draft, const OrrInferenceShard *shard, double *ret_weights,
                        double *ret_kv);

G_END_DECLS

#endif

/*
 * rollout_speed.h - what a step of a rollout engine takes, fast enough to be asked for every sample
 * of hundreds of steps.
 *
 * The time of a step that decodes n sequences with K keys in their caches is serving_cost.h's plus
 * the host's, as a serving replica computes it (serving.h):
 *
 *   t(n, K) = gpu + host, or with asynchronous scheduling max(gpu + exposed * host, host)
 *
 * and at least what the front end takes to hand on n tokens (a chunk each, front-end.chunk): an
 * engine may run ahead of it, but a response ends when its last token is through.
 *
 * It is kept on a ladder of mean contexts (each power of two in 16 rungs) and interpolated
 * linearly.
 * A prompt of c tokens that is computed with them adds t(n + c) - t(n), kept on a ladder of c and
 * n. With attention data parallelism a replica is one batch that its ranks share evenly; with
 * pipelines of p stages, p batches of n/p sequences follow one another:
 *
 *   gpu = max(sum of the stages, p * slowest stage)  at n/p
 */
#ifndef ORR_ROLLOUT_SPEED_H
#define ORR_ROLLOUT_SPEED_H

#include "workloads/serving/serving.h"

G_BEGIN_DECLS

typedef struct OrrRolloutSpeed OrrRolloutSpeed;

/* @params, @world outlive it. NULL with ORR_FAULT_DOCUMENT: the engine cannot run there. */
OrrRolloutSpeed *orr_rollout_speed_new(const OrrServing *params, const OrrWorld *world,
                                       GError **error);
void orr_rollout_speed_free(OrrRolloutSpeed *speed); /* NULL is fine */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(OrrRolloutSpeed, orr_rollout_speed_free)

/* Seconds of a step that decodes @n > 0 sequences with @keys tokens in their caches in all. */
double orr_rollout_speed_decode(OrrRolloutSpeed *speed, guint n, double keys);
/* Seconds that @tokens of prompts, or of lost caches, add to a step with @n decodes. */
double orr_rollout_speed_prompt(OrrRolloutSpeed *speed, guint n, double tokens);
/* Tokens that a sequence gains in a step: 1, and the accepted drafts. */
double orr_rollout_speed_gain(const OrrRolloutSpeed *speed);
/* Of a replica: tokens that its cache holds, sequences at once, tokens of a step. */
double orr_rollout_speed_kv_tokens(const OrrRolloutSpeed *speed);
guint orr_rollout_speed_places(const OrrRolloutSpeed *speed);
double orr_rollout_speed_budget(const OrrRolloutSpeed *speed);
gint64 orr_rollout_speed_longest(const OrrRolloutSpeed *speed);   /* tokens of a sequence */
double orr_rollout_speed_gpu_bytes(const OrrRolloutSpeed *speed); /* weights and cache of a GPU */

/* Power of a replica's GPUs on top of static power while it decodes so: joules per second;
 * 0: not known. */
OrrJoules orr_rollout_speed_watts(OrrRolloutSpeed *speed, guint n, double keys);

char *orr_rollout_speed_missing(OrrRolloutSpeed *speed); /* as orr_serving_cost_missing */
const double *orr_rollout_speed_trust(const OrrRolloutSpeed *speed); /* of ORR_HOW_OUTSIDE + 1 */

G_END_DECLS

#endif

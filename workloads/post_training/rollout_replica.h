/*
 * rollout_replica.h - one engine in the middle of rollouts: a core of serving (core.h), with its
 * scheduler and its cache, that takes many steps at once.
 *
 *   segment: k steps of n sequences; K keys before it
 *   k        the fewest steps until a sequence ends or the cache is full, at most 256
 *   seconds  k t(n, K + n (k - 1) / 2)           (t is nearly linear in K)
 *
 * A step that computes prompts is a segment of its own. A turn of a response is a request: its
 * prompt begins with the group's prompt, and goes on with what the response has so far, so that the
 * prefix cache finds both while they are there.
 * With attention data parallelism a replica is one batch and one cache that its ranks share evenly.
 * Steps that compute prompts count no joules on top of static power.
 */
#pragma once

#include "sim/engine/engine.h"
#include "workloads/serving/core/core.h"
#include "workloads/serving/power_time.h"
#include "workloads/serving/serving.h"

/* rollout_speed.c: what a step of a rollout engine takes, fast enough to be asked for every sample
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
 * linearly. A prompt of c tokens that is computed with them adds t(n + c) - t(n), kept on a ladder
 * of c and n. With attention data parallelism a replica is one batch that its ranks share evenly;
 * with pipelines of p stages, p batches of n/p sequences follow one another:
 *
 *   gpu = max(sum of the stages, p * slowest stage)  at n/p
 */

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
/* The core of an engine, with an empty cache; seconds of moves before its planned batch begins. */
void orr_rollout_speed_open_core(const OrrRolloutSpeed *speed, OrrCore *core);
double orr_rollout_speed_move(const OrrRolloutSpeed *speed, const OrrCore *core);
gint64 orr_rollout_speed_longest(const OrrRolloutSpeed *speed);   /* tokens of a sequence */
double orr_rollout_speed_gpu_bytes(const OrrRolloutSpeed *speed); /* weights and cache of a GPU */

/* Power of a replica's GPUs on top of static power while it decodes so: joules per second;
 * 0: not known. */
OrrJoules orr_rollout_speed_watts(OrrRolloutSpeed *speed, guint n, double keys);

char *orr_rollout_speed_missing(OrrRolloutSpeed *speed); /* as orr_serving_cost_missing */
const double *orr_rollout_speed_trust(const OrrRolloutSpeed *speed); /* of ORR_HOW_OUTSIDE + 1 */

/* One response. Its turn ends after `left` more tokens. Tokens are counted when a turn ends, or the
 * response leaves its engine. */
typedef struct {
  OrrRequest request; /* first: of the turn that is written, or that was written last */
  guint32 group, id;
  gint32 prompt, context; /* tokens of the prompt; all that it has so far */
  gint32 left, turns;     /* of this turn; further turns */
  gint32 response;        /* tokens written so far */
  gint32 version;         /* of the weights that began it */
  guint replica;
  gboolean is_dropped;
} OrrRolloutSample;

void orr_rollout_sample_free(gpointer sample); /* NULL is fine */

typedef struct OrrRolloutReplica OrrRolloutReplica;

typedef struct {
  OrrEngine *engine;
  OrrRolloutSpeed *speed;
  GPtrArray *samples;  /* of OrrRolloutSample *, by id */
  OrrPowerTime *power; /* what all draw on top of static power; NULL: nobody asks */
  /* a turn of @sample has ended */
  void (*ended)(void *user, OrrRolloutSample *sample);
  /* the engine with this number begins to run, or has nothing to run; NULL: nobody asks */
  void (*busy)(void *user, guint number, gboolean is_busy);
  void *user;
} OrrRolloutContext;

typedef struct {
  double busy_s;            /* time with any sequence */
  OrrJoules joules;         /* on top of static power */
  double decoded, prompted; /* tokens written; tokens computed of prompts and of lost caches */
  double sequence_s;        /* sequences times seconds */
  gint64 preemptions;
} OrrRolloutTotals;

OrrRolloutReplica *orr_rollout_replica_new(const OrrRolloutContext *context, guint number);
void orr_rollout_replica_free(gpointer replica);

void orr_rollout_replica_add(OrrRolloutReplica *replica, OrrRolloutSample *sample);
/* Drops the sequences for which is_dropped is set; they do not end. */
void orr_rollout_replica_sweep(OrrRolloutReplica *replica);
/* Takes all sequences from a paused replica, without their caches, into @ret_samples. What it runs
 * now is lost, but for whole steps. */
void orr_rollout_replica_empty(OrrRolloutReplica *replica, GPtrArray *ret_samples);
/* The replica stops after the step that runs. */
void orr_rollout_replica_pause(OrrRolloutReplica *replica);
/* It goes on; with @is_lost its caches are computed again: they are of old weights. */
void orr_rollout_replica_resume(OrrRolloutReplica *replica, gboolean is_lost);
/* Sequences, waiting or running; those that run. */
guint orr_rollout_replica_load(const OrrRolloutReplica *replica);
guint orr_rollout_replica_running(const OrrRolloutReplica *replica);
const OrrRolloutTotals *orr_rollout_replica_totals(const OrrRolloutReplica *replica);

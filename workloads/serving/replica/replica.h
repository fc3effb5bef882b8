/*
 * replica.h - one engine on the clock: it takes requests, steps, and reports to its fleet.
 *
 *   take        the request is the replica's; it does not wait yet
 *   queue       it waits at an engine core, and joins a later step
 *   expect      its prompt is computed elsewhere; `room` is reported once blocks are reserved
 *   join        its cache is here: it decodes from the next step on
 *   release     what another replica computed the prompt of is there; blocks kept here go
 *
 * A replica does not know its fleet: it reports through the functions that the fleet passes in.
 */
#pragma once

#include "workloads/serving/replica/serving_run.h"

typedef struct OrrReplica OrrReplica;

/* What a replica reports. `ended`, `delivered`, `first_token` and `opened` are mandatory; a NULL
 * one of the others is not reported. */
typedef struct {
  void *user;
  void (*opened)(void *user, OrrReplica *replica, guint core); /* with an empty cache: hook it */
  void (*first_token)(void *user, OrrReplica *replica, OrrRequest *request);
  void (*ended)(void *user, OrrReplica *replica, OrrRequest *request); /* its engine is done */
  void (*delivered)(void *user, OrrRequest *request); /* its client has its last token */
  void (*room)(void *user, OrrRequest *request);      /* of an expected one */
  /* @request has waited since before this step, and can be read for. */
  void (*waits)(void *user, OrrReplica *replica, OrrRequest *request);
  /* A step is planned: reads what it must wait for (orr_replica_wait). */
  void (*planned)(void *user, OrrReplica *replica);
  /* A step of @step_s begins with @tokens of @request. */
  void (*chunk)(void *user, OrrRequest *request, gint64 tokens, double step_s);
  /* Blocks of its prefix cache got these names, or lost them. */
  void (*blocks)(void *user, guint replica, const OrrTextBlocks *blocks, gboolean is_there);
} OrrReplicaReports;

/* @remote: the store on the network that replicas share; NULL: none. @reports outlives it. */
OrrReplica *orr_replica_new(OrrServingRun *run, gint index, OrrTierStore *remote,
                            const OrrReplicaReports *reports);
void orr_replica_free(OrrReplica *replica);
/* Adds its figures to its row; ORR_FAULT_STUCK when requests are left that no step could serve. */
gboolean orr_replica_close(OrrReplica *replica, GError **error);

/* --- requests --- */

void orr_replica_take(OrrReplica *replica, OrrRequest *request);
void orr_replica_queue(OrrReplica *replica, OrrRequest *request); /* one that it has taken */
/* Chooses the core of @request, which it has taken and which has come later. */
void orr_replica_seat(OrrReplica *replica, OrrRequest *request);
/* A further output of a request that it has: takes and queues it. */
void orr_replica_add_output(OrrReplica *replica, OrrRequest *output);
/* Counts @change requests that it has, but that are in no core. */
void orr_replica_count(OrrReplica *replica, int change);
void orr_replica_expect(OrrReplica *replica, OrrRequest *request);
void orr_replica_join(OrrReplica *replica, OrrRequest *request);
void orr_replica_release(OrrReplica *replica, OrrRequest *request);
void orr_replica_unexpect(OrrReplica *replica, OrrRequest *request); /* it will not come */
/* Its requests and its cache are as the last step that has ended left them. */
void orr_replica_catch_up(OrrReplica *replica);
/* Something has changed: its effect is seen between two steps. */
void orr_replica_notice(OrrReplica *replica);
/* The planned step waits for @n reads more; launch: one of them has ended. */
void orr_replica_wait(OrrReplica *replica, guint n);
void orr_replica_read_ends(OrrReplica *replica);

/* --- its frontend: frontend.c --- */

/* When the client sees what @request wrote up to its token number @written, in a step that ends at
 * @end_s. */
double orr_replica_stream(OrrReplica *replica, OrrRequest *request, gint32 written, double end_s);
/* Reports `delivered` once the client has seen its last token, at last_token_s. */
void orr_replica_deliver(OrrReplica *replica, OrrRequest *request);

/* --- what it has --- */

guint orr_replica_index(const OrrReplica *replica);
/* Changes when the replica is lost: what was under way for it before is void. */
guint orr_replica_generation(const OrrReplica *replica);
guint orr_replica_n_cores(const OrrReplica *replica);
OrrCore *orr_replica_core(OrrReplica *replica, guint i);
const OrrTiers *orr_replica_tiers(const OrrReplica *replica);
gint64 orr_replica_n_requests(const OrrReplica *replica); /* waiting and running */
gint64 orr_replica_n_waiting(const OrrReplica *replica);
/* Tokens of the prompt of @request that are cached in the core to which it would go. */
gint64 orr_replica_cached(OrrReplica *replica, const OrrRequest *request);
gint64 orr_replica_held_blocks(const OrrReplica *replica);
/* Held blocks, and those that waiting requests will hold. */
gint64 orr_replica_claimed_blocks(const OrrReplica *replica);
/* Tokens that the prompts of its requests without a first token lacked in its cache when they came;
 * counted where a router sees blocks. */
gint64 orr_replica_prompt_tokens(const OrrReplica *replica);
gboolean orr_replica_is_stepping(const OrrReplica *replica);
/* No request, and no cache that is needed elsewhere. */
gboolean orr_replica_is_empty(const OrrReplica *replica);

/* --- comes and goes: replica_loss.c --- */

void orr_replica_slow(OrrReplica *replica, double factor); /* its kernels, from the next step on */
/* From the next step on, what its steps take; NULL: as built. @is_cut: it waits. Takes @price. */
void orr_replica_reprice(OrrReplica *replica, OrrServingCost *price, gboolean is_cut);
void orr_replica_forget(OrrReplica *replica); /* its caches; it is empty */
/* All that it had is gone. Appends its requests to @requests and sorts them by number; those on
 * their way between two replicas are their station's to append before. */
void orr_replica_lose(OrrReplica *replica, GPtrArray *requests);

/*
 * replica_outputs.c - what becomes of the tokens that an engine writes: a request's other outputs,
 * and its end.
 */
#include <math.h>

#include "workloads/serving/fleet/life.h"
#include "workloads/serving/replica/replica_private.h"

/* The prompt is computed: its other outputs begin, as requests of their own whose prefix may be
 * found again. */
static void branch(OrrReplica *replica, OrrRequest *first) {
  for (gint32 sample = 1; sample < first->samples_left; sample++)
    orr_replica_add_output(replica,
                           replica->fleet->another(replica->fleet, first, (guint32)sample));
}

static void tell_first_token(OrrReplica *replica, const OrrRequest *request, double at_s) {
  if (replica->fleet->life) orr_life_first_token(replica->fleet->life, at_s - request->arrival_s);
}

/* Whose tokens leave together, at its end: those of a search (vLLM does not stream it). */
static gboolean is_searched(const OrrRequest *request) { return request->lists_candidates; }

void orr_replica_on_token(OrrRequest *request, void *user) {
  OrrReplica *replica = user;
  const double now_s = orr_engine_now(replica->fleet->engine);
  if (is_searched(request)) return;
  const gboolean is_first = request->first_token_s == now_s;
  request->seen_s = orr_replica_stream(replica, now_s);
  if (is_first) request->first_token_s = request->seen_s;
  if (request->generated == 1) tell_first_token(replica, request, request->seen_s);
  if (request->generated > 1)
    orr_fleet_note_gaps(replica->fleet, now_s - request->last_token_s,
                        orr_fleet_counts(replica->fleet, request));
  else if (!request->parent && !request->is_twin && request->samples_left > 1)
    branch(replica, request);
}

/* An output has ended: the request has when all have, with the last one's end. */
static void end_output(OrrReplica *replica, OrrRequest *request) {
  OrrRequest *first = request->parent ? request->parent : request;
  if (request != first && is_searched(request)) {
    if (!orr_beam_search_token(replica, request)) return;
    first->samples_left = 1;
    request = first;
  }
  first->last_token_s =
      fmax(first->last_token_s, is_searched(first) ? request->last_token_s : request->seen_s);
  if (request != first) {
    first->preemptions += request->preemptions;
    replica->fleet->drop(replica->fleet, request);
  }
  if (--first->samples_left > 0) return;
  if (is_searched(first)) {
    first->first_token_s = first->last_token_s = orr_replica_stream(replica, first->last_token_s);
    tell_first_token(replica, first, first->first_token_s);
  }
  replica->books->requests++;
  orr_replica_deliver(replica, first);
}

void orr_replica_on_finish(OrrRequest *request, void *user) {
  OrrReplica *replica = user;
  OrrFleet *fleet = replica->fleet;
  replica->n_requests--;
  if (!request->is_twin) {
    end_output(replica, request);
    orr_life_idle(fleet->life, (guint)replica->index);
    return;
  }
  replica->books->requests++;
  orr_handover_prefilled(request);
  orr_life_idle(fleet->life, (guint)replica->index);
}

/*
 * replica_outputs.c - what happens when an engine has written a token: the client sees it, gaps
 * between tokens are counted, and the fleet hears of the first and the last one.
 */
#include "workloads/serving/replica/replica_private.h"

void orr_replica_on_token(OrrRequest *request, void *user) {
  OrrReplica *replica = user;
  OrrServingRun *run = replica->run;
  const double now_s = orr_serving_run_now(run);
  replica->prompt_tokens -= request->lacking;
  request->lacking = 0;
  if (!run->streams) return;
  const gboolean is_first = request->first_token_s == now_s;
  request->seen_s = orr_replica_stream(replica, request, request->generated, now_s);
  if (is_first) request->first_token_s = request->seen_s;
  if (request->generated > 1)
    orr_serving_run_note_gaps(run, now_s - request->last_token_s,
                              orr_serving_run_counts(run, request));
  else {
    orr_serving_run_note_first(run);
    replica->reports->first_token(replica->reports->user, replica, request);
  }
}

void orr_replica_on_finish(OrrRequest *request, void *user) {
  OrrReplica *replica = user;
  replica->n_requests--;
  replica->reports->ended(replica->reports->user, replica, request);
}

/*
 * frontend.c - the process between an engine and its clients: it detokenises and streams.
 *
 * SGLang's TokenizerManager and vLLM's API server are one Python process with one event loop for
 * all streams of an engine (docs: SGLang, "Multi-process tokenizer"; vLLM, V1 architecture). Each
 * piece of an output, what one step gave one request, takes `host.front-end` there; pieces wait for
 * each other in the order in which steps end:
 *
 *   seen(piece) = max(seen(piece before), end of its step) + front-end
 *
 * so that an engine hands out at most 1 / front-end pieces a second. The engine does not wait for
 * it. A client does: its first token is its first piece, and its next request comes when its last
 * one is seen. Measured in SGLang: 30 us a token for the conversion to OpenAI's format alone
 * (sgl-project/sglang issue 10186, September 2025), 26 us in a detokeniser of its own (pull request
 * 9970: 5,122,821 tokens in 133.0 s). Not modelled: prompts, which the same process parses.
 */
#include <math.h>

#include "workloads/serving/replica/replica_private.h"

typedef struct {
  OrrFleet *fleet;
  OrrRequest *request;
} Delivery;

double orr_replica_stream(OrrReplica *replica, double end_s) {
  const double piece_s = replica->fleet->work->params.engine.host.piece_s;
  if (piece_s <= 0) return end_s;
  replica->front_free_s = fmax(replica->front_free_s, end_s) + piece_s;
  return replica->front_free_s;
}

static void deliver(void *user) {
  Delivery delivery = *(Delivery *)user;
  orr_pool_give(delivery.fleet->deliveries, user);
  if (!delivery.fleet->error) delivery.fleet->ended(delivery.fleet, delivery.request);
}

void orr_replica_deliver(OrrReplica *replica, OrrRequest *request) {
  OrrFleet *fleet = replica->fleet;
  if (request->last_token_s <= orr_engine_now(fleet->engine)) {
    fleet->ended(fleet, request);
    return;
  }
  if (!fleet->deliveries) fleet->deliveries = orr_pool_new(sizeof(Delivery), NULL);
  Delivery *delivery = orr_pool_take(fleet->deliveries);
  *delivery = (Delivery){fleet, request};
  orr_engine_at(fleet->engine, request->last_token_s, deliver, delivery);
}

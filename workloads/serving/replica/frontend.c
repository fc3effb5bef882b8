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
 * one is seen. Measured in SGLang: 30 us per token for the conversion to OpenAI's format alone
 * (sgl-project/sglang issue 10186, September 2025), 26 us in a detokeniser of its own (pull request
 * 9970: 5,122,821 tokens in 133.0 s). Not modelled: prompts, which the same process parses.
 */
#include <math.h>

#include "workloads/serving/replica/replica_private.h"

typedef struct {
  OrrReplica *replica;
  OrrRequest *request;
} Delivery;

double orr_replica_stream(OrrReplica *replica, double end_s) {
  const double chunk_s = replica->run->work->params.engine.host.front_end_s;
  if (chunk_s <= 0) return end_s;
  replica->front_free_s = fmax(replica->front_free_s, end_s) + chunk_s;
  return replica->front_free_s;
}

static void deliver(void *user) {
  const Delivery delivery = *(const Delivery *)user;
  const OrrReplica *replica = delivery.replica;
  orr_pool_give(replica->deliveries, user);
  if (!replica->run->error) replica->reports->delivered(replica->reports->user, delivery.request);
}

void orr_replica_deliver(OrrReplica *replica, OrrRequest *request) {
  if (request->last_token_s <= orr_serving_run_now(replica->run)) {
    replica->reports->delivered(replica->reports->user, request);
    return;
  }
  if (!replica->deliveries) replica->deliveries = orr_pool_new(sizeof(Delivery), NULL);
  Delivery *delivery = orr_pool_take(replica->deliveries);
  *delivery = (Delivery){replica, request};
  orr_engine_at(replica->run->engine, request->last_token_s, deliver, delivery);
}

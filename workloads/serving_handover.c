/*
 * serving_handover.c - prefill and decode on different replicas, the cache handed over on the fabric between them.
 *
 *   whole (pull)       prefill | room at the decoder | bytes of the prompt | decode        vLLM's NixlConnector
 *   per-layer (push)   room at the decoder | prefill, bytes of each layer beside it | decode      Dynamo, Mooncake
 *
 * Of `replicas` the first `prefill` prefill, the others decode; all have the same tp and pp, so that rank k sends to
 * rank k what it holds of the prompt: kv bytes of a token * tokens that the decoder's prefix cache lacks, as one
 * transfer over the links of all ranks (serving_wires.c), after the longest route's latency and `overhead`. Transfers
 * share links with each other and whatever else is on the fabric.
 *
 * With per-layer transfers, a chunk's bytes but its last layer's, (L - 1) / L of them, flow from 1 / L of its step on;
 * the last layer's after the step. Blocks of the prefill replica are held until the transfer's end, those of the
 * decoder from its begin. The first token is the prefill's and leaves at its end; the gap to the second has the
 * hand-over in it.
 *
 * A request has a twin of one output token at the prefill replica.
 */
#include "workloads/serving_private.h"

struct OrrHandover {
  OrrFleet *fleet;
  OrrPool *handeds; /* of OrrHanded */
  OrrDoor *prefill, *decode;
  gboolean per_layer;
  double layers, bytes_per_token;
};

/* A request on its way. */
struct OrrHanded {
  OrrHandover *handover;
  OrrRequest *request, twin;
  guint from, to; /* replicas */
  gint64 tokens;  /* to be sent of the prompt */
  guint pending;  /* transfers that have not ended */
  gboolean is_prefilled;
  double prefilled_s, last_bytes;
};

/* --- life --- */

static void clear_handed(gpointer handed) { g_free(((OrrHanded *)handed)->twin.block_ids); }

OrrHandover *orr_handover_new(OrrFleet *fleet, OrrDoor *prefill, OrrDoor *decode) {
  const OrrServing *params = &fleet->work->params;
  OrrHandover *handover = g_new(OrrHandover, 1);
  *handover = (OrrHandover){.fleet = fleet,
                            .handeds = orr_pool_new(sizeof(OrrHanded), clear_handed),
                            .prefill = prefill,
                            .decode = decode,
                            .per_layer = params->disaggregation.transfer == ORR_TRANSFER_PER_LAYER,
                            .layers = (double)fleet->work->world->model->layers / (double)params->parallel.pp,
                            .bytes_per_token = fleet->work->kv_bytes_per_token};
  return handover;
}

void orr_handover_free(OrrHandover *handover) {
  if (!handover) return;
  orr_pool_free(handover->handeds);
  g_free(handover);
}

/* --- a request's way --- */

static OrrReplica *replica_at(const OrrHandover *handover, guint i) { return handover->fleet->replicas[i]; }

static void expect_at_decoder(OrrHanded *handed) {
  handed->to = orr_door_pick(handed->handover->decode, handed->request);
  handed->request->handed = handed;
  orr_replica_expect(replica_at(handed->handover, handed->to), handed->request);
}

static void finish(OrrHanded *handed) {
  OrrHandover *handover = handed->handover;
  OrrServingWork *work = handover->fleet->work;
  work->handovers++;
  handed->request->handover_s = orr_engine_now(handover->fleet->engine) - handed->prefilled_s;
  work->handover_s += handed->request->handover_s;
  work->handover_bytes += (double)handed->tokens * handover->bytes_per_token * (double)work->gpus_a_replica;
  handed->request->handed = NULL;
  orr_replica_release(replica_at(handover, handed->from), &handed->twin);
  orr_replica_join(replica_at(handover, handed->to), handed->request);
  orr_pool_give(handover->handeds, handed);
}

static void flow_ends(void *user) {
  OrrHanded *handed = user;
  handed->pending--;
  if (handed->is_prefilled && handed->pending == 0) finish(handed);
}

static void send(OrrHanded *handed, double bytes, double delay_s) {
  OrrFleet *fleet = handed->handover->fleet;
  handed->pending++;
  orr_fleet_transfer(fleet, orr_serving_handover_way(fleet->work, handed->from, handed->to), bytes,
                     delay_s + fleet->work->params.disaggregation.overhead_s, flow_ends, handed);
}

gboolean orr_handover_begin(OrrHandover *handover, OrrRequest *request) {
  if (request->output == 1) return orr_door_send(handover->prefill, request); /* nothing is left to decode */
  OrrHanded *handed = orr_pool_take(handover->handeds);
  *handed = (OrrHanded){.handover = handover, .request = request, .twin = *request, .tokens = request->prompt};
  handed->twin.output = 1;
  handed->twin.handed = handed;
  handed->twin.is_twin = TRUE;
  if (handover->per_layer) {
    expect_at_decoder(handed);
    return TRUE;
  }
  if (orr_door_send(handover->prefill, &handed->twin)) return TRUE;
  orr_pool_give(handover->handeds, handed);
  return FALSE;
}

/* What the decoder's prefix cache has of the prompt need not be sent. */
void orr_handover_room(OrrHanded *handed) {
  OrrHandover *handover = handed->handover;
  handed->tokens = handed->request->prompt - handed->request->computed;
  if (handover->per_layer)
    orr_door_send(handover->prefill, &handed->twin);
  else
    send(handed, (double)handed->tokens * handover->bytes_per_token, 0);
}

void orr_handover_chunk(OrrRequest *twin, gint64 tokens, double step_s) {
  OrrHanded *handed = twin->handed;
  const OrrHandover *handover = handed->handover;
  if (!handover->per_layer) return;
  handed->from = (guint)twin->replica;
  const gint64 before = handed->request->prompt - handed->tokens; /* the decoder has them */
  const double sent = (double)CLAMP(twin->computed + tokens - before, 0, tokens) * handover->bytes_per_token;
  const gboolean is_last = orr_request_left(twin) <= tokens;
  handed->last_bytes = is_last ? sent / handover->layers : 0;
  send(handed, sent - handed->last_bytes, step_s / handover->layers);
}

void orr_handover_prefilled(OrrRequest *twin) {
  OrrHanded *handed = twin->handed;
  OrrHandover *handover = handed->handover;
  OrrRequest *request = handed->request;
  handed->from = (guint)twin->replica;
  handed->is_prefilled = TRUE;
  handed->prefilled_s = orr_engine_now(handover->fleet->engine);
  request->scheduled_s = twin->scheduled_s;
  request->first_token_s = twin->first_token_s;
  request->last_token_s = twin->last_token_s;
  request->hit = twin->hit;
  request->preemptions += twin->preemptions;
  request->generated = 1;
  orr_door_left(handover->prefill);
  if (handover->per_layer)
    send(handed, handed->last_bytes, 0);
  else
    expect_at_decoder(handed);
}

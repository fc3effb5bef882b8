/*
 * handover.c - prefill and decode on different replicas, the cache handed over on the
 * fabric between them.
 *
 *   whole (pull)       prefill | room at the decoder | bytes of the prompt | decode        vLLM's NixlConnector
 *   per-layer (push)   room at the decoder | prefill, bytes of each layer beside it | decode      Dynamo, Mooncake
 *
 * Of the replicas the first `prefill` prefill, the others decode. Ranks send to ranks what both
 * hold (serving_paths.c): kv bytes of a token * tokens that the decoder's prefix cache lacks, and a
 * state's bytes, as one transfer over the links of all ranks, after the longest route's latency and
 * `overhead`. Transfers share links with each other and whatever else is on the fabric.
 *
 * With per-layer transfers, a chunk's bytes but its last layer's, (L - 1) / L of them, flow from 1
 * / L of its step on; the last layer's after the step. Blocks of the prefill replica are held until
 * the transfer's end, those of the decoder from its begin. The first token is the prefill's and
 * leaves at its end; the gap to the second has the hand-over in it.
 *
 * A request has a twin of one output token at the prefill replica.
 *
 * Not all prompts cross (NVIDIA Dynamo's conditional disaggregation,
 * docs/architecture/disagg_serving.md of 0.2): one does where
 *
 *   prompt - tokens of it that its decoder has cached >= least-prompt   and   prompts that wait for prefill < most-waiting
 *
 * Others are computed where they decode. As in Dynamo the router's choice of a decoder comes first
 * where its cache decides, and holds; without a prefix cache it is made when the prompt is there.
 * Where a prompt has several outputs its length alone decides: they part when it comes, and must
 * part again alike when a replica is lost.
 *
 *   workload: {disaggregation: {prefill: 1, least-prompt: 512, most-waiting: 2}, engine: {prefix-caching: block-hash}}
 */
#include "workloads/serving/fleet/life.h"

struct OrrHandover {
  OrrFleet *fleet;
  OrrPool *handeds;  /* of OrrHanded */
  GPtrArray *active; /* of those: on their way */
  GQueue homeless;   /* of those: no decoder is up */
  OrrDoor *prefill, *decode;
  gboolean per_layer;
};

/* A request on its way. */
struct OrrHanded {
  OrrHandover *handover;
  OrrRequest *request, twin;
  guint from, to; /* replicas */
  gint64 tokens;  /* to be sent of the prompt */
  gint decoder;   /* chosen when it came; -1: none was */
  guint pending;  /* transfers that have not ended */
  gboolean is_prefilled;
  gboolean is_sent;     /* the twin, to the prefill pool */
  gboolean is_expected; /* at `to` */
  gboolean is_void;    /* the request goes another way; what is left is the twin's, and transfers */
  gboolean is_gone;    /* the twin's replica is lost */
  gboolean is_leaving; /* a void one's release is on the calendar */
  guint place;         /* in active */
  double prefilled_s, last_bytes;
};

/* --- life --- */

static void clear_handed(gpointer data) { orr_request_clear(&((OrrHanded *)data)->twin); }

OrrHandover *orr_handover_new(OrrFleet *fleet, OrrDoor *prefill, OrrDoor *decode) {
  const OrrServing *params = &fleet->work->params;
  OrrHandover *handover = g_new(OrrHandover, 1);
  *handover = (OrrHandover){.fleet = fleet,
                            .handeds = orr_pool_new(sizeof(OrrHanded), clear_handed),
                            .active = g_ptr_array_new(),
                            .prefill = prefill,
                            .decode = decode,
                            .per_layer = params->disaggregation.transfer == ORR_TRANSFER_PER_LAYER};
  return handover;
}

void orr_handover_free(OrrHandover *handover) {
  if (!handover) return;
  orr_pool_free(handover->handeds);
  g_ptr_array_unref(handover->active);
  g_queue_clear(&handover->homeless);
  g_free(handover);
}

/* --- a request's way --- */

static OrrReplica *replica_at(const OrrHandover *handover, guint i) {
  return handover->fleet->replicas[i];
}

static OrrHanded *take(OrrHandover *handover, OrrRequest *request, gint decoder) {
  OrrHanded *handed = orr_pool_take(handover->handeds);
  *handed = (OrrHanded){.handover = handover,
                        .request = request,
                        .twin = *request,
                        .tokens = request->prompt,
                        .decoder = decoder,
                        .place = handover->active->len};
  request->encoding = NULL; /* prompts are computed there */
  handed->twin.output = 1;
  handed->twin.handed = handed;
  handed->twin.is_twin = TRUE;
  handed->twin.replica = -1;
  g_ptr_array_add(handover->active, handed);
  return handed;
}

static void give(OrrHanded *handed) {
  GPtrArray *active = handed->handover->active;
  OrrHanded *last = active->pdata[active->len - 1];
  active->pdata[last->place = handed->place] = last;
  g_ptr_array_set_size(active, (gint)active->len - 1);
  orr_pool_give(handed->handover->handeds, handed);
}

static void expect_at_decoder(OrrHanded *handed) {
  if (!orr_door_any_open(handed->handover->decode)) {
    g_queue_push_tail(&handed->handover->homeless, handed);
    return;
  }
  handed->is_expected = TRUE;
  handed->to =
      handed->decoder >= 0 && orr_life_is_up(handed->handover->fleet->life, (guint)handed->decoder)
          ? (guint)handed->decoder
          : orr_door_pick(handed->handover->decode, handed->request);
  handed->request->handed = handed;
  orr_replica_expect(replica_at(handed->handover, handed->to), handed->request);
}

static const OrrServingWay *way_of(const OrrHanded *handed) {
  return orr_serving_handover_way(handed->handover->fleet->work, handed->from, handed->twin.core,
                                  handed->to, handed->request->core);
}

/* Of a unit of weight: the cache of @tokens, and with the last of them what layers with a state
 * have come to. */
static double bytes_of(const OrrHanded *handed, double tokens, gboolean is_last) {
  const OrrServingWay *way = way_of(handed);
  return tokens * way->bytes_per_token + (is_last ? way->state_bytes : 0);
}

/* Of the stages that the cache comes from. */
static double layers_of(const OrrHanded *handed) {
  const OrrServingWork *work = handed->handover->fleet->work;
  return (double)work->world->model->layers /
         (double)orr_serving_group(work, handed->from)->params.parallel.pp;
}

static void finish(OrrHanded *handed) {
  OrrHandover *handover = handed->handover;
  OrrServingWork *work = handover->fleet->work;
  work->handovers++;
  handed->request->handover_s = orr_engine_now(handover->fleet->engine) - handed->prefilled_s;
  work->handover_s += handed->request->handover_s;
  work->handover_bytes += bytes_of(handed, (double)handed->tokens, TRUE) * way_of(handed)->n_units;
  handed->request->handed = NULL;
  orr_replica_release(replica_at(handover, handed->from), &handed->twin);
  orr_life_idle(handover->fleet->life, handed->from);
  orr_replica_join(replica_at(handover, handed->to), handed->request);
  give(handed);
}

/* Of a void one: nothing of it is under way any more. */
static void leave(void *user) {
  OrrHanded *handed = user;
  OrrHandover *handover = handed->handover;
  if (!handed->is_gone) orr_replica_release(replica_at(handover, handed->from), &handed->twin);
  if (!handed->is_gone) orr_life_idle(handover->fleet->life, handed->from);
  orr_request_clear(&handed->twin);
  give(handed);
}

/* Not at once: a replica may be in the middle of its step's end. */
static void leave_soon(OrrHanded *handed) {
  if (handed->is_leaving || handed->pending > 0) return;
  handed->is_leaving = TRUE;
  orr_engine_after(handed->handover->fleet->engine, 0, leave, handed);
}

static void flow_ends(void *user) {
  OrrHanded *handed = user;
  handed->pending--;
  if (handed->is_void && (handed->is_gone || handed->is_prefilled))
    leave_soon(handed);
  else if (!handed->is_void && handed->is_prefilled && handed->pending == 0)
    finish(handed);
}

static void send(OrrHanded *handed, double bytes, double delay_s) {
  OrrFleet *fleet = handed->handover->fleet;
  handed->pending++;
  orr_fleet_transfer(fleet, way_of(handed), bytes,
                     delay_s + fleet->work->params.disaggregation.overhead_s, flow_ends, handed);
}

/* --- which prompts cross --- */

static gint64 waiting_for_prefill(const OrrHandover *handover) {
  gint64 n = orr_door_n_waiting(handover->prefill);
  for (guint i = 0; i < handover->fleet->work->params.disaggregation.prefill; i++)
    n += orr_replica_n_waiting(replica_at(handover, i));
  return n;
}

/* What came from a lost replica and had its first token goes on where it decodes. */
OrrHandoverChoice orr_handover_choose(OrrHandover *handover, const OrrRequest *request) {
  const OrrServing *params = &handover->fleet->work->params;
  const OrrDisaggregation *apart = &params->disaggregation;
  OrrHandoverChoice choice = {.decoder = -1};
  if (request->generated > 0 || request->prompt < apart->least_prompt) return choice;
  choice.is_apart = TRUE;
  if (params->samples > 1) return choice;
  if (apart->most_waiting >= 0 && waiting_for_prefill(handover) >= apart->most_waiting)
    return (OrrHandoverChoice){.decoder = -1};
  if (apart->least_prompt == 0 || params->engine.prefix_caching == ORR_PREFIX_NONE) return choice;
  if (!orr_door_any_open(handover->decode)) return choice;
  choice.decoder = (gint)orr_door_pick(handover->decode, request);
  choice.is_apart =
      request->prompt - orr_replica_cached(replica_at(handover, (guint)choice.decoder), request) >=
      apart->least_prompt;
  return choice;
}

gboolean orr_handover_begin(OrrHandover *handover, OrrRequest *request, gint decoder) {
  if (request->output == 1)
    return orr_door_send(handover->prefill, request); /* nothing is left to decode */
  OrrHanded *handed = take(handover, request, decoder);
  if (handover->per_layer) {
    expect_at_decoder(handed);
    return TRUE;
  }
  handed->is_sent = TRUE;
  if (orr_door_send(handover->prefill, &handed->twin)) return TRUE;
  request->encoding = handed->twin.encoding;
  give(handed);
  return FALSE;
}

/* What the decoder's prefix cache has of the prompt need not be sent. */
void orr_handover_room(OrrHanded *handed) {
  OrrHandover *handover = handed->handover;
  handed->tokens = handed->request->prompt - handed->request->computed;
  handed->is_sent = TRUE;
  if (handover->per_layer)
    orr_door_send(handover->prefill, &handed->twin);
  else
    send(handed, bytes_of(handed, (double)handed->tokens, TRUE), 0);
}

void orr_handover_chunk(OrrRequest *twin, gint64 tokens, double step_s) {
  OrrHanded *handed = twin->handed;
  const OrrHandover *handover = handed->handover;
  if (!handover->per_layer || handed->is_void) return;
  handed->from = (guint)twin->replica;
  const gint64 before = handed->request->prompt - handed->tokens; /* the decoder has them */
  const gboolean is_last = orr_request_left(twin) <= tokens;
  const double sent =
      bytes_of(handed, (double)CLAMP(twin->computed + tokens - before, 0, tokens), is_last);
  handed->last_bytes = is_last ? sent / layers_of(handed) : 0;
  send(handed, sent - handed->last_bytes, step_s / layers_of(handed));
}

void orr_handover_prefilled(OrrRequest *twin) {
  OrrHanded *handed = twin->handed;
  OrrHandover *handover = handed->handover;
  OrrRequest *request = handed->request;
  handed->from = (guint)twin->replica;
  handed->is_prefilled = TRUE;
  orr_door_left(handover->prefill);
  if (handed->is_void) {
    leave_soon(handed);
    return;
  }
  handed->prefilled_s = orr_engine_now(handover->fleet->engine);
  request->scheduled_s = twin->scheduled_s;
  request->first_token_s = twin->first_token_s;
  request->last_token_s = twin->last_token_s;
  request->hit = twin->hit;
  request->preemptions += twin->preemptions;
  request->generated = 1;
  if (handover->per_layer)
    send(handed, handed->last_bytes, 0);
  else
    expect_at_decoder(handed);
}

/* --- replicas that come and go --- */

void orr_handover_look(OrrHandover *handover) {
  while (handover->homeless.length > 0 && orr_door_any_open(handover->decode))
    expect_at_decoder(g_queue_pop_head(&handover->homeless));
}

/* Whether @handed is no more, or left to what is under way of it, since @replica is lost; its
 * request is looked after.
 */
static void part(OrrHanded *handed, guint replica, GPtrArray *requests) {
  OrrHandover *handover = handed->handover;
  const gboolean from_here = handed->twin.replica == (gint32)replica && !handed->is_gone;
  const gboolean to_here = !handed->is_void && handed->is_expected && handed->to == replica;
  if (!from_here && !to_here) return;
  handed->is_gone = handed->is_gone || from_here;
  if (!handed->is_void) {
    g_ptr_array_add(requests, handed->request);
    g_queue_remove(&handover->homeless, handed);
    if (handed->is_expected)
      orr_replica_unexpect(replica_at(handover, handed->to), handed->request);
    handed->request->handed = NULL;
    handed->request = NULL;
    handed->is_void = TRUE;
  }
  if (handed->is_gone || handed->is_prefilled || !handed->is_sent) leave_soon(handed);
  if (!handed->is_sent) handed->is_gone = TRUE; /* it never was anywhere */
}

void orr_handover_lose(OrrHandover *handover, guint replica, GPtrArray *requests) {
  for (guint i = 0; i < handover->active->len; i++)
    part(handover->active->pdata[i], replica, requests);
}

/*
 * serving_handover.c - prefill and decode on different replicas, the cache handed over on the fabric between them.
 *
 *   whole (pull)       prefill | room at the decoder | bytes of the prompt | decode        vLLM's NixlConnector
 *   per-layer (push)   room at the decoder | prefill, bytes of each layer beside it | decode      Dynamo, Mooncake
 *
 * Of `replicas` the first `prefill` prefill, the others decode; all have the same tp and pp, so that rank k sends to
 * rank k what it holds of the prompt: kv bytes of a token * tokens that the decoder's prefix cache lacks, as one
 * transfer over the links of all ranks (program.h: they are in lock-step), after the longest route's latency and
 * `overhead`. Transfers share links with each other and whatever else is on the fabric.
 *
 * With per-layer transfers, a chunk's bytes but its last layer's, (L - 1) / L of them, flow from 1 / L of its step on;
 * the last layer's after the step. Blocks of the prefill replica are held until the transfer's end, those of the
 * decoder from its begin. The first token is the prefill's and leaves at its end; the gap to the second has the
 * hand-over in it.
 *
 * A request has a twin of one output token at the prefill replica.
 */
#include "workloads/serving_private.h"

typedef struct {
  OrrLinkUse *uses;
  guint n_uses;
  double latency_s;
} Way; /* from one replica to another */

struct OrrHandover {
  OrrFleet *fleet;
  guint n_prefill, n_decode;
  Way *ways; /* n_prefill * n_decode */
  OrrDoor *prefill, *decode;
  gboolean per_layer;
  double layers, bytes_per_token;
};

/* A request on its way. */
struct OrrHanded {
  OrrHandover *handover;
  OrrRequest *request, *twin;
  guint from, to; /* replicas */
  gint64 tokens;  /* to be sent of the prompt */
  guint pending;  /* transfers that have not ended */
  gboolean is_prefilled;
  double prefilled_s, last_bytes;
};

typedef struct {
  OrrHanded *handed;
  double bytes;
} Flow;

/* --- ways --- */

typedef struct {
  OrrHandover *handover;
  GHashTable *engine_links; /* fabric link -> engine link + 1 */
} Wiring;

static gboolean add_use(Wiring *wiring, guint32 fabric_link, GArray *uses, GError **error) {
  const OrrFabric *fabric = wiring->handover->fleet->work->world->fabric;
  gpointer known = g_hash_table_lookup(wiring->engine_links, GUINT_TO_POINTER(fabric_link));
  if (!known) {
    g_autofree char *name = orr_fabric_link_name(fabric, fabric_link);
    OrrLink link;
    if (!orr_engine_add_link(wiring->handover->fleet->engine, name, orr_fabric_link_bandwidth(fabric, fabric_link),
                             &link, error))
      return FALSE;
    known = GUINT_TO_POINTER(link + 1);
    g_hash_table_insert(wiring->engine_links, GUINT_TO_POINTER(fabric_link), known);
  }
  for (guint i = 0; i < uses->len; i++) {
    OrrLinkUse *use = &g_array_index(uses, OrrLinkUse, i);
    if (use->link != GPOINTER_TO_UINT(known) - 1) continue;
    use->weight++;
    return TRUE;
  }
  const OrrLinkUse use = {GPOINTER_TO_UINT(known) - 1, 1};
  g_array_append_val(uses, use);
  return TRUE;
}

static gboolean wire(Wiring *wiring, guint from, guint to, Way *ret_way, GError **error) {
  const OrrServingWork *work = wiring->handover->fleet->work;
  g_autoptr(GArray) uses = g_array_new(FALSE, FALSE, sizeof(OrrLinkUse));
  g_autoptr(GArray) links = g_array_new(FALSE, FALSE, sizeof(guint32));
  Way way = {0};
  for (gint64 k = 0; k < work->gpus_a_replica; k++) {
    g_array_set_size(links, 0);
    const double latency_s = orr_fabric_route(work->world->fabric, from * work->gpus_a_replica + k,
                                              to * work->gpus_a_replica + k, from * 1024 + to, links);
    way.latency_s = MAX(way.latency_s, latency_s);
    for (guint i = 0; i < links->len; i++)
      if (!add_use(wiring, g_array_index(links, guint32, i), uses, error)) return FALSE;
  }
  way.n_uses = uses->len;
  way.uses = (OrrLinkUse *)(void *)g_array_free(g_steal_pointer(&uses), FALSE);
  *ret_way = way;
  return TRUE;
}

static gboolean wire_all(OrrHandover *handover, GError **error) {
  Wiring wiring = {handover, g_hash_table_new(g_direct_hash, g_direct_equal)};
  gboolean ok = TRUE;
  for (guint p = 0; ok && p < handover->n_prefill; p++)
    for (guint d = 0; ok && d < handover->n_decode; d++)
      ok = wire(&wiring, p, handover->n_prefill + d, &handover->ways[p * handover->n_decode + d], error);
  g_hash_table_unref(wiring.engine_links);
  return ok;
}

OrrHandover *orr_handover_new(OrrFleet *fleet, OrrDoor *prefill, OrrDoor *decode, GError **error) {
  const OrrServing *params = &fleet->work->params;
  OrrHandover *handover = g_new0(OrrHandover, 1);
  *handover = (OrrHandover){.fleet = fleet,
                            .n_prefill = (guint)params->disaggregation.prefill,
                            .n_decode = (guint)(params->replicas - params->disaggregation.prefill),
                            .prefill = prefill,
                            .decode = decode,
                            .per_layer = params->disaggregation.transfer == ORR_TRANSFER_PER_LAYER,
                            .layers = (double)fleet->work->world->model->layers / (double)params->parallel.pp,
                            .bytes_per_token = fleet->work->kv_bytes_per_token};
  handover->ways = g_new0(Way, handover->n_prefill * handover->n_decode);
  if (wire_all(handover, error)) return handover;
  orr_handover_free(handover);
  return NULL;
}

void orr_handover_free(OrrHandover *handover) {
  if (!handover) return;
  for (guint i = 0; i < handover->n_prefill * handover->n_decode; i++) g_free(handover->ways[i].uses);
  g_free(handover->ways);
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
  work->handover_s += orr_engine_now(handover->fleet->engine) - handed->prefilled_s;
  work->handover_bytes += (double)handed->tokens * handover->bytes_per_token * (double)work->gpus_a_replica;
  handed->request->handed = NULL;
  orr_replica_release(replica_at(handover, handed->from), handed->twin);
  orr_replica_join(replica_at(handover, handed->to), handed->request);
  g_free(handed->twin);
  g_free(handed);
}

static void flow_ends(void *user) {
  OrrHanded *handed = user;
  handed->pending--;
  if (!handed->handover->fleet->error && handed->is_prefilled && handed->pending == 0) finish(handed);
}

static void flow_begins(void *user) {
  Flow *flow = user;
  OrrHanded *handed = flow->handed;
  const OrrHandover *handover = handed->handover;
  const Way *way = &handover->ways[handed->from * handover->n_decode + handed->to - handover->n_prefill];
  orr_engine_transfer(handover->fleet->engine, flow->bytes, way->uses, way->n_uses, flow_ends, handed);
  g_free(flow);
}

static void send(OrrHanded *handed, double bytes, double delay_s) {
  const OrrHandover *handover = handed->handover;
  const Way *way = &handover->ways[handed->from * handover->n_decode + handed->to - handover->n_prefill];
  Flow *flow = g_new(Flow, 1);
  *flow = (Flow){handed, bytes};
  handed->pending++;
  orr_engine_after(handover->fleet->engine,
                   delay_s + way->latency_s + handover->fleet->work->params.disaggregation.overhead_s, flow_begins,
                   flow);
}

gboolean orr_handover_begin(OrrHandover *handover, OrrRequest *request) {
  if (request->output == 1) return orr_door_send(handover->prefill, request); /* nothing is left to decode */
  OrrHanded *handed = g_new0(OrrHanded, 1);
  *handed =
      (OrrHanded){.handover = handover, .request = request, .twin = g_new(OrrRequest, 1), .tokens = request->prompt};
  *handed->twin = *request;
  handed->twin->output = 1;
  handed->twin->handed = handed;
  handed->twin->is_twin = TRUE;
  if (handover->per_layer) {
    expect_at_decoder(handed);
    return TRUE;
  }
  if (orr_door_send(handover->prefill, handed->twin)) return TRUE;
  g_free(handed->twin);
  g_free(handed);
  return FALSE;
}

/* What the decoder's prefix cache has of the prompt need not be sent. */
void orr_handover_room(OrrHanded *handed) {
  OrrHandover *handover = handed->handover;
  handed->tokens = handed->request->prompt - handed->request->computed;
  if (handover->per_layer)
    orr_door_send(handover->prefill, handed->twin);
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

/*
 * handover.c - computes prompts on some replicas and decodes on others; transfers the cache between
 * them over the fabric.
 *
 *   whole (pull)       prefill | room at the decoder | bytes of the prompt | decode
 *                      (vLLM's NixlConnector)
 *   per-layer (push)   room at the decoder | prefill, bytes of each layer during it | decode
 *                      (Dynamo, Mooncake)
 *
 * The first `prefill` replicas prefill, the others decode. Each rank sends to each other rank what
 * both hold (serving_paths.c): kv bytes per token * tokens that the decoder's prefix cache lacks,
 * and the bytes of a state. This is one transfer over the links of all ranks, after the latency of
 * the longest route and `overhead`. Transfers contend with each other and all else on the fabric.
 *
 * With per-layer transfers, the bytes of a chunk's first L - 1 layers flow from 1 / L of its step
 * on, and the last layer's after the step. The prefill replica holds its blocks until the transfer
 * ends; the decoder holds its own from the transfer's beginning.
 *
 * The client gets the first token from the decoder, once that has the cache: the prefill's answer
 * goes no further (vLLM's proxies ask it for one token and drop it), or travels with the cache
 * (SGLang's process_batch_result_prebuilt, TensorRT-LLM's _handle_first_token_response). So ttft
 * includes the wait for room at the decoder and the transfer. vLLM's decoder computes the token
 * again, one step later; that step is not counted.
 *
 * At the prefill replica a copy of the request, with one output token, stands for it.
 *
 * Not every prompt is handed over (NVIDIA Dynamo's conditional disaggregation,
 * docs/architecture/disagg_serving.md of 0.2): one is where
 *
 *   prompt - tokens of it that its decoder has cached >= least-prompt
 *   and prompts that wait for prefill < most-waiting
 *
 * Other prompts are computed where they decode. As in Dynamo, where the decoder's cache decides,
 * the router chooses the decoder first and keeps it; without a prefix cache it chooses when the
 * prompt is computed. Of a prompt with several outputs the length alone decides: they are split
 * when it arrives, and must be split the same way again when a replica is lost.
 *
 *   workload: {disaggregation: {prefill: 1, least-prompt: 512, most-waiting: 2},
 *              engine: {prefix-caching: block-hash}}
 */
#include "workloads/serving/stations/exclusions.h"
#include "workloads/serving/stations/gateway.h"
#include "workloads/serving/stations/station.h"
#include "workloads/serving/transfers/transfers.h"

typedef struct Handed Handed;

typedef struct {
  OrrRoute *route;
  OrrServingRun *run;
  GHashTable *of_request; /* OrrRequest*, a copy or at its decoder -> Handed* */
  GHashTable
      *took_s; /* OrrRequest* -> double*, owned: from its prompt's end to its cache's arrival */
  OrrPool *handeds;    /* of Handed */
  GPtrArray *active;   /* of Handed: being transferred */
  GQueue homeless;     /* of Handed: no decoder is up */
  gboolean is_dealing; /* a call deals `homeless` once all decoders of this instant are up */
  OrrGateway *prefill, *decode;
  gboolean per_layer;
} Handover;

/* A request on its way. */
struct Handed {
  Handover *handover;
  OrrRequest *request, copy;
  guint from, to; /* replicas */
  gint64 tokens;  /* to be sent of the prompt */
  gint decoder;   /* chosen when it came; -1: none was */
  guint pending;  /* transfers that have not ended */
  gboolean is_prefilled;
  gboolean is_sent;     /* the copy, to the prefill pool */
  gboolean is_expected; /* at `to` */
  gboolean is_void;    /* the request goes another way; what is left is the copy's, and transfers */
  gboolean is_gone;    /* the copy's replica is lost */
  gboolean is_leaving; /* a void one's release is on the calendar */
  guint place;         /* in active */
  double prefilled_s, last_bytes;
};

/* Where a request goes. */
typedef struct {
  gboolean is_apart; /* its prompt is computed elsewhere than it decodes */
  gint decoder;      /* the replica whose cache decided, and where it decodes; -1: none yet */
} Choice;

/* --- life --- */

static void clear_handed(gpointer data) { orr_request_clear(&((Handed *)data)->copy); }

static Handed *handed_of(const Handover *handover, const OrrRequest *request) {
  return g_hash_table_lookup(handover->of_request, request);
}

/* @request is what a prefill replica has of another one. */
static gboolean is_copy(gpointer state, const OrrRequest *request) {
  const Handed *handed = handed_of(state, request);
  return handed && request == &handed->copy;
}

/* --- a request's way --- */

static OrrReplica *replica_at(const Handover *handover, guint i) {
  return handover->route->replicas[i];
}

static Handed *take(Handover *handover, OrrRequest *request, gint decoder) {
  Handed *handed = orr_pool_take(handover->handeds);
  *handed = (Handed){.handover = handover,
                     .request = request,
                     .copy = *request,
                     .tokens = request->prompt,
                     .decoder = decoder,
                     .place = handover->active->len};
  orr_route_move(handover->route, request, &handed->copy); /* prompts are computed there */
  handed->copy.output = 1;
  g_hash_table_insert(handover->of_request, &handed->copy, handed);
  handed->copy.replica = -1;
  g_ptr_array_add(handover->active, handed);
  return handed;
}

static void give(Handed *handed) {
  orr_route_forget(handed->handover->route, &handed->copy);
  GPtrArray *active = handed->handover->active;
  Handed *last = active->pdata[active->len - 1];
  active->pdata[last->place = handed->place] = last;
  g_ptr_array_set_size(active, (gint)active->len - 1);
  orr_pool_give(handed->handover->handeds, handed);
}

static void expect_at_decoder(Handed *handed) {
  if (!orr_gateway_any_open(handed->handover->decode))
    return g_queue_push_tail(&handed->handover->homeless, handed);
  handed->is_expected = TRUE;
  handed->to = handed->decoder >= 0 && handed->handover->route->is_up[handed->decoder]
                   ? (guint)handed->decoder
                   : orr_gateway_pick(handed->handover->decode, handed->request);
  g_hash_table_insert(handed->handover->of_request, handed->request, handed);
  orr_replica_expect(replica_at(handed->handover, handed->to), handed->request);
}

static const OrrServingPath *path_of(const Handed *handed) {
  return orr_serving_paths_handover(handed->handover->run->work, handed->from, handed->copy.core,
                                    handed->to, handed->request->core);
}

/* Of the prompt's tokens [@from, @to) those that the decoder keeps, in tokens of all layers. */
static double kept_of(const Handed *handed, gint64 from, gint64 to) {
  const OrrServedGroup *group = orr_serving_group(handed->handover->run->work, handed->to);
  return orr_kv_layout_kept(&group->kv_layout, group->params.engine.block_size, from, to,
                            handed->request->prompt);
}

/* Of a unit of weight: the cache of the prompt's tokens [@from, @to), and with the last of them
 * what layers with a state have come to. */
static double bytes_of(const Handed *handed, gint64 from, gint64 to, gboolean is_last) {
  const OrrServingPath *path = path_of(handed);
  return kept_of(handed, from, to) * path->bytes_per_token + (is_last ? path->state_bytes : 0);
}

/* Of all that the decoder lacks. */
static double bytes_of_all(const Handed *handed) {
  const gint64 prompt = handed->request->prompt;
  return bytes_of(handed, prompt - handed->tokens, prompt, TRUE);
}

/* Of the stages that the cache comes from. */
static double layers_of(const Handed *handed) {
  const OrrServingWork *work = handed->handover->run->work;
  return (double)work->world->model->layers /
         (double)orr_serving_group(work, handed->from)->params.parallel.pp;
}

static void idle(const Handover *handover, guint replica) {
  handover->route->reports.idle(handover->route->reports.user, replica);
}

/* No kernel runs for it: joules of the bytes alone, at the replica that they leave. */
static void draw(const Handed *handed, double bytes, double took_s) {
  const OrrServingRun *run = handed->handover->run;
  OrrServedReplica *books = &run->work->replicas[handed->from];
  const OrrJoules joules = orr_cost_energy_link(run->worlds[books->group].cost, bytes, 0);
  const double end_s = orr_serving_run_now(run) - run->start_s;
  orr_joules_add(&books->joules, joules, 1);
  if (run->work->power) orr_power_time_add(run->work->power, end_s - took_s, end_s, joules);
}

static void finish(Handed *handed) {
  Handover *handover = handed->handover;
  OrrServingWork *work = handover->run->work;
  OrrRequest *request = handed->request;
  work->handovers++;
  double *took_s = g_new(double, 1);
  *took_s = orr_serving_run_now(handover->run) - handed->prefilled_s;
  g_hash_table_replace(handover->took_s, request, took_s);
  request->first_token_s += *took_s;
  request->last_token_s += *took_s;
  orr_route_answered(handover->route, request, request->first_token_s);
  work->handover_s += *took_s;
  const double bytes = bytes_of_all(handed) * path_of(handed)->n_units;
  work->handover_bytes += bytes;
  draw(handed, bytes, *took_s);
  g_hash_table_remove(handover->of_request, request);
  orr_replica_release(replica_at(handover, handed->from), &handed->copy);
  idle(handover, handed->from);
  orr_replica_join(replica_at(handover, handed->to), request);
  give(handed);
}

/* Of a void one: nothing of it is under way any more. */
static void give_back(void *user) {
  Handed *handed = user;
  Handover *handover = handed->handover;
  if (!handed->is_gone) orr_replica_release(replica_at(handover, handed->from), &handed->copy);
  if (!handed->is_gone) idle(handover, handed->from);
  orr_request_clear(&handed->copy);
  give(handed);
}

/* Not at once: a replica may be in the middle of its step's end. */
static void give_back_soon(Handed *handed) {
  if (handed->is_leaving || handed->pending > 0) return;
  handed->is_leaving = TRUE;
  orr_engine_after(handed->handover->run->engine, 0, give_back, handed);
}

static void flow_ends(void *user) {
  Handed *handed = user;
  handed->pending--;
  if (handed->is_void && (handed->is_gone || handed->is_prefilled))
    give_back_soon(handed);
  else if (!handed->is_void && handed->is_prefilled && handed->pending == 0)
    finish(handed);
}

static void send(Handed *handed, double bytes, double delay_s) {
  OrrServingRun *run = handed->handover->run;
  handed->pending++;
  orr_transfers_begin(run, path_of(handed), bytes,
                      delay_s + run->work->params.disaggregation.overhead_s, flow_ends, handed);
}

/* --- which prompts cross --- */

static gint64 waiting_for_prefill(const Handover *handover) {
  gint64 n = orr_gateway_n_waiting(handover->prefill);
  for (guint i = 0; i < handover->run->work->params.disaggregation.prefill; i++)
    n += orr_replica_n_waiting(replica_at(handover, i));
  return n;
}

/* A request that already has a token is not handed over again: its prompt and output are computed
 * again where it decodes. */
static Choice choose(Handover *handover, const OrrRequest *request) {
  const OrrServing *params = &handover->run->work->params;
  const OrrDisaggregation *apart = &params->disaggregation;
  Choice choice = {.decoder = -1};
  if (request->generated > 0 || request->prompt < apart->least_prompt) return choice;
  choice.is_apart = TRUE;
  if (params->samples > 1) return choice;
  if (apart->most_waiting >= 0 && waiting_for_prefill(handover) >= apart->most_waiting)
    return (Choice){.decoder = -1};
  if (apart->least_prompt == 0 || params->engine.prefix_caching == ORR_PREFIX_NONE) return choice;
  if (!orr_gateway_any_open(handover->decode)) return choice;
  choice.decoder = (gint)orr_gateway_pick(handover->decode, request);
  choice.is_apart =
      request->prompt - orr_replica_cached(replica_at(handover, (guint)choice.decoder), request) >=
      apart->least_prompt;
  return choice;
}

static gboolean begin(Handover *handover, OrrRequest *request, gint decoder) {
  if (request->output == 1)
    return orr_gateway_send(handover->prefill, request); /* nothing is left to decode */
  Handed *handed = take(handover, request, decoder);
  if (handover->per_layer) {
    expect_at_decoder(handed);
    return TRUE;
  }
  handed->is_sent = TRUE;
  if (orr_gateway_send(handover->prefill, &handed->copy)) return TRUE;
  orr_route_move(handover->route, &handed->copy, request);
  give(handed);
  return FALSE;
}

/* What the decoder's prefix cache has of the prompt need not be sent. */
static void room(gpointer state, OrrRequest *request) {
  Handover *handover = state;
  Handed *handed = handed_of(handover, request);
  handed->tokens = handed->request->prompt - handed->request->computed;
  handed->is_sent = TRUE;
  if (handover->per_layer)
    orr_gateway_send(handover->prefill, &handed->copy);
  else
    send(handed, bytes_of_all(handed), 0);
}

static void chunk(gpointer state, OrrRequest *copy, gint64 tokens, double step_s) {
  const Handover *handover = state;
  if (!handover->per_layer || !is_copy(state, copy)) return;
  Handed *handed = handed_of(handover, copy);
  if (handed->is_void) return;
  handed->from = (guint)copy->replica;
  const gint64 before = handed->request->prompt - handed->tokens; /* the decoder has them */
  const gboolean is_last = orr_request_left(copy) <= tokens;
  const gint64 to = copy->computed + tokens, from = CLAMP(before, copy->computed, to);
  const double sent = bytes_of(handed, from, to, is_last);
  handed->last_bytes = is_last ? sent / layers_of(handed) : 0;
  send(handed, sent - handed->last_bytes, step_s / layers_of(handed));
}

static void prefilled(Handed *handed) {
  const OrrRequest *copy = &handed->copy;
  Handover *handover = handed->handover;
  OrrRequest *request = handed->request;
  handed->from = (guint)copy->replica;
  handed->is_prefilled = TRUE;
  orr_gateway_notice(handover->prefill);
  if (handed->is_void) return give_back_soon(handed);
  handed->prefilled_s = orr_serving_run_now(handover->run);
  request->scheduled_s = copy->scheduled_s;
  request->first_token_s = copy->first_token_s;
  request->last_token_s = copy->last_token_s;
  request->hit = copy->hit;
  request->preemptions += copy->preemptions;
  request->generated = 1;
  if (handover->per_layer)
    send(handed, handed->last_bytes, 0);
  else
    expect_at_decoder(handed);
}

/* --- replicas that come and go --- */

static void deal_homeless(void *user) {
  Handover *handover = user;
  handover->is_dealing = FALSE;
  while (handover->homeless.length > 0 && orr_gateway_any_open(handover->decode))
    expect_at_decoder(g_queue_pop_head(&handover->homeless));
}

/* Not at once: others of the same node start at this instant, too. */
static void replica_up(gpointer state) {
  Handover *handover = state;
  if (handover->homeless.length == 0 || handover->is_dealing) return;
  handover->is_dealing = TRUE;
  orr_engine_after(handover->run->engine, 0, deal_homeless, handover);
}

/* Whether @handed is no more, or left to what is under way of it, since @replica is lost; its
 * request is looked after.
 */
static void part(Handed *handed, guint replica, GPtrArray *requests) {
  Handover *handover = handed->handover;
  const gboolean from_here = handed->copy.replica == (gint32)replica && !handed->is_gone;
  const gboolean to_here = !handed->is_void && handed->is_expected && handed->to == replica;
  if (!from_here && !to_here) return;
  handed->is_gone = handed->is_gone || from_here;
  if (!handed->is_void) {
    handed->request->generated = 0; /* no client has seen a token of it */
    g_ptr_array_add(requests, handed->request);
    g_queue_remove(&handover->homeless, handed);
    if (handed->is_expected)
      orr_replica_unexpect(replica_at(handover, handed->to), handed->request);
    g_hash_table_remove(handover->of_request, handed->request);
    handed->request = NULL;
    handed->is_void = TRUE;
  }
  if (handed->is_gone || handed->is_prefilled || !handed->is_sent) give_back_soon(handed);
  if (!handed->is_sent) handed->is_gone = TRUE; /* it never was anywhere */
}

static void lose_replica(gpointer state, guint replica, GPtrArray *requests) {
  Handover *handover = state;
  for (guint i = 0; i < handover->active->len; i++)
    part(handover->active->pdata[i], replica, requests);
}

/* --- the station --- */

static gboolean open(OrrStop *stop, GError **error) {
  const OrrServing *params = &stop->route->run->work->params;
  Handover *handover = g_new(Handover, 1);
  *handover =
      (Handover){.route = stop->route,
                 .run = stop->route->run,
                 .of_request = g_hash_table_new(g_direct_hash, g_direct_equal),
                 .took_s = g_hash_table_new_full(g_direct_hash, g_direct_equal, NULL, g_free),
                 .handeds = orr_pool_new(sizeof(Handed), clear_handed),
                 .active = g_ptr_array_new(),
                 .per_layer = params->disaggregation.transfer == ORR_TRANSFER_PER_LAYER};
  stop->state = handover;
  return TRUE;
}

static void close(gpointer state) {
  Handover *handover = state;
  g_hash_table_unref(handover->of_request);
  g_hash_table_unref(handover->took_s);
  orr_pool_free(handover->handeds);
  g_ptr_array_unref(handover->active);
  g_queue_clear(&handover->homeless);
  g_free(handover);
}

static OrrStationAnswer enter(gpointer state, OrrRequest *request) {
  Handover *handover = state;
  handover->run->work->again += request->generated > 0;
  const OrrGatewayPair *pair = orr_gateway_pair(handover->route);
  handover->prefill = pair->first;
  handover->decode = pair->decode;
  const Choice choice = choose(handover, request);
  if (choice.is_apart) {
    if (!begin(handover, request, choice.decoder)) return ORR_STATION_REJECTS;
    if (request->output > 1) orr_samples_split(handover->route, request);
    return ORR_STATION_HOLDS;
  }
  if (choice.decoder < 0) return ORR_STATION_PASSES;
  orr_gateway_send_to(handover->decode, request, (guint)choice.decoder);
  return ORR_STATION_HOLDS;
}

/* A copy has its prompt: that is all it does. */
static OrrRequest *leave(gpointer state, OrrReplica *replica, OrrRequest *request) {
  Handover *handover = state;
  if (!is_copy(handover, request)) return request;
  handover->run->work->replicas[orr_replica_index(replica)].requests++;
  prefilled(handed_of(handover, request));
  return NULL;
}

static void add_row(gpointer state, const OrrRequest *request, OrrServingRequestRow *row) {
  const double *took_s = g_hash_table_lookup(((const Handover *)state)->took_s, request);
  if (took_s && *took_s > 0) row->handover_s = *took_s;
}

static void forget(gpointer state, const OrrRequest *request) {
  Handover *handover = state;
  g_hash_table_remove(handover->of_request, request);
  g_hash_table_remove(handover->took_s, request);
}

static const OrrCoreHooks hooks = {.keeps = is_copy};

static void opened(gpointer state, OrrReplica *replica, guint core) {
  const Handover *handover = state;
  if (orr_replica_index(replica) < (guint)handover->run->work->params.disaggregation.prefill)
    orr_core_hook(orr_replica_core(replica, core), &hooks, state);
}

static gboolean is_on(const OrrServing *params) { return params->disaggregation.prefill > 0; }

static const OrrStationExclusion excludes[] = {
    {"transfer per-layer with admission.queue", orr_exclusions_pushed_and_queue,
     "room at the decoder comes first, and no request is rejected after that"},
    {"engine.prefix-caching of layers that keep a state", orr_exclusions_cached_state,
     "vLLM's NixlConnector refuses it (\"SSM can only have one local block\"); use prefix-caching "
     "none"},
    {"groups of a model with layers that keep a state", orr_exclusions_groups_with_state,
     "vLLM's NixlConnector refuses it (\"Hybrid SSM (Mamba) models require homogeneous TP\")"},
    {0}};

const OrrStation orr_station_handover = {
    .entry = {"handover", "Computes a prompt on one replica and decodes on another.", NULL},
    .section = "disaggregation",
    .is_on = is_on,
    .excludes = excludes,
    .open = open,
    .close = close,
    .enter = enter,
    .leave = leave,
    .add_row = add_row,
    .forget = forget,
    .lose_replica = lose_replica,
    .owns = is_copy,
    .replica_up = replica_up,
    .opened = opened,
    .room = room,
    .chunk = chunk,
};

/*
 * fleet.c - the load meets the replicas: arrivals, and what becomes of each request.
 *
 * One arrival that is known in advance is on the calendar at a time; those that follow from the end
 * of another request are put there when that one ends. Requests live in a pool and are used again
 * when they have ended.
 */
#include <math.h>

#include "sim/base/fault.h"
#include "workloads/serving/stations/beams.h"
#include "workloads/serving/fleet/life.h"

typedef struct {
  OrrFleet fleet; /* first */
  const OrrArrival *load;
  gpointer state;
  OrrRequest *due; /* known in advance, on the calendar; NULL: none */
  OrrPool *requests, *comings;
  OrrRandom lengths, groups, of_adapters;
  GArray *adapters; /* of double: weights of the adapters up to each */
  guint32 n_requests;
  double area_since_s;
  double shares; /* of the classes, in all */
} Fleet;

typedef struct {
  Fleet *fleet;
  OrrRequest *request;
} Coming;

/* --- Little's law: the area under the number in the system, kept beside the requests' own times
 * --- */

static void count_area(Fleet *fleet, int change) {
  const double now_s = orr_engine_now(fleet->fleet.engine);
  fleet->fleet.work->area_request_s +=
      (double)fleet->fleet.in_system * (now_s - fleet->area_since_s);
  fleet->area_since_s = now_s;
  fleet->fleet.in_system += change;
}

/* --- requests --- */

static guint draw_group(Fleet *fleet) {
  const GPtrArray *classes = fleet->fleet.work->params.classes;
  if (!classes || classes->len < 2) return 0;
  double place = orr_random_unit(&fleet->groups) * fleet->shares;
  for (guint i = 0; i + 1 < classes->len; i++) {
    place -= ((const OrrRequestClass *)classes->pdata[i])->share;
    if (place < 0) return i;
  }
  return classes->len - 1;
}

/* What the load left open. Lengths without an end of their own are held to what there is room
 * for. */
static void fill_lengths(Fleet *fleet, OrrRequest *request) {
  const OrrServing *params = &fleet->fleet.work->params;
  const gint64 longest = fleet->fleet.work->longest;
  if (request->prompt == 0) {
    const gint64 prompt = orr_lengths_draw(&params->input, &fleet->lengths) +
                          params->shared_prefix +
                          orr_serving_image_tokens(params, fleet->fleet.work->world->model);
    request->prompt = (gint32)CLAMP(prompt, 1, MAX(longest - 1, 1));
    if (params->shared_prefix > 0) {
      request->shared = 1;
      request->shared_tokens = (gint32)MIN(params->shared_prefix, request->prompt);
    }
  }
  if (request->output == 0) {
    const gint64 output = orr_lengths_draw(&params->output, &fleet->lengths);
    request->output = (gint32)CLAMP(output, 1, MAX(longest - request->prompt, 1));
  }
}

static gint64 context_of(const OrrServingWork *work) {
  const gint64 own = work->params.engine.max_model_len;
  return own > 0 ? own : work->world->model->context;
}

static gboolean is_too_long(Fleet *fleet, const OrrRequest *request) {
  const OrrServingWork *work = fleet->fleet.work;
  if ((gint64)request->prompt + request->output <= work->longest) return FALSE;
  if (!fleet->fleet.error)
    g_set_error(&fleet->fleet.error, ORR_FAULT, ORR_FAULT_DOCUMENT,
                "request %u of %d + %d tokens is longer than %s of %" G_GINT64_FORMAT " tokens",
                fleet->n_requests + 1, request->prompt, request->output,
                work->longest < context_of(work) ? "the key-value cache" : "the context",
                work->longest);
  return TRUE;
}

static void arrive(void *user);

/* Completes @request, which arrives at request->arrival_s. */
static void complete(Fleet *fleet, OrrRequest *request) {
  const GPtrArray *classes = fleet->fleet.work->params.classes;
  fill_lengths(fleet, request);
  if (is_too_long(fleet, request)) return;
  request->id = fleet->n_requests++;
  *(fleet->fleet.encoders ? &request->pictures : &request->images) =
      (guint32)fleet->fleet.work->params.images;
  request->samples_left = (gint32)fleet->fleet.work->params.samples;
  if (fleet->fleet.work->params.beams.width > 1)
    request->beam_width = (gint32)fleet->fleet.work->params.beams.width;
  request->lists_candidates = request->beam_width > 1;
  request->adapter = orr_adapters_draw(fleet->adapters, &fleet->of_adapters);
  request->group = request->client = (guint16)draw_group(fleet);
  request->scheduled_s = request->first_token_s = request->last_token_s = -1;
  request->key = 0;
  if (classes && classes->len > 0)
    request->key = (double)((const OrrRequestClass *)classes->pdata[request->group])->priority;
}

static OrrRequest *another(OrrFleet *base, OrrRequest *first, guint32 sample) {
  OrrRequest *request = orr_pool_take(((Fleet *)base)->requests);
  *request = (OrrRequest){.id = first->id,
                          .group = first->group,
                          .client = first->client,
                          .prompt = first->prompt,
                          .output = first->output,
                          .stream = first->stream,
                          .shared = first->shared,
                          .shared_tokens = first->shared_tokens,
                          .n_spans = first->n_spans,
                          .span_tokens = first->span_tokens,
                          .spans = first->spans,
                          .arrival_s = first->arrival_s,
                          .scheduled_s = first->scheduled_s,
                          .first_token_s = -1,
                          .last_token_s = -1,
                          .replica = first->replica,
                          .adapter = first->adapter,
                          .key = first->key,
                          .sample = sample,
                          .parent = first};
  return request;
}

static void drop(OrrFleet *base, OrrRequest *request) {
  orr_pool_give(((Fleet *)base)->requests, request);
}

/* --- arrivals --- */

static void fetch(Fleet *fleet);

static void follow_up(Fleet *fleet, OrrRequest *request);

static gboolean is_to_be_encoded(const OrrRequest *request) {
  return request->pictures > 0 && !request->is_encoded;
}

static OrrHandoverChoice choose(const OrrFleet *fleet, const OrrRequest *request) {
  return fleet->handover ? orr_handover_choose(fleet->handover, request)
                         : (OrrHandoverChoice){FALSE, -1};
}

static gboolean let_in(OrrFleet *fleet, OrrRequest *request, OrrHandoverChoice where) {
  if (is_to_be_encoded(request)) {
    orr_encoders_begin(fleet->encoders, request);
    return TRUE;
  }
  if (where.is_apart) return orr_handover_begin(fleet->handover, request, where.decoder);
  if (where.decoder < 0)
    return orr_door_send(fleet->handover ? fleet->decode_door : fleet->door, request);
  orr_replica_add(fleet->replicas[where.decoder], request);
  return TRUE;
}

/* Where prefill and decode are apart, each output of a prompt is a request of its own from the
 * begin, with a prefill and a hand-over: vLLM's front end splits them before either replica sees
 * them. */
static void split(Fleet *fleet, OrrRequest *request) {
  OrrFleet *base = &fleet->fleet;
  for (gint32 sample = 1; sample < request->samples_left && !base->error; sample++) {
    OrrRequest *output = another(base, request, (guint32)sample);
    let_in(base, output, choose(base, output));
  }
}

static void enter(Fleet *fleet, OrrRequest *request) {
  OrrServingWork *work = fleet->fleet.work;
  work->last_arrival_s = request->arrival_s - fleet->fleet.start_s;
  const OrrHandoverChoice where = choose(&fleet->fleet, request);
  if (let_in(&fleet->fleet, request, where)) {
    count_area(fleet, 1);
    if (where.is_apart && request->output > 1) split(fleet, request);
  } else {
    work->rejected++;
    follow_up(fleet, request);
  }
  work->backlog_at_last_arrival = fleet->fleet.in_system;
}

/* All that arrive now, so that they can be in one batch. */
static void arrive(void *user) {
  Fleet *fleet = user;
  const double now_s = orr_engine_now(fleet->fleet.engine);
  while (fleet->due && fleet->due->arrival_s <= now_s && !fleet->fleet.error) {
    OrrRequest *request = g_steal_pointer(&fleet->due);
    fetch(fleet);
    enter(fleet, request);
  }
  if (fleet->due && !fleet->fleet.error)
    orr_engine_at(fleet->fleet.engine, fleet->due->arrival_s, arrive, fleet);
}

/* The next request that is known in advance. */
static void fetch(Fleet *fleet) {
  OrrRequest *request = orr_pool_take(fleet->requests);
  *request = (OrrRequest){0};
  fleet->fleet.next_arrival_s = G_MAXDOUBLE;
  if (!fleet->load->next(fleet->state, request)) {
    orr_pool_give(fleet->requests, request);
    return;
  }
  request->arrival_s += fleet->fleet.start_s;
  complete(fleet, request);
  if (fleet->fleet.error) return;
  fleet->due = request;
  fleet->fleet.next_arrival_s = request->arrival_s;
}

static void follow(void *user) {
  Coming *coming = user;
  Fleet *fleet = coming->fleet;
  fleet->fleet.n_coming--;
  if (!fleet->fleet.error) enter(fleet, coming->request);
  orr_pool_give(fleet->comings, coming);
}

static void check_queue(Fleet *fleet, const OrrRequest *request) {
  const double limit_s = fleet->fleet.work->params.most_queue_s,
               waited_s = request->scheduled_s - request->arrival_s;
  if (limit_s <= 0 || waited_s <= limit_s || fleet->fleet.error) return;
  g_set_error(&fleet->fleet.error, ORR_FAULT, ORR_FAULT_STUCK,
              "the queue diverges: request %u waited %.3g s for its first step (longest-queue: "
              "%.3g s); %u requests "
              "had ended by then, %" G_GINT64_FORMAT " were in the system",
              request->id + 1, waited_s, limit_s, fleet->fleet.work->requests->len,
              fleet->fleet.in_system);
}

static void ended(OrrFleet *base, OrrRequest *request) {
  Fleet *fleet = (Fleet *)base;
  const double start_s = base->start_s;
  const OrrServedRequest row = {.id = request->id,
                                .group = request->group,
                                .replica = (gint16)request->replica,
                                .prompt = request->prompt,
                                .output = request->output,
                                .hit = request->hit,
                                .preemptions = request->preemptions,
                                .arrival_s = request->arrival_s - start_s,
                                .scheduled_s = request->scheduled_s - start_s,
                                .first_token_s = request->first_token_s - start_s,
                                .end_s = request->last_token_s - start_s,
                                .handover_s = request->handover_s,
                                .measured_first_s = request->measured_first_s,
                                .measured_end_s = request->measured_end_s};
  g_array_append_val(base->work->requests, row);
  count_area(fleet, -1);
  check_queue(fleet, request);
  orr_door_left(base->door);
  follow_up(fleet, request);
}

/* @request has ended or was rejected; where its client goes on, the next one is put on the
 * calendar. */
static void follow_up(Fleet *fleet, OrrRequest *request) {
  const double now_s = orr_engine_now(fleet->fleet.engine);
  OrrRequest next = {0};
  const gboolean has_next =
      fleet->load->after && fleet->load->after(fleet->state, request, now_s, &next);
  orr_pool_give(fleet->requests, request);
  if (!has_next) return;
  OrrRequest *follower = orr_pool_take(fleet->requests);
  *follower = next;
  complete(fleet, follower);
  if (fleet->fleet.error) return;
  Coming *coming = orr_pool_take(fleet->comings);
  fleet->fleet.n_coming++;
  *coming = (Coming){fleet, follower};
  orr_engine_at(fleet->fleet.engine, fmax(follower->arrival_s, now_s), follow, coming);
}

/* Its images are: there may be no room for it any more. */
static void encoded(OrrFleet *base, OrrRequest *request) {
  Fleet *fleet = (Fleet *)base;
  request->is_encoded = TRUE;
  if (let_in(base, request, choose(base, request))) return;
  orr_encoders_drop(g_steal_pointer(&request->encoding));
  base->work->rejected++;
  base->work->failed_s += orr_engine_now(base->engine) - request->arrival_s;
  count_area(fleet, -1);
  follow_up(fleet, request);
}

/* Anew, but for what its client has: prompt and output so far are computed again. */
static void homeless(OrrFleet *base, OrrRequest *request) {
  Fleet *fleet = (Fleet *)base;
  OrrServingWork *work = base->work;
  request->state = ORR_REQUEST_FUTURE;
  request->computed = request->scheduled = request->drafted = 0;
  request->swapped = request->is_in_flight = FALSE;
  request->is_encoded = request->is_held_back = FALSE;
  request->prefetch = NULL;
  if (request->beams) request->generated = 0; /* its client has nothing yet */
  g_clear_pointer(&request->beams, orr_beams_free);
  if (work->params.on_failure == ORR_FAILURE_RETRY &&
      let_in(base, request, choose(base, request))) {
    work->retried++;
    return;
  }
  if (request->parent || request->samples_left > 1) {
    if (!base->error)
      g_set_error_literal(&base->error, ORR_FAULT, ORR_FAULT_DOCUMENT,
                          "a replica is lost with some of the outputs of a prompt: on-failure "
                          "fail, or a queue that is "
                          "full, would leave the others without them; use on-failure: retry and no "
                          "admission.queue");
    return;
  }
  work->failed++;
  work->failed_s += orr_engine_now(base->engine) - request->arrival_s;
  count_area(fleet, -1);
  follow_up(fleet, request);
}

/* --- the run --- */

static void open_doors(OrrFleet *fleet) {
  const guint prefill = (guint)fleet->work->params.disaggregation.prefill,
              n = (guint)fleet->work->params.replicas;
  fleet->door = orr_door_new(fleet, 0, prefill > 0 ? prefill : n, TRUE);
  if (prefill == 0) return;
  fleet->decode_door = orr_door_new(fleet, prefill, n - prefill, FALSE);
  fleet->handover = orr_handover_new(fleet, fleet->door, fleet->decode_door);
}

static gboolean open_costs(OrrFleet *fleet, guint g, GError **error) {
  const OrrServedGroup *group = &g_array_index(fleet->work->groups, OrrServedGroup, g);
  const OrrServing *params = &group->params;
  OrrWorld *world = &fleet->worlds[g];
  *world = *fleet->work->world;
  world->cluster = &group->cluster;
  if (group->cluster.device.name != fleet->work->world->cluster->device.name)
    world->cost =
        world->cost_of ? world->cost_of(world->machines, &group->cluster.device, error) : NULL;
  if (!world->cost) return FALSE;
  const OrrServingCostParams cost = {.world = world,
                                     .shard = orr_serving_shard(params),
                                     .pp = params->parallel.pp,
                                     .all_reduce = params->engine.all_reduce,
                                     .all_to_all = params->parallel.all_to_all,
                                     .lora = orr_serving_lora(params),
                                     .graph_largest = params->engine.graph_largest,
                                     .is_eager = params->engine.eager,
                                     .pads = params->engine.graph_padding};
  if (!(fleet->costs[g] = orr_serving_cost_new(&cost, error))) return FALSE;
  if (orr_speculation_of(&params->engine.speculation).tokens == 0) return TRUE;
  return (fleet->drafters[g] = orr_drafter_new(&params->engine.speculation, &cost, error)) != NULL;
}

static gboolean open_fleet(Fleet *fleet, GError **error) {
  OrrServingWork *work = fleet->fleet.work;
  const OrrServing *params = &work->params;
  const OrrArrivalContext context = {.requests = params->requests,
                                     .input = &params->input,
                                     .output = &params->output,
                                     .seed = (guint64)work->world->seed,
                                     .folders = work->world->folders,
                                     .longest = work->longest};
  fleet->fleet.worlds = g_new0(OrrWorld, work->groups->len);
  fleet->fleet.costs = g_new0(OrrServingCost *, work->groups->len);
  fleet->fleet.drafters = g_new0(OrrDrafter *, work->groups->len);
  for (guint g = 0; g < work->groups->len; g++)
    if (!open_costs(&fleet->fleet, g, error)) return FALSE;
  if (!orr_fleet_check_objectives(&fleet->fleet, error)) return FALSE;
  fleet->load = (const OrrArrival *)params->load.entry;
  if (!(fleet->state = fleet->load->open(params->load.params, &context, error))) return FALSE;
  orr_fleet_open_transfers(&fleet->fleet);
  fleet->fleet.rounds = orr_beam_search_rounds();
  fleet->fleet.reads = orr_reads_steps();
  fleet->fleet.prefetches = orr_reads_prefetches();
  if (params->encoders.replicas > 0 &&
      !(fleet->fleet.encoders = orr_encoders_new(&fleet->fleet, error)))
    return FALSE;
  open_doors(&fleet->fleet);
  fleet->fleet.remote = orr_tier_store_new(
      orr_fleet_tier_blocks(&fleet->fleet, 0, params->engine.tiers.remote_bytes));
  fleet->fleet.replicas = g_new0(OrrReplica *, params->replicas);
  for (gint64 i = 0; i < params->replicas; i++)
    fleet->fleet.replicas[i] = orr_replica_new(&fleet->fleet, (gint)i);
  fleet->fleet.life = orr_life_new(&fleet->fleet);
  for (guint i = 0; params->classes && i < params->classes->len; i++)
    fleet->shares += ((const OrrRequestClass *)params->classes->pdata[i])->share;
  return TRUE;
}

static void clear_request(gpointer request) { orr_request_clear(request); }

static gboolean close_books(Fleet *fleet, GError **error) {
  OrrServingWork *work = fleet->fleet.work;
  if (fleet->fleet.error) {
    g_propagate_error(error, g_steal_pointer(&fleet->fleet.error));
    return FALSE;
  }
  for (gint64 i = 0; i < work->params.replicas; i++)
    if (!orr_replica_close(fleet->fleet.replicas[i], error)) return FALSE;
  if (fleet->fleet.in_system > 0) {
    g_set_error(error, ORR_FAULT, ORR_FAULT_STUCK,
                "%" G_GINT64_FORMAT
                " requests wait for ever: no replica is left that could take them",
                fleet->fleet.in_system);
    return FALSE;
  }
  for (gint64 i = 0; i < work->params.replicas && !fleet->fleet.life; i++)
    work->replicas[i].held_s = fleet->area_since_s - fleet->fleet.start_s;
  if (fleet->fleet.life) orr_life_close(fleet->fleet.life, fleet->area_since_s);
  work->end_s = fleet->area_since_s - fleet->fleet.start_s;
  if (!orr_fleet_check_law(&fleet->fleet, error)) return FALSE;
  work->calls = (gint64)orr_engine_n_events(fleet->fleet.engine);
  for (guint g = 0; g < work->groups->len; g++) {
    if (!work->missing) work->missing = orr_serving_cost_missing(fleet->fleet.costs[g]);
    const double *drafted = orr_drafter_trust(fleet->fleet.drafters[g]);
    for (int how = 0; how <= ORR_HOW_OUTSIDE; how++)
      work->trust_s[how] +=
          orr_serving_cost_trust(fleet->fleet.costs[g])[how] + (drafted ? drafted[how] : 0);
    const OrrServingParts parts = orr_serving_cost_parts(fleet->fleet.costs[g]);
    work->parts.gpu_s += parts.gpu_s;
    work->parts.attention_s += parts.attention_s;
    work->parts.experts_s += parts.experts_s;
  }
  return TRUE;
}

void orr_fleet_free(OrrFleet *base) {
  Fleet *fleet = (Fleet *)base;
  if (!fleet) return;
  orr_life_free(base->life);
  for (gint64 i = 0; base->replicas && i < base->work->params.replicas; i++)
    orr_replica_free(base->replicas[i]);
  g_free(base->replicas);
  orr_handover_free(base->handover);
  orr_encoders_free(base->encoders);
  orr_door_free(base->door);
  orr_door_free(base->decode_door);
  orr_fleet_close_transfers(base);
  orr_pool_free(base->rounds);
  orr_pool_free(base->reads);
  orr_pool_free(base->prefetches);
  orr_pool_free(fleet->requests);
  orr_pool_free(fleet->comings);
  orr_pool_free(base->deliveries);
  if (fleet->state) fleet->load->close(fleet->state);
  g_array_unref(fleet->adapters);
  orr_tier_store_free(base->remote);
  for (guint g = 0; base->costs && g < base->work->groups->len; g++) {
    orr_drafter_free(base->drafters[g]);
    orr_serving_cost_free(base->costs[g]);
  }
  g_free(base->drafters);
  g_free(base->costs);
  g_free(base->worlds);
  g_clear_error(&base->error);
  g_free(fleet);
}

gboolean orr_serving_begin(OrrWork *base, const OrrLivePlace *place, GError **error) {
  OrrServingWork *work = (OrrServingWork *)base;
  const guint64 seed = (guint64)work->world->seed;
  Fleet *fleet = g_new0(Fleet, 1);
  *fleet = (Fleet){.fleet = {.work = work,
                             .engine = place->engine,
                             .links = place->links,
                             .start_s = place->start_s,
                             .ended = ended,
                             .another = another,
                             .drop = drop,
                             .homeless = homeless,
                             .encoded = encoded,
                             .next_look_s = G_MAXDOUBLE,
                             .step_stride = 1},
                   .requests = orr_pool_new(sizeof(OrrRequest), clear_request),
                   .comings = orr_pool_new(sizeof(Coming), NULL),
                   .lengths = orr_random_stream(seed, "lengths"),
                   .groups = orr_random_stream(seed, "classes"),
                   .of_adapters = orr_random_stream(seed, "adapters"),
                   .area_since_s = place->start_s};
  work->fleet = &fleet->fleet;
  fleet->adapters =
      orr_adapters_weights((guint)work->params.engine.lora.adapters, work->params.engine.lora.skew);
  if (!open_fleet(fleet, error)) return FALSE;
  fetch(fleet);
  if (fleet->due)
    orr_engine_at(fleet->fleet.engine, fmax(fleet->due->arrival_s, fleet->fleet.start_s), arrive,
                  fleet);
  return TRUE;
}

gboolean orr_serving_finish(OrrWork *base, GError **error) {
  return close_books((Fleet *)((OrrServingWork *)base)->fleet, error);
}

void orr_serving_times(const OrrWork *base, double *ret_end_s, double *ret_answer_s) {
  const OrrServingWork *work = (const OrrServingWork *)base;
  double sum_s = 0;
  for (guint i = 0; i < work->requests->len; i++) {
    const OrrServedRequest *request = &g_array_index(work->requests, OrrServedRequest, i);
    sum_s += request->end_s - request->arrival_s;
  }
  *ret_end_s = work->end_s;
  *ret_answer_s = work->requests->len > 0 ? sum_s / work->requests->len : 0;
}

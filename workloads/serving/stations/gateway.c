/*
 * gateway.c - from an arrival to a replica: admission, the queue at the router, and its
 * choice.
 *
 *   arrival --> [a replica has room?] --yes--> router --> replica
 *                      | no
 *                      +--> queue (first come, first served) --> rejected where it is full
 *
 * A replica has room while it is up and has fewer than admission.in-flight requests. A place
 * becomes free when a request ends, and the first of the queue takes it at that time.
 *
 * Where replicas serve several models, each model has a queue of its own: a request passes others
 * that wait for a model whose replicas are full or asleep. A request that has to wait asks for a
 * replica to be woken (life.c).
 *
 * Of a fleet in several regions (between-regions.order: nearest) each region has a router of its
 * own, and the request goes to one of them:
 *
 *   regions by round trip from the client    near [full]  middle [has room]  far
 *                                                              ^ its replicas below spill-at
 *
 * the first that has a replica with room; where all have reached spill-at, the first with a replica
 * that admission leaves open.
 *
 * Oracle: with in-flight c and queue 0 one replica is M/G/c/c, which rejects Erlang's B(c, a)
 * whatever the lengths.
 */
#include "workloads/serving/stations/gateway.h"

struct OrrGateway {
  const OrrStop *stop;
  OrrRoute *route;
  const OrrRouter *router;
  gpointer *states; /* of the router: one, or, of regions one at a time, one for each */
  guint n_states, first, n;
  gint64 in_flight, queue; /* limits; 0 and below 0: none */
  GQueue waiting;          /* OrrRequest*, of all models in order of arrival */
  guint n_rows, row;       /* classes, 1 where all ask one model; the row of the present request */
  gboolean *serves;        /* by row and replica of all */
  guint *n_waiting;        /* by row */
  guint *near;             /* by region of a client: all regions, the nearest first; NULL: any */
  guint region;            /* whose replicas are seen; ALL */
  gint64 full;             /* load at which they are not; 0: none */
  gboolean is_due;         /* a look at the queue is on the calendar */
};

#define ALL G_MAXUINT

static const gboolean *serves(const OrrGateway *gateway, guint row) {
  return gateway->serves + row * (guint)gateway->route->run->work->params.replicas;
}

static guint row_of(const OrrGateway *gateway, const OrrRequest *request) {
  return gateway->n_rows > 1 ? request->group : 0;
}

/* Which replicas serve which classes. */
static void open_rows(OrrGateway *gateway) {
  const OrrServingWork *work = gateway->route->run->work;
  const GPtrArray *classes = work->params.classes;
  const guint n = (guint)work->params.replicas;
  gboolean has_models = FALSE;
  ORR_EACH(const OrrServedGroup, group, work->groups)
    has_models = has_models || g_strcmp0(group->model.name, work->world->model->name) != 0;
  gateway->n_rows = has_models ? classes->len : 1;
  gateway->serves = g_new(gboolean, gateway->n_rows * n);
  gateway->n_waiting = g_new0(guint, gateway->n_rows);
  for (guint row = 0; row < gateway->n_rows; row++) {
    const OrrRequestClass *class = has_models ? classes->pdata[row] : NULL;
    const char *asked = class && class->model ? class->model : work->world->model->name;
    for (guint i = 0; i < n; i++)
      gateway->serves[row * n + i] =
          !has_models || g_strcmp0(orr_serving_group(work, i)->model.name, asked) == 0;
  }
}

/* Regions without replicas come last. */
static double distance(const OrrServing *params, guint from, guint to) {
  const OrrRoundTrip *trip = orr_serving_round_trip(params, from, to);
  if (!orr_serving_region_has_replicas(params, to)) return G_MAXDOUBLE;
  return trip ? trip->time_s : 0;
}

/* Equally near ones in the document's order. */
static void order_regions(OrrGateway *gateway) {
  const OrrServing *params = &gateway->route->run->work->params;
  const guint n = orr_serving_n_regions(params);
  gateway->region = ALL;
  if (n == 0 || params->between.order == ORR_REGIONS_ANY) return;
  gateway->near = g_new(guint, n * n);
  for (guint from = 0; from < n; from++) {
    guint *order = gateway->near + from * n;
    for (guint i = 0; i < n; i++) {
      guint k = i;
      for (; k > 0 && distance(params, from, order[k - 1]) > distance(params, from, i); k--)
        order[k] = order[k - 1];
      order[k] = i;
    }
  }
  gateway->route->run->sees_blocks |=
      params->between.spill_at > 0 && params->between.spill_by == ORR_LOAD_KV_BLOCKS;
}

static gint64 load(void *user, guint i, OrrRouterLoad by);

/* Whether replica @i is in the region that is seen, and not full. */
static gboolean is_seen(OrrGateway *gateway, guint i) {
  const OrrServingWork *work = gateway->route->run->work;
  if (gateway->region == ALL) return TRUE;
  if (orr_serving_group_region(&work->params, work->replicas[gateway->first + i].group) !=
      gateway->region)
    return FALSE;
  return gateway->full == 0 ||
         load(gateway, i, (OrrRouterLoad)work->params.between.spill_by) < gateway->full;
}

static gboolean is_open(void *user, guint i) {
  OrrGateway *gateway = user;
  if (!gateway->route->is_up[gateway->first + i] ||
      !serves(gateway, gateway->row)[gateway->first + i] || !is_seen(gateway, i))
    return FALSE;
  return gateway->in_flight == 0 ||
         orr_replica_n_requests(gateway->route->replicas[gateway->first + i]) < gateway->in_flight;
}

static gint64 load(void *user, guint i, OrrRouterLoad by) {
  const OrrGateway *gateway = user;
  const OrrReplica *replica = gateway->route->replicas[gateway->first + i];
  switch (by) {
  case ORR_LOAD_REQUESTS:
    return orr_replica_n_requests(replica);
  case ORR_LOAD_WAITING:
    return orr_replica_n_waiting(replica);
  case ORR_LOAD_PROMPT_TOKENS:
    return orr_replica_prompt_tokens(replica);
  case ORR_LOAD_KV_BLOCKS:
    break;
  }
  return orr_replica_claimed_blocks(replica);
}

static void open_router(OrrGateway *gateway, const OrrRouterView *view) {
  const OrrServing *params = &gateway->route->run->work->params;
  gateway->n_states = gateway->near ? orr_serving_n_regions(params) : 1;
  gateway->states = g_new(gpointer, gateway->n_states);
  for (guint i = 0; i < gateway->n_states; i++) {
    OrrRouterView own = *view;
    own.seed += i;
    gateway->states[i] = gateway->router->open(params->router.params, &own);
  }
}

static gpointer state_of(const OrrGateway *gateway, guint region) {
  return gateway->states[gateway->near && region != ALL ? region : 0];
}

static OrrGateway *gateway_new(const OrrStop *stop, guint first, guint n, gboolean is_limited) {
  OrrServingRun *run = stop->route->run;
  const OrrServing *params = &run->work->params;
  OrrGateway *gateway = g_new0(OrrGateway, 1);
  *gateway = (OrrGateway){.stop = stop,
                          .route = stop->route,
                          .router = (const OrrRouter *)params->router.entry,
                          .first = first,
                          .n = n,
                          .in_flight = is_limited ? params->admission.in_flight : 0,
                          .queue = is_limited ? params->admission.queue : -1};
  const OrrRouterView view = {.user = gateway,
                              .n = n,
                              .block_size = params->engine.block_size,
                              .seed = (guint64)run->work->world->seed,
                              .is_open = is_open,
                              .load = load};
  g_queue_init(&gateway->waiting);
  open_rows(gateway);
  run->sees_blocks =
      gateway->router->sees_blocks && gateway->router->sees_blocks(params->router.params);
  order_regions(gateway);
  open_router(gateway, &view);
  run->dates_blocks =
      gateway->router->dates_blocks && gateway->router->dates_blocks(params->router.params);
  return gateway;
}

static void gateway_free(OrrGateway *gateway) {
  if (!gateway) return;
  for (guint i = 0; i < gateway->n_states; i++) gateway->router->close(gateway->states[i]);
  g_queue_clear(&gateway->waiting);
  ORR_FREE(gateway->states, gateway->serves, gateway->n_waiting, gateway->near, gateway);
}

gboolean orr_gateway_any_open(OrrGateway *gateway) {
  for (guint i = 0; i < gateway->n; i++)
    if (is_open(gateway, i)) return TRUE;
  return FALSE;
}

gint64 orr_gateway_n_waiting(const OrrGateway *gateway) { return gateway->waiting.length; }

gint64 orr_gateway_n_waiting_near(const OrrGateway *gateway, guint region) {
  const guint n = orr_serving_n_regions(&gateway->route->run->work->params);
  gint64 sum = 0;
  for (const GList *link = gateway->waiting.head; link; link = link->next)
    sum += gateway->near[(((const OrrRequest *)link->data)->region - 1u) * n] == region;
  return sum;
}

/* The region that @request goes to is the one that is seen. Without one that has room: all. */
static void look_near(OrrGateway *gateway, const OrrRequest *request) {
  const OrrServing *params = &gateway->route->run->work->params;
  const guint n = orr_serving_n_regions(params);
  if (!gateway->near) return;
  for (int pass = 0; pass < 2; pass++) {
    gateway->full = pass == 0 ? params->between.spill_at : 0;
    for (guint k = 0; k < n; k++) {
      gateway->region = gateway->near[(request->region - 1u) * n + k];
      if (orr_gateway_any_open(gateway)) return;
    }
  }
  gateway->region = ALL;
}

guint orr_gateway_pick(OrrGateway *gateway, const OrrRequest *request) {
  gateway->row = row_of(gateway, request);
  for (guint i = 0; gateway->route->run->sees_blocks && i < gateway->n; i++)
    orr_replica_catch_up(gateway->route->replicas[gateway->first + i]);
  look_near(gateway, request);
  return gateway->first + gateway->router->pick(state_of(gateway, gateway->region), request,
                                                orr_serving_run_now(gateway->route->run));
}

void orr_gateway_send_to(OrrGateway *gateway, OrrRequest *request, guint i) {
  orr_replica_take(gateway->route->replicas[i], request);
  orr_route_go_on(gateway->stop, request);
}

/* In any region. */
static gboolean is_open_to(OrrGateway *gateway, guint row) {
  gateway->row = row;
  gateway->region = ALL;
  return orr_gateway_any_open(gateway);
}

static void want(const OrrGateway *gateway, guint row) {
  const OrrRouteReports *reports = &gateway->route->reports;
  if (reports->wanted) reports->wanted(reports->user, serves(gateway, row));
}

gboolean orr_gateway_send(OrrGateway *gateway, OrrRequest *request) {
  const guint row = row_of(gateway, request);
  if (gateway->n_waiting[row] == 0 && is_open_to(gateway, row)) {
    orr_gateway_send_to(gateway, request, orr_gateway_pick(gateway, request));
    return TRUE;
  }
  if (gateway->queue >= 0 && (gint64)gateway->waiting.length >= gateway->queue) return FALSE;
  g_queue_push_tail(&gateway->waiting, request);
  gateway->n_waiting[row]++;
  want(gateway, row);
  return TRUE;
}

static void look(void *user) {
  OrrGateway *gateway = user;
  gateway->is_due = FALSE;
  g_autofree gboolean *is_blocked = g_new0(gboolean, gateway->n_rows);
  guint n_open = gateway->n_rows;
  for (GList *link = gateway->waiting.head; link && n_open > 0 && !gateway->route->run->error;) {
    GList *next = link->next;
    OrrRequest *request = link->data;
    const guint row = row_of(gateway, request);
    if (!is_blocked[row] && is_open_to(gateway, row)) {
      g_queue_delete_link(&gateway->waiting, link);
      gateway->n_waiting[row]--;
      orr_gateway_send_to(gateway, request, orr_gateway_pick(gateway, request));
    } else if (!is_blocked[row]) {
      is_blocked[row] = TRUE;
      n_open--;
      want(gateway, row);
    }
    link = next;
  }
}

/* Not at once: the replica is in the middle of its step's end. */
void orr_gateway_notice(OrrGateway *gateway) {
  if (gateway->waiting.length == 0 || gateway->is_due) return;
  gateway->is_due = TRUE;
  orr_engine_after(gateway->route->run->engine, 0, look, gateway);
}

/* --- the station --- */

static gboolean open(OrrStop *stop, GError **error) {
  const OrrServing *params = &stop->route->run->work->params;
  const guint prefill = (guint)params->disaggregation.prefill, n = (guint)params->replicas;
  OrrGatewayPair *pair = g_new0(OrrGatewayPair, 1);
  pair->first = gateway_new(stop, 0, prefill > 0 ? prefill : n, TRUE);
  if (prefill > 0) pair->decode = gateway_new(stop, prefill, n - prefill, FALSE);
  stop->state = pair;
  return TRUE;
}

static void close(gpointer state) {
  OrrGatewayPair *pair = state;
  gateway_free(pair->first);
  gateway_free(pair->decode);
  g_free(pair);
}

const OrrGatewayPair *orr_gateway_pair(const OrrRoute *route) {
  return orr_route_state(route, &orr_station_gateway);
}

/* What is not handed over is computed where it decodes. */
static OrrStationAnswer enter(gpointer state, OrrRequest *request) {
  const OrrGatewayPair *pair = state;
  return orr_gateway_send(pair->decode ? pair->decode : pair->first, request) ? ORR_STATION_HOLDS
                                                                              : ORR_STATION_REJECTS;
}

static void replica_up(gpointer state) {
  const OrrGatewayPair *pair = state;
  orr_gateway_notice(pair->first);
  if (pair->decode) orr_gateway_notice(pair->decode);
}

static void blocks(gpointer state, guint replica, const OrrTextBlocks *changed, gboolean is_there) {
  const OrrGatewayPair *pair = state;
  const OrrGateway *gateway =
      pair->decode && replica >= pair->decode->first ? pair->decode : pair->first;
  const OrrServingWork *work = gateway->route->run->work;
  const guint region = orr_serving_group_region(&work->params, work->replicas[replica].group);
  if (gateway->router->on_blocks)
    gateway->router->on_blocks(state_of(gateway, region), replica - gateway->first, changed,
                               is_there, orr_serving_run_now(gateway->route->run));
}

const OrrStation orr_station_gateway = {
    .entry = {"gateway", "Admission to the replicas: a queue, and the router's choice.", NULL},
    .open = open,
    .close = close,
    .enter = enter,
    .replica_up = replica_up,
    .blocks = blocks,
};

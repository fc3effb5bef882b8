/*
 * route.c - walks requests past the stations that a document switches on.
 *
 * A route calls a station's function where the station has one. What only some stations see (room,
 * waits, planned, chunk, block) is reported by replicas only when such a station is on the route.
 */
#include "workloads/serving/stations/station.h"

#define EACH_STOP(route_, stop_)                                                                   \
  for (const OrrStop *stop_ = (route_)->stops; stop_ < (route_)->stops + (route_)->n_stops; stop_++)

/* --- what replicas report --- */

static void opened(void *user, OrrReplica *replica, guint core) {
  EACH_STOP((OrrRoute *)user, stop)
  if (stop->station->opened) stop->station->opened(stop->state, replica, core);
}

static gboolean is_own(const OrrRoute *route, const OrrRequest *request) {
  EACH_STOP(route, stop)
  if (stop->station->owns && stop->station->owns(stop->state, request)) return TRUE;
  return FALSE;
}

static void first_token(void *user, OrrReplica *replica, OrrRequest *request) {
  OrrRoute *route = user;
  if (!is_own(route, request))
    orr_route_answered(route, request, request->seen_s + request->back_s);
  EACH_STOP(route, stop)
  if (stop->station->first_token) stop->station->first_token(stop->state, replica, request);
}

static void leave(OrrRoute *route, OrrReplica *replica, OrrRequest *request) {
  EACH_STOP(route, stop) {
    if (stop->station->leave) request = stop->station->leave(stop->state, replica, request);
    if (!request) return;
  }
  request->last_token_s = fmax(request->last_token_s, request->seen_s);
  route->run->work->replicas[orr_replica_index(replica)].requests++;
  orr_replica_deliver(replica, request);
}

static void ended(void *user, OrrReplica *replica, OrrRequest *request) {
  OrrRoute *route = user;
  leave(route, replica, request);
  route->reports.idle(route->reports.user, orr_replica_index(replica));
}

static void delivered(void *user, OrrRequest *request) {
  const OrrRoute *route = user;
  EACH_STOP(route, stop)
  if (stop->station->bring && stop->station->bring(stop->state, request)) return;
  route->reports.ended(route->reports.user, request);
}

static void room(void *user, OrrRequest *request) {
  EACH_STOP((OrrRoute *)user, stop)
  if (stop->station->room) stop->station->room(stop->state, request);
}

static void waits(void *user, OrrReplica *replica, OrrRequest *request) {
  EACH_STOP((OrrRoute *)user, stop)
  if (stop->station->waits) stop->station->waits(stop->state, replica, request);
}

static void planned(void *user, OrrReplica *replica) {
  EACH_STOP((OrrRoute *)user, stop)
  if (stop->station->planned) stop->station->planned(stop->state, replica);
}

static void chunk(void *user, OrrRequest *request, gint64 tokens, double step_s) {
  EACH_STOP((OrrRoute *)user, stop)
  if (stop->station->chunk) stop->station->chunk(stop->state, request, tokens, step_s);
}

static void blocks(void *user, guint replica, const OrrTextBlocks *changed, gboolean is_there) {
  EACH_STOP((OrrRoute *)user, stop)
  if (stop->station->blocks) stop->station->blocks(stop->state, replica, changed, is_there);
}

/* --- life --- */

static void clear_request(gpointer request) { orr_request_clear(request); }

static void listen(OrrRoute *route, const OrrStation *station) {
  OrrReplicaReports *reports = &route->replica_reports;
  if (station->room) reports->room = room;
  if (station->waits) reports->waits = waits;
  if (station->planned) reports->planned = planned;
  if (station->chunk) reports->chunk = chunk;
  if (station->blocks && route->run->sees_blocks) reports->blocks = blocks;
  if (station->holds_tokens) route->run->streams = FALSE;
}

static gboolean open_stations(OrrRoute *route, GError **error) {
  const OrrServing *params = &route->run->work->params;
  guint n = 0;
  while (orr_station_all[n]) n++;
  route->stops = g_new0(OrrStop, n);
  for (guint i = 0; i < n; i++) {
    const OrrStation *station = orr_station_all[i];
    OrrStop *stop = &route->stops[route->n_stops];
    if (station->is_on && !station->is_on(params)) continue;
    *stop = (OrrStop){.station = station, .route = route, .place = route->n_stops};
    if (station->open && !station->open(stop, error)) return FALSE;
    route->n_stops++;
    listen(route, station);
  }
  return TRUE;
}

gboolean orr_route_open(OrrRoute *route, OrrServingRun *run, const OrrRouteReports *reports,
                        GError **error) {
  const OrrServing *params = &run->work->params;
  *route = (OrrRoute){.run = run,
                      .reports = *reports,
                      .is_up = g_new(gboolean, params->replicas),
                      .replicas = g_new0(OrrReplica *, params->replicas),
                      .requests = orr_pool_new(sizeof(OrrRequest), clear_request)};
  route->replica_reports = (OrrReplicaReports){.user = route,
                                               .opened = opened,
                                               .first_token = first_token,
                                               .ended = ended,
                                               .delivered = delivered};
  run->streams = TRUE;
  for (gint64 i = 0; i < params->replicas; i++) route->is_up[i] = TRUE;
  if (!open_stations(route, error)) return FALSE;
  route->remote =
      orr_tier_store_new(orr_serving_run_tier_blocks(run, 0, params->engine.tiers.remote_bytes));
  for (gint64 i = 0; i < params->replicas; i++)
    route->replicas[i] = orr_replica_new(run, (gint)i, route->remote, &route->replica_reports);
  return TRUE;
}

void orr_route_close(OrrRoute *route) {
  if (!route->run) return;
  for (gint64 i = 0; i < route->run->work->params.replicas; i++)
    orr_replica_free(route->replicas[i]);
  EACH_STOP(route, stop) if (stop->station->close) stop->station->close(stop->state);
  orr_tier_store_free(route->remote);
  orr_pool_free(route->requests);
  g_free(route->replicas);
  g_free(route->is_up);
  g_free(route->stops);
}

gpointer orr_route_state(const OrrRoute *route, const OrrStation *station) {
  EACH_STOP(route, stop) if (stop->station == station) return stop->state;
  return NULL;
}

/* --- requests --- */

OrrRequest *orr_route_new_request(OrrRoute *route) {
  OrrRequest *request = orr_pool_take(route->requests);
  *request = (OrrRequest){0};
  return request;
}

void orr_route_made(OrrRoute *route, OrrRequest *request) {
  EACH_STOP(route, stop) if (stop->station->made) stop->station->made(stop->state, request);
}

OrrRequest *orr_route_another(OrrRoute *route, const OrrRequest *first, guint32 sample) {
  OrrRequest *request = orr_route_new_request(route);
  *request = (OrrRequest){.id = first->id,
                          .group = first->group,
                          .client = first->client,
                          .region = first->region,
                          .prompt = first->prompt,
                          .output = first->output,
                          .stream = first->stream,
                          .shared = first->shared,
                          .shared_tokens = first->shared_tokens,
                          .n_spans = first->n_spans,
                          .spans = first->spans,
                          .arrival_s = first->arrival_s,
                          .out_s = first->out_s,
                          .back_s = first->back_s,
                          .scheduled_s = first->scheduled_s,
                          .first_token_s = -1,
                          .last_token_s = -1,
                          .replica = first->replica,
                          .adapter = first->adapter,
                          .key = first->key,
                          .sample = sample};
  return request;
}

void orr_route_forget(OrrRoute *route, const OrrRequest *request) {
  EACH_STOP(route, stop) if (stop->station->forget) stop->station->forget(stop->state, request);
}

void orr_route_drop(OrrRoute *route, OrrRequest *request) {
  orr_route_forget(route, request);
  orr_pool_give(route->requests, request);
}

/* --- the way --- */

gboolean orr_route_enter(OrrRoute *route, OrrRequest *request, guint i) {
  for (; i < route->n_stops; i++) {
    const OrrStop *stop = &route->stops[i];
    const OrrStationAnswer answer =
        stop->station->enter ? stop->station->enter(stop->state, request) : ORR_STATION_PASSES;
    if (answer != ORR_STATION_PASSES) return answer == ORR_STATION_HOLDS;
  }
  orr_replica_queue(route->replicas[request->replica], request);
  return TRUE;
}

void orr_route_go_on(const OrrStop *stop, OrrRequest *request) {
  OrrRoute *route = stop->route;
  if (!orr_route_enter(route, request, stop->place + 1))
    route->reports.rejected(route->reports.user, request);
}

void orr_route_lose(OrrRoute *route, OrrRequest *request) {
  EACH_STOP(route, stop) if (stop->station->lose) stop->station->lose(stop->state, request);
}

gboolean orr_route_is_bound(const OrrRoute *route, const OrrRequest *request) {
  EACH_STOP(route, stop)
  if (stop->station->is_bound && stop->station->is_bound(stop->state, request)) return TRUE;
  return FALSE;
}

void orr_route_move(OrrRoute *route, OrrRequest *from, OrrRequest *to) {
  EACH_STOP(route, stop) if (stop->station->move) stop->station->move(stop->state, from, to);
}

GPtrArray *orr_route_lose_replica(OrrRoute *route, guint i) {
  g_autoptr(GPtrArray) all = g_ptr_array_new();
  GPtrArray *requests = g_ptr_array_new();
  EACH_STOP(route, stop)
  if (stop->station->lose_replica) stop->station->lose_replica(stop->state, i, all);
  orr_replica_lose(route->replicas[i], all);
  for (guint k = 0; k < all->len; k++)
    if (!is_own(route, all->pdata[k])) g_ptr_array_add(requests, all->pdata[k]);
  return requests;
}

void orr_route_replica_up(OrrRoute *route) {
  for (guint i = route->n_stops; i-- > 0;) { /* the gateway before what sends through it */
    const OrrStop *stop = &route->stops[i];
    if (stop->station->replica_up) stop->station->replica_up(stop->state);
  }
}

void orr_route_add_row(const OrrRoute *route, const OrrRequest *request,
                       OrrServingRequestRow *row) {
  EACH_STOP(route, stop)
  if (stop->station->add_row) stop->station->add_row(stop->state, request, row);
}

void orr_route_answered(const OrrRoute *route, const OrrRequest *request, double at_s) {
  route->reports.answered(route->reports.user, request, at_s - request->arrival_s);
}

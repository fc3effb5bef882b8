/*
 * regions.c - requests of clients in one region that replicas in another one serve: the way there,
 * and the tokens' way back.
 *
 *   client            replica
 *     |  out             |
 *     |----------------->|  queue, prompt
 *     |             back |
 *     |<-----------------|  first token, and all others
 *
 *   back = round trip / 2        out = round trip / 2 + bytes of the prompt / bandwidth
 *
 * The router is where the client is (anycast, DNS by place), and knows what the replicas do
 * now: it has chosen one when the request sets out (gateway.c). A request on its way counts as the
 * replica's. One whose replica is lost, or lost meanwhile, sets out from its client again; what the
 * client has seen stays. Latencies are the client's: ttft and e2e have both ways, and the next
 * request of a client comes after it has seen the last token. Tokens need no bandwidth, so gaps
 * between them are the engine's.
 *
 * Oracle: a request of one client takes exactly a round trip longer at a replica that is so far
 * (tests/workloads/serving/test_regions.c).
 *
 *   workload: {groups: [{replicas: 8, region: europe}], regions: [{name: us}, {name: europe}],
 *              between-regions: {round-trips: [{from: us, to: europe, time: 90 ms}]}}
 */
#include "workloads/serving/stations/exclusions.h"
#include "workloads/serving/stations/gateway.h"
#include "workloads/serving/stations/station.h"

typedef struct {
  const OrrStop *stop;
  OrrPool *trips;
  GPtrArray *out; /* Trip*: under way to a replica, in order of their begin */
} Regions;

typedef struct {
  Regions *regions;
  OrrRequest *request; /* NULL: its replica is lost */
} Trip;

static const OrrServing *params_of(const Regions *regions) {
  return &regions->stop->route->run->work->params;
}

static guint region_of(const Regions *regions, const OrrRequest *request) {
  const OrrServingWork *work = regions->stop->route->run->work;
  return orr_serving_group_region(&work->params, work->replicas[request->replica].group);
}

static Trip *begin(Regions *regions, OrrRequest *request, double end_s, OrrEngineCall call) {
  Trip *trip = orr_pool_take(regions->trips);
  *trip = (Trip){regions, request};
  orr_engine_at(regions->stop->route->run->engine, end_s, call, trip);
  return trip;
}

/* --- out --- */

static void arrive(void *user) {
  Trip *trip = user;
  Regions *regions = trip->regions;
  OrrRoute *route = regions->stop->route;
  OrrRequest *request = trip->request;
  if (request) g_ptr_array_remove(regions->out, trip);
  orr_pool_give(regions->trips, trip);
  if (!request || route->run->error) return;
  orr_replica_seat(route->replicas[request->replica], request);
  orr_route_go_on(regions->stop, request);
}

/* The client of a request that goes on elsewhere has seen its tokens after the old way back; gaps
 * are counted between dates at replicas. */
static void turn(OrrRequest *request, double back_s) {
  if (request->generated > 0) {
    request->seen_s += request->back_s - back_s;
    request->last_token_s += request->back_s - back_s;
  }
  request->back_s = back_s;
}

static OrrStationAnswer enter(gpointer state, OrrRequest *request) {
  Regions *regions = state;
  const OrrServing *params = params_of(regions);
  const OrrRoundTrip *trip =
      orr_serving_round_trip(params, request->region - 1, region_of(regions, request));
  const double bytes = (double)orr_request_wanted(request) * params->between.token_bytes;
  double out_s = trip ? trip->time_s / 2 : 0;
  turn(request, out_s);
  if (trip && trip->bytes_per_s > 0) out_s += bytes / trip->bytes_per_s;
  if (request->scheduled_s < 0) request->out_s += out_s;
  if (out_s <= 0) return ORR_STATION_PASSES;
  const double now_s = orr_serving_run_now(regions->stop->route->run);
  g_ptr_array_add(regions->out, begin(regions, request, now_s + out_s, arrive));
  return ORR_STATION_HOLDS;
}

static void lose_replica(gpointer state, guint replica, GPtrArray *requests) {
  Regions *regions = state;
  guint kept = 0;
  ORR_EACH_POINTER(Trip, trip, regions->out) {
    if ((guint)trip->request->replica != replica) {
      regions->out->pdata[kept++] = trip;
      continue;
    }
    trip->request->lacking = 0;
    g_ptr_array_add(requests, g_steal_pointer(&trip->request));
  }
  g_ptr_array_set_size(regions->out, (gint)kept);
}

/* --- back --- */

static void first_token(gpointer state, OrrReplica *replica, OrrRequest *request) {
  request->first_token_s += request->back_s;
}

static void come_back(void *user) {
  Trip *trip = user;
  const OrrRoute *route = trip->regions->stop->route;
  OrrRequest *request = trip->request;
  orr_pool_give(trip->regions->trips, trip);
  if (!route->run->error) route->reports.ended(route->reports.user, request);
}

/* Its replica has a place as soon as it is done with it. */
static gboolean bring(gpointer state, OrrRequest *request) {
  Regions *regions = state;
  orr_gateway_notice(orr_gateway_pair(regions->stop->route)->first);
  if (request->back_s <= 0) return FALSE;
  request->last_token_s += request->back_s;
  begin(regions, request, request->last_token_s, come_back);
  return TRUE;
}

static void add_row(gpointer state, const OrrRequest *request, OrrServingRequestRow *row) {
  const Regions *regions = state;
  const GPtrArray *all = params_of(regions)->regions;
  row->from_region = ((const OrrRegion *)all->pdata[request->region - 1])->name;
  row->in_region = ((const OrrRegion *)all->pdata[region_of(regions, request)])->name;
  row->network_s = request->out_s + request->back_s;
}

/* --- the station --- */

static gboolean open(OrrStop *stop, GError **error) {
  Regions *regions = g_new(Regions, 1);
  *regions = (Regions){stop, orr_pool_new(sizeof(Trip), NULL), g_ptr_array_new()};
  stop->state = regions;
  return TRUE;
}

static void close(gpointer state) {
  Regions *regions = state;
  orr_pool_free(regions->trips);
  g_ptr_array_unref(regions->out);
  g_free(regions);
}

static gboolean is_on(const OrrServing *params) { return orr_serving_n_regions(params) > 0; }

static gboolean encodes(const OrrServing *params, const OrrModel *model) {
  return params->encoders.replicas > 0;
}
static gboolean has_images(const OrrServing *params, const OrrModel *model) {
  return params->images > 0;
}
static gboolean searches(const OrrServing *params, const OrrModel *model) {
  return params->beams.width > 1;
}
static gboolean has_tasks(const OrrServing *params, const OrrModel *model) {
  return orr_tasks_are_on(&params->tasks);
}
static gboolean shares(const OrrServing *params, const OrrModel *model) {
  return orr_serving_shares(params);
}
static gboolean has_store(const OrrServing *params, const OrrModel *model) {
  return params->engine.tiers.remote_bytes > 0;
}

static const OrrStationExclusion exclusions[] = {
    {"disaggregation", orr_exclusions_disaggregation,
     "its pools are the fleet's, and caches would cross regions"},
    {"encoders", encodes, "they are one pool for all regions"},
    {"images", has_images, "their bytes on the way from a client are not known"},
    {"beam-search", searches, "its front end has no region"},
    {"tasks", has_tasks, "their tools and pools have no region"},
    {"groups.shares", shares, "what wakes a replica does not look at its region"},
    {"engine.cache-tiers.remote", has_store, "its store is one for all regions"},
    {0}};

const OrrStation orr_station_regions = {
    .entry = {"regions", "Carries requests to the region of their replica, and tokens back.", NULL},
    .section = "regions",
    .is_on = is_on,
    .excludes = exclusions,
    .open = open,
    .close = close,
    .enter = enter,
    .first_token = first_token,
    .lose_replica = lose_replica,
    .bring = bring,
    .add_row = add_row,
};

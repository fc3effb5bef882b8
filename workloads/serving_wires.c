/*
 * serving_wires.c - what a fleet's transfers load, and the transfers.
 *
 * All ways that a run may use are found when it is compiled, as weights of the links of the work's program: links
 * alone, which other jobs' programs may name too (orr_program_share_link). A way is one transfer over all ranks'
 * routes, as they are in lock-step (program.h); its size is what one unit of weight carries.
 *
 *   hand-over, replica p to d    rank k's route to rank k, one unit each
 *   weights of a replica         each GPU's file, a unit a stripe: a server's route to its host, and on to the GPU
 */
#include "workloads/serving_life.h"

struct OrrServingWires {
  guint n_prefill, n_decode;
  OrrServingWay *handovers; /* n_prefill * n_decode */
  OrrServingWay *loads;     /* by replica; NULL: none is ever read */
};

/* --- at compilation --- */

typedef struct {
  OrrServingWork *work;
  GHashTable *numbers; /* fabric link -> the program's + 1 */
  GArray *route;       /* of guint32: room to work in */
  GArray *uses;        /* of OrrLinkUse: of the way in the making */
  double latency_s;
} Wiring;

static guint32 number_of(Wiring *wiring, guint32 fabric_link) {
  const OrrFabric *fabric = wiring->work->world->fabric;
  OrrWork *work = &wiring->work->work;
  gpointer known = g_hash_table_lookup(wiring->numbers, GUINT_TO_POINTER(fabric_link));
  if (known) return GPOINTER_TO_UINT(known) - 1;
  g_autofree char *name = orr_fabric_link_name(fabric, fabric_link);
  const guint32 link = orr_program_link(work->program, name, orr_fabric_link_bandwidth(fabric, fabric_link));
  orr_program_share_link(work->program, link);
  g_array_append_val(work->links, fabric_link);
  g_hash_table_insert(wiring->numbers, GUINT_TO_POINTER(fabric_link), GUINT_TO_POINTER(link + 1));
  return link;
}

static void add_use(Wiring *wiring, guint32 fabric_link, guint32 weight) {
  const guint32 link = number_of(wiring, fabric_link);
  for (guint i = 0; i < wiring->uses->len; i++) {
    OrrLinkUse *use = &g_array_index(wiring->uses, OrrLinkUse, i);
    if (use->link != link) continue;
    use->weight += weight;
    return;
  }
  const OrrLinkUse use = {link, weight};
  g_array_append_val(wiring->uses, use);
}

/* From GPU to GPU. */
static void add_route(Wiring *wiring, gint64 from, gint64 to, guint64 flow, guint32 weight) {
  g_array_set_size(wiring->route, 0);
  const double latency_s = orr_fabric_route(wiring->work->world->fabric, from, to, flow, wiring->route);
  wiring->latency_s = MAX(wiring->latency_s, latency_s);
  for (guint i = 0; i < wiring->route->len; i++) add_use(wiring, g_array_index(wiring->route, guint32, i), weight);
}

static OrrServingWay end_way(Wiring *wiring) {
  const OrrServingWay way = {g_memdup2(wiring->uses->data, wiring->uses->len * sizeof(OrrLinkUse)), wiring->uses->len,
                             wiring->latency_s};
  g_array_set_size(wiring->uses, 0);
  wiring->latency_s = 0;
  return way;
}

static void wire_handovers(Wiring *wiring, OrrServingWires *wires) {
  const gint64 gpus = wiring->work->gpus_a_replica;
  wires->handovers = g_new0(OrrServingWay, wires->n_prefill * wires->n_decode);
  for (guint p = 0; p < wires->n_prefill; p++)
    for (guint d = 0; d < wires->n_decode; d++) {
      const guint to = wires->n_prefill + d;
      for (gint64 k = 0; k < gpus; k++) add_route(wiring, p * gpus + k, to * gpus + k, p * 1024 + to, 1);
      wires->handovers[p * wires->n_decode + d] = end_way(wiring);
    }
}

static void add_weights(Wiring *wiring, gint64 gpu) {
  const OrrFabric *fabric = wiring->work->world->fabric;
  const OrrStorage *storage = &wiring->work->world->cluster->storage;
  const gint64 stripes = orr_storage_stripes(storage);
  g_array_set_size(wiring->route, 0);
  orr_fabric_host_route(fabric, gpu, TRUE, wiring->route);
  for (guint k = 0; k < wiring->route->len; k++)
    add_use(wiring, g_array_index(wiring->route, guint32, k), (guint32)stripes);
  for (gint64 i = 0; i < stripes; i++) {
    g_array_set_size(wiring->route, 0);
    const double latency_s =
        orr_fabric_storage_route(fabric, gpu, orr_storage_server(storage, gpu, i), TRUE, wiring->route);
    wiring->latency_s = MAX(wiring->latency_s, latency_s);
    for (guint k = 0; k < wiring->route->len; k++) add_use(wiring, g_array_index(wiring->route, guint32, k), 1);
  }
}

static void wire_loads(Wiring *wiring, OrrServingWires *wires) {
  const OrrServingWork *work = wiring->work;
  wires->loads = g_new0(OrrServingWay, work->params.replicas);
  for (gint64 i = 0; i < work->params.replicas; i++) {
    for (gint64 k = 0; k < work->gpus_a_replica; k++) add_weights(wiring, i * work->gpus_a_replica + k);
    wires->loads[i] = end_way(wiring);
  }
}

static gboolean reads_weights(const OrrServingWork *work) {
  return work->params.start.weights && work->world->cluster->storage.servers > 0 &&
         (work->world->is_faulty || orr_life_is_eventful(&work->params));
}

gboolean orr_serving_wires_plan(OrrServingWork *work, GError **error) {
  OrrServingWires *wires = work->wires = g_new0(OrrServingWires, 1);
  Wiring wiring = {work, g_hash_table_new(g_direct_hash, g_direct_equal), g_array_new(FALSE, FALSE, sizeof(guint32)),
                   g_array_new(FALSE, FALSE, sizeof(OrrLinkUse)), 0};
  work->work.program = orr_program_new();
  work->work.links = g_array_new(FALSE, FALSE, sizeof(guint32));
  wires->n_prefill = (guint)work->params.disaggregation.prefill;
  wires->n_decode = (guint)work->params.replicas - wires->n_prefill;
  if (wires->n_prefill > 0) wire_handovers(&wiring, wires);
  if (reads_weights(work)) wire_loads(&wiring, wires);
  work->work.contends = wires->n_prefill > 0 || wires->loads;
  g_hash_table_unref(wiring.numbers);
  g_array_unref(wiring.route);
  g_array_unref(wiring.uses);
  work->work.link_bytes = g_new0(double, work->work.links->len + 1);
  return orr_program_seal(work->work.program, error);
}

void orr_serving_wires_free(OrrServingWires *wires) {
  if (!wires) return;
  for (guint i = 0; wires->loads && i < wires->n_prefill + wires->n_decode; i++) g_free(wires->loads[i].uses);
  g_free(wires->loads);
  for (guint i = 0; i < wires->n_prefill * wires->n_decode; i++) g_free(wires->handovers[i].uses);
  g_free(wires->handovers);
  g_free(wires);
}

const OrrServingWay *orr_serving_handover_way(const OrrServingWork *work, guint from, guint to) {
  const OrrServingWires *wires = work->wires;
  return &wires->handovers[from * wires->n_decode + to - wires->n_prefill];
}

const OrrServingWay *orr_serving_load_way(const OrrServingWork *work, guint replica) {
  return work->wires->loads ? &work->wires->loads[replica] : NULL;
}

double orr_serving_load_bytes(const OrrServingWork *work) {
  return work->weight_bytes / (double)orr_storage_stripes(&work->world->cluster->storage);
}

/* --- in the run --- */

typedef struct {
  OrrFleet *fleet;
  const OrrServingWay *way;
  double bytes;
  OrrEngineCall done;
  void *user;
  OrrLinkUse *uses; /* of the engine's links; room for n_room */
  guint n_room;
} Flow;

static void clear_flow(gpointer flow) { g_free(((Flow *)flow)->uses); }

void orr_fleet_open_transfers(OrrFleet *fleet) { fleet->flows = orr_pool_new(sizeof(Flow), clear_flow); }

void orr_fleet_close_transfers(OrrFleet *fleet) { orr_pool_free(fleet->flows); }

static void flow_ends(void *user) {
  Flow *flow = user;
  OrrFleet *fleet = flow->fleet;
  const OrrEngineCall done = flow->done;
  void *const data = flow->user;
  for (guint i = 0; i < flow->way->n_uses; i++)
    fleet->work->work.link_bytes[flow->way->uses[i].link] += flow->bytes * flow->way->uses[i].weight;
  orr_pool_give(fleet->flows, flow);
  fleet->n_flows--;
  if (!fleet->error) done(data);
}

static void flow_begins(void *user) {
  Flow *flow = user;
  const OrrServingWay *way = flow->way;
  if (flow->fleet->error) return;
  if (way->n_uses > flow->n_room) flow->uses = g_renew(OrrLinkUse, flow->uses, flow->n_room = way->n_uses);
  for (guint i = 0; i < way->n_uses; i++)
    flow->uses[i] = (OrrLinkUse){flow->fleet->links[way->uses[i].link], way->uses[i].weight};
  orr_engine_transfer(flow->fleet->engine, flow->bytes, flow->uses, way->n_uses, flow_ends, flow);
}

void orr_fleet_transfer(OrrFleet *fleet, const OrrServingWay *way, double bytes, double delay_s, OrrEngineCall done,
                        void *user) {
  Flow *flow = orr_pool_take(fleet->flows);
  fleet->n_flows++;
  flow->fleet = fleet;
  flow->way = way;
  flow->bytes = bytes;
  flow->done = done;
  flow->user = user;
  orr_engine_after(fleet->engine, delay_s + way->latency_s, flow_begins, flow);
}

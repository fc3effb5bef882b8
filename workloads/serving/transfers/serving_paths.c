/*
 * serving_paths.c - what a fleet's transfers load, and the transfers.
 *
 * All ways that a run may use are found when it is compiled, as weights of the links of the work's
 * program: links alone, which other jobs' programs may name too (orr_program_share_link). A way is
 * one transfer over all ranks' routes, as they are in lock-step (program.h); its size is what one
 * unit of weight carries.
 *
 *   hand-over, replica p to d    rank (stage i, tp a) to rank (stage j, tp b): the layers that both
 *                                stages have, times
 * the key-value heads that both ranks have, of which a decoder's rank takes each from one rank
 *
 *       p: pp 2, tp 2   | a0: heads 0-3, a1: 4-7 |   d: pp 1, tp 4, heads 0-1, 2-3, 4-5, 6-7
 *                       a0 -> b0, b1: L/2 layers * 2 heads from each stage      a1 -> b2, b3: the same
 *
 *     Where tp is above the number of heads, ranks hold copies; rank b takes the copy b mod copies. Latent attention's
 *     cache is one head, which all ranks hold. Equal layouts: rank k to rank k.
 *   embeddings, encoder to replica   from its GPU to each rank of a core's first stage, a unit an
 *                                    image
 *   the store on the network to a replica   to each rank of a core an equal share from each of the
 *                                           file system's servers,
 * as weights are read; without one from the memory of all nodes' hosts, as Mooncake's store pools
 * it (of 16 of them, evenly chosen, where there are more: a transfer costs by its links)
 *   weights of a replica         each GPU's file, a unit a stripe: a server's route to its host,
 *                                and on to the GPU
 */
#include "workloads/serving/fleet/life.h"

struct OrrServingWires {
  guint n_prefill, n_decode;
  guint n_from, n_to;       /* most cores of a replica that prefills, that decodes */
  OrrServingWay *handovers; /* n_prefill * n_from * n_decode * n_to */
  OrrServingWay *loads;     /* by replica; NULL: none is ever read */
  guint n_remotes;
  OrrServingWay *remotes; /* replica * core; NULL: none */
  guint n_embeddings, n_cores;
  OrrServingWay *embeddings; /* encoder * replica * core */
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
  const guint32 link =
      orr_program_link(work->program, name, orr_fabric_link_bandwidth(fabric, fabric_link));
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
  const double latency_s =
      orr_fabric_route(wiring->work->world->fabric, from, to, flow, wiring->route);
  wiring->latency_s = MAX(wiring->latency_s, latency_s);
  for (guint i = 0; i < wiring->route->len; i++)
    add_use(wiring, g_array_index(wiring->route, guint32, i), weight);
}

static OrrServingWay end_way(Wiring *wiring) {
  const OrrServingWay way = {
      .uses = g_memdup2(wiring->uses->data, wiring->uses->len * sizeof(OrrLinkUse)),
      .n_uses = wiring->uses->len,
      .latency_s = wiring->latency_s};
  g_array_set_size(wiring->uses, 0);
  wiring->latency_s = 0;
  return way;
}

/* A core: `pp` stages of `tp` ranks, from GPU `first` on. */
typedef struct {
  gint64 first, tp, pp, stage; /* layers of a stage */
  gint64 heads;                /* of the cache, in all */
} Shape;

static Shape shape_of(const OrrServingWork *work, guint replica, guint core) {
  const OrrServedGroup *group = orr_serving_group(work, replica);
  const OrrServingParallel *parallel = &group->params.parallel;
  const OrrInferenceShard whole = {.tp = 1};
  return (Shape){group->first_gpu + ((gint64)replica - group->first) * group->gpus +
                     core * parallel->tp * parallel->pp,
                 parallel->tp, parallel->pp, orr_serving_layers(&group->params, work->world->model),
                 orr_inference_heads(work->world->model, 0, &whole).kv_heads};
}

static gint64 heads_of(const Shape *shape) { return MAX(shape->heads / shape->tp, 1); }

/* Layers that stage @i of @a and stage @j of @b have in common. */
static gint64 common_layers(const Shape *a, gint64 i, const Shape *b, gint64 j, gint64 layers) {
  const gint64 begin = MAX(i * a->stage, j * b->stage),
               end = MIN(MIN((i + 1) * a->stage, (j + 1) * b->stage), layers);
  return MAX(end - begin, 0);
}

/* Heads that tp rank @y of @to takes from rank @x of @from. */
static gint64 common_heads(const Shape *from, gint64 x, const Shape *to, gint64 y) {
  const gint64 copies = MAX(from->tp / from->heads, 1), n_x = heads_of(from), n_y = heads_of(to);
  const gint64 first_x = x / copies * n_x,
               first_y = MIN(y / MAX(to->tp / to->heads, 1) * n_y, to->heads - n_y);
  if (copies > 1 && x % copies != y % copies) return 0;
  return MAX(MIN(first_x + n_x, first_y + n_y) - MAX(first_x, first_y), 0);
}

static gint64 gcd(gint64 a, gint64 b) {
  while (b != 0) {
    const gint64 rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}

/* @each is called for all pairs of ranks with something in common. */
typedef struct {
  const Shape *from, *to;
  gint64 layers, divisor; /* 0: not known yet */
  gint64 sum;
  guint64 flow;
} Pairing;

static void add_pair(Wiring *wiring, Pairing *pairing, gint64 src, gint64 dst, gint64 common) {
  if (common == 0) return;
  if (wiring) {
    add_route(wiring, src, dst, pairing->flow, (guint32)(common / pairing->divisor));
    pairing->sum += common / pairing->divisor;
  } else {
    pairing->divisor = gcd(common, pairing->divisor);
  }
}

static void pair_ranks(Wiring *wiring, Pairing *pairing) {
  const Shape *from = pairing->from, *to = pairing->to;
  for (gint64 i = 0; i < from->pp; i++)
    for (gint64 j = 0; j < to->pp; j++) {
      const gint64 layers = common_layers(from, i, to, j, pairing->layers);
      for (gint64 x = 0; layers > 0 && x < from->tp; x++)
        for (gint64 y = 0; y < to->tp; y++)
          add_pair(wiring, pairing, from->first + i * from->tp + x, to->first + j * to->tp + y,
                   layers * common_heads(from, x, to, y));
    }
}

static OrrServingWay wire_handover(Wiring *wiring, guint p, guint p_core, guint d, guint d_core) {
  const OrrServingWork *work = wiring->work;
  const Shape from = shape_of(work, p, p_core), to = shape_of(work, d, d_core);
  Pairing pairing = {
      .from = &from, .to = &to, .layers = work->world->model->layers, .flow = p * 1024 + d};
  pair_ranks(NULL, &pairing);
  pair_ranks(wiring, &pairing);
  OrrServingWay way = end_way(wiring);
  const double share =
      (double)pairing.divisor / (double)(from.stage * heads_of(&from)); /* of a rank's, in a unit */
  way.n_units = (double)pairing.sum;
  way.bytes_per_token = orr_serving_group(work, p)->kv_bytes_per_token * share;
  way.state_bytes = orr_serving_group(work, p)->state_bytes * share;
  return way;
}

static guint most_cores(const OrrServingWork *work, guint first, guint n) {
  gint64 most = 1;
  for (guint i = first; i < first + n; i++)
    most = MAX(most, orr_serving_group(work, i)->params.parallel.dp_attention);
  return (guint)most;
}

static guint place_of(const OrrServingWires *wires, guint p, guint p_core, guint d, guint d_core) {
  return ((p * wires->n_from + p_core) * wires->n_decode + d - wires->n_prefill) * wires->n_to +
         d_core;
}

static void wire_handovers(Wiring *wiring, OrrServingWires *wires) {
  const OrrServingWork *work = wiring->work;
  wires->n_from = most_cores(work, 0, wires->n_prefill);
  wires->n_to = most_cores(work, wires->n_prefill, wires->n_decode);
  wires->handovers =
      g_new0(OrrServingWay, wires->n_prefill * wires->n_from * wires->n_decode * wires->n_to);
  for (guint p = 0; p < wires->n_prefill; p++)
    for (guint a = 0; a < orr_serving_group(work, p)->params.parallel.dp_attention; a++)
      for (guint d = wires->n_prefill; d < wires->n_prefill + wires->n_decode; d++)
        for (guint b = 0; b < orr_serving_group(work, d)->params.parallel.dp_attention; b++)
          wires->handovers[place_of(wires, p, a, d, b)] = wire_handover(wiring, p, a, d, b);
}

static OrrServingWay wire_embedding(Wiring *wiring, guint encoder, guint replica, guint core) {
  const OrrServingWork *work = wiring->work;
  const OrrModel *model = work->world->model;
  const Shape to = shape_of(work, replica, core);
  for (gint64 x = 0; x < to.tp; x++)
    add_route(wiring, work->first_encoder + encoder, to.first + x, encoder * 1024 + replica, 1);
  OrrServingWay way = end_way(wiring);
  way.n_units = (double)to.tp;
  way.bytes_per_token = orr_encoder_decoder_tokens(model) * (double)model->hidden *
                        orr_dtype_bytes((OrrDtype)work->params.activations);
  return way;
}

static guint embedding_place(const OrrServingWires *wires, const OrrServingWork *work,
                             guint encoder, guint to, guint core) {
  return (encoder * (guint)work->params.replicas + to) * wires->n_cores + core;
}

static void wire_embeddings(Wiring *wiring, OrrServingWires *wires) {
  const OrrServingWork *work = wiring->work;
  const guint n = (guint)work->params.encoders.replicas, replicas = (guint)work->params.replicas;
  wires->n_cores = most_cores(work, 0, replicas);
  wires->n_embeddings = n * replicas * wires->n_cores;
  wires->embeddings = g_new0(OrrServingWay, wires->n_embeddings);
  for (guint encoder = 0; encoder < n; encoder++)
    for (guint to = 0; to < replicas; to++)
      for (guint core = 0; core < orr_serving_group(work, to)->params.parallel.dp_attention; core++)
        wires->embeddings[embedding_place(wires, work, encoder, to, core)] =
            wire_embedding(wiring, encoder, to, core);
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
    const double latency_s = orr_fabric_storage_route(
        fabric, gpu, orr_storage_server(storage, gpu, i), TRUE, wiring->route);
    wiring->latency_s = MAX(wiring->latency_s, latency_s);
    for (guint k = 0; k < wiring->route->len; k++)
      add_use(wiring, g_array_index(wiring->route, guint32, k), 1);
  }
}

static void wire_loads(Wiring *wiring, OrrServingWires *wires) {
  const OrrServingWork *work = wiring->work;
  wires->loads = g_new0(OrrServingWay, work->params.replicas);
  for (gint64 i = 0; i < work->params.replicas; i++) {
    const OrrServedGroup *group = orr_serving_group(work, (guint)i);
    for (gint64 k = 0; k < group->gpus; k++)
      add_weights(wiring, group->first_gpu + (i - group->first) * group->gpus + k);
    wires->loads[i] = end_way(wiring);
  }
}

enum { MOST_HOSTS = 16 };

/* The first GPU of each node, of guint32; after the last one the number of all. */
static GArray *nodes_of(const OrrFabric *fabric) {
  GArray *nodes = g_array_new(FALSE, FALSE, sizeof(guint32));
  const guint32 n = (guint32)orr_fabric_n_gpus(fabric);
  for (guint32 gpu = 0; gpu < n; gpu++)
    if (gpu == 0 || orr_fabric_node(fabric, gpu) != orr_fabric_node(fabric, gpu - 1))
      g_array_append_val(nodes, gpu);
  g_array_append_val(nodes, n);
  return nodes;
}

/* A unit from each host: through the network card of its GPU of the same place, or inside the
 * node. Returns the hosts. */
static gint64 add_hosts(Wiring *wiring, const GArray *nodes, gint64 gpu) {
  const OrrFabric *fabric = wiring->work->world->fabric;
  const guint n = nodes->len - 1, hosts = MIN(n, (guint)MOST_HOSTS);
  guint own = 0;
  while (g_array_index(nodes, guint32, own + 1) <= (guint32)gpu) own++;
  for (guint i = 0; i < hosts; i++) {
    const guint node = (own + i * n / hosts) % n;
    const guint32 first = g_array_index(nodes, guint32, node),
                  after = g_array_index(nodes, guint32, node + 1);
    g_array_set_size(wiring->route, 0);
    if (node == own)
      orr_fabric_host_route(fabric, gpu, TRUE, wiring->route);
    else
      add_route(wiring, first + (gpu - g_array_index(nodes, guint32, own)) % (after - first), gpu,
                (guint64)gpu, 1);
    for (guint k = 0; node == own && k < wiring->route->len; k++)
      add_use(wiring, g_array_index(wiring->route, guint32, k), 1);
  }
  return hosts;
}

static OrrServingWay wire_remote(Wiring *wiring, const GArray *nodes, guint replica, guint core) {
  const OrrServingWork *work = wiring->work;
  const OrrStorage *storage = &work->world->cluster->storage;
  const Shape to = shape_of(work, replica, core);
  gint64 shares = orr_storage_stripes(storage);
  for (gint64 rank = 0; rank < to.tp * to.pp; rank++) {
    if (storage->servers > 0)
      add_weights(wiring, to.first + rank);
    else
      shares = add_hosts(wiring, nodes, to.first + rank);
  }
  OrrServingWay way = end_way(wiring);
  way.n_units = (double)(shares * to.tp * to.pp);
  way.bytes_per_token = orr_serving_group(work, replica)->kv_bytes_per_token / (double)shares;
  return way;
}

static gboolean reads_store(const OrrServingWork *work) {
  return work->params.engine.tiers.remote_bytes > 0 &&
         work->params.engine.tiers.remote_bytes_per_s <= 0;
}

static void wire_remotes(Wiring *wiring, OrrServingWires *wires) {
  const OrrServingWork *work = wiring->work;
  g_autoptr(GArray) nodes = nodes_of(work->world->fabric);
  wires->n_cores = most_cores(work, 0, (guint)work->params.replicas);
  wires->n_remotes = (guint)work->params.replicas * wires->n_cores;
  wires->remotes = g_new0(OrrServingWay, wires->n_remotes);
  for (guint to = 0; to < work->params.replicas; to++)
    for (guint core = 0; core < orr_serving_group(work, to)->params.parallel.dp_attention; core++)
      wires->remotes[to * wires->n_cores + core] = wire_remote(wiring, nodes, to, core);
}

static gboolean reads_weights(const OrrServingWork *work) {
  return work->params.start.weights && work->world->cluster->storage.servers > 0 &&
         (work->world->is_faulty || orr_life_is_eventful(&work->params));
}

gboolean orr_serving_wires_plan(OrrServingWork *work, GError **error) {
  OrrServingWires *wires = work->wires = g_new0(OrrServingWires, 1);
  Wiring wiring = {work, g_hash_table_new(g_direct_hash, g_direct_equal),
                   g_array_new(FALSE, FALSE, sizeof(guint32)),
                   g_array_new(FALSE, FALSE, sizeof(OrrLinkUse)), 0};
  work->work.program = orr_program_new();
  work->work.links = g_array_new(FALSE, FALSE, sizeof(guint32));
  wires->n_prefill = (guint)work->params.disaggregation.prefill;
  wires->n_decode = (guint)work->params.replicas - wires->n_prefill;
  if (wires->n_prefill > 0) wire_handovers(&wiring, wires);
  if (reads_weights(work)) wire_loads(&wiring, wires);
  if (work->params.encoders.replicas > 0) wire_embeddings(&wiring, wires);
  if (reads_store(work)) wire_remotes(&wiring, wires);
  work->work.contends = wires->n_prefill > 0 || wires->loads || wires->embeddings || wires->remotes;
  g_hash_table_unref(wiring.numbers);
  g_array_unref(wiring.route);
  g_array_unref(wiring.uses);
  work->work.link_bytes = g_new0(double, work->work.links->len + 1);
  return orr_program_seal(work->work.program, error);
}

void orr_serving_wires_free(OrrServingWires *wires) {
  if (!wires) return;
  for (guint i = 0; wires->loads && i < wires->n_prefill + wires->n_decode; i++)
    g_free(wires->loads[i].uses);
  g_free(wires->loads);
  for (guint i = 0; i < wires->n_prefill * wires->n_from * wires->n_decode * wires->n_to; i++)
    g_free(wires->handovers[i].uses);
  g_free(wires->handovers);
  for (guint i = 0; i < wires->n_embeddings; i++) g_free(wires->embeddings[i].uses);
  g_free(wires->embeddings);
  for (guint i = 0; i < wires->n_remotes; i++) g_free(wires->remotes[i].uses);
  g_free(wires->remotes);
  g_free(wires);
}

const OrrServingWay *orr_serving_remote_way(const OrrServingWork *work, guint replica, guint core) {
  return work->wires->remotes ? &work->wires->remotes[replica * work->wires->n_cores + core] : NULL;
}

const OrrServingWay *orr_serving_embedding_way(const OrrServingWork *work, guint encoder, guint to,
                                               guint to_core) {
  return &work->wires->embeddings[embedding_place(work->wires, work, encoder, to, to_core)];
}

const OrrServingWay *orr_serving_handover_way(const OrrServingWork *work, guint from,
                                              guint from_core, guint to, guint to_core) {
  return &work->wires->handovers[place_of(work->wires, from, from_core, to, to_core)];
}

const OrrServingWay *orr_serving_load_way(const OrrServingWork *work, guint replica) {
  return work->wires->loads ? &work->wires->loads[replica] : NULL;
}

double orr_serving_load_bytes(const OrrServingWork *work, guint replica) {
  return orr_serving_group(work, replica)->weight_bytes /
         (double)orr_storage_stripes(&work->world->cluster->storage);
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

void orr_fleet_open_transfers(OrrFleet *fleet) {
  fleet->flows = orr_pool_new(sizeof(Flow), clear_flow);
}

void orr_fleet_close_transfers(OrrFleet *fleet) { orr_pool_free(fleet->flows); }

static void flow_ends(void *user) {
  Flow *flow = user;
  OrrFleet *fleet = flow->fleet;
  const OrrEngineCall done = flow->done;
  void *const data = flow->user;
  for (guint i = 0; i < flow->way->n_uses; i++)
    fleet->work->work.link_bytes[flow->way->uses[i].link] +=
        flow->bytes * flow->way->uses[i].weight;
  orr_pool_give(fleet->flows, flow);
  fleet->n_flows--;
  if (!fleet->error) done(data);
}

static void flow_begins(void *user) {
  Flow *flow = user;
  const OrrServingWay *way = flow->way;
  if (flow->fleet->error) return;
  if (way->n_uses > flow->n_room)
    flow->uses = g_renew(OrrLinkUse, flow->uses, flow->n_room = way->n_uses);
  for (guint i = 0; i < way->n_uses; i++)
    flow->uses[i] = (OrrLinkUse){flow->fleet->links[way->uses[i].link], way->uses[i].weight};
  orr_engine_transfer(flow->fleet->engine, flow->bytes, flow->uses, way->n_uses, flow_ends, flow);
}

void orr_fleet_transfer(OrrFleet *fleet, const OrrServingWay *way, double bytes, double delay_s,
                        OrrEngineCall done, void *user) {
  Flow *flow = orr_pool_take(fleet->flows);
  fleet->n_flows++;
  flow->fleet = fleet;
  flow->way = way;
  flow->bytes = bytes;
  flow->done = done;
  flow->user = user;
  orr_engine_after(fleet->engine, delay_s + way->latency_s, flow_begins, flow);
}

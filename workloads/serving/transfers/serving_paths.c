/*
 * serving_paths.c - finds the paths of a fleet's transfers when a run is compiled.
 *
 * All ways that a run may use are found when it is compiled, as weights of the links of the work's
 * program: links alone, which other jobs' programs may name too (orr_program_share_link). A path is
 * one transfer over all ranks' routes, as they are in lock-step (program.h); its size is what one
 * unit of weight carries.
 *
 *   hand-over, replica p to d    rank (stage i, tp a) to rank (stage j, tp b): the layers that both
 *                                stages have, times
 * the key-value heads that both ranks have; a decoder's rank takes each from one rank
 *
 *       p: pp 2, tp 2   | a0: heads 0-3, a1: 4-7 |   d: pp 1, tp 4, heads 0-1, 2-3, 4-5, 6-7
 *                       a0 -> b0, b1: L/2 layers * 2 heads from each stage      a1 -> b2, b3: the
 *                                                                               same
 *
 *     Where tp is above the number of heads, ranks hold copies; rank b takes the copy b mod copies.
 *     Latent attention's cache is one head, which all ranks hold. Equal layouts: rank k to rank k.
 *   embeddings, encoder to replica   from its GPU to each rank of a core's first stage, a unit an
 *                                    image
 *   the store on the network to a replica   to each rank of a core an equal share from each of the
 *                                           file system's servers,
 * as weights are read; without one from the memory of all nodes' hosts, as Mooncake's store pools
 * it (of 16 of them, evenly chosen, where there are more: a transfer costs by its links)
 *   weights of a replica         each GPU's file, a unit a stripe: a server's route to its host,
 *                                and on to the GPU
 */
#include "workloads/serving/transfers/serving_paths.h"

struct OrrServingPaths {
  guint n_prefill, n_decode;
  guint n_from, n_to;        /* most cores of a replica that prefills, that decodes */
  OrrServingPath *handovers; /* n_prefill * n_from * n_decode * n_to */
  OrrServingPath *loads;     /* by replica; NULL: none is ever read */
  guint n_remotes;
  OrrServingPath *remotes; /* replica * core; NULL: none */
  guint n_embeddings, n_cores;
  OrrServingPath *embeddings; /* encoder * replica * core */
};

/* --- at compilation --- */

typedef struct {
  OrrServingWork *work;
  GHashTable *numbers; /* fabric link -> the program's + 1 */
  GArray *route;       /* of guint32: room to work in */
  GArray *uses;        /* of OrrLinkUse: of the path in the making */
  double latency_s;
} Planner;

static guint32 number_of(Planner *planner, guint32 fabric_link) {
  const OrrFabric *fabric = planner->work->world->fabric;
  OrrWork *work = &planner->work->work;
  gpointer known = g_hash_table_lookup(planner->numbers, GUINT_TO_POINTER(fabric_link));
  if (known) return GPOINTER_TO_UINT(known) - 1;
  const guint32 link = orr_fabric_program_link(fabric, work->program, fabric_link);
  orr_program_share_link(work->program, link);
  g_array_append_val(work->links, fabric_link);
  g_hash_table_insert(planner->numbers, GUINT_TO_POINTER(fabric_link), GUINT_TO_POINTER(link + 1));
  return link;
}

static void add_use(Planner *planner, guint32 fabric_link, guint32 weight) {
  const guint32 link = number_of(planner, fabric_link);
  ORR_EACH(OrrLinkUse, use, planner->uses) {
    if (use->link != link) continue;
    use->weight += weight;
    return;
  }
  ORR_APPEND(planner->uses, OrrLinkUse, {link, weight});
}

/* From GPU to GPU. */
static void add_route(Planner *planner, gint64 from, gint64 to, guint64 flow, guint32 weight) {
  g_array_set_size(planner->route, 0);
  const double latency_s =
      orr_fabric_route(planner->work->world->fabric, from, to, flow, planner->route);
  planner->latency_s = MAX(planner->latency_s, latency_s);
  ORR_EACH_VALUE(const guint32, link, planner->route)
    add_use(planner, link, weight * orr_fabric_mesh_links(planner->work->world->fabric, link));
}

static OrrServingPath end_path(Planner *planner) {
  const OrrServingPath path = {
      .uses = g_memdup2(planner->uses->data, planner->uses->len * sizeof(OrrLinkUse)),
      .n_uses = planner->uses->len,
      .latency_s = planner->latency_s};
  g_array_set_size(planner->uses, 0);
  planner->latency_s = 0;
  return path;
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
                 parallel->tp, parallel->pp, orr_serving_layers(&group->params, &group->model),
                 orr_inference_heads(&group->model, 0, &whole).kv_heads};
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

static void add_pair(Planner *planner, Pairing *pairing, gint64 src, gint64 dst, gint64 common) {
  if (common == 0) return;
  if (planner) {
    add_route(planner, src, dst, pairing->flow, (guint32)(common / pairing->divisor));
    pairing->sum += common / pairing->divisor;
  } else {
    pairing->divisor = gcd(common, pairing->divisor);
  }
}

static void pair_ranks(Planner *planner, Pairing *pairing) {
  const Shape *from = pairing->from, *to = pairing->to;
  for (gint64 i = 0; i < from->pp; i++)
    for (gint64 j = 0; j < to->pp; j++) {
      const gint64 layers = common_layers(from, i, to, j, pairing->layers);
      for (gint64 x = 0; layers > 0 && x < from->tp; x++)
        for (gint64 y = 0; y < to->tp; y++)
          add_pair(planner, pairing, from->first + i * from->tp + x, to->first + j * to->tp + y,
                   layers * common_heads(from, x, to, y));
    }
}

static OrrServingPath plan_handover(Planner *planner, guint p, guint p_core, guint d,
                                    guint d_core) {
  const OrrServingWork *work = planner->work;
  const Shape from = shape_of(work, p, p_core), to = shape_of(work, d, d_core);
  Pairing pairing = {
      .from = &from, .to = &to, .layers = work->world->model->layers, .flow = p * 1024 + d};
  pair_ranks(NULL, &pairing);
  pair_ranks(planner, &pairing);
  OrrServingPath path = end_path(planner);
  const double fraction =
      (double)pairing.divisor / (double)(from.stage * heads_of(&from)); /* of a rank's, in a unit */
  path.n_units = (double)pairing.sum;
  path.bytes_per_token = orr_serving_group(work, p)->kv_bytes_per_token * fraction;
  path.state_bytes = orr_serving_group(work, p)->state_bytes * fraction;
  return path;
}

static guint most_cores(const OrrServingWork *work, guint first, guint n) {
  gint64 most = 1;
  for (guint i = first; i < first + n; i++)
    most = MAX(most, orr_serving_group(work, i)->params.parallel.dp_attention);
  return (guint)most;
}

static guint place_of(const OrrServingPaths *paths, guint p, guint p_core, guint d, guint d_core) {
  return ((p * paths->n_from + p_core) * paths->n_decode + d - paths->n_prefill) * paths->n_to +
         d_core;
}

static void plan_handovers(Planner *planner, OrrServingPaths *paths) {
  const OrrServingWork *work = planner->work;
  paths->n_from = most_cores(work, 0, paths->n_prefill);
  paths->n_to = most_cores(work, paths->n_prefill, paths->n_decode);
  paths->handovers =
      g_new0(OrrServingPath, paths->n_prefill * paths->n_from * paths->n_decode * paths->n_to);
  for (guint p = 0; p < paths->n_prefill; p++)
    for (guint a = 0; a < orr_serving_group(work, p)->params.parallel.dp_attention; a++)
      for (guint d = paths->n_prefill; d < paths->n_prefill + paths->n_decode; d++)
        for (guint b = 0; b < orr_serving_group(work, d)->params.parallel.dp_attention; b++)
          paths->handovers[place_of(paths, p, a, d, b)] = plan_handover(planner, p, a, d, b);
}

static OrrServingPath plan_embedding(Planner *planner, guint encoder, guint replica, guint core) {
  const OrrServingWork *work = planner->work;
  const OrrModel *model = work->world->model;
  const Shape to = shape_of(work, replica, core);
  for (gint64 x = 0; x < to.tp; x++)
    add_route(planner, work->first_encoder + encoder, to.first + x, encoder * 1024 + replica, 1);
  OrrServingPath path = end_path(planner);
  path.n_units = (double)to.tp;
  path.bytes_per_token = orr_encoder_decoder_tokens(model) * (double)model->hidden *
                         orr_dtype_bytes((OrrDtype)work->params.formats.activations);
  return path;
}

static guint embedding_place(const OrrServingPaths *paths, const OrrServingWork *work,
                             guint encoder, guint to, guint core) {
  return (encoder * (guint)work->params.replicas + to) * paths->n_cores + core;
}

static void plan_embeddings(Planner *planner, OrrServingPaths *paths) {
  const OrrServingWork *work = planner->work;
  const guint n = (guint)work->params.encoders.replicas, replicas = (guint)work->params.replicas;
  paths->n_cores = most_cores(work, 0, replicas);
  paths->n_embeddings = n * replicas * paths->n_cores;
  paths->embeddings = g_new0(OrrServingPath, paths->n_embeddings);
  for (guint encoder = 0; encoder < n; encoder++)
    for (guint to = 0; to < replicas; to++)
      for (guint core = 0; core < orr_serving_group(work, to)->params.parallel.dp_attention; core++)
        paths->embeddings[embedding_place(paths, work, encoder, to, core)] =
            plan_embedding(planner, encoder, to, core);
}

static void add_weights(Planner *planner, gint64 gpu) {
  const OrrFabric *fabric = planner->work->world->fabric;
  const OrrStorage *storage = &planner->work->world->cluster->storage;
  const gint64 stripes = orr_storage_stripes(storage);
  g_array_set_size(planner->route, 0);
  orr_fabric_host_route(fabric, gpu, TRUE, planner->route);
  for (guint k = 0; k < planner->route->len; k++)
    add_use(planner, g_array_index(planner->route, guint32, k), (guint32)stripes);
  for (gint64 i = 0; i < stripes; i++) {
    g_array_set_size(planner->route, 0);
    const double latency_s = orr_fabric_storage_route(
        fabric, gpu, orr_storage_server(storage, gpu, i), TRUE, planner->route);
    planner->latency_s = MAX(planner->latency_s, latency_s);
    for (guint k = 0; k < planner->route->len; k++)
      add_use(planner, g_array_index(planner->route, guint32, k), 1);
  }
}

static void plan_loads(Planner *planner, OrrServingPaths *paths) {
  const OrrServingWork *work = planner->work;
  paths->loads = g_new0(OrrServingPath, work->params.replicas);
  for (gint64 i = 0; i < work->params.replicas; i++) {
    const OrrServedGroup *group = orr_serving_group(work, (guint)i);
    for (gint64 k = 0; k < group->gpus; k++)
      add_weights(planner, group->first_gpu + (i - group->first) * group->gpus + k);
    paths->loads[i] = end_path(planner);
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
static gint64 add_hosts(Planner *planner, const GArray *nodes, gint64 gpu) {
  const OrrFabric *fabric = planner->work->world->fabric;
  const guint n = nodes->len - 1, hosts = MIN(n, (guint)MOST_HOSTS);
  guint own = 0;
  while (g_array_index(nodes, guint32, own + 1) <= (guint32)gpu) own++;
  for (guint i = 0; i < hosts; i++) {
    const guint node = (own + i * n / hosts) % n;
    const guint32 first = g_array_index(nodes, guint32, node),
                  after = g_array_index(nodes, guint32, node + 1);
    g_array_set_size(planner->route, 0);
    if (node == own)
      orr_fabric_host_route(fabric, gpu, TRUE, planner->route);
    else
      add_route(planner, first + (gpu - g_array_index(nodes, guint32, own)) % (after - first), gpu,
                (guint64)gpu, 1);
    for (guint k = 0; node == own && k < planner->route->len; k++)
      add_use(planner, g_array_index(planner->route, guint32, k), 1);
  }
  return hosts;
}

static OrrServingPath plan_remote(Planner *planner, const GArray *nodes, guint replica,
                                  guint core) {
  const OrrServingWork *work = planner->work;
  const OrrStorage *storage = &work->world->cluster->storage;
  const Shape to = shape_of(work, replica, core);
  gint64 parts = orr_storage_stripes(storage);
  for (gint64 rank = 0; rank < to.tp * to.pp; rank++) {
    if (storage->servers > 0)
      add_weights(planner, to.first + rank);
    else
      parts = add_hosts(planner, nodes, to.first + rank);
  }
  OrrServingPath path = end_path(planner);
  path.n_units = (double)(parts * to.tp * to.pp);
  path.bytes_per_token = orr_serving_group(work, replica)->kv_bytes_per_token / (double)parts;
  return path;
}

static gboolean reads_store(const OrrServingWork *work) {
  return work->params.engine.tiers.remote_bytes > 0 &&
         work->params.engine.tiers.remote_bytes_per_s <= 0;
}

static void plan_remotes(Planner *planner, OrrServingPaths *paths) {
  const OrrServingWork *work = planner->work;
  g_autoptr(GArray) nodes = nodes_of(work->world->fabric);
  paths->n_cores = most_cores(work, 0, (guint)work->params.replicas);
  paths->n_remotes = (guint)work->params.replicas * paths->n_cores;
  paths->remotes = g_new0(OrrServingPath, paths->n_remotes);
  for (guint to = 0; to < work->params.replicas; to++)
    for (guint core = 0; core < orr_serving_group(work, to)->params.parallel.dp_attention; core++)
      paths->remotes[to * paths->n_cores + core] = plan_remote(planner, nodes, to, core);
}

static gboolean reads_weights(const OrrServingWork *work) {
  return work->params.start.weights && work->world->cluster->storage.servers > 0 &&
         (work->world->is_faulty || orr_serving_is_eventful(&work->params));
}

gboolean orr_serving_paths_plan(OrrServingWork *work, GError **error) {
  OrrServingPaths *paths = work->paths = g_new0(OrrServingPaths, 1);
  Planner planner = {work, g_hash_table_new(g_direct_hash, g_direct_equal),
                     g_array_new(FALSE, FALSE, sizeof(guint32)),
                     g_array_new(FALSE, FALSE, sizeof(OrrLinkUse)), 0};
  work->work.program = orr_program_new();
  work->work.links = g_array_new(FALSE, FALSE, sizeof(guint32));
  paths->n_prefill = (guint)work->params.disaggregation.prefill;
  paths->n_decode = (guint)work->params.replicas - paths->n_prefill;
  if (paths->n_prefill > 0) plan_handovers(&planner, paths);
  if (reads_weights(work)) plan_loads(&planner, paths);
  if (work->params.encoders.replicas > 0) plan_embeddings(&planner, paths);
  if (reads_store(work)) plan_remotes(&planner, paths);
  work->work.contends = paths->n_prefill > 0 || paths->loads || paths->embeddings || paths->remotes;
  g_hash_table_unref(planner.numbers);
  g_array_unref(planner.route);
  g_array_unref(planner.uses);
  work->work.link_bytes = g_new0(double, work->work.links->len + 1);
  return orr_program_seal(work->work.program, error);
}

void orr_serving_paths_free(OrrServingPaths *paths) {
  if (!paths) return;
  for (guint i = 0; paths->loads && i < paths->n_prefill + paths->n_decode; i++)
    g_free(paths->loads[i].uses);
  g_free(paths->loads);
  for (guint i = 0; i < paths->n_prefill * paths->n_from * paths->n_decode * paths->n_to; i++)
    g_free(paths->handovers[i].uses);
  g_free(paths->handovers);
  for (guint i = 0; i < paths->n_embeddings; i++) g_free(paths->embeddings[i].uses);
  g_free(paths->embeddings);
  for (guint i = 0; i < paths->n_remotes; i++) g_free(paths->remotes[i].uses);
  ORR_FREE(paths->remotes, paths);
}

const OrrServingPath *orr_serving_paths_remote(const OrrServingWork *work, guint replica,
                                               guint core) {
  return work->paths->remotes ? &work->paths->remotes[replica * work->paths->n_cores + core] : NULL;
}

const OrrServingPath *orr_serving_paths_embedding(const OrrServingWork *work, guint encoder,
                                                  guint to, guint to_core) {
  return &work->paths->embeddings[embedding_place(work->paths, work, encoder, to, to_core)];
}

const OrrServingPath *orr_serving_paths_handover(const OrrServingWork *work, guint from,
                                                 guint from_core, guint to, guint to_core) {
  return &work->paths->handovers[place_of(work->paths, from, from_core, to, to_core)];
}

const OrrServingPath *orr_serving_paths_load(const OrrServingWork *work, guint replica) {
  return work->paths->loads ? &work->paths->loads[replica] : NULL;
}

double orr_serving_paths_load_bytes(const OrrServingWork *work, guint replica) {
  const OrrServedGroup *group = orr_serving_group(work, replica);
  return MAX(group->weight_bytes, group->feed_bytes) / /* of the fuller pool */
         (double)orr_storage_stripes(&work->world->cluster->storage);
}

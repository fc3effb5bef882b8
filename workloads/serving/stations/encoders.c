/*
 * encoders.c - images are encoded on GPUs of their own, and their embeddings sent to where
 * prompts are computed.
 *
 *   request --each image--> router --> encoder: queue | a batch of its vision tower --> its cache of embeddings
 *           --all encoded--> the door, a replica --> embeddings of each encoder over the fabric --> its waiting requests
 *
 * As vLLM's disaggregated encoder (v0.19: docs/features/disagg_encoder.md, the proxy of
 * examples/online_serving/ disaggregated_encoder) and EPD (Singh et al. 2024, "Efficiently Serving
 * Large Multimodal Models Using EPD Disaggregation"): the proxy sends each image of a request to an
 * encoder by itself, and the request on when all are encoded; the prefill's ranks read tokens *
 * hidden * bytes each, which contend with all else on the fabric. A batch is at most `batch` tokens
 * of images; it takes the tower's kernels on one GPU and the engine's host times. Encoders and
 * replicas keep embeddings of `cache` tokens by least recent use (vLLM's encoder cache, whose
 * budget is max-num-batched-tokens, or one image): what an encoder has is not computed again, what
 * a replica has is not sent again.
 *
 * An encoder whose node is lost forgets all; its images go to others, or wait for one. It comes
 * back after `start.overhead`. Embeddings under way still arrive. A request whose replica is lost
 * is encoded again.
 *
 *   workload: {images: 2, encoders: {replicas: 2, router: least-loaded}}
 *
 * Oracle: alone, a request has its text's times after batch + latency + bytes / bandwidth.
 */
#include <math.h>

#include "workloads/serving/fleet/life.h"
#include "workloads/serving/replica/replica_private.h"

typedef struct OrrEncoding Encoding;

/* One image of a request. */
typedef struct {
  Encoding *encoding;
  guint64 image;
  guint encoder, generation; /* where it is encoded; of that encoder */
} Task;

/* A request's images, from its arrival until they are where its prompt is computed. */
struct OrrEncoding {
  OrrEncoders *encoders;
  OrrRequest *request; /* or its twin, once that is where it is to be computed */
  Task *tasks;
  guint n, n_left; /* images; of those, not encoded */
  OrrReplica *to;  /* NULL: not known */
  guint n_flows;   /* embeddings under way */
  gboolean is_void;
  guint place; /* in active */
};

typedef struct {
  OrrEncoders *encoders;
  guint index;
  GQueue waiting;      /* Task* */
  GPtrArray *batch;    /* Task*: being encoded */
  OrrTierStore *cache; /* by image; NULL: there is no room for one */
  double step_end_s;   /* G_MAXDOUBLE: idle */
  gboolean is_called;  /* a look is due now, when all that comes now is there */
  guint n_lost, generation;
  double slow;
} Encoder;

struct OrrEncoders {
  OrrFleet *fleet;
  guint n;
  Encoder *all;
  const OrrRouter *router;
  gpointer state;
  OrrServingCost *cost;
  OrrTierStore **caches; /* of replicas, by image */
  OrrPool *encodings;
  GPtrArray *active;
  GQueue homeless; /* Task*: no encoder is up */
  gint64 most;     /* images of a batch */
};

static const OrrServing *params_of(const OrrEncoders *encoders) {
  return &encoders->fleet->work->params;
}

static double now(const OrrEncoders *encoders) { return orr_engine_now(encoders->fleet->engine); }

/* --- life --- */

static gboolean is_open(void *user, guint i) {
  return ((const OrrEncoders *)user)->all[i].n_lost == 0;
}

static gint64 load(void *user, guint i, OrrRouterLoad by) {
  const Encoder *encoder = &((const OrrEncoders *)user)->all[i];
  return (gint64)encoder->waiting.length +
         (by == ORR_LOAD_WAITING ? 0 : (gint64)encoder->batch->len);
}

static void clear_encoding(gpointer encoding) { g_free(((Encoding *)encoding)->tasks); }

/* Images that @asked tokens hold, by default the engine's budget of a step, and never less than
 * one. */
static gint64 images_of(const OrrEncoders *encoders, gint64 asked) {
  const OrrServing *params = params_of(encoders);
  const double tokens = (double)(asked > 0 ? asked : params->engine.max_num_batched_tokens);
  return MAX(
      (gint64)floor(tokens / orr_encoder_decoder_tokens(encoders->fleet->work->world->model)), 1);
}

/* The tower is whole on one GPU. */
static gboolean open_cost(OrrEncoders *encoders, GError **error) {
  const OrrServingWork *work = encoders->fleet->work;
  OrrInferenceShard shard = orr_serving_shard(&work->params);
  shard.tp = shard.dp = shard.ep = 1;
  const OrrServingCostParams cost = {.world = work->world,
                                     .shard = shard,
                                     .pp = 1,
                                     .all_reduce = work->params.engine.all_reduce,
                                     .all_to_all = work->params.parallel.all_to_all};
  return (encoders->cost = orr_serving_cost_new(&cost, error)) != NULL;
}

static void open_all(OrrEncoders *encoders) {
  const OrrServing *params = params_of(encoders);
  const gint64 kept = images_of(encoders, params->encoders.cache);
  const OrrRouterView view = {.user = encoders,
                              .n = encoders->n,
                              .block_size = params->engine.block_size,
                              .seed = (guint64)encoders->fleet->work->world->seed,
                              .is_open = is_open,
                              .load = load};
  for (guint i = 0; i < encoders->n; i++)
    encoders->all[i] = (Encoder){.encoders = encoders,
                                 .index = i,
                                 .batch = g_ptr_array_new(),
                                 .cache = orr_tier_store_new(kept),
                                 .step_end_s = G_MAXDOUBLE,
                                 .slow = 1};
  for (gint64 i = 0; i < params->replicas; i++) encoders->caches[i] = orr_tier_store_new(kept);
  encoders->most = images_of(encoders, params->encoders.batch);
  encoders->router = (const OrrRouter *)params->encoders.router.entry;
  encoders->state = encoders->router->open(params->encoders.router.params, &view);
}

OrrEncoders *orr_encoders_new(OrrFleet *fleet, GError **error) {
  OrrEncoders *encoders = g_new0(OrrEncoders, 1);
  encoders->fleet = fleet;
  encoders->n = (guint)fleet->work->params.encoders.replicas;
  encoders->all = g_new0(Encoder, encoders->n);
  encoders->caches = g_new0(OrrTierStore *, fleet->work->params.replicas);
  encoders->encodings = orr_pool_new(sizeof(Encoding), clear_encoding);
  encoders->active = g_ptr_array_new();
  open_all(encoders);
  if (open_cost(encoders, error)) return encoders;
  orr_encoders_free(encoders);
  return NULL;
}

void orr_encoders_free(OrrEncoders *encoders) {
  if (!encoders) return;
  for (guint i = 0; i < encoders->n; i++) {
    g_queue_clear(&encoders->all[i].waiting);
    g_ptr_array_unref(encoders->all[i].batch);
    orr_tier_store_free(encoders->all[i].cache);
  }
  for (gint64 i = 0; i < params_of(encoders)->replicas; i++)
    orr_tier_store_free(encoders->caches[i]);
  encoders->router->close(encoders->state);
  orr_serving_cost_free(encoders->cost);
  orr_pool_free(encoders->encodings);
  g_ptr_array_unref(encoders->active);
  g_queue_clear(&encoders->homeless);
  g_free(encoders->caches);
  g_free(encoders->all);
  g_free(encoders);
}

gboolean orr_encoders_are_busy(const OrrEncoders *encoders) {
  for (guint i = 0; encoders && i < encoders->n; i++)
    if (encoders->all[i].step_end_s != G_MAXDOUBLE || encoders->all[i].is_called) return TRUE;
  return FALSE;
}

/* --- a step of an encoder --- */

static void ready(Task *task);

static void begin_step(Encoder *encoder);

static void step_ends(void *user) {
  Encoder *encoder = user;
  OrrEncoders *encoders = encoder->encoders;
  if (encoders->fleet->error || !orr_engine_same_date(now(encoders), encoder->step_end_s))
    return; /* it was lost */
  g_autoptr(GPtrArray) done = g_ptr_array_copy(encoder->batch, NULL, NULL);
  g_ptr_array_set_size(encoder->batch, 0);
  encoder->step_end_s = G_MAXDOUBLE;
  for (guint i = 0; i < done->len; i++) {
    Task *task = done->pdata[i];
    task->generation = encoder->generation;
    orr_tier_store_touch(encoder->cache, task->image);
    ready(task);
  }
  begin_step(encoder);
}

/* Whether @task's image is computed by this batch already. */
static gboolean is_in_batch(const Encoder *encoder, const Task *task) {
  for (guint i = 0; i < encoder->batch->len; i++)
    if (((const Task *)encoder->batch->pdata[i])->image == task->image) return TRUE;
  return FALSE;
}

/* First come, first served: images that are not kept, up to `most`, and those among them that
 * are. */
static void begin_step(Encoder *encoder) {
  OrrEncoders *encoders = encoder->encoders;
  OrrServingWork *work = encoders->fleet->work;
  const OrrServingHost *host = &work->params.engine.host;
  gint64 n = 0;
  if (encoder->step_end_s != G_MAXDOUBLE || encoder->n_lost > 0) return;
  for (Task *task; (task = g_queue_peek_head(&encoder->waiting));) {
    const gboolean is_kept =
        orr_tier_store_has(encoder->cache, task->image) || is_in_batch(encoder, task);
    if (!is_kept && n == encoders->most) break;
    n += !is_kept;
    work->image_hits += is_kept;
    g_ptr_array_add(encoder->batch, g_queue_pop_head(&encoder->waiting));
  }
  if (encoder->batch->len == 0) return;
  const double gpu_s = n > 0 ? encoder->slow * orr_serving_cost_images(encoders->cost, n) : 0;
  const double host_s = host->step_s + host->sequence_s * encoder->batch->len;
  work->images_encoded += n;
  work->encoder_busy_s += gpu_s;
  encoder->step_end_s = now(encoders) + (host->async ? fmax(gpu_s, host_s) : gpu_s + host_s);
  orr_engine_at(encoders->fleet->engine, encoder->step_end_s, step_ends, encoder);
}

static void called(void *user) {
  Encoder *encoder = user;
  encoder->is_called = FALSE;
  if (!encoder->encoders->fleet->error) begin_step(encoder);
}

/* --- images to encoders --- */

/* Routers see a request whose conversation is the image. */
static guint pick(OrrEncoders *encoders, const Task *task) {
  OrrRequest asked = {.id = task->encoding->request->id,
                      .group = task->encoding->request->group,
                      .client = task->encoding->request->client,
                      .stream = task->image};
  return encoders->router->pick(encoders->state, &asked, now(encoders));
}

static gboolean any_open(OrrEncoders *encoders) {
  for (guint i = 0; i < encoders->n; i++)
    if (is_open(encoders, i)) return TRUE;
  return FALSE;
}

static void place(Task *task) {
  OrrEncoders *encoders = task->encoding->encoders;
  if (!any_open(encoders)) {
    g_queue_push_tail(&encoders->homeless, task);
    return;
  }
  Encoder *encoder = &encoders->all[task->encoder = pick(encoders, task)];
  g_queue_push_tail(&encoder->waiting, task);
  if (encoder->is_called) return;
  encoder->is_called = TRUE;
  orr_engine_at(encoders->fleet->engine, now(encoders), called, encoder);
}

/* Those whose encoder was lost since are encoded once more. */
static gboolean place_lost(Encoding *encoding) {
  for (guint i = 0; i < encoding->n; i++) {
    Task *task = &encoding->tasks[i];
    if (task->generation == encoding->encoders->all[task->encoder].generation) continue;
    encoding->n_left++;
    place(task);
  }
  return encoding->n_left > 0;
}

static void send_embeddings(Encoding *encoding);

static void ready(Task *task) {
  Encoding *encoding = task->encoding;
  OrrFleet *fleet = encoding->encoders->fleet;
  if (--encoding->n_left > 0 || place_lost(encoding)) return;
  if (encoding->is_void)
    orr_encoders_drop(encoding);
  else if (encoding->to)
    send_embeddings(encoding);
  else
    fleet->encoded(fleet, encoding->request);
}

/* Of `distinct-images`, or one that nobody else shows. */
static guint64 draw_image(const OrrEncoders *encoders, const OrrRequest *request, guint i) {
  const gint64 distinct = params_of(encoders)->distinct_images;
  const guint64 own =
      orr_random_hash3((guint64)encoders->fleet->work->world->seed, request->id, i + 1);
  return distinct > 0 ? 1 + own % (guint64)distinct : own | G_GUINT64_CONSTANT(1) << 63;
}

void orr_encoders_begin(OrrEncoders *encoders, OrrRequest *request) {
  Encoding *encoding = orr_pool_take(encoders->encodings);
  Task *const tasks = g_renew(Task, encoding->tasks, request->pictures);
  *encoding = (Encoding){.encoders = encoders,
                         .request = request,
                         .tasks = tasks,
                         .n = request->pictures,
                         .n_left = request->pictures,
                         .place = encoders->active->len};
  g_ptr_array_add(encoders->active, encoding);
  request->encoding = encoding;
  request->encode_begin_s = now(encoders);
  for (guint i = 0; i < encoding->n; i++) {
    tasks[i] = (Task){.encoding = encoding, .image = draw_image(encoders, request, i)};
    place(&tasks[i]);
  }
}

/* --- embeddings to replicas --- */

void orr_encoders_drop(OrrEncoding *encoding) {
  GPtrArray *active = encoding->encoders->active;
  Encoding *last = active->pdata[active->len - 1];
  active->pdata[last->place = encoding->place] = last;
  g_ptr_array_set_size(active, (gint)active->len - 1);
  orr_pool_give(encoding->encoders->encodings, encoding);
}

static void arrive(Encoding *encoding) {
  OrrEncoders *encoders = encoding->encoders;
  OrrServingWork *work = encoders->fleet->work;
  OrrRequest *request = encoding->request;
  OrrReplica *replica = encoding->to;
  for (guint i = 0; i < encoding->n; i++)
    orr_tier_store_touch(encoders->caches[replica->index], encoding->tasks[i].image);
  work->encodings++;
  work->encode_s += now(encoders) - request->encode_begin_s;
  request->encoding = NULL;
  orr_encoders_drop(encoding);
  orr_replica_seat(replica, request);
}

static void flow_ends(void *user) {
  Encoding *encoding = user;
  if (--encoding->n_flows > 0) return;
  if (encoding->is_void)
    orr_encoders_drop(encoding);
  else
    arrive(encoding);
}

/* Images of @encoding that @encoder has and the replica has not, each once. */
static guint count_missing(const Encoding *encoding, guint encoder) {
  const OrrEncoders *encoders = encoding->encoders;
  guint n = 0;
  for (guint i = 0; i < encoding->n; i++) {
    const Task *task = &encoding->tasks[i];
    gboolean is_new = task->encoder == encoder &&
                      !orr_tier_store_has(encoders->caches[encoding->to->index], task->image);
    for (guint k = 0; k < i && is_new; k++) is_new = encoding->tasks[k].image != task->image;
    n += is_new;
  }
  return n;
}

static void send_embeddings(Encoding *encoding) {
  OrrEncoders *encoders = encoding->encoders;
  OrrFleet *fleet = encoders->fleet;
  const guint to = (guint)encoding->to->index;
  encoding->n_flows = 1; /* until all are on their way */
  for (guint i = 0; i < encoders->n; i++) {
    const guint n = count_missing(encoding, i);
    if (n == 0) continue;
    const OrrServingWay *way =
        orr_serving_embedding_way(fleet->work, i, to, encoding->request->core);
    encoding->n_flows++;
    fleet->work->embedding_bytes += n * way->bytes_per_token * way->n_units;
    orr_fleet_transfer(fleet, way, n * way->bytes_per_token,
                       params_of(encoders)->encoders.overhead_s, flow_ends, encoding);
  }
  flow_ends(encoding);
}

void orr_encoders_fetch(OrrEncoders *encoders, OrrReplica *replica, OrrRequest *request) {
  (void)encoders;
  Encoding *encoding = request->encoding;
  encoding->request = request;
  encoding->to = replica;
  if (!place_lost(encoding)) send_embeddings(encoding);
}

/* --- what is lost --- */

void orr_encoders_lose_replica(OrrEncoders *encoders, guint replica, GPtrArray *requests) {
  for (guint i = 0; i < encoders->active->len; i++) {
    Encoding *encoding = encoders->active->pdata[i];
    if (!encoding->to || encoding->is_void || (guint)encoding->to->index != replica) continue;
    encoding->is_void = TRUE; /* what is under way of it comes to its end */
    encoding->request->encoding = NULL;
    if (!encoding->request->is_twin) g_ptr_array_add(requests, encoding->request);
  }
  orr_tier_store_free(encoders->caches[replica]);
  encoders->caches[replica] =
      orr_tier_store_new(images_of(encoders, params_of(encoders)->encoders.cache));
}

static void lose(Encoder *encoder) {
  OrrEncoders *encoders = encoder->encoders;
  g_autoptr(GPtrArray) tasks = g_ptr_array_copy(encoder->batch, NULL, NULL);
  for (Task *task; (task = g_queue_pop_head(&encoder->waiting));) g_ptr_array_add(tasks, task);
  g_ptr_array_set_size(encoder->batch, 0);
  encoder->generation++;
  encoder->step_end_s = G_MAXDOUBLE;
  orr_tier_store_free(encoder->cache);
  encoder->cache = orr_tier_store_new(images_of(encoders, params_of(encoders)->encoders.cache));
  for (guint i = 0; i < tasks->len; i++) place(tasks->pdata[i]);
}

static void comes_back(void *user) {
  Encoder *encoder = user;
  OrrEncoders *encoders = encoder->encoders;
  if (--encoder->n_lost > 0 || encoders->fleet->error) return;
  const guint n = encoders->homeless.length;
  for (guint i = 0; i < n; i++) place(g_queue_pop_head(&encoders->homeless));
}

gboolean orr_encoders_change(OrrEncoders *encoders, const OrrGpuChange *change) {
  if (!encoders || change->gpu < encoders->fleet->work->first_encoder) return FALSE;
  Encoder *encoder = &encoders->all[change->gpu - encoders->fleet->work->first_encoder];
  if (!change->is_node)
    encoder->slow = change->factor;
  else if (change->factor > 0)
    orr_engine_after(encoders->fleet->engine, params_of(encoders)->start.overhead_s, comes_back,
                     encoder);
  else if (encoder->n_lost++ == 0)
    lose(encoder);
  return TRUE;
}

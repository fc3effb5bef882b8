/*
 * encoders.c - encodes images on GPUs of their own, and sends the embeddings to where prompts are
 * computed.
 *
 *   request --each image--> router --> encoder: queue | a batch of its vision tower
 *             --> its cache of embeddings
 *           --all encoded--> the gateway, a replica --> embeddings of each encoder over the fabric
 *             --> its waiting requests
 *
 * As vLLM's disaggregated encoder (v0.19: docs/features/disagg_encoder.md, the proxy of
 * examples/online_serving/ disaggregated_encoder) and EPD (Singh et al. 2024, "Efficiently Serving
 * Large Multimodal Models Using EPD Disaggregation"): the proxy sends each image of a request to an
 * encoder by itself, and the request on when all are encoded; the prefill's ranks read tokens *
 * hidden * bytes each, which contend with all else on the fabric. A batch is at most `batch` tokens
 * of images; it takes the tower's kernels on one GPU and the engine's host times. Encoders and
 * replicas keep embeddings of `cache` tokens by least recent use (vLLM's encoder cache, whose
 * budget is max-num-batched-tokens, or one image): what an encoder has is not computed again, what
 * a replica has is not sent again. The cache takes its bytes of each engine's memory, full or not.
 *
 * An encoder whose node is lost forgets everything. Its images go to other encoders, or wait for
 * one. It is back `start.overhead` after its node. Embeddings under way still arrive. The images of
 * a request whose replica is lost are encoded again.
 *
 *   workload: {images: 2, encoders: {replicas: 2, router: least-loaded}}
 *
 * Oracle: alone, a request has its text's times after batch + latency + bytes / bandwidth.
 */
#include "workloads/serving/stations/station.h"
#include "workloads/serving/transfers/transfers.h"

typedef struct Encoding Encoding;
typedef struct Encoders Encoders;

/* One image of a request. */
typedef struct {
  Encoding *encoding;
  guint64 image;
  guint encoder, generation; /* where it is encoded; of that encoder */
} Task;

/* A request's images, from its arrival until they are where its prompt is computed. */
struct Encoding {
  Encoders *encoders;
  OrrRequest *request; /* or its copy, if another replica computes the prompt */
  double begin_s;
  Task *tasks;
  guint n, n_left; /* images; images not yet encoded */
  OrrReplica *to;  /* NULL: not yet known */
  guint n_flows;   /* embeddings under way */
  gboolean is_void;
  guint place; /* in active */
};

typedef struct {
  Encoders *encoders;
  guint index;
  GQueue waiting;      /* Task* */
  GPtrArray *batch;    /* Task*: being encoded */
  OrrTierStore *cache; /* by image; NULL: there is no room for one */
  double step_end_s;   /* G_MAXDOUBLE: idle */
  gboolean is_called;  /* a look is due now, when all that comes now is there */
  guint n_lost, generation;
  double slow;
} Encoder;

/* What the station has of a request. */
typedef struct {
  guint n;            /* images of its prompt; 0: of a copy */
  Encoding *encoding; /* NULL: not begun, or its images are there */
} Entry;

struct Encoders {
  const OrrStop *stop;
  const OrrStop *embeddings; /* where requests fetch them */
  OrrServingRun *run;
  GHashTable *entries; /* OrrRequest* -> Entry*, owned */
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

static const OrrServing *params_of(const Encoders *encoders) {
  return &encoders->run->work->params;
}

static double now(const Encoders *encoders) { return orr_serving_run_now(encoders->run); }

/* --- life --- */

static gboolean is_open(void *user, guint i) {
  return ((const Encoders *)user)->all[i].n_lost == 0;
}

static gint64 load(void *user, guint i, OrrRouterLoad by) {
  const Encoder *encoder = &((const Encoders *)user)->all[i];
  return (gint64)encoder->waiting.length +
         (by == ORR_LOAD_WAITING ? 0 : (gint64)encoder->batch->len);
}

static void clear_encoding(gpointer encoding) { g_free(((Encoding *)encoding)->tasks); }

/* Images that @asked tokens hold, by default the engine's budget of a step, and never less than
 * one. */
static gint64 images_in(const OrrServing *params, const OrrModel *model, gint64 asked) {
  const double tokens = (double)(asked > 0 ? asked : params->engine.max_num_batched_tokens);
  return MAX((gint64)floor(tokens / orr_encoder_decoder_tokens(model)), 1);
}

static gint64 images_of(const Encoders *encoders, gint64 asked) {
  return images_in(params_of(encoders), encoders->run->work->world->model, asked);
}

double orr_encoders_cache_bytes(const OrrServing *params, const OrrModel *model) {
  if (params->encoders.replicas == 0 || model->encoder.layers == 0) return 0;
  const double images = (double)images_in(params, model, params->encoders.cache);
  return images * orr_encoder_decoder_tokens(model) * (double)model->hidden *
         orr_dtype_bytes((OrrDtype)params->formats.activations);
}

/* The tower is whole on one GPU. */
static gboolean open_cost(Encoders *encoders, GError **error) {
  const OrrServingWork *work = encoders->run->work;
  OrrInferenceShard shard = orr_serving_shard(&work->params);
  shard.tp = shard.dp = shard.ep = 1;
  const OrrServingCostParams cost = {.world = work->world,
                                     .shard = shard,
                                     .pp = 1,
                                     .kernels = (OrrKernelLibrary)work->params.engine.kernels,
                                     .nccl = work->params.engine.nccl,
                                     .all_reduce = work->params.engine.all_reduce,
                                     .all_to_all = work->params.parallel.all_to_all};
  return (encoders->cost = orr_serving_cost_new(&cost, error)) != NULL;
}

static void open_all(Encoders *encoders) {
  const OrrServing *params = params_of(encoders);
  const gint64 kept = images_of(encoders, params->encoders.cache);
  const OrrRouterView view = {.user = encoders,
                              .n = encoders->n,
                              .block_size = params->engine.block_size,
                              .seed = (guint64)encoders->run->work->world->seed,
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

static Entry *entry_of(const Encoders *encoders, const OrrRequest *request) {
  return g_hash_table_lookup(encoders->entries, request);
}

static void close(gpointer state) {
  Encoders *encoders = state;
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
  g_hash_table_unref(encoders->entries);
  g_queue_clear(&encoders->homeless);
  ORR_FREE(encoders->caches, encoders->all, encoders);
}

static gboolean open(OrrStop *stop, GError **error) {
  Encoders *encoders = g_new0(Encoders, 1);
  encoders->stop = stop;
  encoders->run = stop->route->run;
  encoders->n = (guint)encoders->run->work->params.encoders.replicas;
  encoders->all = g_new0(Encoder, encoders->n);
  encoders->caches = g_new0(OrrTierStore *, encoders->run->work->params.replicas);
  encoders->encodings = orr_pool_new(sizeof(Encoding), clear_encoding);
  encoders->active = g_ptr_array_new();
  encoders->entries = g_hash_table_new_full(g_direct_hash, g_direct_equal, NULL, g_free);
  open_all(encoders);
  stop->state = encoders;
  if (open_cost(encoders, error)) return TRUE;
  close(encoders);
  return FALSE;
}

static gboolean is_busy(gpointer state) {
  const Encoders *encoders = state;
  for (guint i = 0; i < encoders->n; i++)
    if (encoders->all[i].step_end_s != G_MAXDOUBLE || encoders->all[i].is_called) return TRUE;
  return FALSE;
}

/* --- a step of an encoder --- */

static void ready(Task *task);

static void begin_step(Encoder *encoder);

static void step_ends(void *user) {
  Encoder *encoder = user;
  Encoders *encoders = encoder->encoders;
  if (encoders->run->error || !orr_engine_same_date(now(encoders), encoder->step_end_s))
    return; /* it was lost */
  g_autoptr(GPtrArray) done = g_ptr_array_copy(encoder->batch, NULL, NULL);
  g_ptr_array_set_size(encoder->batch, 0);
  encoder->step_end_s = G_MAXDOUBLE;
  ORR_EACH_POINTER(Task, task, done) {
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
  Encoders *encoders = encoder->encoders;
  OrrServingWork *work = encoders->run->work;
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
  orr_engine_at(encoders->run->engine, encoder->step_end_s, step_ends, encoder);
}

static void called(void *user) {
  Encoder *encoder = user;
  encoder->is_called = FALSE;
  if (!encoder->encoders->run->error) begin_step(encoder);
}

/* --- images to encoders --- */

/* Routers see a request whose conversation is the image. */
static guint pick(Encoders *encoders, const Task *task) {
  OrrRequest asked = {.id = task->encoding->request->id,
                      .group = task->encoding->request->group,
                      .client = task->encoding->request->client,
                      .stream = task->image};
  return encoders->router->pick(encoders->state, &asked, now(encoders));
}

static gboolean any_open(Encoders *encoders) {
  for (guint i = 0; i < encoders->n; i++)
    if (is_open(encoders, i)) return TRUE;
  return FALSE;
}

static void place(Task *task) {
  Encoders *encoders = task->encoding->encoders;
  if (!any_open(encoders)) return g_queue_push_tail(&encoders->homeless, task);
  Encoder *encoder = &encoders->all[task->encoder = pick(encoders, task)];
  g_queue_push_tail(&encoder->waiting, task);
  if (encoder->is_called) return;
  encoder->is_called = TRUE;
  orr_engine_at(encoders->run->engine, now(encoders), called, encoder);
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

static void drop(Encoding *encoding);

static void ready(Task *task) {
  Encoding *encoding = task->encoding;
  if (--encoding->n_left > 0 || place_lost(encoding)) return;
  if (encoding->is_void)
    drop(encoding);
  else if (encoding->to)
    send_embeddings(encoding);
  else
    orr_route_go_on(encoding->encoders->stop, encoding->request);
}

/* Of `distinct-images`, or one that nobody else shows. */
static guint64 draw_image(const Encoders *encoders, const OrrRequest *request, guint i) {
  const gint64 distinct = params_of(encoders)->distinct_images;
  const guint64 own =
      orr_random_hash3((guint64)encoders->run->work->world->seed, request->id, i + 1);
  return distinct > 0 ? 1 + own % (guint64)distinct : own | G_GUINT64_CONSTANT(1) << 63;
}

static void begin(Encoders *encoders, OrrRequest *request, Entry *entry) {
  Encoding *encoding = orr_pool_take(encoders->encodings);
  Task *const tasks = g_renew(Task, encoding->tasks, entry->n);
  *encoding = (Encoding){.encoders = encoders,
                         .request = request,
                         .begin_s = now(encoders),
                         .tasks = tasks,
                         .n = entry->n,
                         .n_left = entry->n,
                         .place = encoders->active->len};
  g_ptr_array_add(encoders->active, encoding);
  entry->encoding = encoding;
  for (guint i = 0; i < encoding->n; i++) {
    tasks[i] = (Task){.encoding = encoding, .image = draw_image(encoders, request, i)};
    place(&tasks[i]);
  }
}

/* Engines do not encode what the station does. */
static OrrStationAnswer enter(gpointer state, OrrRequest *request) {
  Encoders *encoders = state;
  if (request->images == 0) return ORR_STATION_PASSES;
  Entry *entry = entry_of(encoders, request);
  if (!entry) {
    entry = g_new0(Entry, 1);
    g_hash_table_insert(encoders->entries, request, entry);
  }
  entry->n = request->images;
  request->images = 0;
  begin(encoders, request, entry);
  return ORR_STATION_HOLDS;
}

static void lose(gpointer state, OrrRequest *request) {
  Entry *entry = entry_of(state, request);
  if (!entry) return;
  request->images = entry->n;
  entry->encoding = NULL;
}

/* The copy has no entry of its own yet, or gives back what it was given. */
static void move(gpointer state, OrrRequest *from, OrrRequest *to) {
  Encoders *encoders = state;
  Entry *source = entry_of(encoders, from), *target = entry_of(encoders, to);
  if (!source || !source->encoding) return;
  if (!target) {
    target = g_new0(Entry, 1);
    g_hash_table_insert(encoders->entries, to, target);
  }
  target->encoding = g_steal_pointer(&source->encoding);
}

/* --- embeddings to replicas --- */

static void drop(Encoding *encoding) {
  GPtrArray *active = encoding->encoders->active;
  Encoding *last = active->pdata[active->len - 1];
  active->pdata[last->place = encoding->place] = last;
  g_ptr_array_set_size(active, (gint)active->len - 1);
  orr_pool_give(encoding->encoders->encodings, encoding);
}

static void arrive(Encoding *encoding) {
  Encoders *encoders = encoding->encoders;
  OrrServingWork *work = encoders->run->work;
  OrrRequest *request = encoding->request;
  for (guint i = 0; i < encoding->n; i++)
    orr_tier_store_touch(encoders->caches[orr_replica_index(encoding->to)],
                         encoding->tasks[i].image);
  work->encodings++;
  work->encode_s += now(encoders) - encoding->begin_s;
  entry_of(encoders, request)->encoding = NULL;
  drop(encoding);
  orr_route_go_on(encoders->embeddings, request);
}

static void flow_ends(void *user) {
  Encoding *encoding = user;
  if (--encoding->n_flows > 0) return;
  if (encoding->is_void)
    drop(encoding);
  else
    arrive(encoding);
}

/* Images of @encoding that @encoder has and the replica has not, each once. */
static guint count_missing(const Encoding *encoding, guint encoder) {
  const Encoders *encoders = encoding->encoders;
  guint n = 0;
  for (guint i = 0; i < encoding->n; i++) {
    const Task *task = &encoding->tasks[i];
    gboolean is_new =
        task->encoder == encoder &&
        !orr_tier_store_has(encoders->caches[orr_replica_index(encoding->to)], task->image);
    for (guint k = 0; k < i && is_new; k++) is_new = encoding->tasks[k].image != task->image;
    n += is_new;
  }
  return n;
}

static void send_embeddings(Encoding *encoding) {
  Encoders *encoders = encoding->encoders;
  OrrServingRun *run = encoders->run;
  const guint to = orr_replica_index(encoding->to);
  encoding->n_flows = 1; /* until all are on their way */
  for (guint i = 0; i < encoders->n; i++) {
    const guint n = count_missing(encoding, i);
    if (n == 0) continue;
    const OrrServingPath *path =
        orr_serving_paths_embedding(run->work, i, to, encoding->request->core);
    encoding->n_flows++;
    run->work->embedding_bytes += n * path->bytes_per_token * path->n_units;
    orr_transfers_begin(run, path, n * path->bytes_per_token,
                        params_of(encoders)->encoders.overhead_s, flow_ends, encoding);
  }
  flow_ends(encoding);
}

/* At the replica: waits until the embeddings are there. */
static OrrStationAnswer fetch(gpointer state, OrrRequest *request) {
  Encoders *encoders = state;
  const Entry *entry = entry_of(encoders, request);
  if (!entry || !entry->encoding) return ORR_STATION_PASSES;
  Encoding *encoding = entry->encoding;
  encoding->request = request;
  encoding->to = encoders->stop->route->replicas[request->replica];
  if (!place_lost(encoding)) send_embeddings(encoding);
  return ORR_STATION_HOLDS;
}

/* --- what is lost --- */

static void lose_replica(gpointer state, guint replica, GPtrArray *requests) {
  Encoders *encoders = state;
  ORR_EACH_POINTER(Encoding, encoding, encoders->active) {
    if (!encoding->to || encoding->is_void || orr_replica_index(encoding->to) != replica) continue;
    encoding->is_void = TRUE; /* what is under way of it comes to its end */
    entry_of(encoders, encoding->request)->encoding = NULL;
    g_ptr_array_add(requests, encoding->request);
  }
  orr_tier_store_free(encoders->caches[replica]);
  encoders->caches[replica] =
      orr_tier_store_new(images_of(encoders, params_of(encoders)->encoders.cache));
}

static void lose_encoder(Encoder *encoder) {
  Encoders *encoders = encoder->encoders;
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
  Encoders *encoders = encoder->encoders;
  if (--encoder->n_lost > 0 || encoders->run->error) return;
  const guint n = encoders->homeless.length;
  for (guint i = 0; i < n; i++) place(g_queue_pop_head(&encoders->homeless));
}

static gboolean gpu_changed(gpointer state, const OrrGpuChange *change) {
  Encoders *encoders = state;
  if (change->gpu < encoders->run->work->first_encoder) return FALSE;
  Encoder *encoder = &encoders->all[change->gpu - encoders->run->work->first_encoder];
  if (!change->is_node)
    encoder->slow = change->factor;
  else if (change->factor > 0)
    orr_engine_after(encoders->run->engine, params_of(encoders)->start.overhead_s, comes_back,
                     encoder);
  else if (encoder->n_lost++ == 0)
    lose_encoder(encoder);
  return TRUE;
}

/* Rejected or failed: what is under way for it comes to its end. */
static void forget(gpointer state, const OrrRequest *request) {
  Encoders *encoders = state;
  const Entry *entry = entry_of(encoders, request);
  if (!entry) return;
  if (entry->encoding) drop(entry->encoding);
  g_hash_table_remove(encoders->entries, request);
}

/* --- the stations --- */

static gboolean is_on(const OrrServing *params) { return params->encoders.replicas > 0; }

extern const OrrStation orr_station_encoders, orr_station_embeddings;

static gboolean open_embeddings(OrrStop *stop, GError **error) {
  Encoders *encoders = orr_route_state(stop->route, &orr_station_encoders);
  encoders->embeddings = stop;
  stop->state = encoders;
  return TRUE;
}

static void check(const OrrServing *params, const OrrModel *model, OrrPlace place,
                  OrrDiags *diags) {
  const OrrEncoderPool *encoders = &params->encoders;
  const OrrRouter *router = (const OrrRouter *)encoders->router.entry;
  if (params->images == 0)
    orr_diags_error(diags, place, "encoders (%ld) have nothing to encode: give images",
                    encoders->replicas);
  if (router && router->on_blocks)
    orr_diags_error(diags, place,
                    "encoders.router %s goes by the blocks in key-value caches, and encoders have "
                    "none: use session-affinity, which keeps an image where it was",
                    router->entry.name);
}

const OrrStation orr_station_encoders = {
    .entry = {"encoders", "Encodes images on GPUs of their own.", NULL},
    .section = "encoders",
    .is_on = is_on,
    .check = check,
    .open = open,
    .close = close,
    .enter = enter,
    .forget = forget,
    .lose = lose,
    .move = move,
    .lose_replica = lose_replica,
    .gpu_changed = gpu_changed,
    .is_busy = is_busy,
};

const OrrStation orr_station_embeddings = {
    .entry = {"embeddings", "Sends embeddings to where the prompt is computed.", NULL},
    .section = "encoders",
    .is_on = is_on,
    .open = open_embeddings,
    .enter = fetch,
};

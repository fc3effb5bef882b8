/*
 * cache_tiers.c - what caches below HBM are read for: by a step that waits, or for a request that
 * queues.
 *
 *   an SSD                      one read after another, first come, first served: of a replica, or
 *                               of all replicas of a node (ssd-of)
 *   the store on the network    flows to each rank of a core over the fabric (serving_paths.c);
 *                               with remote-bandwidth a rate, for `remote-readers` at once
 *   prefetch: none              a step begins when what it found is read (LMCache's blocking
 *                               retrieve)
 *             others            found on SSD or in the store by a request that joins the queue,
 *                               blocks are read to host memory, in batches; a step waits for what
 *                               is in host memory alone, and computes the rest
 *
 * Prefetching is SGLang's HiCache (v0.5: managers/cache_controller.py, mem_cache/hiradix_cache.py):
 * from `prefetch-threshold` tokens on (256), 128 blocks a batch; the request begins
 *
 *   best-effort     when there is room, with the batches that have come
 *   wait-complete   when all have; others pass it
 *   timeout         when all have, or after 2 s + 0.1 s for each 1,024 tokens, 30 s at most
 *
 * What host memory has of the prompt stays there meanwhile; a prompt that host memory cannot hold
 * whole is not prefetched. A batch under way when its request begins comes to its end, and is the
 * last. Reads for a replica that is lost end, too.
 *
 * Oracle: n reads of s seconds that come to one server at once wait 0, s, ..., (n - 1) s; c readers
 * begin c of them at once (tests/workloads/serving/test_serving_reads.c).
 *
 *   workload: {engine: {prefix-caching: radix,
 *                       cache-tiers: {host: 100 GiB, remote: 1 TiB, prefetch: timeout}}}
 */
#include "workloads/serving/stations/station.h"
#include "workloads/serving/transfers/transfers.h"
#include "workloads/service_pool.h"

enum { BLOCKS_A_BATCH = 128 }; /* storage_batch_size, cache_controller.py */
/* PrefetchTimeoutConfig of SGLang since May 2026 (its PR 23309) */
#define TIMEOUT_BASE_S 2.0
#define TIMEOUT_1024_TOKENS_S 0.1
#define TIMEOUT_MOST_S 30.0
#define ROUNDING_S 1e-9

typedef struct {
  OrrServingRun *run;
  GHashTable *prefetches; /* OrrRequest* -> Prefetch* */
  OrrPool *pool;          /* of Prefetch */
  OrrPool *reads;         /* of Read */
  OrrPool *fetches;       /* of Fetch */
  OrrServicePool **ssds;  /* by replica; several may have one */
  GPtrArray *servers;     /* OrrServicePool*: each SSD, and the store; owned */
  OrrServicePool *store;
} CacheTiers;

/* A read that queues for an SSD, or for the store; without `done` a write to the SSD. */
typedef struct {
  CacheTiers *tiers;
  OrrTier tier;
  double asked_s, takes_s;
  OrrEngineCall done;
  void *user;
} Fetch;

/* Of a step. */
typedef struct {
  CacheTiers *tiers;
  OrrReplica *replica;
  guint generation;
} Read;

typedef struct {
  guint64 key;
  OrrTier tier;
} Wanted;

/* Of a request that waits. */
typedef struct {
  CacheTiers *tiers;
  OrrReplica *replica;
  OrrRequest *request; /* NULL: it has begun */
  guint generation;    /* of the replica: another one, and the request is not here any more */
  guint n_calls;       /* on the calendar */
  guint core;
  GArray *wanted;        /* of Wanted */
  GArray *here;          /* of guint64: keys of the prompt's blocks that host memory has */
  guint next, end;       /* of the batch under way */
  gboolean is_held_back; /* other requests pass its request */
} Prefetch;

static void clear_prefetch(gpointer prefetch) {
  if (((Prefetch *)prefetch)->wanted) g_array_unref(((Prefetch *)prefetch)->wanted);
  if (((Prefetch *)prefetch)->here) g_array_unref(((Prefetch *)prefetch)->here);
}

static gboolean is_here(const Prefetch *prefetch) {
  return prefetch->generation == orr_replica_generation(prefetch->replica) && prefetch->request;
}

/* Its request begins, or is lost: what is under way comes to its end. */
static void stop_prefetch(CacheTiers *tiers, const OrrRequest *request) {
  Prefetch *prefetch = g_hash_table_lookup(tiers->prefetches, request);
  if (!prefetch) return;
  prefetch->request = NULL;
  g_hash_table_remove(tiers->prefetches, request);
}

/* --- queues --- */

static void fetched(void *user, void *data) {
  CacheTiers *tiers = user;
  const Fetch one = *(const Fetch *)data;
  OrrTierUse *use = &tiers->run->work->tier_use[one.tier];
  orr_pool_give(tiers->fetches, data);
  use->busy_s += one.takes_s;
  if (!one.done) return;
  use->reads++;
  const double waited_s = orr_engine_now(tiers->run->engine) - one.asked_s - one.takes_s;
  if (waited_s > ROUNDING_S) use->waited_s += waited_s;
  one.done(one.user);
}

/* Reads @rank_bytes for each rank of a core of @replica. What a step waits for (@to_gpu) crosses
 * each GPU's link to its host, too, which may be slower than the tier; what is prefetched crosses
 * it later. */
static void fetch(CacheTiers *tiers, const OrrReplica *replica, OrrTier tier, double rank_bytes,
                  gboolean to_gpu, OrrEngineCall done, void *user) {
  const guint i = orr_replica_index(replica);
  const OrrServedGroup *group = orr_serving_group(tiers->run->work, i);
  const OrrServingParallel *parallel = &group->params.parallel;
  const OrrCacheTiers *params = &tiers->run->work->params.engine.tiers;
  const double link_s =
      to_gpu ? rank_bytes / orr_cluster_host_copy_bytes_per_s(&group->cluster) : 0;
  const double takes_s =
      tier == ORR_TIER_SSD
          ? params->ssd_latency_s +
                fmax(rank_bytes * (double)(parallel->tp * parallel->pp) / params->ssd_bytes_per_s,
                     link_s)
          : params->remote_latency_s + fmax(rank_bytes / params->remote_bytes_per_s, link_s);
  Fetch *one = orr_pool_take(tiers->fetches);
  *one = (Fetch){tiers, tier, orr_engine_now(tiers->run->engine), takes_s, done, user};
  orr_service_pool_add_for(tier == ORR_TIER_SSD ? tiers->ssds[i] : tiers->store, one, takes_s);
}

/* Writes what came to the SSD of @replica since its last step: reads that come later wait. */
static void write_new(CacheTiers *tiers, const OrrReplica *replica) {
  const guint i = orr_replica_index(replica);
  const OrrServedGroup *group = orr_serving_group(tiers->run->work, i);
  const OrrEngineParams *engine = &tiers->run->work->params.engine;
  OrrTierStore *ssd = orr_replica_tiers(replica)->stores[ORR_TIER_SSD];
  const gint64 n = ssd ? orr_tier_store_take_new(ssd) : 0;
  if (n == 0 || engine->tiers.ssd_write_bytes_per_s <= 0) return;
  const double bytes =
      (double)(n * engine->block_size * group->params.parallel.tp * group->params.parallel.pp) *
      group->kv_bytes_per_token;
  const double takes_s = bytes / engine->tiers.ssd_write_bytes_per_s;
  Fetch *one = orr_pool_take(tiers->fetches);
  *one = (Fetch){tiers, ORR_TIER_SSD, orr_engine_now(tiers->run->engine), takes_s, NULL, NULL};
  orr_service_pool_add_for(tiers->ssds[i], one, takes_s);
}

static OrrServicePool *add_server(CacheTiers *tiers, OrrTier tier, gint64 workers) {
  const OrrServiceParams params = {
      .engine = tiers->run->engine, .workers = workers, .done = fetched, .user = tiers};
  OrrServicePool *server = orr_service_pool_new(&params);
  g_ptr_array_add(tiers->servers, server);
  tiers->run->work->tier_use[tier].n_servers += (guint)workers;
  return server;
}

static guint node_of(const OrrServingWork *work, guint replica) {
  const OrrServedGroup *group = orr_serving_group(work, replica);
  return (guint)orr_fabric_node(work->world->fabric,
                                group->first_gpu + ((gint64)replica - group->first) * group->gpus);
}

static void add_servers(CacheTiers *tiers) {
  OrrServingWork *work = tiers->run->work;
  const OrrCacheTiers *params = &work->params.engine.tiers;
  for (guint i = 0; params->ssd_bytes > 0 && i < work->params.replicas; i++) {
    guint k = 0;
    while (params->ssd_of == ORR_SSD_OF_NODE && k < i && node_of(work, k) != node_of(work, i)) k++;
    tiers->ssds[i] = params->ssd_of == ORR_SSD_OF_NODE && k < i
                         ? tiers->ssds[k]
                         : add_server(tiers, ORR_TIER_SSD, 1);
  }
  tiers->store = add_server(tiers, ORR_TIER_REMOTE, params->remote_readers);
}

/* --- a step that waits --- */

static void read_ends(void *user) {
  const Read read = *(const Read *)user;
  orr_pool_give(read.tiers->reads, user);
  if (read.generation == orr_replica_generation(read.replica)) orr_replica_read_ends(read.replica);
}

static void load(CacheTiers *tiers, OrrReplica *replica, guint core, OrrTier tier) {
  const OrrServingWork *work = tiers->run->work;
  const guint i = orr_replica_index(replica);
  const double tokens = (double)orr_replica_core(replica, core)->loaded_tokens[tier];
  const OrrServingPath *path =
      tier == ORR_TIER_REMOTE ? orr_serving_paths_remote(work, i, core) : NULL;
  if (tokens <= 0) return;
  Read *read = orr_pool_take(tiers->reads);
  *read = (Read){tiers, replica, orr_replica_generation(replica)};
  orr_replica_wait(replica, 1);
  if (path)
    orr_transfers_begin(tiers->run, path, tokens * path->bytes_per_token,
                        work->params.engine.tiers.remote_latency_s, read_ends, read);
  else
    fetch(tiers, replica, tier, tokens * orr_serving_group(work, i)->kv_bytes_per_token, TRUE,
          read_ends, read);
}

static void planned(gpointer state, OrrReplica *replica) {
  for (guint core = 0; core < orr_replica_n_cores(replica); core++) {
    load(state, replica, core, ORR_TIER_SSD);
    load(state, replica, core, ORR_TIER_REMOTE);
  }
  write_new(state, replica);
}

/* --- a request that queues --- */

static void begin_batch(Prefetch *prefetch);

static void leave(Prefetch *prefetch) {
  if (--prefetch->n_calls == 0) orr_pool_give(prefetch->tiers->pool, prefetch);
}

static void let_begin(Prefetch *prefetch) {
  prefetch->is_held_back = FALSE;
  orr_replica_notice(prefetch->replica);
}

static OrrTierStore *host_of(const Prefetch *prefetch) {
  return orr_replica_tiers(prefetch->replica)->stores[ORR_TIER_HOST];
}

/* Makes the first @n prefetched blocks, and what host memory has of the prompt, its newest, the
 * head last: so that they are not evicted for what follows them (SGLang's protect_host). */
static void keep(const Prefetch *prefetch, guint n) {
  for (guint i = n; i-- > 0;)
    orr_tier_store_touch(host_of(prefetch), g_array_index(prefetch->wanted, Wanted, i).key);
  for (guint i = prefetch->here->len; i-- > 0;)
    orr_tier_store_touch(host_of(prefetch), g_array_index(prefetch->here, guint64, i));
}

static void batch_ends(void *user) {
  Prefetch *prefetch = user;
  if (prefetch->generation == orr_replica_generation(prefetch->replica))
    keep(prefetch, prefetch->end);
  prefetch->next = prefetch->end;
  if (is_here(prefetch) && prefetch->next < prefetch->wanted->len) {
    begin_batch(prefetch);
  } else if (is_here(prefetch)) {
    let_begin(prefetch);
    stop_prefetch(prefetch->tiers, prefetch->request);
  }
  leave(prefetch);
}

/* The next blocks of one tier. */
static void begin_batch(Prefetch *prefetch) {
  const Wanted *first = &g_array_index(prefetch->wanted, Wanted, prefetch->next);
  const guint most = MIN(prefetch->next + BLOCKS_A_BATCH, prefetch->wanted->len);
  prefetch->end = prefetch->next;
  while (prefetch->end < most &&
         g_array_index(prefetch->wanted, Wanted, prefetch->end).tier == first->tier)
    prefetch->end++;
  CacheTiers *tiers = prefetch->tiers;
  const OrrServingWork *work = tiers->run->work;
  const guint i = orr_replica_index(prefetch->replica);
  const double tokens = (double)((prefetch->end - prefetch->next) * work->params.engine.block_size);
  const OrrServingPath *path =
      first->tier == ORR_TIER_REMOTE ? orr_serving_paths_remote(work, i, prefetch->core) : NULL;
  prefetch->n_calls++;
  if (path)
    orr_transfers_begin(tiers->run, path, tokens * path->bytes_per_token,
                        work->params.engine.tiers.remote_latency_s, batch_ends, prefetch);
  else
    fetch(tiers, prefetch->replica, first->tier,
          tokens * orr_serving_group(work, i)->kv_bytes_per_token, FALSE, batch_ends, prefetch);
}

static void time_is_up(void *user) {
  Prefetch *prefetch = user;
  if (is_here(prefetch)) let_begin(prefetch);
  leave(prefetch);
}

/* Blocks of @request's prompt that host memory has, and that only SSD and store have, up to the
 * first that nobody has. */
static void look(const OrrTiers *tiers, const OrrCore *core, const OrrRequest *request,
                 GArray *wanted, GArray *here) {
  const gint64 size = orr_kv_block_size(core->kv), most = (orr_request_wanted(request) - 1) / size;
  g_array_set_size(wanted, 0);
  g_array_set_size(here, 0);
  for (gint64 n = orr_kv_lookup(core->kv, request) / size; n < most; n++) {
    const guint64 key = orr_request_block_key(request, n, size);
    const int tier = orr_tiers_find(tiers, key);
    const Wanted one = {key, (OrrTier)tier};
    if (tier < 0) return;
    if (tier != ORR_TIER_HOST)
      g_array_append_val(wanted, one);
    else
      g_array_append_val(here, key);
  }
}

static void hold_until_time(Prefetch *prefetch, double tokens) {
  prefetch->n_calls++;
  orr_engine_after(prefetch->tiers->run->engine,
                   fmin(TIMEOUT_BASE_S + TIMEOUT_1024_TOKENS_S * tokens / 1024, TIMEOUT_MOST_S),
                   time_is_up, prefetch);
}

static void waits(gpointer state, OrrReplica *replica, OrrRequest *request) {
  CacheTiers *tiers = state;
  const OrrEngineParams *engine = &tiers->run->work->params.engine;
  if (engine->tiers.prefetch == ORR_PREFETCH_NONE) return;
  Prefetch *prefetch = orr_pool_take(tiers->pool);
  GArray *wanted = prefetch->wanted ? prefetch->wanted : g_array_new(FALSE, FALSE, sizeof(Wanted));
  GArray *here = prefetch->here ? prefetch->here : g_array_new(FALSE, FALSE, sizeof(guint64));
  *prefetch = (Prefetch){.tiers = tiers,
                         .replica = replica,
                         .request = request,
                         .generation = orr_replica_generation(replica),
                         .core = request->core,
                         .wanted = wanted,
                         .here = here};
  look(orr_replica_tiers(replica), orr_replica_core(replica, request->core), request, wanted, here);
  const double tokens = (double)((gint64)wanted->len * engine->block_size);
  if (wanted->len == 0 || tokens < (double)engine->tiers.prefetch_threshold ||
      (gint64)wanted->len + here->len > orr_tier_store_room(host_of(prefetch)))
    return orr_pool_give(tiers->pool, prefetch);
  keep(prefetch, 0);
  g_hash_table_insert(tiers->prefetches, request, prefetch);
  prefetch->is_held_back = engine->tiers.prefetch != ORR_PREFETCH_BEST_EFFORT;
  begin_batch(prefetch);
  if (engine->tiers.prefetch == ORR_PREFETCH_TIMEOUT) hold_until_time(prefetch, tokens);
}

/* --- the station --- */

static gboolean may_begin(gpointer state, const OrrRequest *request) {
  const Prefetch *prefetch = g_hash_table_lookup(((const CacheTiers *)state)->prefetches, request);
  return !prefetch || !prefetch->is_held_back;
}

static void begin(gpointer state, OrrCore *core, const OrrRequest *request) {
  stop_prefetch(state, request);
}

static const OrrCoreHooks hooks = {.may_begin = may_begin, .begin = begin};

static void opened(gpointer state, OrrReplica *replica, guint core) {
  orr_core_hook(orr_replica_core(replica, core), &hooks, state);
}

static void forget(gpointer state, const OrrRequest *request) { stop_prefetch(state, request); }
static void lose(gpointer state, OrrRequest *request) { stop_prefetch(state, request); }

static gboolean open(OrrStop *stop, GError **error) {
  OrrServingRun *run = stop->route->run;
  CacheTiers *tiers = g_new(CacheTiers, 1);
  *tiers = (CacheTiers){.run = run,
                        .prefetches = g_hash_table_new(g_direct_hash, g_direct_equal),
                        .pool = orr_pool_new(sizeof(Prefetch), clear_prefetch),
                        .reads = orr_pool_new(sizeof(Read), NULL),
                        .fetches = orr_pool_new(sizeof(Fetch), NULL),
                        .ssds = g_new0(OrrServicePool *, run->work->params.replicas),
                        .servers =
                            g_ptr_array_new_with_free_func((GDestroyNotify)orr_service_pool_free)};
  add_servers(tiers);
  stop->state = tiers;
  return TRUE;
}

static void close(gpointer state) {
  CacheTiers *tiers = state;
  g_hash_table_unref(tiers->prefetches);
  orr_pool_free(tiers->pool);
  orr_pool_free(tiers->reads);
  orr_pool_free(tiers->fetches);
  g_ptr_array_unref(tiers->servers);
  ORR_FREE(tiers->ssds, tiers);
}

static gboolean is_on(const OrrServing *params) {
  return params->engine.tiers.ssd_bytes + params->engine.tiers.remote_bytes > 0;
}

const OrrStation orr_station_cache_tiers = {
    .entry = {"cache-tiers", "Reads blocks from SSD and the store on the network.", NULL},
    .section = "engine.cache-tiers",
    .is_on = is_on,
    .open = open,
    .close = close,
    .forget = forget,
    .lose = lose,
    .opened = opened,
    .waits = waits,
    .planned = planned,
};

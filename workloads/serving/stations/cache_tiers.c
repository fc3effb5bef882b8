/*
 * cache_tiers.c - what caches below HBM are read for: by a step that waits, or for a request that
 * queues.
 *
 *   the store on the network    flows to each rank of a core over the fabric (serving_paths.c);
 *                               with remote-bandwidth a rate
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
 * An SSD reads one batch after another. A batch under way when its request begins comes to its end,
 * and is the last.
 *
 *   workload: {engine: {prefix-caching: radix,
 *                       cache-tiers: {host: 100 GiB, remote: 1 TiB, prefetch: timeout}}}
 */
#include "workloads/serving/stations/station.h"
#include "workloads/serving/transfers/transfers.h"

enum { BLOCKS_A_BATCH = 128 }; /* storage_batch_size, cache_controller.py */
/* PrefetchTimeoutConfig of SGLang since May 2026 (its PR 23309) */
#define TIMEOUT_BASE_S 2.0
#define TIMEOUT_1024_TOKENS_S 0.1
#define TIMEOUT_MOST_S 30.0

typedef struct {
  OrrServingRun *run;
  GHashTable *prefetches; /* OrrRequest* -> Prefetch* */
  OrrPool *pool;          /* of Prefetch */
  OrrPool *reads;         /* of Read */
  double *ssd_free_s;     /* by replica: when its SSD has read all that was begun */
} CacheTiers;

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
  guint next, end;       /* of the batch under way */
  gboolean is_held_back; /* other requests pass its request */
} Prefetch;

static void clear_prefetch(gpointer prefetch) {
  if (((Prefetch *)prefetch)->wanted) g_array_unref(((Prefetch *)prefetch)->wanted);
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

/* --- a step that waits --- */

static void read_ends(void *user) {
  const Read read = *(const Read *)user;
  orr_pool_give(read.tiers->reads, user);
  if (read.generation == orr_replica_generation(read.replica)) orr_replica_read_ends(read.replica);
}

static void planned(gpointer state, OrrReplica *replica) {
  CacheTiers *tiers = state;
  const OrrServingWork *work = tiers->run->work;
  for (guint i = 0; i < orr_replica_n_cores(replica); i++) {
    const double tokens = (double)orr_replica_core(replica, i)->loaded_tokens[ORR_TIER_REMOTE];
    const OrrServingPath *path = orr_serving_paths_remote(work, orr_replica_index(replica), i);
    if (!path || tokens <= 0) continue;
    Read *read = orr_pool_take(tiers->reads);
    *read = (Read){tiers, replica, orr_replica_generation(replica)};
    orr_replica_wait(replica, 1);
    orr_transfers_begin(tiers->run, path, tokens * path->bytes_per_token,
                        work->params.engine.tiers.remote_latency_s, read_ends, read);
  }
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

static void batch_ends(void *user) {
  Prefetch *prefetch = user;
  if (prefetch->generation == orr_replica_generation(prefetch->replica))
    for (guint i = prefetch->next; i < prefetch->end; i++)
      orr_tier_store_touch(orr_replica_tiers(prefetch->replica)->stores[ORR_TIER_HOST],
                           g_array_index(prefetch->wanted, Wanted, i).key);
  prefetch->next = prefetch->end;
  if (is_here(prefetch) && prefetch->next < prefetch->wanted->len) {
    begin_batch(prefetch);
  } else if (is_here(prefetch)) {
    let_begin(prefetch);
    stop_prefetch(prefetch->tiers, prefetch->request);
  }
  leave(prefetch);
}

static const OrrServedGroup *group_of(const Prefetch *prefetch) {
  return orr_serving_group(prefetch->tiers->run->work, orr_replica_index(prefetch->replica));
}

static void read_ssd(Prefetch *prefetch, double rank_bytes) {
  const OrrServingRun *run = prefetch->tiers->run;
  const OrrServingParallel *parallel = &group_of(prefetch)->params.parallel;
  const OrrCacheTiers *tiers = &run->work->params.engine.tiers;
  double *free_s = &prefetch->tiers->ssd_free_s[orr_replica_index(prefetch->replica)];
  const double bytes = rank_bytes * (double)(parallel->tp * parallel->pp);
  const double begin_s = fmax(orr_serving_run_now(run), *free_s);
  *free_s = begin_s + tiers->ssd_latency_s + bytes / tiers->ssd_bytes_per_s;
  orr_engine_at(run->engine, *free_s, batch_ends, prefetch);
}

static void read_store(Prefetch *prefetch, double tokens, double rank_bytes) {
  OrrServingRun *run = prefetch->tiers->run;
  const OrrCacheTiers *tiers = &run->work->params.engine.tiers;
  const OrrServingPath *path =
      orr_serving_paths_remote(run->work, orr_replica_index(prefetch->replica), prefetch->core);
  if (path)
    orr_transfers_begin(run, path, tokens * path->bytes_per_token, tiers->remote_latency_s,
                        batch_ends, prefetch);
  else
    orr_engine_after(run->engine, tiers->remote_latency_s + rank_bytes / tiers->remote_bytes_per_s,
                     batch_ends, prefetch);
}

/* The next blocks of one tier. */
static void begin_batch(Prefetch *prefetch) {
  const Wanted *first = &g_array_index(prefetch->wanted, Wanted, prefetch->next);
  const guint most = MIN(prefetch->next + BLOCKS_A_BATCH, prefetch->wanted->len);
  prefetch->end = prefetch->next;
  while (prefetch->end < most &&
         g_array_index(prefetch->wanted, Wanted, prefetch->end).tier == first->tier)
    prefetch->end++;
  const OrrEngineParams *engine = &prefetch->tiers->run->work->params.engine;
  const double tokens = (double)((prefetch->end - prefetch->next) * engine->block_size);
  const double rank_bytes = tokens * group_of(prefetch)->kv_bytes_per_token;
  prefetch->n_calls++;
  if (first->tier == ORR_TIER_SSD)
    read_ssd(prefetch, rank_bytes);
  else
    read_store(prefetch, tokens, rank_bytes);
}

static void time_is_up(void *user) {
  Prefetch *prefetch = user;
  if (is_here(prefetch)) let_begin(prefetch);
  leave(prefetch);
}

/* Blocks of @request's prompt that only SSD and store have, up to the first that nobody has. */
static void look(const OrrTiers *tiers, const OrrCore *core, const OrrRequest *request,
                 GArray *wanted) {
  const gint64 size = orr_kv_block_size(core->kv), most = (orr_request_wanted(request) - 1) / size;
  g_array_set_size(wanted, 0);
  for (gint64 n = orr_kv_lookup(core->kv, request) / size; n < most; n++) {
    const guint64 key = orr_request_block_key(request, n, size);
    const int tier = orr_tiers_find(tiers, key);
    const Wanted one = {key, (OrrTier)tier};
    if (tier < 0) return;
    if (tier != ORR_TIER_HOST) g_array_append_val(wanted, one);
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
  *prefetch = (Prefetch){.tiers = tiers,
                         .replica = replica,
                         .request = request,
                         .generation = orr_replica_generation(replica),
                         .core = request->core,
                         .wanted = wanted};
  look(orr_replica_tiers(replica), orr_replica_core(replica, request->core), request, wanted);
  const double tokens = (double)((gint64)wanted->len * engine->block_size);
  if (wanted->len == 0 || tokens < (double)engine->tiers.prefetch_threshold)
    return orr_pool_give(tiers->pool, prefetch);
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
  (void)core;
  stop_prefetch(state, request);
}

static const OrrCoreHooks hooks = {.may_begin = may_begin, .begin = begin};

static void opened(gpointer state, OrrReplica *replica, guint core) {
  orr_core_hook(orr_replica_core(replica, core), &hooks, state);
}

static void forget(gpointer state, const OrrRequest *request) { stop_prefetch(state, request); }
static void lose(gpointer state, OrrRequest *request) { stop_prefetch(state, request); }

static void lose_replica(gpointer state, guint i, GPtrArray *requests) {
  (void)requests;
  ((CacheTiers *)state)->ssd_free_s[i] = 0;
}

static gboolean open(OrrStop *stop, GError **error) {
  OrrServingRun *run = stop->route->run;
  CacheTiers *tiers = g_new(CacheTiers, 1);
  (void)error;
  *tiers = (CacheTiers){.run = run,
                        .prefetches = g_hash_table_new(g_direct_hash, g_direct_equal),
                        .pool = orr_pool_new(sizeof(Prefetch), clear_prefetch),
                        .reads = orr_pool_new(sizeof(Read), NULL),
                        .ssd_free_s = g_new0(double, run->work->params.replicas)};
  stop->state = tiers;
  return TRUE;
}

static void close(gpointer state) {
  CacheTiers *tiers = state;
  g_hash_table_unref(tiers->prefetches);
  orr_pool_free(tiers->pool);
  orr_pool_free(tiers->reads);
  ORR_FREE(tiers->ssd_free_s, tiers);
}

static gboolean is_on(const OrrServing *params) {
  return params->engine.tiers.prefetch != ORR_PREFETCH_NONE ||
         params->engine.tiers.remote_bytes > 0;
}

const OrrStation orr_station_cache_tiers = {
    .entry = {"cache-tiers", "Reads blocks from SSD and the store on the network.", NULL},
    .section = "engine.cache-tiers",
    .is_on = is_on,
    .open = open,
    .close = close,
    .forget = forget,
    .lose = lose,
    .lose_replica = lose_replica,
    .opened = opened,
    .waits = waits,
    .planned = planned,
};

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
 *   workload: {engine: {prefix-caching: radix, cache-tiers: {host: 100 GiB, remote: 1 TiB, prefetch: timeout}}}
 */
#include <math.h>

#include "workloads/serving/replica/replica_private.h"

enum { BLOCKS_A_BATCH = 128 }; /* storage_batch_size, cache_controller.py */
/* PrefetchTimeoutConfig of SGLang since May 2026 (its PR 23309) */
#define TIMEOUT_BASE_S 2.0
#define TIMEOUT_1024_TOKENS_S 0.1
#define TIMEOUT_MOST_S 30.0

/* Of a step. */
typedef struct {
  OrrReplica *replica;
  guint generation;
} Read;

typedef struct {
  guint64 key;
  OrrTier tier;
} Wanted;

/* Of a request that waits. */
struct OrrPrefetch {
  OrrReplica *replica;
  OrrRequest *request; /* NULL: it has begun */
  guint generation;    /* of the replica: another one, and the request is not here any more */
  guint n_calls;       /* on the calendar */
  guint core;
  GArray *wanted;  /* of Wanted */
  guint next, end; /* of the batch under way */
};

static void clear_prefetch(gpointer prefetch) {
  if (((OrrPrefetch *)prefetch)->wanted) g_array_unref(((OrrPrefetch *)prefetch)->wanted);
}

OrrPool *orr_reads_steps(void) { return orr_pool_new(sizeof(Read), NULL); }
OrrPool *orr_reads_prefetches(void) { return orr_pool_new(sizeof(OrrPrefetch), clear_prefetch); }

/* --- a step that waits --- */

static void read_ends(void *user) {
  const Read read = *(const Read *)user;
  orr_pool_give(read.replica->fleet->reads, user);
  if (read.generation == read.replica->generation && --read.replica->n_reading == 0)
    orr_replica_launch(read.replica);
}

gboolean orr_reads_begin(OrrReplica *replica) {
  OrrFleet *fleet = replica->fleet;
  for (guint i = 0; i < replica->n_cores; i++) {
    const double tokens = (double)replica->cores[i].loaded_tokens[ORR_TIER_REMOTE];
    const OrrServingWay *way = orr_serving_remote_way(fleet->work, (guint)replica->index, i);
    if (!way || tokens <= 0) continue;
    Read *read = orr_pool_take(fleet->reads);
    *read = (Read){replica, replica->generation};
    replica->n_reading++;
    orr_fleet_transfer(fleet, way, tokens * way->bytes_per_token,
                       fleet->work->params.engine.tiers.remote_latency_s, read_ends, read);
  }
  return replica->n_reading > 0;
}

/* --- a request that queues --- */

static void begin_batch(OrrPrefetch *prefetch);

static void leave(OrrPrefetch *prefetch) {
  if (--prefetch->n_calls == 0) orr_pool_give(prefetch->replica->fleet->prefetches, prefetch);
}

static gboolean is_here(const OrrPrefetch *prefetch) {
  return prefetch->generation == prefetch->replica->generation && prefetch->request;
}

static void let_begin(OrrPrefetch *prefetch) {
  prefetch->request->is_held_back = FALSE;
  orr_replica_notice(prefetch->replica);
}

static void batch_ends(void *user) {
  OrrPrefetch *prefetch = user;
  if (prefetch->generation == prefetch->replica->generation)
    for (guint i = prefetch->next; i < prefetch->end; i++)
      orr_tier_store_touch(prefetch->replica->tiers.stores[ORR_TIER_HOST],
                           g_array_index(prefetch->wanted, Wanted, i).key);
  prefetch->next = prefetch->end;
  if (is_here(prefetch) && prefetch->next < prefetch->wanted->len) {
    begin_batch(prefetch);
  } else if (is_here(prefetch)) {
    let_begin(prefetch);
    prefetch->request->prefetch = NULL;
    prefetch->request = NULL;
  }
  leave(prefetch);
}

static void read_ssd(OrrPrefetch *prefetch, double rank_bytes) {
  OrrReplica *replica = prefetch->replica;
  const OrrServingParallel *parallel = &replica->group->params.parallel;
  const OrrCacheTiers *tiers = &replica->fleet->work->params.engine.tiers;
  const double bytes = rank_bytes * (double)(parallel->tp * parallel->pp);
  const double begin_s = fmax(orr_engine_now(replica->fleet->engine), replica->ssd_free_s);
  replica->ssd_free_s = begin_s + tiers->ssd_latency_s + bytes / tiers->ssd_bytes_per_s;
  orr_engine_at(replica->fleet->engine, replica->ssd_free_s, batch_ends, prefetch);
}

static void read_store(OrrPrefetch *prefetch, double tokens, double rank_bytes) {
  OrrFleet *fleet = prefetch->replica->fleet;
  const OrrCacheTiers *tiers = &fleet->work->params.engine.tiers;
  const OrrServingWay *way =
      orr_serving_remote_way(fleet->work, (guint)prefetch->replica->index, prefetch->core);
  if (way)
    orr_fleet_transfer(fleet, way, tokens * way->bytes_per_token, tiers->remote_latency_s,
                       batch_ends, prefetch);
  else
    orr_engine_after(fleet->engine,
                     tiers->remote_latency_s + rank_bytes / tiers->remote_bytes_per_s, batch_ends,
                     prefetch);
}

/* The next blocks of one tier. */
static void begin_batch(OrrPrefetch *prefetch) {
  const Wanted *first = &g_array_index(prefetch->wanted, Wanted, prefetch->next);
  const guint most = MIN(prefetch->next + BLOCKS_A_BATCH, prefetch->wanted->len);
  prefetch->end = prefetch->next;
  while (prefetch->end < most &&
         g_array_index(prefetch->wanted, Wanted, prefetch->end).tier == first->tier)
    prefetch->end++;
  const OrrEngineParams *engine = &prefetch->replica->fleet->work->params.engine;
  const double tokens = (double)((prefetch->end - prefetch->next) * engine->block_size);
  const double rank_bytes = tokens * prefetch->replica->group->kv_bytes_per_token;
  prefetch->n_calls++;
  if (first->tier == ORR_TIER_SSD)
    read_ssd(prefetch, rank_bytes);
  else
    read_store(prefetch, tokens, rank_bytes);
}

static void time_is_up(void *user) {
  OrrPrefetch *prefetch = user;
  if (is_here(prefetch)) let_begin(prefetch);
  leave(prefetch);
}

/* Blocks of @request's prompt that only SSD and store have, up to the first that nobody has. */
static void look(const OrrReplica *replica, const OrrCore *core, const OrrRequest *request,
                 GArray *wanted) {
  const gint64 size = orr_kv_block_size(core->kv), most = (orr_request_wanted(request) - 1) / size;
  g_array_set_size(wanted, 0);
  for (gint64 n = orr_kv_lookup(core->kv, request) / size; n < most; n++) {
    const guint64 key = orr_request_block_key(request, n, size);
    const int tier = orr_tiers_find(&replica->tiers, key);
    const Wanted one = {key, (OrrTier)tier};
    if (tier < 0) return;
    if (tier != ORR_TIER_HOST) g_array_append_val(wanted, one);
  }
}

void orr_prefetch_begin(OrrReplica *replica, OrrRequest *request) {
  OrrFleet *fleet = replica->fleet;
  const OrrEngineParams *engine = &fleet->work->params.engine;
  if (engine->tiers.prefetch == ORR_PREFETCH_NONE) return;
  OrrPrefetch *prefetch = orr_pool_take(fleet->prefetches);
  GArray *wanted = prefetch->wanted ? prefetch->wanted : g_array_new(FALSE, FALSE, sizeof(Wanted));
  *prefetch = (OrrPrefetch){.replica = replica,
                            .request = request,
                            .generation = replica->generation,
                            .core = request->core,
                            .wanted = wanted};
  look(replica, &replica->cores[request->core], request, wanted);
  const double tokens = (double)((gint64)wanted->len * engine->block_size);
  if (wanted->len == 0 || tokens < (double)engine->tiers.prefetch_threshold) {
    orr_pool_give(fleet->prefetches, prefetch);
    return;
  }
  request->prefetch = prefetch;
  request->is_held_back = engine->tiers.prefetch != ORR_PREFETCH_BEST_EFFORT;
  begin_batch(prefetch);
  if (engine->tiers.prefetch != ORR_PREFETCH_TIMEOUT) return;
  prefetch->n_calls++;
  orr_engine_after(fleet->engine,
                   fmin(TIMEOUT_BASE_S + TIMEOUT_1024_TOKENS_S * tokens / 1024, TIMEOUT_MOST_S),
                   time_is_up, prefetch);
}

void orr_prefetch_stop(OrrRequest *request) {
  request->prefetch->request = NULL;
  request->prefetch = NULL;
}

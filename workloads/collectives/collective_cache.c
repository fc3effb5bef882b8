/*
 * collective_cache.c - a hash table from all that a plan depends on to the plan. When the plans
 * hold too many link uses, all of them are dropped: sweeps go on with other calls then. Facts are
 * dropped alike.
 */
#include "workloads/collectives/collective_cache.h"

#include "sim/base/number.h"
#include "sim/base/random.h"

#define MOST_USES (1u << 23)  /* of all plans: 64 MB. DeepSeek-V3 over 2,048 GPUs fills 39 MB */
#define MOST_FACTS (1u << 25) /* bytes of their keys and of themselves */

typedef struct {
  const OrrCollectiveAlgorithm *algorithm;
  OrrNccl nccl;
  gint64 gpus_per_switch;
  OrrCollectiveCall call; /* its group is a copy in the table, and so is what it exchanges */
  guint n_calls;          /* the group is divided into that many equal ones; 1: a plain call */
  OrrExpertExchange exchange;
} Key;

struct OrrCollectiveCache {
  const OrrFabric *fabric;
  const OrrCostModel *cost;
  GHashTable *plans; /* Key -> OrrCollectivePlan */
  guint n_uses;
  GHashTable *facts; /* GBytes -> GBytes */
  gsize facts_bytes;
};

static guint hash_key(gconstpointer data) {
  const Key *key = data;
  const OrrCollectiveCall *call = &key->call;
  guint64 hash = orr_random_hash3(orr_number_bits(call->bytes), (guint64)call->op, call->n);
  for (guint i = 0; i < call->n; i++)
    hash = (hash ^ (guint64)call->gpus[i]) * G_GUINT64_CONSTANT(0x100000001b3);
  hash = orr_random_hash3(hash, key->n_calls, call->exchange != NULL);
  return (guint)orr_random_hash3(hash, GPOINTER_TO_SIZE(key->algorithm), 0);
}

static gboolean equal_exchanges(const OrrExpertExchange *a, const OrrExpertExchange *b) {
  return a->tokens == b->tokens && a->hidden == b->hidden && a->topk == b->topk &&
         a->experts == b->experts && a->bytes_per_element == b->bytes_per_element &&
         a->experts_dtype == b->experts_dtype && a->is_combine == b->is_combine &&
         a->most_domains == b->most_domains && a->in_turn == b->in_turn;
}

static gboolean equal_calls(const OrrCollectiveCall *a, const OrrCollectiveCall *b) {
  return a->op == b->op && a->bytes == b->bytes && a->n == b->n && a->protocol == b->protocol &&
         memcmp(a->gpus, b->gpus, a->n * sizeof *a->gpus) == 0 &&
         (a->exchange != NULL) == (b->exchange != NULL) &&
         (!a->exchange || equal_exchanges(a->exchange, b->exchange));
}

static gboolean equal_keys(gconstpointer x, gconstpointer y) {
  const Key *a = x, *b = y;
  return a->algorithm == b->algorithm && a->gpus_per_switch == b->gpus_per_switch &&
         a->n_calls == b->n_calls && memcmp(&a->nccl, &b->nccl, sizeof a->nccl) == 0 &&
         equal_calls(&a->call, &b->call);
}

static void free_key(gpointer data) {
  Key *key = data;
  ORR_FREE((gpointer)key->call.gpus, key);
}

OrrCollectiveCache *orr_collective_cache_new(const OrrFabric *fabric, const OrrCostModel *cost) {
  OrrCollectiveCache *cache = g_new0(OrrCollectiveCache, 1);
  cache->fabric = fabric;
  cache->cost = cost;
  cache->plans = g_hash_table_new_full(hash_key, equal_keys, free_key,
                                       (GDestroyNotify)orr_collective_plan_free);
  cache->facts = g_hash_table_new_full(g_bytes_hash, g_bytes_equal, (GDestroyNotify)g_bytes_unref,
                                       (GDestroyNotify)g_bytes_unref);
  return cache;
}

void orr_collective_cache_free(OrrCollectiveCache *cache) {
  if (!cache) return;
  g_hash_table_unref(cache->plans);
  g_hash_table_unref(cache->facts);
  g_free(cache);
}

static Key *copy_key(const Key *key) {
  Key *copy = g_memdup2(key, sizeof *key);
  copy->call.gpus = g_memdup2(key->call.gpus, key->call.n * sizeof *key->call.gpus);
  if (key->call.exchange) {
    copy->exchange = *key->call.exchange;
    copy->call.exchange = &copy->exchange;
  }
  return copy;
}

static void keep(OrrCollectiveCache *cache, const Key *key, OrrCollectivePlan *plan) {
  for (guint i = 0; i < plan->phases->len; i++)
    cache->n_uses += g_array_index(plan->phases, OrrCollectivePhase, i).n_uses;
  cache->n_uses += key->call.n;
  if (cache->n_uses > MOST_USES) {
    g_hash_table_remove_all(cache->plans);
    cache->n_uses = 0;
    return;
  }
  g_hash_table_insert(cache->plans, copy_key(key), orr_collective_plan_ref(plan));
}

static gboolean is_kept(const OrrCollectiveCache *cache, const OrrCollectiveContext *context,
                        const OrrCollectiveCall *call) {
  return cache && context->fabric == cache->fabric && context->cost == cache->cost &&
         context->nccl && !context->connections && call->n > 1;
}

/* Of the GPUs of all calls. */
static Key key_of(const OrrJointCalls *calls) {
  Key key = {.algorithm = calls->algorithm,
             .nccl = *calls->context->nccl,
             .gpus_per_switch = calls->context->gpus_per_switch,
             .call = *calls->first,
             .n_calls = calls->n_calls};
  key.call.n *= calls->n_calls;
  return key;
}

OrrCollectivePlan *orr_collective_cache_plan(OrrCollectiveCache *cache,
                                             const OrrCollectiveContext *context,
                                             const OrrCollectiveCall *call,
                                             const OrrCollectiveAlgorithm *algorithm,
                                             GError **error) {
  if (!is_kept(cache, context, call)) return orr_collective_plan(context, call, algorithm, error);
  const Key key = key_of(&(OrrJointCalls){context, call, 1, algorithm});
  OrrCollectivePlan *plan = g_hash_table_lookup(cache->plans, &key);
  if (plan) return orr_collective_plan_ref(plan);
  plan = orr_collective_plan(context, call, algorithm, error);
  if (plan) keep(cache, &key, plan);
  return plan;
}

static gboolean is_joint(const OrrCollectiveCache *cache, const OrrJointCalls *calls) {
  return calls->n_calls > 1 && is_kept(cache, calls->context, calls->first);
}

OrrCollectivePlan *orr_collective_cache_find_joint(const OrrCollectiveCache *cache,
                                                   const OrrJointCalls *calls) {
  if (!is_joint(cache, calls)) return NULL;
  const Key key = key_of(calls);
  OrrCollectivePlan *plan = g_hash_table_lookup(cache->plans, &key);
  return plan ? orr_collective_plan_ref(plan) : NULL;
}

void orr_collective_cache_keep_joint(OrrCollectiveCache *cache, const OrrJointCalls *calls,
                                     OrrCollectivePlan *plan) {
  if (!is_joint(cache, calls)) return;
  const Key key = key_of(calls);
  keep(cache, &key, plan);
}

GBytes *orr_collective_cache_find(const OrrCollectiveCache *cache, const OrrFabric *fabric,
                                  GBytes *key) {
  return cache && cache->fabric == fabric ? g_hash_table_lookup(cache->facts, key) : NULL;
}

void orr_collective_cache_keep(OrrCollectiveCache *cache, const OrrFabric *fabric, GBytes *key,
                               GBytes *fact) {
  if (!cache || cache->fabric != fabric) {
    g_bytes_unref(key);
    g_bytes_unref(fact);
    return;
  }
  cache->facts_bytes += g_bytes_get_size(key) + g_bytes_get_size(fact);
  if (cache->facts_bytes > MOST_FACTS) {
    g_hash_table_remove_all(cache->facts);
    cache->facts_bytes = g_bytes_get_size(key) + g_bytes_get_size(fact);
  }
  g_hash_table_insert(cache->facts, key, fact);
}

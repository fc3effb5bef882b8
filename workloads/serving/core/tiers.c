/*
 * tiers.c - stores of keys in least-recently-used order, one per cache tier.
 */
#include "workloads/serving/core/kv.h"

typedef struct {
  guint64 key;
  GList link; /* link of the order; its data is the entry */
} Entry;

struct OrrTierStore {
  gint64 n_blocks;
  GHashTable *entries; /* key -> Entry; owns them */
  GQueue order;        /* oldest first */
  OrrTierStore *below; /* has what this one drops; NULL: none */
  gint64 n_new;        /* since orr_tier_store_take_new */
};

OrrTierStore *orr_tier_store_new(gint64 n_blocks) {
  if (n_blocks <= 0) return NULL;
  OrrTierStore *store = g_new0(OrrTierStore, 1);
  store->n_blocks = n_blocks;
  store->entries = g_hash_table_new_full(g_int64_hash, g_int64_equal, NULL, g_free);
  g_queue_init(&store->order);
  return store;
}

void orr_tier_store_free(OrrTierStore *store) {
  if (!store) return;
  g_hash_table_unref(store->entries);
  g_free(store);
}

gint64 orr_tier_store_room(const OrrTierStore *store) { return store->n_blocks; }

gboolean orr_tier_store_has(const OrrTierStore *store, guint64 key) {
  return store && g_hash_table_contains(store->entries, &key);
}

static void drop_oldest(OrrTierStore *store) {
  const guint64 key = ((const Entry *)g_queue_pop_head_link(&store->order)->data)->key;
  g_hash_table_remove(store->entries, &key);
  if (store->below) orr_tier_store_touch(store->below, key);
}

void orr_tier_store_spill(OrrTierStore *store, OrrTierStore *below) { store->below = below; }

gint64 orr_tier_store_take_new(OrrTierStore *store) {
  const gint64 n = store->n_new;
  store->n_new = 0;
  return n;
}

void orr_tier_store_touch(OrrTierStore *store, guint64 key) {
  Entry *entry = g_hash_table_lookup(store->entries, &key);
  if (entry) {
    g_queue_unlink(&store->order, &entry->link);
  } else {
    if ((gint64)store->order.length >= store->n_blocks) drop_oldest(store);
    store->n_new++;
    entry = g_new0(Entry, 1);
    entry->key = key;
    entry->link.data = entry;
    g_hash_table_insert(store->entries, &entry->key, entry);
  }
  g_queue_push_tail_link(&store->order, &entry->link);
}

int orr_tiers_find(const OrrTiers *tiers, guint64 key) {
  for (int tier = 0; tier < ORR_N_TIERS; tier++)
    if (orr_tier_store_has(tiers->stores[tier], key)) return tier;
  return -1;
}

void orr_tiers_touch(const OrrTiers *tiers, guint64 key) {
  const OrrTierStore *host = tiers->stores[ORR_TIER_HOST];
  for (int tier = 0; tier < ORR_N_TIERS; tier++) {
    OrrTierStore *store = tiers->stores[tier];
    const gboolean comes_later = host && host->below == store && !orr_tier_store_has(store, key);
    if (store && !comes_later) orr_tier_store_touch(store, key);
  }
}

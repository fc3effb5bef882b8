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

void orr_tier_store_touch(OrrTierStore *store, guint64 key) {
  Entry *entry = g_hash_table_lookup(store->entries, &key);
  if (entry) {
    g_queue_unlink(&store->order, &entry->link);
  } else {
    if ((gint64)store->order.length >= store->n_blocks)
      g_hash_table_remove(store->entries,
                          &((const Entry *)g_queue_pop_head_link(&store->order)->data)->key);
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
  for (int tier = 0; tier < ORR_N_TIERS; tier++)
    if (tiers->stores[tier]) orr_tier_store_touch(tiers->stores[tier], key);
}

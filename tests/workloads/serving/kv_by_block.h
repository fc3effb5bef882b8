/*
 * kv_by_block.h - the cache of kv.h block by block, with a hash of each block's name and a list of
 * the free blocks: what the runs of kv.h must agree with in every number.
 */
#pragma once

#include "sim/base/random.h"
#include "workloads/serving/core/kv.h"

#define NOBODY G_MAXUINT32
enum { BY_BLOCK_SPAN = 512 };

typedef struct {
  guint64 key; /* 0: no name */
  guint32 holders;
  guint32 before, after; /* neighbours in the free list */
} Block;

typedef struct {
  gint64 n, size, n_free, n_evicted, n_state;
  Block *blocks;
  guint32 oldest, newest;
  GHashTable *names; /* guint64 * -> block + 1 */
  const OrrTiers *tiers;
} ByBlock;

/* A request, and what the reference has of it. `ids`: of its prompt, one for 512 tokens each. */
typedef struct {
  OrrRequest r;
  const guint64 *ids;
  gint32 n_ids;
  GArray *table, *state; /* of guint32 */
} ByBlockRequest;

static inline ByBlock *by_block_new(gint64 n, gint64 size, gint64 n_state) {
  ByBlock *kv = g_new(ByBlock, 1);
  *kv = (ByBlock){.n = n,
                  .size = size,
                  .n_free = n,
                  .n_state = n_state,
                  .blocks = g_new0(Block, n),
                  .newest = (guint32)n - 1,
                  .names = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL)};
  for (guint32 i = 0; i < n; i++)
    kv->blocks[i] = (Block){.before = i > 0 ? i - 1 : NOBODY, .after = i + 1 < n ? i + 1 : NOBODY};
  return kv;
}

static inline void by_block_free(ByBlock *kv) {
  g_hash_table_unref(kv->names);
  g_free(kv->blocks);
  g_free(kv);
}

/* The name of one block: what its last token is of, and which block of that. */
static inline guint64 by_block_key(const ByBlock *kv, const ByBlockRequest *one, gint64 block) {
  const OrrRequest *r = &one->r;
  const gint64 end = (block + 1) * kv->size, last = end - 1;
  guint64 key;
  if (r->naming && end > r->naming->plain)
    key = orr_random_hash3(11, r->naming->key(r->naming, r, block), 0);
  else if (end <= r->shared_tokens)
    key = orr_random_hash3(12, r->shared, (guint64)block);
  else if (end <= r->prompt && last / BY_BLOCK_SPAN < one->n_ids)
    key = orr_random_hash3(13, one->ids[last / BY_BLOCK_SPAN], (guint64)(last % BY_BLOCK_SPAN));
  else if (r->stream)
    key = orr_random_hash3(14, r->stream, (guint64)block);
  else
    key = orr_random_hash3(15, r->id, (guint64)block);
  if (r->adapter) key = orr_random_hash3(16, key, r->adapter);
  if (r->sample && !r->naming && end > r->prompt) key = orr_random_hash3(17, key, r->sample);
  return key;
}

static inline guint32 by_block_find(const ByBlock *kv, guint64 key) {
  return GPOINTER_TO_UINT(g_hash_table_lookup(kv->names, &key)) - 1u; /* NOBODY: not there */
}

static inline guint64 by_block_state_key(guint64 key, gint64 i) {
  return orr_random_hash3(18, key, (guint64)i);
}

static inline gboolean by_block_has_state(const ByBlock *kv, guint64 key) {
  for (gint64 i = 0; i < kv->n_state; i++)
    if (by_block_find(kv, by_block_state_key(key, i)) == NOBODY) return FALSE;
  return TRUE;
}

static inline void by_block_hold(ByBlock *kv, guint32 i) {
  Block *block = &kv->blocks[i];
  if (block->holders++ > 0) return;
  *(block->before == NOBODY ? &kv->oldest : &kv->blocks[block->before].after) = block->after;
  *(block->after == NOBODY ? &kv->newest : &kv->blocks[block->after].before) = block->before;
  kv->n_free--;
}

static inline void by_block_let_go(ByBlock *kv, guint32 i) {
  Block *block = &kv->blocks[i];
  if (--block->holders > 0) return;
  block->before = kv->newest;
  block->after = NOBODY;
  *(kv->newest == NOBODY ? &kv->oldest : &kv->blocks[kv->newest].after) = i;
  kv->newest = i;
  kv->n_free++;
}

static inline void by_block_name(ByBlock *kv, guint32 i, guint64 key) {
  if (kv->blocks[i].key || by_block_find(kv, key) != NOBODY) return;
  kv->blocks[i].key = key;
  g_hash_table_insert(kv->names, g_memdup2(&key, sizeof(key)), GUINT_TO_POINTER(i + 1));
}

/* The last one first: the head of a prompt is the newest of a tier. */
static inline void by_block_touch(const ByBlock *kv, const ByBlockRequest *one, gint64 begin,
                                  gint64 end) {
  for (gint64 i = end; kv->tiers && i-- > begin;)
    orr_tiers_touch(kv->tiers, by_block_key(kv, one, i));
}

static inline void by_block_take(ByBlock *kv, GArray *table, gint64 n) {
  for (; n > 0; n--) {
    const guint32 i = kv->oldest;
    if (kv->blocks[i].key) {
      g_hash_table_remove(kv->names, &kv->blocks[i].key);
      kv->blocks[i].key = 0;
      kv->n_evicted++;
    }
    by_block_hold(kv, i);
    g_array_append_val(table, i);
  }
}

static inline void by_block_drop(ByBlock *kv, GArray *table, gint64 n) {
  for (guint i = table->len; i-- > (guint)n;) by_block_let_go(kv, g_array_index(table, guint32, i));
  g_array_set_size(table, (guint)n);
}

static inline gint64 by_block_lookup(const ByBlock *kv, const ByBlockRequest *one) {
  const gint64 most = (orr_request_wanted(&one->r) - 1) / kv->size;
  gint64 found = 0;
  for (gint64 n = 0; n < most; n++) {
    const guint64 key = by_block_key(kv, one, n);
    if (by_block_find(kv, key) == NOBODY) break;
    if (by_block_has_state(kv, key)) found = n + 1;
  }
  return found * kv->size;
}

static inline gint64 by_block_lookup_below(const ByBlock *kv, const ByBlockRequest *one, gint64 hit,
                                           gint64 ret_tokens[ORR_N_TIERS]) {
  const gint64 most = (orr_request_wanted(&one->r) - 1) / kv->size;
  gint64 n = hit / kv->size;
  for (int tier = 0; tier < ORR_N_TIERS; tier++) ret_tokens[tier] = 0;
  for (; kv->tiers && n < most; n++) {
    const int tier = orr_tiers_find(kv->tiers, by_block_key(kv, one, n));
    if (tier < 0) break;
    ret_tokens[tier] += kv->size;
  }
  return kv->tiers ? n * kv->size - hit : 0;
}

static inline gint64 by_block_needed(const ByBlock *kv, const ByBlockRequest *one, gint64 tokens,
                                     gint64 hit) {
  const gint64 shared = hit / kv->size, held = one->table->len;
  gint64 needed = MAX((tokens + kv->size - 1) / kv->size - MAX(held, shared), 0);
  for (gint64 i = 0; held == 0 && i < shared; i++)
    needed += kv->blocks[by_block_find(kv, by_block_key(kv, one, i))].holders == 0;
  return needed + (one->state->len > 0 ? 0 : kv->n_state);
}

static inline void by_block_share(ByBlock *kv, ByBlockRequest *one, gint64 hit) {
  guint64 key = 0;
  for (gint64 i = 0; i < hit / kv->size; i++) {
    key = by_block_key(kv, one, i);
    const guint32 block = by_block_find(kv, key);
    by_block_hold(kv, block);
    g_array_append_val(one->table, block);
  }
  by_block_touch(kv, one, 0, hit / kv->size);
  for (gint64 k = 0; hit > 0 && k < kv->n_state; k++) {
    const guint32 block = by_block_find(kv, by_block_state_key(key, k));
    by_block_hold(kv, block);
    by_block_let_go(kv, block);
  }
  one->r.computed = (gint32)hit;
}

static inline gboolean by_block_grow(ByBlock *kv, ByBlockRequest *one, gint64 tokens) {
  const gint64 fresh = (tokens + kv->size - 1) / kv->size - one->table->len;
  const gint64 state = one->state->len > 0 ? 0 : kv->n_state;
  if (fresh <= 0) return TRUE;
  if (fresh + state > kv->n_free) return FALSE;
  by_block_take(kv, one->table, fresh);
  by_block_take(kv, one->state, state);
  return TRUE;
}

static inline void by_block_publish(ByBlock *kv, ByBlockRequest *one, gint64 computed_before) {
  const gint64 end = MIN(one->r.computed / kv->size, (gint64)one->table->len);
  for (gint64 i = computed_before / kv->size; i < end; i++)
    by_block_name(kv, g_array_index(one->table, guint32, i), by_block_key(kv, one, i));
  const gboolean is_whole = computed_before < one->r.prompt && one->r.computed >= one->r.prompt;
  by_block_touch(kv, one, is_whole ? 0 : computed_before / kv->size, end);
  if (end == 0 || one->r.computed != end * kv->size || one->state->len == 0) return;
  const guint64 key = by_block_key(kv, one, end - 1);
  if (by_block_has_state(kv, key)) return;
  for (gint64 k = 0; k < kv->n_state; k++)
    by_block_name(kv, g_array_index(one->state, guint32, k), by_block_state_key(key, k));
  by_block_drop(kv, one->state, 0);
  by_block_take(kv, one->state, kv->n_state);
}

static inline void by_block_shrink(ByBlock *kv, ByBlockRequest *one, gint64 tokens, gint64 least) {
  const gint64 wanted = MAX((tokens + kv->size - 1) / kv->size, least);
  if (wanted < one->table->len) by_block_drop(kv, one->table, wanted);
}

static inline void by_block_release(ByBlock *kv, ByBlockRequest *one) {
  by_block_touch(kv, one, 0, MIN(one->r.computed / kv->size, (gint64)one->table->len));
  by_block_drop(kv, one->state, 0);
  by_block_drop(kv, one->table, 0);
}

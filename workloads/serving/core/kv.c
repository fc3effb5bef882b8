/*
 * kv.c - the blocks of one core's key-value cache:
 *
 *   block   holders > 0: held      holders = 0: in the free list, oldest first; named or not
 *   table   content key -> block, chained through `chain`
 */
#include "workloads/serving/core/kv.h"

#include <math.h>

#include "sim/base/random.h"

#define NOBODY G_MAXUINT32

const char *const orr_prefix_words[] = {"none", "block-hash", "radix", NULL};

typedef struct {
  guint64 key; /* 0: no name */
  guint32 holders;
  guint32 before, after; /* neighbours in the free list */
  guint32 chain;         /* next block of its bucket */
} Block;

struct OrrKv {
  gint64 n, block_size, n_free, n_held, n_evicted;
  OrrPrefixCaching caching;
  OrrKvLayout layout;
  gint64 n_state; /* blocks of a sequence's state, with a prefix cache; 0: no state */
  Block *blocks;  /* NULL: blocks are only counted */
  guint32 oldest, newest;
  guint32 *buckets;
  guint32 mask;
  const OrrTiers *tiers; /* NULL: none */
  OrrKvTell tell;        /* NULL: no listener */
  void *user;
};

enum { OF_SHARED = 1, OF_SPAN, OF_STREAM, OF_REQUEST, OF_ADAPTER, OF_SAMPLE, OF_STATE };

guint64 orr_request_block_key(const OrrRequest *request, gint64 block, gint64 block_size) {
  const gint64 end = (block + 1) * block_size, last = end - 1;
  const guint64 own =
      request->naming ? request->naming->key(request->naming, request, block, end) : 0;
  guint64 key;
  if (own)
    key = own;
  else if (end <= request->shared_tokens)
    key = orr_random_hash3(OF_SHARED, request->shared, (guint64)block);
  else if (request->n_spans > 0 && end <= request->prompt &&
           last / request->span_tokens < request->n_spans)
    key = orr_random_hash3(OF_SPAN, request->spans[last / request->span_tokens],
                           (guint64)(last % request->span_tokens));
  else if (request->stream)
    key = orr_random_hash3(OF_STREAM, request->stream, (guint64)block);
  else
    key = orr_random_hash3(OF_REQUEST, request->id, (guint64)block);
  if (request->adapter) key = orr_random_hash3(OF_ADAPTER, key, request->adapter);
  if (request->sample && !request->naming && end > request->prompt)
    key = orr_random_hash3(OF_SAMPLE, key, request->sample);
  return key ? key : 1;
}

void orr_request_clear(OrrRequest *request) {
  g_clear_pointer(&request->block_ids, g_free);
  g_clear_pointer(&request->state_ids, g_free);
}

/* --- life --- */

static void append_free(OrrKv *kv, guint32 i) {
  kv->blocks[i].before = kv->newest;
  kv->blocks[i].after = NOBODY;
  if (kv->newest == NOBODY)
    kv->oldest = i;
  else
    kv->blocks[kv->newest].after = i;
  kv->newest = i;
}

static void remove_free(OrrKv *kv, guint32 i) {
  const Block *block = &kv->blocks[i];
  if (block->before == NOBODY)
    kv->oldest = block->after;
  else
    kv->blocks[block->before].after = block->after;
  if (block->after == NOBODY)
    kv->newest = block->before;
  else
    kv->blocks[block->after].before = block->before;
}

OrrKv *orr_kv_new(gint64 n_blocks, gint64 block_size, OrrPrefixCaching caching) {
  OrrKv *kv = g_new0(OrrKv, 1);
  *kv = (OrrKv){.n = n_blocks, .block_size = block_size, .n_free = n_blocks, .caching = caching};
  if (caching == ORR_PREFIX_NONE) return kv;
  kv->blocks = g_new0(Block, n_blocks);
  kv->oldest = kv->newest = NOBODY;
  for (gint64 i = 0; i < n_blocks; i++) append_free(kv, (guint32)i);
  guint32 n_buckets = 1024;
  while (n_buckets < n_blocks) n_buckets *= 2;
  kv->mask = n_buckets - 1;
  kv->buckets = g_new(guint32, n_buckets);
  for (guint32 i = 0; i < n_buckets; i++) kv->buckets[i] = NOBODY;
  return kv;
}

void orr_kv_free(OrrKv *kv) {
  if (!kv) return;
  g_free(kv->blocks);
  g_free(kv->buckets);
  g_free(kv);
}

void orr_kv_back(OrrKv *kv, const OrrTiers *tiers) {
  if (kv->blocks) kv->tiers = tiers;
}

void orr_kv_observe(OrrKv *kv, OrrKvTell tell, void *user) {
  kv->tell = tell;
  kv->user = user;
}

gint64 orr_kv_n_blocks(const OrrKv *kv) { return kv->n; }
gint64 orr_kv_n_free(const OrrKv *kv) { return kv->n_free; }
gint64 orr_kv_block_size(const OrrKv *kv) { return kv->block_size; }
gint64 orr_kv_n_evicted(const OrrKv *kv) { return kv->n_evicted; }
gint64 orr_kv_blocks_of(const OrrKv *kv, gint64 tokens) {
  return orr_kv_layout_blocks(&kv->layout, kv->block_size, tokens);
}
gint64 orr_kv_room(const OrrKv *kv, gint64 blocks) {
  return orr_kv_layout_room(&kv->layout, kv->block_size, blocks);
}

/* --- blocks of tokens --- */

static gboolean is_plain(const OrrKvLayout *layout) {
  return layout->window_share <= 0 && layout->state_blocks <= 0;
}

gint64 orr_kv_layout_blocks(const OrrKvLayout *layout, gint64 block_size, gint64 tokens) {
  if (tokens <= 0) return 0;
  if (is_plain(layout)) return (tokens + block_size - 1) / block_size;
  const double share = layout->window_share;
  const double kept =
      (1 - share) * (double)tokens + share * (double)MIN(tokens, layout->window + block_size);
  return (gint64)ceil(layout->state_blocks + kept / (double)block_size);
}

gint64 orr_kv_layout_room(const OrrKvLayout *layout, gint64 block_size, gint64 blocks) {
  if (is_plain(layout)) return MIN(blocks * block_size, (gint64)G_MAXINT32);
  gint64 low = 0, high = G_MAXINT32; /* blocks of low <= blocks; of high more, or no limit */
  if (orr_kv_layout_blocks(layout, block_size, high) <= blocks) return high;
  while (high - low > 1) {
    const gint64 middle = low + (high - low) / 2;
    if (orr_kv_layout_blocks(layout, block_size, middle) <= blocks)
      low = middle;
    else
      high = middle;
  }
  return low;
}

void orr_kv_lay_out(OrrKv *kv, const OrrKvLayout *layout) {
  if (!kv->blocks)
    kv->layout = *layout;
  else
    kv->n_state = (gint64)ceil(layout->state_blocks);
}

gboolean orr_kv_keeps_states(const OrrKv *kv) { return kv->n_state > 0; }

/* --- names --- */

static guint32 find(const OrrKv *kv, guint64 key) {
  guint32 i = kv->buckets[key & kv->mask];
  while (i != NOBODY && kv->blocks[i].key != key) i = kv->blocks[i].chain;
  return i;
}

static void name(OrrKv *kv, guint32 i, guint64 key) {
  kv->blocks[i].key = key;
  kv->blocks[i].chain = kv->buckets[key & kv->mask];
  kv->buckets[key & kv->mask] = i;
  if (kv->tiers) orr_tiers_touch(kv->tiers, key);
  if (kv->tell) kv->tell(key, TRUE, kv->user);
}

static void unname(OrrKv *kv, guint32 i) {
  guint32 *link = &kv->buckets[kv->blocks[i].key & kv->mask];
  while (*link != i) link = &kv->blocks[*link].chain;
  *link = kv->blocks[i].chain;
  if (kv->tell) kv->tell(kv->blocks[i].key, FALSE, kv->user);
  kv->blocks[i].key = 0;
}

void orr_kv_forget(OrrKv *kv) {
  for (guint32 i = 0; kv->blocks && i < kv->n; i++)
    if (kv->blocks[i].key) unname(kv, i);
}

/* --- states: as a block named @key ended, block @i of it --- */

static guint64 state_key(guint64 key, gint64 i) {
  return orr_random_hash3(OF_STATE, key, (guint64)i);
}

static gboolean has_state(const OrrKv *kv, guint64 key) {
  for (gint64 i = 0; i < kv->n_state; i++)
    if (find(kv, state_key(key, i)) == NOBODY) return FALSE;
  return TRUE;
}

/* --- requests --- */

gint64 orr_kv_lookup(const OrrKv *kv, const OrrRequest *request) {
  if (kv->caching == ORR_PREFIX_NONE) return 0;
  const gint64 most = (orr_request_wanted(request) - 1) / kv->block_size;
  gint64 found = 0;
  for (gint64 n = 0; n < most; n++) {
    const guint64 key = orr_request_block_key(request, n, kv->block_size);
    if (find(kv, key) == NOBODY) break;
    if (has_state(kv, key)) found = n + 1;
  }
  return found * kv->block_size;
}

gint64 orr_kv_lookup_below(const OrrKv *kv, const OrrRequest *request, gint64 hit,
                           gint64 ret_tokens[ORR_N_TIERS]) {
  const gint64 most = (orr_request_wanted(request) - 1) / kv->block_size;
  gint64 n = hit / kv->block_size;
  for (int tier = 0; tier < ORR_N_TIERS; tier++) ret_tokens[tier] = 0;
  for (int tier; kv->tiers && n < most; n++) {
    tier = orr_tiers_find(kv->tiers, orr_request_block_key(request, n, kv->block_size));
    if (tier < 0 || (tier != ORR_TIER_HOST && kv->tiers->host_alone)) break;
    ret_tokens[tier] += kv->block_size;
  }
  return kv->tiers ? n * kv->block_size - hit : 0;
}

/* How many of the first @n blocks of a hit are unheld: sharing takes these from the free blocks. */
static gint64 unheld(const OrrKv *kv, const OrrRequest *request, gint64 n) {
  gint64 count = 0;
  for (gint64 i = 0; i < n; i++)
    count += kv->blocks[find(kv, orr_request_block_key(request, i, kv->block_size))].holders == 0;
  return count;
}

gint64 orr_kv_needed(const OrrKv *kv, const OrrRequest *request, gint64 tokens, gint64 hit) {
  const gint64 shared = hit / kv->block_size;
  const gint64 fresh = orr_kv_blocks_of(kv, tokens) - MAX(request->blocks, shared);
  return MAX(fresh, 0) + (shared > 0 && request->blocks == 0 ? unheld(kv, request, shared) : 0) +
         (request->state_ids ? 0 : kv->n_state);
}

static void remember(OrrRequest *request, guint32 i) {
  if (request->blocks >= request->capacity) {
    request->capacity = MAX(2 * request->capacity, 16);
    request->block_ids = g_renew(guint32, request->block_ids, request->capacity);
  }
  request->block_ids[request->blocks++] = i;
}

static void hold(OrrKv *kv, guint32 i) {
  if (kv->blocks[i].holders++ > 0) return;
  remove_free(kv, i);
  kv->n_free--;
  kv->n_held++;
}

static void let_go(OrrKv *kv, guint32 i) {
  if (--kv->blocks[i].holders > 0) return;
  append_free(kv, i);
  kv->n_free++;
  kv->n_held--;
}

/* The least recently used unheld block. */
static guint32 take_fresh(OrrKv *kv) {
  const guint32 block = kv->oldest;
  if (kv->blocks[block].key) {
    unname(kv, block);
    kv->n_evicted++;
  }
  hold(kv, block);
  return block;
}

static void take_state(OrrKv *kv, OrrRequest *request) {
  if (kv->n_state == 0 || request->state_ids) return;
  request->state_ids = g_new(guint32, kv->n_state);
  for (gint64 i = 0; i < kv->n_state; i++) request->state_ids[i] = take_fresh(kv);
}

static void give_state(OrrKv *kv, OrrRequest *request) {
  for (gint64 i = kv->n_state; request->state_ids && i-- > 0;) let_go(kv, request->state_ids[i]);
  g_clear_pointer(&request->state_ids, g_free);
}

/* Stores the current state as that at the end of block @i; the request continues with a copy. */
static void keep_state(OrrKv *kv, OrrRequest *request, gint64 i) {
  const guint64 key = orr_request_block_key(request, i, kv->block_size);
  if (!request->state_ids || has_state(kv, key)) return;
  for (gint64 k = 0; k < kv->n_state; k++)
    if (find(kv, state_key(key, k)) == NOBODY) name(kv, request->state_ids[k], state_key(key, k));
  give_state(kv, request);
  take_state(kv, request);
}

/* Copies a state that is found: its blocks become the newest unheld ones. */
static void copy_state(OrrKv *kv, guint64 key) {
  for (gint64 k = 0; k < kv->n_state; k++) {
    const guint32 block = find(kv, state_key(key, k));
    hold(kv, block);
    let_go(kv, block);
  }
}

void orr_kv_share(OrrKv *kv, OrrRequest *request, gint64 hit) {
  for (gint64 i = 0; i < hit / kv->block_size; i++) {
    const guint64 key = orr_request_block_key(request, i, kv->block_size);
    const guint32 block = find(kv, key);
    hold(kv, block);
    remember(request, block);
    if (kv->tiers) orr_tiers_touch(kv->tiers, key);
  }
  if (hit > 0)
    copy_state(kv, orr_request_block_key(request, hit / kv->block_size - 1, kv->block_size));
  request->computed = (gint32)hit;
}

void orr_kv_take(OrrKv *kv, OrrRequest *request, gint64 n) {
  request->blocks += (gint32)n;
  kv->n_free -= n;
  kv->n_held += n;
}

gboolean orr_kv_grow(OrrKv *kv, OrrRequest *request, gint64 tokens) {
  const gint64 fresh = orr_kv_blocks_of(kv, tokens) - request->blocks;
  if (fresh <= 0) return TRUE;
  if (fresh + (request->state_ids ? 0 : kv->n_state) > kv->n_free) return FALSE;
  if (!kv->blocks) {
    orr_kv_take(kv, request, fresh);
    return TRUE;
  }
  for (gint64 i = 0; i < fresh; i++) remember(request, take_fresh(kv));
  take_state(kv, request);
  return TRUE;
}

void orr_kv_load(OrrKv *kv, OrrRequest *request, gint64 end) {
  const gint64 before = request->computed;
  orr_kv_grow(kv, request, end);
  request->computed = (gint32)end;
  orr_kv_publish(kv, request, before);
}

void orr_kv_publish(OrrKv *kv, OrrRequest *request, gint64 computed_before) {
  if (!kv->blocks) return;
  const gint64 end = MIN(request->computed / kv->block_size, (gint64)request->blocks);
  for (gint64 i = computed_before / kv->block_size; i < end; i++) {
    const guint64 key = orr_request_block_key(request, i, kv->block_size);
    const guint32 block = request->block_ids[i];
    if (!kv->blocks[block].key && find(kv, key) == NOBODY) name(kv, block, key);
  }
  if (end > 0 && request->computed == end * kv->block_size) keep_state(kv, request, end - 1);
}

/* Releases the blocks from @n on. */
static void drop(OrrKv *kv, OrrRequest *request, gint32 n) {
  if (!kv->blocks) {
    kv->n_free += request->blocks - n;
    kv->n_held -= request->blocks - n;
  }
  for (gint32 i = request->blocks - 1; kv->blocks && i >= n; i--) let_go(kv, request->block_ids[i]);
  request->blocks = n;
}

void orr_kv_shrink(OrrKv *kv, OrrRequest *request, gint64 tokens, gint64 least) {
  const gint64 wanted = MAX(orr_kv_blocks_of(kv, tokens), least);
  if (wanted < request->blocks) drop(kv, request, (gint32)wanted);
}

void orr_kv_release(OrrKv *kv, OrrRequest *request) {
  give_state(kv, request);
  drop(kv, request, 0);
  g_clear_pointer(&request->block_ids, g_free);
  request->capacity = 0;
}

gint64 orr_kv_held_by(const OrrKv *kv, const OrrRequest *request) {
  return request->blocks + (request->state_ids ? kv->n_state : 0);
}

gboolean orr_kv_conserves(const OrrKv *kv, gint64 blocks) {
  if (kv->n_free < 0 || kv->n_held < 0 || kv->n_free + kv->n_held != kv->n) return FALSE;
  return kv->blocks ? kv->n_held <= blocks && (kv->n_held > 0 || blocks == 0)
                    : kv->n_held == blocks;
}

gboolean orr_kv_check(const OrrKv *kv) {
  gint64 n_free = 0;
  if (!kv->blocks) return kv->n_free >= 0 && kv->n_held >= 0 && kv->n_free + kv->n_held == kv->n;
  for (guint32 i = kv->oldest; i != NOBODY; i = kv->blocks[i].after) {
    n_free++;
    if (kv->blocks[i].holders != 0 || n_free > kv->n) return FALSE;
  }
  return n_free == kv->n_free && kv->n_free + kv->n_held == kv->n;
}

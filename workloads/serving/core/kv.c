/*
 * kv.c - the blocks of one core's key-value cache: counted, or in runs (kv.h), and which of
 * them each request holds.
 */
#include "workloads/serving/core/kv.h"

const char *const orr_prefix_words[] = {"none", "block-hash", "radix", NULL};

struct OrrKv {
  gint64 n, block_size, n_free, n_held, n_evicted;
  OrrPrefixCaching caching;
  OrrKvLayout layout, cached; /* of counted blocks; of runs */
  gint64 n_state;             /* blocks of a sequence's state, with a prefix cache; 0: no state */
  double window_units;        /* blocks that windowed layers take for a named one; 0: no windows */
  gint64 reach;               /* blocks before a hit that windows must have */
  OrrKv *windows;             /* their own pool; NULL: they are in this one */
  OrrKvRuns *runs;            /* NULL: blocks are only counted */
  GArray *cut;                /* of OrrTextBlocks: what a table has behind where it is changed */
  const OrrTiers *tiers;      /* NULL: none */
  OrrKvTell tell;             /* NULL: no listener */
  void *user;
};

/* --- life --- */

OrrKv *orr_kv_new(gint64 n_blocks, gint64 block_size, OrrPrefixCaching caching) {
  OrrKv *kv = g_new0(OrrKv, 1);
  *kv = (OrrKv){.n = n_blocks, .block_size = block_size, .n_free = n_blocks, .caching = caching};
  if (caching == ORR_PREFIX_NONE) return kv;
  kv->runs = orr_kv_runs_new(n_blocks);
  kv->cut = g_array_new(FALSE, FALSE, sizeof(OrrTextBlocks));
  return kv;
}

void orr_kv_free(OrrKv *kv) {
  if (!kv) return;
  orr_kv_free(kv->windows);
  orr_kv_runs_free(kv->runs);
  if (kv->cut) g_array_unref(kv->cut);
  g_free(kv);
}

void orr_kv_back(OrrKv *kv, const OrrTiers *tiers) {
  for (int tier = 0; kv->runs && tier < ORR_N_TIERS; tier++)
    if (tiers->stores[tier]) kv->tiers = tiers;
}

void orr_kv_observe(OrrKv *kv, OrrKvTell tell, void *user) {
  kv->tell = tell;
  kv->user = user;
}

const OrrKvLayout *orr_kv_laid(const OrrKv *kv) { return kv->runs ? &kv->cached : &kv->layout; }
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

/* --- layout --- */

static gint64 whole_blocks(gint64 block_size, gint64 tokens) {
  return (tokens + block_size - 1) / block_size;
}

/* With as much room for windowed layers as for the others (window_room 1) all tokens are kept, and
 * a block has both. */
static void lay_out_windows(OrrKv *kv) {
  const OrrKvLayout *layout = &kv->cached;
  const double share = layout->window_share, room = layout->window_room;
  if (share <= 0 || share >= 1 || room >= 1) return;
  kv->reach = whole_blocks(kv->block_size, layout->window - 1);
  kv->window_units = room > 0 ? 1 : share / (1 - share);
  if (room > 0)
    kv->windows =
        orr_kv_new((gint64)floor((double)kv->n * room), kv->block_size, ORR_PREFIX_BLOCK_HASH);
}

void orr_kv_lay_out(OrrKv *kv, const OrrKvLayout *layout) {
  *(kv->runs ? &kv->cached : &kv->layout) = *layout;
  if (!kv->runs) return;
  kv->cached.is_cached = TRUE;
  kv->n_state = orr_kv_layout_states(&kv->cached);
  kv->n = kv->n_free = orr_kv_layout_total(&kv->cached, kv->n);
  orr_kv_runs_free(kv->runs);
  kv->runs = orr_kv_runs_new(kv->n);
  lay_out_windows(kv);
}

gboolean orr_kv_keeps_states(const OrrKv *kv) { return kv->n_state > 0; }

/* --- names --- */

static void are_gone(const OrrTextBlocks *blocks, void *data) {
  const OrrKv *kv = data;
  kv->tell(blocks, FALSE, kv->user);
}

void orr_kv_forget(OrrKv *kv) {
  if (kv->runs && kv->tell) orr_kv_runs_each(kv->runs, are_gone, kv);
}

static OrrTextBlocks blocks_of(const OrrKv *kv, const OrrRequest *request, gint64 begin,
                               gint64 end) {
  return orr_request_blocks(request, begin, end, kv->block_size);
}

/* Makes blocks [@begin, @end) of @request the newest of the tiers, the first one the newest of all:
 * what lacks its head is of no use, so a tier loses the tail of a prompt first, as HBM does. So do
 * LMCache (touch_cache reverses a request's keys), vLLM's LRUOffloadingManager.touch, and SGLang,
 * which evicts leaves of its tree. */
static void touch_tiers(OrrKv *kv, const OrrRequest *request, gint64 begin, gint64 end) {
  if (!kv->tiers) return;
  g_array_set_size(kv->cut, 0);
  while (begin < end) {
    const OrrTextBlocks blocks = blocks_of(kv, request, begin, end);
    g_array_append_val(kv->cut, blocks);
    begin += blocks.n;
  }
  for (guint k = kv->cut->len; k-- > 0;) {
    const OrrTextBlocks *blocks = &g_array_index(kv->cut, OrrTextBlocks, k);
    for (gint64 i = blocks->n; i-- > 0;) orr_tiers_touch(kv->tiers, orr_text_blocks_key(blocks, i));
  }
}

/* --- tables --- */

static void add(OrrBlockTable *table, const OrrTextBlocks *blocks) {
  OrrTextBlocks *last = table->n > 0 ? &table->pieces[table->n - 1] : NULL;
  if (last && last->text == blocks->text &&
      (!last->text || last->first + last->n == blocks->first)) {
    last->n += blocks->n;
    return;
  }
  if (table->n == table->capacity) {
    table->capacity = MAX(2 * table->capacity, 4);
    table->pieces = g_renew(OrrTextBlocks, table->pieces, table->capacity);
  }
  table->pieces[table->n++] = *blocks;
}

static void add_nameless(OrrBlockTable *table, gint64 n) {
  if (n > 0) add(table, &(OrrTextBlocks){.n = n});
}

/* Takes the last @n blocks off the table, pieces of them to @kv->cut, the last first. */
static void cut_off(OrrKv *kv, OrrBlockTable *table, gint64 n) {
  g_array_set_size(kv->cut, 0);
  while (n > 0) {
    OrrTextBlocks *last = &table->pieces[table->n - 1], cut = *last;
    cut.n = MIN(n, last->n);
    cut.first = last->first + last->n - cut.n;
    last->n -= cut.n;
    n -= cut.n;
    if (last->n == 0) table->n--;
    g_array_append_val(kv->cut, cut);
  }
}

/* Takes the least recently used unheld blocks. */
static void take(OrrKv *kv, gint64 n) {
  kv->n_evicted += orr_kv_runs_take(kv->runs, n, kv->tell ? are_gone : NULL, kv);
  kv->n_free -= n;
  kv->n_held += n;
}

static void take_fresh(OrrKv *kv, OrrBlockTable *table, gint64 n) {
  take(kv, n);
  add_nameless(table, n);
}

static void hold(OrrKv *kv, const OrrTextBlocks *blocks) {
  const gint64 freed = orr_kv_runs_hold(kv->runs, blocks);
  kv->n_free -= freed;
  kv->n_held += freed;
}

static void let_go(OrrKv *kv, const OrrTextBlocks *blocks) {
  const gint64 freed = orr_kv_runs_let_go(kv->runs, blocks);
  kv->n_free += freed;
  kv->n_held -= freed;
}

static void let_go_last(OrrKv *kv, OrrBlockTable *table, gint64 n) {
  cut_off(kv, table, n);
  for (guint i = 0; i < kv->cut->len; i++) let_go(kv, &g_array_index(kv->cut, OrrTextBlocks, i));
}

static void clear(OrrBlockTable *table) {
  g_clear_pointer(&table->pieces, g_free);
  *table = (OrrBlockTable){0};
}

/* Appends blocks that are held to @table: under these names, where no other block has them. */
static void add_named(OrrKv *kv, OrrBlockTable *table, OrrTextBlocks blocks) {
  while (blocks.n > 0) {
    OrrTextBlocks here = blocks;
    here.n = orr_kv_runs_lack(kv->runs, &blocks);
    if (here.n > 0) {
      orr_kv_runs_name(kv->runs, &here);
      if (kv->tell) kv->tell(&here, TRUE, kv->user);
      add(table, &here);
    } else {
      add_nameless(table, here.n = orr_kv_runs_have(kv->runs, &blocks));
    }
    blocks.first += here.n;
    blocks.n -= here.n;
  }
}

/* --- windows --- */

/* Blocks of windowed layers have names of their own: of a text made from the other layers', and as
 * many as their tokens take. What leaves a window is free but keeps its name until its room is
 * needed, so that a later prompt may find it. */

static OrrKv *window_pool(OrrKv *kv) { return kv->windows ? kv->windows : kv; }

/* The first of windowed layers' blocks for block @block of a text. */
static gint64 unit_at(const OrrKv *kv, gint64 block) {
  return (gint64)floor((double)block * kv->window_units + 1e-9);
}

static OrrTextBlocks window_names(const OrrKv *kv, const OrrTextBlocks *blocks) {
  const gint64 first = unit_at(kv, blocks->first);
  return (OrrTextBlocks){orr_block_names_window(blocks->text), first,
                         unit_at(kv, blocks->first + blocks->n) - first};
}

/* How many of @blocks windowed layers keep in their first @units; of those they take none of. */
static gint64 blocks_in(const OrrKv *kv, const OrrTextBlocks *blocks, gint64 units) {
  gint64 low = 0, high = blocks->n + 1; /* low fits, high does not */
  while (high - low > 1) {
    const gint64 middle = low + (high - low) / 2;
    if (unit_at(kv, blocks->first + middle) - unit_at(kv, blocks->first) <= units)
      low = middle;
    else
      high = middle;
  }
  return low;
}

/* The blocks of @request's text that its windows no longer need when @computed tokens are there. */
static gint64 left_behind(const OrrKv *kv, gint64 computed) {
  return MAX(computed / kv->block_size - kv->reach, 0);
}

/* Where windowed layers' blocks that are missing come from. */
typedef enum {
  WINDOWS_TOUCH, /* nowhere: those that are there become the newest */
  WINDOWS_ADD,   /* the oldest free blocks */
  WINDOWS_OWN    /* what the request holds without a name, then the oldest free ones */
} WindowsFrom;

static gint32 *own_blocks(const OrrKv *kv, OrrRequest *request) {
  return kv->windows ? &request->pool_blocks : &request->window_blocks;
}

/* Names @names, all of which are missing: the last ones, where there is not enough room. Returns
 * the ones that it named. */
static OrrTextBlocks add_windows(OrrKv *kv, OrrRequest *request, OrrTextBlocks names,
                                 WindowsFrom from) {
  OrrKv *pool = window_pool(kv);
  gint32 *held = own_blocks(kv, request);
  const gint64 own = from == WINDOWS_OWN ? MIN(names.n, *held) : 0;
  const gint64 fresh = MIN(names.n - own, pool->n_free), skipped = names.n - own - fresh;
  names.first += skipped;
  names.n -= skipped;
  *held -= (gint32)own;
  take(pool, fresh);
  if (names.n == 0) return names;
  orr_kv_runs_name(pool->runs, &names);
  if (pool->tell) pool->tell(&names, TRUE, pool->user);
  return names;
}

/* Makes @names the newest free blocks of windowed layers. */
static void keep_windows(OrrKv *kv, OrrRequest *request, OrrTextBlocks names, WindowsFrom from) {
  OrrKv *pool = window_pool(kv);
  while (names.n > 0) {
    OrrTextBlocks here = names;
    here.n = orr_kv_runs_have(pool->runs, &names);
    if (here.n > 0) {
      hold(pool, &here);
    } else {
      here.n = orr_kv_runs_lack(pool->runs, &names);
      const gint64 end = here.first + here.n;
      if (from == WINDOWS_TOUCH)
        here = (OrrTextBlocks){here.text, end, 0};
      else
        here = add_windows(kv, request, here, from);
    }
    if (here.n > 0) let_go(pool, &here);
    names.n -= here.first + here.n - names.first;
    names.first = here.first + here.n;
  }
}

/* The windowed layers' blocks of blocks [@begin, @end) of @request. */
static void keep_windows_of(OrrKv *kv, OrrRequest *request, gint64 begin, gint64 end,
                            WindowsFrom from) {
  while (kv->window_units > 0 && begin < end) {
    const OrrTextBlocks blocks = blocks_of(kv, request, begin, end);
    keep_windows(kv, request, window_names(kv, &blocks), from);
    begin += blocks.n;
  }
}

/* The most of @most blocks, which the other layers have, before which windowed layers have what
 * their windows need (vLLM's SlidingWindowManager.find_longest_cache_hit, SGLang's tombstones). */
static gint64 most_in_windows(const OrrKv *kv, const OrrRequest *request, gint64 most) {
  const OrrKvRuns *runs = kv->windows ? kv->windows->runs : kv->runs;
  gint64 since = 0, found = 0; /* the blocks from `since` on are there */
  if (kv->window_units <= 0) return most;
  for (gint64 n = 0; n < most;) {
    const OrrTextBlocks blocks = blocks_of(kv, request, n, most);
    const OrrTextBlocks names = window_names(kv, &blocks);
    const gint64 have = blocks_in(kv, &blocks, orr_kv_runs_have(runs, &names));
    if (have > 0) {
      n += have;
      if (since == 0 || n - since >= kv->reach) found = n;
    } else {
      since = n += MAX(blocks_in(kv, &blocks, orr_kv_runs_lack(runs, &names)), 1);
    }
  }
  return found;
}

/* Blocks that @request's windows will take and it does not hold yet. */
static gint64 windows_of(const OrrKv *kv, const OrrRequest *request) {
  if (!kv->runs || request->window_blocks > 0) return 0;
  return orr_kv_layout_windows(&kv->cached, kv->block_size,
                               (gint64)request->prompt + request->output);
}

/* In a pool of their own windows take at most the free blocks: the other layers' blocks decide who
 * runs. */
static void take_windows(OrrKv *kv, OrrRequest *request) {
  const gint64 n = windows_of(kv, request);
  if (kv->windows && request->pool_blocks == 0) {
    const gint64 all = whole_blocks(kv->block_size, (gint64)request->prompt + request->output);
    request->pool_blocks = (gint32)MIN(MIN(all, kv->reach + 1), kv->windows->n_free);
    take(kv->windows, request->pool_blocks);
  }
  if (n <= 0) return;
  take(kv, n);
  request->window_blocks = (gint32)n;
}

/* The last window keeps its names. */
static void give_windows(OrrKv *kv, OrrRequest *request) {
  if (request->blocks > 0)
    keep_windows_of(kv, request, left_behind(kv, request->computed),
                    request->computed / kv->block_size, WINDOWS_OWN);
  if (request->window_blocks > 0) let_go(kv, &(OrrTextBlocks){.n = request->window_blocks});
  if (request->pool_blocks > 0) let_go(kv->windows, &(OrrTextBlocks){.n = request->pool_blocks});
  request->window_blocks = request->pool_blocks = 0;
}

/* --- states: as a block ended --- */

static gboolean has_state(const OrrKv *kv, const OrrTextBlocks *blocks, gint64 i) {
  const OrrTextBlocks state = orr_text_blocks_state(blocks, i, kv->n_state);
  return kv->n_state == 0 || orr_kv_runs_have(kv->runs, &state) == kv->n_state;
}

static void take_state(OrrKv *kv, OrrRequest *request) {
  if (kv->n_state > 0 && request->state_table.n == 0)
    take_fresh(kv, &request->state_table, kv->n_state);
}

static void give_state(OrrKv *kv, OrrRequest *request) {
  if (request->state_table.n > 0) let_go_last(kv, &request->state_table, kv->n_state);
  clear(&request->state_table);
}

/* Stores the current state as that at the end of block @i; the request continues with a copy. */
static void keep_state(OrrKv *kv, OrrRequest *request, gint64 i) {
  const OrrTextBlocks block = blocks_of(kv, request, i, i + 1);
  if (request->state_table.n == 0 || has_state(kv, &block, 0)) return;
  request->state_table.n = 0; /* it has no names yet */
  add_named(kv, &request->state_table, orr_text_blocks_state(&block, 0, kv->n_state));
  give_state(kv, request);
  take_state(kv, request);
}

/* Copies a state that is found: its blocks become the newest unheld ones. */
static void copy_state(OrrKv *kv, const OrrRequest *request, gint64 i) {
  const OrrTextBlocks block = blocks_of(kv, request, i, i + 1);
  for (gint64 k = 0; k < kv->n_state; k++) {
    OrrTextBlocks one = orr_text_blocks_state(&block, 0, 1);
    one.first = k;
    hold(kv, &one);
    let_go(kv, &one);
  }
}

/* --- lookups --- */

/* Of the first @most blocks, those up to the last kept state (without states: all) before which no
 * block is missing. */
static gint64 most_at_state(const OrrKv *kv, const OrrRequest *request, gint64 most) {
  gint64 found = 0;
  for (gint64 n = 0; n < most;) {
    const OrrTextBlocks blocks = blocks_of(kv, request, n, most);
    const gint64 have = orr_kv_runs_have(kv->runs, &blocks);
    gint64 last = have;
    while (last > 0 && !has_state(kv, &blocks, last - 1)) last--;
    if (last > 0) found = n + last;
    if (have < blocks.n) break;
    n += have;
  }
  return found;
}

gint64 orr_kv_lookup(const OrrKv *kv, const OrrRequest *request) {
  if (kv->caching == ORR_PREFIX_NONE) return 0;
  gint64 most = (orr_request_wanted(request) - 1) / kv->block_size, found;
  while ((found = most_at_state(kv, request, most)) > 0 &&
         (most = most_in_windows(kv, request, found)) < found)
    ;
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
  for (gint64 i = 0; i < n;) {
    const OrrTextBlocks blocks = blocks_of(kv, request, i, n);
    count += orr_kv_runs_unheld(kv->runs, &blocks);
    i += blocks.n;
  }
  return count;
}

gint64 orr_kv_needed(const OrrKv *kv, const OrrRequest *request, gint64 tokens, gint64 hit) {
  const gint64 shared = hit / kv->block_size;
  const gint64 fresh = orr_kv_blocks_of(kv, tokens) - MAX(request->blocks, shared);
  return MAX(fresh, 0) + (shared > 0 && request->blocks == 0 ? unheld(kv, request, shared) : 0) +
         (request->state_table.n > 0 ? 0 : kv->n_state) + windows_of(kv, request);
}

/* --- requests --- */

void orr_kv_share(OrrKv *kv, OrrRequest *request, gint64 hit) {
  const gint64 n = hit / kv->block_size;
  for (gint64 i = 0; i < n;) {
    const OrrTextBlocks blocks = blocks_of(kv, request, i, n);
    hold(kv, &blocks);
    add(&request->table, &blocks);
    i += blocks.n;
  }
  touch_tiers(kv, request, 0, n);
  request->blocks += (gint32)n;
  if (hit > 0) copy_state(kv, request, n - 1);
  keep_windows_of(kv, request, left_behind(kv, hit), n, WINDOWS_TOUCH);
  request->computed = (gint32)hit;
}

gboolean orr_kv_grow(OrrKv *kv, OrrRequest *request, gint64 tokens) {
  const gint64 fresh = orr_kv_blocks_of(kv, tokens) - request->blocks;
  if (fresh <= 0) return TRUE;
  if (fresh + (request->state_table.n > 0 ? 0 : kv->n_state) + windows_of(kv, request) > kv->n_free)
    return FALSE;
  if (!kv->runs) {
    request->blocks += (gint32)fresh;
    kv->n_free -= fresh;
    kv->n_held += fresh;
    return TRUE;
  }
  take_fresh(kv, &request->table, fresh);
  request->blocks += (gint32)fresh;
  take_state(kv, request);
  take_windows(kv, request);
  return TRUE;
}

void orr_kv_load(OrrKv *kv, OrrRequest *request, gint64 end) {
  const gint64 before = request->computed;
  orr_kv_grow(kv, request, end);
  request->computed = (gint32)end;
  orr_kv_publish(kv, request, before);
}

/* Names blocks of [begin, end) that have no name. */
static void name(OrrKv *kv, OrrRequest *request, gint64 begin, gint64 end) {
  OrrBlockTable *table = &request->table;
  cut_off(kv, table, request->blocks - begin);
  for (guint k = kv->cut->len; k-- > 0;) {
    const OrrTextBlocks piece = g_array_index(kv->cut, OrrTextBlocks, k);
    const gint64 after = begin + piece.n;
    if (piece.text) {
      add(table, &piece);
      begin = after;
      continue;
    }
    for (OrrTextBlocks blocks; begin < MIN(after, end); begin += blocks.n) {
      blocks = blocks_of(kv, request, begin, MIN(after, end));
      add_named(kv, table, blocks);
    }
    add_nameless(table, after - begin);
    begin = after;
  }
}

/* Blocks of output get their names when they are given up: nobody looks for them before. */
static gboolean names_later(const OrrKv *kv, OrrRequest *request, gint64 begin) {
  if (begin < request->prompt || request->naming || kv->tell || kv->tiers || kv->n_state > 0 ||
      kv->window_units > 0)
    return FALSE;
  if (request->nameless == 0) request->nameless = (gint32)begin;
  return TRUE;
}

void orr_kv_announce(OrrKv *kv, OrrRequest *request, gint64 tokens) {
  if (!kv->runs || kv->n_state > 0 || names_later(kv, request, request->computed)) return;
  const gint64 begin = request->computed / kv->block_size;
  const gint64 end =
      MIN(MIN(tokens, orr_request_wanted(request)) / kv->block_size, (gint64)request->blocks);
  if (begin >= end) return;
  name(kv, request, begin, end);
  keep_windows_of(kv, request, begin, end, WINDOWS_ADD);
}

void orr_kv_publish(OrrKv *kv, OrrRequest *request, gint64 computed_before) {
  if (!kv->runs || names_later(kv, request, computed_before)) return;
  const gint64 begin = computed_before / kv->block_size;
  const gint64 end = MIN(request->computed / kv->block_size, (gint64)request->blocks);
  const gboolean is_whole =
      computed_before < request->prompt && request->computed >= request->prompt;
  if (begin < end) name(kv, request, begin, end);
  touch_tiers(kv, request, is_whole ? 0 : begin, end);
  if (end > 0 && request->computed == end * kv->block_size) keep_state(kv, request, end - 1);
  keep_windows_of(kv, request, begin, end, WINDOWS_ADD);
  keep_windows_of(kv, request, left_behind(kv, computed_before), left_behind(kv, request->computed),
                  WINDOWS_TOUCH);
}

/* Releases the blocks from @n on. */
static void drop(OrrKv *kv, OrrRequest *request, gint32 n) {
  if (kv->runs) {
    let_go_last(kv, &request->table, request->blocks - n);
  } else {
    kv->n_free += request->blocks - n;
    kv->n_held -= request->blocks - n;
  }
  request->blocks = n;
}

void orr_kv_shrink(OrrKv *kv, OrrRequest *request, gint64 tokens, gint64 least) {
  const gint64 wanted = MAX(orr_kv_blocks_of(kv, tokens), least);
  if (wanted < request->blocks) drop(kv, request, (gint32)wanted);
}

void orr_kv_release(OrrKv *kv, OrrRequest *request) {
  if (request->nameless > 0)
    name(kv, request, request->nameless / kv->block_size, request->computed / kv->block_size);
  request->nameless = 0;
  if (request->blocks > 0)
    touch_tiers(kv, request, 0, MIN(request->computed / kv->block_size, (gint64)request->blocks));
  give_state(kv, request);
  give_windows(kv, request);
  drop(kv, request, 0);
  clear(&request->table);
}

gint64 orr_kv_held_by(const OrrKv *kv, const OrrRequest *request) {
  return request->blocks + request->window_blocks + (request->state_table.n > 0 ? kv->n_state : 0);
}

gboolean orr_kv_conserves(const OrrKv *kv, gint64 blocks) {
  if (kv->n_free < 0 || kv->n_held < 0 || kv->n_free + kv->n_held != kv->n) return FALSE;
  return kv->runs ? kv->n_held <= blocks && (kv->n_held > 0 || blocks == 0) : kv->n_held == blocks;
}

gboolean orr_kv_check(const OrrKv *kv) {
  if (kv->n_free < 0 || kv->n_held < 0 || kv->n_free + kv->n_held != kv->n) return FALSE;
  if (kv->windows && !orr_kv_check(kv->windows)) return FALSE;
  return !kv->runs || orr_kv_runs_check(kv->runs, kv->n_free);
}

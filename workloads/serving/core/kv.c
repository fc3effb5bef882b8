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
  return layout->window_share <= 0 && layout->state_blocks <= 0 && layout->ring_blocks <= 0;
}

/* Of each layer's part of a block. */
static double kept_tokens(const OrrKvLayout *layout, gint64 block_size, double tokens) {
  const double share = layout->window_share, room = layout->window_room;
  const double in_window = fmin(tokens, (double)(layout->window + block_size));
  if (room > 0) return (1 - share + room * share) * fmax(tokens, in_window / room);
  return (1 - share) * tokens + share * in_window;
}

/* Of a whole block, what its layers without a window take, and their fixed pool. */
static double unit_of(const OrrKvLayout *layout) {
  const double share = layout->window_share;
  return layout->is_cached && share > 0 ? 1 - share + layout->window_room * share : 1;
}

gint64 orr_kv_layout_total(const OrrKvLayout *layout, gint64 blocks) {
  return (gint64)floor((double)blocks / unit_of(layout));
}

static gint64 whole_blocks(gint64 block_size, gint64 tokens) {
  return (tokens + block_size - 1) / block_size;
}

/* With a prefix cache: what windows and rings take in addition to a sequence's blocks, and its
 * state. */
static gint64 window_blocks(const OrrKvLayout *layout, gint64 block_size, gint64 tokens) {
  const gint64 ring = (gint64)ceil(layout->ring_blocks / unit_of(layout));
  if (layout->window_share <= 0) return ring;
  const double kept = kept_tokens(layout, block_size, (double)tokens) / unit_of(layout);
  return ring + (gint64)ceil(fmax(kept - (double)tokens, 0) / (double)block_size);
}

static gint64 state_blocks(const OrrKvLayout *layout) {
  return (gint64)ceil(layout->state_blocks / unit_of(layout));
}

gint64 orr_kv_layout_blocks(const OrrKvLayout *layout, gint64 block_size, gint64 tokens) {
  if (tokens <= 0) return 0;
  if (is_plain(layout)) return whole_blocks(block_size, tokens);
  if (layout->is_cached)
    return whole_blocks(block_size, tokens) + window_blocks(layout, block_size, tokens) +
           state_blocks(layout);
  return (gint64)ceil(layout->state_blocks + layout->ring_blocks +
                      kept_tokens(layout, block_size, (double)tokens) / (double)block_size);
}

double orr_kv_layout_tokens(const OrrKvLayout *layout, gint64 block_size, double tokens) {
  if (is_plain(layout)) return tokens;
  return (layout->state_blocks + layout->ring_blocks) * (double)block_size +
         kept_tokens(layout, block_size, tokens);
}

gint64 orr_kv_layout_room(const OrrKvLayout *layout, gint64 block_size, gint64 blocks) {
  if (is_plain(layout)) return MIN(blocks * block_size, (gint64)G_MAXINT32);
  gint64 low = 0, high = G_MAXINT32; /* blocks of low <= blocks; of high more, or no limit */
  blocks = orr_kv_layout_total(layout, blocks);
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
  if (!kv->runs) {
    kv->layout = *layout;
    return;
  }
  kv->cached = *layout;
  kv->cached.is_cached = TRUE;
  kv->n_state = state_blocks(&kv->cached);
  kv->n = kv->n_free = orr_kv_layout_total(&kv->cached, kv->n);
  orr_kv_runs_free(kv->runs);
  kv->runs = orr_kv_runs_new(kv->n);
}

gboolean orr_kv_keeps_states(const OrrKv *kv) { return kv->n_state > 0; }

/* --- names --- */

static void are_gone(const OrrTextBlocks *blocks, void *data) {
  const OrrKv *kv = data;
  kv->tell(blocks, FALSE, kv->user);
}

static void touch_tiers(const OrrKv *kv, const OrrTextBlocks *blocks) {
  for (gint64 i = 0; kv->tiers && i < blocks->n; i++)
    orr_tiers_touch(kv->tiers, orr_text_blocks_key(blocks, i));
}

void orr_kv_forget(OrrKv *kv) {
  if (kv->runs && kv->tell) orr_kv_runs_each(kv->runs, are_gone, kv);
}

static OrrTextBlocks blocks_of(const OrrKv *kv, const OrrRequest *request, gint64 begin,
                               gint64 end) {
  return orr_request_blocks(request, begin, end, kv->block_size);
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
      touch_tiers(kv, &here);
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

/* Blocks that @request's windows will take and it does not hold yet. */
static gint64 windows_of(const OrrKv *kv, const OrrRequest *request) {
  if (!kv->runs || request->window_blocks > 0) return 0;
  return window_blocks(&kv->cached, kv->block_size, (gint64)request->prompt + request->output);
}

static void take_windows(OrrKv *kv, OrrRequest *request) {
  const gint64 n = windows_of(kv, request);
  if (n <= 0) return;
  take(kv, n);
  request->window_blocks = (gint32)n;
}

static void give_windows(OrrKv *kv, OrrRequest *request) {
  if (request->window_blocks > 0) let_go(kv, &(OrrTextBlocks){.n = request->window_blocks});
  request->window_blocks = 0;
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

gint64 orr_kv_lookup(const OrrKv *kv, const OrrRequest *request) {
  if (kv->caching == ORR_PREFIX_NONE) return 0;
  const gint64 most = (orr_request_wanted(request) - 1) / kv->block_size;
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
    touch_tiers(kv, &blocks);
    i += blocks.n;
  }
  request->blocks += (gint32)n;
  if (hit > 0) copy_state(kv, request, n - 1);
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
  if (fresh + (request->state_table.n > 0 ? 0 : kv->n_state) + windows_of(kv, request) > kv->n_free)
    return FALSE;
  if (!kv->runs) {
    orr_kv_take(kv, request, fresh);
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

void orr_kv_publish(OrrKv *kv, OrrRequest *request, gint64 computed_before) {
  if (!kv->runs) return;
  const gint64 begin = computed_before / kv->block_size;
  const gint64 end = MIN(request->computed / kv->block_size, (gint64)request->blocks);
  if (begin < end) name(kv, request, begin, end);
  if (end > 0 && request->computed == end * kv->block_size) keep_state(kv, request, end - 1);
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
  return !kv->runs || orr_kv_runs_check(kv->runs, kv->n_free);
}

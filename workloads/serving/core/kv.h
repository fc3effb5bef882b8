/*
 * kv.h - the paged key-value cache of one engine core, and what of it can be used again.
 *
 * Memory is n blocks of block_size tokens. A request holds whole blocks; a block is held by all
 * requests that share it. Without prefix caching only numbers are kept. With it a full block is
 * named by its content (the hash chain of vLLM, the path in SGLang's radix tree: both name all
 * tokens up to its end) and, once nobody holds it, stays until its room is needed, least recently
 * used first and the tail of a prompt before its head, so that no block outlives the ones before
 * it. Blocks are kept in runs (kv.h): a prompt costs what its texts (request.h) cost, not what
 * its blocks would.
 *
 * Layers with a window keep the last tokens of it alone, layers with a state a state whatever the
 * length: a sequence of t tokens takes
 *
 *   ceil(state + ((1 - w) t + w min(t, window + size)) / size)    blocks, w: the windowed layers'
 *                                                                 share of a block's bytes
 *
 * as vLLM's hybrid cache does in the sum of its groups. Two pools of fixed sizes, r tokens of
 * windowed layers' for each token of the others', are full when either is, so a sequence takes
 *
 *   (1 - w + r w) max(t, min(t, window + size) / r)    instead of the sum; all of t for r = 1
 *
 * With a prefix cache a block is the other layers' alone, so that there are more, and a sequence
 * holds in addition what its windows take at its last token (vLLM's and SGLang's caches free what
 * leaves a window). Of windowed layers blocks have names too, w / (1 - w) of them for each of the
 * others', from when they are computed, and are free: their room may be taken before the prompt's.
 * What leaves a window, and the last window of a request that ends, becomes the newest. A hit needs
 * them for the window before its end alone:
 *
 *   tokens    | block | block | block | block | block | blo
 *   others      there   there   there   there   there
 *   windowed                    there   there             found: 4 blocks, with a window of 32
 *
 * They are in one pool with the others' (vLLM) or, with r between 0 and 1, in one of r blocks for
 * each of theirs (SGLang), where windows hold at most its free ones. What is in a window takes room
 * twice, held without a name and free with one, and a long step's windowed blocks take none until
 * its end.
 *
 * A state is kept as it was where a block ended at which a step ended (vLLM's mamba_cache_mode
 * align, its default): ceil(state) blocks, named by all tokens up to there. A sequence has as many
 * for the state it goes on with; a prompt that is found again goes on from the last state on its
 * way.
 *
 *   tokens   | block | block | block | blo        states kept at steps' ends:     ^       ^
 *   found      as far as the last ^ that all blocks before are there for
 *
 * Invariant: free + held = n, where held counts a shared block once; orr_kv_check says whether it
 * is so.
 */
#pragma once

#include "workloads/serving/core/request.h"

/* tiers.c: cache tiers of the key-value cache below HBM: host memory, SSD, and a store on the
 * network.
 *
 *   block full in HBM --> host (a replica's) --> SSD (a replica's) --> remote (of all replicas)
 *   (written through)
 *   lookup:  HBM, and from where that ends the first tier that has the next block, until none has
 *
 * Each tier has its own least-recently-used order: a block that is computed or found becomes the
 * newest of every tier, and the head of a prompt is newer than its tail. As in LMCache and
 * Mooncake's store, the blocks found are read before the step that computes the rest of the prompt,
 * which waits for them; writing takes no time of the step. With ssd-writes: back a block comes to
 * the SSD when host memory drops it, instead of at once.
 *
 *   host     bytes of a rank / its host link
 *   ssd      latency + bytes of all ranks / ssd-bandwidth
 *   remote   latency + bytes of a rank / remote-bandwidth, or flows over the fabric (cache_tiers.c)
 *
 * Oracle: least-recently-used lists include one another (Mattson et al. 1970): a tier at least as
 * large as HBM answers as many lookups as an HBM of the tier's size would.
 */

typedef enum { ORR_TIER_HOST, ORR_TIER_SSD, ORR_TIER_REMOTE, ORR_N_TIERS } OrrTier;

/* Keys in least-recently-used order. */
typedef struct OrrTierStore OrrTierStore;

OrrTierStore *orr_tier_store_new(gint64 n_blocks); /* NULL for 0 */
void orr_tier_store_free(OrrTierStore *store);
gint64 orr_tier_store_room(const OrrTierStore *store); /* blocks that it holds at most */
gboolean orr_tier_store_has(const OrrTierStore *store, guint64 key);
/* makes the key the newest; drops the oldest if the store is full */
void orr_tier_store_touch(OrrTierStore *store, guint64 key);
/* What @store drops goes to @below, which must outlive it; NULL: nowhere. */
void orr_tier_store_spill(OrrTierStore *store, OrrTierStore *below);
/* Keys that came to the store since this was last called. */
gint64 orr_tier_store_take_new(OrrTierStore *store);

/* The tiers of one replica: not owned; NULL for a missing tier. */
typedef struct {
  OrrTierStore *stores[ORR_N_TIERS];
  gboolean host_alone; /* deeper tiers are read to host memory first: steps find only host memory */
} OrrTiers;

int orr_tiers_find(const OrrTiers *tiers, guint64 key); /* the first tier that holds the key; -1:
                                                         * none */
void orr_tiers_touch(const OrrTiers *tiers, guint64 key);

typedef enum { ORR_PREFIX_NONE, ORR_PREFIX_BLOCK_HASH, ORR_PREFIX_RADIX } OrrPrefixCaching;
extern const char *const orr_prefix_words[]; /* "none", "block-hash", "radix", NULL */

/* What a sequence takes in addition to a block for each block_size tokens; all zero: nothing. */
typedef struct {
  double window_share; /* of a block's bytes, in layers with a window */
  gint64 window;       /* tokens */
  double window_room;  /* tokens of their pool per token of the others; 0: one pool */
  double state_blocks; /* of a sequence, whatever its length */
  double ring_blocks;  /* the same, of rings with its last tokens: what a step needs, no state */
  gboolean is_cached;  /* prefix caching: blocks of the layers without a window */
} OrrKvLayout;

/* kv_layout.c: what a sequence takes.
 *
 * The blocks that a cache of @blocks whole ones counts. */
gint64 orr_kv_layout_total(const OrrKvLayout *layout, gint64 blocks);

gint64 orr_kv_layout_blocks(const OrrKvLayout *layout, gint64 block_size, gint64 tokens);
/* The same memory as a number of tokens, block_size to a block; not rounded. */
double orr_kv_layout_tokens(const OrrKvLayout *layout, gint64 block_size, double tokens);
/* The most tokens that @blocks hold; at most G_MAXINT32. */
gint64 orr_kv_layout_room(const OrrKvLayout *layout, gint64 block_size, gint64 blocks);

/* Of the first @length tokens of a sequence those in [@from, @to) that its layers keep, in tokens
 * of all layers: layers with a window keep the last ones, unless they have as much room as the
 * others (window_room 1: vLLM with a connector, TensorRT-LLM without max_attention_window). */
double orr_kv_layout_kept(const OrrKvLayout *layout, gint64 block_size, gint64 from, gint64 to,
                          gint64 length);

/* With a prefix cache: what windows and rings take in addition to a sequence's blocks, and its
 * state. */
gint64 orr_kv_layout_windows(const OrrKvLayout *layout, gint64 block_size, gint64 tokens);
gint64 orr_kv_layout_states(const OrrKvLayout *layout);

typedef struct OrrKv OrrKv;

OrrKv *orr_kv_new(gint64 n_blocks, gint64 block_size, OrrPrefixCaching caching);
void orr_kv_free(OrrKv *kv);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(OrrKv, orr_kv_free)

/* Before any use. */
void orr_kv_lay_out(OrrKv *kv, const OrrKvLayout *layout);
gboolean orr_kv_keeps_states(const OrrKv *kv); /* steps of prompts are to end where blocks do */

gint64 orr_kv_n_blocks(const OrrKv *kv);
gint64 orr_kv_n_free(const OrrKv *kv); /* reusable ones included */
gint64 orr_kv_block_size(const OrrKv *kv);
const OrrKvLayout *orr_kv_laid(const OrrKv *kv);         /* what orr_kv_lay_out was given */
gint64 orr_kv_blocks_of(const OrrKv *kv, gint64 tokens); /* how many @tokens take */
gint64 orr_kv_room(const OrrKv *kv, gint64 blocks);      /* how many tokens @blocks hold */

/* Tokens of the prompt that are in the cache: whole blocks, and never the whole prompt, whose
 * last token must be computed for its logits. Touches nothing. */
gint64 orr_kv_lookup(const OrrKv *kv, const OrrRequest *request);
/* Tokens of the prompt after those, in tiers below: @ret_tokens of each. 0 where there are none.
 * Touches nothing. */
gint64 orr_kv_lookup_below(const OrrKv *kv, const OrrRequest *request, gint64 hit,
                           gint64 ret_tokens[ORR_N_TIERS]);
/* What @request would need beyond what it holds and shares for its first @tokens, @hit of them
 * shared. */
gint64 orr_kv_needed(const OrrKv *kv, const OrrRequest *request, gint64 tokens, gint64 hit);

/* Takes the first @hit tokens, as looked up, from the cache; sets computed and hit. */
void orr_kv_share(OrrKv *kv, OrrRequest *request, gint64 hit);
/* After that, the tokens up to @end from below: they are computed too, and named. There is room
 * for them. */
void orr_kv_load(OrrKv *kv, OrrRequest *request, gint64 end);
/* Makes room for the first @tokens tokens; FALSE, and nothing done, where there is not enough. */
gboolean orr_kv_grow(OrrKv *kv, OrrRequest *request, gint64 tokens);
/* Gives blocks back, the last ones first, that neither the first @tokens tokens nor @least
 * blocks need. */
void orr_kv_shrink(OrrKv *kv, OrrRequest *request, gint64 tokens, gint64 least);
/* Names blocks that a step under way will have filled when @request has @tokens: other requests of
 * the same step share them (vLLM V1 caches blocks when it allocates them; SGLang holds back what
 * shares a prefix with another request of the batch, and finds it a step later). Not of layers with
 * a state. */
void orr_kv_announce(OrrKv *kv, OrrRequest *request, gint64 tokens);
/* Names blocks that @request has filled since @computed_before. */
void orr_kv_publish(OrrKv *kv, OrrRequest *request, gint64 computed_before);
void orr_kv_release(OrrKv *kv, OrrRequest *request);

/* What is named, or found again, is kept in @tiers too, which outlive the cache; with a prefix
 * cache alone. */
void orr_kv_back(OrrKv *kv, const OrrTiers *tiers);
/* Tells that no name is there any longer; the cache is freed next. */
void orr_kv_forget(OrrKv *kv);

/* @tell is called for blocks that get names or lose them. */
typedef void (*OrrKvTell)(const OrrTextBlocks *blocks, gboolean is_there, void *user);
void orr_kv_observe(OrrKv *kv, OrrKvTell tell, void *user);

gint64 orr_kv_n_evicted(const OrrKv *kv); /* named blocks whose room was needed */
/* blocks, its state's included */
gint64 orr_kv_held_by(const OrrKv *kv, const OrrRequest *request);
/* Whether free and held blocks are all there are, and those held are the @blocks that requests
 * hold in all: each once, or fewer where a prefix cache lets them share. O(1). */
gboolean orr_kv_conserves(const OrrKv *kv, gint64 blocks);
gboolean orr_kv_check(
    /* and the list of the free ones; O(1) where there is no cache, else O(runs of blocks) */
    const OrrKv *kv);

/* kv_runs.c: the blocks of one cache as runs: consecutive blocks of one text that the same number
 * of requests hold. An operation on a run costs the same however long the run is. Only kv.c uses
 * it.
 *
 *   text A   |  held by 3  |  held by 1   |  free  |          each text: its runs, by number
 *   free     oldest  (no name, 900) - (A: 87 .. 80) - (B: 40 .. 0)  newest
 *
 * A free run gives its last block first. Neighbours of a text that have the same number of holders
 * are joined; free ones, where the upper comes just before the lower among the free.
 */

typedef struct OrrKvRuns OrrKvRuns;

/* Called for blocks that have names, or just had. */
typedef void (*OrrKvSeen)(const OrrTextBlocks *blocks, void *user);

OrrKvRuns *orr_kv_runs_new(gint64 n_blocks); /* free, without a name */
void orr_kv_runs_free(OrrKvRuns *runs);      /* NULL is fine */

/* How many of @blocks the cache has, counted from the first up to the first that it lacks; and how
 * many it lacks, up to the first that it has. */
gint64 orr_kv_runs_have(const OrrKvRuns *runs, const OrrTextBlocks *blocks);
gint64 orr_kv_runs_lack(const OrrKvRuns *runs, const OrrTextBlocks *blocks);
/* How many of @blocks, which are all there, nobody holds. */
gint64 orr_kv_runs_unheld(const OrrKvRuns *runs, const OrrTextBlocks *blocks);

/* Takes the @n oldest free blocks; at least @n must be free. They lose their names and are held.
 * Returns how many had a name. */
gint64 orr_kv_runs_take(OrrKvRuns *runs, gint64 n, OrrKvSeen seen, void *user);
/* Adds a holder to @blocks, all of which the cache has. Returns how many were free. */
gint64 orr_kv_runs_hold(OrrKvRuns *runs, const OrrTextBlocks *blocks);
/* Removes a holder from @blocks. Of the blocks that become free, the last is the oldest. Blocks
 * without a text have one holder. Returns how many became free. */
gint64 orr_kv_runs_let_go(OrrKvRuns *runs, const OrrTextBlocks *blocks);
/* Gives the names @blocks, which no block has yet, to held blocks without names. */
void orr_kv_runs_name(OrrKvRuns *runs, const OrrTextBlocks *blocks);
/* Calls @seen for everything that has a name. */
void orr_kv_runs_each(const OrrKvRuns *runs, OrrKvSeen seen, void *user);

/* Whether @n_free blocks are free, and texts and the list of the free are in order. O(runs). */
gboolean orr_kv_runs_check(const OrrKvRuns *runs, gint64 n_free);

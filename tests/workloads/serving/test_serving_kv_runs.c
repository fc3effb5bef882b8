/*
 * test_serving_kv_runs.c - the cache in runs against the cache block by block: over random
 * operations every number is the same, and so is what routers find.
 */
#include "tests/workloads/serving/kv_by_block.h"
#include "workloads/serving/arrivals/arrival_file.h"
#include "workloads/serving/routers/prefix_index.h"

enum { REQUESTS = 24, IDS = 6, OPERATIONS = 4000 };

/* Both caches, and the same requests in each. */
typedef struct {
  guint seed;
  OrrRandom random;
  gint64 size;
  OrrKv *kv;
  ByBlock *reference;
  OrrPrefixIndex *index; /* of what the cache reports, as replica 1 of 2 */
  OrrTiers tiers[2];
  OrrRequest requests[REQUESTS];
  ByBlockRequest references[REQUESTS];
  guint64 ids[REQUESTS][IDS];
  OrrSpanOfText *spans[REQUESTS];
  guint operation;
} Pair;

#define SAME(a_, b_)                                                                               \
  do {                                                                                             \
    const gint64 a__ = (a_), b__ = (b_);                                                           \
    if (a__ != b__)                                                                                \
      g_error("seed %u, operation %u: %s is %ld in runs, %ld"                                      \
              " by block",                                                                         \
              pair->seed, pair->operation, #a_, a__, b__);                                         \
  } while (FALSE)

static gint64 below(Pair *pair, gint64 n) {
  return (gint64)orr_random_below(&pair->random, (guint64)n);
}

/* Beams: after the prompt each block has the name of a branch that two samples may share. */
static guint64 branch_key(const OrrBlockNaming *naming, const OrrRequest *request, gint64 block) {
  (void)naming;
  return orr_random_hash3(1000 + request->stream, request->sample / 2, (guint64)block);
}

static const OrrBlockNaming branches = {48, branch_key};

static void tell(const OrrTextBlocks *blocks, gboolean is_there, void *user) {
  orr_prefix_index_change(user, 1, blocks, is_there);
}

/* A prompt that goes on as others do, up to some point. */
static void draw(Pair *pair, guint i, OrrSpanTexts *texts) {
  OrrRequest request = {.id = i, .prompt = (gint32)(20 + below(pair, 200)), .output = 100};
  const gint64 kind = below(pair, 5);
  for (guint k = 0; k < IDS; k++)
    pair->ids[i][k] = (guint64)(below(pair, 4) == 0 ? 100 + below(pair, 4) : k);
  if (kind == 0 || kind == 4) request.stream = (guint64)(1 + below(pair, 3));
  if (kind == 1) request.shared = 5, request.shared_tokens = (gint32)(below(pair, 80));
  if (kind == 2) {
    request.prompt = (gint32)(1 + below(pair, IDS * BY_BLOCK_SPAN + 200));
    request.spans = pair->spans[i] =
        orr_span_texts_read(texts, pair->ids[i], IDS, &request.n_spans);
  }
  if (kind == 4) request.naming = &branches, request.prompt = 60;
  request.sample = (guint32)(kind == 3 ? 0 : below(pair, 3));
  request.adapter = (guint32)(below(pair, 4) == 0);
  pair->requests[i] = request;
  pair->references[i] = (ByBlockRequest){.r = request,
                                         .ids = pair->ids[i],
                                         .n_ids = kind == 2 ? IDS : 0,
                                         .table = g_array_new(FALSE, FALSE, sizeof(guint32)),
                                         .state = g_array_new(FALSE, FALSE, sizeof(guint32))};
}

static void open_tiers(Pair *pair) {
  for (guint i = 0; i < 2; i++) {
    pair->tiers[i] = (OrrTiers){.stores = {orr_tier_store_new(60), orr_tier_store_new(150),
                                           pair->seed % 4 == 0 ? orr_tier_store_new(300) : NULL}};
  }
  orr_kv_back(pair->kv, &pair->tiers[0]);
  pair->reference->tiers = &pair->tiers[1];
}

static Pair *pair_new(guint seed) {
  static const gint64 sizes[] = {1, 4, 16, 48};
  Pair *pair = g_new0(Pair, 1);
  pair->seed = seed;
  pair->random = orr_random_stream(seed, "kv-runs");
  pair->size = sizes[seed % 4];
  const gint64 n = 40 + below(pair, 400), n_state = seed % 3 == 0 ? 2 : 0;
  pair->kv = orr_kv_new(n, pair->size, seed % 2 ? ORR_PREFIX_RADIX : ORR_PREFIX_BLOCK_HASH);
  orr_kv_lay_out(pair->kv, &(OrrKvLayout){.state_blocks = (double)n_state});
  pair->reference = by_block_new(n, pair->size, n_state);
  pair->index = orr_prefix_index_new(2);
  orr_kv_observe(pair->kv, tell, pair->index);
  if (seed % 4 < 2) open_tiers(pair);
  OrrSpanTexts *texts = orr_span_texts_new(BY_BLOCK_SPAN);
  for (guint i = 0; i < REQUESTS; i++) draw(pair, i, texts);
  orr_span_texts_free(texts);
  return pair;
}

static void pair_free(Pair *pair) {
  for (guint i = 0; i < REQUESTS; i++) {
    orr_request_clear(&pair->requests[i]);
    g_array_unref(pair->references[i].table);
    g_array_unref(pair->references[i].state);
    g_free(pair->spans[i]);
  }
  for (guint i = 0; i < 2; i++)
    for (guint tier = 0; tier < ORR_N_TIERS; tier++)
      orr_tier_store_free(pair->tiers[i].stores[tier]);
  orr_prefix_index_free(pair->index);
  orr_kv_free(pair->kv);
  by_block_free(pair->reference);
  g_free(pair);
}

/* --- operations, on request @i of both --- */

/* What a request finds; returns how many tokens of it are in the cache. */
static gint64 look(Pair *pair, guint i) {
  gint64 from[ORR_N_TIERS], reference_from[ORR_N_TIERS];
  const OrrRequest *request = &pair->requests[i];
  const ByBlockRequest *reference = &pair->references[i];
  const gint64 hit = orr_kv_lookup(pair->kv, request), tokens = hit + 1 + below(pair, 60);
  SAME(hit, by_block_lookup(pair->reference, reference));
  SAME(orr_kv_needed(pair->kv, request, tokens, hit),
       by_block_needed(pair->reference, reference, tokens, hit));
  SAME(orr_kv_lookup_below(pair->kv, request, hit, from),
       by_block_lookup_below(pair->reference, reference, hit, reference_from));
  for (int tier = 0; tier < ORR_N_TIERS; tier++) SAME(from[tier], reference_from[tier]);
  return hit;
}

static void admit(Pair *pair, guint i) {
  OrrRequest *request = &pair->requests[i];
  gint64 from[ORR_N_TIERS];
  const gint64 hit = look(pair, i);
  const gint64 end = hit + orr_kv_lookup_below(pair->kv, request, hit, from);
  if (orr_kv_needed(pair->kv, request, end + 1, hit) > orr_kv_n_free(pair->kv)) return;
  if (hit > 0) {
    orr_kv_share(pair->kv, request, hit);
    by_block_share(pair->reference, &pair->references[i], hit);
  }
  if (end == hit) return;
  orr_kv_load(pair->kv, request, end);
  by_block_grow(pair->reference, &pair->references[i], end);
  pair->references[i].r.computed = (gint32)end;
  by_block_publish(pair->reference, &pair->references[i], hit);
}

/* A step: room, guesses that may be taken back, and names for what is full. */
static void step(Pair *pair, guint i) {
  OrrRequest *request = &pair->requests[i];
  const gint64 before = request->computed, kept = request->blocks;
  gint64 wanted = orr_request_wanted(request);
  if (before == wanted) wanted = before + 1 + below(pair, 3) * pair->size; /* decodes, in a run */
  const gint64 end = MIN(before + 1 + below(pair, below(pair, 3) ? 2 * pair->size : 900), wanted);
  const gint64 guessed = end + below(pair, 2 * pair->size);
  SAME(orr_kv_grow(pair->kv, request, guessed),
       by_block_grow(pair->reference, &pair->references[i], guessed));
  if (request->blocks * pair->size < guessed) return;
  request->computed = pair->references[i].r.computed = (gint32)end;
  request->generated = pair->references[i].r.generated =
      MAX(request->generated, (gint32)end - request->prompt);
  orr_kv_shrink(pair->kv, request, end, kept);
  by_block_shrink(pair->reference, &pair->references[i], end, kept);
  orr_kv_publish(pair->kv, request, before);
  by_block_publish(pair->reference, &pair->references[i], before);
}

/* Ends, is preempted to be computed again, or swapped: then what it has computed stays so. */
static void release(Pair *pair, guint i) {
  OrrRequest *request = &pair->requests[i];
  orr_kv_release(pair->kv, request);
  by_block_release(pair->reference, &pair->references[i]);
  const gint64 how = below(pair, 4);
  if (how == 0) return;
  request->computed = pair->references[i].r.computed = 0;
  if (how == 1) return;
  request->generated = pair->references[i].r.generated = 0;
}

/* What a router that follows the cache finds of a request's first blocks. */
static void follow(Pair *pair, guint i) {
  const gint64 most = (pair->requests[i].prompt + pair->size - 1) / pair->size;
  const gint64 *matches = orr_prefix_index_match(pair->index, &pair->requests[i], most, pair->size);
  gint64 found = 0;
  while (found < most &&
         by_block_find(pair->reference,
                       by_block_key(pair->reference, &pair->references[i], found)) != NOBODY)
    found++;
  SAME(matches[1], found);
  SAME(matches[0], 0);
}

static void operate(Pair *pair) {
  const guint i = (guint)below(pair, REQUESTS);
  const gboolean holds = pair->requests[i].blocks > 0;
  const gint64 what = below(pair, 8);
  if (what == 0)
    look(pair, (guint)below(pair, REQUESTS));
  else if (what == 1)
    follow(pair, i);
  else if (!holds && pair->requests[i].computed == 0 && what < 5)
    admit(pair, i);
  else if (holds && (what == 2 || pair->requests[i].generated > 100))
    release(pair, i);
  else
    step(pair, i);
}

static void check(Pair *pair) {
  gint64 blocks = 0;
  SAME(orr_kv_n_free(pair->kv), pair->reference->n_free);
  SAME(orr_kv_n_evicted(pair->kv), pair->reference->n_evicted);
  for (guint i = 0; i < REQUESTS; i++) {
    const ByBlockRequest *reference = &pair->references[i];
    SAME(pair->requests[i].blocks, reference->table->len);
    SAME(orr_kv_held_by(pair->kv, &pair->requests[i]),
         reference->table->len + reference->state->len);
    blocks += orr_kv_held_by(pair->kv, &pair->requests[i]);
  }
  if (!orr_kv_check(pair->kv) || !orr_kv_conserves(pair->kv, blocks))
    g_error("seed %u, operation %u: runs are not in order", pair->seed, pair->operation);
}

static void test_same(void) {
  for (guint seed = 0; seed < 48; seed++) {
    Pair *pair = pair_new(seed);
    for (pair->operation = 0; pair->operation < OPERATIONS; pair->operation++) {
      operate(pair);
      check(pair);
    }
    for (guint i = 0; i < REQUESTS; i++) release(pair, i);
    check(pair);
    g_assert_cmpint(pair->reference->n_evicted, >, 0);
    pair_free(pair);
  }
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/workloads/serving-kv-runs/same", test_same);
  return g_test_run();
}

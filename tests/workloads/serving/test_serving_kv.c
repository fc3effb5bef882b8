/*
 * test_serving_kv.c - blocks of the cache: held, shared, used again, evicted, and never lost.
 */
#include "sim/base/random.h"
#include "workloads/serving/core/kv.h"

/* Without a cache only numbers move: 33 tokens are 3 blocks of 16; a fourth does not fit beside
 * 8 others of 11. */
static void test_counts(void) {
  g_autoptr(OrrKv) kv = orr_kv_new(11, 16, ORR_PREFIX_NONE);
  OrrRequest a = {.id = 1, .prompt = 33, .output = 1}, b = {.id = 2, .prompt = 200, .output = 1};
  g_assert_true(orr_kv_grow(kv, &a, 33));
  g_assert_cmpint(a.blocks, ==, 3);
  g_assert_cmpint(orr_kv_n_free(kv), ==, 8);
  g_assert_true(orr_kv_grow(kv, &b, 128));
  g_assert_false(orr_kv_grow(kv, &b, 129));
  g_assert_cmpint(b.blocks, ==, 8);
  g_assert_true(orr_kv_grow(kv, &a, 48)); /* what its blocks hold anyway */
  g_assert_false(orr_kv_grow(kv, &a, 49));
  orr_kv_release(kv, &b);
  orr_kv_release(kv, &a);
  g_assert_cmpint(orr_kv_n_free(kv), ==, 11);
  g_assert_true(orr_kv_check(kv));
}

/* A conversation of 40 tokens: its two full blocks are found again, the third is not; never the
 * whole prompt. */
static void test_prefix(void) {
  g_autoptr(OrrKv) kv = orr_kv_new(8, 16, ORR_PREFIX_BLOCK_HASH);
  OrrRequest first = {.id = 1, .prompt = 40, .output = 1, .stream = 9};
  OrrRequest second = {.id = 2, .prompt = 60, .output = 1, .stream = 9};
  OrrRequest same = {.id = 3, .prompt = 32, .output = 1, .stream = 9};
  OrrRequest other = {.id = 4, .prompt = 60, .output = 1, .stream = 8};
  g_assert_cmpint(orr_kv_lookup(kv, &first), ==, 0);
  g_assert_true(orr_kv_grow(kv, &first, 40));
  first.computed = 40;
  orr_kv_publish(kv, &first, 0);
  orr_kv_release(kv, &first);
  g_assert_cmpint(orr_kv_n_free(kv), ==, 8); /* kept, but free */
  g_assert_cmpint(orr_kv_lookup(kv, &second), ==, 32);
  g_assert_cmpint(orr_kv_lookup(kv, &same), ==, 16); /* its last token must be computed */
  g_assert_cmpint(orr_kv_lookup(kv, &other), ==, 0);
  g_assert_cmpint(orr_kv_needed(kv, &second, 60, 32), ==,
                  4); /* two fresh, and two that nobody holds */
  orr_kv_share(kv, &second, 32);
  g_assert_cmpint(orr_kv_n_free(kv), ==, 6);
  g_assert_cmpint(orr_kv_needed(kv, &same, 32, 16), ==, 1); /* the shared one is held already */
  orr_kv_share(kv, &same, 16);
  g_assert_cmpint(orr_kv_n_free(kv), ==, 6);
  orr_kv_release(kv, &second);
  orr_kv_release(kv, &same);
  g_assert_true(orr_kv_check(kv));
}

/* Of a released prompt the tail goes first: after the room of two blocks was needed, its first
 * two are still there. */
static void test_eviction(void) {
  g_autoptr(OrrKv) kv = orr_kv_new(4, 16, ORR_PREFIX_RADIX);
  OrrRequest a = {.id = 1, .prompt = 64, .output = 1, .stream = 1},
             b = {.id = 2, .prompt = 32, .output = 1};
  OrrRequest again = {.id = 3, .prompt = 64, .output = 1, .stream = 1};
  g_assert_true(orr_kv_grow(kv, &a, 64));
  a.computed = 64;
  orr_kv_publish(kv, &a, 0);
  orr_kv_release(kv, &a);
  g_assert_true(orr_kv_grow(kv, &b, 32));
  g_assert_cmpint(orr_kv_n_evicted(kv), ==, 2);
  g_assert_cmpint(orr_kv_lookup(kv, &again), ==, 32);
  orr_request_clear(&b);
}

/* Mooncake's ids: equal up to the second span of 512 tokens, then another. */
static void test_spans(void) {
  static const OrrSpanOfText one[] = {{0, 0, 0, 1536}}, two[] = {{0, 0, 0, 1024}, {7, 7, 0, 1536}};
  g_autoptr(OrrKv) kv = orr_kv_new(1000, 16, ORR_PREFIX_BLOCK_HASH);
  OrrRequest a = {.id = 1, .prompt = 1500, .output = 1, .n_spans = 1, .spans = one};
  OrrRequest b = {.id = 2, .prompt = 1500, .output = 1, .n_spans = 2, .spans = two};
  g_assert_true(orr_kv_grow(kv, &a, 1500));
  a.computed = 1500;
  orr_kv_publish(kv, &a, 0);
  g_assert_cmpint(orr_kv_lookup(kv, &b), ==, 1024);
  orr_request_clear(&a);
}

/* Whatever is done in whatever order, blocks add up. */
static void test_random(void) {
  enum { N = 40 };
  OrrRandom random = orr_random_stream(5, "kv");
  g_autoptr(OrrKv) kv = orr_kv_new(200, 4, ORR_PREFIX_BLOCK_HASH);
  OrrRequest requests[N] = {0};
  for (guint i = 0; i < N; i++)
    requests[i] = (OrrRequest){.id = i, .prompt = 100, .output = 50, .stream = 1 + i % 5};
  for (guint round = 0; round < 20000; round++) {
    OrrRequest *request = &requests[orr_random_below(&random, N)];
    if (request->blocks > 0 && orr_random_below(&random, 3) == 0) {
      orr_kv_release(kv, request);
      request->computed = 0;
    } else if (request->blocks == 0) {
      const gint64 hit = orr_kv_lookup(kv, request);
      if (orr_kv_needed(kv, request, hit + 4, hit) <= orr_kv_n_free(kv))
        orr_kv_share(kv, request, hit);
    }
    const gint64 more = request->computed + 1 + (gint64)orr_random_below(&random, 9);
    if (more <= 150 && orr_kv_grow(kv, request, more)) {
      const gint64 before = request->computed;
      request->computed = (gint32)more;
      orr_kv_publish(kv, request, before);
    }
    if (round % 100 == 0) g_assert_true(orr_kv_check(kv));
  }
  for (guint i = 0; i < N; i++) orr_kv_release(kv, &requests[i]);
  g_assert_cmpint(orr_kv_n_free(kv), ==, 200);
  g_assert_true(orr_kv_check(kv));
}

static void test_kept(void) {
  OrrKvLayout layout = {.window_share = 0.75, .window = 32};
  /* of 1,008 tokens a quarter of the bytes has all, three quarters the last 32 and a block */
  g_assert_cmpfloat(orr_kv_layout_kept(&layout, 16, 0, 1008, 1008), ==, 0.25 * 1008 + 0.75 * 48);
  g_assert_cmpfloat(orr_kv_layout_kept(&layout, 16, 0, 900, 1008), ==, 0.25 * 900);
  g_assert_cmpfloat(orr_kv_layout_kept(&layout, 16, 0, 20, 20), ==, 20);
  layout.window_room = 1;
  g_assert_cmpfloat(orr_kv_layout_kept(&layout, 16, 0, 1008, 1008), ==, 1008);
}

/* Half of a block's bytes in layers with a window of 32 tokens, blocks of 16, a state of 2.5
 * blocks: of t tokens ceil(2.5 + (t / 2 + min(t, 48) / 2) / 16); room is its inverse. */
static void test_layout(void) {
  const OrrKvLayout layout = {.window_share = 0.5, .window = 32, .state_blocks = 2.5}, plain = {0};
  g_assert_cmpint(orr_kv_layout_blocks(&layout, 16, 0), ==, 0);
  g_assert_cmpint(orr_kv_layout_blocks(&layout, 16, 1), ==, 3);     /* 2.56 */
  g_assert_cmpint(orr_kv_layout_blocks(&layout, 16, 48), ==, 6);    /* 5.5 */
  g_assert_cmpint(orr_kv_layout_blocks(&layout, 16, 1008), ==, 36); /* 2.5 + 31.5 + 1.5 = 35.5 */
  g_assert_cmpfloat(orr_kv_layout_tokens(&layout, 16, 1008), ==, 16 * 35.5);
  g_assert_cmpfloat(orr_kv_layout_tokens(&plain, 16, 1008.5), ==, 1008.5);
  for (gint64 blocks = 3; blocks < 200; blocks++) {
    const gint64 room = orr_kv_layout_room(&layout, 16, blocks);
    g_assert_cmpint(orr_kv_layout_blocks(&layout, 16, room), <=, blocks);
    g_assert_cmpint(orr_kv_layout_blocks(&layout, 16, room + 1), >, blocks);
    g_assert_cmpint(orr_kv_layout_room(&plain, 16, blocks), ==, 16 * blocks);
  }
}

/* Rings of a sequence's last tokens take 2.5 blocks whatever its length, and are not a state, so
 * that steps of prompts may end anywhere. */
static void test_rings(void) {
  const OrrKvLayout ring = {.ring_blocks = 2.5}, both = {.state_blocks = 1, .ring_blocks = 2.5},
                    cached = {.ring_blocks = 2.5, .is_cached = TRUE};
  g_assert_cmpint(orr_kv_layout_blocks(&ring, 16, 64), ==, 7);     /* 4 + 2.5, whole */
  g_assert_cmpint(orr_kv_layout_blocks(&both, 16, 64), ==, 8);     /* 4 + 1 + 2.5, whole */
  g_assert_cmpint(orr_kv_layout_blocks(&cached, 16, 64), ==, 7);   /* 4 + 3 */
  g_assert_cmpint(orr_kv_layout_blocks(&ring, 16, 6400), ==, 403); /* 400 + 2.5 */
  g_assert_cmpint(orr_kv_layout_room(&ring, 16, 7), ==, 72);       /* 4.5 blocks */
  g_autoptr(OrrKv) kv = orr_kv_new(40, 16, ORR_PREFIX_BLOCK_HASH);
  orr_kv_lay_out(kv, &ring);
  g_assert_false(orr_kv_keeps_states(kv));
}

/* A prefix cache of 40 blocks, half of each in layers with a window of 32 tokens, has 80 of the
 * others' alone. 1,008 tokens take 63 of them, and 48 tokens of windows as much as 3; who shares 62
 * needs 1 and the 3 of its own windows. A room's tokens are the most that fit. */
static void test_cached_windows(void) {
  const OrrKvLayout layout = {.window_share = 0.5, .window = 32, .is_cached = TRUE};
  g_autoptr(OrrKv) kv = orr_kv_new(40, 16, ORR_PREFIX_BLOCK_HASH);
  OrrRequest a = {.prompt = 1000, .output = 8, .stream = 1}, b = a;
  orr_kv_lay_out(kv, &layout);
  g_assert_cmpint(orr_kv_n_blocks(kv), ==, 80);
  g_assert_true(orr_kv_grow(kv, &a, 1008));
  g_assert_cmpint(orr_kv_n_free(kv), ==, 80 - 63 - 3);
  g_assert_cmpint(orr_kv_held_by(kv, &a), ==, 66);
  a.computed = 1000;
  orr_kv_publish(kv, &a, 0);
  g_assert_cmpint(orr_kv_lookup(kv, &b), ==, 992);
  g_assert_cmpint(orr_kv_needed(kv, &b, 1008, 992), ==, 4);
  orr_kv_share(kv, &b, 992);
  g_assert_true(orr_kv_grow(kv, &b, 1008));
  g_assert_cmpint(orr_kv_n_free(kv), ==, 80 - 66 - 4);
  orr_kv_release(kv, &a);
  orr_kv_release(kv, &b);
  g_assert_cmpint(orr_kv_n_free(kv), ==, 80);
  g_assert_true(orr_kv_check(kv));
  for (gint64 blocks = 4; blocks < 200; blocks++) {
    const gint64 room = orr_kv_layout_room(&layout, 16, blocks);
    g_assert_cmpint(orr_kv_layout_blocks(&layout, 16, room), <=, 2 * blocks);
    g_assert_cmpint(orr_kv_layout_blocks(&layout, 16, room + 1), >, 2 * blocks);
  }
}

/* With a prefix cache, layers with a window of 33 tokens next to as many others: 1,008 tokens take
 * 63 blocks of 16, and their windows (504 + 49 / 2) / 0.5 - 1,008 = 49 tokens, 4 blocks; a state of
 * 2.5 whole blocks is 5 of the others' alone. A pool with 0.8 of the windows' tokens: a whole block
 * is 0.5 + 0.8 * 0.5 = 0.9 of the counted ones. */
static void test_cached_layout(void) {
  const OrrKvLayout windows = {.window_share = 0.5, .window = 33, .is_cached = TRUE},
                    states = {.window_share = 0.5,
                              .window = 33,
                              .state_blocks = 2.5,
                              .is_cached = TRUE},
                    pools = {
                        .window_share = 0.5, .window = 33, .window_room = 0.8, .is_cached = TRUE};
  g_assert_cmpint(orr_kv_layout_blocks(&windows, 16, 1008), ==, 63 + 4);
  g_assert_cmpint(orr_kv_layout_blocks(&states, 16, 1008), ==, 63 + 4 + 5);
  g_assert_cmpint(orr_kv_layout_total(&windows, 90), ==, 180);
  g_assert_cmpint(orr_kv_layout_total(&pools, 90), ==, 100);
}

/* Windows are taken with a request's first blocks, for all that it will have: 10 tokens of 48 take
 * a block and the 3 of a whole window. Where only 4 are free, 32 tokens are refused for theirs. */
static void test_windows_first(void) {
  const OrrKvLayout layout = {.window_share = 0.5, .window = 32, .is_cached = TRUE};
  g_autoptr(OrrKv) kv = orr_kv_new(4, 16, ORR_PREFIX_BLOCK_HASH);
  g_autoptr(OrrKv) small = orr_kv_new(2, 16, ORR_PREFIX_BLOCK_HASH);
  OrrRequest a = {.prompt = 10, .output = 38, .stream = 1}, b = {.prompt = 32, .output = 16};
  orr_kv_lay_out(kv, &layout);
  orr_kv_lay_out(small, &layout);
  g_assert_true(orr_kv_grow(kv, &a, 10));
  g_assert_cmpint(orr_kv_n_free(kv), ==, 8 - 1 - 3);
  g_assert_false(orr_kv_grow(small, &b, 32));
  g_assert_cmpint(orr_kv_n_free(small), ==, 4);
  orr_kv_release(kv, &a);
}

/* A prefix cache of 20 blocks, half of each in layers with a window of 32 tokens: 40 of the others'
 * alone. A prompt of 160 tokens takes 10 and 3 for its windows, and its windowed layers 10 with
 * names. When it ends, the oldest free blocks are 17 without a name, then the windowed ones 0 to 7:
 * a request that takes these 25 (22 blocks and 3 for its windows) leaves the last window, so that
 * all 160 tokens are found. One block more takes the windowed block 9: the other layers' blocks are
 * all there, and nothing is found. */
static void test_evicted_window(void) {
  const OrrKvLayout layout = {.window_share = 0.5, .window = 32, .is_cached = TRUE};
  g_autoptr(OrrKv) kv = orr_kv_new(20, 16, ORR_PREFIX_BLOCK_HASH);
  OrrRequest a = {.id = 1, .prompt = 160, .output = 1, .stream = 1},
             again = {.id = 2, .prompt = 176, .output = 1, .stream = 1},
             other = {.id = 3, .prompt = 352, .output = 1};
  orr_kv_lay_out(kv, &layout);
  g_assert_cmpint(orr_kv_n_blocks(kv), ==, 40);
  g_assert_true(orr_kv_grow(kv, &a, 160));
  a.computed = 160;
  orr_kv_publish(kv, &a, 0);
  g_assert_cmpint(orr_kv_n_free(kv), ==, 27);
  g_assert_cmpint(orr_kv_lookup(kv, &again), ==, 160);
  orr_kv_release(kv, &a);
  g_assert_true(orr_kv_grow(kv, &other, 352));
  g_assert_cmpint(orr_kv_n_free(kv), ==, 15);
  g_assert_cmpint(orr_kv_lookup(kv, &again), ==, 160);
  g_assert_true(orr_kv_grow(kv, &other, 353));
  g_assert_cmpint(orr_kv_lookup(kv, &again), ==, 0);
  g_assert_true(orr_kv_check(kv));
  orr_kv_release(kv, &other);
  g_assert_cmpint(orr_kv_n_free(kv), ==, 40);
  g_assert_true(orr_kv_check(kv));
}

/* Two pools of 0.8: of 20 whole blocks 22 of the others' (20 / 0.9) and 17 of the windows'. A
 * prompt of 160 tokens holds 3 blocks of the second kind, and its 10 named ones are among the 14
 * free. Another one of 160 tokens takes 3 without a name, and to name its own the last without a
 * name and 9 of the first one's: the last window of the first one is gone, though its 10 other
 * blocks are there. */
static void test_window_pool(void) {
  const OrrKvLayout layout = {
      .window_share = 0.5, .window = 32, .window_room = 0.8, .is_cached = TRUE};
  g_autoptr(OrrKv) kv = orr_kv_new(20, 16, ORR_PREFIX_RADIX);
  OrrRequest a = {.id = 1, .prompt = 160, .output = 1, .stream = 1}, again = a,
             other = {.id = 3, .prompt = 160, .output = 1};
  again.prompt = 176;
  orr_kv_lay_out(kv, &layout);
  g_assert_cmpint(orr_kv_n_blocks(kv), ==, 22);
  g_assert_true(orr_kv_grow(kv, &a, 160));
  a.computed = 160;
  orr_kv_publish(kv, &a, 0);
  orr_kv_release(kv, &a);
  g_assert_cmpint(orr_kv_lookup(kv, &again), ==, 160);
  g_assert_true(orr_kv_grow(kv, &other, 160));
  other.computed = 160;
  orr_kv_publish(kv, &other, 0);
  g_assert_cmpint(orr_kv_n_evicted(kv), ==, 0);
  g_assert_cmpint(orr_kv_lookup(kv, &again), <, 160);
  orr_kv_release(kv, &other);
  g_assert_true(orr_kv_check(kv));
}

/* What a step will have filled is found by the requests of the same step. */
static void test_announced(void) {
  g_autoptr(OrrKv) kv = orr_kv_new(20, 16, ORR_PREFIX_BLOCK_HASH);
  OrrRequest a = {.id = 1, .prompt = 64, .output = 1, .stream = 1}, b = a;
  g_assert_true(orr_kv_grow(kv, &a, 64));
  g_assert_cmpint(orr_kv_lookup(kv, &b), ==, 0);
  orr_kv_announce(kv, &a, 48);
  g_assert_cmpint(orr_kv_lookup(kv, &b), ==, 48);
  a.computed = 64;
  orr_kv_publish(kv, &a, 0);
  g_assert_cmpint(orr_kv_lookup(kv, &b), ==, 48); /* never the whole prompt */
  g_assert_true(orr_kv_check(kv));
  orr_kv_release(kv, &a);
}

/* A tier of 3 blocks keeps the head of a prompt of 4, whether it was computed in one step or in
 * two. */
static void test_tier_order(void) {
  for (gint32 first = 64; first >= 32; first -= 32) {
    g_autoptr(OrrKv) kv = orr_kv_new(20, 16, ORR_PREFIX_BLOCK_HASH);
    OrrTierStore *store = orr_tier_store_new(3);
    const OrrTiers tiers = {.stores = {[ORR_TIER_HOST] = store}};
    OrrRequest a = {.id = 1, .prompt = 64, .output = 1, .stream = 1};
    orr_kv_back(kv, &tiers);
    g_assert_true(orr_kv_grow(kv, &a, 64));
    a.computed = first;
    orr_kv_publish(kv, &a, 0);
    a.computed = 64;
    orr_kv_publish(kv, &a, first);
    orr_kv_release(kv, &a);
    for (gint64 i = 0; i < 4; i++)
      g_assert_cmpint(orr_tier_store_has(store, orr_request_block_key(&a, i, 16)), ==, i < 3);
    orr_tier_store_free(store);
  }
}

/* Two pools: with 0.8 tokens of windowed layers per token of the others a long sequence takes
 * 0.5 + 0.8 * 0.5 = 0.9 of its tokens, and one within the window 0.9 / 0.8; with 1 all of them. */
static void test_window_room(void) {
  const OrrKvLayout two = {.window_share = 0.5, .window = 32, .window_room = 0.8},
                    whole = {.window_share = 0.5, .window = 32, .window_room = 1};
  g_assert_cmpfloat_with_epsilon(orr_kv_layout_tokens(&two, 16, 1600), 1440, 1e-9);
  g_assert_cmpfloat_with_epsilon(orr_kv_layout_tokens(&two, 16, 32), 36, 1e-9);
  g_assert_cmpint(orr_kv_layout_room(&two, 16, 90), ==, 1600);
  for (gint64 tokens = 1; tokens < 200; tokens++)
    g_assert_cmpint(orr_kv_layout_blocks(&whole, 16, tokens), ==, (tokens + 15) / 16);
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/workloads/serving-kv/counts", test_counts);
  g_test_add_func("/workloads/serving-kv/prefix", test_prefix);
  g_test_add_func("/workloads/serving-kv/eviction", test_eviction);
  g_test_add_func("/workloads/serving-kv/spans", test_spans);
  g_test_add_func("/workloads/serving-kv/random", test_random);
  g_test_add_func("/workloads/serving-kv/kept", test_kept);
  g_test_add_func("/workloads/serving-kv/layout", test_layout);
  g_test_add_func("/workloads/serving-kv/rings", test_rings);
  g_test_add_func("/workloads/serving-kv/cached-windows", test_cached_windows);
  g_test_add_func("/workloads/serving-kv/cached-layout", test_cached_layout);
  g_test_add_func("/workloads/serving-kv/windows-first", test_windows_first);
  g_test_add_func("/workloads/serving-kv/window-room", test_window_room);
  g_test_add_func("/workloads/serving-kv/evicted-window", test_evicted_window);
  g_test_add_func("/workloads/serving-kv/window-pool", test_window_pool);
  g_test_add_func("/workloads/serving-kv/announced", test_announced);
  g_test_add_func("/workloads/serving-kv/tier-order", test_tier_order);
  return g_test_run();
}

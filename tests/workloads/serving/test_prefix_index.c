/*
 * test_prefix_index.c - one index of all replicas' blocks against an array of each core's blocks.
 */
#include "sim/base/random.h"
#include "workloads/serving/arrivals/arrival_file.h"
#include "workloads/serving/routers/prefix_index.h"

enum { REPLICAS = 5, CORES = 2, STREAMS = 3, BLOCKS = 40, SIZE = 16 };

typedef gboolean Held[REPLICAS][CORES][STREAMS][BLOCKS];

static OrrRequest request_of(guint stream, gint64 shared_blocks) {
  return (OrrRequest){.prompt = BLOCKS * SIZE,
                      .stream = 1 + stream,
                      .shared = 7,
                      .shared_tokens = (gint32)(shared_blocks * SIZE)};
}

/* A core gains or loses a stretch of blocks that it all lacks or all has. */
static void change(OrrPrefixIndex *index, Held held, OrrRandom *random) {
  const guint replica = (guint)orr_random_below(random, REPLICAS),
              stream = (guint)orr_random_below(random, STREAMS);
  gboolean *has = held[replica][orr_random_below(random, CORES)][stream];
  const guint first = (guint)orr_random_below(random, BLOCKS);
  const guint most = first + 1 + (guint)orr_random_below(random, 12);
  const gboolean is_there = !has[first];
  guint end = first;
  while (end < BLOCKS && end < most && has[end] != is_there) has[end++] = is_there;
  const OrrRequest request = request_of(stream, 0);
  const OrrTextBlocks blocks = orr_request_blocks(&request, first, end, SIZE);
  g_assert_cmpint(blocks.n, ==, end - first);
  orr_prefix_index_change(index, replica, &blocks, is_there);
}

static gint64 found(Held held, guint replica, guint stream, gint64 most) {
  gint64 n = 0;
  while (n < most && (held[replica][0][stream][n] || held[replica][1][stream][n])) n++;
  return n;
}

static void test_random(void) {
  for (guint seed = 0; seed < 20; seed++) {
    OrrRandom random = orr_random_stream(seed, "prefix-index");
    OrrPrefixIndex *index = orr_prefix_index_new(REPLICAS);
    Held held = {0};
    for (guint round = 0; round < 3000; round++) {
      change(index, held, &random);
      const guint stream = (guint)orr_random_below(&random, STREAMS);
      const gint64 most = (gint64)orr_random_below(&random, BLOCKS + 1);
      const OrrRequest request = request_of(stream, 0);
      const gint64 *matches = orr_prefix_index_match(index, &request, most, SIZE);
      for (guint i = 0; i < REPLICAS; i++)
        if (matches[i] != found(held, i, stream, most))
          g_error("seed %u, round %u: replica %u", seed, round, i);
    }
    orr_prefix_index_free(index);
  }
}

/* A prompt of two texts: one replica has both, one the second alone, one the first and
 * not all of the second. */
static void test_two_texts(void) {
  OrrPrefixIndex *index = orr_prefix_index_new(4);
  const OrrRequest request = request_of(0, 10);
  const OrrTextBlocks shared = orr_request_blocks(&request, 0, BLOCKS, SIZE),
                      stream = orr_request_blocks(&request, 10, BLOCKS, SIZE),
                      part = orr_request_blocks(&request, 10, 15, SIZE);
  g_assert_cmpint(shared.n, ==, 10);
  orr_prefix_index_change(index, 0, &shared, TRUE);
  orr_prefix_index_change(index, 0, &stream, TRUE);
  orr_prefix_index_change(index, 1, &stream, TRUE);
  orr_prefix_index_change(index, 2, &part, TRUE);
  orr_prefix_index_change(index, 2, &shared, TRUE);
  const gint64 *matches = orr_prefix_index_match(index, &request, BLOCKS, SIZE);
  g_assert_cmpint(matches[0], ==, BLOCKS);
  g_assert_cmpint(matches[1], ==, 0);
  g_assert_cmpint(matches[2], ==, 15);
  g_assert_cmpint(matches[3], ==, 0);
  orr_prefix_index_free(index);
}

/* The header's picture: three prompts, and one whose numbers come again in another order. */
static void test_span_texts(void) {
  static const guint64 a[] = {1, 2, 3, 4}, b[] = {1, 2, 3, 4, 5, 6}, c[] = {1, 2, 3, 7, 8},
                       d[] = {8, 8, 5, 6};
  OrrSpanTexts *texts = orr_span_texts_new(512);
  gint32 n;
  g_autofree OrrSpanOfText *first = orr_span_texts_read(texts, a, 4, &n);
  g_assert_cmpint(n, ==, 1);
  g_autofree OrrSpanOfText *longer = orr_span_texts_read(texts, b, 6, &n);
  g_assert_cmpint(n, ==, 1);
  g_assert_cmpint(longer[0].end, ==, 6 * 512);
  g_autofree OrrSpanOfText *leaves = orr_span_texts_read(texts, c, 5, &n);
  g_assert_cmpint(n, ==, 2);
  g_assert_cmpint(leaves[0].end, ==, 3 * 512);
  g_assert_cmpuint(leaves[1].text, ==, 7);
  g_autofree OrrSpanOfText *mixed = orr_span_texts_read(texts, d, 4, &n);
  g_assert_cmpint(n, ==, 3);
  g_assert_cmpuint(mixed[2].id, ==, 5);
  g_assert_cmpuint(mixed[2].text, ==, 1);
  g_assert_cmpint(mixed[2].first, ==, 4 * 512);
  orr_span_texts_free(texts);
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/workloads/prefix-index/random", test_random);
  g_test_add_func("/workloads/prefix-index/two-texts", test_two_texts);
  g_test_add_func("/workloads/prefix-index/span-texts", test_span_texts);
  return g_test_run();
}

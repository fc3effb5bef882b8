/*
 * test_stream_wait.c - waiting for streams: a fake GPU whose clock moves by a microsecond a
 * question and by the pauses.
 */
#include "calibration/measure/stream_wait.h"

#include <string.h>

#include "sim/base/fault.h"

typedef struct {
  gint64 now_us, done_us[3],
      fails_us[3];    /* when a stream is done; when asking it fails; 0: never */
  gint64 hopeless_us; /* from then on a peer has failed; 0: never */
  guint n_looks, n_given_up;
} Gpu;

static OrrStreamState state(gpointer user, int stream, GError **error) {
  Gpu *gpu = user;
  gpu->now_us++;
  if (gpu->fails_us[stream] && gpu->now_us >= gpu->fails_us[stream]) {
    g_set_error(error, ORR_FAULT, ORR_FAULT_RESOURCE, "an illegal address");
    return ORR_STREAM_FAILED;
  }
  return gpu->done_us[stream] && gpu->now_us >= gpu->done_us[stream] ? ORR_STREAM_DONE
                                                                     : ORR_STREAM_BUSY;
}

static gboolean is_hopeful(gpointer user, int stream, GError **error) {
  Gpu *gpu = user;
  (void)stream;
  gpu->n_looks++;
  if (!gpu->hopeless_us || gpu->now_us < gpu->hopeless_us) return TRUE;
  g_set_error(error, ORR_FAULT, ORR_FAULT_RESOURCE, "rank 3: out of memory");
  return FALSE;
}

static void give_up(gpointer user) { ((Gpu *)user)->n_given_up++; }
static gint64 now_us(gpointer user) { return ((Gpu *)user)->now_us; }
static void pause_for(gpointer user, gint64 us) { ((Gpu *)user)->now_us += us; }

static const OrrStreamCalls calls = {state, is_hopeful, give_up, now_us, pause_for};

/* Streams that end at 40, 10 and 2 ms: done with the last of them, nobody asked how NCCL is. */
static void test_all_end(void) {
  Gpu gpu = {.done_us = {40000, 10000, 2000}};
  g_autoptr(GError) error = NULL;
  g_assert_true(orr_stream_wait(&calls, &gpu, 3, 120, &error));
  g_assert_no_error(error);
  g_assert_cmpint(gpu.now_us, >=, 40000);
  g_assert_cmpint(gpu.now_us, <, 40200); /* pauses are 50 us */
  g_assert_cmpuint(gpu.n_looks + gpu.n_given_up, ==, 0);
}

/* A stream that never ends: given up after 120 s, with a look every quarter of a second, 480 in
 * all. */
static void test_time_limit(void) {
  Gpu gpu = {.done_us = {1, 0, 1}};
  g_autoptr(GError) error = NULL;
  g_assert_false(orr_stream_wait(&calls, &gpu, 3, 120, &error));
  g_assert_error(error, ORR_FAULT, ORR_FAULT_RESOURCE);
  g_assert_nonnull(strstr(error->message, "did not end in 120 s"));
  g_assert_cmpint(gpu.now_us, <, 121 * G_USEC_PER_SEC);
  g_assert_cmpuint(gpu.n_looks, >=, 475);
  g_assert_cmpuint(gpu.n_looks, <=, 481);
  g_assert_cmpuint(gpu.n_given_up, ==, 1);
}

/* Another rank says after a second that it has failed: its reason, within a quarter of a second. */
static void test_peer_fails(void) {
  Gpu gpu = {.hopeless_us = G_USEC_PER_SEC};
  g_autoptr(GError) error = NULL;
  g_assert_false(orr_stream_wait(&calls, &gpu, 1, 120, &error));
  g_assert_cmpstr(error->message, ==, "rank 3: out of memory");
  g_assert_cmpint(gpu.now_us, <, 1.3 * G_USEC_PER_SEC);
  g_assert_cmpuint(gpu.n_given_up, ==, 1);
}

static void test_stream_fails(void) {
  Gpu gpu = {.done_us = {5}, .fails_us = {0, 900}};
  g_autoptr(GError) error = NULL;
  g_assert_false(orr_stream_wait(&calls, &gpu, 2, 120, &error));
  g_assert_cmpstr(error->message, ==, "an illegal address");
  g_assert_cmpuint(gpu.n_given_up, ==, 1);
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/measure/stream-wait/all-end", test_all_end);
  g_test_add_func("/measure/stream-wait/time-limit", test_time_limit);
  g_test_add_func("/measure/stream-wait/peer-fails", test_peer_fails);
  g_test_add_func("/measure/stream-wait/stream-fails", test_stream_fails);
  return g_test_run();
}

/*
 * test_pass_time.c - samples dealt to replicas by hand, tensors of checkpoints counted by hand, and
 * a pool of workers whose queue is known.
 */
#include "sim/base/library.h"
#include "workloads/post_training/loop_sim.h"
#include "workloads/service_pool.h"
#include "workloads/post_training/weight_syncs/weight_sync.h"
#include "tests/run/shared_library.h"

extern const OrrWeightSync orr_weight_sync_broadcast, orr_weight_sync_checkpoint_engine,
    orr_weight_sync_ipc;

static double fullest(OrrPassBalance balance, OrrPassPacking packing, gint64 micro) {
  static const gint64 lengths[] = {8, 7, 1, 2, 6, 4};
  g_autoptr(GArray) tokens = g_array_new(FALSE, FALSE, sizeof(gint64));
  g_array_append_vals(tokens, lengths, G_N_ELEMENTS(lengths));
  const OrrPassShape shape = {.replicas = 2,
                              .micro = micro,
                              .micro_tokens = 10,
                              .padded_tokens = 16,
                              .balance = balance,
                              .packing = packing};
  return orr_pass_time_micro_batches(&shape, tokens);
}

static void test_dealing(void) {
  /* in order: 8 + 7 + 1 = 16 and 2 + 6 + 4 = 12 tokens */
  g_assert_cmpfloat(fullest(ORR_PASS_IN_ORDER, ORR_PASS_PACKED, 1), ==, 1.6);
  /* longest first: 8, 4, 2 and 7, 6, 1 = 14 each */
  g_assert_cmpfloat(fullest(ORR_PASS_BY_TOKENS, ORR_PASS_PACKED, 1), ==, 1.4);
  /* three samples each, as long as the longest, 8 of 16 */
  g_assert_cmpfloat(fullest(ORR_PASS_IN_ORDER, ORR_PASS_PADDED, 1), ==, 1.5);
  /* in micro-batches of two: three samples take two, each as long as one of 8 of 16 tokens */
  g_assert_cmpfloat(fullest(ORR_PASS_IN_ORDER, ORR_PASS_PADDED, 2), ==, 1);
}

/* --- Workers --- */

static double ends[3];
static guint n_ends;
static void done(void *user, void *request) {
  (void)request;
  ends[n_ends++] = orr_engine_now(user);
}

static void test_workers(void) {
  g_autoptr(GError) error = NULL;
  g_autoptr(OrrEngine) engine = orr_engine_new(ORR_ENGINE_IDEAL, &error);
  g_assert_no_error(error);
  const OrrServiceParams params = {
      .engine = engine, .mean_s = 2, .workers = 2, .done = done, .user = engine};
  OrrServicePool *pool = orr_service_pool_new(&params);
  for (int i = 0; i < 3; i++) orr_service_pool_add(pool, pool);
  g_assert_true(orr_engine_run(engine, &error));
  g_assert_cmpuint(n_ends, ==, 3);
  g_assert_cmpfloat(ends[0], ==, 2);
  g_assert_cmpfloat(ends[1], ==, 2);
  g_assert_cmpfloat(ends[2], ==, 4); /* the third waits for a worker */
  orr_service_pool_free(pool);
}

/* --- Weights --- */

static void test_ways(void) {
  const OrrWeightLoad load = {.bytes = 100e9,
                              .tensors = 1000,
                              .trainer_gpus = 8,
                              .rollout_gpus = 8,
                              .engine_gpus = 2,
                              .host_copy_bytes_per_s = 50e9,
                              .memory_bytes_per_s = 4e12,
                              .launch_speed = 1};
  const OrrWeightSyncParams params = {.bucket_bytes = 1e9, .tensor_s = 1e-3, .step_s = 0.5};
  const OrrWeightCalls calls = {.gather_s = 0.01, .send_s = 0.02};
  g_assert_cmpfloat(orr_weight_sync_messages(&params, &load), ==, 100);
  /* 0.5 + 1 + 100 (0.01 + 0.02) */
  OrrWeightTimes times = orr_weight_sync_broadcast.times(&params, &load, &calls);
  g_assert_cmpfloat_with_epsilon(times.blocked_s, 4.5, 1e-12);
  g_assert_cmpfloat(times.copy_s, ==, times.blocked_s);
  /* 0.5 + 1 + 100 * 0.01 + 2 * 50e9 / 4e12 */
  times = orr_weight_sync_ipc.times(&params, &load, &calls);
  g_assert_cmpfloat_with_epsilon(times.blocked_s, 2.525, 1e-12);
  /* engines load for 0.5 + 1 + 2 * 50e9 / 4e12; before it 0.25 + max(0.25, 2) */
  times = orr_weight_sync_checkpoint_engine.times(&params, &load, &calls);
  g_assert_cmpfloat_with_epsilon(times.blocked_s, 1.525, 1e-12);
  g_assert_cmpfloat_with_epsilon(times.copy_s, 3.775, 1e-12);
  /* a CPU of half the speed: 1 s more for the tensors */
  OrrWeightLoad slow = load;
  slow.launch_speed = 0.5;
  times = orr_weight_sync_broadcast.times(&params, &slow, &calls);
  g_assert_cmpfloat_with_epsilon(times.blocked_s, 5.5, 1e-12);
  const OrrWeightSyncParams each = {0};
  g_assert_cmpfloat(orr_weight_sync_messages(&each, &load), ==, 1000);
}

static OrrModel model_of(const char *name) {
  OrrLibrary *library = shared_library();
  g_autoptr(OrrDiags) diags = orr_diags_new();
  const OrrPlace place = {"test", 0, 0};
  g_autoptr(OrrNode) tree = orr_library_load(library, "model", name, place, diags);
  OrrModel model;
  g_assert_true(orr_field_read(&orr_model_table, tree, library, diags, &model));
  orr_model_settle(&model, place, diags);
  return model;
}

static void test_tensors(void) {
  OrrModel dense = model_of("qwen2.5-7b"), sparse = model_of("qwen3-30b-a3b");
  /* 28 layers of q, k, v with biases, the output, three products and two norms; and three ends */
  g_assert_cmpfloat(orr_weight_sync_tensors(&dense), ==, 28 * 12 + 3);
  /* 48 of four products, two head norms, two norms, the router and 128 experts of three */
  g_assert_cmpfloat(orr_weight_sync_tensors(&sparse), ==, 48 * (4 + 2 + 2 + 1 + 384) + 3);
  orr_field_clear(&orr_model_table, &dense);
  orr_field_clear(&orr_model_table, &sparse);
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/pass-time/dealing", test_dealing);
  g_test_add_func("/service-pool/workers", test_workers);
  g_test_add_func("/weight-sync/ways", test_ways);
  g_test_add_func("/weight-sync/tensors", test_tensors);
  return g_test_run();
}

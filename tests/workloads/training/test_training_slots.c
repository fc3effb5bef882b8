/*
 * test_training_slots.c - stages that move in slots (pipeline-comm.lock-step).
 */
#include "tests/workloads/training/training_fixture.h"

/* 8 micro-batches on 2 stages of 2 blocks of 4 layers; a vocabulary that costs nothing. */
#define NETWORK "cluster.node.nic-bandwidth=100000 Gb/s;"
#define BASE "model.vocab=64;workload.parallel={tp: 4, pp: 2, dp: 8};" NETWORK
#define TWO_CHUNKS BASE "workload.pipeline={kind: interleaved-1f1b, chunks: 2}"
#define SLOTS ";workload.pipeline-comm.lock-step=true"

/* In slots, four forwards f of stage 0 are followed by 30 slots in one of whose stages a backward b
 * runs: 4 f + 30 b. Without, 16 (f + b) and a bubble of f + b. So slots take at most 13 (b - f)
 * more; less, since a slot in which stage 0 ends a micro-batch's backward and stage 1 its forward
 * transfers nothing, and neither waits. */
static void test_pairs(void) {
  const Answer plain = simulate(TWO_CHUNKS), slots = simulate(TWO_CHUNKS SLOTS);
  const double more_s = slots.result.iteration_time_s - plain.result.iteration_time_s;
  const double block_s = 4 * (plain.result.layer_backward_s - plain.result.layer_forward_s);
  g_assert_cmpfloat(more_s, >, 8 * block_s);
  g_assert_cmpfloat(more_s, <, 13 * block_s);
}

/* One chunk per stage is another schedule of PyTorch's, without slots. */
static void test_one_chunk(void) {
  g_assert_cmpfloat(simulate(BASE).result.iteration_time_s, ==,
                    simulate(BASE "workload.pipeline-comm.lock-step=true").result.iteration_time_s);
}

static void test_folded_is_full(void) { assert_folded_is_full(TWO_CHUNKS SLOTS); }

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/training-slots/pairs", test_pairs);
  g_test_add_func("/training-slots/one-chunk", test_one_chunk);
  g_test_add_func("/training-slots/folded-is-full", test_folded_is_full);
  return g_test_run();
}

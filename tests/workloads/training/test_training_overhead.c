/*
 * Memory that holds no part of the model, counted by hand. Units in MiB where not said.
 */
#include <math.h>

#include "tests/workloads/scenario_fixture.h"

#define MIB 1048576.0

static const char *const scenario_text =
    "schema: scenario/1\n"
    "name: test\n"
    "cluster: {base: dgx-a100-superpod, nodes: 8}\n"
    "model: {name: small, layers: 16, hidden: 1024, heads: 16, vocab: 51200, context: 2048}\n"
    "workload:\n"
    "  kind: training\n  stack: none\n"
    "  parallel: {tp: 4, pp: 4, dp: 4}\n"
    "  batch: {global: 64, micro: 1}\n";

static void fill(const char *sets, OrrMemoryRow *ret_rows, guint n, OrrTrainingResult *ret_result) {
  g_autoptr(OrrOutcome) outcome = ideal_outcome_of(scenario_text, sets, FALSE);
  g_assert_cmpuint(outcome->memory->len, ==, n);
  memcpy(ret_rows, outcome->memory->data, n * sizeof *ret_rows);
  *ret_result = outcome->result.training;
}

/* Groups of 64 (world), 4 (tensor), 4 (data), 16 (model): four times 688; a pipeline's
 * neighbours 544; and on the first and the last stage the tied embedding's two: 544. */
static void test_communicators(void) {
  OrrMemoryRow rows[4];
  OrrTrainingResult result;
  fill("", rows, 4, &result);
  g_assert_cmpfloat_with_epsilon(rows[1].communicators_bytes, (4 * 688 + 544) * MIB, 1);
  g_assert_cmpfloat_with_epsilon(rows[0].communicators_bytes, (4 * 688 + 2 * 544) * MIB, 1);
  g_assert_cmpfloat(rows[3].communicators_bytes, ==, rows[0].communicators_bytes);
  g_assert_cmpfloat_with_epsilon(rows[0].context_bytes, 1343e6, 1);
  g_assert_cmpfloat_with_epsilon(rows[0].workspace_bytes, 32 * MIB, 1);
  g_assert_cmpfloat(rows[0].flat_copies_bytes, ==,
                    0); /* Megatron reduces the gradients where they are */
}

/* One GPU talks to nobody. */
static void test_one_gpu(void) {
  OrrMemoryRow row;
  OrrTrainingResult result;
  fill("cluster.nodes=1;cluster.gpus=1;workload.parallel={tp: 1, pp: 1, dp: 1}", &row, 1, &result);
  g_assert_cmpfloat(row.communicators_bytes, ==, 0);
  g_assert_cmpfloat_with_epsilon(result.memory_peak_bytes - result.allocator_peak_bytes, 1343e6, 1);
}

/* The parts are the whole, and what is left of 80 GiB is the rest. */
static void test_sum(void) {
  OrrMemoryRow rows[4];
  OrrTrainingResult result;
  double most = 0;
  fill("", rows, 4, &result);
  for (guint i = 0; i < 4; i++) {
    const OrrMemoryRow *r = &rows[i];
    const double reserved = r->weights_bytes + r->gradients_bytes + r->optimizer_bytes +
                            r->activations_bytes + r->working_bytes + r->buffers_bytes +
                            r->fragmentation_bytes + r->flat_copies_bytes + r->workspace_bytes;
    g_assert_cmpfloat_with_epsilon(r->total_bytes,
                                   reserved + r->communicators_bytes + r->context_bytes, 1);
    most = MAX(most, r->total_bytes);
  }
  g_assert_cmpfloat(result.memory_peak_bytes, ==, most);
  g_assert_cmpfloat_with_epsilon(result.headroom_bytes, rows[0].capacity_bytes - most, 1);
}

/* DDP has all gradients twice; DeepSpeed one bucket of 5e8 gradients (two with overlap-comm),
 * and at the update its share of the gradients flat and in fp32: 4 + 4 bytes for each of the 12
 * that its optimizer state has, gradients in fp32. */
static void test_flat_copies(void) {
  const char *flat =
      "cluster.nodes=1;workload.parallel={tp: 1, pp: 1, dp: 8};workload.optimizer.sharding=";
  g_autofree char *ddp = g_strconcat(flat, "ddp", NULL), *zero = g_strconcat(flat, "zero-1", NULL);
  g_autofree char *overlap = g_strconcat(flat, "{kind: zero-2, overlap-comm: true}", NULL);
  g_autofree char *off = g_strconcat(zero, ";workload.memory.flat-copies=false", NULL);
  OrrMemoryRow row;
  OrrTrainingResult result;
  fill(ddp, &row, 1, &result);
  g_assert_cmpfloat(row.flat_copies_bytes, ==, row.gradients_bytes);
  fill(zero, &row, 1, &result);
  g_assert_cmpfloat_with_epsilon(row.flat_copies_bytes, 5e8 * 4 + row.optimizer_bytes / 12 * 8, 1);
  fill(overlap, &row, 1, &result);
  g_assert_cmpfloat_with_epsilon(row.flat_copies_bytes, 2 * 5e8 * 4 + row.optimizer_bytes / 12 * 8,
                                 1);
  fill(off, &row, 1, &result);
  g_assert_cmpfloat(row.flat_copies_bytes, ==, 0);
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/training-overhead/communicators", test_communicators);
  g_test_add_func("/training-overhead/one-gpu", test_one_gpu);
  g_test_add_func("/training-overhead/sum", test_sum);
  g_test_add_func("/training-overhead/flat-copies", test_flat_copies);
  return g_test_run();
}

/*
 * test_steps.c - laws of the workloads `diffusion-training` and `recommendation`: FLOPs,
 * collectives and lookups against closed forms, and refusals.
 */
#include <math.h>

#include "tests/base/field_lint.h"
#include "tests/workloads/scenario_fixture.h"
#include "workloads/steps/diffusion_training.h"
#include "workloads/steps/recommendation.h"

#define CLUSTER "name: t\ncluster: {base: dgx-h100-superpod, nodes: 0, gpus: 8}\n"
#define FLUX                                                                                       \
  CLUSTER "workload: {kind: diffusion-training, stack: none, generator: flux.1-schnell, "          \
          "height: 256, width: 256, "
#define DLRM CLUSTER "workload: {kind: recommendation, stack: none, recommender: dlrm-dcnv2, "

static OrrStepResult result_of(const char *head, const char *keys, const char *sets) {
  g_autofree char *text = g_strdup_printf("%s%s}\n", head, keys);
  OrrOutcome *outcome = ideal_outcome_of(text, sets, FALSE);
  const OrrStepResult result = outcome->result.step;
  orr_outcome_free(outcome);
  return result;
}

static double call_s(const char *op, double bytes, guint ranks) {
  g_autofree char *text =
      g_strdup_printf(CLUSTER "workload: {kind: collectives, stack: none, collective: %s, begin: "
                              "%.0f B, end: %.0f B, ranks: %u}\n",
                      op, bytes, bytes, ranks);
  OrrOutcome *outcome = ideal_outcome_of(text, "", FALSE);
  const double time_s = outcome->result.collectives.time_s;
  orr_outcome_free(outcome);
  return time_s;
}

static void near(double got, double wanted, double tolerance) {
  if (!(fabs(got - wanted) <= tolerance * fabs(wanted))) g_error("%.9g is not %.9g", got, wanted);
}

/* --- diffusion-training --- */

/* 256 positions and 256 tokens, width 3072, 57 blocks: products of 24 * 512 d^2, three times with
 * the backward; attention of 4 * 512^2 d, three and a half times; modulations of 12 d^2 and 3 d^2
 * per picture. MLPerf's own count is 20.3 TFLOP. */
static void test_flops(void) {
  const double d = 3072;
  const double wanted =
      57 * (3 * 24 * 512 * d * d + 3.5 * 4 * 512 * 512 * d) + 3 * 2 * (19 * 12 + 38 * 3) * d * d;
  const OrrStepResult r = result_of(FLUX, "batch: 16", "");
  near(r.flops, 2 * wanted, 1e-9);
  near(r.samples_per_s, 16 / r.step_s, 1e-12);
  near(wanted, 20.3e12, 0.05);
}

/* The text of joint blocks, 512 tokens instead of 256: in products and attention, not in
 * modulations. */
static void test_text(void) {
  const double d = 3072;
  const double wanted =
      57 * (3 * 24 * 768 * d * d + 3.5 * 4 * 768 * 768 * d) + 3 * 2 * (19 * 12 + 38 * 3) * d * d;
  near(result_of(FLUX, "batch: 16, text-tokens: 512", "").flops, 2 * wanted, 1e-9);
  near(result_of(FLUX, "batch: 16, text-tokens: 256", "").step_s,
       result_of(FLUX, "batch: 16", "").step_s, 1e-12);
}

/* Two passes of half the pictures have the same FLOPs, and one optimizer. */
static void test_passes(void) {
  const OrrStepResult one = result_of(FLUX, "batch: 64", "");
  const OrrStepResult two = result_of(FLUX, "batch: 64, micro-batch: 4", "");
  near(two.flops, one.flops, 1e-12);
  near(two.optimizer_s, one.optimizer_s, 1e-9);
  g_assert_cmpfloat(two.gemm_s, >=, one.gemm_s);
}

/* All eight GPUs share each picture, so nothing is data-parallel: an all-reduce for each of the two
 * streams' attention and feed-forward in 19 double blocks, one in 38 single blocks, and as many
 * backwards. */
static void test_tensor(void) {
  const char *keys = "batch: 8, sharding: none, parallel: {tp: 8}";
  const double stream_s = call_s("all-reduce", 2.0 * 8 * 256 * 3072, 8);
  const double joint_s = call_s("all-reduce", 2.0 * 8 * 512 * 3072, 8);
  const OrrStepResult r = result_of(FLUX, keys, "");
  near(r.exposed_comm_s, 2 * (19 * 4 * stream_s + 38 * joint_s), 1e-3);
  const OrrStepResult two = result_of(FLUX, keys, "workload.two-outputs=true");
  near(two.exposed_comm_s - r.exposed_comm_s, 2 * 38 * joint_s, 1e-3);
}

/* Four all-to-alls for each attention, and their inverses: 512 / 8 tokens of 3072. */
static void test_ulysses(void) {
  const OrrStepResult r =
      result_of(FLUX, "batch: 8, sharding: none, parallel: {ulysses: 8}, bucket: 1", "");
  const double exchange_s = call_s("all-to-all", 2.0 * 8 * 512 / 8 * 3072, 8);
  g_assert_cmpfloat(r.exposed_comm_s, >=, 2 * 57 * 4 * exchange_s * 0.999);
}

/* One bucket: gradients are reduced after the whole backward, under nothing. Weights are gathered
 * before the forward where that is asked for. */
static void test_exposed_gradients(void) {
  const char *keys = "batch: 8, sharding: optimizer, bucket: 1e12, overlap-gather: false";
  const OrrStepResult r = result_of(FLUX, keys, "");
  const double bytes = 2.0 * r.parameters;
  near(r.exposed_comm_s, call_s("all-gather", bytes, 8) + call_s("reduce-scatter", bytes, 8), 0.01);
  const OrrStepResult none = result_of(FLUX, "batch: 8, sharding: none, bucket: 1e12", "");
  near(none.exposed_comm_s, call_s("all-reduce", bytes, 8), 0.01);
  near(none.optimizer_s, 8 * r.optimizer_s, 0.01);
}

/* 2 + 2 bytes of weights and gradients and 12 of Adam per parameter, by what is sharded. */
static void test_memory(void) {
  const OrrStepResult none = result_of(FLUX, "batch: 8, sharding: none", "");
  const OrrStepResult state = result_of(FLUX, "batch: 8, sharding: optimizer", "");
  const OrrStepResult full = result_of(FLUX, "batch: 8, sharding: full", "");
  near(none.model_bytes, 16 * none.parameters, 1e-9);
  near(state.model_bytes, (4 + 12 / 8.0) * none.parameters, 1e-9);
  near(full.model_bytes, 2 * none.parameters, 1e-9);
}

/* Text that is encoded in each step takes time; its encoders are T5-XXL and CLIP-L. */
static void test_encoders(void) {
  const OrrStepResult cached = result_of(FLUX, "batch: 64", "");
  const OrrStepResult live = result_of(FLUX, "batch: 64, encoders: live", "");
  g_assert_cmpfloat(live.step_s, >, 1.05 * cached.step_s);
  g_assert_cmpfloat(live.step_s, <, 1.5 * cached.step_s);
}

/* 24 layers of width 1024 over 512 tokens, all of which see each other: forwards
 * 24 (24 t d^2 + 4 t^2 d), and with the backward 24 (72 t d^2 + 14 t^2 d). A ViT-L/16 has 14 * 14
 * patches of 3 * 16 * 16 numbers. */
static void test_encoder_flops(void) {
  const double d = 1024, t = 512, p = 196;
  const OrrStepResult r = result_of(
      CLUSTER, "workload: {kind: diffusion-training, stack: none, generator: bert-large, batch: 8",
      "");
  near(r.flops, 24 * (72 * t * d * d + 14 * t * t * d), 1e-9);
  g_autofree char *text = g_strdup(
      CLUSTER "workload: {kind: diffusion, stack: none, generator: vit-large-16, batch: 8}\n");
  OrrOutcome *outcome = ideal_outcome_of(text, "", FALSE);
  near(outcome->result.diffusion.flops,
       8 * (24 * (24 * p * d * d + 4 * p * p * d) + 2 * p * d * 3 * 16 * 16), 1e-9);
  near(outcome->result.diffusion.decode_s + outcome->result.diffusion.text_s + 1, 1, 1e-9);
  orr_outcome_free(outcome);
}

/* --- recommendation --- */

/* With sparse cores what is done with tables, and its exchanges, run under the dense layers. A step
 * takes the longer of both: at least half of their sum, and no less than the dense products. */
static void test_sparse_cores(void) {
  const OrrStepResult one = result_of(DLRM, "batch: 55296", "");
  const OrrStepResult both = result_of(DLRM, "batch: 55296", "cluster.device.sparse-cores=4");
  near(both.gemm_s, one.gemm_s, 1e-9);
  near(both.flops, one.flops, 1e-12);
  g_assert_cmpfloat(both.step_s, <, 0.95 * one.step_s);
  g_assert_cmpfloat(both.step_s, >=, 0.5 * one.step_s);
  g_assert_cmpfloat(both.step_s, >=, both.gemm_s);
  g_assert_cmpfloat(both.exposed_comm_s, <, one.step_s);
}

/* Weights of the dense layers: two FLOPs each forwards, four backwards. */
static const double dense_weights = 13 * 512 + 512 * 256 + 256 * 128 + 3 * 2 * 3456 * 512.0 +
                                    3456 * 1024 + 1024 * 1024 + 1024 * 512 + 512 * 256 + 256;

static void test_dense(void) {
  const OrrStepResult trained = result_of(DLRM, "batch: 65536", "");
  const OrrStepResult answered = result_of(DLRM, "batch: 65536, mode: inference", "");
  near(trained.flops, 6 * 8192 * dense_weights, 1e-9);
  near(answered.flops, 2 * 8192 * dense_weights, 1e-9);
  near(trained.parameters, 204184588.0 * 128 + dense_weights, 0.001);
}

/* By rows each GPU has a part of all 26 tables, and sends 26 vectors of each of the 65,536
 * samples; under the exchange runs the bottom MLP alone, so most of it is exposed. */
static void test_exchange(void) {
  const OrrStepResult r = result_of(DLRM, "batch: 65536, mode: inference, sharding: row", "");
  const double exchange_s = call_s("all-to-all", 65536.0 * 26 * 128 * 2, 8);
  g_assert_cmpfloat(r.exposed_comm_s, >, 0.5 * exchange_s);
  g_assert_cmpfloat(r.exposed_comm_s, <=, 1.001 * exchange_s);
  const OrrStepResult wide =
      result_of(DLRM, "batch: 65536, mode: inference, sharding: row, exchanged: fp32", "");
  g_assert_cmpfloat(wide.exposed_comm_s, >, 1.8 * r.exposed_comm_s);
  const OrrStepResult own =
      result_of(DLRM, "batch: 65536, mode: inference, replicate-below: 1 TB", "");
  near(own.exposed_comm_s + 1, 1, 1e-9);
}

/* By lookups each GPU sends an eighth of the 214 rows of each sample, 26.75 vectors of 4 bytes an
 * element. */
static void test_lookups(void) {
  const OrrStepResult r = result_of(
      DLRM, "batch: 65536, mode: inference, sharding: lookup, exchanged: fp32, precision: bf16",
      "");
  const double exchange_s = call_s("all-to-all", 65536.0 * 26.75 * 128 * 4, 8);
  g_assert_cmpfloat(r.exposed_comm_s, >, 0.5 * exchange_s);
  g_assert_cmpfloat(r.exposed_comm_s, <=, 1.001 * exchange_s);
}

/* Rows in host memory cross the host link: 65,536 / 8 samples of 214 rows of 512 bytes. A cache has
 * nine in ten of them. */
static void test_host(void) {
  const char *keys = "batch: 65536, mode: inference, sharding: row, tier: host, cached: 90 %";
  const OrrStepResult r = result_of(DLRM, keys, "cluster.node.host-link-efficiency=100 %");
  near(r.host_memory_s, 0.1 * 8192 * 214 * 512 / 64e9, 0.02);
}

/* One table of 1e9 rows: nearly each of the 8,000 x 10 lookups is a row of its own, 10,000 on each
 * of 8 GPUs. Half are in HBM, half of the others in host memory: drives read 20,000 pages, at
 * 100,000 a second, or at 10 MB/s; in training they also write them, at 50,000 a second. */
static void test_drives(void) {
  const char *head = CLUSTER "workload: {kind: recommendation, stack: none, sharding: row, tier: "
                             "ssd, cached: 50 %, host-cached: 50 %, batch: 8000, recommender: "
                             "{name: r, source: s, width: 8, dense: 4, bottom: [8], top: [1], "
                             "tables: [{rows: 1000000000, hot: 10}]}, ";
  const OrrStepResult reads =
      result_of(head, "mode: inference, drives: {reads: 1e5, bandwidth: 1 GB/s}", "");
  const OrrStepResult bytes =
      result_of(head, "mode: inference, drives: {reads: 1e9, bandwidth: 10 MB/s}", "");
  const OrrStepResult trained =
      result_of(head, "drives: {reads: 1e5, writes: 5e4, bandwidth: 1 GB/s}", "");
  near(reads.host_memory_s, 20000 / 1e5, 1e-3);
  near(bytes.host_memory_s, 20000 * 4096 / 10e6, 1e-3);
  near(trained.host_memory_s, 20000 / 1e5 + 20000 / 5e4, 1e-3);
}

/* 1,000,000 rows of 8 numbers of 4 bytes, and AdaGrad's sums: 64 MB of a node's memory. */
static void test_host_memory(void) {
  static const struct {
    const char *memory, *mode, *says; /* NULL: it fits */
  } cases[] = {{"64 MB", "training", NULL},
               {"63 MB", "training", "tier: host takes 61.04 MiB of a node's host memory"},
               {"63 MB", "inference", NULL}};
  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    char error[2000] = "";
    g_autofree char *text = g_strdup_printf(
        "name: t\ncluster: {base: dgx-h100-superpod, nodes: 0, gpus: 8, "
        "node: {host: {memory: %s}}}\n"
        "workload: {kind: recommendation, stack: none, mode: %s, tier: host, batch: 800, "
        "recommender: {name: r, source: s, width: 8, dense: 4, bottom: [8], top: [1], "
        "tables: [{rows: 1000000}]}}\n",
        cases[i].memory, cases[i].mode);
    g_autoptr(OrrOutcome) outcome = outcome_of(text, error, sizeof error);
    if (!cases[i].says != !!outcome || !strstr(error, cases[i].says ? cases[i].says : ""))
      g_error("%s, %s: '%s'", cases[i].memory, cases[i].mode, error);
  }
}

static OrrTablePlacement placed(const char *tables, int sharding, gint64 gpus, double vector_cost) {
  g_autofree char *text =
      g_strdup_printf(CLUSTER "workload: {kind: recommendation, batch: 800, recommender: {name: r, "
                              "source: s, width: 8, dense: "
                              "4, bottom: [8], top: [1], tables: [%s]}}\n",
                      tables);
  g_autoptr(OrrScenario) scenario = scenario_of(shared_library(), text, "");
  OrrRecommendation *params = scenario->workload.params;
  params->sharding = sharding;
  return orr_table_placement(params, gpus, vector_cost);
}

static OrrTablePlacement placed_sequence(const char *table, int sharding, gint64 gpus) {
  g_autofree char *text = g_strdup_printf(
      CLUSTER "workload: {kind: recommendation, batch: 800, recommender: {name: r, source: s, "
              "width: 8, sequence: {layers: 1, tokens: 100}, top: [1], tables: [%s]}}\n",
      table);
  g_autoptr(OrrScenario) scenario = scenario_of(shared_library(), text, "");
  OrrRecommendation *params = scenario->workload.params;
  params->sharding = sharding;
  return orr_table_placement(params, gpus, 0);
}

/* One table of 100 rows per sample: whole on one GPU, or in eight parts. Two equal tables go to two
 * GPUs; three to two GPUs leave two on one. A table of one row has one row to update. The large
 * table is not where the work is: its 32 MB are the most that a GPU holds. */
static void test_placement(void) {
  const char *hot = "{rows: 1000000, hot: 100}", *three = "{rows: 10}, {rows: 10}, {rows: 10}";
  const char *cold = "{rows: 1000, hot: 100}, {rows: 1000000}";
  near(placed(cold, ORR_TABLES_WHOLE, 2, 0).lookups, 100, 1e-12);
  near(placed(cold, ORR_TABLES_WHOLE, 2, 0).bytes, 32e6, 1e-12);
  near(placed(hot, ORR_TABLES_WHOLE, 8, 0).lookups, 100, 1e-12);
  near(placed(hot, ORR_TABLES_BALANCED, 8, 0).lookups, 12.5, 1e-12);
  near(placed(hot, ORR_TABLES_BALANCED, 8, 200).lookups, 12.5, 1e-12);
  near(placed(hot, ORR_TABLES_ROWS, 8, 0).lookups, 12.5, 1e-12);
  near(placed(hot, ORR_TABLES_COLUMNS, 8, 0).share, 0.125, 1e-12);
  near(placed(three, ORR_TABLES_WHOLE, 2, 1).vectors, 2, 1e-12);
  near(placed("{rows: 1}", ORR_TABLES_WHOLE, 2, 1).unique, 1, 1e-6);
  near(placed("{rows: 1000}", ORR_TABLES_WHOLE, 1, 1).unique, 1000 * (1 - pow(0.999, 800)), 1e-9);
}

/* HSTU over 200 items, width and heads of 256 together, 16 layers: 10 N d q FLOPs of products and
 * 2 N^2 q of causal attention; the top layer has 256 weights. Trained three times the products,
 * three and a half times attention. By rows each of 8 GPUs sends the vectors of its eighth of the
 * items, and no partial sums of them. */
static void test_sequence(void) {
  const char *head = CLUSTER "workload: {kind: recommendation, stack: none, recommender: "
                             "hstu-large-ml-20m, ";
  const double products = 16 * 10 * 200 * 256.0 * 256 + 2 * 256, core = 16 * 2 * 200.0 * 200 * 256;
  const OrrStepResult answered = result_of(head, "batch: 1024, mode: inference", "");
  const OrrStepResult trained = result_of(head, "batch: 1024", "");
  near(answered.flops, 128 * (products + core), 1e-9);
  near(trained.flops, 128 * (3 * products + 3.5 * core), 1e-9);
  const char *apart = "{rows: 100000, hot: 100, pooled: false}",
             *pooled = "{rows: 100000, hot: 100}";
  near(placed_sequence(apart, ORR_TABLES_ROWS, 8).vectors, 12.5, 1e-12);
  near(placed_sequence(apart, ORR_TABLES_COLUMNS, 8).vectors, 100, 1e-12);
  near(placed_sequence(pooled, ORR_TABLES_ROWS, 8).vectors, 1, 1e-12);
}

/* --- Refusals --- */

static void test_refusals(void) {
  static const char *const cases[][3] = {
      {FLUX, "batch: 9", "a batch of 9 cannot be dealt to 8 groups of GPUs evenly"},
      {FLUX, "batch: 16, micro-batch: 3", "micro-batch 3 does not divide the 2 pictures"},
      {FLUX, "batch: 8, parallel: {tp: 5}", "tp 5 does not divide the 24 heads"},
      {FLUX, "batch: 8, parallel: {tp: 3}", "a multiple of 3 GPUs: the cluster has 8"},
      {CLUSTER, "workload: {kind: diffusion-training, generator: sdxl, batch: 8, parallel: {tp: 2}",
       "has convolutions: GPUs cannot share a picture"},
      {FLUX, "batch: 8, frames: 10", "frames is 10, but flux.1-schnell makes single pictures"},
      {CLUSTER,
       "workload: {kind: diffusion-training, generator: bert-large, batch: 8, text-tokens: 100",
       "text-tokens is 100, but the backbone of bert-large reads no text"},
      {DLRM, "batch: 9", "a batch of 9 cannot be dealt to 8 GPUs evenly"},
      {DLRM, "batch: 8, cached: 10 %", "cached is for tier: host"},
      {DLRM, "batch: 8, tier: host, host-cached: 10 %", "host-cached is for tier: ssd"},
      {DLRM, "batch: 8, tier: ssd, drives: {capacity: 100 GB}", "its drives have 0.1 TB"},
      {DLRM, "batch: 8, mode: inference, replicate-below: 1 TB, tier: host",
       "tier: host is for tables that GPUs share, and replicate-below puts every table"},
      {CLUSTER,
       "workload: {kind: recommendation, batch: 8, recommender: {base: dlrm-dcnv2, width: "
       "64}",
       "the last layer of 'bottom' must have the tables' width, 64"},
      {CLUSTER,
       "workload: {kind: recommendation, batch: 8, recommender: {base: dlrm-dcnv2, tables: "
       "[]}",
       "the model has no tables"},
  };
  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    g_autofree char *text = g_strdup_printf("%s%s}\n", cases[i][0], cases[i][1]);
    char error[2000] = "";
    g_assert_null(outcome_of(text, error, sizeof error));
    if (!strstr(error, cases[i][2])) g_error("%s: %s", cases[i][1], error);
  }
}

static void test_tables(void) {
  g_autofree char *training = orr_field_lint(&orr_diffusion_training_table);
  g_autofree char *recommendation = orr_field_lint(&orr_recommendation_table);
  g_assert_cmpstr(training, ==, NULL);
  g_assert_cmpstr(recommendation, ==, NULL);
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/diffusion-training/flops", test_flops);
  g_test_add_func("/diffusion-training/text", test_text);
  g_test_add_func("/diffusion-training/passes", test_passes);
  g_test_add_func("/diffusion-training/tensor", test_tensor);
  g_test_add_func("/diffusion-training/ulysses", test_ulysses);
  g_test_add_func("/diffusion-training/exposed-gradients", test_exposed_gradients);
  g_test_add_func("/diffusion-training/memory", test_memory);
  g_test_add_func("/diffusion-training/encoders", test_encoders);
  g_test_add_func("/encoders/flops", test_encoder_flops);
  g_test_add_func("/recommendation/dense", test_dense);
  g_test_add_func("/recommendation/sparse-cores", test_sparse_cores);
  g_test_add_func("/recommendation/exchange", test_exchange);
  g_test_add_func("/recommendation/lookups", test_lookups);
  g_test_add_func("/recommendation/host", test_host);
  g_test_add_func("/recommendation/drives", test_drives);
  g_test_add_func("/recommendation/host-memory", test_host_memory);
  g_test_add_func("/recommendation/placement", test_placement);
  g_test_add_func("/steps/sequence", test_sequence);
  g_test_add_func("/steps/refusals", test_refusals);
  g_test_add_func("/steps/tables", test_tables);
  return g_test_run();
}

/* test_cost_library.c - kernels of libraries beside NCCL: custom all-reduces and DeepEP. */
#include <math.h>

#include "tests/calibration/calibration_sample.h"

static const char rows[] =
    "schema: profile/1\nname: p\ndevice: d\nlibraries:\n"
    "- {library: vllm, op: all_reduce, ranks: 4, size: \"100 10000\", us: \"10 40\"}\n"
    "- {library: deepep, op: dispatch, ranks: 8, hidden: 1000, topk: 8, experts: 64, size: \"1 "
    "100\", us: \"20 220\"}\n"
    "- {library: deepep, op: dispatch, ranks: 8, hidden: 4000, topk: 8, experts: 64, size: \"1 "
    "100\", us: \"30 "
    "800\"}\n";

static OrrCost ask(const OrrCostModel *model, const OrrLibraryCall *call) {
  OrrCost cost = {0};
  g_assert_true(orr_cost_library(model, call, &cost));
  return cost;
}

static void test_rows(void) {
  g_autoptr(OrrProfile) profile = sample_profile(rows);
  g_autoptr(OrrCostModel) model = model_of(profile, &round_device);
  OrrCost cost;
  OrrLibraryCall call = {.library = "vllm", .op = "all_reduce", .n_ranks = 4, .size = 100};
  assert_near(ask(model, &call).time_s * 1e6, 10, 1e-12);
  g_assert_cmpint(ask(model, &call).how, ==, ORR_HOW_MEASURED);
  call.n_ranks = 8;
  g_assert_false(orr_cost_library(model, &call, &cost));
  call = (OrrLibraryCall){.library = "trtllm", .op = "all_reduce", .n_ranks = 4, .size = 100};
  g_assert_false(orr_cost_library(model, &call, &cost));
}

/* A shape that is there is measured. 2,000 is as far from 1,000 as from 4,000: the two weigh
 * alike, read at as many bytes, 100 tokens of the one and 25 of the other: sqrt(220 us * t(25)). */
static void test_experts(void) {
  g_autoptr(OrrProfile) profile = sample_profile(rows);
  g_autoptr(OrrCostModel) model = model_of(profile, &round_device);
  OrrLibraryCall call = {"deepep", "dispatch", 8, 100, 4000, 8, 64, NULL};
  assert_near(ask(model, &call).time_s * 1e6, 800, 1e-12);
  g_assert_cmpint(ask(model, &call).how, ==, ORR_HOW_MEASURED);
  call.size = 25;
  double quarter_us = ask(model, &call).time_s * 1e6;
  call.hidden = 2000;
  call.size = 50;
  assert_near(ask(model, &call).time_s * 1e6, sqrt(220 * quarter_us), 1e-9);
  g_assert_cmpint(ask(model, &call).how, ==, ORR_HOW_INTERPOLATED);
  call.size = 101; /* beyond the rows of both */
  g_assert_cmpint(ask(model, &call).how, ==, ORR_HOW_OUTSIDE);
  call.n_ranks = 16; /* rows of 8 alone */
  call.size = 50;
  g_assert_cmpint(ask(model, &call).how, ==, ORR_HOW_OUTSIDE);
  g_assert_cmpint(orr_cost_library_ranks(model, &call), ==, 8);
  call.op = "combine";
  g_assert_cmpint(orr_cost_library_ranks(model, &call), ==, 0);
}

/* Rows of another device answer, as carried over from it; so do shapes interpolated from them. */
static void test_carried(void) {
  g_autoptr(OrrProfile) profile =
      sample_profile("schema: profile/1\nname: p\ndevice: d\nlibraries:\n"
                     "- {library: deepep, op: dispatch, ranks: 32, hidden: 1000, topk: 8, experts: "
                     "64, size: \"1 100\", us: \"20 220\",\n"
                     "   measured-on: h100-sxm}\n");
  g_autoptr(OrrCostModel) model = model_of(profile, &round_device);
  OrrLibraryCall call = {"deepep", "dispatch", 32, 100, 1000, 8, 64, NULL};
  assert_near(ask(model, &call).time_s * 1e6, 220, 1e-12);
  g_assert_cmpint(ask(model, &call).how, ==, ORR_HOW_CARRIED);
  g_assert_cmpstr(ask(model, &call).from, ==, "h100-sxm");
  call.hidden = 2000;
  call.size = 10;
  g_assert_cmpint(ask(model, &call).how, ==, ORR_HOW_CARRIED);
}

/* DeepEP over 2, 4 and 8 nodes of H200: tokens meet more nodes, and the network binds; 4 and 8
 * are H100's rows. Before these were carried, 8 nodes took as long as 2. */
static void test_nodes(void) {
  g_autoptr(OrrProfile) profile = shipped_profile("h200-sxm");
  g_autoptr(OrrCostModel) model = model_of(profile, &h100_device);
  OrrLibraryCall call = {"deepep", "combine", 16, 4096, 7168, 8, 256, NULL};
  const double two_s = ask(model, &call).time_s;
  g_assert_cmpint(ask(model, &call).how, ==, ORR_HOW_MEASURED);
  call.n_ranks = 32;
  const double four_s = ask(model, &call).time_s;
  g_assert_cmpint(ask(model, &call).how, ==, ORR_HOW_CARRIED);
  call.n_ranks = 64;
  g_assert_cmpfloat(four_s, >, 1.5 * two_s);
  g_assert_cmpfloat(ask(model, &call).time_s, >, 1.5 * four_s);
}

/* Rows of every kind say that they are another device's, whatever its rates: here they are the
 * same, so that the times are too. Outside the rows stays outside; a what-if of the same device,
 * whose links are as they were, keeps its links' rows. */
static void test_carried_over(void) {
  g_autoptr(OrrProfile) profile = sample_profile(
      "schema: profile/1\nname: p\ndevice: d\n"
      "gemm:\n- {dtype: bf16, source: s, m: \"1\", rows: [{n: 64, k: 64, us: \"5\"}]}\n"
      "collectives:\n- {op: all_reduce, ranks: 2, bytes: \"1024 2048\", us: \"7 9\"}\n"
      "libraries:\n- {library: vllm, op: all_reduce, ranks: 4, size: \"100 10000\", us: \"10 "
      "40\"}\n");
  OrrDevice other = round_device, faster = round_device;
  other.name = (char *)"other";
  faster.memory_bytes_per_s *= 2;
  const OrrDevice *const devices[] = {&round_device, &other, &faster};
  static const OrrHow kernels[] = {ORR_HOW_MEASURED, ORR_HOW_CARRIED, ORR_HOW_CARRIED};
  static const OrrHow links[] = {ORR_HOW_MEASURED, ORR_HOW_CARRIED, ORR_HOW_MEASURED};
  static const char *const texts[] = {"measured", "carried over from round",
                                      "carried over from round"};
  for (guint i = 0; i < G_N_ELEMENTS(devices); i++) {
    g_autoptr(OrrCostModel) model =
        orr_cost_model_new_scaled(profile, &round_device, NULL, devices[i], NULL);
    OrrOperator op =
        orr_operator_gemm("test", ORR_PASS_FORWARD, ORR_BF16, (OrrGemmShape){1, 1, 64, 64});
    OrrCost ring;
    g_assert_cmpint(orr_cost_operator(model, &op).how, ==, kernels[i]);
    g_assert_true(orr_cost_collective(model, "all_reduce", 2, 1024, &ring));
    assert_near(ring.time_s * 1e6, 7, 1e-9);
    g_assert_cmpint(ring.how, ==, links[i]);
    g_assert_true(orr_cost_collective(model, "all_reduce", 2, 1e9, &ring));
    g_assert_cmpint(ring.how, ==, ORR_HOW_OUTSIDE);
    g_assert_cmpint(
        ask(model,
            &(OrrLibraryCall){.library = "vllm", .op = "all_reduce", .n_ranks = 4, .size = 100})
            .how,
        ==, links[i]);
    g_assert_cmpstr(orr_cost_how_text(orr_cost_carried_from(model), kernels[i]), ==, texts[i]);
  }
}

/* Two of 4 experts, 2 on each of 2 ranks: the token meets a rank unless both are on the other, 1
 * in C(4,2) = 6. A low-latency kernel sends to each expert. All experts: every rank. Fewer
 * experts than ranks: to each of them. */
static void test_copies(void) {
  assert_near(orr_cost_library_copies("deepep", 2, 2, 4), 2 * (1 - 1.0 / 6), 1e-12);
  assert_near(orr_cost_library_copies("deepep-low-latency", 2, 2, 4), 2, 1e-12);
  assert_near(orr_cost_library_copies("deepep", 8, 64, 64), 8, 1e-12);
  assert_near(orr_cost_library_copies("deepep", 8, 1, 64), 1, 1e-12);
  assert_near(orr_cost_library_copies("deepep", 16, 2, 8), 2, 1e-12);
}

/* The format selects the rows where the query names one. */
static void test_formats(void) {
  g_autoptr(OrrProfile) profile =
      sample_profile("schema: profile/1\nname: p\ndevice: d\nlibraries:\n"
                     "- {library: t, op: dispatch, dtype: bf16, ranks: 4, hidden: 10, "
                     "topk: 2, experts: 8, size: \"1 2\", us: \"4 8\"}\n"
                     "- {library: t, op: dispatch, dtype: fp8, ranks: 4, hidden: 10, topk: "
                     "2, experts: 8, size: \"1 2\", us: \"3 6\"}\n");
  g_autoptr(OrrCostModel) model = model_of(profile, &round_device);
  OrrLibraryCall call = {"t", "dispatch", 4, 2, 10, 2, 8, "fp8"};
  OrrCost cost;
  assert_near(ask(model, &call).time_s * 1e6, 6, 1e-12);
  call.dtype = "bf16";
  assert_near(ask(model, &call).time_s * 1e6, 8, 1e-12);
  call.dtype = "fp4";
  g_assert_false(orr_cost_library(model, &call, &cost));
}

static void test_wrong(void) {
  g_autoptr(OrrProfile) profile =
      sample_profile("schema: profile/1\nname: p\ndevice: d\nlibraries:\n"
                     "- {library: l, op: o, ranks: 2, size: \"2 1\", us: \"1 2\"}\n");
  g_autoptr(GError) error = NULL;
  g_assert_null(orr_cost_model_new(profile, &round_device, &error));
  g_assert_nonnull(
      strstr(error->message, "library l, o: as many sizes, rising, as latencies are needed"));
}

/* What ships: DeepEP over 8 and 32 H100 at DeepSeek-V3's shape, 4,096 tokens per rank. */
static void test_shipped(void) {
  g_autoptr(OrrProfile) profile = shipped_profile("h100-sxm");
  g_autoptr(OrrCostModel) model = model_of(profile, &h100_device);
  const OrrLibraryCall across = {"deepep", "dispatch", 32, 4096, 7168, 8, 256, NULL};
  const OrrLibraryCall vllm = {.library = "vllm", .op = "all_reduce", .n_ranks = 8, .size = 131072};
  g_assert_cmpint(ask(model, &across).how, ==, ORR_HOW_MEASURED);
  assert_near(ask(model, &vllm).time_s * 1e6, 7.9, 0.02); /* NCCL takes 19 us */
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/cost-library/rows", test_rows);
  g_test_add_func("/cost-library/experts", test_experts);
  g_test_add_func("/cost-library/carried-over", test_carried_over);
  g_test_add_func("/cost-library/copies", test_copies);
  g_test_add_func("/cost-library/formats", test_formats);
  g_test_add_func("/cost-library/wrong", test_wrong);
  g_test_add_func("/cost-library/carried", test_carried);
  g_test_add_func("/cost-library/nodes", test_nodes);
  g_test_add_func("/cost-library/shipped", test_shipped);
  return g_test_run();
}

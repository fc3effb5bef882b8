/* test_query.c - questions as text: what is answered, what is refused, and what passes through a
 * CSV. */
#include "calibration/cost/query.h"
#include "tests/calibration/calibration_sample.h"

#include <glib/gstdio.h>

#include "sim/base/fault.h"

static OrrProfile *profile;
static OrrCostModel *model;

static OrrCost query(const char *operator_name, const char *keys) {
  g_auto(GStrv) pairs = g_strsplit(keys, " ", -1);
  g_autoptr(GError) error = NULL;
  OrrCost cost = {0};
  orr_query_operator(model, operator_name, (const char *const *)pairs, &cost, &error);
  g_assert_no_error(error);
  return cost;
}

static void assert_refused(const char *operator_name, const char *keys, const char *expected) {
  g_auto(GStrv) pairs = g_strsplit(keys, " ", -1);
  g_autoptr(GError) error = NULL;
  OrrCost cost;
  g_assert_false(
      orr_query_operator(model, operator_name, (const char *const *)pairs, &cost, &error));
  g_assert_error(error, ORR_FAULT, ORR_FAULT_USAGE);
  g_assert_cmpstr(error->message, ==, expected);
}

/* Rows of the A100 profile. The ring: 8.1 us + 2 15 steps of 0.93 us + 2 15/16 1e9 B / (300 GB/s
 * 0.8). */
static void test_answers(void) {
  assert_near(query("gemm", "m=8192 n=4096 k=4096").time_s * 1e6, 1036.0, 1e-9);
  assert_near(query("gemm", "gemm_dtype=float16 m=8192 n=4096 k=4096").time_s * 1e6, 1036.0, 1e-9);
  assert_near(query("attention_prefill",
                    "batch_size=1 isl=2048 num_heads=32 num_key_value_heads=32 head_dim=128")
                      .time_s *
                  1e6,
              370.9, 1e-9);
  assert_near(query("attention_decode",
                    "batch_size=8 step=4095 num_heads=32 num_key_value_heads=8 head_dim=128")
                      .time_s *
                  1e6,
              97.96, 1e-9);
  assert_near(query("all_reduce", "n_gpus=8 bytes=536870912").time_s * 1e6, 4225.9, 1e-9);
  assert_near(query("memory", "bytes=1e9").time_s * 1e6, 2.5 + 1e15 / (0.85 * 2.039e12), 1e-9);
  OrrCost moe =
      query("moe_ffn",
            "num_tokens=64 hidden_size=4096 inter_size=1536 topk=8 num_experts=128 moe_ep_size=2 "
            "distribution=power_law_1.2");
  assert_near(moe.time_s * 1e6, 1315.0, 1e-9);
  g_assert_cmpint(moe.how, ==, ORR_HOW_MEASURED);
  OrrCost ring = query("all_reduce", "n_gpus=16 bytes=1e9");
  assert_near(ring.time_s * 1e6, 8.1 + 30 * 0.93 + 2 * 15.0 / 16 * 1e15 / 240e9, 1e-9);
  g_assert_cmpint(ring.how, ==, ORR_HOW_MODELLED);
}

static void test_refusals(void) {
  assert_refused("gem", "m=1",
                 "unknown operator 'gem': did you mean 'gemm'? (allowed: all_gather, all_reduce, "
                 "alltoall, alltoall_combine, "
                 "alltoall_combine_low_precision, alltoall_dispatch, alltoall_prepare, "
                 "attention_decode, attention_prefill, "
                 "broadcast, deepep_combine, deepep_dispatch, gemm, linear_attention, memory, "
                 "moe_ffn, reduce, reduce_scatter, sendrecv, sparse_attention)");
  assert_refused(
      "gemm", "mm=1",
      "unknown key 'mm' of gemm (allowed: gemm_dtype, m, n, k, batch, layout, sustained, library)");
  assert_refused("gemm", "m=1 n=2", "gemm needs k=...");
  assert_refused("gemm", "m", "'m': want key=value");
  assert_refused("gemm", "m=1.5", "m is '1.5': want a whole number above 0");
  assert_refused("gemm", "m=-1", "m is '-1': want a whole number above 0");
  assert_refused("gemm", "m=nan", "m is 'nan': want a whole number above 0");
  assert_refused("gemm", "gemm_dtype=bf17",
                 "gemm_dtype is 'bf17': want a number format such as bfloat16");
  assert_refused("memory", "bytes=0", "bytes is '0': want a number above 0");
  assert_refused("moe_ffn",
                 "num_tokens=1 hidden_size=64 inter_size=64 topk=2 num_experts=8 moe_ep_size=3",
                 "moe_ep_size must divide num_experts");
  assert_refused("moe_ffn",
                 "num_tokens=1 hidden_size=64 inter_size=64 topk=2 num_experts=8 moe_tp_size=3",
                 "moe_tp_size must divide inter_size");
  assert_refused("moe_ffn", "num_tokens=1 hidden_size=64 inter_size=64 topk=9 num_experts=8",
                 "topk must not be above num_experts");
  assert_refused(
      "moe_ffn", "projections=4",
      "projections is '4': want 3 (gate, up, down), 2 (no gate) or known (as measured, else 3)");
  assert_refused("moe_ffn", "distribution=skewed",
                 "distribution is 'skewed': want balanced or power_law_A");
  assert_refused("attention_prefill",
                 "batch_size=1 isl=16 num_heads=4 num_key_value_heads=3 head_dim=64",
                 "num_key_value_heads must divide num_heads");
}

/* Tokens' exchanges on a device without rows of them: 8.1 us, 7 steps of 0.93 us, and 7/8 of the
 * bytes over 240 GB/s: 2 bytes for each of 1,000 x 100 elements, of low-latency dispatch 1,
 * times copies: of both experts, or of one rank less than 8 (1 - C(14,2) / C(16,2)). A '-' is a
 * '_'. */
static void test_exchanges(void) {
  const double latency_us = 8.1 + 7 * 0.93, per_copy_us = 7 / 8.0 * 1e5 / 240e9 * 1e6;
  assert_near(query("deepep-combine",
                    "num_token_per_rank=1000 hidden=100 topk=2 num_experts=16 mode=low_latency")
                      .time_s *
                  1e6,
              latency_us + 2 * 2 * per_copy_us, 1e-9);
  assert_near(query("deepep-dispatch",
                    "num_token_per_rank=1000 hidden=100 topk=2 num_experts=16 mode=low-latency")
                      .time_s *
                  1e6,
              latency_us + 2 * per_copy_us, 1e-9);
  OrrCost normal =
      query("deepep_dispatch", "num_token_per_rank=1000 hidden=100 topk=2 num_experts=16");
  assert_near(normal.time_s * 1e6, latency_us + 2 * 8 * (1 - 91.0 / 120) * per_copy_us, 1e-9);
  g_assert_cmpint(normal.how, ==, ORR_HOW_MODELLED);
  assert_near(query("alltoall_dispatch",
                    "num_tokens=1000 hidden_size=100 topk=2 num_experts=16 moe_ep_size=8")
                  .time_s,
              normal.time_s, 1e-15);
  assert_refused("deepep_dispatch", "mode=fast", "mode is 'fast': want normal or low_latency");
  assert_refused("deepep_dispatch", "num_token_per_rank=1 hidden=1 topk=3 num_experts=2",
                 "topk must not be above num_experts");
  assert_refused(
      "alltoall_combine", "distribution=power_law_1.2",
      "distribution is 'power_law_1.2': want balanced: other distributions were not measured");
  assert_refused("alltoall_combine", "kernel_source=x",
                 "kernel_source is 'x': want NVLinkTwoSided or NVLinkOneSided");
}

/* Without NVLink a ring goes over PCIe, 24 of 31.5 GB/s; without that either nobody knows. The
 * constants are defaults: 8 us and 2 steps of 1 us. */
static void test_without_scale_up(void) {
  OrrDevice device = round_device;
  device.scale_up_bytes_per_s = 0;
  device.host_link_bytes_per_s = 31.5e9;
  g_autoptr(OrrCostModel) pcie = model_of(NULL, &device);
  static const char *const keys[] = {"n_gpus=2", "bytes=1e9", NULL};
  g_autoptr(GError) error = NULL;
  OrrCost cost;
  g_assert_true(orr_query_operator(pcie, "all_reduce", keys, &cost, NULL));
  assert_near(cost.time_s, 10e-6 + 1e9 / (31.5e9 * 0.76), 1e-12);
  device.host_link_bytes_per_s = 0;
  g_autoptr(OrrCostModel) alone = model_of(NULL, &device);
  g_assert_false(orr_query_operator(alone, "all_reduce", keys, &cost, &error));
  g_assert_error(error, ORR_FAULT, ORR_FAULT_DOCUMENT);
  g_assert_cmpstr(error->message, ==,
                  "all_reduce: device round has no link to other devices: scale-up-bandwidth or "
                  "host-link-bandwidth "
                  "is needed");
}

static gboolean query_rows(const char *operator_name, const char *csv, char **ret_text,
                           GError **error) {
  g_autofree char *path = NULL;
  int file = g_file_open_tmp("orrery-XXXXXX", &path, NULL);
  g_assert_true(g_close(file, NULL));
  g_assert_true(g_file_set_contents(path, csv, -1, NULL));
  gboolean done = orr_query_rows(model, operator_name, path, ret_text, error);
  g_assert_cmpint(g_remove(path), ==, 0);
  return done;
}

static void test_rows(void) {
  g_autofree char *text = NULL;
  g_autoptr(GError) error = NULL;
  query_rows("gemm", "# from\nnote,k,m,n\n\"a, b\",4096,8192,4096\n\nc,4096,8192,4096\n", &text,
             &error);
  g_assert_no_error(error);
  g_assert_cmpstr(text, ==,
                  "# from\nnote,k,m,n,predicted_us,how\n\"a, b\",4096,8192,4096,1036,measured\n\n"
                  "c,4096,8192,4096,1036,measured\n");
}

static void test_rows_of_other_operators(void) {
  g_autofree char *text = NULL;
  g_autoptr(GError) error = NULL;
  query_rows("all_reduce", "op,n_gpus,bytes\nall_reduce,8,536870912\nalltoall,8,536870912\n", &text,
             &error);
  g_assert_no_error(error);
  g_assert_cmpstr(text, ==,
                  "op,n_gpus,bytes,predicted_us,how\nall_reduce,8,536870912,4225.9,measured\n"
                  "alltoall,8,536870912,,\n");
}

static void test_bad_rows(void) {
  g_autofree char *text = NULL;
  g_autoptr(GError) missing = NULL, bad = NULL, absent = NULL;
  g_assert_false(query_rows("gemm", "m,n\n1,2\n", &text, &missing));
  g_assert_error(missing, ORR_FAULT, ORR_FAULT_DOCUMENT);
  g_assert_nonnull(
      strstr(missing->message, ":1:1: error: there is no column k (the header has 2)"));
  g_assert_false(query_rows("gemm", "m,n,k\n1,2,x\n1,2\n", &text, &bad));
  g_assert_nonnull(strstr(bad->message, ":3:1: error: 2 cells, but the header has 3"));
  g_assert_false(orr_query_rows(model, "gemm", "/nowhere/at/all.csv", &text, &absent));
  g_assert_error(absent, ORR_FAULT, ORR_FAULT_RESOURCE);
  g_assert_null(text);
}

/* A misspelt column is an error although its key has a default. Columns that describe the rows
 * pass: `model` does not mean `mode`. */
static void test_misspelt_columns(void) {
  g_autofree char *text = NULL;
  g_autoptr(GError) misspelt = NULL, required = NULL, fine = NULL;
  g_assert_false(query_rows("gemm", "m,n,k,gemm_dtpye\n1,2,3,fp8\n", &text, &misspelt));
  g_assert_nonnull(strstr(misspelt->message, ":1:7: error: unknown column 'gemm_dtpye': did you "
                                             "mean 'gemm_dtype'? (allowed: op, op_name, "));
  g_assert_false(query_rows("moe_ffn", "num_token,hidden_size,inter_size,topk,num_experts\n", &text,
                            &required));
  g_assert_nonnull(strstr(required->message, "no column num_tokens; is it 'num_token'?"));
  g_assert_true(query_rows("deepep_dispatch",
                           "model,source,num_token_per_rank,hidden,topk,num_experts\n", &text,
                           &fine));
  g_assert_no_error(fine);
}

static void test_help(void) {
  g_autofree char *help = orr_query_help();
  g_assert_nonnull(strstr(help, "gemm [gemm_dtype=bfloat16] m=... n=... k=... [batch=1] "
                                "[layout=forward] [sustained=no] [library=any]\n"));
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  profile = shipped_profile("a100-80gb-sxm");
  model = model_of(profile, &a100_device);
  g_test_add_func("/query/answers", test_answers);
  g_test_add_func("/query/refusals", test_refusals);
  g_test_add_func("/query/exchanges", test_exchanges);
  g_test_add_func("/query/without-scale-up", test_without_scale_up);
  g_test_add_func("/query/rows", test_rows);
  g_test_add_func("/query/misspelt-columns", test_misspelt_columns);
  g_test_add_func("/query/rows-of-other-operators", test_rows_of_other_operators);
  g_test_add_func("/query/bad-rows", test_bad_rows);
  g_test_add_func("/query/help", test_help);
  int status = g_test_run();
  orr_cost_model_free(model);
  orr_profile_free(profile);
  return status;
}

/*
 * test_account.c - where the time of a step goes: closed forms on time lines of a few kernels;
 * steps; names of kernels.
 */
#include <math.h>

#include "sim/explain/explain.h"

static void add(OrrTimeline *timeline, const char *name, gint64 stream, double begin_s,
                double end_s) {
  orr_timeline_add(timeline, orr_timeline_name(timeline, name, NULL, 0), 0, stream, begin_s, end_s);
}

static void assert_near(double found, double expected) {
  g_assert_cmpfloat_with_epsilon(found, expected, 1e-12);
}

/* gemm 0-4, all-reduce 3-8 (hidden for 1, exposed 3 beside a second gemm 5-6), copy 7-10, idle
 * 10-12, norm 12-13; the step is 0-14. */
static void test_closed_form(void) {
  g_autoptr(OrrTimeline) timeline = orr_timeline_new();
  add(timeline, "Memcpy HtoD (Pinned -> Device)", 3, 7, 10);
  add(timeline, "sm90_xmma_gemm_bf16", 1, 0, 4);
  add(timeline, "ncclDevKernel_AllReduce_Sum_bf16_RING_LL", 2, 3, 8);
  add(timeline, "nvjet_tst_192x192", 1, 5, 6);
  add(timeline, "rms_norm_kernel", 1, 12, 13);
  orr_timeline_sort(timeline);
  g_autoptr(OrrAccount) account = orr_account_new(timeline, 0, 0, 14);
  const double expected[ORR_N_EXPLAIN] = {[ORR_EXPLAIN_GEMM] = 5,
                                          [ORR_EXPLAIN_MEMORY] = 1,
                                          [ORR_EXPLAIN_COMM] = 3,
                                          [ORR_EXPLAIN_COPIES] = 2,
                                          [ORR_EXPLAIN_IDLE] = 3};
  double sum = 0;
  for (int kind = 0; kind < ORR_N_EXPLAIN; kind++) {
    assert_near(account->seconds[kind], expected[kind]);
    sum += account->seconds[kind];
  }
  assert_near(sum, 14);
  assert_near(account->comm_s, 5);
  assert_near(account->overlapped_s, 3); /* 3-4, 5-6, 7-8 */
  const OrrAccountPart *first = &g_array_index(account->parts, OrrAccountPart, 0);
  assert_near(first->seconds, 5);
}

/* What begins before the step or ends after it counts with the part inside; overlapping kernels
 * count once; another device not at all. */
static void test_cuts(void) {
  g_autoptr(OrrTimeline) timeline = orr_timeline_new();
  add(timeline, "gemm", 1, 0, 4);
  add(timeline, "flash_fwd_kernel", 2, 3, 6);
  add(timeline, "gemm", 1, 9, 12);
  orr_timeline_add(timeline, orr_timeline_name(timeline, "gemm", NULL, 0), 1, 0, 0, 20);
  orr_timeline_sort(timeline);
  g_autoptr(OrrAccount) account = orr_account_new(timeline, 0, 2, 10);
  assert_near(account->seconds[ORR_EXPLAIN_GEMM], 3);
  assert_near(account->seconds[ORR_EXPLAIN_ATTENTION], 2);
  assert_near(account->seconds[ORR_EXPLAIN_IDLE], 3);
}

/* Random time lines: the kinds add up to the step, whatever overlaps. */
static void test_adds_up(void) {
  static const char *const names[] = {"gemm",   "flash_bwd",  "ncclDevKernel_SendRecv",
                                      "Memset", "layer_norm", "who knows"};
  for (guint round = 0; round < 200; round++) {
    g_autoptr(OrrTimeline) timeline = orr_timeline_new();
    for (guint i = 0; i < 50; i++) {
      const double begin_s = g_test_rand_double_range(0, 10);
      add(timeline, names[g_test_rand_int_range(0, G_N_ELEMENTS(names))],
          g_test_rand_int_range(0, 4), begin_s, begin_s + g_test_rand_double_range(0, 2));
    }
    orr_timeline_sort(timeline);
    g_autoptr(OrrAccount) account = orr_account_new(timeline, 0, 1, 9);
    double sum = 0;
    for (int kind = 0; kind < ORR_N_EXPLAIN; kind++) sum += account->seconds[kind];
    assert_near(sum, 8);
  }
}

/* Ten steps that only their kernels show: the all-reduce comes once each. */
static void test_repetition(void) {
  g_autoptr(OrrTimeline) timeline = orr_timeline_new();
  for (guint i = 0; i < 10; i++) {
    const double at_s = 10.0 * i + (i == 5 ? 0.5 : 0);
    add(timeline, "gemm", 1, at_s, at_s + 2);
    add(timeline, "gemm", 1, at_s + 3, at_s + 4);
    add(timeline, "multi_tensor_apply_kernel", 1, at_s + 5, at_s + 6);
  }
  orr_timeline_sort(timeline);
  g_assert_true(orr_timeline_find_steps(timeline, 0));
  g_assert_cmpuint(timeline->steps->len, ==, 9);
  const OrrTimelineStep step = orr_timeline_median(timeline, 0);
  assert_near(step.end_s - step.begin_s, 10);
}

static void test_no_repetition(void) {
  g_autoptr(OrrTimeline) timeline = orr_timeline_new();
  add(timeline, "gemm", 1, 1, 2);
  add(timeline, "gemm", 1, 3, 7);
  g_assert_false(orr_timeline_find_steps(timeline, 0));
  const OrrTimelineStep step = orr_timeline_median(timeline, 0);
  assert_near(step.begin_s, 1);
  assert_near(step.end_s, 7);
}

/* The family of each name, as frameworks of several years write them. */
static void test_names(void) {
  static const char *const known[][2] = {
      {"ncclKernel_AllReduce_RING_LL_Sum_float(ncclDevComm*, unsigned long)", "all-reduce"},
      {"ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
       "reduce-scatter"},
      {"ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)", "send-recv"},
      {"void deep_ep::internode::combine<false>", "expert combine"},
      {"void vllm::cross_device_reduce_1stage<__nv_bfloat16, 8>", "all-reduce"},
      {"Memcpy DtoH (Device -> Pageable)", "copy to host"},
      {"Memset (Device)", "fill"},
      {"ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_stages_32x5_tn", "gemm"},
      {"nvjet_tst_192x192_64x4_2x1_v_bz_coopB_bias_TNN", "gemm"},
      {"Cijk_Ailk_Bljk_SB_MT32x32x8_SE_K1", "gemm"},
      {"void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_relu>", "gemm"},
      {"triton_mm", "gemm"},
      {"void flash::flash_fwd_kernel<Flash_fwd_kernel_traits<128>>", "attention forward"},
      {"void flash::flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel", "attention backward"},
      {"void flash::flash_fwd_splitkv_kernel", "attention decode"},
      {"cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16", "attention forward"},
      {"cudnn_generated_fort_native_sdpa_sm90_flash_bprop_wgmma_f16", "attention backward"},
      {"fmha_cutlassB_bf16_aligned_128x128_k128_sm80", "attention backward"},
      {"void mscclpp::allreduce7", "all-reduce"},
      {"mscclpp::allgather6", "all-gather"},
      {"quickreduce::allreduce_prototype_twoshot", "all-reduce"},
      {"void lamport_allgather", "all-gather"},
      {"hybrid_ep::dispatch_kernel", "expert dispatch"},
      {"void marlin_moe_wna16::Marlin<256>", "grouped gemm"},
      {"_ZN5aiter45fmoe_bf16_blockscaleFp8_g1u1_vs_silu", "grouped gemm"},
      {"void fused_moe_gate_kernel", "moe routing"},
      {"void tensorrt_llm::kernels::cutlass_kernels::expandInputRowsKernel", "moe routing"},
      {"void tensorrt_llm::kernels::cutlass_kernels::doActivationKernel<cutlass::epilogue>",
       "activation"},
      {"void flashinfer::norm::FusedAddRMSNormKernel<8u, __nv_bfloat16>", "norm"},
      {"void flashinfer::sampling::TopKTopPSamplingFromProbKernel", "sampling"},
      {"void flashinfer::activation::act_and_mul_kernel", "activation"},
      {"flashinfer::BatchQKApplyRotaryPosIdsCosSinCacheEnhancedKernel", "rope"},
      {"flashinfer::gemm::cutlass_fp8_gemm", "gemm"},
      {"flashinfer::trtllm_mnnvl_allreduce::twoshot_allreduce_kernel", "all-reduce"},
      {"void flashinfer::BatchPrefillWithPagedKVCacheKernel", "attention forward"},
      {"void flashinfer::BatchDecodeWithPagedKVCacheKernel", "attention decode"},
      {"void vllm::reshape_and_cache_flash_kernel", "cache"},
      {"void at::native::(anonymous namespace)::multi_tensor_apply_kernel<FusedAdam>", "optimizer"},
      {"void fbgemm_gpu::permute_2D_lengths_kernel<int>", "copy kernel"},
      {"_layer_norm_bwd_kernel", "norm"},
      {"fused_rope_forward", "rope"},
      {"triton_poi_fused_add_cos_sin_0", "elementwise"},
      {"fused_moe_kernel", "grouped gemm"},
      {"what_is_this", "unknown"},
      {"orrery::expert dispatch", "expert dispatch"},
  };
  for (guint i = 0; i < G_N_ELEMENTS(known); i++)
    g_assert_cmpstr(orr_kernel_family_of(known[i][0])->name, ==, known[i][1]);
}

/* A side that does not know its groups' purposes is compared by operation alone. */
static void test_difference(void) {
  g_autoptr(OrrTimeline) measured = orr_timeline_new(), simulated = orr_timeline_new();
  orr_timeline_add(measured, orr_timeline_name(measured, "ncclDevKernel_AllGather", NULL, 0), 0, 0,
                   0, 13);
  orr_timeline_add(simulated, orr_timeline_name(simulated, "orrery::all-gather", "dp", 0), 0, 0, 0,
                   6);
  orr_timeline_add(simulated, orr_timeline_name(simulated, "orrery::all-gather", "tp", 0), 0, 0, 6,
                   10);
  g_autoptr(OrrAccount) own = orr_account_new(measured, 0, 0, 13);
  g_autoptr(OrrAccount) other = orr_account_new(simulated, 0, 0, 10);
  g_autoptr(GArray) kinds = g_array_new(FALSE, FALSE, sizeof(OrrExplainKindRow));
  g_autoptr(GArray) families = g_array_new(FALSE, FALSE, sizeof(OrrExplainDifferenceRow));
  const OrrDifferenceSide a = {measured, own}, b = {simulated, other};
  orr_difference_add(&a, &b, FALSE, kinds, families);
  g_assert_cmpuint(families->len, ==, 1);
  const OrrExplainDifferenceRow *row = &g_array_index(families, OrrExplainDifferenceRow, 0);
  g_assert_cmpstr(row->family, ==, "all-gather");
  assert_near(row->difference_s, 3);
  const OrrExplainKindRow *comm = &g_array_index(kinds, OrrExplainKindRow, ORR_EXPLAIN_COMM);
  assert_near(comm->gap_share, 1);
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/account/closed-form", test_closed_form);
  g_test_add_func("/account/cuts", test_cuts);
  g_test_add_func("/account/adds-up", test_adds_up);
  g_test_add_func("/account/repetition", test_repetition);
  g_test_add_func("/account/no-repetition", test_no_repetition);
  g_test_add_func("/account/names", test_names);
  g_test_add_func("/account/difference", test_difference);
  return g_test_run();
}

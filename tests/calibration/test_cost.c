/* test_cost.c - which answer is given, how it is known, and how far it is off where a row was
 * left out. */
#include "calibration/cost/cost_private.h"
#include "calibration/cost/cost_tables.h"
#include "tests/calibration/calibration_sample.h"

#include <math.h>

/* --- by formula --- */

/* 1280 x 2560 is 100 tiles of 128 x 256, one wave of 100 SMs. An SM does 0.85 TFLOP/s: 2 128 256
 * 4096 / 0.85e12 = 315.81 us, and the plain roofline says the same. Bytes: 2 (1280 4096 + 2560
 * 4096 + 1280 2560) = 38,010,880, at 0.85 TB/s 44.72 us. 2.5 + sqrt(315.81^2 + 44.72^2). */
static void test_gemm_by_formula(void) {
  g_autoptr(OrrCostModel) model = model_of(NULL, &round_device);
  OrrCost cost = gemm_cost(model, ORR_BF16, 1, 1280, 2560, 4096);
  double compute_us = 2.0 * 128 * 256 * 4096 / 0.85e6, memory_us = 38010880 / 0.85e6;
  assert_near(cost.time_s * 1e6, 2.5 + sqrt(compute_us * compute_us + memory_us * memory_us),
              1e-12);
  g_assert_cmpint(cost.how, ==, ORR_HOW_MODELLED);
  /* One column more starts a second wave: with smaller tiles at least 1.7 as long, and the square
   * root of it shows. */
  g_assert_cmpfloat(gemm_cost(model, ORR_BF16, 1, 1280, 2561, 4096).time_s, >, cost.time_s * 1.2);
  /* A format that the device lacks runs as the next wider one that it has: tf32 as fp32, at a
   * tenth of the rate. */
  g_assert_cmpfloat(gemm_cost(model, ORR_TF32, 1, 1280, 2560, 4096).time_s, >, cost.time_s * 9);
}

/* An array of 256 x 256. 100 x 300 x 256: columns to 512 and rows to 104, or rows to 256 and
 * columns to 304: 53,248 against 77,824, so 30,000 of 53,248 work. Whole multiples waste nothing,
 * nor does a device without an array. */
static void test_matrix_unit(void) {
  OrrDevice systolic = round_device;
  systolic.matrix_unit = 256;
  assert_near(orr_cost_matrix_unit_use(&systolic, 100, 300, 256), 30000. / 53248, 1e-12);
  assert_near(orr_cost_matrix_unit_use(&systolic, 300, 100, 128), 15000. / 53248, 1e-12);
  assert_near(orr_cost_matrix_unit_use(&systolic, 8, 512, 1024), 1, 1e-12);
  assert_near(orr_cost_matrix_unit_use(&round_device, 100, 300, 256), 1, 1e-12);
  g_autoptr(OrrCostModel) padded = model_of(NULL, &systolic);
  g_autoptr(OrrCostModel) plain = model_of(NULL, &round_device);
  g_assert_cmpfloat(gemm_cost(padded, ORR_BF16, 1, 4096, 4096, 4096).time_s, ==,
                    gemm_cost(plain, ORR_BF16, 1, 4096, 4096, 4096).time_s);
  g_assert_cmpfloat(gemm_cost(padded, ORR_BF16, 1, 4096, 4096, 128).time_s, >,
                    gemm_cost(plain, ORR_BF16, 1, 4096, 4096, 128).time_s);
}

static void test_memory(void) {
  g_autoptr(OrrCostModel) model = model_of(NULL, &round_device);
  OrrOperator op = orr_operator_memory("test", ORR_PASS_FORWARD, ORR_BF16, 85e6, 0);
  assert_near(orr_cost_operator(model, &op).time_s, 2.5e-6 + 100e-6,
              1e-12); /* 85 MB at 0.85 TB/s */
  op.flops = 5e9;     /* at 1e13 FLOP/s: 500 us */
  assert_near(orr_cost_operator(model, &op).time_s, 2.5e-6 + 500e-6, 1e-12);
}

/* A trainer's kernel reaches the profile's fraction at most, an engine's its own; a profile that
 * says nothing does not limit trainers, and a faster limit changes nothing. */
static void test_memory_of_trainer(void) {
  g_autoptr(OrrProfile) slower =
      sample_profile("schema: profile/1\nname: p\ndevice: d\nconstants:\n"
                     "  kernel-overhead: 2.5 us\n  trainer-efficiency: 70 %\n");
  g_autoptr(OrrProfile) faster =
      sample_profile("schema: profile/1\nname: p\ndevice: d\nconstants:\n"
                     "  kernel-overhead: 2.5 us\n  trainer-efficiency: 90 %\n");
  g_autoptr(OrrCostModel) slow = model_of(slower, &round_device);
  g_autoptr(OrrCostModel) fast = model_of(faster, &round_device);
  g_autoptr(OrrCostModel) silent = model_of(NULL, &round_device);
  OrrOperator op = orr_operator_memory("test", ORR_PASS_FORWARD, ORR_BF16, 119e6, 0);
  assert_near(orr_cost_operator(slow, &op).time_s, 2.5e-6 + 140e-6, 1e-12); /* at 0.85 TB/s */
  op.of_trainer = TRUE;
  assert_near(orr_cost_operator(slow, &op).time_s, 2.5e-6 + 170e-6, 1e-12); /* at 0.70 TB/s */
  assert_near(orr_cost_operator(fast, &op).time_s, 2.5e-6 + 140e-6, 1e-12);
  assert_near(orr_cost_operator(silent, &op).time_s, 2.5e-6 + 140e-6, 1e-12);
}

/* A kernel's FLOPs run at the profile's multiple of the fp32 rate, another one's at that rate. */
static void test_memory_flops(void) {
  g_autoptr(OrrProfile) profile = sample_profile(
      "schema: profile/1\nname: p\ndevice: d\nconstants:\n"
      "  kernel-overhead: 2.5 us\nkernels:\n"
      "  - {operators: [scan], eager: 50 %, modern: 50 %, flops: 200 %, source: s}\n");
  g_autoptr(OrrCostModel) model = model_of(profile, &round_device);
  OrrOperator op = orr_operator_memory("scan", ORR_PASS_FORWARD, ORR_BF16, 85e6, 5e9);
  assert_near(orr_cost_operator(model, &op).time_s, 2.5e-6 + 250e-6, 1e-12);
  op.name = "other";
  assert_near(orr_cost_operator(model, &op).time_s, 2.5e-6 + 500e-6, 1e-12);
  op.name = "scan";
  op.flops = 1e9; /* 100 us, and 170 us at half of the bandwidth */
  assert_near(orr_cost_operator(model, &op).time_s, 2.5e-6 + 170e-6, 1e-12);
}

/* Without the launch, FlashAttention-2 takes 1 / 0.5 of the forward and 1 / 0.25 of the backward,
 * the Triton kernel before it 1 / 0.8 and 1 / 0.4 of that; where the profile says nothing
 * FlashAttention-2 is the kernel of the rows. */
static void test_flash_2(void) {
  g_autoptr(OrrProfile) profile =
      sample_profile("schema: profile/1\nname: p\ndevice: d\nconstants:\n"
                     "  kernel-overhead: 2.5 us\n  flash-2-forward: 50 %\n"
                     "  flash-2-backward: 25 %\n  flash-triton-forward: 80 %\n"
                     "  flash-triton-backward: 40 %\n  flash-1: 50 %\n");
  g_autoptr(OrrCostModel) told = model_of(profile, &round_device);
  g_autoptr(OrrCostModel) silent = model_of(NULL, &round_device);
  const OrrPass passes[] = {ORR_PASS_FORWARD, ORR_PASS_DGRAD};
  for (guint i = 0; i < 2; i++) {
    OrrOperator op = orr_operator_attention("test", passes[i], ORR_BF16,
                                            (OrrAttentionShape){.batch = 4,
                                                                .q_length = 4096,
                                                                .kv_length = 4096,
                                                                .heads = 16,
                                                                .kv_heads = 16,
                                                                .head_dim = 128,
                                                                .causal = TRUE});
    const double fastest_s = orr_cost_operator(told, &op).time_s;
    op.attention.flash = ORR_FLASH_TRITON;
    assert_near(orr_cost_operator(told, &op).time_s - 2.5e-6,
                (fastest_s - 2.5e-6) / (i == 0 ? 0.4 : 0.1), 1e-9);
    op.attention.flash = ORR_FLASH_1; /* half the rate of the second */
    assert_near(orr_cost_operator(told, &op).time_s - 2.5e-6,
                (fastest_s - 2.5e-6) / (i == 0 ? 0.25 : 0.125), 1e-9);
    op.attention.flash = ORR_FLASH_2;
    assert_near(orr_cost_operator(told, &op).time_s - 2.5e-6,
                (fastest_s - 2.5e-6) / (i == 0 ? 0.5 : 0.25), 1e-9);
    const double there_s = orr_cost_operator(silent, &op).time_s;
    op.attention.flash = ORR_FLASH_AS_MEASURED;
    assert_near(there_s, orr_cost_operator(silent, &op).time_s, 1e-12);
  }
}

static void test_nothing_costs_nothing(void) {
  g_autoptr(OrrCostModel) model = model_of(NULL, &round_device);
  OrrOperator attention = orr_operator_attention("test", ORR_PASS_FORWARD, ORR_BF16,
                                                 (OrrAttentionShape){.q_length = 128,
                                                                     .kv_length = 128,
                                                                     .heads = 8,
                                                                     .kv_heads = 8,
                                                                     .head_dim = 128,
                                                                     .causal = TRUE});
  OrrOperator memory = orr_operator_memory("test", ORR_PASS_FORWARD, ORR_BF16, 0, 0);
  OrrOperator comm =
      orr_operator_comm("test", ORR_PASS_FORWARD, ORR_GROUP_TP, ORR_COMM_ALL_REDUCE, 1e6);
  g_assert_cmpfloat(gemm_cost(model, ORR_BF16, 1, 0, 8, 8).time_s, ==, 0);
  g_assert_cmpfloat(orr_cost_operator(model, &attention).time_s, ==, 0);
  g_assert_cmpfloat(orr_cost_operator(model, &memory).time_s, ==, 0);
  g_assert_cmpfloat(orr_cost_operator(model, &comm).time_s, ==, 0);
}

static void test_bad_device(void) {
  OrrDevice device = round_device;
  device.memory_bytes_per_s = 0;
  g_autoptr(GError) error = NULL;
  g_assert_null(orr_cost_model_new(NULL, &device, &error));
  g_assert_nonnull(error);
}

/* --- shipped rows --- */

/* Every row is answered by itself, but for rows that contradict others: few rows, answered from
 * their neighbours, and marked so. */
static void assert_gemm_rows(const OrrCostModel *model, const OrrProfile *profile) {
  for (guint t = 0; t < profile->gemm->len; t++) {
    const OrrProfileGemm *table = profile->gemm->pdata[t];
    g_autoptr(GArray) m = orr_profile_numbers(table->m, FALSE, NULL);
    guint n_aside = 0;
    for (guint i = 0; i < table->rows->len; i++) {
      const OrrProfileGemmRow *row = table->rows->pdata[i];
      g_autoptr(GArray) us = orr_profile_numbers(row->us, TRUE, NULL);
      for (guint j = 0; j < m->len; j++) {
        const double rows = g_array_index(m, double, j);
        OrrCost cost = gemm_cost(model, (OrrDtype)table->dtype, 1, (gint64)rows, row->n, row->k);
        g_autofree char *aside = orr_cost_gemm_aside(model, (OrrDtype)table->dtype, rows,
                                                     (double)row->n, (double)row->k);
        n_aside += aside != NULL;
        if (!aside) assert_near(cost.time_s * 1e6, g_array_index(us, double, j), 1e-9);
        g_assert_cmpint(cost.how, ==, aside ? ORR_HOW_INTERPOLATED : ORR_HOW_MEASURED);
      }
    }
    g_assert_cmpuint(n_aside, >, 0);
    g_assert_cmpuint(100 * n_aside, <, 2 * m->len * table->rows->len);
  }
}

static void test_rows_are_answered(void) {
  g_autoptr(OrrProfile) a100 = shipped_profile("a100-80gb-sxm"), h100 = shipped_profile("h100-sxm");
  g_autoptr(OrrCostModel) on_a100 = model_of(a100, &a100_device),
                          on_h100 = model_of(h100, &h100_device);
  assert_gemm_rows(on_a100, a100);
  assert_gemm_rows(on_h100, h100);
}

/* How is named: between rows, beyond them, borrowed from another format, batched. */
static void test_how(void) {
  g_autoptr(OrrProfile) profile = shipped_profile("a100-80gb-sxm");
  g_autoptr(OrrCostModel) model = model_of(profile, &a100_device);
  g_assert_cmpint(gemm_cost(model, ORR_FP16, 1, 8192, 4096, 4096).how, ==, ORR_HOW_MEASURED);
  g_assert_cmpint(gemm_cost(model, ORR_BF16, 1, 2048, 4608, 12288).how, ==, ORR_HOW_INTERPOLATED);
  /* Beyond the rows in m, but not transposed. */
  g_assert_cmpint(gemm_cost(model, ORR_BF16, 1, 65536, 4096, 4096).how, ==, ORR_HOW_INTERPOLATED);
  g_assert_cmpfloat(gemm_cost(model, ORR_BF16, 1, 65536, 4096, 4096).time_s, >=,
                    gemm_cost(model, ORR_BF16, 1, 4096, 65536, 4096).time_s * (1 - 1e-12));
  g_assert_cmpint(gemm_cost(model, ORR_BF16, 1, 131072, 131072, 4096).how, ==, ORR_HOW_OUTSIDE);
  g_assert_cmpint(gemm_cost(model, ORR_BF16, 1, 8, 16, 4096).how, ==, ORR_HOW_OUTSIDE);
  g_assert_cmpint(gemm_cost(model, ORR_TF32, 1, 8192, 4096, 4096).how, ==, ORR_HOW_MODELLED);
  g_assert_cmpint(gemm_cost(model, ORR_BF16, 12, 2048, 2048, 128).how, ==, ORR_HOW_MODELLED);
}

/* More rows of x take longer, inside the table and beyond it; two rows of the table may jitter
 * by 2 %. Far beyond, the rate is the last measured one to 2 %: at the rim 8192 x 12288 x 12288
 * runs at 257 to 270 TFLOP/s. */
static void test_large_gemm_rises(void) {
  g_autoptr(OrrProfile) profile = shipped_profile("a100-80gb-sxm");
  g_autoptr(OrrCostModel) model = model_of(profile, &a100_device);
  double before_s = 0;
  for (double m = 1024; m < 200000; m *= 1.19) {
    double time_s = gemm_cost(model, ORR_BF16, 1, (gint64)m, 12288, 12288).time_s;
    g_assert_cmpfloat(time_s, >, before_s * 0.98);
    before_s = time_s;
  }
  double rate =
      2.0 * 65536 * 12288 * 12288 / gemm_cost(model, ORR_BF16, 1, 65536, 12288, 12288).time_s;
  g_assert_cmpfloat(rate, >, 252e12);
  g_assert_cmpfloat(rate, <, 275e12);
}

/* Unfused attention scores of 12 heads, 2048 x 2048 x 128: bound by writing 100 MB (62 us at 80
 * % of 2.039 TB/s), and on A100 between 80 and 208 TFLOP/s. */
static void test_batched_gemm(void) {
  g_autoptr(OrrProfile) profile = shipped_profile("a100-80gb-sxm");
  g_autoptr(OrrCostModel) model = model_of(profile, &a100_device);
  double rate =
      2.0 * 12 * 2048 * 2048 * 128 / gemm_cost(model, ORR_FP16, 12, 2048, 2048, 128).time_s;
  g_assert_cmpfloat(rate, >, 80e12);
  g_assert_cmpfloat(rate, <, 208e12);
}

/* Many matrices that meet few rows each read as one wide matrix does: 64 of 768 x 4,096 in fp8
 * are 201 MB, 60 us at H100's 3.35 TB/s; wide products of one row reach 80 to 95 % of it.
 * Twice as many take twice as long. */
static void test_thin_batches(void) {
  g_autoptr(OrrProfile) profile = shipped_profile("h100-sxm");
  g_autoptr(OrrCostModel) model = model_of(profile, &h100_device);
  const double time_s = gemm_cost(model, ORR_FP8, 64, 1, 768, 4096).time_s;
  g_assert_cmpfloat(time_s * 1e6, >, 60);
  g_assert_cmpfloat(time_s * 1e6, <, 60 / 0.8);
  assert_near(gemm_cost(model, ORR_FP8, 128, 1, 768, 4096).time_s / time_s, 2, 0.03);
}

/* --- rows left out --- */

typedef struct {
  double absolute, signed_;
  guint n;
} Errors;

static void add_error(Errors *errors, double predicted, double measured) {
  errors->absolute += fabs(predicted / measured - 1);
  errors->signed_ += predicted / measured - 1;
  errors->n++;
}

static void assert_errors(const Errors *errors, double mean_absolute, double bias) {
  g_test_message("%u rows: mean absolute error %.2f %%, bias %+.2f %%", errors->n,
                 100 * errors->absolute / errors->n, 100 * errors->signed_ / errors->n);
  g_assert_cmpuint(errors->n, >, 50);
  g_assert_cmpfloat(errors->absolute / errors->n, <, mean_absolute);
  g_assert_cmpfloat(fabs(errors->signed_ / errors->n), <, bias);
}

/* Leaves out every seventh (n, k) of the first table, at every m; they are kept in @ret_rows. */
static void thin_gemm(OrrProfile *profile, GPtrArray *ret_rows) {
  OrrProfileGemm *table = profile->gemm->pdata[0];
  for (guint i = table->rows->len; i-- > 0;)
    if (i % 7 == 3) g_ptr_array_add(ret_rows, g_ptr_array_remove_index(table->rows, i));
}

static void gemm_row_free(gpointer data) {
  g_free(((OrrProfileGemmRow *)data)->us);
  g_free(data);
}

static void compare_rows(const OrrCostModel *model, const OrrProfileGemm *table,
                         const OrrProfileGemmRow *row, Errors *all, Errors *large) {
  g_autoptr(GArray) m = orr_profile_numbers(table->m, FALSE, NULL);
  g_autoptr(GArray) us = orr_profile_numbers(row->us, TRUE, NULL);
  for (guint i = 0; i < m->len; i++) {
    double of_m = g_array_index(m, double, i), measured = g_array_index(us, double, i);
    OrrCost cost = gemm_cost(model, (OrrDtype)table->dtype, 1, (gint64)of_m, row->n, row->k);
    g_assert_cmpint(cost.how, !=, ORR_HOW_MEASURED);
    add_error(all, cost.time_s * 1e6, measured);
    if (of_m >= 1024 && row->n >= 1024 && row->k >= 1024)
      add_error(large, cost.time_s * 1e6, measured);
  }
}

/* Leaving out all in turn: A100 5.2 % (2.7 % where m, n, k >= 1024), H100 4.1 % (4.3 %); bias
 * below 0.4 %. */
static void assert_left_out(const char *name, const OrrDevice *device) {
  g_autoptr(OrrProfile) profile = shipped_profile(name);
  g_autoptr(GPtrArray) left_out = g_ptr_array_new_with_free_func(gemm_row_free);
  thin_gemm(profile, left_out);
  g_autoptr(OrrCostModel) model = model_of(profile, device);
  Errors all = {0}, large = {0};
  for (guint i = 0; i < left_out->len; i++)
    compare_rows(model, profile->gemm->pdata[0], left_out->pdata[i], &all, &large);
  assert_errors(&all, 0.07, 0.02);
  assert_errors(&large, 0.06, 0.015);
}

static void test_left_out_a100(void) { assert_left_out("a100-80gb-sxm", &a100_device); }

static void test_left_out_h100(void) { assert_left_out("h100-sxm", &h100_device); }

/* --- attention --- */

static OrrOperator prefill(OrrPass pass, gint64 batch, gint64 length, gint64 heads,
                           gint64 kv_heads) {
  return orr_operator_attention("test", pass, ORR_BF16,
                                (OrrAttentionShape){.batch = batch,
                                                    .q_length = length,
                                                    .kv_length = length,
                                                    .heads = heads,
                                                    .kv_heads = kv_heads,
                                                    .head_dim = 128,
                                                    .causal = TRUE});
}

static void test_attention(void) {
  g_autoptr(OrrProfile) profile = shipped_profile("a100-80gb-sxm");
  g_autoptr(OrrCostModel) model = model_of(profile, &a100_device);
  OrrOperator op = prefill(ORR_PASS_FORWARD, 1, 2048, 32, 32);
  OrrCost forward = orr_cost_operator(model, &op);
  assert_near(forward.time_s * 1e6, 370.9, 1e-9); /* the row 1,2048,32,32,128 */
  g_assert_cmpint(forward.how, ==, ORR_HOW_MEASURED);

  op = prefill(ORR_PASS_DGRAD, 1, 2048, 32, 32); /* 2.5 times the FLOPs at 0.86 of the rate */
  OrrCost backward = orr_cost_operator(model, &op);
  assert_near(backward.time_s * 1e6, 2.5 + (370.9 - 2.5) * 2.5 / 0.86, 1e-9);
  g_assert_cmpint(backward.how, ==, ORR_HOW_MODELLED);

  op = prefill(ORR_PASS_FORWARD, 1, 2048, 32, 16); /* between 8 and 32 key heads */
  g_assert_cmpint(orr_cost_operator(model, &op).how, ==, ORR_HOW_INTERPOLATED);
  op = prefill(ORR_PASS_FORWARD, 1, 32768, 32, 32);
  OrrCost twice_the_table = orr_cost_operator(model, &op);
  g_assert_cmpint(twice_the_table.how, ==, ORR_HOW_OUTSIDE);

  op.attention.causal = FALSE; /* twice the work, at the rate of a longer causal one */
  OrrCost full = orr_cost_operator(model, &op);
  g_assert_cmpint(full.how, ==, ORR_HOW_MODELLED);
  g_assert_cmpfloat(full.time_s / twice_the_table.time_s, >, 1.8);
  g_assert_cmpfloat(full.time_s / twice_the_table.time_s, <, 2.05);
}

static void test_decode(void) {
  g_autoptr(OrrProfile) profile = shipped_profile("a100-80gb-sxm");
  g_autoptr(OrrCostModel) model = model_of(profile, &a100_device);
  OrrOperator op = orr_operator_attention("test", ORR_PASS_FORWARD, ORR_BF16,
                                          (OrrAttentionShape){.batch = 8,
                                                              .q_length = 1,
                                                              .kv_length = 4096,
                                                              .heads = 32,
                                                              .kv_heads = 8,
                                                              .head_dim = 128,
                                                              .causal = TRUE});
  assert_near(orr_cost_operator(model, &op).time_s * 1e6, 97.96,
              1e-9); /* the row 8,1,4095,32,8,128 */
  op.attention.kv_length = 6000;
  OrrCost between = orr_cost_operator(model, &op);
  g_assert_cmpint(between.how, ==, ORR_HOW_INTERPOLATED);
  g_assert_cmpfloat(between.time_s, >, 97.96e-6);
  g_assert_cmpfloat(between.time_s, <, 132.9e-6); /* the row at 8192 */
}

/* Batch 4 over 2 key heads is the work of batch 8 over 1 and of 2 over 4: what those rows imply for
 * one that is missing. All three are the same FLOPs and bytes, so the same multiple of the roofline
 * is the same time. */
static void test_equal_work(void) {
  g_autoptr(OrrProfile) profile =
      sample_profile("schema: profile/1\nname: p\ndevice: d\nattention:\n"
                     "- phase: decode\n  dtype: bf16\n  kv-dtype: bf16\n  source: s\n"
                     "  batch: \"4 8\"\n  length: \"1000\"\n  rows:\n"
                     "  - {head-dim: 128, heads: 8, kv-heads: 1, us: \"- 50\"}\n"
                     "  - {head-dim: 128, heads: 16, kv-heads: 2, us: \"- 90\"}\n");
  g_autoptr(OrrCostModel) model = model_of(profile, &round_device);
  static const gint64 asked[][2] = {
      {4, 2}, {2, 4}, {1, 8}}; /* batch, key heads: a hole, and two beyond the table */
  for (guint i = 0; i < G_N_ELEMENTS(asked); i++) {
    OrrOperator op = orr_operator_attention("test", ORR_PASS_FORWARD, ORR_BF16,
                                            (OrrAttentionShape){.batch = asked[i][0],
                                                                .q_length = 1,
                                                                .kv_length = 1000,
                                                                .heads = 8 * asked[i][1],
                                                                .kv_heads = asked[i][1],
                                                                .head_dim = 128,
                                                                .causal = TRUE});
    OrrCost cost = orr_cost_operator(model, &op);
    assert_near(cost.time_s * 1e6, 50, 1e-9);
    g_assert_cmpint(cost.how, ==, ORR_HOW_INTERPOLATED);
  }
}

/* Kernels of a single sequence differ from a batch's, and the batch of 1 is an end of the
 * table: where one group lacks it, the nearest batch would answer. Groups of 4 and 16 heads say
 * that it takes three times its roofline, where batches of 4 and 16 take it once: so it does
 * with 8 heads. */
static void test_other_groups(void) {
  g_autoptr(OrrCostModel) roofline = model_of(NULL, &round_device);
  g_autoptr(GString) text =
      g_string_new("schema: profile/1\nname: p\ndevice: d\nattention:\n"
                   "- phase: decode\n  dtype: bf16\n  kv-dtype: bf16\n  source: s\n"
                   "  batch: \"1 4 16\"\n  length: \"512 8192\"\n  rows:\n");
  for (gint64 heads = 4; heads <= 16; heads *= 2) {
    g_string_append_printf(text, "  - {head-dim: 128, heads: %ld, kv-heads: 1, us: \"", heads);
    for (gint64 batch = 1; batch <= 16; batch *= 4)
      for (gint64 length = 512; length <= 8192; length *= 16) {
        OrrOperator op = orr_operator_attention("test", ORR_PASS_FORWARD, ORR_BF16,
                                                (OrrAttentionShape){.batch = batch,
                                                                    .q_length = 1,
                                                                    .kv_length = length,
                                                                    .heads = heads,
                                                                    .kv_heads = 1,
                                                                    .head_dim = 128,
                                                                    .causal = TRUE});
        const double us = orr_cost_operator(roofline, &op).time_s * 1e6 * (batch == 1 ? 3 : 1);
        if (heads == 8 && batch == 1)
          g_string_append(text, "- ");
        else
          g_string_append_printf(text, "%.9f ", us);
      }
    g_string_append(text, "\"}\n");
  }
  g_autoptr(OrrProfile) profile = sample_profile(text->str);
  g_autoptr(OrrCostModel) model = model_of(profile, &round_device);
  OrrOperator op = orr_operator_attention("test", ORR_PASS_FORWARD, ORR_BF16,
                                          (OrrAttentionShape){.batch = 1,
                                                              .q_length = 1,
                                                              .kv_length = 8192,
                                                              .heads = 8,
                                                              .kv_heads = 1,
                                                              .head_dim = 128,
                                                              .causal = TRUE});
  const OrrCost told = orr_cost_operator(model, &op);
  assert_near(told.time_s, 3 * orr_cost_operator(roofline, &op).time_s, 1e-6);
  g_assert_cmpint(told.how, ==, ORR_HOW_INTERPOLATED);
}

/* H100's rows end at 16,384 tokens, where one head takes 222 us and eight 923: 128 blocks of 128
 * queries fill half of 132 multiprocessors. 131,072 tokens of one head are as many blocks as
 * those eight and 8 times as long each: 64 times 923 / 8, 7.4 ms (14 if the idle half stayed).
 * 32 heads fill it at either length: 64 times 3.6 ms. */
static void test_long_prefills(void) {
  g_autoptr(OrrProfile) profile = shipped_profile("h100-sxm");
  g_autoptr(OrrCostModel) model = model_of(profile, &h100_device);
  OrrOperator op = prefill(ORR_PASS_FORWARD, 1, 131072, 1, 1);
  const OrrCost one = orr_cost_operator(model, &op);
  assert_near(one.time_s * 1e3, 64 * 0.923 / 8, 0.05);
  g_assert_cmpint(one.how, ==, ORR_HOW_OUTSIDE);
  op = prefill(ORR_PASS_FORWARD, 1, 131072, 32, 32);
  assert_near(orr_cost_operator(model, &op).time_s * 1e3, 64 * 3.6, 0.01);
}

static void assert_missing(const OrrCostModel *model, OrrOperator op, const char *expected) {
  g_autofree char *missing = orr_cost_missing(model, &op);
  g_assert_cmpstr(missing, ==, expected);
}

/* 16-bit formats share a table; of kernels that memory bounds the profile must give some shares
 * of the bandwidth. */
static void test_missing(void) {
  g_autoptr(OrrProfile) profile =
      sample_profile("schema: profile/1\nname: p\ndevice: d\ngemm:\n- dtype: bf16\n"
                     "  source: s\n  m: \"1\"\n  rows:\n  - {n: 1, k: 1, us: \"5\"}\n");
  g_autoptr(OrrCostModel) model = model_of(profile, &round_device);
  assert_missing(
      model, orr_operator_gemm("g", ORR_PASS_FORWARD, ORR_BF16, (OrrGemmShape){1, 8, 8, 8}), NULL);
  assert_missing(
      model, orr_operator_gemm("g", ORR_PASS_FORWARD, ORR_FP16, (OrrGemmShape){1, 8, 8, 8}), NULL);
  assert_missing(model,
                 orr_operator_gemm("g", ORR_PASS_FORWARD, ORR_FP8, (OrrGemmShape){1, 8, 8, 8}),
                 "gemm fp8");
  assert_missing(model, prefill(ORR_PASS_FORWARD, 1, 64, 8, 8), "attention prefill bf16");
  assert_missing(model, orr_operator_memory("m", ORR_PASS_FORWARD, ORR_BF16, 1e6, 0),
                 "memory-bound kernels");
  g_autoptr(OrrProfile) shares =
      sample_profile("schema: profile/1\nname: p\ndevice: d\nkernels:\n"
                     "- {operators: [gelu], eager: 50 %, modern: 60 %, source: s}\n");
  g_autoptr(OrrCostModel) sharing = model_of(shares, &round_device);
  assert_missing(sharing, orr_operator_memory("m", ORR_PASS_FORWARD, ORR_BF16, 1e6, 0), NULL);
}

/* Without rows: 4 batch heads s^2/2 d FLOPs at half of the peak, formula only. */
static void test_attention_by_formula(void) {
  g_autoptr(OrrCostModel) model = model_of(NULL, &round_device);
  OrrOperator op = prefill(ORR_PASS_FORWARD, 1, 65536, 8, 8);
  OrrCost cost = orr_cost_operator(model, &op);
  assert_near(cost.time_s, 4.0 * 8 * 65536.0 * 65536.0 / 2 * 128 / 0.5e14, 1e-3);
  g_assert_cmpint(cost.how, ==, ORR_HOW_MODELLED);
}

/* --- collectives --- */

static const char collectives[] =
    "schema: profile/1\nname: p\ndevice: d\nconstants: {collective-launch: 10 us, "
    "scale-up-step: 2 us, scale-out-step: 3 us, host-launch: 6 us}\n"
    "collectives:\n- {op: all_reduce, ranks: 4, bytes: \"100 10000\", us: \"10 40\"}\n";

static void assert_collective(const OrrCostModel *model, double bytes, double expected_us,
                              OrrHow how) {
  OrrCost cost;
  g_assert_true(orr_cost_collective(model, "all_reduce", 4, bytes, &cost));
  assert_near(cost.time_s * 1e6, expected_us, 1e-12);
  g_assert_cmpint(cost.how, ==, how);
}

static void test_collectives(void) {
  g_autoptr(OrrProfile) profile = sample_profile(collectives);
  g_autoptr(OrrCostModel) model = model_of(profile, &round_device);
  assert_collective(model, 100, 10, ORR_HOW_MEASURED);
  /* Over 10 us + 4 ns/B the rows are 10 / 10.4 and 40 / 50: half-way in logarithms sqrt(10 /
   * 10.4 * 0.8), of 14 us. */
  assert_collective(model, 1000, 14 * sqrt(10 / 10.4 * 0.8), ORR_HOW_INTERPOLATED);
  /* A ring of 10 + 6 * 2 us and 1.5 S / 5e10 B/s falls by 2.7 ns from 100 B to 10. */
  assert_collective(model, 10, 10 * (22 + 1.5 * 10 / 5e4) / (22 + 1.5 * 100 / 5e4),
                    ORR_HOW_OUTSIDE);
  assert_collective(model, 30000, 40 + 20000 * 30 / 9900.0,
                    ORR_HOW_OUTSIDE); /* 30 us for 9,900 B between the rows */
  OrrCost cost = {7, ORR_HOW_MEASURED};
  g_assert_false(orr_cost_collective(model, "all_reduce", 8, 100, &cost));
  g_assert_false(orr_cost_collective(model, "alltoall", 4, 100, &cost));
  g_assert_cmpfloat(cost.time_s, ==, 7);
  OrrNcclCosts constants = orr_cost_collective_constants(model);
  g_assert_cmpfloat(constants.base_s, ==, 10e-6);
  g_assert_cmpfloat(constants.scale_up_step_s, ==, 2e-6);
  g_assert_cmpfloat(constants.scale_out_step_s, ==, 3e-6);
  g_assert_cmpfloat(orr_cost_host_launch_s(model, ORR_KERNELS_MODERN), ==, 6e-6);
  /* The defaults: 5.5 operators of 10 us. */
  g_assert_cmpfloat_with_epsilon(orr_cost_host_launch_s(model, ORR_KERNELS_EAGER), 55e-6, 1e-18);
}

/* A product of 512 x 512 over 512 in fp8 takes 100 us in the rows, their own cast 10 us and 512
 * * 512 elements of 2 bytes at 10.48576 GB/s (50 us): cast apart, 40 us are left. Never less
 * than the peak allows; other formats hold no cast. A result that is added to (8 bytes an
 * element in place of 2) costs what the roofline says of the bytes. */
static void test_gemm_of_training(void) {
  g_autoptr(OrrProfile) profile = sample_profile(
      "schema: profile/1\nname: p\ndevice: d\n"
      "constants: {fp8-row-launch: 10 us, fp8-row-cast: 10.48576 GB/s, gemm-efficiency: 100 %, "
      "gemm-wave-share: 0}\n"
      "gemm:\n  - {dtype: fp8, source: s, m: \"512 1024\", rows: [{n: 512, k: 512, us: \"100 "
      "200\"}]}\n"
      "  - {dtype: bf16, source: s, m: \"512 1024\", rows: [{n: 512, k: 512, us: \"100 200\"}]}\n");
  g_autoptr(OrrCostModel) model = model_of(profile, &round_device);
  OrrOperator op =
      orr_operator_gemm("g", ORR_PASS_FORWARD, ORR_FP8, (OrrGemmShape){1, 512, 512, 512});
  assert_near(orr_cost_operator(model, &op).time_s, 100e-6, 1e-9);
  op.gemm.stored.cast_apart = TRUE;
  assert_near(orr_cost_operator(model, &op).time_s, 40e-6, 1e-9);
  op.dtype = ORR_BF16;
  assert_near(orr_cost_operator(model, &op).time_s, 100e-6, 1e-9);
  OrrOperator plain = orr_operator_gemm("g", ORR_PASS_WGRAD, ORR_BF16,
                                        (OrrGemmShape){1, 1024, 512, 512}),
              sum = plain, same = plain;
  sum.gemm.stored.sum_bytes = 8;
  same.gemm.stored.sum_bytes = 2;
  const double plain_s = orr_cost_operator(model, &plain).time_s;
  assert_near(orr_cost_operator(model, &same).time_s, plain_s, 1e-12);
  g_assert_cmpfloat(orr_cost_operator(model, &sum).time_s, >, plain_s);
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/cost/gemm-by-formula", test_gemm_by_formula);
  g_test_add_func("/cost/gemm-of-training", test_gemm_of_training);
  g_test_add_func("/cost/matrix-unit", test_matrix_unit);
  g_test_add_func("/cost/memory", test_memory);
  g_test_add_func("/cost/memory-of-trainer", test_memory_of_trainer);
  g_test_add_func("/cost/memory-flops", test_memory_flops);
  g_test_add_func("/cost/flash-2", test_flash_2);
  g_test_add_func("/cost/nothing", test_nothing_costs_nothing);
  g_test_add_func("/cost/bad-device", test_bad_device);
  g_test_add_func("/cost/rows-are-answered", test_rows_are_answered);
  g_test_add_func("/cost/how", test_how);
  g_test_add_func("/cost/large-gemm-rises", test_large_gemm_rises);
  g_test_add_func("/cost/batched-gemm", test_batched_gemm);
  g_test_add_func("/cost/thin-batches", test_thin_batches);
  g_test_add_func("/cost/left-out-a100", test_left_out_a100);
  g_test_add_func("/cost/left-out-h100", test_left_out_h100);
  g_test_add_func("/cost/attention", test_attention);
  g_test_add_func("/cost/decode", test_decode);
  g_test_add_func("/cost/equal-work", test_equal_work);
  g_test_add_func("/cost/other-groups", test_other_groups);
  g_test_add_func("/cost/long-prefills", test_long_prefills);
  g_test_add_func("/cost/missing", test_missing);
  g_test_add_func("/cost/attention-by-formula", test_attention_by_formula);
  g_test_add_func("/cost/collectives", test_collectives);
  return g_test_run();
}

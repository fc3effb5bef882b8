/* test_cost_build.c - tables are built on demand, and the answers do not depend on what was asked
 * before. */
#include "calibration/cost/cost_tables.h"
#include "tests/calibration/calibration_sample.h"

enum { N_QUERIES = 120, N_ORDERS = 4 };

static gint64 pick(GRand *random, const gint64 *values, guint n) {
  return values[g_rand_int_range(random, 0, (gint32)n)];
}

/* A product, prefill, decode, or layer of experts, in one of three formats. */
static OrrOperator random_operator(GRand *random) {
  static const gint64 sizes[] = {1, 17, 128, 640, 4096, 7168, 20000}, heads[] = {1, 4, 8, 32};
  static const OrrDtype formats[] = {ORR_BF16, ORR_FP8, ORR_FP16};
  const OrrDtype dtype = formats[g_rand_int_range(random, 0, 3)];
  const gint64 length = pick(random, sizes, 7), kv_heads = pick(random, heads, 4);
  switch (g_rand_int_range(random, 0, 4)) {
  case 0:
    return orr_operator_gemm("g", ORR_PASS_FORWARD, dtype,
                             (OrrGemmShape){1, length, pick(random, sizes, 7),
                                            pick(random, sizes, 7),
                                            .stored.blocks = g_rand_boolean(random)});
  case 1:
    return orr_operator_moe("e", ORR_PASS_FORWARD, dtype,
                            (OrrMoeShape){.tokens = length,
                                          .hidden = 4096,
                                          .inter = 1536,
                                          .topk = 8,
                                          .experts = 128,
                                          .tp = 1,
                                          .ep = kv_heads});
  default:
    return orr_operator_attention(
        "a", ORR_PASS_FORWARD, dtype,
        (OrrAttentionShape){.batch = pick(random, heads, 4),
                            .q_length = g_rand_boolean(random) ? 1 : length,
                            .kv_length = length,
                            .heads = 4 * kv_heads,
                            .kv_heads = kv_heads,
                            .head_dim = 128,
                            .causal = TRUE});
  }
}

static void shuffle(GRand *random, guint *order, guint n) {
  for (guint i = n; i-- > 1;) {
    const guint other = (guint)g_rand_int_range(random, 0, (gint32)i + 1), kept = order[i];
    order[i] = order[other];
    order[other] = kept;
  }
}

/* Models of one profile answer to the bit alike, each asked in another order; with rows of another
 * device, tables of libraries measured on this one, and a change of its rates. */
static void check_orders(const char *name, const OrrDevice *measured_on, const OrrDevice *named,
                         const OrrDevice *device, guint32 seed) {
  g_autoptr(OrrProfile) profile = shipped_profile(name);
  g_autoptr(GRand) random = g_rand_new_with_seed(seed);
  OrrOperator ops[N_QUERIES];
  OrrCost first[N_QUERIES];
  guint order[N_QUERIES];
  for (guint i = 0; i < N_QUERIES; i++) {
    ops[i] = random_operator(random);
    order[i] = i;
  }
  for (guint o = 0; o < N_ORDERS; o++) {
    g_autoptr(OrrCostModel) model =
        orr_cost_model_new_scaled(profile, measured_on, named, device, NULL);
    for (guint i = 0; i < N_QUERIES; i++) {
      const OrrCost cost = orr_cost_operator(model, &ops[order[i]]);
      if (o == 0) first[order[i]] = cost;
      if (cost.time_s != first[order[i]].time_s || cost.how != first[order[i]].how)
        g_error("%s, seed %u, order %u, query %u: %.17g s, at first %.17g s", name, seed, o,
                order[i], cost.time_s, first[order[i]].time_s);
    }
    shuffle(random, order, N_QUERIES);
  }
}

static void test_any_order(void) {
  OrrDevice faster = h100_device, newer = h100_device, changed = h100_device;
  faster.memory_bytes_per_s *= 1.5;
  newer.name = (char *)"b300";
  changed.name = (char *)"b300";
  changed.bf16_flops *= 2;
  OrrDevice rows = h100_device;
  rows.name = (char *)"b200";
  for (guint32 seed = 1; seed <= 3; seed++) {
    check_orders("h100-sxm", &h100_device, NULL, &h100_device, seed);
    check_orders("h100-sxm", &h100_device, &h100_device, &faster, seed);
    check_orders("b300", &rows, &newer, &changed, seed);
  }
}

/* What cannot be built is refused when the model is made, whatever will be asked. */
static void assert_refused(const char *sections, const char *expected) {
  g_autofree char *text = g_strdup_printf("schema: profile/1\nname: p\ndevice: d\n%s", sections);
  g_autoptr(OrrProfile) profile = sample_profile(text);
  g_autoptr(GError) error = NULL;
  g_assert_null(orr_cost_model_new(profile, &round_device, &error));
  g_assert_cmpstr(error->message, ==, expected);
}

static void test_refused_at_once(void) {
#define TABLE(DTYPE, US)                                                                           \
  "  - {dtype: " DTYPE ", source: s, m: '1 2', rows: [{n: 8, k: 8, us: '" US "'}]}\n"
  assert_refused("gemm:\n" TABLE("bf16", "- -"), "profile p: gemm bf16: there is no row");
  assert_refused("gemm:\n" TABLE("fp8", "1 2") "  - {dtype: fp8, source: s, m: '1 2', rows: [{n: "
                                               "8, k: 16, us: '1 2'}]}\n",
                 "profile p: gemm fp8: there are two tables");
  assert_refused("attention:\n  - {phase: decode, dtype: bf16, kv-dtype: bf16, source: s, batch: "
                 "'1', length: '8 16', rows: [{head-dim: 64, heads: 8, kv-heads: 8, us: '1 2'}, "
                 "{head-dim: 128, heads: 8, kv-heads: 8, us: '- -'}]}\n",
                 "profile p: attention: head-dim 128 has no row");
#undef TABLE
}

/* Decodes of @batch sequences of @length: 8 key heads of 128 in 16 bits, 4,096 bytes per token. */
static double decode_s(const OrrCostModel *model, gint64 batch, gint64 length) {
  const OrrOperator op = orr_operator_attention("a", ORR_PASS_FORWARD, ORR_BF16,
                                                (OrrAttentionShape){.batch = batch,
                                                                    .q_length = 1,
                                                                    .kv_length = length,
                                                                    .heads = 32,
                                                                    .kv_heads = 8,
                                                                    .head_dim = 128,
                                                                    .causal = TRUE});
  return orr_cost_operator(model, &op).time_s;
}

/* A100's rows read up to 1.7 times what the memory gives: from the L2's 40 MiB on answers take what
 * 85 % of 2.039 TB/s take, below it they are the rows. H100's rows count unchanged. */
static void test_within_memory(void) {
  g_autoptr(OrrProfile) a100 = shipped_profile("a100-80gb-sxm"), h100 = shipped_profile("h100-sxm");
  OrrDevice on_a100 = a100_device, on_h100 = h100_device, unknown = h100_device;
  on_a100.l2_bytes = 40 << 20;
  on_h100.l2_bytes = 50 << 20;
  unknown.l2_bytes = 0;
  g_autoptr(OrrCostModel) model = orr_cost_model_new(a100, &on_a100, NULL);
  g_autoptr(OrrCostModel) other = orr_cost_model_new(h100, &on_h100, NULL);
  g_autoptr(OrrCostModel) plain = orr_cost_model_new(h100, &unknown, NULL);
  g_assert_cmpfloat_with_epsilon(decode_s(model, 8, 65536), 8.0 * 65536 * 4096 / (0.85 * 2.039e12),
                                 1e-9);
  g_assert_cmpfloat_with_epsilon(decode_s(model, 8, 1024), 40.62e-6, 0.01e-6);
  for (gint64 length = 1024; length <= 65536; length *= 2)
    g_assert_true(decode_s(other, 128, length) == decode_s(plain, 128, length));
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/cost-build/any-order", test_any_order);
  g_test_add_func("/cost-build/refused-at-once", test_refused_at_once);
  g_test_add_func("/cost-build/within-memory", test_within_memory);
  return g_test_run();
}

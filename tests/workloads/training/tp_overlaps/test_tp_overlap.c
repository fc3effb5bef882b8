/*
 * test_tp_overlap.c - slices of products and collectives: nothing is lost, and their time equals
 * the closed forms.
 *
 * The test runs the slices by hand: a communication with n_overlap k overlaps the k operators that
 * follow, and both take as long as the longer one; any other communication blocks.
 */
#include <math.h>
#include <string.h>

#include "sim/base/yaml.h"
#include "workloads/training/tp_overlaps/tp_overlap.h"

extern const OrrTpOverlapKind orr_tp_overlap_userbuffers;

/* 4,096 rows gathered to or scattered from t ranks, bf16, through a product of 1,024 columns
 * over 8,192. */
static OrrTpOverlapCall call_of(OrrOperatorComm comm, gint64 ranks) {
  return (OrrTpOverlapCall){
      .product =
          orr_operator_gemm("qkv", ORR_PASS_FORWARD, ORR_BF16, (OrrGemmShape){1, 4096, 1024, 8192}),
      .comm = orr_operator_comm("tp", ORR_PASS_FORWARD, ORR_GROUP_TP, comm, 4096.0 * 8192 * 2),
      .ranks = ranks,
  };
}

/* Seconds, if every product takes @product_s and the first communication @first_s, others by
 * their bytes; sums of parts are left out. */
static double run(const GArray *operators, double product_s, double first_s) {
  double now_s = 0, arrives_s = 0, first_bytes = 0;
  guint beside = 0;
  for (guint i = 0; i < operators->len; i++) {
    const OrrOperator *op = &g_array_index(operators, OrrOperator, i);
    if (op->kind == ORR_OPERATOR_COMM && first_bytes <= 0) first_bytes = op->bytes;
    const double comm_s = op->kind == ORR_OPERATOR_COMM ? first_s * op->bytes / first_bytes : 0;
    if (op->kind == ORR_OPERATOR_GEMM) now_s += product_s;
    if (op->kind == ORR_OPERATOR_COMM && op->comm.n_overlap == 0) now_s += comm_s;
    if (op->kind == ORR_OPERATOR_COMM && op->comm.n_overlap > 0) arrives_s = now_s + comm_s;
    if (op->kind == ORR_OPERATOR_COMM) beside = op->comm.n_overlap;
    if (op->kind != ORR_OPERATOR_COMM && beside > 0 && --beside == 0)
      now_s = fmax(now_s, arrives_s);
  }
  return now_s;
}

static double sum_of(const GArray *operators, OrrOperatorKind kind, gboolean flops) {
  double sum = 0;
  for (guint i = 0; i < operators->len; i++) {
    const OrrOperator *op = &g_array_index(operators, OrrOperator, i);
    if (op->kind == kind) sum += flops ? op->flops : op->bytes;
  }
  return sum;
}

/* All rows are multiplied once. A ring of t ranks sends t - 1 slices of 1 / t; a pipeline
 * scatters all. */
static void assert_whole(const OrrTpOverlapCall *call, const GArray *operators, gboolean is_ring) {
  const double share = is_ring ? (double)(call->ranks - 1) / (double)call->ranks : 1;
  g_assert_cmpfloat_with_epsilon(sum_of(operators, ORR_OPERATOR_GEMM, TRUE), call->product.flops,
                                 1e-9 * call->product.flops);
  g_assert_cmpfloat_with_epsilon(sum_of(operators, ORR_OPERATOR_COMM, FALSE),
                                 share * call->comm.bytes, 1e-9 * call->comm.bytes);
}

static const double products_s[] = {1, 1, 2}, comms_s[] = {0.5, 3, 2};

static void check(const OrrTpOverlapKind *kind, const void *params, gint64 ranks,
                  gboolean pipelined) {
  const OrrTpOverlapCall gather = call_of(ORR_COMM_ALL_GATHER, ranks),
                         scatter = call_of(ORR_COMM_REDUCE_SCATTER, ranks);
  g_autoptr(GArray) gathered = g_array_new(FALSE, TRUE, sizeof(OrrOperator));
  g_autoptr(GArray) scattered = g_array_new(FALSE, TRUE, sizeof(OrrOperator));
  g_assert_true(kind->gather(params, &gather, gathered));
  g_assert_true(kind->scatter(params, &scatter, scattered));
  assert_whole(&gather, gathered, TRUE);
  assert_whole(&scatter, scattered, !pipelined);
  for (guint i = 0; i < G_N_ELEMENTS(products_s); i++) {
    const double g = products_s[i], c = comms_s[i];
    g_assert_cmpfloat_with_epsilon(run(gathered, g, c), kind->gather_s(params, ranks, g, c), 1e-12);
    g_assert_cmpfloat_with_epsilon(run(scattered, g, c), kind->scatter_s(params, ranks, g, c),
                                   1e-12);
  }
}

static void test_pieces(void) {
  for (guint i = 0; orr_tp_overlap_registry.entries[i]; i++) {
    const OrrTpOverlapKind *kind = (const OrrTpOverlapKind *)orr_tp_overlap_registry.entries[i];
    g_autofree void *params = kind->entry.params ? g_malloc0(kind->entry.params->size) : NULL;
    if (params) orr_field_defaults(kind->entry.params, params);
    const gboolean pipelined = kind == &orr_tp_overlap_userbuffers;
    for (gint64 ranks = 2; kind->gather && ranks <= 16; ranks *= 2)
      check(kind, params, ranks, pipelined);
  }
}

/* 8 ranks, g = 1, c = 3: a ring 7 * 3 + 1 = 22; a pipeline of 4 slices 1 + 3 * 3 + 3 = 13. g =
 * 2, c = 1/2: 16, and 2 + 3 * 2 + 1/2 = 8.5: hidden but for the ends. */
static void test_closed_forms(void) {
  g_assert_cmpfloat(orr_tp_overlap_ring_s(8, 1, 3), ==, 22);
  g_assert_cmpfloat(orr_tp_overlap_pipelined_s(4, 1, 3), ==, 13);
  g_assert_cmpfloat(orr_tp_overlap_ring_s(8, 2, 0.5), ==, 16);
  g_assert_cmpfloat(orr_tp_overlap_pipelined_s(4, 2, 0.5), ==, 8.5);
}

/* 10 rows over 4 slices: 2, 3, 2, 3. */
static void test_rows_that_do_not_divide(void) {
  OrrTpOverlapCall call = call_of(ORR_COMM_REDUCE_SCATTER, 4);
  g_autoptr(GArray) operators = g_array_new(FALSE, TRUE, sizeof(OrrOperator));
  gint64 rows = 0;
  call.product.gemm.m = 10;
  orr_tp_overlap_pipelined_scatter(&call, 4, operators);
  for (guint i = 0; i < operators->len; i++)
    if (g_array_index(operators, OrrOperator, i).kind == ORR_OPERATOR_GEMM)
      rows += g_array_index(operators, OrrOperator, i).gemm.m;
  g_assert_cmpint(rows, ==, 10);
}

/* A slice is the product with fewer rows: it keeps separate casts and the fleet's power. All but
 * the last name the product's rows (whole_m), so that they cost their fraction of it. */
static void test_pieces_are_of_the_product(void) {
  OrrTpOverlapCall call = call_of(ORR_COMM_ALL_GATHER, 4);
  g_autoptr(GArray) operators = g_array_new(FALSE, TRUE, sizeof(OrrOperator));
  guint n = 0;
  call.product.gemm.stored.cast_apart = TRUE;
  call.product.fleet = 64;
  orr_tp_overlap_ring_gather(&call, operators);
  for (guint i = 0; i < operators->len; i++) {
    const OrrOperator *op = &g_array_index(operators, OrrOperator, i);
    if (op->kind != ORR_OPERATOR_GEMM) continue;
    g_assert_true(op->gemm.stored.cast_apart);
    g_assert_cmpint(op->fleet, ==, 64);
    g_assert_cmpint(op->gemm.m, ==, 1024);
    g_assert_cmpint(op->gemm.whole_m, ==, ++n < 4 ? 4096 : 0);
  }
  g_assert_cmpuint(n, ==, 4);
}

static void *params_of(const char *text) {
  const OrrFieldTable *table = orr_tp_overlap_userbuffers.entry.params;
  void *params = g_malloc0(table->size);
  g_autoptr(OrrDiags) diags = orr_diags_new();
  g_autoptr(OrrNode) node = orr_yaml_parse(text, strlen(text), "test.yaml", diags);
  orr_field_read(table, node, NULL, diags, params);
  g_assert_cmpuint(orr_diags_n_errors(diags), ==, 0);
  return params;
}

/* Each slice of userbuffers waits for `step`; the closed forms have it in g. */
static void test_step(void) {
  const OrrTpOverlapKind *kind = &orr_tp_overlap_userbuffers;
  g_autofree void *params = params_of("{step: 30 us}");
  const OrrTpOverlapCall call = call_of(ORR_COMM_ALL_GATHER, 4);
  g_autoptr(GArray) operators = g_array_new(FALSE, TRUE, sizeof(OrrOperator));
  g_assert_true(kind->gather(params, &call, operators));
  for (guint i = 0; i < operators->len; i++) {
    const OrrOperator *op = &g_array_index(operators, OrrOperator, i);
    g_assert_cmpfloat(op->wait_s, ==, op->kind == ORR_OPERATOR_GEMM ? 30e-6 : 0);
  }
  g_assert_cmpfloat_with_epsilon(kind->gather_s(params, 4, 1, 0), 4 * (1 + 30e-6), 1e-12);
  orr_field_clear(kind->entry.params, params);
}

/* 8 ranks in pairs: one slice, then 3 exchanges of two next to 4 products of two. Slices of g = 1,
 * c = 3: 3 + 3 * 6 + 2 = 23; g = 2, c = 1/2: 1/2 + 3 * 4 + 4 = 16.5; each pair waits for `step`
 * once. 3 ranks make no pairs. */
static void test_pairs(void) {
  const OrrTpOverlapKind *kind = &orr_tp_overlap_userbuffers;
  g_autofree void *params = params_of("{aggregate: true, step: 0 s}");
  const OrrTpOverlapCall even = call_of(ORR_COMM_ALL_GATHER, 8),
                         odd = call_of(ORR_COMM_ALL_GATHER, 3);
  g_autoptr(GArray) paired = g_array_new(FALSE, TRUE, sizeof(OrrOperator));
  g_autoptr(GArray) single = g_array_new(FALSE, TRUE, sizeof(OrrOperator));
  g_assert_true(kind->gather(params, &even, paired));
  g_assert_true(kind->gather(params, &odd, single));
  assert_whole(&even, paired, TRUE);
  assert_whole(&odd, single, TRUE);
  g_assert_cmpfloat_with_epsilon(kind->gather_s(params, 8, 1, 3), 23, 1e-12);
  g_assert_cmpfloat_with_epsilon(kind->gather_s(params, 8, 2, 0.5), 16.5, 1e-12);
  g_assert_cmpfloat_with_epsilon(run(paired, 2, 3), 23, 1e-12);
  g_assert_cmpfloat_with_epsilon(run(paired, 4, 0.5), 16.5, 1e-12);
  g_assert_cmpfloat_with_epsilon(run(single, 1, 3), kind->gather_s(params, 3, 1, 3), 1e-12);
  g_autofree void *stepped = params_of("{aggregate: true, step: 1 s}");
  g_assert_cmpfloat_with_epsilon(kind->gather_s(stepped, 8, 2, 0.5), 20.5, 1e-12);
  orr_field_clear(kind->entry.params, params);
  orr_field_clear(kind->entry.params, stepped);
}

/* Results in 8 bits are half of the bytes of a pipelined scatter. */
static void test_fp8_scatter(void) {
  const OrrTpOverlapKind *kind = &orr_tp_overlap_userbuffers;
  g_autofree void *params = params_of("{fp8-scatter: true}");
  const OrrTpOverlapCall scatter = call_of(ORR_COMM_REDUCE_SCATTER, 8);
  g_autoptr(GArray) scattered = g_array_new(FALSE, TRUE, sizeof(OrrOperator));
  g_assert_true(kind->scatter(params, &scatter, scattered));
  g_assert_cmpfloat_with_epsilon(sum_of(scattered, ORR_OPERATOR_COMM, FALSE),
                                 scatter.comm.bytes / 2, 1e-6);
  orr_field_clear(kind->entry.params, params);
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/tp-overlap/pieces", test_pieces);
  g_test_add_func("/tp-overlap/pieces-are-of-the-product", test_pieces_are_of_the_product);
  g_test_add_func("/tp-overlap/step", test_step);
  g_test_add_func("/tp-overlap/pairs", test_pairs);
  g_test_add_func("/tp-overlap/fp8-scatter", test_fp8_scatter);
  g_test_add_func("/tp-overlap/closed-forms", test_closed_forms);
  g_test_add_func("/tp-overlap/rows-that-do-not-divide", test_rows_that_do_not_divide);
  return g_test_run();
}

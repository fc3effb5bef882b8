/* test_crossval.c - every row is queried once, of a model that did not see it, and the errors
 * add up. */
#include "calibration/crossval/crossval.h"

#include <math.h>

#include "tests/calibration/calibration_sample.h"

static GPtrArray *run(const char *text, const char *family) {
  g_autoptr(OrrProfile) profile = sample_profile(text);
  g_autoptr(GError) error = NULL;
  GPtrArray *tables = orr_crossval_run(profile, &round_device, family, &error);
  g_assert_no_error(error);
  return tables;
}

/* 5 n x 6 k x 2 m, all 100 us but for (128, 4096, 8192). */
static char *gemm_text(double odd_us) {
  GString *text =
      g_string_new("schema: profile/1\nname: p\ndevice: d\ngemm:\n- dtype: bf16\n  source: s\n"
                   "  m: \"64 128\"\n  rows:\n");
  for (int n = 0; n < 5; n++)
    for (int k = 0; k < 6; k++)
      g_string_append_printf(text, "  - {n: %d, k: %d, us: \"100 %g\"}\n", 1024 << n, 1024 << k,
                             n == 2 && k == 3 ? odd_us : 100.0);
  return g_string_free(text, FALSE);
}

static void test_every_row_once(void) {
  g_autofree char *text = gemm_text(100);
  g_autoptr(GPtrArray) tables = run(text, "gemm");
  g_assert_cmpuint(tables->len, ==, 1);
  const OrrCrossvalTable *table = tables->pdata[0];
  g_assert_cmpstr(table->label, ==, "gemm bf16");
  g_assert_cmpuint(table->points->len, ==, 60);
  double sum = 0; /* of m n k in units of 2^20: (64 + 128) 31 63 / 1024 x 1024 */
  for (guint i = 0; i < table->points->len; i++) {
    const OrrCrossvalPoint *point = &g_array_index(table->points, OrrCrossvalPoint, i);
    sum += point->keys[0] * point->keys[1] * point->keys[2] / 1048576;
    g_assert_cmpint(point->how, !=, ORR_HOW_MEASURED); /* it was left out */
  }
  g_assert_cmpfloat(sum, ==, 192 * 31 * 63);
}

/* A call of 4 products takes 5 times as long as one, in each row: left out, a row is predicted from
 * the batched table's others and the plain one, not from a bare roofline (10 us and less). */
static void test_batched(void) {
  g_autofree char *plain = gemm_text(100);
  g_auto(GStrv) parts = g_strsplit(strstr(plain, "- dtype") + 2, "\"100 100\"", -1);
  g_autofree char *slower = g_strjoinv("\"500 500\"", parts);
  g_autofree char *text = g_strconcat(plain, "- batch: 4\n  ", slower, NULL);
  g_autoptr(GPtrArray) tables = run(text, "gemm");
  g_assert_cmpuint(tables->len, ==, 2);
  const OrrCrossvalTable *batched = tables->pdata[1];
  g_assert_cmpuint(batched->points->len, ==, 60);
  for (guint i = 0; i < batched->points->len; i++)
    g_assert_cmpfloat(g_array_index(batched->points, OrrCrossvalPoint, i).modelled_s, >, 250e-6);
}

/* A row that is not like its neighbours cannot be predicted from them: left out, it is predicted as
 * 100 us where 400 were measured, so its error is about -0.75; a model that had seen it would
 * answer 400. */
static void test_left_out_is_not_seen(void) {
  g_autofree char *text = gemm_text(400);
  g_autoptr(GPtrArray) tables = run(text, "gemm");
  const OrrCrossvalTable *table = tables->pdata[0];
  guint n_found = 0;
  for (guint i = 0; i < table->points->len; i++) {
    const OrrCrossvalPoint *point = &g_array_index(table->points, OrrCrossvalPoint, i);
    if (point->measured_s < 399e-6) continue;
    n_found++;
    g_assert_cmpfloat(point->modelled_s, <, 150e-6);
    g_autofree char *shape = orr_crossval_shape(table, point);
    g_assert_cmpstr(shape, ==, "m 128 n 4096 k 8192");
  }
  g_assert_cmpuint(n_found, ==, 1);
}

/* Regions split the points: their counts add up to all. */
static void test_regions(void) {
  g_autofree char *text = gemm_text(100);
  g_autoptr(GPtrArray) tables = run(text, NULL);
  const OrrCrossvalTable *table = tables->pdata[0];
  guint n = 0;
  for (int region = 0; orr_crossval_regions(table)[region]; region++)
    n += orr_crossval_errors(table, region).n;
  g_assert_cmpuint(n, ==, orr_crossval_errors(table, -1).n);
}

/* Exchanges of experts' tokens: of two shapes each is predicted from the other, at as many bytes
 * (half the tokens for twice the hidden size; 10 us per token and nothing else), of one there is no
 * table. */
static void test_dispatch(void) {
  g_autoptr(GPtrArray) tables =
      run("schema: profile/1\nname: p\ndevice: d\nlibraries:\n"
          "- {library: l, op: combine, ranks: 8, hidden: 100, topk: 2, experts: 64, size: \"2 4\", "
          "us: \"20 40\"}\n"
          "- {library: l, op: combine, ranks: 8, hidden: 200, topk: 2, experts: 64, size: \"1 2\", "
          "us: \"20 40\"}\n"
          "- {library: l, op: dispatch, ranks: 8, hidden: 100, topk: 2, experts: 64, size: \"1 "
          "2\", us: \"10 20\"}\n"
          "- {library: vllm, op: all_reduce, ranks: 8, size: \"1 2\", us: \"10 20\"}\n",
          "dispatch");
  g_assert_cmpuint(tables->len, ==, 1);
  const OrrCrossvalTable *table = tables->pdata[0];
  g_assert_cmpstr(table->label, ==, "l combine bf16");
  g_assert_cmpuint(table->points->len, ==, 4);
  g_assert_cmpfloat(orr_crossval_errors(table, -1).worst, <, 1e-9);
}

static void test_attention_and_collectives(void) {
  g_autoptr(GPtrArray) tables =
      run("schema: profile/1\nname: p\ndevice: d\nattention:\n- phase: decode\n  dtype: bf16\n  "
          "kv-dtype: fp8\n"
          "  source: s\n  batch: \"1 2 4\"\n  length: \"1000 2000\"\n  rows:\n"
          "  - {head-dim: 128, heads: 8, kv-heads: 1, us: \"10 11 12 13 - 15\"}\n"
          "collectives:\n- {op: all_reduce, ranks: 4, bytes: \"1000 2000 4000 4194304\", us: \"10 "
          "11 12 40\"}\n"
          "- {op: all_reduce, ranks: 8, bytes: \"1000 2000\", us: \"10 11\"}\n",
          NULL);
  g_assert_cmpuint(tables->len, ==, 2);
  const OrrCrossvalTable *attention = tables->pdata[0], *all_reduce = tables->pdata[1];
  g_assert_cmpstr(attention->label, ==, "attention decode bf16/fp8");
  g_assert_cmpuint(attention->points->len, ==, 5); /* the hole is not a row */
  g_assert_cmpstr(all_reduce->label, ==, "all_reduce");
  g_assert_cmpuint(all_reduce->points->len, ==, 6);
}

/* Errors -0.4, 0.1, 0.2, -0.1: mean size 0.2, mean -0.05, median (0.1 + 0.2) / 2, the 4th of 4
 * at 90 %. */
static void test_errors(void) {
  const double values[] = {-0.4, 0.1, 0.2, -0.1};
  g_autoptr(GArray) errors = g_array_new(FALSE, FALSE, sizeof(double));
  g_array_append_vals(errors, values, G_N_ELEMENTS(values));
  OrrErrors all = orr_errors_of(errors);
  g_assert_cmpuint(all.n, ==, 4);
  assert_near(all.mape, 0.2, 1e-12);
  assert_near(all.bias, -0.05, 1e-12);
  assert_near(all.median, 0.15, 1e-12);
  assert_near(all.p90, 0.4, 1e-12);
  assert_near(all.worst, 0.4, 1e-12);
  g_array_set_size(errors, 0);
  g_assert_true(isnan(orr_errors_of(errors).mape));
}

/* What the profiles that ship claim of themselves: 8 and 20 % for products, 10 and 25 % for
 * attention. */
/* 8 splits of one layer, 3 numbers of tokens, one of them not measured at one split: each
 * of the 23 once. */
static void test_moe(void) {
  GString *text = g_string_new(
      "schema: profile/1\nname: p\ndevice: d\nmoe:\n- dtype: bf16\n  distribution: balanced\n"
      "  source: s\n  tokens: \"1 8 64\"\n  rows:\n");
  for (int i = 0; i < 8; i++)
    g_string_append_printf(
        text, "  - {hidden: 1024, inter: 512, topk: 2, experts: 128, tp: 1, ep: %d, us: \"%s\"}\n",
        1 << i, i == 3 ? "20 - 60" : "20 40 60");
  g_autoptr(GPtrArray) tables = run(text->str, "moe");
  g_string_free(text, TRUE);
  g_assert_cmpuint(tables->len, ==, 1);
  const OrrCrossvalTable *table = tables->pdata[0];
  g_assert_cmpstr(table->label, ==, "moe bf16 balanced");
  g_assert_cmpuint(table->points->len, ==, 23);
  for (guint i = 0; i < table->points->len; i++)
    g_assert_cmpint(g_array_index(table->points, OrrCrossvalPoint, i).how, !=, ORR_HOW_MEASURED);
}

static void assert_shipped(const char *name, const OrrDevice *device) {
  g_autoptr(OrrProfile) profile = shipped_profile(name);
  g_autoptr(GError) error = NULL;
  g_autoptr(GPtrArray) tables = orr_crossval_run(profile, device, NULL, &error);
  g_assert_no_error(error);
  for (guint t = 0; t < tables->len; t++) {
    const OrrCrossvalTable *table = tables->pdata[t];
    OrrErrors errors = orr_crossval_errors(table, -1);
    gboolean is_gemm = g_str_has_prefix(table->label, "gemm");
    if (!is_gemm && !g_str_has_prefix(table->label, "attention")) continue;
    const gboolean is_own = is_gemm && !g_str_has_suffix(table->label, "trtllm"); /* many shapes */
    g_assert_cmpfloat(errors.mape, <, is_own ? 0.08 : 0.10);
    g_assert_cmpfloat(errors.p90, <, is_own ? 0.20 : 0.25);
    g_assert_cmpfloat(errors.mape, >, 0.001); /* none of it was seen */
  }
}

static void test_shipped(void) {
  assert_shipped("a100-80gb-sxm", &a100_device);
  assert_shipped("h100-sxm", &h100_device);
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/crossval/dispatch", test_dispatch);
  g_test_add_func("/crossval/batched", test_batched);
  g_test_add_func("/crossval/every-row-once", test_every_row_once);
  g_test_add_func("/crossval/left-out-is-not-seen", test_left_out_is_not_seen);
  g_test_add_func("/crossval/regions", test_regions);
  g_test_add_func("/crossval/attention-and-collectives", test_attention_and_collectives);
  g_test_add_func("/crossval/moe", test_moe);
  g_test_add_func("/crossval/errors", test_errors);
  g_test_add_func("/crossval/shipped", test_shipped);
  return g_test_run();
}

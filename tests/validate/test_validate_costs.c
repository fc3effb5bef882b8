/*
 * test_validate_costs.c - sets of costs: shapes left out of profiles, rows that are given, what is
 * stored and refused.
 */
#include <glib/gstdio.h>
#include <math.h>
#include <string.h>

#include "sim/base/fault.h"
#include "sim/validate/validate_costs.h"
#include "tests/base/field_lint.h"

static char *folder;
static OrrLibrary *library;

static void put(const char *subfolder, const char *name, const char *text) {
  g_autofree char *path = g_build_filename(folder, subfolder, NULL),
                  *file = g_build_filename(path, name, NULL);
  g_assert_cmpint(g_mkdir_with_parents(path, 0755), ==, 0);
  g_assert_true(g_file_set_contents(file, text, -1, NULL));
}

static const char set_text[] =
    "schema: cost-validation/1\nname: kernels\nfamily: gemm\noperators: [gemm]\n"
    "target-mape: 8 %\ntarget-p90: 20 %\n";

/* 6 x 6 products that all take 100 us but one, which takes 200: an error of -50 % where it is
 * left out. */
static void put_profile(void) {
  g_autoptr(GString) text = g_string_new("schema: profile/1\nname: tiny\ndevice: h100-sxm\ngemm:\n"
                                         "- dtype: bf16\n  source: s\n  m: \"64\"\n  rows:\n");
  for (int n = 0; n < 6; n++)
    for (int k = 0; k < 6; k++)
      g_string_append_printf(text, "  - {n: %d, k: %d, us: \"%d\"}\n", 32 << n, 32 << k,
                             n == 2 && k == 2 ? 200 : 100);
  put("profiles", "tiny.yaml", text->str);
}

static OrrValidation *compare_set(const char *set, const char *profile, const char *rows,
                                  OrrStore *store, GError **error) {
  g_autofree char *path = rows ? g_build_filename(folder, "rows.csv", NULL) : NULL;
  if (rows) put("", "rows.csv", rows);
  return orr_validate_costs(
      library,
      &(OrrValidateOrder){.set = set, .rows_csv = path, .profile = profile, .store = store}, error);
}

static OrrValidation *compare(const char *profile, const char *rows, OrrStore *store,
                              GError **error) {
  return compare_set("kernels", profile, rows, store, error);
}

static void test_shapes(void) {
  g_autoptr(GError) error = NULL;
  g_autoptr(OrrValidation) validation = compare("tiny", NULL, NULL, &error);
  g_assert_no_error(error);
  g_assert_cmpuint(validation->n_compared, ==, 36);
  const OrrCostError *all = &g_array_index(validation->costs, OrrCostError, 0);
  g_assert_cmpstr(all->kernels, ==, "gemm bf16");
  g_assert_cmpstr(all->region, ==, "all");
  g_assert_cmpint(all->n, ==, 36);
  gint64 n = 0;
  for (guint i = 1; i < validation->costs->len; i++)
    n += g_array_index(validation->costs, OrrCostError, i).n;
  g_assert_cmpint(n, ==, 36);
  const OrrValidationRow *worst = &g_array_index(validation->rows, OrrValidationRow, 0);
  g_assert_cmpuint(validation->rows->len, ==, 10);
  g_assert_cmpstr(worst->label, ==, "tiny, gemm bf16, m 64 n 128 k 128");
  g_assert_cmpfloat_with_epsilon(worst->error, -0.5, 0.01);
}

/* 100 us measured where the row has 100, 125 where it has 100: 0 and -20 %. */
static void test_rows(void) {
  g_autoptr(GError) error = NULL;
  const char *rows =
      "# source\ngemm_dtype,m,n,k,latency_us\nbfloat16,64,32,32,100\nbfloat16,64,64,32,125\n";
  g_autoptr(OrrValidation) validation = compare("tiny", rows, NULL, &error);
  g_assert_no_error(error);
  g_assert_cmpuint(validation->n_compared, ==, 2);
  g_assert_cmpfloat_with_epsilon(validation->mape, 0.1, 1e-9);
  g_assert_cmpfloat_with_epsilon(validation->bias, -0.1, 1e-9);
  const OrrValidationRow *second = &g_array_index(validation->rows, OrrValidationRow, 1);
  g_assert_cmpint(second->row, ==, 4);
  g_assert_cmpstr(second->explanation, ==, "measured");
  g_assert_true(g_array_index(validation->costs, OrrCostError, 0).met ==
                FALSE); /* 10 % is above 8 */
}

static void assert_refused(const char *profile, const char *rows, int code, const char *words) {
  g_autoptr(GError) error = NULL;
  g_assert_null(compare(profile, rows, NULL, &error));
  g_assert_error(error, ORR_FAULT, code);
  if (!strstr(error->message, words)) g_error("'%s' does not say '%s'", error->message, words);
}

static void test_refused(void) {
  assert_refused(NULL, "gemm_dtype,m,n,k,latency_us\n", ORR_FAULT_USAGE, "--profile NAME");
  assert_refused("tiny", "gemm_dtype,m,n,k\nbf16,1,1,1\n", ORR_FAULT_DOCUMENT,
                 "no column 'latency_us'");
  assert_refused("tiny", "gemm_dtype,m,n,latency_us\nbf16,1,1,1\n", ORR_FAULT_DOCUMENT,
                 "there is no column k");
  assert_refused("tiny", "gemm_dtype,m,n,k,latency_us\nbf16,1,1,1,5\nbf16,1,1,1,0\n",
                 ORR_FAULT_DOCUMENT, ":3");
  assert_refused("tiny", "gemm_dtype,m,n,k,latency_us\nbf16,1,1,1,nan\n", ORR_FAULT_DOCUMENT, ":2");
  assert_refused("tinny", NULL, ORR_FAULT_DOCUMENT, "tiny");
}

/* The columns choose the operator, and a cell does not, whatever it says: a finding about it is
 * not taken for a lack of columns, after which the next operator would be asked. */
static void test_operator_by_columns(void) {
  g_autoptr(GError) error = NULL, bad_cell = NULL, neither = NULL;
  put("validation-sets", "several.yaml",
      "schema: cost-validation/1\nname: several\nfamily: gemm\noperators: [moe_ffn, gemm, "
      "attention_decode]\ntarget-mape: 8 %\ntarget-p90: 20 %\n");
  g_autoptr(OrrValidation) validation =
      compare_set("several", "tiny", "m,n,k,latency_us\n64,32,32,100\n", NULL, &error);
  g_assert_no_error(error);
  g_assert_cmpuint(validation->n_compared, ==, 1);
  g_assert_cmpstr(g_array_index(validation->costs, OrrCostError, 0).kernels, ==, "gemm");
  g_assert_null(
      compare_set("several", "tiny", "m,n,k,latency_us\nno column 'k',1,1,5\n", NULL, &bad_cell));
  g_assert_nonnull(strstr(bad_cell->message, ":2:1: error: m is 'no column 'k'': want a whole"));
  g_assert_null(compare_set("several", "tiny", "m,latency_us\n1,5\n", NULL, &neither));
  g_assert_nonnull(strstr(neither->message, ":1:1: error: there is no column "));
}

static void test_stored(void) {
  g_autofree char *path = g_build_filename(folder, "runs.db", NULL);
  g_autoptr(GError) error = NULL;
  g_autoptr(OrrStore) store = orr_store_open(path, &error);
  g_assert_no_error(error);
  orr_validation_free(compare("tiny", NULL, store, &error));
  g_assert_no_error(error);
  g_autoptr(OrrAnswer) answer = orr_store_query(
      store, "SELECT n, (SELECT kind FROM run) FROM cost_error WHERE region = 'all'", 0, &error);
  g_assert_no_error(error);
  g_assert_cmpuint(answer->rows->len, ==, 1);
  g_assert_cmpstr(((char **)answer->rows->pdata[0])[0], ==, "36");
  g_assert_cmpstr(((char **)answer->rows->pdata[0])[1], ==, "cost-validation");
}

static void test_kinds(void) {
  g_assert_true(orr_validate_costs_is(library, "kernels"));
  g_assert_true(orr_validate_costs_is(library, "gemm"));
  g_assert_false(orr_validate_costs_is(library, "megatron-sc21"));
  g_assert_false(orr_validate_costs_is(library, "nothing"));
  g_autofree char *wrong = orr_field_lint(&orr_cost_validation_table);
  g_autofree char *wrong_rows = orr_field_lint(&orr_cost_error_table);
  g_assert_null(wrong);
  g_assert_null(wrong_rows);
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  folder = g_dir_make_tmp("orrery-costs-XXXXXX", NULL);
  put("validation-sets", "kernels.yaml", set_text);
  put_profile();
  library = orr_library_new((const char *const[]){folder, NULL});
  g_test_add_func("/validate-costs/shapes", test_shapes);
  g_test_add_func("/validate-costs/rows", test_rows);
  g_test_add_func("/validate-costs/refused", test_refused);
  g_test_add_func("/validate-costs/operator-by-columns", test_operator_by_columns);
  g_test_add_func("/validate-costs/stored", test_stored);
  g_test_add_func("/validate-costs/kinds", test_kinds);
  int status = g_test_run();
  orr_library_free(library);
  g_autofree char *command = g_strdup_printf("rm -rf %s", folder);
  if (g_str_has_prefix(folder, g_get_tmp_dir()))
    g_spawn_command_line_sync(command, NULL, NULL, NULL, NULL);
  return status;
}

/* test_profile.c - reading profiles: numbers, defaults, and one clear finding for each way to be
 * wrong. */
#include "calibration/profile/profile_private.h"
#include "tests/base/field_lint.h"
#include "tests/calibration/calibration_sample.h"

#include <math.h>

#include "sim/base/fault.h"

#define HEAD "schema: profile/1\nname: p\ndevice: d\n"
#define GEMM HEAD "gemm:\n- dtype: bf16\n  source: s\n"

static void assert_findings(const char *text, const char *expected) {
  g_autofree char *findings = NULL;
  g_autoptr(OrrProfile) profile = read_profile(text, &findings);
  g_assert_null(profile);
  g_assert_nonnull(strstr(findings, expected));
}

static void test_defaults(void) {
  g_autoptr(OrrProfile) profile = sample_profile(HEAD);
  g_assert_cmpstr(orr_profile_name(profile), ==, "p");
  g_assert_cmpstr(orr_profile_device(profile), ==, "d");
  g_assert_cmpfloat(profile->constants.kernel_overhead_s, ==, 2.5e-6);
  g_assert_cmpfloat(profile->constants.memory_efficiency, ==, 0.85);
  g_assert_cmpuint(orr_profile_length(profile->gemm), ==, 0);
}

static void test_field_tables(void) {
  g_autofree char *findings = orr_field_lint(&orr_profile_table);
  g_assert_cmpstr(findings, ==, NULL);
}

static void assert_number(const char *text, double expected) {
  g_autoptr(GError) error = NULL;
  g_autoptr(GArray) numbers = orr_profile_numbers(text, TRUE, &error);
  g_assert_no_error(error);
  g_assert_cmpuint(numbers->len, ==, 1);
  if (isnan(expected))
    g_assert_true(isnan(g_array_index(numbers, double, 0)));
  else
    g_assert_cmpfloat(g_array_index(numbers, double, 0), ==, expected);
}

/* The fast path and the slow one must both give the nearest double, as the compiler does. */
static void test_numbers(void) {
  assert_number("2.49", 2.49);
  assert_number(" 16420\n", 16420);
  assert_number(".5", .5);
  assert_number("1.642e+04", 1.642e+04);
  assert_number("0.1234567890123456789", 0.1234567890123456789);
  assert_number("12345678901234567890", 12345678901234567890.0);
  assert_number("-", NAN);
}

static void test_not_numbers(void) {
  static const char *const texts[] = {"1 2 x", "1 -3",   "1 0",     "1 nan", "1 inf",
                                      "1 2,3", "1 0x10", "1 1e999", "1.2.3"};
  for (guint i = 0; i < G_N_ELEMENTS(texts); i++) {
    g_autoptr(GError) error = NULL;
    g_assert_null(orr_profile_numbers(texts[i], TRUE, &error));
    g_assert_error(error, ORR_FAULT, ORR_FAULT_DOCUMENT);
  }
  g_autoptr(GError) error = NULL;
  g_assert_null(orr_profile_numbers("1 -", FALSE, &error));
  g_assert_cmpstr(error->message, ==, "value 2 is '-': want a number above 0");
}

static void test_bad_profiles(void) {
  assert_findings(HEAD "gem: []\n", "p:4:1: error");
  assert_findings("schema: profile/1\nname: p\n", "missing key 'device'");
  assert_findings(HEAD "constants: {kernel-overhead: 3}\n", "kernel-overhead");
  assert_findings(HEAD "constants: {gemm-efficiency: 120 %}\n", "gemm-efficiency");
  assert_findings(GEMM "  m: \"1 2\"\n  rows:\n  - {n: 8, k: 8, us: \"1 2 3\"}\n",
                  "p:9:22: error: us: 3 values, but the axes need 2");
  assert_findings(GEMM "  m: \"2 1\"\n  rows: []\n", "m: value 2 does not rise");
  assert_findings(GEMM "  m: \"\"\n  rows: []\n", "m: no numbers");
  assert_findings(GEMM "  m: \"1 2\"\n  rows:\n  - {n: 8, k: 8, us: \"1 -2\"}\n",
                  "us: value 2 is '-2'");
  assert_findings(GEMM
                  "  m: \"1\"\n  rows:\n  - {n: 8, k: 8, us: \"1\"}\n  - {n: 8, k: 8, us: \"2\"}\n",
                  "duplicate row: gemm bf16 n 8 k 8");
  assert_findings(HEAD "attention:\n- {phase: prefill, dtype: bf16, kv-dtype: bf16, source: s, "
                       "batch: \"1\", length: "
                       "\"1 2\", rows: [{head-dim: 64, heads: 4, kv-heads: 3, us: \"1 -\"}]}\n",
                  "kv-heads must divide heads");
  assert_findings(HEAD "collectives:\n- {op: all_reduce, ranks: 2, bytes: \"1 2\", us: \"1 -\"}\n",
                  "value 2 is '-'");
}

#define MOE HEAD "moe:\n- dtype: bf16\n  source: s\n  tokens: \"1 2\"\n  distribution: "

static void test_bad_moe(void) {
  assert_findings(MOE "skewed\n  rows: []\n",
                  "distribution is 'skewed': want balanced or power_law_A");
  assert_findings(MOE "power_law_2\n  rows: []\n", "distribution is 'power_law_2'");
  assert_findings(MOE "balanced\n  rows:\n  - {hidden: 8, inter: 8, topk: 1, experts: 4, tp: 1, "
                      "ep: 3, us: \"1 2\"}\n",
                  "ep must divide experts");
  assert_findings(MOE "balanced\n  rows:\n  - {hidden: 8, inter: 8, topk: 5, experts: 4, tp: 3, "
                      "ep: 1, us: \"1\"}\n",
                  "us: 1 values, but the axes need 2");
  assert_findings(MOE "balanced\n  rows:\n  - {hidden: 8, inter: 8, topk: 1, experts: 4, tp: 1, "
                      "ep: 1, us: \"1 -\"}\n"
                      "  - {hidden: 8, inter: 8, topk: 1, experts: 4, tp: 1, ep: 1, us: \"1 -\"}\n",
                  "duplicate row: moe ");
}

/* What is shipped reads without a finding, and quickly: a run has a second in all. */
static void test_shipped(void) {
  static const char *const names[] = {"a100-80gb-sxm", "h100-sxm", "h200-sxm", "b200", "gb200"};
  for (guint i = 0; i < G_N_ELEMENTS(names); i++) {
    g_autoptr(OrrProfile) profile = shipped_profile(names[i]);
    g_assert_cmpstr(orr_profile_name(profile), ==, names[i]);
    g_assert_cmpstr(orr_profile_device(profile), ==, names[i]);
    g_assert_cmpuint(orr_profile_length(profile->gemm), >, 0);
    g_assert_cmpuint(orr_profile_length(profile->attention), >, 1);
    g_assert_cmpuint(orr_profile_length(profile->collectives), >=, 8);
    g_assert_cmpuint(orr_profile_length(profile->moe), >, 0);
    g_assert_cmpuint(orr_profile_length(profile->kernels), >, 8);
  }
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/profile/defaults", test_defaults);
  g_test_add_func("/profile/field-tables", test_field_tables);
  g_test_add_func("/profile/numbers", test_numbers);
  g_test_add_func("/profile/not-numbers", test_not_numbers);
  g_test_add_func("/profile/bad", test_bad_profiles);
  g_test_add_func("/profile/bad-moe", test_bad_moe);
  g_test_add_func("/profile/shipped", test_shipped);
  return g_test_run();
}

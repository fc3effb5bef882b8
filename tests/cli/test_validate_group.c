/*
 * test_validate_group.c - how a group of sets counts: rates as times, reasons without their
 * numbers, and the printed table of a group of the test's own.
 */
#include <glib/gstdio.h>
#include <math.h>
#include <string.h>
#include <sys/wait.h>

#include "sim/cli/verb_validate.h"

/* 100 tokens/s measured, 125 simulated: the step takes 100/125 of the time, -20 %. A time keeps
 * its error, and so does memory. */
static void test_error(void) {
  const OrrValidationRow rate = {
      .metric = (char *)"tokens_per_s_per_gpu", .measured = 100, .simulated = 125, .error = 0.25};
  const OrrValidationRow mfu = {
      .metric = (char *)"mfu", .measured = 0.4, .simulated = 0.5, .error = 0.25};
  const OrrValidationRow time = {
      .metric = (char *)"iteration_time_s", .measured = 2, .simulated = 3, .error = 0.5};
  const OrrValidationRow memory = {
      .metric = (char *)"memory_peak_bytes", .measured = 2, .simulated = 1, .error = -0.5};
  g_assert_cmpfloat_with_epsilon(orr_validate_group_error(&rate), -0.2, 1e-15);
  g_assert_cmpfloat_with_epsilon(orr_validate_group_error(&mfu), -0.2, 1e-15);
  g_assert_cmpfloat(orr_validate_group_error(&time), ==, 0.5);
  g_assert_cmpfloat(orr_validate_group_error(&memory), ==, -0.5);
}

static void assert_reason(const char *reason, const char *wanted) {
  g_autofree char *got = orr_validate_group_reason(reason);
  g_assert_cmpstr(got, ==, wanted);
}

static void test_reason(void) {
  assert_reason("/a/b.yaml:12:3: error: layers (70) cannot be divided by pp (12)",
                "layers (N) cannot be divided by pp (N)");
  assert_reason("x:1:1: error: unknown precision 'fp8' (allowed: fp16, bf16)",
                "unknown precision 'fp8'");
  assert_reason("unknown model 'gpt-3': did you mean 'gpt3-175b'?", "unknown model 'gpt-3'");
  assert_reason("x:1:1: error: first 1.5; x:2:1: error: second", "first N");
  assert_reason("", "");
}

#define SCENARIO                                                                                   \
  "schema: scenario/1\nname: small\n"                                                              \
  "cluster: {base: dgx-a100-superpod, nodes: 1, gpus: 4}\n"                                        \
  "model: {layers: 4, hidden: 1024, heads: 16, vocab: 51200, context: 1024}\n"                     \
  "workload: {kind: training, stack: none, parallel: {tp: 2, pp: 2, dp: 1}, batch: {global: 8, "   \
  "micro: 1}, "                                                                                    \
  "precision: bf16}\n"                                                                             \
  "validation: {group: mine, values: {note: {no: {refuse: not this one}, other: \"\"}}}\n"

static void put(const char *folder, const char *name, const char *text) {
  g_autofree char *path = g_build_filename(folder, name, NULL);
  g_assert_true(g_file_set_contents(path, text, -1, NULL));
}

/* Two sets of the group, by its name: a line each, one compared with no error (4 GPUs where 4
 * are), two refused. */
static void test_group(void) {
  g_autofree char *folder = g_dir_make_tmp("orrery-group-XXXXXX", NULL);
  g_autofree char *sets = g_build_filename(folder, "validation-sets", NULL);
  g_assert_cmpint(g_mkdir(sets, 0700), ==, 0);
  put(sets, "a.yaml", SCENARIO);
  put(sets, "a.csv", "label,measured.n_gpus,note\nfine,4,\nwrong,4,no\nalso,4,no\n");
  put(sets, "b.yaml", SCENARIO);
  put(sets, "b.csv", "label,measured.n_gpus,measured.memory_peak_bytes\nhalf,8,1 GiB\n");
  const char *argv[] = {
      g_getenv("ORRERY_BINARY"), "--library", folder, "validate", "mine", "--db", "none", NULL};
  g_autofree char *out = NULL, *err = NULL;
  g_autoptr(GError) error = NULL;
  int status = 0;
  g_spawn_sync(folder, (char **)argv, NULL, G_SPAWN_DEFAULT, NULL, NULL, &out, &err, &status,
               &error);
  g_assert_no_error(error);
  g_test_message("%s%s", out, err);
  g_assert_cmpint(WEXITSTATUS(status), ==, 0);
  g_assert_nonnull(strstr(out, "  a    time           1         2     0.0 %"));
  g_assert_nonnull(strstr(out, "  b    time           1         0    50.0 %   -50.0 %"));
  g_assert_nonnull(strstr(out, "       memory         1"));
  g_assert_nonnull(strstr(out, "     2  a: not this one"));
  g_assert_null(strstr(out, "fine  ")); /* rows are not listed */
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/validate-group/error", test_error);
  g_test_add_func("/validate-group/reason", test_reason);
  g_test_add_func("/validate-group/group", test_group);
  return g_test_run();
}

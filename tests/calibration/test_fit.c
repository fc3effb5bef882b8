/*
 * test_fit.c - raw rows become a profile that reads back, with constants and errors that can be
 * checked by hand; the data of the plot.
 */
#include "calibration/fit/fit.h"

#include <glib/gstdio.h>

#include "calibration/crossval/crossval.h"
#include "calibration/profile/profile.h"
#include "calibration/profile/profile_private.h"
#include "sim/base/fault.h"
#include "tests/base/field_lint.h"
#include "tests/calibration/calibration_sample.h"

static char *folder;

static void put(const char *name, const char *text) {
  g_autofree char *path = g_build_filename(folder, name, NULL);
  g_assert_true(g_file_set_contents(path, text, -1, NULL));
}

/* 64 products of up to 8192^3 at 80 % of 100 TFLOP/s and not below 4 us; the last reaches 90 %. */
static void put_gemm(void) {
  g_autoptr(GString) text = g_string_new("# device: round\ngemm_dtype,m,n,k,latency_us\n");
  for (int m = 0; m < 4; m++)
    for (int n = 0; n < 4; n++)
      for (int k = 0; k < 4; k++) {
        double flops = 2.0 * (1024 << m) * (1024 << n) * (1024 << k),
               share = m == 3 && n == 3 && k == 3 ? 0.9 : 0.8;
        g_string_append_printf(text, "bfloat16,%d,%d,%d,%.4f\n", 1024 << m, 1024 << n, 1024 << k,
                               MAX(4, flops / (1e14 * share) * 1e6));
      }
  put("gemm.csv", text->str);
}

/* All-reduces over 2 and 4 at 5 + 2 steps and 5 + 6 steps of 1 us. */
static void put_collectives(void) {
  put("collectives.csv",
      "system,table,dtype,version,op,n_gpus,bytes,latency_us\n"
      "round,nccl_perf,half,2,all_reduce,2,1024,7\nround,nccl_perf,half,2,all_reduce,2,4096,9\n"
      "round,nccl_perf,half,2,all_reduce,4,1024,11\nround,nccl_perf,half,2,all_reduce,4,4096,13\n");
}

static char *fit(GError **error) {
  g_autofree char *collectives = g_build_filename(folder, "collectives.csv", NULL);
  OrrFitOrder order = {
      .folder = folder, .collectives_csv = collectives, .system = "round", .name = "mine"};
  return orr_fit(&order, &round_device, error);
}

static void test_constants(void) {
  g_autoptr(GError) error = NULL;
  put_gemm();
  put_collectives();
  g_autofree char *text = fit(&error);
  g_assert_no_error(error);
  g_autoptr(OrrProfile) profile = sample_profile(text);
  g_assert_cmpstr(orr_profile_name(profile), ==, "mine");
  g_assert_cmpstr(orr_profile_device(profile), ==, "round");
  /* 1024^3 takes 26.8 us at 80 %, the shortest */
  assert_near(profile->constants.kernel_overhead_s, 2 * 1024.0 * 1024 * 1024 / 0.8e14, 1e-3);
  assert_near(profile->constants.gemm_efficiency, 0.9, 1e-3);
  assert_near(profile->constants.collective_launch_s, 5e-6, 1e-3);
  assert_near(profile->constants.scale_up_step_s, 1e-6, 1e-3);
  g_assert_cmpfloat(profile->constants.host_launch_s, ==, 5e-6); /* the default: no row fixes it */
  g_assert_nonnull(strstr(profile->constants.source, "gemm-efficiency: the best GEMM row"));
}

static void test_errors_are_written(void) {
  g_autoptr(GError) error = NULL;
  g_autofree char *text = fit(&error);
  g_assert_no_error(error);
  g_autoptr(OrrProfile) profile = sample_profile(text);
  g_autoptr(GPtrArray) tables = orr_crossval_run(profile, &round_device, NULL, &error);
  g_assert_no_error(error);
  g_autofree char *section = orr_crossval_yaml(tables);
  g_assert_nonnull(strstr(text, section)); /* what the profile says is what it would say again */
  const OrrProfileErrors *last = profile->errors->pdata[profile->errors->len - 1];
  g_assert_true(g_str_has_prefix(last->kernels, "gemm bf16"));
  g_autofree char *table = orr_profile_errors_describe(profile);
  g_assert_nonnull(strstr(table, "gemm bf16"));
  g_autofree char *wrong = orr_field_lint(&orr_profile_errors_table);
  g_assert_null(wrong);
}

static void test_same_twice(void) {
  g_autofree char *first = fit(NULL), *second = fit(NULL);
  g_assert_cmpstr(first, ==, second);
}

static void test_refused(void) {
  g_autoptr(GError) error = NULL;
  put("gemm.csv",
      "gemm_dtype,m,n,k,latency_us\nbfloat16,1,1,1,nan\nbfloat16,1,1,1,5\nbfloat16,1,1,1,-5\n");
  g_assert_null(fit(&error));
  g_assert_error(error, ORR_FAULT, ORR_FAULT_DOCUMENT);
  g_assert_nonnull(strstr(error->message, ":2:"));
  g_assert_nonnull(strstr(error->message, ":4:"));
}

/* Products during all-reduces take 12 for 10 and 28 for 20 us: 1.3; the all-reduce 150 and 250
 * for 100: 2. Copies of both directions are one kind: (6 / 5 + 9 / 6) / 2 = 1.35. With 8 blocks the
 * all-reduce alone takes 1.6 times as long, 180 for 160 during a product, which takes 11 for 10. A
 * copy without a row alone adds nothing; a duplicate row, an unknown word, or a bad time, is
 * reported. */
static void test_overlap(void) {
  const char *head = "# device: round\nwatched,companion,bytes,blocks,m,n,k,latency_us\n";
  const char *rows =
      "gemm,nothing,0,0,64,64,64,10\ngemm,nothing,0,0,128,64,64,20\n"
      "all-reduce,nothing,1024,0,0,0,0,100\ngemm,all-reduce,1024,0,64,64,64,12\n"
      "gemm,all-reduce,1024,0,128,64,64,28\nall-reduce,gemm,1024,0,64,64,64,150\n"
      "all-reduce,gemm,1024,0,128,64,64,250\ndevice,gemm,1024,0,64,64,64,9\n"
      "host-to-device,nothing,64,0,0,0,0,5\ndevice-to-host,nothing,64,0,0,0,0,6\n"
      "host-to-device,all-reduce,64,0,0,0,0,6\ndevice-to-host,all-reduce,64,0,0,0,0,9\n"
      "all-reduce,nothing,1024,8,0,0,0,160\nall-reduce,gemm,1024,8,64,64,64,180\n"
      "gemm,all-reduce,1024,8,64,64,64,11\n";
  g_autofree char *text = g_strconcat(head, rows, NULL);
  g_autofree char *bad = g_strconcat(
      text, "gemm,nothing,0,0,64,64,64,10\ngemm,nothing,0,0,1,1,1,0\ngemm,hold,0,0,1,1,1,1\n",
      NULL);
  g_autoptr(GError) error = NULL;
  OrrFitOverlap overlap;
  put("interference.csv", text);
  g_assert_true(orr_fit_overlap(folder, &overlap, &error));
  assert_near(overlap.by[ORR_FIT_COMPUTE][ORR_FIT_COMM].mean, 1.3, 1e-9);
  assert_near(overlap.by[ORR_FIT_COMM][ORR_FIT_COMPUTE].mean, 2, 1e-9);
  assert_near(overlap.by[ORR_FIT_COPY][ORR_FIT_COMM].mean, 1.35, 1e-9);
  g_assert_cmpuint(overlap.by[ORR_FIT_MEMORY][ORR_FIT_COMPUTE].n, ==, 0);
  g_assert_cmpuint(overlap.n_limited, ==, 1);
  assert_near(overlap.limited[0].alone.mean, 1.6, 1e-9);
  assert_near(overlap.limited[0].comm.mean, 1.125, 1e-9);
  assert_near(overlap.limited[0].compute.mean, 1.1, 1e-9);
  put("interference.csv", bad);
  g_assert_false(orr_fit_overlap(folder, &overlap, &error));
  g_assert_error(error, ORR_FAULT, ORR_FAULT_DOCUMENT);
  g_assert_nonnull(strstr(error->message, ":18:"));
  g_assert_nonnull(strstr(error->message, "the same row as line 3"));
  g_assert_nonnull(strstr(error->message, ":19:"));
  g_assert_nonnull(strstr(error->message, "companion is hold: want gemm, host-to-device"));
  put("interference.csv", head);
  g_clear_error(&error);
  g_assert_true(orr_fit_overlap(folder, &overlap, &error));
  g_assert_cmpfloat(overlap.by[ORR_FIT_COMPUTE][ORR_FIT_COMM].mean, ==, 1);
}

/* Rows that do not show the slow-down leave it out, and the profile says that it is assumed. */
static void test_overlap_is_assumed(void) {
  put_gemm();
  g_autofree char *text = fit(NULL);
  g_autoptr(OrrProfile) profile = sample_profile(text);
  g_assert_cmpfloat(profile->constants.interference.compute_by_comm, ==, 1);
  g_assert_nonnull(strstr(profile->constants.source, "overlap-slowdown: assumed 1"));
  g_assert_null(strstr(text, "\n  overlap-slowdown: "));
}

/* A block a table, its title first; of 64 points every 16th stays where 4 are wanted. */
static void test_plot_data(void) {
  put_gemm();
  g_autofree char *text = fit(NULL);
  g_autoptr(OrrProfile) profile = sample_profile(text);
  g_autoptr(GPtrArray) tables = orr_crossval_run(profile, &round_device, NULL, NULL);
  g_autofree char *data = orr_crossval_plot_data(tables, 4);
  g_auto(GStrv) blocks = g_strsplit(data, "\n\n\n", -1);
  g_assert_cmpuint(g_strv_length(blocks), ==, 2);
  g_assert_true(g_str_has_prefix(blocks[0], "\"all_reduce, 4 shapes: mean "));
  g_auto(GStrv) lines = g_strsplit(g_strstrip(blocks[1]), "\n", -1);
  g_assert_cmpuint(g_strv_length(lines), ==, 1 + 4);
  g_autoptr(GError) error = NULL;
  g_assert_false(orr_crossval_plot(tables, "t", "none.gp", "x.bmp", &error));
  g_assert_error(error, ORR_FAULT, ORR_FAULT_USAGE);
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  folder = g_dir_make_tmp("orrery-fit-XXXXXX", NULL);
  g_test_add_func("/fit/constants", test_constants);
  g_test_add_func("/fit/errors-are-written", test_errors_are_written);
  g_test_add_func("/fit/same-twice", test_same_twice);
  g_test_add_func("/fit/refused", test_refused);
  g_test_add_func("/fit/overlap", test_overlap);
  g_test_add_func("/fit/overlap-is-assumed", test_overlap_is_assumed);
  g_test_add_func("/fit/plot-data", test_plot_data);
  int status = g_test_run();
  static const char *const names[] = {"gemm.csv", "collectives.csv", "interference.csv"};
  for (guint i = 0; i < G_N_ELEMENTS(names); i++) {
    g_autofree char *path = g_build_filename(folder, names[i], NULL);
    g_remove(path);
  }
  g_rmdir(folder);
  return status;
}

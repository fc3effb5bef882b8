/*
 * test_thin.c - what thinning keeps is what the rest cannot tell: better than an even choice of as
 * many rows.
 */
#include "calibration/fit/measured_private.h"

#include <math.h>

#include "calibration/profile/profile_private.h"
#include "sim/base/fault.h"
#include "tests/calibration/calibration_sample.h"

enum { N_AXIS = 12, N_ROWS = N_AXIS * N_AXIS * N_AXIS };

/* Microseconds: a roofline of the round device, and from m = 512 on, where n is 1024 or more,
 * another kernel that takes 1.6 times as long: a step that only rows next to it show. */
static double us_of(double m, double n, double k) {
  const double work = fmax(2 * m * n * k / 8e13, 2 * (m * k + n * k + m * n) / 8e11) * 1e6;
  return (3 + work) * (m >= 512 && n >= 1024 ? 1.6 : 1);
}

/* 12 x 12 x 12 products, 8 to 16384 each way; the row is there where @keep says so (NULL:
 * everywhere). */
static OrrProfile *make(gboolean (*keep)(guint row)) {
  g_autoptr(GString) text =
      g_string_new("schema: profile/1\nname: p\ndevice: round\nconstants: {kernel-overhead: 3 us}\n"
                   "gemm:\n- dtype: bf16\n  source: s\n  m: \"");
  guint row = 0;
  for (int m = 0; m < N_AXIS; m++) g_string_append_printf(text, "%d ", 8 << m);
  g_string_append(text, "\"\n  rows:\n");
  for (int n = 0; n < N_AXIS; n++)
    for (int k = 0; k < N_AXIS; k++) {
      g_string_append_printf(text, "  - {n: %d, k: %d, us: \"", 8 << n, 8 << k);
      for (int m = 0; m < N_AXIS; m++, row++)
        if (!keep || keep(row))
          g_string_append_printf(text, "%.6g ", us_of(8 << m, 8 << n, 8 << k));
        else
          g_string_append(text, "- ");
      g_string_append(text, "\"}\n");
    }
  return sample_profile(text->str);
}

static gboolean every_seventh(guint row) { return row % 7 == 3; }

/* Mean error over all products. */
static double mean_error(const OrrProfile *profile) {
  g_autoptr(OrrCostModel) model = model_of(profile, &round_device);
  double sum = 0;
  for (int m = 0; m < N_AXIS; m++)
    for (int n = 0; n < N_AXIS; n++)
      for (int k = 0; k < N_AXIS; k++)
        sum += fabs(gemm_cost(model, ORR_BF16, 1, 8 << m, 8 << n, 8 << k).time_s * 1e6 /
                        us_of(8 << m, 8 << n, 8 << k) -
                    1);
  return sum / N_ROWS;
}

static guint count_rows(const OrrProfile *profile) {
  guint n = 0;
  const OrrProfileGemm *table = profile->gemm->pdata[0];
  for (guint i = 0; i < table->rows->len; i++) {
    g_autoptr(GArray) us =
        orr_profile_numbers(((OrrProfileGemmRow *)table->rows->pdata[i])->us, TRUE, NULL);
    guint of_line = 0;
    for (guint k = 0; k < us->len; k++) of_line += !isnan(g_array_index(us, double, k));
    g_assert_cmpuint(of_line, >, 0); /* lines with nothing left are gone */
    n += of_line;
  }
  return n;
}

/* A seventh of the rows, chosen, is less than two thirds as far off as every seventh; what it
 * says of the rows left out is what one finds. */
static void test_beats_even(void) {
  g_autoptr(GError) error = NULL;
  g_autoptr(OrrProfile) chosen = make(NULL), even = make(every_seventh);
  OrrThinned thinned;
  const guint n = count_rows(even);
  g_assert_true(orr_thin(chosen, &round_device, n, &thinned, &error));
  g_assert_no_error(error);
  g_assert_cmpuint(thinned.n_before, ==, N_ROWS);
  g_assert_cmpuint(thinned.n_kept, ==, n);
  g_assert_cmpuint(thinned.left_out.n, ==, N_ROWS - n);
  g_assert_cmpuint(count_rows(chosen), ==, n);
  g_assert_cmpfloat(mean_error(chosen), <, 0.67 * mean_error(even));
  /* rows that are kept are answered exactly: the mean over all is the mean over the rows left out,
   * times their fraction */
  g_assert_cmpfloat_with_epsilon(mean_error(chosen), thinned.left_out.mape * (N_ROWS - n) / N_ROWS,
                                 0.002);
}

/* More rows never make it much worse, and as many as there are change nothing. */
static void test_more_is_better(void) {
  double last = INFINITY;
  for (guint n = 100; n <= 1600; n *= 2) {
    g_autoptr(OrrProfile) profile = make(NULL);
    OrrThinned thinned;
    g_assert_true(orr_thin(profile, &round_device, n, &thinned, NULL));
    const double error = mean_error(profile);
    g_assert_cmpfloat(error, <, last * 1.05);
    last = error;
  }
  g_autoptr(OrrProfile) whole = make(NULL);
  OrrThinned thinned;
  g_assert_true(orr_thin(whole, &round_device, N_ROWS, &thinned, NULL));
  g_assert_cmpuint(thinned.n_kept, ==, N_ROWS);
  g_assert_cmpuint(thinned.left_out.n, ==, 0);
  g_assert_cmpfloat(mean_error(whole), <, 1e-5);
}

/* Attention and experts, with collectives left whole: a shipped profile of all of them. */
static void test_shipped(void) {
  g_autoptr(GError) error = NULL;
  g_autoptr(OrrProfile) profile = shipped_profile("a100-80gb-sxm");
  const guint n_collectives = orr_profile_length(profile->collectives);
  OrrThinned thinned;
  g_assert_true(orr_thin(profile, &a100_device, 8000, &thinned, &error));
  g_assert_no_error(error);
  g_assert_cmpuint(thinned.n_kept, ==, 8000);
  g_assert_cmpuint(orr_profile_length(profile->collectives), ==, n_collectives);
  g_assert_cmpfloat(thinned.left_out.mape, <, 0.03); /* repeats of a kernel differ by 1 to 3 % */
  g_autoptr(OrrCostModel) model = model_of(profile, &a100_device);
  g_assert_nonnull(model);
}

static void test_too_few(void) {
  g_autoptr(GError) error = NULL;
  g_autoptr(OrrProfile) profile = make(NULL);
  OrrThinned thinned;
  g_assert_false(orr_thin(profile, &round_device, 1, &thinned, &error));
  g_assert_error(error, ORR_FAULT, ORR_FAULT_USAGE);
  g_assert_nonnull(strstr(error->message, "keep at least 2"));
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/thin/beats-even", test_beats_even);
  g_test_add_func("/thin/more-is-better", test_more_is_better);
  g_test_add_func("/thin/shipped", test_shipped);
  g_test_add_func("/thin/too-few", test_too_few);
  return g_test_run();
}

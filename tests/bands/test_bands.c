/*
 * test_bands.c - the bands of answers, from tables of residuals made up here, so that each bound
 * can be derived by hand. All rows are like the question in everything unless a test says so: they
 * weigh the same.
 */
#include <math.h>
#include <string.h>

#include "sim/bands/band.h"
#include "sim/bands/band_metrics.h"

/* The likeness of a training step; texts are interned, as in files. */
static OrrLikenessRow step(void) {
  OrrLikenessRow row;
  g_assert_true(orr_residuals_likeness_parse(
      "training\tmegatron\t2024\th100-sxm\thopper\tdgx-h100-superpod\t8\tscale-up\t"
      "gpt\tdense\t1e10\tbf16\t"
      "step\t1f1b\tnone\tnone\t8\t1\t8\t1\t1\t1\t1\t64\t1\t\t\t2048\t\t\t\t\t0.6\t0.1\t\t0.2\t0.1\t"
      "0\t0\t0.5\t0.3\t0\t0.2\t0\t\t\tcompute",
      &row));
  return row;
}

static OrrLikenessRow closed_loop(void) {
  OrrLikenessRow row;
  g_assert_true(orr_residuals_likeness_parse(
      "serving\tvllm\t2024\th100-sxm\thopper\tdgx-h100-superpod\t8\t\t"
      "llama\tdense\t8e9\tbf16\t"
      "together\tvllm\t\t\t1\t1\t1\t1\t1\t\t1\t32\t\t32\tclosed-loop\t1000\t200\t0.2\t0.3\t\t0.6\t"
      "0.2\t\t0.2\t0\t0\t\t0.8\t0.1\t0\t0.1\t0\t\t\tmemory",
      &row));
  return row;
}

/* Adds a row whose measurement is exp(@log_error) times its simulation. */
static void add(OrrResiduals *residuals, const char *set, gint64 row, const OrrLikenessRow *like,
                const char *metric, double log_error) {
  OrrResidual residual = {.set = g_intern_string(set),
                          .part = g_intern_string(""),
                          .row = row,
                          .label = g_strdup("made up"),
                          .likeness = *like,
                          .n_answers = 1};
  residual.answers[0] = (OrrResidualAnswer){g_intern_string(metric), 10 * exp(log_error), 10};
  g_array_append_val(residuals->rows, residual);
}

/* @n rows in each of the sets a, b, c, whose errors together are 0.01 k for k = 1 to 3 n: set a has
 * the least ones. */
static OrrResiduals *three_sets(const OrrLikenessRow *like, guint n, const char *metric) {
  OrrResiduals *residuals = orr_residuals_new();
  residuals->revision = ORR_MODEL_REVISION;
  for (guint i = 0; i < 3 * n; i++) {
    const char *const sets[] = {"a", "b", "c"};
    add(residuals, sets[i / n], i % n + 1, like, metric, 0.01 * (i + 1));
  }
  return residuals;
}

static OrrBand ask(const OrrResiduals *residuals, const OrrLikenessRow *like, const char *metric,
                   const char *without_set, gint64 without_row) {
  g_autoptr(OrrBands) bands = orr_bands_of(residuals);
  const OrrBandQuestion question = {.likeness = like,
                                    .metric = metric,
                                    .level = 0.8,
                                    .without_set = g_intern_string(without_set),
                                    .without_row = without_row};
  return orr_bands_ask(bands, &question, NULL);
}

static void assert_close(double got, double wanted) {
  g_assert_cmpfloat_with_epsilon(got, wanted, 1e-9);
}

/* Bands of rows at distance 0 are scaled about their middle by a factor that is fitted (band.c). It
 * is derived here from 39 rows of errors 0.01 to 0.39: their ranks (below) are 0.04 and 0.36, their
 * middle is 0.20. */
static double scaling(void) {
  const OrrLikenessRow like = step();
  g_autoptr(OrrResiduals) residuals = three_sets(&like, 13, "iteration_time_s");
  const OrrBand band = ask(residuals, &like, "iteration_time_s", NULL, 0);
  const double factor = (log(band.high) - 0.20) / 0.16;
  g_assert_true(factor > 0.5 && factor < 1.5);
  return factor;
}

/* @low and @high: logarithms of the ranks from above and from below. */
static void assert_bounds(const OrrBand *band, double low, double middle, double high) {
  const double factor = scaling();
  assert_close(band->low, exp(middle + factor * (low - middle)));
  assert_close(band->high, exp(middle + factor * (high - middle)));
}

/* 39 rows of weight 1: with the new one 40, whose 0.9 is rank 36 from below and from above, 0.36
 * and 0.04, and whose half is rank 20, 0.20. The bias is the mean of exp(-error) - 1. */
static void test_by_hand(void) {
  const OrrLikenessRow like = step();
  g_autoptr(OrrResiduals) residuals = three_sets(&like, 13, "iteration_time_s");
  const OrrBand band = ask(residuals, &like, "iteration_time_s", NULL, 0);
  double bias = 0;
  for (int i = 1; i <= 39; i++) bias += (exp(-0.01 * i) - 1) / 39;
  g_assert_cmpint(band.quality, ==, ORR_BAND_GOOD);
  g_assert_cmpstr(band.reason, ==, "");
  g_assert_cmpuint(band.n_rows, ==, 39);
  g_assert_cmpfloat(band.level, ==, 0.8);
  assert_bounds(&band, 0.04, 0.20, 0.36);
  assert_close(band.bias, bias);
}

static OrrBand ask_half(const OrrResiduals *residuals, const OrrLikenessRow *like) {
  g_autoptr(OrrBands) bands = orr_bands_of(residuals);
  const OrrBandQuestion question = {.likeness = like, .metric = "iteration_time_s", .level = 0.5};
  return orr_bands_ask(bands, &question, NULL);
}

/* A lower level: 0.75 of 40 is rank 30: 0.30 and 0.10. Of another model three campaigns leave 2 / 3
 * to Laplace's distribution through the bounds of 80 %, log 2 / log 5 of 0.16 from the middle. */
static void test_level(void) {
  const OrrLikenessRow like = step();
  OrrLikenessRow other = like;
  g_autoptr(OrrResiduals) residuals = three_sets(&like, 13, "iteration_time_s");
  const OrrBand own = ask_half(residuals, &like);
  assert_bounds(&own, 0.10, 0.20, 0.30);
  other.model = (char *)g_intern_string("another");
  const OrrBand band = ask_half(residuals, &other);
  const double half = 0.10 / 3 + 2.0 / 3 * 0.16 * log(2) / log(5);
  assert_bounds(&band, 0.20 - half, 0.20, 0.20 + half);
}

/* @n campaigns of 12 rows each, in sets a, b, ..., with the same errors 0.01 to 0.12. */
static OrrResiduals *alike_sets(const OrrLikenessRow *likes, guint n) {
  OrrResiduals *residuals = orr_residuals_new();
  residuals->revision = ORR_MODEL_REVISION;
  for (guint i = 0; i < n * 12; i++) {
    const char set[] = {(char)('a' + i / 12), '\0'};
    add(residuals, set, i % 12 + 1, &likes[i / 12], "iteration_time_s", 0.01 * (i % 12 + 1));
  }
  return residuals;
}

/* Runs of another model: from one campaign bounds are 1.5 times as far from their middle as from
 * two or four, and only four models in two campaigns or more are enough for a good band. Runs of
 * the very model need no others. */
static void test_sources_needed(void) {
  const OrrLikenessRow like = step();
  OrrLikenessRow others[4] = {like, like, like, like};
  double width[5] = {0};
  for (guint i = 0; i < 4; i++)
    others[i].model = (char *)g_intern_string((char[]){'m', (char)('0' + i), 0});
  for (guint n = 1; n <= 4; n++) {
    g_autoptr(OrrResiduals) residuals = alike_sets(others, n);
    const OrrBand band = ask(residuals, &like, "iteration_time_s", NULL, 0);
    width[n] = log(band.high / band.low);
    g_assert_cmpint(band.quality, ==, n < 4 ? ORR_BAND_WEAK : ORR_BAND_GOOD);
    g_assert_cmpstr(band.reason, ==,
                    n == 1  ? "few campaigns measured such runs"
                    : n < 4 ? "few measured models are like this one"
                            : "");
  }
  /* 12 rows and one: 0.9 of 13 is rank 12; 24 rows and one: 0.9 of 25 is rank 23, which is one of
   * the two largest errors, too; 48 and one: 44.1 is rank 45 */
  assert_close(width[1] / width[2], 1.5);
  assert_close(width[4], width[2]);
  g_autoptr(OrrResiduals) own = alike_sets(&like, 1);
  g_assert_cmpint(ask(own, &like, "iteration_time_s", NULL, 0).quality, ==, ORR_BAND_GOOD);
}

/* A constant that rows of other models alone determined makes a good band weak, with the same
 * bounds. */
static void test_fitted_elsewhere(void) {
  OrrLikenessRow like = step();
  g_autoptr(OrrResiduals) residuals = three_sets(&like, 13, "iteration_time_s");
  const OrrBand plain = ask(residuals, &like, "iteration_time_s", NULL, 0);
  like.fitted = (char *)g_intern_string("host.dispatch of gpt/bert+driver.sample of gpt");
  g_assert_cmpint(ask(residuals, &like, "iteration_time_s", NULL, 0).quality, ==, ORR_BAND_GOOD);
  like.fitted = (char *)g_intern_string("host.dispatch of gpt/bert+driver.sample of llama/t5");
  const OrrBand band = ask(residuals, &like, "iteration_time_s", NULL, 0);
  g_assert_cmpint(band.quality, ==, ORR_BAND_WEAK);
  g_assert_cmpstr(band.reason, ==, "driver.sample was fitted to llama, t5 alone");
  assert_close(band.low, plain.low);
  assert_close(band.high, plain.high);
}

/* A model that ran on other software, which ran other models: the reason says so. */
static void test_new_on_software(void) {
  const OrrLikenessRow like = step();
  OrrLikenessRow others[2] = {like, like};
  others[0].model = (char *)g_intern_string("another");
  others[1].stack = (char *)g_intern_string("another");
  g_autoptr(OrrResiduals) residuals = alike_sets(others, 2);
  const OrrBand band = ask(residuals, &like, "iteration_time_s", NULL, 0);
  g_assert_cmpint(band.quality, ==, ORR_BAND_WEAK);
  g_assert_cmpstr(band.reason, ==, "no measured run of this model with this software");
}

/* Without set a 26 rows speak, 0.14 to 0.39: 0.9 of 27 is 24.3, rank 25: 0.38 from below, 0.15 from
 * above; the middle of ranks 14 is 0.265. Without one row of it (line 13, 0.13) 38 do: 0.9 of 39 is
 * 35.1, rank 36: 0.37, as 0.13 is missing, and 0.03; ranks 20 are 0.21 and 0.20. */
static void test_left_out(void) {
  const OrrLikenessRow like = step();
  g_autoptr(OrrResiduals) residuals = three_sets(&like, 13, "iteration_time_s");
  const OrrBand without_set = ask(residuals, &like, "iteration_time_s", "a", 0);
  g_assert_cmpuint(without_set.n_rows, ==, 26);
  assert_bounds(&without_set, 0.15, 0.265, 0.38);
  const OrrBand without_row = ask(residuals, &like, "iteration_time_s", "a", 13);
  g_assert_cmpuint(without_row.n_rows, ==, 38);
  assert_bounds(&without_row, 0.03, 0.205, 0.37);
  const OrrBand unknown = ask(residuals, &like, "iteration_time_s", "d", 0);
  g_assert_cmpuint(unknown.n_rows, ==, 39);
}

/* What is measured as a rate speaks for a time and the other way round: a step that takes exp(0.36)
 * times as long has exp(-0.36) of the tokens per second. */
static void test_rates(void) {
  const OrrLikenessRow like = step();
  g_autoptr(OrrResiduals) times = three_sets(&like, 13, "iteration_time_s");
  g_autoptr(OrrResiduals) rates = three_sets(&like, 13, "tokens_per_s_per_gpu");
  const OrrBand rate = ask(times, &like, "mfu", NULL, 0);
  assert_bounds(&rate, -0.36, -0.20, -0.04);
  const OrrBand same = ask(rates, &like, "tokens_per_s_per_gpu", NULL, 0);
  assert_bounds(&same, 0.04, 0.20, 0.36);
  const OrrBand time = ask(rates, &like, "iteration_time_s", NULL, 0);
  assert_bounds(&time, -0.36, -0.20, -0.04);
}

static void assert_none(const OrrBand *band, const char *reason) {
  g_assert_cmpint(band->quality, ==, ORR_BAND_NONE);
  g_assert_true(isnan(band->low) && isnan(band->high) && isnan(band->bias));
  g_assert_nonnull(strstr(band->reason, reason));
}

/* No rows; rows of another quantity; a result that is not in the table; fewer rows than a band
 * needs; a level that the rows cannot reach. */
static void test_none(void) {
  const OrrLikenessRow like = step();
  g_autoptr(OrrResiduals) empty = orr_residuals_new();
  OrrBand band = ask(empty, &like, "iteration_time_s", NULL, 0);
  assert_none(&band, "nothing like it was measured");
  g_autoptr(OrrResiduals) memory = three_sets(&like, 13, "memory_peak_bytes");
  band = ask(memory, &like, "iteration_time_s", NULL, 0);
  assert_none(&band, "nothing like it was measured");
  band = ask(memory, &like, "bubble_fraction", NULL, 0);
  assert_none(&band, "no measurement of this result is known");
  g_autoptr(OrrResiduals) few = three_sets(&like, 2, "iteration_time_s");
  band = ask(few, &like, "iteration_time_s", NULL, 0);
  assert_none(&band, "too few measured runs");
  g_autoptr(OrrResiduals) enough = three_sets(&like, 5, "iteration_time_s");
  g_autoptr(OrrBands) bands = orr_bands_of(enough);
  const OrrBandQuestion question = {.likeness = &like, .metric = "iteration_time_s", .level = 0.99};
  band = orr_bands_ask(bands, &question, NULL); /* 0.995 of 16 is beyond 15 */
  assert_none(&band, "too few measured runs for this level");
}

static int compare_sets(const void *a, const void *b) {
  const OrrResidual *one = a, *other = b;
  const int sets = strcmp(one->set, other->set);
  return sets ? sets : (one->row > other->row) - (one->row < other->row);
}

/* Of rows that have nothing in common with the question all speak, with the same say for each
 * campaign. Thirteen rows each of three sets: nine tenths of the weight are reached with row 36 of
 * 39, from above with row 4, half with row 20; three campaigns widen by 1.1 + 1.5 / 3. */
static void test_unlike(void) {
  const OrrLikenessRow like = step();
  OrrLikenessRow far = like;
  far.stack = far.device = far.architecture = far.cluster = far.model = far.family = far.format =
      far.form = far.method = far.bound = (char *)g_intern_static_string("another");
  far.gpus = far.nodes = far.tp = far.pp = far.batch = far.parameters = 1e9;
  far.gemm = far.attention = far.memory = 0;
  far.comm = far.carried = far.outside = 1;
  g_autoptr(OrrResiduals) residuals = three_sets(&far, 13, "iteration_time_s");
  OrrBand band = ask(residuals, &like, "iteration_time_s", NULL, 0);
  g_assert_cmpint(band.quality, ==, ORR_BAND_WEAK);
  g_assert_cmpstr(band.reason, ==, "far from all measured runs: no measured run on this device");
  assert_close(log(band.low), 0.20 - 1.6 * 0.16);
  assert_close(log(band.high), 0.20 + 1.6 * 0.16);
  assert_close(log(band.middle), 0.20);
  assert_close(band.sided, 1);
  g_assert_cmpuint(band.n_rows, ==, 39);
  /* 100 more rows of set a, all of error 0: it has a third of the weight as before, so of its own
   * bounds 0.01 to 0.13 nearly nothing is left, and the others' stay */
  for (guint i = 0; i < 100; i++) add(residuals, "a", 14 + i, &far, "iteration_time_s", 0);
  g_array_sort(residuals->rows, compare_sets);
  band = ask(residuals, &like, "iteration_time_s", NULL, 0);
  assert_close(log(band.low), 0.20 - 1.6 * 0.20);
  assert_close(log(band.high), 0.20 + 1.6 * 0.16);
  band = ask(residuals, &like, "iteration_time_s", "a", 0); /* two campaigns: 1.1 + 1.5 / 2 */
  assert_close(log(band.high / band.middle), 1.85 * (0.37 - 0.265));
}

/* One campaign does not say how campaigns differ, and 39 rows do not say where 99 % lie. */
static void test_unlike_few(void) {
  const OrrLikenessRow like = step();
  OrrLikenessRow far = like;
  far.gpus = far.nodes = far.tp = far.pp = 1e12;
  g_autoptr(OrrResiduals) one = orr_residuals_new();
  one->revision = ORR_MODEL_REVISION;
  for (guint i = 0; i < 39; i++) add(one, "a", i + 1, &far, "iteration_time_s", 0.01 * i);
  const OrrBand band = ask(one, &like, "iteration_time_s", NULL, 0);
  assert_none(&band, "too few measured runs");
  g_autoptr(OrrResiduals) three = three_sets(&far, 13, "iteration_time_s");
  g_autoptr(OrrBands) bands = orr_bands_of(three);
  const OrrBandQuestion question = {.likeness = &like, .metric = "iteration_time_s", .level = 0.99};
  const OrrBand sure = orr_bands_ask(bands, &question, NULL);
  assert_none(&sure, "too few measured runs for this level");
}

/* Kernels by the datasheet of an architecture that no row has: bounds are 1.3 times as wide for
 * training (band_unseen.c), next to rows that differ in nothing else and far from all rows. Rows of
 * the architecture, or kernels that were measured, take that away. */
static void test_datasheet(void) {
  OrrLikenessRow like = step(), other, far;
  like.modelled = 0.8;
  like.measured = like.interpolated = 0.1;
  other = like;
  other.architecture = (char *)g_intern_static_string("another");
  g_autoptr(OrrResiduals) near = three_sets(&other, 13, "iteration_time_s");
  OrrBand band = ask(near, &like, "iteration_time_s", NULL, 0);
  assert_close(log(band.high), 0.20 + 1.3 * scaling() * 0.16);
  assert_close(log(band.low), 0.20 - 1.3 * scaling() * 0.16);
  g_assert_cmpint(band.quality, ==, ORR_BAND_WEAK);
  far = other;
  far.gpus = far.nodes = far.tp = far.pp = 1e12;
  g_autoptr(OrrResiduals) all = three_sets(&far, 13, "iteration_time_s");
  band = ask(all, &like, "iteration_time_s", NULL, 0);
  assert_close(log(band.high), 0.20 + 1.3 * 1.6 * 0.16);
  like.modelled = 0.6;
  band = ask(near, &like, "iteration_time_s", NULL, 0);
  assert_bounds(&band, 0.04, 0.20, 0.36);
  far.architecture = like.architecture;
  like.modelled = 0.8;
  g_autoptr(OrrResiduals) seen = three_sets(&far, 13, "iteration_time_s");
  band = ask(seen, &like, "iteration_time_s", NULL, 0);
  assert_close(log(band.high), 0.20 + 1.6 * 0.16);
}

/* Kernels that are not the device's own, and 39 near rows of another device: three rows of the
 * question's software on its device, of models of 4,000 times its size and so far away, are 0.5 off
 * in the middle. The band of 80 % holds that, the lower bound and the middle stay; one of 50 % does
 * not, nor where the kernels were measured. */
static void test_platform(void) {
  OrrLikenessRow like = step(), other, far;
  like.carried = 0.8;
  like.measured = 0.2;
  like.interpolated = like.modelled = 0;
  other = far = like;
  other.device = (char *)g_intern_static_string("another");
  far.parameters = far.gpus = far.nodes = like.parameters * 4e12;
  g_autoptr(OrrResiduals) residuals = three_sets(&other, 13, "iteration_time_s");
  g_autoptr(OrrResiduals) alone = three_sets(&other, 13, "iteration_time_s");
  for (guint i = 0; i < 3; i++) add(residuals, "d", i + 1, &far, "iteration_time_s", 0.4 + 0.1 * i);
  const OrrBand band = ask(residuals, &like, "iteration_time_s", NULL, 0),
                before = ask(alone, &like, "iteration_time_s", NULL, 0);
  assert_close(log(band.high), 0.5);
  g_assert_cmpfloat(log(before.high), <, 0.4);
  g_assert_cmpfloat_with_epsilon(band.low, before.low, 1e-2);
  g_assert_cmpfloat_with_epsilon(band.middle, before.middle, 1e-2);
  g_autoptr(OrrBands) bands = orr_bands_of(residuals);
  OrrBandQuestion question = {.likeness = &like, .metric = "iteration_time_s", .level = 0.5};
  g_assert_cmpfloat(log(orr_bands_ask(bands, &question, NULL).high), <, 0.4);
  like.carried = 0, like.measured = 1;
  question.level = 0.8;
  g_assert_cmpfloat(log(orr_bands_ask(bands, &question, NULL).high), <, 0.4);
}

/* 3 rows of the architecture and 36 of another, 0.2 away (distance.c), have 3 / (3 + 36 w) = 0.0958
 * of the weight, w = exp(-1.5 (0.2 / 0.5)^2): the factor's power is 1 - 0.0958 / 0.2 = 0.521. Just
 * below the 70 % that are mostly modelled there is no factor, and nothing else differs. */
static void test_datasheet_in_part(void) {
  OrrLikenessRow like = step(), other;
  like.modelled = 0.7;
  like.measured = 0.2;
  like.interpolated = 0.1;
  other = like;
  other.architecture = (char *)g_intern_static_string("another");
  g_autoptr(OrrResiduals) residuals = three_sets(&other, 13, "iteration_time_s");
  for (guint i = 0; i < 3; i++)
    g_array_index(residuals->rows, OrrResidual, 18 + i).likeness.architecture = like.architecture;
  const OrrBand wide = ask(residuals, &like, "iteration_time_s", NULL, 0);
  like.modelled = 0.7 - 1e-6;
  const OrrBand narrow = ask(residuals, &like, "iteration_time_s", NULL, 0);
  g_assert_cmpint(wide.quality, ==, ORR_BAND_WEAK);
  g_assert_cmpstr(wide.reason, ==, "most kernel times follow from a datasheet");
  g_assert_cmpint(narrow.quality, ==, ORR_BAND_GOOD);
  g_assert_cmpfloat_with_epsilon(log(wide.high / wide.low) / log(narrow.high / narrow.low),
                                 pow(1.3, 0.521), 1e-3);
}

/* With growing distance the quality never rises, and the reason says what differs, then that all
 * rows are far. */
static void test_weak(void) {
  const OrrLikenessRow like = step();
  OrrBandQuality quality = ORR_BAND_GOOD;
  gboolean was_near = FALSE, was_far = FALSE;
  for (int octaves = 0; octaves < 60; octaves++) {
    OrrLikenessRow other = like;
    other.device = (char *)g_intern_static_string("another");
    other.gpus = other.nodes = other.tp = like.tp * pow(2, octaves);
    g_autoptr(OrrResiduals) residuals = three_sets(&other, 13, "iteration_time_s");
    const OrrBand band = ask(residuals, &like, "iteration_time_s", NULL, 0);
    g_assert_cmpint(band.quality, <=, quality);
    quality = band.quality;
    if (quality == ORR_BAND_GOOD) continue;
    const gboolean is_far = g_str_has_prefix(band.reason, "far from all measured runs: ");
    g_assert_true(g_str_has_suffix(band.reason, "no measured run on this device"));
    g_assert_true(is_far || !was_far);
    was_near |= !is_far;
    was_far |= is_far;
  }
  g_assert_cmpint(quality, ==, ORR_BAND_WEAK);
  g_assert_true(was_near && was_far);
}

/* Rows near the question decide its band: 40 near ones that are right, 40 far ones that are a
 * factor of e off. */
static void test_near_rows_weigh_more(void) {
  const OrrLikenessRow like = step();
  OrrLikenessRow far = like;
  far.device = far.stack = far.family = (char *)g_intern_static_string("another");
  far.comm = 0.9;
  g_autoptr(OrrResiduals) residuals = three_sets(&like, 20, "iteration_time_s");
  for (int i = 0; i < 60; i++) {
    g_array_index(residuals->rows, OrrResidual, i).answers[0].measured = 10;
    add(residuals, "d", i + 1, &far, "iteration_time_s", 1);
  }
  const OrrBand band = ask(residuals, &like, "iteration_time_s", NULL, 0);
  assert_close(band.low, 1);
  g_assert_cmpfloat(band.high, <, exp(1));
}

/* Only means and medians are measured, so the band of a tail is a mean's and at most weak. */
static void test_tails(void) {
  const OrrLikenessRow like = closed_loop();
  g_autoptr(OrrResiduals) residuals = three_sets(&like, 13, "ttft_mean_s");
  const OrrBand mean = ask(residuals, &like, "ttft_mean_s", NULL, 0);
  const OrrBand tail = ask(residuals, &like, "ttft_p99_s", NULL, 0);
  g_assert_cmpint(mean.quality, ==, ORR_BAND_GOOD);
  g_assert_cmpint(tail.quality, ==, ORR_BAND_WEAK);
  g_assert_cmpstr(tail.reason, ==, "only means and medians were measured");
}

/* Where requests arrive by themselves and do not wait, the load decides what is served; with a
 * closed loop the engines do. */
static void test_follows_load(void) {
  const OrrLikenessRow like = closed_loop();
  OrrLikenessRow poisson = like;
  poisson.arrivals = (char *)g_intern_static_string("poisson");
  g_autoptr(OrrResiduals) residuals = three_sets(&like, 13, "output_tokens_per_s");
  const OrrBand band = ask(residuals, &poisson, "output_tokens_per_s", NULL, 0);
  assert_none(&band, "throughput follows the offered load");
  const OrrBandQuestion question = {
      .likeness = &poisson, .metric = "output_tokens_per_s", .level = ORR_BAND_LEVEL};
  g_autoptr(OrrBands) bands = orr_bands_of(residuals);
  const OrrRatioBand ratio = orr_bands_ask_ratio(bands, &question, &like, 2);
  g_assert_cmpint(ratio.quality, ==, ORR_BAND_NONE);
  g_assert_cmpstr(ratio.reason, ==, "throughput follows the offered load");
  g_assert_cmpint(ask(residuals, &like, "output_tokens_per_s", NULL, 0).quality, ==, ORR_BAND_GOOD);
}

/* The sources are the rows that carry weight, heaviest first, and their weights add up to 1. */
static void test_sources(void) {
  const OrrLikenessRow like = step();
  g_autoptr(OrrResiduals) residuals = three_sets(&like, 13, "iteration_time_s");
  g_autoptr(OrrBands) bands = orr_bands_of(residuals);
  g_autoptr(GArray) sources = g_array_new(FALSE, FALSE, sizeof(OrrBandSource));
  const OrrBandQuestion question = {.likeness = &like,
                                    .metric = "iteration_time_s",
                                    .level = 0.8,
                                    .without_set = g_intern_static_string("b")};
  const OrrBand band = orr_bands_ask(bands, &question, sources);
  double sum = 0, last = INFINITY;
  g_assert_cmpuint(sources->len, ==, band.n_rows);
  for (guint i = 0; i < sources->len; i++) {
    const OrrBandSource *source = &g_array_index(sources, OrrBandSource, i);
    g_assert_cmpstr(source->residual->set, !=, "b");
    g_assert_cmpfloat(source->weight, <=, last);
    sum += last = source->weight;
  }
  assert_close(sum, 1);
}

/* Residuals of another revision of the model are said to be stale, with both revisions and the
 * remedy. */
static void test_stale(void) {
  const OrrLikenessRow like = step();
  g_autoptr(OrrResiduals) residuals = three_sets(&like, 13, "iteration_time_s");
  g_autoptr(OrrBands) fresh = orr_bands_of(residuals);
  g_assert_null(orr_bands_stale(fresh));
  residuals->revision = ORR_MODEL_REVISION - 1;
  g_autoptr(OrrBands) stale = orr_bands_of(residuals);
  g_autofree char *both = g_strdup_printf(
      "simulated with revision %d of the model, this is revision %d; `make residuals`",
      ORR_MODEL_REVISION - 1, ORR_MODEL_REVISION);
  g_assert_nonnull(strstr(orr_bands_stale(stale), both));
  residuals->revision = 0;
  g_autoptr(OrrBands) unknown = orr_bands_of(residuals);
  g_assert_nonnull(strstr(orr_bands_stale(unknown), "with an unknown revision of the model"));
  g_autoptr(OrrResiduals) empty = orr_residuals_new();
  g_autoptr(OrrBands) none = orr_bands_of(empty);
  g_assert_null(orr_bands_stale(none)); /* a library without residuals has none that are stale */
}

/* Bounds at a higher level hold the bounds at a lower one, also where near rows have none and all
 * rows speak, and what is expected is the same at all levels. 39 near rows give bounds up to
 * 38 / 40; the 240 others have other errors, about -0.5. */
static void test_levels(void) {
  const double levels[] = {0.3, 0.5, 0.8, 0.9, 0.94, 0.96, 0.98};
  const OrrLikenessRow like = step();
  OrrLikenessRow far = like;
  OrrBand got[G_N_ELEMENTS(levels)];
  far.format = (char *)g_intern_string("fp8");
  far.bound = (char *)g_intern_string("network");
  far.device = (char *)g_intern_string("b200");
  far.stack = (char *)g_intern_string("other");
  far.cluster = (char *)g_intern_string("other");
  far.sharding = (char *)g_intern_string("zero-3");
  far.ep = 64;
  g_autoptr(OrrResiduals) residuals = three_sets(&like, 13, "iteration_time_s");
  for (guint i = 0; i < 240; i++)
    add(residuals, i % 2 ? "d" : "e", i / 2 + 1, &far, "iteration_time_s", -0.01 * (i % 100));
  g_autoptr(OrrBands) bands = orr_bands_of(residuals);
  const OrrBandQuestion question = {.likeness = &like, .metric = "iteration_time_s"};
  orr_bands_ask_levels(bands, &question, levels, G_N_ELEMENTS(levels), got);
  for (guint i = 0; i < G_N_ELEMENTS(levels); i++) {
    g_assert_cmpint(got[i].quality, !=, ORR_BAND_NONE);
    assert_close(got[i].middle, got[0].middle);
    g_assert_cmpfloat(got[i].low, <=, got[i].middle);
    g_assert_cmpfloat(got[i].high, >=, got[i].middle);
    g_assert_cmpfloat(got[i].low, <=, got[MAX(i, 1) - 1].low);
    g_assert_cmpfloat(got[i].high, >=, got[MAX(i, 1) - 1].high);
  }
  g_assert_cmpstr(got[6].reason, ==, "too few near runs for this level: all measured runs speak");
}

/* What served models draw speaks for training on the same board, and only as a weak band: engine,
 * network and layout do not change what a board draws, another board does. */
static void test_watts(void) {
  OrrLikenessRow like = step(), served = closed_loop();
  const char *metric = "gpu_power_mean_w";
  g_autoptr(OrrResiduals) residuals = three_sets(&served, 13, metric);
  const OrrBand band = ask(residuals, &like, metric, NULL, 0);
  g_assert_cmpint(band.quality, ==, ORR_BAND_WEAK);
  g_assert_cmpstr(band.reason, ==, "no measured run of such work");
  like.cluster = (char *)g_intern_string("another");
  like.format = (char *)g_intern_string("fp8");
  like.tp = 64;
  assert_close(ask(residuals, &like, metric, NULL, 0).low, band.low);
  g_autoptr(OrrResiduals) others = three_sets(&served, 13, metric);
  for (guint i = 0; i < 26; i++) add(residuals, i % 2 ? "d" : "e", i + 1, &served, metric, -0.5);
  served.device = (char *)g_intern_string("b200");
  for (guint i = 0; i < 26; i++) add(others, i % 2 ? "d" : "e", i + 1, &served, metric, -0.5);
  g_assert_cmpfloat(ask(others, &like, metric, NULL, 0).middle, >,
                    ask(residuals, &like, metric, NULL, 0).middle);
}

/* Results that are seconds, bytes, joules or watts are larger where they are worse; all others are
 * rates. */
static void test_metrics(void) {
  for (const OrrBandMetric *metric = orr_band_metrics; metric->kind; metric++) {
    const char *name = metric->metric;
    const gboolean is_time = g_str_has_suffix(name, "_s") && !g_str_has_suffix(name, "per_s");
    g_assert_true(orr_band_metrics_find(metric->kind, name) == metric);
    const gboolean is_worse = is_time || g_str_has_suffix(name, "_bytes") ||
                              g_str_has_prefix(name, "energy_j_") || g_str_has_suffix(name, "_w");
    g_assert_cmpint(metric->is_rate, ==, !is_worse);
  }
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/bands/by-hand", test_by_hand);
  g_test_add_func("/bands/level", test_level);
  g_test_add_func("/bands/sources-needed", test_sources_needed);
  g_test_add_func("/bands/new-on-software", test_new_on_software);
  g_test_add_func("/bands/fitted-elsewhere", test_fitted_elsewhere);
  g_test_add_func("/bands/left-out", test_left_out);
  g_test_add_func("/bands/rates", test_rates);
  g_test_add_func("/bands/none", test_none);
  g_test_add_func("/bands/unlike", test_unlike);
  g_test_add_func("/bands/unlike-few", test_unlike_few);
  g_test_add_func("/bands/datasheet", test_datasheet);
  g_test_add_func("/bands/platform", test_platform);
  g_test_add_func("/bands/datasheet-in-part", test_datasheet_in_part);
  g_test_add_func("/bands/weak", test_weak);
  g_test_add_func("/bands/near-rows-weigh-more", test_near_rows_weigh_more);
  g_test_add_func("/bands/tails", test_tails);
  g_test_add_func("/bands/follows-load", test_follows_load);
  g_test_add_func("/bands/sources", test_sources);
  g_test_add_func("/bands/stale", test_stale);
  g_test_add_func("/bands/levels", test_levels);
  g_test_add_func("/bands/watts", test_watts);
  g_test_add_func("/bands/metrics", test_metrics);
  return g_test_run();
}

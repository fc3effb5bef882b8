/*
 * test_own_rows.c - bands narrowed by rows of the user's machine: kriging by hand, and what it
 * promises, on rows of the shipped sets.
 */
#include <math.h>
#include <string.h>

#include "sim/bands/own_rows.h"
#include "sim/bands/band_private.h"
#include "tests/base/test_size.h"

static OrrLibrary *library;

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

static void add(OrrResiduals *residuals, gint64 row, const OrrLikenessRow *like, const char *metric,
                double log_error) {
  OrrResidual residual = {.set = g_intern_string("a"),
                          .part = g_intern_string(""),
                          .row = row,
                          .label = g_strdup("made up"),
                          .likeness = *like,
                          .n_answers = 1};
  residual.answers[0] = (OrrResidualAnswer){g_intern_string(metric), 10 * exp(log_error), 10};
  g_array_append_val(residuals->rows, residual);
}

static void assert_close(double got, double wanted) {
  g_assert_cmpfloat_with_epsilon(got, wanted, 1e-9);
}

/* One row at distance 0 has the correlation 0.85: the variance left is 1 - 0.85^2. Two of them are
 * correlated by 0.85 too: their weights are 0.85 / 1.85. A row that has nothing in common leaves
 * the band unchanged. */
static void test_width(void) {
  const OrrLikenessRow like = step(), same[] = {like, like};
  OrrLikenessRow far = like;
  far.gpus = far.nodes = far.tp = far.batch = 1e30;
  assert_close(orr_own_rows_width(&like, NULL, 0), 1);
  assert_close(orr_own_rows_width(&like, same, 1), sqrt(1 - 0.85 * 0.85));
  assert_close(orr_own_rows_width(&like, same, 2), sqrt(1 - 2 * 0.85 * 0.85 / 1.85));
  assert_close(orr_own_rows_width(&like, &far, 1), 1);
}

/* Measured rows of errors 0.01 to 0.39 give a band about 0.20. An own row of error 0.20 keeps the
 * middle and narrows; one at the upper bound moves the middle by 0.85 of the way; a rate's too. */
static void test_by_hand(void) {
  const OrrLikenessRow like = step();
  g_autoptr(OrrResiduals) residuals = orr_residuals_new(), own = orr_residuals_new();
  residuals->revision = ORR_MODEL_REVISION;
  for (guint i = 0; i < 39; i++) add(residuals, i + 1, &like, "iteration_time_s", 0.01 * (i + 1));
  g_autoptr(OrrBands) bands = orr_bands_of(residuals);
  const OrrBandQuestion time = {.likeness = &like, .metric = "iteration_time_s", .level = 0.8},
                        rate = {.likeness = &like, .metric = "tokens_per_s", .level = 0.8},
                        memory = {.likeness = &like, .metric = "memory_peak_bytes", .level = 0.8};
  const OrrBand before = orr_bands_ask(bands, &time, NULL);
  const double half = log(before.high / before.low) / 2, width = sqrt(1 - 0.85 * 0.85);
  add(own, 1, &like, "iteration_time_s", 0.20);
  g_autoptr(OrrOwnRows) middle = orr_own_rows_new(bands, own);
  OrrBand after = before;
  g_assert_cmpuint(orr_own_rows_narrow(middle, &time, &after), ==, 1);
  assert_close(log(after.middle), 0.20);
  assert_close(log(after.high / after.low), 2 * width * half);
  g_assert_cmpuint(after.n_rows, ==, before.n_rows + 1);
  g_array_set_size(own->rows, 0);
  add(own, 1, &like, "iteration_time_s", 0.20 + half);
  g_autoptr(OrrOwnRows) upper = orr_own_rows_new(bands, own);
  after = before;
  orr_own_rows_narrow(upper, &time, &after);
  assert_close(log(after.middle), 0.20 + 0.85 * half);
  OrrBand inverse = orr_bands_ask(bands, &rate, NULL);
  orr_own_rows_narrow(upper, &rate, &inverse);
  assert_close(log(inverse.middle), -0.20 - 0.85 * half);
  assert_close(inverse.low, 1 / after.high);
  g_array_set_size(own->rows,
                   0); /* four half widths off: as many times wider, and it lies inside */
  add(own, 1, &like, "iteration_time_s", 0.20 + 4 * half);
  g_autoptr(OrrOwnRows) beyond = orr_own_rows_new(bands, own);
  OrrBand wide = before;
  orr_own_rows_narrow(beyond, &time, &wide);
  assert_close(log(wide.middle), 0.20 + 0.85 * 4 * half);
  assert_close(log(wide.high / wide.low), 2 * width * 4 * half);
  g_assert_cmpfloat(log(wide.high), >, 0.20 + 4 * half);
  OrrBand none = orr_bands_ask(bands, &memory, NULL);
  g_assert_cmpuint(orr_own_rows_narrow(upper, &memory, &none), ==, 0);
}

/* What narrows most comes first, and the run itself narrows more than anything else. */
static void test_advice(void) {
  const OrrLikenessRow like = step();
  g_autoptr(GArray) advice = orr_own_rows_advice(&like);
  g_assert_cmpuint(advice->len, >=, 3);
  const OrrOwnAdvice *first = &g_array_index(advice, OrrOwnAdvice, 0);
  g_assert_nonnull(strstr(first->text, "this very run"));
  for (guint i = 1; i < advice->len; i++)
    g_assert_cmpfloat(g_array_index(advice, OrrOwnAdvice, i).width, >=,
                      g_array_index(advice, OrrOwnAdvice, i - 1).width);
}

/* --- The promise --- */

typedef struct {
  guint n, inside_before, inside;
  double before, after;
} Sums;

static const OrrResidual *row_at(const OrrResiduals *residuals, guint i) {
  return &g_array_index(residuals->rows, OrrResidual, i);
}

/* The two rows of @one's campaign that are nearest to it, as borrowed copies; fewer where it has
 * fewer. */
static OrrResiduals *two_nearest(const OrrResiduals *all, const OrrResidual *one) {
  OrrResiduals *own = orr_residuals_new();
  const OrrDistancePoint asked = orr_distance_point(&one->likeness);
  const OrrResidual *best[2] = {NULL, NULL};
  double distances[2] = {INFINITY, INFINITY};
  for (guint i = 0; i < all->rows->len; i++) {
    const OrrResidual *other = row_at(all, i);
    if (other == one || other->set != one->set || other->likeness.stack != one->likeness.stack ||
        other->likeness.device != one->likeness.device)
      continue;
    const OrrDistancePoint point = orr_distance_point(&other->likeness);
    const double distance = orr_distance(&asked, &point);
    const guint place = distance < distances[0] ? 0 : 1;
    if (distance >= distances[1]) continue;
    if (place == 0) {
      best[1] = best[0];
      distances[1] = distances[0];
    }
    best[place] = other;
    distances[place] = distance;
  }
  for (guint i = 0; i < 2 && best[i]; i++) {
    OrrResidual copy = *best[i];
    copy.label = g_strdup("");
    g_array_append_val(own->rows, copy);
  }
  return own;
}

static void check(const OrrResiduals *all, const OrrBands *bands, const OrrResidual *one,
                  guint which, Sums *sums) {
  const OrrResidualAnswer *answer = &one->answers[MIN(which, one->n_answers - 1)];
  const OrrBandMetric *metric = orr_band_metrics_find(one->likeness.kind, answer->metric);
  const OrrBandQuestion question = {
      .likeness = &one->likeness, .metric = answer->metric, .level = 0.8, .without_set = one->set};
  if (!metric) return;
  const OrrBand before = orr_bands_ask(bands, &question, NULL);
  g_autoptr(OrrResiduals) shown = two_nearest(all, one);
  g_autoptr(OrrOwnRows) own = orr_own_rows_new(bands, shown);
  OrrBand after = before;
  if (before.quality == ORR_BAND_NONE || orr_own_rows_narrow(own, &question, &after) < 2) return;
  const double ratio = answer->measured / answer->simulated;
  sums->n++;
  sums->inside_before += ratio >= before.low && ratio <= before.high;
  sums->inside += ratio >= after.low && ratio <= after.high;
  sums->before += log(before.high / before.low);
  sums->after += log(after.high / after.low);
}

/* Of every few measured answers, the band with its whole set left out, and with the two nearest
 * rows of its campaign as own rows, which do not speak otherwise: the bands keep their level at
 * little more than half of the width. */
static void test_promise(void) {
  static const struct {
    const char *kind;
    guint answer; /* of each row */
  } kinds[] = {{"training", 0}, {"serving", 0}, {"collectives", 0}, {"diffusion", 1}};
  for (guint k = 0; k < G_N_ELEMENTS(kinds); k++) {
    g_autoptr(OrrResiduals) all = orr_residuals_for(library, kinds[k].kind, NULL);
    g_assert_true(orr_own_rows_is_tested(kinds[k].kind));
    g_autoptr(OrrBands) bands = orr_bands_of(all);
    Sums sums = {0};
    for (guint i = 0; i < all->rows->len; i += test_size(3, 9))
      if (g_str_equal(row_at(all, i)->likeness.kind, kinds[k].kind))
        check(all, bands, row_at(all, i), kinds[k].answer, &sums);
    g_test_message(
        "%s: %u answers, %.0f %% inside at width %.2f, with two own rows %.0f %% at %.2f",
        kinds[k].kind, sums.n, 100.0 * sums.inside_before / sums.n, sums.before / sums.n,
        100.0 * sums.inside / sums.n, sums.after / sums.n);
    g_assert_cmpuint(sums.n, >, 20);
    g_assert_cmpfloat(sums.after, <, 0.75 * sums.before);
    g_assert_cmpfloat(sums.inside, >, 0.72 * sums.n);
  }
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  library = orr_library_new((const char *const[]){NULL});
  g_test_add_func("/own_rows/width", test_width);
  g_test_add_func("/own_rows/by-hand", test_by_hand);
  g_test_add_func("/own_rows/advice", test_advice);
  g_test_add_func("/own_rows/promise", test_promise);
  const int status = g_test_run();
  orr_library_free(library);
  return status;
}

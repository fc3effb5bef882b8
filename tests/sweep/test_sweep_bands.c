/*
 * test_sweep_bands.c - bands of a sweep's points, from measured rows made up here: each row is like
 * one of the points, and its measurement is a known multiple of its simulation. So the nearest rows
 * of a point are at distance 0, and so are pairs of rows that differ as two points do.
 */
#include <math.h>

#include "sim/sweep/sweep_likeness.h"
#include "tests/sweep/sweep_fixture.h"

#define FOUR                                                                                       \
  "  objective: [minimize iteration_time_s, maximize tokens_per_s / n-gpus, minimize "             \
  "cost_per_million_tokens, minimize memory_peak_bytes]\n"

/* Writes rows that are like @points; @measured: over a simulation of 10, one after the other. */
static void write_residuals(const GArray *points, const double *measured, guint n_measured) {
  g_autoptr(GError) error = NULL;
  g_autoptr(OrrResiduals) residuals = orr_residuals_new();
  static const char *const sets[] = {"a", "b", "c"};
  const guint n = 8 * points->len; /* rows of a set */
  for (guint i = 0; i < 3 * n; i++) {
    const OrrSweepBest *like = &g_array_index(points, OrrSweepBest, i % points->len);
    OrrResidual row = {.set = g_intern_string(sets[i / n]),
                       .part = g_intern_string(""),
                       .row = i % n + 1,
                       .label = g_strdup("made up"),
                       .likeness = *like->likeness,
                       .n_answers = 1};
    /* by point and by turn, so that each point has all errors */
    row.answers[0] = (OrrResidualAnswer){g_intern_string("iteration_time_s"),
                                         measured[(i / points->len) % n_measured], 10};
    g_array_append_val(residuals->rows, row);
  }
  g_autofree char *folder = g_build_filename(sweep_folder, "own", "calibration", "residuals", NULL);
  g_autofree char *path = g_build_filename(folder, "training.csv", NULL);
  g_mkdir_with_parents(folder, 0777);
  orr_residuals_write(residuals, "training", path, &error);
  g_assert_no_error(error);
}

static void remove_residuals(void) {
  static const char *const parts[] = {"own/calibration/residuals/training.csv",
                                      "own/calibration/residuals", "own/calibration", "own"};
  for (guint i = 0; i < G_N_ELEMENTS(parts); i++) {
    g_autofree char *path = g_build_filename(sweep_folder, parts[i], NULL);
    g_remove(path);
  }
}

static OrrSweepReport *run_with_own(const char *file, const char *db) {
  g_autofree char *own = g_build_filename(sweep_folder, "own", NULL);
  const char *const folders[] = {own, NULL};
  OrrLibrary *shipped = sweep_library;
  sweep_library = orr_library_new(folders);
  OrrSweepReport *report = sweep_run(file, db, 2, FALSE);
  orr_library_free(sweep_library);
  sweep_library = shipped;
  return report;
}

static const OrrSweepBest *best_at(const OrrSweepReport *report, guint i) {
  return &g_array_index(report->best, OrrSweepBest, i);
}

/* Every measurement is 1.1 of its simulation: a time and a cost have both bounds at 1.1, a rate at
 * 1 / 1.1; no row measured memory. The error cancels in ratios, so that a ratio is known exactly,
 * and points with another time than the best one are not tied with it. */
static void test_equal_errors(void) {
  g_autofree char *file = sweep_put("equal.yaml", SWEEP_PRICES SWEEP_AXES FOUR),
                  *db = sweep_fresh("equal.db");
  g_autoptr(OrrSweepReport) first = sweep_run(file, NULL, 2, FALSE);
  write_residuals(first->best, (const double[]){11}, 1);
  g_autoptr(OrrSweepReport) report = run_with_own(file, db);
  static const double factors[] = {1.1, 1 / 1.1, 1.1};
  g_assert_cmpuint(report->best->len, ==, ORR_SWEEP_MOST_BEST);
  g_assert_null(report->band_note);
  for (guint p = 0; p < report->best->len; p++) {
    const OrrSweepBest *one = best_at(report, p);
    for (guint i = 0; i < 3; i++) {
      g_assert_cmpfloat_with_epsilon(one->bands->of[i].low, factors[i], 1e-9);
      g_assert_cmpfloat_with_epsilon(one->bands->of[i].high, factors[i], 1e-9);
    }
    g_assert_cmpint(one->bands->of[3].quality, ==, ORR_BAND_NONE);
    const double ratio = one->score[0] / best_at(report, 0)->score[0];
    g_assert_cmpint(one->bands->apart, ==,
                    p == 0      ? ORR_APART_UNKNOWN
                    : ratio > 1 ? ORR_APART_TOLD
                                : ORR_APART_NOT_TOLD);
    if (p > 0) g_assert_cmpfloat_with_epsilon(one->bands->ratio_low, ratio, 1e-9);
    if (p > 0) g_assert_cmpfloat_with_epsilon(one->bands->ratio_high, ratio, 1e-9);
  }
  g_assert_nonnull(g_array_index(report->front, OrrSweepBest, 0).bands);
  assert_answer(
      db,
      "SELECT count(*) FROM sweep_band b JOIN sweep_point p ON p.run_id = b.point_run "
      "WHERE b.run_id = 1 AND b.objective = 1 AND abs(b.low / p.objective_1 - 1.1) > 1e-9",
      "0");
  assert_answer(db, "SELECT group_concat(DISTINCT quality) FROM sweep_band WHERE objective = 4",
                "none");
  remove_residuals();
}

/* Half of the measurements are 13 and half 7, over 10: of pairs of rows a quarter has a ratio that
 * is 13 / 7 of the simulated one, and a quarter 7 / 13. Both lie within an 80 % band, so points
 * less than a factor of 13 / 7 = 1.86 from each other are tied. */
static void test_unequal_errors(void) {
  g_autofree char *file =
      sweep_put("unequal.yaml", SWEEP_AXES "  objective: maximize tokens_per_s\n");
  g_autofree char *db = sweep_fresh("unequal.db");
  g_autoptr(OrrSweepReport) first = sweep_run(file, NULL, 2, FALSE);
  write_residuals(first->best, (const double[]){13, 7}, 2);
  g_autoptr(OrrSweepReport) report = run_with_own(file, db);
  for (guint p = 1; p < report->best->len; p++) {
    const OrrSweepBest *one = best_at(report, p);
    const double ratio = one->score[0] / best_at(report, 0)->score[0];
    g_assert_cmpfloat(ratio, >, 0.7);
    g_assert_cmpint(one->bands->apart, ==, ORR_APART_NOT_TOLD);
    g_assert_cmpfloat(one->bands->ratio_low, <, 0.7 * ratio);
    g_assert_cmpfloat(one->bands->ratio_high, >, 1.5 * ratio);
    g_assert_cmpfloat(one->bands->sure, <, 0.9);
  }
  assert_answer(db, "SELECT count(*) FROM sweep_band WHERE told_apart = 0", "9");
  assert_answer(db, "SELECT count(*) FROM sweep_band WHERE told_apart IS NULL", "1");
  remove_residuals();
}

/* A file that cannot be read costs the bands, not the sweep. */
static void test_bad_file(void) {
  g_autofree char *file = sweep_put("bad.yaml", SWEEP_AXES);
  g_autofree char *folder = g_build_filename(sweep_folder, "own", "calibration", "residuals", NULL);
  g_autofree char *path = g_build_filename(folder, "training.csv", NULL);
  g_mkdir_with_parents(folder, 0777);
  g_assert_true(g_file_set_contents(path, "set,row\nbad\n", -1, NULL));
  g_autoptr(OrrSweepReport) report = run_with_own(file, NULL);
  g_assert_cmpuint(report->n_done, ==, 58);
  g_assert_nonnull(report->band_note);
  g_assert_cmpint(best_at(report, 0)->bands->of[0].quality, ==, ORR_BAND_NONE);
  remove_residuals();
}

/* Not in proportion to one result: a sum of two, a difference, a power. */
static void test_objectives_without_bands(void) {
  static const char *const objectives[] = {
      "minimize iteration_time_s + memory_peak_bytes", "minimize iteration_time_s - 1",
      "maximize tokens_per_s * tokens_per_s", "maximize tp * pp"};
  for (guint i = 0; i < G_N_ELEMENTS(objectives); i++) {
    g_autofree char *section = g_strconcat(SWEEP_AXES "  objective: ", objectives[i], "\n", NULL);
    g_autofree char *file = sweep_put("none.yaml", section);
    g_autoptr(OrrSweepReport) report = sweep_run(file, NULL, 1, FALSE);
    const OrrBand *band = &best_at(report, 0)->bands->of[0];
    g_assert_cmpint(band->quality, ==, ORR_BAND_NONE);
    g_assert_cmpstr(band->reason, ==, "the objective is not in proportion to one result");
    g_assert_cmpint(best_at(report, 1)->bands->apart, ==, ORR_APART_UNKNOWN);
  }
}

/* There and back; a text that does not fit leaves no likeness rather than half of one. */
static void test_packed(void) {
  g_autofree char *file = sweep_put("packed.yaml", SWEEP_AXES);
  g_autoptr(OrrSweepReport) report = sweep_run(file, NULL, 1, FALSE);
  OrrLikenessRow row = *best_at(report, 0)->likeness;
  OrrSweepLikeness packed;
  g_assert_true(orr_sweep_likeness_pack(&row, &packed));
  g_autofree OrrLikenessRow *back = orr_sweep_likeness_unpack(&packed);
  g_assert_cmpmem(&row, sizeof row, back, sizeof *back);
  g_autofree char *long_name = g_strnfill(sizeof packed.texts, 'x');
  row.model = long_name;
  g_assert_false(orr_sweep_likeness_pack(&row, &packed));
  g_assert_null(orr_sweep_likeness_unpack(&packed));
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  sweep_set_up();
  g_test_add_func("/sweep/bands/equal-errors", test_equal_errors);
  g_test_add_func("/sweep/bands/unequal-errors", test_unequal_errors);
  g_test_add_func("/sweep/bands/bad-file", test_bad_file);
  g_test_add_func("/sweep/bands/objectives-without", test_objectives_without_bands);
  g_test_add_func("/sweep/bands/packed", test_packed);
  const int status = g_test_run();
  sweep_tear_down();
  return status;
}

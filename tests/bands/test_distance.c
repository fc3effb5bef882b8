/*
 * test_distance.c - laws of the distance between answers, whatever its weights are.
 */
#include <math.h>

#include "sim/bands/band_private.h"
#include "sim/bands/residuals.h"

static OrrResiduals *shipped(const char *kind) {
  g_autoptr(GError) error = NULL;
  g_autoptr(OrrLibrary) library = orr_library_new((const char *const[]){NULL});
  g_autofree char *path = orr_residuals_path(library, kind);
  g_assert_nonnull(path);
  OrrResiduals *residuals = orr_residuals_read(path, &error);
  g_assert_no_error(error);
  g_assert_cmpuint(residuals->rows->len, >, 100);
  return residuals;
}

static const OrrLikenessRow *likeness_at(const OrrResiduals *residuals, guint i) {
  return &g_array_index(residuals->rows, OrrResidual, i).likeness;
}

static double between(const OrrLikenessRow *a, const OrrLikenessRow *b) {
  const OrrDistancePoint p = orr_distance_point(a), q = orr_distance_point(b);
  return orr_distance(&p, &q);
}

/* A row is at 0 from itself, and the distance is finite, the same in both directions, and above 0
 * to a row of another set: of the shipped rows, each 37th with each 41st. */
static void test_metric(void) {
  static const char *const kinds[] = {"training", "serving", "collectives"};
  for (guint k = 0; k < G_N_ELEMENTS(kinds); k++) {
    g_autoptr(OrrResiduals) residuals = shipped(kinds[k]);
    for (guint i = 0; i < residuals->rows->len; i += 37) {
      const OrrLikenessRow *a = likeness_at(residuals, i);
      g_assert_cmpfloat(between(a, a), ==, 0);
      for (guint j = 0; j < residuals->rows->len; j += 41) {
        const OrrLikenessRow *b = likeness_at(residuals, j);
        const double distance = between(a, b);
        g_assert_true(isfinite(distance) && distance >= 0);
        g_assert_cmpfloat(distance, ==, between(b, a));
        if (a->device != b->device && a->model != b->model) g_assert_cmpfloat(distance, >, 0);
      }
    }
  }
}

/* Sizes count in octaves: from 8 to 16 is as far as from 64 to 128, and half as far as from 8 to
 * 32. */
static void test_octaves(void) {
  g_autoptr(OrrResiduals) residuals = shipped("training");
  OrrLikenessRow rows[5];
  static const double tp[] = {8, 16, 32, 64, 128};
  for (guint i = 0; i < 5; i++) {
    rows[i] = *likeness_at(residuals, 0);
    rows[i].tp = rows[i].batch = tp[i];
  }
  const double octave = between(&rows[0], &rows[1]);
  g_assert_cmpfloat(octave, >, 0);
  g_assert_cmpfloat_with_epsilon(between(&rows[3], &rows[4]), octave, 1e-12);
  g_assert_cmpfloat_with_epsilon(between(&rows[0], &rows[2]), 2 * octave, 1e-12);
}

/* A size that both lack adds nothing; one that a single row has counts as some octaves, whatever
 * its value. */
static void test_absent(void) {
  g_autoptr(OrrResiduals) residuals = shipped("training");
  OrrLikenessRow has = *likeness_at(residuals, 0), large = has, lacks = has, lacks_too = has;
  has.tp = 8;
  large.tp = 1024;
  lacks.tp = lacks_too.tp = NAN;
  g_assert_cmpfloat(between(&lacks, &lacks_too), ==, 0);
  g_assert_cmpfloat(between(&has, &lacks), >, 0);
  g_assert_cmpfloat(between(&has, &lacks), ==, between(&large, &lacks));
}

/* A quantity speaks for itself at no extra distance, for memory no time does, and the relation is
 * the same in both directions. */
static void test_quantities(void) {
  for (OrrQuantity a = ORR_QUANTITY_STEP; a <= ORR_QUANTITY_CALL; a++) {
    g_assert_cmpfloat(orr_distance_of_quantities(a, a), ==, 0);
    for (OrrQuantity b = ORR_QUANTITY_STEP; b <= ORR_QUANTITY_CALL; b++) {
      const double distance = orr_distance_of_quantities(a, b);
      g_assert_cmpfloat(distance, ==, orr_distance_of_quantities(b, a));
      if (a != b) g_assert_cmpfloat(distance, >, 0);
      if (a != b && (a == ORR_QUANTITY_MEMORY || b == ORR_QUANTITY_MEMORY))
        g_assert_true(isinf(distance));
    }
  }
  g_assert_cmpfloat(orr_distance_of_quantities(ORR_QUANTITY_ENERGY, ORR_QUANTITY_TOKEN), ==, 4);
  g_assert_true(isinf(orr_distance_of_quantities(ORR_QUANTITY_TOKEN, ORR_QUANTITY_ENERGY)));
  g_assert_true(isinf(orr_distance_of_quantities(ORR_QUANTITY_POWER, ORR_QUANTITY_ENERGY)));
}

/* Doubling TP is the same change from 1 to 2 as from 4 to 8, another one than halving it, and
 * another one than changing the device. */
static void test_changes(void) {
  g_autoptr(OrrResiduals) residuals = shipped("training");
  OrrLikenessRow rows[4];
  OrrDistancePoint points[5];
  static const double tp[] = {1, 2, 4, 8};
  for (guint i = 0; i < 4; i++) {
    rows[i] = *likeness_at(residuals, 0);
    rows[i].tp = tp[i];
    points[i] = orr_distance_point(&rows[i]);
  }
  rows[0].device = (char *)g_intern_string("another");
  points[4] = orr_distance_point(&rows[0]);
  g_assert_cmpfloat(orr_distance_of_changes(&points[0], &points[1], &points[2], &points[3]), ==, 0);
  g_assert_cmpfloat(orr_distance_of_changes(&points[0], &points[1], &points[3], &points[2]), >, 0);
  g_assert_cmpfloat(orr_distance_of_changes(&points[0], &points[1], &points[0], &points[4]), >, 0);
}

/* Within a limit the distance is itself, to the last bit; beyond it, infinite. */
static void test_within(void) {
  g_autoptr(OrrResiduals) residuals = shipped("serving");
  const OrrDistancePoint a = orr_distance_point(likeness_at(residuals, 0));
  for (guint j = 1; j < residuals->rows->len; j += 41) {
    const OrrDistancePoint b = orr_distance_point(likeness_at(residuals, j));
    const double distance = orr_distance(&a, &b);
    g_assert_cmpfloat(orr_distance_within(&a, &b, distance), ==, distance);
    if (distance > 0) g_assert_true(isinf(orr_distance_within(&a, &b, distance * 0.999)));
  }
}

/* Leaving out the terms in which all rows and the question are the same moves no distance; a
 * question that differs in such a term keeps it. Collectives have no pipelines: all rows share pp.
 */
static void test_shared(void) {
  g_autoptr(OrrResiduals) residuals = shipped("collectives");
  const guint n = residuals->rows->len;
  g_autofree OrrDistancePoint *points = g_new0(OrrDistancePoint, n);
  for (guint i = 0; i < n; i++) points[i] = orr_distance_point(likeness_at(residuals, i));
  const guint64 shared = orr_distance_shared(points, n);
  OrrLikenessRow other = *likeness_at(residuals, 0);
  other.pp = 8;
  other.device = (char *)g_intern_string("another");
  const OrrDistancePoint asked[] = {points[0], points[n / 2], orr_distance_point(&other)};
  for (guint k = 0; k < G_N_ELEMENTS(asked); k++) {
    OrrDistancePoint less = asked[k];
    orr_distance_skip_shared(&less, points, shared);
    g_assert_cmpuint(less.terms, <, asked[k].terms);
    for (guint i = 0; i < n; i++)
      g_assert_cmpfloat(orr_distance(&less, &points[i]), ==, orr_distance(&asked[k], &points[i]));
  }
}

/* Two engines are as far apart as their caches are filled, and further where one of both is full;
 * a fleet of replicas is like one replica. */
static void test_regimes(void) {
  g_autoptr(OrrResiduals) residuals = shipped("serving");
  OrrLikenessRow rows[4];
  static const double cache[] = {0.70, 0.80, 0.90, 1.00};
  for (guint i = 0; i < 4; i++) {
    rows[i] = *likeness_at(residuals, 0);
    rows[i].cache = cache[i];
  }
  const double step = between(&rows[0], &rows[1]);
  g_assert_cmpfloat_with_epsilon(between(&rows[1], &rows[2]), step, 1e-12);
  g_assert_cmpfloat(between(&rows[2], &rows[3]), >, 10 * step);
  rows[1] = rows[0];
  rows[1].extras = (char *)g_intern_string("several replicas");
  g_assert_cmpfloat(between(&rows[0], &rows[1]), ==, 0);
  g_assert_cmpuint(orr_distance_point(&rows[1]).extras, !=, 0); /* it still makes a band weak */
  rows[1].extras = (char *)g_intern_string("several replicas+images");
  g_assert_cmpfloat(between(&rows[0], &rows[1]), >, 0);
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/distance/metric", test_metric);
  g_test_add_func("/distance/octaves", test_octaves);
  g_test_add_func("/distance/absent", test_absent);
  g_test_add_func("/distance/quantities", test_quantities);
  g_test_add_func("/distance/changes", test_changes);
  g_test_add_func("/distance/within", test_within);
  g_test_add_func("/distance/shared", test_shared);
  g_test_add_func("/distance/regimes", test_regimes);
  return g_test_run();
}

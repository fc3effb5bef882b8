/* test_grid.c - interpolation in logarithms, filling of holes, and what is said about trust. */
#include "calibration/cost/grid.h"

#include <math.h>

static const double axis_a[] = {1, 10, 100}, axis_b[] = {1, 4, 16}, axis_c[] = {1};

static OrrGrid *new_grid(void) {
  const double *const axes[] = {axis_a, axis_b, axis_c};
  return orr_grid_new(axes, (const guint[]){3, 3, 1});
}

/* value = log10(a) + 10 log4(b): a plane in the logarithms, which interpolation and filling must
 * give back exactly. */
static double plane(double a, double b) { return log10(a) + 10 * log(b) / log(4); }

static OrrGrid *plane_without(guint hole_a, guint hole_b) {
  OrrGrid *grid = new_grid();
  for (guint i = 0; i < 3; i++)
    for (guint j = 0; j < 3; j++)
      if (i != hole_a || j != hole_b)
        orr_grid_set(grid, (const guint[]){i, j, 0}, plane(axis_a[i], axis_b[j]));
  g_assert_true(orr_grid_fill(grid));
  return grid;
}

static void assert_at(const OrrGrid *grid, double a, double b, double expected,
                      OrrGridTrust expected_trust) {
  OrrGridTrust trust;
  double value = orr_grid_at(grid, (const double[]){a, b, 1}, &trust);
  g_assert_cmpfloat_with_epsilon(value, expected, 1e-12);
  g_assert_cmpint(trust, ==, expected_trust);
}

static void test_plane(void) {
  g_autoptr(OrrGrid) grid = plane_without(9, 9);
  assert_at(grid, 10, 4, 11, ORR_GRID_ROW);
  assert_at(grid, sqrt(10), 4, 10.5, ORR_GRID_BETWEEN);
  assert_at(grid, 20, 2, plane(20, 2), ORR_GRID_BETWEEN);
  assert_at(grid, 1000, 4, 12, ORR_GRID_BEYOND); /* the face a = 100 */
  assert_at(grid, 0.1, 0.1, 0, ORR_GRID_BEYOND);
}

static void test_hole_between(void) {
  g_autoptr(OrrGrid) grid = plane_without(1, 1);
  assert_at(grid, 10, 4, 11, ORR_GRID_BETWEEN);
}

/* The corner (100, 16) has neighbours (10, 16) = 21 at distance ln 10 and (100, 4) = 12 at ln 4:
 * their mean, weighted by 1/distance, and no better than a guess. */
static void test_hole_at_rim(void) {
  g_autoptr(OrrGrid) grid = plane_without(2, 2);
  double expected = (21 / log(10) + 12 / log(4)) / (1 / log(10) + 1 / log(4));
  assert_at(grid, 100, 16, expected, ORR_GRID_BEYOND);
}

/* One value must reach every cell, ring by ring. */
static void test_one_value(void) {
  g_autoptr(OrrGrid) grid = new_grid();
  orr_grid_set(grid, (const guint[]){0, 0, 0}, 7);
  g_assert_true(orr_grid_fill(grid));
  assert_at(grid, 100, 16, 7, ORR_GRID_BEYOND);
}

/* The hint of another row for the corner: the only estimate between rows, and better than the
 * nearest cells. */
static void test_hint(void) {
  g_autoptr(OrrGrid) grid = new_grid();
  for (guint i = 0; i < 3; i++)
    for (guint j = 0; j < 3; j++)
      if (i + j < 4) orr_grid_set(grid, (const guint[]){i, j, 0}, plane(axis_a[i], axis_b[j]));
  double value;
  g_assert_true(orr_grid_get(grid, (const guint[]){1, 1, 0}, &value));
  g_assert_cmpfloat(value, ==, plane(10, 4));
  g_assert_false(orr_grid_get(grid, (const guint[]){2, 2, 0}, &value));
  orr_grid_hint(grid, 0, (const guint[]){2, 2, 0}, 21.5);
  orr_grid_hint(grid, 0, (const guint[]){1, 1, 0}, 99); /* a row keeps what it is */
  g_assert_true(orr_grid_fill(grid));
  assert_at(grid, 100, 16, 21.5, ORR_GRID_BETWEEN);
  assert_at(grid, 10, 4, 11, ORR_GRID_ROW);
}

/* A plane over 5 x 5 x 1 but for one row that took twice as long: asked for, it is what was
 * measured; the hole next to it and what lies between are on the plane. */
static void test_odd_row(void) {
  static const double axis[] = {1, 2, 4, 8, 16}, one[] = {1};
  const double *const axes[] = {axis, axis, one};
  g_autoptr(OrrGrid) grid = orr_grid_new(axes, (const guint[]){5, 5, 1});
  for (guint i = 0; i < 5; i++)
    for (guint j = 0; j < 5; j++)
      if (i != 3 || j != 2) orr_grid_set(grid, (const guint[]){i, j, 0}, plane(axis[i], axis[j]));
  orr_grid_set(grid, (const guint[]){2, 2, 0}, plane(4, 4) + log(2));
  g_assert_true(orr_grid_fill(grid));
  assert_at(grid, 4, 4, plane(4, 4) + log(2), ORR_GRID_ROW);
  assert_at(grid, 8, 4, plane(8, 4), ORR_GRID_BETWEEN);
  assert_at(grid, 5, 4, plane(5, 4), ORR_GRID_BETWEEN);
}

/* Time a * b over 7 x 7, every row at its roofline (0), but for the rows @odd of another time:
 * cells and factors. */
typedef struct {
  guint cell[2];
  double factor;
} Wrong;

static OrrGrid *products_but(const Wrong *wrong, guint n_wrong) {
  static const double axis[] = {1, 2, 4, 8, 16, 32, 64}, one[] = {1};
  const double *const axes[] = {axis, axis, one};
  OrrGrid *grid = orr_grid_new(axes, (const guint[]){7, 7, 1});
  for (guint i = 0; i < 7; i++)
    for (guint j = 0; j < 7; j++) {
      double factor = 1;
      for (guint w = 0; w < n_wrong; w++)
        if (wrong[w].cell[0] == i && wrong[w].cell[1] == j) factor = wrong[w].factor;
      orr_grid_set(grid, (const guint[]){i, j, 0}, log(factor));
      orr_grid_time(grid, (const guint[]){i, j, 0}, axis[i] * axis[j] * factor, axis[i] * axis[j]);
    }
  g_assert_true(orr_grid_fill(grid));
  return grid;
}

/* Three times as long as its neighbours say, the row at (4, 4), 48, takes longer than both next
 * larger ones, 32: it is excluded. 1.5 times as long, 24, it contradicts none of them: it is
 * odd, and stays. A quarter as long, 4, is less than both next smaller ones, 8. */
static void test_contradicted(void) {
  g_autoptr(OrrGrid) slow = products_but(&(Wrong){{2, 2}, 3}, 1);
  assert_at(slow, 4, 4, 0, ORR_GRID_BETWEEN);
  g_assert_cmpuint(orr_grid_n_aside(slow), ==, 1);
  g_assert_cmpuint(orr_grid_n_rows(slow), ==, 49);
  const OrrGridAside *aside = orr_grid_aside_at(slow, (const double[]){4, 4, 1});
  g_assert_cmpfloat_with_epsilon(aside->value, log(3), 1e-12);
  g_assert_cmpfloat_with_epsilon(aside->times_slower, 1.5, 1e-12);
  g_assert_cmpfloat(aside->witness[0] * aside->witness[1], ==, 32);
  g_assert_null(orr_grid_aside_at(slow, (const double[]){8, 4, 1}));
  g_autoptr(OrrGrid) steep = products_but(&(Wrong){{2, 2}, 1.5}, 1);
  assert_at(steep, 4, 4, log(1.5), ORR_GRID_ROW);
  g_assert_cmpuint(orr_grid_n_aside(steep), ==, 0);
  g_autoptr(OrrGrid) fast = products_but(&(Wrong){{2, 2}, 0.25}, 1);
  assert_at(fast, 4, 4, 0, ORR_GRID_BETWEEN);
  aside = orr_grid_aside_at(fast, (const double[]){4, 4, 1});
  g_assert_cmpfloat_with_epsilon(aside->times_slower, 0.5, 1e-12);
}

/* Where the order of times contradicts four outliers of five, the fifth goes too, without a
 * witness; of four it contradicts three, which are no more than three in four, and the fourth
 * stays. */
static void test_disturbed_table(void) {
  static const Wrong wrong[] = {{{1, 1}, 3}, {{1, 4}, 3}, {{4, 1}, 3}, {{3, 5}, 1.5}, {{5, 3}, 3}};
  g_autoptr(OrrGrid) disturbed = products_but(wrong, 5);
  g_assert_cmpuint(orr_grid_n_aside(disturbed), ==, 5);
  assert_at(disturbed, 8, 32, 0, ORR_GRID_BETWEEN);
  g_assert_true(isnan(orr_grid_aside_at(disturbed, (const double[]){8, 32, 1})->times_slower));
  g_autoptr(OrrGrid) sound = products_but(wrong, 4);
  g_assert_cmpuint(orr_grid_n_aside(sound), ==, 3);
  assert_at(sound, 8, 32, log(1.5), ORR_GRID_ROW);
}

/* Time b for 1 to 16 rows, since tiles are not full, but 1.5 b for one row, 1.2 b in the line
 * @mild; and 1.5 b for 8 rows in the line @kept (5: none). */
static OrrGrid *first_rows_but(guint kept, guint mild) {
  static const double axis[] = {1, 2, 4, 8, 16}, one[] = {1};
  const double *const axes[] = {axis, axis, one};
  OrrGrid *grid = orr_grid_new(axes, (const guint[]){5, 5, 1});
  for (guint i = 0; i < 5; i++)
    for (guint j = 0; j < 5; j++) {
      const double factor = i == 0 ? (j == mild ? 1.2 : 1.5) : i == 3 && j == kept ? 1.5 : 1;
      orr_grid_set(grid, (const guint[]){i, j, 0}, log(factor));
      orr_grid_time(grid, (const guint[]){i, j, 0}, axis[j] * factor, axis[i] * axis[j]);
    }
  g_assert_true(orr_grid_fill(grid));
  return grid;
}

/* A column of slow first rows agrees with itself, and is excluded all the same, with the row that
 * is 1.2 times as long, which alone would stay; a row that one of the next three supports stays. */
static void test_first_rows(void) {
  g_autoptr(OrrGrid) grid = first_rows_but(5, 3);
  g_assert_cmpuint(orr_grid_n_aside(grid), ==, 5);
  assert_at(grid, 1, 4, 0, ORR_GRID_BETWEEN);
  const OrrGridAside *aside = orr_grid_aside_at(grid, (const double[]){1, 8, 1});
  g_assert_cmpfloat_with_epsilon(aside->times_slower, 1.2, 1e-12);
  g_assert_cmpfloat(aside->witness[0], ==, 2);
  g_autoptr(OrrGrid) supported = first_rows_but(2, 5);
  g_assert_cmpuint(orr_grid_n_aside(supported), ==, 4);
  assert_at(supported, 1, 4, log(1.5), ORR_GRID_ROW);
}

static void test_no_value(void) {
  g_autoptr(OrrGrid) grid = new_grid();
  g_assert_false(orr_grid_fill(grid));
}

static void test_sort_axis(void) {
  const double values[] = {3, 1, 3, 2, 1};
  g_autoptr(GArray) axis = g_array_new(FALSE, FALSE, sizeof(double));
  g_array_append_vals(axis, values, G_N_ELEMENTS(values));
  orr_grid_sort_axis(axis);
  g_assert_cmpuint(axis->len, ==, 3);
  for (guint i = 0; i < 3; i++) g_assert_cmpfloat(g_array_index(axis, double, i), ==, i + 1.0);
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/grid/plane", test_plane);
  g_test_add_func("/grid/hole-between", test_hole_between);
  g_test_add_func("/grid/hole-at-rim", test_hole_at_rim);
  g_test_add_func("/grid/one-value", test_one_value);
  g_test_add_func("/grid/hint", test_hint);
  g_test_add_func("/grid/odd-row", test_odd_row);
  g_test_add_func("/grid/first-rows", test_first_rows);
  g_test_add_func("/grid/contradicted", test_contradicted);
  g_test_add_func("/grid/disturbed-table", test_disturbed_table);
  g_test_add_func("/grid/no-value", test_no_value);
  g_test_add_func("/grid/sort-axis", test_sort_axis);
  return g_test_run();
}

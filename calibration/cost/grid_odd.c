/*
 * grid_odd.c - rows of a table that should not be believed, by what the other rows say.
 *
 * A measurement goes wrong: the clock fell, another process ran, the host was late, a kernel did
 * not run. Two rules find such rows.
 *
 * 1. Odd. A row is odd where it is 20 % or more away from the middle of what its neighbours say:
 *    the lines through it along each axis, and the hints. The neighbours' values are distances from
 *    the roofline, so this asks for a smooth efficiency, which kernels do not promise: of H100's
 *    bf16 products one row in 60 is odd, and H200, the same chip with other memory, sides with the
 *    row as often as with its neighbours. An odd row answers where it was measured, but nothing is
 *    interpolated from it.
 *
 * 2. Contradicted. A kernel that does more along every axis takes no less time, since it could do
 *    the smaller task with padding: time is monotone in m, n and k. It is so up to tile effects: a
 *    library picks kernels by rules of thumb, and a product that fills its tiles can overtake a
 *    smaller one that does not. In the tables of H100 and H200 one row in 60 takes 1.2 times as
 *    long as two products that are at least as large, so 1.2 is the tolerance, and two witnesses
 *    are asked for, because the one may be the wrong row. An odd row that is too slow beside two
 *    larger ones, or too fast beside two smaller ones, is set aside: it becomes a hole, and the
 *    answer there is interpolated. Which row of a contradiction is wrong its neighbours decide:
 *    only odd rows are set aside, and odd rows are no witnesses.
 *
 * The order of times shows only those errors that cross another row's time, so a table in which it
 * contradicts three in four of the odd rows was disturbed while it was measured, and all its odd
 * rows are set aside (B200's fp8 products: 85 %; elsewhere it contradicts 37 to 64 %). Of B200's
 * fp8 rows set aside, 97 % are farther from GB200's row of the same shape, the same chip, than what
 * their neighbours say: 55 % off on average, where the neighbours' answer is 5 % off.
 */
#include <math.h>

#include "calibration/cost/grid_private.h"

static const double odd_distance = 0.18; /* ln 1.2, of the efficiency and of the time */

/* --- odd rows --- */

enum { MAX_TELLERS = ORR_GRID_AXES + ORR_GRID_HINTS };

/* The middle of what lines and hints say of a row (of four the mean of the middle two; of two
 * the one that is nearer to the row): one that crosses a step, or leans on another odd row, does
 * not decide. FALSE when fewer say something. */
static gboolean middle_at(const OrrGrid *grid, guint at, double *ret_value) {
  double told[MAX_TELLERS], span;
  int n = 0;
  for (int axis = 0; axis < ORR_GRID_AXES; axis++)
    n += orr_grid_line_at(grid, at, axis, &told[n], &span);
  for (int kind = 0; kind < ORR_GRID_HINTS; kind++) n += orr_grid_hint_at(grid, at, kind, &told[n]);
  if (n < 2) return FALSE;
  for (int i = 1; i < n; i++)
    for (int k = i; k > 0 && told[k] < told[k - 1]; k--) {
      double swapped = told[k];
      told[k] = told[k - 1];
      told[k - 1] = swapped;
    }
  double row = grid->values[at];
  *ret_value = n > 2                                       ? (told[(n - 1) / 2] + told[n / 2]) / 2
               : fabs(told[0] - row) < fabs(told[1] - row) ? told[0]
                                                           : told[1];
  return TRUE;
}

/* Twice, the second time without the rows that the first one found. */
static void find_odd(OrrGrid *grid) {
  for (int pass = 0; pass < 2; pass++) {
    guint8 *odd = g_new0(guint8, grid->n_cells);
    g_autofree double *told = g_new(double, grid->n_cells);
    for (guint at = 0; at < grid->n_cells; at++)
      odd[at] = grid->trust[at] == ORR_GRID_ROW && middle_at(grid, at, &told[at]) &&
                fabs(told[at] - grid->values[at]) > odd_distance;
    g_free(grid->odd);
    g_free(grid->told);
    grid->odd = odd;
    grid->told = g_steal_pointer(&told);
  }
}

/* --- contradicted rows --- */

enum { N_WITNESSES = 2 };

/* Of the cells on one side of a cell, the rows with the least of a number; INFINITY: fewer rows. */
typedef struct {
  double least[N_WITNESSES];
  guint cells[N_WITNESSES];
} Witnesses;

static void add_witness(Witnesses *witnesses, double number, guint cell) {
  if (!(number < witnesses->least[1]) ||
      (cell == witnesses->cells[0] && number == witnesses->least[0]))
    return;
  const int place = number < witnesses->least[0] ? 0 : 1;
  if (place == 0) {
    witnesses->least[1] = witnesses->least[0];
    witnesses->cells[1] = witnesses->cells[0];
  }
  witnesses->least[place] = number;
  witnesses->cells[place] = cell;
}

/* For every cell the witnesses among cells that are not below it on any axis (@upwards: their
 * times), or not above it (their times, negative). Each side is the union of the next cells'
 * sides and these cells themselves. */
static Witnesses *find_witnesses(const OrrGrid *grid, gboolean upwards) {
  Witnesses *all = g_new(Witnesses, grid->n_cells);
  for (guint i = 0; i < grid->n_cells; i++) {
    const guint at = upwards ? grid->n_cells - 1 - i : i;
    all[at] = (Witnesses){{INFINITY, INFINITY}, {G_MAXUINT, G_MAXUINT}};
    for (int axis = 0; axis < ORR_GRID_AXES; axis++) {
      const guint index = at / grid->strides[axis] % grid->lengths[axis];
      if (index == (upwards ? grid->lengths[axis] - 1 : 0)) continue;
      const guint next = upwards ? at + grid->strides[axis] : at - grid->strides[axis];
      for (int w = 0; w < N_WITNESSES; w++)
        add_witness(&all[at], all[next].least[w], all[next].cells[w]);
      if (grid->trust[next] == ORR_GRID_ROW && !grid->odd[next])
        add_witness(&all[at], upwards ? grid->times[next] : -grid->times[next], next);
    }
  }
  return all;
}

static void set_point(const OrrGrid *grid, guint at, double point[ORR_GRID_AXES]) {
  for (int axis = 0; axis < ORR_GRID_AXES; axis++)
    point[axis] = grid->axes[axis][at / grid->strides[axis] % grid->lengths[axis]];
}

/* @witnesses: of the side that an odd row at @at contradicts where it is wrong. */
static OrrGridAside aside_of(const OrrGrid *grid, guint at, const Witnesses *witnesses,
                             double sign) {
  OrrGridAside aside = {.value = grid->values[at], .witness = {NAN, NAN, NAN}, .times_slower = NAN};
  set_point(grid, at, aside.point);
  if (!(sign * grid->times[at] - witnesses->least[N_WITNESSES - 1] > odd_distance)) return aside;
  set_point(grid, witnesses->cells[0], aside.witness);
  aside.times_slower = exp(grid->times[at] - sign * witnesses->least[0]);
  return aside;
}

/* What every odd row says of itself, contradicted or not. */
static GArray *judge_odd(const OrrGrid *grid, GArray *cells) {
  GArray *judged = g_array_new(FALSE, FALSE, sizeof(OrrGridAside));
  g_autofree Witnesses *larger = find_witnesses(grid, TRUE), *smaller = find_witnesses(grid, FALSE);
  for (guint at = 0; at < grid->n_cells; at++) {
    if (!grid->odd[at]) continue;
    const gboolean is_slow = grid->told[at] < grid->values[at];
    const OrrGridAside aside =
        aside_of(grid, at, is_slow ? &larger[at] : &smaller[at], is_slow ? 1 : -1);
    g_array_append_val(judged, aside);
    g_array_append_val(cells, at);
  }
  return judged;
}

static void set_aside(OrrGrid *grid) {
  g_autoptr(GArray) cells = g_array_new(FALSE, FALSE, sizeof(guint)),
                    judged = judge_odd(grid, cells);
  guint n_contradicted = 0;
  for (guint i = 0; i < judged->len; i++)
    n_contradicted += !isnan(g_array_index(judged, OrrGridAside, i).times_slower);
  const gboolean is_disturbed = 4 * n_contradicted > 3 * judged->len;
  grid->aside = g_array_new(FALSE, FALSE, sizeof(OrrGridAside));
  for (guint i = 0; i < judged->len; i++) {
    const OrrGridAside *aside = &g_array_index(judged, OrrGridAside, i);
    const guint at = g_array_index(cells, guint, i);
    if (!is_disturbed && isnan(aside->times_slower)) continue;
    g_array_append_vals(grid->aside, aside, 1);
    grid->trust[at] = ORR_GRID_HOLE;
    grid->odd[at] = FALSE;
  }
}

void orr_grid_find_odd(OrrGrid *grid) {
  find_odd(grid);
  if (grid->times) set_aside(grid);
}

/* --- asking --- */

guint orr_grid_n_aside(const OrrGrid *grid) { return grid->aside ? grid->aside->len : 0; }

guint orr_grid_n_rows(const OrrGrid *grid) {
  guint n = orr_grid_n_aside(grid);
  for (guint at = 0; at < grid->n_cells; at++) n += grid->trust[at] == ORR_GRID_ROW;
  return n;
}

const OrrGridAside *orr_grid_aside_at(const OrrGrid *grid, const double point[ORR_GRID_AXES]) {
  for (guint i = 0; i < orr_grid_n_aside(grid); i++) {
    const OrrGridAside *aside = &g_array_index(grid->aside, OrrGridAside, i);
    if (aside->point[0] == point[0] && aside->point[1] == point[1] && aside->point[2] == point[2])
      return aside;
  }
  return NULL;
}

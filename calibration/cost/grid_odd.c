/*
 * grid_odd.c - finds rows of a table that should not be believed, by comparing them with the other
 * rows.
 *
 * Measurements go wrong: the clock fell, another process ran, the host was late, a kernel did not
 * run. Three rules find such rows.
 *
 * 1. Outliers. A row is an outlier where it is 20 % or more away from the median of its neighbours'
 * estimates: the lines through it along each axis, and the hints. Estimates are distances from the
 * roofline, so the rule assumes a smooth efficiency, which kernels do not promise. Of H100's bf16
 * products one row in 60 is an outlier, and H200, the same chip with other memory, agrees with the
 * row as often as with its neighbours. An outlier answers where it was measured, but nothing is
 * interpolated from it.
 *
 * 2. Contradicted. A kernel that does more along every axis takes no less time, since it could do
 * the smaller task with padding: time is monotone in m, n and k. That holds up to tile effects:
 * libraries choose kernels by rules of thumb, and a product that fills its tiles can overtake a
 * smaller one that does not. In the tables of H100 and H200, one row in 60 takes 1.2 times as long
 * as two products that are at least as large. So 1.2 is the tolerance, and two witnesses are
 * needed, because one of them could be the wrong row. An outlier that is slower than two larger
 * ones, or faster than two smaller ones, is excluded: its cell becomes a hole and is interpolated.
 * The neighbours decide which row of a contradiction is wrong: only outliers are excluded, and
 * outliers are not witnesses.
 *
 * 3. Growth. A task can be done in parts, so time grows no faster than work (m times n times k), up
 * to the factor of 2 of judge.c. The order of times cannot judge the last row of an axis, which has
 * no larger one; growth can. It excludes rows as rule 2 does.
 *
 * 4. First rows. A whole column of wrong rows agrees with itself. A product of few rows can be
 * padded, and fills no tile whatever its kernel is: a row that is the first of its line along axis
 * 0, and takes more than 1.3 times as long as each of the next three, is excluded, and the next one
 * answers for it. Where that is more than half of the lines, the column was disturbed, and each
 * first row that is slower than the next three goes. Two in three of B200's fp8 products with m = 1
 * are excluded by themselves, nine in ten of GB200's (22 us where m = 2 to 16 take 6; some 15 us
 * more at all sizes) and one in ten of H100's. Kernels need no more: vLLM's own take as long with
 * m = 1 on B200 as with 16 (its pull request 19566: 8.4 and 138 TFLOP/s of one shape, 5.9 and 93 of
 * another).
 *
 * The order of times shows only errors that cross another row's time. So a table in which it
 * contradicts three in four of the outliers was disturbed while it was measured, and all its
 * outliers are excluded (B200's fp8 products: 85 %; elsewhere it contradicts 37 to 64 %). Of B200's
 * fp8 rows excluded, 97 % are farther from GB200's row of the same shape, the same chip, than
 * their neighbours' estimates are: 55 % off on average, where the estimates are 5 % off.
 */
#include "calibration/cost/cost_private.h"

static const double odd_distance = 0.18;    /* ln 1.2, of the efficiency and of the time */
static const double growth_distance = 0.69; /* ln 2, of the time per work; judge.c says why */
static const double first_distance = 0.26;  /* ln 1.3, of the time; as judge.c's for all-reduces */

/* --- outliers --- */

enum { MAX_ESTIMATES = ORR_GRID_AXES + ORR_GRID_HINTS };

/* The median of the estimates that lines and hints give for a row (of four, the mean of the
 * middle two; of two, the one nearer to the row). One estimate that crosses a step, or leans on
 * another outlier, so does not decide. FALSE with fewer than two. */
static gboolean middle_at(const OrrGrid *grid, guint at, double *ret_value) {
  double estimates[MAX_ESTIMATES], span;
  int n = 0;
  for (int axis = 0; axis < ORR_GRID_AXES; axis++)
    n += orr_grid_line_at(grid, at, axis, &estimates[n], &span);
  for (int kind = 0; kind < ORR_GRID_HINTS; kind++)
    n += orr_grid_hint_at(grid, at, kind, &estimates[n]);
  if (n < 2) return FALSE;
  for (int i = 1; i < n; i++)
    for (int k = i; k > 0 && estimates[k] < estimates[k - 1]; k--) {
      double swapped = estimates[k];
      estimates[k] = estimates[k - 1];
      estimates[k - 1] = swapped;
    }
  double row = grid->values[at];
  *ret_value = n > 2 ? (estimates[(n - 1) / 2] + estimates[n / 2]) / 2
               : fabs(estimates[0] - row) < fabs(estimates[1] - row) ? estimates[0]
                                                                     : estimates[1];
  return TRUE;
}

/* Runs twice, the second time without the outliers that the first run found. */
static void find_odd(OrrGrid *grid) {
  for (int pass = 0; pass < 2; pass++) {
    guint8 *odd = g_new0(guint8, grid->n_cells);
    g_autofree double *expected = g_new(double, grid->n_cells);
    orr_grid_find_steps(grid);
    for (guint at = 0; at < grid->n_cells; at++)
      odd[at] = grid->trust[at] == ORR_GRID_ROW && middle_at(grid, at, &expected[at]) &&
                fabs(expected[at] - grid->values[at]) > odd_distance;
    ORR_FREE(grid->odd, grid->expected);
    grid->odd = odd;
    grid->expected = g_steal_pointer(&expected);
  }
}

/* --- contradicted rows --- */

enum { N_WITNESSES = 2 };

/* The rows with the smallest numbers among the cells on one side of a cell; INFINITY: fewer
 * rows. */
typedef struct {
  double least[N_WITNESSES];
  guint nearest; /* the cell of the least */
} Witnesses;

static void add_witness(Witnesses *witnesses, double number, guint cell) {
  const gboolean is_least = number < witnesses->least[0];
  witnesses->least[1] = is_least ? witnesses->least[0] : number;
  if (!is_least) return;
  witnesses->least[0] = number;
  witnesses->nearest = cell;
}

/* The keys of cells that can be witnesses; NAN, which is less than nothing, elsewhere. */
static double *keys_of_witnesses(const OrrGrid *grid, const double *keys) {
  double *own = g_new(double, grid->n_cells);
  for (guint at = 0; at < grid->n_cells; at++)
    own[at] = grid->trust[at] == ORR_GRID_ROW && !grid->odd[at] ? keys[at] : NAN;
  return own;
}

/* The witnesses among the cells that are not below cell @at on any axis (@upwards), or not above
 * it: those with the least @sign times @keys, which are NAN where a cell cannot be a witness. */
static Witnesses find_witnesses(const OrrGrid *grid, guint at, const double *keys, double sign,
                                gboolean upwards) {
  Witnesses found = {{INFINITY, INFINITY}, G_MAXUINT};
  guint begin[ORR_GRID_AXES], end[ORR_GRID_AXES];
  for (int axis = 0; axis < ORR_GRID_AXES; axis++) {
    const guint index = at / grid->strides[axis] % grid->lengths[axis];
    begin[axis] = upwards ? index : 0;
    end[axis] = upwards ? grid->lengths[axis] : index + 1;
  }
  for (guint a = begin[0]; a < end[0]; a++)
    for (guint b = begin[1]; b < end[1]; b++)
      for (guint c = begin[2]; c < end[2]; c++) {
        const guint cell = a * grid->strides[0] + b * grid->strides[1] + c;
        if (sign * keys[cell] < found.least[1]) add_witness(&found, sign * keys[cell], cell);
      }
  return found;
}

static void set_point(const OrrGrid *grid, guint at, double point[ORR_GRID_AXES]) {
  for (int axis = 0; axis < ORR_GRID_AXES; axis++)
    point[axis] = grid->axes[axis][at / grid->strides[axis] % grid->lengths[axis]];
}

/* Names the witness in @aside if two of them contradict the row at @at. @keys: the times or the
 * rates, by which witnesses are chosen; @own: the keys of witnesses. */
static gboolean is_contradicted(const OrrGrid *grid, guint at, const double *keys,
                                const double *own, double sign, gboolean upwards,
                                OrrGridAside *aside) {
  const double tolerance = keys == grid->rates ? growth_distance : odd_distance;
  const Witnesses witnesses = find_witnesses(grid, at, own, sign, upwards);
  if (!(sign * keys[at] - witnesses.least[N_WITNESSES - 1] > tolerance)) return FALSE;
  const guint cell = witnesses.nearest;
  const double work = grid->times[cell] - grid->rates[cell] - grid->times[at] + grid->rates[at];
  set_point(grid, cell, aside->witness);
  aside->times_slower = exp(grid->times[at] - grid->times[cell]);
  aside->times_work = keys == grid->rates ? exp(work) : 1;
  return TRUE;
}

/* Every outlier as an OrrGridAside, contradicted or not; @cells receives their indices. A slow row
 * can be contradicted by the times of larger rows, or by the rates of smaller ones; a fast one by
 * the times of smaller rows, or by the rates of larger ones. */
static GArray *judge_odd(const OrrGrid *grid, GArray *cells) {
  GArray *judged = g_array_new(FALSE, FALSE, sizeof(OrrGridAside));
  g_autofree double *times = keys_of_witnesses(grid, grid->times);
  g_autofree double *rates = keys_of_witnesses(grid, grid->rates);
  for (guint at = 0; at < grid->n_cells; at++) {
    if (!grid->odd[at]) continue;
    const gboolean is_slow = grid->expected[at] < grid->values[at];
    OrrGridAside aside = {.value = grid->values[at],
                          .witness = {NAN, NAN, NAN},
                          .times_slower = NAN,
                          .times_work = 1};
    set_point(grid, at, aside.point);
    const double sign = is_slow ? 1 : -1;
    if (!is_contradicted(grid, at, grid->times, times, sign, is_slow, &aside))
      is_contradicted(grid, at, grid->rates, rates, sign, !is_slow, &aside);
    g_array_append_val(judged, aside);
    g_array_append_val(cells, at);
  }
  return judged;
}

static void set_aside(OrrGrid *grid) {
  g_autoptr(GArray) cells = g_array_new(FALSE, FALSE, sizeof(guint)),
                    judged = judge_odd(grid, cells);
  guint n_contradicted = 0;
  ORR_EACH(const OrrGridAside, one, judged) n_contradicted += !isnan(one->times_slower);
  const gboolean is_disturbed = 4 * n_contradicted > 3 * judged->len;
  ORR_EACH_AT(i, const OrrGridAside, aside, judged) {
    const guint at = g_array_index(cells, guint, i);
    if (!is_disturbed && isnan(aside->times_slower)) continue;
    g_array_append_vals(grid->aside, aside, 1);
    grid->trust[at] = ORR_GRID_HOLE;
    grid->odd[at] = FALSE;
  }
}

/* --- first rows --- */

enum { N_NEXT = 3 };

/* The first rows of the line along axis 0 that begins at cell @begin; FALSE where they are too few,
 * or no line begins. */
static gboolean rows_of(const OrrGrid *grid, guint begin, guint ret_rows[1 + N_NEXT]) {
  guint n = 0;
  if (begin / grid->strides[0] % grid->lengths[0] > 0) return FALSE;
  for (guint i = 0; i < grid->lengths[0] && n <= N_NEXT; i++) {
    const guint at = begin + i * grid->strides[0];
    if (grid->trust[at] == ORR_GRID_ROW) ret_rows[n++] = at;
  }
  return n > N_NEXT;
}

static gboolean is_slow_first(const OrrGrid *grid, const guint rows[1 + N_NEXT], double distance) {
  for (guint i = 1; i <= N_NEXT; i++)
    if (!(grid->times[rows[0]] - grid->times[rows[i]] > distance)) return FALSE;
  return TRUE;
}

/* The next row answers for the first: it is what the padded product takes. */
static void set_one_first_aside(OrrGrid *grid, guint first, guint next) {
  OrrGridAside aside = {.value = grid->values[first],
                        .times_slower = exp(grid->times[first] - grid->times[next]),
                        .times_work = 1};
  set_point(grid, first, aside.point);
  set_point(grid, next, aside.witness);
  g_array_append_val(grid->aside, aside);
  grid->values[first] -= grid->times[first] - grid->times[next];
  grid->trust[first] = ORR_GRID_BETWEEN;
}

static void set_first_aside(OrrGrid *grid) {
  guint rows[1 + N_NEXT], n_lines = 0, n_slow = 0;
  for (guint begin = 0; begin < grid->n_cells; begin++) {
    if (!rows_of(grid, begin, rows)) continue;
    n_lines++;
    n_slow += is_slow_first(grid, rows, first_distance);
  }
  const double distance = 2 * n_slow > n_lines ? 0 : first_distance;
  for (guint begin = 0; begin < grid->n_cells; begin++)
    if (rows_of(grid, begin, rows) && is_slow_first(grid, rows, distance))
      set_one_first_aside(grid, rows[0], rows[1]);
}

void orr_grid_find_odd(OrrGrid *grid) {
  if (grid->times) {
    grid->aside = g_array_new(FALSE, FALSE, sizeof(OrrGridAside));
    set_first_aside(grid);
  }
  find_odd(grid);
  if (grid->times) set_aside(grid);
}

/* --- queries --- */

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

/*
 * grid.c - makes, fills and queries a grid.
 *
 * Filling. Round 1 fills each hole that lies between two rows on a line along some axis, or that
 * has hints, with the mean of these estimates, weighted by 1/variance. The table itself shows how
 * good they are: every row is estimated from its neighbours on each axis (and from its hints). The
 * mean error over the mean span is that axis' deviation for a span of 1; a line's variance grows
 * with the square of its span. Later rounds fill the holes at the rim with the nearest cells that
 * have a value, weighted by 1/distance, ring by ring. A round does not use values that it found
 * itself, so that the order of the cells does not matter. (With each (n, k) of a GEMM table left
 * out in turn, a local plane fitted to the neighbours was worse: 6 against 5 % mean error on A100.)
 */
#include "calibration/cost/cost_private.h"

OrrGrid *orr_grid_new(const double *const axes[ORR_GRID_AXES], const guint lengths[ORR_GRID_AXES]) {
  OrrGrid *grid = g_new0(OrrGrid, 1);
  grid->n_cells = 1;
  for (int a = ORR_GRID_AXES - 1; a >= 0; a--) {
    grid->lengths[a] = lengths[a];
    grid->strides[a] = grid->n_cells;
    grid->n_cells *= lengths[a];
    grid->axes[a] = g_memdup2(axes[a], lengths[a] * sizeof(double));
    grid->logs[a] = g_new(double, lengths[a]);
    for (guint i = 0; i < lengths[a]; i++) grid->logs[a][i] = log(axes[a][i]);
  }
  grid->values = g_new0(double, grid->n_cells);
  grid->trust = g_new(guint8, grid->n_cells);
  for (guint i = 0; i < grid->n_cells; i++) grid->trust[i] = ORR_GRID_HOLE;
  return grid;
}

static void forget_steps(OrrGrid *grid) {
  for (int axis = 0; axis < ORR_GRID_AXES; axis++)
    for (int upwards = 0; upwards < 2; upwards++)
      g_clear_pointer(&grid->steps[axis][upwards], g_free);
}

void orr_grid_free(OrrGrid *grid) {
  if (!grid) return;
  for (int a = 0; a < ORR_GRID_AXES; a++) {
    ORR_FREE(grid->axes[a], grid->logs[a]);
  }
  g_free(grid->values);
  for (int kind = 0; kind < ORR_GRID_HINTS; kind++) g_free(grid->hints[kind]);
  ORR_FREE(grid->odd, grid->expected, grid->trust, grid->times, grid->rates);
  if (grid->aside) g_array_unref(grid->aside);
  forget_steps(grid);
  g_free(grid);
}

static guint index_of(const OrrGrid *grid, const guint cell[ORR_GRID_AXES]) {
  guint at = 0;
  for (int a = 0; a < ORR_GRID_AXES; a++) at += cell[a] * grid->strides[a];
  return at;
}

void orr_grid_set(OrrGrid *grid, const guint cell[ORR_GRID_AXES], double value) {
  guint at = index_of(grid, cell);
  grid->values[at] = value;
  grid->trust[at] = ORR_GRID_ROW;
}

void orr_grid_time(OrrGrid *grid, const guint cell[ORR_GRID_AXES], double time_s, double work) {
  if (!grid->times) {
    grid->times = g_new0(double, grid->n_cells);
    grid->rates = g_new0(double, grid->n_cells);
  }
  grid->times[index_of(grid, cell)] = log(time_s);
  grid->rates[index_of(grid, cell)] = log(time_s / work);
}

gboolean orr_grid_get(const OrrGrid *grid, const guint cell[ORR_GRID_AXES], double *ret_value) {
  guint at = index_of(grid, cell);
  if (grid->trust[at] != ORR_GRID_ROW) return FALSE;
  *ret_value = grid->values[at];
  return TRUE;
}

void orr_grid_hint(OrrGrid *grid, int kind, const guint cell[ORR_GRID_AXES], double value) {
  double **hints = &grid->hints[kind];
  if (!*hints) {
    *hints = g_new(double, grid->n_cells);
    for (guint i = 0; i < grid->n_cells; i++) (*hints)[i] = NAN;
  }
  (*hints)[index_of(grid, cell)] = value;
}

void orr_grid_range(const OrrGrid *grid, int axis, double *ret_low, double *ret_high) {
  *ret_low = grid->axes[axis][0];
  *ret_high = grid->axes[axis][grid->lengths[axis] - 1];
}

void orr_grid_sort_axis(GArray *axis) {
  g_array_sort(axis, orr_order_doubles);
  guint n_kept = 0;
  for (guint i = 0; i < axis->len; i++)
    if (n_kept == 0 || g_array_index(axis, double, i) > g_array_index(axis, double, n_kept - 1))
      g_array_index(axis, double, n_kept++) = g_array_index(axis, double, i);
  g_array_set_size(axis, n_kept);
}

/* --- neighbours --- */

static gboolean is_neighbour(const OrrGrid *grid, guint at) {
  return grid->trust[at] != ORR_GRID_HOLE && !(grid->odd && grid->odd[at]);
}

/* One sweep along the axis: a cell is one step farther from the next value than its neighbour.
 * @usable: whether a cell has a value. */
static void find_steps(OrrGrid *grid, int axis, gboolean upwards, const guint8 *restrict usable) {
  const guint stride = grid->strides[axis], length = grid->lengths[axis];
  guint *steps = grid->steps[axis][upwards];
  for (guint block = 0; block < grid->n_cells; block += stride * length)
    for (guint i = 0; i < length; i++) {
      const guint first = block + (upwards ? length - 1 - i : i) * stride;
      if (i == 0) {
        memset(steps + first, 0, stride * sizeof *steps);
        continue;
      }
      const guint next = upwards ? first + stride : first - stride;
      for (guint k = 0; k < stride; k++) {
        const guint beyond = steps[next + k] + (steps[next + k] > 0);
        steps[first + k] = usable[next + k] ? 1 : beyond;
      }
    }
}

void orr_grid_find_steps(OrrGrid *grid) {
  g_autofree guint8 *usable = g_new(guint8, grid->n_cells);
  for (guint at = 0; at < grid->n_cells; at++) usable[at] = is_neighbour(grid, at);
  for (int axis = 0; axis < ORR_GRID_AXES; axis++)
    for (int upwards = 0; upwards < 2; upwards++) {
      guint **steps = &grid->steps[axis][upwards];
      if (!*steps) *steps = g_new(guint, grid->n_cells);
      find_steps(grid, axis, upwards, usable);
    }
}

gboolean orr_grid_line_at(const OrrGrid *grid, guint at, int axis, double *ret_value,
                          double *ret_span) {
  const guint below = grid->steps[axis][0][at], above = grid->steps[axis][1][at];
  if (!below || !above) return FALSE;
  guint index = at / grid->strides[axis] % grid->lengths[axis];
  const double *logs = grid->logs[axis];
  *ret_span = logs[index + above] - logs[index - below];
  double fraction = (logs[index] - logs[index - below]) / *ret_span;
  *ret_value = grid->values[at - below * grid->strides[axis]] * (1 - fraction) +
               grid->values[at + above * grid->strides[axis]] * fraction;
  return TRUE;
}

/* --- filling --- */

/* How far the estimates are from the rows. */
typedef struct {
  double axes[ORR_GRID_AXES]; /* of a line of span 1 */
  double hints[ORR_GRID_HINTS];
} Deviation;

/* Lower limit of a deviation, and the deviation of an axis with fewer than four checks. */
static const double least_deviation = 0.002, unknown_deviation = 0.1;

static double mean_deviation(double sum, double span, guint n) {
  return n < 4 ? unknown_deviation : fmax(least_deviation, sum / n) / (span / n);
}

static Deviation measure_deviation(const OrrGrid *grid) {
  Deviation deviation;
  for (int axis = 0; axis < ORR_GRID_AXES; axis++) {
    double sum = 0, spans = 0, value, span;
    guint n = 0;
    for (guint at = 0; at < grid->n_cells; at++)
      if (grid->trust[at] == ORR_GRID_ROW && !grid->odd[at] &&
          orr_grid_line_at(grid, at, axis, &value, &span)) {
        sum += fabs(value - grid->values[at]);
        spans += span;
        n++;
      }
    deviation.axes[axis] = mean_deviation(sum, spans, n);
  }
  for (int kind = 0; kind < ORR_GRID_HINTS; kind++) {
    double sum = 0, estimate;
    guint n = 0;
    for (guint at = 0; grid->hints[kind] && at < grid->n_cells; at++)
      if (grid->trust[at] == ORR_GRID_ROW && !grid->odd[at] &&
          orr_grid_hint_at(grid, at, kind, &estimate)) {
        sum += fabs(estimate - grid->values[at]);
        n++;
      }
    deviation.hints[kind] = mean_deviation(sum, n, n);
  }
  return deviation;
}

static double between(const OrrGrid *grid, guint at, const Deviation *deviation) {
  double sum = 0, weights = 0, value, span;
  for (int axis = 0; axis < ORR_GRID_AXES; axis++) {
    if (!orr_grid_line_at(grid, at, axis, &value, &span)) continue;
    double weight = 1 / (deviation->axes[axis] * span * deviation->axes[axis] * span);
    sum += weight * value;
    weights += weight;
  }
  for (int kind = 0; kind < ORR_GRID_HINTS; kind++) {
    if (!orr_grid_hint_at(grid, at, kind, &value)) continue;
    double weight = 1 / (deviation->hints[kind] * deviation->hints[kind]);
    sum += weight * value;
    weights += weight;
  }
  return weights > 0 ? sum / weights : NAN;
}

static double nearest(const OrrGrid *grid, guint at, const Deviation *deviation) {
  double sum = 0, weights = 0;
  for (int axis = 0; axis < ORR_GRID_AXES; axis++) {
    guint index = at / grid->strides[axis] % grid->lengths[axis];
    const double *logs = grid->logs[axis];
    for (int upwards = 0; upwards < 2; upwards++) {
      const guint steps = grid->steps[axis][upwards][at];
      if (!steps) continue;
      const guint other = upwards ? index + steps : index - steps;
      const guint cell =
          upwards ? at + steps * grid->strides[axis] : at - steps * grid->strides[axis];
      double distance = fabs(logs[other] - logs[index]);
      sum += grid->values[cell] / distance;
      weights += 1 / distance;
    }
  }
  return weights > 0 ? sum / weights : NAN;
}

/* The value of a hole; NAN where there is no estimate. */
typedef double (*Estimate)(const OrrGrid *grid, guint at, const Deviation *deviation);

/* Fills all holes that it can; returns how many are left. The steps are found. */
static guint fill_pass(OrrGrid *grid, Estimate estimate, const Deviation *deviation,
                       OrrGridTrust trust) {
  g_autofree double *found = g_new(double, grid->n_cells);
  guint left = 0;
  for (guint at = 0; at < grid->n_cells; at++) {
    found[at] = grid->trust[at] == ORR_GRID_HOLE ? estimate(grid, at, deviation) : NAN;
    left += grid->trust[at] == ORR_GRID_HOLE && isnan(found[at]);
  }
  for (guint at = 0; at < grid->n_cells; at++)
    if (!isnan(found[at])) {
      grid->values[at] = found[at];
      grid->trust[at] = (guint8)trust;
    }
  return left;
}

gboolean orr_grid_fill(OrrGrid *grid) {
  orr_grid_find_odd(grid);
  orr_grid_find_steps(grid);
  Deviation deviation = measure_deviation(grid);
  guint left = fill_pass(grid, between, &deviation, ORR_GRID_BETWEEN);
  for (int kind = 0; kind < ORR_GRID_HINTS; kind++) g_clear_pointer(&grid->hints[kind], g_free);
  g_clear_pointer(&grid->times, g_free);
  g_clear_pointer(&grid->rates, g_free);
  for (guint before = left + 1; left > 0 && left < before;) {
    before = left;
    orr_grid_find_steps(grid);
    left = fill_pass(grid, nearest, &deviation, ORR_GRID_BEYOND);
  }
  forget_steps(grid);
  return left == 0;
}

/* --- queries --- */

typedef struct {
  guint low;       /* index of the lower end */
  double fraction; /* of the upper end, 0..1 */
} Bracket;

static Bracket bracket(const OrrGrid *grid, int axis, double x, OrrGridTrust *trust) {
  const double *values = grid->axes[axis];
  guint low = 0, high = grid->lengths[axis] - 1;
  if (x <= values[0] || high == 0) {
    *trust = x == values[0] ? *trust : ORR_GRID_BEYOND;
    return (Bracket){0, 0};
  }
  if (x >= values[high]) {
    *trust = x == values[high] ? *trust : ORR_GRID_BEYOND;
    return (Bracket){high, 0};
  }
  while (high - low > 1) {
    guint middle = (low + high) / 2;
    if (values[middle] <= x)
      low = middle;
    else
      high = middle;
  }
  if (x == values[low]) return (Bracket){low, 0};
  *trust = MAX(*trust, ORR_GRID_BETWEEN);
  const double *logs = grid->logs[axis];
  return (Bracket){low, (log(x) - logs[low]) / (logs[low + 1] - logs[low])};
}

double orr_grid_at(const OrrGrid *grid, const double point[ORR_GRID_AXES],
                   OrrGridTrust *ret_trust) {
  OrrGridTrust trust = ORR_GRID_ROW;
  Bracket brackets[ORR_GRID_AXES];
  for (int a = 0; a < ORR_GRID_AXES; a++) brackets[a] = bracket(grid, a, point[a], &trust);
  double value = 0;
  gboolean is_at_cell =
      brackets[0].fraction <= 0 && brackets[1].fraction <= 0 && brackets[2].fraction <= 0;
  for (int corner = 0; corner < 1 << ORR_GRID_AXES; corner++) {
    double weight = 1;
    guint at = 0;
    for (int a = 0; a < ORR_GRID_AXES && weight > 0; a++) {
      gboolean upper = corner >> a & 1;
      weight *= upper ? brackets[a].fraction : 1 - brackets[a].fraction;
      at += (brackets[a].low + (upper && weight > 0)) * grid->strides[a];
    }
    if (weight <= 0) continue;
    value += weight *
             (!is_at_cell && grid->odd && grid->odd[at] ? grid->expected[at] : grid->values[at]);
    trust = MAX(trust, (OrrGridTrust)grid->trust[at]);
  }
  *ret_trust = trust;
  return value;
}

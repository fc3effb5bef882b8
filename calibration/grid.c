/*
 * grid.c - see grid.h.
 *
 * Filling: pass 1 gives a hole that lies between two rows on a line along some axis the mean over those axes of the
 * straight line between the two, weighted by 1/span (a near pair says more than a far one). Later passes give holes at
 * the rim the value of the nearest cells that have one, weighted by 1/distance, ring by ring. Values found in a pass
 * are not used within it, so that the order of the cells does not matter. Leaving out each (n, k) of a GEMM table in
 * turn, this was better than a local plane fitted to the neighbours (A100: 5 against 6 % mean error).
 */
#include "calibration/grid.h"

#include <math.h>

struct OrrGrid {
  guint lengths[ORR_GRID_AXES];
  guint strides[ORR_GRID_AXES];
  double *axes[ORR_GRID_AXES]; /* as given */
  double *logs[ORR_GRID_AXES]; /* their logarithms */
  guint n_cells;
  double *values;
  guint8 *trust; /* OrrGridTrust, or HOLE */
};

enum { HOLE = 255 };

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
  for (guint i = 0; i < grid->n_cells; i++) grid->trust[i] = HOLE;
  return grid;
}

void orr_grid_free(OrrGrid *grid) {
  if (!grid) return;
  for (int a = 0; a < ORR_GRID_AXES; a++) {
    g_free(grid->axes[a]);
    g_free(grid->logs[a]);
  }
  g_free(grid->values);
  g_free(grid->trust);
  g_free(grid);
}

void orr_grid_set(OrrGrid *grid, const guint cell[ORR_GRID_AXES], double value) {
  guint at = 0;
  for (int a = 0; a < ORR_GRID_AXES; a++) at += cell[a] * grid->strides[a];
  grid->values[at] = value;
  grid->trust[at] = ORR_GRID_ROW;
}

static int compare_doubles(gconstpointer a, gconstpointer b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

void orr_grid_sort_axis(GArray *axis) {
  g_array_sort(axis, compare_doubles);
  guint n_kept = 0;
  for (guint i = 0; i < axis->len; i++)
    if (n_kept == 0 || g_array_index(axis, double, i) > g_array_index(axis, double, n_kept - 1))
      g_array_index(axis, double, n_kept++) = g_array_index(axis, double, i);
  g_array_set_size(axis, n_kept);
}

/* --- filling --- */

/* Steps from @at along @axis in @direction to the next cell with a value; 0 when there is none. */
static guint steps_to_value(const OrrGrid *grid, guint at, int axis, int direction) {
  guint index = at / grid->strides[axis] % grid->lengths[axis];
  guint room = direction < 0 ? index : grid->lengths[axis] - 1 - index;
  for (guint s = 1; s <= room; s++)
    if (grid->trust[direction < 0 ? at - s * grid->strides[axis] : at + s * grid->strides[axis]] != HOLE) return s;
  return 0;
}

/* Adds what the lines through @at say, when a value lies on both sides of it. */
static void add_between(const OrrGrid *grid, guint at, int axis, double *sum, double *weight) {
  guint below = steps_to_value(grid, at, axis, -1), above = steps_to_value(grid, at, axis, 1);
  if (!below || !above) return;
  guint index = at / grid->strides[axis] % grid->lengths[axis];
  const double *logs = grid->logs[axis];
  double span = logs[index + above] - logs[index - below];
  double share = (logs[index] - logs[index - below]) / span;
  double value = grid->values[at - below * grid->strides[axis]] * (1 - share) +
                 grid->values[at + above * grid->strides[axis]] * share;
  *sum += value / span;
  *weight += 1 / span;
}

static void add_nearest(const OrrGrid *grid, guint at, int axis, double *sum, double *weight) {
  guint index = at / grid->strides[axis] % grid->lengths[axis];
  const double *logs = grid->logs[axis];
  for (int direction = -1; direction <= 1; direction += 2) {
    guint steps = steps_to_value(grid, at, axis, direction);
    if (!steps) continue;
    guint other = direction < 0 ? index - steps : index + steps;
    double distance = fabs(logs[other] - logs[index]);
    *sum +=
        grid->values[direction < 0 ? at - steps * grid->strides[axis] : at + steps * grid->strides[axis]] / distance;
    *weight += 1 / distance;
  }
}

typedef void (*Adder)(const OrrGrid *grid, guint at, int axis, double *sum, double *weight);

/* One pass over all holes; how many are left. */
static guint fill_pass(OrrGrid *grid, Adder add, OrrGridTrust trust) {
  g_autofree double *found = g_new(double, grid->n_cells);
  guint left = 0;
  for (guint at = 0; at < grid->n_cells; at++) {
    double sum = 0, weight = 0;
    for (int axis = 0; axis < ORR_GRID_AXES && grid->trust[at] == HOLE; axis++) add(grid, at, axis, &sum, &weight);
    found[at] = weight > 0 ? sum / weight : NAN;
    left += grid->trust[at] == HOLE && weight <= 0;
  }
  for (guint at = 0; at < grid->n_cells; at++)
    if (grid->trust[at] == HOLE && !isnan(found[at])) {
      grid->values[at] = found[at];
      grid->trust[at] = (guint8)trust;
    }
  return left;
}

gboolean orr_grid_fill(OrrGrid *grid) {
  guint left = fill_pass(grid, add_between, ORR_GRID_BETWEEN);
  for (guint before = left + 1; left > 0 && left < before;) {
    before = left;
    left = fill_pass(grid, add_nearest, ORR_GRID_BEYOND);
  }
  return left == 0;
}

/* --- asking --- */

typedef struct {
  guint low;    /* index of the lower end */
  double share; /* of the upper end, 0..1 */
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

double orr_grid_at(const OrrGrid *grid, const double point[ORR_GRID_AXES], OrrGridTrust *ret_trust) {
  OrrGridTrust trust = ORR_GRID_ROW;
  Bracket brackets[ORR_GRID_AXES];
  for (int a = 0; a < ORR_GRID_AXES; a++) brackets[a] = bracket(grid, a, point[a], &trust);
  double value = 0;
  for (int corner = 0; corner < 1 << ORR_GRID_AXES; corner++) {
    double weight = 1;
    guint at = 0;
    for (int a = 0; a < ORR_GRID_AXES && weight > 0; a++) {
      gboolean upper = corner >> a & 1;
      weight *= upper ? brackets[a].share : 1 - brackets[a].share;
      at += (brackets[a].low + (upper && weight > 0)) * grid->strides[a];
    }
    if (weight <= 0) continue;
    value += weight * grid->values[at];
    trust = MAX(trust, (OrrGridTrust)grid->trust[at]);
  }
  *ret_trust = trust;
  return value;
}

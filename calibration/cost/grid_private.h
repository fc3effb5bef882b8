/*
 * grid_private.h - a grid's cells, for grid.c (life, filling, queries) and grid_odd.c (rows that
 * cannot be believed).
 */
#ifndef ORR_GRID_PRIVATE_H
#define ORR_GRID_PRIVATE_H

#include <math.h>

#include "calibration/cost/grid.h"

G_BEGIN_DECLS

enum { ORR_GRID_HOLE = 255 };

struct OrrGrid {
  guint lengths[ORR_GRID_AXES];
  guint strides[ORR_GRID_AXES];
  double *axes[ORR_GRID_AXES]; /* as given */
  double *logs[ORR_GRID_AXES]; /* their logarithms */
  guint n_cells;
  double *values;
  double *hints
      [ORR_GRID_HINTS]; /* NAN: none; NULL where no cell has one of that kind, and after filling */
  guint8 *trust;        /* OrrGridTrust, or ORR_GRID_HOLE */
  guint8 *odd;          /* TRUE: a row that its neighbours must not use; NULL before filling */
  double *expected;     /* the neighbours' estimate of an outlier; NULL where no row is one */
  /* Log of a row's time, and of its time per work; NULL where no row has one, and after filling. */
  double *times, *rates;
  GArray *aside; /* of OrrGridAside; NULL: none */
  /* Steps from a cell along an axis, down (0) and up (1), to the next usable value; 0: none. NULL
   * but while the grid is filled. */
  guint *steps[ORR_GRID_AXES][2];
};

/* Finds the steps: to be called again whenever values became usable, or no longer are. */
void orr_grid_find_steps(OrrGrid *grid);

/* Interpolates the cell @at on the line along @axis, where a usable value lies on both sides;
 * FALSE where not. */
gboolean orr_grid_line_at(const OrrGrid *grid, guint at, int axis, double *ret_value,
                          double *ret_span);

/* The hint of that kind; FALSE where there is none. */
static inline gboolean orr_grid_hint_at(const OrrGrid *grid, guint at, int kind,
                                        double *ret_value) {
  if (!grid->hints[kind] || isnan(grid->hints[kind][at])) return FALSE;
  *ret_value = grid->hints[kind][at];
  return TRUE;
}

/* Finds outliers, and makes holes of the rows that it excludes. */
void orr_grid_find_odd(OrrGrid *grid);

G_END_DECLS

#endif

/*
 * grid_private.h - a grid's cells, for grid.c (life, filling, asking) and grid_odd.c (rows that
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
  guint8 *odd;          /* TRUE: a row that no neighbour should believe; NULL before filling */
  double *told; /* what the neighbours of an odd row say in its place; NULL where no row is odd */
  /* log of the time that a row stands for; NULL where no row told one, and after filling */
  double *times;
  GArray *aside; /* OrrGridAside, the rows that were set aside; NULL: none */
};

/* What the line along @axis says of @at, when a value to believe lies on both sides of it; FALSE
 * when not. */
gboolean orr_grid_line_at(const OrrGrid *grid, guint at, int axis, double *ret_value,
                          double *ret_span);

/* A hint of that kind; FALSE where there is none. */
static inline gboolean orr_grid_hint_at(const OrrGrid *grid, guint at, int kind,
                                        double *ret_value) {
  if (!grid->hints[kind] || isnan(grid->hints[kind][at])) return FALSE;
  *ret_value = grid->hints[kind][at];
  return TRUE;
}

/* Finds odd rows, and makes holes of those that it sets aside. */
void orr_grid_find_odd(OrrGrid *grid);

G_END_DECLS

#endif

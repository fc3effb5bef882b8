/*
 * grid.h - a dense table over three axes: holes are filled once, queries interpolate.
 *
 * Axes and values are logarithms: latencies span five orders of magnitude, and between two rows a
 * power law is the natural curve. A caller stores log(measured / roofline), so that the grid
 * interpolates a kernel's distance from its roofline.
 */
#pragma once

#include "sim/base/ground.h"

enum { ORR_GRID_AXES = 3 };

/* How far a value can be trusted; a larger one is weaker. */
typedef enum { ORR_GRID_ROW, ORR_GRID_BETWEEN, ORR_GRID_BEYOND } OrrGridTrust;

typedef struct OrrGrid OrrGrid;

/* Each axis holds rising numbers above 0, which are copied. All cells are holes at first. */
OrrGrid *orr_grid_new(const double *const axes[ORR_GRID_AXES], const guint lengths[ORR_GRID_AXES]);
void orr_grid_free(OrrGrid *grid);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(OrrGrid, orr_grid_free)

/* Makes an axis from the values of rows: sorts an array of double and drops repeats. */
void orr_grid_sort_axis(GArray *axis);

/* Sets the cell at those indices to a row's value. */
void orr_grid_set(OrrGrid *grid, const guint cell[ORR_GRID_AXES], double value);

/* The time of the row in that cell, seconds, and its work in any unit of the grid: of two cells,
 * one nowhere below the other, what the larger one can be cut into. Where times are given,
 * orr_grid_fill excludes rows that contradict others (grid_odd.c). */
void orr_grid_time(OrrGrid *grid, const guint cell[ORR_GRID_AXES], double time_s, double work);

/* The row's value in that cell; FALSE where it has none. */
gboolean orr_grid_get(const OrrGrid *grid, const guint cell[ORR_GRID_AXES], double *ret_value);

/* An estimate of the cell from rows elsewhere, the cell's own row excluded. There are two kinds
 * (0, 1). Each counts as one more neighbour, with the weight that it earns where rows can check
 * it. */
enum { ORR_GRID_HINTS = 2 };
void orr_grid_hint(OrrGrid *grid, int kind, const guint cell[ORR_GRID_AXES], double value);

/* A row that was excluded: its cell is a hole, filled from its neighbours. */
typedef struct {
  double value;                /* the row's */
  double point[ORR_GRID_AXES]; /* where */
  double witness
      [ORR_GRID_AXES]; /* a row that it contradicts; NAN: none, but too many rows of the table
                        * contradict each other */
  double times_slower; /* than the witness; below 1: it is faster */
  double times_work; /* the witness's, where that counts: it breaks rule 3 of grid_odd.c; else 1 */
} OrrGridAside;

/* The number of rows, the number of excluded ones, and the one excluded at @point; NULL: none
 * there. */
guint orr_grid_n_rows(const OrrGrid *grid);
guint orr_grid_n_aside(const OrrGrid *grid);
const OrrGridAside *orr_grid_aside_at(const OrrGrid *grid, const double point[ORR_GRID_AXES]);

/* The first and last value of an axis. */
void orr_grid_range(const OrrGrid *grid, int axis, double *ret_low, double *ret_high);

/* Gives every hole a value. A hole between rows on a line along any axis, or with hints, gets
 * their mean, weighted by the distance to the ends and by how well that kind of estimate
 * predicts the rows themselves. Other holes get the nearest values. FALSE when the grid has no
 * value at all. */
gboolean orr_grid_fill(OrrGrid *grid);

/* The value at a point, multilinear in the logarithms; outside the box, the nearest face's value.
 * */
double orr_grid_at(const OrrGrid *grid, const double point[ORR_GRID_AXES], OrrGridTrust *ret_trust);

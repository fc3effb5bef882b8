/*
 * grid.h - a table over three axes, dense, with holes filled once; answered by interpolation.
 *
 * Axes and values are held as logarithms: latencies run over five orders of magnitude, and between
 * two rows a power law is the natural curve. A caller stores log(measured / roofline), so that what
 * is interpolated is how far the kernel is from its roofline.
 */
#ifndef ORR_GRID_H
#define ORR_GRID_H

#include <glib.h>

G_BEGIN_DECLS

enum { ORR_GRID_AXES = 3 };

/* How far a value can be trusted; a larger one is weaker. */
typedef enum { ORR_GRID_ROW, ORR_GRID_BETWEEN, ORR_GRID_BEYOND } OrrGridTrust;

typedef struct OrrGrid OrrGrid;

/* Each axis: numbers above 0, rising. They are copied. All cells are holes. */
OrrGrid *orr_grid_new(const double *const axes[ORR_GRID_AXES], const guint lengths[ORR_GRID_AXES]);
void orr_grid_free(OrrGrid *grid);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(OrrGrid, orr_grid_free)

/* Sorts an array of double and drops repeats: an axis from the values that rows name. */
void orr_grid_sort_axis(GArray *axis);

/* The cell at those indices. */
void orr_grid_set(OrrGrid *grid, const guint cell[ORR_GRID_AXES], double value);

/* The time that the row there stands for, seconds. Where rows tell it, those that contradict
 * others are set aside when the grid is filled (grid_odd.c). */
void orr_grid_time(OrrGrid *grid, const guint cell[ORR_GRID_AXES], double time_s);

/* The value that was set there; FALSE where there is none. */
gboolean orr_grid_get(const OrrGrid *grid, const guint cell[ORR_GRID_AXES], double *ret_value);

/* What rows elsewhere say of the cell, itself not among them: one more neighbour of each kind
 * (0, 1), as good as the hints of that kind turn out to be for rows. */
enum { ORR_GRID_HINTS = 2 };
void orr_grid_hint(OrrGrid *grid, int kind, const guint cell[ORR_GRID_AXES], double value);

/* A row that was set aside: a hole, answered from its neighbours. */
typedef struct {
  double value;                /* that was set */
  double point[ORR_GRID_AXES]; /* where */
  double witness
      [ORR_GRID_AXES]; /* a row that it contradicts; NAN: none, but too many rows of the table do */
  double times_slower; /* than the witness; below 1: faster */
} OrrGridAside;

/* How many rows were set, how many of them set aside, and the one at @point; NULL: none was set
 * aside there. */
guint orr_grid_n_rows(const OrrGrid *grid);
guint orr_grid_n_aside(const OrrGrid *grid);
const OrrGridAside *orr_grid_aside_at(const OrrGrid *grid, const double point[ORR_GRID_AXES]);

/* The ends of an axis. */
void orr_grid_range(const OrrGrid *grid, int axis, double *ret_low, double *ret_high);

/* Gives every hole a value: between rows of the same line along any axis, and where there are
 * hints, the mean of them, weighted by how near the ends are and by how well the rows themselves
 * are told that way; elsewhere the nearest values. FALSE when the grid has no value at all. */
gboolean orr_grid_fill(OrrGrid *grid);

/* The value at a point, multilinear in the logarithms; outside the box, that of the nearest
 * face. */
double orr_grid_at(const OrrGrid *grid, const double point[ORR_GRID_AXES], OrrGridTrust *ret_trust);

G_END_DECLS

#endif

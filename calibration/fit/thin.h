/*
 * thin.h - fewer rows of a profile: those that the others cannot tell.
 *
 * Greedy insertion: a start of evenly spread rows; then, round by round, a cost model of what is
 * kept so far is asked for what is not, and the rows that it is farthest from come back, at most
 * one of each line of a table a round, so that a row next to one that has just come back is asked
 * again first. (As greedy triangulation chooses points of a surface: Garland, Heckbert 1995, "Fast
 * polygonal approximation of terrains and height fields".)
 *
 * Rows of GEMM, attention and experts; collectives stay whole: they are few.
 */
#ifndef ORR_THIN_H
#define ORR_THIN_H

#include "calibration/crossval/crossval.h"

G_BEGIN_DECLS

typedef struct {
  guint n_before, n_kept;
  OrrErrors left_out; /* of the rows that are gone, asked of those that stay */
} OrrThinned;

/* Makes '-' of all but @n_rows rows of @profile, and drops lines and tables with none left;
 * nothing where it has no more than that. ORR_FAULT_USAGE: @n_rows is below two for each table. */
gboolean orr_thin(OrrProfile *profile, const OrrDevice *device, guint n_rows,
                  OrrThinned *ret_thinned, GError **error);

G_END_DECLS

#endif

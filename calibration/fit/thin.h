/*
 * thin.h - keeps only the rows of a profile that cannot be interpolated from the rest.
 *
 * Greedy insertion. It starts with evenly spread rows. In each round, a cost model of the rows kept
 * so far predicts all others, and the rows with the largest errors come back: at most one of each
 * line of a table, so that a row next to one that just came back is predicted again first.
 * (Garland, Heckbert 1995, "Fast polygonal approximation of terrains and height fields", choose the
 * points of a surface this way.)
 *
 * Rows of GEMM, attention and experts; collectives stay whole, since they are few.
 */
#ifndef ORR_THIN_H
#define ORR_THIN_H

#include "calibration/crossval/crossval.h"

G_BEGIN_DECLS

typedef struct {
  guint n_before, n_kept;
  OrrErrors left_out; /* of the rows dropped, predicted from those kept */
} OrrThinned;

/* Replaces all but @n_rows rows of @profile by '-', and drops lines without any left; changes
 * nothing where the profile has no more rows than that. FALSE with ORR_FAULT_USAGE where @n_rows
 * is below two per table. */
gboolean orr_thin(OrrProfile *profile, const OrrDevice *device, guint n_rows,
                  OrrThinned *ret_thinned, GError **error);

G_END_DECLS

#endif

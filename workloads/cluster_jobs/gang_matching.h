/*
 * gang_matching.h - the assignment of rows to columns of the least total cost.
 */
#ifndef ORR_GANG_MATCHING_H
#define ORR_GANG_MATCHING_H

#include <glib.h>

G_BEGIN_DECLS

/* @cost is @n x @m, @n <= @m, finite. Sets the column of each row, no column twice. */
void orr_gang_matching_solve(guint n, guint m, const double *cost, guint *ret_column);

G_END_DECLS

#endif

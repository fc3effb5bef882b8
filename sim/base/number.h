/*
 * number.h - doubles in order, and their bits.
 */
#ifndef ORR_NUMBER_H
#define ORR_NUMBER_H

#include <glib.h>

G_BEGIN_DECLS

/* Of two double *: below 0, 0 or above 0, for qsort and g_array_sort. NAN equals every number. */
int orr_number_compare(const void *a, const void *b);

/* The bits of @value, to hash it. */
guint64 orr_number_bits(double value);

G_END_DECLS

#endif

/*
 * number.h - doubles in order, and their bits; versions in order.
 */
#pragma once

#include "sim/base/ground.h"

/* Of two double *: below 0, 0 or above 0, for qsort and g_array_sort. NAN equals every number. */
int orr_number_compare(const void *a, const void *b);

/* Compares the leading numbers of two versions, as strcmp: 12.10 is above 12.8; 1.2.0rc6 equals 1.2
 * and is above 1.1.9. */
int orr_number_compare_versions(const char *a, const char *b);

/* The bits of @value, to hash it. */
guint64 orr_number_bits(double value);
